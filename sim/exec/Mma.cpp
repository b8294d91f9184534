// mma.sync and mma.sp: fragments in and out; TensorCore.cpp does the numbers.
//
// One rule places every element (lane l, g = l>>2, t = l&3, E elements per
// register): A of m16: row g + 8(r&1), k = (r>>1)*4E + t*E + j; A of m8 and B:
// k = r*4E + t*E + j, row or column g; C and D: row g + 8(i>>1), column
// 2t + (i&1). Only m8n8k4 of f16 differs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Mma.h"

#include "sim/exec/Block.h"
#include "sim/exec/Decode.h"
#include "sim/exec/Ring.h"

namespace tessera::sim {

using ptx::Operand;
using ptx::Type;

const Format *tensorFormat(Type type) {
  switch (type) {
  case Type::F16:
    return &formatF16;
  case Type::BF16:
    return &formatBF16;
  case Type::TF32:
    return &formatTF32;
  case Type::E4M3:
    return &formatE4M3;
  case Type::E5M2:
    return &formatE5M2;
  case Type::E2M3:
    return &formatE2M3;
  case Type::E3M2:
    return &formatE3M2;
  case Type::E2M1:
    return &formatE2M1;
  default:
    return nullptr;
  }
}

namespace {

/// Element `index` of a lane's fragment, as raw bits.
uint32_t element(Warp &w, const Ref *regs, unsigned perReg, unsigned bits,
                 unsigned r, unsigned j, unsigned l) {
  uint32_t word = w.reg<uint32_t>(regs[r])[l];
  (void)perReg;
  return bits == 32 ? word : word >> j * bits & ((1u << bits) - 1);
}

/// The bits of a small float inside its container.
uint32_t fromContainer(const MmaPlan &p, Type type, uint32_t bits) {
  if (!p.containers)
    return bits;
  if (type == Type::E2M1)
    return bits >> 2 & 15; // fp4 sits in bits 2 to 5 of its byte
  if (type == Type::E2M3 || type == Type::E3M2)
    return bits & 63;
  return bits;
}

void readA(Warp &w, const MmaPlan &p, uint32_t (*a)[256], unsigned k) {
  unsigned e = p.perReg;
  for (unsigned l = 0; l < 32; ++l) {
    unsigned g = l >> 2, t = l & 3;
    for (unsigned r = 0; r < p.aRegs; ++r) {
      unsigned row = p.m == 16 ? g + 8 * (r & 1) : g;
      unsigned base = (p.m == 16 ? r >> 1 : r) * 4 * e + t * e;
      for (unsigned j = 0; j < e; ++j)
        if (base + j < k)
          a[row][base + j] = element(w, p.a, e, p.elementBits, r, j, l);
    }
  }
}
void readB(Warp &w, const MmaPlan &p, uint32_t (*b)[8]) {
  unsigned e = p.perReg;
  for (unsigned l = 0; l < 32; ++l) {
    unsigned g = l >> 2, t = l & 3;
    for (unsigned r = 0; r < p.bRegs; ++r)
      for (unsigned j = 0; j < e; ++j)
        b[r * 4 * e + t * e + j][g] =
            element(w, p.b, e, p.elementBits, r, j, l);
  }
}

void readC(Warp &w, const MmaPlan &p, float (*c)[8]) {
  for (unsigned l = 0; l < 32; ++l) {
    unsigned g = l >> 2, t = l & 3;
    for (unsigned i = 0; i < p.m / 4; ++i) {
      unsigned row = g + 8 * (i >> 1), column = 2 * t + (i & 1);
      if (p.halfC)
        c[row][column] = halfToFloat(
            uint16_t(w.reg<uint32_t>(p.c[i / 2])[l] >> 16 * (i & 1)));
      else
        c[row][column] = w.reg<float>(p.c[i])[l];
    }
  }
}
void writeD(Warp &w, const MmaPlan &p, const float (*d)[8]) {
  for (unsigned l = 0; l < 32; ++l) {
    unsigned g = l >> 2, t = l & 3;
    if (p.halfD) {
      for (unsigned i = 0; i < p.m / 4; i += 2) {
        unsigned row = g + 8 * (i >> 1);
        w.reg<uint32_t>(p.d[i / 2])[l] =
            floatToHalf(d[row][2 * t]) |
            uint32_t(floatToHalf(d[row][2 * t + 1])) << 16;
      }
    } else {
      for (unsigned i = 0; i < p.m / 4; ++i)
        w.reg<float>(p.d[i])[l] = d[g + 8 * (i >> 1)][2 * t + (i & 1)];
    }
  }
}

TensorModel model(Warp &w, const MmaPlan &p) {
  const LaunchOptions &o = w.block->launch->options;
  return makeModel(o.tensorMode, o.arch, *tensorFormat(p.aType),
                   *tensorFormat(p.bType), p.halfD, p.k, p.fullK);
}

void mmaFloat(Warp &w, const Inst &i, uint32_t) {
  const auto &p = *static_cast<const MmaPlan *>(i.extra.get());
  TensorModel m = model(w, p);
  thread_local Factor a[16][64];
  thread_local int32_t bs[64][8], be[64][8];
  float c[16][8], d[16][8];
  unsigned e = p.perReg;
  auto decode = [&](Type type, const Format &f, uint32_t raw) {
    if (type == Type::TF32)
      raw >>= 13; // the low bits are not read
    return factorOf(f, fromContainer(p, type, raw));
  };
  for (unsigned r = 0; r < p.aRegs; ++r) {
    const uint32_t *words = w.reg<uint32_t>(p.a[r]);
    for (unsigned l = 0; l < 32; ++l) {
      unsigned g = l >> 2, t = l & 3;
      unsigned row = p.m == 16 ? g + 8 * (r & 1) : g;
      unsigned base = (p.m == 16 ? r >> 1 : r) * 4 * e + t * e;
      for (unsigned j = 0; j < e; ++j)
        a[row][base + j] =
            decode(p.aType, *m.a,
                   p.elementBits == 32 ? words[l]
                                       : words[l] >> j * p.elementBits &
                                             ((1u << p.elementBits) - 1));
    }
  }
  for (unsigned r = 0; r < p.bRegs; ++r) {
    const uint32_t *words = w.reg<uint32_t>(p.b[r]);
    for (unsigned l = 0; l < 32; ++l) {
      unsigned g = l >> 2, t = l & 3;
      for (unsigned j = 0; j < e; ++j) {
        Factor f =
            decode(p.bType, *m.b,
                   p.elementBits == 32 ? words[l]
                                       : words[l] >> j * p.elementBits &
                                             ((1u << p.elementBits) - 1));
        bs[r * 4 * e + t * e + j][g] = f.significand;
        be[r * 4 * e + t * e + j][g] = f.exponent;
      }
    }
  }
  readC(w, p, c);
  tensorTile(m, p.m, p.k, a, bs, be, c, d);
  writeD(w, p, d);
}

double elementValue(const MmaPlan &p, Type type, uint32_t raw) {
  const Format &f = *tensorFormat(type);
  if (type == Type::TF32)
    raw >>= 13;
  return toDouble(f, fromContainer(p, type, raw));
}

/// Sparse: A holds k/2 elements; metadata says where they stand.
void mmaSparse(Warp &w, const Inst &i, uint32_t) {
  const auto &p = *static_cast<const MmaPlan *>(i.extra.get());
  thread_local uint32_t a[16][256];
  thread_local uint32_t b[256][8];
  unsigned half = p.k / 2;
  readA(w, p, a, half);
  readB(w, p, b);
  const uint32_t *meta = w.reg<uint32_t>(p.metadata);
  // column[row][n]: position of the n-th kept element.
  uint8_t column[16][128];
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned n = 0; n < half; ++n) {
      unsigned position = keptColumn(meta, row, n, p.elementBits, p.selector);
      column[row][n] = uint8_t(position);
      if (p.ordered && p.elementBits != 32) {
        unsigned stride = p.elementBits == 4 ? 2 : 1;
        if (n % (2 * stride) == stride &&
            column[row][n] <= column[row][n - stride])
          throw Fault{Fault::IllegalInstruction,
                      "sparse metadata is not ordered"};
      }
    }
  if (p.integer) {
    int64_t d[16][8];
    for (unsigned row = 0; row < 16; ++row)
      for (unsigned c = 0; c < 8; ++c) {
        int64_t sum = 0;
        for (unsigned n = 0; n < half; ++n)
          sum += int64_t(signOf(a[row][n], p.elementBits, p.aSigned)) *
                 signOf(b[column[row][n]][c], p.elementBits, p.bSigned);
        d[row][c] = sum;
      }
    finishInteger(w, p, d);
    return;
  }
  TensorModel m = model(w, p);
  float c[16][8], d[16][8];
  readC(w, p, c);
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned col = 0; col < 8; ++col) {
      double x[64], y[64];
      for (unsigned n = 0; n < half; ++n) {
        x[n] = elementValue(p, p.aType, a[row][n]);
        y[n] = elementValue(p, p.bType, b[column[row][n]][col]);
      }
      d[row][col] = tensorDot(m, x, y, half, c[row][col], nullptr);
    }
  writeD(w, p, d);
}

