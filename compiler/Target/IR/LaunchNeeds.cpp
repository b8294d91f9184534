//===- LaunchNeeds.cpp - What a launch gives a kernel ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/IR/LaunchNeeds.h"

#include "compiler/Target/IR/Target.h"

using namespace mlir;
using namespace tessera;

plan::LaunchNeeds tessera::target::launchNeeds(Operation *kernel) {
  plan::LaunchNeeds needs;
  if (auto lowered = dyn_cast_or_null<KernelOp>(kernel)) {
    KernelConfigAttr config = lowered.getConfigAttr();
    if (!config)
      return needs;
    if (lowered.isForGpu()) {
      needs.block = config.getBlock()[0];
      needs.shared = config.getShared();
    } else {
      needs.scratch = config.getShared();
    }
    return needs;
  }
  // By name: a target includes no other stage's headers.
  auto number = [&](StringRef name, int64_t otherwise) {
    auto found =
        kernel ? kernel->getAttrOfType<IntegerAttr>(name) : IntegerAttr();
    return found ? found.getInt() : otherwise;
  };
  needs.scratch = number("scratch_bytes", 0);
  needs.block = number("block_size", -1);
  needs.shared = number("shared_bytes", -1);
  return needs;
}
