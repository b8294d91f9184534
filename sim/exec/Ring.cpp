// Ring mode, see Ring.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Ring.h"

#include "sim/exec/Decode.h"
#include "sim/exec/Mma.h"
#include <cmath>

namespace tessera::sim {

using ptx::Type;

namespace ring {

Type scalarOf(Type type) {
  switch (type) {
  case Type::F16x2:
    return Type::F16;
  case Type::BF16x2:
    return Type::BF16;
  case Type::F32x2:
    return Type::F32;
  default:
    return type;
  }
}

static bool hasRing(Type type) {
  return type == Type::F16 || type == Type::BF16 || type == Type::F32 ||
         type == Type::TF32 || type == Type::F64;
}

} // namespace ring

namespace {

using ring::Ring;

enum class Op : uint8_t {
  Add,
  Sub,
  Mul,
  Fma,
  Div,
  Neg,
  Min,
  Max,
  Ex2,
  Opaque,
  Compare,
  Convert,
  FromInteger,
};
enum class Cmp : uint8_t { Eq, Ne, Lt, Le, Gt, Ge, Always, Never };

struct Plan {
  Op op;
  Type type;          // of one element
  Type from;          // Convert, FromInteger
  unsigned pack = 1;  // elements per register
  unsigned arity = 2; // registers read
  uint64_t tag = 0;   // Opaque
  bool relu = false;
  Cmp cmp = Cmp::Eq;
  unsigned boolean = 0; // of setp: 1 and, 2 or, 3 xor
  unsigned fromBits = 0;
};

uint64_t readBits(Warp &w, Ref ref, unsigned bits, unsigned lane) {
  return bits <= 16   ? w.reg<uint16_t>(ref)[lane]
         : bits == 32 ? w.reg<uint32_t>(ref)[lane]
                      : w.reg<uint64_t>(ref)[lane];
}
void writeBits(Warp &w, Ref ref, unsigned bits, unsigned lane, uint64_t v) {
  if (bits <= 16)
    w.reg<uint16_t>(ref)[lane] = uint16_t(v);
  else if (bits == 32)
    w.reg<uint32_t>(ref)[lane] = uint32_t(v);
  else
    w.reg<uint64_t>(ref)[lane] = v;
}

uint64_t compute(const Plan &p, const Ring &r, const uint64_t *x) {
  switch (p.op) {
  case Op::Add:
    return r.add(x[0], x[1]);
  case Op::Sub:
    return r.add(x[0], r.neg(x[1]));
  case Op::Mul:
    return r.mul(x[0], x[1]);
  case Op::Fma:
    return r.add(r.mul(x[0], x[1]), x[2]);
  case Op::Div:
    return r.mul(x[0], r.opaque(ring::rcpTag, x[1]));
  case Op::Neg:
    return r.neg(x[0]);
  case Op::Min:
    return r.less(x[1], x[0]) ? x[1] : x[0];
  case Op::Max:
    return r.less(x[0], x[1]) ? x[1] : x[0];
  case Op::Ex2:
    return r.exp2(x[0]);
  case Op::Opaque:
    return r.opaque(p.tag, x[0]);
  default:
    return 0;
  }
}

void arithmetic(Warp &w, const Inst &i, uint32_t mask) {
  const auto &p = *static_cast<const Plan *>(i.extra.get());
  Ring r(p.type);
  unsigned width = r.bits * p.pack;
  uint64_t ones = r.bits == 64 ? ~0ull : (1ull << r.bits) - 1;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(std::countr_zero(m));
    uint64_t in[3] = {}, out = 0;
    for (unsigned k = 0; k < p.arity; ++k)
      in[k] = readBits(w, i.ops[1 + k], width, l);
    for (unsigned e = 0; e < p.pack; ++e) {
      uint64_t x[3];
      for (unsigned k = 0; k < 3; ++k)
        x[k] = r.element(in[k] >> (e * r.bits) & ones);
      uint64_t y = compute(p, r, x);
      if (p.relu && r.isLowest(y))
        y = 0;
      out |= y << (e * r.bits);
    }
    writeBits(w, i.ops[0], width, l, out);
  }
}

void compare(Warp &w, const Inst &i, uint32_t mask) {
  const auto &p = *static_cast<const Plan *>(i.extra.get());
  Ring r(p.type);
  uint32_t result = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(std::countr_zero(m));
    uint64_t a = r.element(readBits(w, i.ops[1], r.bits, l));
    uint64_t b = r.element(readBits(w, i.ops[2], r.bits, l));
    bool less = r.less(a, b), equal = a == b, yes = false;
    switch (p.cmp) {
    case Cmp::Eq:
      yes = equal;
      break;
    case Cmp::Ne:
      yes = !equal;
      break;
    case Cmp::Lt:
      yes = less;
      break;
    case Cmp::Le:
      yes = less || equal;
      break;
    case Cmp::Gt:
      yes = !less && !equal;
      break;
    case Cmp::Ge:
      yes = !less;
      break;
    case Cmp::Always:
      yes = true;
      break;
    case Cmp::Never:
      break;
    }
    result |= uint32_t(yes) << l;
  }
  uint32_t other = ~result;
  if (p.boolean) {
    uint32_t c = w.pred(i.ops[4]);
    auto join = [&](uint32_t x) {
      return p.boolean == 1 ? x & c : p.boolean == 2 ? x | c : x ^ c;
    };
    result = join(result);
    other = join(other);
  }
  w.setPred(i.ops[0], mask, result);
  if (i.ops[3] != noRef)
    w.setPred(i.ops[3], mask, other);
}

