// mbarrier objects in shared memory of the own block.
//
// The object is one 64-bit word: bits 0-19 pending arrivals, 20-39 expected
// arrivals, 40-60 transaction bytes (signed), 62 initialised, 63 phase.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Mbarrier.h"

#include "sim/check/Checker.h"
#include "sim/exec/Access.h"
#include "sim/exec/Decode.h"

namespace tessera::sim {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

constexpr uint64_t countMask = (1u << 20) - 1;

struct State {
  uint64_t pending, expected;
  int64_t tx;
  bool live, phase;
  explicit State(uint64_t w)
      : pending(w & countMask), expected(w >> 20 & countMask),
        tx(int64_t(w << 3) >> 43), live(w >> 62 & 1), phase(w >> 63) {}
  uint64_t word() const {
    return (pending & countMask) | (expected & countMask) << 20 |
           (uint64_t(tx) & 0x1fffff) << 40 | uint64_t(live) << 62 |
           uint64_t(phase) << 63;
  }
};

uint64_t load(const uint8_t *p) {
  uint64_t v;
  std::memcpy(&v, p, 8);
  return v;
}

void finishPhase(State &s) {
  if (s.pending == 0 && s.tx == 0) {
    s.phase = !s.phase;
    s.pending = s.expected;
  }
}

enum Kind : uint8_t { Init, Inval, Arrive, Drop, ExpectTx, CompleteTx };

uint8_t *object(Warp &w, const Inst &i, unsigned l, uint64_t address) {
  if ((address & windowMask) == sharedWindow)
    address &= ~windowMask;
  if (address & 7)
    throw Fault{Fault::MisalignedAddress,
                "mbarrier address is not aligned to 8 bytes"};
  return sharedPointer(w, address, 8, l);
}

// ops[0] state result, ops[1] count operand, ops[8] address; aux: has tx
void mbarrier(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t address[32];
  computeAddresses(w, i, mask, i.ops[8], address);
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    uint8_t *p = object(w, i, l, address[l]);
    uint32_t offset = uint32_t(p - w.block->shared);
    State s(load(p));
    uint32_t operand = i.ops[1] == noRef ? 1 : w.reg<uint32_t>(i.ops[1])[l];
    auto *checker = w.block->checker.get();
    if (i.flags != Init && !s.live)
      throw Fault{Fault::IllegalInstruction,
                  "mbarrier at shared address " + std::to_string(offset) +
                      " is not initialised, used by " + threadName(w, l)};
    uint64_t before = s.word();
    switch (i.flags) {
    case Init:
      if (operand == 0 || operand > countMask)
        throw Fault{Fault::IllegalInstruction, "mbarrier count " +
                                                   std::to_string(operand) +
                                                   " is out of range"};
      s = State(0);
      s.live = true;
      s.pending = s.expected = operand;
      if (checker)
        checker->mbarrierInit(w, i, l, offset);
      break;
    case Inval:
      s = State(0);
      if (checker)
        checker->mbarrierInval(w, i, l, offset);
      break;
    case Arrive:
    case Drop: {
      uint32_t count = i.aux ? 1 : operand;
      if (i.aux)
        s.tx += operand;
      if (count > s.pending)
        throw Fault{Fault::IllegalInstruction,
                    "more arrivals than the mbarrier at shared address " +
                        std::to_string(offset) + " expects, by " +
                        threadName(w, l)};
      if (checker)
        checker->mbarrierArrive(w, i, l, offset);
      s.pending -= count;
      if (i.flags == Drop)
        s.expected -= count;
      finishPhase(s);
      if (i.ops[0] != noRef)
        w.reg<uint64_t>(i.ops[0])[l] = before;
      break;
    }
    case ExpectTx:
      s.tx += operand;
      break;
    case CompleteTx:
      s.tx -= operand;
      finishPhase(s);
      break;
    }
    uint64_t word = s.word();
    std::memcpy(p, &word, 8);
  }
}

// ops[0] predicate, ops[1] token or parity; flags: 1 parity
void wait(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t address[32];
  computeAddresses(w, i, mask, i.ops[8], address);
  uint32_t done = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    uint8_t *p = object(w, i, l, address[l]);
    State s(load(p));
    if (!s.live)
      throw Fault{Fault::IllegalInstruction,
                  "wait on an mbarrier that is not initialised, by " +
                      threadName(w, l)};
    bool phase = i.flags & 1 ? w.reg<uint32_t>(i.ops[1])[l] & 1
                             : w.reg<uint64_t>(i.ops[1])[l] >> 63;
    if (phase != s.phase) {
      done |= m & -m;
      if (w.block->checker)
        w.block->checker->mbarrierWait(w, i, l, uint32_t(p - w.block->shared));
    }
  }
  w.setPred(i.ops[0], mask, done);
  if (done != mask)
    w.yield = true;
}

void pendingCount(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<uint32_t>(i.ops[0]);
  const auto *a = w.reg<uint64_t>(i.ops[1]);
  forLanes(mask, [&](unsigned l) { d[l] = uint32_t(a[l] & countMask); });
}

} // namespace

void mbarrierArriveOne(Warp &w, const Inst &i, unsigned l, uint64_t address,
                       bool addPending) {
  uint8_t *p = object(w, i, l, address);
  State s(load(p));
  if (!s.live)
    throw Fault{Fault::IllegalInstruction,
                "arrive on an mbarrier that is not initialised, by " +
                    threadName(w, l)};
  if (w.block->checker)
    w.block->checker->mbarrierArrive(w, i, l, uint32_t(p - w.block->shared));
  // Without .noinc the pending count first grows by one: no net change, but
  // the phase may end here.
  if (!addPending) {
    if (!s.pending)
      throw Fault{Fault::IllegalInstruction, "mbarrier count underflow"};
    --s.pending;
  }
  finishPhase(s);
  uint64_t word = s.word();
  std::memcpy(p, &word, 8);
}

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
    d.address(o, inst, space == Space::Generic ? space : Space::Shared, 8);
  };
  if (d.has("test_wait") || d.has("try_wait")) {
    inst.ops[0] = d.predDst(d.operand(0));
    at(d.operand(1));
    inst.flags = d.has("parity");
    inst.ops[1] = d.src(d.operand(2), inst.flags ? Type::U32 : Type::B64);
    inst.flow = Flow::Yield;
    inst.fn = wait;
    return;
  }
  if (d.has("init") || d.has("inval") || d.has("complete_tx")) {
    inst.flags = d.has("init") ? Init : d.has("inval") ? Inval : CompleteTx;
  } else if (d.has("arrive") || d.has("arrive_drop")) {
    inst.flags = d.has("arrive") ? Arrive : Drop;
    inst.aux = d.has("expect_tx");
    if (d.operand(0).kind != Operand::Address) {
      const Operand &o = d.operand(next++);
      inst.ops[0] = o.kind == Operand::Sink ? noRef : d.dst(o, 64);
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
