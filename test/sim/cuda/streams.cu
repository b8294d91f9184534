// Two streams, events between them, pinned memory, callbacks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
__global__ void twice(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= 2;
}
static void note(void *data) { ++*(int *)data; }
int main() {
  int n = 1000, calls = 0;
  float *pinned, *a;
  CHECK(cudaMallocHost(&pinned, n * 4));
  for (int i = 0; i < n; ++i)
    pinned[i] = float(i);
  CHECK(cudaMalloc(&a, n * 4));
  cudaStream_t s, t;
  CHECK(cudaStreamCreate(&s));
  CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  cudaEvent_t e, f;
  CHECK(cudaEventCreate(&e));
  CHECK(cudaEventCreate(&f));
  CHECK(cudaMemcpyAsync(a, pinned, n * 4, cudaMemcpyHostToDevice, s));
  twice<<<4, 256, 0, s>>>(a, n);
  CHECK(cudaEventRecord(e, s));
  CHECK(cudaStreamWaitEvent(t, e, 0));
  twice<<<4, 256, 0, t>>>(a, n);
  CHECK(cudaLaunchHostFunc(t, note, &calls));
  CHECK(cudaEventRecord(f, t));
  CHECK(cudaMemcpyAsync(pinned, a, n * 4, cudaMemcpyDeviceToHost, t));
  CHECK(cudaStreamSynchronize(t));
  float ms = -1;
  CHECK(cudaEventElapsedTime(&ms, e, f));
  EXPECT(ms >= 0 && calls == 1 && cudaStreamQuery(s) == cudaSuccess);
  for (int i = 0; i < n; ++i)
    EXPECT(pinned[i] == 4.0f * i);
  CHECK(cudaStreamDestroy(s));
  return verdict();
}
