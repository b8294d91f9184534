// Weights of a product of bf16 (exp2 with fastmath<afn>) are rounded by the
// instruction, which makes subnormals 0; other numbers look for them first.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --cpu-map-to-nests --cpu-pair-bf16 --cpu-place-buffers \
// RUN:   --target-lower-to-cpu=bf16=true | FileCheck %s

// CHECK-LABEL: tessera_target.kernel @weights
// CHECK:         math.exp2 {{.*}} fastmath<afn>
// CHECK-NOT:     fpclass
// CHECK:         cvtne2ps2bf16
// CHECK-NOT:     fpclass
// CHECK:         tessera_target.return
tile.func @weights(%x: memref<?xf32, strided<[1]>>, %z: memref<?xbf16, strided<[1]>>) {
  %n = tile.dim %x, 0 : memref<?xf32, strided<[1]>>
  %i = tile.program extents(%n) tiles = [256] : !tile.range<256>
  %a = tile.load %x[%i] : memref<?xf32, strided<[1]>>, !tile.range<256> -> tensor<256xf32>
  %b = math.exp2 %a fastmath<afn> : tensor<256xf32>
  %c = arith.truncf %b : tensor<256xf32> to tensor<256xbf16>
  tile.store %c, %z[%i] : tensor<256xbf16>, memref<?xbf16, strided<[1]>>, !tile.range<256>
  tile.return
}

// CHECK-LABEL: tessera_target.kernel @numbers
// CHECK:         fpclass
// CHECK:         cvtne2ps2bf16
tile.func @numbers(%x: memref<?xf32, strided<[1]>>, %z: memref<?xbf16, strided<[1]>>) {
  %n = tile.dim %x, 0 : memref<?xf32, strided<[1]>>
  %i = tile.program extents(%n) tiles = [256] : !tile.range<256>
  %a = tile.load %x[%i] : memref<?xf32, strided<[1]>>, !tile.range<256> -> tensor<256xf32>
  %b = math.exp2 %a : tensor<256xf32>
  %c = arith.truncf %b : tensor<256xf32> to tensor<256xbf16>
  tile.store %c, %z[%i] : tensor<256xbf16>, memref<?xbf16, strided<[1]>>, !tile.range<256>
  tile.return
}
