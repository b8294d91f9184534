// mov (with packing and special registers), cvta, isspacep, alloca.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Block.h"
#include "sim/exec/Decode.h"
#include "sim/ptx/SpecialRegisters.h"
#include <chrono>

namespace tessera::sim {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

template <class T> void move(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<T>(i.ops[0]);
  const auto *a = w.reg<T>(i.ops[1]);
  forLanes(mask, [&](unsigned l) { d[l] = a[l]; });
}
void move128(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<uint64_t>(i.ops[0]);
  const auto *a = w.reg<uint64_t>(i.ops[1]);
  forLanes(mask, [&](unsigned l) {
    uint64_t low = a[l], high = a[32 + l];
    d[l] = low;
    d[32 + l] = high;
  });
}
void movePred(Warp &w, const Inst &i, uint32_t mask) {
  w.setPred(i.ops[0], mask, w.pred(i.ops[1]));
}

/// Parts of a packed move, low part first.
struct Parts {
  std::vector<Ref> refs;
  unsigned bits; // of one part
  unsigned total;
};

uint64_t part(Warp &w, Ref ref, unsigned bits, unsigned lane) {
  return bits <= 16   ? w.reg<uint16_t>(ref)[lane]
         : bits == 32 ? w.reg<uint32_t>(ref)[lane]
                      : w.reg<uint64_t>(ref)[lane];
}

void packVector(Warp &w, const Inst &i, uint32_t mask) {
  const auto &p = *static_cast<const Parts *>(i.extra.get());
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    unsigned __int128 v = 0;
    for (size_t k = 0; k < p.refs.size(); ++k) {
      uint64_t x = part(w, p.refs[k], p.bits, l);
      if (p.bits < 64)
        x &= (1ull << p.bits) - 1;
      v |= (unsigned __int128)x << p.bits * k;
    }
    switch (p.total) {
    case 16:
      w.reg<uint16_t>(i.ops[0])[l] = uint16_t(v);
      break;
    case 32:
      w.reg<uint32_t>(i.ops[0])[l] = uint32_t(v);
      break;
    case 64:
      w.reg<uint64_t>(i.ops[0])[l] = uint64_t(v);
      break;
    default:
      w.reg<uint64_t>(i.ops[0])[l] = uint64_t(v);
      w.reg<uint64_t>(i.ops[0])[32 + l] = uint64_t(v >> 64);
    }
  }
}
void unpackVector(Warp &w, const Inst &i, uint32_t mask) {
  const auto &p = *static_cast<const Parts *>(i.extra.get());
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    unsigned __int128 v = part(w, i.ops[1], p.total < 64 ? p.total : 64, l);
    if (p.total == 128)
      v |= (unsigned __int128)(w.reg<uint64_t>(i.ops[1])[32 + l]) << 64;
    for (size_t k = 0; k < p.refs.size(); ++k, v >>= p.bits) {
      if (p.refs[k] == noRef)
        continue;
      if (p.bits <= 16)
        w.reg<uint16_t>(p.refs[k])[l] =
            uint16_t(p.bits == 8 ? uint8_t(v) : uint16_t(v));
      else if (p.bits == 32)
        w.reg<uint32_t>(p.refs[k])[l] = uint32_t(v);
      else
        w.reg<uint64_t>(p.refs[k])[l] = uint64_t(v);
    }
  }
}
// The two packings Triton and nvcc use all the time.
void pack2x16(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<uint32_t>(i.ops[0]);
  const auto *a = w.reg<uint16_t>(i.ops[1]), *b = w.reg<uint16_t>(i.ops[2]);
  forLanes(mask, [&](unsigned l) { d[l] = a[l] | uint32_t(b[l]) << 16; });
}
void unpack2x16(Warp &w, const Inst &i, uint32_t mask) {
  const auto *a = w.reg<uint32_t>(i.ops[2]);
  auto *x = w.reg<uint16_t>(i.ops[0]), *y = w.reg<uint16_t>(i.ops[1]);
  forLanes(mask, [&](unsigned l) {
    x[l] = uint16_t(a[l]);
    y[l] = uint16_t(a[l] >> 16);
  });
}

