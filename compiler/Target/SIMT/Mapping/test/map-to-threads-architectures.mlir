// RUN: tessera-opt %s --simt-map-to-threads=target=sm_75 | FileCheck %s --check-prefix=TURING
// RUN: tessera-opt %s --simt-map-to-threads=target=sm_89 | FileCheck %s --check-prefix=ADA
// RUN: not tessera-opt %s --simt-map-to-threads=target=sm_85 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// Which instruction a product is stands on it: the largest that the machine has
// for its types; layouts follow. Without one, fused multiply-adds.
// UNKNOWN: no architecture is called 'sm_85'; there are sm_70, sm_75,

// TURING-LABEL: tile.func @half
// TURING-SAME:    arch = "sm_75"
// TURING:         tile.local_load {{.*}} -> tensor<16x16xf16, #tile.layout<register:[(0,1),(8,0)], lane:[(0,2),(0,4),(1,0),(2,0),(4,0)]
// TURING:         tile.mma {{.*}} {instruction = #tile.instruction<sync 16 x 8 x 8>}
// ADA-LABEL:    tile.func @half
// ADA-SAME:       arch = "sm_89"
// ADA:            tile.mma {{.*}} {instruction = #tile.instruction<sync 16 x 8 x 16>}
tile.func @half(%A: memref<?x?xf16, strided<[?, 1]>>, %B: memref<?x?xf16, strided<[?, 1]>>, %C: memref<?x?xf32, strided<[?, 1]>>) {
  %zero = arith.constant 0 : index
  %cst = arith.constant 0.0 : f32
  %M = tile.dim %A, 0 : memref<?x?xf16, strided<[?, 1]>>
  %K = tile.dim %A, 1 : memref<?x?xf16, strided<[?, 1]>>
  %N = tile.dim %B, 1 : memref<?x?xf16, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %N) tiles = [16, 8] : !tile.range<16>, !tile.range<8>
  %k = tile.range_at %zero of %K : !tile.range<16>
  %a = tile.load %A[%m, %k] : memref<?x?xf16, strided<[?, 1]>>, !tile.range<16>, !tile.range<16> -> tensor<16x16xf16>
  %b = tile.load %B[%k, %n] : memref<?x?xf16, strided<[?, 1]>>, !tile.range<16>, !tile.range<8> -> tensor<16x8xf16>
  %z = tile.fill %cst[%m, %n] : f32, !tile.range<16>, !tile.range<8> -> tensor<16x8xf32>
  %c = tile.mma %a, %b, %z : tensor<16x16xf16>, tensor<16x8xf16>, tensor<16x8xf32>
  tile.store %c, %C[%m, %n] : tensor<16x8xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<16>, !tile.range<8>
  tile.return
}

// fp32 means fp32; tf32 is for who asks.
// TURING-LABEL: tile.func @single
// TURING:         tile.mma {{.*}} {instruction = #tile.instruction<fma>
// ADA-LABEL:    tile.func @single
// ADA:            tile.mma {{.*}} {instruction = #tile.instruction<sync 16 x 8 x 8>, precision = "tf32"}
// ADA:            tile.mma {{.*}} {instruction = #tile.instruction<fma>}
tile.func @single(%A: memref<?x?xf32, strided<[?, 1]>>, %B: memref<?x?xf32, strided<[?, 1]>>, %C: memref<?x?xf32, strided<[?, 1]>>) {
  %zero = arith.constant 0 : index
  %cst = arith.constant 0.0 : f32
  %M = tile.dim %A, 0 : memref<?x?xf32, strided<[?, 1]>>
  %K = tile.dim %A, 1 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %B, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %N) tiles = [16, 32] : !tile.range<16>, !tile.range<32>
  %k = tile.range_at %zero of %K : !tile.range<16>
  %a = tile.load %A[%m, %k] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<16>, !tile.range<16> -> tensor<16x16xf32>
  %b = tile.load %B[%k, %n] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<16>, !tile.range<32> -> tensor<16x32xf32>
  %z = tile.fill %cst[%m, %n] : f32, !tile.range<16>, !tile.range<32> -> tensor<16x32xf32>
  %c = tile.mma %a, %b, %z {precision = "tf32"} : tensor<16x16xf32>, tensor<16x32xf32>, tensor<16x32xf32>
  tile.store %c, %C[%m, %n] : tensor<16x32xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<16>, !tile.range<32>
  tile.return
}
tile.func @again(%A: memref<?x?xf32, strided<[?, 1]>>, %B: memref<?x?xf32, strided<[?, 1]>>, %C: memref<?x?xf32, strided<[?, 1]>>) {
  %zero = arith.constant 0 : index
  %cst = arith.constant 0.0 : f32
  %M = tile.dim %A, 0 : memref<?x?xf32, strided<[?, 1]>>
  %K = tile.dim %A, 1 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %B, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %N) tiles = [16, 32] : !tile.range<16>, !tile.range<32>
  %k = tile.range_at %zero of %K : !tile.range<16>
  %a = tile.load %A[%m, %k] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<16>, !tile.range<16> -> tensor<16x16xf32>
  %b = tile.load %B[%k, %n] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<16>, !tile.range<32> -> tensor<16x32xf32>
  %z = tile.fill %cst[%m, %n] : f32, !tile.range<16>, !tile.range<32> -> tensor<16x32xf32>
  %c = tile.mma %a, %b, %z : tensor<16x16xf32>, tensor<16x32xf32>, tensor<16x32xf32>
  tile.store %c, %C[%m, %n] : tensor<16x32xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<16>, !tile.range<32>
  tile.return
}
