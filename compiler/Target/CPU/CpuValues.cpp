//===- CpuValues.cpp - Integers, memory and vectors of the CPU ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/CpuLowering.h"
#include "compiler/Target/Math/FloatEmitter.h"
#include "compiler/Target/Math/NarrowFloats.h"

#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

static std::optional<int64_t> constantOf(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number.getSExtValue();
  return std::nullopt;
}

Value CpuLowering::constant(int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI64IntegerAttr(value));
}

Value CpuLowering::add(Value a, Value b) {
  auto x = constantOf(a), y = constantOf(b);
  if (x == 0)
    return b;
  if (y == 0)
    return a;
  if (x && y)
    return constant(*x + *y);
  return arith::AddIOp::create(builder, loc, a, b);
}

Value CpuLowering::sub(Value a, Value b) {
  auto x = constantOf(a), y = constantOf(b);
  if (y == 0)
    return a;
  if (x && y)
    return constant(*x - *y);
  return arith::SubIOp::create(builder, loc, a, b);
}

Value CpuLowering::mul(Value a, Value b) {
  auto x = constantOf(a), y = constantOf(b);
  if (x == 1 || y == 0)
    return b;
  if (y == 1 || x == 0)
    return a;
  if (x && y)
    return constant(*x * *y);
  return arith::MulIOp::create(builder, loc, a, b);
}

Value CpuLowering::minimum(Value a, Value b) {
  auto x = constantOf(a), y = constantOf(b);
  if (x && y)
    return constant(std::min(*x, *y));
  return arith::MinSIOp::create(builder, loc, a, b);
}

/// Of non-negative numbers.
Value CpuLowering::ceilDiv(Value a, Value b) {
  Value up = add(a, sub(b, constant(1)));
  return arith::DivUIOp::create(builder, loc, up, b);
}

Value CpuLowering::less(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a, b);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static Type withElement(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(element);
  return element;
}

Value CpuLowering::offsetAlong(const tile::CpuBuffer &layout, int64_t dim,
                               Value at) {
  Value offset = constant(0);
  ArrayRef<tile::CpuBuffer::Term> terms = layout.terms[dim];
  for (auto [i, term] : llvm::enumerate(terms)) {
    Value digit = at;
    if (term.inStride != 1)
      digit =
          arith::DivUIOp::create(builder, loc, digit, constant(term.inStride));
    // The outermost digit needs no remainder.
    if (i + 1 != terms.size())
      digit =
          arith::RemUIOp::create(builder, loc, digit, constant(term.extent));
    offset = add(offset, mul(digit, constant(term.outStride)));
  }
  return offset;
}

Value CpuLowering::panelStride(const CpuView &view) {
  Value deep = view.sizes[view.deepAxis()];
  int64_t step = view.packing->step;
  if (step > 1)
    deep = mul(ceilDiv(deep, constant(step)), constant(step));
  return mul(deep, constant(view.packing->width));
}

Value CpuLowering::offsetAlong(const CpuView &view, int64_t axis, Value at) {
  int64_t lanes = 0;
  if (auto vector = dyn_cast<VectorType>(at.getType()))
    lanes = vector.getNumElements();
  auto wide = [&](Value number) { return splat(number, lanes); };
  auto times = [&](Value a, Value b) -> Value {
    return lanes ? Value(arith::MulIOp::create(builder, loc, a, wide(b)))
                 : mul(a, b);
  };
  bool deep = view.packing && axis == view.deepAxis();
  if (!deep && !(view.packing && axis == view.wideAxis()))
    return times(at, view.strides[axis]);
  int64_t unit = deep ? view.packing->group : view.packing->width;
  Value outer = deep ? constant(view.packing->group * view.packing->width)
                     : panelStride(view);
  Value inner = constant(deep ? 1 : view.packing->group);
  if (unit == 1)
    return times(at, outer);
  Value size = wide(constant(unit));
  Value whole = arith::DivUIOp::create(builder, loc, at, size);
  Value rest = arith::RemUIOp::create(builder, loc, at, size);
  Value far = times(whole, outer), near = times(rest, inner);
  return lanes ? Value(arith::AddIOp::create(builder, loc, far, near))
               : add(far, near);
}

