// cp.async and its groups.
//
// Without checking, a copy happens when it is issued, which is one of the
// moments the ISA allows. With checking it happens when the thread waits for
// it, and its destination must not be touched until then. Adversarial runs
// take either moment, as the seed says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/check/Checker.h"
#include "sim/exec/Access.h"
#include "sim/exec/Decode.h"
#include "sim/exec/Mbarrier.h"
#include "sim/report/Counters.h"

namespace tessera::sim {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

/// Copies are remembered until somebody waits for them.
bool remembers(const Warp &w) {
  return w.block->checker || w.block->launch->options.adversarial;
}

/// Performs the copies of a lane up to commit group `last`.
void completeCopies(Warp &w, unsigned lane, uint32_t last) {
  auto &copies = w.copies;
  size_t kept = 0;
  for (size_t k = 0; k < copies.size(); ++k) {
    PendingCopy &c = copies[k];
    if (c.lane == lane && c.group <= last) {
      if (!c.done)
        performCopy(*w.block, c);
      if (w.block->checker)
        w.block->checker->copyDone(w, c);
    } else {
      copies[kept++] = c;
    }
  }
  copies.resize(kept);
}

/// Counting: the lanes of `mask` issued `bytes` each.
void issued(Warp &w, uint32_t mask, unsigned bytes) {
  report::Counters *counters = w.block->worker->counters;
  if (!counters)
    return;
  if (w.inFlight.empty())
    w.inFlight.resize(32, {0});
  for (uint32_t m = mask; m; m &= m - 1)
    w.inFlight[std::countr_zero(m)].back() += bytes;
  w.block->asyncBytes += uint64_t(bytes) * std::popcount(mask);
  counters->async.bytes = std::max(counters->async.bytes, w.block->asyncBytes);
}
/// Counting: a lane closes its group, or waits until `left` are not done.
void committed(Warp &w, unsigned lane) {
  if (w.inFlight.empty())
    return;
  auto &groups = w.inFlight[lane];
  uint64_t depth = 0;
  for (uint32_t bytes : groups)
    depth += bytes != 0;
  auto &most = w.block->worker->counters->async.groups;
  most = std::max(most, depth);
  groups.push_back(0);
}
void waited(Warp &w, unsigned lane, uint32_t left, bool all) {
  if (w.inFlight.empty())
    return;
  auto &groups = w.inFlight[lane];
  size_t closed = groups.size() - 1;
  size_t done = closed > left ? closed - left : 0;
  for (size_t k = 0; k < done; ++k)
    w.block->asyncBytes -= groups[k];
  groups.erase(groups.begin(), groups.begin() + long(done));
  if (all) {
    w.block->asyncBytes -= groups.back();
    groups.back() = 0;
  }
}

// ops[0] shared address, ops[1] global address, ops[2] source size,
// ops[3] ignore predicate; width: bytes; target: shared offset; imm: global
void copy(Warp &w, const Inst &i, uint32_t mask) {
  Access to, from;
  Inst part; // only offset and address width matter to computeAddresses
  part.addressWidth = i.regWidth;
  part.imm = int32_t(i.target);
  computeAddresses(w, part, mask, i.ops[0], to.address);
  computeAddresses(w, i, mask, i.ops[1], from.address);
  uint32_t reading = mask;
  uint8_t copied[32];
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    uint32_t n = i.width;
    if (i.ops[2] != noRef)
      n = std::min<uint32_t>(n, w.reg<uint32_t>(i.ops[2])[l]);
    if (i.ops[3] != noRef && (w.pred(i.ops[3]) >> l & 1))
      n = 0;
    copied[l] = uint8_t(n);
    if (!n)
      reading &= ~(m & -m);
  }
  bool late = remembers(w);
  bool adversarial = w.block->launch->options.adversarial;
  if (reading) {
    // Short sources: bounds are those of the bytes read.
    bool full = true;
    for (uint32_t m = reading; m; m &= m - 1)
      full &= copied[std::countr_zero(m)] == i.width;
    if (full) {
      translate(w, i, reading, Space::Global, i.width, i.width,
                AccessKind::Read, from);
    } else {
      for (uint32_t m = reading; m; m &= m - 1) {
        unsigned l = std::countr_zero(m);
        translate(w, i, m & -m, Space::Global, copied[l], 1, AccessKind::Read,
                  from);
      }
    }
  }
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    if (to.address[l] & (i.width - 1))
      throw Fault{Fault::MisalignedAddress,
                  "shared address of cp.async is not aligned to " +
                      std::to_string(i.width) + " bytes"};
    uint8_t *p = sharedPointer(w, to.address[l], i.width, l);
    PendingCopy c{uint32_t(p - w.block->shared),
                  from.address[l],
                  i.width,
                  copied[l],
                  uint8_t(l),
                  w.copyGroup[l] + 1,
                  &i};
    c.done = !late || (adversarial && w.block->worker->random() % 2);
    if (late && w.block->checker)
      w.block->checker->copyIssued(w, c);
    if (c.done)
      performCopy(*w.block, c);
    if (late)
      w.copies.push_back(c);
  }
  issued(w, mask, i.width);
}

