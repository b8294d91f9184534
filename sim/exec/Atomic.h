// Read-modify-write operations, for atom, red and asynchronous reductions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/ptx/Types.h"
#include <cstdint>

namespace tessera::sim {

class Decoder;

enum class AtomicOp : uint8_t {
  Add,
  Min,
  Max,
  Inc,
  Dec,
  And,
  Or,
  Xor,
  Exch,
  Cas
};

/// The operation the modifiers name; fails if there is none.
AtomicOp decodeAtomicOp(const Decoder &d);
/// Combines the word at `p` with `b` (and `c`, for cas) and returns what was
/// there. f32 additions in global memory flush subnormals.
uint64_t applyAtomic(uint8_t *p, ptx::Type type, AtomicOp op, uint64_t b,
                     uint64_t c, bool global);
/// Ring mode: the elements of one word.
uint64_t applyRing(uint8_t *p, ptx::Type type, AtomicOp op, uint64_t b);

} // namespace tessera::sim
