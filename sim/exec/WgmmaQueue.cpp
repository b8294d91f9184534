// When products are computed, and who owns their registers; see Wgmma.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/check/Checker.h"
#include "sim/exec/Block.h"
#include "sim/exec/Wgmma.h"

namespace tessera::sim {

std::vector<WgmmaQueue::Register> &WgmmaQueue::registersOf(const Code &code) {
  std::vector<Register> &all = registers[&code];
  if (all.empty())
    all.resize(code.function->registers.size());
  return all;
}

void WgmmaQueue::report(const Inst &inst, uint32_t active, const Inst *other,
                        const std::string &message, const char *kind) {
  check::BlockChecker *checker = warp.block->checker.get();
  const Launch &launch = *warp.block->launch;
  if (!checker ||
      warp.block->launch->isReported(kind, inst.line, other ? other->line : 0))
    return;
  unsigned lane = unsigned(std::countr_zero(active));
  checker->report(kind, warp, inst, lane, 0, other,
                  threadName(warp, lane) + " at " +
                      describePlace(inst, launch) + " " + message);
}

static const WgmmaPlan &planOf(const Inst &inst) {
  return *static_cast<const WgmmaPlan *>(inst.extra.get());
}
static bool isMove(const Inst &inst) { return inst.source->base == "mov"; }
static bool isSameShape(const Inst &a, const Inst &b) {
  const WgmmaPlan &p = planOf(a), &q = planOf(b);
  return p.n == q.n && p.k == q.k && p.halfD == q.halfD &&
         p.integer == q.integer && p.elementBits == q.elementBits;
}

std::string WgmmaQueue::nameOf(const Code &code, unsigned number) const {
  return "register " + code.function->registers[number].name;
}

void WgmmaQueue::useRegisters(const WgmmaOp &op) {
  const WgmmaPlan &p = planOf(*op.inst);
  std::vector<Register> &all = registersOf(*op.code);
  const Launch &launch = *warp.block->launch;
  auto place = [&](const Inst *i) { return describePlace(*i, launch); };
  if (!fences)
    report(*op.inst, ~0u, nullptr,
           "executes the first wgmma.mma_async of its warp group without a "
           "wgmma.fence before it");
  auto noFence = [&](unsigned number, const Inst *other, const char *what) {
    check::BlockChecker *checker = warp.block->checker.get();
    if (checker && isMove(*other) &&
        !checker->owner.isNewRemark(*op.inst, "moves"))
      return;
    report(*op.inst, ~0u, other,
           "uses " + nameOf(*op.code, number) + ", which " + what + " at " +
               place(other) + ": there is no wgmma.fence between them",
           isMove(*other) ? "remark" : "async-register");
  };
  for (unsigned number : p.aNumbers) {
    Register &r = all[number];
    if (r.modified && r.modifiedFence == fences)
      noFence(number, r.modified, "was written");
    if (r.written > waited)
      report(*op.inst, ~0u, r.writer,
             "reads " + nameOf(*op.code, number) +
                 " as a part of A, which the wgmma.mma_async at " +
                 place(r.writer) +
                 " may still write: no wgmma.wait_group came between them");
    r.read = op.group;
    r.reader = op.inst;
  }
  for (unsigned number : p.dNumbers) {
    Register &r = all[number];
    if (r.accessed && r.accessedFence == fences)
      noFence(number, r.accessed, "was accessed");
    else if (r.written > waited && r.writerFence == fences && !r.isCopy &&
             !isSameShape(*r.writer, *op.inst))
      noFence(number, r.writer, "a wgmma.mma_async of another shape writes");
    if (r.read > waited && r.reader != op.inst)
      report(*op.inst, ~0u, r.reader,
             "writes " + nameOf(*op.code, number) +
                 ", which the wgmma.mma_async at " + place(r.reader) +
                 " may still read as a part of A: no wgmma.wait_group came "
                 "between them");
    r.written = op.group;
    r.writer = op.inst;
    r.writerFence = fences;
    r.isCopy = false;
  }
}

void WgmmaQueue::issue(WgmmaOp op) {
  op.group = committed + 1;
  std::vector<uint32_t> chunks = chunksOf(warp, op);
  if (warp.block->checker)
    warp.block->checker->wgmmaIssued(warp, *op.inst, chunks, op.group);
  useRegisters(op);
  ops.push_back(std::move(op));
}

void WgmmaQueue::complete(WgmmaOp &op) {
  if (!op.done)
    multiply(warp, op);
  op.done = true;
}

void WgmmaQueue::completeUpTo(uint32_t group) {
  for (WgmmaOp &op : ops)
    if (op.group <= group)
      complete(op);
}

void WgmmaQueue::wait(uint32_t left) {
  uint32_t group = committed > left ? committed - left : 0;
  if (group <= waited)
    return;
  waited = group;
  completeUpTo(group);
  std::erase_if(ops, [&](const WgmmaOp &op) { return op.group <= group; });
  if (warp.block->checker)
    warp.block->checker->wgmmaWaited(warp, group);
}

void WgmmaQueue::poll() {
  if (warp.block->worker->random() % 4)
    return;
  for (WgmmaOp &op : ops)
    if (!op.done)
      return complete(op);
}

void WgmmaQueue::exited() {
  check::BlockChecker *checker = warp.block->checker.get();
  for (const WgmmaOp &op : ops)
    if (checker && op.group > waited)
      checker->note(warp, *op.inst, "async-copy",
                    "a warp exits without waiting for its wgmma", 0);
  ops.clear();
}

void WgmmaQueue::touch(const Inst &inst, const Code &code, uint32_t pc,
                       uint32_t active) {
  if (code.wgmmaTouches.empty() || code.wgmmaTouches[pc].empty())
    return;
  const std::vector<RegisterTouch> &touches = code.wgmmaTouches[pc];
  std::vector<Register> &all = registersOf(code);
  const Launch &launch = *warp.block->launch;
  bool isCopying = isMove(inst);
  Register copied; // what a move carries along
  for (RegisterTouch t : touches) {
    Register &r = all[t.number];
    bool isWritten = r.written > waited, isRead = r.read > waited;
    if (isCopying && !t.isWritten) {
      if (isWritten && r.written >= copied.written)
        copied = r;
      if (isWritten || isRead)
        continue;
    }
    if (t.isWritten && r.isCopy)
      isWritten = false; // the copy is replaced, its original stays
    if (isWritten || isRead) {
      const Inst *other = isWritten ? r.writer : r.reader;
      report(inst, active, other,
             std::string(t.isWritten ? "writes " : "reads ") +
                 nameOf(code, t.number) + ", which the wgmma.mma_async at " +
                 describePlace(*other, launch) + " may still " +
                 (isWritten ? "write" : "read") +
                 ": no wgmma.wait_group came between them");
    }
    r.accessed = &inst;
    r.accessedFence = fences;
    if (t.isWritten) {
      r.modified = &inst;
      r.modifiedFence = fences;
      r.isCopy = false;
    }
  }
  for (RegisterTouch t : touches)
    if (isCopying && t.isWritten) {
      Register &r = all[t.number];
      r.written = copied.written;
      r.writer = copied.writer;
      r.isCopy = copied.written != 0;
    }
  // The value has to be there for the move.
  for (WgmmaOp &op : ops)
    if (op.group <= copied.written)
      complete(op);
}

} // namespace tessera::sim
