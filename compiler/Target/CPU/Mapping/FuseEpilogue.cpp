//===- FuseEpilogue.cpp - cpu-fuse-epilogue: results in the last step -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/Mapping/MatrixSteps.h"
#include "compiler/Target/CPU/Mapping/Passes.h"

namespace tessera::cpu {
#define GEN_PASS_DEF_FUSEEPILOGUEPASS
#include "compiler/Target/CPU/Mapping/Passes.h.inc"
} // namespace tessera::cpu

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

/// Is the view never written?
static bool isOnlyRead(tile::LoadOp load) {
  return llvm::all_of(load.getView().getUsers(),
                      llvm::IsaPred<tile::LoadOp, tile::PrefetchOp, tile::DimOp,
                                    tile::StrideOp>);
}

/// May the loop of `step` take one more turn, of nothing? It is the loop that
/// is summed over, and the others of its nests do no more than pack operands.
static bool maySumNothing(tile::NestOp step) {
  auto loop = cast<tile::ForOp>(step->getParentOp());
  auto packs = [&](Operation &op) {
    auto store = dyn_cast<tile::LocalStoreOp>(op);
    Operation *alloc = store ? store.getBuffer().getDefiningOp() : nullptr;
    return (alloc && loop->isProperAncestor(alloc)) || isa<tile::LoadOp>(op) ||
           isPure(&op);
  };
  return step.getAxes()[2] == loop.getRange() && loop.getInits().empty() &&
         llvm::all_of(loop.getBody().front(), [&](Operation &op) {
           auto nest = dyn_cast<tile::NestOp>(op);
           return nest ? nest == step ||
                             llvm::all_of(nest.getBody().front(), packs)
                       : isa<tile::AllocOp>(op) || isPure(&op);
         });
}

/// The AMX step of the loop before `nest` whose sum the nest makes results of,
/// element by element, from what was there before the loop.
static tile::NestOp finishedStep(tile::NestOp nest) {
  if (nest.getAxes().size() != 2 || nest.getAxes()[0] == nest.getAxes()[1] ||
      nest.getNumResults() || copiedStep(nest))
    return {};
  Value sum;
  for (Operation &op : nest.getBody().front().without_terminator()) {
    if (auto load = dyn_cast<tile::LocalLoadOp>(op)) {
      if (load.getSlot() || (sum && sum != load.getBuffer()))
        return {};
      sum = load.getBuffer();
    } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
      if (!isOnlyWritten(store))
        return {};
    } else if (auto load = dyn_cast<tile::LoadOp>(op)) {
      if (!isOnlyRead(load))
        return {};
    } else if (!isa<tile::FillOp, tile::BroadcastOp, tile::IndexOp>(op) &&
               !OpTrait::hasElementwiseMappableTraits(&op)) {
      return {};
    }
  }
  tile::NestOp step = sum ? summedBefore(nest, sum) : tile::NestOp();
  if (!step || !isAmx(step) || !maySumNothing(step) ||
      !step.getAxes()[1].getDefiningOp<tile::ProgramOp>())
    return {};
  Operation *loop = step->getParentOp();
  auto isLate = [&](Value value) {
    Operation *def = value.getDefiningOp();
    return def && def->getBlock() == loop->getBlock() &&
           !def->isBeforeInBlock(loop);
  };
  for (Operation &op : nest.getBody().front())
    if (llvm::any_of(op.getOperands(), isLate))
      return {};
  return step;
}

static void fuse(tile::NestOp epilogue, tile::NestOp step) {
  auto loop = cast<tile::ForOp>(step->getParentOp());
  loop.setAtLeastOnce(true);
  OpBuilder builder(step);
  IndexBuilder at{builder, epilogue.getLoc()};
  Value last = isLastTurn(at, loop);
  builder.setInsertionPoint(step.getBody().front().getTerminator());
  auto branch = scf::IfOp::create(builder, at.loc, last, /*withElse=*/false);
  epilogue->moveBefore(branch.thenBlock(), branch.thenBlock()->begin());
}

namespace {
struct FuseEpiloguePass
    : tessera::cpu::impl::FuseEpiloguePassBase<FuseEpiloguePass> {
  void runOnOperation() override {
    SmallVector<tile::NestOp> nests;
    getOperation().walk([&](tile::NestOp nest) { nests.push_back(nest); });
    for (tile::NestOp nest : nests)
      if (tile::NestOp step = finishedStep(nest))
        fuse(nest, step);
  }
};
} // namespace
