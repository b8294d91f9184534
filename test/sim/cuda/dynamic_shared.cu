// Dynamic shared memory beyond 48 KiB where the device allows it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
__global__ void reverse(const int *x, int *y, int n) {
  extern __shared__ int s[];
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    s[i] = x[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[i] = s[n - 1 - i];
}
int main() {
  int n = 15000;
  std::vector<int> x(n);
  for (int i = 0; i < n; ++i)
    x[i] = i * 3;
  int *dx = device(x), *dy = device(x);
  CHECK(cudaFuncSetAttribute((const void *)reverse,
                             cudaFuncAttributeMaxDynamicSharedMemorySize,
                             n * 4));
  reverse<<<1, 256, n * 4>>>(dx, dy, n);
  auto y = host(dy, n);
  for (int i = 0; i < n; ++i)
    EXPECT(y[i] == x[n - 1 - i]);
  return verdict();
}
