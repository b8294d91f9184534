// cvt: between integers, floats and the small formats.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Decode.h"
#include "sim/exec/SmallFloat.h"

namespace tessera::sim {

using ptx::Type;

namespace {

// flags
constexpr uint8_t kFtz = 1, kSat = 2, kSatFinite = 4, kRelu = 8, kIntegral = 16;

const Format *formatOf(Type type) {
  switch (type) {
  case Type::F64:
    return &formatF64;
  case Type::F32:
  case Type::F32x2:
    return &formatF32;
  case Type::TF32:
    return &formatTF32;
  case Type::F16:
  case Type::F16x2:
    return &formatF16;
  case Type::BF16:
  case Type::BF16x2:
    return &formatBF16;
  case Type::E4M3:
  case Type::E4M3x2:
  case Type::E4M3x4:
    return &formatE4M3;
  case Type::E5M2:
  case Type::E5M2x2:
  case Type::E5M2x4:
    return &formatE5M2;
  case Type::E2M3:
  case Type::E2M3x2:
  case Type::E2M3x4:
    return &formatE2M3;
  case Type::E3M2:
  case Type::E3M2x2:
  case Type::E3M2x4:
    return &formatE3M2;
  case Type::E2M1:
  case Type::E2M1x2:
  case Type::E2M1x4:
    return &formatE2M1;
  default:
    return nullptr;
  }
}

/// What a cvt of plain types does; one per instruction.
struct Plan {
  Type to, from;
  const Format *toFormat, *fromFormat; // null for integers
  Round round = Round::Nearest;
};

uint64_t readRegister(Warp &w, Ref ref, unsigned bytes, unsigned lane) {
  switch (bytes) {
  case 2:
    return w.reg<uint16_t>(ref)[lane];
  case 4:
    return w.reg<uint32_t>(ref)[lane];
  default:
    return w.reg<uint64_t>(ref)[lane];
  }
}
void writeRegister(Warp &w, Ref ref, unsigned bytes, unsigned lane,
                   uint64_t value) {
  switch (bytes) {
  case 2:
    w.reg<uint16_t>(ref)[lane] = uint16_t(value);
    break;
  case 4:
    w.reg<uint32_t>(ref)[lane] = uint32_t(value);
    break;
  default:
    w.reg<uint64_t>(ref)[lane] = value;
  }
}

double roundIntegral(double x, Round round) {
  switch (round) {
  case Round::Nearest:
    return std::nearbyint(x); // the default mode is to nearest even
  case Round::Zero:
    return std::trunc(x);
  case Round::Down:
    return std::floor(x);
  case Round::Up:
    return std::ceil(x);
  case Round::NearestAway:
    return std::round(x);
  }
  return x;
}

uint64_t signExtend(uint64_t v, unsigned bits) {
  return bits >= 64 ? v : uint64_t(int64_t(v << (64 - bits)) >> (64 - bits));
}

/// Float to integer: rounds, clamps to the range; NaN as the ISA says.
uint64_t toInteger(double x, Type to, Type from, Round round) {
  unsigned bits = ptx::typeBits(to);
  bool isSigned = ptx::isSigned(to);
  if (x != x) {
    if (from != Type::F64 && bits != 64)
      return 0;
    return 1ull << (bits - 1);
  }
  x = roundIntegral(x, round);
  if (isSigned) {
    double limit = std::ldexp(1.0, bits - 1);
    if (x >= limit)
      return (1ull << (bits - 1)) - 1;
    if (x < -limit)
      return signExtend(1ull << (bits - 1), bits);
    return uint64_t(int64_t(x));
  }
  double limit = std::ldexp(1.0, bits);
  if (x >= limit)
    return bits == 64 ? ~0ull : (1ull << bits) - 1;
  if (x <= 0)
    return 0;
  return uint64_t(x);
}

uint64_t convertOne(const Plan &plan, uint64_t raw, uint8_t flags) {
  unsigned fromBits = ptx::typeBits(plan.from);
  unsigned toBits = ptx::typeBits(plan.to);
  uint64_t mask = fromBits >= 64 ? ~0ull : (1ull << fromBits) - 1;
  raw &= mask;
  if (!plan.fromFormat && !plan.toFormat) {
    bool fromSigned = ptx::isSigned(plan.from);
    uint64_t v = fromSigned ? signExtend(raw, fromBits) : raw;
    if (flags & kSat) {
      bool negative = fromSigned && int64_t(v) < 0;
      if (ptx::isSigned(plan.to)) {
        int64_t high = int64_t(~0ull >> (65 - toBits));
        if (!negative && v > uint64_t(high))
          v = high;
        else if (negative && int64_t(v) < -high - 1)
          v = uint64_t(-high - 1);
      } else {
        uint64_t high = toBits == 64 ? ~0ull : (1ull << toBits) - 1;
        if (negative)
          v = 0;
        else if (v > high)
          v = high;
      }
    }
    return v;
  }
  if (!plan.fromFormat) {
    bool negative = ptx::isSigned(plan.from) && (raw >> (fromBits - 1) & 1);
    uint64_t magnitude = negative ? (0 - signExtend(raw, fromBits)) : raw;
    if (!magnitude)
      return 0;
    uint64_t r =
        roundTo(*plan.toFormat, negative, magnitude, 0, plan.round, false);
    if (flags & kSat) {
      double x = toDouble(*plan.toFormat, r);
      r = roundTo(*plan.toFormat, saturate01(x), Round::Nearest, false);
    }
    return r;
  }
  double x = plan.from == Type::F32
                 ? double(std::bit_cast<float>(uint32_t(raw)))
             : plan.from == Type::F64 ? std::bit_cast<double>(raw)
                                      : toDouble(*plan.fromFormat, raw);
  if ((flags & kFtz) && plan.from == Type::F32)
    x = flush(std::bit_cast<float>(uint32_t(raw)));
  if (!plan.toFormat)
    return toInteger(x, plan.to, plan.from, plan.round);
  if (flags & kIntegral)
    x = x == x ? std::copysign(roundIntegral(x, plan.round), x) : x;
  if (flags & kSat)
    x = saturate01(x);
  if (flags & kRelu)
    x = x != x ? x : x > 0 ? x : 0.0;
  if (plan.to == Type::F64)
    return std::bit_cast<uint64_t>(x);
  uint64_t r = roundTo(*plan.toFormat, x, plan.round, flags & kSatFinite);
  if (plan.to == Type::TF32) {
    if (x != x)
      return 0x7fffffff;
    r <<= 13;
  }
  if ((flags & kFtz) && plan.to == Type::F32)
    r = std::bit_cast<uint32_t>(flush(std::bit_cast<float>(uint32_t(r))));
  return r;
}

void convert(Warp &w, const Inst &i, uint32_t mask) {
  const auto &plan = *static_cast<const Plan *>(i.extra.get());
  unsigned toBits = ptx::typeBits(plan.to);
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    uint64_t v =
        convertOne(plan, readRegister(w, i.ops[1], i.width, l), i.flags);
    // A destination wider than the type is extended as the type says.
    if (!plan.toFormat && toBits < i.regWidth * 8u)
      v = ptx::isSigned(plan.to) ? signExtend(v, toBits)
                                 : v & ((1ull << toBits) - 1);
    writeRegister(w, i.ops[0], i.regWidth, l, v);
  }
}

// The common plain cases as vector code.
template <class D, class S, class DT, class ST>
void extend(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<D>(i.ops[0]);
  const auto *a = w.reg<S>(i.ops[1]);
  forLanes(mask, [&](unsigned l) { d[l] = D(DT(ST(a[l]))); });
}
void floatToHalfLanes(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<uint16_t>(i.ops[0]);
  const auto *a = w.reg<float>(i.ops[1]);
  forLanes(mask, [&](unsigned l) { d[l] = floatToHalf(a[l]); });
}
void floatToBfloatLanes(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<uint16_t>(i.ops[0]);
  const auto *a = w.reg<float>(i.ops[1]);
  forLanes(mask, [&](unsigned l) { d[l] = floatToBfloat(a[l]); });
}
void halfToFloatLanes(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<float>(i.ops[0]);
  const auto *a = w.reg<uint16_t>(i.ops[1]);
  forLanes(mask, [&](unsigned l) { d[l] = canonical(halfToFloat(a[l])); });
}
void bfloatToFloatLanes(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<float>(i.ops[0]);
  const auto *a = w.reg<uint16_t>(i.ops[1]);
  forLanes(mask, [&](unsigned l) { d[l] = canonical(bfloatToFloat(a[l])); });
}
template <bool Bf> void packHalves(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<uint32_t>(i.ops[0]);
  const auto *a = w.reg<float>(i.ops[1]), *b = w.reg<float>(i.ops[2]);
  forLanes(mask, [&](unsigned l) {
    uint32_t hi = Bf ? floatToBfloat(a[l]) : floatToHalf(a[l]);
    uint32_t lo = Bf ? floatToBfloat(b[l]) : floatToHalf(b[l]);
    d[l] = hi << 16 | lo;
  });
}

/// Two floats to one packed pair: the first operand is the upper half.
void pack(Warp &w, const Inst &i, uint32_t mask) {
  const auto &plan = *static_cast<const Plan *>(i.extra.get());
  unsigned bits = ptx::typeBits(plan.to) / 2;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    uint64_t out = 0;
    for (unsigned k = 0; k < 2; ++k) {
      double x;
      if (plan.from == Type::F32) {
        float f = w.reg<float>(i.ops[2 - k])[l];
        x = i.flags & kFtz ? flush(f) : f;
      } else {
        uint32_t both = w.reg<uint32_t>(i.ops[1])[l];
        x = toDouble(*plan.fromFormat, uint16_t(both >> 16 * k));
      }
      if (i.flags & kRelu)
        x = x != x ? x : x > 0 ? x : 0.0;
      uint64_t r;
      if (plan.to == Type::UE8M0x2) {
        // Only powers of two, no sign, no zero; 255 is NaN.
        x = std::fabs(x);
        if (x != x) {
          r = 255;
        } else if (std::isinf(x)) {
          r = i.flags & kSatFinite ? 254 : 255;
        } else if (x == 0) {
          r = 0;
        } else {
          int e = std::ilogb(x);
          if (plan.round == Round::Up && x > std::ldexp(1.0, e))
            ++e;
          r = e < -127  ? 0
              : e > 127 ? (i.flags & kSatFinite ? 254 : 255)
                        : e + 127;
        }
      } else {
        r = roundTo(*plan.toFormat, x, plan.round, i.flags & kSatFinite);
      }
      out |= r << (plan.to == Type::E2M1x2 ? 4 : bits) * k;
    }
    writeRegister(w, i.ops[0], i.regWidth, l, out);
  }
}

