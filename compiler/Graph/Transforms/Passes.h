//===- Passes.h - Graph IR: passes and pipeline -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_GRAPH_TRANSFORMS_PASSES_H
#define TESSERA_COMPILER_GRAPH_TRANSFORMS_PASSES_H

#include "compiler/Graph/IR/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace tessera::graph {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Graph/Transforms/Passes.h.inc"

/// Adds stage 1 to `pm`: Graph IR in, Graph IR ready for scheduling out.
void buildGraphPipeline(mlir::OpPassManager &pm);

/// `--graph-pipeline` for tessera-opt.
void registerGraphPipeline();

} // namespace tessera::graph

#endif // TESSERA_COMPILER_GRAPH_TRANSFORMS_PASSES_H
