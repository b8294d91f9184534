//===- EmitElementwise.cpp - Element-wise ops as arith and math -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/ScheduleToTile/Emitter.h"
#include "compiler/Tile/IR/Activations.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

/// The shape of `like` with another element type.
static Type withElement(Value like, Type element) {
  auto tile = dyn_cast<RankedTensorType>(like.getType());
  return tile ? Type(tile.clone(element)) : element;
}

/// A constant in the type of `like`, everywhere.
static Value constant(OpBuilder &builder, Location loc, Value like,
                      double number) {
  Type element = getElementTypeOrSelf(like);
  TypedAttr attribute = isa<FloatType>(element)
                            ? TypedAttr(builder.getFloatAttr(element, number))
                            : builder.getIntegerAttr(element, int64_t(number));
  if (auto tile = dyn_cast<RankedTensorType>(like.getType()))
    attribute = DenseElementsAttr::get(tile, Attribute(attribute));
  return arith::ConstantOp::create(builder, loc, attribute);
}

/// A float as the nearest integer towards zero that the type has; NaN as 0.
static Value saturate(OpBuilder &b, Location loc, Value value, Type to) {
  using P = arith::CmpFPredicate;
  unsigned width = to.getIntOrFloatBitWidth();
  double limit = std::ldexp(1.0, width - 1);
  Value low = constant(b, loc, value, -limit);
  Value high = constant(b, loc, value, limit);
  Value below = arith::CmpFOp::create(b, loc, P::OLT, value, low);
  Value above = arith::CmpFOp::create(b, loc, P::OGE, value, high);
  Value number = arith::CmpFOp::create(b, loc, P::ORD, value, value);
  Value outside = arith::OrIOp::create(b, loc, below, above);
  Value zero = constant(b, loc, value, 0);
  Value safe = arith::SelectOp::create(b, loc, outside, zero, value);
  safe = arith::SelectOp::create(b, loc, number, safe, zero);
  Value result = arith::FPToSIOp::create(b, loc, withElement(value, to), safe);
  auto extreme = [&](APInt bits) -> Value {
    TypedAttr attribute = b.getIntegerAttr(to, bits);
    if (auto tile = dyn_cast<RankedTensorType>(result.getType()))
      attribute = DenseElementsAttr::get(tile, Attribute(attribute));
    return arith::ConstantOp::create(b, loc, attribute);
  };
  Value least = extreme(APInt::getSignedMinValue(width));
  Value most = extreme(APInt::getSignedMaxValue(width));
  result = arith::SelectOp::create(b, loc, below, least, result);
  return arith::SelectOp::create(b, loc, above, most, result);
}

Value Emitter::convert(Value value, Type to) {
  OpBuilder &b = at();
  Type from = getElementTypeOrSelf(value), type = withElement(value, to);
  if (from == to)
    return value;
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  unsigned width = from.getIntOrFloatBitWidth();
  if (to.isInteger(1)) {
    Value zero = constant(b, loc, value, 0);
    if (fromFloat)
      return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, value,
                                   zero);
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, zero);
  }
  if (fromFloat && toFloat) {
    if (to.getIntOrFloatBitWidth() > width) {
      // One number everywhere stays one.
      if (auto fill = value.getDefiningOp<FillOp>())
        return FillOp::create(b, loc, type, convert(fill.getValue(), to),
                              fill.getRanges());
      return arith::ExtFOp::create(b, loc, type, value);
    }
    if (to.getIntOrFloatBitWidth() < width)
      return arith::TruncFOp::create(b, loc, type, value);
    // f16 and bf16: through f32, which holds both.
    return convert(convert(value, b.getF32Type()), to);
  }
  if (fromFloat)
    return saturate(b, loc, value, to);
  if (toFloat) {
    if (from.isInteger(1))
      return arith::UIToFPOp::create(b, loc, type, value);
    return arith::SIToFPOp::create(b, loc, type, value);
  }
  if (from.isInteger(1))
    return arith::ExtUIOp::create(b, loc, type, value);
  if (to.getIntOrFloatBitWidth() > width)
    return arith::ExtSIOp::create(b, loc, type, value);
  return arith::TruncIOp::create(b, loc, type, value);
}

