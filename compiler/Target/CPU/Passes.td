// The passes of the CPU target. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_TARGET_CPU_PASSES
#define TESSERA_TARGET_CPU_PASSES

include "mlir/Pass/PassBase.td"

def LowerToCpuPass : Pass<"target-lower-to-cpu", "::mlir::ModuleOp"> {
  let summary = "Turn nests into vector loops with the kernel ABI";
  let description = [{
    Every `tile.func` (mapped level) becomes a `tessera_target.kernel` with the
    arguments of docs/abi.md section 2: a loop over the programs, in it the
    nests as loops of vectors. Only the vectorised axis has a masked tail; all
    loops run over the elements that exist.

    Before:
    ```mlir
    tile.nest [%m] {vector_axis = 0 : i64} : (!tile.range<64>) -> () { ... }
    ```
    After:
    ```mlir
    scf.for %i = %c0 to %whole step %c64 : i64 { ... four vectors ... }
    scf.for %i = %whole to %length step %c16 : i64 { ... masked ... }
    ```
  }];
  let options = [
    Option<"vectorBytes", "vector-bytes", "int64_t", "64",
           "Bytes of a vector register">,
    Option<"bf16", "bf16", "bool", "false",
           "Round to bf16 by its instruction (AVX512-BF16)">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect", "::tessera::target::TargetDialect",
  ];
}

def KernelToLLVMPass : Pass<"target-kernel-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Make LLVM functions of CPU kernels";
  let description = [{
    `tessera_target.kernel` becomes `llvm.func`, its body unchanged; plans are
    dropped, because LLVM has no place for them.

    Before:
    ```mlir
    tessera_target.kernel @k(%p: !llvm.ptr) -> i32 {
      tessera_target.return %status : i32
    }
    plan.func @f { ... }
    ```
    After:
    ```mlir
    llvm.func @k(%p: !llvm.ptr) -> i32 {
      llvm.return %status : i32
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def CarryBf16AsBitsPass : Pass<"target-carry-bf16-as-bits", "::mlir::ModuleOp"> {
  let summary = "Carry bf16 as 16-bit integers";
  let description = [{
    Nothing is computed in bf16, but values of it are selected, carried through
    loops and moved. Without AVX512-BF16 LLVM would widen each to f32 and round
    it back by `__truncsfbf2`, which no library here has. As integers they stay
    what they are.

    Before:
    ```mlir
    %top = arith.select %better, %x, %y : vector<16xi1>, vector<16xbf16>
    ```
    After:
    ```mlir
    %top = arith.select %better, %x, %y : vector<16xi1>, vector<16xi16>
    ```
  }];
}

def CheckContractPass : Pass<"target-check-cpu-contract", "::mlir::ModuleOp"> {
  let summary = "Refuse what may not leave the CPU's Target IR";
  let description = [{
    Kernels hold only `arith`, `math`, `scf`, `vector`, `llvm` and the ops of
    `tessera_target`; a tile op that is left over would otherwise fail deep
    inside LLVM. An error in every build.
  }];
}

def CheckAddressesPass : Pass<"target-check-addresses", "::mlir::ModuleOp"> {
  let summary = "Show that every address is 64-bit or proved small";
  let description = [{
    A tensor may have more than 2^31 elements. What the index of an address or
    the mask of an access is made of is followed back to its origins; where it
    is cut to fewer than 64 bits, bounds must show that the value fits, unless
    it is an element of a tensor. For tests: no part of the pipeline.
  }];
  let options = [
    Option<"count", "count", "bool", "false", "Say how many were looked at">,
  ];
}

#endif // TESSERA_TARGET_CPU_PASSES
