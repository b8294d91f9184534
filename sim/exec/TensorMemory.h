// Tensor memory (sm_100a): 128 lanes of 512 columns of 32 bits.
//
// Every block has all of it, as if no other block ran on its multiprocessor,
// so tcgen05.alloc waits only for columns that its own block holds. Columns are
// given away at multiples of their number, the lowest first; in adversarial
// runs the seed picks, so that no kernel counts on address 0. An address is
// lane << 16 | column. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/Code.h"
#include <array>
#include <optional>
#include <random>

namespace tessera::sim {

struct TensorMemory {
  static constexpr uint32_t lanes = 128, columns = 512, unit = 32;
  /// What the checker keeps apart: 16 lanes of one column.
  static constexpr uint32_t groupLanes = 16;

  struct Allocation {
    uint32_t column, columns;
    const Inst *inst;
    const Inst *freed; // null while it is live
  };
  /// A warp at an instruction that a warp of the other block of the pair has
  /// to execute as well.
  struct PairStep {
    const Inst *inst = nullptr; // null: there is none
    uint32_t warp = 0, address = 0, columns = 0;
    bool isDone = false;
  };
  PairStep pairStep;
  std::vector<uint32_t> cells = std::vector<uint32_t>(lanes * columns);
  std::vector<Allocation> allocations; // in the order they were made
  const Inst *relinquished = nullptr;

  uint32_t &at(uint32_t lane, uint32_t column) {
    return cells[lane * columns + column];
  }
  /// Byte `n` of a lane, from a column on.
  uint8_t byteAt(uint32_t lane, uint32_t column, uint32_t n) {
    return uint8_t(at(lane, column + n / 4) >> n % 4 * 8);
  }
  /// The first column of so many free ones, or nothing.
  /// `other`: they are free there too.
  std::optional<uint32_t> findFree(uint32_t count, std::mt19937_64 *random,
                                   TensorMemory *other = nullptr);
  /// The live allocation that holds a column, or null.
  Allocation *find(uint32_t column);
  /// "column 96 of tensor memory is not allocated", or that it was freed.
  std::string describe(uint32_t column) const;
};

/// Lanes, by groups of 16, of neighbouring columns of a block.
struct TensorRegion {
  uint32_t column, columns;
  uint8_t groups;
};

} // namespace tessera::sim
