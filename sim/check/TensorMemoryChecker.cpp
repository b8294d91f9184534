// Tensor memory: who may touch what, and when.
//
// Products, copies and shifts end when somebody sees the phase complete that a
// tcgen05.commit behind them arrives in; loads and stores end at tcgen05.wait,
// a load also when its register is used. Between operations of the first kind,
// some pairs are ordered by the order of their issue (PTX ISA 9.7.16.6.2);
// others the hardware orders as well and real code counts on it: a remark.
// tcgen05.fence is asked for where order does not come from a commit: without
// it, order that only the issue gives is an error, and order of operations that
// have ended is a remark, because CUTLASS, CuTe DSL and Triton leave it out.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/check/Checker.h"
#include "sim/exec/Cluster.h"
#include "sim/exec/Tcgen05.h"

namespace tessera::sim::check {

void BlockChecker::tensorFence(Warp &w, uint32_t mask, bool isAfter) {
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned t = w.index * 32 + unsigned(std::countr_zero(m));
    ThreadState &s = threads[t];
    auto clock = std::make_shared<Clock>(*s.known);
    auto cover = [&](unsigned to, unsigned from) {
      for (const auto &[number, view] : Clock::View(clock->fenced[from]))
        clock->fenced[to][number].join(view);
    };
    if (isAfter) {
      cover(tensorAfter, tensorBefore);
    } else {
      cover(tensorBefore, tensorAfter);
      Clock::BlockView &own = clock->fenced[tensorBefore][block.linear];
      if (own.each.empty())
        own.each.assign(owner.threadsPerBlock, 0);
      own.each[t] = std::max(own.each[t], s.epoch);
      ++s.epoch;
    }
    s.known = clock;
  }
}

void BlockChecker::tensorWaited(Warp &w, bool stores, uint32_t number) {
  uint32_t agent = (stores ? tensorStoreAgent : tensorLoadAgent) | w.index;
  ClockPtr last, changed;
  for (uint32_t m = w.live; m; m &= m - 1) {
    ThreadState &s = threads[w.index * 32 + unsigned(std::countr_zero(m))];
    if (!changed || s.known != last) {
      auto clock = std::make_shared<Clock>(*s.known);
      clock->blocks[block.linear].know(agent, number);
      last = s.known;
      changed = clock;
    }
    s.known = changed;
  }
}

ClockPtr BlockChecker::tensorCommitted(uint32_t thread, uint32_t number) {
  auto clock = std::make_shared<Clock>(*release(thread));
  clock->blocks[block.linear].know(tensorAgent | thread, number);
  for (const auto &[agent, last] : tensorFollows[thread])
    clock->blocks[agent.first].know(agent.second, last);
  return clock;
}

static const char *verb(const TensorMark &mark) {
  return mark.isWrite ? "write" : "read";
}

/// Pairs that are done in the order of their issue.
static bool isPipelined(const TensorMark &first, const TensorMark &second) {
  if (second.kind == TensorMark::Product)
    return first.kind != TensorMark::Product || first.shape == second.shape;
  if (second.kind == TensorMark::Shift)
    return first.kind == TensorMark::Product;
  return first.kind == TensorMark::Shift && second.kind == TensorMark::CopyRows;
}

