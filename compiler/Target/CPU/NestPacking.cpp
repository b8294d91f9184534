//===- NestPacking.cpp - Blocks of a packed operand, in registers ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Panels want neighbours along n beside each other. If the source has them
// along k, a block of as many rows as lanes is loaded and transposed:
//
//   source rows (n)      panel rows (k)
//   a0 a1 a2 a3          a0 b0 c0 d0
//   b0 b1 b2 b3    ->    a1 b1 c1 d1
//   c0 c1 c2 c3          a2 b2 c2 d2
//   d0 d1 d2 d3          a3 b3 c3 d3
//
// VNNI order wants pairs of k (of i8, four) beside each other: in a source that
// is contiguous along k they are one 32-bit element of the same transpose; in
// one that is contiguous along n, two or four rows are interleaved.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/NestEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

/// Swaps blocks of 1, 2, 4, ... lanes between rows that far apart.
static void transpose(CpuLowering &lower, SmallVectorImpl<Value> &rows) {
  int64_t count = rows.size();
  for (int64_t distance = count / 2; distance >= 1; distance /= 2) {
    SmallVector<int64_t> first, second;
    for (int64_t lane = 0; lane < count; ++lane) {
      bool upper = lane & distance;
      first.push_back(upper ? count + lane - distance : lane);
      second.push_back(upper ? count + lane : lane + distance);
    }
    for (int64_t i = 0; i < count; ++i) {
      if (i & distance)
        continue;
      Value a = rows[i], b = rows[i + distance];
      rows[i] =
          vector::ShuffleOp::create(lower.builder, lower.loc, a, b, first);
      rows[i + distance] =
          vector::ShuffleOp::create(lower.builder, lower.loc, a, b, second);
    }
  }
}

Value NestEmitter::orZero(Value value, Value keep) {
  if (!keep)
    return value;
  Type element = getElementTypeOrSelf(value);
  Value zero = lower.splatConstant(lower.builder.getZeroAttr(element), lanes);
  return arith::SelectOp::create(lower.builder, lower.loc,
                                 lower.splat(keep, lanes), value, zero);
}

/// Where element (k, n) of the nest goes.
Value NestEmitter::packedPlace(const Packed &to, Value k, Value n) {
  if (auto local = dyn_cast<tile::LocalStoreOp>(to.store)) {
    tile::CpuBuffer layout(local.getBuffer().getType());
    Value offset = lower.add(lower.offsetAlong(layout, 0, k),
                             lower.offsetAlong(layout, 1, n));
    return lower.pointerTo(lower.buffers[local.getBuffer()], offset,
                           to.element);
  }
  auto store = cast<tile::StoreOp>(to.store);
  const CpuView &view = lower.views[store.getView()];
  Value offset = lower.constant(0);
  auto spans = tile::axesOfIndices(store.getIndices(), store.getIndexAxes());
  for (auto [axis, index] : llvm::enumerate(store.getIndices())) {
    bool isDeep = to.isView ? !spans[axis].empty() && spans[axis][0] == 0
                            : int64_t(axis) == view.deepAxis();
    Value at;
    if (isa<tile::RangeType>(index.getType()))
      at = lower.add(lower.ranges[index].start, isDeep ? k : n);
    else
      at = lower.values.lookup(index);
    offset = lower.add(offset, lower.offsetAlong(view, axis, at));
  }
  return lower.pointerTo(view.base, offset, to.element);
}

bool NestEmitter::runAsPacking() {
  if (nest.getAxes().size() != 2 || vectorAxis < 0 || carryAxis >= 0)
    return false;
  std::optional<Packed> to = cpu::packedBy(nest);
  if (!to)
    return false;
  packsRows = vectorAxis == 1 && isa<tile::LocalStoreOp>(to->store);
  bool inGroups = zeroPadding && to->group > 1;
  if (!inGroups && !transposes())
    return false;
  blockAxis = 1 - vectorAxis;
  bool interleave = inGroups && vectorAxis == 1;
  emitPackedBlocks(*to,
                   interleave ? to->group
                   : inGroups ? 16
                              : lanes,
                   interleave);
  return true;
}

/// Of a text that was made for another machine, no.
bool NestEmitter::transposes() {
  return nest.getTransposes() && cpu::mayTranspose(nest, lower.vectorBytes);
}

bool NestEmitter::runAsTransposing() {
  if (!transposes())
    return false;
  vectorAxis = 0;
  blockAxis = 1;
  for (auto store : nest.getBody().getOps<tile::StoreOp>()) {
    Packed to;
    to.store = store;
    to.value = store.getValue();
    to.element = lower.views[store.getView()].element;
    to.width = lanes;
    to.isView = true;
    emitPackedBlocks(to, lanes, false);
  }
  return true;
}

