// A kernel that leaves its buffer: the error must arrive.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
__global__ void bad(int *x) { x[threadIdx.x * 1000] = 1; }
int main() {
  int *x;
  CHECK(cudaMalloc(&x, 4000));
  bad<<<1, 32>>>(x);
  EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  EXPECT(cudaGetLastError() == cudaErrorIllegalAddress);
  std::puts("ok");
}