Value CpuLowering::tileStart(tile::LoadOp load, Value &inside) {
  const CpuView &view = views[load.getView()];
  Value offset = constant(0);
  for (auto [axis, index] : llvm::enumerate(load.getIndices())) {
    Value at;
    if (isa<tile::RangeType>(index.getType())) {
      at = ranges[index].start;
    } else {
      at = values.lookup(index);
      if (!tile::isInside(index, view.staticSizes[axis])) {
        Value fits = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::ult, at, view.sizes[axis]);
        inside = inside
                     ? Value(arith::AndIOp::create(builder, loc, inside, fits))
                     : fits;
      }
    }
    offset = add(offset, offsetAlong(view, axis, at));
  }
  return pointerTo(view.base, offset, view.element);
}

CpuPanels CpuLowering::panelsOf(Value operand, int64_t wideAxis, int64_t width,
                                Value &inside) {
  if (auto load = operand.getDefiningOp<tile::LoadOp>())
    return {tileStart(load, inside), panelStride(views[load.getView()]),
            constant(width), constant(64)};
  Value buffer = operand.getDefiningOp<tile::LocalLoadOp>().getBuffer();
  tile::CpuBuffer layout(cast<tile::BufferType>(buffer.getType()));
  CpuPanels panels = {buffers[buffer], constant(layout.offset(wideAxis, width)),
                      constant(width), constant(64)};
  auto found = inPlace.find(buffer);
  if (found == inPlace.end())
    return panels;
  const CpuInPlace &source = found->second;
  auto choose = [&](Value there, Value here) -> Value {
    return arith::SelectOp::create(builder, loc, source.usable, there, here);
  };
  bool rows = wideAxis == 0;
  return {choose(source.base, panels.base),
          choose(rows ? mul(source.line, panels.along) : panels.along,
                 panels.stride),
          choose(rows ? constant(1) : source.line, panels.along),
          choose(mul(source.line, constant(layout.elementBytes)), panels.row),
          source.rest,
          panels.base,
          panels.stride};
}

CpuLowering::Ahead CpuLowering::fetchAhead(tile::NestOp nest, int64_t rows,
                                           Value at, int64_t lines,
                                           Value steps) {
  Value range = nest.getAxes()[0];
  int64_t group = 1;
  for (auto program : nest->getParentOfType<tile::FuncOp>()
                          .getBody()
                          .front()
                          .getOps<tile::ProgramOp>())
    group = program.getTiles().size() > 1 ? program.getGroup() : 1;
  int64_t blocks = llvm::divideCeil(
      group * cast<tile::RangeType>(range.getType()).getSize(), rows);
  Ahead ahead;
  ahead.lines = llvm::divideCeil(lines, blocks);
  Value row = add(ranges[range].start, at);
  Value block = arith::RemUIOp::create(
      builder, loc, arith::DivUIOp::create(builder, loc, row, constant(rows)),
      constant(blocks));
  ahead.offset = mul(mul(block, steps), constant(ahead.lines * 64));
  return ahead;
}

void CpuLowering::prefetch(Value base, Value bytes) {
  LLVM::Prefetch::create(
      builder, loc, pointerTo(base, bytes, builder.getI8Type()),
      builder.getI32IntegerAttr(0), builder.getI32IntegerAttr(2),
      builder.getI32IntegerAttr(1));
}

Type CpuLowering::memoryType(Type element) {
  if (element.isInteger(1))
    return builder.getI8Type();
  // LLVM legalises bfloat poorly without AVX512-BF16: bits it is.
  if (element.isBF16())
    return builder.getI16Type();
  if (isFp8(element))
    return builder.getI8Type();
  return computeType(element);
}

Value CpuLowering::pointerTo(Value base, Value offset, Type element) {
  if (constantOf(offset) == 0)
    return base;
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  return LLVM::GEPOp::create(builder, loc, pointer, memoryType(element), base,
                             ValueRange{offset});
}

