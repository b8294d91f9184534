// What is made of the sum of an AMX step is made by its last step, of 32 rows
// and 64 columns at a time. AMX has no subnormal sums: they are rounded without
// looking for those.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --cpu-map-to-nests=amx=true --cpu-prefetch --cpu-elide-copy --cpu-fuse-epilogue --cpu-elide-zero-init --cpu-narrow-panels --cpu-elide-packing --cpu-place-buffers \
// RUN:   --target-lower-to-cpu=bf16=true | FileCheck %s

// CHECK-LABEL: tessera_target.kernel @rounded
// CHECK:       scf.for
// CHECK:         llvm.x86.tdpbf16ps.internal
// CHECK-COUNT-4: llvm.x86.tilestored64.internal
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.if
// CHECK-NOT:     fpclass
// CHECK:         llvm.x86.avx512bf16.cvtne2ps2bf16.512
// CHECK-NOT:     fpclass
// CHECK:       tessera_target.return
tile.func @rounded(%x: memref<?x?xbf16, strided<[?, 1]>>, %w: memref<?x?xbf16, strided<[?, 1]>>, %z: memref<?x?xbf16, strided<[?, 1]>>) {
  %none = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tile.dim %x, 0 : memref<?x?xbf16, strided<[?, 1]>>
  %n = tile.dim %w, 1 : memref<?x?xbf16, strided<[?, 1]>>
  %deep = tile.dim %x, 1 : memref<?x?xbf16, strided<[?, 1]>>
  %i:2 = tile.program extents(%m, %n) tiles = [128, 64] : !tile.range<128>, !tile.range<64>
  %c = tile.fill %zero[%i#0, %i#1] : f32, !tile.range<128>, !tile.range<64> -> tensor<128x64xf32>
  %s = tile.for %k = %none to %deep carry(%sum = %c) : !tile.range<128>, (tensor<128x64xf32>) {
    %a = tile.load %x[%i#0, %k] : memref<?x?xbf16, strided<[?, 1]>>, !tile.range<128>, !tile.range<128> -> tensor<128x128xbf16>
    %b = tile.load %w[%k, %i#1] : memref<?x?xbf16, strided<[?, 1]>>, !tile.range<128>, !tile.range<64> -> tensor<128x64xbf16>
    %more = tile.mma %a, %b, %sum : tensor<128x128xbf16>, tensor<128x64xbf16>, tensor<128x64xf32>
    tile.yield %more : tensor<128x64xf32>
  }
  %half = arith.truncf %s : tensor<128x64xf32> to tensor<128x64xbf16>
  tile.store %half, %z[%i#0, %i#1] : tensor<128x64xbf16>, memref<?x?xbf16, strided<[?, 1]>>, !tile.range<128>, !tile.range<64>
  tile.return
}
