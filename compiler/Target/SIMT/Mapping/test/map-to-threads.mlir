// RUN: tessera-opt %s --simt-map-to-threads=target=sm_80 --simt-check-mapped-contract --split-input-file --verify-diagnostics | FileCheck %s

// Operands of a product go through swizzled shared memory; a barrier before the
// copies (the last turn may still be read), one after them.
// CHECK-LABEL: tile.func @gemm
// CHECK-SAME:    block_size = 64 : i64
// CHECK-SAME:    shared_bytes = 8192 : i64
// CHECK-DAG:     %[[B:.*]] = tile.alloc {offset = 4096 : i64} : <32x64xf16, #tile.layout<dim0:[72,144,288]
// CHECK-DAG:     %[[A:.*]] = tile.alloc {offset = 0 : i64} : <64x32xf16, #tile.layout<dim0:[32,72,144]
// CHECK:         %[[ACC:.*]] = tile.fill {{.*}} -> tensor<64x64xf32, #tile.layout<register:[(0,1),(8,0)], lane:[(0,2),(0,4),(1,0),(2,0),(4,0)], warp:[(16,0)] -> (32x8)
// CHECK:         tile.for
// CHECK-NEXT:      tile.barrier
// CHECK-NEXT:      %[[S:.*]] = tile.cp_async {{.*}} -> %[[A]] {conflicts = 0 : i64, vector = 8 : i64}
// CHECK-NEXT:      %[[T:.*]] = tile.cp_async {{.*}} -> %[[B]] {commit, conflicts = 0 : i64, vector = 8 : i64}
// CHECK-NEXT:      tile.wait %[[S]], %[[T]] pending = 0
// CHECK-NEXT:      tile.barrier
// CHECK-NEXT:      tile.local_load %[[A]] {conflicts = 0 : i64}
// CHECK-NEXT:      tile.local_load %[[B]] {conflicts = 0 : i64}
// CHECK-NEXT:      tile.mma
// CHECK-NOT:     tile.load
// CHECK:         tile.store
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

// A row of a fragment is 16 bytes of f16: half of what memory moves at once. The
// result goes to threads that hold 16 bytes each and whole rows together,
// through the memory of the operands, which nobody reads any more.
// CHECK-LABEL: tile.func @gemm_f16
// CHECK-SAME:    shared_bytes = 9216 : i64
// CHECK:         %[[C:.*]] = arith.truncf
// CHECK:         %[[D:.*]] = tile.convert_layout %[[C]] {conflicts = 0 : i64, tile.exchange = #tile.exchange<9216 at 0>, way = #tile.way<shared>} {{.*}} -> tensor<64x64xf16, #tile.layout<register:[(0,1),(0,2),(0,4)], lane:[(0,8),(0,16),(0,32),(1,0),(2,0)]
// CHECK:         tile.store %[[D]]
tile.func @gemm_f16(%A: memref<?x?xf16, strided<[?, 1]>>, %B: memref<?x?xf16, strided<[?, 1]>>, %C: memref<?x?xf16, strided<[?, 1]>>) {
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
  %h = arith.truncf %r : tensor<64x64xf32> to tensor<64x64xf16>
  tile.store %h, %C[%m, %n] : tensor<64x64xf16>, memref<?x?xf16, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}

// -----

