// Tree reduction in shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
__global__ void reduce(const float *x, float *out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x;
  float v = 0;
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256)
    v += x[i];
  s[t] = v;
  __syncthreads();
  for (int k = 128; k; k >>= 1) {
    if (t < k)
      s[t] += s[t + k];
    __syncthreads();
  }
  if (!t)
    out[blockIdx.x] = s[0];
}
int main() {
  int n = 20000;
  auto x = noise(n);
  float *dx = device(x), *dout = device(std::vector<float>(8));
  reduce<<<8, 256>>>(dx, dout, n);
  auto out = host(dout, 8);
  double got = 0, want = 0, size = 0;
  for (float v : out)
    got += v;
  for (float v : x)
    want += v, size += std::fabs(v);
  EXPECT(std::fabs(got - want) <= 30 * size * 6e-8);
  return verdict();
}
