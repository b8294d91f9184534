//===- Evaluate.h - Integers of a plan, as numbers --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_PLAN_EVALUATE_H
#define TESSERA_COMPILER_PLAN_EVALUATE_H

#include "compiler/Plan/IR/Plan.h"

namespace tessera::plan {

struct Evaluated {
  int64_t value = 0;
  const char *error = nullptr; ///< overflow, division by zero, not known
  mlir::Value unknown;         ///< what is not known, if that is the error
};

/// Computes an integer or a condition with the arithmetic of the runtime.
/// `known` gives what steps set, and sizes, strides and addresses. An error
/// counts where it is needed: not in the other side of a select.
Evaluated
evaluate(mlir::Value value,
         llvm::function_ref<std::optional<int64_t>(mlir::Value)> known);

} // namespace tessera::plan

#endif // TESSERA_COMPILER_PLAN_EVALUATE_H