Value Emitter::neutral(ReduceKind kind, Type type) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  bool isFloat = isa<FloatType>(type);
  auto integer = [&](const APInt &value) -> Value {
    return arith::ConstantOp::create(at(), loc,
                                     builder.getIntegerAttr(type, value));
  };
  unsigned width = type.getIntOrFloatBitWidth();
  switch (kind) {
  case ReduceKind::Prod:
    return number(type, 1);
  case ReduceKind::And:
    return integer(APInt::getAllOnes(width));
  case ReduceKind::Max:
    if (isFloat)
      return number(type, -inf);
    return integer(width == 1 ? APInt::getZero(1)
                              : APInt::getSignedMinValue(width));
  case ReduceKind::Min:
    if (isFloat)
      return number(type, inf);
    return integer(width == 1 ? APInt::getAllOnes(1)
                              : APInt::getSignedMaxValue(width));
  default:
    return number(type, 0);
  }
}

Value Emitter::combine(ReduceKind kind, Value a, Value b) {
  OpBuilder &o = at();
  Type element = getElementTypeOrSelf(a);
  bool isFloat = isa<FloatType>(element), boolean = element.isInteger(1);
  switch (kind) {
  case ReduceKind::Sum:
    if (isFloat)
      return arith::AddFOp::create(o, loc, a, b);
    if (boolean)
      return arith::OrIOp::create(o, loc, a, b);
    return arith::AddIOp::create(o, loc, a, b);
  case ReduceKind::Prod:
    if (isFloat)
      return arith::MulFOp::create(o, loc, a, b);
    if (boolean)
      return arith::AndIOp::create(o, loc, a, b);
    return arith::MulIOp::create(o, loc, a, b);
  case ReduceKind::Max:
    if (isFloat)
      return arith::MaximumFOp::create(o, loc, a, b);
    if (boolean)
      return arith::OrIOp::create(o, loc, a, b);
    return arith::MaxSIOp::create(o, loc, a, b);
  case ReduceKind::Min:
    if (isFloat)
      return arith::MinimumFOp::create(o, loc, a, b);
    if (boolean)
      return arith::AndIOp::create(o, loc, a, b);
    return arith::MinSIOp::create(o, loc, a, b);
  case ReduceKind::And:
    return arith::AndIOp::create(o, loc, a, b);
  case ReduceKind::Or:
    return arith::OrIOp::create(o, loc, a, b);
  case ReduceKind::Xor:
    return arith::XOrIOp::create(o, loc, a, b);
  default:
    llvm_unreachable("argmax and argmin carry two values");
  }
}

/// The integer quotient rounded down, or the remainder that goes with it, as
/// NumPy has them: division by 0 gives 0, and nothing traps.
static Value divideDown(OpBuilder &b, Location loc, Value lhs, Value rhs,
                        bool remainder) {
  using P = arith::CmpIPredicate;
  Value zero = constant(b, loc, lhs, 0), one = constant(b, loc, lhs, 1);
  Value byZero = arith::CmpIOp::create(b, loc, P::eq, rhs, zero);
  // The most negative number divided by -1 overflows: negate instead.
  Value byMinus =
      arith::CmpIOp::create(b, loc, P::eq, rhs, constant(b, loc, lhs, -1));
  Value special = arith::OrIOp::create(b, loc, byZero, byMinus);
  Value safe = arith::SelectOp::create(b, loc, special, one, rhs);
  if (!remainder) {
    Value quotient = arith::FloorDivSIOp::create(b, loc, lhs, safe);
    Value negated = arith::SubIOp::create(b, loc, zero, lhs);
    quotient = arith::SelectOp::create(b, loc, byMinus, negated, quotient);
    return arith::SelectOp::create(b, loc, byZero, zero, quotient);
  }
  Value rest = arith::RemSIOp::create(b, loc, lhs, safe);
  Value some = arith::CmpIOp::create(b, loc, P::ne, rest, zero);
  Value signs = arith::XOrIOp::create(b, loc, rest, safe);
  Value differ = arith::CmpIOp::create(b, loc, P::slt, signs, zero);
  Value fix = arith::AndIOp::create(b, loc, some, differ);
  Value fixed = arith::AddIOp::create(b, loc, rest, safe);
  return arith::SelectOp::create(b, loc, fix, fixed, rest);
}

