// What a target asks about layouts: conversions, vector widths, bank conflicts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs of distributed layouts are named register, lane, warp and block;
// outputs are tile axes. Memory layouts go from tile axes to `offset`, counted
// in elements.

#ifndef TESSERA_SUPPORT_LAYOUT_QUERIES_H
#define TESSERA_SUPPORT_LAYOUT_QUERIES_H

#include "compiler/Support/Layout/Layout.h"

namespace tessera::layout {

/// How far data must travel, nearest first.
enum class Movement {
  None,      ///< every place already holds what it should
  Registers, ///< each lane renames its own registers
  Lanes,     ///< shuffles within a warp
  Warps,     ///< shared memory
  Blocks,    ///< beyond a block
};

/// How to turn a tile held in one layout into another.
struct Conversion {
  Movement movement = Movement::None;
  /// From each destination place to the place to take the element from; the
  /// nearest one if several hold it. Same input names on both sides.
  Layout source;
  /// For Lanes: shuffle instructions per lane. A destination register takes
  /// one shuffle for each source register that some lane needs for it.
  int64_t shuffles = 0;
};

/// Nullopt if the tiles differ in shape or the machines in the number of lanes,
/// warps or blocks, if the source does not hold an element that is asked for,
/// or if the grids do not match up.
std::optional<Conversion> convert(const Layout &from, const Layout &to);

/// The largest number of elements (a power of two) that each lane can move by
/// one instruction: consecutive in memory, aligned, and in registers of one
/// lane, which may be any. Exact for atoms; runs are not looked for across the
/// steps of a grid. `access` goes from (register, lane, ...) to offset:
/// a distributed layout composed with a memory layout.
int64_t maxVectorWidth(const Layout &access, int64_t elementBytes,
                       int64_t maxBytes = 16);

/// Shared memory, as all NVIDIA GPUs since Volta have it.
struct SharedMemory {
  int64_t banks = 32;
  int64_t bankBytes = 4;
  int64_t lanes = 32;
};

/// Passes over the banks that one access of a warp takes; lane l touches
/// `vectorElements` elements from offset access(lane = l) on. An access of 8
/// bytes per lane is done by half warps, of 16 by quarters; lanes that touch
/// the same word share it.
int64_t wavefronts(const Layout &access, int64_t elementBytes,
                   int64_t vectorElements, const SharedMemory &memory = {});
/// The fewest that any layout could need: 1, 2 or 4 by access size.
int64_t minWavefronts(int64_t elementBytes, int64_t vectorElements,
                      const SharedMemory &memory = {});

} // namespace tessera::layout

#endif // TESSERA_SUPPORT_LAYOUT_QUERIES_H
