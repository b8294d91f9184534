// A stranger's program: a product on a GPU, built ahead of time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tessera/device.h"

#include "kernels.h"
#include <cstdio>
#include <vector>

static int fail(const tessera::Status &status) {
  std::printf("error: %s\n", status.message());
  return 1;
}

int main() {
  tessera::Device gpu;
  tessera::Status status = tessera::Device::cuda(0, gpu);
  if (!status)
    return fail(status);
  std::printf("%s\n", gpu.info().name);
  // Small integers: every order of summation gives the same bits.
  const int64_t m = 37, n = 29, k = 65;
  auto count = [](int64_t size) { return static_cast<size_t>(size); };
  std::vector<float> a(count(m * k)), b(count(k * n)), c(count(m * n), -1.0f);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = static_cast<float>(static_cast<int>(i % 7) - 3);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = static_cast<float>(static_cast<int>(i % 5) - 2);
  tessera::DeviceMemory A, B, C;
  for (auto [memory, host] : {std::pair{&A, &a}, {&B, &b}, {&C, &c}}) {
    size_t bytes = host->size() * sizeof(float);
    if (status)
      status = gpu.allocate(bytes, *memory);
    if (status)
      status = gpu.copy(memory->data(), host->data(), bytes);
  }
  kernels::gemm_args args{tessera::view(A.as<float>(), {m, k}),
                          tessera::view(B.as<float>(), {k, n}),
                          tessera::view(C.as<float>(), {m, n})};
  if (status)
    status = kernels::gemm(args, gpu.handle());
  if (status)
    status = gpu.copy(c.data(), C.data(), c.size() * sizeof(float));
  if (status)
    status = gpu.synchronize();
  if (!status)
    return fail(status);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float expected = 0;
      for (int64_t x = 0; x < k; ++x)
        expected += a[count(i * k + x)] * b[count(x * n + j)];
      if (c[count(i * n + j)] != expected) {
        std::printf("(%d, %d) is %g, not %g\n", static_cast<int>(i),
                    static_cast<int>(j), double(c[count(i * n + j)]),
                    double(expected));
        return 1;
      }
    }
  // Without a GPU in the call there is no code.
  tessera::Status onCpu = kernels::gemm(args);
  std::printf("right\n%s\n", onCpu.message());
  return 0;
}
