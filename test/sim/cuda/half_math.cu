// f16 and bf16 arithmetic.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
__global__ void work(const float *x, float *y) {
  int i = threadIdx.x;
  half a = __float2half(x[i]), b = __float2half(x[63 - i]);
  __nv_bfloat16 c = __float2bfloat16(x[i]), d = __float2bfloat16(x[63 - i]);
  half2 p = __halves2half2(a, b), q = __hfma2(p, p, p);
  y[i * 5 + 0] = __half2float(__hadd(a, b));
  y[i * 5 + 1] = __half2float(__hfma(a, b, a));
  y[i * 5 + 2] = __bfloat162float(__hmul(c, d));
  y[i * 5 + 3] = __half2float(__high2half(q));
  y[i * 5 + 4] = __half2float(__hmax(a, b)) + (__hlt(a, b) ? 1.0f : 0.0f);
}
int main() {
  auto x = noise(64);
  float *dx = device(x), *dy = device(std::vector<float>(320));
  work<<<1, 64>>>(dx, dy);
  auto y = host(dy, 320);
  auto h = [](double v) { return __half2float(__double2half(v)); };
  for (int i = 0; i < 64; ++i) {
    double a = __half2float(__float2half(x[i]));
    double b = __half2float(__float2half(x[63 - i]));
    double c = __bfloat162float(__float2bfloat16(x[i]));
    double d = __bfloat162float(__float2bfloat16(x[63 - i]));
    EXPECT(y[i * 5] == h(a + b));
    EXPECT(y[i * 5 + 1] == h(a * b + a));
    EXPECT(y[i * 5 + 2] == __bfloat162float(__double2bfloat16(c * d)));
    EXPECT(y[i * 5 + 3] == h(b * b + b));
    EXPECT(y[i * 5 + 4] == float(std::fmax(a, b)) + (a < b ? 1.0f : 0.0f));
  }
  return verdict();
}
