//===- Pipeline.cpp - The order of the NVIDIA target's passes -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Plan/Passes.h"
#include "compiler/Target/NVIDIA/NVIDIA.h"
#include "compiler/Target/NVIDIA/Passes.h"
#include "compiler/Tile/Transforms/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;

/// Shared memory of a block on every machine that runs this code: machine code
/// for sm_80 runs on sm_86 and sm_89, which have less.
static int64_t portableShared(const nvidia::Arch &arch) {
  int64_t limit = nvidia::machine(arch).sharedPerBlock;
  for (const nvidia::Machine &row : nvidia::machines())
    if (!arch.suffix && row.number / 10 == arch.major &&
        row.number >= arch.number())
      limit = std::min<int64_t>(limit, row.sharedPerBlock);
  return limit;
}

void tessera::target::buildNvidiaMappedPipeline(OpPassManager &manager,
                                                const NvidiaOptions &options) {
  tile::ExpandProductsPassOptions expand;
  expand.target = options.chip;
  tile::addKernelPass(manager, tile::createExpandProductsPass(expand));
  tile::MakePersistentPassOptions persistent;
  if (int blocks = nvidia::machine(options.arch).multiprocessors)
    persistent.blocks = blocks;
  manager.addPass(tile::createMakePersistentPass(persistent));
  // Equal ranges and loads become one value.
  manager.addPass(createCSEPass());
  tile::MapToGpuPassOptions map;
  map.target = options.chip;
  tile::addKernelPass(manager, tile::createMapToGpuPass(map));
  plan::SetTargetPassOptions machine;
  machine.target = options.chip;
  manager.addNestedPass<plan::FuncOp>(plan::createSetTargetPass(machine));
  // Without cp.async a copy is over when it is begun: nothing runs ahead.
  if (nvidia::has(options.arch, nvidia::Feature::CpAsync)) {
    tile::PipelineCopiesPassOptions pipeline;
    pipeline.sharedLimit = nvidia::machine(options.arch).sharedPerBlock;
    pipeline.sharedPortable = portableShared(options.arch);
    tile::addKernelPass(manager, tile::createPipelineCopiesPass(pipeline));
  }
  tile::addKernelPass(manager, tile::createDropRedundantBarriersPass());
  manager.addPass(createCSEPass());
  manager.addPass(tile::createCheckMappedContractPass());
}

void tessera::target::buildNvidiaTargetPipeline(OpPassManager &manager,
                                                const NvidiaOptions &options) {
  // Here, so that Tile IR that somebody edited is proved, too.
  if (options.proveBarriers)
    tile::addKernelPass(manager, tile::createProveBarriersPass());
  manager.addPass(createLowerToNvidiaPass());
  // Registers of one thread share most of their address arithmetic.
  manager.addPass(createCSEPass());
  manager.addPass(createCheckNvidiaContractPass());
}

void tessera::target::registerNvidiaPasses() {
  registerNvidiaTargetPasses();
  PassPipelineRegistration<>(
      "nvidia-mapped", "Tile IR, value level, to mapped level for sm_80",
      [](OpPassManager &manager) { buildNvidiaMappedPipeline(manager); });
  PassPipelineRegistration<>(
      "nvidia-target", "Mapped Tile IR to the threads of sm_80",
      [](OpPassManager &manager) { buildNvidiaTargetPipeline(manager); });
}
