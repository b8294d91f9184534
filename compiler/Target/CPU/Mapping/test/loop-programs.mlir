// Kernels that store rows at their ends loop over the programs of a call.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --cpu-map-to-nests --cpu-loop-programs | FileCheck %s

// What all programs share stands before the loop.
// CHECK-LABEL: tile.func @delayed
// CHECK:         tile.alloc
// CHECK:         %[[M:.*]] = tile.dim %{{.*}}, 0
// CHECK:         %[[BEGIN:.*]], %[[END:.*]] = tile.chunk extents(%[[M]]) tiles = [0]
// CHECK:         scf.for %[[P:.*]] = %[[BEGIN]] to %[[END]]
// CHECK-NOT:       tile.dim
// CHECK:           tile.program extents(%[[M]]) tiles = [0] at %[[P]] : index
// CHECK:           tile.store
// CHECK:         tile.return
tile.func @delayed(%x: memref<?x?xf32, strided<[?, 1]>>, %y: memref<?x?xf32, strided<[?, 1]>>) {
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %M = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m = tile.program extents(%M) tiles = [0] : index
  %sum = tile.for %n = %zero to %N carry(%s = %none) : !tile.range<1024>, (f32) {
    %t = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xf32>
    %e = math.exp %t : tensor<1024xf32>
    %p = tile.reduce sum %e axis = 0 : tensor<1024xf32> -> f32
    %q = arith.addf %s, %p : f32
    tile.yield %q : f32
  }
  tile.for %n = %zero to %N : !tile.range<1024> {
    %t = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xf32>
    %e = math.exp %t : tensor<1024xf32>
    %d = tile.fill %sum[%n] : f32, !tile.range<1024> -> tensor<1024xf32>
    %r = arith.mulf %e, %d : tensor<1024xf32>
    tile.store %r, %y[%m, %n] {hints = {nontemporal}} : tensor<1024xf32>, memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024>
  }
  tile.return
}

// Nothing goes past the caches here.
// CHECK-LABEL: tile.func @at_once
// CHECK-NOT:     tile.chunk
// CHECK:         tile.return
tile.func @at_once(%x: memref<?x?xf32, strided<[?, 1]>>, %y: memref<?x?xf32, strided<[?, 1]>>) {
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %M = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m = tile.program extents(%M) tiles = [0] : index
  %sum = tile.for %n = %zero to %N carry(%s = %none) : !tile.range<1024>, (f32) {
    %t = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xf32>
    %e = math.exp %t : tensor<1024xf32>
    %p = tile.reduce sum %e axis = 0 : tensor<1024xf32> -> f32
    %q = arith.addf %s, %p : f32
    tile.yield %q : f32
  }
  tile.for %n = %zero to %N : !tile.range<1024> {
    %t = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xf32>
    %e = math.exp %t : tensor<1024xf32>
    %d = tile.fill %sum[%n] : f32, !tile.range<1024> -> tensor<1024xf32>
    %r = arith.mulf %e, %d : tensor<1024xf32>
    tile.store %r, %y[%m, %n] : tensor<1024xf32>, memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024>
  }
  tile.return
}
