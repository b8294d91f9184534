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
