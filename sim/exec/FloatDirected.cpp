// Directed rounding, by setting the machine's rounding mode around a loop.
// Compiled with -frounding-math.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/FloatDirected.h"

#include "sim/exec/Warp.h"
#include <cfenv>

#if defined(__clang__)
#pragma STDC FENV_ACCESS ON
#endif

namespace tessera::sim {

namespace {

struct Mode {
  int before = std::fegetround();
  explicit Mode(uint8_t round) {
    constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                             FE_UPWARD};
    std::fesetround(modes[round]);
  }
  ~Mode() { std::fesetround(before); }
};

template <FloatOp Op, class T>
__attribute__((noinline)) T compute(T a, T b, T c) {
  volatile T x = a, y = b, z = c;
  volatile T r;
  switch (Op) {
  case FloatOp::Add:
    r = x + y;
    break;
  case FloatOp::Sub:
    r = x - y;
    break;
  case FloatOp::Mul:
    r = x * y;
    break;
  case FloatOp::Fma:
    r = std::fma(T(x), T(y), T(z));
    break;
  case FloatOp::Div:
    r = x / y;
    break;
  case FloatOp::Rcp:
    r = T(1) / x;
    break;
  case FloatOp::Sqrt:
    r = std::sqrt(T(x));
    break;
  }
  return r;
}

template <FloatOp Op, class T, unsigned Pack>
void directed(Warp &w, const Inst &i, uint32_t mask) {
  constexpr bool two = Op != FloatOp::Rcp && Op != FloatOp::Sqrt;
  auto *d = w.reg<T>(i.ops[0]);
  const T *a = w.reg<T>(i.ops[1]);
  const T *b = two ? w.reg<T>(i.ops[2]) : a;
  const T *c = Op == FloatOp::Fma ? w.reg<T>(i.ops[3]) : a;
  bool ftz = i.flags & 1, sat = i.flags & 2;
  Mode mode(i.round);
  for (uint32_t m = mask; m; m &= m - 1)
    for (unsigned k = 0; k < Pack; ++k) {
      unsigned l = std::countr_zero(m) * Pack + k;
      T x = a[l], y = b[l], z = c[l];
      if (ftz)
        x = flush(x), y = flush(y), z = flush(z);
      T r = compute<Op, T>(x, y, z);
      if (sat)
        r = saturate01(r);
      if (ftz)
        r = flush(r);
      d[l] = canonical(r);
    }
}

template <FloatOp Op> ExecFn pickType(bool isDouble, bool packed) {
  if (isDouble)
    return directed<Op, double, 1>;
  return packed ? directed<Op, float, 2> : directed<Op, float, 1>;
}

} // namespace

ExecFn directedFloat(FloatOp op, bool isDouble, bool packed) {
  switch (op) {
  case FloatOp::Add:
    return pickType<FloatOp::Add>(isDouble, packed);
  case FloatOp::Sub:
    return pickType<FloatOp::Sub>(isDouble, packed);
  case FloatOp::Mul:
    return pickType<FloatOp::Mul>(isDouble, packed);
  case FloatOp::Fma:
    return pickType<FloatOp::Fma>(isDouble, packed);
  case FloatOp::Div:
    return pickType<FloatOp::Div>(isDouble, packed);
  case FloatOp::Rcp:
    return pickType<FloatOp::Rcp>(isDouble, packed);
  case FloatOp::Sqrt:
    return pickType<FloatOp::Sqrt>(isDouble, packed);
  }
  return nullptr;
}

} // namespace tessera::sim
