// Logic, shifts, bit fields and byte permutation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Decode.h"
#include "sim/exec/Lanes.h"

namespace tessera::sim {

using ptx::Type;

namespace {

#define OP2(name, expr)                                                        \
  template <class T> struct name {                                             \
    T operator()(T a, T b) const { return T(expr); }                           \
  };
OP2(And, a &b)
OP2(Or, a | b)
OP2(Xor, a ^ b)
#undef OP2
template <class T> struct Not {
  T operator()(T a) const { return T(~a); }
};
template <class T> struct CNot {
  T operator()(T a) const { return a == 0; }
};
/// Shift amounts are clamped to the width.
template <class T> struct Shl {
  T operator()(T a, uint32_t n) const {
    return n >= sizeof(T) * 8 ? T(0) : T(uint64_t(a) << n);
  }
};
template <class T> struct Shr {
  T operator()(T a, uint32_t n) const {
    constexpr uint32_t width = sizeof(T) * 8;
    if (std::is_signed_v<T>)
      return T(a >> (n >= width ? width - 1 : n));
    return n >= width ? T(0) : T(a >> n);
  }
};
template <bool Left, bool Wrap> struct Funnel {
  uint32_t operator()(uint32_t low, uint32_t high, uint32_t c) const {
    unsigned n = Wrap ? c & 31 : (c > 32 ? 32 : c);
    uint64_t both = uint64_t(high) << 32 | low;
    if (Left)
      return n == 32 ? low : uint32_t(both << n >> 32);
    return n == 32 ? high : uint32_t(both >> n);
  }
};
template <class T> struct Bfe {
  T operator()(T a, uint32_t b, uint32_t c) const {
    constexpr unsigned msb = sizeof(T) * 8 - 1;
    unsigned pos = b & 0xff, len = c & 0xff;
    bool sign = false;
    if (std::is_signed_v<T> && len)
      sign = a >> (pos + len - 1 < msb ? pos + len - 1 : msb) & 1;
    using U = std::make_unsigned_t<T>;
    U value = pos > msb ? 0 : U(a) >> pos;
    // Bits beyond the field, or beyond the operand, are the sign.
    unsigned have = pos > msb ? 0 : msb + 1 - pos;
    unsigned keep = len < have ? len : have;
    if (keep < sizeof(T) * 8) {
      U mask = (U(1) << keep) - 1;
      value = sign ? value | ~mask : value & mask;
    }
    return T(value);
  }
};
template <class T> struct BfiOp {
  T operator()(T a, T b, uint32_t c, uint32_t d) const {
    constexpr unsigned width = sizeof(T) * 8;
    unsigned pos = c & 0xff, len = d & 0xff;
    if (pos >= width || len == 0)
      return b;
    T mask = len >= width ? ~T(0) : (T(1) << len) - 1;
    mask <<= pos;
    return (b & ~mask) | ((a << pos) & mask);
  }
};
template <class T> void bfi(Warp &w, const Inst &i, uint32_t m) {
  auto *d = w.reg<T>(i.ops[0]);
  const auto *a = w.reg<T>(i.ops[1]), *b = w.reg<T>(i.ops[2]);
  const auto *c = w.reg<uint32_t>(i.ops[3]), *n = w.reg<uint32_t>(i.ops[4]);
  forLanes(m, [&](unsigned l) { d[l] = BfiOp<T>()(a[l], b[l], c[l], n[l]); });
}
template <class T, bool ShiftAmount> struct Bfind {
  uint32_t operator()(T a) const {
    using U = std::make_unsigned_t<T>;
    U v = std::is_signed_v<T> && a < 0 ? U(~a) : U(a);
    if (!v)
      return ~0u;
    unsigned at = sizeof(T) * 8 - 1 - std::countl_zero(v);
    return ShiftAmount ? sizeof(T) * 8 - 1 - at : at;
  }
};
template <bool Clamp> struct Bmsk {
  uint32_t operator()(uint32_t a, uint32_t b) const {
    unsigned pos = Clamp ? (a > 32 ? 32 : a) : a & 31;
    unsigned n = Clamp ? (b > 32 ? 32 : b) : b & 31;
    uint64_t mask = (1ull << n) - 1;
    return pos >= 32 ? 0 : uint32_t(mask << pos);
  }
};
template <class T, bool Clamp> struct Szext {
  T operator()(T a, uint32_t b) const {
    unsigned n = Clamp ? (b > 32 ? 32 : b) : b & 31;
    if (n == 32)
      return a;
    if (n == 0)
      return 0;
    return T(T(uint32_t(a) << (32 - n)) >> (32 - n));
  }
};
template <class T> struct Brev {
  T operator()(T a) const {
    T r = 0;
    for (unsigned k = 0; k < sizeof(T) * 8; ++k)
      r |= (a >> k & 1) << (sizeof(T) * 8 - 1 - k);
    return r;
  }
};
template <class T> struct Popc {
  uint32_t operator()(T a) const { return std::popcount(a); }
};
template <class T> struct Clz {
  uint32_t operator()(T a) const { return std::countl_zero(a); }
};
struct Fns {
  uint32_t operator()(uint32_t mask, uint32_t base, int32_t offset) const {
    if (offset == 0)
      return base < 32 && (mask >> base & 1) ? base : ~0u;
    int step = offset > 0 ? 1 : -1;
    int left = offset > 0 ? offset : -offset;
    for (int64_t at = base; at >= 0 && at < 32; at += step)
      if ((mask >> at & 1) && --left == 0)
        return uint32_t(at);
    return ~0u;
  }
};

void lop3(Warp &w, const Inst &i, uint32_t m) {
  auto *d = w.reg<uint32_t>(i.ops[0]);
  const auto *a = w.reg<uint32_t>(i.ops[1]);
  const auto *b = w.reg<uint32_t>(i.ops[2]);
  const auto *c = w.reg<uint32_t>(i.ops[3]);
  unsigned table = i.imm & 0xff;
  uint32_t t[8];
  for (int k = 0; k < 8; ++k)
    t[k] = table >> k & 1 ? ~0u : 0;
  uint32_t nonzero = 0;
  uint32_t out[32];
  forLanes(m, [&](unsigned l) {
    uint32_t x = a[l], y = b[l], z = c[l];
    out[l] = (~x & ~y & ~z & t[0]) | (~x & ~y & z & t[1]) |
             (~x & y & ~z & t[2]) | (~x & y & z & t[3]) | (x & ~y & ~z & t[4]) |
             (x & ~y & z & t[5]) | (x & y & ~z & t[6]) | (x & y & z & t[7]);
  });
  forLanes(m, [&](unsigned l) { d[l] = out[l]; });
  if (i.ops[4] == noRef)
    return;
  for (uint32_t k = m; k; k &= k - 1)
    if (out[std::countr_zero(k)])
      nonzero |= k & -k;
  uint32_t q = w.pred(i.ops[5]);
  w.setPred(i.ops[4], m, i.flags ? nonzero | q : nonzero & q);
}

template <class F> void predicates(Warp &w, const Inst &i, uint32_t m) {
  w.setPred(i.ops[0], m, F()(w.pred(i.ops[1]), w.pred(i.ops[2])));
}
void predicateNot(Warp &w, const Inst &i, uint32_t m) {
  w.setPred(i.ops[0], m, ~w.pred(i.ops[1]));
}

struct PermuteIndex {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    uint64_t both = uint64_t(b) << 32 | a;
    uint32_t r = 0;
    for (int k = 0; k < 4; ++k) {
      unsigned s = c >> 4 * k & 15;
      uint32_t byte = both >> 8 * (s & 7) & 0xff;
      if (s & 8)
        byte = byte & 0x80 ? 0xff : 0;
      r |= byte << 8 * k;
    }
    return r;
  }
};
void permuteMode(Warp &w, const Inst &i, uint32_t m) {
  // Rows: f4e b4e rc8 ecl ecr rc16; the selector is c & 3.
  static constexpr uint16_t table[6][4] = {
      {0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123},
      {0x0000, 0x1111, 0x2222, 0x3333}, {0x3210, 0x3211, 0x3222, 0x3333},
      {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232}};
  auto *d = w.reg<uint32_t>(i.ops[0]);
  const auto *a = w.reg<uint32_t>(i.ops[1]);
  const auto *b = w.reg<uint32_t>(i.ops[2]);
  const auto *c = w.reg<uint32_t>(i.ops[3]);
  forLanes(m, [&](unsigned l) {
    d[l] = PermuteIndex()(a[l], b[l], table[i.flags][c[l] & 3]);
  });
}

template <template <class> class F> ExecFn logic(Type type) {
  switch (ptx::typeBits(type)) {
  case 1:
    return predicates<F<uint32_t>>;
  case 16:
    return lanes2<uint16_t, uint16_t, uint16_t, F<uint16_t>>;
  case 32:
    return lanes2<uint32_t, uint32_t, uint32_t, F<uint32_t>>;
  default:
    return lanes2<uint64_t, uint64_t, uint64_t, F<uint64_t>>;
  }
}

} // namespace

