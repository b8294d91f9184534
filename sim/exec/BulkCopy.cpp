// cp.async.bulk, cp.reduce.async.bulk, st.async and red.async: what they ask
// of the queue of asynchronous operations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/BulkCopy.h"

#include "sim/check/Checker.h"
#include "sim/exec/Cluster.h"
#include "sim/exec/Mbarrier.h"
#include "sim/report/Recorder.h"

namespace tessera::sim {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

Address decodeAddress(Decoder &d, const Operand &o, Space space) {
  Inst part;
  d.address(o, part, space, 8);
  return {part.ops[8], part.addressWidth, part.imm, part.reachesCluster};
}

std::unique_ptr<AsyncOp> beginCopy(Warp &w, const Inst &i, unsigned lane,
                                   const BulkPlan &plan, uint32_t bytes) {
  auto op = std::make_unique<AsyncOp>();
  op->inst = &i;
  op->thread = w.index * 32 + lane;
  op->from = plan.from;
  op->to = plan.to;
  op->bytes = bytes;
  return op;
}

std::vector<Block *> destinations(Warp &w, unsigned l, const BulkPlan &plan,
                                  const SharedPlace &place) {
  if (plan.blocks == noRef)
    return {place.block};
  const auto &cluster = w.block->cluster->blocks;
  uint16_t mask = w.reg<uint16_t>(plan.blocks)[l];
  if (mask >> cluster.size())
    throw Fault{Fault::IllegalInstruction,
                "the mask of a multicast, " + std::to_string(mask) +
                    ", names blocks that are not in the cluster of " +
                    std::to_string(cluster.size()) + ", by " + threadName(w, l),
                0, int(l)};
  std::vector<Block *> all;
  for (auto &block : cluster)
    if (mask >> block->clusterRank & 1) {
      if (!block->liveThreads)
        throw Fault{Fault::ExitedBlock,
                    "multicast to " +
                        blockName(block->launch->options, block->linear) +
                        ", which has exited, by " + threadName(w, l),
                    0, int(l)};
      all.push_back(block.get());
    }
  return all;
}

void signalAt(Warp &w, const Inst &i, unsigned l, const BulkPlan &plan,
              Block &target, AsyncOp &op) {
  op.signal = plan.signal;
  op.target = op.destination = &target;
  if (plan.signal == AsyncOp::BulkGroup) {
    op.group = w.block->async.openGroup(op.thread);
    return;
  }
  SharedPlace at =
      mbarrierPlace(w, l, plan.mbarrier.of(w, l), plan.mbarrier.reachesCluster);
  if (plan.isPair && plan.to == AsyncOp::Shared) {
    // Of each pair, the block of the same parity as the mbarrier's.
    unsigned pair = target.clusterRank & ~1u;
    if (plan.blocks != noRef || at.block->clusterRank / 2 == pair / 2)
      op.target = &pairBlock(*w.block, pair | (at.block->clusterRank & 1));
  }
  if (plan.blocks == noRef && !plan.reachesAll && at.block != op.target)
    throw Fault{Fault::IllegalInstruction,
                "the destination is in " +
                    blockName(w.block->launch->options, target.linear) + ", " +
                    mbarrierName(*at.block, at.offset) +
                    (plan.isPair ? ": they must be in one pair of blocks"
                                 : ": they must be in one block") +
                    ", used by " + threadName(w, l),
                at.offset, int(l)};
  op.mbarrier = at.offset;
  if (!mbarrierWord(*op.target, at.offset).live)
    throw Fault{Fault::IllegalInstruction,
                mbarrierName(*op.target, at.offset) +
                    " is not initialised, used by " + threadName(w, l),
                at.offset, int(l)};
  if (op.target->checker)
    op.target->checker->mbarrierUse(w, i, l, at.offset);
}

void issueTo(Warp &w, const Inst &i, unsigned l, const BulkPlan &plan,
             const std::vector<Block *> &targets, std::unique_ptr<AsyncOp> op) {
  if (!targets.empty()) {
    countBytes(w, i, op->bytes);
    if (w.block->recorder)
      w.block->recorder->requested(*op, targets.size(), plan.blocks != noRef);
  }
  for (Block *target : targets) {
    // They end one by one.
    auto one = target == targets.back() ? std::move(op)
                                        : std::make_unique<AsyncOp>(*op);
    signalAt(w, i, l, plan, *target, *one);
    w.block->async.issue(std::move(one));
  }
}

void countBytes(Warp &w, const Inst &i, uint64_t bytes) {
  if (w.block->worker->counters && i.id != ~0u)
    w.block->worker->counters->perInstruction[i.id].bytes += bytes;
}

bool isReductionDefined(AtomicOp op, Type type, bool global) {
  bool isFloat = ptx::isFloat(type);
  bool is64 = ptx::typeBytes(type) == 8;
  switch (op) {
  case AtomicOp::Add:
    return type != Type::S64 && (global || !isFloat);
  case AtomicOp::Min:
  case AtomicOp::Max:
    return isFloat ? global && (type == Type::F16 || type == Type::BF16)
                   : global || !is64;
  case AtomicOp::Inc:
  case AtomicOp::Dec:
    return type == Type::U32;
  case AtomicOp::And:
  case AtomicOp::Or:
  case AtomicOp::Xor:
    return !isFloat && (global || !is64);
  default:
    return false;
  }
}

namespace {

using Plan = BulkPlan;

void checkAligned(Warp &w, unsigned l, uint64_t address, bool write) {
  if (address & 15)
    throw Fault{Fault::MisalignedAddress,
                std::string(write ? "destination" : "source") +
                    " of a bulk copy by " + threadName(w, l) +
                    " is not aligned to 16 bytes",
                address, int(l)};
}

/// The place of a bulk copy's source or destination, checked; the block is
/// the own one for global memory.
std::pair<Block *, uint64_t> place(Warp &w, unsigned l, AsyncOp::Place kind,
                                   const Address &at, uint32_t bytes,
                                   bool write) {
  uint64_t address = at.of(w, l);
  checkAligned(w, l, address, write);
  if (kind == AsyncOp::Shared) {
    SharedPlace shared = sharedPlace(w, address, bytes, l, at.reachesCluster);
    return {shared.block, shared.offset};
  }
  globalPointer(w, address, bytes, write, l);
  return {w.block, address};
}

uint32_t bulkSize(Warp &w, unsigned l, Ref size) {
  uint32_t bytes = w.reg<uint32_t>(size)[l];
  if (bytes & 15)
    throw Fault{Fault::MisalignedAddress,
                "size " + std::to_string(bytes) + " of a bulk copy by " +
                    threadName(w, l) + " is not a multiple of 16 bytes",
                0, int(l)};
  return bytes;
}

/// The ISA wants these to reach another block of the cluster.
void ownBlock(Warp &w, const Inst &i, const Block &target) {
  auto *checker = w.block->checker.get();
  if (checker && &target == w.block &&
      checker->owner.isNewRemark(i, "own block"))
    checker->note(w, i, "remark",
                  "the destination is in the block's own shared "
                  "memory, where the ISA wants another block of the "
                  "cluster",
                  0);
}

void bulkCopy(Warp &w, const Inst &i, uint32_t mask) {
  const auto &plan = *static_cast<const Plan *>(i.extra.get());
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    uint32_t bytes = bulkSize(w, l, plan.size);
    auto op = beginCopy(w, i, l, plan, bytes);
    auto from = place(w, l, plan.from, plan.source, bytes, false);
    auto to = place(w, l, plan.to, plan.destination, bytes, true);
    op->pieces.push_back({from.second, to.second, bytes});
    op->reduces = plan.reduces;
    op->ring = plan.ring;
    op->op = plan.op;
    op->type = plan.type;
    if (plan.byteMask != noRef)
      op->byteMask = w.reg<uint16_t>(plan.byteMask)[l];
    auto targets = destinations(w, l, plan, {to.first, uint32_t(to.second)});
    if (plan.from == AsyncOp::Shared && plan.to == AsyncOp::Shared)
      ownBlock(w, i, *to.first);
    issueTo(w, i, l, plan, targets, std::move(op));
  }
}

// st.async and red.async
void asyncStore(Warp &w, const Inst &i, uint32_t mask) {
  const auto &plan = *static_cast<const Plan *>(i.extra.get());
  uint32_t bytes = i.width * uint32_t(plan.values.size());
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    uint64_t address = plan.destination.of(w, l);
    if (address & (bytes - 1))
      throw Fault{Fault::MisalignedAddress,
                  "address used by " + threadName(w, l) +
                      " is not aligned to " + std::to_string(bytes) + " bytes",
                  address, int(l)};
    auto op = std::make_unique<AsyncOp>();
    op->inst = &i;
    op->thread = w.index * 32 + l;
    op->from = AsyncOp::Value;
    op->to = AsyncOp::Shared;
    op->bytes = bytes;
    SharedPlace to =
        sharedPlace(w, address, bytes, l, plan.destination.reachesCluster);
    op->pieces.push_back({0, to.offset, bytes});
    for (Ref value : plan.values) {
      uint64_t v =
          i.width == 4 ? w.reg<uint32_t>(value)[l] : w.reg<uint64_t>(value)[l];
      const auto *p = reinterpret_cast<const uint8_t *>(&v);
      op->data.insert(op->data.end(), p, p + i.width);
    }
    op->reduces = plan.reduces;
    op->op = plan.op;
    op->type = plan.type;
    ownBlock(w, i, *to.block);
    issueTo(w, i, l, plan, {to.block}, std::move(op));
  }
}

