// RUN: tessera-opt %s --target-kernel-to-llvm | FileCheck %s

// A kernel becomes a function, its body unchanged. The plan stays behind.
// CHECK:     llvm.func @k(%[[P:.*]]: !llvm.ptr) -> i32
// CHECK:       llvm.load %[[P]] : !llvm.ptr -> f32
// CHECK:       arith.addf
// CHECK:       llvm.return %{{.*}} : i32
// CHECK-NOT: tessera_target
// CHECK-NOT: plan.func
tessera_target.kernel @k(%p: !llvm.ptr) -> i32 attributes {config = #tessera_target.kernel_config<grid = [], block = [1, 1], shared = 0, regs = 0>} {
  %x = llvm.load %p : !llvm.ptr -> f32
  %y = arith.addf %x, %x : f32
  llvm.store %y, %p : f32, !llvm.ptr
  %status = arith.constant 0 : i32
  tessera_target.return %status : i32
}
plan.func @f target "cpu" {
  plan.return
}
