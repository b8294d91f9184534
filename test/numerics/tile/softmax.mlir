// Online softmax over rows, the columns in blocks of 512.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
tile.func @softmax(%x: memref<?x?xf32, strided<[?, 1]>>, %y: memref<?x?xf32, strided<[?, 1]>>) {
  %c0 = arith.constant 0 : index
  %m = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %n = tile.dim %x, 1 : memref<?x?xf32, strided<[?, 1]>>
  %i = tile.program extents(%m) tiles = [4] : !tile.range<4>
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %t0 = tile.fill %low [%i] : f32, !tile.range<4> -> tensor<4xf32>
  %s0 = tile.fill %zero [%i] : f32, !tile.range<4> -> tensor<4xf32>
  %top, %sum = tile.for %j = %c0 to %n carry(%t = %t0, %s = %s0) : !tile.range<512>, (tensor<4xf32>, tensor<4xf32>) {
    %a = tile.load %x[%i, %j] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<4>, !tile.range<512> -> tensor<4x512xf32>
    %mx = tile.reduce max %a axis = 1 : tensor<4x512xf32> -> tensor<4xf32>
    %new = arith.maximumf %t, %mx : tensor<4xf32>
    %nb = tile.broadcast %new axes = [0] [%j] : tensor<4xf32>, !tile.range<512> -> tensor<4x512xf32>
    %d = arith.subf %a, %nb : tensor<4x512xf32>
    %e = math.exp %d : tensor<4x512xf32>
    %es = tile.reduce sum %e axis = 1 : tensor<4x512xf32> -> tensor<4xf32>
    %f = arith.subf %t, %new : tensor<4xf32>
    %fe = math.exp %f : tensor<4xf32>
    %sf = arith.mulf %s, %fe : tensor<4xf32>
    %sn = arith.addf %sf, %es : tensor<4xf32>
    tile.yield %new, %sn : tensor<4xf32>, tensor<4xf32>
  }
  tile.for %j = %c0 to %n : !tile.range<512> {
    %a = tile.load %x[%i, %j] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<4>, !tile.range<512> -> tensor<4x512xf32>
    %nb = tile.broadcast %top axes = [0] [%j] : tensor<4xf32>, !tile.range<512> -> tensor<4x512xf32>
    %sb = tile.broadcast %sum axes = [0] [%j] : tensor<4xf32>, !tile.range<512> -> tensor<4x512xf32>
    %d = arith.subf %a, %nb : tensor<4x512xf32>
    %e = math.exp %d : tensor<4x512xf32>
    %q = arith.divf %e, %sb : tensor<4x512xf32>
    tile.store %q, %y[%i, %j] : tensor<4x512xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<4>, !tile.range<512>
  }
  tile.return
}