void commitGroup(Warp &w, const Inst &, uint32_t mask) {
  for (uint32_t m = mask; m; m &= m - 1)
    w.block->async.commitGroup(w.index * 32 + unsigned(std::countr_zero(m)));
}

// imm: groups that may stay; flags: 1 for .read
void waitGroup(Warp &w, const Inst &i, uint32_t mask) {
  for (uint32_t m = mask; m; m &= m - 1) {
    uint32_t thread = w.index * 32 + unsigned(std::countr_zero(m));
    uint32_t committed = w.block->async.openGroup(thread) - 1;
    if (committed <= uint64_t(i.imm))
      continue;
    uint32_t group = committed - uint32_t(i.imm);
    w.block->async.waitGroups(thread, group, i.flags);
    if (w.block->recorder)
      w.block->recorder->groupsWaited(w, i, thread, group);
    if (w.block->checker)
      w.block->checker->bulkWaited(thread, group, i.flags);
  }
}

// ops[0] size; a hint, but the operands have rules.
void prefetch(Warp &w, const Inst &i, uint32_t mask) {
  const auto &plan = *static_cast<const Plan *>(i.extra.get());
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    uint32_t bytes = bulkSize(w, l, plan.size);
    if (w.block->recorder)
      w.block->recorder->prefetched(i, bytes);
    // What lies outside of all memory is not fetched.
    checkAligned(w, l, plan.source.of(w, l), false);
  }
}

