// The C++17 header as a stranger uses it: no exceptions, no RTTI, all warnings.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tessera/device.h"

#include <cstdio>
#include <cstring>

static int32_t scale(void *const *pointers, const int64_t *integers,
                     int64_t begin, int64_t end, void *) {
  auto *x = static_cast<float *>(pointers[0]);
  double factor;
  std::memcpy(&factor, &integers[2], sizeof factor);
  for (int64_t i = begin; i < end; ++i)
    x[i * integers[1]] *= static_cast<float>(factor);
  return 0;
}

int main() {
  tessera::Executable executable;
  tessera::Status status = tessera::Executable::create(
      "tessera.plan 1\nfunction scale\ntarget cpu 1\narg %x inout f32 [$N]\n"
      "arg $factor f64\nbody\nlaunch @scale(%x; $factor) grid $N\nend\n",
      {{"scale", scale}}, executable);
  float x[] = {1, 2, 3, 4};
  if (status)
    status = executable.run({tessera::view(x, {2}, {2})}, {2.5});
  if (!status) {
    std::puts(status.message());
    return 1;
  }
  status = executable.run({tessera::view(x, {2, 2})}, {2.5});
  if (std::strcmp(status.message(), "x must have rank 1, but has rank 2") != 0)
    return 2;
  bool right = x[0] == 2.5f && x[1] == 2 && x[2] == 7.5f && x[3] == 4;
  return right && !status && status.code() == TSR_INVALID_ARGUMENT ? 0 : 3;
}
