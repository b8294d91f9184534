//===- TileMemory.cpp - Tile IR: verifiers of views and buffers -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/IR/CpuBuffer.h"
#include "compiler/Tile/IR/Tile.h"

#include "llvm/Support/MathExtras.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tessera::tile;

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// Has the view this axis?
template <typename Op> static LogicalResult verifyAxis(Op op) {
  int64_t rank = cast<MemRefType>(op.getView().getType()).getRank();
  if (int64_t(op.getAxis()) < 0 || int64_t(op.getAxis()) >= rank)
    return op.emitOpError()
           << "axis " << int64_t(op.getAxis()) << " of a view of rank " << rank;
  return success();
}

LogicalResult DimOp::verify() { return verifyAxis(*this); }    // (C1)
LogicalResult StrideOp::verify() { return verifyAxis(*this); } // (C1)

LogicalResult PrefetchOp::verify() {
  // (C1)
  auto type = cast<MemRefType>(getView().getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (int64_t(getIndices().size()) != type.getRank() || type.getRank() == 0 ||
      failed(type.getStridesAndOffset(strides, offset)) ||
      strides.back() != 1 || !isa<RangeType>(getIndices().back().getType()) ||
      llvm::count_if(getIndices().getTypes(), llvm::IsaPred<RangeType>) != 2)
    return emitOpError() << "asks for rows of a view: two ranges, the second "
                            "along its last axis, which is contiguous";
  return success();
}

/// The sizes an index spans.
static SmallVector<int64_t> sizesOf(Type index) {
  if (auto range = dyn_cast<RangeType>(index))
    return {range.getSize()};
  if (auto tile = dyn_cast<RankedTensorType>(index))
    return llvm::to_vector(tile.getShape());
  return {};
}

static ArrayRef<int64_t> shapeOf(Type value) {
  auto tile = dyn_cast<RankedTensorType>(value);
  return tile ? tile.getShape() : ArrayRef<int64_t>();
}

/// Whether `index_axes` gives each index its axes of the tile: as many as it
/// spans, of its sizes, and every axis of the tile belongs to an index.
static LogicalResult verifyIndexAxes(Operation *op, OperandRange indices,
                                     ArrayAttr indexAxes,
                                     ArrayRef<int64_t> shape) {
  if (indexAxes.size() != indices.size())
    return op->emitOpError() << "index_axes has " << indexAxes.size()
                             << " entries for " << indices.size() << " indices";
  SmallVector<bool> seen(shape.size());
  for (auto [index, entry] : llvm::zip(indices, indexAxes)) {
    auto axes = dyn_cast<ArrayAttr>(entry);
    if (!axes)
      return op->emitOpError()
             << "index_axes holds a list of axes for each index, not " << entry;
    SmallVector<int64_t> sizes = sizesOf(index.getType());
    bool good = axes.size() == sizes.size();
    SmallVector<int64_t> own;
    for (auto [i, attribute] : llvm::enumerate(axes)) {
      auto axis = dyn_cast<IntegerAttr>(attribute);
      good = good && axis && axis.getType().isSignlessInteger(64) &&
             axis.getInt() >= 0 && axis.getInt() < int64_t(shape.size()) &&
             shape[axis.getInt()] == sizes[i] &&
             !llvm::is_contained(own, axis.getInt());
      if (!good)
        break;
      own.push_back(axis.getInt());
      seen[own.back()] = true;
    }
    if (!good)
      return op->emitOpError()
             << "index_axes gives an index of sizes [" << sizes << "] the axes "
             << entry << " of a tile of [" << shape << "]";
  }
  if (llvm::is_contained(seen, false))
    return op->emitOpError() << "index_axes leaves out an axis of the tile";
  return success();
}

/// Checks `indices` and `mask` against the view and the tile.
static LogicalResult verifyAccess(Operation *op, Type view,
                                  OperandRange indices, Value mask,
                                  std::optional<ArrayAttr> indexAxes,
                                  Type value) {
  auto type = cast<MemRefType>(view);
  // (C1)
  if (int64_t(indices.size()) != type.getRank())
    return op->emitOpError()
           << indices.size() << " indices into a view of rank "
           << type.getRank();
  // (C4)
  for (Value index : indices)
    if (auto tile = dyn_cast<RankedTensorType>(index.getType());
        tile && !tile.getElementType().isSignlessInteger())
      return op->emitOpError()
             << "a tile that is an index holds integers, not " << tile;
  ArrayRef<int64_t> have = shapeOf(value);
  if (indexAxes) {
    // (C3)
    if (failed(verifyIndexAxes(op, indices, *indexAxes, have)))
      return failure();
  } else {
    // (C2)
    SmallVector<int64_t> shape;
    for (Value index : indices)
      llvm::append_range(shape, sizesOf(index.getType()));
    if (have != ArrayRef(shape))
      return op->emitOpError() << "the indices span [" << shape
                               << "], but the tile is [" << have << "]";
  }
  if (getElementTypeOrSelf(value) != type.getElementType())
    return op->emitOpError() << "view holds " << type.getElementType()
                             << ", tile " << getElementTypeOrSelf(value);
  // (C4)
  if (mask && (shapeOf(mask.getType()) != have ||
               !getElementTypeOrSelf(mask.getType()).isInteger(1)))
    return op->emitOpError()
           << "a mask of " << mask.getType() << " for " << value;
  return success();
}

LogicalResult LoadOp::verify() {
  if (failed(verifyAccess(*this, getView().getType(), getIndices(), getMask(),
                          getIndexAxes(), getResult().getType())))
    return failure();
  Type element = getElementTypeOrSelf(getResult().getType());
  if (std::optional<TypedAttr> pad = getPad();
      pad && (pad->getType() != element || !isa<IntegerAttr, FloatAttr>(*pad)))
    return emitOpError() << "pads a tile of " << element << " with " << *pad;
  // (C5)
  if (std::optional<uint64_t> programs = getPrefetch();
      programs && (*programs < 1 || *programs > 64))
    return emitOpError() << "prefetches 1 to 64 programs ahead, not "
                         << int64_t(*programs);
  return success();
}

LogicalResult StoreOp::verify() {
  // (C2)
  std::optional<int64_t> padding = getZeroPadding();
  if (std::optional<CpuPacking> packing = CpuPacking::of(getView());
      packing && packing->group > 1 && !padding)
    return emitOpError() << "into groups of a packed view has zero_padding: "
                            "what is missing of a group is multiplied";
  int64_t rank = shapeOf(getValue().getType()).size();
  if (padding && *padding >= rank)
    return emitOpError() << "zero_padding is an axis of the tile, not "
                         << *padding;
  return verifyAccess(*this, getView().getType(), getIndices(), getMask(),
                      getIndexAxes(), getValue().getType());
}

LogicalResult AtomicOp::verify() {
  return verifyAccess(*this, getView().getType(), getIndices(), getMask(),
                      getIndexAxes(), getValue().getType());
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// Whether a tile of these sizes fits the buffer, or a slot of it.
static LogicalResult verifyPlace(Operation *op, BufferType buffer, Value slot,
                                 ArrayRef<int64_t> shape, Type element) {
  ArrayRef<int64_t> place =
      buffer.getShape().drop_front(slot && !buffer.getShape().empty() ? 1 : 0);
  // Buffers of shared memory cover whole fragments.
  bool good = shape.size() == place.size() &&
              buffer.getElementType() == element &&
              llvm::all_of(llvm::zip(shape, place), [](auto pair) {
                return std::get<0>(pair) <= std::get<1>(pair);
              });
  if (good)
    return success();
  return op->emitOpError() << "a tile of [" << shape << "] x " << element
                           << (slot ? " and a slot of " : " and ") << buffer;
}

LogicalResult LocalLoadOp::verify() {
  // (C1)
  auto tile = cast<RankedTensorType>(getResult().getType());
  return verifyPlace(*this, getBuffer().getType(), getSlot(), tile.getShape(),
                     tile.getElementType());
}

LogicalResult LocalStoreOp::verify() {
  // (C1)
  auto tile = cast<RankedTensorType>(getValue().getType());
  return verifyPlace(*this, getBuffer().getType(), getSlot(), tile.getShape(),
                     tile.getElementType());
}

LogicalResult CpAsyncOp::verify() {
  auto view = cast<MemRefType>(getView().getType());
  // (C1)
  if (int64_t(getIndices().size()) != view.getRank())
    return emitOpError() << getIndices().size()
                         << " indices into a view of rank " << view.getRank();
  SmallVector<int64_t> shape;
  for (Value index : getIndices()) {
    if (isa<RankedTensorType>(index.getType()))
      return emitOpError() << "copies no gathered elements";
    llvm::append_range(shape, sizesOf(index.getType()));
  }
  // (C2)
  BufferType buffer = getBuffer().getType();
  if (shape.size() != 2 || failed(verifyPlace(*this, buffer, getSlot(), shape,
                                              view.getElementType())))
    return shape.size() == 2
               ? failure()
               : emitOpError() << "copies matrices, not [" << shape << "]";
  // (C3)
  int64_t bytes = scratchBytesOf(buffer.getElementType());
  int64_t vector = getVector();
  if (vector < 1 || vector > 16 / bytes || !llvm::isPowerOf2_64(vector))
    return emitOpError() << "copies up to 16 bytes at once, not " << vector
                         << " elements of " << bytes;
  return success();
}

LogicalResult WaitOp::verify() {
  // (C1)
  constexpr int64_t most = 64;
  if (int64_t(getPending()) < 0 || int64_t(getPending()) > most)
    return emitOpError() << "pending is 0 to " << most << ", not "
                         << int64_t(getPending());
  return success();
}