Value CpuLowering::fromMemory(Value value, Type element) {
  if (element.isBF16() || isFp8(element))
    return arith::BitcastOp::create(
        builder, loc, withElement(value.getType(), element), value);
  if (!element.isInteger(1))
    return value;
  Type type = value.getType();
  Type bit = isa<VectorType>(type)
                 ? Type(cast<VectorType>(type).clone(builder.getI1Type()))
                 : builder.getI1Type();
  return arith::TruncIOp::create(builder, loc, bit, value);
}

Value CpuLowering::toMemory(Value value) {
  if (Type element = getElementTypeOrSelf(value);
      element.isBF16() || isFp8(element))
    return arith::BitcastOp::create(
        builder, loc, withElement(value.getType(), memoryType(element)), value);
  if (!getElementTypeOrSelf(value).isInteger(1))
    return value;
  Type type = value.getType();
  Type byte = isa<VectorType>(type)
                  ? Type(cast<VectorType>(type).clone(builder.getI8Type()))
                  : builder.getI8Type();
  return arith::ExtUIOp::create(builder, loc, byte, value);
}

static unsigned alignmentOf(Type memory) {
  return std::max(1u, memory.getIntOrFloatBitWidth() / 8);
}

Value CpuLowering::load(Value pointer, Type element, int64_t lanes) {
  Type memory = memoryType(element);
  Value raw = LLVM::LoadOp::create(builder, loc, typeOf(memory, lanes), pointer,
                                   alignmentOf(memory));
  return fromMemory(raw, element);
}

void CpuLowering::store(Value value, Value pointer) {
  value = toMemory(value);
  LLVM::StoreOp::create(builder, loc, value, pointer,
                        alignmentOf(getElementTypeOrSelf(value)));
}

void CpuLowering::streamingStore(Value value, Value pointer) {
  value = toMemory(value);
  auto type = cast<VectorType>(value.getType());
  LLVM::StoreOp::create(builder, loc, value, pointer,
                        alignmentOf(type.getElementType()) *
                            type.getNumElements(),
                        /*isVolatile=*/false, /*isNonTemporal=*/true);
}

Value CpuLowering::maskedLoad(Value pointer, Type element, int64_t lanes,
                              Value mask) {
  if (!mask)
    return load(pointer, element, lanes);
  Type memory = memoryType(element);
  Value zero = splatConstant(builder.getZeroAttr(memory), lanes);
  Value raw = LLVM::MaskedLoadOp::create(
      builder, loc, typeOf(memory, lanes), pointer, mask, zero,
      builder.getI32IntegerAttr(alignmentOf(memory)));
  return fromMemory(raw, element);
}

void CpuLowering::maskedStore(Value value, Value pointer, Value mask) {
  if (!mask)
    return store(value, pointer);
  value = toMemory(value);
  LLVM::MaskedStoreOp::create(
      builder, loc, value, pointer, mask,
      builder.getI32IntegerAttr(alignmentOf(getElementTypeOrSelf(value))));
}

static Value pointersTo(CpuLowering &lower, Value base, Value offsets,
                        Type memory) {
  MLIRContext *context = base.getContext();
  auto lanes = cast<VectorType>(offsets.getType()).getShape();
  auto type = VectorType::get(lanes, LLVM::LLVMPointerType::get(context));
  return LLVM::GEPOp::create(lower.builder, lower.loc, type, memory, base,
                             ValueRange{offsets});
}

Value CpuLowering::gather(Value base, Value offsets, Type element, Value mask) {
  Type memory = memoryType(element);
  int64_t lanes = cast<VectorType>(offsets.getType()).getNumElements();
  Value pointers = pointersTo(*this, base, offsets, memory);
  if (!mask)
    mask = splatConstant(builder.getBoolAttr(true), lanes);
  Value zero = splatConstant(builder.getZeroAttr(memory), lanes);
  Value raw = LLVM::masked_gather::create(
      builder, loc, typeOf(memory, lanes), pointers, mask, ValueRange{zero},
      builder.getI32IntegerAttr(alignmentOf(memory)));
  return fromMemory(raw, element);
}

