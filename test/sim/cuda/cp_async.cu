// A two-stage cp.async pipeline (falls back below sm_80).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
#include <cuda_pipeline.h>
__global__ void scale(const float4 *x, float4 *y, int tiles) {
  __shared__ float4 s[2][64];
  int t = threadIdx.x;
  __pipeline_memcpy_async(&s[0][t], &x[t], 16);
  __pipeline_commit();
  for (int k = 0; k < tiles; ++k) {
    if (k + 1 < tiles)
      __pipeline_memcpy_async(&s[(k + 1) & 1][t], &x[(k + 1) * 64 + t], 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    float4 v = s[k & 1][63 - t];
    y[k * 64 + t] = make_float4(v.x * 2, v.y * 2, v.z * 2, v.w * 2);
    __syncthreads();
  }
}
int main() {
  int tiles = 9, n = tiles * 256;
  auto x = noise(n);
  float *dx = device(x), *dy = device(std::vector<float>(n));
  scale<<<1, 64>>>((float4 *)dx, (float4 *)dy, tiles);
  auto y = host(dy, n);
  for (int k = 0; k < tiles; ++k)
    for (int t = 0; t < 64; ++t)
      for (int j = 0; j < 4; ++j)
        EXPECT(y[k * 256 + t * 4 + j] == 2 * x[k * 256 + (63 - t) * 4 + j]);
  return verdict();
}
