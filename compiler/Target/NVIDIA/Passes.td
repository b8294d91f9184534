// The passes of the NVIDIA target. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_TARGET_NVIDIA_PASSES
#define TESSERA_TARGET_NVIDIA_PASSES

include "mlir/Pass/PassBase.td"

def LowerToNvidiaPass : Pass<"target-lower-to-nvidia", "::mlir::ModuleOp"> {
  let summary = "Turn mapped tile programs into the program of one thread";
  let description = [{
    Layouts have decided which thread holds which element; here each tile
    becomes the values of one thread, each product `mma.sync`, each fragment
    `ldmatrix`, each access to the user's memory a predicated one. What threads
    compute about addresses follows from the layouts' bits.

    Before:
    ```mlir
    %y = math.exp %x : tensor<64xf32, "#layout<register:[1], lane:[2,4,8,16,32] -> (64)>">
    ```
    After:
    ```mlir
    %y0 = math.exp %x0 : f32
    %y1 = math.exp %x1 : f32
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::tessera::target::TargetDialect",
  ];
}

def KernelToNvvmPass : Pass<"target-kernel-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Make LLVM functions in a gpu.module of NVIDIA kernels";
  let description = [{
    `tessera_target.kernel` becomes an `llvm.func` with `nvvm.kernel` and the
    block size it requires; its shared memory becomes a global (an external one
    of unknown size above 48 KiB, which the launch must give). Plans are
    dropped, because LLVM has no place for them.
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
