// Vector clocks and per-byte state, see Checker.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/check/Checker.h"

#include "sim/check/Semantics.h"
#include "sim/check/Shadow.h"
#include "sim/check/UnwrittenValues.h"
#include "sim/exec/BarrierFlags.h"
#include "sim/exec/Cluster.h"
#include "sim/exec/Mbarrier.h"

namespace tessera::sim::check {

using ptx::Space;

uint32_t Clock::BlockView::of(uint32_t thread) const {
  if (thread >= firstAgent) {
    auto it = std::lower_bound(agents.begin(), agents.end(),
                               std::pair<uint32_t, uint32_t>(thread, 0));
    return it != agents.end() && it->first == thread ? it->second : 0;
  }
  return each.empty() ? uniform : std::max(uniform, each[thread]);
}

void Clock::BlockView::know(uint32_t agent, uint32_t epoch) {
  auto it = std::lower_bound(agents.begin(), agents.end(),
                             std::pair<uint32_t, uint32_t>(agent, 0));
  if (it != agents.end() && it->first == agent)
    it->second = std::max(it->second, epoch);
  else
    agents.insert(it, {agent, epoch});
}

void Clock::BlockView::join(const BlockView &other) {
  uniform = std::max(uniform, other.uniform);
  for (auto [agent, epoch] : other.agents)
    know(agent, epoch);
  if (other.each.empty())
    return;
  if (each.empty()) {
    each = other.each;
    return;
  }
  for (size_t t = 0; t < each.size(); ++t)
    each[t] = std::max(each[t], other.each[t]);
}

void Clock::join(const Clock &other) {
  for (const auto &[block, view] : other.blocks)
    blocks[block].join(view);
  for (unsigned k = 0; k < proxyCount; ++k)
    for (const auto &[block, view] : other.fenced[k])
      fenced[k][block].join(view);
}

void Clock::know(uint64_t block, unsigned thread, uint32_t epoch,
                 unsigned threadsPerBlock) {
  BlockView &view = blocks[block];
  if (view.each.empty())
    view.each.assign(threadsPerBlock, 0);
  view.each[thread] = std::max(view.each[thread], epoch);
}

Checker::Checker(Launch &launch)
    : launch(launch),
      threadsPerBlock(launch.options.block[0] * launch.options.block[1] *
                      launch.options.block[2]) {}
Checker::~Checker() = default;

std::unique_ptr<BlockChecker> Checker::startBlock(Block &block) {
  return std::make_unique<BlockChecker>(*this, block);
}
void Checker::finish() {}

ByteState &Checker::globalByte(uint64_t address) {
  uint64_t page = address >> pageBits;
  if (page != lastPage) {
    auto &slot = pages[page];
    if (!slot)
      slot = std::make_unique<std::vector<ByteState>>(1u << pageBits);
    lastPage = page;
    lastStates = slot.get();
  }
  return (*lastStates)[address & ((1u << pageBits) - 1)];
}

BlockChecker::BlockChecker(Checker &owner, Block &block)
    : owner(owner), block(block), threads(block.threads),
      shared(block.sharedBytes), sharedWritten(block.sharedBytes, 0),
      arrivals(16) {
  auto nothing = std::make_shared<Clock>();
  for (ThreadState &t : threads)
    t.known = nothing;
  // The reserved bytes belong to the system and start as zero.
  std::fill(sharedWritten.begin() + block.userShared, sharedWritten.end(), 1);
  // Between the variables nothing belongs to anybody.
  const Program &program = *owner.launch.program;
  uint32_t end = 0;
  auto gap = [&](uint32_t to) {
    if (to > end)
      std::fill(sharedWritten.begin() + end, sharedWritten.begin() + to,
                sharedNobody);
  };
  for (const auto &v : program.sharedVariables) {
    gap(v.offset);
    end = v.offset + v.bytes;
  }
  if (owner.launch.options.dynamicShared)
    gap(dynamicSharedOffset(program));
}

void BlockChecker::note(Warp &w, const Inst &i, const char *kind,
                        std::string message, uint64_t address) {
  Report r;
  r.kind = kind;
  r.ptxLine = i.line;
  r.source = sourcePlace(i, owner.launch);
  r.thread = "block " + std::to_string(w.block->linear) + " warp " +
             std::to_string(w.index);
  r.address = address;
  r.message = message + " at " + describePlace(i, owner.launch) + ", " +
              blockName(owner.launch.options, w.block->linear) + " warp " +
              std::to_string(w.index);
  owner.launch.addReport(std::move(r));
}

ClockPtr BlockChecker::release(unsigned t) {
  ThreadState &s = threads[t];
  auto clock = std::make_shared<Clock>(*s.known);
  clock->know(block.linear, t, s.epoch, owner.threadsPerBlock);
  ++s.epoch;
  return clock;
}

void BlockChecker::acquire(unsigned t, const ClockPtr &clock) {
  if (!clock || clock == threads[t].known)
    return;
  auto joined = std::make_shared<Clock>(*threads[t].known);
  joined->join(*clock);
  threads[t].known = joined;
}

bool BlockChecker::ordered(const Mark &mark, unsigned thread) const {
  if (mark.block == block.linear && mark.thread == thread)
    return true;
  return threads[thread].known->of(mark.block, mark.thread) >= mark.epoch;
}

void BlockChecker::reportRace(Warp &w, const Inst &i, unsigned lane,
                              const Mark &other, uint64_t address,
                              const Block *sharedOf, const char *what) {
  if (owner.launch.isReported("race", i.line,
                              other.inst ? other.inst->line : 0))
    return;
  Report r;
  r.kind = "race";
  r.ptxLine = i.line;
  r.source = sourcePlace(i, owner.launch);
  r.thread = threadName(w, lane);
  r.otherThread = threadName(owner.launch.options, other.block, other.thread);
  r.otherPtxLine = other.inst ? other.inst->line : 0;
  r.otherSource = other.inst ? sourcePlace(*other.inst, owner.launch) : "";
  r.address = address;
  r.message = std::string(what) + " race on " + where(address, sharedOf) +
              ": " + r.thread + " at " + describePlace(i, owner.launch) +
              " and " + r.otherThread + " at " +
              (other.inst ? describePlace(*other.inst, owner.launch) : "?") +
              " are not ordered";
  owner.launch.addReport(std::move(r));
}

bool BlockChecker::morallyStrong(const Inst &a, const Mark &mark) const {
  const Inst &b = *mark.inst;
  if ((a.semantics & orderMask) == weak || (b.semantics & orderMask) == weak)
    return false;
  if (mark.block == block.linear)
    return true;
  uint64_t size = block.cluster->blocks.size();
  uint8_t needed =
      mark.block / size == block.linear / size ? scopeCluster : scopeDevice;
  return (a.semantics & scopeMask) >= needed &&
         (b.semantics & scopeMask) >= needed;
}

void BlockChecker::checkByte(ByteState &byte, Warp &w, const Inst &i,
                             unsigned lane, uint64_t address,
                             const Block *sharedOf, AccessKind kind,
                             bool sameValue) {
  unsigned thread = w.index * 32 + lane;
  ThreadState &self = threads[thread];
  Mark mark{thread, uint32_t(block.linear), self.epoch, 0, &i};
  if (byte.pendingCopy) {
    Report r;
    r.kind = "async-copy";
    r.ptxLine = i.line;
    r.source = sourcePlace(i, owner.launch);
    r.thread = threadName(w, lane);
    r.otherPtxLine = byte.pendingCopy->line;
    r.address = address;
    r.message =
        r.thread + " touches shared address " + std::to_string(address) +
        " at " + describePlace(i, owner.launch) +
        " before the cp.async of thread " + std::to_string(byte.pendingThread) +
        " at " + describePlace(*byte.pendingCopy, owner.launch) +
        " is waited for";
    owner.launch.addReport(std::move(r));
  }
  const Mark &write = byte.write;
  bool isRead = kind == AccessKind::Read;
  if (write.isAsync() && !ordered(write, thread))
    reportAsync(w, i, lane, write, address, sharedOf, true);
  else if (write.inst && !sameValue && !ordered(write, thread) &&
           !morallyStrong(i, write))
    reportRace(w, i, lane, write, address, sharedOf,
               isRead ? "read-after-write" : "write-after-write");
  if (isRead) {
    Mark &read = byte.read;
    if (!read.inst || ordered(read, thread)) {
      read = mark;
      return;
    }
    if (!byte.readers)
      byte.readers = std::make_unique<std::vector<Mark>>();
    auto &list = *byte.readers;
    for (Mark &r : list)
      if (r.thread == thread && r.block == mark.block) {
        r = mark;
        return;
      }
    // Forget readers that are ordered before this one; keep a bounded number.
    if (list.size() >= 64)
      std::erase_if(list, [&](const Mark &r) { return ordered(r, thread); });
    if (list.size() < 1024)
      list.push_back(mark);
    return;
  }
  auto against = [&](const Mark &r) {
    if (r.isAsync() && !ordered(r, thread))
      reportAsync(w, i, lane, r, address, sharedOf, false);
    else if (r.inst && !ordered(r, thread) && !morallyStrong(i, r))
      reportRace(w, i, lane, r, address, sharedOf, "write-after-read");
  };
  against(byte.read);
  if (byte.readers) {
    for (const Mark &r : *byte.readers)
      against(r);
    byte.readers.reset();
  }
  byte.read = Mark();
  byte.write = mark;
}

void BlockChecker::synchronise(Warp &w, const Inst &i, unsigned lane,
                               SyncVariable &v, AccessKind kind) {
  unsigned t = w.index * 32 + lane;
  uint8_t order = i.semantics & orderMask;
  bool isRed = kind == AccessKind::Atomic && (i.flags & 1);
  bool reads =
      kind == AccessKind::Read || (kind == AccessKind::Atomic && !isRed);
  bool writes = kind != AccessKind::Read;
  if (reads && v.released) {
    if (order == check::acquire || order == acquireRelease) {
      acquire(t, v.released);
    } else {
      auto joined = threads[t].pending
                        ? std::make_shared<Clock>(*threads[t].pending)
                        : std::make_shared<Clock>();
      joined->join(*v.released);
      threads[t].pending = joined;
    }
  }
  if (!writes)
    return;
  ClockPtr mine;
  if (order == check::release || order == acquireRelease)
    mine = release(t);
  else
    mine = threads[t].released;
  if (kind == AccessKind::Write) {
    v.released = mine; // a plain write ends the release sequence
  } else if (mine) {
    auto joined = v.released ? std::make_shared<Clock>(*v.released)
                             : std::make_shared<Clock>();
    joined->join(*mine);
    v.released = joined;
  }
}

void BlockChecker::outsideVariables(Warp &w, const Inst &i, unsigned lane,
                                    uint64_t address, unsigned bytes) {
  Report r;
  r.kind = "out-of-bounds";
  r.ptxLine = i.line;
  r.source = sourcePlace(i, owner.launch);
  r.thread = threadName(w, lane);
  r.address = address;
  std::string where = describeShared(block, address);
  r.message = r.thread + " accesses " + std::to_string(bytes) +
              " bytes of shared memory, " + where + ", at " +
              describePlace(i, owner.launch);
  owner.launch.addReport(std::move(r));
}

/// Who wrote the bytes next to one that nobody wrote: often the store that
/// missed it.
void BlockChecker::nearestWriter(uint64_t address, Report &r) const {
  for (uint64_t d = 1; d <= 256; ++d)
    for (uint64_t a : {address - d, address + d}) {
      if (a >= shared.size() || !shared[a].write.inst)
        continue;
      const Inst &other = *shared[a].write.inst;
      r.otherPtxLine = other.line;
      r.otherSource = sourcePlace(other, owner.launch);
      r.message += "; " + std::to_string(d) + " bytes " +
                   (a < address ? "below" : "above") +
                   " something was written at " +
                   describePlace(other, owner.launch);
      return;
    }
}

void BlockChecker::access(Warp &w, const Inst &i, uint32_t mask,
                          const Access &at, unsigned bytes, AccessKind kind,
                          const uint8_t *values) {
  bool strong = (i.semantics & orderMask) != weak;
  Memory &memory = *owner.launch.memory;
  Allocation *allocation = nullptr;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    uint64_t address = at.address[l];
    bool isShared = at.space[l] == Space::Shared;
    if (!isShared && at.space[l] != Space::Global)
      continue;
    BlockChecker &there = isShared ? *at.owner[l]->checker : *this;
    if (&there != this)
      remoteUse(w, i, l, there, address);
    if (strong)
      synchronise(w, i, l,
                  isShared ? there.sharedSync[uint32_t(address)]
                           : owner.globalSync[address],
                  kind);
    GlobalShadow *written = nullptr;
    if (!isShared) {
      if (!allocation || address - allocation->base >= allocation->size)
        allocation = memory.find(address);
      if (allocation && !allocation->initialised) {
        if (!allocation->shadow)
          allocation->shadow = std::make_shared<GlobalShadow>(allocation->size);
        written = allocation->shadow.get();
      }
    }
    for (unsigned b = 0; b < bytes; ++b) {
      if (i.usedBytes && !(i.usedBytes >> b & 1))
        continue;
      uint64_t a = address + b;
      if (isShared && a >= block.userShared)
        continue;
      uint8_t *known = isShared  ? &there.sharedWritten[a]
                       : written ? &written->written[a - allocation->base]
                                 : nullptr;
      if (isShared && *known == sharedNobody) {
        there.outsideVariables(w, i, l, a, bytes);
        break;
      }
      if (isShared && *known == sharedMbarrier) {
        report("mbarrier-misuse", w, i, l, a, nullptr,
               threadName(w, l) + " accesses the bytes of " +
                   mbarrierName(there.block, uint32_t(a) & ~7u) + " at " +
                   describePlace(i, owner.launch) +
                   ", which is in use: mbarrier.inval comes first");
        break;
      }
      if (isShared && *known == sharedUnknown && kind != AccessKind::Write) {
        if (!w.unwritten)
          w.unwritten = std::make_shared<UnwrittenValues>();
        w.tracksRegisters = true;
        w.unwritten->loaded(w, i, i.source->base == "ldmatrix" ? ~0u : 1u << l);
      } else if (isShared && kind == AccessKind::Write &&
                 (*known == sharedUnknown || w.storesUnwritten)) {
        *known = w.storesUnwritten >> l & 1 ? sharedUnknown : 1;
      }
      if (known && !*known) {
        if (kind == AccessKind::Write) {
          *known = 1;
        } else {
          Report r;
          r.kind = "uninitialised";
          r.ptxLine = i.line;
          r.source = sourcePlace(i, owner.launch);
          r.thread = threadName(w, l);
          r.address = a;
          r.message = r.thread + " reads " +
                      where(a, isShared ? &there.block : nullptr) + " at " +
                      describePlace(i, owner.launch) +
                      ", which nobody has written";
          if (isShared)
            there.nearestWriter(a, r);
          owner.launch.addReport(std::move(r));
          *known = 1; // once is enough
        }
      }
      ByteState &state = isShared ? there.shared[a] : owner.globalByte(a);
      checkByte(state, w, i, l, a, isShared ? &there.block : nullptr, kind,
                values && at.pointer[l][b] == values[b]);
    }
  }
}

