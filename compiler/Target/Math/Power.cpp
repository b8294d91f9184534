// x to the power y in float32.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/Math/Coefficients.h"
#include "compiler/Target/Math/Expansions.h"

#include <limits>

namespace tessera::target {
using namespace coefficients;

static constexpr float infinity = std::numeric_limits<float>::infinity();
static constexpr float nan = std::numeric_limits<float>::quiet_NaN();

namespace {
/// An unevaluated sum; |low| is about 2^-24 |high|.
struct Pair {
  F high, low;
};
} // namespace

/// log2 of a positive finite x with a relative error near 2^-40. 2^(y log2 x)
/// multiplies that error by up to 150, which is why one float does not do.
///
/// With z = f / (2 + f), u = z^2: log2(1 + f) = z (2/ln2 + c1 u + u^2 Q(u)).
static Pair log2Pair(FloatEmitter &e, F x) {
  Decomposed d = decompose(e, x);
  F f = d.fraction;

  F denominator = f + e.f(2.0f);
  F lost = f - (denominator - e.f(2.0f));
  F reciprocal = e.f(1.0f) / denominator;
  F zHigh = f * reciprocal;
  F rest = e.fma(-zHigh, denominator, f);
  rest = e.fma(-zHigh, lost, rest);
  F zLow = rest * reciprocal;

  F uHigh = zHigh * zHigh;
  F uLow = e.fma(zHigh, zHigh, -uHigh);
  uLow = e.fma(zHigh + zHigh, zLow, uLow);

  F thirdHigh = uHigh * e.f(powC1[0]);
  F thirdLow = e.fma(uHigh, e.f(powC1[0]), -thirdHigh);
  thirdLow = e.fma(uLow, e.f(powC1[0]), thirdLow);
  thirdLow = e.fma(uHigh, e.f(powC1[1]), thirdLow);
  F tail = e.fma(uHigh * uHigh, e.poly(powTail, uHigh), thirdLow);

  F ratioHigh = e.f(twoLog2e[0]) + thirdHigh;
  F ratioLow = thirdHigh - (ratioHigh - e.f(twoLog2e[0]));
  ratioLow = ratioLow + (tail + e.f(twoLog2e[1]));

  F high = zHigh * ratioHigh;
  F low = e.fma(zHigh, ratioHigh, -high);
  low = e.fma(zHigh, ratioLow, low);
  low = e.fma(zLow, ratioHigh, low);

  // |k| >= 1 > |high| or k == 0: the error of the sum is exact either way.
  F sum = d.exponent + high;
  return {sum, (high - (sum - d.exponent)) + low};
}

F expandPow(FloatEmitter &e, F x, F y) {
  F zero = e.f(0.0f), one = e.f(1.0f), inf = e.f(infinity);
  F a = e.abs(x);
  Pair log = log2Pair(e, a);
  log.high = e.select(a == zero, e.f(-infinity), log.high);
  log.high = e.select(a == inf, inf, log.high);

  // y log2 x, limited to where 2^ of it is 0 or infinity; there (and where the
  // product is infinite, so that its low part is NaN) the low part is dropped.
  F high = y * log.high;
  F low = e.fma(y, log.low, e.fma(y, log.high, -high));
  B tooHigh = high > e.f(129.0f), tooLow = high < e.f(-151.0f);
  high = e.select(tooHigh, e.f(129.0f), high);
  high = e.select(tooLow, e.f(-151.0f), high);
  low = e.select(tooHigh | tooLow, zero, low);

  F sum = high + e.f(magicBiasedTwice);
  F r = (high - (sum - e.f(magicBiasedTwice))) + low;
  F power = e.poly(exp2Poly, r);
  F result = scaleByPowerOfTwo(e, power, sum);

  // (+-1)^(+-inf) is 1; the product above was 0 * inf.
  result = e.select(a == one, one, result);
  // A negative base: its sign comes back for odd y, and y must be an integer.
  F half = y * e.f(0.5f);
  B isInteger = e.floor(y) == y;
  B isOdd = isInteger & (e.floor(half) != half);
  I sign = e.bits(x) & e.i(INT32_MIN);
  result = e.fromBits(e.bits(result) | e.select(isOdd, sign, e.i(0)));
  B negativeFinite = (x < zero) & (x > e.f(-infinity));
  result = e.select(negativeFinite & (e.floor(y) != y), e.f(nan), result);
  result = e.select((x != x) | (y != y), e.f(nan), result);
  // x^0 and 1^y are 1 even for NaN.
  return e.select((y == zero) | (x == one), one, result);
}

} // namespace tessera::target
