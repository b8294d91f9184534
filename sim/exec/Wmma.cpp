// wmma: load, multiply, store.
//
// The ISA keeps the layout of a fragment to itself. Ours: element e of the
// matrix in row-major order belongs to lane e % 32, slot e / 32; slots fill
// the fragment's registers from the low bits up. Registers beyond the matrix
// stay zero (hardware holds a second copy there).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Access.h"
#include "sim/exec/Decode.h"
#include "sim/exec/Mma.h"
#include "sim/exec/Ring.h"

namespace tessera::sim {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

struct Fragment {
  unsigned rows = 0, columns = 0, bits = 16;
  std::vector<Ref> regs;
  unsigned perReg() const { return bits == 64 ? 1 : 32 / bits; }
};

struct Plan {
  Fragment a, b, c, d;
  Type aType = Type::F16, bType = Type::F16, cType = Type::F32,
       dType = Type::F32;
  bool rowMajor = true, saturate = false;
  unsigned bitOp = 0;
  Ref stride = noRef;
};

uint64_t get(Warp &w, const Fragment &f, unsigned e) {
  unsigned lane = e & 31, slot = e >> 5;
  if (f.bits == 64)
    return w.reg<uint64_t>(f.regs[slot])[lane];
  unsigned per = f.perReg();
  uint32_t word = w.reg<uint32_t>(f.regs[slot / per])[lane];
  return f.bits == 32 ? word
                      : word >> f.bits * (slot % per) & ((1u << f.bits) - 1);
}
void put(Warp &w, const Fragment &f, unsigned e, uint64_t value) {
  unsigned lane = e & 31, slot = e >> 5;
  if (f.bits == 64) {
    w.reg<uint64_t>(f.regs[slot])[lane] = value;
    return;
  }
  unsigned per = f.perReg();
  uint32_t &word = w.reg<uint32_t>(f.regs[slot / per])[lane];
  if (f.bits == 32) {
    word = uint32_t(value);
    return;
  }
  unsigned shift = f.bits * (slot % per);
  uint32_t mask = ((1u << f.bits) - 1) << shift;
  word = (word & ~mask) | (uint32_t(value) << shift & mask);
}

/// Ring mode: inputs are converted to the accumulator's ring first.
void multiplyRing(Warp &w, const Inst &i, uint32_t) {
  const auto &p = *static_cast<const Plan *>(i.extra.get());
  unsigned m = p.a.rows, k = p.a.columns, n = p.b.columns;
  ring::Ring r(p.dType);
  auto factor = [&](Type type, uint64_t raw) {
    return type == Type::TF32 || type == p.dType
               ? r.element(raw)
               : ring::convert(p.dType, type, raw);
  };
  std::vector<uint64_t> out(m * n);
  for (unsigned row = 0; row < m; ++row)
    for (unsigned c = 0; c < n; ++c) {
      uint64_t sum = factor(p.cType, get(w, p.c, row * n + c));
      for (unsigned x = 0; x < k; ++x)
        sum = r.add(sum, r.mul(factor(p.aType, get(w, p.a, row * k + x)),
                               factor(p.bType, get(w, p.b, x * n + c))));
      out[row * n + c] = sum;
    }
  for (unsigned e = 0; e < m * n; ++e)
    put(w, p.d, e, out[e]);
}

/// Addresses of slot `slot` for all lanes, in bytes.
void slotAddresses(Warp &w, const Inst &i, const Plan &p, const Fragment &f,
                   unsigned slot, const uint64_t *base, Access &at) {
  for (unsigned l = 0; l < 32; ++l) {
    unsigned e = slot * 32 + l;
    uint64_t row = e / f.columns, column = e % f.columns;
    uint64_t stride = p.stride == noRef ? (p.rowMajor ? f.columns : f.rows)
                                        : w.reg<uint32_t>(p.stride)[l];
    uint64_t index = p.rowMajor ? row * stride + column : column * stride + row;
    at.address[l] = base[l] + index * f.bits / 8;
  }
}

void load(Warp &w, const Inst &i, uint32_t) {
  const auto &p = *static_cast<const Plan *>(i.extra.get());
  const Fragment &f = p.d;
  uint64_t base[32];
  computeAddresses(w, i, ~0u, i.ops[8], base);
  unsigned bytes = std::max(1u, f.bits / 8);
  for (Ref r : f.regs)
    std::memset(w.reg<uint8_t>(r), 0, f.bits == 64 ? 256 : 128);
  for (unsigned slot = 0; slot < f.rows * f.columns / 32; ++slot) {
    Access at;
    slotAddresses(w, i, p, f, slot, base, at);
    translate(w, i, ~0u, i.space, bytes, bytes, AccessKind::Read, at);
    for (unsigned l = 0; l < 32; ++l) {
      uint64_t v = 0;
      std::memcpy(&v, at.pointer[l], bytes);
      unsigned e = slot * 32 + l;
      if (f.bits < 8) {
        // Sub-byte elements always lie along the contiguous dimension.
        unsigned along = p.rowMajor ? e % f.columns : e / f.columns;
        v = v >> (along * f.bits % 8) & ((1u << f.bits) - 1);
      }
      put(w, f, e, v);
    }
  }
}

void store(Warp &w, const Inst &i, uint32_t) {
  const auto &p = *static_cast<const Plan *>(i.extra.get());
  const Fragment &f = p.c;
  uint64_t base[32];
  computeAddresses(w, i, ~0u, i.ops[8], base);
  unsigned bytes = f.bits / 8;
  for (unsigned slot = 0; slot < f.rows * f.columns / 32; ++slot) {
    Access at;
    slotAddresses(w, i, p, f, slot, base, at);
    translate(w, i, ~0u, i.space, bytes, bytes, AccessKind::Write, at);
    for (unsigned l = 0; l < 32; ++l) {
      uint64_t v = get(w, f, slot * 32 + l);
      std::memcpy(at.pointer[l], &v, bytes);
    }
  }
}

void multiply(Warp &w, const Inst &i, uint32_t) {
  const auto &p = *static_cast<const Plan *>(i.extra.get());
  unsigned m = p.a.rows, k = p.a.columns, n = p.b.columns;
  std::vector<uint64_t> out(m * n);
  if (p.aType == Type::F64) {
    for (unsigned r = 0; r < m; ++r)
      for (unsigned c = 0; c < n; ++c) {
        double sum = std::bit_cast<double>(get(w, p.c, r * n + c));
        for (unsigned x = 0; x < k; ++x)
          sum = std::fma(std::bit_cast<double>(get(w, p.a, r * k + x)),
                         std::bit_cast<double>(get(w, p.b, x * n + c)), sum);
        out[r * n + c] = std::bit_cast<uint64_t>(sum);
      }
  } else if (p.dType == Type::S32) {
    for (unsigned r = 0; r < m; ++r)
      for (unsigned c = 0; c < n; ++c) {
        int64_t sum = int32_t(get(w, p.c, r * n + c));
        for (unsigned x = 0; x < k; ++x) {
          uint32_t a = uint32_t(get(w, p.a, r * k + x));
          uint32_t b = uint32_t(get(w, p.b, x * n + c));
          if (p.bitOp)
            sum += p.bitOp == 1 ? a & b : a ^ b;
          else
            sum += int64_t(signOf(a, p.a.bits, ptx::isSigned(p.aType))) *
                   signOf(b, p.b.bits, ptx::isSigned(p.bType));
        }
        if (p.saturate)
          sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
        out[r * n + c] = uint32_t(sum);
      }
  } else {
    const LaunchOptions &o = w.block->launch->options;
    const Format &fa = *tensorFormat(p.aType), &fb = *tensorFormat(p.bType);
    TensorModel model =
        makeModel(o.tensorMode, o.arch, fa, fb, p.dType == Type::F16, k, true);
    thread_local Factor a[16][64];
    thread_local int32_t bs[64][8], be[64][8];
    float c[16][8], d[16][8];
    auto raw = [](const Fragment &, Type type, uint64_t v) {
      return uint32_t(type == Type::TF32 ? v >> 13 : v);
    };
    for (unsigned r0 = 0; r0 < m; r0 += 16) {
      unsigned rows = std::min(16u, m - r0);
      for (unsigned r = 0; r < rows; ++r)
        for (unsigned x = 0; x < k; ++x)
          a[r][x] =
              factorOf(fa, raw(p.a, p.aType, get(w, p.a, (r0 + r) * k + x)));
      for (unsigned c0 = 0; c0 < n; c0 += 8) {
        for (unsigned x = 0; x < k; ++x)
          for (unsigned j = 0; j < 8; ++j) {
            Factor f =
                factorOf(fb, raw(p.b, p.bType, get(w, p.b, x * n + c0 + j)));
            bs[x][j] = f.significand;
            be[x][j] = f.exponent;
          }
        for (unsigned r = 0; r < rows; ++r)
          for (unsigned j = 0; j < 8; ++j) {
            uint64_t v = get(w, p.c, (r0 + r) * n + c0 + j);
            c[r][j] = p.cType == Type::F16 ? halfToFloat(uint16_t(v))
                                           : std::bit_cast<float>(uint32_t(v));
          }
        tensorTile(model, rows, k, a, bs, be, c, d);
        for (unsigned r = 0; r < rows; ++r)
          for (unsigned j = 0; j < 8; ++j)
            out[(r0 + r) * n + c0 + j] = p.dType == Type::F16
                                             ? floatToHalf(d[r][j])
                                             : std::bit_cast<uint32_t>(d[r][j]);
      }
    }
  }
  for (unsigned e = 0; e < m * n; ++e)
    put(w, p.d, e, out[e]);
}

} // namespace

