//===- Bound.cpp - Derived error bounds -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cell holds the value without any rounding (80-bit) and a bound on how far a
// computed one may be from it. Each op moves the bounds of its operands and
// adds its own rounding; nothing is picked by hand:
//
//   rounded ops    one unit roundoff of the type computed in, one of the
//                  result's; none where the operands are certain and the
//                  result is a value of the type
//   functions      2 ULP (docs/language.md), moved by evaluating the function
//                  at both ends of the operand's interval
//   sums, dots     n terms in any order: one unit roundoff of each partial sum,
//                  the largest that data of these signs and magnitudes can
//                  have; 0 if every partial sum is exact
//   comparisons    decided if the operands' intervals do not overlap; a select
//                  on an undecided one may give either arm
//
// Two things are known beyond that, for variances and norms:
//
//   shared   how far a mean is off is one unknown number, the same wherever the
//            mean is used: computed = real + shared * unknown + rest. In
//            sum((x - mean)^2) it is multiplied by sum(x - mean), which is 0.
//   least    what is computed is not less than this: a sum of squares is not
//            negative, nor below 1e-5 after 1e-5 is added.
//
// Dropping a rounding (policy `fast`, fused multiply-adds) never leaves the
// bound. An undecided integer, or an undecided branch, has an infinite bound.
//
//===----------------------------------------------------------------------===//

#include "compiler/Interpreter/Domain.h"
#include "compiler/Interpreter/Roundoff.h"

#include <array>
#include <cmath>
#include <limits>

using namespace tessera;
using namespace tessera::interpreter;
using llvm::ArrayRef;
using Real = long double;
using S = ScalarOp;

namespace {

constexpr double unknown = std::numeric_limits<double>::infinity();
/// The reference itself is rounded to 64 bits now and then.
constexpr Real slack = 0x1p-62L;

/// a * b, where 0 times anything is 0.
Real times(Real a, Real b) { return a == 0 || b == 0 ? 0 : a * b; }

/// Rounded up.
double up(Real error) {
  double wide = double(error);
  return wide < error ? std::nextafter(wide, unknown) : wide;
}

Cell make(Real value, Real error) {
  Cell cell = Cell::ofReal(value);
  cell.error = std::isnan(error) ? unknown : up(error);
  return cell;
}

/// real + shared * unknown, and at most `rest` more.
Cell makeShared(Real value, Real rest, Real shared, uint32_t source) {
  Cell cell = make(value, std::fabs(shared) * (1 + 0x1p-51L) + rest);
  if (std::isfinite(cell.error) && shared != 0) {
    cell.shared = double(shared);
    cell.source = source;
  }
  return cell;
}

/// The least and the largest computed value.
Real low(const Cell &x) { return std::max<Real>(x.real - x.error, x.least); }
Real high(const Cell &x) { return x.real + x.error; }
/// Of `error`, what is not shared.
Real restOf(const Cell &x) { return x.error - std::fabs(x.shared); }

/// Notes that no computed value is below `least`, or its rounding to `type`.
/// Only whether values are negative, and how far from 0 they are, is of use.
Cell notBelow(Cell cell, Real least, Element type) {
  if (least >= 0)
    cell.least = std::max(
        cell.least,
        double(std::max<Real>(0, least * (1 - 4 * unit(type)) - tiny(type))));
  return cell;
}

bool certain(ArrayRef<Cell> x) {
  return llvm::all_of(x, [](const Cell &cell) { return cell.error == 0; });
}

class Bound : public Domain {
public:
  llvm::StringRef name() const override { return "bound"; }
  Cell constant(Element type, Real value) override {
    if (!isFloat(type))
      return Cell::ofInteger(wrapTo(type, int64_t(value)));
    Real off =
        std::isfinite(value) ? std::fabs(roundTo(type, value) - value) : 0;
    return make(value, off);
  }
  /// 0.9 was rounded, 0.75 and 1000 were not: a number of up to half the
  /// digits is the one that was meant. Who computes the reference has doubles.
  Cell literal(Element type, Real rounded) override {
    if (!isFloat(type) || type == Element::F64 || !std::isfinite(rounded) ||
        rounded == std::trunc(rounded))
      return constant(type, rounded);
    Real digits = -std::log2(unit(type)) / 2;
    Real size = std::fabs(rounded);
    bool isShort = std::ilogb(size) + 1 - lowestBit(size) <= digits;
    return isShort ? constant(type, rounded)
                   : make(rounded, unit(type) * size + tiny(type));
  }
  Cell number(Element type, Real value) override {
    return constant(type, value);
  }
  Cell fromBits(Element type, uint64_t bits) override {
    return isFloat(type) ? Cell::ofReal(decode(type, bits))
                         : Cell::ofInteger(wrapTo(type, int64_t(bits)));
  }
  uint64_t toBits(Element type, const Cell &cell) override {
    return isFloat(type) ? encode(type, cell.real) : uint64_t(cell.integer);
  }
  bool isTrue(const Cell &condition) override {
    undecided |= condition.error != 0;
    return condition.integer != 0;
  }
  bool isLost() const override { return undecided; }
  bool knowsComposedRows() const override { return false; }
  Cell relax(const Cell &x, Real relative) override {
    if (!x.present() || !std::isfinite(x.real))
      return x;
    return make(x.real, x.error + times(relative, std::fabs(x.real) + x.error));
  }
  Cell keepBits(const Cell &x, int bits) override {
    bool fits = x.error == 0 && std::isfinite(x.real) &&
                (x.real == 0 ||
                 std::ilogb(x.real) + 1 - lowestBit(std::fabs(x.real)) <= bits);
    return fits ? x : relax(x, std::ldexp(1.0L, -bits));
  }
  Real unitOf(Element type) override { return unit(type); }

protected:
  bool undecided = false;