void decodeReduction(Decoder &d, Inst &inst, Plan &plan) {
  if (d.source->types.size() != 1)
    d.fail("needs exactly one type");
  plan.reduces = true;
  plan.type = d.type();
  plan.op = decodeAtomicOp(d);
  plan.ring = ptx::isFloat(plan.type) && d.program.ring;
  if (!isReductionDefined(plan.op, plan.type, plan.to == AsyncOp::Global))
    d.fail("this operation is not defined for the type");
  inst.semantics =
      check::relaxed |
      (plan.to == AsyncOp::Global ? check::scopeDevice : check::scopeCluster);
}

} // namespace

void decodeBulkCopy(Decoder &d, Inst &inst) {
  if (d.has("commit_group")) {
    inst.fn = commitGroup;
    return;
  }
  if (d.has("wait_group")) {
    inst.imm = d.immediate(d.operand(0));
    if (inst.imm < 0)
      d.fail(d.operand(0), "must not be negative");
    inst.flags = d.has("read");
    inst.fn = waitGroup;
    return;
  }
  if (d.has("tensor"))
    return decodeTensorCopy(d, inst);
  auto plan = std::make_shared<Plan>();
  inst.extra = plan;
  if (d.has("prefetch")) {
    plan->source = decodeAddress(d, d.operand(0), Space::Global);
    plan->size = d.src(d.operand(1), Type::U32);
    inst.fn = prefetch;
    return;
  }
  // The destination's space stands before the source's.
  std::vector<std::string_view> spaces;
  for (std::string_view m : d.source->modifiers)
    if (m == "global" || m == "shared::cta" || m == "shared::cluster")
      spaces.push_back(m);
  if (spaces.size() != 2)
    d.fail("needs the state spaces of destination and source");
  auto placeOf = [](std::string_view space) {
    return space == "global" ? AsyncOp::Global : AsyncOp::Shared;
  };
  plan->to = placeOf(spaces[0]);
  plan->from = placeOf(spaces[1]);
  bool group = d.has("bulk_group");
  if (group == d.has("mbarrier::complete_tx::bytes") ||
      group != (plan->to == AsyncOp::Global))
    d.fail("needs .bulk_group to global memory, .mbarrier::complete_tx::bytes "
           "to shared memory");
  if (spaces[1] == "shared::cluster" ||
      (plan->from == AsyncOp::Global && plan->to == AsyncOp::Global) ||
      (plan->from == AsyncOp::Shared && spaces[0] == "shared::cta"))
    d.fail("there is no copy in this direction");
  auto address = [&](size_t k, std::string_view space) {
    return decodeAddress(d, d.operand(k),
                         space == "global"            ? Space::Global
                         : space == "shared::cluster" ? Space::SharedCluster
                                                      : Space::Shared);
  };
  plan->signal = group ? AsyncOp::BulkGroup : AsyncOp::CompleteTx;
  plan->destination = address(0, spaces[0]);
  plan->source = address(1, spaces[1]);
  plan->size = d.src(d.operand(2), Type::U32);
  size_t next = 3;
  auto more = [&](const char *what) -> const Operand & {
    if (next >= d.operandCount())
      d.fail(std::string("needs ") + what);
    return d.operand(next++);
  };
  if (!group) {
    more("an mbarrier");
    plan->mbarrier = address(3, spaces[0]);
  }
  if (d.has("multicast::cluster"))
    plan->blocks = d.src(more("a mask of blocks"), Type::U16);
  if (d.has("L2::cache_hint"))
    d.src(more("a cache policy"), Type::U64);
  if (d.has("cp_mask")) {
    if (!group)
      d.fail("a byte mask goes to global memory only");
    plan->byteMask = d.src(more("a byte mask"), Type::U16);
  }
  if (next != d.operandCount())
    d.fail("has too many operands");
  if (d.has("ignore_oob"))
    d.fail("not supported: .ignore_oob");
  if (d.source->has("reduce"))
    decodeReduction(d, inst, *plan);
  inst.fn = bulkCopy;
}

