// Clusters as CUDA programs use them: cooperative groups, distributed shared
// memory, sizes at compile time and at run time, what the driver refuses.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// Each block owns a part of the bins; all count into all parts.
__global__ void histogram(const int *x, int n, int *bins, int perBlock) {
  extern __shared__ int part[];
  cg::cluster_group cluster = cg::this_cluster();
  for (int b = threadIdx.x; b < perBlock; b += blockDim.x)
    part[b] = 0;
  cluster.sync();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) {
    int *there = cluster.map_shared_rank(part, x[i] / perBlock);
    atomicAdd(there + x[i] % perBlock, 1);
  }
  cluster.sync();
  for (int b = threadIdx.x; b < perBlock; b += blockDim.x)
    atomicAdd(bins + cluster.block_rank() * perBlock + b, part[b]);
}

__global__ void __cluster_dims__(2, 2, 1) ranks(unsigned *out) {
  __shared__ unsigned mine;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0)
    mine = blockIdx.x + 100 * blockIdx.y;
  // Arriving and waiting apart, with work in between.
  auto token = cluster.barrier_arrive();
  unsigned rank = cluster.block_rank(), size = cluster.num_blocks();
  cluster.barrier_wait(std::move(token));
  const unsigned *next = cluster.map_shared_rank(&mine, (rank + 1) % size);
  unsigned value = *next + 10000 * cluster.query_shared_rank(next);
  cluster.sync();
  if (threadIdx.x == 0)
    out[blockIdx.y * gridDim.x + blockIdx.x] = value;
}

static cudaError_t launchHistogram(dim3 grid, unsigned cluster, const int *x,
                                   int n, int *bins, int perBlock) {
  cudaLaunchAttribute attributes[3] = {};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim.x = cluster;
  attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  attributes[2].id = cudaLaunchAttributeClusterSchedulingPolicyPreference;
  attributes[2].val.clusterSchedulingPolicyPreference =
      cudaClusterSchedulingPolicySpread;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = 64;
  config.dynamicSmemBytes = perBlock * sizeof(int);
  config.attrs = attributes;
  config.numAttrs = 3;
  int active = 0;
  cudaError_t error =
      cudaOccupancyMaxActiveClusters(&active, histogram, &config);
  EXPECT((error == cudaSuccess) == (active > 0));
  return cudaLaunchKernelEx(&config, histogram, x, n, bins, perBlock);
}

int main() {
  const int n = 3000, perBlock = 8;
  std::vector<int> x(n);
  auto random = noise(n);
  for (unsigned cluster : {1u, 2u, 4u, 8u, 16u}) {
    int bins = int(cluster) * perBlock;
    std::vector<int> want(bins, 0);
    for (int i = 0; i < n; ++i)
      ++want[x[i] = int((random[i] + 0.5f) * bins) % bins];
    int *dx = device(x), *d = device(std::vector<int>(bins, 0));
    if (cluster == 16) {
      EXPECT(launchHistogram(cluster, cluster, dx, n, d, perBlock) ==
             cudaErrorInvalidClusterSize);
      EXPECT(cudaGetLastError() == cudaErrorInvalidClusterSize);
      CHECK(cudaFuncSetAttribute(
          histogram, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    }
    CHECK(launchHistogram(2 * cluster, cluster, dx, n, d, perBlock));
    EXPECT(host(d, bins) == want);
    if (cluster > 1) {
      EXPECT(launchHistogram(cluster + 1, cluster, dx, n, d, perBlock) ==
             cudaErrorInvalidClusterSize);
      cudaGetLastError();
    }
  }

  unsigned *out = device(std::vector<unsigned>(32, 0));
  ranks<<<dim3(8, 4), 32>>>(out);
  CHECK(cudaGetLastError());
  auto got = host(out, 32);
  for (unsigned by = 0; by < 4; ++by)
    for (unsigned bx = 0; bx < 8; ++bx) {
      unsigned rank = bx % 2 + by % 2 * 2, next = (rank + 1) % 4;
      EXPECT(got[by * 8 + bx] == bx / 2 * 2 + next % 2 +
                                     100 * (by / 2 * 2 + next / 2) +
                                     10000 * next);
    }
  ranks<<<dim3(8, 3), 32>>>(out);
  EXPECT(cudaGetLastError() == cudaErrorInvalidClusterSize);
  int size = 0;
  cudaLaunchConfig_t config = {};
  config.gridDim = config.blockDim = 32;
  CHECK(cudaOccupancyMaxPotentialClusterSize(&size, ranks, &config));
  EXPECT(size == 4);
  CHECK(cudaOccupancyMaxPotentialClusterSize(&size, histogram, &config));
  EXPECT(size == 16);
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, ranks));
  EXPECT(attributes.requiredClusterWidth == 2 &&
         attributes.requiredClusterHeight == 2 &&
         attributes.requiredClusterDepth == 1 &&
         !attributes.nonPortableClusterSizeAllowed);
  CHECK(cudaFuncGetAttributes(&attributes, histogram));
  EXPECT(attributes.requiredClusterWidth == 0 &&
         attributes.nonPortableClusterSizeAllowed);
  return verdict();
}
