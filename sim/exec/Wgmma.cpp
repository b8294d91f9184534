// wgmma.mma_async: matrices in and out; TensorCore.cpp does the numbers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Wgmma.h"

#include "sim/exec/Block.h"
#include "sim/exec/MatrixDescriptor.h"
#include "sim/exec/Mma.h"
#include "sim/exec/Ring.h"
#include "sim/exec/TensorCore.h"

namespace tessera::sim {

using ptx::Type;

namespace {

/// Rows of A, or columns of B, by element of K; raw bits.
template <unsigned Rows> struct Matrix {
  uint32_t at[Rows][64];
};

uint32_t *lanesOf(const WgmmaOp &op, Ref ref) {
  return reinterpret_cast<uint32_t *>(op.base[ref >> 31] +
                                      (ref & ~constantPool));
}

uint32_t elementOf(const uint32_t *words, unsigned bits, unsigned n) {
  if (bits == 32)
    return words[n];
  unsigned perWord = 32 / bits;
  return words[n / perWord] >> n % perWord * bits & ((1u << bits) - 1);
}

/// Calls f(address, mn, k) for the chunks of `rows` rows from `first` on.
template <class F>
void forChunks(uint64_t descriptor, bool kMajor, unsigned first, unsigned rows,
               unsigned k, unsigned perChunk, F f) {
  MatrixDescriptor m(descriptor);
  unsigned stepMn = kMajor ? 1 : perChunk, stepK = kMajor ? perChunk : 1;
  for (unsigned mn = 0; mn < rows; mn += stepMn)
    for (unsigned x = 0; x < k; x += stepK)
      f(m.chunk(kMajor, first + mn, x, perChunk), mn, x);
}

template <unsigned Rows>
void load(const Block &block, uint64_t descriptor, bool kMajor, unsigned first,
          unsigned rows, unsigned k, unsigned bits, Matrix<Rows> &to) {
  unsigned perChunk = 128 / bits;
  forChunks(descriptor, kMajor, first, rows, k, perChunk,
            [&](uint32_t address, unsigned mn, unsigned x) {
              uint32_t words[4];
              std::memcpy(words, block.shared + address, 16);
              for (unsigned n = 0; n < perChunk; ++n)
                (kMajor ? to.at[mn][x + n] : to.at[mn + n][x]) =
                    elementOf(words, bits, n);
            });
}

/// As mma.m16n8: row g + 8(r&1), k = (r>>1)*4E + t*E + j.
void loadFragment(const WgmmaOp &op, const WgmmaPlan &p, Matrix<16> &to) {
  unsigned each = 32 / p.elementBits;
  for (unsigned r = 0; r < 4; ++r) {
    const uint32_t *words = lanesOf(op, p.a[r]);
    for (unsigned l = 0; l < 32; ++l)
      for (unsigned j = 0; j < each; ++j)
        to.at[(l >> 2) + 8 * (r & 1)]
             [(r >> 1) * 4 * each + (l & 3) * each + j] =
            elementOf(&words[l], p.elementBits, j);
  }
}

/// The register and the half of it that hold (row, column) of eight columns.
struct Place {
  Ref ref;
  unsigned lane, shift;
};
Place placeOf(const WgmmaPlan &p, unsigned row, unsigned column) {
  unsigned block = column / 8, h = row / 8;
  unsigned lane = row % 8 * 4 + column % 8 / 2;
  if (p.halfD)
    return {p.d[2 * block + h], lane, column % 2 * 16};
  return {p.d[4 * block + 2 * h + column % 2], lane, 0};
}
uint32_t readD(const WgmmaOp &op, const WgmmaPlan &p, unsigned row,
               unsigned column) {
  if (!op.accumulates)
    return 0;
  Place at = placeOf(p, row, column);
  uint32_t word = lanesOf(op, at.ref)[at.lane] >> at.shift;
  return p.halfD ? word & 0xffff : word;
}
void writeD(const WgmmaOp &op, const WgmmaPlan &p, unsigned row,
            unsigned column, uint32_t value) {
  Place at = placeOf(p, row, column);
  uint32_t &word = lanesOf(op, at.ref)[at.lane];
  word = p.halfD ? (word & ~(0xffffu << at.shift)) | value << at.shift : value;
}

/// For row and kept element, the row of B that it is multiplied with.
using Columns = uint8_t[16][64];
void columnsOf(const WgmmaOp &op, const WgmmaPlan &p, Columns &columns) {
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned n = 0; n < p.storedK(); ++n)
      columns[row][n] =
          uint8_t(p.sparse ? keptColumn(op.metadata.data(), row, n,
                                        p.elementBits, p.selector)
                           : n);
}

void multiplyInteger(const WgmmaOp &op, const WgmmaPlan &p, const Matrix<16> &a,
                     const Matrix<256> &b, const Columns &columns) {
  int32_t x[16][64];
  unsigned count = p.storedK();
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned n = 0; n < count; ++n)
      x[row][n] =
          p.bits ? int32_t(a.at[row][n]) : signOf(a.at[row][n], 8, p.aSigned);
  for (unsigned column = 0; column < p.n; ++column) {
    int32_t y[64];
    for (unsigned k = 0; k < p.k; ++k)
      y[k] = p.bits ? int32_t(b.at[column][k])
                    : signOf(b.at[column][k], 8, p.bSigned);
    for (unsigned row = 0; row < 16; ++row) {
      int64_t sum = int32_t(readD(op, p, row, column));
      for (unsigned n = 0; n < count; ++n) {
        int32_t other = y[columns[row][n]];
        sum += p.bits ? std::popcount(uint32_t(x[row][n] & other))
                      : x[row][n] * other;
      }
      if (p.saturate)
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
      writeD(op, p, row, column, uint32_t(uint64_t(sum)));
    }
  }
}

