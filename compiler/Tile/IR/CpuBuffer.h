//===- CpuBuffer.h - How a scratch buffer lies in memory --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layout text of a `!tile.buffer` of the CPU, and what follows from it.
//
//   "rows 66x64"   row-major in a block of 66 x 64: padded so that a register
//                  tile or a vector at the edge stays inside the buffer
//   "panels 64"    rhs of a matrix step, [K, N]: panels of 64 columns, each
//                  [K][64], so that the inner loop reads one stream
//   "amx_lhs"      [M, K] as tiles of 16 x 32 bf16, 1 KiB each, [M/16][K/32]
//   "amx_rhs"      [K, N] as tiles of 32 x 16 in VNNI order (pairs of k beside
//                  each other), [N/16][K/32]
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TILE_IR_CPUBUFFER_H
#define TESSERA_COMPILER_TILE_IR_CPUBUFFER_H

#include "compiler/Tile/IR/Tile.h"

namespace tessera::tile {

/// Rows and columns of the register tile of a matrix step.
struct MicroTile {
  int64_t rows, columns;
};

/// The register tile for C[*, columns]: about 24 accumulators of
/// `vectorBytes` each, and as little padding as can be.
MicroTile chooseMicroTile(int64_t columns, int64_t elementBytes,
                          int64_t vectorBytes);

/// Bytes of one element in scratch memory (i1 takes one, index eight).
int64_t scratchBytesOf(mlir::Type elementType);

struct CpuBuffer {
  enum class Kind { Rows, Panels, AmxLhs, AmxRhs };

  explicit CpuBuffer(BufferType type);

  Kind kind = Kind::Rows;
  llvm::SmallVector<int64_t> physical; ///< Rows: the padded shape
  int64_t panel = 0;                   ///< Panels: columns of one
  int64_t elements = 0;
  int64_t elementBytes = 0;

  int64_t bytes() const { return elements * elementBytes; }
  /// Rows: elements between neighbours along `axis`.
  int64_t stride(int64_t axis) const;

  static BufferType rows(mlir::RankedTensorType type, int64_t vectorBytes);
  static BufferType panels(mlir::RankedTensorType type, int64_t panel);
  static BufferType amxLhs(mlir::RankedTensorType type);
  static BufferType amxRhs(mlir::RankedTensorType type);
};

} // namespace tessera::tile

#endif // TESSERA_COMPILER_TILE_IR_CPUBUFFER_H