void BlockChecker::tensorAgainst(Warp &w, unsigned lane, const TensorMark &mark,
                                 const TensorMark &mine, const Clock &known,
                                 uint32_t address) {
  auto tell = [&](const char *kind, const std::string &why) {
    if (std::string_view(kind) == "remark"
            ? !owner.isNewRemark(*mine.inst, "tensor")
            : owner.launch.isReported(kind, mine.inst->line, mark.inst->line))
      return;
    char place[64];
    std::snprintf(place, sizeof place, "column %u, lane %u of tensor memory",
                  address & 0xffff, address >> 16);
    report(kind, w, *mine.inst, lane, address, mark.inst,
           threadName(w, lane) + " at " +
               describePlace(*mine.inst, owner.launch) + " " + verb(mine) +
               "s " + place + ofBlock(block) + ", which " +
               opName(*mark.inst, owner.launch) + " of " +
               threadName(owner.launch.options, mark.block, mark.thread) + " " +
               verb(mark) + "s: " + why);
  };
  bool hasEnded = known.of(mark.block, mark.agent) >= mark.epoch;
  bool isMove = mark.kind == TensorMark::Load || mark.kind == TensorMark::Store;
  bool isSameWarp =
      mark.block == w.block->linear && mark.thread / 32 == w.index;
  auto isFenced = [&] {
    return Clock::of(known.fenced[tensorAfter], mark.block, mark.thread) >=
           mark.threadEpoch;
  };
  if (isMove) {
    if (!hasEnded)
      tell("tensor-async",
           std::string("nobody waited for its end before (tcgen05.wait::") +
               (mark.kind == TensorMark::Load ? "ld)" : "st)"));
    else if (!isSameWarp && mine.kind != TensorMark::Free && !isFenced())
      tell("remark", "there is no tcgen05.fence::before_thread_sync after the "
                     "one and ::after_thread_sync before the other");
    return;
  }
  if (hasEnded)
    return;
  if (mine.agent >> 28 != tensorAgent >> 28)
    return tell("tensor-async",
                "nobody saw the phase complete that a tcgen05.commit behind it "
                "arrives in");
  bool isSameThread = mark.block == mine.block && mark.thread == mine.thread;
  if (!isSameThread && known.of(mark.block, mark.thread) < mark.threadEpoch)
    return tell("tensor-async", "the two threads are not ordered");
  if (isPipelined(mark, mine)) {
    if (!isSameThread && !isFenced())
      tell("tensor-fence",
           "there is no tcgen05.fence::before_thread_sync after the one and "
           "::after_thread_sync before the other");
    uint32_t &last =
        w.block->checker->tensorFollows[mine.thread][{mark.block, mark.agent}];
    last = std::max(last, mark.epoch);
  } else if (mark.kind == TensorMark::Product &&
             mine.kind == TensorMark::Product && mark.isWrite) {
    tell("tensor-async",
         "products follow each other only with the same shape on the same "
         "accumulator (PTX ISA 9.7.16.6.2)");
  } else {
    tell("remark", "the ISA does not say that they follow each other without a "
                   "commit, though they do");
  }
}

std::optional<uint32_t> BlockChecker::tensorUse(Warp &w, unsigned lane,
                                                const TensorRegion &region,
                                                const TensorMark &mine,
                                                const Clock &known) {
  std::optional<uint32_t> unwritten;
  constexpr uint32_t groups = TensorMemory::lanes / TensorMemory::groupLanes;
  if (tensorCells.empty())
    tensorCells.resize(size_t(groups) * TensorMemory::columns);
  TensorMark passed; // neighbours mostly have the same
  auto against = [&](const TensorMark &mark, uint32_t address) {
    auto isOf = [&](const TensorMark &other) {
      return mark.agent == other.agent && mark.epoch == other.epoch;
    };
    bool isOwn = isOf(mine) && mark.block == mine.block;
    if (!mark.inst || isOwn || (isOf(passed) && mark.isWrite == passed.isWrite))
      return;
    tensorAgainst(w, lane, mark, mine, known, address);
    passed = mark;
  };
  for (uint32_t g = 0; g < groups; ++g)
    for (uint32_t c = region.column;
         region.groups >> g & 1 && c < region.column + region.columns; ++c) {
      TensorCellState &cell = tensorCells[g * TensorMemory::columns + c];
      uint32_t address = g * TensorMemory::groupLanes << 16 | c;
      against(cell.write, address);
      if (mine.isWrite || mine.kind == TensorMark::Free) {
        for (const TensorMark &read : cell.reads)
          against(read, address);
        cell.reads.clear();
        cell.write = mine.kind == TensorMark::Free ? TensorMark() : mine;
        continue;
      }
      bool isUnknown = !cell.write.inst || cell.write.isUnknown;
      if (isUnknown && mine.kind == TensorMark::Load) {
        unwritten = c;
      } else if (isUnknown) {
        Report r;
        r.kind = "uninitialised";
        r.ptxLine = mine.inst->line;
        r.source = sourcePlace(*mine.inst, owner.launch);
        r.thread = threadName(w, lane);
        r.address = address;
        r.message = opName(*mine.inst, owner.launch) + " of " + r.thread +
                    " reads column " + std::to_string(c) + " of tensor memory" +
                    ofBlock(block) + ", lanes from " +
                    std::to_string(address >> 16) +
                    " on, which nobody has written";
        owner.launch.addReport(std::move(r));
        cell.write = mine; // once is enough
        cell.write.isWrite = false;
      }
      auto same = std::find_if(
          cell.reads.begin(), cell.reads.end(), [&](const TensorMark &r) {
            return r.agent == mine.agent && r.block == mine.block;
          });
      if (same == cell.reads.end())
        cell.reads.push_back(mine);
      else
        *same = mine;
    }
  return unwritten;
}

