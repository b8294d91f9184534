// CUTLASS gemms of sm_90a, built by its CollectiveBuilder: wgmma with TMA or
// cp.async, one or two warp groups, f16, tf32 and fp8, clusters with multicast.
// Needs the headers of the package nvidia-cutlass; built by test_foreign.py.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cuda/check.h"
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
#include <cutlass/util/packed_stride.hpp>

using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;
using One = cute::Shape<cute::_1, cute::_1, cute::_1>;

template <class A, class LayoutA, class B, class LayoutB, class Tile,
          class Mainloop, class Epilogue, class Cluster = One>
void run(const char *name, int m, int n, int k, double unit) {
  constexpr int alignA = 16 / sizeof(A), alignB = 16 / sizeof(B);
  using Tail = typename cutlass::epilogue::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
      cutlass::epilogue::collective::EpilogueTileAuto, float, float, float, Row,
      4, float, Row, 4, Epilogue>::CollectiveOp;
  using Main = typename cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, A, LayoutA, alignA,
      B, LayoutB, alignB, float, Tile, Cluster,
      cutlass::gemm::collective::StageCount<3>, Mainloop>::CollectiveOp;
  using Kernel =
      cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>,
                                           Main, Tail>;
  using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;

  auto x = noise(m * k, 1), y = noise(k * n, 2);
  std::vector<A> a(m * k);
  std::vector<B> b(k * n);
  for (int i = 0; i < m * k; ++i)
    a[i] = A(x[i]);
  for (int i = 0; i < k * n; ++i)
    b[i] = B(y[i]);
  std::vector<float> c(m * n, 0.0f);
  A *da = device(a);
  B *db = device(b);
  float *dc = device(c);
  typename Gemm::Arguments arguments{
      cutlass::gemm::GemmUniversalMode::kGemm,
      {m, n, k, 1},
      {da,
       cutlass::make_cute_packed_stride(typename Kernel::StrideA{}, {m, k, 1}),
       db,
       cutlass::make_cute_packed_stride(typename Kernel::StrideB{}, {n, k, 1})},
      {{1.0f, 0.0f},
       dc,
       cutlass::make_cute_packed_stride(typename Kernel::StrideC{}, {m, n, 1}),
       dc,
       cutlass::make_cute_packed_stride(typename Kernel::StrideD{},
                                        {m, n, 1})}};
  Gemm gemm;
  EXPECT(gemm.initialize(arguments) == cutlass::Status::kSuccess);
  EXPECT(gemm.run() == cutlass::Status::kSuccess);
  CHECK(cudaDeviceSynchronize());
  auto got = host(dc, m * n);
  double worst = 0;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double want = 0, size = 0;
      for (int q = 0; q < k; ++q) {
        bool rowA = std::is_same_v<LayoutA, Row>,
             rowB = std::is_same_v<LayoutB, Row>;
        double p = double(float(a[rowA ? i * k + q : q * m + i])) *
                   double(float(b[rowB ? q * n + j : j * k + q]));
        want += p, size += std::fabs(p);
      }
      worst = std::max(
          worst, (std::fabs(double(got[i * n + j]) - want) - unit) / size);
    }
  std::printf("%s: error %.2g\n", name, worst);
  EXPECT(worst <= unit);
}

int main() {
  using namespace cutlass::gemm;
  using namespace cutlass::epilogue;
  using Half = cutlass::half_t;
  using Fp8 = cutlass::float_e4m3_t;
  using cute::_128;
  using cute::_64;
  using Tile = cute::Shape<_64, _128, _64>;
  using Tall = cute::Shape<_128, _128, _64>;
  run<Half, Row, Half, Column, Tile, KernelTmaWarpSpecialized,
      TmaWarpSpecialized>("specialised", 128, 128, 256, 2e-6);
  run<Half, Column, Half, Row, Tile, KernelTmaWarpSpecializedPingpong,
      TmaWarpSpecialized>("ping-pong, other majors", 256, 128, 256, 2e-6);
  run<Half, Row, Half, Row, Tall, KernelTmaWarpSpecializedCooperative,
      TmaWarpSpecializedCooperative>("cooperative", 128, 256, 256, 2e-6);
  run<Fp8, Row, Fp8, Column, cute::Shape<_64, _128, _128>,
      KernelTmaWarpSpecialized, TmaWarpSpecialized>("fp8", 128, 128, 512, 4e-3);
  run<Half, Row, Half, Column, Tile, KernelCpAsyncWarpSpecialized,
      NoSmemWarpSpecialized>("cp.async", 128, 128, 256, 2e-6);
  run<float, Row, float, Column, cute::Shape<_64, _128, cute::_32>,
      KernelTmaWarpSpecialized, TmaWarpSpecialized>("tf32", 128, 128, 128,
                                                    2e-3);
  // Clusters: one operand or both are sent to several blocks.
  run<Half, Row, Half, Column, Tile, KernelTmaWarpSpecialized,
      TmaWarpSpecialized, cute::Shape<cute::_2, cute::_1, cute::_1>>(
      "cluster of 2x1", 256, 128, 256, 2e-6);
  run<Half, Row, Half, Column, Tile, KernelTmaWarpSpecializedPingpong,
      TmaWarpSpecialized, cute::Shape<cute::_1, cute::_2, cute::_1>>(
      "cluster of 1x2, ping-pong", 128, 256, 256, 2e-6);
  run<Half, Row, Half, Row, Tall, KernelTmaWarpSpecializedCooperative,
      TmaWarpSpecializedCooperative, cute::Shape<cute::_2, cute::_2, cute::_1>>(
      "cluster of 2x2, cooperative", 256, 256, 256, 2e-6);
  return verdict();
}
