//===- Plan.h - The plan: dialect, type, ops --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host program of a function. The only header other folders include, beside
// Export.h.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_PLAN_IR_PLAN_H
#define TESSERA_COMPILER_PLAN_IR_PLAN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "compiler/Plan/IR/PlanDialect.h.inc"
#include "compiler/Plan/IR/PlanEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/Plan/IR/PlanTypes.h.inc"

#define GET_OP_CLASSES
#include "compiler/Plan/IR/PlanOps.h.inc"

namespace tessera::plan {

/// The name of an element type in a plan (docs/abi.md, section 1); empty for
/// one that memory cannot hold.
llvm::StringRef nameOf(mlir::Type element);

/// Calls `visit` for each launch of the kernel, in all plans of the module. It
/// may replace the launch.
void forEachLaunch(mlir::ModuleOp module, llvm::StringRef kernel,
                   llvm::function_ref<void(LaunchOp)> visit);

} // namespace tessera::plan

#endif // TESSERA_COMPILER_PLAN_IR_PLAN_H
