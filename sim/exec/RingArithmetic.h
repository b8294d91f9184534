// The integer ring of ring mode (Ring.h says what it is for): its arithmetic
// alone, for the simulator and for compiler/Interpreter. Header only.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/ptx/Types.h"
#include <bit>
#include <cmath>
#include <cstdint>

namespace tessera::sim::ring {

/// Tags of the opaque functions.
enum Tag : uint64_t {
  rcpTag = 1,
  sqrtTag,
  rsqrtTag,
  lg2Tag,
  sinTag,
  cosTag,
  tanhTag,
  absTag,
  convertTag = 0x1000,
  constantTag = 0x2000,
  firstFreeTag = 0x3000, // what only the interpreter knows
};

constexpr uint64_t maskOf(unsigned bits) { return (1ull << (bits - 1)) - 1; }
/// Minus infinity; the 16-bit formats differ only in it.
constexpr uint64_t minusInfinity(ptx::Type type) {
  switch (type) {
  case ptx::Type::F16:
    return 0xfc00;
  case ptx::Type::BF16:
    return 0xff80;
  case ptx::Type::F64:
    return 0xfff0000000000000ull;
  default:
    return 0xff800000;
  }
}
constexpr unsigned bitsOf(ptx::Type type) {
  switch (type) {
  case ptx::Type::F16:
  case ptx::Type::BF16:
    return 16;
  case ptx::Type::F64:
    return 64;
  default:
    return 32;
  }
}

/// Arithmetic of one element type (f16, bf16, f32, tf32, f64).
struct Ring {
  unsigned bits;
  uint64_t mask, lowest;
  constexpr explicit Ring(ptx::Type type)
      : bits(bitsOf(type)), mask(maskOf(bits)), lowest(minusInfinity(type)) {}
  uint64_t element(uint64_t x) const { return x == lowest ? x : x & mask; }
  bool isLowest(uint64_t x) const { return x == lowest; }
  uint64_t add(uint64_t a, uint64_t b) const {
    return isLowest(a) || isLowest(b) ? lowest : (a + b) & mask;
  }
  uint64_t mul(uint64_t a, uint64_t b) const {
    return isLowest(a) || isLowest(b) ? lowest : a * b & mask;
  }
  uint64_t neg(uint64_t a) const {
    return isLowest(a) ? lowest : (0 - a) & mask;
  }
  bool less(uint64_t a, uint64_t b) const {
    if (isLowest(a) || isLowest(b))
      return isLowest(a) && !isLowest(b);
    return (a & mask) < (b & mask);
  }
  uint64_t exp2(uint64_t a) const {
    if (isLowest(a))
      return 0;
    // The order of 5 modulo 2^k divides 2^k: 5^(a+b) is 5^a * 5^b.
    uint64_t result = 1, base = 5;
    for (uint64_t n = a & mask; n; n >>= 1) {
      if (n & 1)
        result *= base;
      base *= base;
    }
    return result & mask;
  }
  /// Another pseudo-random element for every pair of tag and input.
  uint64_t opaque(uint64_t tag, uint64_t a) const {
    uint64_t z = element(a) + 0x9e3779b97f4a7c15ull * (tag + 1);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return (z ^ z >> 31) & mask;
  }
};

/// An element that exists in both types stays: widening and back is nothing,
/// and from one 16-bit format to the other one may go through f32.
inline uint64_t convert(ptx::Type to, ptx::Type from, uint64_t x) {
  Ring source(from), target(to);
  x = source.element(x);
  if (source.isLowest(x))
    return target.lowest;
  if (x == source.mask)
    return target.mask;
  if (x < target.mask)
    return x;
  return target.opaque(convertTag + unsigned(to) * 64 + unsigned(from), x);
}

/// The element a number written in the program stands for.
inline uint64_t constant(ptx::Type type, double value) {
  Ring r(type);
  if (value == -INFINITY)
    return r.lowest;
  if (value == INFINITY) // the identity of min
    return r.mask;
  if (value == std::trunc(value) && std::fabs(value) < 0x1p53)
    return uint64_t(int64_t(value)) & r.mask;
  return r.opaque(constantTag, std::bit_cast<uint64_t>(value) >> 1);
}

} // namespace tessera::sim::ring
