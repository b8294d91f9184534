// mbarriers, asynchronous operations and the async proxy; see Checker.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/check/Checker.h"
#include "sim/check/GridTrace.h"
#include "sim/check/Semantics.h"
#include "sim/check/Shadow.h"
#include "sim/exec/BulkCopy.h"
#include "sim/exec/Cluster.h"
#include "sim/exec/Mbarrier.h"
#include <cinttypes>

namespace tessera::sim::check {

std::string where(uint64_t address, const Block *shared) {
  char text[64];
  std::snprintf(text, sizeof text, "%s address 0x%" PRIx64,
                shared ? "shared" : "global", address);
  return shared ? text + ofBlock(*shared) : text;
}

/// "the cp.async.bulk at PTX line 12", for messages.
std::string opName(const Inst &inst, const Launch &launch) {
  std::string_view spelling =
      inst.source ? std::string_view(inst.source->spelling) : "copy";
  size_t end = spelling.find(".shared");
  end = std::min(end, spelling.find(".global"));
  end = std::min(end, spelling.find(".mbarrier::"));
  return "the " + std::string(spelling.substr(0, end)) + " at " +
         describePlace(inst, launch);
}

Warp &BlockChecker::warpOf(const AsyncOp &op) {
  return *op.issuer->warps[op.thread / 32];
}

void BlockChecker::report(const char *kind, Warp &w, const Inst &i,
                          unsigned lane, uint64_t address, const Inst *other,
                          const std::string &message) {
  Report r;
  r.kind = kind;
  r.ptxLine = i.line;
  r.source = sourcePlace(i, owner.launch);
  r.thread = threadName(w, lane);
  r.address = address;
  if (other) {
    r.otherPtxLine = other->line;
    r.otherSource = sourcePlace(*other, owner.launch);
  }
  r.message = message;
  owner.launch.addReport(std::move(r));
}

void BlockChecker::reportAsync(Warp &w, const Inst &i, unsigned lane,
                               const Mark &copy, uint64_t address,
                               const Block *sharedOf, bool copyWrites) {
  if (copy.thread == gridAgent)
    return reportOverlap(w, i, lane, copy, address, copyWrites);
  if (owner.launch.isReported("async-copy", i.line, copy.inst->line))
    return;
  std::string missing = "the end of its bulk group";
  if ((copy.thread & ~(firstAgent - 1)) == mbarrierAgent)
    missing =
        "the phase of " +
        mbarrierName(peer(copy.block), (copy.thread & (firstAgent - 1)) * 8) +
        " that it completes";
  else if ((copy.thread & ~(firstAgent - 1)) == wgmmaAgent)
    missing = "it (wgmma.wait_group)";
  else if ((copy.thread & ~(firstAgent - 1)) == tensorAgent)
    missing = "the mbarrier of a tcgen05.commit behind it";
  else if (!copyWrites)
    missing = "cp.async.bulk.wait_group.read";
  std::string thread = threadName(w, lane), from;
  if (block.cluster->blocks.size() > 1 && sharedOf)
    from = ofBlock(*block.cluster->blocks[copy.issuer >> 16]);
  report("async-copy", w, i, lane, address, copy.inst,
         thread + " touches " + where(address, sharedOf) + " at " +
             describePlace(i, owner.launch) + " while " +
             opName(*copy.inst, owner.launch) + " of thread " +
             std::to_string(copy.issuer & 0xffff) + from + " may still " +
             (copyWrites ? "write" : "read") + " it: nobody waited for " +
             missing + " before");
}

// Proxies

/// PTX ISA 9.7.13.4: the fence is for the bytes that it names.
static uint64_t fencedKey(uint64_t block, uint64_t map) {
  return block ^ map >> 6 << 24;
}

void BlockChecker::fenceProxy(Warp &w, uint32_t mask, uint8_t proxies) {
  const auto *place = proxies == proxyTensorMap
                          ? static_cast<const Address *>(w.inst->extra.get())
                          : nullptr;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned t = w.index * 32 + std::countr_zero(m);
    uint64_t map = place ? place->of(w, t % 32) : 0;
    ThreadState &s = threads[t];
    auto clock = std::make_shared<Clock>(*s.known);
    for (unsigned k = 0; k < proxyCount; ++k) {
      if (!(proxies >> k & 1))
        continue;
      for (const auto &[number, view] : clock->blocks)
        clock->fenced[k][fencedKey(number, map)].join(view);
      Clock::BlockView &own = clock->fenced[k][fencedKey(block.linear, map)];
      if (own.each.empty())
        own.each.assign(owner.threadsPerBlock, 0);
      own.each[t] = std::max(own.each[t], s.epoch);
    }
    ++s.epoch;
    s.known = clock;
  }
}

