// The last step of a sum stores where the nest after the loop would copy to: of
// AMX whole tiles, and nothing that goes past the caches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --cpu-map-to-nests --cpu-elide-copy | FileCheck %s
// RUN: tessera-opt %s --cpu-map-to-nests=amx=true --cpu-elide-copy | FileCheck %s --check-prefix=AMX

// CHECK-LABEL: tile.func @copied
// CHECK:         tile.for %[[K:.*]] = %[[NONE:.*]] to %[[DEEP:.*]] : !tile.range<128>
// CHECK:           %[[START:.*]] = tile.range_start %[[K]]
// CHECK:           %[[NEXT:.*]] = arith.addi %[[START]], %{{.*}}
// CHECK:           %[[LAST:.*]] = arith.cmpi sge, %[[NEXT]], %[[DEEP]]
// CHECK:           tile.nest{{.*}}unit = #tile.unit<fma>
// CHECK:             %[[C:.*]] = tile.mma
// CHECK-NEXT:        scf.if %[[LAST]] {
// CHECK-NEXT:          tile.store %[[C]], %{{.*}}[%{{.*}}, %{{.*}}]
// CHECK-NEXT:        } else {
// CHECK-NEXT:          tile.local_store %[[C]]
// CHECK:         %[[SOME:.*]] = arith.cmpi slt, %[[NONE]], %[[DEEP]]
// CHECK:         %[[NOTHING:.*]] = arith.xori %[[SOME]], %true
// CHECK:         scf.if %[[NOTHING]] {
// CHECK-NEXT:      tile.nest
// AMX-LABEL: tile.func @copied
tile.func @copied(%x: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %w: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %z: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out"}) {
  %none = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %n = tile.dim %w, 1 : memref<?x?xf32, strided<[?, 1]>>
  %deep = tile.dim %x, 1 : memref<?x?xf32, strided<[?, 1]>>
  %i:2 = tile.program extents(%m, %n) tiles = [64, 64] : !tile.range<64>, !tile.range<64>
  %c = tile.fill %zero[%i#0, %i#1] : f32, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
  %s = tile.for %k = %none to %deep carry(%sum = %c) : !tile.range<128>, (tensor<64x64xf32>) {
    %a = tile.load %x[%i#0, %k] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<128> -> tensor<64x128xf32>
    %b = tile.load %w[%k, %i#1] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<128>, !tile.range<64> -> tensor<128x64xf32>
    %more = tile.mma %a, %b, %sum : tensor<64x128xf32>, tensor<128x64xf32>, tensor<64x64xf32>
    tile.yield %more : tensor<64x64xf32>
  }
  tile.store %s, %z[%i#0, %i#1] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}

// AMX-LABEL: tile.func @tiles
// AMX:         %[[BOTH:.*]] = arith.ori
// AMX:         %[[REST:.*]] = arith.andi %[[BOTH]], %c15
// AMX:         %[[WHOLE:.*]] = arith.cmpi eq, %[[REST]], %c0
// AMX:         tile.for
// AMX:           %[[LAST:.*]] = arith.cmpi sge
// AMX:           %[[NOW:.*]] = arith.andi %[[LAST]], %[[WHOLE]]
// AMX:             scf.if %[[NOW]]
// CHECK-LABEL: tile.func @tiles
tile.func @tiles(%x: memref<?x?xi8, strided<[?, 1]>> {gir.mode = "in"}, %w: memref<?x?xi8, strided<[?, 1]>> {gir.mode = "in"}, %z: memref<?x?xi32, strided<[?, 1]>> {gir.mode = "out"}) {
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

// AMX-LABEL: tile.func @past_the_caches
// AMX-NOT:     scf.if
// AMX:         tile.return
// CHECK-LABEL: tile.func @past_the_caches
tile.func @past_the_caches(%x: memref<?x?xi8, strided<[?, 1]>> {gir.mode = "in"}, %w: memref<?x?xi8, strided<[?, 1]>> {gir.mode = "in"}, %z: memref<?x?xi32, strided<[?, 1]>> {gir.mode = "out"}) {
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

// Something is made of the sum: it is no copy.
// CHECK-LABEL: tile.func @more
// CHECK-NOT:     scf.if
// CHECK:         tile.return
tile.func @more(%x: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %w: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %z: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out"}) {
  %none = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %n = tile.dim %w, 1 : memref<?x?xf32, strided<[?, 1]>>
  %deep = tile.dim %x, 1 : memref<?x?xf32, strided<[?, 1]>>
  %i:2 = tile.program extents(%m, %n) tiles = [64, 64] : !tile.range<64>, !tile.range<64>
  %c = tile.fill %zero[%i#0, %i#1] : f32, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
  %s = tile.for %k = %none to %deep carry(%sum = %c) : !tile.range<128>, (tensor<64x64xf32>) {
    %a = tile.load %x[%i#0, %k] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<128> -> tensor<64x128xf32>
    %b = tile.load %w[%k, %i#1] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<128>, !tile.range<64> -> tensor<128x64xf32>
    %more = tile.mma %a, %b, %sum : tensor<64x128xf32>, tensor<128x64xf32>, tensor<64x64xf32>
    tile.yield %more : tensor<64x64xf32>
  }
  %t = math.absf %s : tensor<64x64xf32>
  tile.store %t, %z[%i#0, %i#1] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}
