// barrier.cluster, and when a block's shared memory is there for the others.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/check/Checker.h"
#include "sim/check/Semantics.h"
#include "sim/exec/Cluster.h"

namespace tessera::sim::check {

Block &BlockChecker::peer(uint32_t linear) const {
  return *block.cluster->blocks[linear % block.cluster->blocks.size()];
}

void BlockChecker::clusterArrive(Warp &w, const Inst &i, uint32_t mask) {
  if (mask & block.clusterBarrier.waiting[w.index])
    note(w, i, "barrier-misuse",
         "a thread arrives twice at the cluster barrier without a wait", 0);
  bool isRelease = (i.semantics & orderMask) == check::release;
  ClockPtr &arriving = block.cluster->arriving;
  auto joined =
      arriving ? std::make_shared<Clock>(*arriving) : std::make_shared<Clock>();
  const Clock *last = nullptr; // neighbours mostly know the same
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned t = w.index * 32 + unsigned(std::countr_zero(m));
    ThreadState &s = threads[t];
    ++s.clusterArrivals;
    const Clock *mine = isRelease ? s.known.get() : s.released.get();
    if (mine && mine != last) {
      joined->join(*mine);
      last = mine;
    }
    if (isRelease)
      joined->know(block.linear, t, s.epoch++, owner.threadsPerBlock);
  }
  arriving = joined;
}

void BlockChecker::clusterWait(Warp &w, const Inst &i, uint32_t mask) {
  const Cluster &cluster = *block.cluster;
  if (!cluster.completed)
    return; // a wait without an arrive
  bool isAcquire = (i.semantics & orderMask) == check::acquire;
  bool isAlone = cluster.blocks.size() == 1;
  ClockPtr before, after; // of the lane before
  for (uint32_t m = mask; m; m &= m - 1) {
    ThreadState &s = threads[w.index * 32 + unsigned(std::countr_zero(m))];
    ++s.clusterWaits;
    if (!isAcquire && isAlone)
      continue;
    if (s.known != before) {
      before = s.known;
      auto joined = std::make_shared<Clock>(*before);
      if (isAcquire)
        joined->join(*cluster.completed);
      // Whoever is through knows that all the blocks have started.
      if (!isAlone)
        for (const auto &other : cluster.blocks)
          joined->blocks[other->linear].know(startAgent, 1);
      after = joined;
    }
    s.known = after;
  }
}

void BlockChecker::remoteUse(Warp &w, const Inst &i, unsigned lane,
                             BlockChecker &there, uint64_t address,
                             uint32_t mbarrierEpoch) {
  unsigned t = w.index * 32 + lane;
  const ThreadState &self = threads[t];
  auto number = uint32_t(there.block.linear);
  if (!self.known->blocks.count(number) &&
      !owner.launch.isReported("unstarted-block", i.line, 0))
    report("unstarted-block", w, i, lane, address, nullptr,
           threadName(w, lane) + " uses " + where(address, &there.block) +
               " at " + describePlace(i, owner.launch) +
               ", though nothing orders that after the start of that block: a "
               "barrier.cluster comes first");
  there.remoteUses[block.linear << 32 | t] = {
      uint32_t(block.linear),
      t,
      self.epoch,
      self.clusterArrivals,
      uint32_t(address),
      mbarrierEpoch,
      &i,
  };
}

/// The block is done. What others did to its memory has to be before the end
/// of one of its threads: either that thread learned of it, or it waited at a
/// cluster barrier at which the other one arrived afterwards, or for the phase
/// of an mbarrier that the other one's operation took part in. Even a relaxed
/// arrival comes after what the thread did before.
void BlockChecker::finishCluster() {
  Clock all;
  const Clock *last = nullptr;
  uint32_t waits = 0;
  for (const ThreadState &t : threads) {
    waits = std::max(waits, t.clusterWaits);
    if (t.known.get() == last)
      continue;
    last = t.known.get();
    all.join(*last);
  }
  std::string name = blockName(owner.launch.options, block.linear);
  for (const auto &[key, use] : remoteUses) {
    if (all.of(use.block, use.thread) >= use.epoch || waits > use.phase ||
        (use.mbarrierEpoch &&
         mbarriers[use.address].observed >= use.mbarrierEpoch))
      continue;
    if (owner.launch.isReported("exited-block", use.inst->line, 0))
      continue;
    Warp &w = *peer(use.block).warps[use.thread / 32];
    unsigned lane = use.thread % 32;
    report("exited-block", w, *use.inst, lane, use.address, nullptr,
           threadName(w, lane) + " uses " + where(use.address, &block) +
               " at " + describePlace(*use.inst, owner.launch) + ", and " +
               name +
               " does not wait for that before it exits: its memory may be "
               "gone (barrier.cluster)");
  }
  auto stillReads = [&](const Mark &mark) {
    unsigned thread = mark.issuer & 0xffff;
    report("exited-block", *block.warps[thread / 32], *mark.inst, thread % 32,
           0, nullptr,
           name + " exits without knowing that " +
               opName(*mark.inst, owner.launch) + " of thread " +
               std::to_string(thread) + " has read its shared memory");
  };
  for (const auto &[key, mark] : remoteReads)
    if (all.of(mark.block, mark.thread) < mark.epoch)
      stillReads(mark);
  for (const auto &op : block.async.inFlight())
    if (op->from == AsyncOp::Shared && op->signal != AsyncOp::BulkGroup &&
        op->target != &block)
      stillReads(agentMark(*op, false));
}

} // namespace tessera::sim::check
