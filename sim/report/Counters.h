// Exact counts of what a launch did.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/Access.h"
#include "sim/report/AsyncCounts.h"
#include "sim/report/Timeline.h"

namespace tessera::sim::report {

struct InstructionCount {
  uint64_t warps = 0;   // times issued
  uint64_t lanes = 0;   // threads that took part
  uint64_t present = 0; // threads that were in the running group
  uint64_t divergent = 0;
  uint64_t bytes = 0;        // asked for
  uint64_t sectors = 0;      // 32-byte pieces of global memory touched
  uint64_t idealSectors = 0; // if the same bytes were packed
  uint64_t wavefronts = 0;   // passes over the shared-memory banks
  uint64_t conflicts = 0;    // wavefronts beyond the least possible
  /// Lowest and highest byte touched, in global or in shared memory.
  uint64_t lowest = ~0ull, highest = 0;
};

/// cp.async that was issued and not yet waited for.
struct AsyncDepth {
  uint64_t groups = 0; // most non-empty commit groups of one thread
  uint64_t bytes = 0;  // most bytes of one block
};

struct Counters {
  AsyncDepth async;
  AsyncCounts asyncWork;
  std::shared_ptr<Timeline> timeline; // of whoever ran the first cluster
  std::vector<InstructionCount> perInstruction; // by Inst::id
  std::vector<const Inst *> instructions;

  explicit Counters(const Program &program);
  void instruction(const Inst &inst, uint32_t active, uint32_t present) {
    if (inst.id == ~0u)
      return;
    InstructionCount &c = perInstruction[inst.id];
    ++c.warps;
    c.lanes += std::popcount(active);
    c.present += std::popcount(present);
  }
  void divergence(const Inst &inst) { ++perInstruction[inst.id].divergent; }
  void access(const Inst &inst, uint32_t mask, const Access &at, unsigned bytes,
              AccessKind kind);
  void add(const Counters &other);
};

/// Totals for people, one fact per line.
std::string toText(const Counters &counters);

/// Wavefronts a shared-memory access of a warp needs: accesses of 8 bytes go
/// by half warps, of 16 bytes by quarter warps; each takes as many passes as
/// the busiest of 32 four-byte banks has different words.
unsigned sharedWavefronts(uint32_t mask, const uint64_t *address,
                          unsigned bytes, unsigned *ideal);
/// Different 32-byte sectors a warp touches.
unsigned globalSectors(uint32_t mask, const uint64_t *address, unsigned bytes);

} // namespace tessera::sim::report
