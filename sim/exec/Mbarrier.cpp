// mbarrier objects in shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Mbarrier.h"

#include "sim/check/Checker.h"
#include "sim/check/Semantics.h"
#include "sim/exec/Access.h"
#include "sim/exec/Cluster.h"
#include "sim/exec/Decode.h"
#include "sim/report/Recorder.h"

namespace tessera::sim {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

MbarrierWord mbarrierWord(const Block &block, uint32_t offset) {
  uint64_t v;
  std::memcpy(&v, block.shared + offset, 8);
  return MbarrierWord(v);
}

std::string mbarrierName(const Block &block, uint32_t offset) {
  std::string name = "the mbarrier ";
  for (const auto &v : block.launch->program->sharedVariables)
    if (offset >= v.offset && offset - v.offset < v.bytes) {
      name += "'" + v.name + "'";
      if (offset > v.offset)
        name += "+" + std::to_string(offset - v.offset);
      name += " ";
    }
  return name + "at shared address " + std::to_string(offset) + ofBlock(block);
}

std::string describeMbarrier(const Block &block, uint32_t offset, bool parity) {
  MbarrierWord s = mbarrierWord(block, offset);
  MbarrierRecord record;
  if (auto it = block.mbarriers.find(offset); it != block.mbarriers.end())
    record = it->second;
  std::string text = "phase " + std::to_string(record.phase) + " (parity " +
                     std::to_string(parity) + ") of " +
                     mbarrierName(block, offset) + ", ";
  text += s.pending
              ? "which misses " + std::to_string(s.pending) + " of " +
                    std::to_string(s.expected) + " arrivals"
              : "which has its " + std::to_string(s.expected) + " arrivals";
  if (s.tx > 0)
    text += " and misses " + std::to_string(s.tx) + " bytes of copies";
  if (s.tx < 0)
    text += " and got " + std::to_string(-s.tx) +
            " bytes of copies that nobody expected";
  std::string last;
  auto remember = [&](const char *what, const Inst *inst) {
    if (inst)
      last += (last.empty() ? " (last " : ", ") + std::string(what) + " at " +
              describePlace(*inst, *block.launch);
  };
  if (s.pending)
    remember("arrival", record.arrive);
  if (s.tx)
    remember("expect_tx", record.expect);
  return text + last + (last.empty() ? "" : ")");
}

namespace {

constexpr int64_t txLimit = (1 << 20) - 1;

void store(Block &block, uint32_t offset, const MbarrierWord &s) {
  uint64_t word = s.word();
  std::memcpy(block.shared + offset, &word, 8);
  ++block.events;
}

/// Writes the new state; completes the phase if nothing is missing.
void update(Block &block, uint32_t offset, MbarrierWord &s) {
  if (s.tx > txLimit || s.tx < -txLimit)
    throw Fault{Fault::IllegalInstruction,
                "the tx-count of " + mbarrierName(block, offset) +
                    " leaves its range: " + std::to_string(s.tx)};
  if (s.pending || s.tx)
    return store(block, offset, s);
  s.parity = !s.parity;
  s.pending = s.expected;
  store(block, offset, s);
  uint32_t phase = block.mbarriers[offset].phase++;
  block.mbarriers[offset].expected = 0;
  if (block.recorder)
    block.recorder->phaseEnded(offset, phase);
  if (block.checker)
    block.checker->mbarrierPhase(offset);
  block.wakeAt(offset);
}

[[noreturn]] void notInitialised(const Block &block, uint32_t offset,
                                 const std::string &by) {
  throw Fault{Fault::IllegalInstruction, mbarrierName(block, offset) +
                                             " is not initialised, used by " +
                                             by};
}

enum Kind : uint8_t { Init, Inval, Arrive, Drop, ExpectTx, CompleteTx };
constexpr uint8_t kindMask = 7;
constexpr uint8_t noComplete = 8;

/// Opaque to programs: pending count, number of the phase, its parity.
uint64_t token(const MbarrierWord &s, uint32_t phase) {
  return s.pending | uint64_t(phase) << 20 | uint64_t(s.parity) << 63;
}

void arrive(Warp &w, const Inst &i, unsigned l, const SharedPlace &at,
            MbarrierWord &s, uint32_t count) {
  Block &owner = *at.block;
  if (count == 0 || count > s.pending)
    throw Fault{Fault::IllegalInstruction,
                std::to_string(count) + " arrivals at " +
                    mbarrierName(owner, at.offset) + ", which waits for " +
                    std::to_string(s.pending) + " of " +
                    std::to_string(s.expected) + ", by " + threadName(w, l)};
  if (owner.checker)
    owner.checker->mbarrierArrive(w, i, l, at.offset);
  s.pending -= count;
  if ((i.flags & kindMask) == Drop)
    s.expected -= count;
  if (i.flags & noComplete && !s.pending && !s.tx)
    throw Fault{Fault::IllegalInstruction,
                "an arrive with .noComplete completes the phase of " +
                    mbarrierName(owner, at.offset) + ", by " +
                    threadName(w, l)};
}

// ops[0] state result, ops[1] count operand, ops[8] address; aux: has tx
void mbarrier(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t address[32];
  computeAddresses(w, i, mask, i.ops[8], address);
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    SharedPlace at = mbarrierPlace(w, l, address[l], i.reachesCluster);
    Block &owner = *at.block;
    uint8_t kind = i.flags & kindMask;
    if (&owner != w.block && (kind == Init || kind == Inval ||
                              i.flags & noComplete || i.ops[0] != noRef))
      throw Fault{Fault::IllegalInstruction,
                  "at " + mbarrierName(owner, at.offset) +
                      ", which is in another block, one may only arrive "
                      "without a result, expect_tx and complete_tx, by " +
                      threadName(w, l),
                  at.offset, int(l)};
    MbarrierWord s = mbarrierWord(owner, at.offset);
    uint32_t operand = i.ops[1] == noRef ? 1 : w.reg<uint32_t>(i.ops[1])[l];
    auto *checker = owner.checker.get();
    if (kind != Init && !s.live)
      notInitialised(owner, at.offset, threadName(w, l));
    if (kind != Init && checker)
      checker->mbarrierUse(w, i, l, at.offset);
    if (w.block->recorder) {
      w.block->recorder->signals(-1);
      if (kind == Arrive || kind == Drop || kind == CompleteTx)
        w.block->recorder->arrived(w, i, owner, at.offset);
    }
    switch (kind) {
    case Init:
      if (operand == 0 || operand > MbarrierWord::countMask)
        throw Fault{Fault::IllegalInstruction, "mbarrier count " +
                                                   std::to_string(operand) +
                                                   " is out of range"};
      if (checker)
        checker->mbarrierInit(w, i, l, at.offset, s.live);
      s = MbarrierWord(0);
      s.live = true;
      s.pending = s.expected = operand;
      owner.mbarriers[at.offset] = MbarrierRecord();
      store(owner, at.offset, s);
      break;
    case Inval:
      if (checker)
        checker->mbarrierInval(w, i, l, at.offset);
      store(owner, at.offset, MbarrierWord(0));
      break;
    case Arrive:
    case Drop: {
      uint64_t before = token(s, owner.mbarriers[at.offset].phase);
      if (i.aux) {
        s.tx += operand;
        owner.mbarriers[at.offset].expect = &i;
        owner.mbarriers[at.offset].expected += operand;
      }
      owner.mbarriers[at.offset].arrive = &i;
      arrive(w, i, l, at, s, i.aux ? 1 : operand);
      update(owner, at.offset, s);
      if (i.ops[0] != noRef)
        w.reg<uint64_t>(i.ops[0])[l] = before;
      break;
    }
    case ExpectTx:
      s.tx += operand;
      owner.mbarriers[at.offset].expect = &i;
      owner.mbarriers[at.offset].expected += operand;
      update(owner, at.offset, s);
      break;
    case CompleteTx:
      s.tx -= operand;
      update(owner, at.offset, s);
      break;
    }
  }
}

// ops[0] predicate, ops[1] token or parity; flags: 1 parity
bool waitedParity(Warp &w, const Inst &i, unsigned l) {
  return i.flags & 1 ? w.reg<uint32_t>(i.ops[1])[l] & 1
                     : w.reg<uint64_t>(i.ops[1])[l] >> 63;
}

void pendingCount(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<uint32_t>(i.ops[0]);
  const auto *a = w.reg<uint64_t>(i.ops[1]);
  forLanes(mask, [&](unsigned l) {
    d[l] = uint32_t(a[l] & MbarrierWord::countMask);
  });
}

} // namespace

