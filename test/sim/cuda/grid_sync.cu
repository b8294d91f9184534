// A cooperative launch with grid-wide barriers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void rounds(int *a, int *b, int n) {
  auto grid = cg::this_grid();
  int i = int(grid.thread_rank());
  for (int k = 0; k < 3; ++k) {
    b[i] = a[(i + 1) % n] + 1;
    grid.sync();
    a[i] = b[(i + 1) % n] + 1;
    grid.sync();
  }
}
int main() {
  int n = 256;
  std::vector<int> a(n);
  for (int i = 0; i < n; ++i)
    a[i] = i * 3;
  int *da = device(a), *db = device(a);
  void *arguments[] = {&da, &db, &n};
  CHECK(cudaLaunchCooperativeKernel((void *)rounds, 8, 32, arguments));
  auto got = host(da, n);
  for (int i = 0; i < n; ++i)
    EXPECT(got[i] == (i + 6) % n * 3 + 6);
  return verdict();
}
