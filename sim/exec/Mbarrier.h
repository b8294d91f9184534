// mbarrier objects: what other parts of the simulator do with them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/Block.h"

namespace tessera::sim {

struct AsyncOp;

/// The object's 64-bit word: bits 0-19 pending arrivals, 20-39 expected
/// arrivals, 40-60 transaction bytes (signed), 62 initialised, 63 phase.
struct MbarrierWord {
  uint64_t pending, expected;
  int64_t tx;
  bool live, parity;
  static constexpr uint64_t countMask = (1u << 20) - 1;

  explicit MbarrierWord(uint64_t w)
      : pending(w & countMask), expected(w >> 20 & countMask),
        tx(int64_t(w << 3) >> 43), live(w >> 62 & 1), parity(w >> 63) {}
  uint64_t word() const {
    return (pending & countMask) | (expected & countMask) << 20 |
           (uint64_t(tx) & 0x1fffff) << 40 | uint64_t(live) << 62 |
           uint64_t(parity) << 63;
  }
};

/// What a wait of one group of lanes found.
struct MbarrierWait {
  uint32_t done = 0;   // lanes whose phase is complete
  bool isSame = true;  // all lanes wait for one phase of one object
  uint32_t offset = 0; // of the object
  bool parity = false; // of the phase it waits for
};
MbarrierWait mbarrierTest(Warp &w, const Inst &inst, uint32_t mask);
/// Tells the checker about the lanes whose wait succeeds, and answers.
void mbarrierAnswer(Warp &w, const Inst &inst, uint32_t mask,
                    const MbarrierWait &wait);

/// complete-tx of an asynchronous operation.
void mbarrierCompleteTx(const AsyncOp &op);
/// The arrive-on that cp.async.mbarrier.arrive asked for.
void mbarrierArriveOn(const AsyncOp &op);
/// cp.async.mbarrier.arrive without .noinc: one more arrival is pending.
void mbarrierAddPending(Warp &w, unsigned lane, const SharedPlace &at);

/// The object a lane's address means; faults if it is none.
SharedPlace mbarrierPlace(Warp &w, unsigned lane, uint64_t address,
                          bool reachesCluster);
MbarrierWord mbarrierWord(const Block &block, uint32_t offset);
/// "phase 1 of the mbarrier 'full' at shared address 1024 (1 of 2 arrivals
/// and 4096 bytes are missing)"
std::string describeMbarrier(const Block &block, uint32_t offset, bool parity);
/// "the mbarrier 'full'+8 at shared address 1032"
std::string mbarrierName(const Block &block, uint32_t offset);

} // namespace tessera::sim
