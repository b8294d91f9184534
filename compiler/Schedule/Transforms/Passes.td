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

#endif // TESSERA_SCHEDULE_PASSES_TD
