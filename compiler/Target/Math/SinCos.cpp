// Sine and cosine of float32 over the full range.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// |x| = k pi/2 + r with |r| <= pi/4 gives the quadrant k mod 4 and two short
// polynomials in r. r is a sum of two floats, because x can be so close to a
// multiple of pi/2 that subtracting it cancels nearly all bits.
//  * Up to 20000 the multiple is subtracted in three parts (Cody and Waite).
//  * Above, 2/pi is multiplied as an integer, with only those of its bits that
//    matter for this exponent (Payne and Hanek). Reducing x by pi/2 in floating
//    point would need as many bits of pi as x has in front of the point.

#include "compiler/Target/Math/Coefficients.h"
#include "compiler/Target/Math/Expansions.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

namespace tessera::target {
using namespace coefficients;

/// From here on the second method is used: below, k < 2^14, which the parts of
/// pi/2 rely on.
static constexpr float largeArgument = 20000.0f;

/// 2/pi after the point, 32 bits a word, behind one word of zeros.
static constexpr uint32_t twoOverPiWords[] = {
    0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u,
    0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu};

namespace {
struct Reduced {
  F high, low; ///< r = high + low
  I quadrant;  ///< k, of which the two low bits matter
};
} // namespace

static Reduced reduceSmall(FloatEmitter &e, F a) {
  F sum = e.fma(a, e.f(twoOverPi[0]), e.f(magic));
  F k = sum - e.f(magic);
  // Exact: the difference is below 1 and a multiple of 2^-24.
  F first = e.fma(k, e.f(-piOver2Parts[0]), a);
  // The second part has 10 bits, so this product is exact; the third is far
  // below it. Two-sum keeps what the subtraction rounds off.
  F product = k * e.f(piOver2Parts[1]);
  F high = first - product;
  F back = high - first;
  F low = (first - (high - back)) - (product + back);
  low = e.fma(k, e.f(-piOver2Parts[2]), low);
  F sumHigh = high + low;
  return {sumHigh, low - (sumHigh - high), e.bits(sum)};
}

static Reduced reduceLarge(FloatEmitter &e, F a) {
  I aBits = e.bits(a);
  I m = (aBits & e.i(0x7fffff)) | e.i(0x800000);
  // a = m 2^(exponent - 150). Bits of 2/pi that contribute multiples of 4 to
  // a * 2/pi are skipped; `first` is the first one that is not.
  I first = shiftLogical(aBits, e.i(23)) - e.i(120);
  I word = shiftLogical(first, e.i(5));
  I shift = first & e.i(31);
  B from[4] = {word == e.i(0), word == e.i(1), word == e.i(2), word == e.i(3)};
  I words[4] = {e.i(0), e.i(0), e.i(0), e.i(0)};
  for (int j = 0; j < 4; ++j) {
    words[j] = e.i(int32_t(twoOverPiWords[j + 4]));
    for (int w = 3; w >= 0; --w)
      words[j] =
          e.select(from[w], e.i(int32_t(twoOverPiWords[j + w])), words[j]);
  }
  // 96 bits of 2/pi. The right shift is split as shift may be 0.
  I inverse = e.i(31) - shift;
  L window[3] = {e.l(0), e.l(0), e.l(0)};
  for (int j = 0; j < 3; ++j) {
    I carried = shiftLogical(shiftLogical(words[j + 1], e.i(1)), inverse);
    window[j] = e.extendUnsigned((words[j] << shift) | carried);
  }
  // Bits 32..95 of the product; the two on top are the quadrant.
  L wide = e.extendUnsigned(m);
  L product = (wide * window[0] << e.l(32)) + wide * window[1] +
              shiftLogical(wide * window[2], e.l(32));
  L quadrant = shiftLogical(product + e.l(int64_t(1) << 61), e.l(62));
  L fraction = product - (quadrant << e.l(62));

  F fractionHigh = e.toFloat(fraction);
  F fractionLow = e.toFloat(fraction - e.toLong(fractionHigh));
  F scale = e.f(piOver2[0] * 0x1p-62f), scaleLow = e.f(piOver2[1] * 0x1p-62f);
  F high = fractionHigh * scale;
  F low = e.fma(fractionHigh, scale, -high);
  low = e.fma(fractionHigh, scaleLow, low);
  low = e.fma(fractionLow, scale, low);
  F sumHigh = high + low;
  return {sumHigh, low - (sumHigh - high), e.truncate(quadrant)};
}

/// Is any element true?
static mlir::Value anyOf(FloatEmitter &e, B condition) {
  auto vector = mlir::dyn_cast<mlir::VectorType>(condition.value.getType());
  if (!vector)
    return condition.value;
  mlir::OpBuilder &builder = e.getBuilder();
  mlir::Value flat = condition.value;
  if (vector.getRank() != 1) {
    auto type = mlir::VectorType::get({vector.getNumElements()},
                                      vector.getElementType());
    flat = mlir::vector::ShapeCastOp::create(builder, e.getLoc(), type, flat);
  }
  return mlir::vector::ReductionOp::create(
      builder, e.getLoc(), mlir::vector::CombiningKind::OR, flat);
}

static Reduced reduce(FloatEmitter &e, F a, const ExpandMathOptions &options) {
  Reduced small = reduceSmall(e, a);
  B isLarge = a > e.f(largeArgument);
  auto merge = [&] {
    Reduced large = reduceLarge(e, a);
    return Reduced{e.select(isLarge, large.high, small.high),
                   e.select(isLarge, large.low, small.low),
                   e.select(isLarge, large.quadrant, small.quadrant)};
  };
  if (!options.branchOnLargeArguments)
    return merge();

  mlir::OpBuilder &builder = e.getBuilder();
  mlir::Value any = anyOf(e, isLarge);
  auto branch = mlir::scf::IfOp::create(
      builder, e.getLoc(), any,
      [&](mlir::OpBuilder &, mlir::Location loc) {
        // The emitter's builder is the one scf.if moved into this region.
        Reduced merged = merge();
        mlir::scf::YieldOp::create(
            builder, loc,
            {merged.high.value, merged.low.value, merged.quadrant.value});
      },
      [&](mlir::OpBuilder &, mlir::Location loc) {
        mlir::scf::YieldOp::create(
            builder, loc,
            {small.high.value, small.low.value, small.quadrant.value});
      });
  return {{branch.getResult(0), &e},
          {branch.getResult(1), &e},
          {branch.getResult(2), &e}};
}

std::pair<F, F> expandSinCos(FloatEmitter &e, F x,
                             const ExpandMathOptions &options) {
  F a = e.abs(x);
  Reduced r = reduce(e, a, options);
  F u = r.high * r.high;
  F sine = r.high + e.fma(r.high * u, e.poly(sinTail, u), r.low);
  // high * -0.5 is exact, so that the rounding of u does not count here.
  F cosine = e.fma(r.high * e.f(-0.5f), r.high, e.f(1.0f));
  cosine = cosine + e.fma(u * u, e.poly(cosTail, u), -(r.high * r.low));

  B odd = (r.quadrant & e.i(1)) != e.i(0);
  // The quadrant's second bit, moved to the sign bit.
  I sineSign = (r.quadrant << e.i(30)) & e.i(INT32_MIN);
  I cosineSign = ((r.quadrant + e.i(1)) << e.i(30)) & e.i(INT32_MIN);
  I xSign = e.bits(x) & e.i(INT32_MIN);
  F sinValue =
      e.fromBits(e.bits(e.select(odd, cosine, sine)) ^ sineSign ^ xSign);
  F cosValue = e.fromBits(e.bits(e.select(odd, sine, cosine)) ^ cosineSign);
  // Infinity and NaN.
  B finite = a < e.f(std::numeric_limits<float>::infinity());
  F nan = e.f(std::numeric_limits<float>::quiet_NaN());
  return {e.select(finite, sinValue, nan), e.select(finite, cosValue, nan)};
}

// The half that is not used is dead code; the pattern driver removes it.
F expandSin(FloatEmitter &e, F x, const ExpandMathOptions &options) {
  return expandSinCos(e, x, options).first;
}
F expandCos(FloatEmitter &e, F x, const ExpandMathOptions &options) {
  return expandSinCos(e, x, options).second;
}

} // namespace tessera::target
