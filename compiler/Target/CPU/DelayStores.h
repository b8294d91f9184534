//===- DelayStores.h - Results of rows beside other rows --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A store past the caches waits for memory, an exponential for the arithmetic
// units. A row kernel does them one after the other:
//
//   for row: { top = max(x); for n: keep[n] = exp(x[n] - top), sum += ...
//              for n: y[n] = keep[n] / sum }
//
// Programs do not depend on each other, so a thread that runs several of them
// may write the results of one while it computes the next:
//
//   for row: { top = max(x); for n: keep[n] = exp(x[n] - top), sum += ...
//                                   y'[n] = keep'[n] / sum'    the row before }
//   the last row's results
//
// What is kept of a row lies in two halves of its buffer in turn
// (`twice`). Where nothing is kept, as in rms_norm, results are made of
// the row itself, which is near still, beside the first pass over the next one:
// memory reads and writes at a time, as it does in a copy. With two passes or
// more before the results, as in layer_norm, they are written for four programs
// at a time:
//
//   for row by 4: { for 4 rows: mean = ..., root = ...
//                   for n: 4 rows: y[n] = (x[n] - mean) * root * w[n] + b[n] }
//
// `w` and `b` are read once for all of them, and memory reads and writes
// several rows at a time. Rows of up to 8 KiB, but for bf16, are near still
// when the next one is read, and are written beside it. The order of each row's
// sums does not change.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TARGET_CPU_DELAYSTORES_H
#define TESSERA_COMPILER_TARGET_CPU_DELAYSTORES_H

#include "compiler/Tile/IR/Tile.h"

#include "mlir/IR/IRMapping.h"

#include <optional>

namespace tessera::target {

/// On loops that only the first or the last program runs, and on loads of the
/// program before: they fetch nothing for the next one.
inline constexpr llvm::StringLiteral kBefore = "tile.before";

/// On the loop that writes the results of several programs: how many.
inline constexpr llvm::StringLiteral kTogether = "tile.together";

/// What the results of another program than the one at hand are made of.
struct OtherProgram {
  /// Computed again for that program: its number, constants, bounds.
  llvm::SmallVector<mlir::Operation *> again;
  /// A scalar of this program, and the one of that program.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> carried;
  /// The buffer of this program, and that of that program.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> rows;
  mlir::IRMapping map;
};

struct DelayedStores {
  tile::ForOp keeps;  ///< writes what the results are made of, or is first
  tile::ForOp stores; ///< the results; nothing but `rest` follows
  tile::ForOp both;   ///< `keeps`, and `stores` of the program before
  tile::ForOp before; ///< `stores` of the program before
  tile::ForOp restOfBefore; ///< its turns past what is kept, or null
  OtherProgram earlier;     ///< the program before
};

struct StoresTogether {
  tile::ForOp stores;   ///< the results of one program, at its end
  tile::ForOp together; ///< those of all `programs`
  llvm::SmallVector<mlir::Operation *> shared; ///< the same for all programs
  llvm::SmallVector<OtherProgram, 4> programs;
  int64_t rowBytes = 0; ///< of an element of a row, which results are made of
};

struct StoresOfRows {
  std::optional<DelayedStores> delayed;
  std::optional<StoresTogether> together; ///< then `delayed` is for short rows
};

/// If the kernel can be turned so, adds the loops at its end, and arguments
/// that stand for the scalars of other programs.
StoresOfRows findStoresOfRows(tile::FuncOp func);

} // namespace tessera::target

#endif // TESSERA_COMPILER_TARGET_CPU_DELAYSTORES_H
