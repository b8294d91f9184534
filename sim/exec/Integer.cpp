// Integer arithmetic.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Decode.h"
#include "sim/exec/Lanes.h"
#include <limits>
#include <type_traits>

namespace tessera::sim {

using ptx::Type;

namespace {

template <class T> using Unsigned = std::make_unsigned_t<T>;
template <class T> struct Wider;
template <> struct Wider<int16_t> {
  using type = int32_t;
};
template <> struct Wider<uint16_t> {
  using type = uint32_t;
};
template <> struct Wider<int32_t> {
  using type = int64_t;
};
template <> struct Wider<uint32_t> {
  using type = uint64_t;
};
template <> struct Wider<int64_t> {
  using type = __int128;
};
template <> struct Wider<uint64_t> {
  using type = unsigned __int128;
};
template <class T> using Wide = typename Wider<T>::type;

template <class T> T wrapMul(T a, T b) {
  // Through 64-bit unsigned: 16-bit operands would promote to signed int.
  return T(uint64_t(a) * uint64_t(b));
}
template <class T> T saturate(Wide<T> v) {
  Wide<T> low = std::numeric_limits<T>::min();
  Wide<T> high = std::numeric_limits<T>::max();
  return T(v < low ? low : v > high ? high : v);
}

#define OP2(name, expr)                                                        \
  template <class T> struct name {                                             \
    T operator()(T a, T b) const { return T(expr); }                           \
  };
OP2(Add, uint64_t(a) + uint64_t(b))
OP2(Sub, uint64_t(a) - uint64_t(b))
OP2(AddSat, saturate<T>(Wide<T>(a) + Wide<T>(b)))
OP2(SubSat, saturate<T>(Wide<T>(a) - Wide<T>(b)))
OP2(MulLo, wrapMul(a, b))
OP2(MulHi, (Wide<T>(a) * Wide<T>(b)) >> (sizeof(T) * 8))
OP2(Min, a < b ? a : b)
OP2(Max, a > b ? a : b)
OP2(MinRelu, (a < b ? a : b) > 0 ? (a < b ? a : b) : 0)
OP2(MaxRelu, (a > b ? a : b) > 0 ? (a > b ? a : b) : 0)
#undef OP2

// Division by zero is unspecified; the hardware yields all ones, and the
// dividend as remainder.
template <class T> struct Div {
  T operator()(T a, T b) const {
    if (b == 0)
      return T(-1);
    if (std::is_signed_v<T> && b == T(-1))
      return T(0 - Unsigned<T>(a));
    return a / b;
  }
};
template <class T> struct Rem {
  T operator()(T a, T b) const {
    if (b == 0)
      return a;
    if (std::is_signed_v<T> && b == T(-1))
      return 0;
    return a % b;
  }
};
template <class T> struct Abs {
  T operator()(T a) const { return a < 0 ? T(0 - Unsigned<T>(a)) : a; }
};
template <class T> struct Neg {
  T operator()(T a) const { return T(0 - Unsigned<T>(a)); }
};
template <class T> struct MulWide {
  Wide<T> operator()(T a, T b) const { return Wide<T>(a) * Wide<T>(b); }
};
template <class T> struct MadLo {
  T operator()(T a, T b, T c) const {
    return T(uint64_t(wrapMul(a, b)) + uint64_t(c));
  }
};
template <class T> struct MadHi {
  T operator()(T a, T b, T c) const {
    return T(uint64_t(MulHi<T>()(a, b)) + uint64_t(c));
  }
};
template <class T> struct MadHiSat {
  T operator()(T a, T b, T c) const { return AddSat<T>()(MulHi<T>()(a, b), c); }
};
template <class T> struct MadWide {
  Wide<T> operator()(T a, T b, Wide<T> c) const {
    using U = std::make_unsigned_t<Wide<T>>;
    return Wide<T>(U(Wide<T>(a) * Wide<T>(b)) + U(c));
  }
};
template <class T> struct Sad {
  T operator()(T a, T b, T c) const {
    Unsigned<T> diff = a < b ? Unsigned<T>(b) - Unsigned<T>(a)
                             : Unsigned<T>(a) - Unsigned<T>(b);
    return T(Unsigned<T>(c) + diff);
  }
};

template <template <class> class F>
ExecFn pick2(Type type, bool only32 = false) {
  switch (type) {
  case Type::S16:
    return only32 ? nullptr : lanes2<int16_t, int16_t, int16_t, F<int16_t>>;
  case Type::U16:
    return only32 ? nullptr : lanes2<uint16_t, uint16_t, uint16_t, F<uint16_t>>;
  case Type::S32:
    return lanes2<int32_t, int32_t, int32_t, F<int32_t>>;
  case Type::U32:
    return lanes2<uint32_t, uint32_t, uint32_t, F<uint32_t>>;
  case Type::S64:
    return only32 ? nullptr : lanes2<int64_t, int64_t, int64_t, F<int64_t>>;
  case Type::U64:
    return only32 ? nullptr : lanes2<uint64_t, uint64_t, uint64_t, F<uint64_t>>;
  default:
    return nullptr;
  }
}
template <template <class> class F> ExecFn pick3(Type type) {
  switch (type) {
  case Type::S16:
    return lanes3<int16_t, int16_t, int16_t, int16_t, F<int16_t>>;
  case Type::U16:
    return lanes3<uint16_t, uint16_t, uint16_t, uint16_t, F<uint16_t>>;
  case Type::S32:
    return lanes3<int32_t, int32_t, int32_t, int32_t, F<int32_t>>;
  case Type::U32:
    return lanes3<uint32_t, uint32_t, uint32_t, uint32_t, F<uint32_t>>;
  case Type::S64:
    return lanes3<int64_t, int64_t, int64_t, int64_t, F<int64_t>>;
  case Type::U64:
    return lanes3<uint64_t, uint64_t, uint64_t, uint64_t, F<uint64_t>>;
  default:
    return nullptr;
  }
}

/// Two 16-bit lanes in one register.
template <class T, template <class> class F> struct Packed {
  uint32_t operator()(uint32_t a, uint32_t b) const {
    F<T> f;
    return uint16_t(f(T(a), T(b))) |
           uint32_t(uint16_t(f(T(a >> 16), T(b >> 16)))) << 16;
  }
};
template <template <class> class F> ExecFn pickPacked(Type type) {
  using u32 = uint32_t;
  return type == Type::S16x2 ? lanes2<u32, u32, u32, Packed<int16_t, F>>
                             : lanes2<u32, u32, u32, Packed<uint16_t, F>>;
}

// Carry chains: CC.CF is one bit per lane of the warp.
template <class T, bool Subtract, bool CarryIn, bool CarryOut>
void addCarry(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<T>(i.ops[0]);
  const auto *a = w.reg<T>(i.ops[1]);
  const auto *b = w.reg<T>(i.ops[2]);
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    unsigned __int128 wide;
    bool in = CarryIn && (w.carry >> l & 1);
    bool out;
    if (Subtract) {
      // CC.CF holds the borrow.
      wide = (unsigned __int128)(a[l]) - b[l] - in;
      out = wide >> (sizeof(T) * 8) != 0;
    } else {
      wide = (unsigned __int128)(a[l]) + b[l] + in;
      out = wide >> (sizeof(T) * 8) != 0;
    }
    d[l] = T(wide);
    if (CarryOut)
      w.carry = (w.carry & ~(1u << l)) | uint32_t(out) << l;
  }
}
template <class T, bool High, bool IsSigned, bool CarryIn, bool CarryOut>
void madCarry(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<T>(i.ops[0]);
  const auto *a = w.reg<T>(i.ops[1]);
  const auto *b = w.reg<T>(i.ops[2]);
  const auto *c = w.reg<T>(i.ops[3]);
  using S = std::make_signed_t<T>;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    unsigned __int128 product =
        IsSigned ? (unsigned __int128)((__int128)S(a[l]) * S(b[l]))
                 : (unsigned __int128)(a[l]) * b[l];
    T part = High ? T(product >> (sizeof(T) * 8)) : T(product);
    unsigned __int128 sum =
        (unsigned __int128)part + c[l] + (CarryIn && (w.carry >> l & 1));
    d[l] = T(sum);
    if (CarryOut)
      w.carry = (w.carry & ~(1u << l)) | uint32_t(sum >> (sizeof(T) * 8) != 0)
                                             << l;
  }
}

