// atom and red.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Atomic.h"

#include "sim/check/Checker.h"
#include "sim/check/Semantics.h"
#include "sim/exec/Access.h"
#include "sim/exec/BulkCopy.h"
#include "sim/exec/Decode.h"
#include "sim/exec/Ring.h"
#include "sim/exec/SmallFloat.h"

namespace tessera::sim {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

using Op = AtomicOp;

std::mutex wideMutex; // 128-bit atomics

template <class U, class F> U update(uint8_t *p, F f) {
  U *word = reinterpret_cast<U *>(p);
  U old = __atomic_load_n(word, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(word, &old, f(old), false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return old;
}

template <class T> T integerOp(Op op, T old, T b, T c) {
  switch (op) {
  case Op::Add:
    return T(uint64_t(old) + uint64_t(b));
  case Op::Min:
    return old < b ? old : b;
  case Op::Max:
    return old > b ? old : b;
  case Op::Inc:
    return old >= b ? T(0) : T(old + 1);
  case Op::Dec:
    return old == 0 || old > b ? b : T(old - 1);
  case Op::And:
    return old & b;
  case Op::Or:
    return old | b;
  case Op::Xor:
    return old ^ b;
  case Op::Exch:
    return b;
  case Op::Cas:
    return old == b ? c : old;
  }
  return old;
}

uint16_t halfOp(Op op, uint16_t a, uint16_t b, bool bf) {
  float x = bf ? bfloatToFloat(a) : halfToFloat(a);
  float y = bf ? bfloatToFloat(b) : halfToFloat(b);
  float r = op == Op::Add   ? x + y
            : x != x        ? y
            : y != y        ? x
            : op == Op::Min ? (x < y || (x == y && std::signbit(x)) ? x : y)
                            : (x > y || (x == y && !std::signbit(x)) ? x : y);
  return bf ? floatToBfloat(r) : floatToHalf(r);
}

} // namespace

uint64_t applyAtomic(uint8_t *p, Type type, AtomicOp op, uint64_t b, uint64_t c,
                     bool global) {
  switch (type) {
  case Type::S32:
    return uint32_t(update<int32_t>(p, [&](int32_t o) {
      return integerOp<int32_t>(op, o, int32_t(b), int32_t(c));
    }));
  case Type::U32:
  case Type::B32:
    return update<uint32_t>(p, [&](uint32_t o) {
      return integerOp<uint32_t>(op, o, uint32_t(b), uint32_t(c));
    });
  case Type::S64:
    return uint64_t(update<int64_t>(p, [&](int64_t o) {
      return integerOp<int64_t>(op, o, int64_t(b), int64_t(c));
    }));
  case Type::U64:
  case Type::B64:
    return update<uint64_t>(
        p, [&](uint64_t o) { return integerOp<uint64_t>(op, o, b, c); });
  case Type::B16:
  case Type::U16:
    return update<uint16_t>(p, [&](uint16_t o) {
      return integerOp<uint16_t>(op, o, uint16_t(b), uint16_t(c));
    });
  case Type::F32:
    return update<uint32_t>(p, [&](uint32_t o) {
      float x = std::bit_cast<float>(o);
      float y = std::bit_cast<float>(uint32_t(b));
      if (op == Op::Exch)
        return uint32_t(b);
      float r;
      if (op == Op::Add)
        // In global memory the unit flushes subnormals.
        r = global ? flush(flush(x) + flush(y)) : x + y;
      else
        r = op == Op::Min ? std::fmin(x, y) : std::fmax(x, y);
      return std::bit_cast<uint32_t>(canonical(r));
    });
  case Type::F64:
    return update<uint64_t>(p, [&](uint64_t o) {
      double x = std::bit_cast<double>(o), y = std::bit_cast<double>(b);
      return op == Op::Exch ? b : std::bit_cast<uint64_t>(x + y);
    });
  case Type::F16:
  case Type::BF16:
    return update<uint16_t>(p, [&](uint16_t o) {
      return halfOp(op, o, uint16_t(b), type == Type::BF16);
    });
  case Type::F16x2:
  case Type::BF16x2: {
    bool bf = type == Type::BF16x2;
    return update<uint32_t>(p, [&](uint32_t o) {
      return uint32_t(halfOp(op, uint16_t(o), uint16_t(b), bf)) |
             uint32_t(halfOp(op, uint16_t(o >> 16), uint16_t(b >> 16), bf))
                 << 16;
    });
  }
  default:
    return 0;
  }
}

uint64_t applyRing(uint8_t *p, Type type, AtomicOp op, uint64_t b) {
  ring::Ring r(ring::scalarOf(type));
  auto combine = [&](uint64_t old) {
    uint64_t out = 0, ones = r.bits == 64 ? ~0ull : (1ull << r.bits) - 1;
    for (unsigned at = 0; at < ptx::typeBits(type); at += r.bits) {
      uint64_t x = r.element(old >> at & ones), y = r.element(b >> at & ones);
      uint64_t z = op == Op::Add   ? r.add(x, y)
                   : op == Op::Min ? (r.less(y, x) ? y : x)
                   : op == Op::Max ? (r.less(x, y) ? y : x)
                                   : y; // exch
      out |= z << at;
    }
    return out;
  };
  switch (ptx::typeBits(type)) {
  case 16:
    return update<uint16_t>(p,
                            [&](uint16_t o) { return uint16_t(combine(o)); });
  case 32:
    return update<uint32_t>(p,
                            [&](uint32_t o) { return uint32_t(combine(o)); });
  default:
    return update<uint64_t>(p, combine);
  }
}

namespace {

struct Plan {
  bool ring = false;
  Type type;
  Op op;
  std::vector<Ref> results, values; // per element; results empty for red
  Ref compare = noRef;              // cas: the new value
};

uint64_t read(Warp &w, Ref ref, unsigned bytes, unsigned l) {
  return bytes == 2   ? w.reg<uint16_t>(ref)[l]
         : bytes == 4 ? w.reg<uint32_t>(ref)[l]
                      : w.reg<uint64_t>(ref)[l];
}

void atomic(Warp &w, const Inst &i, uint32_t mask) {
  const auto &plan = *static_cast<const Plan *>(i.extra.get());
  Access at;
  computeAddresses(w, i, mask, i.ops[8], at.address);
  unsigned bytes = i.width * unsigned(plan.values.size());
  translate(w, i, mask, i.space, bytes, bytes, AccessKind::Atomic, at);
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    if (plan.type == Type::B128) {
      std::lock_guard lock(wideMutex);
      uint64_t old[2], b[2], c[2] = {0, 0};
      std::memcpy(old, at.pointer[l], 16);
      for (int k = 0; k < 2; ++k) {
        b[k] = w.reg<uint64_t>(plan.values[0])[32 * k + l];
        if (plan.compare != noRef)
          c[k] = w.reg<uint64_t>(plan.compare)[32 * k + l];
      }
      if (plan.op == Op::Exch)
        std::memcpy(at.pointer[l], b, 16);
      else if (old[0] == b[0] && old[1] == b[1])
        std::memcpy(at.pointer[l], c, 16);
      if (!plan.results.empty())
        for (int k = 0; k < 2; ++k)
          w.reg<uint64_t>(plan.results[0])[32 * k + l] = old[k];
      continue;
    }
    uint64_t old[8], value[8];
    uint64_t c = plan.compare == noRef ? 0 : read(w, plan.compare, i.width, l);
    for (size_t e = 0; e < plan.values.size(); ++e)
      value[e] = read(w, plan.values[e], i.width, l);
    for (size_t e = 0; e < plan.values.size(); ++e)
      old[e] = plan.ring ? applyRing(at.pointer[l] + e * i.width, plan.type,
                                     plan.op, value[e])
                         : applyAtomic(at.pointer[l] + e * i.width, plan.type,
                                       plan.op, value[e], c,
                                       at.space[l] == Space::Global);
    for (size_t e = 0; e < plan.results.size(); ++e) {
      if (i.width == 2)
        w.reg<uint16_t>(plan.results[e])[l] = uint16_t(old[e]);
      else if (i.width == 4)
        w.reg<uint32_t>(plan.results[e])[l] = uint32_t(old[e]);
      else
        w.reg<uint64_t>(plan.results[e])[l] = old[e];
    }
  }
}

void fence(Warp &w, const Inst &i, uint32_t mask) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (w.block->checker)
    w.block->checker->fence(w, i, mask);
}

// flags: what it covers (check::proxyShared, ...)
void fenceProxy(Warp &w, const Inst &i, uint32_t mask) {
  if (!w.block->checker)
    return;
  if (i.semantics & check::orderMask) // the one-directional forms
    w.block->checker->fence(w, i, mask);
  if (i.flags)
    w.block->checker->fenceProxy(w, mask, i.flags);
}

} // namespace

