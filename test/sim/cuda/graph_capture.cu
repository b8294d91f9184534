// Captures a fork and join of streams, launches it repeatedly.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
__global__ void add(int *x, int v) { x[threadIdx.x] += v; }
int main() {
  int *a = device(std::vector<int>(64)), *b = device(std::vector<int>(64));
  cudaStream_t s, t;
  CHECK(cudaStreamCreate(&s));
  CHECK(cudaStreamCreate(&t));
  cudaEvent_t fork, join;
  CHECK(cudaEventCreate(&fork));
  CHECK(cudaEventCreate(&join));
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  add<<<1, 64, 0, s>>>(a, 1);
  CHECK(cudaEventRecord(fork, s));
  CHECK(cudaStreamWaitEvent(t, fork, 0));
  add<<<1, 64, 0, t>>>(b, 10);
  CHECK(cudaEventRecord(join, t));
  add<<<1, 64, 0, s>>>(a, 2);
  CHECK(cudaStreamWaitEvent(s, join, 0));
  CHECK(cudaMemcpyAsync(a + 32, b, 32 * 4, cudaMemcpyDeviceToDevice, s));
  cudaGraph_t graph;
  CHECK(cudaStreamEndCapture(s, &graph));
  EXPECT(host(a, 1)[0] == 0); // nothing ran yet
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int k = 0; k < 3; ++k)
    CHECK(cudaGraphLaunch(exec, s));
  CHECK(cudaStreamSynchronize(s));
  auto got = host(a, 64);
  for (int i = 0; i < 32; ++i)
    EXPECT(got[i] == 9 && got[i + 32] == 30);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  return verdict();
}
