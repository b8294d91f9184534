//===- CudaTileMachine.cpp - CUDA Tile IR's row among the machines --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Support/Architectures/Nvidia.h"
#include "compiler/Target/CudaTile/CudaTile.h"

using namespace mlir;
using namespace tessera;

static bool isTarget(StringRef target) {
  if (!target.consume_front("cudatile:"))
    return false;
  std::optional<nvidia::Arch> arch = nvidia::parseArch(target);
  return arch && *arch >= nvidia::Arch{8, 0, 0}; // as tileiras
}

const Machine &tessera::target::cudaTileMachine() {
  static constexpr Emission emissions[] = {
      {"cudatile", "CUDA Tile IR", "tile-value", ".tilebc", /*isText=*/false,
       [](ModuleOp module, const EmitRequest &request) {
         return emitCudaTile(module, request.prepare);
       }},
  };
  static const Machine machine = {
      .name = "cudatile",
      .platform = "cudatile",
      .example = "cudatile:sm_90",
      .schedules = schedule::Model::Caches,
      .versionPerHead = true,
      .has = isTarget,
      .targetNames =
          [] { return std::string("cudatile: with those from sm_80 on"); },
      .targetOf =
          [](StringRef architecture) {
            return ("cudatile:" + architecture).str();
          },
      .portable = nullptr,
      .registerDialects = nullptr,
      .registerPasses = nullptr,
      .buildMapped = nullptr,
      .buildTarget = nullptr,
      .checkMapped = nullptr,
      .checkTarget = nullptr,
      .checkMappedFor = nullptr,
      .remark = nullptr,
      .simt = nullptr,
      .features = nullptr,
      .imageArch = nullptr,
      .emissions = emissions,
  };
  return machine;
}
