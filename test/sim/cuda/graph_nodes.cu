// Builds a graph from kernel, copy and fill nodes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
__global__ void fill(int *x, int v) { x[threadIdx.x] = v + threadIdx.x; }
__global__ void sum(const int *x, const int *y, int *z) {
  z[threadIdx.x] = x[threadIdx.x] + y[threadIdx.x];
}
int main() {
  int *a = device(std::vector<int>(32)), *b = device(std::vector<int>(32)),
      *c = device(std::vector<int>(32));
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t fa, fb, s, copy;
  int va = 5, vb = 100;
  auto kernel = [&](void *f, void **args) {
    cudaKernelNodeParams p = {};
    p.func = f;
    p.gridDim = dim3(1);
    p.blockDim = dim3(32);
    p.kernelParams = args;
    return p;
  };
  void *pa[] = {&a, &va}, *pb[] = {&b, &vb}, *ps[] = {&a, &b, &c};
  auto ka = kernel((void *)fill, pa), kb = kernel((void *)fill, pb),
       ks = kernel((void *)sum, ps);
  CHECK(cudaGraphAddKernelNode(&fa, graph, nullptr, 0, &ka));
  CHECK(cudaGraphAddKernelNode(&fb, graph, nullptr, 0, &kb));
  cudaGraphNode_t both[] = {fa, fb};
  CHECK(cudaGraphAddKernelNode(&s, graph, both, 2, &ks));
  std::vector<int> out(32);
  CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &s, 1, out.data(), c, 128,
                                 cudaMemcpyDeviceToHost));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, 0));
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 32; ++i)
    EXPECT(out[i] == 105 + 2 * i);
  return verdict();
}