std::optional<uint32_t>
BlockChecker::tensorMoved(Warp &w, const Inst &i, bool isStore, uint32_t number,
                          const std::vector<TensorRegion> &regions) {
  TensorMark mine;
  mine.kind = isStore ? TensorMark::Store : TensorMark::Load;
  mine.isWrite = isStore;
  mine.isUnknown = isStore && w.storesUnwritten;
  mine.agent = (isStore ? tensorStoreAgent : tensorLoadAgent) | w.index;
  mine.epoch = number;
  mine.block = uint32_t(block.linear);
  mine.thread = w.index * 32 + unsigned(std::countr_zero(w.live));
  mine.threadEpoch = threads[mine.thread].epoch;
  mine.inst = &i;
  const ClockPtr known = knownToWarp(w.index);
  std::optional<uint32_t> unwritten;
  for (const TensorRegion &region : regions)
    if (auto column = tensorUse(w, mine.thread % 32, region, mine, *known))
      unwritten = column;
  return unwritten;
}

void BlockChecker::tensorIssued(Warp &w, unsigned lane, const TensorOp &op,
                                Block &of, const TensorUse &use) {
  TensorMark mine;
  switch (op.kind) {
  case TensorOp::Product:
    mine.kind = TensorMark::Product;
    mine.shape = uint64_t(op.address) << 32 | op.shape.m << 16 | op.shape.n;
    break;
  case TensorOp::Copy:
    mine.kind = static_cast<const CopyPlan *>(op.inst->extra.get())->rows == 4
                    ? TensorMark::CopyRows
                    : TensorMark::Copy;
    break;
  case TensorOp::Shift:
    mine.kind = TensorMark::Shift;
  }
  mine.agent = tensorAgent | op.thread;
  mine.epoch = op.number;
  mine.block = uint32_t(block.linear);
  mine.thread = op.thread;
  mine.threadEpoch = threads[op.thread].epoch;
  mine.inst = op.inst;
  const ClockPtr known = threads[op.thread].known;
  BlockChecker &there = *of.checker;
  if (&there != this)
    remoteUse(w, *op.inst, lane, there,
              use.chunks.empty() ? 0 : use.chunks.front());
  for (const TensorRegion &region : use.reads)
    there.tensorUse(w, lane, region, mine, *known);
  mine.isWrite = true;
  for (const TensorRegion &region : use.writes)
    there.tensorUse(w, lane, region, mine, *known);
  Mark read{mine.agent, mine.block, mine.epoch,
            op.thread | block.clusterRank << 16, op.inst};
  matrixRead(there, w, *op.inst, lane, use.chunks, read, *known, op.thread, 1);
}

void BlockChecker::tensorFreed(Warp &w, const Inst &i,
                               const TensorRegion &region) {
  TensorMark mine;
  mine.kind = TensorMark::Free;
  mine.isWrite = true;
  mine.block = uint32_t(block.linear);
  mine.thread = w.index * 32 + unsigned(std::countr_zero(w.live));
  mine.inst = &i;
  const ClockPtr known = knownToWarp(w.index);
  tensorUse(w, mine.thread % 32, region, mine, *known);
}

void BlockChecker::finishTensorMemory() {
  if (!block.tensor)
    return;
  for (const TensorMemory::Allocation &a : block.tensor->memory.allocations)
    if (!a.freed)
      report(
          "tensor-memory-leak", *block.warps[0], *a.inst, 0, a.column, nullptr,
          blockName(owner.launch.options, block.linear) +
              " ends and has not deallocated the " + std::to_string(a.columns) +
              " columns of tensor memory at " + std::to_string(a.column) +
              " that it allocated at " + describePlace(*a.inst, owner.launch));
}

} // namespace tessera::sim::check