void CpuLowering::scatter(Value value, Value base, Value offsets, Type element,
                          Value mask) {
  Type memory = memoryType(element);
  int64_t lanes = cast<VectorType>(offsets.getType()).getNumElements();
  Value pointers = pointersTo(*this, base, offsets, memory);
  if (!mask)
    mask = splatConstant(builder.getBoolAttr(true), lanes);
  LLVM::masked_scatter::create(builder, loc, toMemory(value), pointers, mask,
                               builder.getI32IntegerAttr(alignmentOf(memory)));
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

Type CpuLowering::typeOf(Type element, int64_t lanes) {
  element = computeType(element);
  return lanes ? Type(VectorType::get({lanes}, element)) : element;
}

Value CpuLowering::splat(Value scalar, int64_t lanes) {
  if (!lanes || isa<VectorType>(scalar.getType()))
    return scalar;
  return vector::BroadcastOp::create(builder, loc,
                                     typeOf(scalar.getType(), lanes), scalar);
}

Value CpuLowering::splatConstant(TypedAttr value, int64_t lanes) {
  if (value.getType().isIndex())
    value = builder.getI64IntegerAttr(cast<IntegerAttr>(value).getInt());
  if (!lanes)
    return arith::ConstantOp::create(builder, loc, value);
  auto type = VectorType::get({lanes}, value.getType());
  return arith::ConstantOp::create(
      builder, loc,
      cast<TypedAttr>(
          Attribute(DenseElementsAttr::get(type, Attribute(value)))));
}

Value CpuLowering::step(int64_t lanes) {
  SmallVector<int64_t> numbers = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
  return arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(VectorType::get({lanes}, builder.getI64Type()),
                             ArrayRef<int64_t>(numbers)));
}

Value CpuLowering::firstLanes(Value count, int64_t lanes) {
  // Compared as i32 or narrower: one instruction instead of two zmm of i64.
  Type i32 = builder.getI32Type();
  Value most = minimum(count, constant(lanes));
  Value narrow = arith::TruncIOp::create(builder, loc, i32, most);
  SmallVector<int32_t> numbers = llvm::to_vector(llvm::seq<int32_t>(0, lanes));
  Value numbersValue = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(VectorType::get({lanes}, i32),
                             ArrayRef<int32_t>(numbers)));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                               numbersValue, splat(narrow, lanes));
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value CpuLowering::extend(Value value, Type element) {
  if (isFp8(getElementTypeOrSelf(value))) {
    Value single = extendFp8(builder, loc, value);
    if (element.isF32())
      return single;
    return element.isF64() ? extend(single, element)
                           : truncate(single, element);
  }
  if (paired && isa<VectorType>(value.getType()))
    return extendPairs(value);
  if (getElementTypeOrSelf(value).isBF16()) {
    Type i32 = withElement(value.getType(), builder.getI32Type());
    int64_t lanes =
        isa<VectorType>(i32) ? cast<VectorType>(i32).getNumElements() : 0;
    Value bits = arith::ExtUIOp::create(builder, loc, i32, toMemory(value));
    Value upper = arith::ShLIOp::create(
        builder, loc, bits,
        splatConstant(builder.getI32IntegerAttr(16), lanes));
    value = arith::BitcastOp::create(
        builder, loc, withElement(i32, builder.getF32Type()), upper);
    if (element.isF32())
      return value;
  }
  return arith::ExtFOp::create(builder, loc,
                               withElement(value.getType(), element), value);
}

