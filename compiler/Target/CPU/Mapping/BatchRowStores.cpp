//===- BatchRowStores.cpp - cpu-batch-row-stores --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Support/Architectures/X86.h"
#include "compiler/Target/CPU/Mapping/MatrixSteps.h"
#include "compiler/Target/CPU/Mapping/Passes.h"
#include "compiler/Target/CPU/Mapping/RowStores.h"

namespace tessera::cpu {
#define GEN_PASS_DEF_BATCHROWSTORESPASS
#include "compiler/Target/CPU/Mapping/Passes.h.inc"
} // namespace tessera::cpu

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

/// Programs whose rows are written together.
static constexpr int64_t batch = 4;

/// Where whole batches end, if the rows of one stay in the second-level cache
/// until they are read again; else there is none.
static Value endOfBatches(IndexBuilder &at, tile::ChunkOp chunk,
                          RowStores &row) {
  OpBuilder &builder = at.builder;
  Value begin = chunk.getBegin();
  Value bytes = arith::MulIOp::create(builder, at.loc, row.stores.getStop(),
                                      at.constant(row.rowBytes() * batch));
  Value count = arith::MaxSIOp::create(
      builder, at.loc,
      arith::SubIOp::create(builder, at.loc, chunk.getEnd(), begin),
      at.constant(0));
  Value whole = arith::MulIOp::create(
      builder, at.loc,
      arith::DivUIOp::create(builder, at.loc, count, at.constant(batch)),
      at.constant(batch));
  return arith::SelectOp::create(
      builder, at.loc,
      at.compare(arith::CmpIPredicate::slt, at.constant(x86::level2), bytes),
      begin, arith::AddIOp::create(builder, at.loc, begin, whole));
}

/// What the programs of a batch compute before they store: the scalars of each,
/// the first one's first.
static ValueRange addPasses(IndexBuilder &at, RowStores &row, Value first,
                            ArrayRef<Value> scalars) {
  OpBuilder &builder = at.builder;
  scf::ForOp each =
      loopCarrying(builder, at.loc, at.constant(0), at.constant(batch),
                   at.constant(1), scalars, batch);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(each.getBody());
  IRMapping map;
  map.map(
      row.body->getArgument(0),
      arith::AddIOp::create(builder, at.loc, first, each.getInductionVar()));
  for (Operation &op : *row.body) {
    if (&op == row.stores)
      break;
    builder.clone(op, map);
  }
  // The window moves on by one program.
  SmallVector<Value> next(each.getRegionIterArgs().drop_front(scalars.size()));
  for (Value scalar : scalars)
    next.push_back(map.lookup(scalar));
  scf::YieldOp::create(builder, at.loc, next);
  return each.getResults();
}

static void batchStores(ProgramLoop programs, RowStores &row) {
  scf::ForOp singles = programs.loop;
  OpBuilder builder(singles);
  IndexBuilder at{builder, singles.getLoc()};
  auto scalars = *row.carried();
  Value whole = endOfBatches(at, programs.chunk, row);
  auto batches = scf::ForOp::create(builder, at.loc, programs.chunk.getBegin(),
                                    whole, at.constant(batch));
  singles.getLowerBoundMutable().assign(whole);

  builder.setInsertionPoint(batches.getBody()->getTerminator());
  Value first = batches.getInductionVar();
  ValueRange results = addPasses(at, row, first, scalars.getArrayRef());
  SmallVector<IRMapping> maps(batch);
  for (auto [number, map] : llvm::enumerate(maps)) {
    map.map(scalars.getArrayRef(),
            results.slice(number * scalars.size(), scalars.size()));
    addProgram(builder, *row.body,
               arith::AddIOp::create(builder, at.loc, first,
                                     at.constant(int64_t(number))),
               map);
  }
  auto together = cast<tile::ForOp>(builder.clone(*row.stores, maps[0]));
  auto into = cast<tile::NestOp>(maps[0].lookup(row.nest.getOperation()));
  for (IRMapping &map : llvm::drop_begin(maps)) {
    map.map(row.stores.getRange(), together.getRange());
    addStores(row, into, map, maps[0]);
  }
  setPrefetch(together, batch);
}

namespace {
struct BatchRowStoresPass
    : tessera::cpu::impl::BatchRowStoresPassBase<BatchRowStoresPass> {
  void runOnOperation() override {
    for (ProgramLoop programs : programLoopsOf(getOperation())) {
      std::optional<RowStores> row = RowStores::find(*programs.body());
      if (row && row->mayBatch())
        batchStores(programs, *row);
    }
  }
};
} // namespace