  /// After the rounding to `type` of a value that has an error already.
  static Cell rounded(Element type, const Cell &x) {
    if (!std::isfinite(x.real))
      return x;
    Real size = std::fabs(x.real) + x.error;
    if (size > formatOf(type).largest)
      return make(x.real, unknown);
    if (x.error == 0) {
      Real value = roundTo(type, x.real);
      return make(x.real, std::fabs(value - x.real));
    }
    Real own = unit(type) * size + tiny(type) + slack * size;
    Cell result = makeShared(x.real, restOf(x) + own, x.shared, x.source);
    return notBelow(result, x.least, type);
  }
  /// Computed in types.in, then rounded to types.to; `certainly`: the value is
  /// correctly rounded of certain operands.
  static Cell finish(Types types, const Cell &x) {
    if (!std::isfinite(x.real))
      return x;
    Cell inner = rounded(types.in, x);
    if (types.to == types.in)
      return inner;
    if (x.error == 0 && std::fabs(x.real) <= formatOf(types.to).largest) {
      // Once or twice rounded.
      Real once = std::fabs(roundTo(types.to, x.real) - x.real);
      Real twice =
          std::fabs(roundTo(types.to, roundTo(types.in, x.real)) - x.real);
      return make(x.real, std::max(once, twice));
    }
    return narrowed(types, inner);
  }
  static Cell narrowed(Types types, const Cell &x) {
    return formatOf(types.to).precision < formatOf(types.in).precision ||
                   formatOf(types.to).largest < formatOf(types.in).largest
               ? rounded(types.to, x)
               : x;
  }

  /// The op at corners of its operands' intervals.
  static Real corner(S op, ArrayRef<Cell> x, unsigned which) {
    Real values[3];
    for (size_t i = 0; i < x.size(); ++i)
      values[i] = which >> i & 1 ? high(x[i]) : low(x[i]);
    return referenceReal(op, values);
  }
  static bool same(Real a, Real b) {
    return a == b || (std::isnan(a) && std::isnan(b));
  }
  /// How far the op may move over the box of its operands, if its extremes are
  /// at corners.
  static Real byCorners(S op, ArrayRef<Cell> x, Real value) {
    Real moved = 0;
    for (unsigned which = 0; which < 1u << x.size(); ++which) {
      Real at = corner(op, x, which);
      if (!same(at, value))
        moved =
            std::isnan(at) ? unknown : std::max(moved, std::fabs(at - value));
    }
    return moved;
  }

  Cell decide(S op, ArrayRef<Cell> x, bool value) {
    Cell cell = Cell::ofInteger(value);
    if (certain(x))
      return cell;
    if (op == S::IsNan || op == S::IsFinite) {
      cell.error = std::isinf(x[0].error) ? unknown : 0;
      return cell;
    }
    Real a = x[0].real, b = x[1].real, ea = x[0].error, eb = x[1].error;
    bool apart = high(x[0]) < low(x[1]) || low(x[0]) > high(x[1]);
    bool special = !std::isfinite(a) || !std::isfinite(b);
    if (special && (std::isinf(ea) || std::isinf(eb)))
      apart = false;
    else if (special)
      apart = true; // an infinity or NaN is what it is
    cell.error = apart ? 0 : unknown;
    return cell;
  }

