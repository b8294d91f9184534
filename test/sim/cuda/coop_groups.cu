// Cooperative groups: tiles, reduce, partitions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
__global__ void work(const int *x, int *out) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  auto quad = cg::tiled_partition<4>(warp);
  int v = x[block.thread_rank()];
  out[block.thread_rank() * 4 + 0] = cg::reduce(warp, v, cg::plus<int>());
  out[block.thread_rank() * 4 + 1] = cg::reduce(quad, v, cg::greater<int>());
  out[block.thread_rank() * 4 + 2] = cg::inclusive_scan(warp, v);
  int bits = 0;
  if (v & 1) {
    auto active = cg::coalesced_threads();
    bits = int(active.size() * 100 + active.thread_rank());
  }
  out[block.thread_rank() * 4 + 3] = bits;
  block.sync();
}
int main() {
  std::vector<int> x(64);
  for (int i = 0; i < 64; ++i)
    x[i] = (i * 29) % 50;
  int *dx = device(x), *dout = device(std::vector<int>(256));
  work<<<1, 64>>>(dx, dout);
  auto out = host(dout, 256);
  for (int w = 0; w < 2; ++w) {
    int sum = 0, run = 0, odd = 0, rank = 0;
    for (int l = 0; l < 32; ++l)
      sum += x[w * 32 + l], odd += x[w * 32 + l] & 1;
    for (int l = 0; l < 32; ++l) {
      int i = w * 32 + l, most = 0;
      run += x[i];
      for (int k = i / 4 * 4; k < i / 4 * 4 + 4; ++k)
        most = std::max(most, x[k]);
      EXPECT(out[i * 4] == sum);
      EXPECT(out[i * 4 + 1] == most);
      EXPECT(out[i * 4 + 2] == run);
      EXPECT(out[i * 4 + 3] == (x[i] & 1 ? odd * 100 + rank : 0));
      rank += x[i] & 1;
    }
  }
  return verdict();
}
