//===- Pipeline.cpp - The order of the passes into Tile IR ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedule/Transforms/Passes.h"
#include "compiler/ScheduleToTile/Passes.h"
#include "compiler/Tile/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void tessera::tile::buildScheduleToTilePipeline(OpPassManager &pm) {
  pm.addPass(schedule::createSpecializePass());
  pm.addPass(createScheduleToTilePass());
  pm.addPass(createSimplifyPass());
  pm.addPass(createCSEPass());
  pm.addPass(createCheckValueContractPass());
}

void tessera::tile::registerScheduleToTilePipeline() {
  registerScheduleToTilePasses();
  PassPipelineRegistration<>("schedule-to-tile-pipeline",
                             "Schedule IR to Tile IR's value level",
                             buildScheduleToTilePipeline);
}
