// Two translation units linked on the device (-rdc), first half.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
extern __device__ int remote(int);
extern __device__ int table[4];
__global__ void work(int *out) {
  out[threadIdx.x] = remote(threadIdx.x) + table[threadIdx.x % 4];
}
int main() {
  int *d = device(std::vector<int>(32));
  work<<<1, 32>>>(d);
  auto o = host(d, 32);
  for (int i = 0; i < 32; ++i)
    EXPECT(o[i] == i * i + (i % 4 + 1) * 100);
  return verdict();
}
