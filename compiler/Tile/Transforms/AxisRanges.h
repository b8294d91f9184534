//===- AxisRanges.h - Which range each axis of a tile belongs to -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile is a tensor of static shape, but the positions of an axis that lie
// past the end of its range do not exist. The type does not name the range; it
// follows from the ops. Example, with %m, %n of !tile.range<64>, <32>:
//
//   %x = tile.load %X[%m, %n]            axes: %m, %n
//   %r = tile.reduce max %x axis = 1     axes: %m
//   %b = tile.broadcast %r axes=[0][%n]  axes: %m, %n
//   %f = tile.filled %x, %zero           axes: full, full
//
// An element of an element-wise result exists where it exists in every
// operand; so an axis may be bound by several ranges, and by none ("full").
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TILE_TRANSFORMS_AXISRANGES_H
#define TESSERA_COMPILER_TILE_TRANSFORMS_AXISRANGES_H

#include "compiler/Tile/IR/Tile.h"

namespace tessera::tile {

class AxisRanges {
public:
  using Ranges = llvm::SmallVector<mlir::Value, 1>;

  /// Of a tile.func, or a gir.kernel.
  explicit AxisRanges(mlir::Operation *func);

  /// The ranges that bound `axis` of `tile`; empty if every position exists.
  llvm::ArrayRef<mlir::Value> get(mlir::Value tile, int64_t axis) const;

private:
  bool join(mlir::Value tile, int64_t axis, mlir::ValueRange ranges);
  bool joinTile(mlir::Value to, mlir::Value from);
  bool visit(mlir::Operation *op);

  llvm::DenseMap<mlir::Value, llvm::SmallVector<Ranges, 2>> axes;
};

} // namespace tessera::tile

#endif // TESSERA_COMPILER_TILE_TRANSFORMS_AXISRANGES_H
