//===- Roundoff.h - What a rounding may be off, by type ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Unit roundoffs, distances of neighbours and gamma(n) of the float types, for
// the derived bounds (Bound.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_INTERPRETER_ROUNDOFF_H
#define TESSERA_COMPILER_INTERPRETER_ROUNDOFF_H

#include "compiler/Interpreter/Element.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::interpreter {

struct Format {
  int precision; // bits, the hidden one included
  int least;     // exponent of the smallest subnormal
  long double largest;
};

inline Format formatOf(Element e) {
  switch (e) {
  case Element::F8E4M3:
    return {4, -9, 448};
  case Element::F8E5M2:
    return {3, -16, 57344};
  case Element::F16:
    return {11, -24, 65504};
  case Element::BF16:
    return {8, -133, 0x1.fep127L};
  case Element::TF32:
    return {11, -136, 0x1.ffcp127L};
  case Element::F32:
    return {24, -149, 0x1.fffffep127L};
  default:
    return {53, -1074, 0x1.fffffffffffffp1023L};
  }
}

inline long double unit(Element e) {
  return std::ldexp(1.0L, -formatOf(e).precision);
}

/// The absolute error of a rounding near zero. AMX flushes subnormals of f32.
inline long double tiny(Element e) {
  if (e == Element::F32 || e == Element::BF16 || e == Element::TF32)
    return 0x1p-126L;
  return std::ldexp(1.0L, formatOf(e).least - 1);
}

/// The distance of neighbours at a value.
inline long double ulp(Element e, long double value) {
  Format format = formatOf(e);
  if (value == 0)
    return std::ldexp(1.0L, format.least);
  int exponent =
      std::max(std::ilogb(value) - format.precision + 1, format.least);
  return std::ldexp(1.0L, exponent);
}

inline long double gamma(long double n, int precision) {
  long double nu = std::ldexp(n, -precision);
  return nu < 1 ? nu / (1 - nu) : std::numeric_limits<long double>::infinity();
}
inline long double gamma(long double n, Element e) {
  return gamma(n, formatOf(e).precision);
}

/// The exponent of the lowest bit of a finite value; large for 0.
inline int lowestBit(long double value) {
  if (value == 0)
    return 1 << 20;
  int exponent;
  long double mantissa = std::frexp(std::fabs(value), &exponent);
  uint64_t bits = uint64_t(std::ldexp(mantissa, 64));
  return exponent - 64 + __builtin_ctzll(bits);
}

} // namespace tessera::interpreter

#endif // TESSERA_COMPILER_INTERPRETER_ROUNDOFF_H
