// Exponentials, logarithms, tanh, erf and rsqrt of float32.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/Math/Coefficients.h"
#include "compiler/Target/Math/Expansions.h"

#include <limits>

namespace tessera::target {
using namespace coefficients;

static constexpr float infinity = std::numeric_limits<float>::infinity();
static constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// x limited to [low, high]; NaN stays NaN, unlike with a minnum/maxnum pair.
static F clamp(FloatEmitter &e, F x, float low, float high) {
  F atMost = e.select(x > e.f(high), e.f(high), x);
  return e.select(atMost < e.f(low), e.f(low), atMost);
}

F powerOfTwo(FloatEmitter &e, F sum) {
  return e.fromBits(e.bits(sum) << e.i(23));
}

F scaleByPowerOfTwo(FloatEmitter &e, F value, F sum) {
  I k = e.bits(sum);
  I half = shiftLogical(k, e.i(1));
  F first = e.fromBits(half << e.i(23));
  F second = e.fromBits((k - half) << e.i(23));
  return value * first * second;
}

//===----------------------------------------------------------------------===//
// Exponentials: x = k ln2 + r with integer k and |r| <= ln2 / 2
//===----------------------------------------------------------------------===//

/// 2^x for |x| < 126, or NaN: no overflow, no subnormal result.
static F exp2Bounded(FloatEmitter &e, F x) {
  F sum = x + e.f(magicBiased);
  F r = x - (sum - e.f(magicBiased));
  return e.poly(exp2Poly, r) * powerOfTwo(e, sum);
}

F expandExp(FloatEmitter &e, F x) {
  // Outside, the result is 0 or infinity; inside, |k| <= 151. Scaling by any k
  // does that by itself, if only the power stays positive and finite.
  if (!e.avx512)
    x = clamp(e, x, -104.0f, 89.0f);
  F sum = e.fma(x, e.f(log2e[0]), e.f(magicBiasedTwice));
  F k = sum - e.f(magicBiasedTwice);
  F r = e.fma(k, e.f(-ln2Fma[0]), x);
  r = e.fma(k, e.f(-ln2Fma[1]), r);
  if (e.avx512)
    r = e.withinOne(r);
  F tail = e.fma(e.poly(expTail, r), r, e.f(1.0f));
  F power = e.fma(tail, r, e.f(1.0f));
  return e.avx512 ? e.scaled(power, k) : scaleByPowerOfTwo(e, power, sum);
}

F expandExp2(FloatEmitter &e, F x) {
  if (e.avx512) {
    F r = e.distanceToInteger(x);
    return e.scaled(e.poly(exp2Poly, r), x - r);
  }
  x = clamp(e, x, -151.0f, 129.0f);
  F sum = x + e.f(magicBiasedTwice);
  F r = x - (sum - e.f(magicBiasedTwice));
  F power = e.poly(exp2Poly, r);
  return scaleByPowerOfTwo(e, power, sum);
}

/// 2^x = 2^r 2^floor(x): scaling takes the floor by itself.
F expandExp2Weight(FloatEmitter &e, F x) {
  if (!e.avx512)
    return expandExp2(e, x);
  return e.scaled(e.poly(exp2Weight, e.distanceToInteger(x, /*below=*/true)),
                  x);
}

/// e^x - 1 = 2 (s p + (s - 1/2)) with p = e^r - 1 and s = 2^(k-1): s rather
/// than 2^k, which overflows before the result does.
F expandExpM1(FloatEmitter &e, F x) {
  // Below, the result is -1.
  F bounded = clamp(e, x, -30.0f, 89.0f);
  // One less than the bias, for 2^(k-1).
  F bias = e.f(magicBiased - 1.0f);
  F sum = e.fma(bounded, e.f(log2e[0]), bias);
  F k = sum - bias;
  // r as a sum of two floats: with k = 1 and r near -ln2/2 its rounding error
  // would be multiplied by 2 and compared with a result near 0.41.
  F first = e.fma(k, e.f(-ln2Fma[0]), bounded);
  F r = e.fma(k, e.f(-ln2Fma[1]), first);
  F low = e.fma(k, e.f(-ln2Fma[1]), first - r);
  F p = e.fma(r * r, e.poly(expTail, r), low);
  F s = powerOfTwo(e, sum);
  F value = e.fma(s, r, s - e.f(0.5f));
  value = e.fma(s, p, value);
  value = value + value;
  // Halving loses the last bit of a subnormal and the sign of zero.
  return e.select(e.abs(x) < e.f(0x1p-25f), x, value);
}

//===----------------------------------------------------------------------===//
// Logarithms: x = 2^k (1 + f) with |f| <= 1/3
//===----------------------------------------------------------------------===//

/// bits(2/3): below it, the exponent field of x counts one less.
static constexpr int32_t twoThirdsBits = 0x3f2aaaab;

Decomposed decompose(FloatEmitter &e, F x) {
  B subnormal = x < e.f(0x1p-126f);
  I xBits = e.bits(e.select(subnormal, x * e.f(0x1p24f), x));
  I k = shiftArithmetic(xBits - e.i(twoThirdsBits), e.i(23));
  F m = e.fromBits(xBits - (k << e.i(23)));
  I exponent = k + e.select(subnormal, e.i(-24), e.i(0));
  return {m - e.f(1.0f), e.toFloat(exponent)};
}

/// `value` for positive finite x; else what a logarithm is at `x`, whose zero
/// is at argument 0: -inf at 0, NaN below, x at +inf and NaN.
static F logSpecials(FloatEmitter &e, F x, F value) {
  F special = e.select(x < e.f(0.0f), e.f(nan), x);
  special = e.select(x == e.f(0.0f), e.f(-infinity), special);
  return e.select((x > e.f(0.0f)) & (x < e.f(infinity)), value, special);
}

F expandLog(FloatEmitter &e, F x) {
  Decomposed d = decompose(e, x);
  F f = d.fraction;
  F m = e.fma(f * f, e.poly(logTail, f), f);
  // The second part of ln2 is below 0.1 ULP of the result for every k.
  return logSpecials(e, x, e.fma(d.exponent, e.f(ln2Fma[0]), m));
}

F expandLog2(FloatEmitter &e, F x) {
  Decomposed d = decompose(e, x);
  F f = d.fraction;
  F low = e.fma(f, e.f(log2e[1]), f * f * e.poly(log2Tail, f));
  return logSpecials(e, x, d.exponent + e.fma(f, e.f(log2e[0]), low));
}

/// 1 + x = 2^k (1 + f) where k is taken from the rounded sum, but f from x:
/// f = 2^-k x + (2^-k - 1), so nothing of x is lost.
F expandLog1p(FloatEmitter &e, F x) {
  F u = e.f(1.0f) + x;
  I k = shiftArithmetic(e.bits(u) - e.i(twoThirdsBits), e.i(23));
  // 2^-k is subnormal at k = 128; 2^(2-k) and x/4 are not.
  F fourTimes = e.fromBits(e.i(129 << 23) - (k << e.i(23)));
  F f = e.fma(x * e.f(0.25f), fourTimes,
              e.fma(fourTimes, e.f(0.25f), e.f(-1.0f)));
  F m = e.fma(f * f, e.poly(logTail, f), f);
  F value = e.fma(e.toFloat(k), e.f(ln2Fma[0]), m);
  // x/4 is inexact for subnormal x, and the sum loses the sign of zero.
  value = e.select(e.abs(x) < e.f(0x1p-25f), x, value);
  return logSpecials(e, u, value);
}

//===----------------------------------------------------------------------===//
// tanh, erf, rsqrt
//===----------------------------------------------------------------------===//

/// Odd polynomial near zero, 1 - 2 / (e^2x + 1) elsewhere.
F expandTanh(FloatEmitter &e, F x) {
  F a = e.abs(x);
  F small = e.fma(a * (a * a), e.poly(tanhTail, a * a), a);
  F t = e.select(a > e.f(10.0f), e.f(10.0f), a);
  F sum = e.fma(t, e.f(twoLog2e[0]), e.f(magicBiased));
  // One rounding for 2x/ln2 - k; the rounded product would cost 0.5 ULP of it.
  F r = e.fma(t, e.f(twoLog2e[0]), e.f(magicBiased) - sum);
  F power = e.poly(exp2Poly, r) * powerOfTwo(e, sum);
  F large = e.f(1.0f) - e.f(2.0f) / (power + e.f(1.0f));
  return e.withSignOf(e.select(a < e.f(0.75f), small, large), x);
}

/// Odd polynomial near zero, 1 - 2^log2(erfc x) elsewhere.
F expandErf(FloatEmitter &e, F x) {
  F a = e.abs(x);
  F small = e.fma(a, e.poly(erfSmall, a * a), a);
  F t = e.select(a > e.f(4.0f), e.f(4.0f), a);
  F large = e.f(1.0f) - exp2Bounded(e, e.poly(erfLarge, t));
  return e.withSignOf(e.select(a < e.f(1.0f), small, large), x);
}

/// e^-x^2 y Q(y - 1/2) with y = 1 / (1 + |x|/2) for positive x. The square is
/// kept with its rounding error, which e^ would multiply by x^2.
F expandErfc(FloatEmitter &e, F x) {
  F a = e.abs(x);
  F t = e.select(a > e.f(10.5f), e.f(10.5f), a);
  F y = e.f(1.0f) / e.fma(t, e.f(0.5f), e.f(1.0f));
  F scaled = y * e.poly(erfcTail, y - e.f(0.5f));
  F square = t * t;
  F low = e.fma(t, t, -square);
  F power = expandExp(e, -square);
  F tail = e.fma(-power, low, power) * scaled;
  return e.select(x < e.f(0.0f), e.f(2.0f) - tail, tail);
}

/// 2^L(|x|) for positive x, without a division.
F expandErfcNear(FloatEmitter &e, F x) {
  F a = e.abs(x);
  F t = e.select(a > e.f(10.5f), e.f(10.5f), a);
  F tail = expandExp2Weight(e, e.poly(erfcNear, t));
  return e.select(x < e.f(0.0f), e.f(2.0f) - tail, tail);
}

/// Two correctly rounded steps: below 1.5 ULP.
F expandRsqrt(FloatEmitter &e, F x) { return e.f(1.0f) / e.sqrt(x); }

} // namespace tessera::target
