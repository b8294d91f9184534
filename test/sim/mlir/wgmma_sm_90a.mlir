// wgmma as the NVVM dialect prints it (inline assembly).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
llvm.func @wgmma(%a: i64, %b: i64, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %zero = llvm.mlir.constant(0.0 : f32) : f32
  %u = llvm.mlir.undef : !llvm.struct<(f32, f32, f32, f32)>
  %c0 = llvm.insertvalue %zero, %u[0] : !llvm.struct<(f32, f32, f32, f32)>
  %c1 = llvm.insertvalue %zero, %c0[1] : !llvm.struct<(f32, f32, f32, f32)>
  %c2 = llvm.insertvalue %zero, %c1[2] : !llvm.struct<(f32, f32, f32, f32)>
  %c3 = llvm.insertvalue %zero, %c2[3] : !llvm.struct<(f32, f32, f32, f32)>
  nvvm.wgmma.fence.aligned
  %d = nvvm.wgmma.mma_async %a, %b, %c3, <m = 64, n = 8, k = 16>, D [<f32>, #nvvm.wgmma_scale_out<one>], A [<f16>, #nvvm.wgmma_scale_in<one>, <row>], B [<f16>, #nvvm.wgmma_scale_in<one>, <col>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
  nvvm.wgmma.commit.group.sync.aligned
  nvvm.wgmma.wait.group.sync.aligned 0
  %d0 = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)>
  llvm.store %d0, %out : f32, !llvm.ptr<1>
  llvm.return
}
