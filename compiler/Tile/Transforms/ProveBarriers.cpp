//===- ProveBarriers.cpp - tile-prove-barriers: refuse what may race ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/Analysis/BarrierProof.h"
#include "compiler/Tile/Transforms/Passes.h"

namespace tessera::tile {
#define GEN_PASS_DEF_PROVEBARRIERSPASS
#include "compiler/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

using namespace mlir;
using namespace tessera::tile;

namespace {
struct ProveBarriersPass
    : tessera::tile::impl::ProveBarriersPassBase<ProveBarriersPass> {
  void runOnOperation() override {
    if (getOperation().hasThreads() && failed(prove(getOperation())))
      signalPassFailure();
  }

  LogicalResult prove(FuncOp func) {
    BarrierVerdict verdict = proveBarriers(func);
    if (verdict) {
      func.setProved(verdict.states);
      return success();
    }
    if (verdict.kind == BarrierVerdict::Kind::OutsideModel)
      return verdict.at->emitError()
             << "the barrier proof has no model of this, so it is refused: "
             << verdict.problem;
    auto error = verdict.at->emitError() << verdict.problem;
    if (verdict.other)
      error.attachNote(verdict.other->getLoc()) << verdict.otherRole;
    error.attachNote(verdict.at->getLoc()) << "the schedule that shows it:\n"
                                           << verdict.schedule;
    return error;
  }
};
} // namespace
