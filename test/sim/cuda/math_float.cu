// Single-precision mathematics, integer division, bit tricks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
__global__ void work(const float *x, float *y, int *z, int n) {
  int i = threadIdx.x;
  float v = x[i];
  y[i * 6 + 0] = sinf(v) + cosf(v);
  y[i * 6 + 1] = expf(v);
  y[i * 6 + 2] = __fdividef(v, 3.0f) + sqrtf(fabsf(v)) + rsqrtf(fabsf(v) + 1);
  y[i * 6 + 3] = powf(fabsf(v), 2.5f);
  y[i * 6 + 4] = __fadd_rd(v, 1e-8f) - __fadd_ru(v, 1e-8f);
  y[i * 6 + 5] = fmaf(v, v, -v * v);
  int k = i * 7919 - 100000;
  z[i * 6 + 0] = k / 37;
  z[i * 6 + 1] = k % 37;
  z[i * 6 + 2] = __popc(k) + __clz(k) + __ffs(k);
  z[i * 6 + 3] = __byte_perm(k, ~k, 0x6420 + i % 4);
  z[i * 6 + 4] = __funnelshift_l(k, ~k, i % 40);
  z[i * 6 + 5] = __brev(k) ^ __mulhi(k, 123456789);
}
int main() {
  auto x = noise(64);
  for (auto &v : x)
    v *= 10;
  float *dx = device(x), *dy = device(std::vector<float>(384));
  int *dz = device(std::vector<int>(384));
  work<<<1, 64>>>(dx, dy, dz, 64);
  auto y = host(dy, 384);
  auto z = host(dz, 384);
  for (int i = 0; i < 64; ++i) {
    double v = x[i];
    EXPECT(std::fabs(y[i * 6] - (std::sin(v) + std::cos(v))) < 1e-6);
    EXPECT(std::fabs(y[i * 6 + 1] / std::exp(v) - 1) < 1e-6);
    double want = v / 3 + std::sqrt(std::fabs(v)) + 1 / std::sqrt(std::fabs(v) + 1);
    EXPECT(std::fabs(y[i * 6 + 2] - want) < 2e-6);
    EXPECT(std::fabs(y[i * 6 + 3] - std::pow(std::fabs(v), 2.5)) <=
           4e-6 * std::pow(std::fabs(v), 2.5));
    EXPECT(y[i * 6 + 4] < 0);
    EXPECT(y[i * 6 + 5] == std::fma(x[i], x[i], -x[i] * x[i]));
    int k = i * 7919 - 100000;
    EXPECT(z[i * 6] == k / 37 && z[i * 6 + 1] == k % 37);
    EXPECT(z[i * 6 + 2] == __builtin_popcount(k) +
                               (k ? __builtin_clz(k) : 32) + __builtin_ffs(k));
    unsigned long long both = (unsigned long long)(unsigned)~k << 32 | (unsigned)k;
    EXPECT(unsigned(z[i * 6 + 4]) == unsigned(both << (i % 40 & 31) >> 32));
  }
  return verdict();
}
