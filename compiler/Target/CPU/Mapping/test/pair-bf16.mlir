// RUN: tessera-opt %s --cpu-map-to-nests --cpu-pair-bf16 | FileCheck %s
// RUN: tessera-opt %s --cpu-map-to-nests=vector-bytes=32 --cpu-pair-bf16=vector-bytes=32 | FileCheck %s --check-prefix=AVX2

// AVX2-NOT: pairs,

// Element-wise on whole lines, and a sum of them.
// CHECK-LABEL: tile.func @sums
// CHECK:         tile.nest[%{{.*}}] {pairs, {{.*}}vector_axis = 0 : i64}
tile.func @sums(%x: memref<?x?xbf16, strided<[?, 1]>>, %y: memref<?xf32, strided<[1]>>) {
  %M = tile.dim %x, 0 : memref<?x?xbf16, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xbf16, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %N) tiles = [0, 256] : index, !tile.range<256>
  %t = tile.load %x[%m, %n] : memref<?x?xbf16, strided<[?, 1]>>, index, !tile.range<256> -> tensor<256xbf16>
  %w = arith.extf %t : tensor<256xbf16> to tensor<256xf32>
  %s = tile.reduce sum %w axis = 0 : tensor<256xf32> -> f32
  tile.store %s, %y[%m] : f32, memref<?xf32, strided<[1]>>, index
  tile.return
}

// Line by line, and the largest of rows.
// CHECK-LABEL: tile.func @lines
// CHECK:         tile.nest[%{{.*}}] {pairs, {{.*}}vector_axis = 0 : i64}
tile.func @lines(%x: memref<?xbf16, strided<[1]>>, %y: memref<?xbf16, strided<[1]>>) {
  %N = tile.dim %x, 0 : memref<?xbf16, strided<[1]>>
  %n = tile.program extents(%N) tiles = [512] : !tile.range<512>
  %t = tile.load %x[%n] : memref<?xbf16, strided<[1]>>, !tile.range<512> -> tensor<512xbf16>
  %s = arith.addf %t, %t : tensor<512xbf16>
  tile.store %s, %y[%n] : tensor<512xbf16>, memref<?xbf16, strided<[1]>>, !tile.range<512>
  tile.return
}
// CHECK-LABEL: tile.func @largest
// CHECK:         tile.nest[%{{.*}}] {pairs, {{.*}}vector_axis = 1 : i64}
tile.func @largest(%x: memref<?x?xbf16, strided<[?, 1]>>, %y: memref<?xf32, strided<[1]>>) {
  %M = tile.dim %x, 0 : memref<?x?xbf16, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xbf16, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %N) tiles = [4, 128] : !tile.range<4>, !tile.range<128>
  %t = tile.load %x[%m, %n] : memref<?x?xbf16, strided<[?, 1]>>, !tile.range<4>, !tile.range<128> -> tensor<4x128xbf16>
  %w = arith.extf %t : tensor<4x128xbf16> to tensor<4x128xf32>
  %s = tile.reduce max %w axis = 1 : tensor<4x128xf32> -> tensor<4xf32>
  tile.store %s, %y[%m] : tensor<4xf32>, memref<?xf32, strided<[1]>>, !tile.range<4>
  tile.return
}

// The place of a lane is asked for.
// CHECK-LABEL: tile.func @places
// CHECK-NOT:     pairs
tile.func @places(%x: memref<?xbf16, strided<[1]>>, %y: memref<?xbf16, strided<[1]>>) {
  %N = tile.dim %x, 0 : memref<?xbf16, strided<[1]>>
  %n = tile.program extents(%N) tiles = [256] : !tile.range<256>
  %t = tile.load %x[%n] : memref<?xbf16, strided<[1]>>, !tile.range<256> -> tensor<256xbf16>
  %i = tile.index %n : <256> -> tensor<256xi64>
  %f = arith.sitofp %i : tensor<256xi64> to tensor<256xbf16>
  %s = arith.addf %t, %f : tensor<256xbf16>
  tile.store %s, %y[%n] : tensor<256xbf16>, memref<?xbf16, strided<[1]>>, !tile.range<256>
  tile.return
}

// Memory of f32 is in the order of its places.
// CHECK-LABEL: tile.func @from_f32
// CHECK-NOT:     pairs
tile.func @from_f32(%x: memref<?xf32, strided<[1]>>, %y: memref<?xbf16, strided<[1]>>) {
  %N = tile.dim %x, 0 : memref<?xf32, strided<[1]>>
  %n = tile.program extents(%N) tiles = [256] : !tile.range<256>
  %t = tile.load %x[%n] : memref<?xf32, strided<[1]>>, !tile.range<256> -> tensor<256xf32>
  %r = arith.truncf %t : tensor<256xf32> to tensor<256xbf16>
  tile.store %r, %y[%n] : tensor<256xbf16>, memref<?xbf16, strided<[1]>>, !tile.range<256>
  tile.return
}

// Less than a line.
// CHECK-LABEL: tile.func @short
// CHECK-NOT:     pairs
tile.func @short(%x: memref<?xbf16, strided<[1]>>, %y: memref<?xbf16, strided<[1]>>) {
  %N = tile.dim %x, 0 : memref<?xbf16, strided<[1]>>
  %n = tile.program extents(%N) tiles = [16] : !tile.range<16>
  %t = tile.load %x[%n] : memref<?xbf16, strided<[1]>>, !tile.range<16> -> tensor<16xbf16>
  %s = arith.addf %t, %t : tensor<16xbf16>
  tile.store %s, %y[%n] : tensor<16xbf16>, memref<?xbf16, strided<[1]>>, !tile.range<16>
  tile.return
}
