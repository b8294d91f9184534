//===- IndexBounds.h - What is known of a scalar index ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An index is taken as a sum of numbers times values, plus a number:
// `(p * 8 + 3) * 16 + q` is 128 p + q + 48. Two with the same values differ by
// a number; and if each value comes from a loop with known ends, so is the
// least and the greatest that the sum can be.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TILE_IR_INDEXBOUNDS_H
#define TESSERA_COMPILER_TILE_IR_INDEXBOUNDS_H

#include "compiler/Tile/IR/Tile.h"

namespace tessera::tile {

struct IndexSum {
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> terms;
  int64_t constant = 0;

  explicit IndexSum(mlir::Value index);
  void add(mlir::Value value, int64_t times);
};

/// Are two indices never equal?
bool alwaysDiffer(mlir::Value a, mlir::Value b);

/// Does the index always lie within that axis of a view? A program id lies
/// within its own dim.
bool isInside(mlir::Value index, mlir::Value view, int64_t axis);

} // namespace tessera::tile

#endif // TESSERA_COMPILER_TILE_IR_INDEXBOUNDS_H