/// kind::mxf8f6f4, mxf4, mxf4nvf4.
void mmaScaled(Warp &w, const Inst &i, uint32_t) {
  const auto &p = *static_cast<const MmaPlan *>(i.extra.get());
  thread_local uint32_t a[16][256];
  thread_local uint32_t b[256][8];
  readA(w, p, a, p.k);
  readB(w, p, b);
  TensorModel m = model(w, p);
  float c[16][8], d[16][8];
  readC(w, p, c);
  const uint32_t *sa = w.reg<uint32_t>(p.scaleA);
  const uint32_t *sb = w.reg<uint32_t>(p.scaleB);
  auto uniform = [&](Ref ref) { return w.reg<uint16_t>(ref)[0]; };
  unsigned byteA = uniform(p.byteA), threadA = uniform(p.threadA);
  unsigned byteB = uniform(p.byteB), threadB = uniform(p.threadB);
  auto scale = [&](uint32_t word, unsigned byte, unsigned n) {
    uint32_t bits = word >> 8 * (p.scaleCount == 4   ? n
                                 : p.scaleCount == 2 ? 2 * (byte / 2) + n
                                                     : byte) &
                    255;
    if (p.scaleType == Type::UE8M0)
      return bits == 255 ? double(NAN) : std::ldexp(1.0, int(bits) - 127);
    return toDouble(formatUE4M3, bits & 127);
  };
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned col = 0; col < 8; ++col) {
      double x[64], y[64], scalesA[4], scalesB[4];
      for (unsigned n = 0; n < p.k; ++n) {
        x[n] = elementValue(p, p.aType, a[row][n]);
        y[n] = elementValue(p, p.bType, b[n][col]);
      }
      unsigned laneA = 4 * (row % 8) + 2 * threadA + row / 8;
      unsigned laneB = 4 * col + threadB;
      for (unsigned n = 0; n < p.scaleCount; ++n) {
        scalesA[n] = scale(sa[laneA & 31], byteA, n);
        scalesB[n] = scale(sb[laneB & 31], byteB, n);
      }
      if (p.k == 64) {
        d[row][col] = tensorDotScaled(m, x, y, 64, c[row][col], scalesA,
                                      scalesB, 64 / p.scaleCount);
        continue;
      }
      if (scalesA[0] != scalesA[0] || scalesB[0] != scalesB[0]) {
        d[row][col] = std::bit_cast<float>(0x7fffffffu);
        continue;
      }
      int exponents[64];
      for (unsigned n = 0; n < p.k; ++n)
        exponents[n] = std::ilogb(scalesA[0]) + std::ilogb(scalesB[0]);
      d[row][col] = tensorDot(m, x, y, p.k, c[row][col], exponents);
    }
  writeD(w, p, d);
}