AtomicOp decodeAtomicOp(const Decoder &d) {
  static constexpr std::pair<const char *, Op> ops[] = {
      {"add", Op::Add},   {"min", Op::Min}, {"max", Op::Max}, {"inc", Op::Inc},
      {"dec", Op::Dec},   {"and", Op::And}, {"or", Op::Or},   {"xor", Op::Xor},
      {"exch", Op::Exch}, {"cas", Op::Cas}};
  for (auto [name, op] : ops)
    if (d.has(name))
      return op;
  d.fail("needs an operation");
}

void decodeAtomic(Decoder &d, Inst &inst) {
  bool isRed = d.source->base == "red";
  if (d.has("async") && d.operandCount() == 3)
    return decodeAsyncStore(d, inst);
  inst.opClass = OpClass::Atomic;
  if (d.source->types.size() != 1)
    d.fail("needs exactly one type");
  auto plan = std::make_shared<Plan>();
  plan->type = d.type();
  plan->op = decodeAtomicOp(d);
  bool floats = ptx::isFloat(plan->type);
  plan->ring = floats && d.program.ring;
  bool allowed = true;
  if (floats)
    allowed = plan->op == Op::Add || plan->op == Op::Exch ||
              ((plan->op == Op::Min || plan->op == Op::Max) &&
               plan->type != Type::F64);
  if (plan->type == Type::B128 || plan->type == Type::B16)
    allowed = plan->op == Op::Exch || plan->op == Op::Cas;
  if (!allowed)
    d.fail("this operation is not defined for the type");
  inst.width = ptx::typeBytes(plan->type);
  inst.semantics = d.semantics();
  if ((inst.semantics & check::orderMask) == check::weak)
    inst.semantics |= check::relaxed;
  // Without a scope, atomics are performed at device scope.
  if (!d.has("cta") && !d.has("cluster") && !d.has("gpu") && !d.has("sys"))
    inst.semantics = (inst.semantics & check::orderMask) | check::scopeDevice;
  size_t next = 0;
  Type valueType = inst.width == 2   ? Type::B16
                   : inst.width == 4 ? Type::B32
                   : inst.width == 8 ? Type::B64
                                     : Type::B128;
  if (plan->type == Type::F32 || plan->type == Type::F64)
    valueType = plan->type;
  auto list = [&](const Operand &o, bool isResult, std::vector<Ref> &out) {
    std::vector<const Operand *> parts;
    if (o.kind == Operand::Vector)
      for (const Operand &e : o.elements)
        parts.push_back(&e);
    else
      parts.push_back(&o);
    for (const Operand *p : parts)
      out.push_back(isResult ? d.dst(*p, inst.width * 8)
                             : d.src(*p, valueType));
  };
  if (!isRed)
    list(d.operand(next++), true, plan->results);
  const Operand &where = d.operand(next++);
  d.address(where, inst, d.spaceModifier(), 8);
  list(d.operand(next++), false, plan->values);
  if (plan->op == Op::Cas)
    plan->compare = d.src(d.operand(next++), valueType);
  if (plan->values.size() > 8 ||
      (!isRed && plan->values.size() != plan->results.size()))
    d.fail("vectors differ in length");
  inst.flags = isRed ? 1 : 0;
  inst.elements = plan->values.size();
  inst.fn = atomic;
  inst.extra = plan;
}

void decodeFence(Decoder &d, Inst &inst) {
  inst.opClass = OpClass::Barrier;
  inst.semantics = d.semantics();
  if (d.has("proxy")) {
    bool shared = d.has("shared::cta") || d.has("shared::cluster");
    // The acquiring side of a tensor map's fence makes edits visible.
    bool map = d.has("tensormap::generic");
    inst.flags = map      ? (d.has("acquire") ? check::proxyTensorMap : 0)
                 : shared ? check::proxyShared
                 : d.has("global") ? check::proxyGlobal
                                   : check::proxyShared | check::proxyGlobal;
    if (inst.flags == check::proxyTensorMap) {
      if (!d.operandCount())
        d.fail("needs the address of a tensor map");
      inst.extra = std::make_shared<Address>(
          decodeAddress(d, d.operand(0), Space::Generic));
    }
    inst.fn = fenceProxy;
    return;
  }
  if (d.source->base == "membar") {
    inst.semantics = check::acquireRelease |
                     (d.has("cta")                  ? check::scopeBlock
                      : d.has("gl") || d.has("gpu") ? check::scopeDevice
                                                    : check::scopeSystem);
  }
  inst.fn = fence;
}

} // namespace tessera::sim