void readClock(Warp &w, const Inst &i, uint32_t mask) {
  using ptx::Special;
  uint64_t clock = w.block->worker->warpInstructions;
  uint64_t now =
      uint64_t(std::chrono::steady_clock::now().time_since_epoch().count());
  uint64_t value = 0;
  switch (Special(i.aux)) {
  case Special::Clock:
  case Special::Clock64:
    value = clock;
    break;
  case Special::ClockHi:
    value = clock >> 32;
    break;
  case Special::GlobalTimer:
  case Special::GlobalTimerLo:
    value = now;
    break;
  case Special::GlobalTimerHi:
    value = now >> 32;
    break;
  default:
    break;
  }
  if (i.regWidth == 8)
    forLanes(mask, [&](unsigned l) { w.reg<uint64_t>(i.ops[0])[l] = value; });
  else
    forLanes(mask, [&](unsigned l) {
      w.reg<uint32_t>(i.ops[0])[l] = uint32_t(value);
    });
}

// cvta: imm is the window's start. A shared address carries the rank of its
// block already, and keeps it.
void toGeneric(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<uint64_t>(i.ops[0]);
  const auto *a = w.reg<uint64_t>(i.ops[1]);
  uint64_t window = uint64_t(i.imm);
  forLanes(mask, [&](unsigned l) { d[l] = a[l] + window; });
}
void fromGeneric(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<uint64_t>(i.ops[0]);
  const auto *a = w.reg<uint64_t>(i.ops[1]);
  forLanes(mask, [&](unsigned l) { d[l] = a[l] & ~windowMask; });
}
void isSpace(Warp &w, const Inst &i, uint32_t mask) {
  const auto *a = w.reg<uint64_t>(i.ops[1]);
  uint32_t result = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    uint64_t address = a[std::countr_zero(m)], window = address & windowMask;
    Space space = window == sharedWindow  ? Space::Shared
                  : window == localWindow ? Space::Local
                  : window == paramWindow ? Space::Param
                                          : Space::Global;
    bool isOther =
        space == Space::Shared && !i.reachesCluster &&
        (address & ~windowMask) >> clusterRankShift != w.block->clusterRank;
    if (space == i.space && !isOther)
      result |= m & -m;
  }
  w.setPred(i.ops[0], mask, result);
}

void allocateStack(Warp &w, const Inst &i, uint32_t mask) {
  if (w.stackTop.empty())
    w.stackTop.assign(32, 0);
  const auto *size = w.reg<uint64_t>(i.ops[1]);
  auto *d = w.reg<uint64_t>(i.ops[0]);
  uint32_t align = std::max<uint32_t>(16, uint32_t(i.imm));
  uint32_t floor = w.frame->localBase + w.frame->code->localBytes;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    uint32_t at = std::max(w.stackTop[l], floor);
    at = (at + align - 1) / align * align;
    uint64_t bytes = size[l];
    if (bytes > (512u << 10))
      throw Fault{Fault::IllegalAddress, "alloca of too many bytes"};
    w.stackTop[l] = uint32_t(at + bytes);
    w.localAt(l, at, unsigned(bytes));
    d[l] = at;
  }
}
void stackSave(Warp &w, const Inst &i, uint32_t mask) {
  if (w.stackTop.empty())
    w.stackTop.assign(32, 0);
  auto *d = w.reg<uint64_t>(i.ops[0]);
  forLanes(mask, [&](unsigned l) { d[l] = w.stackTop[l]; });
}
void stackRestore(Warp &w, const Inst &i, uint32_t mask) {
  const auto *a = w.reg<uint64_t>(i.ops[0]);
  forLanes(mask, [&](unsigned l) { w.stackTop[l] = uint32_t(a[l]); });
}
void zero64(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<uint64_t>(i.ops[0]);
  forLanes(mask, [&](unsigned l) { d[l] = 0; });
}

