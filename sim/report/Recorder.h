// What is recorded of a block while counting; without counting there is none.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/AsyncOps.h"
#include "sim/report/Counters.h"

namespace tessera::sim {
struct TensorMemory;
struct TensorOp;
struct WgmmaPlan;
} // namespace tessera::sim

namespace tessera::sim::report {

class Recorder {
public:
  Recorder(const Block &block, Counters &counters);

  /// A request for a copy, of one or more blocks.
  void requested(const AsyncOp &op, size_t blocks, bool isMulticast);
  void prefetched(const Inst &inst, uint64_t bytes);
  /// The part of it that signals one mbarrier, or a bulk group.
  void issued(AsyncOp &op);
  /// A thread waited for its bulk groups up to this one.
  void groupsWaited(const Warp &w, const Inst &inst, uint32_t thread,
                    uint32_t group);
  /// A group of lanes saw the last phase of an mbarrier complete.
  void waited(const Warp &w, const Inst &inst, uint32_t mbarrier,
              bool hadToWait);
  /// It waits for a phase that does not come.
  void stuck(const Warp &w, const Inst &inst, uint32_t mbarrier);
  void arrived(const Warp &w, const Inst &inst, const Block &owner,
               uint32_t mbarrier);
  /// The event of an operation in flight, or -1, is about to signal.
  void signals(int event);
  void phaseEnded(uint32_t mbarrier, uint32_t phase);
  void product(const Warp &w, const Inst &inst, const WgmmaPlan &plan);
  /// Products up to this group have ended.
  void waitedForProducts(const Warp &w, const Inst &inst, uint32_t group);
  void tensorOp(const Warp &w, const TensorOp &op);
  void tensorMove(const Warp &w, const Inst &inst);
  void allocated(const TensorMemory &memory);
  void finding(const Warp &w, unsigned line, const std::string &kind);

private:
  /// Copies of a phase of an mbarrier, or of a bulk group of a thread.
  struct InFlight {
    bool isGroup;
    uint32_t of;    // mbarrier, or thread
    uint32_t phase; // or number of the group
    uint64_t copies, bytes;
  };
  void started(InFlight one);
  void ended(bool isGroup, uint32_t of, uint32_t upTo);
  TimelineEvent event(TimelineEvent::Kind kind, const Warp &w,
                      const Inst &inst) const;
  TimelineEvent eventAt(TimelineEvent::Kind kind, const Warp &w,
                        const Inst &inst, const Block &owner,
                        uint32_t mbarrier) const;

  const Block &block;
  AsyncCounts &counts;
  Timeline *timeline = nullptr; // of the first cluster
  std::vector<InFlight> inFlight;
};

} // namespace tessera::sim::report