void decodeWmma(Decoder &d, Inst &inst) {
  inst.flow = Flow::WarpSync;
  inst.opClass = OpClass::Matrix;
  auto plan = std::make_shared<Plan>();
  Plan &p = *plan;
  inst.extra = plan;
  unsigned m = 0, n = 0, k = 0;
  for (std::string_view x : d.source->modifiers)
    if (x.size() > 4 && x[0] == 'm' &&
        std::sscanf(std::string(x).c_str(), "m%un%uk%u", &m, &n, &k) == 3)
      break;
  if (!m)
    d.fail("needs a shape");
  auto fragment = [&](const Operand &o, Fragment &f, unsigned rows,
                      unsigned columns, Type type, bool isDst) {
    f.rows = rows;
    f.columns = columns;
    f.bits = type == Type::TF32 ? 32 : ptx::typeBits(type);
    std::vector<const Operand *> parts;
    if (o.kind == Operand::Vector)
      for (const Operand &e : o.elements)
        parts.push_back(&e);
    else
      parts.push_back(&o);
    unsigned width = f.bits == 64 ? 64 : 32;
    for (const Operand *e : parts)
      f.regs.push_back(isDst ? d.dst(*e, width)
                             : d.src(*e, width == 64 ? Type::B64 : Type::B32));
    if (f.regs.size() * f.perReg() * 32 < rows * columns)
      d.fail(o, "fragment has too few registers");
  };
  // For loads and stores the first layout modifier counts.
  for (auto x : d.source->modifiers)
    if (x == "row" || x == "col") {
      p.rowMajor = x == "row";
      break;
    }
  if (d.has("load") || d.has("store")) {
    bool isLoad = d.has("load");
    inst.opClass = isLoad ? OpClass::Load : OpClass::Store;
    unsigned rows = m, columns = n;
    if (d.has("a"))
      columns = k;
    else if (d.has("b"))
      rows = k;
    Space space = d.spaceModifier();
    d.address(d.operand(isLoad ? 1 : 0), inst, space, 8);
    fragment(d.operand(isLoad ? 0 : 1), isLoad ? p.d : p.c, rows, columns,
             d.type(), isLoad);
    if (d.operandCount() > 2)
      p.stride = d.src(d.operand(2), Type::U32);
    if (ptx::typeBits(d.type()) < 8 && p.rowMajor != d.has("a"))
      d.fail("sub-byte matrices are .row for a and .col for b");
    inst.fn = isLoad ? load : store;
    return;
  }
  const auto &types = d.source->types;
  if (types.size() == 2) { // f16 products name only d and c
    p.dType = types[0];
    p.cType = types[1];
  } else if (types.size() == 4) {
    p.dType = types[0];
    p.aType = types[1];
    p.bType = types[2];
    p.cType = types[3];
  } else {
    d.fail("needs two or four types");
  }
  if (d.has("rz") || d.has("rm") || d.has("rp"))
    d.fail("only .rn is supported");
  p.saturate = d.has("satfinite");
  p.bitOp = d.has("xor") ? 2 : d.has("and") ? 1 : 0;
  if (p.saturate && p.dType != Type::S32)
    d.fail(".satfinite needs an integer accumulator");
  fragment(d.operand(0), p.d, m, n, p.dType, true);
  fragment(d.operand(1), p.a, m, k, p.aType, false);
  fragment(d.operand(2), p.b, k, n, p.bType, false);
  fragment(d.operand(3), p.c, m, n, p.cType, false);
  inst.fn = d.program.ring && p.dType != Type::S32 ? multiplyRing : multiply;
}

} // namespace tessera::sim