/// A packed pair of small floats to f16x2 or bf16x2.
void unpack(Warp &w, const Inst &i, uint32_t mask) {
  const auto &plan = *static_cast<const Plan *>(i.extra.get());
  auto *d = w.reg<uint32_t>(i.ops[0]);
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    uint64_t raw = readRegister(w, i.ops[1], i.width, l);
    uint32_t out = 0;
    for (unsigned k = 0; k < 2; ++k) {
      uint64_t bits =
          plan.from == Type::E2M1x2 ? raw >> 4 * k & 15 : raw >> 8 * k & 255;
      double x;
      if (plan.from == Type::UE8M0x2)
        x = bits == 255 ? NAN : std::ldexp(1.0, int(bits) - 127);
      else
        x = toDouble(*plan.fromFormat, bits);
      if (i.flags & kRelu)
        x = x != x ? x : x > 0 ? x : 0.0;
      out |= uint32_t(roundTo(*plan.toFormat, x, Round::Nearest, false))
             << 16 * k;
    }
    d[l] = out;
  }
}

/// cvt.pack.sat: two integers saturated and packed above an optional third.
void packIntegers(Warp &w, const Inst &i, uint32_t mask) {
  const auto &plan = *static_cast<const Plan *>(i.extra.get());
  unsigned bits = ptx::typeBits(plan.to);
  auto *d = w.reg<uint32_t>(i.ops[0]);
  const auto *a = w.reg<int32_t>(i.ops[1]), *b = w.reg<int32_t>(i.ops[2]);
  int64_t low = ptx::isSigned(plan.to) ? -(1ll << (bits - 1)) : 0;
  int64_t high =
      ptx::isSigned(plan.to) ? (1ll << (bits - 1)) - 1 : (1ll << bits) - 1;
  uint32_t ones = uint32_t((1ull << bits) - 1);
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    auto clamp = [&](int32_t v) {
      return uint32_t(v < low ? low : v > high ? high : v) & ones;
    };
    uint32_t pair = clamp(a[l]) << bits | clamp(b[l]);
    uint32_t rest = 0;
    if (i.ops[3] != noRef)
      rest = w.reg<uint32_t>(i.ops[3])[l] << 2 * bits;
    d[l] = pair | rest;
  }
}

