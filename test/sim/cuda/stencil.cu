// Five-point stencil with halo, several steps.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
__global__ void step(const float *a, float *b, int n) {
  __shared__ float s[18][18];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  auto at = [&](int i, int j) {
    return i >= 0 && i < n && j >= 0 && j < n ? a[i * n + j] : 0.0f;
  };
  int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  s[ty][tx] = at(y, x);
  if (tx == 1) s[ty][0] = at(y, x - 1);
  if (tx == 16) s[ty][17] = at(y, x + 1);
  if (ty == 1) s[0][tx] = at(y - 1, x);
  if (ty == 16) s[17][tx] = at(y + 1, x);
  __syncthreads();
  b[y * n + x] = 0.2f * (s[ty][tx] + s[ty][tx - 1] + s[ty][tx + 1] +
                         s[ty - 1][tx] + s[ty + 1][tx]);
}
int main() {
  int n = 48;
  auto a = noise(n * n);
  float *da = device(a), *db = device(a);
  std::vector<float> want = a, next(n * n);
  for (int k = 0; k < 4; ++k) {
    step<<<dim3(3, 3), dim3(16, 16)>>>(da, db, n);
    std::swap(da, db);
    auto at = [&](int i, int j) {
      return i >= 0 && i < n && j >= 0 && j < n ? want[i * n + j] : 0.0f;
    };
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        next[i * n + j] = 0.2f * (at(i, j) + at(i, j - 1) + at(i, j + 1) +
                                  at(i - 1, j) + at(i + 1, j));
    want = next;
  }
  auto got = host(da, n * n);
  for (int i = 0; i < n * n; ++i)
    EXPECT(std::fabs(got[i] - want[i]) < 1e-6f);
  return verdict();
}
