//===- PlanWriter.h - A function becomes a plan -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_SCHEDULETOTILE_PLANWRITER_H
#define TESSERA_COMPILER_SCHEDULETOTILE_PLANWRITER_H

#include "compiler/ScheduleToTile/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::tile {

/// Users' kernels of the module that are tile.funcs already, by their name.
using KernelTable = llvm::StringMap<FuncOp>;

/// Kernels made so far, by their text without names: layers of a model repeat
/// the same ones, which are then compiled once.
using KernelTexts = llvm::StringMap<std::string>;

/// Builds the kernels of a function and its plan at the builder's position.
mlir::LogicalResult writePlan(mlir::OpBuilder &builder,
                              mlir::func::FuncOp function,
                              const KernelTable &kernels, KernelTexts &texts);

/// The plan for calling a user's kernel directly.
mlir::LogicalResult writeKernelPlan(mlir::OpBuilder &builder, FuncOp kernel,
                                    llvm::StringRef name);

} // namespace tessera::tile

#endif // TESSERA_COMPILER_SCHEDULETOTILE_PLANWRITER_H