void mmaInteger(Warp &w, const Inst &i, uint32_t) {
  const auto &p = *static_cast<const MmaPlan *>(i.extra.get());
  thread_local uint32_t a[16][256];
  thread_local uint32_t b[256][8];
  readA(w, p, a, p.k);
  readB(w, p, b);
  int64_t d[16][8];
  for (unsigned row = 0; row < p.m; ++row)
    for (unsigned c = 0; c < 8; ++c) {
      int64_t sum = 0;
      for (unsigned n = 0; n < p.k; ++n) {
        if (p.bitOp)
          sum += p.bitOp == 1 ? (a[row][n] & b[n][c]) : (a[row][n] ^ b[n][c]);
        else
          sum += int64_t(signOf(a[row][n], p.elementBits, p.aSigned)) *
                 signOf(b[n][c], p.elementBits, p.bSigned);
      }
      d[row][c] = sum;
    }
  finishInteger(w, p, d);
}

void mmaDouble(Warp &w, const Inst &i, uint32_t) {
  const auto &p = *static_cast<const MmaPlan *>(i.extra.get());
  double a[16][16], b[16][8];
  for (unsigned l = 0; l < 32; ++l) {
    unsigned g = l >> 2, t = l & 3;
    for (unsigned r = 0; r < p.aRegs; ++r) {
      unsigned row = p.m == 16 ? g + 8 * (r & 1) : g;
      unsigned k = (p.m == 16 ? r >> 1 : r) * 4 + t;
      a[row][k] = w.reg<double>(p.a[r])[l];
    }
    for (unsigned r = 0; r < p.bRegs; ++r)
      b[r * 4 + t][g] = w.reg<double>(p.b[r])[l];
  }
  for (unsigned l = 0; l < 32; ++l) {
    unsigned g = l >> 2, t = l & 3;
    double out[4];
    for (unsigned n = 0; n < p.m / 4; ++n) {
      unsigned row = g + 8 * (n >> 1), col = 2 * t + (n & 1);
      double sum = w.reg<double>(p.c[n])[l];
      for (unsigned k = 0; k < p.k; ++k)
        sum = std::fma(a[row][k], b[k][col], sum);
      out[n] = sum;
    }
    for (unsigned n = 0; n < p.m / 4; ++n)
      w.reg<double>(p.d[n])[l] = out[n];
  }
}

