// RUN: tessera-opt %s --simt-map-to-threads=target=sm_80 --simt-lower-to-threads --cse --target-check-nvidia-contract | FileCheck %s

// A view is a pointer, sizes and strides; a tile is the values of one thread.
// Elements past the end are not touched: both accesses are predicated.
// CHECK-LABEL: tessera_target.kernel @double
// CHECK-SAME:    (%{{.*}}: !llvm.ptr<1>, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: !llvm.ptr<1>, %{{.*}}: i64, %{{.*}}: i64)
// CHECK-SAME:    block = [32, 1], shared = 0
// CHECK:         nvvm.read.ptx.sreg.tid.x
// CHECK:         llvm.inline_asm has_side_effects {{.*}} "mov.b32 $0, 0;\0A\09@$2 ld.global.b32 $0, [$1];"
// CHECK-COUNT-2: arith.addf {{.*}} : f32
// CHECK:         llvm.inline_asm has_side_effects {{.*}} "@$2 st.global.b32 [$0], $1;"
// CHECK:         tessera_target.return
tile.func @double(%x: memref<?xf32, strided<[1]>>, %z: memref<?xf32, strided<[1]>>) {
  %n = tile.dim %x, 0 : memref<?xf32, strided<[1]>>
  %i = tile.program extents(%n) tiles = [64] : !tile.range<64>
  %a = tile.load %x[%i] : memref<?xf32, strided<[1]>>, !tile.range<64> -> tensor<64xf32>
  %c = arith.addf %a, %a : tensor<64xf32>
  tile.store %c, %z[%i] : tensor<64xf32>, memref<?xf32, strided<[1]>>, !tile.range<64>
  tile.return
}

// 16-bit floats are computed in f32 and rounded after each op.
// CHECK-LABEL: tessera_target.kernel @halves
// CHECK:         arith.extf {{.*}} : f16 to f32
// CHECK:         arith.mulf {{.*}} : f32
// CHECK:         arith.truncf {{.*}} : f32 to f16
tile.func @halves(%x: memref<?xf16, strided<[1]>>, %z: memref<?xf16, strided<[1]>>) {
  %n = tile.dim %x, 0 : memref<?xf16, strided<[1]>>
  %i = tile.program extents(%n) tiles = [32] : !tile.range<32>
  %a = tile.load %x[%i] : memref<?xf16, strided<[1]>>, !tile.range<32> -> tensor<32xf16>
  %c = arith.mulf %a, %a : tensor<32xf16>
  tile.store %c, %z[%i] : tensor<32xf16>, memref<?xf16, strided<[1]>>, !tile.range<32>
  tile.return
}

// A sum over lanes is five exchanges; all threads hold it, one writes it.
// CHECK-LABEL: tessera_target.kernel @total
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK-NOT:     nvvm.shfl.sync
// CHECK:         arith.cmpi eq
// CHECK:         st.global.b32
tile.func @total(%x: memref<?xf32, strided<[1]>>, %z: memref<?xf32, strided<[1]>>) {
  %n = tile.dim %x, 0 : memref<?xf32, strided<[1]>>
  %b = tile.program extents(%n) tiles = [0] : index
  %zero = arith.constant 0 : index
  %i = tile.range_at %zero of %n : !tile.range<32>
  %a = tile.load %x[%i] : memref<?xf32, strided<[1]>>, !tile.range<32> -> tensor<32xf32>
  %c = tile.reduce sum %a axis = 0 : tensor<32xf32> -> f32
  tile.store %c, %z[%b] : f32, memref<?xf32, strided<[1]>>, index
  tile.return
}

// A row that is spread over warps is joined through shared memory.
// CHECK-LABEL: tessera_target.kernel @wide
// CHECK-SAME:    block = [128, 1], shared = 16
// CHECK:         nvvm.barrier0
// CHECK:         llvm.store {{.*}} !llvm.ptr<3>
// CHECK:         nvvm.barrier0
// CHECK:         llvm.load {{.*}} !llvm.ptr<3> -> vector<4xi32>
tile.func @wide(%x: memref<?xf32, strided<[1]>>, %z: memref<?xf32, strided<[1]>>) attributes {config = {num_warps = 4 : i64}} {
  %n = tile.dim %x, 0 : memref<?xf32, strided<[1]>>
  %b = tile.program extents(%n) tiles = [0] : index
  %zero = arith.constant 0 : index
  %i = tile.range_at %zero of %n : !tile.range<256>
  %a = tile.load %x[%i] : memref<?xf32, strided<[1]>>, !tile.range<256> -> tensor<256xf32>
  %c = tile.reduce max %a axis = 0 : tensor<256xf32> -> f32
  tile.store %c, %z[%b] : f32, memref<?xf32, strided<[1]>>, index
  tile.return
}

