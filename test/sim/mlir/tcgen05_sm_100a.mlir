// tcgen05 as the NVVM dialect prints it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
llvm.mlir.global internal @slot() {addr_space = 3 : i32, alignment = 8 : i64} : i32
llvm.func @tensor_memory(%out: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %slot = llvm.mlir.addressof @slot : !llvm.ptr<3>
  %columns = llvm.mlir.constant(32 : i32) : i32
  nvvm.tcgen05.alloc %slot, %columns : !llvm.ptr<3>, i32
  nvvm.tcgen05.relinquish_alloc_permit
  nvvm.barrier0
  nvvm.tcgen05.fence #nvvm.tcgen05_fence<after>
  %address = llvm.load %slot : !llvm.ptr<3> -> i32
  %tmem = llvm.inttoptr %address : i32 to !llvm.ptr<6>
  %v = nvvm.tcgen05.ld %tmem {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<2xi32>
  nvvm.tcgen05.wait <load>
  nvvm.tcgen05.st %tmem, %v {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<2xi32>
  nvvm.tcgen05.wait <store>
  nvvm.tcgen05.dealloc %tmem, %columns : !llvm.ptr<6>, i32
  llvm.store %v, %out : vector<2xi32>, !llvm.ptr<1>
  llvm.return
}
