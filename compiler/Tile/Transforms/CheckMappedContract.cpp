//===- CheckMappedContract.cpp - What holds of mapped kernels everywhere --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Plan/IR/Plan.h"
#include "compiler/Tile/Transforms/Passes.h"

namespace tessera::tile {
#define GEN_PASS_DEF_CHECKMAPPEDCONTRACTPASS
#include "compiler/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace {

struct CheckMappedContractPass
    : tessera::tile::impl::CheckMappedContractPassBase<
          CheckMappedContractPass> {
  void runOnOperation() override {
    bool good = true;
    for (Operation &op : getOperation().getOps()) {
      auto kernel = dyn_cast<FuncOp>(op);
      if (!kernel) {
        if (isa<plan::FuncOp>(op))
          continue;
        op.emitError() << "'" << op.getName()
                       << "' may not stand in a module of Tile IR";
        good = false;
        continue;
      }
      if (failed(verifyKernel(kernel))) {
        good = false;
        continue;
      }
      kernel.walk([&](Operation *inner) {
        if (isa<MmaAsyncOp, MmaWaitOp, RolesOp>(inner)) {
          inner->emitError() << "no machine is lowered to with '"
                             << inner->getName() << "' yet";
          good = false;
        }
      });
    }
    if (!good)
      signalPassFailure();
  }
};

} // namespace
