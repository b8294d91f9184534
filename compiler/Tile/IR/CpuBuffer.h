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

/// Does AMX multiply these: bf16 into f32, i8 into i32?
bool isAmxProduct(mlir::Type operand, mlir::Type sum);
/// Positions of k in a row of an AMX tile: 64 bytes.
inline int64_t amxStep(mlir::Type element) {
  return 64 / scratchBytesOf(element);
}
/// Neighbours along k that an AMX instruction multiplies at once (VNNI order).
inline int64_t amxGroup(mlir::Type element) {
  return 4 / scratchBytesOf(element);
}

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

  /// What position `at` along `dim` adds to the offset.
  int64_t offset(int64_t dim, int64_t at) const {
    int64_t sum = 0;
    for (const Term &term : terms[dim])
      sum += at / term.inStride % term.extent * term.outStride;
    return sum;
  }

  /// `apart`: rows are not a power of two apart.
  static BufferType rows(mlir::RankedTensorType type, int64_t vectorBytes,
                         bool apart = true);
  static BufferType panels(mlir::RankedTensorType type, int64_t columns);
  static BufferType amxLhs(mlir::RankedTensorType type);
  static BufferType amxRhs(mlir::RankedTensorType type);
};

/// How a whole operand of matrix products lies in memory between kernels
/// (`cpu-pack-operands`): in panels of `width` positions along one axis, and
/// in each of them `group` neighbours along the summed axis together:
///
///   [wide / width][deep / group][width][group]
///
/// It is an attribute of the argument, `tile.packed`; the view's sizes are
/// those of the matrix, its memory is rounded up to `step` and `wideStep`.
struct CpuPacking {
  int64_t width = 1, group = 1;
  int64_t step = 1, wideStep = 1; ///< what a matrix step reads at once
  bool deepLast = false;          ///< the summed axis is the last one

  bool operator==(const CpuPacking &) const = default;

  static CpuPacking panels(int64_t columns) {
    return {columns, 1, 1, columns, false};
  }
  static CpuPacking amxRhs(mlir::Type element) {
    return {16, amxGroup(element), amxStep(element), 32, false};
  }
  static CpuPacking amxLhs(mlir::Type element) {
    return {16, amxStep(element), amxStep(element), 32, true};
  }
  /// Rows along the summed axis, as everywhere else.
  static CpuPacking plain() { return {1, 1, 1, 1, true}; }
  bool isPlain() const { return *this == plain(); }

  mlir::Attribute attribute(mlir::Builder &builder) const;
  /// That of an argument of a tile.func; nothing if it is not packed.
  static std::optional<CpuPacking> of(mlir::Value view);
};

/// The axis of a store, of either kind, along which it writes zeros up to a
/// whole group.
std::optional<int64_t> zeroPaddingOf(mlir::Operation *store);

/// Does the store go past the caches?
bool isStreaming(StoreOp store);
bool hasStreamingStores(FuncOp func);

} // namespace tessera::tile

#endif // TESSERA_COMPILER_TILE_IR_CPUBUFFER_H