template <bool High, bool CarryIn> ExecFn pickMadCarry(Type type, bool out) {
  switch (type) {
  case Type::U32:
    return out ? madCarry<uint32_t, High, false, CarryIn, true>
               : madCarry<uint32_t, High, false, CarryIn, false>;
  case Type::S32:
    return out ? madCarry<uint32_t, High, true, CarryIn, true>
               : madCarry<uint32_t, High, true, CarryIn, false>;
  case Type::U64:
    return out ? madCarry<uint64_t, High, false, CarryIn, true>
               : madCarry<uint64_t, High, false, CarryIn, false>;
  case Type::S64:
    return out ? madCarry<uint64_t, High, true, CarryIn, true>
               : madCarry<uint64_t, High, true, CarryIn, false>;
  default:
    return nullptr;
  }
}
template <bool Subtract> ExecFn pickCarry(Type type, bool in, bool out) {
  bool wide = ptx::typeBits(type) == 64;
  if (wide)
    return in ? (out ? addCarry<uint64_t, Subtract, true, true>
                     : addCarry<uint64_t, Subtract, true, false>)
              : addCarry<uint64_t, Subtract, false, true>;
  return in ? (out ? addCarry<uint32_t, Subtract, true, true>
                   : addCarry<uint32_t, Subtract, true, false>)
            : addCarry<uint32_t, Subtract, false, true>;
}

