// The float64 functions, for targets without a math library.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalars only. Where a rounding would be felt, values are pairs: `high` is the
// double nearest to the value, `low` what is left. Power series are exact
// coefficients, as long as the reduced argument asks for.

#include "compiler/Target/Math/Double.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace tessera::target {
namespace {

using namespace mlir;

struct Doubles;

struct D {
  Value value;
  Doubles *e;
};

struct Pair {
  D high, low;
};

struct Doubles {
  OpBuilder &builder;
  Location loc;

  D d(double v) {
    return {arith::ConstantOp::create(builder, loc, builder.getF64FloatAttr(v)),
            this};
  }
  Value l(int64_t v) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(v));
  }
  D fma(D a, D b, D c) {
    return {math::FmaOp::create(builder, loc, a.value, b.value, c.value), this};
  }
  D round(D a) {
    return {math::RoundEvenOp::create(builder, loc, a.value), this};
  }
  D abs(D a) { return {math::AbsFOp::create(builder, loc, a.value), this}; }
  D withSign(D a, D sign) {
    return {math::CopySignOp::create(builder, loc, a.value, sign.value), this};
  }
  D select(Value c, D a, D b) {
    return {arith::SelectOp::create(builder, loc, c, a.value, b.value), this};
  }
  Value compare(arith::CmpFPredicate p, D a, D b) {
    return arith::CmpFOp::create(builder, loc, p, a.value, b.value);
  }
  Value less(D a, D b) { return compare(arith::CmpFPredicate::OLT, a, b); }
  Value equal(D a, D b) { return compare(arith::CmpFPredicate::OEQ, a, b); }
  D clamp(D a, double low, double high) {
    // NaN becomes `low`; callers put it back.
    D bounded =
        select(compare(arith::CmpFPredicate::OGT, a, d(low)), a, d(low));
    return select(less(bounded, d(high)), bounded, d(high));
  }
  Value bits(D a) {
    return arith::BitcastOp::create(builder, loc, builder.getI64Type(),
                                    a.value);
  }
  D fromBits(Value a) {
    return {arith::BitcastOp::create(builder, loc, builder.getF64Type(), a),
            this};
  }
  Value toInteger(D a) {
    return arith::FPToSIOp::create(builder, loc, builder.getI64Type(), a.value);
  }
  D toDouble(Value a) {
    return {arith::SIToFPOp::create(builder, loc, builder.getF64Type(), a),
            this};
  }
  Value add(Value a, Value b) {
    return arith::AddIOp::create(builder, loc, a, b);
  }
  Value sub(Value a, Value b) {
    return arith::SubIOp::create(builder, loc, a, b);
  }
  Value bitAnd(Value a, int64_t mask) {
    return arith::AndIOp::create(builder, loc, a, l(mask));
  }
  Value shiftLeft(Value a, int64_t n) {
    return arith::ShLIOp::create(builder, loc, a, l(n));
  }
  Value shiftRight(Value a, int64_t n) {
    return arith::ShRSIOp::create(builder, loc, a, l(n));
  }
  Value isSet(Value a, int64_t mask) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                 bitAnd(a, mask), l(0));
  }
  /// Coefficients with the lowest power first.
  D poly(const std::vector<double> &c, D x) {
    D sum = d(c.back());
    for (size_t j = c.size() - 1; j-- > 0;)
      sum = fma(sum, x, d(c[j]));
    return sum;
  }
};

D make(D a, Value v) { return {v, a.e}; }
D operator+(D a, D b) {
  return make(a,
              arith::AddFOp::create(a.e->builder, a.e->loc, a.value, b.value));
}
D operator-(D a, D b) {
  return make(a,
              arith::SubFOp::create(a.e->builder, a.e->loc, a.value, b.value));
}
D operator*(D a, D b) {
  return make(a,
              arith::MulFOp::create(a.e->builder, a.e->loc, a.value, b.value));
}
D operator/(D a, D b) {
  return make(a,
              arith::DivFOp::create(a.e->builder, a.e->loc, a.value, b.value));
}