/// One value, or two that are packed (the first source on top).
void conversion(Warp &w, const Inst &i, uint32_t mask) {
  const auto &p = *static_cast<const Plan *>(i.extra.get());
  Ring r(p.type);
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(std::countr_zero(m));
    uint64_t out = 0;
    for (unsigned e = 0; e < p.pack; ++e) {
      Ref ref = p.pack == 2 ? i.ops[2 - e] : i.ops[1];
      uint64_t x = readBits(w, ref, p.fromBits, l), y;
      if (p.op == Op::FromInteger) {
        unsigned bits = ptx::typeBits(p.from);
        if (bits < 64)
          x = ptx::isSigned(p.from)
                  ? uint64_t(int64_t(x << (64 - bits)) >> (64 - bits))
                  : x & ((1ull << bits) - 1);
        y = x & r.mask;
      } else {
        y = ring::convert(p.type, p.from, x);
      }
      if (p.relu && r.isLowest(y))
        y = 0;
      out |= y << (e * r.bits);
    }
    writeBits(w, i.ops[0], unsigned(i.regWidth) * 8, l, out);
  }
}

void decodeCompareRing(Decoder &d, Inst &inst, Plan &p) {
  static constexpr std::pair<const char *, Cmp> names[] = {
      {"eq", Cmp::Eq},      {"ne", Cmp::Ne},    {"lt", Cmp::Lt},
      {"le", Cmp::Le},      {"gt", Cmp::Gt},    {"ge", Cmp::Ge},
      {"equ", Cmp::Eq},     {"neu", Cmp::Ne},   {"ltu", Cmp::Lt},
      {"leu", Cmp::Le},     {"gtu", Cmp::Gt},   {"geu", Cmp::Ge},
      {"num", Cmp::Always}, {"nan", Cmp::Never}};
  for (auto [name, cmp] : names)
    if (d.has(name))
      p.cmp = cmp;
  p.op = Op::Compare;
  p.boolean = d.has("and") ? 1 : d.has("or") ? 2 : d.has("xor") ? 3 : 0;
  inst.ops[1] = d.src(d.operand(1), p.type);
  inst.ops[2] = d.src(d.operand(2), p.type);
  if (p.boolean)
    inst.ops[4] = d.pred(d.operand(3));
  const auto &first = d.operand(0);
  if (first.kind == ptx::Operand::Pair) {
    inst.ops[0] = d.predDst(first.elements[0]);
    inst.ops[3] = d.predDst(first.elements[1]);
  } else {
    inst.ops[0] = d.predDst(first);
  }
  inst.fn = compare;
}

