// clusterlaunchcontrol: a block takes over the work of clusters that have not
// started.
//
// The response, 16 bytes, is opaque to programs: x, y and z of the first block
// of the cluster, and 1 if there is one. In adversarial runs a request may fail
// although clusters are left, as the ISA allows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/check/Checker.h"
#include "sim/exec/BulkCopy.h"
#include "sim/exec/Cluster.h"

namespace tessera::sim {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

struct Response {
  uint32_t first[3] = {~0u, ~0u, ~0u};
  uint32_t isCanceled = 0;
};

Response cancelNext(Launch &launch, LaunchWorker &worker) {
  Response response;
  if (launch.options.adversarial && worker.random() % 8 == 0)
    return response;
  uint64_t next = launch.nextCluster.fetch_add(1);
  if (next >= launch.clusterCount)
    return response;
  BlockIndex block =
      blockIndex(launch.options, next * launch.options.clusterBlocks());
  std::copy_n(block.at, 3, response.first);
  response.isCanceled = 1;
  return response;
}

void tryCancel(Warp &w, const Inst &i, uint32_t mask) {
  const auto &plan = *static_cast<const BulkPlan *>(i.extra.get());
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(std::countr_zero(m));
    uint64_t address = plan.destination.of(w, l);
    if (address & 15)
      throw Fault{Fault::MisalignedAddress,
                  "the response of clusterlaunchcontrol.try_cancel by " +
                      threadName(w, l) + " is not aligned to 16 bytes",
                  address, int(l)};
    SharedPlace place = sharedPlace(w, address, sizeof(Response), l, false);
    Block &block = *w.block;
    if (block.checker && block.sawNoCancel)
      block.checker->note(w, i, "launch-control",
                          threadName(w, l) + " asks for another cluster at " +
                              describePlace(i, *block.launch) +
                              ", though the block has seen "
                              "that a request failed (at " +
                              describePlace(*block.sawNoCancel, *block.launch) +
                              "): what happens is undefined",
                          place.offset);
    Response response = cancelNext(*block.launch, *block.worker);
    auto op = beginCopy(w, i, l, plan, sizeof response);
    op->pieces.push_back({0, place.offset, sizeof response});
    const auto *bytes = reinterpret_cast<const uint8_t *>(&response);
    op->data.assign(bytes, bytes + sizeof response);
    std::vector<Block *> targets = {place.block};
    if (plan.reachesAll) {
      targets.clear();
      for (auto &other : block.cluster->blocks)
        targets.push_back(other.get());
    }
    issueTo(w, i, l, plan, targets, std::move(op));
  }
}

Response responseOf(Warp &w, const Inst &i, unsigned l) {
  const auto *words = w.reg<uint64_t>(i.ops[4]);
  uint64_t both[2] = {words[l], words[32 + l]};
  Response response;
  std::memcpy(&response, both, sizeof response);
  return response;
}

// ops[0] predicate, ops[4] response
void isCanceled(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t value = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(std::countr_zero(m));
    if (responseOf(w, i, l).isCanceled)
      value |= m & -m;
    else
      w.block->sawNoCancel = &i;
  }
  w.setPred(i.ops[0], mask, value);
}

// ops[0] to ops[2] x, y and z, or noRef; ops[4] response
void firstBlock(Warp &w, const Inst &i, uint32_t mask) {
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(std::countr_zero(m));
    Response response = responseOf(w, i, l);
    if (!response.isCanceled && w.block->checker &&
        w.block->checker->owner.isNewRemark(i, "first block"))
      w.block->checker->note(w, i, "remark",
                             "the index of the first block is asked for, "
                             "though nothing was cancelled: it is undefined",
                             0);
    for (unsigned d = 0; d < 3; ++d)
      if (i.ops[d] != noRef)
        w.reg<uint32_t>(i.ops[d])[l] = response.first[d];
  }
}

} // namespace

void decodeLaunchControl(Decoder &d, Inst &inst) {
  if (d.has("query_cancel")) {
    inst.opClass = OpClass::Other;
    inst.ops[4] = d.src(d.operand(1), Type::B128);
    const Operand &to = d.operand(0);
    if (d.has("is_canceled")) {
      inst.ops[0] = d.predDst(to);
      inst.fn = isCanceled;
      return;
    }
    inst.fn = firstBlock;
    if (d.has("get_first_ctaid")) {
      if (to.kind != Operand::Vector || to.elements.size() != 4)
        d.fail(to, "expected a vector of 4 registers");
      for (unsigned k = 0; k < 3; ++k)
        if (to.elements[k].kind != Operand::Sink)
          inst.ops[k] = d.dst(to.elements[k], 32);
      return;
    }
    for (unsigned k = 0; k < 3; ++k)
      if (d.has(std::string("get_first_ctaid::") + "xyz"[k])) {
        inst.ops[k] = d.dst(to, 32);
        return;
      }
    d.fail("needs .is_canceled or .get_first_ctaid");
  }
  auto plan = std::make_shared<BulkPlan>();
  inst.extra = plan;
  inst.opClass = OpClass::AsyncCopy;
  inst.fn = tryCancel;
  if (!d.has("try_cancel") || !d.has("async") ||
      !d.has("mbarrier::complete_tx::bytes"))
    d.fail("needs .try_cancel.async and .mbarrier::complete_tx::bytes");
  plan->from = AsyncOp::Value;
  plan->to = AsyncOp::Shared;
  plan->reachesAll = d.has("multicast::cluster::all");
  Space space = d.has("shared::cta") ? Space::Shared : Space::Generic;
  plan->destination = decodeAddress(d, d.operand(0), space);
  plan->mbarrier = decodeAddress(d, d.operand(1), space);
}

} // namespace tessera::sim