Pair twoSum(D a, D b) {
  D high = a + b, part = high - a;
  return {high, (a - (high - part)) + (b - part)};
}
/// For |a| >= |b|.
Pair quickSum(D a, D b) {
  D high = a + b;
  return {high, b - (high - a)};
}
Pair twoProduct(D a, D b) {
  D high = a * b;
  return {high, a.e->fma(a, b, a.e->d(0) - high)};
}

constexpr double ln2High = 0x1.62e42fefa39efp-1, ln2Low = 0x1.abc9e3b39803fp-56;
constexpr double log2e = 0x1.71547652b82fep+0, log2eLow = 0x1.777d0ffda0d24p-56;
constexpr double inf = std::numeric_limits<double>::infinity();

/// 2^k for -2044 <= k <= 2046, as two factors.
std::array<D, 2> powersOfTwo(Doubles &e, Value k) {
  Value half = e.shiftRight(k, 1), rest = e.sub(k, half);
  auto power = [&](Value n) {
    return e.fromBits(e.shiftLeft(e.add(n, e.l(1023)), 52));
  };
  return {power(half), power(rest)};
}

/// exp(x.high + x.low) - 1 = 2^k (1 + tail) - 1.
struct Exponential {
  Value k;
  Pair tail; // in [-0.3, 0.42]
};
Exponential exponential(Doubles &e, Pair x) {
  D n = e.round(x.high * e.d(log2e));
  D r = e.fma(n, e.d(-ln2High), x.high);
  Pair reduced = twoSum(r, e.fma(n, e.d(-ln2Low), x.low));
  // 1/2! + r/3! + ... : |r| <= 0.35, so 1/14! is below the last bit.
  std::vector<double> c;
  double factorial = 1;
  for (int j = 2; j <= 14; ++j)
    c.push_back(1 / (factorial *= j));
  D r1 = reduced.high;
  D rest = e.fma(r1 * r1, e.poly(c, r1), e.fma(reduced.low, r1, reduced.low));
  return {e.toInteger(n), quickSum(r1, rest)};
}

D scaled(Doubles &e, const Exponential &x) {
  auto [a, b] = powersOfTwo(e, x.k);
  Pair sum = quickSum(e.d(1), x.tail.high);
  return (sum.high + (sum.low + x.tail.low)) * a * b;
}

D nanAsIs(Doubles &e, D x, D result) {
  return e.select(e.compare(arith::CmpFPredicate::UNO, x, x), x, result);
}

D expandExp(Doubles &e, D x) {
  D inside = e.clamp(x, -760, 720);
  return nanAsIs(e, x, scaled(e, exponential(e, {inside, e.d(0)})));
}

D expandExp2(Doubles &e, D x) {
  D inside = e.clamp(x, -1090, 1030);
  D n = e.round(inside), r = inside - n;
  // r ln 2 as a pair; the whole part is put in afterwards.
  Pair scaledR = twoProduct(r, e.d(ln2High));
  scaledR.low = e.fma(r, e.d(ln2Low), scaledR.low);
  Exponential part = exponential(e, scaledR);
  part.k = e.add(part.k, e.toInteger(n));
  return nanAsIs(e, x, scaled(e, part));
}

/// exp(x) - 1 as a pair, -40 <= x <= 44.
Pair exponentialLess1(Doubles &e, D x) {
  Exponential part = exponential(e, {x, e.d(0)});
  D power = e.fromBits(e.shiftLeft(e.add(part.k, e.l(1023)), 52));
  Pair whole = twoSum(power - e.d(1), part.tail.high * power);
  return quickSum(whole.high, whole.low + part.tail.low * power);
}

D quotient(Doubles &e, Pair a, Pair b) {
  D q = a.high / b.high;
  D rest = e.fma(e.d(0) - q, b.high, a.high);
  rest = e.fma(e.d(0) - q, b.low, rest + a.low);
  return q + rest / b.high;
}

