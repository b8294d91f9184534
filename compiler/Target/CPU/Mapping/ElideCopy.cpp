//===- ElideCopy.cpp - cpu-elide-copy: sums go where results lie --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/Mapping/MatrixSteps.h"
#include "compiler/Target/CPU/Mapping/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tessera::cpu {
#define GEN_PASS_DEF_ELIDECOPYPASS
#include "compiler/Target/CPU/Mapping/Passes.h.inc"
} // namespace tessera::cpu

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

static void elide(tile::NestOp copy, tile::NestOp step) {
  auto store = *copy.getBody().getOps<tile::StoreOp>().begin();
  auto loop = cast<tile::ForOp>(step->getParentOp());
  OpBuilder builder(loop);
  IndexBuilder at{builder, step.getLoc()};
  // Of AMX, whole tiles only.
  Value whole;
  if (isAmx(step)) {
    Value lengths =
        arith::OrIOp::create(builder, at.loc, at.length(step.getAxes()[0]),
                             at.length(step.getAxes()[1]));
    whole = at.isMultiple(lengths, 16);
  }
  auto both = [&](Value condition) -> Value {
    return whole
               ? Value(arith::AndIOp::create(builder, at.loc, condition, whole))
               : condition;
  };
  builder.setInsertionPoint(step);
  Value last = both(isLastTurn(at, loop));

  tile::MmaOp mma = stepIn(step);
  auto local = cast<tile::LocalStoreOp>(*mma.getResult().user_begin());
  builder.setInsertionPoint(local);
  auto branch = scf::IfOp::create(builder, at.loc, last, /*withElse=*/true);
  builder.setInsertionPointToStart(branch.thenBlock());
  IRMapping map;
  map.map(store.getValue(), mma.getResult());
  builder.clone(*store, map);
  local->moveBefore(branch.elseBlock(), branch.elseBlock()->begin());

  builder.setInsertionPoint(copy);
  at.loc = copy.getLoc();
  Value stored = both(
      at.compare(arith::CmpIPredicate::slt, loop.getStart(), loop.getStop()));
  auto rest = scf::IfOp::create(builder, at.loc, at.invert(stored),
                                /*withElse=*/false);
  copy->moveBefore(rest.thenBlock(), rest.thenBlock()->begin());
}

namespace {
struct ElideCopyPass : tessera::cpu::impl::ElideCopyPassBase<ElideCopyPass> {
  void runOnOperation() override {
    SmallVector<std::pair<tile::NestOp, tile::NestOp>> copies;
    getOperation().walk([&](tile::NestOp nest) {
      if (tile::NestOp step = copiedStep(nest))
        for (auto store : nest.getBody().getOps<tile::StoreOp>())
          if (hasRows(store.getView(), store.getIndices()))
            copies.push_back({nest, step});
    });
    for (auto [copy, step] : copies)
      elide(copy, step);
  }
};
} // namespace