/// Rounds to nearest even. To bf16 by integer arithmetic: the instruction
/// for it flushes subnormals.
Value CpuLowering::truncate(Value value, Type element, bool near) {
  Type from = getElementTypeOrSelf(value);
  if (isFp8(element) && (from.isF32() || isHalf(from)))
    return truncateToFp8(
        builder, loc,
        from.isF32() ? value : extend(value, builder.getF32Type()), element);
  int64_t lanes = 0;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    lanes = vector.getNumElements();
  if (!element.isBF16())
    return arith::TruncFOp::create(
        builder, loc, withElement(value.getType(), element), value);
  if (paired && lanes)
    return truncatePairs(value);
  Type i32 = builder.getI32Type();
  auto number = [&](int32_t n) {
    return splatConstant(builder.getI32IntegerAttr(n), lanes);
  };
  Value narrow = value;
  if (from.isF64())
    narrow = arith::TruncFOp::create(
        builder, loc, withElement(value.getType(), builder.getF32Type()),
        value);
  Value bits =
      arith::BitcastOp::create(builder, loc, typeOf(i32, lanes), narrow);
  if (from.isF64()) {
    // f64 -> f32 rounded to odd, so that the second rounding is right.
    Value back = arith::ExtFOp::create(builder, loc, value.getType(), narrow);
    Value exact = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UEQ,
                                        back, value);
    Value above =
        arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT,
                              math::AbsFOp::create(builder, loc, back),
                              math::AbsFOp::create(builder, loc, value));
    Value down = arith::SubIOp::create(builder, loc, bits, number(1));
    Value toward = arith::SelectOp::create(builder, loc, above, down, bits);
    Value odd = arith::OrIOp::create(builder, loc, toward, number(1));
    bits = arith::SelectOp::create(builder, loc, exact, bits, odd);
  }
  bool machine =
      bf16 && from.isF32() && lanes >= 16 && llvm::isPowerOf2_64(lanes);
  Value half =
      machine
          ? bf16BitsByMachine(value, near)
          : bf16BitsByHand(bits, arith::CmpFOp::create(
                                     builder, loc, arith::CmpFPredicate::UNO,
                                     narrow, narrow));
  return arith::BitcastOp::create(builder, loc, typeOf(element, lanes), half);
}

Value CpuLowering::bf16BitsByHand(Value bits, Value isNan) {
  int64_t lanes = 0;
  if (auto vector = dyn_cast<VectorType>(bits.getType()))
    lanes = vector.getNumElements();
  auto number = [&](int32_t n) {
    return splatConstant(builder.getI32IntegerAttr(n), lanes);
  };
  Value upper = arith::ShRUIOp::create(builder, loc, bits, number(16));
  Value even = arith::AndIOp::create(builder, loc, upper, number(1));
  Value bias = arith::AddIOp::create(builder, loc, even, number(0x7fff));
  Value rounded = arith::ShRUIOp::create(
      builder, loc, arith::AddIOp::create(builder, loc, bits, bias),
      number(16));
  Value quiet = arith::OrIOp::create(builder, loc, upper, number(0x40));
  Value chosen = arith::SelectOp::create(builder, loc, isNan, quiet, rounded);
  return arith::TruncIOp::create(builder, loc,
                                 typeOf(builder.getI16Type(), lanes), chosen);
}

/// The instruction takes subnormals for 0: where there is one, all is done by
/// hand.
Value CpuLowering::bf16BitsByMachine(Value value, bool near) {
  auto type = cast<VectorType>(value.getType());
  int64_t lanes = type.getNumElements();
  Type i16 = builder.getI16Type();
  SmallVector<Value> parts;
  for (int64_t at = 0; at < lanes; at += 16)
    parts.push_back(register16(builder, loc, value, at));
  // Two registers into one cost what one into half a register does.
  auto round = [&](StringRef name, int64_t count, ValueRange from) -> Value {
    Value rounded =
        LLVM::CallIntrinsicOp::create(
            builder, loc, VectorType::get({count}, builder.getBF16Type()),
            builder.getStringAttr(name), from)
            .getResult(0);
    return arith::BitcastOp::create(builder, loc, VectorType::get({count}, i16),
                                    rounded);
  };
  auto byMachine = [&]() -> Value {
    SmallVector<Value> halves;
    if (lanes == 16)
      halves.push_back(
          round("llvm.x86.avx512bf16.cvtneps2bf16.512", 16, parts[0]));
    else
      for (size_t at = 0; at < parts.size(); at += 2)
        halves.push_back(round("llvm.x86.avx512bf16.cvtne2ps2bf16.512", 32,
                               ValueRange{parts[at + 1], parts[at]}));
    return joined(builder, loc, halves);
  };
  if (near)
    return byMachine();
  Value subnormal;
  for (Value part : parts) {
    constexpr int32_t isSubnormal = 0x20;
    Value mask =
        LLVM::CallIntrinsicOp::create(
            builder, loc, VectorType::get({16}, builder.getI1Type()),
            builder.getStringAttr("llvm.x86.avx512.fpclass.ps.512"),
            ValueRange{
                part, splatConstant(builder.getI32IntegerAttr(isSubnormal), 0)})
            .getResult(0);
    subnormal = subnormal
                    ? Value(arith::OrIOp::create(builder, loc, subnormal, mask))
                    : mask;
  }
  Value any = anyLane(subnormal);
  Type half = typeOf(i16, lanes);
  auto choice = scf::IfOp::create(builder, loc, TypeRange(half), any, true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(choice.thenBlock());
  Value bits = arith::BitcastOp::create(
      builder, loc, typeOf(builder.getI32Type(), lanes), value);
  Value isNan = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO,
                                      value, value);
  scf::YieldOp::create(builder, loc, bf16BitsByHand(bits, isNan));
  builder.setInsertionPointToStart(choice.elseBlock());
  scf::YieldOp::create(builder, loc, byMachine());
  return choice.getResult(0);
}

