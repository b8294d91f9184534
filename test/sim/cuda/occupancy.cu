// Device properties, occupancy and memory queries.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
__global__ void kernel(int *x) { x[threadIdx.x] = blockIdx.x; }
int main() {
  cudaDeviceProp p;
  CHECK(cudaGetDeviceProperties(&p, 0));
  int major = 0, optin = 0;
  CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  CHECK(cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  EXPECT(p.major == major && p.warpSize == 32 && p.maxThreadsPerBlock == 1024);
  EXPECT(p.sharedMemPerBlockOptin == size_t(optin) && p.cooperativeLaunch == 1);
  EXPECT(p.multiProcessorCount == 4 && p.reservedSharedMemPerBlock == 1024);
  int blocks = 0, grid = 0, block = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 256, 0));
  EXPECT(blocks >= 4);
  CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, kernel, 0, 0));
  EXPECT(block > 0 && block <= 1024 && grid > 0);
  size_t free, total;
  CHECK(cudaMemGetInfo(&free, &total));
  EXPECT(free <= total);
  cudaFuncAttributes a;
  CHECK(cudaFuncGetAttributes(&a, (const void *)kernel));
  EXPECT(a.maxThreadsPerBlock == 1024 && a.sharedSizeBytes == 0);
  int *m;
  CHECK(cudaMallocManaged(&m, 128));
  kernel<<<1, 32>>>(m);
  CHECK(cudaDeviceSynchronize());
  EXPECT(m[5] == 0);
  int *q;
  CHECK(cudaMallocAsync(&q, 128, 0));
  CHECK(cudaFreeAsync(q, 0));
  cudaPointerAttributes pa;
  CHECK(cudaPointerGetAttributes(&pa, m));
  EXPECT(pa.type == cudaMemoryTypeManaged);
  return verdict();
}
