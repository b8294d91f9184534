//===- DelayRowStores.cpp - cpu-delay-row-stores --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Support/Architectures/X86.h"
#include "compiler/Target/CPU/Mapping/MatrixSteps.h"
#include "compiler/Target/CPU/Mapping/Passes.h"
#include "compiler/Target/CPU/Mapping/RowStores.h"
#include "compiler/Tile/IR/CpuBuffer.h"

namespace tessera::cpu {
#define GEN_PASS_DEF_DELAYROWSTORESPASS
#include "compiler/Target/CPU/Mapping/Passes.h.inc"
} // namespace tessera::cpu

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

static void cloneWithoutPrefetch(OpBuilder &builder, Operation *op,
                                 IRMapping &map) {
  if (op)
    setPrefetch(builder.clone(*op, map), 0);
}

namespace {
/// One loop over programs, and the loop that takes its place.
class RowDelay {
public:
  RowDelay(ProgramLoop programs, RowStores row, int64_t vectorBytes)
      : programs(programs), row(row), body(*programs.body()),
        loc(programs.loop.getLoc()), builder(programs.loop), at{builder, loc},
        scalars(*row.carried()), keeps(row.findKeeps()),
        vectorBytes(vectorBytes) {}

  void run();

private:
  void keepTwoRows();
  void placeRow(IRMapping &map, Value turn);
  void addTurn(Value number, IRMapping &here, IRMapping &before);
  void addKeeps(Value number, IRMapping &here, IRMapping &before);
  void addBoth(IRMapping here, IRMapping before);
  IRMapping programOf(Value number, Value turn, ValueRange carried);

  ProgramLoop programs;
  RowStores row;
  Block &body;
  Location loc;
  OpBuilder builder;
  IndexBuilder at;
  llvm::SmallSetVector<Value, 4> scalars; ///< that stores of a row read
  tile::ForOp keeps;
  int64_t vectorBytes;
  int64_t slots = 0;         ///< of a kept row
  Operation *half = nullptr; ///< stands for the first slot of a program's row
};
} // namespace

/// A buffer of a row has slots for two. In the body, slots count from `half`.
void RowDelay::keepTwoRows() {
  if (row.kept.empty())
    return;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&body);
  half = arith::ConstantIndexOp::create(builder, loc, 0);
  for (Value buffer : row.kept) {
    auto type = cast<tile::BufferType>(buffer.getType());
    slots = type.getShape()[0];
    buffer.setType(tile::CpuBuffer::rows(
        RankedTensorType::get({2 * slots, type.getShape()[1]},
                              type.getElementType()),
        vectorBytes, /*apart=*/false));
    for (OpOperand &use : llvm::make_early_inc_range(buffer.getUses())) {
      auto load = dyn_cast<tile::LocalLoadOp>(use.getOwner());
      auto store = dyn_cast<tile::LocalStoreOp>(use.getOwner());
      MutableOperandRange slot =
          load ? load.getSlotMutable() : store.getSlotMutable();
      builder.setInsertionPoint(
          use.getOwner()->getParentOfType<tile::NestOp>());
      slot.assign(arith::AddIOp::create(builder, loc, ValueRange(slot).front(),
                                        half->getResult(0)));
    }
  }
}

/// The row of turn `turn` lies in one half of its buffer, that of the next one
/// in the other.
void RowDelay::placeRow(IRMapping &map, Value turn) {
  if (!half)
    return;
  Value odd = arith::RemUIOp::create(builder, loc, turn, at.constant(2));
  map.map(half->getResult(0),
          arith::MulIOp::create(builder, loc, odd, at.constant(slots)));
}

/// What `body` computes for program `number`, in turn `turn`, as far as stores
/// of its row read it.
IRMapping RowDelay::programOf(Value number, Value turn, ValueRange carried) {
  IRMapping map;
  placeRow(map, turn);
  map.map(scalars.getArrayRef(), carried);
  addProgram(builder, body, number, map);
  return map;
}

/// One loop that computes what is kept of this row and stores the row before.
void RowDelay::addBoth(IRMapping here, IRMapping before) {
  auto both = cast<tile::ForOp>(builder.clone(*keeps, here));
  auto nest = cast<tile::NestOp>(here.lookup(nestOfRow(keeps).getOperation()));
  // Only what belongs to this row asks for the row after it.
  DenseSet<Value> asked;
  for (auto load : row.nest.getBody().getOps<tile::LoadOp>())
    if (load.getPrefetch())
      asked.insert(load.getView());
  for (auto load : nest.getBody().getOps<tile::LoadOp>())
    if (asked.contains(load.getView()))
      load.setPrefetch(1);
  Operation *last = nest.getBody().front().getTerminator()->getPrevNode();
  before.map(row.stores.getRange(), both.getRange());
  addStores(row, nest, before, /*like=*/{});
  for (Operation *op = last->getNextNode(); op; op = op->getNextNode())
    setPrefetch(op, 0);
  scf::YieldOp::create(builder, loc, both.getResults());
}