bool BlockChecker::checkFence(const Mark &mark, const AsyncOp &op,
                              uint64_t address, const Block *sharedOf,
                              bool write, bool wasWrite) {
  const Clock &known = *threads[op.thread].known;
  if (Clock::of(known.fenced[sharedOf ? 0 : 1], mark.block, mark.thread) >=
      mark.epoch)
    return true;
  // Real code leaves the fence out after reads, and after tcgen05.alloc wrote
  // the address that it has read (docs/simulator.md).
  bool isError = wasWrite && !(write && mark.inst->source &&
                               mark.inst->source->base == "tcgen05");
  const char *kind = isError ? "proxy-fence" : "remark";
  if (isError ? owner.launch.isReported(kind, op.inst->line, mark.inst->line)
              : !owner.isNewRemark(*op.inst, "reads"))
    return false;
  std::string other = "thread " + std::to_string(mark.thread) + " of block " +
                      std::to_string(mark.block);
  report(kind, warpOf(op), *op.inst, op.thread % 32, address, mark.inst,
         opName(*op.inst, owner.launch) + " " + (write ? "writes" : "reads") +
             " " + where(address, sharedOf) + ", which " + other +
             (wasWrite ? " wrote" : " read") + " at " +
             describePlace(*mark.inst, owner.launch) +
             ": there is no fence.proxy.async between them");
  return false;
}

void BlockChecker::tensorMapRead(Warp &w, const Inst &i, unsigned lane,
                                 uint64_t address) {
  unsigned t = w.index * 32 + lane;
  for (uint64_t a = address; a < address + 128; ++a) {
    ByteState &byte = owner.globalByte(a);
    Mark write = byte.write;
    checkByte(byte, w, i, lane, a, nullptr, AccessKind::Read);
    if (!write.inst || !ordered(write, t) ||
        Clock::of(threads[t].known->fenced[2], fencedKey(write.block, address),
                  write.thread) >= write.epoch)
      continue;
    report("proxy-fence", w, i, lane, a, write.inst,
           threadName(w, lane) + " uses the tensor map at " +
               where(address, nullptr) + " at " +
               describePlace(i, owner.launch) + ", which was written at " +
               describePlace(*write.inst, owner.launch) +
               ": there is no fence.proxy.tensormap::generic.acquire between "
               "them");
    break;
  }
}

// mbarriers

void BlockChecker::mbarrierInit(Warp &w, const Inst &i, unsigned lane,
                                uint32_t offset, bool isLive) {
  unsigned t = w.index * 32 + lane;
  MbarrierState &m = mbarriers[offset];
  if (isLive && m.init.inst)
    report("mbarrier-misuse", w, i, lane, offset, m.init.inst,
           threadName(w, lane) + " initialises " + mbarrierName(block, offset) +
               " again at " + describePlace(i, owner.launch) +
               ", which is in use since " +
               describePlace(*m.init.inst, owner.launch) +
               ": mbarrier.inval comes first");
  for (unsigned b = 0; b < 8; ++b) {
    if (sharedWritten[offset + b] == sharedNobody) {
      outsideVariables(w, i, lane, offset + b, 8);
      break;
    }
    checkByte(shared[offset + b], w, i, lane, offset + b, &block,
              AccessKind::Write);
    sharedWritten[offset + b] = sharedMbarrier;
  }
  uint32_t epoch = m.epoch + 1;
  m = MbarrierState();
  m.first = m.epoch = epoch;
  m.observed = epoch - 1;
  m.init = {t, uint32_t(block.linear), threads[t].epoch, 0, &i};
}

void BlockChecker::mbarrierInval(Warp &w, const Inst &i, unsigned lane,
                                 uint32_t offset) {
  block.cluster->forComing(block, [&](const AsyncOp &op) {
    if (op.mbarrier == offset)
      report("mbarrier-misuse", w, i, lane, offset, op.inst,
             threadName(w, lane) + " invalidates " +
                 mbarrierName(block, offset) + " at " +
                 describePlace(i, owner.launch) + ", which " +
                 opName(*op.inst, owner.launch) + " has still to signal");
  });
  for (unsigned b = 0; b < 8; ++b) {
    if (sharedWritten[offset + b] != sharedMbarrier)
      continue;
    sharedWritten[offset + b] = 0;
    checkByte(shared[offset + b], w, i, lane, offset + b, &block,
              AccessKind::Write);
  }
}

