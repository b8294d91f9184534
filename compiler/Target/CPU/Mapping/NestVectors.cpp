//===- NestVectors.cpp - How a nest takes elements by vectors -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/Mapping/NestVectors.h"

#include "compiler/Target/CPU/Mapping/PairBf16.h"
#include "compiler/Tile/IR/CpuBuffer.h"
#include "compiler/Tile/IR/IndexBounds.h"

#include "mlir/IR/Matchers.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

/// Bytes of the narrowest element in memory, f16 counting as f32 because that
/// is how it is computed.
static int64_t narrowestOf(tile::NestOp nest) {
  int64_t narrowest = 8;
  for (Operation &op : nest.getBody().front()) {
    Type element;
    if (auto load = dyn_cast<tile::LoadOp>(op))
      element = getElementTypeOrSelf(load.getResult().getType());
    else if (auto load = dyn_cast<tile::LocalLoadOp>(op))
      element = load.getBuffer().getType().getElementType();
    else if (auto store = dyn_cast<tile::LocalStoreOp>(op))
      element = store.getBuffer().getType().getElementType();
    else if (auto store = dyn_cast<tile::StoreOp>(op))
      element = getElementTypeOrSelf(store.getValue().getType());
    if (element)
      narrowest = std::min(narrowest,
                           std::max<int64_t>(4, tile::scratchBytesOf(element)));
  }
  return narrowest;
}

static Type storedElement(Operation &store) {
  if (auto local = dyn_cast<tile::LocalStoreOp>(store))
    return local.getBuffer().getType().getElementType();
  return cast<tile::StoreOp>(store).getView().getType().getElementType();
}

NestVectors tessera::cpu::vectorsOf(tile::NestOp nest, int64_t vectorBytes,
                                    ArrayRef<int64_t> partSizes) {
  int64_t axis = nest.getVectorAxis();
  NestVectors made;
  if (axis < 0)
    return made;
  made.lanes = vectorBytes / narrowestOf(nest);
  made.unroll = nest.getUnroll();
  auto range = cast<tile::RangeType>(nest.getAxes()[axis].getType());
  if (int64_t asked = nest.getLanes(); asked > 0) {
    made.lanes = std::min(made.lanes, asked);
  } else if (made.lanes == 16 && hasHalfLines(nest, axis) &&
             range.getSize() % 32 == 0) {
    made.lanes = 32;
    made.unroll = std::max<int64_t>(1, made.unroll / 2);
    made.halfLines = true;
  }
  if (!partSizes.empty())
    made.unroll =
        std::clamp<int64_t>(partSizes[axis] / made.lanes, 1, made.unroll);
  // A vector lies within one panel: of f64, 24 wide, not 16 lanes of f32; and
  // within a row of few columns, which is padded to 8 lanes of f64.
  for (Operation &op : nest.getBody().front()) {
    auto store = dyn_cast<tile::LocalStoreOp>(op);
    if (!store || store.getZeroPadding())
      continue;
    tile::CpuBuffer layout(store.getBuffer().getType());
    // (A reduction's result has no vector axis.)
    if (layout.terms.size() != nest.getAxes().size())
      continue;
    int64_t run = layout.run(axis);
    if (layout.terms[axis].size() > 1 || (run > 1 && run < made.lanes))
      made.lanes = std::gcd(made.lanes, run);
  }
  for (auto store : nest.getBody().getOps<tile::StoreOp>())
    if (auto packing = tile::CpuPacking::of(store.getView()))
      made.lanes = std::gcd(made.lanes, packing->width);
  for (Operation &op : nest.getBody().front())
    if (std::optional<int64_t> k = tile::zeroPaddingOf(&op)) {
      made.zeroPadding = true;
      // Along k a whole AMX row, so that the masked tail ends the last one.
      made.lanes = axis == *k ? tile::amxStep(storedElement(op)) : 16;
    }
  return made;
}

//===----------------------------------------------------------------------===//
// Squares of registers
//===----------------------------------------------------------------------===//