void decodeBits(Decoder &d, Inst &inst) {
  std::string_view base = d.source->base;
  Type type = d.type();
  unsigned bits = ptx::typeBits(type);
  inst.opClass = OpClass::Integer;
  using u16 = uint16_t;
  using u = uint32_t;
  using u64 = uint64_t;
  auto simple = [&](std::initializer_list<Type> sources, unsigned dstBits) {
    inst.ops[0] = d.dst(d.operand(0), dstBits);
    unsigned k = 1;
    for (Type t : sources) {
      inst.ops[k] = d.src(d.operand(k), t);
      ++k;
    }
  };
  if (d.source->types.size() != 1)
    d.fail("needs exactly one type");
  if (base == "and" || base == "or" || base == "xor" || base == "not") {
    if (type == Type::Pred) {
      inst.ops[0] = d.predDst(d.operand(0));
      for (size_t k = 1; k < d.operandCount(); ++k)
        inst.ops[k] = d.pred(d.operand(k));
    } else {
      inst.ops[0] = d.dst(d.operand(0), bits);
      for (size_t k = 1; k < d.operandCount(); ++k)
        inst.ops[k] = d.src(d.operand(k), type);
    }
    if (base == "not")
      inst.fn = bits == 1    ? predicateNot
                : bits == 16 ? lanes1<u16, u16, Not<u16>>
                : bits == 32 ? lanes1<u, u, Not<u>>
                             : lanes1<u64, u64, Not<u64>>;
    else
      inst.fn = base == "and"  ? logic<And>(type)
                : base == "or" ? logic<Or>(type)
                               : logic<Xor>(type);
  } else if (base == "cnot") {
    simple({type}, bits);
    inst.fn = bits == 16   ? lanes1<u16, u16, CNot<u16>>
              : bits == 32 ? lanes1<u, u, CNot<u>>
                           : lanes1<u64, u64, CNot<u64>>;
  } else if (base == "lop3") {
    const auto &first = d.operand(0);
    bool withPredicate = first.kind == ptx::Operand::Pair;
    inst.ops[0] = d.dst(withPredicate ? first.elements[0] : first, 32);
    for (int k = 1; k < 4; ++k)
      inst.ops[k] = d.src(d.operand(k), Type::B32);
    inst.imm = d.immediate(d.operand(4));
    if (withPredicate) {
      if (d.operandCount() != 6)
        d.fail("needs a predicate operand");
      inst.ops[4] = d.predDst(first.elements[1]);
      inst.ops[5] = d.pred(d.operand(5));
      inst.flags = d.has("or");
    }
    inst.fn = lop3;
  } else if (base == "shl" || base == "shr") {
    simple({type, Type::U32}, bits);
    if (base == "shl")
      inst.fn = bits == 16   ? lanes2<u16, u16, u, Shl<u16>>
                : bits == 32 ? lanes2<u, u, u, Shl<u>>
                             : lanes2<u64, u64, u, Shl<u64>>;
    else if (ptx::isSigned(type))
      inst.fn = bits == 16   ? lanes2<int16_t, int16_t, u, Shr<int16_t>>
                : bits == 32 ? lanes2<int32_t, int32_t, u, Shr<int32_t>>
                             : lanes2<int64_t, int64_t, u, Shr<int64_t>>;
    else
      inst.fn = bits == 16   ? lanes2<u16, u16, u, Shr<u16>>
                : bits == 32 ? lanes2<u, u, u, Shr<u>>
                             : lanes2<u64, u64, u, Shr<u64>>;
  } else if (base == "shf") {
    simple({type, type, Type::U32}, 32);
    bool left = d.has("l"), wrap = d.has("wrap");
    inst.fn = left ? (wrap ? lanes3<u, u, u, u, Funnel<true, true>>
                           : lanes3<u, u, u, u, Funnel<true, false>>)
                   : (wrap ? lanes3<u, u, u, u, Funnel<false, true>>
                           : lanes3<u, u, u, u, Funnel<false, false>>);
  } else if (base == "bfe") {
    simple({type, Type::U32, Type::U32}, bits);
    inst.fn = type == Type::U32   ? lanes3<u, u, u, u, Bfe<u>>
              : type == Type::S32 ? lanes3<int32_t, int32_t, u, u, Bfe<int32_t>>
              : type == Type::U64
                  ? lanes3<u64, u64, u, u, Bfe<u64>>
                  : lanes3<int64_t, int64_t, u, u, Bfe<int64_t>>;
  } else if (base == "bfi") {
    simple({type, type, Type::U32, Type::U32}, bits);
    inst.fn = bits == 32 ? bfi<u> : bfi<u64>;
  } else if (base == "bfind") {
    simple({type}, 32);
    bool s = d.has("shiftamt");
    inst.fn =
        type == Type::U32
            ? (s ? lanes1<u, u, Bfind<u, true>> : lanes1<u, u, Bfind<u, false>>)
        : type == Type::S32 ? (s ? lanes1<u, int32_t, Bfind<int32_t, true>>
                                 : lanes1<u, int32_t, Bfind<int32_t, false>>)
        : type == Type::U64 ? (s ? lanes1<u, u64, Bfind<u64, true>>
                                 : lanes1<u, u64, Bfind<u64, false>>)
                            : (s ? lanes1<u, int64_t, Bfind<int64_t, true>>
                                 : lanes1<u, int64_t, Bfind<int64_t, false>>);
  } else if (base == "bmsk") {
    simple({Type::U32, Type::U32}, 32);
    inst.fn = d.has("clamp") ? lanes2<u, u, u, Bmsk<true>>
                             : lanes2<u, u, u, Bmsk<false>>;
  } else if (base == "szext") {
    simple({type, Type::U32}, 32);
    bool c = d.has("clamp");
    inst.fn = ptx::isSigned(type)
                  ? (c ? lanes2<int32_t, int32_t, u, Szext<int32_t, true>>
                       : lanes2<int32_t, int32_t, u, Szext<int32_t, false>>)
                  : (c ? lanes2<u, u, u, Szext<u, true>>
                       : lanes2<u, u, u, Szext<u, false>>);
  } else if (base == "brev") {
    simple({type}, bits);
    inst.fn = bits == 32 ? lanes1<u, u, Brev<u>> : lanes1<u64, u64, Brev<u64>>;
  } else if (base == "popc") {
    simple({type}, 32);
    inst.fn = bits == 32 ? lanes1<u, u, Popc<u>> : lanes1<u, u64, Popc<u64>>;
  } else if (base == "clz") {
    simple({type}, 32);
    inst.fn = bits == 32 ? lanes1<u, u, Clz<u>> : lanes1<u, u64, Clz<u64>>;
  } else if (base == "fns") {
    simple({Type::B32, Type::B32, Type::S32}, 32);
    inst.fn = lanes3<u, u, u, int32_t, Fns>;
  } else if (base == "prmt") {
    simple({Type::B32, Type::B32, Type::B32}, 32);
    inst.fn = lanes3<u, u, u, u, PermuteIndex>;
    const char *modes[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
    for (unsigned k = 0; k < 6; ++k)
      if (d.has(modes[k])) {
        inst.flags = k;
        inst.fn = permuteMode;
      }
  }
}

} // namespace tessera::sim
