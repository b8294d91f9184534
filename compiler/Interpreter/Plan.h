//===- Plan.h - Runs the plan of a function ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `runtime/` does with memory is done here on arrays of cells, so that
// every domain works.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_INTERPRETER_PLAN_H
#define TESSERA_COMPILER_INTERPRETER_PLAN_H

#include "compiler/Interpreter/Interpreter.h"

namespace tessera::interpreter {

/// Calls a kernel with arrays: missing (or null) `out` arguments are made.
/// Results are the written arguments.
llvm::LogicalResult runAsPlan(mlir::Operation *kernel, Interpreter &in,
                              llvm::ArrayRef<DatumRef> arguments,
                              Data &results);

} // namespace tessera::interpreter

#endif // TESSERA_COMPILER_INTERPRETER_PLAN_H
