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
//   sums, dots     n terms in any order: gamma(n) = n u / (1 - n u) of the sum
//                  of magnitudes; 0 if every partial sum is exact
//   comparisons    decided if the operands' intervals do not overlap; a select
//                  on an undecided one may give either arm
//
// Dropping a rounding (policy `fast`, fused multiply-adds) never leaves the
// bound. An undecided integer, or an undecided branch, has an infinite bound.
//
//===----------------------------------------------------------------------===//

#include "compiler/Interpreter/Domain.h"

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

struct Format {
  int precision; // bits, the hidden one included
  int least;     // exponent of the smallest subnormal
  Real largest;
};

Format formatOf(Element e) {
  switch (e) {
  case Element::F8E4M3:
    return {4, -9, 448};
  case Element::F8E5M2:
    return {3, -16, 57344};
  case Element::F16:
    return {11, -24, 65504};
  case Element::BF16:
    return {8, -133, 0x1.fep127L};
  case Element::TF32:
    return {11, -136, 0x1.ffcp127L};
  case Element::F32:
    return {24, -149, 0x1.fffffep127L};
  default:
    return {53, -1074, 0x1.fffffffffffffp1023L};
  }
}

Real unit(Element e) { return std::ldexp(1.0L, -formatOf(e).precision); }

/// The absolute error of a rounding near zero. AMX flushes subnormals of f32.
Real tiny(Element e) {
  if (e == Element::F32 || e == Element::BF16 || e == Element::TF32)
    return 0x1p-126L;
  return std::ldexp(1.0L, formatOf(e).least - 1);
}

/// The distance of neighbours at a value.
Real ulp(Element e, Real value) {
  Format format = formatOf(e);
  if (value == 0)
    return std::ldexp(1.0L, format.least);
  int exponent =
      std::max(std::ilogb(value) - format.precision + 1, format.least);
  return std::ldexp(1.0L, exponent);
}

Real gamma(Real n, int precision) {
  Real nu = std::ldexp(n, -precision);
  return nu < 1 ? nu / (1 - nu) : std::numeric_limits<Real>::infinity();
}
Real gamma(Real n, Element e) { return gamma(n, formatOf(e).precision); }

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

bool certain(ArrayRef<Cell> x) {
  return llvm::all_of(x, [](const Cell &cell) { return cell.error == 0; });
}

/// The exponent of the lowest bit of a finite value; large for 0.
int lowestBit(Real value) {
  if (value == 0)
    return 1 << 20;
  int exponent;
  Real mantissa = std::frexp(std::fabs(value), &exponent);
  uint64_t bits = uint64_t(std::ldexp(mantissa, 64));
  return exponent - 64 + __builtin_ctzll(bits);
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
    return make(x.real,
                x.error + unit(type) * size + tiny(type) + slack * size);
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
      values[i] = x[i].real + (which >> i & 1 ? x[i].error : -x[i].error);
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
    bool apart = a + ea < b - eb || a - ea > b + eb;
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
    return finish(types, x, op, value);
  }

  /// All values finite.
  Cell finish(Types types, ArrayRef<Cell> x, S op, Real value) {
    Real a = std::fabs(x[0].real), ea = x[0].error;
    Real b = x.size() > 1 ? std::fabs(x[1].real) : 0;
    Real eb = x.size() > 1 ? x[1].error : 0;
    Real product = times(a, eb) + times(b, ea) + times(ea, eb);
    switch (op) {
    case S::Neg:
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
    case S::Sub:
      return finish(types, make(value, ea + eb));
    case S::Mul:
      return finish(types, make(value, product));
    case S::Fma:
      return finish(types, make(value, product + x[2].error));
    case S::Div:
      if (eb != 0 && b <= eb)
        return make(value, unknown);
      return finish(
          types,
          make(value,
               certain(x) ? 0 : (ea + times(std::fabs(value), eb)) / (b - eb)));
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
      if (!certain(x) && x[0].real - ea <= 0)
        return make(value, unknown);
      return function(types, value, byCorners(op, x, value));
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
    bool finite = true, isCertain = true;
    int lowest = 1 << 20; // the lowest bit of any term

    void add(Real x, Real magnitude, Real e, int bit) {
      value += x;
      size += magnitude;
      error += e;
      finite &= std::isfinite(x);
      isCertain &= e == 0;
      lowest = std::min(lowest, bit);
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

  /// With `precision` 0 the sum keeps the type's bits.
  static Cell summed(Types types, const Terms &terms, Real roundings,
                     Real flushed, int precision = 0) {
    if (!precision)
      precision = formatOf(types.in).precision;
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
    Real error = terms.error + times(gamma(roundings, precision), terms.size) +
                 flushed + slack * terms.size;
    return narrowed(types, make(terms.value, error));
  }

  Cell reduceFloats(Reduction kind, Types types, ArrayRef<Cell> row) override {
    if (kind == Reduction::Sum) {
      Terms terms;
      for (const Cell &cell : row)
        terms.add(cell.real, std::fabs(cell.real) + cell.error, cell.error,
                  std::isfinite(cell.real) ? lowestBit(cell.real) : 0);
      return summed(types, terms, Real(row.size()) - 1, 0);
    }
    return fold(kind, types, row);
  }
  static Cell extreme(Reduction kind, const Cell &a, const Cell &b) {
    S op = kind == Reduction::Max ? S::Maximum : S::Minimum;
    Cell pair[] = {a, b};
    Real values[] = {a.real, b.real};
    Real value = referenceReal(op, values);
    if (std::isinf(a.error) || std::isinf(b.error))
      return make(value, unknown);
    return make(value, byCorners(op, pair, value));
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
      terms.add(row[i].real, std::fabs(row[i].real) + row[i].error,
                row[i].error,
                std::isfinite(row[i].real) ? lowestBit(row[i].real) : 0);
      out[i] = summed(types, terms, Real(i), 0);
    }
  }
  Cell dotFloats(Types types, ArrayRef<Cell> a, ArrayRef<Cell> b,
                 const Cell *start) override {
    Terms terms;
    if (start)
      terms.add(start->real, std::fabs(start->real) + start->error,
                start->error,
                std::isfinite(start->real) ? lowestBit(start->real) : 0);
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
    return summed(types, terms, n + (start ? 1 : 0), n * tiny(types.in),
                  std::min(productBits, formatOf(types.in).precision));
  }
  void setProductPrecision(int bits) override { productBits = bits; }

  int productBits = 0;
};

} // namespace

std::unique_ptr<Domain> interpreter::createBoundDomain() {
  return std::make_unique<Bound>();
}
