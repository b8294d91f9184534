// ld, st, prefetches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/check/Checker.h"
#include "sim/exec/Access.h"
#include "sim/exec/Decode.h"

namespace tessera::sim {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

// ops[0..7] are the data registers, ops[8] the address.
template <class M, class R>
void loadElements(Warp &w, const Inst &i, uint32_t mask, const Access &at) {
  for (unsigned e = 0; e < i.elements; ++e) {
    if (i.ops[e] == noRef)
      continue;
    auto *d = w.reg<R>(i.ops[e]);
    for (uint32_t m = mask; m; m &= m - 1) {
      unsigned l = std::countr_zero(m);
      M v;
      std::memcpy(&v, at.pointer[l] + e * sizeof(M), sizeof(M));
      d[l] = R(v);
    }
  }
}
template <class M, class R> void load(Warp &w, const Inst &i, uint32_t mask) {
  Access at;
  computeAddresses(w, i, mask, i.ops[8], at.address);
  unsigned bytes = sizeof(M) * i.elements;
  translate(w, i, mask, i.space, bytes, bytes, AccessKind::Read, at);
  loadElements<M, R>(w, i, mask, at);
}
void load128(Warp &w, const Inst &i, uint32_t mask) {
  Access at;
  computeAddresses(w, i, mask, i.ops[8], at.address);
  unsigned bytes = 16 * i.elements;
  translate(w, i, mask, i.space, bytes, bytes, AccessKind::Read, at);
  for (unsigned e = 0; e < i.elements; ++e)
    for (uint32_t m = mask; m; m &= m - 1) {
      unsigned l = std::countr_zero(m);
      uint64_t v[2];
      std::memcpy(v, at.pointer[l] + 16 * e, 16);
      w.reg<uint64_t>(i.ops[e])[l] = v[0];
      w.reg<uint64_t>(i.ops[e])[32 + l] = v[1];
    }
}
template <class M, class R> void store(Warp &w, const Inst &i, uint32_t mask) {
  Access at;
  computeAddresses(w, i, mask, i.ops[8], at.address);
  unsigned bytes = sizeof(M) * i.elements;
  bool checking = bool(w.block->checker);
  translate(w, i, mask, i.space, bytes, bytes, AccessKind::Write, at,
            !checking);
  if (checking) {
    // Lane by lane, so that the checker sees what the lane before it wrote:
    // two lanes that store the same value do no harm.
    for (uint32_t m = mask; m; m &= m - 1) {
      unsigned l = std::countr_zero(m);
      M values[32 / sizeof(M)];
      for (unsigned e = 0; e < i.elements; ++e)
        values[e] = M(w.reg<R>(i.ops[e])[l]);
      w.block->checker->access(w, i, m & -m, at, bytes, AccessKind::Write,
                               reinterpret_cast<const uint8_t *>(values));
      std::memcpy(at.pointer[l], values, bytes);
    }
    return;
  }
  for (unsigned e = 0; e < i.elements; ++e) {
    const auto *a = w.reg<R>(i.ops[e]);
    for (uint32_t m = mask; m; m &= m - 1) {
      unsigned l = std::countr_zero(m);
      M v = M(a[l]);
      std::memcpy(at.pointer[l] + e * sizeof(M), &v, sizeof(M));
    }
  }
}
void store128(Warp &w, const Inst &i, uint32_t mask) {
  Access at;
  computeAddresses(w, i, mask, i.ops[8], at.address);
  unsigned bytes = 16 * i.elements;
  translate(w, i, mask, i.space, bytes, bytes, AccessKind::Write, at);
  for (unsigned e = 0; e < i.elements; ++e)
    for (uint32_t m = mask; m; m &= m - 1) {
      unsigned l = std::countr_zero(m);
      uint64_t v[2] = {w.reg<uint64_t>(i.ops[e])[l],
                       w.reg<uint64_t>(i.ops[e])[32 + l]};
      std::memcpy(at.pointer[l] + 16 * e, v, 16);
    }
}

template <class M> ExecFn pickLoad(unsigned regBytes) {
  switch (regBytes) {
  case 2:
    return load<M, uint16_t>;
  case 4:
    return load<M, uint32_t>;
  default:
    return load<M, uint64_t>;
  }
}
template <class M> ExecFn pickStore(unsigned regBytes) {
  switch (regBytes) {
  case 2:
    return store<M, uint16_t>;
  case 4:
    return store<M, uint32_t>;
  default:
    return store<M, uint64_t>;
  }
}

void nothing(Warp &, const Inst &, uint32_t) {}

} // namespace

