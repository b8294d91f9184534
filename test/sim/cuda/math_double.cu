// Double-precision mathematics against the host.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
__global__ void work(const double *x, double *y, int n) {
  int i = threadIdx.x;
  if (i >= n)
    return;
  double v = x[i];
  y[i * 8 + 0] = sin(v);
  y[i * 8 + 1] = exp(v);
  y[i * 8 + 2] = log(fabs(v) + 1);
  y[i * 8 + 3] = pow(fabs(v), 1.7);
  y[i * 8 + 4] = tanh(v);
  y[i * 8 + 5] = erf(v);
  y[i * 8 + 6] = cbrt(v);
  y[i * 8 + 7] = atan2(v, 2.0) + fmod(v, 0.7) + rint(v) + 1.0 / v + sqrt(v * v);
}
int main() {
  std::vector<double> x;
  for (int i = 0; i < 64; ++i)
    x.push_back((i - 31.5) * 0.37);
  double *dx = device(x), *dy = device(std::vector<double>(512));
  work<<<1, 64>>>(dx, dy, 64);
  auto y = host(dy, 512);
  for (int i = 0; i < 64; ++i) {
    double v = x[i];
    double want[8] = {std::sin(v), std::exp(v), std::log(std::fabs(v) + 1),
                      std::pow(std::fabs(v), 1.7), std::tanh(v), std::erf(v),
                      std::cbrt(v),
                      std::atan2(v, 2.0) + std::fmod(v, 0.7) + std::rint(v) +
                          1.0 / v + std::sqrt(v * v)};
    for (int k = 0; k < 8; ++k)
      EXPECT(std::fabs(y[i * 8 + k] - want[k]) <=
             4e-16 * std::fmax(1.0, std::fabs(want[k])) * 4);
  }
  return verdict();
}
