// Patterns that expand float64 functions. See Double.cpp.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_TARGET_MATH_DOUBLE_H
#define TESSERA_TARGET_MATH_DOUBLE_H

#include "mlir/IR/PatternMatch.h"

namespace tessera::target {

/// exp exp2 expm1 log log2 log1p rsqrt tanh erf sin cos powf of an f64 scalar.
void populateExpandDoublePatterns(mlir::RewritePatternSet &patterns);

} // namespace tessera::target

#endif // TESSERA_TARGET_MATH_DOUBLE_H
