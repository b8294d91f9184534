//===- ElideZeroInit.cpp - cpu-elide-zero-init: sums start in the step ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/Mapping/MatrixSteps.h"
#include "compiler/Target/CPU/Mapping/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tessera::cpu {
#define GEN_PASS_DEF_ELIDEZEROINITPASS
#include "compiler/Target/CPU/Mapping/Passes.h.inc"
} // namespace tessera::cpu

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

/// The one matrix step of the loop after `nest` that sums into `buffer`, which
/// the nest clears. Nobody else looks at the buffer in the loop.
static tile::NestOp summedAfter(tile::NestOp nest, Value buffer) {
  Operation *next = nest->getNextNode();
  while (next && (isa<tile::AllocOp, tile::PrefetchOp>(next) || isPure(next)))
    next = next->getNextNode();
  auto loop = dyn_cast_or_null<tile::ForOp>(next);
  if (!loop)
    return {};
  tile::NestOp step;
  for (Operation *user : buffer.getUsers()) {
    if (!loop->isProperAncestor(user))
      continue;
    tile::NestOp owner = nestAround(user);
    if (!owner || (step && owner != step) || owner->getParentOp() != loop ||
        !stepIn(owner))
      return {};
    step = owner;
  }
  // The step starts all that was cleared.
  if (!step || step.getAxes().size() != 3 || nest.getAxes().size() != 2 ||
      step.getAxes()[0] != nest.getAxes()[0] ||
      step.getAxes()[1] != nest.getAxes()[1])
    return {};
  auto sum = stepIn(step).getAcc().getDefiningOp<tile::LocalLoadOp>();
  return sum && sum.getBuffer() == buffer ? step : tile::NestOp();
}

static void elide(tile::NestOp clear, tile::NestOp step) {
  auto loop = cast<tile::ForOp>(step->getParentOp());
  tile::MmaOp mma = stepIn(step);
  OpBuilder builder(step);
  IndexBuilder at{builder, step.getLoc()};
  Value first = at.compare(arith::CmpIPredicate::eq, at.start(loop.getRange()),
                           loop.getStart());
  builder.setInsertionPoint(mma);
  auto store = *clear.getBody().getOps<tile::LocalStoreOp>().begin();
  Value zeros = builder.clone(*store.getValue().getDefiningOp())->getResult(0);
  mma.getAccMutable().assign(
      arith::SelectOp::create(builder, at.loc, first, zeros, mma.getAcc()));
  if (loop.getAtLeastOnce()) {
    clear.erase();
    return;
  }
  builder.setInsertionPoint(loop);
  at.loc = clear.getLoc();
  Value nothing =
      at.compare(arith::CmpIPredicate::sge, loop.getStart(), loop.getStop());
  auto branch = scf::IfOp::create(builder, at.loc, nothing, /*withElse=*/false);
  clear->moveBefore(branch.thenBlock(), branch.thenBlock()->begin());
}

namespace {
struct ElideZeroInitPass
    : tessera::cpu::impl::ElideZeroInitPassBase<ElideZeroInitPass> {
  void runOnOperation() override {
    SmallVector<std::pair<tile::NestOp, tile::NestOp>> sums;
    getOperation().walk([&](tile::NestOp nest) {
      if (Value buffer = clearedBy(nest))
        if (tile::NestOp step = summedAfter(nest, buffer))
          sums.push_back({nest, step});
    });
    for (auto [clear, step] : sums)
      elide(clear, step);
  }
};
} // namespace