void BlockChecker::fence(Warp &w, const Inst &i, uint32_t mask) {
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned t = w.index * 32 + std::countr_zero(m);
    if (threads[t].pending) {
      acquire(t, threads[t].pending);
      threads[t].pending.reset();
    }
    threads[t].released = release(t);
  }
}

void BlockChecker::warpSync(Warp &w, uint32_t mask) {
  if (!(mask & (mask - 1)))
    return;
  auto joined = std::make_shared<Clock>();
  const Clock *last = nullptr;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned t = w.index * 32 + std::countr_zero(m);
    if (threads[t].known.get() != last) {
      last = threads[t].known.get();
      joined->join(*last);
    }
  }
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned t = w.index * 32 + std::countr_zero(m);
    joined->know(block.linear, t, threads[t].epoch, owner.threadsPerBlock);
    ++threads[t].epoch;
  }
  for (uint32_t m = mask; m; m &= m - 1)
    threads[w.index * 32 + std::countr_zero(m)].known = joined;
}

void BlockChecker::arriveBarrier(Warp &w, unsigned id, uint32_t mask) {
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned t = w.index * 32 + std::countr_zero(m);
    // What a thread does after arriving is not covered by the barrier.
    arrivals[id].push_back({t, threads[t].epoch++});
  }
}