void BlockChecker::mbarrierUse(Warp &w, const Inst &i, unsigned lane,
                               uint32_t offset) {
  const Mark &init = mbarriers[offset].init;
  BlockChecker &from = *w.block->checker;
  if (init.inst && !from.ordered(init, w.index * 32 + lane))
    from.reportRace(w, i, lane, init, offset, &block,
                    "mbarrier-initialisation");
  // The end of a copy is for its waiters to see, see finishAsync.
  if (&from != this && i.opClass != OpClass::AsyncCopy)
    from.remoteUse(w, i, lane, *this, offset, mbarriers[offset].epoch);
}

void BlockChecker::mbarrierArrive(Warp &w, const Inst &i, unsigned lane,
                                  uint32_t offset) {
  MbarrierState &m = mbarriers[offset];
  if (m.observed + 1 < m.epoch && m.observed + 1 >= m.first &&
      owner.isNewRemark(i, "arrives"))
    report("remark", w, i, lane, offset, nullptr,
           threadName(w, lane) + " arrives at " + mbarrierName(block, offset) +
               " at " + describePlace(i, owner.launch) +
               ", though no thread has yet seen the phase before complete");
  BlockChecker &from = *w.block->checker;
  unsigned t = w.index * 32 + lane;
  if (&from != this && (i.semantics & scopeMask) < scopeCluster) {
    if (owner.isNewRemark(i, "scope"))
      report("remark", w, i, lane, offset, nullptr,
             threadName(w, lane) + " arrives at " +
                 mbarrierName(block, offset) + " at " +
                 describePlace(i, owner.launch) +
                 " with scope .cta, which does not include that block: what "
                 "came before is not ordered for its threads (.cluster)");
    return;
  }
  ClockPtr mine = (i.semantics & orderMask) == check::release
                      ? from.release(t)
                      : from.threads[t].released;
  if (!mine)
    return;
  auto joined = m.arriving ? std::make_shared<Clock>(*m.arriving)
                           : std::make_shared<Clock>();
  joined->join(*mine);
  m.arriving = joined;
}

void BlockChecker::mbarrierPhase(uint32_t offset) {
  MbarrierState &m = mbarriers[offset];
  auto joined = m.completed ? std::make_shared<Clock>(*m.completed)
                            : std::make_shared<Clock>();
  if (m.arriving)
    joined->join(*m.arriving);
  joined->blocks[block.linear].know(mbarrierAgent | offset / 8, m.epoch);
  m.completed = joined;
  m.arriving.reset();
  ++m.epoch;
  const Inst *expect = block.mbarriers[offset].expect;
  block.cluster->forComing(block, [&](const AsyncOp &op) {
    if (op.signal == AsyncOp::CompleteTx && op.mbarrier == offset)
      report("expect-tx", warpOf(op), *op.inst, op.thread % 32, offset, expect,
             "a phase of " + mbarrierName(block, offset) +
                 " completes before " + opName(*op.inst, owner.launch) +
                 " of thread " + std::to_string(op.thread) +
                 ofBlock(*op.issuer) + " has brought " +
                 std::to_string(op.bytes) + " bytes" +
                 (expect ? ": expect_tx at " +
                               describePlace(*expect, owner.launch) +
                               " asks for too few"
                         : ": nobody expects them"));
  });
}

void BlockChecker::mbarrierWait(Warp &w, const Inst &i, unsigned lane,
                                uint32_t offset) {
  MbarrierState &m = mbarriers[offset];
  if (m.epoch == m.first)
    return; // parity 1 of a new object: there is no phase before
  unsigned t = w.index * 32 + lane;
  uint32_t complete = m.epoch - 1;
  if (m.seen.empty())
    m.seen.assign(owner.threadsPerBlock, 0);
  if (m.seen[t] == complete && owner.isNewRemark(i, "waits"))
    report("remark", w, i, lane, offset, nullptr,
           threadName(w, lane) + " waits at " + describePlace(i, owner.launch) +
               " for a phase of " + mbarrierName(block, offset) +
               " that it has already seen complete");
  m.seen[t] = complete;
  if ((i.semantics & orderMask) == check::acquire) {
    acquire(t, m.completed);
  } else {
    auto joined = threads[t].pending
                      ? std::make_shared<Clock>(*threads[t].pending)
                      : std::make_shared<Clock>();
    joined->join(*m.completed);
    threads[t].pending = joined;
  }
  m.observed = complete;
  std::erase_if(m.unseenCopies,
                [&](const auto &copy) { return copy.epoch <= complete; });
}

