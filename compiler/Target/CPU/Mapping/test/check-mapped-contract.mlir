// RUN: tessera-opt %s --cpu-check-mapped-contract --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A matrix step on tiles that were never given buffers is the value level.
tile.func @outside(%x: memref<?x?xf32, strided<[?, 1]>>) {
  %n = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %i = tile.program extents(%n) tiles = [16] : !tile.range<16>
  %zero = arith.constant 0.0 : f32
  %a = tile.fill %zero [%i, %i] : f32, !tile.range<16>, !tile.range<16> -> tensor<16x16xf32>
  // expected-error @+1 {{'tile.mma' may not stand in a mapped kernel outside a nest}}
  %c = tile.mma %a, %a, %a : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
  tile.return
}

// -----

// LLVM is two stages down.
tile.func @leftover(%x: memref<?xf32, strided<[1]>>) {
  // expected-error @+1 {{'llvm.mlir.undef' may not stand in a mapped kernel}}
  %a = llvm.mlir.undef : i64
  tile.return
}

// -----

// What a nest says of how it is done is true of what stands in it.
tile.func @transposes(%x: memref<?x?xf32, strided<[?, 1]>>, %y: memref<?x?xf32, strided<[?, 1]>>) {
  %M = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %M) tiles = [64, 64] : !tile.range<64>, !tile.range<64>
  // expected-error @+1 {{a nest transposes what is contiguous along its first axis and stored so along the second}}
  tile.nest [%m, %n] {transposes, vector_axis = 1 : i64} : (!tile.range<64>, !tile.range<64>) -> () {
    %a = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
    tile.store %a, %y[%m, %n] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  }
  tile.return
}

// -----

tile.func @two_apart(%x: memref<?xf32, strided<[3]>>, %y: memref<?xf32, strided<[1]>>) {
  %N = tile.dim %x, 0 : memref<?xf32, strided<[3]>>
  %n = tile.program extents(%N) tiles = [64] : !tile.range<64>
  // expected-error @+1 {{a view of this nest has elements that are not two apart}}
  tile.nest [%n] {two_apart, vector_axis = 0 : i64} : (!tile.range<64>) -> () {
    %a = tile.load %x[%n] : memref<?xf32, strided<[3]>>, !tile.range<64> -> tensor<64xf32>
    tile.store %a, %y[%n] : tensor<64xf32>, memref<?xf32, strided<[1]>>, !tile.range<64>
  }
  tile.return
}

// -----

// Rows of A are pages apart.
tile.func @pairs_of_k(%x: memref<?x?xf32, strided<[1, ?]>>, %w: memref<?x?xf32, strided<[?, 1]>>) {
  %M = tile.dim %x, 0 : memref<?x?xf32, strided<[1, ?]>>
  %zero = arith.constant 0 : index
  %m, %n = tile.program extents(%M, %M) tiles = [4, 512] : !tile.range<4>, !tile.range<512>
  %k = tile.range_at %zero of %M : !tile.range<64>
  %none = arith.constant 0.0 : f32
  %sum = tile.alloc {offset = 0 : i64} : !tile.buffer<4x512xf32, scratch>
  // expected-error @+1 {{pairs of k are of f32, 16 lanes, and a left operand that is contiguous along k}}
  tile.nest [%m, %n, %k] {pairs_of_k, register_tile = array<i64: 4, 4, 16>, unit = #tile.unit<fma>} : (!tile.range<4>, !tile.range<512>, !tile.range<64>) -> () {
    %a = tile.load %x[%m, %k] : memref<?x?xf32, strided<[1, ?]>>, !tile.range<4>, !tile.range<64> -> tensor<4x64xf32>
    %b = tile.load %w[%k, %n] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<512> -> tensor<64x512xf32>
    %c = tile.fill %none [%m, %n] : f32, !tile.range<4>, !tile.range<512> -> tensor<4x512xf32>
    %d = tile.mma %a, %b, %c : tensor<4x64xf32>, tensor<64x512xf32>, tensor<4x512xf32>
    tile.local_store %d, %sum : tensor<4x512xf32>, !tile.buffer<4x512xf32, scratch>
  }
  tile.return
}