  Cell compute(S op, Types types, ArrayRef<Cell> x) override {
    Real values[3];
    for (size_t i = 0; i < x.size(); ++i)
      values[i] = x[i].real;
    Real value = referenceReal(op, values);
    if (isPredicate(op))
      return decide(op, x, value != 0);
    for (const Cell &cell : x)
      if (std::isinf(cell.error))
        return make(value, unknown);
    bool special = !std::isfinite(value);
    for (const Cell &cell : x)
      special |= !std::isfinite(cell.real);
    if (special && !certain(x))
      return make(value, byCorners(op, x, value));
    if (special)
      return std::isfinite(value) ? finish(types, make(value, 0))
                                  : make(value, 0);
    Cell result = finish(types, x, op, value);
    return isNotNegative(op) ? notBelow(result, 0, types.to) : result;
  }
  static bool isNotNegative(S op) {
    switch (op) {
    case S::Abs:
    case S::Relu:
    case S::Exp:
    case S::Exp2:
    case S::Sqrt:
    case S::Rsqrt:
    case S::Sigmoid:
      return true;
    default:
      return false;
    }
  }
  Cell square(Types types, const Cell &x) override {
    Cell result = apply(S::Mul, types, {x, x});
    return result.present() ? notBelow(result, 0, types.to) : result;
  }

  /// a + sign * b: a shared unknown may cancel.
  static Cell sumOf(const Cell &a, const Cell &b, int sign, Real value) {
    Cell cell;
    Real mine = a.shared, other = sign * Real(b.shared);
    if (a.source == b.source)
      cell = makeShared(value, restOf(a) + restOf(b), mine + other, a.source);
    else if (std::fabs(mine) >= std::fabs(other))
      cell = makeShared(value, restOf(a) + b.error, mine, a.source);
    else
      cell = makeShared(value, a.error + restOf(b), other, b.source);
    bool known = sign > 0 && low(a) >= 0 && low(b) >= 0;
    if (known)
      cell.least = std::max<double>(0, double(low(a) + low(b)) * (1 - 0x1p-50));
    return cell;
  }
  static Cell productOf(const Cell &a, const Cell &b, Real value) {
    Real sizeA = std::fabs(a.real), sizeB = std::fabs(b.real);
    Real fromA = times(b.real, a.shared), fromB = times(a.real, b.shared);
    Real second = times(a.error, b.error);
    Cell cell;
    if (a.source == b.source)
      cell = makeShared(
          value, times(sizeA, restOf(b)) + times(sizeB, restOf(a)) + second,
          fromA + fromB, a.source);
    else if (std::fabs(fromA) >= std::fabs(fromB))
      cell = makeShared(
          value, times(sizeA, b.error) + times(sizeB, restOf(a)) + second,
          fromA, a.source);
    else
      cell = makeShared(
          value, times(sizeA, restOf(b)) + times(sizeB, a.error) + second,
          fromB, b.source);
    if (low(a) >= 0 && low(b) >= 0)
      cell.least = double(low(a) * low(b)) * (1 - 0x1p-50);
    return cell;
  }
  static Cell quotientOf(const Cell &a, const Cell &b, Real value) {
    Real size = std::fabs(b.real);
    Real near = b.real > 0 ? low(b) : size - b.error; // the least divisor
    if (b.error != 0 && near <= 0)
      return make(value, unknown);
    Cell cell =
        b.error == 0
            ? makeShared(value, restOf(a) / size, a.shared / b.real, a.source)
            : make(value, (a.error + times(std::fabs(value), b.error)) / near);
    if (low(a) >= 0 && low(b) > 0)
      cell.least = double(low(a) / high(b)) * (1 - 0x1p-50);
    return cell;
  }
  /// Whole exponents take any base; their extremes are at corners, or at 0.
  static Cell powerOf(Types types, ArrayRef<Cell> x, Real value) {
    Real exponent = x[1].real;
    bool isWhole =
        x[1].error == 0 && exponent >= 0 && exponent == std::floor(exponent);
    if (!certain(x) && low(x[0]) <= 0 && !isWhole)
      return make(value, unknown);
    Real moved = byCorners(S::Pow, x, value);
    if (low(x[0]) < 0 && high(x[0]) > 0)
      moved = std::max(moved, std::fabs(value));
    Cell cell = function(types, value, moved);
    bool isEven = isWhole && std::fmod(exponent, 2) == 0;
    return isEven || low(x[0]) >= 0 ? notBelow(cell, 0, types.to) : cell;
  }