void commit(Warp &w, const Inst &, uint32_t mask) {
  forLanes(mask, [&](unsigned l) { ++w.copyGroup[l]; });
  for (uint32_t m = mask; m; m &= m - 1)
    committed(w, unsigned(std::countr_zero(m)));
}

void waitGroup(Warp &w, const Inst &i, uint32_t mask) {
  for (uint32_t m = mask; m; m &= m - 1)
    waited(w, unsigned(std::countr_zero(m)), i.flags ? 0 : uint32_t(i.imm),
           i.flags);
  if (!remembers(w))
    return;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    // What an mbarrier tracks as well is complete too.
    if (i.flags || i.imm == 0)
      w.block->async.completeArrivals(w.index * 32 + l);
    if (i.flags) { // wait_all
      completeCopies(w, l, ~0u);
      continue;
    }
    uint32_t n = uint32_t(i.imm);
    if (w.copyGroup[l] > n)
      completeCopies(w, l, w.copyGroup[l] - n);
    else if (n == 0)
      completeCopies(w, l, w.copyGroup[l]);
  }
}

void arrive(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t address[32];
  computeAddresses(w, i, mask, i.ops[8], address);
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    waited(w, l, 0, true); // from here on it is the mbarrier's business
    SharedPlace at = mbarrierPlace(w, l, address[l], false);
    if (w.block->checker)
      w.block->checker->mbarrierUse(w, i, l, at.offset);
    if (!i.flags) // without .noinc
      mbarrierAddPending(w, l, at);
    auto op = std::make_unique<AsyncOp>();
    op->inst = &i;
    op->thread = w.index * 32 + l;
    op->signal = AsyncOp::ArriveOn;
    op->target = at.block;
    op->mbarrier = at.offset;
    std::copy_if(w.copies.begin(), w.copies.end(),
                 std::back_inserter(op->copies),
                 [&](const PendingCopy &c) { return c.lane == l; });
    std::erase_if(w.copies, [&](const PendingCopy &c) { return c.lane == l; });
    w.block->async.issue(std::move(op));
  }
}

} // namespace

void performCopy(Block &block, const PendingCopy &c) {
  uint8_t *to = block.shared + c.shared;
  std::memcpy(to, reinterpret_cast<const void *>(c.global), c.copied);
  std::memset(to + c.copied, 0, c.bytes - c.copied);
}

void decodeAsyncCopy(Decoder &d, Inst &inst) {
  inst.opClass = OpClass::AsyncCopy;
  if (d.has("bulk"))
    return decodeBulkCopy(d, inst);
  if (d.has("commit_group")) {
    inst.fn = commit;
  } else if (d.has("wait_group")) {
    inst.imm = d.immediate(d.operand(0));
    inst.fn = waitGroup;
  } else if (d.has("wait_all")) {
    inst.flags = 1;
    inst.fn = waitGroup;
  } else if (d.has("mbarrier")) {
    Space space = d.spaceModifier();
    d.address(d.operand(0), inst,
              space == Space::Generic ? space : Space::Shared, 8);
    inst.flags = d.has("noinc");
    inst.fn = arrive;
  } else {
    Inst shared;
    d.address(d.operand(0), shared, Space::Shared, 0);
    inst.ops[0] = shared.ops[0];
    inst.regWidth = shared.addressWidth;
    inst.target = uint32_t(int32_t(shared.imm));
    d.address(d.operand(1), inst, Space::Global, 1);
    inst.width = uint8_t(d.immediate(d.operand(2)));
    if (inst.width != 4 && inst.width != 8 && inst.width != 16)
      d.fail(d.operand(2), "size must be 4, 8 or 16");
    size_t n = d.operandCount();
    if (d.has("L2::cache_hint"))
      --n;
    for (size_t k = 3; k < n; ++k) {
      const Operand &o = d.operand(k);
      if (d.regBits(o) == 1)
        inst.ops[3] = d.pred(o);
      else
        inst.ops[2] = d.src(o, Type::U32);
    }
    inst.fn = copy;
  }
}

} // namespace tessera::sim
