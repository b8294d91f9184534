// Floating-point arithmetic: f32, f64, f32x2 here; 16-bit types in Half.cpp.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Decode.h"
#include "sim/exec/FloatDirected.h"
#include "sim/exec/Half.h"
#include "sim/exec/Lanes.h"

namespace tessera::sim {

using ptx::Type;

namespace {

/// Wraps a scalar function with ftz, saturation and the canonical NaN.
template <class T, class F, bool Ftz, bool Sat, unsigned Pack, unsigned Arity>
void arith(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<T>(i.ops[0]);
  const T *a = w.reg<T>(i.ops[1]);
  const T *b = Arity > 1 ? w.reg<T>(i.ops[2]) : a;
  const T *c = Arity > 2 ? w.reg<T>(i.ops[3]) : a;
  auto one = [&](unsigned l) {
    T x = a[l], y = b[l], z = c[l];
    if (Ftz)
      x = flush(x), y = flush(y), z = flush(z);
    T r;
    if constexpr (Arity == 1)
      r = F()(x);
    else if constexpr (Arity == 2)
      r = F()(x, y);
    else
      r = F()(x, y, z);
    if (Sat)
      r = saturate01(r);
    if (Ftz)
      r = flush(r);
    d[l] = canonical(r);
  };
  if constexpr (Pack == 1) {
    forLanes(mask, one);
  } else {
    forLanes(mask, [&](unsigned l) {
      one(2 * l);
      one(2 * l + 1);
    });
  }
}

template <class F, unsigned Arity>
ExecFn pickArith(Type type, bool ftz, bool sat) {
  if (type == Type::F64)
    return sat ? nullptr : arith<double, F, false, false, 1, Arity>;
  if (type == Type::F32x2)
    return sat   ? nullptr
           : ftz ? arith<float, F, true, false, 2, Arity>
                 : arith<float, F, false, false, 2, Arity>;
  if (type != Type::F32)
    return nullptr;
  if (ftz)
    return sat ? arith<float, F, true, true, 1, Arity>
               : arith<float, F, true, false, 1, Arity>;
  return sat ? arith<float, F, false, true, 1, Arity>
             : arith<float, F, false, false, 1, Arity>;
}

#define FN(name, params, expr)                                                 \
  struct name {                                                                \
    template <class T> T operator() params const { return expr; }              \
  };
FN(Add, (T a, T b), a + b)
FN(Sub, (T a, T b), a - b)
FN(Mul, (T a, T b), a *b)
FN(Fma, (T a, T b, T c), std::fma(a, b, c))
FN(Div, (T a, T b), a / b)
FN(Rcp, (T a), T(1) / a)
FN(Sqrt, (T a), std::sqrt(a))
FN(Rsqrt, (T a), T(1.0 / std::sqrt(double(a))))
FN(Sin, (T a), T(std::sin(double(a))))
FN(Cos, (T a), T(std::cos(double(a))))
FN(Lg2, (T a), T(std::log2(double(a))))
FN(Ex2, (T a), T(std::exp2(double(a))))
FN(Tanh, (T a), T(std::tanh(double(a))))
#undef FN
struct DivApprox {
  template <class T> T operator()(T a, T b) const {
    T m = std::fabs(b);
    if (m > T(0x1p126) && m <= T(0x1.fffffep127))
      return std::isfinite(a) ? std::copysign(T(0), a * b) : T(NAN);
    return a / b;
  }
};

// abs and neg work on the sign bit and keep NaN payloads.
template <class U, U Sign, bool Negate, bool Ftz>
void signBit(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<U>(i.ops[0]);
  const U *a = w.reg<U>(i.ops[1]);
  forLanes(mask, [&](unsigned l) {
    U v = a[l];
    if (Ftz && !(v & 0x7f800000))
      v &= Sign;
    d[l] = Negate ? U(v ^ Sign) : U(v & ~Sign);
  });
}

// flags: 1 ftz, 4 NaN, 8 abs, 16 xorsign, 32 max
template <class T> T minMax(T a, T b, uint8_t flags) {
  if (flags & 1)
    a = flush(a), b = flush(b);
  bool sign = std::signbit(a) != std::signbit(b);
  if (flags & 8)
    a = std::fabs(a), b = std::fabs(b);
  T r;
  if (a != a || b != b) {
    if ((flags & 4) || (a != a && b != b)) {
      if constexpr (sizeof(T) == 4)
        return std::bit_cast<float>(0x7fffffffu);
      return a != a ? a : b;
    }
    r = a != a ? b : a;
  } else if (a == b) {
    bool negative = flags & 32 ? std::signbit(a) && std::signbit(b)
                               : std::signbit(a) || std::signbit(b);
    r = std::copysign(a, negative ? T(-1) : T(1));
  } else {
    r = (a < b) == !(flags & 32) ? a : b;
  }
  if (flags & 16)
    r = std::copysign(r, sign ? T(-1) : T(1));
  return r;
}
template <class T> void minMaxLanes(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<T>(i.ops[0]);
  const T *a = w.reg<T>(i.ops[1]), *b = w.reg<T>(i.ops[2]);
  uint8_t flags = i.flags;
  if (i.ops[3] == noRef) {
    forLanes(mask, [&](unsigned l) { d[l] = minMax(a[l], b[l], flags); });
    return;
  }
  const T *c = w.reg<T>(i.ops[3]);
  forLanes(mask, [&](unsigned l) {
    d[l] = minMax(minMax(a[l], b[l], flags), c[l], flags);
  });
}
// The common case, as vector code: no NaN propagation, no abs.
template <bool Max> void minMaxPlain(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<float>(i.ops[0]);
  const auto *a = w.reg<float>(i.ops[1]), *b = w.reg<float>(i.ops[2]);
  forLanes(mask, [&](unsigned l) {
    float x = a[l], y = b[l];
    uint32_t ux = std::bit_cast<uint32_t>(x), uy = std::bit_cast<uint32_t>(y);
    // Equal values differ at most in the sign of zero.
    uint32_t same = Max ? ux & uy : ux | uy;
    float r = Max ? (x > y ? x : y) : (x < y ? x : y);
    r = x == y ? std::bit_cast<float>(same) : r;
    r = y != y ? x : r;
    r = x != x ? y : r;
    d[l] = canonical(r);
  });
}

template <class T> struct CopySign {
  T operator()(T a, T b) const { return std::copysign(b, a); }
};

template <class T> void testp(Warp &w, const Inst &i, uint32_t mask) {
  const T *a = w.reg<T>(i.ops[1]);
  uint32_t result = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    T x = a[std::countr_zero(m)];
    bool r = false;
    switch (i.flags) {
    case 0:
      r = std::isfinite(x);
      break;
    case 1:
      r = std::isinf(x);
      break;
    case 2:
      r = x == x;
      break;
    case 3:
      r = x != x;
      break;
    case 4:
      r = std::isnormal(x);
      break;
    case 5:
      r = x != 0 && std::isfinite(x) && !std::isnormal(x);
      break;
    }
    if (r)
      result |= m & -m;
  }
  w.setPred(i.ops[0], mask, result);
}

/// The f64 approximations keep only the upper half of the result.
template <bool Root> void approx64(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<double>(i.ops[0]);
  const auto *a = w.reg<double>(i.ops[1]);
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    double x = a[l];
    if (i.flags & 1) { // ftz: subnormal operands count as zero
      uint64_t u = std::bit_cast<uint64_t>(x);
      if (!(u >> 52 & 0x7ff))
        x = std::copysign(0.0, x);
    }
    double r = Root ? 1.0 / std::sqrt(x) : 1.0 / x;
    if (i.flags & 1) {
      uint64_t u = std::bit_cast<uint64_t>(r);
      if (r == r)
        u &= 0xffffffff00000000ull;
      if (!(u >> 52 & 0x7ff))
        u &= 1ull << 63;
      r = std::bit_cast<double>(u);
    }
    d[l] = r;
  }
}