SharedPlace mbarrierPlace(Warp &w, unsigned l, uint64_t address,
                          bool reachesCluster) {
  if (address & 7)
    throw Fault{Fault::MisalignedAddress,
                "mbarrier address is not aligned to 8 bytes", address, int(l)};
  return sharedPlace(w, address, 8, l, reachesCluster);
}

MbarrierWait mbarrierTest(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t address[32];
  computeAddresses(w, i, mask, i.ops[8], address);
  MbarrierWait wait;
  bool first = true;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    SharedPlace at = mbarrierPlace(w, l, address[l], i.reachesCluster);
    if (at.block != w.block)
      throw Fault{Fault::IllegalInstruction,
                  "wait on " + mbarrierName(*at.block, at.offset) +
                      ", which is in another block of the cluster, by " +
                      threadName(w, l),
                  at.offset, int(l)};
    MbarrierWord s = mbarrierWord(*w.block, at.offset);
    if (!s.live)
      notInitialised(*w.block, at.offset, threadName(w, l));
    bool parity = waitedParity(w, i, l);
    if (parity != s.parity)
      wait.done |= m & -m;
    wait.isSame &= first || (at.offset == wait.offset && parity == wait.parity);
    wait.offset = at.offset;
    wait.parity = parity;
    first = false;
  }
  return wait;
}

