//===- NormPattern.h - A norm that the user wrote out -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_INTERPRETER_NORMPATTERN_H
#define TESSERA_INTERPRETER_NORMPATTERN_H

#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Value.h"

#include <optional>

namespace tessera::interpreter {

/// d * rsqrt(mean(d * d) + eps), or d / sqrt(...), with d repeated along
/// nothing: what such a product divides by.
struct WrittenNorm {
  mlir::Value squares;             // what the mean is of
  llvm::SmallVector<int64_t> axes; // of the mean
  double eps;
};

/// If the result of `op`, a product or a quotient, is such a norm of its first
/// or second operand, returns what that operand is divided by.
std::optional<WrittenNorm> matchWrittenNorm(mlir::Operation *op,
                                            mlir::Value &normed);

} // namespace tessera::interpreter

#endif
