//===- Pipeline.cpp - The order of the Graph IR passes --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Graph/Transforms/Passes.h"
#include "compiler/Tile/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void tessera::graph::buildGraphPipeline(OpPassManager &pm) {
  pm.addPass(createCheckContractPass());
  // Before the matchers: they compare sizes as values.
  pm.addNestedPass<func::FuncOp>(createSimplifyShapesPass());
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createFoldTransposeIntoGemmPass());
  // Needs the transpose of the keys as a flag, and the scale before folding
  // rounds it to the dtype of the scores.
  pm.addNestedPass<func::FuncOp>(createRaiseAttentionPass());
  pm.addPass(tile::createSimplifyPass());
  pm.addPass(createCSEPass());
  pm.addPass(createCheckContractPass());
}

void tessera::graph::registerGraphPipeline() {
  PassPipelineRegistration<>("graph-pipeline", "Stage 1: all Graph IR passes",
                             buildGraphPipeline);
}
