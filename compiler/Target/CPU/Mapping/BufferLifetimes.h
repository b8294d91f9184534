//===- BufferLifetimes.h - When scratch buffers are alive -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_TARGET_CPU_MAPPING_BUFFERLIFETIMES_H
#define TESSERA_COMPILER_TARGET_CPU_MAPPING_BUFFERLIFETIMES_H

#include "compiler/Tile/IR/Tile.h"

namespace tessera::cpu {

/// A buffer from its first use to its last, as numbers of a walk.
struct BufferLifetime {
  tile::AllocOp alloc;
  int64_t first, last, bytes;

  bool overlaps(const BufferLifetime &other) const {
    return other.first <= last && first <= other.last;
  }
};

/// The buffers of a kernel, in the order of their `tile.alloc`s.
llvm::SmallVector<BufferLifetime> lifetimesOf(tile::FuncOp func);

} // namespace tessera::cpu

#endif // TESSERA_COMPILER_TARGET_CPU_MAPPING_BUFFERLIFETIMES_H