template <bool High, bool IsSigned> struct Mul24 {
  uint32_t operator()(uint32_t a, uint32_t b) const {
    int64_t x = IsSigned ? int32_t(a << 8) >> 8 : int64_t(a & 0xffffff);
    int64_t y = IsSigned ? int32_t(b << 8) >> 8 : int64_t(b & 0xffffff);
    int64_t p = x * y;
    return High ? uint32_t(p >> 16) : uint32_t(p);
  }
};
template <bool High, bool IsSigned> struct Mad24 {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    return Mul24<High, IsSigned>()(a, b) + c;
  }
};

template <bool ASigned, bool BSigned> struct Dot4 {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    uint32_t sum = c;
    for (int k = 0; k < 4; ++k) {
      int32_t x = ASigned ? int8_t(a >> 8 * k) : uint8_t(a >> 8 * k);
      int32_t y = BSigned ? int8_t(b >> 8 * k) : uint8_t(b >> 8 * k);
      sum += uint32_t(x * y);
    }
    return sum;
  }
};
template <bool ASigned, bool BSigned, bool High> struct Dot2 {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    uint32_t sum = c;
    for (int k = 0; k < 2; ++k) {
      int32_t x = ASigned ? int16_t(a >> 16 * k) : uint16_t(a >> 16 * k);
      unsigned shift = 8 * k + (High ? 16 : 0);
      int32_t y = BSigned ? int8_t(b >> shift) : uint8_t(b >> shift);
      sum += uint32_t(x) * uint32_t(y);
    }
    return sum;
  }
};

template <template <bool, bool> class F>
ExecFn pickDot(bool aSigned, bool bSigned) {
  using u = uint32_t;
  if (aSigned)
    return bSigned ? lanes3<u, u, u, u, F<true, true>>
                   : lanes3<u, u, u, u, F<true, false>>;
  return bSigned ? lanes3<u, u, u, u, F<false, true>>
                 : lanes3<u, u, u, u, F<false, false>>;
}
template <bool A, bool B> using Dot2Low = Dot2<A, B, false>;
template <bool A, bool B> using Dot2High = Dot2<A, B, true>;

template <class T> ExecFn wideMul() {
  return lanes2<Wide<T>, T, T, MulWide<T>>;
}
template <class T> ExecFn wideMad() {
  return lanes3<Wide<T>, T, T, Wide<T>, MadWide<T>>;
}

} // namespace

