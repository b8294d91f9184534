//===- AxisRanges.cpp - Which range each axis of a tile belongs to --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/Transforms/AxisRanges.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera::tile;

static RankedTensorType tileType(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

AxisRanges::AxisRanges(Operation *func) {
  // The sets only grow, so this ends; loops need a second turn.
  bool changed = true;
  while (changed) {
    changed = false;
    func->walk<WalkOrder::PreOrder>(
        [&](Operation *op) { changed |= visit(op); });
  }
}

ArrayRef<Value> AxisRanges::get(Value tile, int64_t axis) const {
  auto found = axes.find(tile);
  if (found == axes.end())
    return {};
  return found->second[axis];
}

bool AxisRanges::join(Value tile, int64_t axis, ValueRange ranges) {
  SmallVector<Ranges, 2> &have = axes[tile];
  have.resize(tileType(tile).getRank());
  bool changed = false;
  for (Value range : ranges) {
    // A range made inside a loop cannot bound what the loop carries.
    if (!range.getParentRegion()->isAncestor(tile.getParentRegion()))
      continue;
    if (llvm::is_contained(have[axis], range))
      continue;
    have[axis].push_back(range);
    changed = true;
  }
  return changed;
}

bool AxisRanges::joinTile(Value to, Value from) {
  RankedTensorType type = tileType(to), other = tileType(from);
  if (!type || !other || type.getShape() != other.getShape())
    return false;
  bool changed = false;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    changed |= join(to, axis, llvm::to_vector(get(from, axis)));
  return changed;
}

bool AxisRanges::visit(Operation *op) {
  bool changed = false;
  auto copy = [&](Value to, int64_t axis, Value from, int64_t fromAxis) {
    changed |= join(to, axis, llvm::to_vector(get(from, fromAxis)));
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](LoadOp load) {
        if (!tileType(load.getResult()))
          return;
        auto spans = axesOfIndices(load.getIndices(), load.getIndexAxes());
        for (auto [index, span] : llvm::zip(load.getIndices(), spans)) {
          if (isa<RangeType>(index.getType()))
            changed |= join(load.getResult(), span[0], index);
          else
            for (auto [i, axis] : llvm::enumerate(span))
              copy(load.getResult(), axis, index, i);
        }
        if (load.getMask())
          changed |= joinTile(load.getResult(), load.getMask());
      })
      .Case([&](FillOp fill) {
        for (auto [axis, range] : llvm::enumerate(fill.getRanges()))
          changed |= join(fill, axis, range);
      })
      .Case([&](IndexOp index) { changed |= join(index, 0, index.getRange()); })
      .Case([&](BroadcastOp broadcast) {
        for (auto [i, axis] : llvm::enumerate(broadcast.getAxes()))
          copy(broadcast, axis, broadcast.getInput(), i);
        size_t next = 0;
        for (int64_t axis = 0; axis < broadcast.getType().getRank(); ++axis)
          if (!llvm::is_contained(broadcast.getAxes(), axis))
            changed |= join(broadcast, axis, broadcast.getRanges()[next++]);
      })
      .Case([&](TransposeOp transpose) {
        for (auto [i, axis] : llvm::enumerate(transpose.getPermutation()))
          copy(transpose, i, transpose.getInput(), axis);
      })
      .Case<FilledOp, ReshapeOp, CatOp>([](auto) {})
      .Case([&](ReduceOp reduce) {
        if (!tileType(reduce.getResult()))
          return;
        int64_t rank = reduce.getInput().getType().getRank(), to = 0;
        for (int64_t axis = 0; axis < rank; ++axis)
          if (axis != int64_t(reduce.getAxis()))
            copy(reduce.getResult(), to++, reduce.getInput(), axis);
      })
      .Case([&](MmaOp mma) {
        if (!tileType(mma.getResult()))
          return;
        int64_t to = 0;
        for (int64_t i = 0; i + 1 < mma.getLhs().getType().getRank(); ++i)
          copy(mma.getResult(), to++, mma.getLhs(), i);
        for (int64_t i = 1; i < mma.getRhs().getType().getRank(); ++i)
          copy(mma.getResult(), to++, mma.getRhs(), i);
        changed |= joinTile(mma.getResult(), mma.getAcc());
      })
      .Case([&](ForOp loop) {
        auto yield = cast<YieldOp>(loop.getBody().front().getTerminator());
        for (auto [init, argument, yielded, result] :
             llvm::zip(loop.getInits(), loop.getCarried(), yield.getValues(),
                       loop.getResults())) {
          changed |= joinTile(argument, init);
          changed |= joinTile(argument, yielded);
          changed |= joinTile(result, argument);
        }
      })
      .Case([&](scf::ForOp loop) {
        for (auto [init, argument, yielded, result] :
             llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(),
                       loop.getYieldedValues(), loop.getResults())) {
          changed |= joinTile(argument, init);
          changed |= joinTile(argument, yielded);
          changed |= joinTile(result, argument);
        }
      })
      .Case([&](scf::IfOp branch) {
        if (branch.getNumResults() == 0)
          return;
        for (auto [result, a, b] :
             llvm::zip(branch.getResults(), branch.thenYield().getResults(),
                       branch.elseYield().getResults())) {
          changed |= joinTile(result, a);
          changed |= joinTile(result, b);
        }
      })
      .Case([&](scf::WhileOp loop) {
        for (auto [init, argument, yielded] :
             llvm::zip(loop.getInits(), loop.getBeforeArguments(),
                       loop.getYieldOp().getResults())) {
          changed |= joinTile(argument, init);
          changed |= joinTile(argument, yielded);
        }
        for (auto [forwarded, argument, result] :
             llvm::zip(loop.getConditionOp().getArgs(),
                       loop.getAfterArguments(), loop.getResults())) {
          changed |= joinTile(argument, forwarded);
          changed |= joinTile(result, argument);
        }
      })
      .Default([&](Operation *other) {
        // Element-wise: an element exists where it exists in all operands.
        for (Value result : other->getResults())
          for (Value operand : other->getOperands())
            changed |= joinTile(result, operand);
      });
  return changed;
}
