// Constant, device and managed variables.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
__constant__ float factors[4];
__device__ int counter = 3;
__device__ float table[4] = {1, 2, 3, 4};
__managed__ int shared_with_host[4];
struct Pair { char c; double d; short s; };
__global__ void work(float *out, Pair p) {
  int t = threadIdx.x;
  out[t] = factors[t] * table[t] + float(p.c + p.d + p.s);
  atomicAdd(&counter, t);
  shared_with_host[t] += t;
}
int main() {
  float h[4] = {10, 20, 30, 40};
  CHECK(cudaMemcpyToSymbol(factors, h, sizeof h));
  for (int i = 0; i < 4; ++i)
    shared_with_host[i] = 100;
  float *out = device(std::vector<float>(4));
  work<<<1, 4>>>(out, Pair{1, 0.5, 2});
  CHECK(cudaDeviceSynchronize());
  int count;
  CHECK(cudaMemcpyFromSymbol(&count, counter, 4));
  EXPECT(count == 9);
  auto o = host(out, 4);
  for (int i = 0; i < 4; ++i) {
    EXPECT(o[i] == h[i] * (i + 1) + 3.5f);
    EXPECT(shared_with_host[i] == 100 + i);
  }
  void *p;
  CHECK(cudaGetSymbolAddress(&p, table));
  size_t size;
  CHECK(cudaGetSymbolSize(&size, table));
  EXPECT(size == 16);
  return verdict();
}
