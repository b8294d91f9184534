// What is made of a sum of AMX is made by the last turn of its loop, and the loop
// takes one where there is nothing to sum.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --cpu-map-to-nests=amx=true --cpu-fuse-epilogue | FileCheck %s

// CHECK-LABEL: tile.func @rounded
// CHECK:         tile.for
// CHECK:           %[[LAST:.*]] = arith.cmpi sge
// CHECK:           tile.nest{{.*}}unit = #tile.unit<amx>
// CHECK:             tile.mma
// CHECK-NEXT:        tile.local_store
// CHECK-NEXT:        scf.if %[[LAST]] {
// CHECK-NEXT:          tile.nest
// CHECK:                 arith.truncf
// CHECK:                 tile.store
// CHECK:         } {at_least_once, {{.*}}}
// CHECK-NEXT:    tile.return
tile.func @rounded(%x: memref<?x?xbf16, strided<[?, 1]>> {gir.mode = "in"}, %w: memref<?x?xbf16, strided<[?, 1]>> {gir.mode = "in"}, %z: memref<?x?xbf16, strided<[?, 1]>> {gir.mode = "out"}) {
  %none = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tile.dim %x, 0 : memref<?x?xbf16, strided<[?, 1]>>
  %n = tile.dim %w, 1 : memref<?x?xbf16, strided<[?, 1]>>
  %deep = tile.dim %x, 1 : memref<?x?xbf16, strided<[?, 1]>>
  %i:2 = tile.program extents(%m, %n) tiles = [64, 64] : !tile.range<64>, !tile.range<64>
  %c = tile.fill %zero[%i#0, %i#1] : f32, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
  %s = tile.for %k = %none to %deep carry(%sum = %c) : !tile.range<128>, (tensor<64x64xf32>) {
    %a = tile.load %x[%i#0, %k] : memref<?x?xbf16, strided<[?, 1]>>, !tile.range<64>, !tile.range<128> -> tensor<64x128xbf16>
    %b = tile.load %w[%k, %i#1] : memref<?x?xbf16, strided<[?, 1]>>, !tile.range<128>, !tile.range<64> -> tensor<128x64xbf16>
    %more = tile.mma %a, %b, %sum : tensor<64x128xbf16>, tensor<128x64xbf16>, tensor<64x64xf32>
    tile.yield %more : tensor<64x64xf32>
  }
  %h = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
  tile.store %h, %z[%i#0, %i#1] : tensor<64x64xbf16>, memref<?x?xbf16, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}

// f32 is no sum of AMX.
// CHECK-LABEL: tile.func @fma
// CHECK-NOT:     at_least_once
// CHECK:         tile.return
tile.func @fma(%x: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %w: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %z: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out"}) {
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
  %h = math.absf %s : tensor<64x64xf32>
  tile.store %h, %z[%i#0, %i#1] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}

// The rest reads what somebody writes.
// CHECK-LABEL: tile.func @in_place
// CHECK-NOT:     at_least_once
// CHECK:         tile.return
tile.func @in_place(%x: memref<?x?xbf16, strided<[?, 1]>> {gir.mode = "in"}, %w: memref<?x?xbf16, strided<[?, 1]>> {gir.mode = "in"}, %z: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out"}) {
  %none = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tile.dim %x, 0 : memref<?x?xbf16, strided<[?, 1]>>
  %n = tile.dim %w, 1 : memref<?x?xbf16, strided<[?, 1]>>
  %deep = tile.dim %x, 1 : memref<?x?xbf16, strided<[?, 1]>>
  %i:2 = tile.program extents(%m, %n) tiles = [64, 64] : !tile.range<64>, !tile.range<64>
  %c = tile.fill %zero[%i#0, %i#1] : f32, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
  %s = tile.for %k = %none to %deep carry(%sum = %c) : !tile.range<128>, (tensor<64x64xf32>) {
    %a = tile.load %x[%i#0, %k] : memref<?x?xbf16, strided<[?, 1]>>, !tile.range<64>, !tile.range<128> -> tensor<64x128xbf16>
    %b = tile.load %w[%k, %i#1] : memref<?x?xbf16, strided<[?, 1]>>, !tile.range<128>, !tile.range<64> -> tensor<128x64xbf16>
    %more = tile.mma %a, %b, %sum : tensor<64x128xbf16>, tensor<128x64xbf16>, tensor<64x64xf32>
    tile.yield %more : tensor<64x64xf32>
  }
  %t = tile.load %z[%i#0, %i#1] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
  %h = arith.addf %s, %t : tensor<64x64xf32>
  tile.store %h, %z[%i#0, %i#1] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}
