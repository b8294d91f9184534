// The lowering of tiles to threads. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_SIMT_LOWERING_PASSES
#define TESSERA_SIMT_LOWERING_PASSES

include "mlir/Pass/PassBase.td"

def LowerToThreadsPass : Pass<"simt-lower-to-threads", "::mlir::ModuleOp"> {
  let summary = "Turn mapped tile programs into the program of one thread";
  let description = [{
    Layouts have decided which thread holds which element; here each tile
    becomes the values of one thread, each access to the user's memory a
    predicated one; products, fragments and copies become the instructions of
    the machine that the kernel names (`Target/SIMT/Machine.h`). What threads
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
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::tessera::target::TargetDialect",
  ];
}

#endif // TESSERA_SIMT_LOWERING_PASSES
