// The passes of the NVIDIA target. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_TARGET_NVIDIA_PASSES
#define TESSERA_TARGET_NVIDIA_PASSES

include "mlir/Pass/PassBase.td"

def KernelToNvvmPass : Pass<"target-kernel-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Make LLVM functions in a gpu.module of NVIDIA kernels";
  let description = [{
    `tessera_target.kernel` becomes an `llvm.func` with `nvvm.kernel` and the
    block size it requires; its shared memory becomes a global (an external one
    of unknown size above 48 KiB, which the launch must give). Plans are
    dropped, because LLVM has no place for them.

    Before:
    ```mlir
    tessera_target.kernel @k(%p: !llvm.ptr<1>) attributes {config = #tessera_target.kernel_config<grid = [], block = [64, 1], shared = 1024, regs = 0>} {
      %s = tessera_target.allocate %bytes pool = "shared" ... -> !llvm.ptr<3>
    ```
    After:
    ```mlir
    gpu.module @kernels {
      llvm.mlir.global internal @k_shared() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<1024 x i8>
      llvm.func @k(%p: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64, 1, 1>} {
        %s = llvm.mlir.addressof @k_shared : !llvm.ptr<3>
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect"];
}

def CheckNvidiaContractPass : Pass<"target-check-nvidia-contract", "::mlir::ModuleOp"> {
  let summary = "Refuse what may not leave the NVIDIA Target IR";
  let description = [{
    Kernels of several threads hold only `arith`, `math`, `scf`, `nvvm`, memory
    ops of `llvm` and the ops of `tessera_target`. Math functions that have no
    expansion (those of f64) are refused here, because LLVM would abort on them.
    Kernels of one thread are the CPU's and pass.
  }];
}

#endif // TESSERA_TARGET_NVIDIA_PASSES
