// Adds vectors; several block sizes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
__global__ void add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    c[i] = a[i] + b[i];
}
int main() {
  int n = 5000;
  auto a = noise(n, 1), b = noise(n, 2);
  float *da = device(a), *db = device(b), *dc = device(std::vector<float>(n));
  for (int block : {32, 100, 256, 1024}) {
    CHECK(cudaMemset(dc, 0, n * 4));
    add<<<(n + block - 1) / block, block>>>(da, db, dc, n);
    auto c = host(dc, n);
    for (int i = 0; i < n; ++i)
      EXPECT(c[i] == a[i] + b[i]);
  }
  CHECK(cudaFree(da));
  return verdict();
}