/// The same for floats: the remainder is exact, the quotient whole; by 0 it is
/// lhs / rhs.
static Value divideDownFloat(OpBuilder &b, Location loc, Value lhs, Value rhs,
                             bool remainder) {
  using P = arith::CmpFPredicate;
  Value zero = constant(b, loc, lhs, 0);
  Value rest = arith::RemFOp::create(b, loc, lhs, rhs);
  Value some = arith::CmpFOp::create(b, loc, P::UNE, rest, zero);
  Value restNegative = arith::CmpFOp::create(b, loc, P::OLT, rest, zero);
  Value rhsNegative = arith::CmpFOp::create(b, loc, P::OLT, rhs, zero);
  Value differ = arith::XOrIOp::create(b, loc, restNegative, rhsNegative);
  Value fix = arith::AndIOp::create(b, loc, some, differ);
  if (remainder) {
    Value moved = arith::AddFOp::create(b, loc, rest, rhs);
    Value modulo = arith::SelectOp::create(b, loc, fix, moved, rest);
    // A remainder of 0 has the divisor's sign.
    Value signedZero = math::CopySignOp::create(b, loc, zero, rhs);
    return arith::SelectOp::create(b, loc, some, modulo, signedZero);
  }
  // Not through the remainder: what is left by an infinite divisor is finite.
  Value whole = arith::DivFOp::create(
      b, loc, arith::SubFOp::create(b, loc, lhs, rest), rhs);
  Value below = arith::SubFOp::create(b, loc, whole, constant(b, loc, lhs, 1));
  whole = arith::SelectOp::create(b, loc, fix, below, whole);
  whole = math::RoundEvenOp::create(b, loc, whole);
  // A quotient of 0 has the sign of lhs / rhs.
  Value isZero = arith::CmpFOp::create(b, loc, P::OEQ, whole, zero);
  Value plain = arith::DivFOp::create(b, loc, lhs, rhs);
  Value signedZero = math::CopySignOp::create(b, loc, zero, plain);
  whole = arith::SelectOp::create(b, loc, isZero, signedZero, whole);
  Value byZero = arith::CmpFOp::create(b, loc, P::OEQ, rhs, zero);
  return arith::SelectOp::create(b, loc, byZero, plain, whole);
}

/// A count of the width or more shifts everything out; as unsigned, negative
/// counts are such.
static Value shift(OpBuilder &b, Location loc, Value value, Value count,
                   bool left) {
  int64_t bits = getElementTypeOrSelf(value).getIntOrFloatBitWidth();
  Value far = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, count,
                                    constant(b, loc, value, double(bits)));
  Value limit = constant(b, loc, value, left ? 0 : double(bits - 1));
  Value safe = arith::SelectOp::create(b, loc, far, limit, count);
  if (!left)
    return arith::ShRSIOp::create(b, loc, value, safe);
  Value shifted = arith::ShLIOp::create(b, loc, value, safe);
  return arith::SelectOp::create(b, loc, far, limit, shifted);
}