void RowDelay::addKeeps(Value number, IRMapping &here, IRMapping &before) {
  Value started =
      at.compare(arith::CmpIPredicate::slt, programs.chunk.getBegin(), number);
  // Two views may give the row different lengths.
  Value alike = at.compare(arith::CmpIPredicate::eq,
                           before.lookupOrDefault(row.stores.getStop()),
                           here.lookupOrDefault(keeps.getStop()));
  auto choice =
      scf::IfOp::create(builder, loc, keeps.getResultTypes(),
                        arith::AndIOp::create(builder, loc, started, alike),
                        /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(choice.thenBlock());
  addBoth(here, before);
  builder.setInsertionPointToEnd(choice.elseBlock());
  auto alone = scf::IfOp::create(builder, loc, started, /*withElse=*/false);
  builder.setInsertionPointToStart(alone.thenBlock());
  IRMapping stored = before, kept = here;
  cloneWithoutPrefetch(builder, row.stores, stored);
  builder.setInsertionPointAfter(alone);
  cloneWithoutPrefetch(builder, keeps, kept);
  scf::YieldOp::create(
      builder, loc,
      cast<tile::ForOp>(kept.lookup(keeps.getOperation())).getResults());
  here.map(keeps.getResults(), choice.getResults());
  builder.setInsertionPointAfter(choice);
  if (!row.rest)
    return;
  auto rest = scf::IfOp::create(builder, loc, started, /*withElse=*/false);
  builder.setInsertionPointToStart(rest.thenBlock());
  cloneWithoutPrefetch(builder, row.rest, before);
}

/// A program, with the stores of the one before it.
void RowDelay::addTurn(Value number, IRMapping &here, IRMapping &before) {
  for (Operation &op : body) {
    if (&op == row.stores)
      break;
    if (&op == keeps) {
      addKeeps(number, here, before);
    } else if (&op != half) {
      builder.clone(op, here);
    }
  }
}

void RowDelay::run() {
  keepTwoRows();
  Value begin = programs.chunk.getBegin(), end = programs.chunk.getEnd(),
        one = programs.loop.getStep();
  scf::ForOp loop =
      loopCarrying(builder, loc, begin, end, one, scalars.getArrayRef());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    Value number = loop.getInductionVar();
    Value turn = arith::SubIOp::create(builder, loc, number, begin);
    // The row before was that of an odd turn if this one is even.
    IRMapping before =
        programOf(arith::SubIOp::create(builder, loc, number, one),
                  arith::AddIOp::create(builder, loc, turn, one),
                  loop.getRegionIterArgs());
    IRMapping here;
    placeRow(here, turn);
    here.map(body.getArgument(0), number);
    addTurn(number, here, before);
    SmallVector<Value> next;
    for (Value scalar : scalars)
      next.push_back(here.lookup(scalar));
    scf::YieldOp::create(builder, loc, next);
  }
  // The last program's.
  auto some = scf::IfOp::create(
      builder, loc, at.compare(arith::CmpIPredicate::slt, begin, end),
      /*withElseRegion=*/false);
  builder.setInsertionPointToStart(some.thenBlock());
  Value turns = arith::SubIOp::create(builder, loc, end, begin);
  IRMapping after = programOf(arith::SubIOp::create(builder, loc, end, one),
                              arith::AddIOp::create(builder, loc, turns, one),
                              loop.getResults());
  cloneWithoutPrefetch(builder, row.stores, after);
  cloneWithoutPrefetch(builder, row.rest, after);
  programs.loop.erase();
}

/// A loop beside this one, in a branch for short rows.
static ProgramLoop forShortRows(ProgramLoop programs, RowStores &row) {
  OpBuilder builder(programs.loop);
  Location loc = programs.loop.getLoc();
  IndexBuilder at{builder, loc};
  Value bytes = arith::MulIOp::create(builder, loc, row.stores.getStop(),
                                      at.constant(row.rowBytes()));
  auto choice = scf::IfOp::create(
      builder, loc,
      at.compare(arith::CmpIPredicate::slt, at.constant(x86::shortRow), bytes),
      /*withElseRegion=*/true);
  builder.setInsertionPointToStart(choice.elseBlock());
  auto beside = cast<scf::ForOp>(builder.clone(*programs.loop));
  programs.loop->moveBefore(choice.thenBlock(), choice.thenBlock()->begin());
  return {beside, programs.chunk};
}

namespace {
struct DelayRowStoresPass
    : tessera::cpu::impl::DelayRowStoresPassBase<DelayRowStoresPass> {
  using DelayRowStoresPassBase::DelayRowStoresPassBase;

  void runOnOperation() override {
    for (ProgramLoop programs : programLoopsOf(getOperation())) {
      std::optional<RowStores> row = RowStores::find(*programs.body());
      if (!row || !row->carried())
        continue;
      // One loop has one order of lanes; another one would change sums.
      tile::ForOp keeps = row->findKeeps();
      if (!keeps || nestOfRow(keeps).getPairs() != row->nest.getPairs())
        continue;
      // Rows that can be written four at a time are, unless they are short;
      // bf16 is slower beside the next row at every length.
      bool batches = row->mayBatch();
      if (batches ? row->rowBytes() < 4
                  : row->kept.empty() && row->passes() >= 2)
        continue;
      if (batches) {
        programs = forShortRows(programs, *row);
        row = RowStores::find(*programs.body());
      }
      RowDelay(programs, *row, vectorBytes).run();
    }
  }
};
} // namespace
