//===- Target.h - Target IR: dialect, attributes, ops -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stage 4 of 4: how a machine says it. The only header other stages include.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TARGET_IR_TARGET_H
#define TESSERA_COMPILER_TARGET_IR_TARGET_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "compiler/Target/IR/TargetDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/Target/IR/TargetAttrs.h.inc"

#define GET_OP_CLASSES
#include "compiler/Target/IR/TargetOps.h.inc"

namespace tessera::target {

/// Whether an op of a kernel works on what machines have: registers, short
/// vectors, pointers, a small stack.
mlir::LogicalResult verifyMachineOp(mlir::Operation *op);
/// The same of the kernel's signature and all its ops; `isListed` says which of
/// them the machine has at all, with an error where it has not.
mlir::LogicalResult verifyMachineKernel(
    KernelOp kernel,
    llvm::function_ref<mlir::LogicalResult(mlir::Operation *)> isListed = {});

} // namespace tessera::target

#endif // TESSERA_COMPILER_TARGET_IR_TARGET_H
