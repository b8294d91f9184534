//===- Pipeline.cpp - From tile programs to threads of a block ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Plan/Passes.h"
#include "compiler/Target/SIMT/Mapping/Passes.h"
#include "compiler/Tile/Transforms/Passes.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;

void tessera::simt::buildMappedPipeline(OpPassManager &manager,
                                        const Machine &machine) {
  ChooseInstructionsPassOptions choose;
  choose.target = machine.name;
  tile::addKernelPass(manager, createChooseInstructionsPass(choose));
  tile::addKernelPass(manager, tile::createExpandProductsPass());
  MakePersistentPassOptions persistent;
  if (machine.multiprocessors)
    persistent.blocks = machine.multiprocessors;
  manager.addPass(createMakePersistentPass(persistent));
  // Equal ranges and loads become one value.
  manager.addPass(createCSEPass());
  MapToThreadsPassOptions map;
  map.target = machine.name;
  tile::addKernelPass(manager, createMapToThreadsPass(map));
  plan::SetTargetPassOptions target;
  target.target = machine.name;
  manager.addNestedPass<plan::FuncOp>(plan::createSetTargetPass(target));
  // Where a copy is over when it is begun, nothing runs ahead.
  if (machine.copies == CopyCompletion::ByGroup) {
    PipelineCopiesPassOptions pipeline;
    pipeline.sharedLimit = machine.sharedPerBlock;
    pipeline.sharedPortable = machine.sharedPortable;
    tile::addKernelPass(manager, createPipelineCopiesPass(pipeline));
  }
  tile::addKernelPass(manager, tile::createDropRedundantBarriersPass());
  manager.addPass(createCSEPass());
  manager.addPass(tile::createCheckMappedContractPass());
  manager.addPass(createCheckMappedContractPass());
}
