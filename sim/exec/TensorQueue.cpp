// When products, copies and shifts are done, and tcgen05.commit.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/check/Checker.h"
#include "sim/exec/Cluster.h"
#include "sim/exec/Mbarrier.h"
#include "sim/exec/Tcgen05.h"
#include "sim/report/Recorder.h"

namespace tessera::sim {

using ptx::Space;
using ptx::Type;

uint32_t TensorUnit::issuedBy(uint32_t thread) const {
  auto it = perThread.find(thread);
  return it == perThread.end() ? 0 : it->second;
}

void TensorUnit::issue(Warp &w, unsigned lane, TensorOp op) {
  useGroup(w, *op.inst, op.isPair);
  std::vector<Block *> blocks = blocksOf(block, op.isPair);
  std::vector<TensorUse> uses;
  for (Block *b : blocks)
    uses.push_back((op.kind == TensorOp::Product ? productUses : transferUses)(
        w, lane, op, *b));
  ++block.events;
  ++issued;
  op.number = ++perThread[op.thread];
  if (block.recorder)
    block.recorder->tensorOp(w, op);
  for (size_t k = 0; k < blocks.size() && block.checker; ++k)
    block.checker->tensorIssued(w, lane, op, *blocks[k], uses[k]);
  ops.push_back(std::move(op));
  if (!isLazy(block) || ops.size() > mostInFlight)
    completeUpTo(issued - ops.size() + 1);
}

void TensorUnit::completeUpTo(uint64_t sequence) {
  while (!ops.empty() && issued - ops.size() < sequence) {
    TensorOp op = std::move(ops.front());
    ops.pop_front();
    perform(op);
  }
}

void TensorUnit::poll() {
  if (!ops.empty() && block.worker->random() % 4 == 0)
    completeUpTo(issued - ops.size() + 1);
}

void TensorUnit::perform(const TensorOp &op) {
  auto *part = op.kind == TensorOp::Product ? multiply
               : op.kind == TensorOp::Copy  ? copyToTensorMemory
                                            : shiftRows;
  part(block, op);
  if (op.isPair)
    part(pairBlock(block, block.clusterRank ^ 1), op);
}

void TensorUnit::useGroup(Warp &w, const Inst &inst, bool isPair) {
  if (!grouped[isPair])
    grouped[isPair] = &inst;
  const Inst *other = grouped[!isPair];
  if (!other || !block.checker ||
      block.launch->isReported("tensor-memory", inst.line, other->line))
    return;
  block.checker->report(
      "tensor-memory", w, inst, unsigned(std::countr_zero(w.groupMask)), 0,
      other,
      threadName(w, unsigned(std::countr_zero(w.groupMask))) + " at " +
          describePlace(inst, *block.launch) +
          " uses .cta_group::" + (isPair ? "2" : "1") + ", and " +
          check::opName(*other, *block.launch) +
          " the other one: all instructions of tcgen05 in a kernel have the "
          "same (PTX ISA 9.7.16)");
}

static void commit(Warp &w, const Inst &i, uint32_t mask) {
  requireTensorUnit(w);
  const auto &plan = *static_cast<const BulkPlan *>(i.extra.get());
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(std::countr_zero(m));
    auto op = beginCopy(w, i, l, plan, 0);
    TensorUnit &unit = tensorUnit(*w.block);
    unit.useGroup(w, i, plan.isPair);
    op->isCommit = true;
    op->tensorOps = unit.sequence();
    if (check::BlockChecker *checker = w.block->checker.get())
      op->released =
          checker->tensorCommitted(op->thread, unit.issuedBy(op->thread));
    SharedPlace place = mbarrierPlace(w, l, plan.mbarrier.of(w, l),
                                      plan.mbarrier.reachesCluster);
    issueTo(w, i, l, plan, destinations(w, l, plan, place), std::move(op));
  }
}

void decodeTensorCommit(Decoder &d, Inst &inst) {
  auto plan = std::make_shared<BulkPlan>();
  inst.extra = plan;
  inst.opClass = OpClass::Barrier;
  plan->signal = AsyncOp::ArriveOn;
  plan->isPair = d.has("cta_group::2");
  if (!d.has("mbarrier::arrive::one"))
    d.fail("needs .mbarrier::arrive::one");
  Space space =
      d.has("shared::cluster") ? Space::SharedCluster : Space::Generic;
  plan->mbarrier = decodeAddress(d, d.operand(0), space);
  bool isMulticast = d.has("multicast::cluster");
  if (d.operandCount() != (isMulticast ? 2u : 1u))
    d.fail("needs a mask of blocks exactly for .multicast::cluster");
  if (isMulticast)
    plan->blocks = d.src(d.operand(1), Type::U16);
  inst.fn = commit;
}

} // namespace tessera::sim
