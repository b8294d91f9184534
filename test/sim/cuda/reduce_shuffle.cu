// Warp shuffles, votes, matches and redux.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
__global__ void sums(const int *x, int *out, unsigned *masks) {
  int t = threadIdx.x, v = x[blockIdx.x * 64 + t];
  int s = v;
  for (int k = 16; k; k >>= 1)
    s += __shfl_down_sync(~0u, s, k);
  int all = v;
  for (int k = 16; k; k >>= 1)
    all += __shfl_xor_sync(~0u, all, k);
  if (t % 32 == 0)
    out[blockIdx.x * 2 + t / 32] = s;
  unsigned b = __ballot_sync(~0u, v > 0), m = __match_any_sync(~0u, v & 3);
  int prefix = v;
  for (int k = 1; k < 32; k <<= 1) {
    int o = __shfl_up_sync(~0u, prefix, k);
    if (t % 32 >= k)
      prefix += o;
  }
  masks[(blockIdx.x * 64 + t) * 4 + 0] = b;
  masks[(blockIdx.x * 64 + t) * 4 + 1] = m;
  masks[(blockIdx.x * 64 + t) * 4 + 2] = prefix;
  masks[(blockIdx.x * 64 + t) * 4 + 3] = all == __shfl_sync(~0u, s, 0);
}
int main() {
  std::vector<int> x(128);
  for (int i = 0; i < 128; ++i)
    x[i] = (i * 37) % 101 - 50;
  int *dx = device(x), *dout = device(std::vector<int>(4));
  unsigned *dm = device(std::vector<unsigned>(512));
  sums<<<2, 64>>>(dx, dout, dm);
  auto out = host(dout, 4);
  auto m = host(dm, 512);
  for (int w = 0; w < 4; ++w) {
    int sum = 0;
    unsigned ballot = 0;
    for (int l = 0; l < 32; ++l) {
      int v = x[w * 32 + l];
      sum += v;
      ballot |= unsigned(v > 0) << l;
      EXPECT(int(m[(w * 32 + l) * 4 + 2]) == sum);
    }
    EXPECT(out[w] == sum);
    for (int l = 0; l < 32; ++l) {
      unsigned match = 0;
      for (int k = 0; k < 32; ++k)
        match |= unsigned((x[w * 32 + k] & 3) == (x[w * 32 + l] & 3)) << k;
      EXPECT(m[(w * 32 + l) * 4] == ballot);
      EXPECT(m[(w * 32 + l) * 4 + 1] == match);
      EXPECT(m[(w * 32 + l) * 4 + 3] == 1);
    }
  }
  return verdict();
}
