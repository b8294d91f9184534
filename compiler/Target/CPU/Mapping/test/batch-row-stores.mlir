// Four rows that go past the caches are stored together.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --cpu-map-to-nests --cpu-prefetch-rows --cpu-loop-programs --cpu-batch-row-stores | FileCheck %s
// RUN: tessera-opt %s --cpu-map-to-nests --cpu-prefetch-rows --cpu-loop-programs --cpu-delay-row-stores --cpu-batch-row-stores | FileCheck %s --check-prefix=SHORT

// After several passes four programs have computed their sums, the last one's at
// the end, and then store together: what all of them read is read once, and each
// row prefetches the one four further on. The programs that are left, or whose
// rows are too long to stay near, run alone.
// CHECK-LABEL: tile.func @together
// CHECK:         %[[BEGIN:.*]], %[[END:.*]] = tile.chunk
// CHECK:         %[[BYTES:.*]] = arith.muli %{{.*}}, %c16
// CHECK:         %[[LONG:.*]] = arith.cmpi slt, %c1048576{{.*}}, %[[BYTES]]
// CHECK:         %[[WHOLE:.*]] = arith.select %[[LONG]], %[[BEGIN]], %{{.*}}
// CHECK:         scf.for %[[FIRST:.*]] = %[[BEGIN]] to %[[WHOLE]] step %c4
// CHECK:           %[[SUMS:.*]]:4 = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[B:.*]] = %{{.*}}, %[[C:.*]] = %{{.*}}, %[[D:.*]] = %{{.*}})
// CHECK-NOT:         tile.store
// CHECK:             scf.yield %[[B]], %[[C]], %[[D]], %{{.*}} : f32, f32, f32, f32
// CHECK:           %[[M0:.*]] = tile.program
// CHECK:           %[[M1:.*]] = tile.program
// CHECK:           %[[M2:.*]] = tile.program
// CHECK:           %[[M3:.*]] = tile.program
// CHECK:           tile.for
// CHECK:             tile.load %{{.*}}[%[[M0]], %{{.*}}] {prefetch = 4 : i64}
// CHECK:             tile.fill %[[SUMS]]#0
// CHECK:             %[[W:.*]] = tile.load %{{.*}}[%{{[a-z0-9]+}}] :
// CHECK:             arith.mulf %{{.*}}, %[[W]]
// CHECK:             tile.store %{{.*}}[%[[M0]], %{{.*}}]
// CHECK:             tile.load %{{.*}}[%[[M1]], %{{.*}}] {prefetch = 4 : i64}
// CHECK:             tile.fill %[[SUMS]]#1
// CHECK-NOT:         tile.load
// CHECK:             arith.mulf %{{.*}}, %[[W]]
// CHECK:             tile.store %{{.*}}[%[[M1]], %{{.*}}]
// CHECK:             tile.load %{{.*}}[%[[M2]], %{{.*}}] {prefetch = 4 : i64}
// CHECK:             tile.store %{{.*}}[%[[M2]], %{{.*}}]
// CHECK:             tile.load %{{.*}}[%[[M3]], %{{.*}}] {prefetch = 4 : i64}
// CHECK:             tile.store %{{.*}}[%[[M3]], %{{.*}}]
// CHECK:         scf.for %{{.*}} = %[[WHOLE]] to %[[END]]
// CHECK:           tile.load {{.*}} {prefetch = 1 : i64}
// CHECK:           tile.store
// CHECK:         tile.return

// fp32 rows of up to 8 KiB are stored beside the next one.
// SHORT-LABEL: tile.func @together
// SHORT:         %[[LONG:.*]] = arith.cmpi slt, %c8192
// SHORT:         scf.if %[[LONG]] {
// SHORT:           scf.for {{.*}} step %c4
// SHORT-COUNT-4:     tile.load {{.*}} {prefetch = 4 : i64}
// SHORT:         } else {
// SHORT:           scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (f32)
tile.func @together(%x: memref<?x?xf32, strided<[?, 1]>>, %w: memref<?xf32, strided<[1]>>, %y: memref<?x?xf32, strided<[?, 1]>>) {
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
  %squares = tile.for %n = %zero to %N carry(%s = %sum) : !tile.range<1024>, (f32) {
    %t = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xf32>
    %r = arith.mulf %t, %t : tensor<1024xf32>
    %p = tile.reduce sum %r axis = 0 : tensor<1024xf32> -> f32
    %q = arith.addf %s, %p : f32
    tile.yield %q : f32
  }
  tile.for %n = %zero to %N : !tile.range<1024> {
    %t = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xf32>
    %d = tile.fill %squares[%n] : f32, !tile.range<1024> -> tensor<1024xf32>
    %u = tile.load %w[%n] : memref<?xf32, strided<[1]>>, !tile.range<1024> -> tensor<1024xf32>
    %v = arith.mulf %t, %d : tensor<1024xf32>
    %r = arith.mulf %v, %u : tensor<1024xf32>
    tile.store %r, %y[%m, %n] {hints = {nontemporal}} : tensor<1024xf32>, memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024>
  }
  tile.return
}
