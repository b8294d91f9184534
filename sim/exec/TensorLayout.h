// Where elements stand in tensor memory (PTX ISA 9.7.16.2.3.1, 9.7.16.10.5).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace tessera::sim {

/// A lane and a column, relative to the address an instruction names.
struct TensorCell {
  unsigned lane, column;
};

/// The shapes of tcgen05.ld and tcgen05.st.
enum class MoveShape : uint8_t {
  Lanes32Bits32,
  Lanes16Bits64,
  Lanes16Bits128,
  Lanes16Bits256,
  Lanes16Bits32x2,
};
/// Registers per thread for .x1.
unsigned registersOf(MoveShape shape);
/// Columns that `registers` of a thread span, without the upper half of
/// 16x32bx2.
unsigned columnsOf(MoveShape shape, unsigned registers);
/// The cell of a thread's register; 16x32bx2 has its upper half `split`
/// columns further on.
TensorCell movedCell(MoveShape shape, unsigned thread, unsigned reg,
                     unsigned split);

/// How the rows of D lie in the lanes; by the ISA's letters.
enum class DataPath : uint8_t {
  Full,      // A, D: row m in lane m
  Halves,    // B, E: two halves of the columns one below the other
  HalfLanes, // C, F: 16 of every 32 lanes
  Quarters,  // G: four quarters of the columns one below the other
};
/// The cell of row `m` of the block's rows, column `n` of N.
TensorCell accumulatorCell(DataPath path, unsigned m, unsigned n, unsigned N);
/// Columns of D for N columns of the product.
unsigned accumulatorColumns(DataPath path, unsigned N);
/// The lane of row `m` of A in tensor memory.
unsigned operandLane(DataPath path, unsigned m);

/// Where the four bits stand that tell about chunk `c` of row `m` of a sparse
/// A: `isWide` for types of 16 and 32 bits.
struct MetadataPlace {
  unsigned lane, column, bit;
};
MetadataPlace metadataPlace(bool isWide, unsigned m, unsigned c);

} // namespace tessera::sim