void BlockChecker::mbarrierToken(Warp &w, const Inst &i, unsigned lane,
                                 uint32_t offset, uint32_t phase) {
  uint32_t current = block.mbarriers[offset].phase;
  if (current - phase < 2)
    return;
  report("mbarrier-misuse", w, i, lane, offset, nullptr,
         threadName(w, lane) + " waits at " + describePlace(i, owner.launch) +
             " for phase " + std::to_string(phase) + " of " +
             mbarrierName(block, offset) + ", which is in phase " +
             std::to_string(current) +
             ": only the current phase and the one before can be waited for");
}

// Asynchronous operations

Mark BlockChecker::agentMark(const AsyncOp &op, bool write) const {
  Mark mark{0, uint32_t(block.linear), inFlight,
            op.thread | block.clusterRank << 16, op.inst};
  if (op.signal == AsyncOp::BulkGroup) {
    mark.thread = (write ? bulkWriteAgent : bulkReadAgent) | op.thread;
    mark.epoch = op.group;
  } else {
    mark.thread = mbarrierAgent | op.mbarrier / 8;
    mark.block = uint32_t(op.target->linear);
  }
  return mark;
}

void BlockChecker::rememberReader(ByteState &byte, const Mark &mine) {
  // The reader before is not forgotten: who knows of this operation's end
  // need not know what the issuing thread knew.
  auto isMine = [&](const Mark &r) {
    return !r.inst || (r.thread == mine.thread && r.block == mine.block);
  };
  if (isMine(byte.read)) {
    byte.read = mine;
    return;
  }
  if (!byte.readers) {
    byte.readers = std::make_unique<std::vector<Mark>>();
    byte.readers->reserve(4);
  }
  for (Mark &r : *byte.readers)
    if (isMine(r)) {
      r = mine;
      return;
    }
  if (byte.readers->size() < 1024)
    byte.readers->push_back(mine);
}

void BlockChecker::asyncByte(ByteState &byte, AsyncRange &range,
                             uint64_t address) {
  const AsyncOp &op = range.op;
  const Block *sharedOf = range.shared ? &range.shared->block : nullptr;
  bool write = range.write;
  Warp &w = warpOf(op);
  unsigned lane = op.thread % 32;
  auto against = [&](const Mark &mark, bool wasWrite, const char *what) {
    if (!mark.inst)
      return;
    for (const Mark &p : range.passed)
      if (p.inst == mark.inst && p.thread == mark.thread &&
          p.epoch == mark.epoch && p.block == mark.block)
        return;
    if (ordered(mark, op.thread)) {
      // A fence that is only missing after a read is one remark.
      if (!mark.isAsync() &&
          !checkFence(mark, op, address, sharedOf, write, wasWrite) && wasWrite)
        return;
      range.passed[range.next++ % range.passed.size()] = mark;
    } else if (op.reduces && write && morallyStrong(*op.inst, mark)) {
      return;
    } else if (mark.isAsync()) {
      reportAsync(w, *op.inst, lane, mark, address, sharedOf, wasWrite);
    } else {
      reportRace(w, *op.inst, lane, mark, address, sharedOf, what);
    }
  };
  const Mark &mine = range.mine;
  against(byte.write, true, write ? "write-after-write" : "read-after-write");
  if (write) {
    against(byte.read, false, "write-after-read");
    if (byte.readers)
      for (const Mark &r : *byte.readers)
        against(r, false, "write-after-read");
    if (byte.readers)
      byte.readers->clear(); // rings are read and overwritten again and again
    byte.read = Mark();
    byte.write = mine;
    return;
  }
  rememberReader(byte, mine);
}

