//===- MaskAbsent.h - What reductions and products skip ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On a GPU every position of a tile is computed, also those that do not exist.
// So what a reduction or a product must skip is replaced by its neutral element
// before it, and `tile.filled` becomes a select:
//
//   %s = tile.reduce sum %x axis = 1
// becomes
//   %i = tile.index %n;  %t = arith.cmpi slt, %i, stop;  %y = select %t, %x, 0
//   %s = tile.reduce sum %y axis = 1
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TILE_TRANSFORMS_MASKABSENT_H
#define TESSERA_COMPILER_TILE_TRANSFORMS_MASKABSENT_H

#include "compiler/Tile/IR/Tile.h"

namespace tessera::tile {

/// How many positions the machine holds of an axis of a tile, at least its
/// size; -1: not held at all.
using HeldSize = llvm::function_ref<int64_t(mlir::Value, int64_t)>;

void maskAbsent(FuncOp func, HeldSize heldSize);

/// A type as users write it: fp32 for f32.
std::string nameOf(mlir::Type type);
/// What the user wrote to get this op, for errors: "cumsum" for a tile.scan.
llvm::StringRef wordFor(mlir::Operation *op);
/// An error that a target has no code for `what` yet, and that the CPU has.
mlir::LogicalResult refuseOn(mlir::Operation *op, const llvm::Twine &what,
                             llvm::StringRef target);

/// Is the operand of a product a load (through transposes) whose absent
/// elements are read as 0? Then it needs no mask.
bool isPlainLoad(mlir::Value operand);

} // namespace tessera::tile

#endif // TESSERA_COMPILER_TILE_TRANSFORMS_MASKABSENT_H
