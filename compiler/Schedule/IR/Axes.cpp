//===- Axes.cpp - Axes of a kernel's ops, traced to its result ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedule/IR/Axes.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::schedule;

bool schedule::isInnerView(Operation *op) {
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return getUnitReshape(reshape).has_value();
  return isa<TransposeOp, BroadcastOp>(op);
}

bool schedule::isOuterView(Operation *op) {
  return isa<SliceOp>(op) || (isa<ReshapeOp>(op) && !isInnerView(op));
}

bool schedule::wantsMemory(OpOperand &use) {
  Operation *op = use.getOwner();
  unsigned i = use.getOperandNumber();
  if (isa<GemmOp, AttentionOp, CallKernelOp, DimOp, CheckEqualOp, CheckOp,
          ReportIndexOp, graph::PrintOp>(op) ||
      isControlFlow(op))
    return true;
  if (isa<TakeOp, GatherOp>(op))
    return i == 0;
  if (isa<BroadcastOp, ReshapeOp, SliceOp>(op) && i > 0)
    return true;
  return isOuterView(op);
}

AxisMap schedule::getOperandAxes(OpOperand &use, const AxisMap &map,
                                 int64_t number) {
  Operation *op = use.getOwner();
  int64_t rank = rankOf(use.get());
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    AxisMap result;
    for (auto [i, axis] : llvm::enumerate(broadcast.getAxes())) {
      bool repeated = tensorType(use.get()).getDimSize(i) == 1 &&
                      broadcast.getType().getDimSize(axis) != 1;
      result.push_back(repeated ? -1 : map[axis]);
    }
    return result;
  }
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    AxisMap result(rank);
    for (auto [i, axis] : llvm::enumerate(transpose.getPermutation()))
      result[axis] = map[i];
    return result;
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    AxisMap result(rank, -1);
    for (auto [i, axis] : llvm::enumerate(*getUnitReshape(reshape)))
      if (axis >= 0)
        result[axis] = map[i];
    return result;
  }
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    AxisMap result;
    size_t next = 0;
    for (int64_t axis = 0; axis < rank; ++axis)
      result.push_back(llvm::is_contained(reduce.getAxes(), axis)
                           ? firstLoop + number * 16 + axis
                           : map[next++]);
    return result;
  }
  if (auto take = dyn_cast<TakeOp>(op)) {
    auto first = map.begin() + take.getAxis();
    return AxisMap(first, first + rank);
  }
  if (isa<PartialOp>(op))
    return {firstLoop + number * 16};
  return map;
}

AxisMap schedule::getGridAxes(FuseOp fuse) {
  Block &body = fuse.getBody().front();
  llvm::DenseMap<Value, AxisMap> maps;
  for (Value value : body.getTerminator()->getOperands())
    maps[value] = llvm::to_vector<4>(llvm::seq<int64_t>(0, rankOf(value)));
  int64_t number = 0;
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    auto found =
        op.getNumResults() == 1 ? maps.find(op.getResult(0)) : maps.end();
    if (found == maps.end())
      continue;
    AxisMap map = found->second;
    if (isa<ReduceOp>(op))
      return map;
    ++number;
    for (OpOperand &use : op.getOpOperands())
      if (!wantsMemory(use) && use.get().getDefiningOp())
        maps.try_emplace(use.get(), getOperandAxes(use, map, number));
  }
  return {};
}

/// What a kernel stores, inside of it.
static Value getStored(FuseOp fuse) {
  return fuse.getBody().front().getTerminator()->getOperand(0);
}

Extent schedule::getOuterExtent(Value tensor, int64_t axis) {
  Extent extent = getExtent(tensor, axis);
  while (!extent.isConstant()) {
    bool isAxis = extent.kind == Extent::Kind::Axis;
    Value next;
    if (auto fuse = extent.value.getDefiningOp<FuseOp>())
      next = getStored(fuse);
    else if (auto argument = dyn_cast<BlockArgument>(extent.value))
      if (auto kernel = dyn_cast<FuseOp>(argument.getOwner()->getParentOp()))
        next = kernel.getInputs()[argument.getArgNumber()];
    if (!next)
      break;
    extent = isAxis ? getExtent(next, extent.axis) : getExtent(next);
  }
  return extent;
}
