//===- Pipeline.cpp - The order of the Schedule IR passes -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/GraphToSchedule/Passes.h"
#include "compiler/Schedule/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void tessera::schedule::buildSchedulePipeline(OpPassManager &pm, Model model) {
  pm.addNestedPass<func::FuncOp>(createDecomposeCompositesPass());
  // After the composites: their one rounding is between ops too.
  pm.addNestedPass<func::FuncOp>(createRelaxRoundingPass());
  // One value for equal sizes and equal subexpressions: fusion counts readers.
  pm.addPass(createCSEPass());
  pm.addPass(createGraphToSchedulePass());
  pm.addPass(createDecidePass({model}));
  pm.addPass(createCheckContractPass());
}

void tessera::schedule::registerSchedulePipeline() {
  registerGraphToSchedulePasses();
  registerSchedulePasses();
  PassPipelineRegistration<>(
      "schedule-pipeline", "Stage 2: Graph IR to Schedule IR",
      [](OpPassManager &pm) { buildSchedulePipeline(pm); });
}