Value CpuLowering::elementwise(Operation *op, ValueRange given, int64_t lanes) {
  Type result = computeType(getElementTypeOrSelf(op->getResult(0).getType()));
  SmallVector<Value> operands;
  for (Value operand : given)
    operands.push_back(splat(operand, lanes));
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    Attribute value = constant.getValue();
    if (auto dense = dyn_cast<DenseElementsAttr>(value))
      value = dense.getSplatValue<Attribute>();
    return splatConstant(cast<TypedAttr>(value), lanes);
  }
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    unsigned from = getElementTypeOrSelf(operands[0]).getIntOrFloatBitWidth();
    unsigned to = result.getIntOrFloatBitWidth();
    if (from == to)
      return operands[0];
    Type type = typeOf(result, lanes);
    if (from > to)
      return arith::TruncIOp::create(builder, loc, type, operands[0]);
    if (isa<arith::IndexCastUIOp>(op))
      return arith::ExtUIOp::create(builder, loc, type, operands[0]);
    return arith::ExtSIOp::create(builder, loc, type, operands[0]);
  }
  if (isa<arith::TruncFOp>(op)) {
    Value wide = op->getOperand(0);
    auto weight = wide.getDefiningOp<math::Exp2Op>();
    bool near = weight && bitEnumContainsAll(weight.getFastmath(),
                                             arith::FastMathFlags::afn);
    // LLVM does not store vectors of bf16 past the caches, only what it cannot
    // tell to be one.
    bool streams = llvm::any_of(op->getUsers(), [](Operation *user) {
      auto store = dyn_cast<tile::StoreOp>(user);
      return store && isStreaming(store);
    });
    return truncate(operands[0], result,
                    near || (isSumOfAmx(wide) && !streams));
  }
  if (isa<arith::ExtFOp>(op))
    return extend(operands[0], result);
  // f16 and bf16 are computed in f32 and rounded to the type after each op.
  Type wideResult = result;
  bool copies = isa<arith::SelectOp, arith::BitcastOp>(op);
  if (!copies) {
    for (Value &operand : operands)
      if (isHalf(getElementTypeOrSelf(operand)))
        operand = extend(operand, builder.getF32Type());
    if (isHalf(result))
      wideResult = builder.getF32Type();
  }
  OperationState state(loc, op->getName());
  state.addOperands(operands);
  state.addTypes(typeOf(wideResult, lanes));
  for (NamedAttribute attribute : op->getAttrs())
    if (attribute.getName() != "fastmath" ||
        isa<math::Exp2Op, math::ErfcOp>(op))
      state.addAttribute(attribute.getName(), attribute.getValue());
  Value value = builder.create(state)->getResult(0);
  return wideResult == result ? value : truncate(value, result);
}

