// The last step of a sum stores whole AMX tiles where the result lies, else the
// sum is copied; results that go past the caches are always copied.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --cpu-map-to-nests=amx=true --cpu-prefetch --cpu-elide-copy --cpu-fuse-epilogue --cpu-elide-zero-init --cpu-narrow-panels --cpu-elide-packing --cpu-place-buffers \
// RUN:   --target-lower-to-cpu | FileCheck %s

// CHECK-LABEL:   tessera_target.kernel @near
// CHECK-COUNT-4: llvm.x86.tdpbssd.internal
// CHECK-COUNT-8: llvm.x86.tilestored64.internal
// CHECK-NOT:     llvm.x86.tilestored64.internal
// CHECK:         tessera_target.return
tile.func @near(%x: memref<?x?xi8, strided<[?, 1]>>, %w: memref<?x?xi8, strided<[?, 1]>>, %z: memref<?x?xi32, strided<[?, 1]>>) {
  %none = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %m = tile.dim %x, 0 : memref<?x?xi8, strided<[?, 1]>>
  %n = tile.dim %w, 1 : memref<?x?xi8, strided<[?, 1]>>
  %deep = tile.dim %x, 1 : memref<?x?xi8, strided<[?, 1]>>
  %i:2 = tile.program extents(%m, %n) tiles = [64, 64] : !tile.range<64>, !tile.range<64>
  %c = tile.fill %zero[%i#0, %i#1] : i32, !tile.range<64>, !tile.range<64> -> tensor<64x64xi32>
  %s = tile.for %k = %none to %deep carry(%sum = %c) : !tile.range<128>, (tensor<64x64xi32>) {
    %a = tile.load %x[%i#0, %k] : memref<?x?xi8, strided<[?, 1]>>, !tile.range<64>, !tile.range<128> -> tensor<64x128xi8>
    %b = tile.load %w[%k, %i#1] : memref<?x?xi8, strided<[?, 1]>>, !tile.range<128>, !tile.range<64> -> tensor<128x64xi8>
    %more = tile.mma %a, %b, %sum : tensor<64x128xi8>, tensor<128x64xi8>, tensor<64x64xi32>
    tile.yield %more : tensor<64x64xi32>
  }
  tile.store %s, %z[%i#0, %i#1] : tensor<64x64xi32>, memref<?x?xi32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}

// CHECK-LABEL:   tessera_target.kernel @far
// CHECK-COUNT-4: llvm.x86.tilestored64.internal
// CHECK-NOT:     llvm.x86.tilestored64.internal
// CHECK:         tessera_target.return
tile.func @far(%x: memref<?x?xi8, strided<[?, 1]>>, %w: memref<?x?xi8, strided<[?, 1]>>, %z: memref<?x?xi32, strided<[?, 1]>>) {
  %none = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %m = tile.dim %x, 0 : memref<?x?xi8, strided<[?, 1]>>
  %n = tile.dim %w, 1 : memref<?x?xi8, strided<[?, 1]>>
  %deep = tile.dim %x, 1 : memref<?x?xi8, strided<[?, 1]>>
  %i:2 = tile.program extents(%m, %n) tiles = [64, 64] : !tile.range<64>, !tile.range<64>
  %c = tile.fill %zero[%i#0, %i#1] : i32, !tile.range<64>, !tile.range<64> -> tensor<64x64xi32>
  %s = tile.for %k = %none to %deep carry(%sum = %c) : !tile.range<128>, (tensor<64x64xi32>) {
    %a = tile.load %x[%i#0, %k] : memref<?x?xi8, strided<[?, 1]>>, !tile.range<64>, !tile.range<128> -> tensor<64x128xi8>
    %b = tile.load %w[%k, %i#1] : memref<?x?xi8, strided<[?, 1]>>, !tile.range<128>, !tile.range<64> -> tensor<128x64xi8>
    %more = tile.mma %a, %b, %sum : tensor<64x128xi8>, tensor<128x64xi8>, tensor<64x64xi32>
    tile.yield %more : tensor<64x64xi32>
  }
  tile.store %s, %z[%i#0, %i#1] {hints = {nontemporal}} : tensor<64x64xi32>, memref<?x?xi32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}
