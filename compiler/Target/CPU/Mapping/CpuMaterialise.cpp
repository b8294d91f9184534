//===- CpuMaterialise.cpp - Which tiles get a scratch buffer --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/Mapping/CpuMaterialise.h"

#include "compiler/Target/CPU/Mapping/KeepRows.h"

using namespace mlir;
using namespace tessera::cpu;
using namespace tessera::tile;

/// Recomputing this much in a second nest costs about what storing and
/// reloading the value does (in simple vector instructions).
static constexpr int64_t kTripThroughL1 = 6;
static constexpr int64_t kExpensive = 10;

/// From what price on a tile that is broadcast is materialised: along a leading
/// axis the value is needed again for every row; along a trailing one it would
/// be computed one scalar at a time.
static int64_t limitOf(BroadcastOp broadcast) {
  bool leads = !broadcast.getAxes().empty() && broadcast.getAxes()[0] != 0;
  return leads ? 3 : kExpensive;
}

bool CpuMaterialise::isRoot(Operation *op) {
  return isa<StoreOp, AtomicOp, ReduceOp, MmaOp, ScanOp, PrintOp, AssertOp,
             CatOp, ReshapeOp, FilledOp, ForOp, scf::ForOp, scf::IfOp,
             scf::WhileOp>(op) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

bool CpuMaterialise::isElementwise(Operation *op) {
  return OpTrait::hasElementwiseMappableTraits(op) || isa<RandOp>(op);
}

static int64_t weight(Operation *op) {
  if (isa<arith::DivFOp, arith::RemFOp, arith::DivSIOp, arith::DivUIOp,
          arith::RemSIOp, arith::RemUIOp, arith::FloorDivSIOp,
          arith::CeilDivSIOp>(op))
    return kExpensive;
  if (isa<RandOp>(op))
    return 4 * kExpensive;
  if (isa<math::AbsFOp, math::AbsIOp, math::FmaOp, math::FloorOp, math::CeilOp,
          math::CopySignOp, math::RoundEvenOp, math::TruncOp, math::IsNaNOp,
          math::IsFiniteOp, math::IsInfOp>(op))
    return 1;
  if (isa_and_nonnull<math::MathDialect>(op->getDialect()))
    return kExpensive;
  if (auto load = dyn_cast<LoadOp>(op))
    return llvm::any_of(load.getIndices().getTypes(),
                        llvm::IsaPred<RankedTensorType>)
               ? kExpensive
               : 1;
  if (isa<FillOp, BroadcastOp, TransposeOp, arith::ConstantOp>(op))
    return 0;
  return 1;
}

CpuMaterialise::CpuMaterialise(FuncOp func) {
  int64_t next = 0;
  SmallVector<Value> tiles;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    positions[op] = next++;
    if (auto store = dyn_cast<StoreOp>(op))
      writers[store.getView()].push_back(op);
    if (auto atomic = dyn_cast<AtomicOp>(op))
      writers[atomic.getView()].push_back(op);
    for (Value result : op->getResults())
      if (isTile(result))
        tiles.push_back(result);
  });
  // Users before definitions: what a value costs depends on who reads it.
  for (Value tile : llvm::reverse(tiles))
    if (decide(tile))
      materialised.insert(tile);
}

bool CpuMaterialise::isMaterialised(Value tile) const {
  return isa<BlockArgument>(tile) || materialised.contains(tile);
}

bool CpuMaterialise::isExpensive(Value tile) {
  return cost(tile) >= kExpensive;
}

int64_t CpuMaterialise::cost(Value tile) {
  Operation *op = tile.getDefiningOp();
  if (!op || isRoot(op))
    return 1;
  auto found = costs.find(tile);
  if (found != costs.end())
    return found->second;
  int64_t sum = weight(op);
  for (Value operand : op->getOperands())
    if (isTile(operand))
      sum += cost(operand);
  if (auto broadcast = dyn_cast<BroadcastOp>(op);
      broadcast && sum >= limitOf(broadcast))
    sum = 1; // a buffer's element
  return costs[tile] = std::min<int64_t>(sum, 1000);
}

SmallVector<CpuMaterialise::Reader> CpuMaterialise::readers(Value root) const {
  SmallVector<Reader> result;
  Block *block = root.getParentBlock();
  // Values that are computed where they are read, each once: the paths to them
  // may double with every operation.
  SetVector<std::pair<Value, unsigned>> worklist; // and whether it is aligned
  worklist.insert({root, 1});
  for (size_t next = 0; next < worklist.size(); ++next) {
    auto [tile, aligned] = worklist[next];
    for (OpOperand &use : tile.getUses()) {
      Operation *user = use.getOwner();
      if (user->getBlock() != block) {
        result.push_back({block->findAncestorOpInBlock(*user), false});
        continue;
      }
      if (isRoot(user)) {
        bool sameElement = isa<StoreOp, AtomicOp, ReduceOp, AssertOp>(user);
        if (auto mma = dyn_cast<MmaOp>(user))
          sameElement = tile == mma.getAcc() && tile != mma.getLhs() &&
                        tile != mma.getRhs();
        result.push_back({user, aligned && sameElement});
        continue;
      }
      bool same = aligned && isElementwise(user);
      if (isMaterialised(user->getResult(0)))
        result.push_back({user, same});
      else
        worklist.insert({user->getResult(0), same});
    }
  }
  return result;
}

/// A load may move to its readers only past stores to other views, and into a
/// store to the same view only at the same elements.
bool CpuMaterialise::conflictsWithStores(LoadOp load) const {
  auto found = writers.find(load.getView());
  if (found == writers.end())
    return false;
  for (Reader reader : readers(load.getResult())) {
    for (Operation *writer : found->second) {
      int64_t at = position(writer);
      if (writer == reader.op) {
        auto store = dyn_cast<StoreOp>(writer);
        if (!store || !reader.aligned ||
            !llvm::equal(store.getIndices(), load.getIndices()))
          return true;
        continue;
      }
      // Inside a reader with regions counts as before it.
      if (at > position(load) &&
          (at < position(reader.op) || reader.op->isAncestor(writer)))
        return true;
    }
  }
  return false;
}

bool CpuMaterialise::decide(Value tile) {
  Operation *op = tile.getDefiningOp();
  if (isRoot(op) || op->hasAttr(kKeep) || op->hasAttr(kKept))
    return true;
  if (tile.use_empty() || isa<FillOp, arith::ConstantOp, IndexOp>(op))
    return false;
  if (auto load = dyn_cast<LoadOp>(op))
    if (conflictsWithStores(load))
      return true;
  Block *block = op->getBlock();
  int64_t price = cost(tile);
  for (Operation *user : tile.getUsers()) {
    // They read elements in another order.
    if (isa<ReshapeOp, CatOp>(user))
      return true;
    if (user->getBlock() != block && price > 2)
      return true;
    if (auto broadcast = dyn_cast<BroadcastOp>(user);
        broadcast && price >= limitOf(broadcast))
      return true;
    if (isa<TransposeOp>(user) && price >= kExpensive)
      return true;
  }
  if (isa<BroadcastOp, TransposeOp>(op) || price < kTripThroughL1)
    return false;
  SmallVector<Reader> all = readers(tile);
  // In one nest an element is computed once, however often it is read.
  return llvm::any_of(all, [&](const Reader &reader) {
    return reader.op != all[0].op || (!reader.aligned && all.size() > 1);
  });
}