Value CpuLowering::combine(tile::ReduceKind kind, Value a, Value b) {
  Type element = getElementTypeOrSelf(a);
  bool isFloat = isa<FloatType>(element);
  if (isHalf(element)) {
    Type f32 = builder.getF32Type();
    return truncate(combine(kind, extend(a, f32), extend(b, f32)), element);
  }
  switch (kind) {
  case tile::ReduceKind::Sum:
    if (isFloat)
      return arith::AddFOp::create(builder, loc, a, b);
    return arith::AddIOp::create(builder, loc, a, b);
  case tile::ReduceKind::Prod:
    if (isFloat)
      return arith::MulFOp::create(builder, loc, a, b);
    return arith::MulIOp::create(builder, loc, a, b);
  case tile::ReduceKind::Max:
    if (isFloat)
      return arith::MaximumFOp::create(builder, loc, a, b);
    if (element.isInteger(1))
      return arith::OrIOp::create(builder, loc, a, b);
    return arith::MaxSIOp::create(builder, loc, a, b);
  case tile::ReduceKind::Min:
    if (isFloat)
      return arith::MinimumFOp::create(builder, loc, a, b);
    if (element.isInteger(1))
      return arith::AndIOp::create(builder, loc, a, b);
    return arith::MinSIOp::create(builder, loc, a, b);
  case tile::ReduceKind::And:
    return arith::AndIOp::create(builder, loc, a, b);
  case tile::ReduceKind::Or:
    return arith::OrIOp::create(builder, loc, a, b);
  case tile::ReduceKind::Xor:
    return arith::XOrIOp::create(builder, loc, a, b);
  case tile::ReduceKind::Argmax:
  case tile::ReduceKind::Argmin:
    break;
  }
  llvm_unreachable("argmax and argmin have a loop of their own");
}

Value CpuLowering::anyLane(Value mask) {
  int64_t lanes = cast<VectorType>(mask.getType()).getNumElements();
  Type bits = builder.getIntegerType(lanes);
  Value word = vector::ExtractOp::create(
      builder, loc,
      vector::BitCastOp::create(builder, loc, VectorType::get({1}, bits), mask),
      0);
  return arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::ne, word,
      splatConstant(builder.getIntegerAttr(bits, 0), 0));
}

Value CpuLowering::neutral(tile::ReduceKind kind, Type element, int64_t lanes) {
  TypedAttr value;
  if (auto type = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    switch (kind) {
    case tile::ReduceKind::Prod:
      value = builder.getFloatAttr(element, 1.0);
      break;
    case tile::ReduceKind::Max:
    case tile::ReduceKind::Min:
      value = builder.getFloatAttr(
          element, APFloat::getInf(semantics, kind == tile::ReduceKind::Max));
      break;
    default:
      value = builder.getFloatAttr(element, 0.0);
    }
  } else {
    unsigned bits = computeType(element).getIntOrFloatBitWidth();
    APInt number = APInt::getZero(bits);
    if (kind == tile::ReduceKind::Prod)
      number = APInt(bits, 1);
    else if (kind == tile::ReduceKind::And)
      number = APInt::getAllOnes(bits);
    else if (kind == tile::ReduceKind::Max && bits > 1)
      number = APInt::getSignedMinValue(bits);
    else if (kind == tile::ReduceKind::Min)
      number = bits > 1 ? APInt::getSignedMaxValue(bits) : APInt(1, 1);
    value = builder.getIntegerAttr(computeType(element), number);
  }
  return splatConstant(value, lanes);
}

Value CpuLowering::horizontal(tile::ReduceKind kind, Value value) {
  bool greatest = kind == tile::ReduceKind::Max;
  if (!isa<FloatType>(getElementTypeOrSelf(value)) ||
      !(greatest || kind == tile::ReduceKind::Min))
    return across(value, [&](Value a, Value b) { return combine(kind, a, b); });
  // Without a NaN, one instruction combines.
  Value nan = anyLane(arith::CmpFOp::create(
      builder, loc, arith::CmpFPredicate::UNO, value, value));
  auto choice = scf::IfOp::create(
      builder, loc, nan,
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(builder, loc, across(value, [&](Value a, Value b) {
                               return combine(kind, a, b);
                             }));
      },
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(
            builder, loc, across(value, [&](Value a, Value b) -> Value {
              Value better =
                  arith::CmpFOp::create(builder, loc,
                                        greatest ? arith::CmpFPredicate::OGT
                                                 : arith::CmpFPredicate::OLT,
                                        a, b);
              return arith::SelectOp::create(builder, loc, better, a, b);
            }));
      });
  return choice.getResult(0);
}

