//===- CheckValueContract.cpp - The closed list of the value level --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Plan/IR/Plan.h"
#include "compiler/ScheduleToTile/Passes.h"

namespace tessera::tile {
#define GEN_PASS_DEF_CHECKVALUECONTRACTPASS
#include "compiler/ScheduleToTile/Passes.h.inc"
} // namespace tessera::tile

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace {

bool mayStandInKernel(Operation *op) {
  if (isa<ReturnOp, ProgramOp, RangeAtOp, RangeStartOp, RangeStopOp, IndexOp,
          DimOp, ForOp, YieldOp, LoadOp, StoreOp, AtomicOp, FillOp, BroadcastOp,
          TransposeOp, ReshapeOp, CatOp, FilledOp, ReduceOp, ScanOp, MmaOp,
          RandOp, PrintOp, AssertOp>(op))
    return true;
  return isa_and_present<arith::ArithDialect, math::MathDialect,
                         scf::SCFDialect>(op->getDialect());
}

struct CheckValueContractPass
    : tessera::tile::impl::CheckValueContractPassBase<CheckValueContractPass> {
  void runOnOperation() override {
    bool good = true;
    auto refuse = [&](Operation *op, StringRef place) {
      op->emitError() << "'" << op->getName() << "' may not stand in " << place;
      good = false;
    };
    for (Operation &op : getOperation().getOps()) {
      if (auto kernel = dyn_cast<FuncOp>(op)) {
        kernel.getBody().walk([&](Operation *inner) {
          if (!mayStandInKernel(inner))
            refuse(inner, "a kernel of Tile IR's value level");
        });
        good &= succeeded(verifyKernel(kernel));
      } else if (!isa<plan::FuncOp>(op))
        refuse(&op, "a module of Tile IR");
    }
    if (!good)
      signalPassFailure();
  }
};

} // namespace