/// x to the y by squaring, a turn per bit of y. Where y is negative, 1 / x^-y
/// towards zero: 0, unless x is 1 or -1, for which the turns are right.
Value Emitter::integerPower(Value x, Value y) {
  Value one = constant(at(), loc, x, 1), zero = constant(at(), loc, x, 0);
  int64_t bits = getElementTypeOrSelf(x).getIntOrFloatBitWidth();
  Value power =
      loop(position(0), position(bits - 1), 0, {one, x, y},
           [&](Value, ValueRange carried) -> SmallVector<Value> {
             OpBuilder &b = at();
             Value total = carried[0], base = carried[1], left = carried[2];
             Value low = arith::AndIOp::create(b, loc, left, one);
             Value odd = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                               low, zero);
             Value more = arith::MulIOp::create(b, loc, total, base);
             return {arith::SelectOp::create(b, loc, odd, more, total),
                     arith::MulIOp::create(b, loc, base, base),
                     arith::ShRSIOp::create(b, loc, left, one)};
           })[0];
  auto compare = [&](arith::CmpIPredicate how, Value a, Value b) -> Value {
    return arith::CmpIOp::create(at(), loc, how, a, b);
  };
  Value minus = constant(at(), loc, x, -1);
  Value far = arith::AndIOp::create(
      at(), loc, compare(arith::CmpIPredicate::ne, x, one),
      compare(arith::CmpIPredicate::ne, x, minus));
  Value vanishes = arith::AndIOp::create(
      at(), loc, far, compare(arith::CmpIPredicate::slt, y, zero));
  return arith::SelectOp::create(at(), loc, vanishes, zero, power);
}

static arith::CmpFPredicate floatPredicate(graph::CompareKind kind) {
  using P = arith::CmpFPredicate;
  static constexpr P all[] = {P::OEQ, P::UNE, P::OLT, P::OLE, P::OGT, P::OGE};
  return all[unsigned(kind)];
}

static arith::CmpIPredicate integerPredicate(graph::CompareKind kind,
                                             bool boolean) {
  using P = arith::CmpIPredicate;
  static constexpr P all[] = {P::eq, P::ne, P::slt, P::sle, P::sgt, P::sge};
  static constexpr P booleans[] = {P::eq,  P::ne,  P::ult,
                                   P::ule, P::ugt, P::uge};
  return boolean ? booleans[unsigned(kind)] : all[unsigned(kind)];
}

