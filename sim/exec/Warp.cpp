// Running a warp: groups, branches, calls, waiting.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Warp.h"

#include "sim/check/Checker.h"
#include "sim/check/UnwrittenValues.h"
#include "sim/exec/BarrierFlags.h"
#include "sim/exec/Builtins.h"
#include "sim/exec/Cluster.h"
#include "sim/exec/Limits.h"
#include "sim/exec/Mbarrier.h"
#include "sim/exec/Tcgen05.h"
#include "sim/exec/Wgmma.h"
#include "sim/report/Recorder.h"
#include <utility>

namespace tessera::sim {

void Warp::start(Block &owner, unsigned number, const Code &code) {
  block = &owner;
  index = number;
  unsigned lanes = std::min(32u, owner.threads - number * 32);
  existing = live = lanes == 32 ? ~0u : (1u << lanes) - 1;
  tracing = owner.checker || owner.worker->counters;
  root = std::make_unique<Frame>();
  root->code = &code;
  initFrame(*root);
  groups.push_back({live, 0, root.get()});
  enterFrame(root.get());
}

uint8_t *Warp::localAt(unsigned lane, uint32_t offset, unsigned bytes) {
  if (uint64_t(offset) + bytes > localLimit)
    throw Fault{Fault::IllegalAddress,
                "local memory access at offset " + std::to_string(offset) +
                    " is beyond the 512 KiB of a thread"};
  if (offset + bytes > localStride) {
    uint32_t stride = std::max(1024u, localStride);
    while (stride < offset + bytes)
      stride *= 2;
    std::vector<uint8_t> bigger(size_t(stride) * 32);
    for (unsigned l = 0; l < 32 && localStride; ++l)
      std::memcpy(&bigger[size_t(l) * stride], &local[size_t(l) * localStride],
                  localStride);
    local = std::move(bigger);
    localStride = stride;
  }
  return &local[size_t(lane) * localStride + offset];
}

/// The group to run next, or -1 if all of them wait.
int Warp::pick() {
  int best = -1;
  bool converging = false, sleeping = false;
  for (unsigned i = 0; i < groups.size(); ++i) {
    const Group &g = groups[i];
    if (g.state == Group::Converging)
      converging = true;
    if (g.state == Group::AtMbarrier)
      sleeping = true;
    if (g.state != Group::Ready)
      continue;
    if (best < 0 || g.frame->depth > groups[best].frame->depth ||
        (g.frame->depth == groups[best].frame->depth && g.pc < groups[best].pc))
      best = i;
  }
  // Lanes that sleep at an mbarrier may still come.
  if (best >= 0 || !converging || sleeping)
    return best;
  // Nobody else can come: the aligned barrier is reached by a part of the
  // warp. Let the groups arrive as they are.
  for (unsigned i = 0; i < groups.size(); ++i)
    if (groups[i].state == Group::Converging)
      return i;
  return -1;
}

bool Warp::canRun() const {
  bool converging = false, sleeping = false;
  for (const Group &g : groups) {
    if (g.state == Group::Ready)
      return true;
    converging |= g.state == Group::Converging;
    sleeping |= g.state == Group::AtMbarrier;
  }
  return converging && !sleeping;
}

bool Warp::run(uint64_t budget) {
  bool progress = false;
  yield = false;
  auto &random = block->worker->random;
  bool adversarial = block->launch->options.adversarial;
  while (budget && live) {
    int next = pick();
    if (next < 0)
      return progress;
    outOfTurn = groups.size() > 1 && (yield || adversarial);
    if (outOfTurn) {
      // Somebody spins, or we were asked to be unfair: any ready group.
      unsigned chosen = random() % groups.size();
      for (unsigned i = 0; i < groups.size(); ++i) {
        unsigned k = (chosen + i) % groups.size();
        if (groups[k].state == Group::Ready) {
          next = k;
          break;
        }
      }
    }
    yield = false;
    progress = true;
    uint64_t slice =
        groups.size() > 1 ? std::min<uint64_t>(budget, 4096) : budget;
    if (adversarial) {
      slice = std::min<uint64_t>(slice, 1 + random() % 64);
      if (wgmma)
        wgmma->poll();
      if (tensorMoves)
        tensorMoves->poll();
    }
    uint64_t before = slice;
    execute(next, slice);
    uint64_t used = before - slice;
    budget -= std::min(budget, std::max<uint64_t>(used, 1));
    if (before == used && groups.size() > 1)
      yield = true; // the quantum ran out: give the others a turn
    else if (yield && groups.size() == 1)
      return true;
  }
  return progress;
}

void Warp::split(unsigned i, uint32_t mask, uint32_t pc) {
  Group g = groups[i];
  groups[i].mask &= ~mask;
  g.mask = mask;
  g.pc = pc;
  g.state = Group::Ready;
  groups.push_back(g);
}

/// Joins other ready groups at the same place to group i.
bool Warp::mergeAt(unsigned i) {
  bool merged = false;
  for (unsigned k = 0; k < groups.size(); ++k) {
    if (k == i || groups[k].pc != groups[i].pc ||
        groups[k].frame != groups[i].frame ||
        (groups[k].state != Group::Ready &&
         groups[k].state != Group::Converging))
      continue;
    groups[i].mask |= groups[k].mask;
    groups[k] = groups.back();
    if (i == groups.size() - 1)
      i = k;
    groups.pop_back();
    merged = true;
    k = ~0u;
  }
  return merged;
}

void Warp::exitLanes(unsigned i, uint32_t mask) {
  live &= ~mask;
  ++block->events;
  block->liveThreads -= std::popcount(mask);
  groups[i].mask &= ~mask;
  if (block->checker)
    block->checker->exited(*this, mask);
  if (wgmma && !live)
    wgmma->exited();
  if (tensorMoves && !live)
    tensorMoves->exited();
  if (!live)
    wakeWarpGroup();
  if (!groups[i].mask)
    groups.erase(groups.begin() + i);
  // Lanes that waited for the exited ones may go on.
  for (Group &g : groups)
    if (g.state == Group::AtWarpSync)
      g.state = Group::Ready;
  block->completeBarriers();
}

void Warp::execute(unsigned i, uint64_t &budget) {
  if (groups[i].state == Group::Converging) {
    // Forced: see pick().
    enterFrame(groups[i].frame);
    const Inst &forced = frame->code->insts[groups[i].pc];
    inst = &forced;
    groups[i].state = Group::Ready;
    uint32_t mask = groups[i].mask;
    groupMask = mask;
    if (block->checker)
      block->checker->divergentBarrier(*this, forced, mask);
    --budget;
    reachBarrier(i, forced);
    return;
  }
  if (groups.size() > 1) {
    Group chosen = groups[i];
    mergeAt(i);
    for (unsigned k = 0; k < groups.size(); ++k)
      if (groups[k].mask & chosen.mask)
        i = k;
  }
  enterFrame(groups[i].frame);
  const Inst *insts = frame->code->insts.data();
  uint32_t pc = groups[i].pc;
  uint32_t mask = groupMask = groups[i].mask;
  // Where another group waits to be joined.
  uint32_t limit = ~0u;
  for (unsigned k = 0; k < groups.size(); ++k)
    if (k != i && groups[k].frame == frame && groups[k].pc > pc &&
        (groups[k].state == Group::Ready ||
         groups[k].state == Group::Converging))
      limit = std::min(limit, groups[k].pc);
  LaunchWorker &worker = *block->worker;
  while (true) {
    const Inst &in = insts[pc];
    inst = &in;
    uint32_t active = mask;
    if (in.guard != noRef) {
      uint32_t p = pred(in.guard);
      active &= in.guardNegated ? ~p : p;
    }
    ++worker.warpInstructions;
    if (tracing) {
      worker.threadInstructions += std::popcount(active);
      if (worker.counters)
        worker.counters->instruction(in, active, mask);
    }
    if (tracksRegisters && active) [[unlikely]] {
      if (wgmma)
        wgmma->touch(in, *frame->code, pc, active);
      if (tensorMoves)
        tensorMoves->touch(in, *frame->code, pc, active);
      if (unwritten)
        storesUnwritten = unwritten->step(*this, in, *frame->code, active);
    }
    if (in.flow == Flow::Next) {
      if (active)
        in.fn(*this, in, active);
      ++pc;
    } else {
      groups[i].pc = pc;
      switch (in.flow) {
      case Flow::Next:
        break;
      case Flow::Branch:
        if (active == mask) {
          pc = in.target;
          // Jumping past lanes that are behind hands over to them, unless
          // this group runs out of turn.
          limit = ~0u;
          for (unsigned k = 0; k < groups.size(); ++k)
            if (k != i && groups[k].frame == frame &&
                (!outOfTurn || groups[k].pc >= pc) &&
                (groups[k].state == Group::Ready ||
                 groups[k].state == Group::Converging))
              limit = std::min(limit, groups[k].pc);
        } else if (!active) {
          ++pc;
        } else {
          if (worker.counters)
            worker.counters->divergence(in);
          split(i, active, in.target);
          groups[i].pc = pc + 1;
          --budget;
          return;
        }
        break;
      case Flow::BranchIndexed: {
        const auto &targets =
            *static_cast<const std::vector<uint32_t> *>(in.extra.get());
        const uint32_t *indices = reg<uint32_t>(in.ops[0]);
        groups[i].pc = pc + 1;
        uint32_t left = active;
        while (left) {
          uint32_t value = indices[std::countr_zero(left)];
          uint32_t same = 0;
          for (uint32_t m = left; m; m &= m - 1)
            if (indices[std::countr_zero(m)] == value)
              same |= m & -m;
          if (value >= targets.size())
            throw Fault{Fault::IllegalInstruction,
                        "brx.idx index " + std::to_string(value) +
                            " is outside its list of " +
                            std::to_string(targets.size()) + " targets"};
          left &= ~same;
          if (same == groups[i].mask)
            groups[i].pc = targets[value];
          else
            split(i, same, targets[value]);
        }
        --budget;
        return;
      }
      case Flow::Call:
        --budget;
        if (active)
          doCall(i, in, active);
        else
          ++groups[i].pc;
        return;
      case Flow::Return:
        --budget;
        if (!active) {
          ++groups[i].pc;
          return;
        }
        doReturn(i, active);
        return;
      case Flow::Exit:
        --budget;
        groups[i].pc = pc + 1;
        if (active)
          exitLanes(i, active);
        return;
      case Flow::Trap:
        if (active)
          throw Fault{Fault::Trap, "trap reached"};
        ++pc;
        break;
      case Flow::BlockBarrier:
        --budget;
        if (!active) {
          ++groups[i].pc;
          return;
        }
        if (active != mask)
          split(i, mask & ~active, pc + 1);
        doBarrier(i, in);
        return;
      case Flow::WarpSync: {
        if (!active) {
          ++pc;
          break;
        }
        if (active == mask && mask == live) {
          if (in.target != 2) {
            in.fn(*this, in, active);
            if (awaits != Group::Ready) [[unlikely]] {
              groups[i].state = std::exchange(awaits, Group::Ready);
              --budget;
              return;
            }
          } else if (block->checker)
            block->checker->warpSync(*this, active);
          ++pc;
          break;
        }
        if (active != mask) {
          split(i, mask & ~active, pc + 1);
          groupMask = active;
          --budget;
          if (doWarpSync(i, in))
            groups[i].pc = pc + 1;
          return;
        }
        if (!doWarpSync(i, in)) {
          --budget;
          return;
        }
        ++pc;
        break;
      }
      case Flow::MbarrierWait:
        if (active && doMbarrierWait(i, in, active)) {
          --budget;
          return;
        }
        ++pc;
        if (yield) {
          groups[i].pc = pc;
          --budget;
          return;
        }
        break;
      case Flow::ClusterArrive:
      case Flow::ClusterWait:
        --budget;
        if (!active) {
          ++groups[i].pc;
          return;
        }
        if (active != mask)
          split(i, mask & ~active, pc + 1);
        doBarrier(i, in);
        return;
      case Flow::Yield:
        if (active)
          in.fn(*this, in, active);
        ++pc;
        if (yield) {
          groups[i].pc = pc;
          --budget;
          return;
        }
        break;
      }
    }
    if (--budget == 0 || pc >= limit) {
      groups[i].pc = pc;
      return;
    }
  }
}

bool Warp::doWarpSync(unsigned i, const Inst &in) {
  Group &g = groups[i];
  // target 1: the member mask is an operand; 0: all lanes (.aligned).
  uint32_t members = live;
  if (in.target)
    members = reg<uint32_t>(in.ops[8])[std::countr_zero(g.mask)];
  if (in.target && !(members & g.mask) && block->checker)
    block->checker->note(*this, in, "barrier-misuse",
                         "the executing lane is not in its member mask", 0);
  uint32_t required = members & live;
  if (in.target == 2) {
    // bar.warp.sync: lanes may arrive at different places.
    uint32_t arrived = g.mask;
    for (Group &other : groups)
      if (other.state == Group::AtWarpSync && other.members == members &&
          other.frame->code->insts[other.pc].target == 2)
        arrived |= other.mask;
    if ((arrived & required) == required) {
      if (block->checker)
        block->checker->warpSync(*this, arrived & members);
      for (Group &other : groups)
        if (other.state == Group::AtWarpSync && other.members == members) {
          other.state = Group::Ready;
          ++other.pc;
        }
      return true;
    }
  } else {
    // Join those who already wait here.
    for (unsigned k = 0; k < groups.size(); ++k)
      if (k != i && groups[k].state == Group::AtWarpSync &&
          groups[k].pc == groups[i].pc && groups[k].frame == groups[i].frame &&
          groups[k].members == members) {
        groups[i].mask |= groups[k].mask;
        groups[k].mask = 0;
      }
    uint32_t own = groups[i].mask;
    bool complete = (own & required) == required;
    unsigned self = i;
    for (unsigned k = groups.size(); k-- > 0;)
      if (!groups[k].mask) {
        groups.erase(groups.begin() + k);
        if (k < self)
          --self;
      }
    if (complete) {
      groupMask = own;
      in.fn(*this, in, own);
      if (awaits != Group::Ready) {
        groups[self].state = std::exchange(awaits, Group::Ready);
        return false;
      }
      // The group may have grown or moved: restart it behind the instruction.
      groups[self].pc += 1;
      groups[self].state = Group::Ready;
      return false;
    }
    groups[self].state = Group::AtWarpSync;
    groups[self].members = members;
    return false;
  }
  g.state = Group::AtWarpSync;
  g.members = members;
  return false;
}

/// True if the group sleeps; otherwise the instruction is done.
bool Warp::doMbarrierWait(unsigned i, const Inst &in, uint32_t active) {
  Group &g = groups[i];
  MbarrierWait wait = mbarrierTest(*this, in, active);
  if (block->recorder && wait.done != active)
    g.missed = wait.offset;
  bool adversarial = block->launch->options.adversarial;
  // A wait may always return false, and some program does not look at the
  // answer: with checking the first one of an incomplete phase fails, in
  // adversarial runs any may.
  bool fails = adversarial      ? block->worker->random() % 4 == 0
               : block->checker ? g.failed != &in
                                : false;
  if (wait.done != active && wait.isSame && !adversarial && !fails) {
    block->cluster->completeFor(*block, wait.offset);
    wait = mbarrierTest(*this, in, active);
  }
  // Lanes that could go on are not held back by the others.
  bool sleeps =
      !wait.done && wait.isSame && active == g.mask && !g.timedOut && !fails;
  g.timedOut = false;
  if (sleeps) {
    g.state = Group::AtMbarrier;
    g.barrier = wait.offset;
    g.parity = wait.parity;
    // Somebody else may wait for what this group does after a failed wait.
    g.wakeTurn = block->turns + 1000;
    ++block->sleepers;
    return true;
  }
  mbarrierAnswer(*this, in, active, wait);
  g.failed = wait.done == active ? nullptr : &in;
  if (block->recorder && wait.done == active) {
    block->recorder->waited(*this, in, wait.offset, g.missed == wait.offset);
    if (g.missed == wait.offset)
      g.missed = ~0u;
  }
  if (wait.done != active)
    yield = true;
  return false;
}

/// bar, barrier and barrier.cluster; aligned ones wait for the whole warp.
void Warp::doBarrier(unsigned i, const Inst &in) {
  Group &g = groups[i];
  bool aligned = in.flags & barrierAligned;
  if (aligned && g.mask != live) {
    // Others may still come to this place.
    g.state = Group::Converging;
    mergeAt(i);
    for (Group &other : groups)
      if (other.state == Group::Converging && other.mask == live)
        other.state = Group::Ready;
    for (unsigned k = 0; k < groups.size(); ++k)
      if (groups[k].mask == live)
        return doBarrier(k, in);
    return;
  }
  reachBarrier(i, in);
}

void Warp::reachBarrier(unsigned i, const Inst &in) {
  if (in.flow == Flow::BlockBarrier)
    return block->arrive(*this, i);
  Group &g = groups[i];
  if (in.flow == Flow::ClusterArrive) {
    ++g.pc;
    return block->arriveCluster(*this, in, g.mask);
  }
  if (g.mask & block->clusterBarrier.arrived[index]) {
    g.state = Group::AtClusterBarrier; // the phase is not complete
    return;
  }
  ++g.pc;
  block->finishClusterWait(*this, in, g.mask);
}

void Warp::doCall(unsigned i, const Inst &in, uint32_t mask) {
  const auto &site = *static_cast<const CallSite *>(in.extra.get());
  if (site.builtin != CallSite::None && site.builtin != CallSite::Indirect) {
    callBuiltin(*this, in, site, mask);
    ++groups[i].pc;
    return;
  }
  const Program &program = *block->launch->program;
  uint32_t left = mask;
  uint32_t pc = groups[i].pc;
  Frame *caller = groups[i].frame;
  if (mask != groups[i].mask)
    split(i, groups[i].mask & ~mask, pc + 1);
  while (left) {
    unsigned callee = in.target;
    uint32_t same = left;
    if (site.builtin == CallSite::Indirect) {
      const uint64_t *p = reg<uint64_t>(site.pointer);
      uint64_t address = p[std::countr_zero(left)];
      same = 0;
      for (uint32_t m = left; m; m &= m - 1)
        if (p[std::countr_zero(m)] == address)
          same |= m & -m;
      uint64_t entry = (address - functionWindow) / 16 - 1;
      callee = entry < program.functionCodes.size()
                   ? program.functionCodes[entry]
                   : ~0u;
      if (callee >= program.codes.size())
        throw Fault{Fault::IllegalInstruction,
                    "indirect call to something that is not a function"};
    }
    left &= ~same;
    const Code &code = *program.codes[callee];
    Frame *child = childFrame(caller, code);
    for (uint32_t m = same; m; m &= m - 1) {
      unsigned l = std::countr_zero(m);
      child->returnPc[l] = pc + 1;
      for (size_t k = 0; k < site.argumentOffsets.size(); ++k) {
        if (k >= code.paramOffsets.size())
          break;
        uint32_t bytes = site.argumentBytes[k];
        localAt(l, child->localBase + code.paramOffsets[k], bytes);
        std::memcpy(
            localAt(l, child->localBase + code.paramOffsets[k], bytes),
            localAt(l, caller->localBase + site.argumentOffsets[k], bytes),
            bytes);
      }
    }
    unsigned target = i;
    if (left) {
      split(i, same, 0);
      target = groups.size() - 1;
    }
    groups[target].frame = child;
    groups[target].pc = 0;
  }
}

void Warp::doReturn(unsigned i, uint32_t mask) {
  Frame *callee = groups[i].frame;
  if (!callee->parent) {
    groups[i].pc += 1;
    exitLanes(i, mask);
    return;
  }
  Frame *caller = callee->parent;
  if (mask != groups[i].mask)
    split(i, groups[i].mask & ~mask, groups[i].pc + 1);
  uint32_t left = mask;
  while (left) {
    uint32_t to = callee->returnPc[std::countr_zero(left)];
    uint32_t same = 0;
    for (uint32_t m = left; m; m &= m - 1)
      if (callee->returnPc[std::countr_zero(m)] == to)
        same |= m & -m;
    left &= ~same;
    const Inst &call = caller->code->insts[to - 1];
    const auto &site = *static_cast<const CallSite *>(call.extra.get());
    for (uint32_t m = same; m; m &= m - 1) {
      unsigned l = std::countr_zero(m);
      for (size_t k = 0; k < site.resultOffsets.size(); ++k) {
        if (k >= callee->code->returnOffsets.size())
          break;
        uint32_t bytes = site.resultBytes[k];
        localAt(l, callee->localBase + callee->code->returnOffsets[k], bytes);
        std::memcpy(
            localAt(l, caller->localBase + site.resultOffsets[k], bytes),
            localAt(l, callee->localBase + callee->code->returnOffsets[k],
                    bytes),
            bytes);
      }
    }
    unsigned target = i;
    if (left) {
      split(i, same, 0);
      target = groups.size() - 1;
    }
    groups[target].frame = caller;
    groups[target].pc = to;
  }
}

} // namespace tessera::sim
