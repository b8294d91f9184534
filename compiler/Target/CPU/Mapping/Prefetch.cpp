//===- Prefetch.cpp - cpu-prefetch: what a sum is combined with -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/Mapping/MatrixSteps.h"
#include "compiler/Target/CPU/Mapping/Passes.h"

namespace tessera::cpu {
#define GEN_PASS_DEF_PREFETCHPASS
#include "compiler/Target/CPU/Mapping/Passes.h.inc"
} // namespace tessera::cpu

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

/// Short rows of an argument, at a place that is known before `loop`.
static bool mayPrefetch(tile::LoadOp load, tile::ForOp loop) {
  if (!isa<BlockArgument>(load.getView()) ||
      !hasRows(load.getView(), load.getIndices()))
    return false;
  int64_t ranges = 0;
  for (Value index : load.getIndices()) {
    Operation *op = index.getDefiningOp();
    if (isa<RankedTensorType>(index.getType()) ||
        (op &&
         (op->getBlock() != loop->getBlock() || !op->isBeforeInBlock(loop))))
      return false;
    ranges += isa<tile::RangeType>(index.getType());
  }
  return ranges == 2;
}

namespace {
struct PrefetchPass : tessera::cpu::impl::PrefetchPassBase<PrefetchPass> {
  void runOnOperation() override {
    for (auto loop : getOperation().getBody().front().getOps<tile::ForOp>()) {
      if (!loop.walk([](tile::MmaOp) { return WalkResult::interrupt(); })
               .wasInterrupted())
        continue;
      OpBuilder builder(loop);
      for (Operation *op = loop->getNextNode(); op; op = op->getNextNode())
        if (auto nest = dyn_cast<tile::NestOp>(op))
          for (auto load : nest.getBody().getOps<tile::LoadOp>())
            if (mayPrefetch(load, loop))
              tile::PrefetchOp::create(builder, load.getLoc(), load.getView(),
                                       load.getIndices());
    }
  }
};
} // namespace