D expandExpM1(Doubles &e, D x) {
  D inside = e.clamp(x, -40, 40);
  Pair result = exponentialLess1(e, inside);
  D large = expandExp(e, x);
  D small = e.select(e.equal(x, e.d(0)), x, result.high);
  return nanAsIs(e, x, e.select(e.less(e.d(39), x), large, small));
}

D expandTanh(Doubles &e, D x) {
  D inside = e.clamp(e.abs(x), 0, 22); // 1 from there on
  Pair t = exponentialLess1(e, inside + inside);
  Pair below = twoSum(t.high, e.d(2));
  below.low = below.low + t.low;
  D result = quotient(e, t, below);
  // So small that the square is lost: itself, subnormals too.
  result = e.select(e.less(e.abs(x), e.d(0x1p-28)), e.abs(x), result);
  return nanAsIs(e, x, e.withSign(result, x));
}

/// log(x) = k ln 2 + tail; x positive and finite.
struct Logarithm {
  D k;
  Pair tail;
};
Logarithm logarithm(Doubles &e, D x) {
  Value tiny = e.less(x, e.d(0x1p-1022));
  D normal = e.select(tiny, x * e.d(0x1p54), x);
  // The fraction lies in [0.7, 1.41]: its own exponent is 0 or -1.
  Value all = e.bits(normal);
  Value k = e.shiftRight(e.sub(all, e.l(0x3fe6a09e667f3bcd)), 52);
  D fraction = e.fromBits(e.sub(all, e.shiftLeft(k, 52)));
  D exponent = e.toDouble(k) + e.select(tiny, e.d(-54), e.d(0));
  // 2 atanh(s), s = f / (2 + f).
  D f = fraction - e.d(1);
  Pair below = quickSum(e.d(2), f);
  D s = f / below.high;
  D rest = e.fma(e.d(0) - s, below.high, f);
  rest = e.fma(e.d(0) - s, below.low, rest);
  D sLow = rest / below.high;
  D z = s * s;
  std::vector<double> c;
  for (int j = 3; j <= 25; j += 2)
    c.push_back(2.0 / j);
  // 2/3 is no double: its rest matters for pow.
  D cube = s * z, more = cube * e.poly(c, z);
  D low = e.fma(e.d(2.0), sLow, e.fma(e.d(2.0) * z, sLow, more));
  return {exponent, quickSum(s + s, low)};
}

Pair sum(Doubles &e, const Logarithm &x) {
  Pair whole = twoProduct(x.k, e.d(ln2High));
  Pair high = twoSum(whole.high, x.tail.high);
  D low = high.low + (whole.low + e.fma(x.k, e.d(ln2Low), x.tail.low));
  return quickSum(high.high, low);
}

/// The edges of a logarithm: 0, negative, infinite and NaN arguments.
D atEdges(Doubles &e, D x, D result) {
  result = e.select(e.equal(x, e.d(inf)), x, result);
  result = e.select(e.equal(x, e.d(0)), e.d(-inf), result);
  result = e.select(e.less(x, e.d(0)), e.d(std::nan("")), result);
  return nanAsIs(e, x, result);
}

D expandLog(Doubles &e, D x) {
  return atEdges(e, x, sum(e, logarithm(e, x)).high);
}

D expandLog2(Doubles &e, D x) {
  Logarithm part = logarithm(e, x);
  Pair tail = twoProduct(part.tail.high, e.d(log2e));
  tail.low = e.fma(part.tail.high, e.d(log2eLow),
                   e.fma(part.tail.low, e.d(log2e), tail.low));
  Pair high = twoSum(part.k, tail.high);
  return atEdges(e, x, high.high + (high.low + tail.low));
}

D expandLog1p(Doubles &e, D x) {
  Pair u = twoSum(e.d(1), x);
  Pair whole = sum(e, logarithm(e, u.high));
  D result = whole.high + (whole.low + u.low / u.high);
  result = atEdges(e, u.high, result);
  // 1 + x is infinite, or rounds to 1.
  result = e.select(e.equal(x, e.d(inf)), x, result);
  return e.select(e.less(e.abs(x), e.d(0x1p-54)), x, result);
}

