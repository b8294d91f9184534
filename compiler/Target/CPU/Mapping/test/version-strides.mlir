// Where a stride may be 2, the nest is there twice; where it is, once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --cpu-map-to-nests --cpu-version-strides | FileCheck %s

// CHECK-LABEL: tile.func @unknown
// CHECK:         %[[STRIDE:.*]] = tile.stride %{{.*}}, 0
// CHECK:         %[[C:.*]] = arith.constant 2 : index
// CHECK-NEXT:    %[[TWO:.*]] = arith.cmpi eq, %[[STRIDE]], %[[C]]
// CHECK-NEXT:    scf.if %[[TWO]] {
// CHECK-NEXT:      tile.nest[%{{.*}}] {two_apart,
// CHECK:         } else {
// CHECK-NEXT:      tile.nest
// CHECK-NOT:       two_apart
// CHECK:         tile.return
tile.func @unknown(%x: memref<?xf32, strided<[?]>>, %z: memref<?xf32, strided<[1]>>) {
  %n = tile.dim %x, 0 : memref<?xf32, strided<[?]>>
  %i = tile.program extents(%n) tiles = [256] : !tile.range<256>
  %a = tile.load %x[%i] : memref<?xf32, strided<[?]>>, !tile.range<256> -> tensor<256xf32>
  tile.store %a, %z[%i] : tensor<256xf32>, memref<?xf32, strided<[1]>>, !tile.range<256>
  tile.return
}

// Both of them.
// CHECK-LABEL: tile.func @two_views
// CHECK:         %[[X:.*]] = tile.stride %arg0, 0
// CHECK-NEXT:    %[[C:.*]] = arith.constant 2 : index
// CHECK-NEXT:    %[[FIRST:.*]] = arith.cmpi eq, %[[X]], %[[C]]
// CHECK-NEXT:    %[[Y:.*]] = tile.stride %arg1, 0
// CHECK-NEXT:    %[[D:.*]] = arith.constant 2 : index
// CHECK-NEXT:    %[[SECOND:.*]] = arith.cmpi eq, %[[Y]], %[[D]]
// CHECK-NEXT:    %[[BOTH:.*]] = arith.andi %[[FIRST]], %[[SECOND]]
// CHECK-NEXT:    scf.if %[[BOTH]] {
// CHECK-NEXT:      tile.nest[%{{.*}}] {two_apart,
tile.func @two_views(%x: memref<?xf32, strided<[?]>>, %y: memref<?xf32, strided<[?]>>, %z: memref<?xf32, strided<[1]>>) {
  %n = tile.dim %x, 0 : memref<?xf32, strided<[?]>>
  %i = tile.program extents(%n) tiles = [256] : !tile.range<256>
  %a = tile.load %x[%i] : memref<?xf32, strided<[?]>>, !tile.range<256> -> tensor<256xf32>
  %b = tile.load %y[%i] : memref<?xf32, strided<[?]>>, !tile.range<256> -> tensor<256xf32>
  %c = arith.addf %a, %b : tensor<256xf32>
  tile.store %c, %z[%i] : tensor<256xf32>, memref<?xf32, strided<[1]>>, !tile.range<256>
  tile.return
}

// The real parts of complex numbers.
// CHECK-LABEL: tile.func @known
// CHECK-NOT:     scf.if
// CHECK:         tile.nest[%{{.*}}] {two_apart,
tile.func @known(%x: memref<?x2xf32, strided<[2, 1]>>, %z: memref<?xf32, strided<[1]>>) {
  %first = arith.constant 0 : index
  %n = tile.dim %x, 0 : memref<?x2xf32, strided<[2, 1]>>
  %i = tile.program extents(%n) tiles = [256] : !tile.range<256>
  %a = tile.load %x[%i, %first] : memref<?x2xf32, strided<[2, 1]>>, !tile.range<256>, index -> tensor<256xf32>
  tile.store %a, %z[%i] : tensor<256xf32>, memref<?xf32, strided<[1]>>, !tile.range<256>
  tile.return
}

// Three apart are gathered, and numbers of 16 bits are.
// CHECK-LABEL: tile.func @others
// CHECK-NOT:     two_apart
// CHECK-NOT:     scf.if
// CHECK:         tile.return
tile.func @others(%x: memref<?xf32, strided<[3]>>, %y: memref<?xbf16, strided<[?]>>, %z: memref<?xf32, strided<[1]>>, %t: memref<?xbf16, strided<[1]>>) {
  %n = tile.dim %x, 0 : memref<?xf32, strided<[3]>>
  %i = tile.program extents(%n) tiles = [256] : !tile.range<256>
  %a = tile.load %x[%i] : memref<?xf32, strided<[3]>>, !tile.range<256> -> tensor<256xf32>
  tile.store %a, %z[%i] : tensor<256xf32>, memref<?xf32, strided<[1]>>, !tile.range<256>
  %b = tile.load %y[%i] : memref<?xbf16, strided<[?]>>, !tile.range<256> -> tensor<256xbf16>
  tile.store %b, %t[%i] : tensor<256xbf16>, memref<?xbf16, strided<[1]>>, !tile.range<256>
  tile.return
}
