// Shared by the CUDA test programs: error checks and the verdict.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>
#define CHECK(call)                                                            \
  do {                                                                         \
    cudaError_t e_ = (call);                                                   \
    if (e_ != cudaSuccess) {                                                   \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));  \
      std::exit(1);                                                            \
    }                                                                          \
  } while (0)
#define EXPECT(condition)                                                      \
  do {                                                                         \
    if (!(condition)) {                                                        \
      std::printf("%s:%d: %s is false\n", __FILE__, __LINE__, #condition);     \
      std::exit(1);                                                            \
    }                                                                          \
  } while (0)
template <class T> T *device(const std::vector<T> &v) {
  T *p;
  CHECK(cudaMalloc(&p, v.size() * sizeof(T)));
  CHECK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}
template <class T> std::vector<T> host(const T *p, size_t n) {
  std::vector<T> v(n);
  CHECK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
  return v;
}
inline std::vector<float> noise(size_t n, unsigned seed = 1) {
  std::vector<float> v(n);
  for (auto &x : v) {
    seed = seed * 1664525u + 1013904223u;
    x = float(seed >> 8) / (1 << 24) - 0.5f;
  }
  return v;
}
inline int verdict() {
  CHECK(cudaDeviceSynchronize());
  std::puts("ok");
  return 0;
}