D expandRsqrt(Doubles &e, D x) {
  D root = {math::SqrtOp::create(e.builder, e.loc, x.value), &e};
  return e.d(1) / root;
}

/// x = k pi / 2 + r.
struct Reduced {
  Value k;
  Pair r;
};

/// Pi / 2 as three doubles.
constexpr double p1 = 0x1.921fb54442d18p+0, p2 = 0x1.1a62633145c07p-54,
                 p3 = -0x1.f1976b7ed8fbcp-110;

/// From here on pi in 161 bits loses digits of x.
constexpr double largeArgument = 0x1p30;

/// 2/pi after the point, 64 bits a word, behind one word of zeros.
constexpr uint64_t twoOverPiWords[] = {
    0x0000000000000000u, 0xa2f9836e4e441529u, 0xfc2757d1f534ddc0u,
    0xdb6295993c439041u, 0xfe5163abdebbc561u, 0xb7246e3a424dd2e0u,
    0x06492eea09d1921cu, 0xfe1deb1cb129a73eu, 0xe88235f52ebb4484u,
    0xe99c7026b45f7e41u, 0x3991d639835339f4u, 0x9c845f8bbdf9283bu,
    0x1ff897ffde05980fu, 0xef2f118b5a0a6d1fu, 0x6d367ecf27cb09b7u,
    0x4f463f669e5fea2du, 0x7527bac7ebe5f17bu, 0x3d0739f78a5292eau,
    0x6bfb5fb11f8d5d08u, 0x56033046fc7b6babu, 0xf0cfbc209af4361du};

/// Payne and Hanek: 2/pi is multiplied as an integer, with only those of its
/// bits that matter for this exponent.
Reduced reducedFromLarge(Doubles &e, D x) {
  OpBuilder &b = e.builder;
  Location loc = e.loc;
  Value all = e.bits(e.abs(x));
  Value m = e.add(e.bitAnd(all, (int64_t(1) << 52) - 1), e.l(int64_t(1) << 52));
  // |x| = m 2^(exponent - 1075). Bits of 2/pi that contribute multiples of 4
  // are skipped; `first` is the first one that is not.
  Value first = e.sub(e.shiftRight(all, 52), e.l(1013));
  Value word = e.shiftRight(first, 6), shift = e.bitAnd(first, 63);
  constexpr int last = 16; // of the largest exponent
  Value words[4];
  for (int j = 0; j < 4; ++j) {
    words[j] = e.l(int64_t(twoOverPiWords[last + j]));
    for (int w = last - 1; w >= 0; --w)
      words[j] = arith::SelectOp::create(
          b, loc,
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, word, e.l(w)),
          e.l(int64_t(twoOverPiWords[w + j])), words[j]);
  }
  // 192 bits of 2/pi. The right shift is split as `shift` may be 0.
  Value inverse = e.sub(e.l(63), shift), window[3];
  for (int j = 0; j < 3; ++j) {
    Value carried = arith::ShRUIOp::create(
        b, loc, arith::ShRUIOp::create(b, loc, words[j + 1], e.l(1)), inverse);
    window[j] = arith::OrIOp::create(
        b, loc, arith::ShLIOp::create(b, loc, words[j], shift), carried);
  }
  // The upper two words of the product; the two bits on top are the quadrant.
  auto product = [&](int j) {
    return arith::MulUIExtendedOp::create(b, loc, m, window[j]);
  };
  auto second = product(1);
  Value middle = e.add(second.getLow(), product(2).getHigh());
  Value carry = arith::ExtUIOp::create(
      b, loc, b.getI64Type(),
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, middle,
                            second.getLow()));
  Value high = e.add(e.add(product(0).getLow(), second.getHigh()), carry);
  Value quadrant = arith::ShRUIOp::create(
      b, loc, e.add(high, e.l(int64_t(1) << 61)), e.l(62));
  high = e.sub(high, e.shiftLeft(quadrant, 62));
  // 128 bits as four doubles, which are exact, and their sum as a pair.
  auto upper = [&](Value v, double scale) {
    return e.toDouble(e.shiftRight(v, 32)) * e.d(scale);
  };
  auto lower = [&](Value v, double scale) {
    return e.toDouble(e.bitAnd(v, 0xffffffff)) * e.d(scale);
  };
  Value half = arith::ShRUIOp::create(b, loc, middle, e.l(32));
  Pair front = twoSum(upper(high, 0x1p-30), lower(high, 0x1p-62));
  Pair back = twoSum(e.toDouble(half) * e.d(0x1p-94), lower(middle, 0x1p-126));
  Pair sum = twoSum(front.high, back.high);
  Pair fraction = quickSum(sum.high, sum.low + (front.low + back.low));
  Pair r = twoProduct(fraction.high, e.d(p1));
  r = quickSum(r.high,
               r.low + e.fma(fraction.high, e.d(p2), fraction.low * e.d(p1)));
  Value isNegative = e.less(x, e.d(0));
  auto withSign = [&](D v) { return e.select(isNegative, e.d(0) - v, v); };
  return {arith::SelectOp::create(b, loc, isNegative, e.sub(e.l(0), quadrant),
                                  quadrant),
          {withSign(r.high), withSign(r.low)}};
}

