// The arithmetic of tensor cores, see TensorCore.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/TensorCore.h"

#include <algorithm>

namespace tessera::sim {

TensorModel makeModel(TensorMode mode, unsigned arch, const Format &a,
                      const Format &b, bool halfResult, unsigned k,
                      bool fullK) {
  TensorModel m;
  m.mode = mode;
  m.a = &a;
  m.b = &b;
  m.halfResult = halfResult;
  m.fractionBits = arch < 75 ? 23 : arch < 90 ? 24 : 25;
  bool fp8 = a.bits() == 8;
  if (fp8 && arch == 89) {
    m.fractionBits = 13;
    m.narrow = !halfResult;
  }
  m.splitK = fullK && arch >= 80 && arch < 90;
  return m;
}

Factor factorOf(const Format &f, uint32_t bits) {
  uint32_t e = bits >> f.mantissaBits & ((1u << f.exponentBits) - 1);
  int32_t s = int32_t(bits & ((1u << f.mantissaBits) - 1));
  bool negative = f.hasSign && (bits >> (f.exponentBits + f.mantissaBits) & 1);
  bool special = f.hasInf   ? e == (1u << f.exponentBits) - 1
                 : f.hasNan ? (bits & uint32_t(f.nan())) == uint32_t(f.nan())
                            : false;
  if (special) // the largest significand is NaN, otherwise an infinity
    return {f.hasInf && !s ? (negative ? -1 : 1) : INT32_MAX, specialExponent};
  int32_t exponent;
  if (e) {
    s |= 1 << f.mantissaBits;
    exponent = int32_t(e) - f.bias;
  } else {
    exponent = s ? 1 - f.bias : -126; // zero: the lowest there is
  }
  return {negative ? -s : s, exponent};
}

namespace {

/// Rounds sum * 2^exponent as the model says.
float finish(const TensorModel &m, int64_t sum, int exponent) {
  bool negative = sum < 0;
  uint64_t magnitude = negative ? uint64_t(-sum) : uint64_t(sum);
  if (!magnitude)
    return 0.0f;
  if (m.halfResult) {
    uint64_t h = roundTo(formatF16, negative, magnitude, exponent,
                         Round::Nearest, false);
    return halfToFloat(uint16_t(h));
  }
  int top = 63 - std::countl_zero(magnitude) + exponent;
  if (top > 127)
    return negative ? -INFINITY : INFINITY;
  uint32_t bits = uint32_t(
      roundTo(formatF32, negative, magnitude, exponent, Round::Zero, false));
  if (m.narrow)
    bits &= ~0x3ffu; // 13 of 23 fraction bits stay
  return std::bit_cast<float>(bits);
}

float special(const TensorModel &m, double sum) {
  if (sum != sum)
    return std::bit_cast<float>(0x7fffffffu);
  return float(sum);
}

/// Significand in [1,2) or subnormal, and exponent, of a value.
void partsOf(double x, int minExponent, double &significand, int &exponent) {
  if (x == 0) {
    significand = 0;
    exponent = -126;
    return;
  }
  significand = std::frexp(x, &exponent) * 2;
  --exponent;
  if (exponent < minExponent) {
    significand = std::ldexp(significand, exponent - minExponent);
    exponent = minExponent;
  }
}

float roundIeee(const TensorModel &m, double sum) {
  if (m.halfResult)
    return halfToFloat(
        uint16_t(roundTo(formatF16, sum, Round::Nearest, false)));
  return canonical(float(sum));
}

float dotStep(const TensorModel &m, const double *a, const double *b,
              unsigned count, double c, const int *scale) {
  double plain = c;
  for (unsigned k = 0; k < count; ++k)
    plain += a[k] * b[k];
  if (!std::isfinite(plain))
    return special(m, plain);
  double s[65];
  int e[65];
  partsOf(c, m.halfResult ? -14 : -126, s[0], e[0]);
  int highest = e[0];
  for (unsigned k = 0; k < count; ++k) {
    double sa, sb;
    int ea, eb;
    partsOf(a[k], 1 - m.a->bias, sa, ea);
    partsOf(b[k], 1 - m.b->bias, sb, eb);
    s[k + 1] = sa * sb;
    e[k + 1] = ea + eb + (scale ? scale[k] : 0);
    highest = std::max(highest, e[k + 1]);
  }
  int64_t sum = 0;
  for (unsigned k = 0; k <= count; ++k)
    sum +=
        int64_t(std::trunc(std::ldexp(s[k], m.fractionBits + e[k] - highest)));
  return finish(m, sum, highest - m.fractionBits);
}

} // namespace

float tensorDot(const TensorModel &m, const double *a, const double *b,
                unsigned count, double c, const int *scale) {
  if (m.mode == TensorMode::Ieee) {
    double sum = c;
    for (unsigned k = 0; k < count; ++k)
      sum += std::ldexp(a[k] * b[k], scale ? scale[k] : 0);
    return roundIeee(m, sum);
  }
  if (!m.splitK)
    return dotStep(m, a, b, count, c, scale);
  unsigned half = count / 2;
  float first = dotStep(m, a, b, half, c, scale);
  return dotStep(m, a + half, b + half, half, first,
                 scale ? scale + half : nullptr);
}

float tensorDotScaled(const TensorModel &m, const double *a, const double *b,
                      unsigned count, double c, const double *scaleA,
                      const double *scaleB, unsigned block) {
  double plain = c, partial[8];
  int n = 0;
  for (unsigned k = 0; k < count; k += 16) {
    double sum = 0;
    for (unsigned j = k; j < k + 16; ++j)
      sum += a[j] * b[j];
    partial[n++] = sum;
    plain += sum * scaleA[k / block] * scaleB[k / block];
  }
  if (m.mode == TensorMode::Ieee || !std::isfinite(plain))
    return m.mode == TensorMode::Ieee ? roundIeee(m, plain) : special(m, plain);
  constexpr int fraction = 35;
  double s[9];
  int e[9];
  partsOf(c, -126, s[0], e[0]);
  int highest = e[0];
  for (int k = 0; k < n; ++k) {
    double s0, s1;
    int e0, e1;
    partsOf(scaleA[k * 16 / block], -127, s0, e0);
    partsOf(scaleB[k * 16 / block], -127, s1, e1);
    s[k + 1] = partial[k] * s0 * s1;
    e[k + 1] = e0 + e1;
    highest = std::max(highest, e[k + 1]);
  }
  int64_t sum = 0;
  for (int k = 0; k <= n; ++k)
    sum += int64_t(std::trunc(std::ldexp(s[k], fraction + e[k] - highest)));
  return finish(m, sum, highest - fraction);
}

namespace {

/// One step over `count` products for one row: all eight columns at once.
void rowStep(const TensorModel &m, const Factor *a, unsigned count,
             const int32_t (*bs)[8], const int32_t (*be)[8], const float *c,
             float *d, int shiftBase) {
  alignas(64) int32_t highest[8], cs[8], ce[8];
  alignas(64) int64_t sum[8];
  bool halfC = m.halfResult;
  for (int j = 0; j < 8; ++j) {
    uint32_t bits = std::bit_cast<uint32_t>(c[j]);
    int32_t e = int32_t(bits >> 23 & 255), s = int32_t(bits & 0x7fffff);
    s = e ? s | 0x800000 : s;
    e = e ? e - 127 : -126;
    int32_t minimum = halfC ? -14 : -126;
    // A subnormal f16 addend is a normal f32: undo the normalisation.
    int32_t down = s && e < minimum ? minimum - e : 0;
    s = down < 31 ? s >> down : 0;
    e += down;
    cs[j] = bits >> 31 ? -s : s;
    ce[j] = e;
    highest[j] = e;
  }
  for (unsigned k = 0; k < count; ++k)
    for (int j = 0; j < 8; ++j) {
      int32_t e = a[k].exponent + be[k][j];
      highest[j] = e > highest[j] ? e : highest[j];
    }
  auto shifted = [](int32_t v, int32_t shift) {
    // Toward zero: shift the magnitude.
    uint32_t magnitude = uint32_t(v < 0 ? -v : v);
    uint32_t right = uint32_t(shift < 0 ? -shift : 0);
    uint32_t left = uint32_t(shift > 0 ? shift : 0);
    uint32_t r = right > 31 ? 0 : magnitude >> (right & 31);
    r <<= (left & 31);
    return v < 0 ? -int32_t(r) : int32_t(r);
  };
  int cShift = m.fractionBits - 23;
  for (int j = 0; j < 8; ++j)
    sum[j] = shifted(cs[j], cShift + ce[j] - highest[j]);
  // Eight aligned products stay below 2^31; their sums are added in 64 bits.
  for (unsigned first = 0; first < count; first += 8) {
    alignas(64) int32_t part[8] = {};
    unsigned end = std::min(first + 8, count);
    for (unsigned k = first; k < end; ++k) {
      int32_t as = a[k].significand, ae = a[k].exponent;
      for (int j = 0; j < 8; ++j)
        part[j] +=
            shifted(as * bs[k][j], shiftBase + ae + be[k][j] - highest[j]);
    }
    for (int j = 0; j < 8; ++j)
      sum[j] += part[j];
  }
  for (int j = 0; j < 8; ++j)
    d[j] = finish(m, sum[j], highest[j] - m.fractionBits);
}

} // namespace

void tensorTile(const TensorModel &m, unsigned rows, unsigned k,
                const Factor (*a)[64], const int32_t (*bs)[8],
                const int32_t (*be)[8], const float (*c)[8], float (*d)[8]) {
  bool plain = m.mode == TensorMode::Hardware;
  for (unsigned i = 0; i < rows && plain; ++i)
    for (unsigned x = 0; x < k; ++x)
      plain &= a[i][x].exponent != specialExponent;
  for (unsigned x = 0; x < k && plain; ++x)
    for (int j = 0; j < 8; ++j)
      plain &= be[x][j] != specialExponent;
  for (unsigned i = 0; i < rows && plain; ++i)
    for (int j = 0; j < 8; ++j)
      plain &= bool(std::isfinite(c[i][j]));
  int shiftBase = m.fractionBits - m.a->mantissaBits - m.b->mantissaBits;
  unsigned step = m.splitK ? k / 2 : k;
  if (plain) {
    for (unsigned i = 0; i < rows; ++i) {
      rowStep(m, a[i], step, bs, be, c[i], d[i], shiftBase);
      if (m.splitK)
        rowStep(m, a[i] + step, step, bs + step, be + step, d[i], d[i],
                shiftBase);
    }
    return;
  }
  auto value = [](const Factor &f, const Format &format) {
    if (f.exponent == specialExponent)
      return f.significand == INT32_MAX ? double(NAN)
                                        : f.significand * double(INFINITY);
    return std::ldexp(double(f.significand), f.exponent - format.mantissaBits);
  };
  for (unsigned i = 0; i < rows; ++i)
    for (int j = 0; j < 8; ++j) {
      double x[64], y[64];
      for (unsigned n = 0; n < k; ++n) {
        x[n] = value(a[i][n], *m.a);
        y[n] = value({bs[n][j], be[n][j]}, *m.b);
      }
      d[i][j] = tensorDot(m, x, y, k, c[i][j], nullptr);
    }
}

} // namespace tessera::sim
