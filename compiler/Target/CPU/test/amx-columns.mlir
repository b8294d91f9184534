// Of 80 columns, the last 16 take one column of AMX tiles, not two.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --cpu-map-to-nests=amx=true --cpu-prefetch --cpu-elide-copy --cpu-fuse-epilogue --cpu-elide-zero-init --cpu-narrow-panels --cpu-elide-packing --cpu-place-buffers \
// RUN:   --target-lower-to-cpu | FileCheck %s

// CHECK-LABEL:   tessera_target.kernel @columns
// CHECK-COUNT-4: llvm.x86.tdpbf16ps.internal
// CHECK-COUNT-4: llvm.x86.tilestored64.internal
// CHECK:         else
// CHECK-COUNT-2: llvm.x86.tdpbf16ps.internal
// CHECK-COUNT-2: llvm.x86.tilestored64.internal
// CHECK-NOT:     llvm.x86.tdpbf16ps.internal
// CHECK:         tessera_target.return
tile.func @columns(%x: memref<?x64xbf16, strided<[?, 1]>>, %w: memref<64x80xbf16, strided<[?, 1]>>, %z: memref<?x80xf32, strided<[?, 1]>>) {
  %none = arith.constant 0 : index
  %deep = arith.constant 64 : index
  %wide = arith.constant 80 : index
  %zero = arith.constant 0.0 : f32
  %m = tile.dim %x, 0 : memref<?x64xbf16, strided<[?, 1]>>
  %i = tile.program extents(%m) tiles = [64] : !tile.range<64>
  %k = tile.range_at %none of %deep : <64>
  %j = tile.range_at %none of %wide : <80>
  %a = tile.load %x[%i, %k] : memref<?x64xbf16, strided<[?, 1]>>, !tile.range<64>, !tile.range<64> -> tensor<64x64xbf16>
  %b = tile.load %w[%k, %j] : memref<64x80xbf16, strided<[?, 1]>>, !tile.range<64>, !tile.range<80> -> tensor<64x80xbf16>
  %c = tile.fill %zero[%i, %j] : f32, !tile.range<64>, !tile.range<80> -> tensor<64x80xf32>
  %s = tile.mma %a, %b, %c : tensor<64x64xbf16>, tensor<64x80xbf16>, tensor<64x80xf32>
  tile.store %s, %z[%i, %j] : tensor<64x80xf32>, memref<?x80xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<80>
  tile.return
}
