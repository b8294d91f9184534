// The last pass over a row prefetches the next program's.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --cpu-map-to-nests --cpu-prefetch-rows | FileCheck %s

// CHECK-LABEL: tile.func @three_passes
// CHECK-NOT:     prefetch
// CHECK:         arith.mulf
// CHECK:         tile.load {{.*}} {prefetch = 1 : i64}
// CHECK-NOT:     prefetch
// CHECK:         tile.return
tile.func @three_passes(%x: memref<?x?xf32, strided<[?, 1]>>, %y: memref<?x?xf32, strided<[?, 1]>>) {
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %M = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m = tile.program extents(%M) tiles = [0] : index
  %sum = tile.for %n = %zero to %N carry(%s = %none) : !tile.range<1024>, (f32) {
    %t = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xf32>
    %p = tile.reduce sum %t axis = 0 : tensor<1024xf32> -> f32
    %q = arith.addf %s, %p : f32
    tile.yield %q : f32
  }
  %squares = tile.for %n = %zero to %N carry(%s = %none) : !tile.range<1024>, (f32) {
    %t = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xf32>
    %r = arith.mulf %t, %t : tensor<1024xf32>
    %p = tile.reduce sum %r axis = 0 : tensor<1024xf32> -> f32
    %q = arith.addf %s, %p : f32
    tile.yield %q : f32
  }
  tile.for %n = %zero to %N : !tile.range<1024> {
    %t = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xf32>
    %a = tile.fill %sum[%n] : f32, !tile.range<1024> -> tensor<1024xf32>
    %b = tile.fill %squares[%n] : f32, !tile.range<1024> -> tensor<1024xf32>
    %d = arith.subf %t, %a : tensor<1024xf32>
    %r = arith.subf %d, %b : tensor<1024xf32>
    tile.store %r, %y[%m, %n] : tensor<1024xf32>, memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024>
  }
  tile.return
}

// Of a block of rows, the next block's.
// CHECK-LABEL: tile.func @blocks
// CHECK:         tile.load {{.*}} {prefetch = 1 : i64}
// CHECK:         tile.return
tile.func @blocks(%x: memref<?x256xf32, strided<[?, 1]>>, %y: memref<?x256xf32, strided<[?, 1]>>) {
  %zero = arith.constant 0 : index
  %M = tile.dim %x, 0 : memref<?x256xf32, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x256xf32, strided<[?, 1]>>
  %m = tile.program extents(%M) tiles = [4] : !tile.range<4>
  %n = tile.range_at %zero of %N : <256>
  %t = tile.load %x[%m, %n] : memref<?x256xf32, strided<[?, 1]>>, !tile.range<4>, !tile.range<256> -> tensor<4x256xf32>
  tile.store %t, %y[%m, %n] {hints = {nontemporal}} : tensor<4x256xf32>, memref<?x256xf32, strided<[?, 1]>>, !tile.range<4>, !tile.range<256>
  tile.return
}

// Memory of a program's own is left alone, and so is what it reads in a loop
// over other axes, too: who knows when the next program does.
// CHECK-LABEL: tile.func @own
// CHECK-NOT:     prefetch
// CHECK:         tile.return
tile.func @own(%x: memref<?x4x64xf32, strided<[?, ?, 1]>>, %u: memref<?x64xf32, strided<[?, 1]>>) {
  %zero = arith.constant 0 : index
  %four = arith.constant 4 : index
  %M = tile.dim %x, 0 : memref<?x4x64xf32, strided<[?, ?, 1]>>
  %N = arith.constant 64 : index
  %m = tile.program extents(%M) tiles = [0] : index
  %n = tile.range_at %zero of %N : <64>
  tile.for %one = %zero to %four : !tile.range<1> {
    %k = tile.range_start %one : !tile.range<1>
    %t = tile.load %x[%m, %k, %n] : memref<?x4x64xf32, strided<[?, ?, 1]>>, index, index, !tile.range<64> -> tensor<64xf32>
    %s = tile.load %u[%m, %n] : memref<?x64xf32, strided<[?, 1]>>, index, !tile.range<64> -> tensor<64xf32>
    %r = arith.addf %t, %s : tensor<64xf32>
    tile.store %r, %u[%m, %n] : tensor<64xf32>, memref<?x64xf32, strided<[?, 1]>>, index, !tile.range<64>
  }
  tile.return
}