void BlockChecker::completeBarrier(unsigned id, bool all) {
  auto joined = std::make_shared<Clock>();
  const Clock *last = nullptr;
  uint32_t highest = 0;
  for (auto [t, epoch] : arrivals[id]) {
    if (threads[t].known.get() != last) {
      last = threads[t].known.get();
      joined->join(*last);
    }
    highest = std::max(highest, threads[t].epoch);
  }
  if (all) {
    // Everybody, exited threads included, is ordered before everybody.
    for (ThreadState &t : threads)
      highest = std::max(highest, t.epoch);
    Clock::BlockView &view = joined->blocks[block.linear];
    view.uniform = highest;
    view.each.clear();
    for (ThreadState &t : threads) {
      t.epoch = highest + 1;
      t.known = joined;
    }
    arrivals[id].clear();
    return;
  }
  for (auto [t, epoch] : arrivals[id])
    joined->know(block.linear, t, epoch, owner.threadsPerBlock);
  // Threads that only arrived release, but learn nothing.
  for (auto [t, epoch] : arrivals[id]) {
    threads[t].epoch = std::max(threads[t].epoch, epoch + 1);
    Warp &w = *block.warps[t / 32];
    for (const Group &g : w.groups)
      if (g.mask >> (t % 32) & 1 && g.state == Group::AtBlockBarrier &&
          g.barrier == id)
        acquire(t, joined);
  }
  arrivals[id].clear();
}