/// add/sub/fma with one f32 and one 16-bit operand (sm_100).
void mixed(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<float>(i.ops[0]);
  const auto *a = w.reg<uint16_t>(i.ops[1]);
  bool bf = i.flags & 4;
  auto load = [&](uint16_t h) {
    return bf ? bfloatToFloat(h) : halfToFloat(h);
  };
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    float r;
    if (i.aux == 2)
      r = std::fma(load(a[l]), load(w.reg<uint16_t>(i.ops[2])[l]),
                   w.reg<float>(i.ops[3])[l]);
    else {
      float c = w.reg<float>(i.ops[2])[l];
      r = i.aux == 1 ? load(a[l]) - c : load(a[l]) + c;
    }
    if (i.flags & 2)
      r = saturate01(r);
    d[l] = canonical(r);
  }
}

std::optional<Round> rounding(const Decoder &d) {
  if (d.has("rn"))
    return Round::Nearest;
  if (d.has("rz"))
    return Round::Zero;
  if (d.has("rm"))
    return Round::Down;
  if (d.has("rp"))
    return Round::Up;
  return std::nullopt;
}

} // namespace

void decodeFloat(Decoder &d, Inst &inst) {
  std::string_view base = d.source->base;
  Type type = d.type();
  unsigned bits = ptx::typeBits(type);
  if (type == Type::F16 || type == Type::BF16 || type == Type::F16x2 ||
      type == Type::BF16x2)
    return decodeHalf(d, inst);
  inst.opClass = type == Type::F64 ? OpClass::Double : OpClass::Float;
  bool ftz = d.has("ftz"), sat = d.has("sat");
  auto round = rounding(d);
  if (d.source->types.size() == 2 &&
      (base == "add" || base == "sub" || base == "fma")) {
    if (type != Type::F32 || (round && *round != Round::Nearest))
      d.fail("this mixed-precision form is not supported");
    inst.ops[0] = d.dst(d.operand(0), 32);
    inst.ops[1] = d.src(d.operand(1), Type::B16);
    if (base == "fma")
      inst.ops[2] = d.src(d.operand(2), Type::B16);
    unsigned last = base == "fma" ? 3 : 2;
    inst.ops[last] = d.src(d.operand(last), Type::F32);
    inst.aux = base == "add" ? 0 : base == "sub" ? 1 : 2;
    inst.flags = (sat ? 2 : 0) | (d.type(1) == Type::BF16 ? 4 : 0);
    inst.fn = mixed;
    return;
  }
  if (d.source->types.size() != 1)
    d.fail("needs exactly one type");
  if (base == "testp") {
    inst.ops[0] = d.predDst(d.operand(0));
    inst.ops[1] = d.src(d.operand(1), type);
    const char *names[] = {"finite",     "infinite", "number",
                           "notanumber", "normal",   "subnormal"};
    for (unsigned k = 0; k < 6; ++k)
      if (d.has(names[k]))
        inst.flags = k;
    inst.fn = bits == 64 ? testp<double> : testp<float>;
    return;
  }
  inst.ops[0] = d.dst(d.operand(0), bits);
  for (size_t k = 1; k < d.operandCount(); ++k)
    inst.ops[k] = d.src(d.operand(k), type);
  bool directed = round && *round != Round::Nearest;
  bool isDouble = type == Type::F64, packed = type == Type::F32x2;
  auto exact = [&](FloatOp op, ExecFn nearest) {
    if (!directed) {
      inst.fn = nearest;
      return;
    }
    inst.round = uint8_t(*round);
    inst.flags = (ftz ? 1 : 0) | (sat ? 2 : 0);
    inst.fn = directedFloat(op, isDouble, packed);
  };
  if (base == "add") {
    exact(FloatOp::Add, pickArith<Add, 2>(type, ftz, sat));
  } else if (base == "sub") {
    exact(FloatOp::Sub, pickArith<Sub, 2>(type, ftz, sat));
  } else if (base == "mul") {
    exact(FloatOp::Mul, pickArith<Mul, 2>(type, ftz, sat));
  } else if (base == "fma" || base == "mad") {
    exact(FloatOp::Fma, pickArith<Fma, 3>(type, ftz, sat));
  } else if (base == "div") {
    if (d.has("approx"))
      inst.fn = pickArith<DivApprox, 2>(type, ftz, sat);
    else
      exact(FloatOp::Div, pickArith<Div, 2>(type, ftz, sat));
  } else if (base == "rcp") {
    if (isDouble && d.has("approx")) {
      inst.flags = ftz;
      inst.fn = approx64<false>;
    } else {
      exact(FloatOp::Rcp, pickArith<Rcp, 1>(type, ftz, sat));
    }
  } else if (base == "sqrt") {
    exact(FloatOp::Sqrt, pickArith<Sqrt, 1>(type, ftz, sat));
  } else if (base == "rsqrt") {
    if (isDouble) {
      inst.flags = ftz;
      inst.fn = approx64<true>;
    } else {
      inst.fn = pickArith<Rsqrt, 1>(type, ftz, false);
    }
  } else if (base == "sin") {
    inst.fn = pickArith<Sin, 1>(type, ftz, false);
  } else if (base == "cos") {
    inst.fn = pickArith<Cos, 1>(type, ftz, false);
  } else if (base == "lg2") {
    inst.fn = pickArith<Lg2, 1>(type, ftz, false);
  } else if (base == "ex2") {
    inst.fn = pickArith<Ex2, 1>(type, ftz, false);
  } else if (base == "tanh") {
    inst.fn = pickArith<Tanh, 1>(type, ftz, false);
  } else if (base == "copysign") {
    inst.fn = isDouble ? lanes2<double, double, double, CopySign<double>>
                       : lanes2<float, float, float, CopySign<float>>;
  } else if (base == "abs" || base == "neg") {
    bool neg = base == "neg";
    constexpr uint64_t s64 = 1ull << 63;
    constexpr uint32_t s32 = 1u << 31;
    if (isDouble)
      inst.fn = neg ? signBit<uint64_t, s64, true, false>
                    : signBit<uint64_t, s64, false, false>;
    else if (ftz)
      inst.fn = neg ? signBit<uint32_t, s32, true, true>
                    : signBit<uint32_t, s32, false, true>;
    else
      inst.fn = neg ? signBit<uint32_t, s32, true, false>
                    : signBit<uint32_t, s32, false, false>;
  } else if (base == "min" || base == "max") {
    bool max = base == "max";
    inst.flags = (ftz ? 1 : 0) | (d.has("NaN") ? 4 : 0) |
                 (d.has("abs") ? 8 : 0) | (d.has("xorsign") ? 16 : 0) |
                 (max ? 32 : 0);
    if (isDouble)
      inst.fn = minMaxLanes<double>;
    else if (!(inst.flags & ~32) && inst.ops[3] == noRef)
      inst.fn = max ? minMaxPlain<true> : minMaxPlain<false>;
    else
      inst.fn = minMaxLanes<float>;
  }
}

} // namespace tessera::sim