void decodeMov(Decoder &d, Inst &inst) {
  Type type = d.type();
  unsigned bits = ptx::typeBits(type);
  const Operand &to = d.operand(0), &from = d.operand(1);
  if (type == Type::Pred) {
    inst.ops[0] = d.predDst(to);
    inst.ops[1] = d.pred(from);
    inst.fn = movePred;
    return;
  }
  if (from.kind == Operand::Vector || to.kind == Operand::Vector) {
    bool pack = from.kind == Operand::Vector;
    const Operand &vector = pack ? from : to;
    auto parts = std::make_shared<Parts>();
    parts->total = bits;
    size_t n = vector.elements.size();
    if (n < 2 || bits % n || (to.kind == from.kind))
      d.fail("vector does not fit the type");
    parts->bits = bits / n;
    for (const Operand &e : vector.elements) {
      Type t = parts->bits == 8    ? Type::B8
               : parts->bits == 16 ? Type::B16
               : parts->bits == 32 ? Type::B32
                                   : Type::B64;
      if (pack)
        parts->refs.push_back(d.src(e, t));
      else if (e.kind == Operand::Sink)
        parts->refs.push_back(noRef);
      else
        parts->refs.push_back(d.dst(e, parts->bits));
    }
    if (pack)
      inst.ops[0] = d.dst(to, bits);
    else
      inst.ops[1] = d.src(from, type);
    inst.fn = pack ? packVector : unpackVector;
    bool sinks = false;
    for (Ref r : parts->refs)
      sinks |= r == noRef;
    if (n == 2 && parts->bits == 16 && !sinks) {
      if (pack) {
        inst.ops[1] = parts->refs[0];
        inst.ops[2] = parts->refs[1];
        inst.fn = pack2x16;
      } else {
        inst.ops[2] = inst.ops[1];
        inst.ops[0] = parts->refs[0];
        inst.ops[1] = parts->refs[1];
        inst.fn = unpack2x16;
      }
    }
    inst.extra = parts;
    return;
  }
  if (from.kind == Operand::Special && from.reg >= ptx::firstDynamicSpecial) {
    inst.ops[0] = d.dst(to, bits);
    inst.regWidth = bits / 8;
    inst.aux = from.reg;
    inst.fn = readClock;
    return;
  }
  inst.ops[0] = d.dst(to, bits);
  inst.ops[1] = d.src(from, type);
  inst.fn = bits == 16   ? move<uint16_t>
            : bits == 32 ? move<uint32_t>
            : bits == 64 ? move<uint64_t>
                         : move128;
}

} // namespace

void decodeMove(Decoder &d, Inst &inst) {
  std::string_view base = d.source->base;
  inst.opClass = OpClass::Move;
  if (base == "mov")
    return decodeMov(d, inst);
  if (base == "createpolicy") {
    inst.ops[0] = d.dst(d.operand(0), 64);
    inst.fn = zero64;
    return;
  }
  if (base == "isspacep") {
    inst.ops[0] = d.predDst(d.operand(0));
    inst.ops[1] = d.src(d.operand(1), Type::U64);
    inst.space = d.spaceModifier();
    if (inst.space == Space::SharedCluster) {
      inst.space = Space::Shared;
      inst.reachesCluster = true;
    }
    if (inst.space == Space::Const)
      d.fail("isspacep.const is not supported: constants are global here");
    inst.fn = isSpace;
    return;
  }
  if (base == "alloca") {
    inst.ops[0] = d.dst(d.operand(0), 64);
    inst.ops[1] = d.src(d.operand(1), Type::U64);
    inst.imm = d.operandCount() > 2 ? d.immediate(d.operand(2)) : 8;
    d.program.usesLocal = true;
    inst.fn = allocateStack;
    return;
  }
  if (base == "stacksave") {
    inst.ops[0] = d.dst(d.operand(0), 64);
    inst.fn = stackSave;
    return;
  }
  if (base == "stackrestore") {
    inst.ops[0] = d.src(d.operand(0), Type::U64);
    inst.fn = stackRestore;
    return;
  }
  // cvta
  if (d.type() != Type::U64)
    d.fail("needs .u64");
  inst.ops[0] = d.dst(d.operand(0), 64);
  inst.ops[1] = d.src(d.operand(1), Type::U64);
  Space space = d.spaceModifier();
  if (space == Space::Param && !d.function.isEntry)
    space = Space::Local;
  if (d.has("to")) {
    inst.fn = space == Space::Global || space == Space::Const ? move<uint64_t>
                                                              : fromGeneric;
    return;
  }
  switch (space) {
  case Space::Shared:
  case Space::SharedCluster:
    inst.imm = int64_t(sharedWindow);
    break;
  case Space::Local:
    inst.imm = int64_t(localWindow);
    break;
  case Space::Param:
    inst.imm = int64_t(paramWindow);
    break;
  default:
    break;
  }
  inst.fn = toGeneric;
}

} // namespace tessera::sim
