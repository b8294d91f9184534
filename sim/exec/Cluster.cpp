// Running the blocks of a cluster; see Cluster.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Cluster.h"

#include "sim/check/Checker.h"
#include "sim/report/Recorder.h"

namespace tessera::sim {

BlockIndex blockIndex(const LaunchOptions &o, uint64_t linear) {
  uint64_t size = o.clusterBlocks(), number = linear / size;
  auto rank = uint32_t(linear % size);
  uint32_t clusters[3],
      in[3] = {rank % o.cluster[0], rank / o.cluster[0] % o.cluster[1],
               rank / o.cluster[0] / o.cluster[1]};
  for (int d = 0; d < 3; ++d)
    clusters[d] = o.grid[d] / o.cluster[d];
  uint64_t at[3] = {number % clusters[0], number / clusters[0] % clusters[1],
                    number / clusters[0] / clusters[1]};
  BlockIndex index{};
  for (int d = 0; d < 3; ++d)
    index.at[d] = uint32_t(at[d]) * o.cluster[d] + in[d];
  index.rank = rank;
  return index;
}

std::string blockName(const LaunchOptions &o, uint64_t linear) {
  BlockIndex index = blockIndex(o, linear);
  std::string name = "block (" + std::to_string(index.at[0]) + "," +
                     std::to_string(index.at[1]) + "," +
                     std::to_string(index.at[2]) + ")";
  if (o.clusterBlocks() > 1)
    name += " (rank " + std::to_string(index.rank) + " of its cluster)";
  return name;
}

std::string ofBlock(const Block &block) {
  const LaunchOptions &o = block.launch->options;
  return o.clusterBlocks() > 1 ? " of " + blockName(o, block.linear) : "";
}

Block &pairBlock(Block &block, unsigned rank) {
  const auto &blocks = block.cluster->blocks;
  if (rank >= blocks.size())
    throw Fault{Fault::IllegalInstruction,
                blockName(block.launch->options, block.linear) +
                    " has no other block to be a pair with: .cta_group::2 "
                    "needs a cluster of an even number of blocks, this one "
                    "has " +
                    std::to_string(blocks.size())};
  return *blocks[rank];
}

Cluster::Cluster(Launch &launch, LaunchWorker &worker, uint64_t number)
    : worker(&worker), adversarial(launch.options.adversarial) {
  uint64_t size = launch.options.clusterBlocks();
  for (uint64_t rank = 0; rank < size; ++rank)
    blocks.push_back(
        std::make_unique<Block>(launch, *this, worker, number * size + rank));
}

Cluster::~Cluster() = default;

Block::State Cluster::run(uint64_t quantum) {
  uint64_t start = worker->warpInstructions;
  bool isAlone = blocks.size() == 1;
  // Long enough that the blocks of a cluster do not change all the time, short
  // enough that one of them does not run far ahead.
  constexpr uint64_t longTurn = 50000;
  while (true) {
    uint64_t before = worker->warpInstructions, eventsBefore = events();
    uint64_t left = quantum - std::min(quantum, before - start);
    bool allDone = true, allWait = true, allSpin = true;
    size_t first =
        adversarial && !isAlone ? worker->random() % blocks.size() : 0;
    for (size_t n = 0; n < blocks.size(); ++n) {
      Block &block = *blocks[(first + n) % blocks.size()];
      if (block.isDone)
        continue;
      allDone = false;
      uint64_t turn = left;
      if (!isAlone)
        turn = !adversarial
                   ? longTurn
                   : 1 + worker->random() % (worker->random() % 4 ? 100 : 2000);
      switch (block.run(turn)) {
      case Block::State::Running:
        allWait = false;
        allSpin &= block.spins;
        break;
      case Block::State::Done:
        allWait = allSpin = false;
        break;
      case Block::State::Waiting:
        break;
      }
      // What a block issued before its end happens all the same.
      if (adversarial && !isAlone)
        for (auto &other : blocks)
          if (other->isDone)
            other->async.poll();
    }
    if (allDone) {
      for (auto &block : blocks)
        block->async.completeAll();
      return Block::State::Done;
    }
    uint64_t now = worker->warpInstructions;
    if (allWait) {
      // Operations that a later block ended may have woken an earlier one.
      if (now != before || events() != eventsBefore || completeOne())
        continue;
      // Before a deadlock is told, waits give up: a thread may do something
      // else when one returns false.
      idle = events() == idleSince ? idle + 1 : 0;
      idleSince = events();
      if (idle >= 64 || !wakeExpired())
        deadlock();
      if (idle < 2)
        continue;
      // They may look for something that another block does.
      spins = true;
      return Block::State::Running;
    }
    spins = allSpin;
    if (spins || now - start >= quantum)
      return Block::State::Running;
  }
}

uint64_t Cluster::events() const {
  uint64_t sum = 0;
  for (const auto &block : blocks)
    sum += block->events;
  return sum;
}

bool Cluster::completeOne() {
  size_t first =
      adversarial && blocks.size() > 1 ? worker->random() % blocks.size() : 0;
  for (size_t n = 0; n < blocks.size(); ++n)
    if (blocks[(first + n) % blocks.size()]->async.completeOne())
      return true;
  return false;
}

bool Cluster::wakeExpired() {
  bool any = false;
  for (auto &block : blocks)
    any |= block->wakeExpired(true);
  return any;
}

void Cluster::completeFor(Block &owner, uint32_t mbarrier) {
  uint32_t phase = owner.mbarriers[mbarrier].phase;
  for (auto &block : blocks)
    if (!block->async.completeFor(owner, mbarrier, phase))
      return;
}

void Cluster::completeBarrier() {
  bool any = false;
  for (auto &block : blocks)
    for (auto &warp : block->warps) {
      if (warp->live & ~block->clusterBarrier.arrived[warp->index])
        return;
      any |= block->clusterBarrier.arrived[warp->index] != 0;
    }
  if (!any)
    return;
  ++phase;
  completed = std::move(arriving);
  arriving.reset();
  for (auto &block : blocks) {
    ++block->events;
    auto &arrived = block->clusterBarrier.arrived;
    std::fill(arrived.begin(), arrived.end(), 0);
  }
  for (auto &block : blocks)
    for (auto &warp : block->warps)
      for (Group &g : warp->groups)
        if (g.state == Group::AtClusterBarrier) {
          const Inst &in = g.frame->code->insts[g.pc];
          block->finishClusterWait(*warp, in, g.mask);
          g.state = Group::Ready;
          ++g.pc;
        }
}

std::string Cluster::whereWarpsAre() const {
  if (blocks.size() == 1)
    return blocks[0]->whereWarpsAre();
  std::string text;
  for (const auto &block : blocks)
    text += blockName(block->launch->options, block->linear) + ": " +
            (block->liveThreads ? block->whereWarpsAre() : "has exited; ");
  return text;
}

void Cluster::recordWaits() const {
  for (const auto &block : blocks)
    for (const auto &warp : block->warps)
      for (const Group &g : warp->groups)
        if (block->recorder && g.state == Group::AtMbarrier)
          block->recorder->stuck(*warp, g.frame->code->insts[g.pc], g.barrier);
}

void Cluster::deadlock() const {
  Fault fault{Fault::Deadlock, std::string("no thread of the ") +
                                   (blocks.size() > 1 ? "cluster" : "block") +
                                   " can go on: " + whereWarpsAre()};
  // A wait at an mbarrier says more than one at a barrier.
  for (Group::State state : {Group::AtRegisterPool, Group::AtMbarrier,
                             Group::AtClusterBarrier, Group::AtTensorMemory})
    for (auto &block : blocks)
      for (auto &warp : block->warps)
        for (const Group &g : warp->groups)
          if (g.state == state && !fault.inst) {
            fault.inst = &g.frame->code->insts[g.pc];
            fault.thread =
                threadName(*warp, unsigned(std::countr_zero(g.mask)));
            fault.address = state == Group::AtMbarrier ? g.barrier : 0;
          }
  throw fault;
}

} // namespace tessera::sim
