//===- CpuLoopChoices.cpp - The axis to vectorise, how far to unroll ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/Mapping/CpuMapper.h"
#include "compiler/Tile/IR/CpuBuffer.h"

#include <map>

using namespace mlir;
using namespace tessera::cpu;
using namespace tessera::tile;

namespace {
/// Counts, for each axis of a nest, the accesses that are contiguous along it.
struct AxisVotes {
  SmallVector<int64_t> votes;
  int64_t ops = 0;

  explicit AxisVotes(int64_t rank) : votes(rank, 0) {}

  /// Paths double with every operation that reads a value twice.
  void add(const AxisVotes &other) {
    constexpr int64_t most = int64_t(1) << 40;
    ops = std::min(ops + other.ops, most);
    for (auto [vote, more] : llvm::zip(votes, other.votes))
      vote = std::clamp(vote + more, -most, most);
  }

  void access(Value view, OperandRange indices,
              std::optional<ArrayAttr> indexAxes, ArrayRef<int64_t> axes,
              int64_t weight) {
    auto type = cast<MemRefType>(view.getType());
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(type.getStridesAndOffset(strides, offset)))
      return;
    auto spans = axesOfIndices(indices, indexAxes);
    for (auto [index, span, stride] : llvm::zip(indices, spans, strides))
      if (isa<RangeType>(index.getType()))
        votes[axes[span[0]]] += (stride == 1 ? 3 : -1) * weight;
  }
};

/// The votes of a tile and of what it is computed from, as often as each is
/// read.
struct VoteCounter {
  std::map<std::tuple<void *, SmallVector<int64_t>, int64_t>, AxisVotes> known;
  int64_t rank;

  const AxisVotes &visit(Value tile, ArrayRef<int64_t> axes, int64_t weight) {
    auto [found, isNew] = known.try_emplace(
        {tile.getAsOpaquePointer(), llvm::to_vector(axes), weight}, rank);
    AxisVotes &votes = found->second;
    Operation *op = tile.getDefiningOp();
    if (!op || !isNew)
      return votes;
    votes.ops = 1;
    if (auto load = dyn_cast<LoadOp>(op)) {
      votes.access(load.getView(), load.getIndices(), load.getIndexAxes(), axes,
                   weight);
    } else if (isa<LocalLoadOp>(op)) {
      if (!axes.empty())
        votes.votes[axes.back()] += 2 * weight;
    } else if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      SmallVector<int64_t> inner;
      for (int64_t axis : broadcast.getAxes())
        inner.push_back(axes[axis]);
      votes.add(visit(broadcast.getInput(), inner, 1));
    } else if (auto transpose = dyn_cast<TransposeOp>(op)) {
      SmallVector<int64_t> inner(axes.size());
      for (auto [i, axis] : llvm::enumerate(transpose.getPermutation()))
        inner[axis] = axes[i];
      votes.add(visit(transpose.getInput(), inner, weight));
    } else if (!isa<CatOp, ReshapeOp>(op)) {
      for (Value operand : op->getOperands())
        if (isTile(operand))
          votes.add(visit(operand, axes, weight));
    }
    return votes;
  }
};
} // namespace

/// A tile of 32 bits or more an element, as it lies in memory or transposed.
static bool isLoadedAs32Bits(Value tile) {
  if (auto transpose = tile.getDefiningOp<TransposeOp>())
    tile = transpose.getInput();
  return tile.getDefiningOp<LoadOp>() &&
         scratchBytesOf(getElementTypeOrSelf(tile.getType())) >= 4;
}

/// Picks the axis to vectorise and how many vectors to keep in flight.
void CpuMapper::scheduleNest(NestOp nest) {
  int64_t rank = nest.getAxes().size();
  Block &body = nest.getBody().front();
  if (rank == 0 || llvm::any_of(body, llvm::IsaPred<MmaOp>))
    return;
  AxisVotes counts(rank);
  VoteCounter counter{{}, rank};
  SmallVector<int64_t> identity = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  int64_t forbidden = -1;
  bool scalar = false;
  for (Operation &op : body) {
    if (auto store = dyn_cast<StoreOp>(op)) {
      if (isTile(store.getValue()))
        counts.add(counter.visit(store.getValue(), identity, 2));
      counts.access(store.getView(), store.getIndices(), store.getIndexAxes(),
                    identity, 3);
    } else if (auto store = dyn_cast<LocalStoreOp>(op)) {
      if (!store.getValue().getDefiningOp<ReduceOp>()) {
        int64_t others = counts.ops;
        counts.add(counter.visit(store.getValue(), identity, 2));
        counts.votes[rank - 1] += 4;
        // What is kept of a row is counted where it is used, as in the turns
        // that keep nothing: the order of a sum is the same in both.
        if (store.getSlot())
          counts.ops = others;
      }
    } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
      counts.add(counter.visit(reduce.getInput(), identity, 2));
      if (reduce.getKind() == ReduceKind::Argmax ||
          reduce.getKind() == ReduceKind::Argmin)
        forbidden = reduce.getAxis();
    } else if (auto scan = dyn_cast<ScanOp>(op)) {
      forbidden = scan.getAxis();
    } else if (isa<AtomicOp, AssertOp, PrintOp, CatOp, ReshapeOp>(op)) {
      scalar = true;
    }
  }
  int64_t best = -1;
  for (int64_t axis = rank - 1; axis >= 0; --axis) {
    if (axis == forbidden ||
        cast<RangeType>(nest.getAxes()[axis].getType()).getSize() == 1)
      continue;
    if (best < 0 || counts.votes[axis] > counts.votes[best])
      best = axis;
  }
  // Rows of AMX tiles are runs of k; what else is packed is read along its
  // rows, whichever they are, and turned in registers.
  for (Operation &op : body) {
    auto store = dyn_cast<StoreOp>(op);
    std::optional<int64_t> axis = zeroPaddingOf(&op);
    bool turns = store && rank == 2 && CpuPacking::of(store.getView()) &&
                 isLoadedAs32Bits(store.getValue());
    if (!axis && !turns)
      continue;
    AxisVotes reads(rank);
    if (store)
      reads.add(counter.visit(store.getValue(), identity, 2));
    if (axis && (*axis == 1 || best < 0))
      best = 1;
    else if (reads.votes[0] > reads.votes[1])
      best = 0;
  }
  nest.setVectorAxis(scalar ? -1 : best);
  auto func = nest->getParentOfType<FuncOp>();
  int64_t unroll = counts.ops <= 8 ? 4 : counts.ops <= 14 ? 2 : 1;
  auto asked = [&](StringRef key) { return func.getDecision(key).value_or(0); };
  // Sums along the vector have their order by lanes and accumulators: a
  // schedule must not change it.
  bool ordered = llvm::any_of(body, [&](Operation &op) {
    auto reduce = dyn_cast<ReduceOp>(op);
    return reduce && int64_t(reduce.getAxis()) == best;
  });
  if (!ordered && asked("unroll") > 0)
    unroll = asked("unroll");
  if (!ordered && asked("vector") > 0)
    nest.setLanes(asked("vector"));
  nest.setUnroll(unroll);
}
