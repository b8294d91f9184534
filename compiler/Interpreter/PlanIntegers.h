//===- PlanIntegers.h - Integers and memory of a plan that runs -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_INTERPRETER_PLANINTEGERS_H
#define TESSERA_COMPILER_INTERPRETER_PLANINTEGERS_H

#include "compiler/Interpreter/TileData.h"
#include "compiler/Plan/Evaluate.h"

namespace tessera::interpreter {

/// A tensor of a plan, and the address that the plan sees.
struct PlanMemory {
  std::shared_ptr<View> view;
  uintptr_t address = 0;
};

/// A bit of the made-up addresses: such an argument is a constant.
constexpr uintptr_t constantAddress = uintptr_t(1) << 39;

/// What the values of a plan are while it runs.
struct PlanValues {
  llvm::DenseMap<mlir::Value, int64_t> integers; ///< those that steps set
  llvm::DenseMap<mlir::Value, Cell> reals;
  llvm::DenseMap<mlir::Value, PlanMemory> tensors;

  plan::Evaluated evaluate(mlir::Value value) const {
    return plan::evaluate(value, [&](mlir::Value one) { return known(one); });
  }
  std::optional<int64_t> known(mlir::Value value) const;

  /// The text of a check, with its values.
  std::string render(llvm::StringRef message, mlir::ValueRange shown,
                     Domain &domain) const;
};

} // namespace tessera::interpreter

#endif // TESSERA_COMPILER_INTERPRETER_PLANINTEGERS_H
