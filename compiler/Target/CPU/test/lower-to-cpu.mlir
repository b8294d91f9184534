// RUN: tessera-opt %s --cpu-map-to-nests --cpu-register-transpose --cpu-version-strides --cpu-pair-bf16 --cpu-prefetch-rows --cpu-place-buffers --target-lower-to-cpu | FileCheck %s

// Whole vectors, four at a time, without masks; then one masked tail.
// CHECK-LABEL: tessera_target.kernel @double
// CHECK-SAME:    (%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64, %{{.*}}: !llvm.ptr) -> i32
// CHECK:         scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK:           scf.for
// CHECK-COUNT-4:     arith.addf {{.*}} : vector<16xf32>
// CHECK-NOT:         masked
// CHECK:           scf.for
// CHECK:             llvm.intr.masked.load
// CHECK:             arith.addf {{.*}} : vector<16xf32>
// CHECK:             llvm.intr.masked.store
// CHECK:         tessera_target.return
tile.func @double(%x: memref<?xf32, strided<[1]>>, %z: memref<?xf32, strided<[1]>>) {
  %n = tile.dim %x, 0 : memref<?xf32, strided<[1]>>
  %i = tile.program extents(%n) tiles = [256] : !tile.range<256>
  %a = tile.load %x[%i] : memref<?xf32, strided<[1]>>, !tile.range<256> -> tensor<256xf32>
  %c = arith.addf %a, %a : tensor<256xf32>
  tile.store %c, %z[%i] : tensor<256xf32>, memref<?xf32, strided<[1]>>, !tile.range<256>
  tile.return
}

// A stride that is not known to be 1 is gathered; if it is 2, the lanes between
// are left out of two loads, and no byte of theirs is touched.
// CHECK-LABEL: tessera_target.kernel @strided
// CHECK:         arith.constant dense<[true, false, true, false,
// CHECK:         llvm.intr.masked.load
// CHECK:         llvm.intr.masked.load
// CHECK:         vector.shuffle {{.*}} [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]
// CHECK:         llvm.intr.masked.gather
tile.func @strided(%x: memref<?xf32, strided<[?]>>, %z: memref<?xf32, strided<[1]>>) {
  %n = tile.dim %x, 0 : memref<?xf32, strided<[?]>>
  %i = tile.program extents(%n) tiles = [256] : !tile.range<256>
  %a = tile.load %x[%i] : memref<?xf32, strided<[?]>>, !tile.range<256> -> tensor<256xf32>
  tile.store %a, %z[%i] : tensor<256xf32>, memref<?xf32, strided<[1]>>, !tile.range<256>
  tile.return
}

// A column sum is vectorised across the columns: no horizontal step.
// CHECK-LABEL: tessera_target.kernel @columns
// CHECK:         scf.for {{.*}} iter_args
// CHECK-NOT:     vector.shuffle
// CHECK:         tessera_target.return
tile.func @columns(%x: memref<?x?xf32, strided<[?, 1]>>, %z: memref<?xf32, strided<[1]>>) {
  %zero = arith.constant 0 : index
  %m = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %n = tile.dim %x, 1 : memref<?x?xf32, strided<[?, 1]>>
  %j = tile.program extents(%n) tiles = [64] : !tile.range<64>
  %i = tile.range_at %zero of %m : !tile.range<32>
  %a = tile.load %x[%i, %j] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<32>, !tile.range<64> -> tensor<32x64xf32>
  %s = tile.reduce sum %a axis = 0 : tensor<32x64xf32> -> tensor<64xf32>
  tile.store %s, %z[%j] : tensor<64xf32>, memref<?xf32, strided<[1]>>, !tile.range<64>
  tile.return
}