std::optional<PackedStore> tessera::cpu::packedBy(tile::NestOp nest) {
  PackedStore found;
  for (Operation &op : nest.getBody().front()) {
    if (isa<tile::AtomicOp, tile::AssertOp, tile::PrintOp>(op))
      return std::nullopt;
    if (!isa<tile::LocalStoreOp, tile::StoreOp>(op))
      continue;
    if (found.store)
      return std::nullopt;
    found.store = &op;
  }
  if (auto store = dyn_cast_or_null<tile::LocalStoreOp>(found.store)) {
    tile::CpuBuffer layout(store.getBuffer().getType());
    found.value = store.getValue();
    found.element = store.getBuffer().getType().getElementType();
    int64_t group = tile::amxGroup(found.element);
    if (group > 1 && layout.stride(0) == 1 && layout.run(0) == group)
      found.group = group;
    if (found.group == 1 && (layout.stride(0) == 1 || layout.stride(1) != 1))
      return std::nullopt;
    found.width = layout.run(1);
    found.isPanel = layout.terms[1].size() > 1;
    return found;
  }
  auto store = dyn_cast_or_null<tile::StoreOp>(found.store);
  if (!store || store.getMask())
    return std::nullopt;
  auto packing = tile::CpuPacking::of(store.getView());
  if (!packing || packing->deepLast)
    return std::nullopt;
  found.value = store.getValue();
  found.element = store.getView().getType().getElementType();
  found.group = packing->group;
  found.width = packing->width;
  found.isPanel = true;
  return found;
}

static SmallVector<int64_t> stridesOf(Value view) {
  SmallVector<int64_t> strides;
  int64_t offset;
  (void)cast<MemRefType>(view.getType()).getStridesAndOffset(strides, offset);
  return strides;
}

/// Is all that the tile is loaded from, and there is some, contiguous along its
/// first axis where it depends on that?
static bool isReadAlongRows(Value root) {
  bool some = false;
  SetVector<std::pair<Value, int64_t>> worklist; // and what the axis is there
  worklist.insert({root, 0});
  for (size_t next = 0; next < worklist.size(); ++next) {
    auto [tile, wanted] = worklist[next];
    Operation *op = tile.getDefiningOp();
    if (auto load = dyn_cast_or_null<tile::LoadOp>(op)) {
      if (load.getMask() || load.getIndexAxes() ||
          tile::CpuPacking::of(load.getView()))
        return false;
      SmallVector<int64_t> strides = stridesOf(load.getView());
      int64_t axisOfTile = 0;
      for (auto [axis, index] : llvm::enumerate(load.getIndices())) {
        if (isa<RankedTensorType>(index.getType()))
          return false;
        if (!isa<tile::RangeType>(index.getType()) || axisOfTile++ != wanted)
          continue;
        if (strides[axis] != 1)
          return false;
        some = true;
      }
    } else if (auto transpose = dyn_cast_or_null<tile::TransposeOp>(op)) {
      worklist.insert(
          {transpose.getInput(), transpose.getPermutation()[wanted]});
    } else if (op && OpTrait::hasElementwiseMappableTraits(op)) {
      for (Value operand : op->getOperands())
        if (isa<RankedTensorType>(operand.getType()))
          worklist.insert({operand, wanted});
    } else {
      return false;
    }
  }
  return some;
}

/// Does the store write along its last axis what lies along the other one?
static bool isTransposing(tile::StoreOp store) {
  auto isRange = llvm::IsaPred<tile::RangeType>;
  OperandRange indices = store.getIndices();
  if (indices.empty() || store.getMask() || store.getIndexAxes() ||
      tile::CpuPacking::of(store.getView()) ||
      tile::scratchBytesOf(store.getView().getType().getElementType()) != 4 ||
      stridesOf(store.getView()).back() != 1 ||
      !isRange(indices.back().getType()) ||
      llvm::count_if(indices.getTypes(), isRange) != 2 ||
      llvm::any_of(indices.getTypes(), llvm::IsaPred<RankedTensorType>))
    return false;
  for (auto [axis, index] : llvm::enumerate(indices))
    if (!isRange(index.getType()) &&
        !tile::isInside(index, store.getView(), int64_t(axis)))
      return false;
  return isReadAlongRows(store.getValue());
}

