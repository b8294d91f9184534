// The operands of wgmma, and which instructions use its registers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/check/Checker.h"
#include "sim/exec/Block.h"
#include "sim/exec/Decode.h"
#include "sim/exec/Mma.h"
#include "sim/exec/Wgmma.h"
#include "sim/report/Recorder.h"

namespace tessera::sim {

using ptx::Operand;
using ptx::Type;

namespace {

bool isLazy(const Warp &w) {
  return w.block->checker || w.block->launch->options.adversarial;
}

WgmmaQueue &queueOf(Warp &w) {
  if (!w.wgmma)
    w.wgmma = std::make_shared<WgmmaQueue>(w);
  w.tracksRegisters = true;
  return *w.wgmma;
}

/// All that wgmma instructions have in common.
void begin(Warp &w, const Inst &i, uint32_t mask,
           const check::WarpGroupStep &step) {
  if (w.block->launch->options.arch != 90)
    throw Fault{Fault::IllegalInstruction, "wgmma exists on sm_90a only"};
  if (w.block->checker)
    w.block->checker->warpGroupStep(w, i, mask, step);
}

/// The value that all lanes must have.
uint64_t uniform(Warp &w, const Inst &i, Ref ref, const char *what) {
  const uint64_t *values = w.reg<uint64_t>(ref);
  for (unsigned l = 1; l < 32 && w.block->checker; ++l)
    if (values[l] != values[0]) {
      w.block->checker->note(
          w, i, "wgmma-misuse",
          std::string("the lanes of a warp disagree on ") + what, 0);
      break;
    }
  return values[0];
}

void product(Warp &w, const Inst &i, uint32_t mask) {
  const auto &p = *static_cast<const WgmmaPlan *>(i.extra.get());
  WgmmaOp op;
  op.inst = &i;
  op.code = w.frame->code;
  op.base[0] = w.base[0];
  op.base[1] = w.base[1];
  if (!p.aInRegisters)
    op.a = uniform(w, i, p.aDescriptor, "the descriptor of A");
  op.b = uniform(w, i, p.bDescriptor, "the descriptor of B");
  uint32_t accumulates = w.pred(p.accumulates);
  op.accumulates = accumulates & 1;
  if (accumulates + 1 > 1 && w.block->checker)
    w.block->checker->note(w, i, "wgmma-misuse",
                           "the lanes of a warp disagree on scale-d", 0);
  if (p.sparse)
    std::memcpy(op.metadata.data(), w.reg<uint32_t>(p.metadata), 128);
  begin(w, i, mask, {&i, op.a, op.b, op.accumulates});
  if (w.block->recorder)
    w.block->recorder->product(w, i, p);
  if (isLazy(w))
    return queueOf(w).issue(std::move(op));
  chunksOf(w, op); // the bounds
  multiply(w, op);
}

void fence(Warp &w, const Inst &i, uint32_t mask) {
  begin(w, i, mask, {&i});
  if (isLazy(w))
    queueOf(w).fence();
}

void commitGroup(Warp &w, const Inst &i, uint32_t mask) {
  begin(w, i, mask, {&i});
  if (isLazy(w))
    queueOf(w).commit();
  ++w.wgmmaGroups;
  ++w.block->events;
  w.wakeWarpGroup();
}

// imm: groups that may stay. A product is one operation of the warp group: it
// ends for all four warps, and not before all of them have issued it.
void waitGroup(Warp &w, const Inst &i, uint32_t mask) {
  auto left = uint32_t(i.imm);
  uint32_t group = w.wgmmaGroups > left ? w.wgmmaGroups - left : 0;
  w.forWarpGroup([&](Warp &other) {
    if (other.live && other.wgmmaGroups < group)
      w.awaits = Group::AtWarpGroup;
  });
  if (w.awaits != Group::Ready)
    return;
  w.forWarpGroup([&](Warp &other) {
    if (other.wgmma)
      other.wgmma->completeUpTo(group);
  });
  begin(w, i, mask, {&i});
  if (w.block->recorder)
    w.block->recorder->waitedForProducts(w, i, group);
  if (isLazy(w))
    queueOf(w).wait(left);
}

void decodeShape(Decoder &d, WgmmaPlan &p) {
  unsigned m = 0;
  for (std::string_view word : d.source->modifiers)
    if (word.substr(0, 4) == "m64n")
      std::sscanf(std::string(word).c_str(), "m%un%uk%u", &m, &p.n, &p.k);
  const std::vector<Type> &types = d.source->types;
  if (m != 64 || types.size() != 3)
    d.fail("needs a shape and three types");
  p.aType = types[1];
  p.bType = types[2];
  p.bits = p.aType == Type::B1;
  p.integer = types[0] == Type::S32;
  p.halfD = types[0] == Type::F16;
  p.aSigned = ptx::isSigned(p.aType);
  p.bSigned = ptx::isSigned(p.bType);
  p.saturate = d.has("satfinite");
  p.elementBits = p.aType == Type::TF32 ? 32 : unsigned(ptx::typeBits(p.aType));
  bool step16 = p.integer && p.n > 32;
  if (!p.n || p.n > 256 || p.n % (step16 ? 16 : 8))
    d.fail("N must be a multiple of 8 up to 256, and of 16 above 32 for "
           "integers and bits");
  if (p.k * p.elementBits != (p.sparse ? 512 : 256))
    d.fail("K does not fit the type");
  bool small = p.elementBits == 8 && !p.integer;
  bool known = p.integer ? p.bits || p.aType == Type::S8 || p.aType == Type::U8
                         : tensorFormat(p.aType) && types[0] != Type::BF16 &&
                               (types[0] == Type::F32 ||
                                (p.halfD && (small || p.aType == Type::F16)));
  bool fits = small ? p.bType == Type::E4M3 || p.bType == Type::E5M2
              : p.integer && !p.bits
                  ? p.bType == Type::S8 || p.bType == Type::U8
                  : p.bType == p.aType;
  if (!known || !fits || (p.bits && p.sparse))
    d.fail("these types do not go together");
  if (p.bits != (d.has("and") && d.has("popc")))
    d.fail("needs .and.popc exactly for .b1");
  if (p.saturate && (!p.integer || p.bits))
    d.fail(".satfinite is for integers");
  if (p.bits) { // words of 32 bits
    p.elementBits = 32;
    p.k = 8;
  }
}

bool sign(Decoder &d, const Operand &o) {
  int64_t value = d.immediate(o);
  if (value != 1 && value != -1)
    d.fail(o, "must be 1 or -1");
  return value == -1;
}
bool kMajor(Decoder &d, const Operand &o) {
  int64_t value = d.immediate(o);
  if (value != 0 && value != 1)
    d.fail(o, "must be 0 or 1");
  return value == 0;
}

void decodeProduct(Decoder &d, Inst &inst) {
  auto plan = std::make_shared<WgmmaPlan>();
  WgmmaPlan &p = *plan;
  inst.extra = plan;
  inst.opClass = OpClass::Matrix;
  p.sparse = d.has("sp");
  decodeShape(d, p);
  auto fragment = [&](const Operand &o, size_t count, bool isD) {
    if (o.kind != Operand::Vector || o.elements.size() != count)
      d.fail(o, "expected a vector of " + std::to_string(count) +
                    " registers, found " + std::to_string(o.elements.size()));
    for (size_t k = 0; k < count; ++k) {
      const Operand &e = o.elements[k];
      if (e.kind != Operand::Reg)
        d.fail(e, "must be a register");
      if (isD)
        p.d.push_back(d.dst(e, 32));
      else
        p.a[k] = d.src(e, Type::B32);
      (isD ? p.dNumbers : p.aNumbers).push_back(e.reg);
    }
  };
  fragment(d.operand(0), p.n / (p.halfD ? 4 : 2), true);
  p.aInRegisters = d.operand(1).kind == Operand::Vector;
  if (p.aInRegisters)
    fragment(d.operand(1), 4, false);
  else
    p.aDescriptor = d.src(d.operand(1), Type::B64);
  p.bDescriptor = d.src(d.operand(2), Type::B64);
  size_t next = 3;
  auto more = [&](const char *what) -> const Operand & {
    if (next >= d.operandCount())
      d.fail(std::string("needs ") + what);
    return d.operand(next++);
  };
  if (p.sparse) {
    p.metadata = d.src(more("metadata"), Type::B32);
    p.selector = unsigned(d.immediate(more("a selector")));
    if (p.selector > (p.elementBits == 8 ? 0u : 1u))
      d.fail("sparsity selector must be 0, or 1 for 16 and 32 bits");
  }
  p.accumulates = d.pred(more("scale-d"));
  if (!p.integer) {
    p.aNegated = sign(d, more("imm-scale-a"));
    p.bNegated = sign(d, more("imm-scale-b"));
    if (p.elementBits == 16) {
      if (!p.aInRegisters)
        p.aKMajor = kMajor(d, more("imm-trans-a"));
      p.bKMajor = kMajor(d, more("imm-trans-b"));
    }
  }
  if (next != d.operandCount())
    d.fail("has too many operands");
  p.ring = d.program.ring && !p.integer;
  if (p.ring && (p.sparse || p.elementBits == 8))
    d.fail("is excluded from ring mode");
  inst.fn = product;
}

bool isProduct(const ptx::Instruction &i) {
  return i.base == "wgmma" && i.has("mma_async");
}

} // namespace

void decodeWgmma(Decoder &d, Inst &inst) {
  inst.flow = Flow::WarpSync;
  inst.opClass = OpClass::Barrier;
  if (d.has("mma_async"))
    return decodeProduct(d, inst);
  if (d.has("fence")) {
    inst.fn = fence;
  } else if (d.has("commit_group")) {
    inst.fn = commitGroup;
  } else {
    inst.imm = d.immediate(d.operand(0));
    if (inst.imm < 0)
      d.fail(d.operand(0), "must not be negative");
    inst.fn = waitGroup;
  }
}

void collectTouches(const Operand &o, bool isWritten,
                    std::vector<RegisterTouch> &into) {
  if (o.kind == Operand::Reg)
    into.push_back({o.reg, isWritten});
  for (const Operand &e : o.elements)
    collectTouches(e, isWritten && o.kind != Operand::Address, into);
}

void placeTouches(const Code &code, std::vector<std::vector<RegisterTouch>> all,
                  const std::vector<uint8_t> &isTracked,
                  std::vector<std::vector<RegisterTouch>> &into) {
  const ptx::Function &f = *code.function;
  into.resize(code.insts.size());
  size_t n = 0;
  for (size_t pc = 0; pc < code.insts.size(); ++pc) {
    const Inst &inst = code.insts[pc];
    // Helpers stand before the instruction they belong to.
    if (inst.id == ~0u || !inst.source)
      continue;
    for (; &f.body[n] != inst.source; ++n) {
    }
    std::erase_if(all[n],
                  [&](RegisterTouch t) { return !isTracked[t.number]; });
    into[pc] = std::move(all[n]);
  }
}

void findWgmmaTouches(Code &code) {
  const ptx::Function &f = *code.function;
  std::vector<uint8_t> isTracked(f.registers.size(), 0);
  bool any = false;
  for (const ptx::Instruction &i : f.body)
    if (isProduct(i)) {
      any = true;
      for (size_t k : {0, 1})
        for (const Operand &e : i.operands[k].elements)
          isTracked[e.reg] = 1;
    }
  if (!any)
    return;
  std::vector<std::vector<RegisterTouch>> all;
  for (const ptx::Instruction &i : f.body) {
    all.emplace_back();
    for (size_t k = isProduct(i) ? 2 : 0; k < i.operands.size(); ++k)
      collectTouches(i.operands[k], k == 0, all.back());
  }
  // Copies of tracked registers are tracked.
  for (bool grown = true; grown;) {
    grown = false;
    for (size_t n = 0; n < all.size(); ++n) {
      if (f.body[n].base != "mov")
        continue;
      bool copies = false;
      for (RegisterTouch t : all[n])
        copies |= !t.isWritten && isTracked[t.number];
      for (RegisterTouch t : all[n])
        if (copies && t.isWritten && !isTracked[t.number])
          grown = isTracked[t.number] = 1;
    }
  }
  placeTouches(code, std::move(all), isTracked, code.wgmmaTouches);
}

} // namespace tessera::sim
