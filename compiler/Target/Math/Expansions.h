// The float32 functions, each as a straight line of arith ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contract of every function: at most 2 ULP from the exact value over all
// float32 arguments, subnormal arguments and results included; NaN, infinities
// and signed zeros as IEEE 754 and C say. tools/math/exhaustive.py measures it.

#ifndef TESSERA_TARGET_MATH_EXPANSIONS_H
#define TESSERA_TARGET_MATH_EXPANSIONS_H

#include "compiler/Target/Math/ExpandMath.h"
#include "compiler/Target/Math/FloatEmitter.h"

#include <utility>

namespace tessera::target {

// ExpLog.cpp
F expandExp(FloatEmitter &e, F x);
F expandExp2(FloatEmitter &e, F x);
F expandExpM1(FloatEmitter &e, F x);
F expandLog(FloatEmitter &e, F x);
F expandLog2(FloatEmitter &e, F x);
F expandLog1p(FloatEmitter &e, F x);
F expandRsqrt(FloatEmitter &e, F x);
F expandTanh(FloatEmitter &e, F x);
F expandErf(FloatEmitter &e, F x);
/// 13 bits, and 0 for subnormal results: weights that are rounded to 16 bits.
F expandExp2Weight(FloatEmitter &e, F x);
/// 4 ULP of relative error where the result is small (not 2).
F expandErfc(FloatEmitter &e, F x);
/// 13 bits, for results that are rounded to 16-bit floats.
F expandErfcNear(FloatEmitter &e, F x);

// Power.cpp
F expandPow(FloatEmitter &e, F x, F y);

// SinCos.cpp
F expandSin(FloatEmitter &e, F x, const ExpandMathOptions &options);
F expandCos(FloatEmitter &e, F x, const ExpandMathOptions &options);
std::pair<F, F> expandSinCos(FloatEmitter &e, F x,
                             const ExpandMathOptions &options);

//===----------------------------------------------------------------------===//
// Steps that several functions share
//===----------------------------------------------------------------------===//

/// Adding 1.5 * 2^23 to |x| < 2^22 rounds x to the nearest integer k, which
/// then stands in the low bits of the sum: k = sum - magic. One add instead of
/// a rounding and a conversion instruction; and NaN gives a garbage integer
/// rather than poison.
inline constexpr float magic = 0x1.8p23f;
/// The same with 127 added to the integer: shifted left by 23 bits, the sum's
/// bits are those of 2^k, as the shift drops all of magic's.
inline constexpr float magicBiased = magic + 127.0f;
/// The same with 254 added: the halves of the integer are biased by 127 each.
inline constexpr float magicBiasedTwice = magic + 254.0f;

/// 2^k, -126 <= k <= 127, from the sum of k and magicBiased.
F powerOfTwo(FloatEmitter &e, F sum);

/// value * 2^k for |k| <= 252, rounded once; `sum` is k + magicBiasedTwice.
/// Half of k is applied exactly; with the other half the product overflows or
/// becomes subnormal as it should.
F scaleByPowerOfTwo(FloatEmitter &e, F value, F sum);

/// x = m * 2^k with m in [2/3, 4/3); x positive, finite; subnormals allowed.
struct Decomposed {
  F fraction; ///< m - 1, exact
  F exponent; ///< k
};
Decomposed decompose(FloatEmitter &e, F x);

} // namespace tessera::target

#endif // TESSERA_TARGET_MATH_EXPANSIONS_H
