// Atomic operations on integers, floats and doubles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
__global__ void work(int *i, unsigned *u, unsigned long long *l, float *f,
                     double *d) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&i[0], t);
  atomicSub(&i[1], 1);
  atomicMin(&i[2], -t);
  atomicMax(&i[3], t);
  atomicAnd(&u[0], ~(1u << (t % 32)));
  atomicOr(&u[1], 1u << (t % 32));
  atomicXor(&u[2], 1u << (t % 32));
  atomicInc(&u[3], 9);
  atomicDec(&u[4], 9);
  atomicExch(&i[4], 77);
  atomicAdd(&l[0], (unsigned long long)t << 20);
  atomicAdd(f, 0.25f);
  atomicAdd(d, 0.125);
  int old = atomicAdd(&i[5], 0), seen; // a plain read would race
  do {
    seen = old;
    old = atomicCAS(&i[5], seen, seen + 3);
  } while (old != seen);
}
int main() {
  int n = 256;
  int *i = device(std::vector<int>(8));
  unsigned *u = device(std::vector<unsigned>{~0u, 0, 0, 0, 5, 0, 0, 0});
  auto *l = device(std::vector<unsigned long long>(1));
  float *f = device(std::vector<float>(1));
  double *d = device(std::vector<double>(1));
  work<<<4, 64>>>(i, u, l, f, d);
  auto hi = host(i, 8);
  auto hu = host(u, 8);
  EXPECT(hi[0] == n * (n - 1) / 2 && hi[1] == -n && hi[2] == 1 - n);
  EXPECT(hi[3] == n - 1 && hi[4] == 77 && hi[5] == 3 * n);
  EXPECT(hu[0] == 0 && hu[1] == ~0u && hu[2] == 0 && hu[3] == n % 10);
  unsigned dec = 5;
  for (int k = 0; k < n; ++k)
    dec = dec == 0 || dec > 9 ? 9 : dec - 1;
  EXPECT(hu[4] == dec);
  EXPECT(host(l, 1)[0] == (unsigned long long)(n * (n - 1) / 2) << 20);
  EXPECT(host(f, 1)[0] == 64.0f && host(d, 1)[0] == 32.0);
  return verdict();
}
