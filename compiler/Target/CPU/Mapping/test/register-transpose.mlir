// What is read along one axis and stored along the other goes through squares of
// registers; so does a panel that is filled from rows along k.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --cpu-map-to-nests --cpu-register-transpose | FileCheck %s
// RUN: tessera-opt %s --cpu-map-to-nests=vector-bytes=32 --cpu-register-transpose=vector-bytes=32 | FileCheck %s

// CHECK-LABEL: tile.func @turned
// CHECK:         tile.nest[%{{.*}}, %{{.*}}] {{{[^}]*}}transposes
tile.func @turned(%x: memref<?x?xf32, strided<[?, 1]>>, %y: memref<?x?xf32, strided<[?, 1]>>) {
  %M = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %N) tiles = [64, 64] : !tile.range<64>, !tile.range<64>
  %a = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
  %t = tile.transpose %a [1, 0] : tensor<64x64xf32> -> tensor<64x64xf32>
  tile.store %t, %y[%n, %m] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}

// Both are along rows.
// CHECK-LABEL: tile.func @copied
// CHECK-NOT:     transposes
// CHECK:         tile.return
tile.func @copied(%x: memref<?x?xf32, strided<[?, 1]>>, %y: memref<?x?xf32, strided<[?, 1]>>) {
  %M = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %N) tiles = [64, 64] : !tile.range<64>, !tile.range<64>
  %a = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
  tile.store %a, %y[%m, %n] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}

// Eight bytes do not fit.
// CHECK-LABEL: tile.func @wide
// CHECK-NOT:     transposes
// CHECK:         tile.return
tile.func @wide(%x: memref<?x?xf64, strided<[?, 1]>>, %y: memref<?x?xf64, strided<[?, 1]>>) {
  %M = tile.dim %x, 0 : memref<?x?xf64, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xf64, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %N) tiles = [64, 64] : !tile.range<64>, !tile.range<64>
  %a = tile.load %x[%m, %n] : memref<?x?xf64, strided<[?, 1]>>, !tile.range<64>, !tile.range<64> -> tensor<64x64xf64>
  %t = tile.transpose %a [1, 0] : tensor<64x64xf64> -> tensor<64x64xf64>
  tile.store %t, %y[%n, %m] : tensor<64x64xf64>, memref<?x?xf64, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}

// The panels of B are filled from rows of its transpose.
// CHECK-LABEL: tile.func @panels
// CHECK:         tile.for
// CHECK:           tile.nest[%{{.*}}, %{{.*}}] {{{[^}]*}}transposes
// CHECK:             tile.local_store
// CHECK:           tile.nest{{.*}}unit = #tile.unit<fma>
tile.func @panels(%x: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %w: memref<?x?xf32, strided<[1, ?]>> {gir.mode = "in"}, %z: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out"}) {
  %none = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %M = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %K = tile.dim %x, 1 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %z, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %N) tiles = [64, 64] : !tile.range<64>, !tile.range<64>
  %c = tile.fill %zero[%m, %n] : f32, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
  %s = tile.for %k = %none to %K carry(%sum = %c) : !tile.range<64>, (tensor<64x64xf32>) {
    %a = tile.load %x[%m, %k] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
    %b = tile.load %w[%k, %n] : memref<?x?xf32, strided<[1, ?]>>, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
    %more = tile.mma %a, %b, %sum : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
    tile.yield %more : tensor<64x64xf32>
  }
  tile.store %s, %z[%m, %n] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}
