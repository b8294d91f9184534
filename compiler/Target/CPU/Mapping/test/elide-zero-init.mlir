// The first step of a sum starts from zero; a loop without turns leaves zeros.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --cpu-map-to-nests --cpu-elide-zero-init | FileCheck %s
// RUN: tessera-opt %s --cpu-map-to-nests=amx=true --cpu-fuse-epilogue --cpu-elide-zero-init \
// RUN:   | FileCheck %s --check-prefix=AMX

// CHECK-LABEL: tile.func @zeros
// CHECK:         %[[NOTHING:.*]] = arith.cmpi sge, %[[NONE:.*]], %[[DEEP:.*]] : index
// CHECK-NEXT:    scf.if %[[NOTHING]] {
// CHECK-NEXT:      tile.nest
// CHECK:         tile.for %[[K:.*]] = %[[NONE]] to %[[DEEP]]
// CHECK:           %[[START:.*]] = tile.range_start %[[K]]
// CHECK:           %[[FIRST:.*]] = arith.cmpi eq, %[[START]], %[[NONE]]
// CHECK:             tile.local_load
// CHECK-NEXT:        %[[SUM:.*]] = tile.local_load
// CHECK-NEXT:        %[[ZEROS:.*]] = tile.fill
// CHECK-NEXT:        %[[ACC:.*]] = arith.select %[[FIRST]], %[[ZEROS]], %[[SUM]]
// CHECK-NEXT:        tile.mma %{{.*}}, %{{.*}}, %[[ACC]]
// AMX-LABEL: tile.func @zeros
tile.func @zeros(%x: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %w: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %z: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out"}) {
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
  tile.store %s, %z[%i#0, %i#1] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}

// The loop takes a turn in any case.
// AMX-LABEL: tile.func @at_least_once
// AMX-NOT:     scf.if
// AMX:         tile.for
// AMX:             arith.select
// AMX:         } {at_least_once, {{.*}}}
tile.func @at_least_once(%x: memref<?x?xbf16, strided<[?, 1]>> {gir.mode = "in"}, %w: memref<?x?xbf16, strided<[?, 1]>> {gir.mode = "in"}, %z: memref<?x?xbf16, strided<[?, 1]>> {gir.mode = "out"}) {
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

// A sum that starts from ones is not cleared.
// CHECK-LABEL: tile.func @ones
// CHECK-NOT:     arith.select
// CHECK:         tile.return
tile.func @ones(%x: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %w: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %z: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out"}) {
  %none = arith.constant 0 : index
  %zero = arith.constant 1.0 : f32
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
  tile.store %s, %z[%i#0, %i#1] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}
