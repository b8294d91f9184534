//===- CpuValues.cpp - Integers, memory and vectors of the CPU ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/CpuLowering.h"
#include "compiler/Target/Math/NarrowFloats.h"

#include "llvm/Support/MathExtras.h"
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
    return constant(int64_t(uint64_t(*x) + uint64_t(*y))); // wraps
  return arith::AddIOp::create(builder, loc, a, b);
}

Value CpuLowering::sub(Value a, Value b) {
  auto x = constantOf(a), y = constantOf(b);
  if (y == 0)
    return a;
  if (x && y)
    return constant(int64_t(uint64_t(*x) - uint64_t(*y)));
  return arith::SubIOp::create(builder, loc, a, b);
}

Value CpuLowering::mul(Value a, Value b) {
  auto x = constantOf(a), y = constantOf(b);
  if (x == 1 || y == 0)
    return b;
  if (y == 1 || x == 0)
    return a;
  if (x && y)
    return constant(int64_t(uint64_t(*x) * uint64_t(*y)));
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

Value CpuLowering::tileStart(Value from, OperandRange indices, Value &inside) {
  const CpuView &view = views[from];
  Value offset = constant(0);
  for (auto [axis, index] : llvm::enumerate(indices)) {
    Value at;
    if (isa<tile::RangeType>(index.getType())) {
      at = ranges[index].start;
    } else {
      at = values.lookup(index);
      if (!tile::isInside(index, view.argument, int64_t(axis))) {
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
  if (auto load = operand.getDefiningOp<tile::LoadOp>()) {
    const CpuView &view = views[load.getView()];
    Value base = tileStart(load.getView(), load.getIndices(), inside);
    if (view.packing)
      return {base, panelStride(view), constant(width), constant(64)};
    // Rows as they lie: of panels along them, or of one for each.
    Value line;
    for (auto [axis, index] : llvm::enumerate(load.getIndices()))
      if (!line && isa<tile::RangeType>(index.getType()))
        line = view.strides[axis];
    Value bytes = mul(line, constant(tile::scratchBytesOf(view.element)));
    if (wideAxis == 0)
      return {base, mul(line, constant(width)), constant(1), bytes};
    return {base, constant(width), line, bytes};
  }
  if (auto local = operand.getDefiningOp<tile::LocalLoadOp>()) {
    tile::CpuBuffer layout(local.getBuffer().getType());
    return {buffers[local.getBuffer()],
            constant(layout.offset(wideAxis, width)), constant(width),
            constant(64)};
  }
  // Both, and which of them is known when the program runs.
  Value there, here, usable, rest;
  if (auto splice = operand.getDefiningOp<tile::SpliceOp>()) {
    there = splice.getHead();
    here = splice.getTail();
    rest = values.lookup(splice.getAt());
    usable = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, rest,
                                   constant(0));
  } else {
    auto choice = operand.getDefiningOp<arith::SelectOp>();
    there = choice.getTrueValue();
    here = choice.getFalseValue();
    usable = values.lookup(choice.getCondition());
  }
  CpuPanels rows = panelsOf(there, wideAxis, width, inside),
            packed = panelsOf(here, wideAxis, width, inside);
  auto choose = [&](Value CpuPanels::*of) -> Value {
    return arith::SelectOp::create(builder, loc, usable, rows.*of, packed.*of);
  };
  CpuPanels panels = {choose(&CpuPanels::base), choose(&CpuPanels::stride),
                      choose(&CpuPanels::along), choose(&CpuPanels::row)};
  if (rest) {
    panels.rest =
        arith::SelectOp::create(builder, loc, usable, rest,
                                constant(std::numeric_limits<int64_t>::max()));
    panels.restBase = packed.base;
    panels.restStride = packed.stride;
  }
  return panels;
}

Value CpuLowering::startsFromZero(tile::NestOp step) {
  bool always = false;
  if (Value where = cpu::startsWhere(step, always))
    return values.lookup(where);
  return arith::ConstantOp::create(builder, loc, builder.getBoolAttr(always));
}

std::optional<CpuDirect> CpuLowering::directOf(tile::NestOp step) {
  tile::StoreOp store = cpu::directStoreOf(step);
  if (!store)
    return std::nullopt;
  Value inside; // its scalars are those of the program
  Value base = tileStart(store.getView(), store.getIndices(), inside);
  const CpuView &view = views[store.getView()];
  Value row;
  for (auto [axis, index] : llvm::enumerate(store.getIndices()))
    if (!row && isa<tile::RangeType>(index.getType()))
      row = view.strides[axis];
  return CpuDirect{base, row, values.lookup(cpu::branchOf(step).getCondition()),
                   isStreaming(store)};
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
  // A view of other bytes as bools may hold more than 0 and 1.
  Value zero = arith::ConstantOp::create(builder, loc,
                                         builder.getZeroAttr(value.getType()));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value,
                               zero);
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
  Type type = scalar.getType();
  if (!lanes || isa<VectorType>(type))
    return scalar;
  if (!type.isBF16())
    return vector::BroadcastOp::create(builder, loc, typeOf(type, lanes),
                                       scalar);
  // As bits: without AVX512-BF16 LLVM would round it, by a function of its own.
  Type bits = builder.getI16Type();
  Value all =
      splat(arith::BitcastOp::create(builder, loc, bits, scalar), lanes);
  return arith::BitcastOp::create(builder, loc, typeOf(type, lanes), all);
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
