//===- ScalarOps.cpp - The one reference of each scalar op ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Interpreter/ScalarOps.h"

#include "compiler/Graph/IR/Graph.h"

#include "llvm/ADT/StringMap.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace tessera;
using namespace tessera::interpreter;

llvm::ArrayRef<ScalarOpInfo> interpreter::scalarOps() {
  static constexpr ScalarOpInfo all[] = {
#define SCALAR_OP(NAME, TEXT, ARITY, PRECISION, RING)                          \
  {ScalarOp::NAME, TEXT, ARITY, Precision::PRECISION, RingClass::RING},
#include "compiler/Interpreter/ScalarOps.def"
  };
  return all;
}

//===----------------------------------------------------------------------===//
// Reals
//===----------------------------------------------------------------------===//

using Real = long double;

/// Toward the larger; NaN wins, +0 is larger than -0.
static Real maximum(Real a, Real b) {
  if (std::isnan(a) || std::isnan(b))
    return a + b;
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
static Real minimum(Real a, Real b) { return -maximum(-a, -b); }

/// The remainder with the divisor's sign, as Python and NumPy have it.
static Real modulo(Real a, Real b) {
  Real rest = std::fmod(a, b);
  if (rest == 0)
    return std::copysign(Real(0), b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}
static Real floorDivide(Real a, Real b) {
  if (b == 0 || std::isnan(a) || std::isnan(b) || std::isinf(a))
    return b == 0 ? a / b : std::fmod(a, b);
  Real rest = std::fmod(a, b);
  Real whole = (a - rest) / b; // a multiple of b: whole but for its rounding
  if (rest != 0 && (rest < 0) != (b < 0))
    whole -= 1;
  if (whole == 0)
    return std::copysign(Real(0), a / b);
  return std::nearbyint(whole);
}

static Real sigmoid(Real x) {
  Real e = std::exp(-std::fabs(x));
  return (x >= 0 ? 1 : e) / (1 + e);
}
/// x f(x) where f(-inf) is 0, and so is the limit of the product.
static Real times(Real x, Real factor) {
  return x == -std::numeric_limits<Real>::infinity() ? Real(-0.0) : x * factor;
}

Real interpreter::referenceReal(ScalarOp op, const Real *x) {
  Real a = x[0];
  Real b = infoOf(op).operands > 1 ? x[1] : 0;
  constexpr Real root = std::numbers::sqrt2_v<Real> / 2;
  switch (op) {
  case ScalarOp::Neg:
    return -a;
  case ScalarOp::Abs:
    return std::fabs(a);
  case ScalarOp::Exp:
    return std::exp(a);
  case ScalarOp::Exp2:
  case ScalarOp::Exp2Near:
    return std::exp2(a);
  case ScalarOp::Log:
    return std::log(a);
  case ScalarOp::Log2:
    return std::log2(a);
  case ScalarOp::Log1p:
    return std::log1p(a);
  case ScalarOp::Sqrt:
    return std::sqrt(a);
  case ScalarOp::Rsqrt:
    return 1 / std::sqrt(a);
  case ScalarOp::Sin:
    return std::sin(a);
  case ScalarOp::Cos:
    return std::cos(a);
  case ScalarOp::Tanh:
    return std::tanh(a);
  case ScalarOp::Erf:
    return std::erf(a);
  case ScalarOp::Erfc:
  case ScalarOp::ErfcNear:
    return std::erfc(a);
  case ScalarOp::Floor:
    return std::floor(a);
  case ScalarOp::Ceil:
    return std::ceil(a);
  case ScalarOp::Round:
    return std::nearbyint(a);
  case ScalarOp::Trunc:
    return std::trunc(a);
  case ScalarOp::Relu:
    return maximum(a, 0);
  case ScalarOp::Sigmoid:
    return sigmoid(a);
  case ScalarOp::Silu:
    return times(a, sigmoid(a));
  case ScalarOp::Gelu:
    return times(a, std::erfc(-a * root) / 2);
  case ScalarOp::GeluTanh: {
    constexpr Real scale =
        std::numbers::sqrt2_v<Real> * std::numbers::inv_sqrtpi_v<Real>;
    // 1 + tanh(t) is 2 sigmoid(2 t), which keeps its precision below 0.
    return times(a, sigmoid(2 * scale * (a + Real(0.044715L) * a * a * a)));
  }
  case ScalarOp::IsNan:
    return std::isnan(a);
  case ScalarOp::IsFinite:
    return std::isfinite(a);
  case ScalarOp::Add:
    return a + b;
  case ScalarOp::Sub:
    return a - b;
  case ScalarOp::Mul:
    return a * b;
  case ScalarOp::Div:
    return a / b;
  case ScalarOp::FloorDiv:
    return floorDivide(a, b);
  case ScalarOp::Mod:
    return modulo(a, b);
  case ScalarOp::Rem:
    return std::fmod(a, b);
  case ScalarOp::Pow:
    return std::pow(a, b);
  case ScalarOp::Maximum:
    return maximum(a, b);
  case ScalarOp::Minimum:
    return minimum(a, b);
  case ScalarOp::MaxNum:
    return std::isnan(a) ? b : std::isnan(b) ? a : maximum(a, b);
  case ScalarOp::MinNum:
    return std::isnan(a) ? b : std::isnan(b) ? a : minimum(a, b);
  case ScalarOp::CopySign:
    return std::copysign(a, b);
  case ScalarOp::Eq:
    return a == b;
  case ScalarOp::Ne:
    return !(a == b);
  case ScalarOp::Lt:
    return a < b;
  case ScalarOp::Le:
    return a <= b;
  case ScalarOp::Gt:
    return a > b;
  case ScalarOp::Ge:
    return a >= b;
  case ScalarOp::OrderedNe:
    return a < b || a > b;
  case ScalarOp::UnorderedEq:
    return !(a < b || a > b);
  case ScalarOp::UnorderedLt:
    return !(a >= b);
  case ScalarOp::UnorderedLe:
    return !(a > b);
  case ScalarOp::UnorderedGt:
    return !(a <= b);
  case ScalarOp::UnorderedGe:
    return !(a < b);
  case ScalarOp::Ordered:
    return !std::isunordered(a, b);
  case ScalarOp::Unordered:
    return std::isunordered(a, b);
  case ScalarOp::Fma:
    return std::fma(a, b, x[2]);
  default:
    llvm_unreachable("an op on integers");
  }
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

static uint64_t toUnsigned(Element type, int64_t value) {
  unsigned bits = bitsOf(type);
  return bits == 64 ? uint64_t(value)
                    : uint64_t(value) & ((uint64_t(1) << bits) - 1);
}

/// Booleans add and multiply as or and and.
static std::optional<int64_t> referenceBoolean(ScalarOp op, const int64_t *x) {
  switch (op) {
  case ScalarOp::Neg:
  case ScalarOp::Abs:
  case ScalarOp::Relu:
    return x[0];
  case ScalarOp::Add:
  case ScalarOp::Maximum:
  case ScalarOp::MaxUnsigned:
    return x[0] | x[1];
  case ScalarOp::Mul:
  case ScalarOp::Minimum:
  case ScalarOp::MinUnsigned:
    return x[0] & x[1];
  case ScalarOp::Sub:
    return x[0] ^ x[1];
  default:
    return std::nullopt;
  }
}

static int64_t integerPower(Element type, int64_t x, int64_t y) {
  if (y < 0) // 1 / x^-y toward zero; of 0 it is 0
    return x == 1 ? 1 : x == -1 ? (y & 1 ? -1 : 1) : 0;
  uint64_t power = 1, base = uint64_t(x);
  for (; y; y >>= 1, base *= base)
    if (y & 1)
      power *= base;
  return int64_t(power);
}

std::optional<int64_t> interpreter::referenceInteger(ScalarOp op, Element type,
                                                     const int64_t *x) {
  if (type == Element::I1)
    if (std::optional<int64_t> result = referenceBoolean(op, x))
      return result;
  unsigned operands = infoOf(op).operands;
  int64_t a = x[0], b = operands > 1 ? x[1] : 0;
  uint64_t ua = toUnsigned(type, a), ub = toUnsigned(type, b);
  unsigned bits = bitsOf(type);
  auto wrap = [&](uint64_t value) { return wrapTo(type, int64_t(value)); };
  switch (op) {
  case ScalarOp::Neg:
    return wrap(-uint64_t(a));
  case ScalarOp::Abs:
    return wrap(a < 0 ? -uint64_t(a) : uint64_t(a));
  case ScalarOp::Relu:
    return a < 0 ? 0 : a;
  case ScalarOp::Not:
    return wrap(~uint64_t(a));
  case ScalarOp::Add:
    return wrap(uint64_t(a) + uint64_t(b));
  case ScalarOp::Sub:
    return wrap(uint64_t(a) - uint64_t(b));
  case ScalarOp::Mul:
    return wrap(uint64_t(a) * uint64_t(b));
  case ScalarOp::FloorDiv:
  case ScalarOp::DivTrunc:
  case ScalarOp::DivCeil: {
    if (b == 0)
      return op == ScalarOp::FloorDiv ? std::optional<int64_t>(0)
                                      : std::nullopt;
    if (b == -1)
      return wrap(-uint64_t(a));
    int64_t whole = a / b, rest = a % b;
    if (op == ScalarOp::FloorDiv && rest != 0 && (rest < 0) != (b < 0))
      --whole;
    if (op == ScalarOp::DivCeil && rest != 0 && (rest < 0) == (b < 0))
      ++whole;
    return whole;
  }
  case ScalarOp::Mod:
  case ScalarOp::Rem: {
    if (b == 0)
      return op == ScalarOp::Mod ? std::optional<int64_t>(0) : std::nullopt;
    if (b == -1)
      return 0;
    int64_t rest = a % b;
    if (op == ScalarOp::Mod && rest != 0 && (rest < 0) != (b < 0))
      rest += b;
    return rest;
  }
  case ScalarOp::DivUnsigned:
    return ub == 0 ? std::nullopt : std::optional(wrap(ua / ub));
  case ScalarOp::RemUnsigned:
    return ub == 0 ? std::nullopt : std::optional(wrap(ua % ub));
  case ScalarOp::Pow:
    return wrap(uint64_t(integerPower(type, a, b)));
  case ScalarOp::Maximum:
    return std::max(a, b);
  case ScalarOp::Minimum:
    return std::min(a, b);
  case ScalarOp::MaxUnsigned:
    return ua > ub ? a : b;
  case ScalarOp::MinUnsigned:
    return ua < ub ? a : b;
  case ScalarOp::And:
    return a & b;
  case ScalarOp::Or:
    return a | b;
  case ScalarOp::Xor:
    return a ^ b;
  // A count of the width or more shifts everything out; so does a negative one.
  case ScalarOp::Shl:
    return ub >= bits ? 0 : wrap(uint64_t(a) << ub);
  case ScalarOp::Shr:
    return ub >= bits ? (a < 0 ? -1 : 0) : a >> ub;
  case ScalarOp::ShrUnsigned:
    return ub >= bits ? 0 : wrap(ua >> ub);
  case ScalarOp::Eq:
  case ScalarOp::UnorderedEq:
    return a == b;
  case ScalarOp::Ne:
  case ScalarOp::OrderedNe:
    return a != b;
  case ScalarOp::Lt:
    return a < b;
  case ScalarOp::Le:
    return a <= b;
  case ScalarOp::Gt:
    return a > b;
  case ScalarOp::Ge:
    return a >= b;
  case ScalarOp::LtUnsigned:
    return ua < ub;
  case ScalarOp::LeUnsigned:
    return ua <= ub;
  case ScalarOp::GtUnsigned:
    return ua > ub;
  case ScalarOp::GeUnsigned:
    return ua >= ub;
  default:
    llvm_unreachable("an op on floats");
  }
}

//===----------------------------------------------------------------------===//
// Which entry an op is
//===----------------------------------------------------------------------===//

static std::optional<ScalarOp> ofCompare(Operation *op) {
  using S = ScalarOp;
  if (auto compare = dyn_cast<graph::CompareOp>(op))
    return ScalarOp(unsigned(S::Eq) + unsigned(compare.getKind()));
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    static constexpr S all[] = {
        S::Eq, S::Ne,         S::Lt,         S::Le,         S::Gt,
        S::Ge, S::LtUnsigned, S::LeUnsigned, S::GtUnsigned, S::GeUnsigned};
    return all[unsigned(compare.getPredicate())];
  }
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    using P = arith::CmpFPredicate;
    switch (compare.getPredicate()) {
    case P::OEQ:
      return S::Eq;
    case P::OGT:
      return S::Gt;
    case P::OGE:
      return S::Ge;
    case P::OLT:
      return S::Lt;
    case P::OLE:
      return S::Le;
    case P::ONE:
      return S::OrderedNe;
    case P::ORD:
      return S::Ordered;
    case P::UEQ:
      return S::UnorderedEq;
    case P::UGT:
      return S::UnorderedGt;
    case P::UGE:
      return S::UnorderedGe;
    case P::ULT:
      return S::UnorderedLt;
    case P::ULE:
      return S::UnorderedLe;
    case P::UNE:
      return S::Ne;
    case P::UNO:
      return S::Unordered;
    default:
      return std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<ScalarOp> interpreter::scalarOpOf(Operation *op) {
  using S = ScalarOp;
  static const llvm::StringMap<ScalarOp> names = {
      // gir
      {"gir.neg", S::Neg},
      {"gir.abs", S::Abs},
      {"gir.exp", S::Exp},
      {"gir.exp2", S::Exp2},
      {"gir.log", S::Log},
      {"gir.log2", S::Log2},
      {"gir.log1p", S::Log1p},
      {"gir.sqrt", S::Sqrt},
      {"gir.rsqrt", S::Rsqrt},
      {"gir.sin", S::Sin},
      {"gir.cos", S::Cos},
      {"gir.tanh", S::Tanh},
      {"gir.erf", S::Erf},
      {"gir.sigmoid", S::Sigmoid},
      {"gir.floor", S::Floor},
      {"gir.ceil", S::Ceil},
      {"gir.round", S::Round},
      {"gir.silu", S::Silu},
      {"gir.relu", S::Relu},
      {"gir.not", S::Not},
      {"gir.add", S::Add},
      {"gir.sub", S::Sub},
      {"gir.mul", S::Mul},
      {"gir.div", S::Div},
      {"gir.floordiv", S::FloorDiv},
      {"gir.mod", S::Mod},
      {"gir.pow", S::Pow},
      {"gir.and", S::And},
      {"gir.or", S::Or},
      {"gir.xor", S::Xor},
      {"gir.shl", S::Shl},
      {"gir.shr", S::Shr},
      {"gir.maximum", S::Maximum},
      {"gir.minimum", S::Minimum},
      {"gir.fma", S::Fma},
      {"gir.isnan", S::IsNan},
      {"gir.isfinite", S::IsFinite},
      {"gir.select", S::Select},
      // math
      {"math.absf", S::Abs},
      {"math.absi", S::Abs},
      {"math.exp", S::Exp},
      {"math.exp2", S::Exp2},
      {"math.log", S::Log},
      {"math.log2", S::Log2},
      {"math.log1p", S::Log1p},
      {"math.sqrt", S::Sqrt},
      {"math.rsqrt", S::Rsqrt},
      {"math.sin", S::Sin},
      {"math.cos", S::Cos},
      {"math.tanh", S::Tanh},
      {"math.erf", S::Erf},
      {"math.erfc", S::Erfc},
      {"math.floor", S::Floor},
      {"math.ceil", S::Ceil},
      {"math.roundeven", S::Round},
      {"math.trunc", S::Trunc},
      {"math.powf", S::Pow},
      {"math.copysign", S::CopySign},
      {"math.fma", S::Fma},
      // arith
      {"arith.negf", S::Neg},
      {"arith.addf", S::Add},
      {"arith.addi", S::Add},
      {"arith.subf", S::Sub},
      {"arith.subi", S::Sub},
      {"arith.mulf", S::Mul},
      {"arith.muli", S::Mul},
      {"arith.divf", S::Div},
      {"arith.remf", S::Rem},
      {"arith.divsi", S::DivTrunc},
      {"arith.remsi", S::Rem},
      {"arith.divui", S::DivUnsigned},
      {"arith.remui", S::RemUnsigned},
      {"arith.floordivsi", S::FloorDiv},
      {"arith.ceildivsi", S::DivCeil},
      {"arith.andi", S::And},
      {"arith.ori", S::Or},
      {"arith.xori", S::Xor},
      {"arith.shli", S::Shl},
      {"arith.shrsi", S::Shr},
      {"arith.shrui", S::ShrUnsigned},
      {"arith.maximumf", S::Maximum},
      {"arith.minimumf", S::Minimum},
      {"arith.maxnumf", S::MaxNum},
      {"arith.minnumf", S::MinNum},
      {"arith.maxsi", S::Maximum},
      {"arith.minsi", S::Minimum},
      {"arith.maxui", S::MaxUnsigned},
      {"arith.minui", S::MinUnsigned},
      {"arith.select", S::Select},
  };
  if (auto gelu = dyn_cast<graph::GeluOp>(op))
    return gelu.getTanh() ? S::GeluTanh : S::Gelu;
  if (auto exp2 = dyn_cast<math::Exp2Op>(op);
      exp2 && bitEnumContainsAll(exp2.getFastmath(), arith::FastMathFlags::afn))
    return S::Exp2Near;
  if (auto erfc = dyn_cast<math::ErfcOp>(op);
      erfc && bitEnumContainsAll(erfc.getFastmath(), arith::FastMathFlags::afn))
    return S::ErfcNear;
  if (isa<graph::Exp2Op>(op) && op->hasAttr("near"))
    return S::Exp2Near;
  if (std::optional<ScalarOp> compare = ofCompare(op))
    return compare;
  auto found = names.find(op->getName().getStringRef());
  if (found == names.end())
    return std::nullopt;
  // arith adds booleans modulo 2, gir as an or.
  bool isBool = op->getNumResults() == 1 &&
                getElementTypeOrSelf(op->getResult(0)).isInteger(1);
  if (isBool && (isa<arith::AddIOp, arith::SubIOp>(op)))
    return S::Xor;
  return found->second;
}
