// Rounding to and reading from every binary format PTX names.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace tessera::sim {

enum class Round : uint8_t { Nearest, Zero, Down, Up, NearestAway };

struct Format {
  int exponentBits, mantissaBits, bias;
  bool hasInf, hasNan, hasSign;
  constexpr int bits() const {
    return exponentBits + mantissaBits + (hasSign ? 1 : 0);
  }
  /// Largest finite magnitude, as bits.
  constexpr uint64_t maxFinite() const {
    uint64_t all = (1ull << (exponentBits + mantissaBits)) - 1;
    if (hasInf)
      return ((((1ull << exponentBits) - 1) << mantissaBits) - 1);
    return hasNan ? all - 1 : all;
  }
  constexpr uint64_t infinity() const {
    return ((1ull << exponentBits) - 1) << mantissaBits;
  }
  /// The canonical NaN: all ones below the sign.
  constexpr uint64_t nan() const {
    return (1ull << (exponentBits + mantissaBits)) - 1;
  }
};

constexpr Format formatF64{11, 52, 1023, true, true, true};
constexpr Format formatF32{8, 23, 127, true, true, true};
constexpr Format formatTF32{8, 10, 127, true, true, true};
constexpr Format formatF16{5, 10, 15, true, true, true};
constexpr Format formatBF16{8, 7, 127, true, true, true};
constexpr Format formatE5M2{5, 2, 15, true, true, true};
constexpr Format formatE4M3{4, 3, 7, false, true, true};
constexpr Format formatE3M2{3, 2, 3, false, false, true};
constexpr Format formatE2M3{2, 3, 1, false, false, true};
constexpr Format formatE2M1{2, 1, 1, false, false, true};
constexpr Format formatUE4M3{4, 3, 7, false, true, false};

/// Rounds magnitude * 2^exponent (sticky: plus something below one unit).
/// `saturate` turns overflow into the largest finite value.
inline uint64_t roundTo(const Format &f, bool negative, uint64_t magnitude,
                        int exponent, Round round, bool saturate,
                        bool sticky = false) {
  uint64_t sign =
      f.hasSign && negative ? 1ull << (f.exponentBits + f.mantissaBits) : 0;
  if (!magnitude && !sticky)
    return sign;
  uint64_t mantissa = 0;
  int biased = 0;
  if (magnitude) {
    int top = 63 - std::countl_zero(magnitude) + exponent; // of the value
    int lowest = 1 - f.bias - f.mantissaBits;
    int unit = top - f.mantissaBits; // weight of the last kept bit
    if (unit < lowest)
      unit = lowest;
    int drop = unit - exponent;
    uint64_t rest = 0, half = 0;
    if (drop <= 0) {
      mantissa = magnitude << -drop;
    } else if (drop >= 64) {
      rest = drop == 64 ? magnitude : (magnitude >> 1 | 1);
      half = 1ull << 63;
      if (drop > 64)
        rest = 1; // far below one half
    } else {
      mantissa = magnitude >> drop;
      rest = magnitude & ((1ull << drop) - 1);
      half = 1ull << (drop - 1);
    }
    bool inexact = rest || sticky;
    bool up = false;
    switch (round) {
    case Round::Nearest:
      up = drop > 0 &&
           (rest > half || (rest == half && (sticky || (mantissa & 1))));
      break;
    case Round::NearestAway:
      up = drop > 0 && rest >= half;
      break;
    case Round::Zero:
      break;
    case Round::Down:
      up = negative && inexact;
      break;
    case Round::Up:
      up = !negative && inexact;
      break;
    }
    mantissa += up;
    // The implicit bit makes mantissa and exponent one number.
    biased = unit - lowest;
    uint64_t bits;
    if (mantissa >> f.mantissaBits == 0)
      bits = mantissa; // subnormal
    else if (mantissa >> (f.mantissaBits + 1))
      bits = (uint64_t(biased + 2) << f.mantissaBits);
    else
      bits = (uint64_t(biased) << f.mantissaBits) + mantissa;
    if (bits > f.maxFinite()) {
      bool toInfinity = round == Round::Nearest ||
                        round == Round::NearestAway ||
                        (round == Round::Down && negative) ||
                        (round == Round::Up && !negative);
      if (saturate || !toInfinity || (!f.hasInf && !f.hasNan))
        bits = f.maxFinite();
      else
        bits = f.hasInf ? f.infinity() : f.nan();
    }
    return sign | bits;
  }
  // Only a sticky rest: smaller than any bit we know.
  bool up =
      (round == Round::Down && negative) || (round == Round::Up && !negative);
  return sign | (up ? 1 : 0);
}