  /// All values finite.
  Cell finish(Types types, ArrayRef<Cell> x, S op, Real value) {
    Real a = std::fabs(x[0].real), ea = x[0].error;
    Real b = x.size() > 1 ? std::fabs(x[1].real) : 0;
    Real eb = x.size() > 1 ? x[1].error : 0;
    switch (op) {
    case S::Neg:
      return narrowed(
          types, makeShared(value, restOf(x[0]), -x[0].shared, x[0].source));
    case S::Abs:
      return narrowed(types, make(value, ea));
    case S::Relu:
    case S::Maximum:
    case S::Minimum:
    case S::MaxNum:
    case S::MinNum:
    case S::Floor:
    case S::Ceil:
    case S::Round:
    case S::Trunc:
      return narrowed(types, make(value, byCorners(op, x, value)));
    case S::CopySign:
      return narrowed(types,
                      make(value, b > eb || eb == 0 ? ea : 2 * (a + ea)));
    case S::Add:
      return finish(types, sumOf(x[0], x[1], 1, value));
    case S::Sub:
      return finish(types, sumOf(x[0], x[1], -1, value));
    case S::Mul:
      return finish(types, productOf(x[0], x[1], value));
    case S::Fma:
      return finish(types, sumOf(productOf(x[0], x[1], x[0].real * x[1].real),
                                 x[2], 1, value));
    case S::Div: {
      Cell quotient = quotientOf(x[0], x[1], value);
      return std::isinf(quotient.error) ? quotient : finish(types, quotient);
    }
    case S::Sqrt:
      return finish(types,
                    make(value, certain(x) ? 0 : byCorners(op, x, value)));
    case S::FloorDiv:
    case S::Mod:
    case S::Rem:
      return jumping(types, x, op, value);
    case S::Sin:
    case S::Cos:
      return function(types, value, std::min<Real>(ea, 2));
    case S::Pow:
      return powerOf(types, x, value);
    case S::Sigmoid: {
      if (bitsOf(types.from) >= 32)
        return function(types, value, byCorners(op, x, value));
      Cell near = function(types, value, byCorners(op, x, value), 1 << 11);
      return make(near.real, near.error + 0x1p-126L);
    }
    case S::Silu:
    case S::Gelu:
    case S::GeluTanh: {
      // |f'| < 1.13. Errors as docs/language.md promises: relative, or, where
      // 1 + tanh cancels, of the operand.
      bool wide = types.in == Element::F64;
      bool narrow = bitsOf(types.from) < 32;
      Real own = narrow && op == S::Gelu      ? 0x1p-13L
                 : narrow && op == S::Silu    ? 0x1p-12L
                 : !wide || op == S::GeluTanh ? (wide ? 0x1p-50L : 0x1p-21L)
                 : op == S::Silu              ? 0x1p-50L
                                              : (4 + 2 * a * a) * 0x1p-52L;
      Real moved = 1.13L * ea;
      Real size = op == S::GeluTanh ? a + ea : std::fabs(value) + moved;
      Real error = moved + own * size + tiny(types.in);
      if (narrow && op == S::Silu) // a power below 2^-126 may be 0
        error += (std::fabs(a) + ea) * 0x1p-126L;
      return narrowed(types, make(value, error));
    }
    case S::Erfc: // of fp32: 5.22 over all inputs (docs/numerics.md)
      return function(types, value, byCorners(op, x, value),
                      types.in == Element::F64 ? 2 : 6);
    case S::Exp:
    case S::Exp2:
      if (!isNarrow(types.to))
        return function(types, value, byCorners(op, x, value));
      [[fallthrough]];
    case S::Exp2Near: { // subnormal results may be 0
      Cell near = function(types, value, byCorners(op, x, value), 1 << 10);
      return make(near.real, near.error + 0x1p-126L);
    }
    case S::ErfcNear:
      return function(types, value, byCorners(op, x, value), 1 << 10);
    default:
      return function(types, value, byCorners(op, x, value));
    }
  }

