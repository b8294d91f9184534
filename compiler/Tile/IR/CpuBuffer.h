//===- CpuBuffer.h - How a scratch buffer lies in memory --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layout of a `!tile.buffer` of the CPU is a layout from positions (dim0,
// dim1, ...) to an offset in elements, made of axes only (compiler/Support/
// Layout). Four shapes occur, all from that class:
//
//   rows      row-major in a padded box, so that a register tile or a vector
//             at the edge stays inside the buffer
//   packedB   rhs of a matrix step: panels [N/nr][K][nr]
//   packedA, packedB with groups of k: AMX tiles, 1 KiB each
//
// What code needs to know of a layout are its *terms*: position p along a dim
// adds (p / inStride % extent) * outStride, summed over the dim's terms.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TILE_IR_CPUBUFFER_H
#define TESSERA_COMPILER_TILE_IR_CPUBUFFER_H

#include "compiler/Support/Layout/CpuTiles.h"
#include "compiler/Tile/IR/Tile.h"

namespace tessera::tile {

/// Bytes of one element in scratch memory (i1 takes one, index eight).
int64_t scratchBytesOf(mlir::Type elementType);

/// The register tile for an m x n result with vectors of `vectorBytes`.
layout::RegisterTile registerTileFor(int64_t m, int64_t n, mlir::Type element,
                                     int64_t vectorBytes);

struct CpuBuffer {
  explicit CpuBuffer(BufferType type);

  struct Term {
    int64_t extent, inStride, outStride;
  };
  llvm::SmallVector<llvm::SmallVector<Term, 2>> terms; ///< per dim, inner first
  int64_t elements = 1;
  int64_t elementBytes = 0;

  int64_t bytes() const { return elements * elementBytes; }
  /// Elements between neighbours along `dim`, within its innermost term.
  int64_t stride(int64_t dim) const {
    return terms[dim].empty() ? 0 : terms[dim][0].outStride;
  }
  /// Positions along `dim` that `stride` holds for.
  int64_t run(int64_t dim) const {
    return terms[dim].empty() ? 1 : terms[dim][0].extent;
  }

  static BufferType rows(mlir::RankedTensorType type, int64_t vectorBytes);
  static BufferType panels(mlir::RankedTensorType type, int64_t columns);
  static BufferType amxLhs(mlir::RankedTensorType type);
  static BufferType amxRhs(mlir::RankedTensorType type);
};

} // namespace tessera::tile

#endif // TESSERA_COMPILER_TILE_IR_CPUBUFFER_H
