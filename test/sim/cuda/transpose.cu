// Tiled transpose with padded shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"
__global__ void transpose(const float *a, float *b, int rows, int columns) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    if (x < columns && y + k < rows)
      tile[threadIdx.y + k][threadIdx.x] = a[(y + k) * columns + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    if (x < rows && y + k < columns)
      b[(y + k) * rows + x] = tile[threadIdx.x][threadIdx.y + k];
}
int main() {
  int r = 70, c = 100;
  auto a = noise(r * c);
  float *da = device(a), *db = device(std::vector<float>(r * c));
  transpose<<<dim3(4, 3), dim3(32, 8)>>>(da, db, r, c);
  auto b = host(db, r * c);
  for (int i = 0; i < r; ++i)
    for (int j = 0; j < c; ++j)
      EXPECT(b[j * r + i] == a[i * c + j]);
  return verdict();
}