Reduced reducedFromSmall(Doubles &e, D x) {
  D n = e.round(x * e.d(0x1.45f306dc9c883p-1));
  Pair first = twoProduct(n, e.d(p1)), second = twoProduct(n, e.d(p2));
  Pair difference = twoSum(x, e.d(0) - first.high);
  Pair low = twoSum(e.d(0) - first.low, e.d(0) - second.high);
  Pair high = twoSum(difference.high, low.high);
  D rest = high.low + difference.low + low.low - second.low;
  rest = e.fma(n, e.d(-p3), rest);
  return {e.toInteger(e.clamp(n, -0x1p62, 0x1p62)), quickSum(high.high, rest)};
}

Reduced reducedByHalfPi(Doubles &e, D x) {
  auto yield = [&](const Reduced &part) {
    scf::YieldOp::create(e.builder, e.loc,
                         {part.k, part.r.high.value, part.r.low.value});
  };
  auto choice = scf::IfOp::create(
      e.builder, e.loc, e.less(e.d(largeArgument), e.abs(x)),
      [&](OpBuilder &, Location) { yield(reducedFromLarge(e, x)); },
      [&](OpBuilder &, Location) { yield(reducedFromSmall(e, x)); });
  return {choice.getResult(0),
          {{choice.getResult(1), &e}, {choice.getResult(2), &e}}};
}

std::array<D, 2> sineAndCosine(Doubles &e, D x) {
  Reduced part = reducedByHalfPi(e, x);
  D r = part.r.high, low = part.r.low, z = r * r;
  std::vector<double> s, c;
  double factorial = 2;
  for (int j = 3; j <= 20; ++j) {
    factorial *= j;
    double sign = j % 4 < 2 ? 1 : -1;
    (j % 2 ? s : c).push_back(sign / factorial);
  }
  // r + (low (1 - z/2) + r^3 (-1/6 + ...))
  D sine = r + e.fma(r * z, e.poly(s, z), e.fma(e.d(-0.5) * z, low, low));
  // 1 - z/2 + (z^2 (1/24 - ...) - r low), z with its own rest
  Pair square = twoProduct(r, r);
  Pair top = quickSum(e.d(1), e.d(-0.5) * z);
  D cosine = top.high +
             (top.low + e.fma(z * z, e.poly(c, z),
                              e.fma(e.d(-0.5), square.low, e.d(0) - r * low)));
  Value odd = e.isSet(part.k, 1);
  D a = e.select(odd, cosine, sine), b = e.select(odd, sine, cosine);
  D zero = e.d(0);
  a = e.select(e.isSet(part.k, 2), zero - a, a);
  b = e.select(e.isSet(e.add(part.k, e.l(1)), 2), zero - b, b);
  // -0 stays; infinity has no sine.
  a = e.select(e.equal(x, zero), x, a);
  Value infinite = e.equal(e.abs(x), e.d(inf));
  D none = e.d(std::nan(""));
  return {nanAsIs(e, x, e.select(infinite, none, a)),
          nanAsIs(e, x, e.select(infinite, none, b))};
}

