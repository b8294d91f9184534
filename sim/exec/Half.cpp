// f16 and bf16 arithmetic. Every result is the exact one rounded once: sums
// and products of f16 are exact enough in f32, products of bf16 and all fma in
// f64 (rounded to odd).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Half.h"

#include "sim/exec/SmallFloat.h"

namespace tessera::sim {

using ptx::Type;

namespace {

// flags
constexpr uint8_t kFtz = 1, kSat = 2, kNan = 4, kAbs = 8, kXorSign = 16,
                  kRelu = 32;

struct F16 {
  static constexpr const Format &format = formatF16;
  static constexpr uint16_t infinity = 0x7c00;
  static float load(uint16_t h) { return halfToFloat(h); }
  static uint16_t store(float f) { return floatToHalf(f); }
};
struct BF16 {
  static constexpr const Format &format = formatBF16;
  static constexpr uint16_t infinity = 0x7f80;
  static float load(uint16_t h) { return bfloatToFloat(h); }
  static uint16_t store(float f) { return floatToBfloat(f); }
};

template <class H> uint16_t flushHalf(uint16_t h) {
  return h & H::infinity ? h : uint16_t(h & 0x8000);
}
template <class H> bool isNan(uint16_t h) { return (h & 0x7fff) > H::infinity; }
template <class H> uint16_t finish(uint16_t r, uint8_t flags) {
  if (isNan<H>(r))
    return flags & kSat ? 0 : 0x7fff;
  if (flags & kRelu)
    r = r & 0x8000 ? 0 : r;
  if (flags & kSat)
    r = r & 0x8000 ? 0 : (r > H::store(1.0f) ? H::store(1.0f) : r);
  if (flags & kFtz)
    r = flushHalf<H>(r);
  return r;
}

#define HALF_OP(name)                                                          \
  template <class H> struct name {                                             \
    static uint16_t apply(uint16_t a, uint16_t b, uint16_t c, uint8_t flags)
HALF_OP(Add) { return H::store(H::load(a) + H::load(b)); }
};
HALF_OP(Sub) { return H::store(H::load(a) - H::load(b)); }
};
HALF_OP(Mul) {
  double p = double(H::load(a)) * double(H::load(b));
  return uint16_t(roundTo(H::format, p, Round::Nearest, false));
}
}
;
HALF_OP(Fma) {
  double p = double(H::load(a)) * double(H::load(b));
  double z = H::load(c);
  double s = std::isfinite(p) && std::isfinite(z) ? addOdd(p, z) : p + z;
  return uint16_t(roundTo(H::format, s, Round::Nearest, false));
}
}
;
HALF_OP(Abs) { return a & 0x7fff; }
}
;
HALF_OP(Neg) { return a ^ 0x8000; }
}
;
template <class H, bool Max>
uint16_t minMax(uint16_t a, uint16_t b, uint8_t flags) {
  bool sign = (a ^ b) & 0x8000;
  if (flags & kAbs)
    a &= 0x7fff, b &= 0x7fff;
  uint16_t r;
  if (isNan<H>(a) || isNan<H>(b)) {
    if ((flags & kNan) || (isNan<H>(a) && isNan<H>(b)))
      return 0x7fff;
    r = isNan<H>(a) ? b : a;
  } else {
    // Sign-magnitude to an ordered integer; -0 sorts below +0.
    auto key = [](uint16_t h) {
      return h & 0x8000 ? -int(h & 0x7fff) - 1 : int(h);
    };
    r = (key(a) < key(b)) != Max ? a : b;
  }
  if (flags & kXorSign)
    r = (r & 0x7fff) | (sign ? 0x8000 : 0);
  return r;
}
HALF_OP(Min) { return minMax<H, false>(a, b, flags); }
}
;
HALF_OP(Max) { return minMax<H, true>(a, b, flags); }
}
;
HALF_OP(Ex2) { return H::store(float(std::exp2(double(H::load(a))))); }
}
;
HALF_OP(Tanh) { return H::store(float(std::tanh(double(H::load(a))))); }
}
;
#undef HALF_OP

template <class H, template <class> class Op, unsigned Arity, unsigned Pack,
          bool KeepNan = false>
void half(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<uint16_t>(i.ops[0]);
  const auto *a = w.reg<uint16_t>(i.ops[1]);
  const auto *b = Arity > 1 ? w.reg<uint16_t>(i.ops[2]) : a;
  const auto *c = Arity > 2 ? w.reg<uint16_t>(i.ops[3]) : a;
  uint8_t flags = i.flags;
  for (uint32_t m = mask; m; m &= m - 1)
    for (unsigned k = 0; k < Pack; ++k) {
      unsigned l = std::countr_zero(m) * Pack + k;
      uint16_t x = a[l], y = b[l], z = c[l];
      if (flags & kFtz)
        x = flushHalf<H>(x), y = flushHalf<H>(y), z = flushHalf<H>(z);
      uint16_t r = Op<H>::apply(x, y, z, flags);
      d[l] = KeepNan ? r : finish<H>(r, flags);
    }
}

template <template <class> class Op, unsigned Arity, bool KeepNan = false>
ExecFn pickHalf(Type type) {
  switch (type) {
  case Type::F16:
    return half<F16, Op, Arity, 1, KeepNan>;
  case Type::BF16:
    return half<BF16, Op, Arity, 1, KeepNan>;
  case Type::F16x2:
    return half<F16, Op, Arity, 2, KeepNan>;
  case Type::BF16x2:
    return half<BF16, Op, Arity, 2, KeepNan>;
  default:
    return nullptr;
  }
}

} // namespace

void decodeHalf(Decoder &d, Inst &inst) {
  std::string_view base = d.source->base;
  Type type = d.type();
  inst.opClass = OpClass::Half;
  if (d.source->types.size() != 1)
    d.fail("needs exactly one type");
  if (d.has("rz") || d.has("rm") || d.has("rp"))
    d.fail("16-bit arithmetic only rounds to nearest");
  if (d.has("oob"))
    d.fail(".oob is not supported");
  inst.ops[0] = d.dst(d.operand(0), ptx::typeBits(type));
  for (size_t k = 1; k < d.operandCount(); ++k)
    inst.ops[k] = d.src(d.operand(k), type);
  inst.flags = (d.has("ftz") ? kFtz : 0) | (d.has("sat") ? kSat : 0) |
               (d.has("NaN") ? kNan : 0) | (d.has("abs") ? kAbs : 0) |
               (d.has("xorsign") ? kXorSign : 0) | (d.has("relu") ? kRelu : 0);
  if (base == "add")
    inst.fn = pickHalf<Add, 2>(type);
  else if (base == "sub")
    inst.fn = pickHalf<Sub, 2>(type);
  else if (base == "mul")
    inst.fn = pickHalf<Mul, 2>(type);
  else if (base == "fma")
    inst.fn = pickHalf<Fma, 3>(type);
  else if (base == "abs")
    inst.fn = pickHalf<Abs, 1, true>(type);
  else if (base == "neg")
    inst.fn = pickHalf<Neg, 1, true>(type);
  else if (base == "min" && d.operandCount() == 3)
    inst.fn = pickHalf<Min, 2>(type);
  else if (base == "max" && d.operandCount() == 3)
    inst.fn = pickHalf<Max, 2>(type);
  else if (base == "ex2")
    inst.fn = pickHalf<Ex2, 1>(type);
  else if (base == "tanh")
    inst.fn = pickHalf<Tanh, 1>(type);
}

} // namespace tessera::sim
