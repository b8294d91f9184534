// RUN: tessera-opt %s --cpu-map-to-nests --cpu-pair-bf16 --cpu-place-buffers --target-lower-to-cpu | FileCheck %s

// A line of bf16 becomes two registers of f32 by a shift and a mask, and comes
// back by integer arithmetic: no lane moves.
// CHECK-LABEL: tessera_target.kernel @pairs
// CHECK:         %[[LINE:.*]] = llvm.load {{.*}} -> vector<32xi16>
// CHECK:         %[[WORDS:.*]] = vector.bitcast %{{.*}} : vector<32xi16> to vector<16xi32>
// CHECK:         arith.shli %[[WORDS]]
// CHECK:         arith.andi %[[WORDS]]
// CHECK-NOT:     arith.extui
// CHECK:         arith.addf {{.*}} vector<32xf32>
// CHECK-NOT:     arith.trunci {{.*}} : vector
// CHECK:         vector.bitcast %{{.*}} : vector<16xi32> to vector<32xi16>
// CHECK:         tessera_target.return
tile.func @pairs(%x: memref<?x?xbf16, strided<[?, 1]>>, %y: memref<?x?xbf16, strided<[?, 1]>>) {
  %M = tile.dim %x, 0 : memref<?x?xbf16, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xbf16, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %N) tiles = [0, 256] : index, !tile.range<256>
  %t = tile.load %x[%m, %n] : memref<?x?xbf16, strided<[?, 1]>>, index, !tile.range<256> -> tensor<256xbf16>
  %s = arith.addf %t, %t : tensor<256xbf16>
  tile.store %s, %y[%m, %n] : tensor<256xbf16>, memref<?x?xbf16, strided<[?, 1]>>, index, !tile.range<256>
  tile.return
}

// The last lanes of a sum: what exists in memory's order, added in that of the
// registers.
// CHECK-LABEL: tessera_target.kernel @tail
// CHECK:         %[[MASK:.*]] = arith.cmpi slt, {{.*}} : vector<32xi32>
// CHECK:         llvm.intr.masked.load %{{.*}}, %[[MASK]]
// CHECK:         %[[LANES:.*]] = vector.shuffle %[[MASK]], %[[MASK]] [0, 2, 4
// CHECK:         arith.select %[[LANES]]
tile.func @tail(%x: memref<?x?xbf16, strided<[?, 1]>>, %y: memref<?xf32, strided<[1]>>) {
  %M = tile.dim %x, 0 : memref<?x?xbf16, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xbf16, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %N) tiles = [0, 256] : index, !tile.range<256>
  %t = tile.load %x[%m, %n] : memref<?x?xbf16, strided<[?, 1]>>, index, !tile.range<256> -> tensor<256xbf16>
  %w = arith.extf %t : tensor<256xbf16> to tensor<256xf32>
  %s = tile.reduce sum %w axis = 0 : tensor<256xf32> -> f32
  tile.store %s, %y[%m] : f32, memref<?xf32, strided<[1]>>, index
  tile.return
}

// Places of lanes are asked for: they stay in memory's order.
// CHECK-LABEL: tessera_target.kernel @places
// CHECK-NOT:     vector.bitcast %{{.*}} : vector<32xi16> to vector<16xi32>
// CHECK:         tessera_target.return
tile.func @places(%x: memref<?x?xbf16, strided<[?, 1]>>, %y: memref<?x?xbf16, strided<[?, 1]>>) {
  %M = tile.dim %x, 0 : memref<?x?xbf16, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xbf16, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %N) tiles = [0, 256] : index, !tile.range<256>
  %t = tile.load %x[%m, %n] : memref<?x?xbf16, strided<[?, 1]>>, index, !tile.range<256> -> tensor<256xbf16>
  %i = tile.index %n : !tile.range<256> -> tensor<256xi64>
  %f = arith.sitofp %i : tensor<256xi64> to tensor<256xbf16>
  %s = arith.addf %t, %f : tensor<256xbf16>
  tile.store %s, %y[%m, %n] : tensor<256xbf16>, memref<?x?xbf16, strided<[?, 1]>>, index, !tile.range<256>
  tile.return
}

// So do those that are chosen as they are, and those beside lines of f32.
// CHECK-LABEL: tessera_target.kernel @chosen
// CHECK-NOT:     vector.bitcast %{{.*}} : vector<32xi16> to vector<16xi32>
// CHECK:         tessera_target.return
tile.func @chosen(%x: memref<?x?xbf16, strided<[?, 1]>>, %y: memref<?x?xbf16, strided<[?, 1]>>) {
  %zero = arith.constant dense<0.0> : tensor<256xbf16>
  %M = tile.dim %x, 0 : memref<?x?xbf16, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xbf16, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %N) tiles = [0, 256] : index, !tile.range<256>
  %t = tile.load %x[%m, %n] : memref<?x?xbf16, strided<[?, 1]>>, index, !tile.range<256> -> tensor<256xbf16>
  %c = arith.cmpf ogt, %t, %zero : tensor<256xbf16>
  %s = arith.select %c, %t, %zero : tensor<256xi1>, tensor<256xbf16>
  tile.store %s, %y[%m, %n] : tensor<256xbf16>, memref<?x?xbf16, strided<[?, 1]>>, index, !tile.range<256>
  tile.return
}

// CHECK-LABEL: tessera_target.kernel @beside_f32
// CHECK-NOT:     vector.bitcast %{{.*}} : vector<32xi16> to vector<16xi32>
// CHECK:         tessera_target.return
tile.func @beside_f32(%x: memref<?x?xbf16, strided<[?, 1]>>, %y: memref<?x?xf32, strided<[?, 1]>>) {
  %M = tile.dim %x, 0 : memref<?x?xbf16, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xbf16, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %N) tiles = [0, 256] : index, !tile.range<256>
  %t = tile.load %x[%m, %n] : memref<?x?xbf16, strided<[?, 1]>>, index, !tile.range<256> -> tensor<256xbf16>
  %w = arith.extf %t : tensor<256xbf16> to tensor<256xf32>
  tile.store %w, %y[%m, %n] : tensor<256xf32>, memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<256>
  tile.return
}

// A NaN of f32 memory may have bits that rounding would carry out of.
// CHECK-LABEL: tessera_target.kernel @number_from_memory
// CHECK-NOT:     vector.bitcast %{{.*}} : vector<32xi16> to vector<16xi32>
// CHECK:         tessera_target.return
tile.func @number_from_memory(%x: memref<?x?xbf16, strided<[?, 1]>>, %f: memref<?xf32, strided<[1]>>, %y: memref<?x?xbf16, strided<[?, 1]>>) {
  %M = tile.dim %x, 0 : memref<?x?xbf16, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xbf16, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %N) tiles = [0, 256] : index, !tile.range<256>
  %t = tile.load %x[%m, %n] : memref<?x?xbf16, strided<[?, 1]>>, index, !tile.range<256> -> tensor<256xbf16>
  %w = arith.extf %t : tensor<256xbf16> to tensor<256xf32>
  %g = tile.load %f[%m] : memref<?xf32, strided<[1]>>, index -> f32
  %d = tile.fill %g[%n] : f32, !tile.range<256> -> tensor<256xf32>
  %p = arith.mulf %w, %d : tensor<256xf32>
  %s = arith.truncf %p : tensor<256xf32> to tensor<256xbf16>
  tile.store %s, %y[%m, %n] : tensor<256xbf16>, memref<?x?xbf16, strided<[?, 1]>>, index, !tile.range<256>
  tile.return
}