void decodeAsyncStore(Decoder &d, Inst &inst) {
  if (d.source->types.size() != 1)
    d.fail("needs exactly one type");
  auto plan = std::make_shared<Plan>();
  inst.opClass = OpClass::AsyncCopy;
  inst.extra = plan;
  inst.width = ptx::typeBytes(d.type());
  if (inst.width != 4 && inst.width != 8)
    d.fail("needs a type of 32 or 64 bits");
  plan->to = AsyncOp::Shared;
  plan->destination = decodeAddress(d, d.operand(0), Space::SharedCluster);
  plan->mbarrier = decodeAddress(d, d.operand(2), Space::SharedCluster);
  const Operand &data = d.operand(1);
  Type type = inst.width == 4 ? Type::B32 : Type::B64;
  if (d.type() == Type::F32 || d.type() == Type::F64)
    type = d.type();
  if (data.kind == Operand::Vector)
    for (const Operand &e : data.elements)
      plan->values.push_back(d.src(e, type));
  else
    plan->values.push_back(d.src(data, type));
  size_t length = d.has("v4") ? 4 : d.has("v2") ? 2 : 1;
  if (plan->values.size() != length)
    d.fail(data, "expected " + std::to_string(length) + " values");
  if (d.source->base == "red")
    decodeReduction(d, inst, *plan);
  inst.fn = asyncStore;
}

} // namespace tessera::sim