void NestEmitter::emitPackedBlocks(const Packed &to, int64_t rows,
                                   bool interleave) {
  OpBuilder &builder = lower.builder;
  order = {blockAxis, vectorAxis};
  depths[blockAxis] = 1;
  depths[vectorAxis] = 2;
  copies = rows;
  Value length = lower.ranges[nest.getAxes()[blockAxis]].length;
  Value extent = lower.ranges[nest.getAxes()[vectorAxis]].length;
  Value end = length;
  if (!interleave && to.group == 1 && to.isPanel) // the last row, repeated
    end = lower.mul(lower.ceilDiv(length, lower.constant(to.width)),
                    lower.constant(to.width));
  if (interleave) { // zeros up to a whole step
    Value step = lower.constant(tile::amxStep(to.element));
    end = lower.mul(lower.ceilDiv(length, step), step);
  }
  auto outer = scf::ForOp::create(builder, lower.loc, lower.constant(0), end,
                                  lower.constant(rows));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(outer.getBody()->getTerminator());
  openLoops[1] = outer;
  counters[blockAxis] = outer.getInductionVar();
  Value rest =
      arith::RemUIOp::create(builder, lower.loc, extent, lower.constant(lanes));
  Value whole = lower.sub(extent, rest);
  for (bool tail : {false, true}) {
    auto inner =
        scf::ForOp::create(builder, lower.loc, tail ? whole : lower.constant(0),
                           tail ? extent : whole, lower.constant(lanes));
    OpBuilder::InsertionGuard inside(builder);
    builder.setInsertionPoint(inner.getBody()->getTerminator());
    openLoops[2] = inner;
    counters[vectorAxis] = inner.getInductionVar();
    memo[1].clear();
    memo[2].clear();
    current = 2;
    mask = {};
    if (tail)
      mask = lower.firstLanes(lower.sub(extent, counters[vectorAxis]), lanes);
    emitPackedBlock(to, rows, interleave);
  }
  mask = {};
  current = 0;
}

void NestEmitter::emitPackedBlock(const Packed &to, int64_t rows,
                                  bool interleave) {
  OpBuilder &builder = lower.builder;
  Value block = counters[blockAxis], along = counters[vectorAxis];
  Value length = lower.ranges[nest.getAxes()[blockAxis]].length;
  SmallVector<Value> values;
  for (int64_t row = 0; row < rows; ++row) {
    Value value = lower.splat(eval(to.value, identity(), row), lanes);
    if (interleave) {
      Value exists = lower.less(lower.addConstant(block, row), length);
      value = orZero(value, exists);
    } else if (zeroPadding) {
      value = orZero(value, mask);
    }
    values.push_back(value);
  }
  auto target = [&](Value k, Value n) { return packedPlace(to, k, n); };
  if (interleave) {
    auto zip = [&](Value a, Value b) -> Value {
      return vector::InterleaveOp::create(builder, lower.loc, a, b);
    };
    Value all = rows == 2
                    ? zip(values[0], values[1])
                    : zip(zip(values[0], values[2]), zip(values[1], values[3]));
    lower.store(all, target(block, along));
    return;
  }
  int64_t step = 1;
  if (zeroPadding) { // pairs of bf16, or four i8, as one element
    step = to.group;
    auto word = VectorType::get({lanes / step}, builder.getI32Type());
    for (Value &value : values)
      value = vector::BitCastOp::create(builder, lower.loc, word, value);
  }
  transpose(lower, values);
  Value extent = lower.ranges[nest.getAxes()[vectorAxis]].length;
  auto storeRows = [&](Value inside) {
    for (auto [row, value] : llvm::enumerate(values)) {
      Value k = lower.addConstant(along, int64_t(row) * step);
      if (!mask || zeroPadding) {
        lower.maskedStore(value, target(k, block), inside);
        continue;
      }
      // Rows past the end would lie in the next panel.
      auto guard =
          scf::IfOp::create(builder, lower.loc, lower.less(k, extent), false);
      OpBuilder::InsertionGuard insert(builder);
      builder.setInsertionPointToStart(guard.thenBlock());
      lower.maskedStore(value, target(k, block), inside);
    }
  };
  if (!to.isView)
    return storeRows({});
  // Whole lines past the caches, if they are wanted there.
  Value left = lower.sub(length, block);
  if (mask || !isStreaming(cast<tile::StoreOp>(to.store)))
    return storeRows(lower.firstLanes(left, lanes));
  Value whole = lower.less(lower.constant(lanes - 1), left);
  auto choice = scf::IfOp::create(builder, lower.loc, whole, /*withElse=*/true);
  OpBuilder::InsertionGuard insert(builder);
  builder.setInsertionPointToStart(choice.thenBlock());
  for (auto [row, value] : llvm::enumerate(values))
    lower.streamingStore(value, target(lower.addConstant(along, row), block));
  builder.setInsertionPointToStart(choice.elseBlock());
  storeRows(lower.firstLanes(left, lanes));
}
