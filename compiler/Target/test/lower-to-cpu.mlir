// RUN: tessera-opt %s --tile-map-to-cpu --tile-place-buffers --target-lower-to-cpu | FileCheck %s

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

// A stride that is not known to be 1 is gathered.
// CHECK-LABEL: tessera_target.kernel @strided
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
