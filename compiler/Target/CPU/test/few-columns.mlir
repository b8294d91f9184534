// RUN: tessera-opt %s --cpu-map-to-nests --cpu-prefetch --cpu-elide-copy --cpu-fuse-epilogue --cpu-elide-zero-init --cpu-narrow-panels --cpu-elide-packing --cpu-place-buffers --target-lower-to-cpu | FileCheck %s
// RUN: tessera-opt %s --cpu-map-to-nests=vector-bytes=32 --cpu-prefetch --cpu-elide-copy --cpu-fuse-epilogue --cpu-elide-zero-init --cpu-narrow-panels --cpu-elide-packing --cpu-place-buffers --target-lower-to-cpu=vector-bytes=32 | FileCheck %s --check-prefix=AVX2

// With one vector of columns two steps of k are one: a pair of A for pairs of
// B, whose sums of even and odd k are added in the end. One and a half: three
// halves. What is left of k is taken one by one. The columns of the whole
// result decide.
// CHECK-LABEL: tessera_target.kernel @product
// CHECK:         arith.cmpi slt, %{{.*}}, %c25
// CHECK:         arith.cmpi sle, %{{.*}}, %c8
// CHECK:         arith.cmpi sle, %{{.*}}, %c16
// CHECK:         scf.for
// CHECK:           llvm.intr.masked.load
// CHECK:           vector.shuffle {{.*}} [0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29]
// CHECK:           vector.shuffle {{.*}} [2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31]
// CHECK:           llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr -> f64
// CHECK:           math.fma {{.*}} : vector<16xf32>
// CHECK:         vector.shuffle {{.*}} [0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30]
// CHECK-NEXT:    vector.shuffle {{.*}} [1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31]
// CHECK-NEXT:    arith.addf
// CHECK:         arith.cmpi sle, %{{.*}}, %c24
// CHECK:           vector.shuffle {{.*}} [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23]
// CHECK:         vector.shuffle {{.*}} [0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4, 6, 8, 10, 12, 14]
// CHECK:         arith.cmpi sle, %{{.*}}, %c16
// CHECK-NOT:     f64
// CHECK:         arith.cmpi sle, %{{.*}}, %c32
// CHECK-NOT:     f64
// CHECK:         tessera_target.return
// AVX2-NOT:      f64
tile.func @product(%a: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"}, %b: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in"},
                   %c: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out"}) {
  %zero = arith.constant 0 : index
  %M = tile.dim %a, 0 : memref<?x?xf32, strided<[?, 1]>>
  %K = tile.dim %a, 1 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %c, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %N) tiles = [96, 64] : !tile.range<96>, !tile.range<64>
  %z = arith.constant 0.0 : f32
  %acc0 = tile.fill %z [%m, %n] : f32, !tile.range<96>, !tile.range<64> -> tensor<96x64xf32>
  %r = tile.for %k = %zero to %K carry(%acc = %acc0) : !tile.range<32>, (tensor<96x64xf32>) {
    %x = tile.load %a[%m, %k] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<96>, !tile.range<32> -> tensor<96x32xf32>
    %y = tile.load %b[%k, %n] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<32>, !tile.range<64> -> tensor<32x64xf32>
    %d = tile.mma %x, %y, %acc : tensor<96x32xf32>, tensor<32x64xf32>, tensor<96x64xf32>
    tile.yield %d : tensor<96x64xf32>
  }
  tile.store %r, %c[%m, %n] : tensor<96x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<96>, !tile.range<64>
  tile.return
}
