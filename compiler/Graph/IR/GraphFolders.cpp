//===- GraphFolders.cpp - Graph IR: arithmetic on constants ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An op folds when all its operands are one value everywhere (a splat, hence
// every constant of rank 0) and its result is exact or correctly rounded, so
// that folding never changes a bit. f16 and bf16 compute in f32 and round once;
// for the ops here that is the correctly rounded result (f32 has at least
// 2p + 2 digits), which APFloat gives directly.
//
//===----------------------------------------------------------------------===//

#include "compiler/Graph/IR/Graph.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APSInt.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;
using namespace tessera::graph;

Operation *GraphDialect::materializeConstant(OpBuilder &builder,
                                             Attribute value, Type type,
                                             Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, elements);
}

/// The one value of a splat as T (APInt or APFloat).
template <typename T> static std::optional<T> splat(Attribute attribute) {
  auto elements = dyn_cast_if_present<DenseElementsAttr>(attribute);
  if (!elements || !elements.isSplat())
    return std::nullopt;
  bool isFloat = isa<FloatType>(elements.getElementType());
  if (isFloat != std::is_same_v<T, APFloat>)
    return std::nullopt;
  return elements.getSplatValue<T>();
}

template <typename T>
static OpFoldResult make(Type type, const std::optional<T> &value) {
  auto shaped = cast<ShapedType>(type);
  if (!value || !shaped.hasStaticShape())
    return {};
  return DenseElementsAttr::get(shaped, *value);
}

static constexpr auto rne = APFloat::rmNearestTiesToEven;

/// Correctly rounded square root (f32, f64); narrower types go through f32.
static APFloat squareRoot(const APFloat &value) {
  const llvm::fltSemantics &semantics = value.getSemantics();
  if (&semantics == &APFloat::IEEEdouble())
    return APFloat(std::sqrt(value.convertToDouble()));
  bool lost;
  APFloat wide = value;
  wide.convert(APFloat::IEEEsingle(), rne, &lost);
  APFloat root(std::sqrt(wide.convertToFloat()));
  root.convert(semantics, rne, &lost);
  return root;
}

static std::optional<APFloat> fold(Operation *op, const APFloat &a) {
  APFloat x = a;
  return llvm::TypeSwitch<Operation *, std::optional<APFloat>>(op)
      .Case([&](NegOp) {
        x.changeSign();
        return x;
      })
      .Case([&](AbsOp) {
        x.clearSign();
        return x;
      })
      .Case([&](ReluOp) {
        return llvm::maximum(x, APFloat::getZero(x.getSemantics()));
      })
      .Case([&](SqrtOp) { return squareRoot(x); })
      .Case([&](FloorOp) {
        x.roundToIntegral(APFloat::rmTowardNegative);
        return x;
      })
      .Case([&](CeilOp) {
        x.roundToIntegral(APFloat::rmTowardPositive);
        return x;
      })
      .Case([&](RoundOp) {
        x.roundToIntegral(rne);
        return x;
      })
      .Default([](Operation *) { return std::nullopt; });
}

static std::optional<APInt> fold(Operation *op, const APInt &a) {
  bool isBool = a.getBitWidth() == 1;
  return llvm::TypeSwitch<Operation *, std::optional<APInt>>(op)
      .Case([&](NotOp) { return ~a; })
      .Case([&](NegOp) -> std::optional<APInt> {
        return isBool ? std::nullopt : std::optional(-a);
      })
      .Case([&](AbsOp) -> std::optional<APInt> {
        return isBool ? std::nullopt : std::optional(a.abs());
      })
      .Case([&](ReluOp) -> std::optional<APInt> {
        if (isBool)
          return std::nullopt;
        return a.isNegative() ? APInt::getZero(a.getBitWidth()) : a;
      })
      .Default([](Operation *) { return std::nullopt; });
}

static OpFoldResult foldUnary(Operation *op, Attribute input) {
  Type type = op->getResult(0).getType();
  if (std::optional<APFloat> x = splat<APFloat>(input))
    return make(type, fold(op, *x));
  if (std::optional<APInt> x = splat<APInt>(input))
    return make(type, fold(op, *x));
  return {};
}

static std::optional<APFloat> fold(Operation *op, const APFloat &a,
                                   const APFloat &b) {
  return llvm::TypeSwitch<Operation *, std::optional<APFloat>>(op)
      .Case([&](AddOp) { return a + b; })
      .Case([&](SubOp) { return a - b; })
      .Case([&](MulOp) { return a * b; })
      .Case([&](DivOp) { return a / b; })
      .Case([&](MaximumOp) { return llvm::maximum(a, b); })
      .Case([&](MinimumOp) { return llvm::minimum(a, b); })
      .Default([](Operation *) { return std::nullopt; });
}