void BlockChecker::divergentBarrier(Warp &w, const Inst &i, uint32_t mask) {
  char text[160];
  std::snprintf(text, sizeof text,
                "an aligned barrier is reached by lanes 0x%08x only, while "
                "lanes 0x%08x of the warp are elsewhere",
                mask, w.live & ~mask);
  note(w, i, "divergent-barrier", text, 0);
}

void BlockChecker::exited(Warp &w, uint32_t mask) {
  for (const PendingCopy &c : w.copies)
    if (mask >> c.lane & 1)
      note(w, *c.inst, "async-copy",
           "a thread exits without waiting for its cp.async", c.shared);
  std::erase_if(w.copies,
                [&](const PendingCopy &c) { return mask >> c.lane & 1; });
  exitAsync(w, mask);
}

/// Whether an instruction of the function can wait at this barrier.
static bool mayBeWaitedFor(const Code &code, uint32_t id) {
  return std::ranges::any_of(code.insts, [&](const Inst &i) {
    if (i.flow != Flow::BlockBarrier || i.flags & barrierArriveOnly)
      return false;
    uint32_t named = id; // by a register: any
    if (i.ops[0] & constantPool)
      std::memcpy(&named, &code.constants[i.ops[0] & ~constantPool],
                  sizeof named);
    return named == id;
  });
}

