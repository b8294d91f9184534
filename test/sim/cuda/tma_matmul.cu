// A warp-specialised matmul: one thread loads tiles through tensor maps into a
// ring, four warps multiply them, the result leaves through a tensor map. The
// sizes do not fill the last tile (sm_90 and newer).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
#include <cuda.h>
#include <cuda/ptx>
namespace ptx = cuda::ptx;
constexpr int T = 32, STAGES = 3;

struct Shared {
  float a[STAGES][T][T], b[STAGES][T][T], c[T][T];
  uint64_t full[STAGES], empty[STAGES];
};
// 128-byte swizzle of rows of 32 floats.
__device__ int at(int row, int column) {
  return row * T + (column ^ (row & 7) << 2);
}
__device__ void wait(uint64_t *barrier, unsigned parity) {
  while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
  }
}

__global__ void matmul(const __grid_constant__ CUtensorMap a,
                       const __grid_constant__ CUtensorMap b,
                       const __grid_constant__ CUtensorMap c, int steps) {
  extern __shared__ __align__(1024) unsigned char raw[];
  Shared &s = *reinterpret_cast<Shared *>(raw);
  int t = threadIdx.x, x = blockIdx.x * T, y = blockIdx.y * T;
  if (t == 0) {
    for (int k = 0; k < STAGES; ++k) {
      ptx::mbarrier_init(&s.full[k], 1);
      ptx::mbarrier_init(&s.empty[k], 128);
    }
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  if (t < 32) {
    if (t == 0)
      for (int k = 0; k < steps; ++k) {
        int stage = k % STAGES;
        wait(&s.empty[stage], (k / STAGES & 1) ^ 1);
        int ca[2] = {k * T, y}, cb[2] = {x, k * T};
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global,
                                  s.a[stage], &a, ca, &s.full[stage]);
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global,
                                  s.b[stage], &b, cb, &s.full[stage]);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta,
                                       ptx::space_shared, &s.full[stage],
                                       2 * T * T * 4);
      }
    return;
  }
  t -= 32;
  float sum[8] = {};
  int column = t % T, row = t / T;
  for (int k = 0; k < steps; ++k) {
    int stage = k % STAGES;
    wait(&s.full[stage], k / STAGES & 1);
    const float *pa = &s.a[stage][0][0], *pb = &s.b[stage][0][0];
    for (int j = 0; j < T; ++j)
      for (int i = 0; i < 8; ++i)
        sum[i] += pa[at(row + 4 * i, j)] * pb[at(j, column)];
    ptx::mbarrier_arrive(&s.empty[stage]);
  }
  for (int i = 0; i < 8; ++i)
    s.c[row + 4 * i][column] = sum[i];
#ifndef NO_FENCE
  ptx::fence_proxy_async(ptx::space_shared);
#endif
  asm volatile("bar.sync 1, 128;" ::: "memory");
  if (t == 0) {
    int cc[2] = {x, y};
    ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &c, cc,
                              s.c);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>{});
  }
}

CUtensorMap map(float *p, int rows, int columns, CUtensorMapSwizzle swizzle) {
  static decltype(&cuTensorMapEncodeTiled) encode = [] {
    void *f = nullptr;
    cudaDriverEntryPointQueryResult found;
    CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000,
                                           cudaEnableDefault, &found));
    EXPECT(found == cudaDriverEntryPointSuccess);
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(f);
  }();
  CUtensorMap m;
  cuuint64_t size[2] = {cuuint64_t(columns), cuuint64_t(rows)};
  cuuint64_t stride[1] = {cuuint64_t(columns) * 4};
  cuuint32_t box[2] = {T, T}, step[2] = {1, 1};
  EXPECT(encode(&m, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, p, size, stride, box,
                step, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
  return m;
}

int main() {
  int m = 40, n = 72, k = 200;
  auto a = noise(m * k), b = noise(k * n, 2);
  float *da = device(a), *db = device(b), *dc;
  CHECK(cudaMalloc(&dc, m * n * 4));
  CHECK(cudaFuncSetAttribute(matmul,
                             cudaFuncAttributeMaxDynamicSharedMemorySize,
                             int(sizeof(Shared))));
  dim3 grid((n + T - 1) / T, (m + T - 1) / T);
  matmul<<<grid, 160, sizeof(Shared)>>>(
      map(da, m, k, CU_TENSOR_MAP_SWIZZLE_128B),
      map(db, k, n, CU_TENSOR_MAP_SWIZZLE_128B),
      map(dc, m, n, CU_TENSOR_MAP_SWIZZLE_NONE), (k + T - 1) / T);
  CHECK(cudaDeviceSynchronize());
  auto c = host(dc, m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (int l = 0; l < k; ++l) {
        double p = double(a[i * k + l]) * b[l * n + j];
        sum += p;
        size += std::abs(p);
      }
      // k roundings of a sum of that size
      EXPECT(std::abs(c[i * n + j] - sum) <= k * size / (1 << 24));
    }
  return verdict();
}
