//===- NarrowPanels.cpp - cpu-narrow-panels: fewer vectors of a panel -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/Mapping/MatrixSteps.h"
#include "compiler/Target/CPU/Mapping/Passes.h"

namespace tessera::cpu {
#define GEN_PASS_DEF_NARROWPANELSPASS
#include "compiler/Target/CPU/Mapping/Passes.h.inc"
} // namespace tessera::cpu

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

namespace {
struct NarrowPanelsPass
    : tessera::cpu::impl::NarrowPanelsPassBase<NarrowPanelsPass> {
  void runOnOperation() override {
    getOperation().walk([](tile::NestOp nest) {
      if (nest.getUnit() != tile::MatrixUnit::Fma || isThin(nest))
        return;
      if ((*nest.getRegisterTile())[1] > 2 &&
          nest.getAxes()[1].getDefiningOp<tile::ProgramOp>())
        nest.setNarrowVectors(2);
      nest.setPairsOfK(mayPairK(nest));
    });
  }
};
} // namespace