void BlockChecker::finished() {
  for (unsigned id = 0; id < block.barriers.size(); ++id) {
    const BlockBarrier &b = block.barriers[id];
    // Warp groups that take turns leave the last turn open.
    if (b.active && b.inst)
      note(*block.warps[0], *b.inst,
           mayBeWaitedFor(*b.code, id) ? "remark" : "barrier-misuse",
           "barrier " + std::to_string(id) +
               " has arrivals that nobody waited for at the end of the block",
           0);
  }
  finishAsync();
  finishWarpGroups();
  finishTensorMemory();
  if (block.cluster->blocks.size() > 1)
    finishCluster();
}

void BlockChecker::copyIssued(Warp &w, const PendingCopy &copy) {
  for (unsigned b = 0; b < copy.bytes; ++b) {
    ByteState &byte = shared[copy.shared + b];
    if (sharedWritten[copy.shared + b] == sharedNobody) {
      outsideVariables(w, *copy.inst, copy.lane, copy.shared + b, copy.bytes);
      break;
    }
    // The write may happen from now on: what is unordered now races.
    uint8_t before = sharedWritten[copy.shared + b];
    checkByte(byte, w, *copy.inst, copy.lane, copy.shared + b, &block,
              AccessKind::Write);
    sharedWritten[copy.shared + b] = before;
    byte.pendingCopy = copy.inst;
    byte.pendingThread = w.index * 32 + copy.lane;
  }
}

void BlockChecker::copyDone(Warp &w, const PendingCopy &copy) {
  unsigned t = w.index * 32 + copy.lane;
  for (unsigned b = 0; b < copy.bytes; ++b) {
    ByteState &byte = shared[copy.shared + b];
    if (sharedWritten[copy.shared + b] == sharedNobody)
      break;
    byte.pendingCopy = nullptr;
    byte.write = {t, uint32_t(block.linear), threads[t].epoch, 0, copy.inst};
    sharedWritten[copy.shared + b] = 1;
  }
}

} // namespace tessera::sim::check
