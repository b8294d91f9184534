//===- CpuArithmetic.cpp - Arithmetic of scalars and vectors --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/CpuLowering.h"
#include "compiler/Target/Math/FloatEmitter.h"
#include "compiler/Target/Math/NarrowFloats.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

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
  Value narrow = from.isF64() ? roundToOdd(builder, loc, value) : value;
  Value bits =
      arith::BitcastOp::create(builder, loc, typeOf(i32, lanes), narrow);
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
                    near || (cpu::isSumOfAmx(wide) && !streams));
  }
  if (isa<arith::ExtFOp>(op))
    return extend(operands[0], result);
  if (isa<arith::SIToFPOp>(op) && result.isBF16())
    return truncate(convertForBf16(builder, loc, operands[0]), result);
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