// What a reduction skips is masked with its neutral element: -inf for max. The
// result is held where the row was.
// CHECK-LABEL: tile.func @row_max
// CHECK:         %[[X:.*]] = tile.load {{.*}} -> tensor<4x64xf32, #tile.layout<register:[(0,1),(0,2)], lane:[(0,4),(0,8),(0,16),(0,32),(1,0)], warp:[] -> (2x64), repeat (2x1)>>
// CHECK:         %[[THERE:.*]] = arith.cmpi slt
// CHECK:         %[[MASK:.*]] = tile.broadcast %[[THERE]] axes = [1]
// CHECK:         %[[OUT:.*]] = arith.constant dense<0xFF800000>
// CHECK:         %[[Y:.*]] = arith.select %[[MASK]], %[[X]], %[[OUT]]
// CHECK:         tile.reduce max %[[Y]] axis = 1 {{.*}} -> tensor<4xf32, #tile.layout<register:[], lane:[0,0,0,0,1], warp:[] -> (2), repeat (2)>>
tile.func @row_max(%X: memref<?x?xf32, strided<[?, 1]>>, %Y: memref<?xf32, strided<[1]>>) {
  %zero = arith.constant 0 : index
  %M = tile.dim %X, 0 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %X, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m = tile.program extents(%M) tiles = [4] : !tile.range<4>
  %n = tile.range_at %zero of %N : !tile.range<64>
  %x = tile.load %X[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<4>, !tile.range<64> -> tensor<4x64xf32>
  %r = tile.reduce max %x axis = 1 : tensor<4x64xf32> -> tensor<4xf32>
  tile.store %r, %Y[%m] : tensor<4xf32>, memref<?xf32, strided<[1]>>, !tile.range<4>
  tile.return
}

// -----

// An axis that is known to be full needs no mask.
// CHECK-LABEL: tile.func @full_row
// CHECK-NOT:     arith.select
// CHECK:         tile.reduce
tile.func @full_row(%X: memref<?x64xf32, strided<[?, 1]>>, %Y: memref<?xf32, strided<[1]>>) {
  %zero = arith.constant 0 : index
  %size = arith.constant 64 : index
  %M = tile.dim %X, 0 : memref<?x64xf32, strided<[?, 1]>>
  %m = tile.program extents(%M) tiles = [4] : !tile.range<4>
  %n = tile.range_at %zero of %size : !tile.range<64>
  %x = tile.load %X[%m, %n] : memref<?x64xf32, strided<[?, 1]>>, !tile.range<4>, !tile.range<64> -> tensor<4x64xf32>
  %r = tile.reduce sum %x axis = 1 : tensor<4x64xf32> -> tensor<4xf32>
  tile.store %r, %Y[%m] : tensor<4xf32>, memref<?xf32, strided<[1]>>, !tile.range<4>
  tile.return
}

// -----

// A computed left operand stays in its registers: one warp keeps whole rows, and
// the scores are held just as an operand is. Their columns past the end are made
// 0.
// CHECK-LABEL: tile.func @chain
// CHECK:         %[[S:.*]] = tile.mma
// CHECK:         %[[E:.*]] = math.exp2
// CHECK:         %[[P:.*]] = arith.select %{{.*}}, %[[E]]
// CHECK:         %[[Q:.*]] = arith.truncf %[[P]]
// CHECK-NOT:     tile.convert_layout
// CHECK:         tile.mma %[[Q]]
tile.func @chain(%A: memref<?x?xf16, strided<[?, 1]>>, %B: memref<?x?xf16, strided<[?, 1]>>, %C: memref<?x?xf32, strided<[?, 1]>>) {
  %zero = arith.constant 0 : index
  %cst = arith.constant 0.0 : f32
  %M = tile.dim %A, 0 : memref<?x?xf16, strided<[?, 1]>>
  %N = tile.dim %B, 0 : memref<?x?xf16, strided<[?, 1]>>
  %D = tile.dim %A, 1 : memref<?x?xf16, strided<[?, 1]>>
  %m = tile.program extents(%M) tiles = [64] : !tile.range<64>
  %n = tile.range_at %zero of %N : !tile.range<32>
  %d = tile.range_at %zero of %D : !tile.range<16>
  %a = tile.load %A[%m, %d] : memref<?x?xf16, strided<[?, 1]>>, !tile.range<64>, !tile.range<16> -> tensor<64x16xf16>
  %b = tile.load %B[%n, %d] : memref<?x?xf16, strided<[?, 1]>>, !tile.range<32>, !tile.range<16> -> tensor<32x16xf16>
  %t = tile.transpose %b [1, 0] : tensor<32x16xf16> -> tensor<16x32xf16>
  %z = tile.fill %cst[%m, %n] : f32, !tile.range<64>, !tile.range<32> -> tensor<64x32xf32>
  %s = tile.mma %a, %t, %z : tensor<64x16xf16>, tensor<16x32xf16>, tensor<64x32xf32>
  %e = math.exp2 %s : tensor<64x32xf32>
  %p = arith.truncf %e : tensor<64x32xf32> to tensor<64x32xf16>
  %y = tile.fill %cst[%m, %d] : f32, !tile.range<64>, !tile.range<16> -> tensor<64x16xf32>
  %o = tile.mma %p, %b, %y : tensor<64x32xf16>, tensor<32x16xf16>, tensor<64x16xf32>
  tile.store %o, %C[%m, %d] : tensor<64x16xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<16>
  tile.return
}

// -----

// The kernel says what a launch needs.
// CHECK:      tile.func @copy_0
// CHECK-SAME:   block_size = 32
tile.func @copy_0(%x: memref<?xf32, strided<[1]>>, %y: memref<?xf32, strided<[1]>>) {
  %n = tile.dim %x, 0 : memref<?xf32, strided<[1]>>
  %i = tile.program extents(%n) tiles = [64] : !tile.range<64>
  %a = tile.load %x[%i] : memref<?xf32, strided<[1]>>, !tile.range<64> -> tensor<64xf32>
  tile.store %a, %y[%i] : tensor<64xf32>, memref<?xf32, strided<[1]>>, !tile.range<64>
  tile.return
}

// -----

// A computed operand of a product without tensor cores, and a scan of what a
// product left: both pass through shared memory, of which there is one piece.
// CHECK-LABEL: tile.func @computed
// CHECK-SAME:    shared_bytes = 2112 : i64
// CHECK:         tile.mma {{.*}} {{[{].*}}tile.exchange = #tile.exchange<{{[0-9]+}} at 1024>
// CHECK:         tile.scan sum
tile.func @computed(%A: memref<?x?xf32, strided<[?, 1]>>, %C: memref<?x?xf32, strided<[?, 1]>>) {
  %cst = arith.constant 0.0 : f32
  %M = tile.dim %A, 0 : memref<?x?xf32, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %M) tiles = [16, 16] : !tile.range<16>, !tile.range<16>
  %a = tile.load %A[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<16>, !tile.range<16> -> tensor<16x16xf32>
  %z = tile.fill %cst[%m, %n] : f32, !tile.range<16>, !tile.range<16> -> tensor<16x16xf32>
  %e = math.exp %a : tensor<16x16xf32>
  %c = tile.mma %e, %a, %z : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
  %s = tile.scan sum %c axis = 0 : tensor<16x16xf32>
  tile.store %s, %C[%m, %n] : tensor<16x16xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<16>, !tile.range<16>
  tile.return
}

// -----

// Two users of one sum: the tile it came from, and a store of the transposed
// one. It changes threads by the cheapest way, which is said on it.
// CHECK-LABEL: tile.func @changes_threads
// CHECK:         %[[S:.*]] = tile.reduce sum
// CHECK:         tile.convert_layout %[[S]] {way = #tile.way<shuffles>}
// CHECK-NOT:     tile.barrier
tile.func @changes_threads(%A: memref<?x?xf32, strided<[?, 1]>>, %C: memref<?x?xf32, strided<[?, 1]>>) {
  %M = tile.dim %A, 0 : memref<?x?xf32, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %M) tiles = [16, 16] : !tile.range<16>, !tile.range<16>
  %a = tile.load %A[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<16>, !tile.range<16> -> tensor<16x16xf32>
  %e = math.exp %a : tensor<16x16xf32>
  %s = tile.reduce sum %e axis = 1 : tensor<16x16xf32> -> tensor<16xf32>
  %b = tile.broadcast %s axes = [0] [%n] : tensor<16xf32>, !tile.range<16> -> tensor<16x16xf32>
  %c = tile.broadcast %s axes = [1] [%n] : tensor<16xf32>, !tile.range<16> -> tensor<16x16xf32>
  %q = arith.divf %e, %b : tensor<16x16xf32>
  %r = arith.addf %q, %c : tensor<16x16xf32>
  tile.store %r, %C[%m, %n] : tensor<16x16xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<16>, !tile.range<16>
  tile.return
}

// -----

// The position of the largest element is the smallest position of an element
// that equals it; what does not exist is no candidate.
// CHECK-LABEL: tile.func @position
// CHECK:         tile.reduce max
// CHECK:         arith.cmpf oeq
// CHECK:         arith.cmpf uno
// CHECK:         arith.select
// CHECK:         tile.reduce min
// CHECK-NOT:     argmax
tile.func @position(%A: memref<?x?xf32, strided<[?, 1]>>, %C: memref<?xi64, strided<[1]>>) {
  %M = tile.dim %A, 0 : memref<?x?xf32, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %M) tiles = [16, 16] : !tile.range<16>, !tile.range<16>
  %a = tile.load %A[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<16>, !tile.range<16> -> tensor<16x16xf32>
  %s = tile.reduce argmax %a axis = 1 : tensor<16x16xf32> -> tensor<16xi64>
  tile.store %s, %C[%m] : tensor<16xi64>, memref<?xi64, strided<[1]>>, !tile.range<16>
  tile.return
}

// -----

tile.func @refused(%A: memref<?xf32, strided<[1]>>) {
  %M = tile.dim %A, 0 : memref<?xf32, strided<[1]>>
  %m = tile.program extents(%M) tiles = [16] : !tile.range<16>
  %a = tile.load %A[%m] : memref<?xf32, strided<[1]>>, !tile.range<16> -> tensor<16xf32>
  // expected-error @below {{not yet: print on a GPU}}
  // expected-note @below {{fix: target="cpu", which has it}}
  tile.print "a is {}" %a : tensor<16xf32>
  tile.return
}
