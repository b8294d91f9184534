// What a sum is combined with is asked for before the sum.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --cpu-map-to-nests --cpu-prefetch | FileCheck %s

// CHECK-LABEL: tile.func @residual(
// CHECK:         %[[I:.*]]:2 = tile.program
// CHECK:         tile.prefetch %{{.*}}[%[[I]]#0, %[[I]]#1] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
// CHECK-NEXT:    tile.for
tile.func @residual(%x: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %w: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %r: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %z: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out"}) {
  %none = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %n = tile.dim %w, 1 : memref<?x?xf32, strided<[?, 1]>>
  %deep = tile.dim %x, 1 : memref<?x?xf32, strided<[?, 1]>>
  %i:2 = tile.program extents(%m, %n) tiles = [64, 64] : !tile.range<64>, !tile.range<64>
  %c = tile.fill %zero[%i#0, %i#1] : f32, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
  %s = tile.for %k = %none to %deep carry(%sum = %c) : !tile.range<128>, (tensor<64x64xf32>) {
    %a = tile.load %x[%i#0, %k] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<128> -> tensor<64x128xf32>
    %b = tile.load %w[%k, %i#1] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<128>, !tile.range<64> -> tensor<128x64xf32>
    %more = tile.mma %a, %b, %sum : tensor<64x128xf32>, tensor<128x64xf32>, tensor<64x64xf32>
    tile.yield %more : tensor<64x64xf32>
  }
  %t = tile.load %r[%i#0, %i#1] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
  %h = arith.addf %s, %t : tensor<64x64xf32>
  tile.store %h, %z[%i#0, %i#1] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}

// Two of them, the second one turned: rows of what is read, not of what is made.
// CHECK-LABEL: tile.func @two
// CHECK:         %[[I:.*]]:2 = tile.program
// CHECK:         tile.prefetch %arg2[%[[I]]#0, %[[I]]#1] : {{.*}}!tile.range<64>, !tile.range<32>
// CHECK-NEXT:    tile.prefetch %arg3[%[[I]]#1, %[[I]]#0] : {{.*}}!tile.range<32>, !tile.range<64>
// CHECK-NEXT:    tile.for
tile.func @two(%x: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %w: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %r: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %t: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %z: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out"}) {
  %none = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %n = tile.dim %w, 1 : memref<?x?xf32, strided<[?, 1]>>
  %deep = tile.dim %x, 1 : memref<?x?xf32, strided<[?, 1]>>
  %i:2 = tile.program extents(%m, %n) tiles = [64, 32] : !tile.range<64>, !tile.range<32>
  %c = tile.fill %zero[%i#0, %i#1] : f32, !tile.range<64>, !tile.range<32> -> tensor<64x32xf32>
  %s = tile.for %k = %none to %deep carry(%sum = %c) : !tile.range<128>, (tensor<64x32xf32>) {
    %a = tile.load %x[%i#0, %k] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<128> -> tensor<64x128xf32>
    %b = tile.load %w[%k, %i#1] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<128>, !tile.range<32> -> tensor<128x32xf32>
    %more = tile.mma %a, %b, %sum : tensor<64x128xf32>, tensor<128x32xf32>, tensor<64x32xf32>
    tile.yield %more : tensor<64x32xf32>
  }
  %u = tile.load %r[%i#0, %i#1] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<32> -> tensor<64x32xf32>
  %v = tile.load %t[%i#1, %i#0] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<32>, !tile.range<64> -> tensor<32x64xf32>
  %turned = tile.transpose %v [1, 0] : tensor<32x64xf32> -> tensor<64x32xf32>
  %h = arith.addf %s, %u : tensor<64x32xf32>
  %o = arith.addf %h, %turned : tensor<64x32xf32>
  tile.store %o, %z[%i#0, %i#1] : tensor<64x32xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<32>
  tile.return
}

// A line for all rows is near anyway, and columns are not asked for.
// CHECK-LABEL: tile.func @bias
// CHECK-NOT:     tile.prefetch
// CHECK:         tile.return
tile.func @bias(%x: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %w: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %r: memref<?xf32, strided<[1]>> {gir.mode = "in"}, %z: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out"}) {
  %none = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %n = tile.dim %w, 1 : memref<?x?xf32, strided<[?, 1]>>
  %deep = tile.dim %x, 1 : memref<?x?xf32, strided<[?, 1]>>
  %i:2 = tile.program extents(%m, %n) tiles = [64, 64] : !tile.range<64>, !tile.range<64>
  %c = tile.fill %zero[%i#0, %i#1] : f32, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
  %s = tile.for %k = %none to %deep carry(%sum = %c) : !tile.range<128>, (tensor<64x64xf32>) {
    %a = tile.load %x[%i#0, %k] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<128> -> tensor<64x128xf32>
    %b = tile.load %w[%k, %i#1] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<128>, !tile.range<64> -> tensor<128x64xf32>
    %more = tile.mma %a, %b, %sum : tensor<64x128xf32>, tensor<128x64xf32>, tensor<64x64xf32>
    tile.yield %more : tensor<64x64xf32>
  }
  %t = tile.load %r[%i#1] : memref<?xf32, strided<[1]>>, !tile.range<64> -> tensor<64xf32>
  %u = tile.broadcast %t axes = [1] [%i#0] : tensor<64xf32>, !tile.range<64> -> tensor<64x64xf32>
  %h = arith.addf %s, %u : tensor<64x64xf32>
  tile.store %h, %z[%i#0, %i#1] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}
