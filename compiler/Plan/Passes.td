// Plans: the passes. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_PLAN_PASSES_TD
#define TESSERA_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def PrintTextPass : Pass<"plan-print-text", "::mlir::ModuleOp"> {
  let summary = "Print the text of each plan, as the runtime reads it";
  let description = [{
    To look at, and for tests of passes that edit plans. What belongs to the
    kernel (scratch, blocks, shared memory) is not written: this pass knows no
    machine.

    ```mlir
    // Before, and after
    plan.launch @f_0(%x, %y) grid %programs : !plan.tensor<f32, 1>, !plan.tensor<f32, 1>
    // Printed
    //   launch @f_0(%x, %y) grid $n ceildiv 64
    ```
  }];
}

def SetTargetPass : Pass<"plan-set-target", "::tessera::plan::FuncOp"> {
  let summary = "Name the machine that a plan's kernels are for";
  let description = [{
    Until kernels are mapped to a machine, a plan is for any.

    ```mlir
    // Before
    plan.func @f target "cpu" { ... }
    // After, with target=sm_80
    plan.func @f target "sm_80" { ... }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"cpu\"",
           "cpu, or an architecture's name">];
}

#endif // TESSERA_PLAN_PASSES_TD
