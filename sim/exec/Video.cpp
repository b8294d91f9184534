// SIMD video instructions: lanes of 8 or 16 bits inside a register.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Decode.h"

namespace tessera::sim {

using ptx::Type;

namespace {

enum Op : uint8_t { Add, Sub, Average, AbsDiff, Min, Max, Set };
enum Cmp : uint8_t { Eq, Ne, Lt, Le, Gt, Ge };

struct Plan {
  Op op;
  Cmp cmp = Eq;
  unsigned bits;
  bool dSigned, aSigned, bSigned, saturate, accumulate;
};

void video(Warp &w, const Inst &i, uint32_t mask) {
  const auto &p = *static_cast<const Plan *>(i.extra.get());
  auto *d = w.reg<uint32_t>(i.ops[0]);
  const auto *a = w.reg<uint32_t>(i.ops[1]), *b = w.reg<uint32_t>(i.ops[2]);
  uint32_t ones = (1u << p.bits) - 1;
  auto part = [&](uint32_t v, unsigned k, bool isSigned) {
    uint32_t x = v >> p.bits * k & ones;
    return isSigned ? int32_t(x << (32 - p.bits)) >> (32 - p.bits) : int32_t(x);
  };
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    uint32_t out = 0, sum = 0;
    for (unsigned k = 0; k < 32 / p.bits; ++k) {
      int32_t x = part(a[l], k, p.aSigned), y = part(b[l], k, p.bSigned);
      int32_t r = 0;
      switch (p.op) {
      case Add:
        r = x + y;
        break;
      case Sub:
        r = x - y;
        break;
      case Average:
        r = x + y;
        r = (r >= 0 ? r + 1 : r) >> 1;
        break;
      case AbsDiff:
        r = x > y ? x - y : y - x;
        break;
      case Min:
        r = x < y ? x : y;
        break;
      case Max:
        r = x > y ? x : y;
        break;
      case Set:
        r = p.cmp == Eq   ? x == y
            : p.cmp == Ne ? x != y
            : p.cmp == Lt ? x < y
            : p.cmp == Le ? x <= y
            : p.cmp == Gt ? x > y
                          : x >= y;
        break;
      }
      if (p.saturate) {
        int32_t low = p.dSigned ? -(1 << (p.bits - 1)) : 0;
        int32_t high = p.dSigned ? (1 << (p.bits - 1)) - 1 : int32_t(ones);
        r = r < low ? low : r > high ? high : r;
      }
      out |= (uint32_t(r) & ones) << p.bits * k;
      sum += uint32_t(r);
    }
    if (p.accumulate)
      out = sum + w.reg<uint32_t>(i.ops[3])[l];
    d[l] = out;
  }
}

} // namespace

void decodeVideo(Decoder &d, Inst &inst) {
  std::string_view base = d.source->base;
  inst.opClass = OpClass::Integer;
  auto plan = std::make_shared<Plan>();
  plan->bits = base.back() == '2' ? 16 : 8;
  std::string_view name = base.substr(1, base.size() - 2);
  plan->op = name == "add"       ? Add
             : name == "sub"     ? Sub
             : name == "avrg"    ? Average
             : name == "absdiff" ? AbsDiff
             : name == "min"     ? Min
             : name == "max"     ? Max
                                 : Set;
  bool isSet = plan->op == Set;
  size_t wanted = isSet ? 2 : 3;
  if (d.source->types.size() != wanted)
    d.fail("needs " + std::to_string(wanted) + " types");
  plan->dSigned = !isSet && ptx::isSigned(d.type(0));
  plan->aSigned = ptx::isSigned(d.type(isSet ? 0 : 1));
  plan->bSigned = ptx::isSigned(d.type(isSet ? 1 : 2));
  plan->saturate = d.has("sat");
  plan->accumulate = d.has("add");
  if (isSet)
    plan->cmp = d.has("eq")   ? Eq
                : d.has("ne") ? Ne
                : d.has("lt") ? Lt
                : d.has("le") ? Le
                : d.has("gt") ? Gt
                              : Ge;
  inst.ops[0] = d.dst(d.operand(0), 32);
  inst.ops[1] = d.src(d.operand(1), Type::B32);
  inst.ops[2] = d.src(d.operand(2), Type::B32);
  if (d.operandCount() > 3)
    inst.ops[3] = d.src(d.operand(3), Type::B32);
  else if (plan->accumulate)
    d.fail(".add needs a third source");
  inst.extra = plan;
  inst.fn = video;
}

} // namespace tessera::sim
