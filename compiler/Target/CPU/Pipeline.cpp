//===- Pipeline.cpp - The order of the CPU target's passes ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Support/Architectures/X86.h"
#include "compiler/Target/CPU/CPU.h"
#include "compiler/Target/CPU/Mapping/Passes.h"
#include "compiler/Target/CPU/Passes.h"
#include "compiler/Tile/Transforms/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;

void tessera::target::buildCpuMappedPipeline(OpPassManager &manager,
                                             const CpuOptions &given) {
  CpuOptions options = given.resolved();
  tile::addKernelPass(manager, tile::createExpandProductsPass());
  // Equal ranges become one value: nests are merged by identity.
  manager.addPass(createCSEPass());
  manager.addPass(cpu::createSplitProductsPass());
  cpu::PackOperandsPassOptions pack;
  pack.amx = options.hasAmx();
  pack.vectorBytes = options.vectorBytes();
  manager.addPass(cpu::createPackOperandsPass(pack));
  manager.addPass(cpu::createAssumeDensePass());
  cpu::NontemporalStoresPassOptions stream;
  stream.threshold = x86::nontemporalFrom;
  manager.addPass(cpu::createNontemporalStoresPass(stream));
  cpu::MapToNestsPassOptions map;
  map.amx = options.hasAmx();
  map.vectorBytes = options.vectorBytes();
  tile::addKernelPass(manager, cpu::createMapToNestsPass(map));
  manager.addPass(createCSEPass());
  // Around matrix steps, from the last nest to the first.
  tile::addKernelPass(manager, cpu::createPrefetchPass());
  tile::addKernelPass(manager, cpu::createElideCopyPass());
  tile::addKernelPass(manager, cpu::createFuseEpiloguePass());
  tile::addKernelPass(manager, cpu::createElideZeroInitPass());
  tile::addKernelPass(manager, cpu::createNarrowPanelsPass());
  tile::addKernelPass(manager, cpu::createElidePackingPass());
  // How nests are done.
  cpu::RegisterTransposePassOptions turn;
  turn.vectorBytes = options.vectorBytes();
  tile::addKernelPass(manager, cpu::createRegisterTransposePass(turn));
  cpu::VersionStridesPassOptions strides;
  strides.vectorBytes = options.vectorBytes();
  tile::addKernelPass(manager, cpu::createVersionStridesPass(strides));
  cpu::PairBf16PassOptions pair;
  pair.vectorBytes = options.vectorBytes();
  tile::addKernelPass(manager, cpu::createPairBf16Pass(pair));
  // Rows that are written past the caches, beside other rows.
  tile::addKernelPass(manager, cpu::createPrefetchRowsPass());
  tile::addKernelPass(manager, cpu::createLoopProgramsPass());
  cpu::DelayRowStoresPassOptions delay;
  delay.vectorBytes = options.vectorBytes();
  tile::addKernelPass(manager, cpu::createDelayRowStoresPass(delay));
  tile::addKernelPass(manager, cpu::createBatchRowStoresPass());
  tile::addKernelPass(manager, cpu::createPlaceBuffersPass());
  manager.addPass(tile::createCheckMappedContractPass());
  manager.addPass(cpu::createCheckMappedContractPass());
}

void tessera::target::buildCpuTargetPipeline(OpPassManager &manager,
                                             const CpuOptions &given) {
  CpuOptions options = given.resolved();
  LowerToCpuPassOptions lower;
  lower.vectorBytes = options.vectorBytes();
  lower.bf16 = options.vectorBytes() == 64 && options.has("avx512bf16");
  manager.addPass(createLowerToCpuPass(lower));
  manager.addPass(createCheckContractPass());
}

void tessera::target::registerCpuPasses() {
  cpu::registerCpuMappingPasses();
  registerCpuTargetPasses();
  PassPipelineRegistration<>(
      "cpu-mapped", "Tile IR, value level, to mapped level for this CPU",
      [](OpPassManager &manager) { buildCpuMappedPipeline(manager); });
  PassPipelineRegistration<>(
      "cpu-target", "Mapped Tile IR to the kernels of this CPU",
      [](OpPassManager &manager) { buildCpuTargetPipeline(manager); });
}
