// Layouts that hardware prescribes: swizzles, mma fragments, ldmatrix, AMX.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tile axes are dim0, dim1 with the meaning each function states. Offsets are
// in elements.

#ifndef TESSERA_SUPPORT_LAYOUT_INSTANCES_H
#define TESSERA_SUPPORT_LAYOUT_INSTANCES_H

#include "compiler/Support/Layout/Layout.h"

namespace tessera::layout {

/// (dim0, dim1) -> offset, row by row. Any sizes.
Layout rowMajor(int64_t rows, int64_t columns);
/// (dim0, dim1) -> offset, column by column. Any sizes.
Layout columnMajor(int64_t rows, int64_t columns);

/// (dim0, dim1) -> offset, row by row, where groups of `vec` elements are
/// XORed with the row: group ^= (row / perPhase) % maxPhase. All powers of two,
/// and vec * maxPhase <= columns.
Layout xorSwizzle(int64_t rows, int64_t columns, int64_t vec, int64_t perPhase,
                  int64_t maxPhase);

/// How much to swizzle so that reading or writing `vectorBytes` per lane down
/// a column of a row-major tile is free of bank conflicts.
struct Swizzle {
  int64_t vec = 1, perPhase = 1, maxPhase = 1;
};
Swizzle chooseSwizzle(int64_t columns, int64_t elementBytes,
                      int64_t vectorBytes);

/// A box that TMA writes to shared memory with a swizzle mode of 32, 64 or 128
/// bytes, which is also the length of its rows: (dim0, dim1) -> offset.
Layout tmaSwizzle(int64_t rows, int64_t elementBytes, int64_t swizzleBytes);

/// Fragments of mma.sync, as the PTX ISA's formulas have them (9.7.14.5): with
/// g = lane / 4, t = lane % 4 and E elements in a register of 32 bits (1 for
/// tf32 and f64), element j of register r is
///     A  row g + 8 (r % 2) if m is 16, k = (r / 2) 4 E + t E + j;
///        row g if m is 8, k = r 4 E + t E + j
///     B  k = r 4 E + t E + j, column g
///     C  element i: row g + 8 (i / 2), column 2 t + i % 2
/// (register, lane) -> (dim0, dim1); registers hold one element here, so they
/// count j first. A is (m, k), B (k, n), C and D (m, n); n is 8.
Layout mmaA(int64_t m, int64_t k, int64_t perRegister);
Layout mmaB(int64_t k, int64_t perRegister);
Layout mmaC(int64_t m);

/// Operand fragments of mma.sync.m16n8k16 on 16-bit types, as the PTX ISA
/// shows them: (register, lane) -> (dim0, dim1); registers hold one element.
/// A is (m, k) 16x16, B is (k, n) 16x8, C and D are (m, n) 16x8.
Layout mmaM16N8K16A();
Layout mmaM16N8K16B();
Layout mmaM16N8K16C();

/// ldmatrix .x4 on 16-bit types: lane l gives the address of a row of 8
/// elements, `register` runs along that row. (register, lane) -> 16x16, with
/// the four 8x8 matrices in the order the A fragment wants them.
Layout ldmatrixX4Addresses();
/// What ldmatrix .x4 leaves in registers: equal to mmaM16N8K16A().
Layout ldmatrixX4Result();

/// An AMX tile of 16 rows of 64 bytes as it is in memory, row by row:
/// (dim0, dim1) -> offset. A is (m, k).
Layout amxTileA(int64_t elementBytes);
/// The right operand (k, n): groups of 4 / elementBytes rows are interleaved
/// ("VNNI"), so that one 32-bit column holds consecutive k.
Layout amxTileB(int64_t elementBytes);

} // namespace tessera::layout

#endif // TESSERA_SUPPORT_LAYOUT_INSTANCES_H
