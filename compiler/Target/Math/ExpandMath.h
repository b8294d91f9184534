// The pass target-expand-math: math functions of float32 as plain arithmetic.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_TARGET_MATH_EXPANDMATH_H
#define TESSERA_TARGET_MATH_EXPANDMATH_H

#include <memory>

namespace mlir {
class Pass;
class RewritePatternSet;
} // namespace mlir

namespace tessera::target {

struct ExpandMathOptions {
  /// sin and cos of |x| > 20000 need about 60 integer ops. False: they are
  /// always computed and selected. True: behind an `scf.if` that asks whether
  /// any element needs them; faster where a branch is (CPU, GPU threads).
  bool branchOnLargeArguments = false;
  /// Expand f64 scalars, too: for machines without a math library.
  bool expandDoubles = false;
  /// Vectors of 16, 32, ... lanes may use what only AVX-512 has: the distance
  /// to an integer, and scaling by a power of two.
  bool avx512 = false;
};

/// exp exp2 expm1 log log2 log1p rsqrt sin cos sincos tanh erf erfc powf on f32
/// scalars and vectors of any static shape become arith ops, math.fma,
/// math.sqrt and math.floor; on f16 and bf16 they are computed in f32 and
/// rounded once more. f64 is left alone unless asked for.
void populateExpandMathPatterns(mlir::RewritePatternSet &patterns,
                                const ExpandMathOptions &options = {});

std::unique_ptr<mlir::Pass>
createExpandMathPass(const ExpandMathOptions &options = {});

/// Makes the pass known to command-line tools.
void registerExpandMathPass();

} // namespace tessera::target

#endif // TESSERA_TARGET_MATH_EXPANDMATH_H
