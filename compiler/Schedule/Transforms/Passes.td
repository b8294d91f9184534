// Schedule IR: the passes. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_SCHEDULE_PASSES_TD
#define TESSERA_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def CheckContractPass : Pass<"schedule-check-contract", "::mlir::ModuleOp"> {
  let summary = "Refuse what may not stand in Schedule IR";
  let description = [{
    A stage that meets an op it does not know fails late and without the user's
    line, so the closed list of README.md is checked at the stage's end, and
    again when a text is resumed here.

    ```mlir
    // Refused: a composite, which GraphToSchedule decomposes
    %y = gir.softmax %x axis = 1 : tensor<?x?xf32>
    ```
  }];
}

def SpecializePass : Pass<"schedule-specialize", "::mlir::ModuleOp"> {
  let summary = "Variants of a product or attention become kernels of their own";
  let description = [{
    Which variant is quickest the sizes of a call say and how its operands lie,
    so every variant is compiled when a call first asks for it. A version is the
    product with other tiles, turned, so that the columns of its right operand
    are read along memory, or a sum for each column.

    ```mlir
    // Before
    %y = sched.fuse @f_0 (%a, %b) numerics = <gemm step = 2048> {variants = [
        #sched.variant<turned16, turned, [16, 64, 4096], <rows = [0, 16], right = column_major>>]} : ... {
      ...
      %r = gir.gemm %x, %w : ...
    }
    // After
    %y = sched.versions [#sched.when<rows = [0, 16], right = column_major>] : tensor<?x?xf32> {
      %t = gir.transpose %b permutation = [1, 0] : ...
      %0 = sched.fuse @f_0_turned16 (%a, %b, %t) numerics = <gemm step = 4096> {as_is} : ... {
        ...
        %p = gir.gemm %c, %xt : ...
        %r = gir.transpose %p ...
      }
      sched.yield %0 : tensor<?x?xf32>
    }, {
      %0 = sched.fuse @f_0 (%a, %b) ...
      sched.yield %0 : tensor<?x?xf32>
    }
    ```
  }];
  let dependentDialects = ["::tessera::graph::GraphDialect"];
}

#endif // TESSERA_SCHEDULE_PASSES_TD