static std::optional<APInt> fold(Operation *op, const APInt &a,
                                 const APInt &b) {
  using Result = std::optional<APInt>;
  unsigned width = a.getBitWidth();
  bool isBool = width == 1;
  if (isa<AndOp>(op))
    return a & b;
  if (isa<OrOp>(op))
    return a | b;
  if (isa<XorOp>(op))
    return a ^ b;
  if (isBool)
    return std::nullopt;
  // Rounds down: one less than the truncated quotient where the signs differ
  // and something is left. Division by zero, and the one quotient that
  // overflows, are left to the machine.
  bool divides = !b.isZero() && !(a.isMinSignedValue() && b.isAllOnes());
  auto shifts = [&] { return b.ult(width); };
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](AddOp) { return a + b; })
      .Case([&](SubOp) { return a - b; })
      .Case([&](MulOp) { return a * b; })
      .Case([&](MaximumOp) { return a.sgt(b) ? a : b; })
      .Case([&](MinimumOp) { return a.slt(b) ? a : b; })
      .Case([&](FloorDivOp) -> Result {
        if (!divides)
          return std::nullopt;
        APInt quotient = a.sdiv(b), rest = a.srem(b);
        if (!rest.isZero() && rest.isNegative() != b.isNegative())
          quotient -= 1;
        return quotient;
      })
      .Case([&](ModOp) -> Result {
        if (!divides)
          return std::nullopt;
        APInt rest = a.srem(b);
        if (!rest.isZero() && rest.isNegative() != b.isNegative())
          rest += b;
        return rest;
      })
      .Case([&](ShlOp) -> Result {
        return shifts() ? Result(a.shl(b)) : std::nullopt;
      })
      .Case([&](ShrOp) -> Result {
        return shifts() ? Result(a.ashr(b)) : std::nullopt;
      })
      .Default([](Operation *) { return std::nullopt; });
}

/// The constant under any broadcasts of `value`.
static Attribute constantUnderBroadcast(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getInput();
  Attribute attribute;
  matchPattern(value, m_Constant(&attribute));
  return attribute;
}

/// Whether `op` with this right operand gives its left one, to the bit: x - 0,
/// x * 1, x / 1, and for integers also x + 0 (not floats: -0 + 0 is +0).
static bool isRightIdentity(Operation *op, Attribute right) {
  if (std::optional<APFloat> x = splat<APFloat>(right)) {
    if (isa<SubOp>(op))
      return x->isPosZero();
    return isa<MulOp, DivOp>(op) && x->isExactlyValue(1.0);
  }
  if (std::optional<APInt> x = splat<APInt>(right)) {
    if (x->getBitWidth() == 1)
      return false;
    if (isa<AddOp, SubOp>(op))
      return x->isZero();
    return isa<MulOp, FloorDivOp>(op) && x->isOne();
  }
  return false;
}

/// `operand`, which `op` gives to the bit. A user's kernel was made for what
/// `op` writes, which is row-major; an argument has the strides it has.
static OpFoldResult same(Operation *op, Value operand) {
  if (isa<BlockArgument>(operand) &&
      llvm::any_of(op->getUsers(), llvm::IsaPred<CallKernelOp>))
    return {};
  return operand;
}

static OpFoldResult foldBinary(Operation *op, Attribute lhs, Attribute rhs) {
  Type type = op->getResult(0).getType();
  std::optional<APFloat> fa = splat<APFloat>(lhs), fb = splat<APFloat>(rhs);
  if (fa && fb)
    return make(type, fold(op, *fa, *fb));
  std::optional<APInt> a = splat<APInt>(lhs), b = splat<APInt>(rhs);
  if (a && b)
    return make(type, fold(op, *a, *b));
  // The operands have the result's type, so either may stand for it.
  if (isRightIdentity(op, constantUnderBroadcast(op->getOperand(1))))
    return same(op, op->getOperand(0));
  if (op->hasTrait<OpTrait::IsCommutative>() &&
      isRightIdentity(op, constantUnderBroadcast(op->getOperand(0))))
    return same(op, op->getOperand(1));
  return {};
}

#define FOLD_UNARY(OP)                                                         \
  OpFoldResult OP::fold(FoldAdaptor adaptor) {                                 \
    return foldUnary(*this, adaptor.getInput());                               \
  }