// Aligned rows are copied asynchronously, 16 bytes at once, the rest of a
// partial group zero; others element by element. Fragments of the right
// operand, whose rows run across them, are transposed on the way.
// CHECK-LABEL: tessera_target.kernel @product
// CHECK:         scf.if
// CHECK:           nvvm.cp.async.shared.global {{.*}} 16, cache = cg
// CHECK:         } else {
// CHECK:           ld.global.b16
// CHECK:         nvvm.cp.async.wait.group 0
// CHECK:         nvvm.barrier0
// CHECK:         nvvm.ldmatrix {{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4
// CHECK:         nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<col>, num = 2
// CHECK:         llvm.inline_asm {{.*}}"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};", "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f"
tile.func @product(%A: memref<?x?xf16, strided<[?, 1]>>, %B: memref<?x?xf16, strided<[?, 1]>>, %C: memref<?x?xf32, strided<[?, 1]>>) {
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

// fp32 means fp32: no tensor cores, but a loop of fused multiply-adds with
// operands from shared memory.
// CHECK-LABEL: tessera_target.kernel @single
// CHECK:         nvvm.barrier0
// CHECK-NOT:     nvvm.ldmatrix
// CHECK-NOT:     mma.sync
// CHECK:         scf.for {{.*}} iter_args
// CHECK:           llvm.load {{.*}} : !llvm.ptr<3> -> f32
// CHECK:           math.fma {{.*}} : f32
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
  %c = tile.mma %a, %b, %z : tensor<16x16xf32>, tensor<16x32xf32>, tensor<16x32xf32>
  tile.store %c, %C[%m, %n] : tensor<16x32xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<16>, !tile.range<32>
  tile.return
}

// -----

// Neighbours move together where they are aligned and none is missing; else one
// by one.
// CHECK-LABEL: tessera_target.kernel @together
// CHECK:         %[[LOADED:.*]]:4 = scf.if %{{.*}} -> (i32, i32, i32, i32) {
// CHECK:           "mov.b32 $0, 0;\0A\09mov.b32 $1, 0;\0A\09mov.b32 $2, 0;\0A\09mov.b32 $3, 0;\0A\09@$5 ld.global.v4.b32 {$0, $1, $2, $3}, [$4];"
// CHECK:         } else {
// CHECK-COUNT-8:   ld.global.b16
// CHECK:         scf.if
// CHECK:           "@$5 st.global.v4.b32 [$0], {$1, $2, $3, $4};", "l,r,r,r,r,b"
// CHECK:         } else {
// CHECK-COUNT-8:   st.global.b16
tile.func @together(%X: memref<?xf16, strided<[1]>>, %Y: memref<?xf16, strided<[1]>>) attributes {block_size = 32 : i64, shared_bytes = 0 : i64} {
  %N = tile.dim %X, 0 : memref<?xf16, strided<[1]>>
  %n = tile.program extents(%N) tiles = [256] : !tile.range<256>
  %x = tile.load %X[%n] : memref<?xf16, strided<[1]>>, !tile.range<256> -> tensor<256xf16, #tile.layout<register:[1,2,4], lane:[8,16,32,64,128] -> (256)>>
  %y = arith.addf %x, %x : tensor<256xf16, #tile.layout<register:[1,2,4], lane:[8,16,32,64,128] -> (256)>>
  tile.store %y, %Y[%n] : tensor<256xf16, #tile.layout<register:[1,2,4], lane:[8,16,32,64,128] -> (256)>>, memref<?xf16, strided<[1]>>, !tile.range<256>
  tile.return
}

// -----

// What a sum skips is replaced only where the tile is not whole.
// CHECK-LABEL: tessera_target.kernel @ends
// CHECK:         ld.global.v2.b32
// CHECK:         %[[WHOLE:.*]] = arith.cmpi eq, %{{.*}}, %c64_i32 : i32
// CHECK-NEXT:    %{{.*}}:2 = scf.if %[[WHOLE]] -> (f32, f32) {
// CHECK-NEXT:      scf.yield
// CHECK-NEXT:    } else {
// CHECK-COUNT-2:   arith.select
tile.func @ends(%X: memref<?xf32, strided<[1]>>, %Y: memref<?xf32, strided<[1]>>) attributes {block_size = 32 : i64, shared_bytes = 0 : i64} {
  %N = tile.dim %X, 0 : memref<?xf32, strided<[1]>>
  %n = tile.program extents(%N) tiles = [64] : !tile.range<64>
  %x = tile.load %X[%n] : memref<?xf32, strided<[1]>>, !tile.range<64> -> tensor<64xf32, #tile.layout<register:[1], lane:[2,4,8,16,32] -> (64)>>
  %i = tile.index %n : !tile.range<64> -> tensor<64xi64, #tile.layout<register:[1], lane:[2,4,8,16,32] -> (64)>>
  %stop = tile.range_stop %n : !tile.range<64>
  %wide = arith.index_cast %stop : index to i64
  %stops = tile.fill %wide[%n] : i64, !tile.range<64> -> tensor<64xi64, #tile.layout<register:[1], lane:[2,4,8,16,32] -> (64)>>
  %there = arith.cmpi slt, %i, %stops : tensor<64xi64, #tile.layout<register:[1], lane:[2,4,8,16,32] -> (64)>>
  %zero = arith.constant dense<0.0> : tensor<64xf32, #tile.layout<register:[1], lane:[2,4,8,16,32] -> (64)>>
  %kept = arith.select %there, %x, %zero : tensor<64xi1, #tile.layout<register:[1], lane:[2,4,8,16,32] -> (64)>>, tensor<64xf32, #tile.layout<register:[1], lane:[2,4,8,16,32] -> (64)>>
  %sum = tile.reduce sum %kept axis = 0 : tensor<64xf32, #tile.layout<register:[1], lane:[2,4,8,16,32] -> (64)>> -> f32
  %first = arith.constant 0 : index
  tile.store %sum, %Y[%first] : f32, memref<?xf32, strided<[1]>>, index
  tile.return
}
