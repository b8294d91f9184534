//===- PadRows.h - Temporaries of a plan with padded rows -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_TILE_TRANSFORMS_PADROWS_H
#define TESSERA_COMPILER_TILE_TRANSFORMS_PADROWS_H

#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/StringSet.h"

namespace tessera::tile {

/// "alloc %t bf16 [$M, $N]" -> rows that are an odd number of cache lines
/// apart: AMX reads them where they lie, and they do not push each other out of
/// the first-level cache. For the temporaries of `names` (of 8 and 16 bits),
/// unless something else relies on their strides.
void padRows(PlanOp plan, const llvm::StringSet<> &names);

} // namespace tessera::tile

#endif // TESSERA_COMPILER_TILE_TRANSFORMS_PADROWS_H
