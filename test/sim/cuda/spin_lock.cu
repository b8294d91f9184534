// A lock taken by every lane, and a hand-over from lane to lane.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
__device__ int lock;
__device__ int sum;
__global__ void critical() {
  bool done = false;
  while (!done) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      __threadfence();
      volatile int *p = &sum;
      *p = *p + 1;
      __threadfence();
      atomicExch(&lock, 0);
      done = true;
    }
  }
}
__global__ void relay(int *out) {
  __shared__ volatile int turn;
  if (threadIdx.x == 0)
    turn = 0;
  __syncthreads();
  while (turn != int(threadIdx.x)) {
  }
  out[threadIdx.x] = turn * 2;
  __threadfence_block();
  turn = threadIdx.x + 1;
}
int main() {
  critical<<<4, 64>>>();
  CHECK(cudaDeviceSynchronize());
  int total;
  CHECK(cudaMemcpyFromSymbol(&total, sum, 4));
  EXPECT(total == 256);
  int *d = device(std::vector<int>(64));
  relay<<<1, 64>>>(d);
  auto o = host(d, 64);
  for (int i = 0; i < 64; ++i)
    EXPECT(o[i] == 2 * i);
  return verdict();
}
