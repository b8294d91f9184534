// Single-pass scan with decoupled look-back between blocks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
__device__ volatile unsigned long long status[64]; // flag << 32 | value
__device__ unsigned ticket;
__global__ void scan(const int *x, int *y, int n) {
  __shared__ int s[128];
  __shared__ int prefix;
  __shared__ unsigned tile;
  int t = threadIdx.x;
  if (!t)
    tile = atomicAdd(&ticket, 1);
  __syncthreads();
  int i = tile * 128 + t;
  s[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int k = 1; k < 128; k <<= 1) {
    int v = t >= k ? s[t - k] : 0;
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  if (!t) {
    unsigned total = s[127];
    __threadfence();
    status[tile] = (tile ? 1ull : 2ull) << 32 | total;
    int sum = 0;
    for (int b = int(tile) - 1; b >= 0;) {
      unsigned long long v = status[b];
      if (v >> 32 == 0)
        continue;
      sum += int(unsigned(v));
      if (v >> 32 == 2)
        break;
      --b;
    }
    __threadfence();
    status[tile] = 2ull << 32 | unsigned(sum + total);
    prefix = sum;
  }
  __syncthreads();
  if (i < n)
    y[i] = s[t] + prefix;
}
int main() {
  int n = 5000;
  std::vector<int> x(n);
  for (int i = 0; i < n; ++i)
    x[i] = i % 17 - 5;
  int *dx = device(x), *dy = device(std::vector<int>(n));
  scan<<<(n + 127) / 128, 128>>>(dx, dy, n);
  CHECK(cudaDeviceSynchronize());
  auto y = host(dy, n);
  int sum = 0;
  for (int i = 0; i < n; ++i)
    EXPECT(y[i] == (sum += x[i]));
  return verdict();
}
