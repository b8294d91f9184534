//===- Graph.h - Graph IR: dialect and ops ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stage 1 of 4: what is computed. The only header other stages include.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_GRAPH_IR_GRAPH_H
#define TESSERA_COMPILER_GRAPH_IR_GRAPH_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "compiler/Graph/IR/GraphDialect.h.inc"
#include "compiler/Graph/IR/GraphEnums.h.inc"

#define GET_OP_CLASSES
#include "compiler/Graph/IR/GraphOps.h.inc"

namespace tessera::graph {

/// The largest step of a slice or a loop.
inline constexpr int64_t maxStep = int64_t(1) << 40;

/// gir.if, gir.for, gir.while
inline bool isControlFlow(mlir::Operation *op) {
  return mlir::isa<IfOp, ForOp, WhileOp>(op);
}

/// What a carried value of the loop around this block is before the first
/// turn; null for a counter, or an argument of anything else.
mlir::Value getInit(mlir::BlockArgument argument);

/// Whether the op's results and its regions' arguments are tensors that plans
/// have.
mlir::LogicalResult verifyTypes(mlir::Operation *op);
/// Whether the kernel of a call takes what it is given: its views are the
/// call's tensors, written ones its results. It may be null.
mlir::LogicalResult verifyCall(CallKernelOp call, KernelOp kernel);

} // namespace tessera::graph

#endif // TESSERA_COMPILER_GRAPH_IR_GRAPH_H
