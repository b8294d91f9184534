//===- Pipeline.cpp - The order of the NVIDIA target's passes -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/NVIDIA/NVIDIA.h"
#include "compiler/Target/NVIDIA/Passes.h"
#include "compiler/Target/NVIDIA/SimtMachine.h"
#include "compiler/Target/SIMT/Lowering/Passes.h"
#include "compiler/Target/SIMT/Mapping/Passes.h"
#include "compiler/Tile/Transforms/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;

void tessera::target::buildNvidiaMappedPipeline(OpPassManager &manager,
                                                const NvidiaOptions &options) {
  simt::buildMappedPipeline(manager, *nvidiaFamily().find(options.chip));
}

void tessera::target::buildNvidiaTargetPipeline(OpPassManager &manager,
                                                const NvidiaOptions &options) {
  // Here, so that Tile IR that somebody edited is proved, too.
  if (options.proveBarriers)
    tile::addKernelPass(manager, tile::createProveBarriersPass());
  manager.addPass(simt::createLowerToThreadsPass());
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
