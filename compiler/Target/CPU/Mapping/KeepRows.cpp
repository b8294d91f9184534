//===- KeepRows.cpp - What a loop over a row computes again ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/Mapping/KeepRows.h"

#include "compiler/Support/Architectures/X86.h"
#include "compiler/Target/CPU/Mapping/CpuMaterialise.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;
using namespace tessera::tile;

/// More rows than this would push each other, and the input, out of L1.
static constexpr int64_t kMostRows = 2;

namespace {

class RowKeeper {
public:
  explicit RowKeeper(FuncOp func) : func(func) {
    func.walk([&](Operation *op) {
      if (auto store = dyn_cast<StoreOp>(op))
        written.insert(store.getView());
      if (auto atomic = dyn_cast<AtomicOp>(op))
        written.insert(atomic.getView());
    });
  }

  void run() {
    SmallVector<Block *> blocks;
    func.walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks) {
      loops.clear();
      for (ForOp loop : block->getOps<ForOp>())
        if (isRowLoop(loop))
          loops.push_back(loop);
      if (loops.size() > 1 && !costs)
        costs.emplace(func);
      for (size_t at = 1; at < loops.size(); ++at)
        findRepeated(at);
      cutLoops();
    }
  }

private:
  bool isRowLoop(ForOp loop);
  bool isSame(Value later, Value earlier, ForOp to, ForOp from);
  void findRepeated(size_t at);
  void cutLoops();
  Value limitOf(ForOp loop, ArrayRef<Value> kept);

  FuncOp func;
  llvm::SmallDenseSet<Value> written;
  SmallVector<ForOp> loops;
  SmallVector<Value> rows; // number -> the value that is kept
  std::optional<CpuMaterialise> costs;
};

} // namespace

/// Over a row from its beginning: tiles along the loop's range, numbers beside
/// them, nothing nested.
bool RowKeeper::isRowLoop(ForOp loop) {
  if (!matchPattern(loop.getStart(), m_Zero()) ||
      x86::keptElements % loop.getSize() != 0 ||
      llvm::any_of(loop.getInits(), isTile))
    return false;
  for (Operation &op : loop.getBody().front().without_terminator()) {
    bool plain = CpuMaterialise::isElementwise(&op) ||
                 isa<LoadOp, FillOp, ReduceOp, StoreOp, arith::ConstantOp,
                     IndexOp, RangeStartOp, RangeStopOp>(op);
    if (!plain)
      return false;
    for (Value result : op.getResults())
      if (auto type = dyn_cast<RankedTensorType>(result.getType()))
        if (type.getRank() != 1 || type.getDimSize(0) != loop.getSize())
          return false;
  }
  return true;
}

/// Is `later`, in a turn of the loop `to`, what `earlier` was in the same turn
/// of the loop `from`?
bool RowKeeper::isSame(Value later, Value earlier, ForOp to, ForOp from) {
  SetVector<std::pair<Value, Value>> worklist;
  worklist.insert({later, earlier});
  for (size_t next = 0; next < worklist.size(); ++next) {
    auto [x, y] = worklist[next];
    if (x == y || (x == to.getRange() && y == from.getRange()))
      continue;
    Operation *a = x.getDefiningOp(), *b = y.getDefiningOp();
    if (!a || !b || a->getName() != b->getName() ||
        a->getBlock() != &to.getBody().front() ||
        b->getBlock() != &from.getBody().front() ||
        x.getType() != y.getType() ||
        a->getPropertiesAsAttribute() != b->getPropertiesAsAttribute() ||
        a->getNumOperands() != b->getNumOperands() || a->getNumRegions() != 0)
      return false;
    if (auto load = dyn_cast<LoadOp>(a)) {
      if (written.contains(load.getView()))
        return false;
    } else if (!isPure(a)) {
      return false;
    }
    for (auto [one, other] : llvm::zip(a->getOperands(), b->getOperands()))
      worklist.insert({one, other});
  }
  return true;
}

