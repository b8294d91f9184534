// tcgen05.alloc, dealloc, relinquish_alloc_permit, and the table of the rest.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Tcgen05.h"

#include "sim/check/Checker.h"
#include "sim/exec/Cluster.h"
#include "sim/report/Recorder.h"

namespace tessera::sim {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

bool isLazy(const Block &block) {
  return block.checker || block.launch->options.adversarial;
}

TensorUnit &tensorUnit(Block &block) {
  if (!block.tensor)
    block.tensor = std::make_shared<TensorUnit>(block);
  return *block.tensor;
}

void requireTensorUnit(Warp &w) {
  unsigned arch = w.block->launch->options.arch;
  if (arch != 100 && arch != 103 && arch != 110)
    throw Fault{Fault::IllegalInstruction,
                "tcgen05 exists on sm_100a, sm_103a and sm_110a only"};
}

std::vector<Block *> blocksOf(Block &block, bool isPair) {
  if (!isPair)
    return {&block};
  unsigned even = block.clusterRank & ~1u;
  return {&pairBlock(block, even), &pairBlock(block, even | 1)};
}

void requireAllocated(Warp &w, unsigned lane, Block &block,
                      const TensorRegion &region, const char *what) {
  TensorMemory &memory = tensorUnit(block).memory;
  for (uint32_t c = region.column; c < region.column + region.columns; ++c)
    if (!memory.find(c))
      throw Fault{Fault::TensorMemory,
                  std::string(what) + " of " + threadName(w, lane) +
                      " lies outside of what was allocated" +
                      (&block == w.block ? "" : ofBlock(block)) + ": " +
                      memory.describe(c),
                  c, int(lane)};
}

TensorAddress decodeTensorAddress(Decoder &d, const Operand &o) {
  if (o.kind != Operand::Address || o.elements.size() != 1)
    d.fail(o, "expected an address of tensor memory in brackets");
  return {d.src(o.elements[0], Type::B32), uint32_t(o.offset)};
}

namespace {

uint32_t uniform(Warp &w, const Inst &i, uint32_t mask, Ref ref,
                 const char *what) {
  const uint32_t *values = w.reg<uint32_t>(ref);
  uint32_t first = values[std::countr_zero(mask)];
  for (uint32_t m = mask; m && w.block->checker; m &= m - 1)
    if (values[std::countr_zero(m)] != first) {
      w.block->checker->note(
          w, i, "tensor-memory",
          std::string("the lanes of a warp disagree on ") + what, 0);
      break;
    }
  return first;
}

void checkColumns(uint32_t columns) {
  if (columns < 32 || columns > 512 || (columns & (columns - 1)))
    throw Fault{Fault::TensorMemory,
                std::to_string(columns) +
                    " columns of tensor memory: the number is a power of two "
                    "from 32 to 512"};
}

void wakeAllocators(Block &block) {
  ++block.events;
  for (auto &warp : block.warps)
    for (Group &g : warp->groups)
      if (g.state == Group::AtTensorMemory)
        g.state = Group::Ready;
}

bool isPairInst(const Inst &i) { return i.flags & 1; }

/// A warp of each block of a pair executes an instruction together: the first
/// one waits. True once the other one is there and agrees.
bool meetPair(Warp &w, const Inst &i, uint32_t address, uint32_t columns) {
  Block &block = *w.block;
  Block &other = pairBlock(block, block.clusterRank ^ 1);
  TensorMemory::PairStep &mine = tensorUnit(block).memory.pairStep;
  const TensorMemory::PairStep &theirs = tensorUnit(other).memory.pairStep;
  if (mine.inst && mine.warp != w.index) {
    w.awaits = Group::AtTensorMemory; // another warp of this block is there
    return false;
  }
  if (!mine.inst) {
    mine = {&i, w.index, address, columns, false};
    ++block.events;
  }
  if (mine.isDone)
    return true;
  if (!theirs.inst || theirs.isDone) {
    w.awaits = Group::AtTensorMemory;
    return false;
  }
  if (theirs.columns != columns || theirs.address != address ||
      theirs.inst->fn != i.fn)
    throw Fault{
        Fault::TensorMemory,
        "the two blocks of a pair do not do the same: " +
            std::to_string(columns) + " columns" +
            (address ? " at " + std::to_string(address) : "") + ", and in " +
            blockName(block.launch->options, other.linear) + " " +
            std::to_string(theirs.columns) + " columns" +
            (theirs.address ? " at " + std::to_string(theirs.address) : "") +
            " by the " + std::string(theirs.inst->source->spelling) + " at " +
            describePlace(*theirs.inst, *block.launch),
        address};
  return true;
}

/// It is done for both; this block's warp goes on, and the other's when it
/// looks again.
void finishPair(Block &block, bool isFirst) {
  tensorUnit(block).memory.pairStep = {};
  wakeAllocators(block);
  Block &other = pairBlock(block, block.clusterRank ^ 1);
  if (isFirst)
    tensorUnit(other).memory.pairStep.isDone = true;
  wakeAllocators(other);
}

void checkGrowth(Warp &w, const Inst &i, const TensorMemory &memory,
                 uint32_t columns) {
  if (w.block->checker && !memory.allocations.empty() &&
      memory.allocations.back().columns < columns)
    w.block->checker->note(
        w, i, "tensor-memory",
        std::to_string(columns) + " columns are allocated after " +
            std::to_string(memory.allocations.back().columns) + " at " +
            describePlace(*memory.allocations.back().inst, *w.block->launch) +
            ": the number must not grow",
        memory.allocations.back().column);
}

// ops[0] columns, ops[8] where the address is written; flags: 1 of a pair
void alloc(Warp &w, const Inst &i, uint32_t mask) {
  requireTensorUnit(w);
  TensorMemory &memory = tensorUnit(*w.block).memory;
  uint32_t columns = uniform(w, i, mask, i.ops[0], "the number of columns");
  checkColumns(columns);
  if (memory.relinquished)
    throw Fault{Fault::TensorMemory,
                "tensor memory is allocated after the permit was "
                "relinquished at " +
                    describePlace(*memory.relinquished, *w.block->launch)};
  tensorUnit(*w.block).useGroup(w, i, isPairInst(i));
  TensorMemory *other = nullptr;
  if (isPairInst(i)) {
    if (!meetPair(w, i, 0, columns))
      return;
    other = &tensorUnit(pairBlock(*w.block, w.block->clusterRank ^ 1)).memory;
  }
  std::optional<uint32_t> column;
  if (other && memory.pairStep.isDone) { // the other block's warp did it
    column = memory.allocations.back().column;
    memory.allocations.back().inst = &i;
    finishPair(*w.block, false);
  } else {
    bool adversarial = w.block->launch->options.adversarial;
    column = memory.findFree(
        columns, adversarial ? &w.block->worker->random : nullptr, other);
    if (!column) {
      w.awaits = Group::AtTensorMemory;
      return;
    }
    checkGrowth(w, i, memory, columns);
    memory.allocations.push_back({*column, columns, &i, nullptr});
    if (w.block->recorder)
      w.block->recorder->allocated(memory);
    if (other) {
      other->allocations.push_back({*column, columns, &i, nullptr});
      finishPair(*w.block, true);
    }
  }
  uint32_t one = mask & -mask;
  Access at;
  computeAddresses(w, i, one, i.ops[8], at.address);
  translate(w, i, one, i.space, 4, 4, AccessKind::Write, at);
  unsigned lane = unsigned(std::countr_zero(one));
  if (at.space[lane] != Space::Shared)
    throw Fault{Fault::IllegalAddress,
                "the address of tensor memory is written to shared memory",
                at.address[lane], int(lane)};
  std::memcpy(at.pointer[lane], &*column, 4);
  ++w.block->events;
}

// ops[0] address, ops[1] columns
void dealloc(Warp &w, const Inst &i, uint32_t mask) {
  requireTensorUnit(w);
  TensorMemory &memory = tensorUnit(*w.block).memory;
  uint32_t address = uniform(w, i, mask, i.ops[0], "the address");
  uint32_t columns = uniform(w, i, mask, i.ops[1], "the number of columns");
  checkColumns(columns);
  TensorMemory::Allocation *a = memory.find(address);
  if (!a || a->column != address || a->columns != columns)
    throw Fault{Fault::TensorMemory,
                "tcgen05.dealloc of " + std::to_string(columns) +
                    " columns at " + std::to_string(address) +
                    " is none of the allocations: " +
                    (a ? "there are " + std::to_string(a->columns) + " at " +
                             std::to_string(a->column)
                       : memory.describe(address & 0xffff)),
                address};
  tensorUnit(*w.block).useGroup(w, i, isPairInst(i));
  bool isFirst = !memory.pairStep.isDone;
  if (isPairInst(i) && !meetPair(w, i, address, columns))
    return;
  if (w.block->checker)
    w.block->checker->tensorFreed(w, i, {a->column, a->columns, 0xff});
  a->freed = &i;
  if (isPairInst(i))
    finishPair(*w.block, isFirst);
  wakeAllocators(*w.block);
}

void relinquish(Warp &w, const Inst &i, uint32_t) {
  requireTensorUnit(w);
  tensorUnit(*w.block).useGroup(w, i, isPairInst(i));
  if (isPairInst(i))
    pairBlock(*w.block, w.block->clusterRank ^ 1); // there is one
  tensorUnit(*w.block).memory.relinquished = &i;
}

// imm: 1 for ::after_thread_sync
void fence(Warp &w, const Inst &i, uint32_t mask) {
  requireTensorUnit(w);
  if (w.block->checker)
    w.block->checker->tensorFence(w, mask, i.imm != 0);
}

} // namespace

void decodeTensorAllocation(Decoder &d, Inst &inst) {
  inst.flow = Flow::WarpSync;
  inst.opClass = OpClass::Other;
  inst.flags = d.has("cta_group::2");
  if (d.has("alloc")) {
    inst.space = d.has("shared::cta") ? Space::Shared : Space::Generic;
    Space space = inst.space;
    d.address(d.operand(0), inst, space, 8);
    inst.space = space;
    inst.ops[0] = d.src(d.operand(1), Type::B32);
    inst.fn = alloc;
  } else if (d.has("dealloc")) {
    inst.ops[0] = d.src(d.operand(0), Type::B32);
    inst.ops[1] = d.src(d.operand(1), Type::B32);
    inst.fn = dealloc;
  } else {
    inst.fn = relinquish;
  }
}

void decodeTcgen05(Decoder &d, Inst &inst) {
  for (const char *name : {"alloc", "dealloc", "relinquish_alloc_permit"})
    if (d.has(name))
      return decodeTensorAllocation(d, inst);
  for (const char *name : {"ld", "st", "wait::ld", "wait::st"})
    if (d.has(name))
      return decodeTensorMove(d, inst);
  if (d.has("commit"))
    return decodeTensorCommit(d, inst);
  if (d.has("fence::before_thread_sync") || d.has("fence::after_thread_sync")) {
    inst.opClass = OpClass::Barrier;
    inst.imm = d.has("fence::after_thread_sync");
    inst.fn = fence;
    return;
  }
  if (d.has("mma"))
    return decodeTensorProduct(d, inst);
  decodeTensorTransfer(d, inst);
}

} // namespace tessera::sim