/// Ring mode: inputs are converted to the accumulator's ring first.
void mmaRing(Warp &w, const Inst &i, uint32_t) {
  const auto &p = *static_cast<const MmaPlan *>(i.extra.get());
  Type sum = p.halfD ? Type::F16 : Type::F32;
  ring::Ring r(sum);
  auto factor = [&](Type type, uint32_t raw) {
    if (type == Type::TF32) // the register holds an f32
      return r.element(raw);
    return type == sum ? r.element(raw) : ring::convert(sum, type, raw);
  };
  thread_local uint32_t a[16][256];
  thread_local uint32_t b[256][8];
  readA(w, p, a, p.k);
  readB(w, p, b);
  uint64_t x[16][64], y[64][8];
  for (unsigned k = 0; k < p.k; ++k) {
    for (unsigned row = 0; row < p.m; ++row)
      x[row][k] = factor(p.aType, a[row][k]);
    for (unsigned col = 0; col < 8; ++col)
      y[k][col] = factor(p.bType, b[k][col]);
  }
  for (unsigned l = 0; l < 32; ++l) {
    unsigned g = l >> 2, t = l & 3;
    uint32_t out[4];
    for (unsigned n = 0; n < p.m / 4; ++n) {
      unsigned row = g + 8 * (n >> 1), col = 2 * t + (n & 1);
      uint64_t total =
          p.halfC ? w.reg<uint32_t>(p.c[n / 2])[l] >> 16 * (n & 1) & 0xffff
                  : w.reg<uint32_t>(p.c[n])[l];
      total = p.halfC == p.halfD
                  ? r.element(total)
                  : ring::convert(sum, p.halfC ? Type::F16 : Type::F32, total);
      for (unsigned k = 0; k < p.k; ++k)
        total = r.add(total, r.mul(x[row][k], y[k][col]));
      out[n] = uint32_t(total);
    }
    for (unsigned n = 0; n < p.m / 4; ++n)
      if (!p.halfD)
        w.reg<uint32_t>(p.d[n])[l] = out[n];
      else if (n % 2 == 0)
        w.reg<uint32_t>(p.d[n / 2])[l] = out[n] | out[n + 1] << 16;
  }
}

