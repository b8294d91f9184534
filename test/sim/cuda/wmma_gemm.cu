// Tensor cores through nvcuda::wmma.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
__global__ void gemm(const half *a, const half *b, float *c, int n) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
  wmma::fill_fragment(acc, 0.0f);
  int row = blockIdx.y * 16, column = blockIdx.x * 16;
  for (int k = 0; k < n; k += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::load_matrix_sync(fa, a + row * n + k, n);
    wmma::load_matrix_sync(fb, b + column * n + k, n);
    wmma::mma_sync(acc, fa, fb, acc);
  }
  for (int i = 0; i < acc.num_elements; ++i)
    acc.x[i] *= 2.0f;
  wmma::store_matrix_sync(c + row * n + column, acc, n, wmma::mem_row_major);
}
__global__ void bytes(const signed char *a, const signed char *b, int *c) {
  wmma::fragment<wmma::matrix_a, 8, 32, 16, signed char, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 8, 32, 16, signed char, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 8, 32, 16, int> acc;
  wmma::fill_fragment(acc, 7);
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, b, 32);
  wmma::mma_sync(acc, fa, fb, acc);
  wmma::store_matrix_sync(c, acc, 8, wmma::mem_col_major);
}
int main() {
  int n = 48;
  auto x = noise(n * n, 1), y = noise(n * n, 2);
  std::vector<half> a(n * n), b(n * n);
  for (int i = 0; i < n * n; ++i)
    a[i] = __float2half(x[i]), b[i] = __float2half(y[i]);
  half *da = device(a), *db = device(b);
  float *dc = device(x);
  gemm<<<dim3(3, 3), 32>>>(da, db, dc, n);
  auto c = host(dc, n * n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double want = 0, size = 0;
      for (int k = 0; k < n; ++k) {
        double p = double(__half2float(a[i * n + k])) *
                   __half2float(b[j * n + k]);
        want += p, size += std::fabs(p);
      }
      EXPECT(std::fabs(c[i * n + j] - 2 * want) <= 2 * n * 1.2e-7 * size);
    }
  std::vector<signed char> p(128), q(512);
  for (int i = 0; i < 128; ++i)
    p[i] = (signed char)(i * 5 - 60);
  for (int i = 0; i < 512; ++i)
    q[i] = (signed char)(i * 3);
  auto *dp = device(p);
  auto *dq = device(q);
  int *dr = device(std::vector<int>(256));
  bytes<<<1, 32>>>(dp, dq, dr);
  auto r = host(dr, 256);
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 32; ++j) {
      int want = 7;
      for (int k = 0; k < 16; ++k)
        want += int(p[i * 16 + k]) * q[k * 32 + j];
      EXPECT(r[j * 8 + i] == want);
    }
  return verdict();
}