Value CpuLowering::across(Value value,
                          llvm::function_ref<Value(Value, Value)> both) {
  int64_t lanes = cast<VectorType>(value.getType()).getNumElements();
  while (lanes > 1) {
    lanes /= 2;
    SmallVector<int64_t> low = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
    SmallVector<int64_t> high =
        llvm::to_vector(llvm::seq<int64_t>(lanes, 2 * lanes));
    Value a = vector::ShuffleOp::create(builder, loc, value, value, low);
    Value b = vector::ShuffleOp::create(builder, loc, value, value, high);
    value = both(a, b);
  }
  return vector::ExtractOp::create(builder, loc, value, ArrayRef<int64_t>{0});
}

void CpuLowering::emitAssert(Value condition, StringRef message) {
  auto *known = llvm::find(*messages, message);
  int64_t number = known - messages->begin();
  if (known == messages->end())
    messages->push_back(message.str());
  Type i32 = builder.getI32Type();
  Value now = LLVM::LoadOp::create(builder, loc, i32, status);
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
  Value failed = arith::ConstantOp::create(
      builder, loc, builder.getI32IntegerAttr(number + 1));
  Value clean =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, now, zero);
  Value no = arith::SelectOp::create(builder, loc, condition, now, failed);
  Value next = arith::SelectOp::create(builder, loc, clean, no, now);
  LLVM::StoreOp::create(builder, loc, next, status);
}

/// Philox 4x32-10: key = seed, counter = (index, 0); the first word's upper
/// 24 bits as a number in [0, 1).
Value CpuLowering::random(Value seed, Value index, int64_t lanes) {
  Type i32 = typeOf(builder.getI32Type(), lanes);
  Type i64 = typeOf(builder.getI64Type(), lanes);
  auto word = [&](uint32_t n) {
    return splatConstant(builder.getI32IntegerAttr(int32_t(n)), lanes);
  };
  auto halves = [&](Value whole) {
    Value low = arith::TruncIOp::create(builder, loc, i32, whole);
    Value shift = splatConstant(builder.getI64IntegerAttr(32), lanes);
    Value high = arith::TruncIOp::create(
        builder, loc, i32, arith::ShRUIOp::create(builder, loc, whole, shift));
    return std::pair(low, high);
  };
  auto product = [&](Value a, uint32_t b) {
    Value wide = arith::ExtUIOp::create(builder, loc, i64, a);
    Value factor = splatConstant(builder.getI64IntegerAttr(b), lanes);
    return halves(arith::MulIOp::create(builder, loc, wide, factor));
  };
  auto [k0, k1] = halves(splat(seed, lanes));
  auto [c0, c1] = halves(splat(index, lanes));
  Value key0 = k0, key1 = k1, x0 = c0, x1 = c1, x2 = word(0), x3 = word(0);
  auto exclusive = [&](Value a, Value b) -> Value {
    return arith::XOrIOp::create(builder, loc, a, b);
  };
  for (int round = 0; round < 10; ++round) {
    auto [low0, high0] = product(x0, 0xD2511F53u);
    auto [low1, high1] = product(x2, 0xCD9E8D57u);
    Value y0 = exclusive(exclusive(high1, x1), key0), y1 = low1;
    Value y2 = exclusive(exclusive(high0, x3), key1), y3 = low0;
    x0 = y0, x1 = y1, x2 = y2, x3 = y3;
    key0 = arith::AddIOp::create(builder, loc, key0, word(0x9E3779B9u));
    key1 = arith::AddIOp::create(builder, loc, key1, word(0xBB67AE85u));
  }
  Value upper = arith::ShRUIOp::create(builder, loc, x0, word(8));
  Value number = arith::UIToFPOp::create(
      builder, loc, typeOf(builder.getF32Type(), lanes), upper);
  return arith::MulFOp::create(
      builder, loc, number,
      splatConstant(builder.getF32FloatAttr(0x1p-24f), lanes));
}