/// Tiles that are stored transposed.
static bool mayTransposeStores(tile::NestOp nest) {
  SmallVector<tile::StoreOp> stores;
  for (Operation &op : nest.getBody().front()) {
    if (isa<tile::AtomicOp, tile::AssertOp, tile::PrintOp, tile::LocalStoreOp>(
            op))
      return false;
    if (auto store = dyn_cast<tile::StoreOp>(op))
      stores.push_back(store);
  }
  // One after the other, so that none may read what another one writes.
  for (auto load : nest.getBody().getOps<tile::LoadOp>())
    if (stores.size() > 1 && llvm::any_of(stores, [&](tile::StoreOp store) {
          return store.getView() == load.getView();
        }))
      return false;
  return !stores.empty() && llvm::all_of(stores, isTransposing);
}

bool tessera::cpu::mayTranspose(tile::NestOp nest, int64_t vectorBytes) {
  int64_t axis = nest.getVectorAxis();
  if (nest.getAxes().size() != 2 || axis < 0 || nest.getUnit())
    return false;
  for (Operation &op : nest.getBody().front())
    if (isa<tile::ReduceOp, tile::ScanOp>(op))
      return false;
  NestVectors vectors = vectorsOf(nest, vectorBytes);
  std::optional<PackedStore> to = packedBy(nest);
  if (!to)
    return vectors.lanes * 4 == vectorBytes && mayTransposeStores(nest);
  // Plain panels: where lanes would be scattered.
  int64_t bytes = tile::scratchBytesOf(to->element);
  return !vectors.zeroPadding && axis == 0 && to->group == 1 &&
         to->width % vectors.lanes == 0 && bytes >= 4 &&
         bytes * vectors.lanes == vectorBytes;
}

//===----------------------------------------------------------------------===//
// Lanes apart
//===----------------------------------------------------------------------===//

tile::StoreOp tessera::cpu::otherPart(tile::StoreOp store) {
  MemRefType type = store.getView().getType();
  int64_t last = type.getRank() - 1;
  if (store.getMask() || store.getIndexAxes() ||
      tile::CpuPacking::of(store.getView()) || last < 1 ||
      type.getDimSize(last) != 2 || stridesOf(store.getView())[last] != 1)
    return {};
  auto isPart = [&](tile::StoreOp other) {
    APInt one, two;
    return other != store && other.getView() == store.getView() &&
           !other.getMask() && !other.getIndexAxes() &&
           other.getValue().getType() == store.getValue().getType() &&
           llvm::equal(other.getIndices().drop_back(),
                       store.getIndices().drop_back()) &&
           matchPattern(store.getIndices().back(), m_ConstantInt(&one)) &&
           matchPattern(other.getIndices().back(), m_ConstantInt(&two)) &&
           one.ult(2) && two.ult(2) && one != two;
  };
  for (auto other : store->getBlock()->getOps<tile::StoreOp>())
    if (isPart(other))
      return other;
  return {};
}

SmallVector<LanesApart> tessera::cpu::lanesApart(tile::NestOp nest,
                                                 int64_t vectorBytes) {
  SmallVector<LanesApart> found;
  int64_t vectorAxis = nest.getVectorAxis();
  if (vectorAxis < 0)
    return found;
  int64_t rank = nest.getAxes().size(),
          lanes = vectorsOf(nest, vectorBytes).lanes;
  auto look = [&](Value tile, Value view, OperandRange indices, bool plain) {
    auto type = dyn_cast<RankedTensorType>(tile.getType());
    Type element = cast<MemRefType>(view.getType()).getElementType();
    if (!type || type.getRank() != rank || !plain ||
        tile::CpuPacking::of(view) || !(element.isF32() || element.isF64()) ||
        lanes * tile::scratchBytesOf(element) != vectorBytes)
      return;
    SmallVector<int64_t> strides = stridesOf(view);
    int64_t next = 0;
    for (auto [axis, index] : llvm::enumerate(indices)) {
      if (isa<RankedTensorType>(index.getType()))
        break;
      if (isa<tile::RangeType>(index.getType()) && next++ == vectorAxis &&
          strides[axis] != 1)
        found.push_back({view, int64_t(axis), strides[axis]});
    }
  };
  for (auto load : nest.getBody().getOps<tile::LoadOp>())
    look(load.getResult(), load.getView(), load.getIndices(),
         !load.getIndexAxes());
  for (auto store : nest.getBody().getOps<tile::StoreOp>())
    if (otherPart(store))
      look(store.getValue(), store.getView(), store.getIndices(), true);
  return found;
}
