//===- BlockLayouts.h - Which thread holds which element --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives each tile of a kernel a layout (compiler/Support/Layout/GpuTiles.h).
// Matrix products come first, because their instruction prescribes how its
// result is held; from there layouts spread to all that is computed with it:
//
//   %s = tile.mma %q, %k, %z         mmaResult
//   %t = arith.mulf %s, %c           the same
//   %m = tile.reduce max %t axis=1   sliced(mmaResult, 1)
//   %b = tile.broadcast %m           mmaResult, wanted by the user of %b
//
// What no product touches is `blocked`. Operands of products that are plain
// loads get none: they come through shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TARGET_SIMT_MAPPING_BLOCKLAYOUTS_H
#define TESSERA_COMPILER_TARGET_SIMT_MAPPING_BLOCKLAYOUTS_H

#include "compiler/Target/SIMT/Machine.h"

#include "llvm/ADT/MapVector.h"

#include <memory>

namespace tessera::simt {

class BlockLayouts {
public:
  BlockLayouts(tile::FuncOp func, const Machine &machine);

  int64_t getWarps() const { return warps; }
  /// Null for a tile that needs none.
  const layout::Layout *find(mlir::Value tile) const;

  layout::Layout resultOf(tile::MmaOp mma) const;
  layout::Layout lhsOf(tile::MmaOp mma) const;
  layout::Layout rhsOf(tile::MmaOp mma) const;
  /// For element-wise work; along `withinWarp` a warp keeps all.
  layout::Layout blocked(mlir::Value tile, int64_t withinWarp = -1) const;
  /// What `op`'s operand must have, given the layout of its result; nullopt if
  /// any will do.
  std::optional<layout::Layout> wanted(mlir::OpOperand &operand) const;

  /// Decides which tiles go from or to the user's arrays through a layout that
  /// is better for memory than their own (a product's fragments are 16 bytes
  /// of a row); a block has `limit` bytes of shared memory.
  void chooseAccesses(tile::FuncOp func, int64_t limit);
  /// How the tile of a load or a store is held when it is moved, if that is not
  /// its own layout; else null.
  const layout::Layout *accessLayout(mlir::Operation *op) const;

  /// One of the layouts that are the same function, always the same one.
  const layout::Layout &canonical(const layout::Layout &layout) const;

private:
  layout::Layout partOf(tile::MmaOp mma, ProductPart part) const;
  void chooseWarps(tile::FuncOp func);
  void assign(mlir::Value tile, const layout::Layout &layout);
  void spreadAll();
  void spreadThrough(mlir::Operation *op, mlir::Value tile);
  void join(mlir::Value from, mlir::ValueRange others);
  /// Index tiles and mask of an access, from the tile that it moves.
  template <typename Access> void spreadAccess(Access op, mlir::Value moved);
  template <typename Access>
  std::optional<layout::Layout> wantedByAccess(Access op, mlir::Value moved,
                                               mlir::OpOperand &operand) const;

  template <typename Access>
  void chooseAccess(Access op, mlir::Value moved, int64_t limit);

  const Machine &machine;
  int64_t warps = 1;
  bool rowsOnly = false;
  llvm::DenseMap<mlir::Operation *, const layout::Layout *> accesses;
  llvm::MapVector<mlir::Value, const layout::Layout *> layouts;
  llvm::SmallVector<mlir::Value> worklist;
  mutable std::vector<std::unique_ptr<layout::Layout>> known;
};

/// The load behind an operand of a product, through transposes, if it can go
/// through shared memory: two ranges, no gather, no mask.
tile::LoadOp sharedOperand(mlir::Value operand);

/// The left or right side of a product?
bool isFactor(mlir::OpOperand &use);

/// Has the machine no instruction for it? Then it is a loop of fused
/// multiply-adds.
bool usesFma(tile::MmaOp mma);

/// Element-wise: one result element per element of the operands.
bool isElementwise(mlir::Operation *op);

/// The layout of a broadcast's input, of a transpose's input.
layout::Layout inputLayout(tile::BroadcastOp op, const layout::Layout &result);
layout::Layout inputLayout(tile::TransposeOp op, const layout::Layout &result);
/// The layout of an index tile that spans `axes` of the tile of an access.
layout::Layout indexLayout(llvm::ArrayRef<int64_t> axes,
                           const layout::Layout &tile);
/// Does a warp hold all positions along the axis? Then it can scan them.
bool isWithinWarp(const layout::Layout &layout, int64_t axis);

/// The axis of an access's tile whose elements are neighbours in memory, if a
/// range takes them; else -1.
int64_t unitAxis(mlir::Value view, mlir::OperandRange indices,
                 std::optional<mlir::ArrayAttr> indexAxes);
/// Are all elements along `axis` the same, as far as can be seen?
bool isUniformAlong(mlir::Value root, int64_t rootAxis);

/// Do the same threads hold the same elements in the same registers?
bool isSame(const layout::Layout &a, const layout::Layout &b);

} // namespace tessera::simt

#endif // TESSERA_COMPILER_TARGET_SIMT_MAPPING_BLOCKLAYOUTS_H
