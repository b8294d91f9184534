// Two translation units linked on the device (-rdc), second half.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
__device__ int table[4] = {100, 200, 300, 400};
__device__ int remote(int x) { return x * x; }
