// Inline mma.sync and ldmatrix (sm_80).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
#include <cuda_fp16.h>
__global__ void tile(const half *a, const half *b, float *c) {
#if __CUDA_ARCH__ >= 800
  __shared__ half sa[16 * 16], sb[8 * 16];
  int l = threadIdx.x;
  for (int i = l; i < 256; i += 32)
    sa[i] = a[i];
  for (int i = l; i < 128; i += 32)
    sb[i] = b[i];
  __syncwarp();
  unsigned x[4], y[2];
  unsigned pa = unsigned(__cvta_generic_to_shared(&sa[(l % 16) * 16 + l / 16 * 8]));
  unsigned pb = unsigned(__cvta_generic_to_shared(&sb[(l % 8) * 16 + l / 8 % 2 * 8]));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(pa));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
               : "=r"(y[0]), "=r"(y[1]) : "r"(pb));
  float d[4] = {0, 0, 0, 0};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  for (int i = 0; i < 4; ++i)
    c[(l / 4 + 8 * (i / 2)) * 8 + l % 4 * 2 + i % 2] = d[i];
#endif
}
int main() {
  cudaDeviceProp p;
  CHECK(cudaGetDeviceProperties(&p, 0));
  if (p.major < 8)
    return verdict();
  std::vector<half> a(256), b(128);
  for (int i = 0; i < 256; ++i)
    a[i] = __float2half(float(i % 23 - 11));
  for (int i = 0; i < 128; ++i)
    b[i] = __float2half(float(i % 17 - 8));
  half *da = device(a), *db = device(b);
  float *dc = device(std::vector<float>(128));
  tile<<<1, 32>>>(da, db, dc);
  auto c = host(dc, 128);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      float want = 0;
      for (int k = 0; k < 16; ++k)
        want += __half2float(a[i * 16 + k]) * __half2float(b[j * 16 + k]);
      EXPECT(c[i * 8 + j] == want);
    }
  return verdict();
}
