// Bitonic sort of one block.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
#include <algorithm>
__global__ void sort(int *x, int n) {
  extern __shared__ int s[];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (int k = 2; k <= n; k <<= 1)
    for (int j = k >> 1; j > 0; j >>= 1) {
      int o = t ^ j;
      if (o > t && (s[t] > s[o]) == ((t & k) == 0)) {
        int v = s[t];
        s[t] = s[o];
        s[o] = v;
      }
      __syncthreads();
    }
  x[t] = s[t];
}
int main() {
  std::vector<int> x(512);
  for (int i = 0; i < 512; ++i)
    x[i] = (i * 7907) % 1013 - 500;
  int *d = device(x);
  sort<<<1, 512, 2048>>>(d, 512);
  std::sort(x.begin(), x.end());
  EXPECT(host(d, 512) == x);
  return verdict();
}
