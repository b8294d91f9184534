// RUN: tessera-opt %s --simt-map-to-threads=target=sm_80 --simt-pipeline-copies --split-input-file | FileCheck %s
// RUN: tessera-opt %s --simt-map-to-threads=target=sm_80 --simt-pipeline-copies --tile-prove-barriers --simt-check-mapped-contract --split-input-file | FileCheck %s --check-prefix=PROVED

// Three stages: rings of three slots, two copies before the loop, one wait that
// leaves a group under way, one barrier, and the copy that runs two turns ahead.
// Past the end the range is empty, so nothing needs a condition.
// CHECK-LABEL: tile.func @gemm
// CHECK-SAME:    shared_bytes = 24576 : i64
// CHECK-DAG:     %[[B:.*]] = tile.alloc {offset = 12288 : i64} : <3x32x64xf16
// CHECK-DAG:     %[[A:.*]] = tile.alloc {offset = 0 : i64} : <3x64x32xf16
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK:         %[[FIRST:.*]] = arith.constant 0 : index
// CHECK:         %[[LAST:.*]] = arith.constant 2 : index
// CHECK:         %[[R0:.*]] = tile.range_at
// CHECK-NEXT:    tile.cp_async %{{.*}}[%{{.*}}, %[[R0]]] -> %[[A]] slot %[[FIRST]] {conflicts = 0 : i64, vector = 8 : i64}
// CHECK-NEXT:    tile.cp_async %{{.*}}[%[[R0]], %{{.*}}] -> %[[B]] slot %[[FIRST]] {commit, conflicts = 0 : i64, vector = 8 : i64}
// CHECK:         %[[R1:.*]] = tile.range_at
// CHECK-NEXT:    tile.cp_async %{{.*}}[%{{.*}}, %[[R1]]] -> %[[A]] slot
// CHECK-NEXT:    tile.cp_async %{{.*}}[%[[R1]], %{{.*}}] -> %[[B]] slot {{.*}} {commit
// CHECK:         tile.for %[[K:.*]] = {{.*}} carry({{.*}}, %[[READ:.*]] = %[[FIRST]], %[[FILL:.*]] = %[[LAST]])
// CHECK-NEXT:      tile.wait pending = 1
// CHECK-NEXT:      tile.barrier
// CHECK:           %[[AHEAD:.*]] = tile.range_at
// CHECK-NEXT:      tile.cp_async %{{.*}}[%{{.*}}, %[[AHEAD]]] -> %[[A]] slot %[[FILL]]
// CHECK-NEXT:      tile.cp_async %{{.*}}[%[[AHEAD]], %{{.*}}] -> %[[B]] slot %[[FILL]] {commit
// CHECK-NEXT:      tile.local_load %[[A]] slot %[[READ]]
// CHECK-NEXT:      tile.local_load %[[B]] slot %[[READ]]
// CHECK-NEXT:      tile.mma
// CHECK-NOT:       tile.barrier
// CHECK-NOT:       tile.wait
// CHECK:           arith.cmpi eq, %[[READ]], %[[LAST]]
// CHECK:         } {stages = 3 : i64}
// CHECK-NEXT:    tile.wait pending = 0
// PROVED-LABEL: tile.func @gemm
// PROVED-SAME:    proved
tile.func @gemm(%A: memref<?x?xf16, strided<[?, 1]>>, %B: memref<?x?xf16, strided<[?, 1]>>, %C: memref<?x?xf32, strided<[?, 1]>>) {
  %zero = arith.constant 0 : index
  %cst = arith.constant 0.0 : f32
  %M = tile.dim %A, 0 : memref<?x?xf16, strided<[?, 1]>>
  %K = tile.dim %A, 1 : memref<?x?xf16, strided<[?, 1]>>
  %N = tile.dim %B, 1 : memref<?x?xf16, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %N) tiles = [64, 64] : !tile.range<64>, !tile.range<64>
  %acc = tile.fill %cst[%m, %n] : f32, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
  %r = tile.for %k = %zero to %K carry(%c = %acc) : !tile.range<32>, (tensor<64x64xf32>) {
    %a = tile.load %A[%m, %k] : memref<?x?xf16, strided<[?, 1]>>, !tile.range<64>, !tile.range<32> -> tensor<64x32xf16>
    %b = tile.load %B[%k, %n] : memref<?x?xf16, strided<[?, 1]>>, !tile.range<32>, !tile.range<64> -> tensor<32x64xf16>
    %d = tile.mma %a, %b, %c : tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32>
    tile.yield %d : tensor<64x64xf32>
  }
  tile.store %r, %C[%m, %n] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}

// -----

// One stage is what was asked for: nothing runs ahead.
// CHECK-LABEL: tile.func @one_stage
// CHECK:         tile.for
// CHECK-NEXT:      tile.barrier
// CHECK:           tile.wait %{{.*}} pending = 0
// CHECK-NOT:       slot
// PROVED-LABEL: tile.func @one_stage
tile.func @one_stage(%A: memref<?x?xf16, strided<[?, 1]>>, %C: memref<?x?xf32, strided<[?, 1]>>) {
  %zero = arith.constant 0 : index
  %cst = arith.constant 0.0 : f32
  %M = tile.dim %A, 0 : memref<?x?xf16, strided<[?, 1]>>
  %K = tile.dim %A, 1 : memref<?x?xf16, strided<[?, 1]>>
  %m = tile.program extents(%M) tiles = [16] : !tile.range<16>
  %acc = tile.fill %cst[%m, %m] : f32, !tile.range<16>, !tile.range<16> -> tensor<16x16xf32>
  %r = tile.for %k = %zero to %K carry(%c = %acc) : !tile.range<16>, (tensor<16x16xf32>) {
    %a = tile.load %A[%m, %k] : memref<?x?xf16, strided<[?, 1]>>, !tile.range<16>, !tile.range<16> -> tensor<16x16xf16>
    %t = tile.transpose %a [1, 0] : tensor<16x16xf16> -> tensor<16x16xf16>
    %d = tile.mma %a, %t, %c : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
    tile.yield %d : tensor<16x16xf32>
  } {stages = 1 : i64}
  tile.store %r, %C[%m, %m] : tensor<16x16xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<16>, !tile.range<16>
  tile.return
}

// -----

// What is copied is also written by the kernel: a copy that runs ahead could
// read the old value.
// CHECK-LABEL: tile.func @in_place
// CHECK-NOT:     slot
tile.func @in_place(%A: memref<?x?xf16, strided<[?, 1]>>) {
  %zero = arith.constant 0 : index
  %cst = arith.constant 0.0 : f32
  %M = tile.dim %A, 0 : memref<?x?xf16, strided<[?, 1]>>
  %m = tile.program extents(%M) tiles = [16] : !tile.range<16>
  tile.for %k = %zero to %M : !tile.range<16> {
    %acc = tile.fill %cst[%m, %k] : f32, !tile.range<16>, !tile.range<16> -> tensor<16x16xf32>
    %a = tile.load %A[%m, %k] : memref<?x?xf16, strided<[?, 1]>>, !tile.range<16>, !tile.range<16> -> tensor<16x16xf16>
    %d = tile.mma %a, %a, %acc : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
    %h = arith.truncf %d : tensor<16x16xf32> to tensor<16x16xf16>
    tile.store %h, %A[%m, %k] : tensor<16x16xf16>, memref<?x?xf16, strided<[?, 1]>>, !tile.range<16>, !tile.range<16>
    tile.yield
  }
  tile.return
}