// A transposed tile goes through registers: rows are loaded, 64 shuffles swap
// their blocks, rows are stored; past the ends nothing is.
// CHECK-LABEL: tessera_target.kernel @transposed
// CHECK-NOT:     gather
// CHECK-COUNT-16: llvm.load {{.*}} -> vector<16xf32>
// CHECK-NOT:     gather
// CHECK-COUNT-64: vector.shuffle
// CHECK-COUNT-16: llvm.intr.masked.store
// CHECK-NOT:     scatter
// CHECK:         tessera_target.return
tile.func @transposed(%x: memref<?x?xf32, strided<[?, 1]>>, %y: memref<?x?xf32, strided<[?, 1]>>) {
  %M = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %N) tiles = [64, 64] : !tile.range<64>, !tile.range<64>
  %a = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
  %t = tile.transpose %a [1, 0] : tensor<64x64xf32> -> tensor<64x64xf32>
  tile.store %t, %y[%n, %m] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}

// So do two of them, computed from what is contiguous along the other axis.
// CHECK-LABEL: tessera_target.kernel @transposed_twice
// CHECK-NOT:     gather
// CHECK-COUNT-64: vector.shuffle
// CHECK-COUNT-64: vector.shuffle
// CHECK-NOT:     scatter
// CHECK:         tessera_target.return
tile.func @transposed_twice(%x: memref<16x16xf32, strided<[?, 1]>>, %y: memref<16x2x16xf32, strided<[?, ?, 1]>>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %N = arith.constant 16 : index
  %p = tile.program extents(%one) tiles = [0] : index
  %m = tile.range_at %zero of %N : <16>
  %n = tile.range_at %zero of %N : <16>
  %a = tile.load %x[%m, %n] : memref<16x16xf32, strided<[?, 1]>>, !tile.range<16>, !tile.range<16> -> tensor<16x16xf32>
  %b = arith.negf %a : tensor<16x16xf32>
  %s = tile.transpose %a [1, 0] : tensor<16x16xf32> -> tensor<16x16xf32>
  %t = tile.transpose %b [1, 0] : tensor<16x16xf32> -> tensor<16x16xf32>
  tile.store %s, %y[%n, %zero, %m] : tensor<16x16xf32>, memref<16x2x16xf32, strided<[?, ?, 1]>>, !tile.range<16>, index, !tile.range<16>
  tile.store %t, %y[%n, %one, %m] : tensor<16x16xf32>, memref<16x2x16xf32, strided<[?, ?, 1]>>, !tile.range<16>, index, !tile.range<16>
  tile.return
}

// What is contiguous along both axes alike is not; the next program has other
// columns, not the next row.
// CHECK-LABEL: tessera_target.kernel @not_transposed
// CHECK-NOT:     vector.shuffle
// CHECK-NOT:     llvm.intr.prefetch
// CHECK:         tessera_target.return
tile.func @not_transposed(%x: memref<?x?xf32, strided<[?, 1]>>, %y: memref<?x?xf32, strided<[?, 1]>>) {
  %M = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %N) tiles = [64, 64] : !tile.range<64>, !tile.range<64>
  %a = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
  tile.store %a, %y[%m, %n] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}

// A maximum takes one instruction, unless an element is NaN. A program per row
// brings the next row nearer.
// CHECK-LABEL: tessera_target.kernel @maximum
// CHECK-COUNT-4: llvm.intr.prefetch
// CHECK:         arith.cmpf uno
// CHECK:         scf.if
// CHECK-COUNT-4:   arith.maximumf {{.*}} : vector<16xf32>
// CHECK:         } else {
// CHECK-COUNT-4:   arith.cmpf ogt
// CHECK:         }
tile.func @maximum(%x: memref<?x?xf32, strided<[?, 1]>>, %y: memref<?xf32, strided<[1]>>) {
  %M = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xf32, strided<[?, 1]>>
  %zero = arith.constant 0 : index
  %m = tile.program extents(%M) tiles = [0] : index
  %n = tile.range_at %zero of %N : !tile.range<256>
  %a = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<256> -> tensor<256xf32>
  %t = tile.reduce max %a axis = 0 : tensor<256xf32> -> f32
  tile.store %t, %y[%m] : f32, memref<?xf32, strided<[1]>>, index
  tile.return
}
