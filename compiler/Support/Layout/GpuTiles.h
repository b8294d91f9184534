// Layouts of a GPU block: fragments over warps, swizzled shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile of a block is held by its threads: (register, lane, warp) -> (dim0,
// dim1, ...). Layouts cover at least the tile; positions beyond it do not
// exist. In all of them the register part and the thread part of a coordinate
// share no bit, so a coordinate is their sum:
//
//     coordinate(register, lane, warp) =
//         offset(register) + base(lane, warp)
//
// which is what makes code from them cheap: the base is computed once.
//
// Worked example, mmaResult(32, 32, {2, 2}), four warps: the 16x8 fragment of
// mma.sync is laid 2x2 over the warps (32x16), and that twice along dim1:
//
//     #layout<register:[(0,1),(8,0)], lane:[(0,2),(0,4),(1,0),(2,0),(4,0)],
//             warp:[(0,8),(16,0)] -> (32x16),
//             repeat [2: register*4 -> dim1*16]>

#ifndef TESSERA_SUPPORT_LAYOUT_GPUTILES_H
#define TESSERA_SUPPORT_LAYOUT_GPUTILES_H

#include "compiler/Support/Layout/Layout.h"

#include <array>

namespace tessera::layout {

/// How the warps of a block share the result of a matrix product. Powers of 2.
struct WarpGrid {
  int64_t rows = 1, columns = 1;
  int64_t count() const { return rows * columns; }
};

/// `warps` over an m x n result: near-square pieces, at least a fragment each.
/// `rowsOnly`: a warp keeps whole rows, so that the result can be the left
/// operand of another product without leaving its registers.
WarpGrid chooseWarpGrid(int64_t m, int64_t n, int64_t warps, bool rowsOnly);

/// A form of mma.sync: its sizes, and how many elements of an operand one
/// register of 32 bits holds (1 for tf32 and f64).
struct MmaShape {
  int64_t m = 16, n = 8, k = 16, perRegister = 2;
  bool sparse = false; ///< the left operand has half of k
  int64_t kOfLhs() const { return sparse ? k / 2 : k; }
};

/// Result and operands of mma.sync, repeated to cover the tile: (m, n), (m, k)
/// and (k, n). Registers count the fragment first, then along k (operands) or n
/// (result), then the other dim.
Layout mmaResult(int64_t m, int64_t n, WarpGrid warps, MmaShape shape = {});
Layout mmaLhs(int64_t m, int64_t k, WarpGrid warps, MmaShape shape = {});
Layout mmaRhs(int64_t k, int64_t n, WarpGrid warps, MmaShape shape = {});

/// The fragment of an instruction spread over warps, whose rows go along
/// `rowAxis` of the fragment and columns along `columnAxis` (-1: all of them
/// hold the same), and repeated in registers to cover `size0` x `size1`, along
/// `first` first.
Layout fragments(const Layout &atom, WarpGrid warps, int rowAxis,
                 int columnAxis, int first, int64_t size0, int64_t size1);

/// Beside a sparse left operand of 16-bit elements: which of four they are, for
/// 32 positions of k in an i32 (m, k / 32). All four lanes of a row have it.
Layout mmaMeta(int64_t m, int64_t words, WarpGrid warps);
/// Factors of 32 elements of k, one byte each (m, k / 32) and (k / 32, n): a
/// row's from lane 4 g, the row's eight below from the lane after it.
Layout mmaLhsScale(int64_t m, int64_t scales, WarpGrid warps);
Layout mmaRhsScale(int64_t scales, int64_t n, WarpGrid warps);

/// Operands of a product without tensor cores, whose result is held as
/// `result`: each thread uses whole rows (m, k) and columns (k, n) of them.
Layout fmaLhs(const Layout &result, int64_t k);
Layout fmaRhs(const Layout &result, int64_t k);

/// A tile of any shape for element-wise work: lanes along the last dim first,
/// then the others; warps over the first dims first, then the last. Along
/// `withinWarp`, if there is such a dim, a warp keeps all (a scan).
Layout blocked(const std::vector<int64_t> &shape, int64_t warps,
               int64_t withinWarp = -1, int64_t lanes = 32);

/// The same for a tile that is loaded or stored: neighbours along `unit` are
/// neighbours in memory. A thread holds groups of `vector` of them (a power of
/// 2), fewer where threads would be left without work; lanes go along `unit`
/// first.
Layout blockedFor(const std::vector<int64_t> &shape, int64_t warps,
                  int64_t unit, int64_t vector, int64_t lanes = 32);

/// How an access of a tile held as `layout` lies in memory whose neighbours are
/// along `unit`.
struct MemoryRuns {
  int64_t vector = 1; ///< neighbours that one thread holds
  int64_t run = 1;    ///< neighbours that a warp's lanes hold, one vector each
};
MemoryRuns memoryRuns(const Layout &layout, int64_t unit);

/// The layout of a reduction's result along `axis`: that output is dropped,
/// the later ones move up, registers that held nothing else are gone.
Layout sliced(const Layout &layout, int64_t axis);

/// Where the rows of `contiguous` elements of a tile are in shared memory:
/// blocks of 8 rows by up to 128 bytes whose 16-byte groups are XORed with the
/// row, so that both a row and a column of 8 groups touch every bank once.
/// (dim0, dim1) -> offset; dim1 is contiguous unless `contiguousAxis` is 0.
/// The contiguous size is a multiple of 16 elements, the other of 8.
Layout sharedTile(int64_t dim0, int64_t dim1, int contiguousAxis,
                  int64_t elementBytes);

/// That, and other ways to XOR: wider groups, other rows. For readers of single
/// elements whose lanes lie otherwise than rows and columns of 16-byte groups.
std::vector<Layout> sharedTiles(int64_t dim0, int64_t dim1, int contiguousAxis,
                                int64_t elementBytes);

/// Lanes of the first warp copying `sharedTile` in groups of 16 bytes, as many
/// as fit a row of a block, then the next row: (lane) -> (dim0, dim1).
Layout copyLanes(const Layout &memory, int contiguousAxis,
                 int64_t elementBytes);

/// How ldmatrix fills a fragment from shared memory. Its matrices are 8 rows of
/// 16 bytes, a register of 32 bits of each lane; four are one instruction.
struct MatrixLoad {
  bool transposed = false; ///< .trans: rows in memory run across the registers
  int64_t matrices = 4;    ///< .x4, .x2 or .x1
  /// (lane) -> (dim0, dim1): the row whose address each lane gives, relative
  /// to the first register of the group.
  Layout lanes;
};
/// Nullopt if the fragment is not made of ldmatrix's matrices, or would have to
/// be transposed in units of other than 16 bits.
std::optional<MatrixLoad> matrixLoad(const Layout &fragment, int contiguousAxis,
                                     int64_t elementBytes = 2);

/// The axis along which `memory` is contiguous.
int contiguousAxis(const Layout &memory);

/// Extra passes over the banks that one access of a warp takes. Lane l touches
/// `vectorElements` elements at memory(lanes(l)).
int64_t bankConflicts(const Layout &lanes, const Layout &memory,
                      int64_t elementBytes, int64_t vectorElements);

} // namespace tessera::layout

#endif // TESSERA_SUPPORT_LAYOUT_GPUTILES_H