void BlockChecker::asyncRange(AsyncRange &range, uint64_t address,
                              uint32_t bytes) {
  const AsyncOp &op = range.op;
  bool isShared = range.shared, write = range.write;
  Warp &w = warpOf(op);
  unsigned lane = op.thread % 32;
  BlockChecker &there = isShared ? *range.shared : *this;
  uint8_t *known = nullptr;
  if (isShared) {
    known = there.sharedWritten.data() + address;
  } else if (Allocation *a = owner.launch.memory->find(address);
             a && !a->initialised) {
    if (!a->shadow)
      a->shadow = std::make_shared<GlobalShadow>(a->size);
    known = a->shadow->written.data() + (address - a->base);
  }
  for (uint32_t b = 0; b < bytes; ++b) {
    uint64_t a = address + b;
    if (write && !(op.byteMask >> (b & 15) & 1))
      continue;
    if (isShared && known[b] == sharedNobody) {
      there.outsideVariables(w, *op.inst, lane, a, bytes);
      break;
    }
    if (isShared && known[b] == sharedMbarrier) {
      report("mbarrier-misuse", w, *op.inst, lane, a, nullptr,
             opName(*op.inst, owner.launch) + " " +
                 (write ? "writes" : "reads") + " the bytes of " +
                 mbarrierName(there.block, uint32_t(a) & ~7u) +
                 ", which is in use");
      break;
    }
    if (known && (!known[b] || (isShared && known[b] == sharedUnknown))) {
      if (!write || op.reduces) {
        Report r;
        r.kind = "uninitialised";
        r.ptxLine = op.inst->line;
        r.source = sourcePlace(*op.inst, owner.launch);
        r.thread = threadName(w, lane);
        r.address = a;
        r.message = opName(*op.inst, owner.launch) + " of " + r.thread +
                    " reads " + where(a, isShared ? &there.block : nullptr) +
                    ", which nobody has written";
        if (isShared)
          there.nearestWriter(a, r);
        owner.launch.addReport(std::move(r));
      }
      known[b] = 1;
    }
    asyncByte(isShared ? there.shared[a] : owner.globalByte(a), range, a);
  }
}

void BlockChecker::asyncIssued(const AsyncOp &op) {
  AsyncRange source{op, op.from == AsyncOp::Shared ? this : nullptr, false,
                    agentMark(op, false)};
  AsyncRange target{
      op, op.to == AsyncOp::Shared ? op.destination->checker.get() : nullptr,
      true, agentMark(op, true)};
  bool reads = op.from == AsyncOp::Shared || op.from == AsyncOp::Global;
  for (const AsyncOp::Piece &piece : op.pieces) {
    if (reads && piece.from != AsyncOp::fill)
      asyncRange(source, piece.from, piece.bytes);
    asyncRange(target, piece.to, piece.bytes);
    // The tensor core skips the padding: it is no data, but nobody's mistake.
    if (op.isPadded && target.shared)
      for (uint64_t a = piece.to + piece.bytes; a % 16; ++a)
        if (uint8_t &known = target.shared->sharedWritten[a]; !known)
          known = 1;
  }
  if (op.signal == AsyncOp::BulkGroup)
    openBulk.push_back({op.thread, op.group, op.inst});
}

/// The marks that `op` left, with their bytes.
template <class F>
static void forMarks(std::vector<ByteState> &shared, Checker &owner,
                     const AsyncOp &op, bool written, F f) {
  AsyncOp::Place place = written ? op.to : op.from;
  for (const AsyncOp::Piece &piece : op.pieces)
    for (uint32_t b = 0; b < piece.bytes; ++b) {
      if (!written && piece.from == AsyncOp::fill)
        break;
      uint64_t a = (written ? piece.to : piece.from) + b;
      ByteState &byte =
          place == AsyncOp::Shared ? shared[a] : owner.globalByte(a);
      auto mine = [&](Mark &mark) {
        if (mark.isAsync() && mark.inst == op.inst && mark.epoch == inFlight)
          f(mark);
      };
      if (written) {
        mine(byte.write);
        continue;
      }
      mine(byte.read);
      if (byte.readers)
        for (Mark &r : *byte.readers)
          mine(r);
    }
}