void mbarrierAnswer(Warp &w, const Inst &i, uint32_t mask,
                    const MbarrierWait &wait) {
  w.setPred(i.ops[0], mask, wait.done);
  auto *checker = w.block->checker.get();
  if (!checker)
    return;
  uint64_t address[32];
  computeAddresses(w, i, mask, i.ops[8], address);
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    uint32_t offset = mbarrierPlace(w, l, address[l], i.reachesCluster).offset;
    checker->mbarrierUse(w, i, l, offset);
    if (!(i.flags & 1))
      checker->mbarrierToken(w, i, l, offset,
                             uint32_t(w.reg<uint64_t>(i.ops[1])[l] >> 20));
    if (wait.done >> l & 1)
      checker->mbarrierWait(w, i, l, offset);
  }
}

void mbarrierCompleteTx(const AsyncOp &op) {
  Block &owner = *op.target;
  MbarrierWord s = mbarrierWord(owner, op.mbarrier);
  if (!s.live)
    notInitialised(owner, op.mbarrier,
                   "the copy at " + describePlace(*op.inst, *owner.launch));
  if (owner.recorder)
    owner.recorder->signals(op.event);
  s.tx -= op.bytes;
  update(owner, op.mbarrier, s);
}

void mbarrierArriveOn(const AsyncOp &op) {
  Block &owner = *op.target;
  MbarrierWord s = mbarrierWord(owner, op.mbarrier);
  std::string who =
      std::string(op.isCommit ? "tcgen05.commit" : "cp.async.mbarrier.arrive") +
      " at " + describePlace(*op.inst, *owner.launch);
  if (!s.live)
    notInitialised(owner, op.mbarrier, who);
  if (!s.pending)
    throw Fault{Fault::IllegalInstruction,
                "more arrivals at " + mbarrierName(owner, op.mbarrier) +
                    " than it waits for, by " + who};
  --s.pending;
  if (owner.recorder)
    owner.recorder->signals(op.event);
  update(owner, op.mbarrier, s);
}

void mbarrierAddPending(Warp &w, unsigned l, const SharedPlace &at) {
  MbarrierWord s = mbarrierWord(*at.block, at.offset);
  if (!s.live)
    notInitialised(*at.block, at.offset, threadName(w, l));
  if (s.pending == MbarrierWord::countMask)
    throw Fault{Fault::IllegalInstruction,
                "the pending count of " + mbarrierName(*at.block, at.offset) +
                    " leaves its range"};
  ++s.pending;
  store(*at.block, at.offset, s);
}

/// By the ISA an arrival without a scope has .cta. CUTLASS and all that uses it
/// arrives at other blocks' objects like that, and the machine orders it.
constexpr uint8_t unnamedScope = check::scopeCluster;

void decodeMbarrier(Decoder &d, Inst &inst) {
  inst.opClass = OpClass::Barrier;
  if (d.has("pending_count")) {
    inst.ops[0] = d.dst(d.operand(0), 32);
    inst.ops[1] = d.src(d.operand(1), Type::B64);
    inst.fn = pendingCount;
    return;
  }
  size_t next = 0;
  auto at = [&](const Operand &o) {
    Space space = d.spaceModifier();
    d.address(o, inst, space, 8);
    inst.space = space == Space::Generic ? space : Space::Shared;
  };
  inst.semantics = d.semantics();
  if (d.has("test_wait") || d.has("try_wait")) {
    if ((inst.semantics & check::orderMask) == check::weak)
      inst.semantics = check::acquire | unnamedScope;
    inst.ops[0] = d.predDst(d.operand(0));
    at(d.operand(1));
    inst.flags = d.has("parity");
    inst.ops[1] = d.src(d.operand(2), inst.flags ? Type::U32 : Type::B64);
    // The time limit is a hint; it must be a number all the same.
    if (d.operandCount() > 3)
      d.src(d.operand(3), Type::U32);
    inst.flow = Flow::MbarrierWait;
    return;
  }
  if (d.has("init") || d.has("inval") || d.has("complete_tx")) {
    inst.flags = d.has("init") ? Init : d.has("inval") ? Inval : CompleteTx;
  } else if (d.has("arrive") || d.has("arrive_drop")) {
    if ((inst.semantics & check::orderMask) == check::weak)
      inst.semantics = check::release | unnamedScope;
    inst.flags = d.has("arrive") ? Arrive : Drop;
    inst.aux = d.has("expect_tx");
    if (d.has("noComplete"))
      inst.flags |= noComplete;
    if (d.operand(0).kind != Operand::Address) {
      const Operand &o = d.operand(next++);
      inst.ops[0] = o.kind == Operand::Sink ? noRef : d.dst(o, 64);
      if (inst.ops[0] != noRef && d.has("shared::cluster"))
        d.fail(o, "there is no result in shared::cluster: write '_'");
    }
  } else {
    inst.flags = ExpectTx;
  }
  at(d.operand(next++));
  if (next < d.operandCount())
    inst.ops[1] = d.src(d.operand(next), Type::U32);
  inst.fn = mbarrier;
}

} // namespace tessera::sim