ExecFn fastInteger(Type to, Type from, unsigned dBytes, unsigned sBytes) {
#define FAST(T, S, D, R, DT, ST)                                               \
  if (to == Type::T && from == Type::S && dBytes == sizeof(D) &&               \
      sBytes == sizeof(R))                                                     \
    return extend<D, R, DT, ST>;
  FAST(S64, S32, uint64_t, uint32_t, int64_t, int32_t)
  FAST(U64, U32, uint64_t, uint32_t, uint64_t, uint32_t)
  FAST(U32, U64, uint32_t, uint64_t, uint32_t, uint64_t)
  FAST(S32, S64, uint32_t, uint64_t, uint32_t, uint64_t)
  FAST(U32, U16, uint32_t, uint16_t, uint32_t, uint16_t)
  FAST(S32, S16, uint32_t, uint16_t, int32_t, int16_t)
  FAST(U16, U32, uint16_t, uint32_t, uint16_t, uint32_t)
#undef FAST
  return nullptr;
}

} // namespace

void decodeConvert(Decoder &d, Inst &inst) {
  inst.opClass = OpClass::Convert;
  auto plan = std::make_shared<Plan>();
  plan->to = d.type(0);
  plan->from = d.type(1);
  inst.extra = plan;
  if (d.has("pack")) {
    if (d.type(1) != Type::S32 && d.type(1) != Type::U32)
      d.fail("needs .s32 or .u32 sources");
    if (d.type(1) == Type::U32 || ptx::typeBits(plan->to) < 4)
      d.fail("this form is not supported");
    inst.ops[0] = d.dst(d.operand(0), 32);
    for (size_t k = 1; k < d.operandCount(); ++k)
      inst.ops[k] = d.src(d.operand(k), Type::B32);
    inst.fn = packIntegers;
    return;
  }
  if (d.has("scaled::n2::ue8m0") || d.has("rs") || d.source->types.size() != 2)
    d.fail("this form is not supported");
  plan->toFormat = formatOf(plan->to);
  plan->fromFormat = formatOf(plan->from);
  bool toFloat = ptx::isFloat(plan->to), fromFloat = ptx::isFloat(plan->from);
  bool integral = d.has("rni") || d.has("rzi") || d.has("rmi") || d.has("rpi");
  plan->round = d.has("rz") || d.has("rzi")   ? Round::Zero
                : d.has("rm") || d.has("rmi") ? Round::Down
                : d.has("rp") || d.has("rpi") ? Round::Up
                : d.has("rna")                ? Round::NearestAway
                                              : Round::Nearest;
  inst.flags = (d.has("ftz") ? kFtz : 0) | (d.has("sat") ? kSat : 0) |
               (d.has("satfinite") ? kSatFinite : 0) |
               (d.has("relu") ? kRelu : 0) |
               (integral && toFloat ? kIntegral : 0);
  bool toPacked = plan->to == Type::F16x2 || plan->to == Type::BF16x2;
  bool toPair = toPacked || plan->to == Type::E4M3x2 ||
                plan->to == Type::E5M2x2 || plan->to == Type::E2M3x2 ||
                plan->to == Type::E3M2x2 || plan->to == Type::E2M1x2 ||
                plan->to == Type::UE8M0x2;
  bool fromPair = plan->from == Type::E4M3x2 || plan->from == Type::E5M2x2 ||
                  plan->from == Type::E2M3x2 || plan->from == Type::E3M2x2 ||
                  plan->from == Type::E2M1x2 || plan->from == Type::UE8M0x2;
  if (toPacked && fromPair) {
    uint8_t bytes;
    inst.ops[0] = d.dst(d.operand(0), 32);
    inst.ops[1] = d.anyReg(d.operand(1), bytes);
    inst.width = bytes;
    inst.fn = unpack;
    return;
  }
  if (toPair) {
    bool fromPacked = plan->from == Type::F16x2 || plan->from == Type::BF16x2;
    if (plan->from != Type::F32 && !fromPacked)
      d.fail("this pair of types is not supported");
    uint8_t bytes;
    if (d.operand(0).kind == ptx::Operand::Sink)
      d.fail("needs a destination");
    inst.ops[0] = d.anyReg(d.operand(0), bytes);
    inst.regWidth = bytes;
    size_t sources = fromPacked ? 1 : 2;
    if (d.operandCount() != sources + 1)
      d.fail("has a wrong number of operands");
    for (size_t k = 1; k <= sources; ++k)
      inst.ops[k] = d.src(d.operand(k), fromPacked ? Type::B32 : Type::F32);
    inst.fn = pack;
    if (plan->round == Round::Nearest && !inst.flags && sources == 2) {
      if (plan->to == Type::F16x2)
        inst.fn = packHalves<false>;
      else if (plan->to == Type::BF16x2)
        inst.fn = packHalves<true>;
    }
    return;
  }
  if ((toFloat && !plan->toFormat) || (fromFloat && !plan->fromFormat) ||
      ptx::typeBits(plan->to) < 8 || ptx::typeBits(plan->from) < 8 ||
      d.operandCount() != 2 || fromPair || plan->from == Type::F16x2)
    d.fail("this pair of types is not supported");
  uint8_t toBytes, fromBytes;
  if (d.operand(0).kind != ptx::Operand::Reg)
    d.fail(d.operand(0), "destination must be a register");
  inst.ops[0] = d.anyReg(d.operand(0), toBytes);
  if (d.operand(1).kind == ptx::Operand::Reg) {
    inst.ops[1] = d.anyReg(d.operand(1), fromBytes);
  } else {
    inst.ops[1] = d.src(d.operand(1), plan->from);
    fromBytes = std::max(2u, ptx::typeBytes(plan->from));
  }
  unsigned toNeeded = std::max(16u, ptx::typeBits(plan->to));
  unsigned fromNeeded = std::max(16u, ptx::typeBits(plan->from));
  if (toBytes * 8u < toNeeded || (toFloat && toBytes * 8u != toNeeded))
    d.fail(d.operand(0), "register has the wrong width");
  if (fromBytes * 8u < fromNeeded ||
      (fromFloat && fromBytes * 8u != fromNeeded))
    d.fail(d.operand(1), "register has the wrong width");
  inst.regWidth = toBytes;
  inst.width = fromBytes;
  inst.fn = convert;
  if (inst.flags)
    return;
  if (!toFloat && !fromFloat) {
    if (ExecFn fast = fastInteger(plan->to, plan->from, toBytes, fromBytes))
      inst.fn = fast;
  } else if (plan->round == Round::Nearest) {
    if (plan->to == Type::F16 && plan->from == Type::F32)
      inst.fn = floatToHalfLanes;
    else if (plan->to == Type::BF16 && plan->from == Type::F32)
      inst.fn = floatToBfloatLanes;
    else if (plan->to == Type::F32 && plan->from == Type::F16)
      inst.fn = halfToFloatLanes;
    else if (plan->to == Type::F32 && plan->from == Type::BF16)
      inst.fn = bfloatToFloatLanes;
    else if (plan->to == Type::F32 && plan->from == Type::S32)
      inst.fn = extend<float, int32_t, float, int32_t>;
    else if (plan->to == Type::F32 && plan->from == Type::U32)
      inst.fn = extend<float, uint32_t, float, uint32_t>;
  }
}

} // namespace tessera::sim
