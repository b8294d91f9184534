//===- DropRedundantBarriers.cpp - tile-drop-redundant-barriers -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/Analysis/BarrierProof.h"
#include "compiler/Tile/Transforms/Passes.h"

namespace tessera::tile {
#define GEN_PASS_DEF_DROPREDUNDANTBARRIERSPASS
#include "compiler/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

using namespace mlir;
using namespace tessera::tile;

/// Puts an op back where it was.
static void putBack(Operation *op, Block *block, Operation *before) {
  if (before)
    block->getOperations().insert(Block::iterator(before), op);
  else
    block->push_back(op);
}

static void dropRedundant(FuncOp func) {
  if (!proveBarriers(func))
    return; // tile-prove-barriers says why
  SmallVector<Operation *> ops;
  func.walk([&](Operation *op) {
    if (isa<BarrierOp, WaitOp>(op) || getExchange(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (!isa<BarrierOp, WaitOp>(op)) {
      ExchangeAttr guarded = getExchange(op);
      setExchange(op, ExchangeAttr::get(op->getContext(), guarded.getBytes(),
                                        guarded.getOffset(),
                                        /*unguarded=*/true));
      if (!proveBarriers(func))
        setExchange(op, guarded);
      continue;
    }
    Block *block = op->getBlock();
    Operation *next = op->getNextNode();
    op->remove();
    if (proveBarriers(func))
      op->destroy();
    else
      putBack(op, block, next);
  }
}

namespace {
struct DropRedundantBarriersPass
    : tessera::tile::impl::DropRedundantBarriersPassBase<
          DropRedundantBarriersPass> {
  void runOnOperation() override {
    if (getOperation().hasThreads())
      dropRedundant(getOperation());
  }
};
} // namespace
