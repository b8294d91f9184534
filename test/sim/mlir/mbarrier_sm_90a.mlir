// mbarrier, cp.async.bulk and cluster barriers as the NVVM dialect prints them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<1024 x f32>
llvm.mlir.global internal @bar() {addr_space = 3 : i32, alignment = 8 : i64} : i64
llvm.func @copy(%source: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %bar = llvm.mlir.addressof @bar : !llvm.ptr<3>
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %count = llvm.mlir.constant(1 : i32) : i32
  %bytes = llvm.mlir.constant(4096 : i32) : i32
  %phase = llvm.mlir.constant(0 : i32) : i32
  %ticks = llvm.mlir.constant(1000 : i32) : i32
  nvvm.mbarrier.init %bar, %count : !llvm.ptr<3>, i32
  nvvm.barrier0
  nvvm.mbarrier.arrive.expect_tx %bar, %bytes : !llvm.ptr<3>, i32
  nvvm.mbarrier.try_wait.parity %bar, %phase, %ticks : !llvm.ptr<3>, i32, i32
  nvvm.cluster.arrive {aligned}
  nvvm.cluster.wait {aligned}
  nvvm.fence.mbarrier.init
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %p = llvm.getelementptr %tile[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  %v = llvm.load %p : !llvm.ptr<3> -> f32
  %q = llvm.getelementptr %out[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  llvm.store %v, %q : f32, !llvm.ptr<1>
  llvm.return
}
