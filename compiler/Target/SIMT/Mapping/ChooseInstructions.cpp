//===- ChooseInstructions.cpp - Products that are not taken apart ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/SIMT/Mapping/Passes.h"

namespace tessera::simt {
#define GEN_PASS_DEF_CHOOSEINSTRUCTIONSPASS
#include "compiler/Target/SIMT/Mapping/Passes.h.inc"
} // namespace tessera::simt

using namespace mlir;
using namespace tessera;
using namespace tessera::simt;

namespace {

struct ChooseInstructionsPass
    : tessera::simt::impl::ChooseInstructionsPassBase<ChooseInstructionsPass> {
  using ChooseInstructionsPassBase::ChooseInstructionsPassBase;

  void runOnOperation() override {
    const Machine *machine = requireMachine(getOperation(), target);
    if (!machine)
      return signalPassFailure();
    bool good = true;
    getOperation().walk([&](tile::MmaOp mma) {
      if ((mma.getMeta() || mma.getLhsScale()) &&
          machine->hasExtendedProduct(mma))
        good &= succeeded(machine->chooseInstruction(mma));
    });
    if (!good)
      signalPassFailure();
  }
};

} // namespace
