//===- KeepRows.h - What a loop over a row computes again -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row kernel passes over its row once for every reduction and once for its
// result. What a later pass computes again, and dearly, is kept instead:
//
//   for n: sum += exp(x[n] - top)        keeps exp(...), tile by tile
//   for n: y[n] = exp(x[n] - top) / sum  reads it
//
// The ops are marked `tile.keep` and `tile.kept`, with the number of the row;
// the mapper gives each row a buffer with a slot per turn. Rows have any
// length, buffers don't: both loops are cut in two, and the turns past
// `x86::keptElements` compute again, in a loop marked `rest`.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TARGET_CPU_MAPPING_KEEPROWS_H
#define TESSERA_COMPILER_TARGET_CPU_MAPPING_KEEPROWS_H

#include "compiler/Tile/IR/Tile.h"

namespace tessera::cpu {

inline constexpr llvm::StringLiteral kKeep = "tile.keep";
inline constexpr llvm::StringLiteral kKept = "tile.kept";

/// Marks what is worth keeping, and cuts the loops.
void keepRows(tile::FuncOp func);

} // namespace tessera::cpu

#endif // TESSERA_COMPILER_TARGET_CPU_MAPPING_KEEPROWS_H
