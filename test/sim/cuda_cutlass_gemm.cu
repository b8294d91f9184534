// CUTLASS device gemms for sm_80: f16 and f32 (TF32 off) against the host.
// Needs the headers of the package nvidia-cutlass; built by test_foreign.py.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cuda/check.h"
#include <cutlass/gemm/device/gemm.h>
#include <cutlass/half.h>

template <class Gemm, class T, class O>
void run(int m, int n, int k, double unit) {
  auto x = noise(m * k, 1), y = noise(k * n, 2);
  std::vector<T> a(m * k), b(k * n);
  for (int i = 0; i < m * k; ++i)
    a[i] = T(x[i]);
  for (int i = 0; i < k * n; ++i)
    b[i] = T(y[i]);
  std::vector<O> c(m * n, O(0.0f));
  T *da = device(a), *db = device(b);
  O *dc = device(c);
  Gemm gemm;
  // A row-major, B column-major, C row-major.
  typename Gemm::Arguments arguments({m, n, k}, {da, k}, {db, k}, {dc, n},
                                     {dc, n}, {1.0f, 0.0f});
  EXPECT(gemm(arguments) == cutlass::Status::kSuccess);
  CHECK(cudaDeviceSynchronize());
  auto got = host(dc, m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double want = 0, size = 0;
      for (int q = 0; q < k; ++q) {
        double p = double(float(a[i * k + q])) * double(float(b[j * k + q]));
        want += p, size += std::fabs(p);
      }
      EXPECT(std::fabs(double(float(got[i * n + j])) - want) <= unit * size + unit);
    }
}

int main() {
  using Row = cutlass::layout::RowMajor;
  using Column = cutlass::layout::ColumnMajor;
  using Half = cutlass::half_t;
  using TensorOp = cutlass::gemm::device::Gemm<
      Half, Row, Half, Column, float, Row, float, cutlass::arch::OpClassTensorOp,
      cutlass::arch::Sm80, cutlass::gemm::GemmShape<128, 128, 32>,
      cutlass::gemm::GemmShape<64, 64, 32>, cutlass::gemm::GemmShape<16, 8, 16>,
      cutlass::epilogue::thread::LinearCombination<float, 4, float, float>,
      cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>, 3>;
  run<TensorOp, Half, float>(160, 136, 96, 2e-6);
  using Simt = cutlass::gemm::device::Gemm<
      float, Row, float, Column, float, Row, float, cutlass::arch::OpClassSimt,
      cutlass::arch::Sm80>;
  run<Simt, float, float>(130, 70, 40, 2e-6);
  return verdict();
}
