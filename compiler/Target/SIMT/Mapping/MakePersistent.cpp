//===- MakePersistent.cpp - Blocks that run many programs -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Plan/IR/IntegerBuilder.h"
#include "compiler/Target/SIMT/Mapping/Passes.h"
#include "compiler/Target/SIMT/Mapping/ProgramOrder.h"
#include "compiler/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tessera::simt {
#define GEN_PASS_DEF_MAKEPERSISTENTPASS
#include "compiler/Target/SIMT/Mapping/Passes.h.inc"
} // namespace tessera::simt

using namespace mlir;
using namespace tessera;
using namespace tessera::simt;
using namespace tessera::tile;

namespace {

struct MakePersistentPass
    : tessera::simt::impl::MakePersistentPassBase<MakePersistentPass> {
  using MakePersistentPassBase::MakePersistentPassBase;

  void make(ProgramOp op) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    SmallVector<Value> counts;
    Value total;
    for (auto [extent, tile] : llvm::zip(op.getExtents(), op.getTiles())) {
      // A negative extent has no programs.
      Value count = arith::MaxSIOp::create(builder, loc, extent, zero);
      if (tile)
        count = arith::CeilDivSIOp::create(
            builder, loc, count,
            arith::ConstantIndexOp::create(builder, loc, tile));
      counts.push_back(count);
      total = total ? Value(arith::MulIOp::create(builder, loc, total, count))
                    : count;
    }
    Value launched = arith::MinSIOp::create(
        builder, loc, total,
        arith::ConstantIndexOp::create(builder, loc, blocks));
    auto block = ProgramOp::create(builder, loc, builder.getIndexType(),
                                   launched, builder.getDenseI64ArrayAttr({0}),
                                   builder.getI64IntegerAttr(1), UnitAttr());
    auto loop =
        scf::ForOp::create(builder, loc, block.getIds()[0], total, launched);
    // All that follows, but the end of the kernel.
    Block *body = op->getBlock();
    loop.getBody()->getOperations().splice(
        loop.getBody()->begin(), body->getOperations(),
        std::next(loop->getIterator()), std::prev(body->end()));
    builder.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> ids =
        placesOf(builder, loc, op, counts, loop.getInductionVar());
    for (auto [id, result, extent, tile] :
         llvm::zip(ids, op.getIds(), op.getExtents(), op.getTiles())) {
      Value made = id;
      if (tile) {
        Value start = arith::MulIOp::create(
            builder, loc, id,
            arith::ConstantIndexOp::create(builder, loc, tile));
        made = RangeAtOp::create(builder, result.getLoc(), result.getType(),
                                 start, extent);
      }
      result.replaceAllUsesWith(made);
    }
    op.erase();
  }

  void runOnOperation() override {
    for (auto func : getOperation().getOps<FuncOp>()) {
      auto programs = func.getBody().front().getOps<ProgramOp>();
      if (programs.empty() || !(*programs.begin()).getPersistent())
        continue;
      make(*programs.begin());
      // No more than there are programs.
      plan::forEachLaunch(getOperation(), func.getSymName(),
                          [&](plan::LaunchOp launch) {
                            OpBuilder builder(launch);
                            plan::IntegerBuilder make(builder, launch.getLoc());
                            launch.getGridMutable().assign(
                                make.min(launch.getGrid(), int64_t(blocks)));
                          });
    }
  }
};
} // namespace
