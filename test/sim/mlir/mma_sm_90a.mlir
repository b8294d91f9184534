// mma.sync, ldmatrix, cp.async and shuffles as the NVVM dialect prints them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<1024 x f16>
llvm.func @mma(%source: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  nvvm.cp.async.shared.global %tile, %source, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.commit.group
  nvvm.cp.async.wait.group 0
  nvvm.barrier0
  %a = nvvm.ldmatrix %tile {num = 4 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
  %a0 = llvm.extractvalue %a[0] : !llvm.struct<(i32, i32, i32, i32)>
  %h = llvm.bitcast %a0 : i32 to vector<2xf16>
  %zero = llvm.mlir.constant(0.0 : f32) : f32
  %d = nvvm.mma.sync A[%h, %h, %h, %h] B[%h, %h] C[%zero, %zero, %zero, %zero] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  %d0 = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)>
  %all = llvm.mlir.constant(-1 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %clamp = llvm.mlir.constant(31 : i32) : i32
  %s = nvvm.shfl.sync bfly %all, %d0, %one, %clamp : f32 -> f32
  llvm.store %s, %out : f32, !llvm.ptr<1>
  llvm.return
}