void multiplyRing(const WgmmaOp &op, const WgmmaPlan &p, const Matrix<16> &a,
                  const Matrix<256> &b) {
  Type type = p.halfD ? Type::F16 : Type::F32;
  ring::Ring r(type);
  auto factor = [&](Type from, uint32_t raw, bool negated) {
    uint64_t x = from == Type::TF32 || from == type
                     ? r.element(raw)
                     : ring::convert(type, from, raw);
    return negated ? r.neg(x) : x;
  };
  uint64_t x[16][64];
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned k = 0; k < p.k; ++k)
      x[row][k] = factor(p.aType, a.at[row][k], p.aNegated);
  for (unsigned column = 0; column < p.n; ++column) {
    uint64_t y[64];
    for (unsigned k = 0; k < p.k; ++k)
      y[k] = factor(p.bType, b.at[column][k], p.bNegated);
    for (unsigned row = 0; row < 16; ++row) {
      uint64_t sum = r.element(readD(op, p, row, column));
      for (unsigned k = 0; k < p.k; ++k)
        sum = r.add(sum, r.mul(x[row][k], y[k]));
      writeD(op, p, row, column, uint32_t(sum));
    }
  }
}

TensorModel modelOf(const Warp &w, const WgmmaPlan &p) {
  const LaunchOptions &o = w.block->launch->options;
  TensorModel m = makeModel(o.tensorMode, o.arch, *tensorFormat(p.aType),
                            *tensorFormat(p.bType), p.halfD, p.k, false);
  if (p.elementBits == 8) { // what the published models say of wgmma
    m.fractionBits = 13;
    m.narrow = !p.halfD;
  }
  return m;
}

Factor factorOf(const Format &f, Type type, uint32_t raw, bool negated) {
  Factor x = factorOf(f, type == Type::TF32 ? raw >> 13 : raw);
  if (negated && x.significand != INT32_MAX) // a NaN stays
    x.significand = -x.significand;
  return x;
}