/// Rounds a double. NaN becomes the canonical NaN (largest finite value where
/// the format has none).
inline uint64_t roundTo(const Format &f, double x, Round round, bool saturate) {
  uint64_t bits = std::bit_cast<uint64_t>(x);
  bool negative = bits >> 63;
  int e = bits >> 52 & 0x7ff;
  uint64_t m = bits & ((1ull << 52) - 1);
  if (e == 0x7ff) {
    if (m)
      return f.hasNan ? f.nan() : f.maxFinite();
    uint64_t sign =
        f.hasSign && negative ? 1ull << (f.exponentBits + f.mantissaBits) : 0;
    if (saturate || (!f.hasInf && !f.hasNan))
      return sign | f.maxFinite();
    return sign | (f.hasInf ? f.infinity() : f.nan());
  }
  if (e)
    m |= 1ull << 52;
  else
    e = 1;
  return roundTo(f, negative, m, e - 1075, round, saturate);
}

inline double toDouble(const Format &f, uint64_t bits) {
  bool negative = f.hasSign && (bits >> (f.exponentBits + f.mantissaBits) & 1);
  uint64_t e = bits >> f.mantissaBits & ((1ull << f.exponentBits) - 1);
  uint64_t m = bits & ((1ull << f.mantissaBits) - 1);
  double value;
  uint64_t top = (1ull << f.exponentBits) - 1;
  if (f.hasInf && e == top)
    value = m ? std::bit_cast<double>(0x7ff8000000000000ull) : INFINITY;
  else if (!f.hasInf && f.hasNan && (bits & f.nan()) == f.nan())
    value = std::bit_cast<double>(0x7ff8000000000000ull);
  else if (e == 0)
    value = std::ldexp(double(m), 1 - f.bias - f.mantissaBits);
  else
    value = std::ldexp(double(m | 1ull << f.mantissaBits),
                       int(e) - f.bias - f.mantissaBits);
  return negative ? -value : value;
}

/// a + b rounded to odd: rounding the result again to a format with at least
/// two bits less gives the correctly rounded sum.
inline double addOdd(double a, double b) {
  double s = a + b;
  if (!std::isfinite(s))
    return s;
  double bb = s - a;
  double error = (a - (s - bb)) + (b - bb);
  if (error == 0)
    return s;
  uint64_t bits = std::bit_cast<uint64_t>(s);
  if (bits & 1)
    return s;
  // Move toward the error's side, to the odd neighbour.
  bool away = (error > 0) == (s > 0);
  return std::bit_cast<double>(away ? bits + 1 : bits - 1);
}

inline float halfToFloat(uint16_t h) {
#ifdef __FLT16_MANT_DIG__
  return float(std::bit_cast<_Float16>(h));
#else
  return float(toDouble(formatF16, h));
#endif
}
inline uint16_t floatToHalf(float f) {
  if (f != f)
    return 0x7fff;
#ifdef __FLT16_MANT_DIG__
  return std::bit_cast<uint16_t>(_Float16(f));
#else
  return uint16_t(roundTo(formatF16, f, Round::Nearest, false));
#endif
}
inline float bfloatToFloat(uint16_t h) {
  return std::bit_cast<float>(uint32_t(h) << 16);
}
inline uint16_t floatToBfloat(float f) {
  uint32_t u = std::bit_cast<uint32_t>(f);
  if (f != f)
    return 0x7fff;
  return uint16_t((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

/// Canonical NaN of 32-bit results; payloads are not kept.
inline float canonical(float f) {
  return f != f ? std::bit_cast<float>(0x7fffffffu) : f;
}
inline double canonical(double f) { return f; }

inline float flush(float f) {
  uint32_t u = std::bit_cast<uint32_t>(f);
  return (u & 0x7f800000) ? f : std::bit_cast<float>(u & 0x80000000);
}
inline double flush(double f) { return f; }

template <class T> inline T saturate01(T f) {
  return f > T(0) ? (f < T(1) ? f : T(1)) : T(0); // NaN: 0
}

} // namespace tessera::sim
