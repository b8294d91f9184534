// How a tile goes from the threads that hold it to those that want it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layouts are those of GpuTiles.h: a coordinate is offset(register) +
// base(lane, warp), and the parts share no bit. So each bit of a coordinate
// belongs to one bit of the lane, one of the warp, or to the register, on both
// sides; where an element is taken from follows bit by bit:
//
//     to:    lane bit 0 -> dim0*1    (a column over lanes)
//     from:  lane bit 0 -> dim1*1, register bit 0 -> dim0*1
//
// Bit 0 of dim0 is the reader's lane bit 0 and the giver's register: the reader
// chooses between two registers by a bit of its own lane (`choices`). Bit 0 of
// dim1 is a bit of the giver's lane: the reader asks that lane (`laneOf...`).
//
// Three ways, the cheapest by count: registers of one's own; shuffles, one for
// each register that is asked; shared memory, one access for each register on
// both sides (for several at a time where they are neighbours there) and two
// barriers.

#ifndef TESSERA_SUPPORT_LAYOUT_EXCHANGE_H
#define TESSERA_SUPPORT_LAYOUT_EXCHANGE_H

#include "compiler/Support/Layout/Layout.h"

namespace tessera::layout {

/// A tile in shared memory: row-major under some order of the axes, with gaps
/// after every row, and more after every 2 and 4 of them. So each bit of a
/// coordinate adds its own number of elements to the place:
///
///     place(x) = sum over axes a and bits b of x[a] of weights[a][b]
struct Board {
  std::vector<std::vector<int64_t>> weights;
  int64_t elements = 0;
  /// Passes over the banks beyond the least, for one access of a warp: the
  /// worst of the writers' and of the readers'.
  int64_t conflicts = 0;

  /// The place of a coordinate, or of an offset within one.
  int64_t placeOf(const Index &at) const;
};

/// Elements (a power of 2) that a thread of `layout` moves by one instruction:
/// its first registers, neighbours on the board, at a multiple of as many, and
/// all within `shape` or none. At most 16 bytes; 1 for elements of 8.
int64_t boardVector(const Layout &layout, const Board &board,
                    const std::vector<int64_t> &shape, int64_t elementBytes);

/// Row-major; `oddRows`: rows have odd pitch, so that a column of words touches
/// every bank once.
Board rowMajorBoard(const std::vector<int64_t> &shape, bool oddRows);

/// The board with the fewest accesses for those who write and those who read
/// (a conflict is one more), and few gaps. Elements of 8 bytes are two planes
/// of 4.
Board chooseBoard(const std::vector<int64_t> &shape,
                  const std::vector<Layout> &writers,
                  const std::vector<Layout> &readers, int64_t elementBytes);

struct Exchange {
  enum class Way { Registers, Shuffles, Shared };
  Way way = Way::Shared;
  /// What each way would take, in instructions of a thread; a pass over the
  /// banks is one. -1: not possible.
  int64_t registerCost = -1, shuffleCost = -1, sharedCost = -1;

  // Registers and shuffles: bits of the reader's thread that choose a register
  // of the giver, and for each register of the reader the giver's register by
  // choice (the first bit counts fastest); -1: nobody holds it.
  struct Choice {
    bool warp = false;
    int bit = 0;
  };
  std::vector<Choice> choices;
  std::vector<std::vector<int64_t>> sources;
  /// The giver's lane: XOR of a constant for the register and of the images of
  /// the reader's lane's and warp's bits.
  std::vector<int64_t> laneOfRegister, laneOfLane, laneOfWarp;

  // Shared memory.
  Board board;

  bool needsMemory() const { return way == Way::Shared; }
};

/// Both layouts span `shape` (at least) and have as many warps.
Exchange planExchange(const Layout &from, const Layout &to,
                      const std::vector<int64_t> &shape, int64_t elementBytes);

} // namespace tessera::layout

#endif // TESSERA_SUPPORT_LAYOUT_EXCHANGE_H