  /// Within so many ULP.
  static Cell function(Types types, Real value, Real moved, int ulps = 2) {
    if (std::isinf(moved))
      return make(value, unknown);
    Real own = ulps * std::max(ulp(types.in, value),
                               ulp(types.in, std::fabs(value) + moved));
    if (std::fabs(value) + moved + own > formatOf(types.in).largest)
      return make(value, unknown);
    return narrowed(types, make(value, moved + own + slack * std::fabs(value)));
  }

  /// Floor division and remainders: certain operands, or a decided quotient.
  static Cell jumping(Types types, ArrayRef<Cell> x, S op, Real value) {
    if (certain(x))
      return finish(types, make(value, 0));
    if (std::fabs(x[1].real) <= x[1].error)
      return make(value, unknown);
    Real low = std::floor(x[0].real / x[1].real), high = low;
    for (unsigned which = 0; which < 4; ++which) {
      Real q = (x[0].real + (which & 1 ? x[0].error : -Real(x[0].error))) /
               (x[1].real + (which & 2 ? x[1].error : -Real(x[1].error)));
      Real room = std::fabs(q) * 2 * unit(types.in);
      low = std::min(low, std::floor(q - room));
      high = std::max(high, std::floor(q + room));
    }
    if (op == S::FloorDiv)
      return finish(types, make(value, high - low));
    if (low != high)
      return make(value, unknown);
    return finish(types,
                  make(value, x[0].error + times(std::fabs(low), x[1].error)));
  }

  Cell select(const Cell &condition, const Cell &a, const Cell &b,
              Element type) override {
    const Cell &chosen = condition.integer ? a : b;
    const Cell &other = condition.integer ? b : a;
    if (condition.error == 0 || !chosen.present())
      return chosen;
    Cell result = chosen;
    result.shared = result.source = 0;
    result.least =
        other.present() ? std::min(chosen.least, other.least) : -unknown;
    if (!other.present())
      result.error = unknown;
    else if (!isFloat(type))
      result.error = chosen.integer == other.integer &&
                             std::max(chosen.error, other.error) == 0
                         ? 0
                         : unknown;
    else if (same(chosen.real, other.real))
      result.error = std::max(chosen.error, other.error);
    else if (!std::isfinite(chosen.real) || !std::isfinite(other.real))
      result.error = unknown;
    else
      result.error = up(std::max<Real>(
          chosen.error, std::fabs(chosen.real - other.real) + other.error));
    return result;
  }

  Cell convert(const Cell &x, Element from, Element to,
               Rounding rounding) override {
    if (!isFloat(from)) {
      Cell cell = make(Real(x.integer), x.error);
      return x.error == 0 ? rounded(to, cell) : cell;
    }
    if (isFloat(to)) {
      if (formatOf(to).precision >= formatOf(from).precision &&
          formatOf(to).least <= formatOf(from).least &&
          formatOf(to).largest >= formatOf(from).largest)
        return x;
      Cell result = rounded(to, x);
      if (rounding == Rounding::TowardZero && std::isfinite(x.real))
        result.error =
            up(x.error +
               2 * (unit(to) * (std::fabs(x.real) + x.error) + tiny(to)));
      return result;
    }
    auto whole = [&](Real value) -> Real {
      Real limit = std::ldexp(1.0L, int(bitsOf(to)) - 1);
      return std::isnan(value) ? 0
                               : std::trunc(std::clamp(value, -limit, limit));
    };
    Real limit = std::ldexp(1.0L, int(bitsOf(to)) - 1), value = whole(x.real);
    Cell cell = Cell::ofInteger(
        value >= limit ? int64_t((uint64_t(1) << (bitsOf(to) - 1)) - 1)
                       : int64_t(value));
    if (x.error != 0 &&
        (whole(x.real - x.error) != value || whole(x.real + x.error) != value))
      cell.error = unknown;
    return cell;
  }

  /// What sums need to know of their terms.
  struct Terms {
    Real value = 0, size = 0, error = 0;
    Real above = 0, below = 0; // sums of the positive, of the negative terms
    Real largest = 0;
    int64_t count = 0;
    bool finite = true, isCertain = true;
    int lowest = 1 << 20; // the lowest bit of any term

