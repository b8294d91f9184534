// Running a block: turns of its warps, and bar/barrier.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/check/Checker.h"
#include "sim/exec/Access.h"
#include "sim/exec/BarrierFlags.h"
#include "sim/exec/Cluster.h"
#include "sim/exec/Mbarrier.h"
#include "sim/exec/RegisterPool.h"
#include "sim/exec/Tcgen05.h"
#include "sim/report/Recorder.h"

namespace tessera::sim {

Block::Block(Launch &launch, Cluster &cluster, LaunchWorker &worker,
             uint64_t linear)
    : launch(&launch), cluster(&cluster), worker(&worker), linear(linear) {
  const LaunchOptions &o = launch.options;
  BlockIndex where = blockIndex(o, linear);
  std::copy_n(where.at, 3, index);
  clusterRank = where.rank;
  threads = liveThreads = o.block[0] * o.block[1] * o.block[2];
  uint32_t used = launch.program->sharedEnd;
  if (o.dynamicShared)
    used = dynamicSharedOffset(*launch.program) + o.dynamicShared;
  userShared = used;
  // Behind them 1024 bytes are the system's (%reserved_smem_offset_*).
  sharedBytes = used;
  if (launch.program->usesReservedShared)
    sharedBytes = ((used + 15) & ~15u) + 1024;
  sharedStorage.reset(new uint8_t[sharedBytes + 1024]());
  shared = reinterpret_cast<uint8_t *>(
      (reinterpret_cast<uintptr_t>(sharedStorage.get()) + 1023) &
      ~uintptr_t(1023));
  if (launch.checker)
    checker = launch.checker->startBlock(*this);
  if (worker.counters)
    recorder = std::make_unique<report::Recorder>(*this, *worker.counters);
  unsigned count = (threads + 31) / 32;
  for (unsigned i = 0; i < count; ++i) {
    warps.push_back(std::make_unique<Warp>());
    warps.back()->start(*this, i, *launch.program->codes[0]);
  }
  clusterBarrier.arrived.assign(count, 0);
  clusterBarrier.waiting.assign(count, 0);
}

Block::~Block() = default;

Block::State Block::run(uint64_t quantum) {
  bool adversarial = launch->options.adversarial;
  uint64_t start = worker->warpInstructions;
  while (true) {
    if (launch->stop.load(std::memory_order_relaxed))
      throw Fault{Fault::Stopped, ""};
    ++turns;
    if (sleepers && turns % 64 == 0)
      wakeExpired(false);
    bool progress = false, allDone = true, spinning = true;
    for (unsigned n = 0; n < warps.size(); ++n) {
      unsigned i = (nextWarp + n) % warps.size();
      Warp &warp = *warps[i];
      if (warp.done())
        continue;
      allDone = false;
      uint64_t budget = 20000;
      if (adversarial) {
        async.poll();
        if (tensor)
          tensor->poll();
        if (warps.size() > 1 && worker->random() % 4 == 0 && warp.canRun()) {
          spinning = false;
          progress = true; // skipped on purpose
          continue;
        }
        budget = 1 + worker->random() % 200;
      }
      runningWarp = &warp;
      if (!warp.run(budget))
        continue;
      progress = true;
      if (!warp.yield)
        spinning = false;
      if (adversarial && progress &&
          worker->warpInstructions - start >= quantum) {
        account(worker->warpInstructions - start);
        spins = spinning;
        nextWarp = unsigned(worker->random() % warps.size());
        return State::Running; // also if it was its last: the next turn sees
      }
    }
    nextWarp = adversarial ? unsigned(worker->random() % warps.size()) : 0;
    if (allDone) {
      if (checker)
        checker->finished();
      isDone = true;
      return State::Done;
    }
    if (!progress)
      return State::Waiting;
    uint64_t ran = worker->warpInstructions - start;
    account(ran);
    if (ran >= quantum || spinning) {
      spins = spinning;
      return State::Running;
    }
    start = worker->warpInstructions;
    quantum -= ran;
  }
}

void Block::account(uint64_t instructions) {
  executed += instructions;
  const LaunchOptions &o = launch->options;
  auto place = [&] {
    return " in " + blockName(o, linear) +
           "; here is where each warp was: " + cluster->whereWarpsAre() +
           "if the kernel is not endless, raise ";
  };
  if (executed > o.maxInstructions)
    throw Fault{Fault::Limit, "stopped after " + std::to_string(executed) +
                                  " warp instructions" + place() +
                                  "max_instructions (" +
                                  std::to_string(o.maxInstructions) + ")"};
  // The clock is looked at a few times per second; checked instructions on
  // whole tensor maps take long.
  if (worker->warpInstructions < worker->clockAt)
    return;
  worker->clockAt = worker->warpInstructions + (1u << 14);
  std::chrono::duration<double> spent =
      std::chrono::steady_clock::now() - launch->begin;
  if (spent.count() > o.maxSeconds)
    throw Fault{Fault::Limit, "stopped after " +
                                  std::to_string(worker->warpInstructions) +
                                  " warp instructions and " +
                                  std::to_string(unsigned(spent.count())) +
                                  " s" + place() + "max_seconds (" +
                                  std::to_string(unsigned(o.maxSeconds)) + ")"};
}

bool Block::isComplete(const BlockBarrier &b) const {
  if (!b.active)
    return false;
  if (b.expected)
    return b.units >= b.expected;
  return b.threads >= liveThreads;
}

void Block::arrive(Warp &warp, unsigned index) {
  ++events;
  Group &g = warp.groups[index];
  const Inst &in = warp.frame->code->insts[g.pc];
  unsigned lane = std::countr_zero(g.mask);
  uint32_t id = warp.reg<uint32_t>(in.ops[0])[lane];
  uint32_t count = in.ops[1] == noRef ? 0 : warp.reg<uint32_t>(in.ops[1])[lane];
  if (id >= 16)
    throw Fault{Fault::IllegalInstruction,
                "barrier number " + std::to_string(id) + " is not below 16"};
  if (count % 32) {
    if (checker)
      checker->note(warp, in, "barrier-misuse",
                    "barrier thread count " + std::to_string(count) +
                        " is not a multiple of 32",
                    0);
    count = (count + 31) / 32 * 32;
  }
  BlockBarrier &b = barriers[id];
  if (!b.active) {
    b = BlockBarrier();
    b.active = true;
    b.expected = count;
    b.arrivedMask.assign(warps.size(), 0);
    b.notWaiting.assign(warps.size(), 0);
  } else if (b.expected != count && checker) {
    checker->note(warp, in, "barrier-misuse",
                  "barrier " + std::to_string(id) +
                      " is used with thread count " +
                      std::to_string(count ? count : threads) + " and " +
                      std::to_string(b.expected ? b.expected : threads) +
                      " at the same time",
                  0);
  }
  b.inst = &in;
  b.code = warp.frame->code;
  bool waits = !(in.flags & barrierArriveOnly);
  if (uint32_t again = b.arrivedMask[warp.index] & g.mask; again && checker) {
    // The ISA counts both. Warp groups that take turns give themselves the
    // first turn like that (FlashAttention-3 and -4).
    bool isOwnTurn = waits && !(again & ~b.notWaiting[warp.index]);
    checker->note(warp, in, isOwnTurn ? "remark" : "barrier-misuse",
                  "a thread arrives twice at barrier " + std::to_string(id) +
                      " before it completes" +
                      (isOwnTurn ? ", first without waiting" : ""),
                  0);
  }
  b.arrivedMask[warp.index] |= g.mask;
  if (!waits)
    b.notWaiting[warp.index] |= g.mask;
  b.threads += std::popcount(g.mask);
  b.units += g.mask == warp.live ? 32 : std::popcount(g.mask);
  if (in.ops[3] != noRef) {
    uint32_t p = warp.pred(in.ops[3]);
    if (in.flags & barrierNegated)
      p = ~p;
    p &= g.mask;
    b.popc += std::popcount(p);
    b.anyTrue |= p != 0;
    b.allTrue &= p == g.mask;
  }
  if (checker)
    checker->arriveBarrier(warp, id, g.mask);
  if (waits) {
    g.state = Group::AtBlockBarrier;
    g.barrier = id;
  } else {
    ++g.pc;
  }
  if (isComplete(b))
    complete(id);
}

void Block::complete(unsigned id) {
  BlockBarrier &b = barriers[id];
  if (checker)
    checker->completeBarrier(id, b.expected == 0);
  b.active = false;
  for (auto &warp : warps)
    for (Group &g : warp->groups) {
      if (g.state != Group::AtBlockBarrier || g.barrier != id)
        continue;
      const Inst &in = g.frame->code->insts[g.pc];
      if (in.ops[2] != noRef) {
        uint8_t *registers = g.frame->registers;
        if (in.flags & (barrierAnd | barrierOr)) {
          auto *p = reinterpret_cast<uint32_t *>(registers + in.ops[2]);
          bool value = in.flags & barrierAnd ? b.allTrue : b.anyTrue;
          *p = (*p & ~g.mask) | (value ? g.mask : 0);
        } else {
          auto *p = reinterpret_cast<uint32_t *>(registers + in.ops[2]);
          forLanes(g.mask, [&](unsigned l) { p[l] = b.popc; });
        }
      }
      g.state = Group::Ready;
      ++g.pc;
    }
}

void Block::completeBarriers() {
  for (unsigned id = 0; id < barriers.size(); ++id)
    if (barriers[id].active && barriers[id].threads && isComplete(barriers[id]))
      complete(id);
  cluster->completeBarrier();
}

void Block::wakeAt(uint32_t mbarrier) {
  if (!sleepers)
    return;
  for (auto &warp : warps)
    for (Group &g : warp->groups)
      if (g.state == Group::AtMbarrier && g.barrier == mbarrier) {
        g.state = Group::Ready;
        --sleepers;
      }
}

void Warp::wakeWarpGroup() {
  forWarpGroup([](Warp &other) {
    for (Group &g : other.groups)
      if (g.state == Group::AtWarpGroup)
        g.state = Group::Ready;
  });
}

bool Block::wakeExpired(bool all) {
  bool any = false;
  for (auto &warp : warps)
    for (Group &g : warp->groups)
      if (g.state == Group::AtMbarrier && (all || g.wakeTurn <= turns)) {
        g.state = Group::Ready;
        g.timedOut = any = true;
        --sleepers;
      }
  return any;
}

std::string Block::whereWarpsAre() const {
  // Neighbours that stand alike are named together.
  struct Place {
    unsigned first, last;
    std::string text;
  };
  std::vector<Place> places;
  for (auto &warp : warps) {
    std::string text;
    unsigned shown = 0;
    for (const Group &g : warp->groups) {
      if (++shown > 4) {
        text += ", others elsewhere";
        break;
      }
      const Inst &in = g.frame->code->insts[g.pc];
      char part[96];
      std::snprintf(part, sizeof part, "lanes 0x%08x ", g.mask);
      text += (text.empty() ? "" : ", ") + std::string(part);
      if (g.state == Group::AtBlockBarrier) {
        const BlockBarrier &b = barriers[g.barrier];
        text += "wait at barrier " + std::to_string(g.barrier) + " (" +
                std::to_string(b.expected ? b.units : b.threads) + " of " +
                std::to_string(b.expected ? b.expected : liveThreads) +
                " threads arrived)";
      } else if (g.state == Group::AtMbarrier) {
        text += "wait for " + describeMbarrier(*this, g.barrier, g.parity);
      } else if (g.state == Group::AtClusterBarrier) {
        unsigned missing = 0;
        for (auto &other : cluster->blocks)
          for (auto &late : other->warps)
            missing += std::popcount(
                late->live & ~other->clusterBarrier.arrived[late->index]);
        text += "wait at the cluster barrier (" + std::to_string(missing) +
                " threads have not arrived)";
      } else if (g.state == Group::AtWarpGroup) {
        text += "wait for wgmma of the other warps of the warp group";
      } else if (g.state == Group::AtTensorMemory) {
        const TensorMemory::PairStep &step = tensor->memory.pairStep;
        bool isAlone = step.inst && step.warp == warp->index;
        if (isAlone) {
          const auto &other = cluster->blocks[clusterRank ^ 1]->tensor;
          isAlone = !other || !other->memory.pairStep.inst;
        }
        text += isAlone ? "wait for a warp of the other block of the pair"
                        : "wait for columns of tensor memory";
      } else if (g.state == Group::AtRegisterPool) {
        text += describeRegisterWait(*this, warp->index, in);
      } else if (g.state == Group::AtWarpSync) {
        std::snprintf(part, sizeof part, "wait for lanes 0x%08x",
                      g.members & warp->live & ~g.mask);
        text += part;
      } else {
        text += "run";
      }
      text += " at " + describePlace(in, *launch);
    }
    if (warp->groups.empty())
      continue; // it is done
    if (!places.empty() && places.back().last + 1 == warp->index &&
        places.back().text == text)
      places.back().last = warp->index;
    else
      places.push_back({warp->index, warp->index, std::move(text)});
  }
  constexpr size_t most = 8;
  std::string all;
  for (size_t k = 0; k < std::min(places.size(), most); ++k) {
    const Place &p = places[k];
    all += p.first == p.last ? "warp " + std::to_string(p.first)
                             : "warps " + std::to_string(p.first) + " to " +
                                   std::to_string(p.last);
    all += " " + p.text + "; ";
  }
  if (places.size() > most)
    all += std::to_string(places.size() - most) + " more places; ";
  return all;
}

} // namespace tessera::sim
