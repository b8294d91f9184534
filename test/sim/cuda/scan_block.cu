// Exclusive scan within blocks (Blelloch).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
__global__ void scan(const int *x, int *y) {
  __shared__ int s[512];
  int t = threadIdx.x;
  s[2 * t] = x[2 * t];
  s[2 * t + 1] = x[2 * t + 1];
  int offset = 1;
  for (int d = 256; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d)
      s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
    offset *= 2;
  }
  if (!t)
    s[511] = 0;
  for (int d = 1; d < 512; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (t < d) {
      int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
      int v = s[a];
      s[a] = s[b];
      s[b] += v;
    }
  }
  __syncthreads();
  y[2 * t] = s[2 * t];
  y[2 * t + 1] = s[2 * t + 1];
}
int main() {
  std::vector<int> x(512);
  for (int i = 0; i < 512; ++i)
    x[i] = (i * 7) % 13;
  int *dx = device(x), *dy = device(std::vector<int>(512));
  scan<<<1, 256>>>(dx, dy);
  auto y = host(dy, 512);
  int sum = 0;
  for (int i = 0; i < 512; ++i) {
    EXPECT(y[i] == sum);
    sum += x[i];
  }
  return verdict();
}
