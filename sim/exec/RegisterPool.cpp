// setmaxnreg: the registers that the warps of a block give to each other.
//
// A block has what its threads get at the launch. That number is known from
// .maxnreg, from the launch, or, as ptxas takes it, from .minnctapersm: all the
// registers of the multiprocessor. Without any of these setmaxnreg may have no
// effect (PTX ISA, setmaxnreg), and has none here.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/RegisterPool.h"

#include "sim/check/Checker.h"
#include "sim/exec/Cluster.h"
#include "sim/exec/Decode.h"
#include "sim/exec/Limits.h"

namespace tessera::sim {

unsigned registersAtLaunch(const Launch &launch) {
  const ptx::Function &f = *launch.program->codes[0]->function;
  const LaunchOptions &o = launch.options;
  constexpr unsigned step = 8, most = 256;
  if (f.maxRegisters || o.registers) {
    unsigned given = f.maxRegisters ? f.maxRegisters : o.registers;
    return std::min((given + step - 1) / step * step, most);
  }
  if (!f.minBlocksPerSm)
    return 0;
  unsigned warps = (o.block[0] * o.block[1] * o.block[2] + 31) / 32;
  unsigned each = machine(o.arch).registers / (f.minBlocksPerSm * warps * 32);
  return std::min(each / step * step, most);
}

static RegisterPool &poolOf(Block &block) {
  if (!block.registerPool) {
    unsigned each = registersAtLaunch(*block.launch);
    block.registerPool = std::make_shared<RegisterPool>();
    block.registerPool->isKnown = each != 0;
    block.registerPool->perThread.assign(block.warps.size(), each);
  }
  return *block.registerPool;
}

static void misuse(Warp &w, const Inst &i, unsigned has) {
  if (w.block->checker)
    w.block->checker->note(
        w, i, "register-pool",
        threadName(w, 0) + " at " + describePlace(i, *w.block->launch) +
            (i.flags ? " asks for " : " keeps ") + std::to_string(i.imm) +
            " registers per thread and has " + std::to_string(has) +
            (i.flags ? ": .inc must not lower the number"
                     : ": .dec must not raise the number"),
        0);
}

// imm: registers per thread; flags: 1 for .inc
static void setMaxRegisters(Warp &w, const Inst &i, uint32_t mask) {
  RegisterPool &pool = poolOf(*w.block);
  unsigned &has = pool.perThread[w.index];
  auto wanted = unsigned(i.imm);
  bool isWaiting = pool.waits(w.index);
  if (w.block->checker && !isWaiting)
    w.block->checker->warpGroupStep(
        w, i, mask, {nullptr, uint64_t(i.imm), uint64_t(i.flags)});
  if (!pool.isKnown)
    return;
  if (i.flags ? wanted < has : wanted > has)
    return misuse(w, i, has);
  if (i.flags && pool.free < (wanted - has) * 32) {
    if (!isWaiting)
      pool.waiting.push_back(w.index);
    w.awaits = Group::AtRegisterPool;
    return;
  }
  std::erase(pool.waiting, w.index);
  pool.free = i.flags ? pool.free - (wanted - has) * 32
                      : pool.free + (has - wanted) * 32;
  has = wanted;
  ++w.block->events;
  if (i.flags)
    return;
  for (auto &other : w.block->warps)
    for (Group &g : other->groups)
      if (g.state == Group::AtRegisterPool)
        g.state = Group::Ready;
}

std::string describeRegisterWait(const Block &block, unsigned warp,
                                 const Inst &inst) {
  const RegisterPool &pool = *block.registerPool;
  unsigned missing = unsigned(inst.imm) - pool.perThread[warp];
  return "wait for " + std::to_string(missing * 32) +
         " registers of the block's pool, which has " +
         std::to_string(pool.free);
}

void decodeRegisters(Decoder &d, Inst &inst) {
  inst.flow = Flow::WarpSync;
  inst.opClass = OpClass::Control;
  inst.imm = d.immediate(d.operand(0));
  inst.flags = d.has("inc");
  if (inst.imm < 24 || inst.imm > 256 || inst.imm % 8)
    d.fail(d.operand(0), "must be a multiple of 8 from 24 to 256");
  if (d.has("inc") == d.has("dec"))
    d.fail("needs .inc or .dec");
  inst.fn = setMaxRegisters;
}

} // namespace tessera::sim
