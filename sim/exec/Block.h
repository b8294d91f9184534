// A thread block: warps, shared memory and barriers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/AsyncOps.h"
#include "sim/exec/Launch.h"
#include "sim/exec/Warp.h"
#include <unordered_map>

namespace tessera::sim {

struct BlockBarrier {
  uint32_t threads = 0;  // arrived
  uint32_t units = 0;    // arrived, whole warps counted as 32
  uint32_t expected = 0; // given count, 0 for all
  bool active = false;
  uint32_t popc = 0;
  bool allTrue = true, anyTrue = false;
  const Inst *inst = nullptr;
  std::vector<uint32_t> arrivedMask; // lanes per warp, for reports and checks
  std::vector<uint32_t> notWaiting;  // those that arrived without waiting
  const Code *code = nullptr;        // of the function with `inst`
};

/// What is known of an mbarrier object beside its word.
struct MbarrierRecord {
  uint32_t phase = 0;                              // phases completed so far
  const Inst *expect = nullptr, *arrive = nullptr; // the last ones
  int64_t expected = 0; // bytes, in the current phase
};

/// A place in the shared memory of a block of the cluster.
struct SharedPlace {
  Block *block;
  uint32_t offset;
};

/// barrier.cluster: lanes per warp.
struct ClusterBarrier {
  std::vector<uint32_t> arrived; // in the current phase
  std::vector<uint32_t> waiting; // arrived, and did not wait yet
};

namespace report {
class Recorder;
}

struct Cluster;
class TensorUnit;
struct RegisterPool;

struct Block {
  Launch *launch = nullptr;
  Cluster *cluster = nullptr;
  LaunchWorker *worker = nullptr;
  uint32_t index[3] = {0, 0, 0};
  uint64_t linear = 0;
  unsigned clusterRank = 0;
  std::vector<std::unique_ptr<Warp>> warps;
  std::unique_ptr<uint8_t[]> sharedStorage;
  uint8_t *shared = nullptr;
  uint32_t userShared = 0;  // bytes of the program
  uint32_t sharedBytes = 0; // with the system's, if the kernel asks for them
  std::vector<BlockBarrier> barriers{16};
  unsigned threads = 0;
  unsigned liveThreads = 0;
  bool isDone = false;
  unsigned nextWarp = 0;
  uint64_t executed = 0;
  bool spins = false;      // all its warps waited in the last turn
  uint64_t asyncBytes = 0; // cp.async in flight, while counting
  AsyncQueue async{*this};
  std::shared_ptr<TensorUnit> tensor;         // once it executed tcgen05
  std::shared_ptr<RegisterPool> registerPool; // once it executed setmaxnreg
  /// Where it saw that clusterlaunchcontrol.try_cancel failed.
  const Inst *sawNoCancel = nullptr;
  ClusterBarrier clusterBarrier;
  std::unordered_map<uint32_t, MbarrierRecord> mbarriers; // by offset
  uint64_t events = 0;   // grows when something happens that may end a wait
  uint64_t turns = 0;    // rounds over the warps
  unsigned sleepers = 0; // groups that wait at mbarriers
  std::unique_ptr<check::BlockChecker> checker;
  std::unique_ptr<report::Recorder> recorder; // while counting

  Block(Launch &launch, Cluster &cluster, LaunchWorker &worker,
        uint64_t linear);
  ~Block();

  /// Waiting: no thread could go on.
  enum class State { Running, Waiting, Done };
  /// Runs about `quantum` warp instructions.
  State run(uint64_t quantum);
  /// The group executes the barrier instruction it stands at.
  void arrive(Warp &warp, unsigned group);
  void completeBarriers();
  void arriveCluster(Warp &warp, const Inst &inst, uint32_t mask);
  void finishClusterWait(Warp &warp, const Inst &inst, uint32_t mask);
  /// The phase of an mbarrier changed: groups that wait for it look again.
  void wakeAt(uint32_t mbarrier);
  /// Waits at mbarriers whose time limit is over return false; with `all`,
  /// every one. False if there was none.
  bool wakeExpired(bool all);
  void complete(unsigned id);
  /// Counts what was executed; ends a launch that takes too long.
  void account(uint64_t instructions);
  bool isComplete(const BlockBarrier &barrier) const;
  /// Where every warp is, and what it waits for.
  std::string whereWarpsAre() const;
};

template <class F> void Warp::forWarpGroup(F f) {
  size_t first = index / 4 * 4;
  size_t end = std::min(first + 4, block->warps.size());
  for (size_t k = first; k < end; ++k)
    if (k != index)
      f(*block->warps[k]);
}

} // namespace tessera::sim
