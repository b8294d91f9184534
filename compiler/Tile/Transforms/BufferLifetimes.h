//===- BufferLifetimes.h - When scratch buffers are alive -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_TILE_TRANSFORMS_BUFFERLIFETIMES_H
#define TESSERA_COMPILER_TILE_TRANSFORMS_BUFFERLIFETIMES_H

#include "compiler/Tile/IR/Tile.h"

namespace tessera::tile {

/// A buffer from its first use to its last, as numbers of a walk.
struct BufferLifetime {
  AllocOp alloc;
  int64_t first, last, bytes;

  bool overlaps(const BufferLifetime &other) const {
    return other.first <= last && first <= other.last;
  }
};

/// The buffers of a kernel, in the order of their `tile.alloc`s.
llvm::SmallVector<BufferLifetime> lifetimesOf(FuncOp func);

} // namespace tessera::tile

#endif // TESSERA_COMPILER_TILE_TRANSFORMS_BUFFERLIFETIMES_H
