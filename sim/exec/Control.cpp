// Branches, calls, exits and scheduling hints; Warp.cpp moves the pc.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/check/Checker.h"
#include "sim/exec/Block.h"
#include "sim/exec/Builtins.h"
#include "sim/exec/Decode.h"

namespace tessera::sim {

using ptx::Operand;
using ptx::Type;

namespace {

void nothing(Warp &, const Inst &, uint32_t) {}
void sleep(Warp &w, const Inst &, uint32_t) { w.yield = true; }

void decodeCall(Decoder &d, Inst &inst) {
  auto site = std::make_shared<CallSite>();
  size_t next = 0;
  auto variables = [&](const Operand &o, std::vector<uint32_t> &offsets,
                       std::vector<uint32_t> &bytes) {
    for (const Operand &e : o.elements) {
      if (!e.variable)
        d.fail(e, "call operands must be .param variables");
      offsets.push_back(d.localOffset(e.variable));
      bytes.push_back(e.variable->bytes);
    }
  };
  if (d.operand(0).kind == Operand::Vector) {
    variables(d.operand(0), site->resultOffsets, site->resultBytes);
    next = 1;
  }
  const Operand &target = d.operand(next++);
  if (next < d.operandCount() && d.operand(next).kind == Operand::Vector)
    variables(d.operand(next++), site->argumentOffsets, site->argumentBytes);
  inst.flow = Flow::Call;
  if (target.kind == Operand::Symbol && target.function) {
    site->builtin = target.function->hasBody
                        ? CallSite::None
                        : findBuiltin(target.function->name);
    if (site->builtin == CallSite::None)
      inst.target = d.calleeNumber(target.function);
  } else if (target.kind == Operand::Reg) {
    site->builtin = CallSite::Indirect;
    site->pointer = d.src(target, Type::U64);
  } else {
    d.fail(target, "expected a function");
  }
  d.program.usesLocal = true;
  inst.extra = site;
}

void waitForGrids(Warp &w, const Inst &, uint32_t mask) {
  if (w.block->checker)
    w.block->checker->gridWaited(w, mask);
}

} // namespace

void decodeControl(Decoder &d, Inst &inst) {
  std::string_view base = d.source->base;
  inst.opClass = OpClass::Control;
  if (base == "bra") {
    if (d.operand(0).kind != Operand::Label)
      d.fail(d.operand(0), "expected a label");
    inst.flow = Flow::Branch;
    inst.target = d.label(d.operand(0));
  } else if (base == "brx") {
    inst.flow = Flow::BranchIndexed;
    inst.ops[0] = d.src(d.operand(0), Type::U32);
    auto targets = std::make_shared<std::vector<uint32_t>>();
    for (unsigned label : d.function.branchTargets.at(d.operand(1).reg))
      targets->push_back(d.function.labels[label]);
    inst.extra = targets;
  } else if (base == "call") {
    decodeCall(d, inst);
  } else if (base == "ret") {
    inst.flow = Flow::Return;
  } else if (base == "exit") {
    inst.flow = Flow::Exit;
  } else if (base == "trap" || base == "brkpt") {
    inst.flow = Flow::Trap;
  } else if (base == "nanosleep") {
    inst.flow = Flow::Yield;
    inst.fn = sleep;
  } else if (base == "griddepcontrol") {
    d.program.usesGridControl = true;
    inst.fn = d.has("wait") ? waitForGrids : nothing;
  } else {
    inst.fn = nothing;
  }
}

} // namespace tessera::sim
