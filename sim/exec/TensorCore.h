// How a tensor core multiplies and adds.
//
// The ISA leaves order and rounding open. Mode Hardware follows the published
// bit-level models (arXiv 2511.10909 and 2512.07004): all products of one step
// and the addend are aligned to the largest exponent, cut toward zero to F
// fraction bits, added exactly, and the sum is rounded once (f32 toward zero,
// f16 to nearest even). F is 23 on sm_70, 24 on sm_75 to sm_89, 25 from sm_90;
// 13 for fp8 on sm_89, whose f32 result keeps 13 bits. sm_80 to sm_89 do the
// full K in two steps. Mode Ieee adds in f64 and rounds once to nearest.
// sm_120 and sparse products are assumed to behave like their dense relatives.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/Launch.h"
#include "sim/exec/SmallFloat.h"

namespace tessera::sim {

/// A factor: significand * 2^(exponent - fraction bits of its format).
struct Factor {
  int32_t significand; // signed
  int32_t exponent;
};
constexpr int32_t specialExponent = 1 << 20; // infinity or NaN

struct TensorModel {
  TensorMode mode = TensorMode::Hardware;
  int fractionBits = 24;
  bool splitK = false;
  bool halfResult = false; // f16 accumulator
  bool narrow = false;     // f32 result with 13 fraction bits
  const Format *a = nullptr, *b = nullptr;
};

TensorModel makeModel(TensorMode mode, unsigned arch, const Format &a,
                      const Format &b, bool halfResult, unsigned k, bool fullK);

Factor factorOf(const Format &f, uint32_t bits);

/// One element: sum of a[i]*b[i]*2^scale[i] plus c. `scale` may be null.
float tensorDot(const TensorModel &model, const double *a, const double *b,
                unsigned count, double c, const int *scale);
/// mxf4 and nvf4: exact sums of 16 products, each scaled, F = 35.
float tensorDotScaled(const TensorModel &model, const double *a,
                      const double *b, unsigned count, double c,
                      const double *scaleA, const double *scaleB,
                      unsigned block);

/// A whole m16n8kK product, vectorised over the columns. Rows of `a` beyond
/// m are not touched. c and d are [16][8] f32 values (also for f16 results).
void tensorTile(const TensorModel &model, unsigned m, unsigned k,
                const Factor (*a)[64], const int32_t (*bs)[8],
                const int32_t (*be)[8], const float (*c)[8], float (*d)[8]);

} // namespace tessera::sim
