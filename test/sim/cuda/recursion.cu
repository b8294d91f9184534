// Recursion, function pointers, virtual calls, switch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
__device__ __noinline__ int fib(int n) {
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int times(int a, int b) { return a * b; }
using Op = int (*)(int, int);
struct Shape {
  int v;
  __device__ Shape(int v) : v(v) {}
  __device__ virtual int area() const { return v; }
};
struct Square : Shape {
  __device__ Square(int v) : Shape(v) {}
  __device__ int area() const override { return v * v; }
};
__device__ int choose(int k) {
  switch (k) {
  case 0: return 11;
  case 1: return 5;
  case 2: return 7;
  case 3: return k * 13;
  case 4: return -2;
  case 5: return 999;
  default: return k;
  }
}
__global__ void work(int *out) {
  int t = threadIdx.x;
  Op op = t % 2 ? plus : times;
  Shape shape(t);
  Square square(t);
  const Shape *s = t % 3 ? (const Shape *)&square : &shape;
  out[t * 4] = fib(t % 11);
  out[t * 4 + 1] = op(t, 3);
  out[t * 4 + 2] = s->area();
  out[t * 4 + 3] = choose(t % 8);
}
int main() {
  int *d = device(std::vector<int>(256));
  work<<<1, 64>>>(d);
  auto o = host(d, 256);
  int f[11] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55};
  int c[8] = {11, 5, 7, 39, -2, 999, 6, 7};
  for (int t = 0; t < 64; ++t) {
    EXPECT(o[t * 4] == f[t % 11]);
    EXPECT(o[t * 4 + 1] == (t % 2 ? t + 3 : t * 3));
    EXPECT(o[t * 4 + 2] == (t % 3 ? t * t : t));
    EXPECT(o[t * 4 + 3] == c[t % 8]);
  }
  return verdict();
}