    void add(Real x, Real magnitude, Real e, int bit) {
      value += x;
      size += magnitude;
      error += e;
      above += std::max<Real>(x + e, 0);
      below += std::max<Real>(e - x, 0);
      largest = std::max(largest, magnitude);
      ++count;
      finite &= std::isfinite(x);
      isCertain &= e == 0;
      lowest = std::min(lowest, bit);
    }
    void add(const Cell &x) {
      add(x.real, std::fabs(x.real) + x.error, x.error,
          std::isfinite(x.real) ? lowestBit(x.real) : 0);
    }
    /// The sum of the magnitudes of the partial sums, in the order that has
    /// the largest: a partial sum of k terms is at most k times the largest
    /// term, and at most the sum of the terms of one sign. (Of all binary trees
    /// a chain, with partial sums of 2 to n terms, has most.)
    Real partialSums() const {
      Real most = std::max(above, below), n = Real(count);
      if (count < 2 || most == 0)
        return 0;
      Real grows = std::min(n, std::floor(most / largest)); // k * largest
      return std::min((n - 1) * most,
                      largest * grows * (grows + 1) / 2 + (n - grows) * most);
    }
    /// Whether every partial sum, in any order, is a value of the type.
    bool isExact(Element type, int precision) const {
      if (!isCertain || !finite)
        return false;
      if (size == 0)
        return true;
      Format format = formatOf(type);
      return lowest >= format.least &&
             std::ilogb(size) + 1 - lowest <= precision &&
             size <= format.largest;
    }
  };

  /// `products` roundings of terms come before the sum. With `precision` 0 it
  /// keeps the type's bits; with fewer, each step cuts bits of all it adds.
  static Cell summed(Types types, const Terms &terms, Real products,
                     Real flushed, int precision = 0) {
    bool cuts = precision && precision < formatOf(types.in).precision;
    if (!precision)
      precision = formatOf(types.in).precision;
    Real roundings = Real(terms.count) - 1 + products;
    if (!terms.finite) {
      // Infinities and NaN are what they are, whatever the order; but not if
      // finite partial sums may overflow, which has the bound below.
      return make(terms.value,
                  terms.isCertain || !std::isinf(terms.error) ? 0 : unknown);
    }
    if (terms.isExact(types.in, precision))
      return types.to == types.in ? make(terms.value, 0)
                                  : narrowed(types, make(terms.value, 0));
    if (terms.size > formatOf(types.in).largest)
      return make(terms.value, unknown);
    Real steps = gamma(roundings, precision) * terms.size;
    if (!cuts && std::isfinite(steps))
      steps = std::min(
          steps, std::ldexp(terms.partialSums() + (products ? terms.size : 0),
                            -precision) *
                     (1 + gamma(roundings, precision)));
    Real error = terms.error + steps + flushed + slack * terms.size;
    return narrowed(types, make(terms.value, error));
  }
  /// A sum is a source: how far it is off is one number for all who use it.
  Cell sumOfRow(Types types, ArrayRef<Cell> row) {
    Terms terms;
    Real shared = 0, rest = 0, least = -1;
    uint32_t source = 0;
    bool isShared = true, isNotNegative = true;
    for (const Cell &cell : row) {
      terms.add(cell);
      shared += cell.shared;
      rest += restOf(cell);
      isShared &= !cell.source || !source || cell.source == source;
      source = std::max(source, cell.source);
      isNotNegative &= low(cell) >= 0;
      least = std::max(least, low(cell));
    }
    if (isShared && source)
      terms.error = std::fabs(shared) * (1 + 0x1p-51L) + rest;
    Cell sum = summed(types, terms, 0, 0);
    if (sum.error != 0 && std::isfinite(sum.error) && std::isfinite(sum.real)) {
      bool keeps = isShared && std::fabs(shared) > sum.error / 2;
      sum.shared = keeps ? double(shared) : sum.error;
      sum.source = keeps ? source : ++sources;
    }
    // A sum of terms that are not negative is not below any of them.
    return isNotNegative ? notBelow(sum, least, types.to) : sum;
  }