void BlockChecker::asyncDone(const AsyncOp &op) {
  MbarrierState &m = mbarriers[op.mbarrier];
  auto complete = [&](Mark &mark) { mark.epoch = m.epoch; };
  if (op.to == AsyncOp::Shared)
    forMarks(op.destination->checker->shared, owner, op, true, complete);
  else if (op.to == AsyncOp::Global)
    forMarks(shared, owner, op, true, complete);
  if (op.from == AsyncOp::Shared || op.from == AsyncOp::Global)
    forMarks(op.issuer->checker->shared, owner, op, false, complete);
  if (op.from == AsyncOp::Shared && op.issuer != op.target) {
    Mark mark = op.issuer->checker->agentMark(op, false);
    mark.epoch = m.epoch;
    op.issuer->checker->remoteReads[{mark.block, mark.thread}] = mark;
  }
  for (const PendingCopy &copy : op.copies)
    for (unsigned b = 0; b < copy.bytes; ++b) {
      ByteState &byte = shared[copy.shared + b];
      if (sharedWritten[copy.shared + b] == sharedNobody)
        break;
      byte.pendingCopy = nullptr;
      byte.write = agentMark(op, true);
      byte.write.inst = copy.inst;
      byte.write.epoch = m.epoch;
      sharedWritten[copy.shared + b] = 1;
    }
  if (op.released) {
    auto joined = m.arriving ? std::make_shared<Clock>(*m.arriving)
                             : std::make_shared<Clock>();
    joined->join(*op.released);
    m.arriving = joined;
  }
  if (op.signal == AsyncOp::CompleteTx)
    m.unseenCopies.push_back({m.epoch, op.thread, op.issuer, op.inst});
}

void BlockChecker::asyncObserved(const AsyncOp &op) {
  auto clock = std::make_shared<Clock>(*threads[op.thread].known);
  clock->blocks[block.linear].know(mbarrierAgent | op.mbarrier / 8,
                                   mbarriers[op.mbarrier].epoch);
  threads[op.thread].known = clock;
}

void BlockChecker::bulkWaited(uint32_t thread, uint32_t group, bool readOnly) {
  auto clock = std::make_shared<Clock>(*threads[thread].known);
  Clock::BlockView &view = clock->blocks[block.linear];
  view.know(bulkReadAgent | thread, group);
  if (!readOnly)
    view.know(bulkWriteAgent | thread, group);
  threads[thread].known = clock;
  std::erase_if(openBulk, [&](const OpenBulk &open) {
    return open.thread == thread && open.group <= group;
  });
}

void BlockChecker::exitAsync(Warp &w, uint32_t mask) {
  for (const OpenBulk &open : openBulk)
    if (open.thread / 32 == w.index && mask >> (open.thread % 32) & 1)
      report("async-copy", w, *open.inst, open.thread % 32, 0, nullptr,
             threadName(w, open.thread % 32) + " exits without waiting until " +
                 opName(*open.inst, owner.launch) +
                 " has read shared memory (cp.async.bulk.wait_group.read)");
  std::erase_if(openBulk, [&](const OpenBulk &open) {
    return open.thread / 32 == w.index && mask >> (open.thread % 32) & 1;
  });
}

void BlockChecker::finishAsync() {
  auto unseen = [&](const Inst &inst, Block &issuer, uint32_t thread,
                    uint32_t offset) {
    report("async-copy", *issuer.warps[thread / 32], inst, thread % 32, offset,
           nullptr,
           "the block ends though nobody saw the end of " +
               opName(inst, owner.launch) + ", which signals " +
               mbarrierName(block, offset));
  };
  std::unordered_map<uint32_t, int64_t> coming;
  block.cluster->forComing(block, [&](const AsyncOp &op) {
    if (op.signal != AsyncOp::CompleteTx)
      return;
    coming[op.mbarrier] += op.bytes;
    unseen(*op.inst, *op.issuer, op.thread, op.mbarrier);
  });
  for (const auto &[offset, m] : mbarriers) {
    for (const auto &copy : m.unseenCopies)
      unseen(*copy.inst, *copy.issuer, copy.thread, offset);
    MbarrierWord word = mbarrierWord(block, offset);
    const Inst *expect = block.mbarriers[offset].expect;
    int64_t left = word.tx - coming[offset];
    // Once it has been invalidated its bytes may hold anything.
    if (sharedWritten[offset] != sharedMbarrier || !word.live || !left)
      continue;
    const Inst &inst = expect ? *expect : *m.init.inst;
    // A producer of CuTe DSL waits for its last slot as if it would fill it
    // again, which expects bytes; no copy and no wait follow.
    bool isUnused = left > 0 && left == block.mbarriers[offset].expected;
    report(isUnused ? "remark" : "expect-tx", *block.warps[0], inst, 0, offset,
           nullptr,
           "the block ends while " + mbarrierName(block, offset) +
               (left > 0 ? " misses " + std::to_string(left) +
                               " bytes of copies that were expected at "
                         : " got " + std::to_string(-left) +
                               " bytes of copies more than expected at ") +
               describePlace(inst, owner.launch));
  }
}

} // namespace tessera::sim::check
