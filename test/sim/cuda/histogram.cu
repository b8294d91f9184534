// Histogram by shared and global atomics.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
__global__ void histogram(const unsigned char *x, unsigned *h, int n) {
  __shared__ unsigned s[256];
  s[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
    atomicAdd(&s[x[i]], 1u);
  __syncthreads();
  atomicAdd(&h[threadIdx.x], s[threadIdx.x]);
}
int main() {
  int n = 10000;
  std::vector<unsigned char> x(n);
  std::vector<unsigned> want(256);
  for (int i = 0; i < n; ++i)
    ++want[x[i] = (unsigned char)((i * i + 3 * i) >> 2)];
  auto *dx = device(x);
  auto *dh = device(std::vector<unsigned>(256));
  histogram<<<4, 256>>>(dx, dh, n);
  EXPECT(host(dh, 256) == want);
  return verdict();
}