Value Emitter::evaluateElementwise(Operation *op, ArrayRef<Value> operands,
                                   Type element) {
  using namespace graph;
  OpBuilder &b = at();
  if (isa<graph::CastOp>(op))
    return convert(operands[0], element);
  if (isa<graph::SelectOp>(op))
    return arith::SelectOp::create(b, loc, operands[0], operands[1],
                                   operands[2]);
  // 16-bit floats compute in f32; the result is rounded once.
  Type from = getElementTypeOrSelf(operands[0]);
  SmallVector<Value> wide(operands);
  bool narrow = isa<FloatType>(from) && from.getIntOrFloatBitWidth() < 32;
  if (narrow)
    for (Value &value : wide)
      value = convert(value, b.getF32Type());
  Value x = wide[0], y = wide.size() > 1 ? wide[1] : Value();
  bool isFloat = isa<FloatType>(from), boolean = from.isInteger(1);
  auto pick = [&](auto makeFloat, auto makeInteger) -> Value {
    return isFloat ? Value(makeFloat()) : Value(makeInteger());
  };
  // What is rounded to 16 bits is made to 13, the same as math.exp2 says.
  auto exp2 = [&](Value x, bool near) -> Value {
    return math::Exp2Op::create(b, loc, x,
                                near ? arith::FastMathFlags::afn
                                     : arith::FastMathFlags::none);
  };
#define FLOAT(OP) [&] { return OP::create(b, loc, x, y); }
#define UNARY(OP) [&](auto) -> Value { return OP::create(b, loc, x); }
#define INTEGER(OP) [&](auto) -> Value { return OP::create(b, loc, x, y); }
  Value result =
      llvm::TypeSwitch<Operation *, Value>(op)
          .Case<ExpOp>([&](auto) -> Value {
            if (!narrow)
              return math::ExpOp::create(b, loc, x);
            Value scale = constant(b, loc, x, std::numbers::log2e);
            return exp2(arith::MulFOp::create(b, loc, x, scale), true);
          })
          .Case<Exp2Op>([&](auto) -> Value {
            return exp2(x, narrow || op->hasAttr("near"));
          })
          .Case<LogOp>(UNARY(math::LogOp))
          .Case<Log2Op>(UNARY(math::Log2Op))
          .Case<Log1pOp>(UNARY(math::Log1pOp))
          .Case<SqrtOp>(UNARY(math::SqrtOp))
          .Case<RsqrtOp>(UNARY(math::RsqrtOp))
          .Case<SinOp>(UNARY(math::SinOp))
          .Case<CosOp>(UNARY(math::CosOp))
          .Case<TanhOp>(UNARY(math::TanhOp))
          .Case<ErfOp>(UNARY(math::ErfOp))
          .Case<GeluOp>([&](auto) { return createGelu(b, loc, x, narrow); })
          .Case<SigmoidOp>(
              [&](auto) { return createSigmoid(b, loc, x, narrow); })
          .Case<SiluOp>([&](auto) { return createSilu(b, loc, x, narrow); })
          .Case<FloorOp>(UNARY(math::FloorOp))
          .Case<CeilOp>(UNARY(math::CeilOp))
          .Case<RoundOp>(UNARY(math::RoundEvenOp))
          .Case<NegOp>([&](auto) -> Value {
            if (isFloat)
              return arith::NegFOp::create(b, loc, x);
            return arith::SubIOp::create(b, loc, constant(b, loc, x, 0), x);
          })
          .Case<AbsOp>([&](auto) -> Value {
            if (isFloat)
              return math::AbsFOp::create(b, loc, x);
            return boolean ? x : Value(math::AbsIOp::create(b, loc, x));
          })
          .Case<ReluOp>([&](auto) -> Value {
            return combine(ReduceKind::Max, x, constant(b, loc, x, 0));
          })
          .Case<graph::NotOp>([&](auto) -> Value {
            return arith::XOrIOp::create(b, loc, x, constant(b, loc, x, -1));
          })
          .Case<AddOp>([&](auto) { return combine(ReduceKind::Sum, x, y); })
          .Case<MulOp>([&](auto) { return combine(ReduceKind::Prod, x, y); })
          .Case<MaximumOp>([&](auto) { return combine(ReduceKind::Max, x, y); })
          .Case<MinimumOp>([&](auto) { return combine(ReduceKind::Min, x, y); })
          .Case<SubOp>([&](auto) {
            return pick(FLOAT(arith::SubFOp), FLOAT(arith::SubIOp));
          })
          .Case<DivOp>([&](auto) -> Value {
            return arith::DivFOp::create(b, loc, x, y);
          })
          .Case<FloorDivOp>([&](auto) {
            return isFloat ? divideDownFloat(b, loc, x, y, false)
                           : divideDown(b, loc, x, y, false);
          })
          .Case<ModOp>([&](auto) {
            return isFloat ? divideDownFloat(b, loc, x, y, true)
                           : divideDown(b, loc, x, y, true);
          })
          .Case<PowOp>([&](auto) -> Value {
            if (isFloat)
              return math::PowFOp::create(b, loc, x, y);
            return integerPower(x, y);
          })
          .Case<graph::AndOp>(INTEGER(arith::AndIOp))
          .Case<graph::OrOp>(INTEGER(arith::OrIOp))
          .Case<graph::XorOp>(INTEGER(arith::XOrIOp))
          .Case<ShlOp>([&](auto) { return shift(b, loc, x, y, true); })
          .Case<ShrOp>([&](auto) { return shift(b, loc, x, y, false); })
          .Case<graph::FmaOp>([&](auto) -> Value {
            return math::FmaOp::create(b, loc, x, y, wide[2]);
          })
          .Case<IsNanOp>([&](auto) -> Value {
            return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x,
                                         x);
          })
          .Case<IsFiniteOp>([&](auto) -> Value {
            Value size = math::AbsFOp::create(b, loc, x);
            double inf = std::numeric_limits<double>::infinity();
            return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT,
                                         size, constant(b, loc, x, inf));
          })
          .Case([&](graph::CompareOp compare) -> Value {
            if (isFloat)
              return arith::CmpFOp::create(
                  b, loc, floatPredicate(compare.getKind()), x, y);
            return arith::CmpIOp::create(
                b, loc, integerPredicate(compare.getKind(), boolean), x, y);
          })
          .Default([](Operation *) { return Value(); });
#undef FLOAT
#undef UNARY
#undef INTEGER
  if (!result) {
    op->emitOpError() << "has no element-wise form";
    return {};
  }
  return narrow ? convert(result, element) : result;
}
