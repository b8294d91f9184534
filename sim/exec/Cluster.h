// The blocks of one cluster. They are resident together: they take turns on
// one worker, and their shared memory stays until the last of them is done.
//
// A shared address carries the rank of its block in bits 24 and above, as on
// the machine: the address of a variable is that of the executing block, mapa
// puts another rank in. Instructions on shared::cta take an address without a
// rank as well, instructions on shared::cluster take it for block 0.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/Block.h"

namespace tessera::sim {

namespace check {
struct Clock;
}

struct Cluster {
  std::vector<std::unique_ptr<Block>> blocks; // by rank
  LaunchWorker *worker;
  bool adversarial;
  bool spins = false; // all its blocks waited in the last turn
  /// barrier.cluster: phases completed so far, and what arrivals released.
  uint32_t phase = 0;
  std::shared_ptr<const check::Clock> arriving, completed;

  Cluster(Launch &launch, LaunchWorker &worker, uint64_t number);
  ~Cluster();

  /// Lets the blocks take turns for about `quantum` warp instructions.
  Block::State run(uint64_t quantum);
  /// Ends the phase of barrier.cluster if all threads have arrived.
  void completeBarrier();
  /// Completes operations that signal this mbarrier until its phase changes.
  void completeFor(Block &owner, uint32_t mbarrier);
  /// Calls f(op) for operations that have still to signal an mbarrier of
  /// `target`, whichever block issued them.
  template <class F> void forComing(const Block &target, F f) const {
    for (const auto &block : blocks)
      for (const auto &op : block->async.inFlight())
        if (op->signal != AsyncOp::BulkGroup && op->target == &target)
          f(*op);
  }
  /// Where every warp of every block is, and what it waits for.
  std::string whereWarpsAre() const;
  /// A fault ends the launch: records who waits at mbarriers, while counting.
  void recordWaits() const;

private:
  uint64_t events() const;
  bool completeOne();
  bool wakeExpired();
  [[noreturn]] void deadlock() const;

  /// How often all sleepers had to give up without any event.
  unsigned idle = 0;
  uint64_t idleSince = ~0ull;
};

/// The block of this rank in the cluster of `block`; faults if there is none.
/// Ranks that differ in the last bit only are a pair.
Block &pairBlock(Block &block, unsigned rank);

/// Grid coordinates of a block; blocks of a cluster are numbered one after the
/// other.
struct BlockIndex {
  uint32_t at[3];
  unsigned rank; // in the cluster
};
BlockIndex blockIndex(const LaunchOptions &options, uint64_t linear);
/// "block (1,0,0)", in a cluster "block (1,0,0) (rank 1 of its cluster)".
std::string blockName(const LaunchOptions &options, uint64_t linear);
/// " of block (1,0,0) (rank 1 of its cluster)", or nothing without a cluster:
/// whose shared memory is meant.
std::string ofBlock(const Block &block);

} // namespace tessera::sim