void decodeConvertRing(Decoder &d, Inst &inst, Plan &p) {
  inst.opClass = OpClass::Convert;
  Type to = ring::scalarOf(d.type(0)), from = d.type(1);
  if (d.source->types.size() != 2 || !ring::hasRing(to) ||
      (ptx::isFloat(from) && !ring::hasRing(from)) || d.has("sat"))
    d.fail("is excluded from ring mode");
  p.type = to;
  p.from = from;
  p.pack = to == d.type(0) ? 1 : 2;
  p.relu = d.has("relu");
  p.op = ptx::isFloat(from) ? Op::Convert : Op::FromInteger;
  uint8_t bytes;
  inst.ops[0] = d.anyReg(d.operand(0), bytes);
  inst.regWidth = bytes;
  if (d.operandCount() != p.pack + 1)
    d.fail("is excluded from ring mode");
  for (unsigned k = 1; k <= p.pack; ++k) {
    if (d.operand(k).kind == ptx::Operand::Reg) {
      inst.ops[k] = d.anyReg(d.operand(k), bytes);
      p.fromBits = bytes * 8u;
    } else {
      inst.ops[k] = d.src(d.operand(k), from);
      p.fromBits = ptx::typeBits(from);
    }
  }
  inst.fn = conversion;
}

} // namespace

bool decodeRing(Decoder &d, Inst &inst) {
  bool floats = false;
  for (Type t : d.source->types)
    floats |= ptx::isFloat(t);
  std::string_view base = d.source->base;
  for (std::string_view name : {"mov", "ld", "ldu", "st", "selp", "shfl",
                                "atom", "red", "mma", "wmma", "wgmma"})
    if (base == name)
      return false; // bits, or told apart where they are executed
  if (!floats)
    return false;
  auto plan = std::make_shared<Plan>();
  Plan &p = *plan;
  inst.extra = plan;
  p.type = ring::scalarOf(d.type(0));
  if (base == "cvt") {
    decodeConvertRing(d, inst, p);
    return true;
  }
  if (!ring::hasRing(p.type) || p.type == Type::TF32 || d.has("sat") ||
      d.has("abs") || d.has("xorsign"))
    d.fail("is excluded from ring mode");
  inst.opClass = p.type == Type::F64   ? OpClass::Double
                 : p.type == Type::F32 ? OpClass::Float
                                       : OpClass::Half;
  if (base == "setp" && p.type == d.type(0)) {
    decodeCompareRing(d, inst, p);
    return true;
  }
  static constexpr std::tuple<const char *, Op, unsigned, uint64_t> ops[] = {
      {"add", Op::Add, 2, 0},
      {"sub", Op::Sub, 2, 0},
      {"mul", Op::Mul, 2, 0},
      {"fma", Op::Fma, 3, 0},
      {"mad", Op::Fma, 3, 0},
      {"div", Op::Div, 2, 0},
      {"neg", Op::Neg, 1, 0},
      {"min", Op::Min, 2, 0},
      {"max", Op::Max, 2, 0},
      {"ex2", Op::Ex2, 1, 0},
      {"rcp", Op::Opaque, 1, ring::rcpTag},
      {"sqrt", Op::Opaque, 1, ring::sqrtTag},
      {"rsqrt", Op::Opaque, 1, ring::rsqrtTag},
      {"lg2", Op::Opaque, 1, ring::lg2Tag},
      {"sin", Op::Opaque, 1, ring::sinTag},
      {"cos", Op::Opaque, 1, ring::cosTag},
      {"tanh", Op::Opaque, 1, ring::tanhTag},
      {"abs", Op::Opaque, 1, ring::absTag}};
  for (auto [name, op, arity, tag] : ops) {
    if (base != name)
      continue;
    p.op = op;
    p.arity = arity;
    p.tag = tag;
    p.relu = d.has("relu");
    p.pack = p.type == d.type(0) ? 1 : 2;
    if (d.source->types.size() != 1 || d.operandCount() != arity + 1)
      d.fail("is excluded from ring mode");
    inst.ops[0] = d.dst(d.operand(0), ptx::typeBits(d.type(0)));
    for (unsigned k = 1; k <= arity; ++k)
      inst.ops[k] = d.src(d.operand(k), d.type(0));
    inst.fn = arithmetic;
    return true;
  }
  d.fail("is excluded from ring mode");
}

} // namespace tessera::sim