  Cell reduceFloats(Reduction kind, Types types, ArrayRef<Cell> row) override {
    return kind == Reduction::Sum ? sumOfRow(types, row)
                                  : fold(kind, types, row);
  }
  static Cell extreme(Reduction kind, const Cell &a, const Cell &b) {
    S op = kind == Reduction::Max ? S::Maximum : S::Minimum;
    Cell pair[] = {a, b};
    Real values[] = {a.real, b.real};
    Real value = referenceReal(op, values);
    if (std::isinf(a.error) || std::isinf(b.error))
      return make(value, unknown);
    Cell cell = make(value, byCorners(op, pair, value));
    cell.least = kind == Reduction::Max ? std::max(a.least, b.least)
                                        : std::min(a.least, b.least);
    return cell;
  }
  /// Products and extremes.
  Cell fold(Reduction kind, Types types, ArrayRef<Cell> row) {
    if (kind == Reduction::Prod) {
      Factors factors;
      for (const Cell &cell : row)
        factors.add(cell);
      return multiplied(types, factors);
    }
    Cell total = row[0];
    for (const Cell &cell : row.drop_front())
      total = extreme(kind, total, cell);
    return narrowed(types, total);
  }
  /// What a product needs to know of its factors.
  struct Factors {
    Real value = 1, error = 0;
    // The largest and smallest partial product of any order.
    Real most = 1, least = 1;
    int bits = 0;
    int64_t count = 0;
    bool finite = true, isCertain = true;

    void add(const Cell &x) {
      ++count;
      Real size = std::fabs(x.real);
      error = times(std::fabs(value), x.error) + times(size, error) +
              times(error, x.error);
      value *= x.real;
      isCertain &= x.error == 0;
      if (!std::isfinite(x.real)) {
        finite = false;
        return;
      }
      most *= std::max<Real>(size + x.error, 1);
      if (x.real == 0)
        return;
      least *= std::min<Real>(size, 1);
      bits = std::min(1 << 20, bits + std::ilogb(size) + 1 - lowestBit(size));
    }
  };
  /// A product in any order.
  static Cell multiplied(Types types, const Factors &factors) {
    Real value = factors.value, error = factors.error;
    Format format = formatOf(types.in);
    // Infinities and NaN are what they are, if what meets them is certain and
    // never becomes 0.
    if (!factors.finite)
      return make(value, factors.isCertain &&
                                 factors.least >= std::ldexp(1.0L, format.least)
                             ? 0
                             : unknown);
    if (factors.most > format.largest || std::isnan(error))
      return make(value, unknown);
    bool underflows =
        factors.least < std::ldexp(1.0L, format.least + format.precision);
    if (factors.isCertain && factors.bits <= format.precision && !underflows)
      return narrowed(types, make(value, 0));
    if (factors.isCertain && factors.count == 2) // one rounding, and which
      return finish(types, make(value, 0));
    Real n = Real(factors.count) - 1, size = std::fabs(value) + error;
    error += times(gamma(n, types.in) + n * slack, size);
    if (underflows || !factors.isCertain)
      error += n * tiny(types.in) * factors.most;
    return narrowed(types, make(value, error));
  }
  void scanFloats(Reduction kind, Types types, ArrayRef<Cell> row,
                  llvm::MutableArrayRef<Cell> out) override {
    Terms terms;
    Factors factors;
    Cell total = row[0];
    for (size_t i = 0; i < row.size(); ++i) {
      if (kind == Reduction::Prod) {
        factors.add(row[i]);
        out[i] = multiplied(types, factors);
        continue;
      }
      if (kind != Reduction::Sum) {
        total = extreme(kind, total, row[i]);
        out[i] = narrowed(types, total);
        continue;
      }
      terms.add(row[i]);
      out[i] = summed(types, terms, 0, 0);
    }
  }
  Cell dotFloats(Types types, ArrayRef<Cell> a, ArrayRef<Cell> b,
                 const Cell *start) override {
    Terms terms;
    if (start)
      terms.add(*start);
    for (size_t i = 0; i < a.size(); ++i) {
      Real x = std::fabs(a[i].real), y = std::fabs(b[i].real);
      Real ex = a[i].error, ey = b[i].error;
      bool finite = std::isfinite(x) && std::isfinite(y);
      int bit = !finite ? 0
                : x == 0 || y == 0
                    ? 1 << 20
                    : lowestBit(a[i].real) + lowestBit(b[i].real);
      terms.add(a[i].real * b[i].real, times(x + ex, y + ey),
                times(x, ey) + times(y, ex) + times(ex, ey), bit);
    }
    Real n = Real(a.size());
    return summed(types, terms, 1, n * tiny(types.in),
                  std::min(productBits, formatOf(types.in).precision));
  }
  void setProductPrecision(int bits) override { productBits = bits; }

  int productBits = 0;
  uint32_t sources = 0; // how many there are
};

} // namespace

std::unique_ptr<Domain> interpreter::createBoundDomain() {
  return std::make_unique<Bound>();
}