D expandErf(Doubles &e, D x) {
  D a = e.abs(x);
  // |x| < 1: the power series, 2/sqrt(pi) x (1 - z/3 + z^2/10 - ...).
  D inside = e.clamp(a, 0, 1), z = inside * inside;
  std::vector<double> c;
  long double factorial = 1;
  for (int j = 1; j <= 20; ++j) {
    factorial *= j;
    c.push_back(double((j % 2 ? -1.0L : 1.0L) / (factorial * (2 * j + 1))));
  }
  constexpr double scale = 0x1.20dd750429b6dp+0,
                   scaleLow = 0x1.1ae3a914fed8p-56;
  D series = e.fma(z, e.poly(c, z), e.d(0));
  Pair factor = quickSum(e.d(1), series);
  Pair product = twoProduct(inside, e.d(scale));
  D small = product.high * factor.high +
            e.fma(product.high, factor.low,
                  e.fma(inside, e.d(scaleLow), product.low) * factor.high);
  // Else 1 - exp(-x^2) g; tools/math/fit_doubles.py made g, in 2 / (2 + x).
  static const std::vector<double> g = {
      -0x1.2f5941f64e131p-35, 0x1.20dd7483cc661p-2,  0x1.20dd9069a3193p-2,
      0x1.f97e745be80a2p-3,   0x1.695f61e548d82p-3,  0x1.51178563c5b1fp-4,
      0x1.ad01f357d29c4p-8,   -0x1.ed778aba3e7f8p-4, 0x1.e7f10b60803d8p-3,
      -0x1.11524bd27f4eap+0,  0x1.94354322e3f44p+1,  -0x1.cd88840cd4e89p+2,
      0x1.aef49da0cecb3p+3,   -0x1.3958d82e20e9ap+4, 0x1.5584750c8a5dap+4,
      -0x1.10fe189673e3ap+4,  0x1.37dce0db8531ep+3,  -0x1.e482e3963f107p+1,
      0x1.ccc67f1020f12p-1,   -0x1.9677c63127a5cp-4};
  D far = e.clamp(a, 1, 6);
  D t = e.d(2) / (far + e.d(2));
  D large = e.d(1) - expandExp(e, e.d(0) - far * far) * e.poly(g, t);
  D result = e.select(e.less(a, e.d(1)), small, large);
  return nanAsIs(e, x, e.withSign(result, x));
}

/// x^y for x > 0: exp(y log x), the product as a pair.
D expandPow(Doubles &e, D x, D y) {
  D a = e.abs(x);
  Pair log = sum(e, logarithm(e, a));
  Pair product = twoProduct(y, log.high);
  product.low = e.fma(y, log.low, product.low);
  D inside = e.clamp(product.high, -760, 720);
  Value same = e.equal(inside, product.high);
  D low = e.select(same, product.low, e.d(0));
  D result = scaled(e, exponential(e, {inside, low}));
  // 0 and infinity to any power; a sign only for odd whole powers.
  D zero = e.d(0), one = e.d(1), infinite = e.d(inf);
  Value falls = e.less(y, zero);
  result = e.select(e.equal(a, zero), e.select(falls, infinite, zero), result);
  result =
      e.select(e.equal(a, infinite), e.select(falls, zero, infinite), result);
  // Infinite y: by whether |x| is above 1.
  Value endless = e.equal(e.abs(y), infinite);
  Value grows = arith::XOrIOp::create(e.builder, e.loc, falls, e.less(one, a));
  result = e.select(endless, e.select(grows, infinite, zero), result);
  result = e.select(
      arith::AndIOp::create(e.builder, e.loc, endless, e.equal(a, one)), one,
      result);
  Value isWhole = e.equal(e.round(y), y);
  D halved = y * e.d(0.5);
  Value isOdd = arith::AndIOp::create(
      e.builder, e.loc, isWhole,
      e.compare(arith::CmpFPredicate::ONE, e.round(halved), halved));
  Value isNegative = arith::CmpIOp::create(
      e.builder, e.loc, arith::CmpIPredicate::slt, e.bits(x), e.l(0));
  D signedResult = e.select(
      arith::AndIOp::create(e.builder, e.loc, isNegative, isOdd),
      D{arith::NegFOp::create(e.builder, e.loc, result.value), &e}, result);
  Value undefined = arith::AndIOp::create(
      e.builder, e.loc, e.less(x, zero),
      arith::AndIOp::create(
          e.builder, e.loc,
          arith::XOrIOp::create(
              e.builder, e.loc, isWhole,
              arith::ConstantOp::create(e.builder, e.loc,
                                        e.builder.getBoolAttr(true))),
          e.less(e.d(-inf), x)));
  result = e.select(undefined, e.d(std::nan("")), signedResult);
  result = nanAsIs(e, y, nanAsIs(e, x, result));
  result = e.select(e.equal(x, one), one, result);
  return e.select(e.equal(y, zero), one, result);
}

