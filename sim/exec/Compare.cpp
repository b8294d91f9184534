// Comparison and selection: set, setp, selp, slct.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Decode.h"
#include "sim/exec/SmallFloat.h"

namespace tessera::sim {

using ptx::Type;

namespace {

enum class Cmp : uint8_t {
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Equ,
  Neu,
  Ltu,
  Leu,
  Gtu,
  Geu,
  Num,
  Nan
};

template <Cmp C, class T> inline bool compare(T a, T b) {
  constexpr bool isFloat = std::is_floating_point_v<T>;
  bool unordered = isFloat && (a != a || b != b);
  switch (C) {
  case Cmp::Eq:
    return a == b;
  case Cmp::Ne:
    return isFloat ? !unordered && a != b : a != b;
  case Cmp::Lt:
    return a < b;
  case Cmp::Le:
    return a <= b;
  case Cmp::Gt:
    return a > b;
  case Cmp::Ge:
    return a >= b;
  case Cmp::Equ:
    return unordered || a == b;
  case Cmp::Neu:
    return unordered || a != b;
  case Cmp::Ltu:
    return unordered || a < b;
  case Cmp::Leu:
    return unordered || a <= b;
  case Cmp::Gtu:
    return unordered || a > b;
  case Cmp::Geu:
    return unordered || a >= b;
  case Cmp::Num:
    return !unordered;
  case Cmp::Nan:
    return unordered;
  }
  return false;
}

struct HalfTag {};
struct BfloatTag {};
template <class T> struct Loader {
  using value = T;
  using storage = T;
  static T load(T v, bool ftz) {
    if constexpr (std::is_same_v<T, float>)
      return ftz ? flush(v) : v;
    return v;
  }
};
template <> struct Loader<HalfTag> {
  using value = float;
  using storage = uint16_t;
  static float load(uint16_t v, bool ftz) {
    if (ftz && !(v & 0x7c00))
      v &= 0x8000;
    return halfToFloat(v);
  }
};
template <> struct Loader<BfloatTag> {
  using value = float;
  using storage = uint16_t;
  static float load(uint16_t v, bool) { return bfloatToFloat(v); }
};

// flags: bit 0 ftz, bits 1-2 bool op (1 and, 2 or, 3 xor), bit 3 packed
template <Cmp C, class T>
uint32_t compareLanes(Warp &w, const Inst &i, uint32_t mask, unsigned half) {
  using L = Loader<T>;
  const auto *a = w.reg<typename L::storage>(i.ops[1]);
  const auto *b = w.reg<typename L::storage>(i.ops[2]);
  bool ftz = i.flags & 1;
  unsigned step = i.flags & 8 ? 2 : 1;
  uint32_t result = 0;
  if (mask == ~0u && step == 1) {
    for (unsigned l = 0; l < 32; ++l)
      result |= uint32_t(compare<C, typename L::value>(L::load(a[l], ftz),
                                                       L::load(b[l], ftz)))
                << l;
    return result;
  }
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    unsigned k = l * step + half;
    result |= uint32_t(compare<C, typename L::value>(L::load(a[k], ftz),
                                                     L::load(b[k], ftz)))
              << l;
  }
  return result;
}

uint32_t combine(Warp &w, const Inst &i, uint32_t r) {
  unsigned op = i.flags >> 1 & 3;
  if (!op)
    return r;
  uint32_t c = w.pred(i.ops[4]);
  return op == 1 ? r & c : op == 2 ? r | c : r ^ c;
}

template <Cmp C, class T> void setp(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t r = compareLanes<C, T>(w, i, mask, 0);
  if (i.flags & 8) {
    // Packed: p is the low half, q the high half.
    uint32_t high = compareLanes<C, T>(w, i, mask, 1);
    w.setPred(i.ops[0], mask, combine(w, i, r));
    if (i.ops[3] != noRef)
      w.setPred(i.ops[3], mask, combine(w, i, high));
    return;
  }
  uint32_t p = combine(w, i, r), q = combine(w, i, ~r);
  w.setPred(i.ops[0], mask, p);
  if (i.ops[3] != noRef)
    w.setPred(i.ops[3], mask, q);
}

// aux: what a true result is.
template <Cmp C, class T> void set(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t low = combine(w, i, compareLanes<C, T>(w, i, mask, 0));
  if (i.flags & 8) {
    uint32_t high = combine(w, i, compareLanes<C, T>(w, i, mask, 1));
    auto *d = w.reg<uint32_t>(i.ops[0]);
    forLanes(mask, [&](unsigned l) {
      d[l] =
          (low >> l & 1 ? i.target : 0) | (high >> l & 1 ? i.target << 16 : 0);
    });
  } else if (i.regWidth == 2) {
    auto *d = w.reg<uint16_t>(i.ops[0]);
    forLanes(mask,
             [&](unsigned l) { d[l] = low >> l & 1 ? uint16_t(i.target) : 0; });
  } else {
    auto *d = w.reg<uint32_t>(i.ops[0]);
    forLanes(mask, [&](unsigned l) { d[l] = low >> l & 1 ? i.target : 0; });
  }
}

template <template <Cmp, class> class Holder, class T> ExecFn pickCmp(Cmp c) {
#define CASE(x)                                                                \
  case Cmp::x:                                                                 \
    return Holder<Cmp::x, T>::fn;
  switch (c) {
    CASE(Eq)
    CASE(Ne)
    CASE(Lt)
    CASE(Le)
    CASE(Gt)
    CASE(Ge)
    CASE(Equ)
    CASE(Neu)
    CASE(Ltu)
    CASE(Leu)
    CASE(Gtu)
    CASE(Geu)
    CASE(Num)
    CASE(Nan)
  }
#undef CASE
  return nullptr;
}
template <Cmp C, class T> struct Setp {
  static constexpr ExecFn fn = setp<C, T>;
};
template <Cmp C, class T> struct Set {
  static constexpr ExecFn fn = set<C, T>;
};

template <template <Cmp, class> class Holder>
ExecFn pickType(Type type, Cmp c) {
  switch (type) {
  case Type::B16:
  case Type::U16:
    return pickCmp<Holder, uint16_t>(c);
  case Type::S16:
    return pickCmp<Holder, int16_t>(c);
  case Type::B32:
  case Type::U32:
    return pickCmp<Holder, uint32_t>(c);
  case Type::S32:
    return pickCmp<Holder, int32_t>(c);
  case Type::B64:
  case Type::U64:
    return pickCmp<Holder, uint64_t>(c);
  case Type::S64:
    return pickCmp<Holder, int64_t>(c);
  case Type::F32:
    return pickCmp<Holder, float>(c);
  case Type::F64:
    return pickCmp<Holder, double>(c);
  case Type::F16:
  case Type::F16x2:
    return pickCmp<Holder, HalfTag>(c);
  case Type::BF16:
  case Type::BF16x2:
    return pickCmp<Holder, BfloatTag>(c);
  default:
    return nullptr;
  }
}

template <class T> void selp(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<T>(i.ops[0]);
  const auto *a = w.reg<T>(i.ops[1]), *b = w.reg<T>(i.ops[2]);
  uint32_t p = w.pred(i.ops[3]);
  forLanes(mask, [&](unsigned l) { d[l] = p >> l & 1 ? a[l] : b[l]; });
}
template <class T, class C> void slct(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<T>(i.ops[0]);
  const auto *a = w.reg<T>(i.ops[1]), *b = w.reg<T>(i.ops[2]);
  const auto *c = w.reg<C>(i.ops[3]);
  forLanes(mask, [&](unsigned l) { d[l] = c[l] >= 0 ? a[l] : b[l]; });
}

std::optional<Cmp> comparison(const Decoder &d) {
  struct Name {
    const char *text;
    Cmp cmp;
  };
  static constexpr Name names[] = {
      {"eq", Cmp::Eq},   {"ne", Cmp::Ne},   {"lt", Cmp::Lt},
      {"le", Cmp::Le},   {"gt", Cmp::Gt},   {"ge", Cmp::Ge},
      {"lo", Cmp::Lt},   {"ls", Cmp::Le},   {"hi", Cmp::Gt},
      {"hs", Cmp::Ge},   {"equ", Cmp::Equ}, {"neu", Cmp::Neu},
      {"ltu", Cmp::Ltu}, {"leu", Cmp::Leu}, {"gtu", Cmp::Gtu},
      {"geu", Cmp::Geu}, {"num", Cmp::Num}, {"nan", Cmp::Nan}};
  for (const Name &n : names)
    if (d.has(n.text))
      return n.cmp;
  return std::nullopt;
}

} // namespace