void decodeInteger(Decoder &d, Inst &inst) {
  std::string_view base = d.source->base;
  Type type = d.type();
  if (ptx::isFloat(type))
    return decodeFloat(d, inst);
  inst.opClass = OpClass::Integer;
  unsigned bits = ptx::typeBits(type);
  bool sat = d.has("sat"), hi = d.has("hi"), wide = d.has("wide");
  bool isSigned = ptx::isSigned(type);
  using u = uint32_t;
  if (base == "dp4a" || base == "dp2a") {
    if (d.source->types.size() != 2)
      d.fail("needs two types");
    inst.ops[0] = d.dst(d.operand(0), 32);
    for (int k = 1; k < 4; ++k)
      inst.ops[k] = d.src(d.operand(k), Type::B32);
    bool a = isSigned, b = ptx::isSigned(d.type(1));
    inst.fn = base == "dp4a" ? pickDot<Dot4>(a, b)
              : hi           ? pickDot<Dot2High>(a, b)
                             : pickDot<Dot2Low>(a, b);
    return;
  }
  if (d.source->types.size() != 1)
    d.fail("needs exactly one type");
  if (wide && bits == 64)
    d.fail(".wide needs a 16-bit or 32-bit type");
  inst.ops[0] = d.dst(d.operand(0), wide ? bits * 2 : bits);
  for (size_t k = 1; k < d.operandCount(); ++k) {
    Type t = type;
    if (k == 3 && wide)
      t = bits == 16 ? Type::U32 : Type::U64;
    inst.ops[k] = d.src(d.operand(k), t);
  }
  if (base == "add" || base == "sub") {
    bool subtract = base == "sub";
    if (type == Type::S16x2 || type == Type::U16x2)
      inst.fn = sat ? nullptr : pickPacked<Add>(type);
    else if (d.has("cc"))
      inst.fn = subtract ? pickCarry<true>(type, false, true)
                         : pickCarry<false>(type, false, true);
    else if (sat)
      inst.fn = type != Type::S32 ? nullptr
                : subtract        ? pick2<SubSat>(type)
                                  : pick2<AddSat>(type);
    else
      inst.fn = subtract ? pick2<Sub>(type) : pick2<Add>(type);
  } else if (base == "addc") {
    inst.fn = pickCarry<false>(type, true, d.has("cc"));
  } else if (base == "subc") {
    inst.fn = pickCarry<true>(type, true, d.has("cc"));
  } else if (base == "mul") {
    if (wide)
      inst.fn = type == Type::S16   ? wideMul<int16_t>()
                : type == Type::U16 ? wideMul<uint16_t>()
                : type == Type::S32 ? wideMul<int32_t>()
                                    : wideMul<uint32_t>();
    else
      inst.fn = hi ? pick2<MulHi>(type) : pick2<MulLo>(type);
  } else if (base == "mad" || base == "madc") {
    bool in = base == "madc", out = d.has("cc");
    if (wide)
      inst.fn = type == Type::S16   ? wideMad<int16_t>()
                : type == Type::U16 ? wideMad<uint16_t>()
                : type == Type::S32 ? wideMad<int32_t>()
                                    : wideMad<uint32_t>();
    else if (in)
      inst.fn = hi ? pickMadCarry<true, true>(type, out)
                   : pickMadCarry<false, true>(type, out);
    else if (out)
      inst.fn = hi ? pickMadCarry<true, false>(type, out)
                   : pickMadCarry<false, false>(type, out);
    else if (sat)
      inst.fn =
          hi && type == Type::S32
              ? lanes3<int32_t, int32_t, int32_t, int32_t, MadHiSat<int32_t>>
              : nullptr;
    else
      inst.fn = hi ? pick3<MadHi>(type) : pick3<MadLo>(type);
  } else if (base == "mul24") {
    inst.fn = hi ? (isSigned ? lanes2<u, u, u, Mul24<true, true>>
                             : lanes2<u, u, u, Mul24<true, false>>)
                 : (isSigned ? lanes2<u, u, u, Mul24<false, true>>
                             : lanes2<u, u, u, Mul24<false, false>>);
  } else if (base == "mad24" && !sat) {
    inst.fn = hi ? (isSigned ? lanes3<u, u, u, u, Mad24<true, true>>
                             : lanes3<u, u, u, u, Mad24<true, false>>)
                 : (isSigned ? lanes3<u, u, u, u, Mad24<false, true>>
                             : lanes3<u, u, u, u, Mad24<false, false>>);
  } else if (base == "sad") {
    inst.fn = pick3<Sad>(type);
  } else if (base == "div") {
    inst.fn = pick2<Div>(type);
  } else if (base == "rem") {
    inst.fn = pick2<Rem>(type);
  } else if (base == "abs" || base == "neg") {
    bool abs = base == "abs";
    if (type == Type::S16)
      inst.fn = abs ? lanes1<int16_t, int16_t, Abs<int16_t>>
                    : lanes1<int16_t, int16_t, Neg<int16_t>>;
    else if (type == Type::S32)
      inst.fn = abs ? lanes1<int32_t, int32_t, Abs<int32_t>>
                    : lanes1<int32_t, int32_t, Neg<int32_t>>;
    else if (type == Type::S64)
      inst.fn = abs ? lanes1<int64_t, int64_t, Abs<int64_t>>
                    : lanes1<int64_t, int64_t, Neg<int64_t>>;
  } else if (base == "min" || base == "max") {
    bool packed = type == Type::S16x2 || type == Type::U16x2;
    bool relu = d.has("relu"), min = base == "min";
    if (d.operandCount() == 4)
      d.fail("three-operand min and max are not supported");
    if (relu && type != Type::S32 && type != Type::S16x2)
      d.fail(".relu needs .s32 or .s16x2");
    if (packed)
      inst.fn =
          relu ? (min ? pickPacked<MinRelu>(type) : pickPacked<MaxRelu>(type))
               : (min ? pickPacked<Min>(type) : pickPacked<Max>(type));
    else
      inst.fn = relu ? (min ? pick2<MinRelu>(type) : pick2<MaxRelu>(type))
                     : (min ? pick2<Min>(type) : pick2<Max>(type));
  }
}

} // namespace tessera::sim