/// The exponent of a positive number, of subnormal ones too.
Value exponentOf(Doubles &e, D a) {
  Value isSmall = e.less(a, e.d(0x1p-1022));
  Value field = e.shiftRight(e.bits(e.select(isSmall, a * e.d(0x1p54), a)), 52);
  return arith::SelectOp::create(e.builder, e.loc, isSmall,
                                 e.sub(field, e.l(54)), field);
}

/// x - trunc(x / y) y, exactly: each turn takes as many bits of the quotient as
/// a double holds.
D expandRemainder(Doubles &e, D x, D y) {
  D a = e.abs(x), b = e.abs(y);
  Value isUndefined = arith::OrIOp::create(
      e.builder, e.loc, e.compare(arith::CmpFPredicate::UEQ, a, e.d(inf)),
      e.compare(arith::CmpFPredicate::UEQ, b, e.d(0)));
  // What has no remainder would have turns without end.
  D start = e.select(isUndefined, e.d(0), a);
  Value bottom = exponentOf(e, e.select(isUndefined, e.d(1), b));
  Type f64 = e.builder.getF64Type();
  auto loop = scf::WhileOp::create(
      e.builder, e.loc, TypeRange{f64}, ValueRange{start.value},
      [&](OpBuilder &, Location loc, ValueRange args) {
        scf::ConditionOp::create(
            e.builder, loc,
            e.compare(arith::CmpFPredicate::OGE, {args[0], &e}, b), args);
      },
      [&](OpBuilder &, Location loc, ValueRange args) {
        D rest{args[0], &e};
        Value far = e.sub(e.sub(exponentOf(e, rest), bottom), e.l(51));
        Value up = arith::MaxSIOp::create(e.builder, loc, far, e.l(0));
        auto [first, second] = powersOfTwo(e, up);
        D step = b * first * second;
        D quotient = {
            math::TruncOp::create(e.builder, loc, (rest / step).value), &e};
        D left = e.fma(e.d(0) - quotient, step, rest);
        // The quotient may have been rounded up.
        left = e.select(e.less(left, e.d(0)), left + step, left);
        scf::YieldOp::create(e.builder, loc, left.value);
      });
  D result = e.withSign({loop.getResult(0), &e}, x);
  return nanAsIs(
      e, y, nanAsIs(e, x, e.select(isUndefined, e.d(std::nan("")), result)));
}