/// m8n8k4 of f16: four products on lanes {4q..4q+3, 16+4q..16+4q+3}.
void mmaVolta(Warp &w, const Inst &i, uint32_t) {
  const auto &p = *static_cast<const MmaPlan *>(i.extra.get());
  TensorModel m = model(w, p);
  float out[32][8];
  for (unsigned q = 0; q < 4; ++q) {
    double a[8][4], b[4][8];
    for (unsigned n = 0; n < 8; ++n) {
      unsigned l = n < 4 ? 4 * q + n : 16 + 4 * q + n - 4;
      unsigned r0 = n; // l%4 + (l>=16 ? 4 : 0)
      for (unsigned e = 0; e < 4; ++e) {
        double av = halfToFloat(
            uint16_t(w.reg<uint32_t>(p.a[e / 2])[l] >> 16 * (e & 1)));
        double bv = halfToFloat(
            uint16_t(w.reg<uint32_t>(p.b[e / 2])[l] >> 16 * (e & 1)));
        if (p.aRow)
          a[r0][e] = av;
        else
          a[e + (n < 4 ? 0 : 4)][n % 4] = av;
        if (p.bRow)
          b[n % 4][e + (n < 4 ? 0 : 4)] = bv;
        else
          b[e][r0] = bv;
      }
    }
    for (unsigned n = 0; n < 8; ++n) {
      unsigned l = n < 4 ? 4 * q + n : 16 + 4 * q + n - 4;
      for (unsigned e = 0; e < 8; ++e) {
        unsigned row, col;
        if (p.halfD) {
          row = n;
          col = e;
        } else {
          row = (l & 1) + (e & 2) + (n < 4 ? 0 : 4);
          col = (e & 4) + (l & 2) + (e & 1);
        }
        // C has the layout of its own type.
        float c;
        if (p.halfC)
          c = halfToFloat(
              uint16_t(w.reg<uint32_t>(p.c[e / 2])[l] >> 16 * (e & 1)));
        else
          c = w.reg<float>(p.c[e])[l];
        double x[4], y[4];
        for (unsigned k = 0; k < 4; ++k) {
          x[k] = a[row][k];
          y[k] = b[k][col];
        }
        out[l][e] = tensorDot(m, x, y, 4, c, nullptr);
      }
    }
  }
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned e = 0; e < 8; ++e) {
      if (!p.halfD)
        w.reg<float>(p.d[e])[l] = out[l][e];
      else if (e % 2 == 0)
        w.reg<uint32_t>(p.d[e / 2])[l] =
            floatToHalf(out[l][e]) | uint32_t(floatToHalf(out[l][e + 1])) << 16;
    }
}

} // namespace

unsigned keptColumn(const uint32_t *meta, unsigned row, unsigned n,
                    unsigned elementBits, unsigned selector) {
  if (elementBits == 16) { // 2 of 4, two bits each
    unsigned k = n / 2 * 4;
    unsigned lane = 4 * (row % 8) + 2 * selector + k / 16;
    unsigned bit = 16 * (row / 8) + 4 * (k % 16 / 4) + 2 * (n & 1);
    return k + (meta[lane] >> bit & 3);
  }
  if (elementBits == 32) { // tf32, 1 of 2
    unsigned k = n * 2;
    unsigned lane = 4 * (row % 8) + 2 * selector + k / 8;
    unsigned bit = 16 * (row / 8) + 4 * (k % 8 / 2);
    unsigned code = meta[lane] >> bit & 15;
    if (code != 0xe && code != 0x4)
      throw Fault{Fault::IllegalInstruction,
                  "sparse tf32 metadata must be 1110 or 0100"};
    return k + (code == 0xe ? 1 : 0);
  }
  if (elementBits == 8) {
    unsigned k = n / 2 * 4;
    unsigned lane = 4 * (row % 8) + row / 8 + 2 * (k / 32);
    unsigned bit = 4 * (k % 32 / 4) + 2 * (n & 1);
    return k + (meta[lane] >> bit & 3);
  }
  // 4-bit, pairs: 4 of 8
  unsigned k = n / 4 * 8, halfK = k / 2;
  unsigned lane = 4 * (row % 8) + row / 8 + 2 * (halfK / 32);
  unsigned bit = 4 * (halfK % 32 / 4) + 2 * (n / 2 & 1);
  return k + 2 * (meta[lane] >> bit & 3) + (n & 1);
}