FOLD_UNARY(NegOp)
FOLD_UNARY(AbsOp)
FOLD_UNARY(ReluOp)
FOLD_UNARY(NotOp)
FOLD_UNARY(SqrtOp)
FOLD_UNARY(FloorOp)
FOLD_UNARY(CeilOp)
FOLD_UNARY(RoundOp)
#undef FOLD_UNARY

#define FOLD_BINARY(OP)                                                        \
  OpFoldResult OP::fold(FoldAdaptor adaptor) {                                 \
    return foldBinary(*this, adaptor.getLhs(), adaptor.getRhs());              \
  }
FOLD_BINARY(AddOp)
FOLD_BINARY(SubOp)
FOLD_BINARY(MulOp)
FOLD_BINARY(DivOp)
FOLD_BINARY(FloorDivOp)
FOLD_BINARY(ModOp)
FOLD_BINARY(AndOp)
FOLD_BINARY(OrOp)
FOLD_BINARY(XorOp)
FOLD_BINARY(ShlOp)
FOLD_BINARY(ShrOp)
FOLD_BINARY(MaximumOp)
FOLD_BINARY(MinimumOp)
#undef FOLD_BINARY

/// `order` is negative, zero or positive; an unordered pair is only `ne`.
static bool holds(CompareKind kind, int order, bool unordered) {
  if (unordered)
    return kind == CompareKind::Ne;
  switch (kind) {
  case CompareKind::Eq:
    return order == 0;
  case CompareKind::Ne:
    return order != 0;
  case CompareKind::Lt:
    return order < 0;
  case CompareKind::Le:
    return order <= 0;
  case CompareKind::Gt:
    return order > 0;
  case CompareKind::Ge:
    return order >= 0;
  }
  llvm_unreachable("unknown comparison");
}

OpFoldResult CompareOp::fold(FoldAdaptor adaptor) {
  std::optional<bool> result;
  std::optional<APFloat> fa = splat<APFloat>(adaptor.getLhs());
  std::optional<APFloat> fb = splat<APFloat>(adaptor.getRhs());
  if (fa && fb) {
    APFloat::cmpResult order = fa->compare(*fb);
    result = holds(getKind(),
                   order == APFloat::cmpLessThan      ? -1
                   : order == APFloat::cmpGreaterThan ? 1
                                                      : 0,
                   order == APFloat::cmpUnordered);
  }
  std::optional<APInt> a = splat<APInt>(adaptor.getLhs());
  std::optional<APInt> b = splat<APInt>(adaptor.getRhs());
  if (a && b) {
    // false < true, although a set bit of width 1 is -1 when signed.
    bool isBool = a->getBitWidth() == 1;
    bool less = isBool ? a->ult(*b) : a->slt(*b);
    result = holds(getKind(), *a == *b ? 0 : less ? -1 : 1, false);
  }
  if (!result)
    return {};
  return make<APInt>(getType(), APInt(1, *result));
}

OpFoldResult SelectOp::fold(FoldAdaptor adaptor) {
  if (std::optional<APInt> which = splat<APInt>(adaptor.getCondition()))
    return same(*this, which->isOne() ? getA() : getB());
  if (getA() == getB())
    return same(*this, getA());
  return {};
}

/// The constant converted as gir.cast says.
static OpFoldResult convert(ShapedType type, Attribute input) {
  Type to = type.getElementType();
  auto toFloat = dyn_cast<FloatType>(to);
  if (std::optional<APFloat> x = splat<APFloat>(input)) {
    if (toFloat) {
      bool lost;
      x->convert(toFloat.getFloatSemantics(), rne, &lost);
      return make(type, x);
    }
    if (to.isInteger(1))
      return make<APInt>(type, APInt(1, !x->isZero()));
    // Saturates, and gives 0 for NaN.
    llvm::APSInt whole(to.getIntOrFloatBitWidth(), /*isUnsigned=*/false);
    bool exact;
    x->convertToInteger(whole, APFloat::rmTowardZero, &exact);
    return make<APInt>(type, whole);
  }
  if (std::optional<APInt> x = splat<APInt>(input)) {
    bool isBool = x->getBitWidth() == 1;
    if (toFloat) {
      APFloat result(toFloat.getFloatSemantics());
      result.convertFromAPInt(*x, /*IsSigned=*/!isBool, rne);
      return make<APFloat>(type, result);
    }
    if (to.isInteger(1))
      return make<APInt>(type, APInt(1, !x->isZero()));
    unsigned width = to.getIntOrFloatBitWidth();
    return make<APInt>(type, isBool ? x->zext(width) : x->sextOrTrunc(width));
  }
  return {};
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (getRounding() != "rn")
    return {};
  return convert(cast<ShapedType>(getType()), adaptor.getInput());
}