/// f32 in f64 unless the quotient is small, which one division finds.
struct ExpandRemainder : OpRewritePattern<arith::RemFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::RemFOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Doubles e{rewriter, loc};
    Type type = op.getType();
    Value x = op.getLhs(), y = op.getRhs();
    if (type.isF64()) {
      rewriter.replaceOp(op, expandRemainder(e, {x, &e}, {y, &e}).value);
      return success();
    }
    if (!type.isF32())
      return rewriter.notifyMatchFailure(op, "not f32 or f64");
    auto number = [&](float value) -> Value {
      return arith::ConstantOp::create(rewriter, loc,
                                       rewriter.getF32FloatAttr(value));
    };
    Value a = math::AbsFOp::create(rewriter, loc, x);
    Value b = math::AbsFOp::create(rewriter, loc, y);
    Value isNear = arith::CmpFOp::create(
        rewriter, loc, arith::CmpFPredicate::OLT, a,
        arith::MulFOp::create(rewriter, loc, b, number(0x1p22f)));
    isNear = arith::AndIOp::create(
        rewriter, loc, isNear,
        arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::OLT, b,
                              number(0x1p100f)));
    auto choice = scf::IfOp::create(
        rewriter, loc, isNear,
        [&](OpBuilder &, Location) {
          Value quotient = math::TruncOp::create(
              rewriter, loc, arith::DivFOp::create(rewriter, loc, a, b));
          Value left = math::FmaOp::create(
              rewriter, loc, arith::NegFOp::create(rewriter, loc, quotient), b,
              a);
          Value isBelow = arith::CmpFOp::create(
              rewriter, loc, arith::CmpFPredicate::OLT, left, number(0));
          left = arith::SelectOp::create(
              rewriter, loc, isBelow,
              arith::AddFOp::create(rewriter, loc, left, b), left);
          scf::YieldOp::create(
              rewriter, loc,
              Value(math::CopySignOp::create(rewriter, loc, left, x)));
        },
        [&](OpBuilder &, Location) {
          Type f64 = rewriter.getF64Type();
          D wide = expandRemainder(
              e, {arith::ExtFOp::create(rewriter, loc, f64, x), &e},
              {arith::ExtFOp::create(rewriter, loc, f64, y), &e});
          scf::YieldOp::create(
              rewriter, loc,
              Value(arith::TruncFOp::create(rewriter, loc, type, wide.value)));
        });
    rewriter.replaceOp(op, choice.getResults());
    return success();
  }
};

template <typename Op> struct ExpandDouble : OpRewritePattern<Op> {
  using Expansion = D (*)(Doubles &, D);
  ExpandDouble(MLIRContext *context, Expansion expansion)
      : OpRewritePattern<Op>(context), expansion(expansion) {}
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF64())
      return rewriter.notifyMatchFailure(op, "not f64");
    Doubles e{rewriter, op.getLoc()};
    rewriter.replaceOp(op, expansion(e, {op.getOperand(), &e}).value);
    return success();
  }
  Expansion expansion;
};

struct ExpandDoublePower : OpRewritePattern<math::PowFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::PowFOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF64())
      return rewriter.notifyMatchFailure(op, "not f64");
    Doubles e{rewriter, op.getLoc()};
    rewriter.replaceOp(
        op, expandPow(e, {op.getLhs(), &e}, {op.getRhs(), &e}).value);
    return success();
  }
};

} // namespace

void populateExpandDoublePatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<ExpandDouble<math::ExpOp>>(context, expandExp);
  patterns.add<ExpandDouble<math::Exp2Op>>(context, expandExp2);
  patterns.add<ExpandDouble<math::ExpM1Op>>(context, expandExpM1);
  patterns.add<ExpandDouble<math::LogOp>>(context, expandLog);
  patterns.add<ExpandDouble<math::Log2Op>>(context, expandLog2);
  patterns.add<ExpandDouble<math::Log1pOp>>(context, expandLog1p);
  patterns.add<ExpandDouble<math::RsqrtOp>>(context, expandRsqrt);
  patterns.add<ExpandDouble<math::TanhOp>>(context, expandTanh);
  patterns.add<ExpandDouble<math::ErfOp>>(context, expandErf);
  patterns.add<ExpandDouble<math::SinOp>>(
      context, +[](Doubles &e, D x) { return sineAndCosine(e, x)[0]; });
  patterns.add<ExpandDouble<math::CosOp>>(
      context, +[](Doubles &e, D x) { return sineAndCosine(e, x)[1]; });
  patterns.add<ExpandDoublePower, ExpandRemainder>(context);
}

} // namespace tessera::target
