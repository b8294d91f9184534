// A right operand whose rows are read well where they lie is not packed, and a
// left one of AMX but for what is left of k.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --cpu-map-to-nests --cpu-elide-packing | FileCheck %s
// RUN: tessera-opt %s --cpu-map-to-nests=amx=true --cpu-elide-packing | FileCheck %s --check-prefix=AMX

// CHECK-LABEL: tile.func @rows
// Whole panels; lines that do not fall together in the cache, or few rows; near.
// CHECK:           %[[STOP:.*]] = tile.range_stop %[[K:.*]] : <128>
// CHECK-NEXT:      %[[START:.*]] = tile.range_start %[[K]] : <128>
// CHECK-NEXT:      %[[DEPTH:.*]] = arith.subi %[[STOP]], %[[START]]
// CHECK-NEXT:      %[[RIGHT:.*]] = tile.range_stop %[[I:.*]]#1 : <64>
// CHECK-NEXT:      %[[LEFT:.*]] = tile.range_start %[[I]]#1 : <64>
// CHECK-NEXT:      %[[WIDTH:.*]] = arith.subi %[[RIGHT]], %[[LEFT]]
// CHECK-NEXT:      %[[C63:.*]] = arith.constant 63 : index
// CHECK-NEXT:      %[[REST:.*]] = arith.andi %[[WIDTH]], %[[C63]]
// CHECK-NEXT:      %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-NEXT:      %[[WHOLE:.*]] = arith.cmpi eq, %[[REST]], %[[ZERO]]
// CHECK-NEXT:      %[[STRIDE:.*]] = tile.stride %{{.*}}, 0
// CHECK-NEXT:      %[[SIZE:.*]] = arith.constant 4 : index
// CHECK-NEXT:      %[[BYTES:.*]] = arith.muli %[[STRIDE]], %[[SIZE]]
// CHECK-NEXT:      %[[C2047:.*]] = arith.constant 2047 : index
// CHECK-NEXT:      %[[PAGE:.*]] = arith.andi %[[BYTES]], %[[C2047]]
// CHECK-NEXT:      %[[NONE:.*]] = arith.constant 0 : index
// CHECK-NEXT:      %[[SAME:.*]] = arith.cmpi eq, %[[PAGE]], %[[NONE]]
// CHECK-NEXT:      %[[YES:.*]] = arith.constant true
// CHECK-NEXT:      %[[SPREAD:.*]] = arith.xori %[[SAME]], %[[YES]]
// CHECK-NEXT:      %[[BOTTOM:.*]] = tile.range_stop %[[I]]#0 : <64>
// CHECK-NEXT:      %[[TOP:.*]] = tile.range_start %[[I]]#0 : <64>
// CHECK-NEXT:      %[[ROWS:.*]] = arith.subi %[[BOTTOM]], %[[TOP]]
// CHECK-NEXT:      %[[C25:.*]] = arith.constant 25 : index
// CHECK-NEXT:      %[[FEW:.*]] = arith.cmpi slt, %[[ROWS]], %[[C25]]
// CHECK-NEXT:      %[[QUICK:.*]] = arith.ori %[[FEW]], %[[SPREAD]]
// CHECK-NEXT:      %[[ALL:.*]] = arith.muli %[[DEPTH]], %[[BYTES]]
// CHECK-NEXT:      %[[BOTH:.*]] = arith.andi %[[WHOLE]], %[[QUICK]]
// CHECK-NEXT:      %[[C786433:.*]] = arith.constant 786433 : index
// CHECK-NEXT:      %[[NEAR:.*]] = arith.cmpi slt, %[[ALL]], %[[C786433]]
// CHECK-NEXT:      %[[USABLE:.*]] = arith.andi %[[BOTH]], %[[NEAR]]
// CHECK-NEXT:      %[[TRUE:.*]] = arith.constant true
// CHECK-NEXT:      %[[NOT:.*]] = arith.xori %[[USABLE]], %[[TRUE]]
// CHECK-NEXT:      scf.if %[[NOT]] {
// CHECK-NEXT:      tile.nest
// CHECK:         tile.nest{{.*}}unit = #tile.unit<fma>
// CHECK:           %[[PACKED:.*]] = tile.local_load
// CHECK:           %[[THERE:.*]] = tile.load
// CHECK:           %[[B:.*]] = arith.select %[[USABLE]], %[[THERE]], %[[PACKED]]
// CHECK-NEXT:      tile.mma %{{.*}}, %[[B]]
// AMX-LABEL: tile.func @rows
// AMX:             %[[STOP:.*]] = tile.range_stop %[[K:.*]] : <128>
// AMX-NEXT:        %[[START:.*]] = tile.range_start %[[K]] : <128>
// AMX-NEXT:        %[[DEPTH:.*]] = arith.subi %[[STOP]], %[[START]]
// AMX-NEXT:        %[[RIGHT:.*]] = tile.range_stop %[[I:.*]]#1 : <64>
// AMX-NEXT:        %[[LEFT:.*]] = tile.range_start %[[I]]#1 : <64>
// AMX-NEXT:        %[[WIDTH:.*]] = arith.subi %[[RIGHT]], %[[LEFT]]
// AMX-NEXT:        %[[C63:.*]] = arith.constant 63 : index
// AMX-NEXT:        %[[REST:.*]] = arith.andi %[[WIDTH]], %[[C63]]
// AMX-NEXT:        %[[ZERO:.*]] = arith.constant 0 : index
// AMX-NEXT:        %[[WHOLE:.*]] = arith.cmpi eq, %[[REST]], %[[ZERO]]
// AMX-NEXT:        %[[STRIDE:.*]] = tile.stride %{{.*}}, 0
// AMX-NEXT:        %[[SIZE:.*]] = arith.constant 4 : index
// AMX-NEXT:        %[[BYTES:.*]] = arith.muli %[[STRIDE]], %[[SIZE]]
// AMX-NEXT:        %[[C2047:.*]] = arith.constant 2047 : index
// AMX-NEXT:        %[[PAGE:.*]] = arith.andi %[[BYTES]], %[[C2047]]
// AMX-NEXT:        %[[NONE:.*]] = arith.constant 0 : index
// AMX-NEXT:        %[[SAME:.*]] = arith.cmpi eq, %[[PAGE]], %[[NONE]]
// AMX-NEXT:        %[[YES:.*]] = arith.constant true
// AMX-NEXT:        %[[SPREAD:.*]] = arith.xori %[[SAME]], %[[YES]]
// AMX-NEXT:        %[[BOTTOM:.*]] = tile.range_stop %[[I]]#0 : <64>
// AMX-NEXT:        %[[TOP:.*]] = tile.range_start %[[I]]#0 : <64>
// AMX-NEXT:        %[[ROWS:.*]] = arith.subi %[[BOTTOM]], %[[TOP]]
// AMX-NEXT:        %[[C25:.*]] = arith.constant 25 : index
// AMX-NEXT:        %[[FEW:.*]] = arith.cmpi slt, %[[ROWS]], %[[C25]]
// AMX-NEXT:        %[[QUICK:.*]] = arith.ori %[[FEW]], %[[SPREAD]]
// AMX-NEXT:        %[[ALL:.*]] = arith.muli %[[DEPTH]], %[[BYTES]]
// AMX-NEXT:        %[[BOTH:.*]] = arith.andi %[[WHOLE]], %[[QUICK]]
// AMX-NEXT:        %[[C786433:.*]] = arith.constant 786433 : index
// AMX-NEXT:        %[[NEAR:.*]] = arith.cmpi slt, %[[ALL]], %[[C786433]]
// AMX-NEXT:        %[[USABLE:.*]] = arith.andi %[[BOTH]], %[[NEAR]]
// AMX-NEXT:        %[[TRUE:.*]] = arith.constant true
// AMX-NEXT:        %[[NOT:.*]] = arith.xori %[[USABLE]], %[[TRUE]]
// AMX-NEXT:        scf.if %[[NOT]] {
tile.func @rows(%x: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %w: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %z: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out"}) {
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

// Few rows: B is read once, along its lines.
// CHECK-LABEL: tile.func @thin
// CHECK-NOT:     scf.if
// CHECK:         tile.nest{{.*}}unit = #tile.unit<fma>
// CHECK:           %[[THERE:.*]] = tile.load %{{.*}} : memref<?x?xf32, strided<[?, 1]>>, !tile.range<128>, !tile.range<512>
// CHECK:           tile.mma %{{.*}}, %[[THERE]]
// AMX-LABEL: tile.func @thin
tile.func @thin(%x: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %w: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %z: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out"}) {
  %none = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %n = tile.dim %w, 1 : memref<?x?xf32, strided<[?, 1]>>
  %deep = tile.dim %x, 1 : memref<?x?xf32, strided<[?, 1]>>
  %i:2 = tile.program extents(%m, %n) tiles = [4, 512] : !tile.range<4>, !tile.range<512>
  %c = tile.fill %zero[%i#0, %i#1] : f32, !tile.range<4>, !tile.range<512> -> tensor<4x512xf32>
  %s = tile.for %k = %none to %deep carry(%sum = %c) : !tile.range<128>, (tensor<4x512xf32>) {
    %a = tile.load %x[%i#0, %k] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<4>, !tile.range<128> -> tensor<4x128xf32>
    %b = tile.load %w[%k, %i#1] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<128>, !tile.range<512> -> tensor<128x512xf32>
    %more = tile.mma %a, %b, %sum : tensor<4x128xf32>, tensor<128x512xf32>, tensor<4x512xf32>
    tile.yield %more : tensor<4x512xf32>
  }
  tile.store %s, %z[%i#0, %i#1] : tensor<4x512xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<4>, !tile.range<512>
  tile.return
}

// AMX-LABEL: tile.func @tiles
// AMX:         %[[BOTTOM:.*]] = tile.range_stop %[[I:.*]]#0 : <64>
// AMX-NEXT:    %[[TOP:.*]] = tile.range_start %[[I]]#0 : <64>
// AMX-NEXT:    %[[ROWS:.*]] = arith.subi %[[BOTTOM]], %[[TOP]]
// AMX-NEXT:    %[[C15:.*]] = arith.constant 15 : index
// AMX-NEXT:    %[[REST:.*]] = arith.andi %[[ROWS]], %[[C15]]
// AMX-NEXT:    %[[ZERO:.*]] = arith.constant 0 : index
// AMX-NEXT:    %[[WHOLE:.*]] = arith.cmpi eq, %[[REST]], %[[ZERO]]
// AMX-NEXT:    %[[STOP:.*]] = tile.range_stop %[[K:.*]] : <128>
// AMX-NEXT:    %[[START:.*]] = tile.range_start %[[K]] : <128>
// AMX-NEXT:    %[[DEPTH:.*]] = arith.subi %[[STOP]], %[[START]]
// AMX-NEXT:    %[[C31:.*]] = arith.constant 31 : index
// AMX-NEXT:    %[[ODD:.*]] = arith.andi %[[DEPTH]], %[[C31]]
// AMX-NEXT:    %[[EVEN:.*]] = arith.subi %[[DEPTH]], %[[ODD]]
// AMX-NEXT:    %[[NONE:.*]] = arith.constant 0 : index
// AMX-NEXT:    %[[AT:.*]] = arith.select %[[WHOLE]], %[[EVEN]], %[[NONE]]
// AMX-NEXT:    %[[BEGIN:.*]] = tile.range_start %[[K]]
// AMX-NEXT:    %[[FROM:.*]] = arith.addi %[[BEGIN]], %[[AT]]
// AMX-NEXT:    %[[END:.*]] = tile.range_stop %[[K]]
// AMX-NEXT:    %[[LEFT:.*]] = tile.range_at %[[FROM]] of %[[END]]
// AMX-NEXT:    %[[DONE:.*]] = arith.cmpi eq, %[[AT]], %[[DEPTH]]
// AMX-NEXT:    %[[TRUE:.*]] = arith.constant true
// AMX-NEXT:    %[[NOT:.*]] = arith.xori %[[DONE]], %[[TRUE]]
// AMX-NEXT:    scf.if %[[NOT]] {
// AMX-NEXT:      tile.nest[%{{.*}}, %[[LEFT]]]
// AMX:         tile.nest{{.*}}unit = #tile.unit<amx>
// AMX:           %[[A:.*]] = tile.splice %{{.*}}, %{{.*}} at %[[AT]]
// AMX:           tile.mma %[[A]]
// CHECK-LABEL: tile.func @tiles
tile.func @tiles(%x: memref<?x?xbf16, strided<[?, 1]>> {gir.mode = "in"}, %w: memref<?x?xbf16, strided<[?, 1]>> {gir.mode = "in"}, %z: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out"}) {
  %none = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tile.dim %x, 0 : memref<?x?xbf16, strided<[?, 1]>>
  %n = tile.dim %w, 1 : memref<?x?xbf16, strided<[?, 1]>>
  %deep = tile.dim %x, 1 : memref<?x?xbf16, strided<[?, 1]>>
  %i:2 = tile.program extents(%m, %n) tiles = [64, 64] : !tile.range<64>, !tile.range<64>
  %c = tile.fill %zero[%i#0, %i#1] : f32, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
  %s = tile.for %k = %none to %deep carry(%sum = %c) : !tile.range<128>, (tensor<64x64xf32>) {
    %a = tile.load %x[%i#0, %k] : memref<?x?xbf16, strided<[?, 1]>>, !tile.range<64>, !tile.range<128> -> tensor<64x128xbf16>
    %b = tile.load %w[%k, %i#1] : memref<?x?xbf16, strided<[?, 1]>>, !tile.range<128>, !tile.range<64> -> tensor<128x64xbf16>
    %more = tile.mma %a, %b, %sum : tensor<64x128xbf16>, tensor<128x64xbf16>, tensor<64x64xf32>
    tile.yield %more : tensor<64x64xf32>
  }
  tile.store %s, %z[%i#0, %i#1] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}

// Written, too: what is read may change.
// CHECK-LABEL: tile.func @written
// CHECK-NOT:     arith.select
// CHECK:         tile.return
tile.func @written(%x: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %w: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "inout"}, %z: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out"}) {
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
