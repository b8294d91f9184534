// printf of all argument kinds from a kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
__global__ void say(int n) {
  if (threadIdx.x == 1)
    printf("n=%d hex=%x long=%lld f=%.3f c=%c s=%s u=%u %%\n", n, 255u,
           -5000000000ll, 1.5, 'z', "text", 4000000000u);
}
int main() {
  say<<<1, 4>>>(42);
  return verdict();
}
