//===- Passes.h - Graph IR to Schedule IR: passes ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_GRAPHTOSCHEDULE_PASSES_H
#define TESSERA_COMPILER_GRAPHTOSCHEDULE_PASSES_H

#include "compiler/Schedule/IR/Model.h"
#include "compiler/Schedule/IR/Payload.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace tessera::schedule {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/GraphToSchedule/Passes.h.inc"

} // namespace tessera::schedule

#endif // TESSERA_COMPILER_GRAPHTOSCHEDULE_PASSES_H