void multiplyFloat(const Warp &w, const WgmmaOp &op, const WgmmaPlan &p,
                   const Matrix<16> &a, const Matrix<256> &b) {
  TensorModel m = modelOf(w, p);
  thread_local Factor x[16][64];
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned k = 0; k < p.k; ++k)
      x[row][k] = factorOf(*m.a, p.aType, a.at[row][k], p.aNegated);
  for (unsigned first = 0; first < p.n; first += 8) {
    int32_t bs[64][8], be[64][8];
    float c[16][8], d[16][8];
    for (unsigned j = 0; j < 8; ++j) {
      for (unsigned k = 0; k < p.k; ++k) {
        Factor y = factorOf(*m.b, p.bType, b.at[first + j][k], p.bNegated);
        bs[k][j] = y.significand;
        be[k][j] = y.exponent;
      }
      for (unsigned row = 0; row < 16; ++row) {
        uint32_t word = readD(op, p, row, first + j);
        c[row][j] =
            p.halfD ? halfToFloat(uint16_t(word)) : std::bit_cast<float>(word);
      }
    }
    tensorTile(m, 16, p.k, x, bs, be, c, d);
    for (unsigned row = 0; row < 16; ++row)
      for (unsigned j = 0; j < 8; ++j)
        writeD(op, p, row, first + j,
               p.halfD ? floatToHalf(d[row][j])
                       : std::bit_cast<uint32_t>(d[row][j]));
  }
}

void multiplySparse(const Warp &w, const WgmmaOp &op, const WgmmaPlan &p,
                    const Matrix<16> &a, const Matrix<256> &b,
                    const Columns &columns) {
  TensorModel m = modelOf(w, p);
  auto value = [](const Format &f, Type type, uint32_t raw, bool negated) {
    double x = toDouble(f, type == Type::TF32 ? raw >> 13 : raw);
    return negated ? -x : x;
  };
  for (unsigned column = 0; column < p.n; ++column)
    for (unsigned row = 0; row < 16; ++row) {
      double x[64], y[64];
      for (unsigned n = 0; n < p.storedK(); ++n) {
        x[n] = value(*m.a, p.aType, a.at[row][n], p.aNegated);
        y[n] = value(*m.b, p.bType, b.at[column][columns[row][n]], p.bNegated);
      }
      uint32_t word = readD(op, p, row, column);
      float c =
          p.halfD ? halfToFloat(uint16_t(word)) : std::bit_cast<float>(word);
      float d = tensorDot(m, x, y, p.storedK(), c, nullptr);
      writeD(op, p, row, column,
             p.halfD ? floatToHalf(d) : std::bit_cast<uint32_t>(d));
    }
}

} // namespace

std::vector<uint32_t> chunksOf(Warp &w, const WgmmaOp &op) {
  const auto &p = *static_cast<const WgmmaPlan *>(op.inst->extra.get());
  std::vector<uint32_t> chunks;
  auto add = [&](uint32_t address, unsigned, unsigned) {
    if (address + 16 > w.block->sharedBytes)
      throw Fault{
          Fault::IllegalAddress,
          "wgmma reads 16 bytes at shared address " + std::to_string(address) +
              " as its descriptor says: the block has " +
              std::to_string(w.block->sharedBytes) + " bytes of shared memory",
          address};
    chunks.push_back(address);
  };
  unsigned perChunk = 128 / p.elementBits;
  if (!p.aInRegisters)
    forChunks(op.a, p.aKMajor, w.index % 4 * 16, 16, p.storedK(), perChunk,
              add);
  forChunks(op.b, p.bKMajor, 0, p.n, p.k, perChunk, add);
  return chunks;
}

void multiply(Warp &w, const WgmmaOp &op) {
  const auto &p = *static_cast<const WgmmaPlan *>(op.inst->extra.get());
  thread_local Matrix<16> a;
  thread_local Matrix<256> b;
  if (p.aInRegisters)
    loadFragment(op, p, a);
  else
    load(*w.block, op.a, p.aKMajor, w.index % 4 * 16, 16, p.storedK(),
         p.elementBits, a);
  load(*w.block, op.b, p.bKMajor, 0, p.n, p.k, p.elementBits, b);
  if (p.ring)
    return multiplyRing(op, p, a, b);
  if (!p.integer && !p.sparse)
    return multiplyFloat(w, op, p, a, b);
  Columns columns;
  columnsOf(op, p, columns);
  if (p.integer)
    multiplyInteger(op, p, a, b, columns);
  else
    multiplySparse(w, op, p, a, b, columns);
}

} // namespace tessera::sim
