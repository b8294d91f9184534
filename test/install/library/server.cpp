// A stranger's program: runs an attention that was built ahead of time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "attention.h"
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

/// Row-major float32 with `rows` x `keys` x `width`, against plain loops.
static double compare(int64_t rows, int64_t keys, int64_t stride) {
  const int64_t width = 64;
  auto count = [](int64_t n) { return static_cast<size_t>(n); };
  std::vector<float> q(count(rows * stride * width)), k(count(keys * width)),
      v(count(keys * width)), o(count(rows * width), -1.0f);
  unsigned state = 1;
  auto random = [&] {
    state = state * 1664525u + 1013904223u;
    return static_cast<float>(state >> 8) / 16777216.0f - 0.5f;
  };
  for (auto *data : {&q, &k, &v})
    for (float &x : *data)
      x = random();
  attention::flash_attention_args args{
      tessera::view(
          q.data(), {1, 1, rows, width},
          {rows * stride * width, rows * stride * width, stride * width, 1}),
      tessera::view(k.data(), {1, 1, keys, width}),
      tessera::view(v.data(), {1, 1, keys, width}),
      tessera::view(o.data(), {1, 1, rows, width})};
  tessera::Status status = attention::flash_attention(args);
  if (!status) {
    std::printf("error: %s\n", status.message());
    return 1e9;
  }
  double worst = 0;
  for (int64_t i = 0; i < rows; ++i) {
    std::vector<double> p(count(keys));
    double sum = 0;
    for (int64_t j = 0; j < keys; ++j) {
      double dot = 0;
      for (int64_t d = 0; d < width; ++d)
        dot += double(q[count(i * stride * width + d)]) *
               double(k[count(j * width + d)]);
      p[count(j)] = std::exp(dot / 8);
      sum += p[count(j)];
    }
    for (int64_t d = 0; d < width; ++d) {
      double expected = 0;
      for (int64_t j = 0; j < keys; ++j)
        expected += p[count(j)] / sum * double(v[count(j * width + d)]);
      worst = std::fmax(worst,
                        std::fabs(expected - double(o[count(i * width + d)])));
    }
  }
  return worst;
}

int main() {
  double worst = std::fmax(compare(37, 130, 1), compare(5, 1, 3));
  std::printf("worst error %.2g\n", worst);
  // Errors are values: the wrong dtype and the wrong head size.
  int64_t small[1024] = {};
  float data[1024] = {};
  auto f = tessera::view(data, {1, 1, 2, 64});
  tessera::Status dtype = attention::flash_attention(
      {tessera::view(small, {1, 1, 2, 64}), f, f, f});
  tessera::Status size =
      attention::flash_attention({tessera::view(data, {1, 1, 2, 32}), f, f,
                                  tessera::view(data + 512, {1, 1, 2, 32})});
  std::printf("%s\n%s\n", dtype.message(), size.message());
  bool good = worst < 1e-5 && std::strstr(dtype.message(), "Q is i64") &&
              std::strstr(size.message(), "Q is 32");
  return good ? 0 : 1;
}
