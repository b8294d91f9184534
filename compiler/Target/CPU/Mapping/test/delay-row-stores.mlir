// Results that go past the caches are stored while the next row is computed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --cpu-map-to-nests --cpu-prefetch-rows --cpu-loop-programs --cpu-delay-row-stores | FileCheck %s
// RUN: tessera-opt %s --cpu-map-to-nests --cpu-pair-bf16 --cpu-prefetch-rows --cpu-loop-programs --cpu-delay-row-stores | FileCheck %s --check-prefix=PAIRS

// In one loop with its exponentials, from the other half of the buffer. The
// first row has none before it, the last row's come after all programs.
// CHECK-LABEL: tile.func @delayed
// CHECK:         tile.alloc : <64x1024xf32
// CHECK:         %[[BEGIN:.*]], %[[END:.*]] = tile.chunk
// CHECK:         %[[SUMS:.*]] = scf.for %[[P:.*]] = %[[BEGIN]] to %[[END]] step %{{.*}} iter_args(%[[BEFORE:.*]] = %{{.*}}) -> (f32)
// CHECK:           %[[LAST:.*]] = arith.subi %[[P]], %c1 : index
// CHECK:           %[[M0:.*]] = tile.program {{.*}} at %[[LAST]]
// CHECK:           %[[M:.*]] = tile.program {{.*}} at %[[P]]
// CHECK:           %[[STARTED:.*]] = arith.cmpi slt, %[[BEGIN]], %[[P]]
// CHECK:           scf.if
// CHECK:             tile.for
// CHECK:               %[[OWN:.*]] = arith.addi %{{.*}}, %[[HALF:.*]] : index
// CHECK:               %[[OTHER:.*]] = arith.addi %{{.*}}, %[[HALF0:.*]] : index
// CHECK:               tile.nest
// CHECK:                 tile.load %{{.*}}[%[[M]], %{{.*}}] {prefetch = 1 : i64}
// CHECK:                 math.exp
// CHECK:                 tile.local_store %{{.*}}, %{{.*}} slot %[[OWN]]
// CHECK:                 tile.local_load %{{.*}} slot %[[OTHER]]
// CHECK:                 tile.fill %[[BEFORE]]
// CHECK:                 tile.store %{{.*}}, %{{.*}}[%[[M0]], %{{.*}}]
// CHECK:           } else {
// CHECK:             scf.if %[[STARTED]] {
// CHECK:               tile.store
// CHECK:             math.exp
// CHECK:         scf.if
// CHECK:           tile.fill %[[SUMS]]
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

// Nothing is kept where it is cheap to compute again: the row before is read
// once more, beside the first pass over the next one. Only what belongs to this
// row prefetches the row after it.
// CHECK-LABEL: tile.func @of_the_row
// CHECK-NOT:     tile.alloc
// CHECK:         scf.for %[[P:.*]] = %{{.*}} iter_args(%[[BEFORE:.*]] = %{{.*}}) -> (f32)
// CHECK:           %[[M0:.*]] = tile.program
// CHECK:           %[[M:.*]] = tile.program
// CHECK:           scf.if
// CHECK:               tile.load %{{.*}}[%[[M]], %{{.*}}] {prefetch = 1 : i64}
// CHECK-NOT:           prefetch
// CHECK:               tile.load %{{.*}}[%[[M0]], %{{.*}}] :
// CHECK:               tile.fill %[[BEFORE]]
// CHECK-NOT:           prefetch
// CHECK:         tile.return
tile.func @of_the_row(%x: memref<?x?xf32, strided<[?, 1]>>, %y: memref<?x?xf32, strided<[?, 1]>>) {
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
  tile.for %n = %zero to %N : !tile.range<1024> {
    %t = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xf32>
    %d = tile.fill %sum[%n] : f32, !tile.range<1024> -> tensor<1024xf32>
    %r = arith.mulf %t, %d : tensor<1024xf32>
    tile.store %r, %y[%m, %n] {hints = {nontemporal}} : tensor<1024xf32>, memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024>
  }
  tile.return
}

// Results that stay near are stored at once: one row is enough.
// CHECK-LABEL: tile.func @at_once
// CHECK:         tile.alloc : <32x1024xf32
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

// The sum is taken from pairs of bf16, which another order of lanes would change;
// what is gathered has no pairs. So each has its own loop.
// PAIRS-LABEL: tile.func @two_orders
// PAIRS:         scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} {
// PAIRS:           tile.nest{{.*}} {pairs
// PAIRS:           tile.nest{{.*}} {unroll
// PAIRS:             tile.store
// PAIRS:         tile.return
tile.func @two_orders(%x: memref<?x?xbf16, strided<[?, 1]>>, %v: memref<?x?xbf16, strided<[1, ?]>>, %y: memref<?x?xbf16, strided<[?, 1]>>) {
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %M = tile.dim %x, 0 : memref<?x?xbf16, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xbf16, strided<[?, 1]>>
  %m = tile.program extents(%M) tiles = [0] : index
  %sum = tile.for %n = %zero to %N carry(%s = %none) : !tile.range<1024>, (f32) {
    %t = tile.load %x[%m, %n] : memref<?x?xbf16, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xbf16>
    %e = arith.extf %t : tensor<1024xbf16> to tensor<1024xf32>
    %p = tile.reduce sum %e axis = 0 : tensor<1024xf32> -> f32
    %q = arith.addf %s, %p : f32
    tile.yield %q : f32
  }
  tile.for %n = %zero to %N : !tile.range<1024> {
    %t = tile.load %v[%m, %n] : memref<?x?xbf16, strided<[1, ?]>>, index, !tile.range<1024> -> tensor<1024xbf16>
    %e = arith.extf %t : tensor<1024xbf16> to tensor<1024xf32>
    %d = tile.fill %sum[%n] : f32, !tile.range<1024> -> tensor<1024xf32>
    %r = arith.mulf %e, %d : tensor<1024xf32>
    %h = arith.truncf %r : tensor<1024xf32> to tensor<1024xbf16>
    tile.store %h, %y[%m, %n] {hints = {nontemporal}} : tensor<1024xbf16>, memref<?x?xbf16, strided<[?, 1]>>, index, !tile.range<1024>
  }
  tile.return
}
