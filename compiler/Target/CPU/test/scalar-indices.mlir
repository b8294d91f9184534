// RUN: tessera-opt %s --cpu-map-to-nests --cpu-register-transpose --cpu-version-strides --cpu-pair-bf16 --cpu-place-buffers --target-lower-to-cpu | FileCheck %s

// Rows 8 p + 3 and 8 p + 4 of 128, with p below 16, are always there and never
// the same: nothing is asked at run time, and one loop writes both.
// CHECK-LABEL: tessera_target.kernel @inside
// CHECK-NOT:     arith.cmpi ult
// CHECK:         llvm.store {{.*}} vector
// CHECK-NOT:     scf.for
// CHECK:         llvm.store {{.*}} vector
// CHECK-NOT:     arith.cmpi ult
// CHECK:         tessera_target.return
tile.func @inside(%x: memref<128x?xf32, strided<[?, 1]>>, %y: memref<128x?xf32, strided<[?, 1]>>) {
  %zero = arith.constant 0 : index
  %three = arith.constant 3 : index
  %four = arith.constant 4 : index
  %eight = arith.constant 8 : index
  %stop = arith.constant 16 : index
  %N = tile.dim %x, 1 : memref<128x?xf32, strided<[?, 1]>>
  %n = tile.program extents(%N) tiles = [64] : !tile.range<64>
  tile.for %up = %zero to %stop : !tile.range<1> {
    %p = tile.range_start %up : !tile.range<1>
    %b = arith.muli %p, %eight : index
    %i = arith.addi %b, %three : index
    %j = arith.addi %b, %four : index
    %t = tile.load %x[%i, %n] : memref<128x?xf32, strided<[?, 1]>>, index, !tile.range<64> -> tensor<64xf32>
    tile.store %t, %y[%i, %n] : tensor<64xf32>, memref<128x?xf32, strided<[?, 1]>>, index, !tile.range<64>
    tile.store %t, %y[%j, %n] : tensor<64xf32>, memref<128x?xf32, strided<[?, 1]>>, index, !tile.range<64>
  }
  tile.return
}

// Row 8 p + 8 is there for all p but the last.
// CHECK-LABEL: tessera_target.kernel @outside_once
// CHECK:         arith.cmpi ult
// CHECK:         tessera_target.return
tile.func @outside_once(%x: memref<128x?xf32, strided<[?, 1]>>, %y: memref<?xf32, strided<[1]>>) {
  %zero = arith.constant 0 : index
  %eight = arith.constant 8 : index
  %stop = arith.constant 16 : index
  %N = tile.dim %x, 1 : memref<128x?xf32, strided<[?, 1]>>
  %n = tile.program extents(%N) tiles = [64] : !tile.range<64>
  tile.for %up = %zero to %stop : !tile.range<1> {
    %p = tile.range_start %up : !tile.range<1>
    %b = arith.muli %p, %eight : index
    %i = arith.addi %b, %eight : index
    %t = tile.load %x[%i, %n] : memref<128x?xf32, strided<[?, 1]>>, index, !tile.range<64> -> tensor<64xf32>
    tile.store %t, %y[%n] : tensor<64xf32>, memref<?xf32, strided<[1]>>, !tile.range<64>
  }
  tile.return
}

// Two parts of a number, which are there both: one load for both, and no mask,
// where the lanes are two apart.
// CHECK-LABEL: tessera_target.kernel @parts
// CHECK:         scf.if
// CHECK:           %[[LOW:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK:           %[[HIGH:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK:           vector.shuffle %[[LOW]], %[[HIGH]] [0, 2, 4
// CHECK:           vector.shuffle %{{.*}}, %{{.*}} [1, 3, 5
// CHECK:         tessera_target.return
tile.func @parts(%x: memref<?x2xf32, strided<[?, 1]>>, %y: memref<?xf32, strided<[1]>>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %N = tile.dim %x, 0 : memref<?x2xf32, strided<[?, 1]>>
  %n = tile.program extents(%N) tiles = [64] : !tile.range<64>
  %r = tile.load %x[%n, %zero] : memref<?x2xf32, strided<[?, 1]>>, !tile.range<64>, index -> tensor<64xf32>
  %i = tile.load %x[%n, %one] : memref<?x2xf32, strided<[?, 1]>>, !tile.range<64>, index -> tensor<64xf32>
  %s = arith.addf %r, %i : tensor<64xf32>
  tile.store %s, %y[%n] : tensor<64xf32>, memref<?xf32, strided<[1]>>, !tile.range<64>
  tile.return
}

// Both parts are stored: they are put in turns, and lines are written. Of one
// part alone, lanes are scattered.
// CHECK-LABEL: tessera_target.kernel @both_parts
// CHECK:         scf.if
// CHECK:           vector.shuffle %[[R:.*]], %[[I:.*]] [0, 16, 1, 17
// CHECK:           vector.shuffle %[[R]], %[[I]] [8, 24, 9, 25
// CHECK:         } else {
// CHECK:           llvm.intr.masked.scatter
// CHECK:         tessera_target.return
tile.func @both_parts(%x: memref<?xf32, strided<[1]>>, %y: memref<?x2xf32, strided<[?, 1]>>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %N = tile.dim %x, 0 : memref<?xf32, strided<[1]>>
  %n = tile.program extents(%N) tiles = [64] : !tile.range<64>
  %r = tile.load %x[%n] : memref<?xf32, strided<[1]>>, !tile.range<64> -> tensor<64xf32>
  %i = arith.negf %r : tensor<64xf32>
  tile.store %i, %y[%n, %one] : tensor<64xf32>, memref<?x2xf32, strided<[?, 1]>>, !tile.range<64>, index
  tile.store %r, %y[%n, %zero] : tensor<64xf32>, memref<?x2xf32, strided<[?, 1]>>, !tile.range<64>, index
  tile.return
}

// CHECK-LABEL: tessera_target.kernel @one_part
// CHECK-NOT:     vector.shuffle
// CHECK:         tessera_target.return
tile.func @one_part(%x: memref<?xf32, strided<[1]>>, %y: memref<?x2xf32, strided<[?, 1]>>) {
  %one = arith.constant 1 : index
  %N = tile.dim %x, 0 : memref<?xf32, strided<[1]>>
  %n = tile.program extents(%N) tiles = [64] : !tile.range<64>
  %r = tile.load %x[%n] : memref<?xf32, strided<[1]>>, !tile.range<64> -> tensor<64xf32>
  tile.store %r, %y[%n, %one] : tensor<64xf32>, memref<?x2xf32, strided<[?, 1]>>, !tile.range<64>, index
  tile.return
}