void decodeCompare(Decoder &d, Inst &inst) {
  std::string_view base = d.source->base;
  Type type = d.type();
  unsigned bits = ptx::typeBits(type);
  inst.opClass = OpClass::Integer;
  if (base == "selp") {
    inst.ops[0] = d.dst(d.operand(0), bits);
    inst.ops[1] = d.src(d.operand(1), type);
    inst.ops[2] = d.src(d.operand(2), type);
    inst.ops[3] = d.pred(d.operand(3));
    inst.fn = bits == 16   ? selp<uint16_t>
              : bits == 32 ? selp<uint32_t>
                           : selp<uint64_t>;
    return;
  }
  if (base == "slct") {
    inst.ops[0] = d.dst(d.operand(0), bits);
    inst.ops[1] = d.src(d.operand(1), type);
    inst.ops[2] = d.src(d.operand(2), type);
    inst.ops[3] = d.src(d.operand(3), d.type(1));
    bool f = d.type(1) == Type::F32;
    inst.fn = bits == 16   ? (f ? slct<uint16_t, float> : slct<uint16_t, int>)
              : bits == 32 ? (f ? slct<uint32_t, float> : slct<uint32_t, int>)
                           : (f ? slct<uint64_t, float> : slct<uint64_t, int>);
    return;
  }
  auto cmp = comparison(d);
  if (!cmp)
    d.fail("needs a comparison");
  unsigned op = d.has("and") ? 1 : d.has("or") ? 2 : d.has("xor") ? 3 : 0;
  inst.flags = (d.has("ftz") ? 1 : 0) | op << 1;
  bool isSet = base == "set";
  Type source = isSet ? d.type(1) : type;
  if (ptx::isFloat(source))
    inst.opClass = source == Type::F64 ? OpClass::Double : OpClass::Float;
  if (source == Type::F16x2 || source == Type::BF16x2)
    inst.flags |= 8;
  if ((op != 0) != (d.operandCount() == 4))
    d.fail("a boolean operator needs exactly one predicate operand");
  inst.ops[1] = d.src(d.operand(1), source);
  inst.ops[2] = d.src(d.operand(2), source);
  if (op)
    inst.ops[4] = d.pred(d.operand(3));
  if (!isSet) {
    const auto &first = d.operand(0);
    if (first.kind == ptx::Operand::Pair) {
      inst.ops[0] = d.predDst(first.elements[0]);
      inst.ops[3] = d.predDst(first.elements[1]);
    } else {
      inst.ops[0] = d.predDst(first);
    }
    inst.fn = pickType<Setp>(source, *cmp);
    return;
  }
  inst.ops[0] = d.dst(d.operand(0), bits);
  inst.regWidth = bits / 8;
  switch (type) {
  case Type::F32:
    inst.target = 0x3f800000;
    break;
  case Type::F16:
  case Type::F16x2:
    inst.target = 0x3c00;
    break;
  case Type::BF16:
  case Type::BF16x2:
    inst.target = 0x3f80;
    break;
  default:
    inst.target = inst.flags & 8 || bits == 16 ? 0xffff : 0xffffffff;
  }
  inst.fn = pickType<Set>(source, *cmp);
}

} // namespace tessera::sim
