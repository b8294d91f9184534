// RUN: tessera-opt %s --target-kernel-to-nvvm | FileCheck %s

// A kernel becomes an LLVM function that requires its block size; its shared
// memory a global. The plan stays behind.
// CHECK:       gpu.module @kernels
// CHECK:         llvm.mlir.global internal @k_shared() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<1024 x i8>
// CHECK:         llvm.func @k(%{{.*}}: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64, 1, 1>}
// CHECK:           llvm.mlir.addressof @k_shared
// CHECK:           llvm.return
// More than 48 KiB are asked for at the launch.
// CHECK:         llvm.mlir.global external @large_shared() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
// CHECK-NOT:   tessera_target
// CHECK-NOT:   plan.func
tessera_target.kernel @k(%p: !llvm.ptr<1>) attributes {config = #tessera_target.kernel_config<grid = [], block = [64, 1], shared = 1024, regs = 0>} {
  %n = arith.constant 1024 : i64
  %s = tessera_target.allocate %n pool = "shared" align = 128 zero_initialize = false : i64 -> !llvm.ptr<3>
  %x = llvm.load %s : !llvm.ptr<3> -> i32
  llvm.store %x, %p : i32, !llvm.ptr<1>
  tessera_target.return
}
tessera_target.kernel @large(%p: !llvm.ptr<1>) attributes {config = #tessera_target.kernel_config<grid = [], block = [64, 1], shared = 65536, regs = 0>} {
  tessera_target.return
}
// Exponentials are the machine's.
// CHECK:         llvm.func @powers
// CHECK:           llvm.inline_asm {{.*}}fma.rn.sat.f32 t, $1{{.*}}ex2.approx.ftz.f32 f, f
// CHECK:           llvm.inline_asm {{.*}}"ex2.approx.f32 $0, $1;", "=f,f"
tessera_target.kernel @powers(%p: !llvm.ptr<1>) attributes {config = #tessera_target.kernel_config<grid = [], block = [64, 1], shared = 0, regs = 0>} {
  %x = llvm.load %p : !llvm.ptr<1> -> f32
  %y = math.exp %x : f32
  %z = math.exp2 %y : f32
  llvm.store %z, %p : f32, !llvm.ptr<1>
  tessera_target.return
}
plan.func @f target "sm_80" {
  plan.return
}