void decodeLoadStore(Decoder &d, Inst &inst) {
  std::string_view base = d.source->base;
  if (base != "ld" && base != "ldu" && base != "st") {
    inst.opClass = OpClass::Other;
    inst.fn = nothing;
    return;
  }
  bool isStore = base == "st";
  if (isStore && d.has("async") && d.operandCount() == 3)
    return decodeAsyncStore(d, inst);
  inst.opClass = isStore ? OpClass::Store : OpClass::Load;
  if (d.source->types.size() != 1)
    d.fail("needs exactly one type");
  Type type = d.type();
  unsigned bits = ptx::typeBits(type);
  inst.width = bits / 8;
  inst.elements = d.has("v8") ? 8 : d.has("v4") ? 4 : d.has("v2") ? 2 : 1;
  if (inst.width * inst.elements > 32)
    d.fail("vector is wider than 32 bytes");
  inst.semantics = d.semantics();
  const Operand &data = d.operand(isStore ? 1 : 0);
  const Operand &where = d.operand(isStore ? 0 : 1);
  d.address(where, inst, d.spaceModifier(), 8);
  std::vector<const Operand *> parts;
  if (inst.elements > 1 || data.kind == Operand::Vector) {
    if (data.kind != Operand::Vector || data.elements.size() != inst.elements)
      d.fail(data, "expected a vector of " + std::to_string(inst.elements) +
                       " registers");
    for (const Operand &e : data.elements)
      parts.push_back(&e);
  } else {
    parts.push_back(&data);
  }
  unsigned regBytes = 0;
  for (const Operand *p : parts)
    if (p->kind == Operand::Reg)
      regBytes = std::max(regBytes, d.regBits(*p) / 8);
  if (!regBytes)
    regBytes = std::max(2u, inst.width + 0u);
  if (regBytes < inst.width)
    d.fail("register is narrower than the memory type");
  for (unsigned e = 0; e < parts.size(); ++e) {
    const Operand &p = *parts[e];
    if (p.kind == Operand::Reg) {
      if (d.regBits(p) / 8 != regBytes)
        d.fail(p, "registers of one vector must have one width");
      uint8_t bytes;
      inst.ops[e] = d.anyReg(p, bytes);
    } else if (isStore) {
      Type t = regBytes == 2   ? Type::B16
               : regBytes == 4 ? Type::B32
               : regBytes == 8 ? Type::B64
                               : Type::B128;
      if (type == Type::F32 || type == Type::F64)
        t = type;
      inst.ops[e] = d.src(p, t);
    } else if (p.kind != Operand::Sink) {
      d.fail(p, "destination must be a register");
    } else if (bits == 128) {
      inst.ops[e] = d.scratch(128);
    }
  }
  bool isSigned = ptx::isSigned(type);
  switch (bits) {
  case 8:
    inst.fn = isStore    ? pickStore<uint8_t>(regBytes)
              : isSigned ? pickLoad<int8_t>(regBytes)
                         : pickLoad<uint8_t>(regBytes);
    break;
  case 16:
    inst.fn = isStore    ? pickStore<uint16_t>(regBytes)
              : isSigned ? pickLoad<int16_t>(regBytes)
                         : pickLoad<uint16_t>(regBytes);
    break;
  case 32:
    inst.fn = isStore    ? pickStore<uint32_t>(regBytes)
              : isSigned ? pickLoad<int32_t>(regBytes)
                         : pickLoad<uint32_t>(regBytes);
    break;
  case 64:
    inst.fn = isStore ? pickStore<uint64_t>(8) : pickLoad<uint64_t>(8);
    break;
  default:
    inst.fn = isStore ? store128 : load128;
  }
}

} // namespace tessera::sim