int32_t signOf(uint32_t raw, unsigned bits, bool isSigned) {
  return isSigned ? int32_t(raw << (32 - bits)) >> (32 - bits) : int32_t(raw);
}

void finishInteger(Warp &w, const MmaPlan &p, const int64_t (*d)[8]) {
  for (unsigned l = 0; l < 32; ++l) {
    unsigned g = l >> 2, t = l & 3;
    int32_t out[4];
    for (unsigned n = 0; n < p.m / 4; ++n) {
      int64_t sum =
          d[g + 8 * (n >> 1)][2 * t + (n & 1)] + w.reg<int32_t>(p.c[n])[l];
      if (p.saturate)
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
      out[n] = int32_t(uint64_t(sum));
    }
    for (unsigned n = 0; n < p.m / 4; ++n)
      w.reg<int32_t>(p.d[n])[l] = out[n];
  }
}

void decodeMma(Decoder &d, Inst &inst) {
  inst.opClass = OpClass::Matrix;
  inst.flow = Flow::WarpSync;
  auto plan = std::make_shared<MmaPlan>();
  MmaPlan &p = *plan;
  inst.extra = plan;
  unsigned n = 0;
  for (std::string_view m : d.source->modifiers)
    if (m.size() > 4 && m[0] == 'm' &&
        std::sscanf(std::string(m).c_str(), "m%un%uk%u", &p.m, &n, &p.k) == 3)
      break;
  if (!p.m || n != 8)
    d.fail("needs a shape");
  bool sparse = d.has("sp") || d.has("sp::ordered_metadata");
  bool scaled = d.has("block_scale");
  std::vector<Type> types = d.source->types;
  if (types.size() < 4)
    d.fail("needs four types");
  p.aType = types[1];
  p.bType = types[2];
  p.halfD = types[0] == Type::F16;
  p.halfC = types[3] == Type::F16;
  p.saturate = d.has("satfinite");
  p.ordered = d.has("sp::ordered_metadata");
  p.aSigned = ptx::isSigned(p.aType);
  p.bSigned = ptx::isSigned(p.bType);
  p.bitOp = d.has("xor") ? 2 : d.has("and") ? 1 : 0;
  bool isDouble = p.aType == Type::F64;
  bool kinds = d.has("kind::f8f6f4") || d.has("kind::mxf8f6f4");
  p.containers = kinds;
  unsigned bits = p.aType == Type::TF32 ? 32 : ptx::typeBits(p.aType);
  if (kinds)
    bits = 8;
  p.elementBits = bits;
  p.perReg = isDouble ? 1 : 32 / bits;
  p.integer = types[0] == Type::S32;
  bool volta = p.m == 8 && p.k == 4 && p.aType == Type::F16;
  unsigned kA = sparse ? p.k / 2 : p.k;
  p.aRegs = volta ? 2 : p.m * kA / (32 * p.perReg);
  p.bRegs = volta ? 2 : 8 * p.k / (32 * p.perReg);
  if (!p.aRegs || !p.bRegs || p.aRegs > 8 || p.bRegs > 8)
    d.fail("shape does not fit the type");
  p.aRow = d.source->modifiers.size() > 2 && [&] {
    for (auto m : d.source->modifiers)
      if (m == "row" || m == "col")
        return m == "row";
    return true;
  }();
  unsigned seen = 0;
  for (auto m : d.source->modifiers)
    if (m == "row" || m == "col")
      if (++seen == 2)
        p.bRow = m == "row";
  if (!volta && (!p.aRow || p.bRow))
    d.fail("only .row.col exists for this shape");
  unsigned cRegs = volta ? (p.halfC ? 4 : 8) : p.m / 4 / (p.halfC ? 2 : 1);
  unsigned dRegs = volta ? (p.halfD ? 4 : 8) : p.m / 4 / (p.halfD ? 2 : 1);
  if (volta && p.halfC != p.halfD)
    d.fail("mixed accumulator types of m8n8k4 are not supported");
  unsigned width = isDouble ? 64 : 32;
  Type word = isDouble ? Type::F64 : Type::B32;
  auto vector = [&](const Operand &o, unsigned count, Ref *out, bool isDst) {
    std::vector<const Operand *> parts;
    if (o.kind == Operand::Vector)
      for (const Operand &e : o.elements)
        parts.push_back(&e);
    else
      parts.push_back(&o);
    if (parts.size() != count)
      d.fail(o, "expected a vector of " + std::to_string(count) +
                    " registers, found " + std::to_string(parts.size()));
    for (unsigned k = 0; k < count; ++k)
      out[k] = isDst ? d.dst(*parts[k], width) : d.src(*parts[k], word);
  };
  vector(d.operand(0), dRegs, p.d, true);
  vector(d.operand(1), p.aRegs, p.a, false);
  vector(d.operand(2), p.bRegs, p.b, false);
  vector(d.operand(3), cRegs, p.c, false);
  const Format *fa = tensorFormat(p.aType);
  if (!isDouble && !p.integer && (!fa || !tensorFormat(p.bType)))
    d.fail("this type is not supported");
  p.fullK =
      fa && ((p.aType == Type::TF32 && p.k == 8) ||
             (fa->bits() == 16 && p.k == 16) || (fa->bits() == 8 && p.k == 32));
  if (d.program.ring && !p.integer) {
    if (sparse || scaled || isDouble || volta || fa->bits() < 16 ||
        tensorFormat(p.bType)->bits() < 16)
      d.fail("is excluded from ring mode");
    inst.fn = mmaRing;
    return;
  }
  if (sparse) {
    if (scaled)
      d.fail("sparse block-scaled mma is not supported");
    bool confirmed = (bits == 16 && p.k == 32) || (bits == 32 && p.k == 16) ||
                     (bits == 8 && p.k == 64) || (bits == 4 && p.k == 128);
    if (!confirmed || d.operandCount() != 6)
      d.fail("not supported: the metadata lanes of this shape are not "
             "published (ptx.md 3.14)");
    p.metadata = d.src(d.operand(4), Type::B32);
    p.selector = d.immediate(d.operand(5));
    if (p.selector > 1)
      d.fail("sparsity selector must be 0 or 1");
    inst.fn = mmaSparse;
    return;
  }
  if (scaled) {
    if (types.size() != 5 || d.operandCount() != 8)
      d.fail("needs scale operands");
    p.scaleType = types[4];
    p.scaleCount = d.has("scale_vec::4X") ? 4 : d.has("scale_vec::2X") ? 2 : 1;
    auto one = [&](const Operand &o) -> const Operand & {
      return o.kind == Operand::Vector && o.elements.size() == 1 ? o.elements[0]
                                                                 : o;
    };
    p.scaleA = d.src(one(d.operand(4)), Type::B32);
    p.scaleB = d.src(one(d.operand(6)), Type::B32);
    for (int k : {5, 7}) {
      const Operand &o = d.operand(k);
      if (o.kind != Operand::Vector || o.elements.size() != 2)
        d.fail(o, "expected {byte, thread}");
      Ref byte = d.src(o.elements[0], Type::U16);
      Ref thread = d.src(o.elements[1], Type::U16);
      (k == 5 ? p.byteA : p.byteB) = byte;
      (k == 5 ? p.threadA : p.threadB) = thread;
    }
    inst.fn = mmaScaled;
    return;
  }
  if (isDouble) {
    if (d.has("rz") || d.has("rm") || d.has("rp"))
      d.fail("only .rn is supported");
    inst.fn = mmaDouble;
  } else if (volta) {
    inst.fn = mmaVolta;
  } else if (p.integer) {
    if ((p.aType == Type::B1) != (p.bitOp != 0))
      d.fail("needs .and.popc or .xor.popc exactly for .b1");
    inst.fn = mmaInteger;
  } else {
    inst.fn = mmaFloat;
  }
}

} // namespace tessera::sim
