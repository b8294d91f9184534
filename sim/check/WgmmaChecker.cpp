// wgmma: what it reads of shared memory (tcgen05 does the same), and warp
// groups that fall apart.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/check/Checker.h"
#include "sim/exec/Mbarrier.h"

namespace tessera::sim::check {

/// The lanes execute a wgmma together, so it comes after what any of them
/// knows.
const ClockPtr &BlockChecker::knownToWarp(unsigned warp) {
  if (warpViews.empty())
    warpViews.resize(block.warps.size());
  WarpView &view = warpViews[warp];
  bool isSame = view.joined != nullptr;
  unsigned first = warp * 32;
  unsigned count = std::min(32u, unsigned(threads.size()) - first);
  for (unsigned l = 0; l < count; ++l)
    if (view.known[l] != threads[first + l].known) {
      view.known[l] = threads[first + l].known;
      isSame = false;
    }
  if (isSame)
    return view.joined;
  auto joined = std::make_shared<Clock>();
  const Clock *last = nullptr;
  for (unsigned l = 0; l < count; ++l)
    if (view.known[l].get() != last) {
      last = view.known[l].get();
      joined->join(*last);
    }
  view.joined = joined;
  return view.joined;
}

void BlockChecker::matrixByte(BlockChecker &of, Warp &w, const Inst &i,
                              unsigned lane, uint32_t address,
                              const Clock &known, bool isOwn) {
  ByteState &byte = of.shared[address];
  if (byte.pendingCopy) // of cp.async
    checkByte(byte, w, i, lane, address, &of.block, AccessKind::Read);
  const Mark &write = byte.write;
  if (write.inst) {
    if (!isOwn && known.of(write.block, write.thread) < write.epoch) {
      if (write.isAsync())
        reportAsync(w, i, lane, write, address, &of.block, true);
      else
        reportRace(w, i, lane, write, address, &of.block, "read-after-write");
    } else if (!write.isAsync() && Clock::of(known.fenced[0], write.block,
                                             write.thread) < write.epoch) {
      // CUTLASS leaves the fence out after cp.async (docs/simulator.md).
      bool isCopy = write.inst->opClass == OpClass::AsyncCopy;
      const char *kind = isCopy ? "remark" : "proxy-fence";
      if (isCopy ? owner.isNewRemark(i, "copies")
                 : !owner.launch.isReported(kind, i.line, write.inst->line))
        report(kind, w, i, lane, address, write.inst,
               opName(i, owner.launch) + " reads " + where(address, &of.block) +
                   ", which thread " + std::to_string(write.thread) +
                   " of block " + std::to_string(write.block) + " wrote at " +
                   describePlace(*write.inst, owner.launch) +
                   ": there is no fence.proxy.async between them");
    }
  }
}

void BlockChecker::wgmmaIssued(Warp &w, const Inst &i,
                               const std::vector<uint32_t> &chunks,
                               uint32_t group) {
  Mark mine{wgmmaAgent | w.index, uint32_t(block.linear), group,
            w.index * 32 | block.clusterRank << 16, &i};
  matrixRead(*this, w, i, 0, chunks, mine, *knownToWarp(w.index), w.index * 32,
             32);
}

void BlockChecker::matrixRead(BlockChecker &of, Warp &w, const Inst &i,
                              unsigned lane,
                              const std::vector<uint32_t> &chunks,
                              const Mark &mine, const Clock &known,
                              unsigned first, unsigned count) {
  Mark passed;
  for (uint32_t chunk : chunks)
    for (uint32_t a = chunk; a < chunk + 16; ++a) {
      if (of.sharedWritten[a] == sharedNobody) {
        of.outsideVariables(w, i, lane, a, 16);
        break;
      }
      if (of.sharedWritten[a] == sharedMbarrier) {
        report("mbarrier-misuse", w, i, lane, a, nullptr,
               opName(i, owner.launch) + " reads the bytes of " +
                   mbarrierName(of.block, a & ~7u) + ", which is in use");
        break;
      }
      if (!of.sharedWritten[a] || of.sharedWritten[a] == sharedUnknown) {
        Report r;
        r.kind = "uninitialised";
        r.ptxLine = i.line;
        r.source = sourcePlace(i, owner.launch);
        r.thread = threadName(w, lane);
        r.address = a;
        r.message = opName(i, owner.launch) + " of " + r.thread + " reads " +
                    where(a, &of.block) + ", which nobody has written";
        of.nearestWriter(a, r);
        owner.launch.addReport(std::move(r));
        of.sharedWritten[a] = 1;
      }
      // Neighbours mostly have the same writer.
      ByteState &byte = of.shared[a];
      const Mark &write = byte.write;
      if (byte.pendingCopy || write.inst != passed.inst ||
          write.thread != passed.thread || write.epoch != passed.epoch ||
          write.block != passed.block)
        matrixByte(of, w, i, lane, a, known,
                   write.block == block.linear && !write.isAsync() &&
                       write.thread - first < count);
      passed = write;
      rememberReader(byte, mine);
    }
}

void BlockChecker::wgmmaWaited(Warp &w, uint32_t group) {
  // The product needed the registers of all lanes: what they did before is
  // done (CUTLASS counts on that for fragments of A it loaded).
  warpSync(w, w.live);
  unsigned first = w.index * 32 + unsigned(std::countr_zero(w.live));
  auto clock = std::make_shared<Clock>(*threads[first].known);
  Clock::BlockView &view = clock->blocks[block.linear];
  for (unsigned k = w.index / 4 * 4; k < w.index / 4 * 4 + 4; ++k)
    view.know(wgmmaAgent | k, group);
  for (uint32_t m = w.live; m; m &= m - 1)
    threads[w.index * 32 + unsigned(std::countr_zero(m))].known = clock;
}

static std::string warpsOf(unsigned group) {
  return "warps " + std::to_string(4 * group) + " to " +
         std::to_string(4 * group + 3);
}

void BlockChecker::warpGroupStep(Warp &w, const Inst &i, uint32_t mask,
                                 const WarpGroupStep &step) {
  auto &groups = warpGroups[step.inst ? 0 : 1];
  unsigned number = w.index / 4;
  if (groups.size() <= number)
    groups.resize(number + 1);
  WarpGroup &group = groups[number];
  if (group.isReported)
    return;
  auto misuse = [&](const Inst *other, const std::string &message) {
    group.isReported = true;
    report("wgmma-misuse", w, i, 0, 0, other, message);
  };
  std::string who = threadName(w, 0) + " at " + describePlace(i, owner.launch);
  if (mask != ~0u || block.warps.size() < number * 4 + 4)
    return misuse(nullptr, who + ": a warp group has four warps of 32 threads, "
                                 "and all of them execute this instruction");
  size_t n = group.done[w.index % 4]++;
  if (n == group.steps.size()) {
    group.steps.push_back(step);
    group.places.push_back(&i);
    return;
  }
  const WarpGroupStep &first = group.steps[n];
  const Inst *place = group.places[n];
  if (first.inst != step.inst)
    return misuse(place, who +
                             " executes another instruction than the rest "
                             "of its warp group (" +
                             warpsOf(number) + "), which executes " +
                             opName(*place, owner.launch));
  if (first.a != step.a || first.b != step.b ||
      first.accumulates != step.accumulates)
    misuse(place, who + " has other " +
                      (step.inst ? "descriptors or another scale-d"
                                 : "numbers of registers") +
                      " than the rest of its warp group (" + warpsOf(number) +
                      ")");
}

void BlockChecker::finishWarpGroups() {
  for (auto &groups : warpGroups)
    for (unsigned g = 0; g < groups.size(); ++g) {
      const WarpGroup &group = groups[g];
      for (unsigned k = 0; k < 4 && !group.isReported; ++k) {
        size_t n = group.done[k];
        if (n >= group.steps.size())
          continue;
        const Inst &missing = *group.places[n];
        report("wgmma-misuse", *block.warps[4 * g + k], missing, 0, 0, nullptr,
               "warp " + std::to_string(4 * g + k) + " never executes " +
                   opName(missing, owner.launch) +
                   ", as the rest of its warp group (" + warpsOf(g) + ") does");
        break;
      }
    }
}

} // namespace tessera::sim::check