/// Marks the largest values of a loop that an earlier one had.
void RowKeeper::findRepeated(size_t at) {
  ForOp loop = loops[at];
  Builder builder(func.getContext());
  llvm::SmallDenseSet<Operation *> needed;
  Block &body = loop.getBody().front();
  for (Operation &op : llvm::reverse(body)) {
    bool wanted = op.getNumResults() == 0 || isa<StoreOp>(op) ||
                  llvm::any_of(op.getUsers(), [&](Operation *user) {
                    return needed.contains(user);
                  });
    if (!wanted)
      continue;
    bool dear = op.getNumResults() == 1 && isTile(op.getResult(0)) &&
                CpuMaterialise::isElementwise(&op) &&
                costs->isExpensive(op.getResult(0));
    Operation *source = nullptr;
    ForOp from;
    for (ForOp earlier : ArrayRef(loops).take_front(dear ? at : 0)) {
      if (earlier.getSize() != loop.getSize())
        continue;
      for (Operation &other : earlier.getBody().front())
        if (!source && other.getName() == op.getName() &&
            !other.hasAttr(kKept) &&
            isSame(op.getResult(0), other.getResult(0), loop, earlier))
          source = &other;
    }
    if (source && !source->hasAttr(kKeep)) {
      if (int64_t(rows.size()) == kMostRows)
        source = nullptr;
      else
        source->setAttr(kKeep, builder.getI64IntegerAttr(rows.size()));
      if (source)
        rows.push_back(source->getResult(0));
    }
    if (source)
      op.setAttr(kKept, source->getAttr(kKeep));
    else
      needed.insert(&op);
  }
}

/// How far the kept turns of a loop reach: as far as the buffers, and no
/// farther than those reach that it reads.
Value RowKeeper::limitOf(ForOp loop, ArrayRef<Value> kept) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value most = arith::ConstantIndexOp::create(builder, loc, x86::keptElements);
  Value limit =
      arith::MinSIOp::create(builder, loc, loop.getStop(), most).getResult();
  for (Value reach : kept) {
    Value covers = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::sge, reach, limit);
    Value none = arith::ConstantIndexOp::create(builder, loc, 0);
    limit = arith::SelectOp::create(builder, loc, covers, limit, none);
  }
  return limit;
}

void RowKeeper::cutLoops() {
  DenseMap<int64_t, std::pair<Value, Value>> made; // row -> stop, limit
  for (ForOp loop : loops) {
    SmallVector<int64_t> keeps, reads;
    for (Operation &op : loop.getBody().front()) {
      if (auto number = op.getAttrOfType<IntegerAttr>(kKeep))
        keeps.push_back(number.getInt());
      if (auto number = op.getAttrOfType<IntegerAttr>(kKept))
        reads.push_back(number.getInt());
    }
    if (keeps.empty() && reads.empty())
      continue;
    SmallVector<Value> reaches;
    Value limit;
    for (int64_t row : reads) {
      auto [stop, reach] = made.lookup(row);
      // The same loop once more ends where that one did.
      if (stop == loop.getStop() && (!limit || limit == reach))
        limit = reach;
      else
        reaches.push_back(reach);
    }
    if (!limit || !reaches.empty())
      limit = limitOf(loop, reaches);
    for (int64_t row : keeps)
      made[row] = {loop.getStop(), limit};

    OpBuilder builder(loop->getContext());
    builder.setInsertionPointAfter(loop);
    auto rest = cast<ForOp>(builder.clone(*loop));
    rest.setRest(true);
    rest.walk([](Operation *op) {
      op->removeAttr(kKeep);
      op->removeAttr(kKept);
    });
    loop->replaceAllUsesWith(rest->getResults());
    rest.getStartMutable().assign(limit);
    rest.getInitsMutable().assign(loop->getResults());
    loop.getStopMutable().assign(limit);
  }
}

void tessera::cpu::keepRows(FuncOp func) { RowKeeper(func).run(); }
