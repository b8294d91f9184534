// A step may take one or two vectors of a panel, and sum even and odd k apart
// where neighbours along k are neighbours in memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --cpu-map-to-nests --cpu-narrow-panels | FileCheck %s
// RUN: tessera-opt %s --cpu-map-to-nests=vector-bytes=32 --cpu-narrow-panels | FileCheck %s --check-prefix=AVX2

// AVX2-NOT: pairs_of_k

// CHECK-LABEL: tile.func @rows
// CHECK:         tile.nest{{.*}} {narrow_vectors = 2 : i64, pairs_of_k,
tile.func @rows(%x: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %w: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %z: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out"}) {
  %none = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %M = tile.dim %z, 0 : memref<?x?xf32, strided<[?, 1]>>
  %K = tile.dim %w, 0 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %z, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %N) tiles = [96, 64] : !tile.range<96>, !tile.range<64>
  %c = tile.fill %zero[%m, %n] : f32, !tile.range<96>, !tile.range<64> -> tensor<96x64xf32>
  %s = tile.for %k = %none to %K carry(%sum = %c) : !tile.range<64>, (tensor<96x64xf32>) {
    %a = tile.load %x[%m, %k] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<96>, !tile.range<64> -> tensor<96x64xf32>
    %b = tile.load %w[%k, %n] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
    %more = tile.mma %a, %b, %sum : tensor<96x64xf32>, tensor<64x64xf32>, tensor<96x64xf32>
    tile.yield %more : tensor<96x64xf32>
  }
  tile.store %s, %z[%m, %n] : tensor<96x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<96>, !tile.range<64>
  tile.return
}

// CHECK-LABEL: tile.func @turned
// CHECK:         tile.nest{{.*}} {narrow_vectors = 2 : i64, register_tile
tile.func @turned(%x: memref<?x?xf32, strided<[1, ?]>> {gir.mode = "in"}, %w: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %z: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out"}) {
  %none = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %M = tile.dim %z, 0 : memref<?x?xf32, strided<[?, 1]>>
  %K = tile.dim %w, 0 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %z, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %N) tiles = [96, 64] : !tile.range<96>, !tile.range<64>
  %c = tile.fill %zero[%m, %n] : f32, !tile.range<96>, !tile.range<64> -> tensor<96x64xf32>
  %s = tile.for %k = %none to %K carry(%sum = %c) : !tile.range<64>, (tensor<96x64xf32>) {
    %a = tile.load %x[%m, %k] : memref<?x?xf32, strided<[1, ?]>>, !tile.range<96>, !tile.range<64> -> tensor<96x64xf32>
    %b = tile.load %w[%k, %n] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
    %more = tile.mma %a, %b, %sum : tensor<96x64xf32>, tensor<64x64xf32>, tensor<96x64xf32>
    tile.yield %more : tensor<96x64xf32>
  }
  tile.store %s, %z[%m, %n] : tensor<96x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<96>, !tile.range<64>
  tile.return
}

// Few rows are done row by row.
// CHECK-LABEL: tile.func @thin
// CHECK-NOT:     narrow_vectors
// CHECK-NOT:     pairs_of_k
// CHECK:         tile.return
tile.func @thin(%x: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %w: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %z: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out"}) {
  %none = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %M = tile.dim %z, 0 : memref<?x?xf32, strided<[?, 1]>>
  %K = tile.dim %w, 0 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %z, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %N) tiles = [4, 512] : !tile.range<4>, !tile.range<512>
  %c = tile.fill %zero[%m, %n] : f32, !tile.range<4>, !tile.range<512> -> tensor<4x512xf32>
  %s = tile.for %k = %none to %K carry(%sum = %c) : !tile.range<64>, (tensor<4x512xf32>) {
    %a = tile.load %x[%m, %k] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<4>, !tile.range<64> -> tensor<4x64xf32>
    %b = tile.load %w[%k, %n] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<512> -> tensor<64x512xf32>
    %more = tile.mma %a, %b, %sum : tensor<4x64xf32>, tensor<64x512xf32>, tensor<4x512xf32>
    tile.yield %more : tensor<4x512xf32>
  }
  tile.store %s, %z[%m, %n] : tensor<4x512xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<4>, !tile.range<512>
  tile.return
}
