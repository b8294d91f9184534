// Matrix product with tiles in shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
__global__ void gemm(const float *a, const float *b, float *c, int n) {
  __shared__ float sa[16][16], sb[16][16];
  int x = threadIdx.x, y = threadIdx.y;
  int row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    sa[y][x] = a[row * n + k + x];
    sb[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int j = 0; j < 16; ++j)
      sum += sa[y][j] * sb[j][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
int main() {
  int n = 64;
  auto a = noise(n * n, 3), b = noise(n * n, 4);
  float *da = device(a), *db = device(b), *dc = device(a);
  gemm<<<dim3(4, 4), dim3(16, 16)>>>(da, db, dc, n);
  auto c = host(dc, n * n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double want = 0, size = 0;
      for (int k = 0; k < n; ++k) {
        want += double(a[i * n + k]) * b[k * n + j];
        size += std::fabs(double(a[i * n + k]) * b[k * n + j]);
      }
      EXPECT(std::fabs(c[i * n + j] - want) <= n * 6e-8 * size);
    }
  return verdict();
}
