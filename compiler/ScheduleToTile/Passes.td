// Schedule IR to Tile IR: the passes. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_SCHEDULETOTILE_PASSES_TD
#define TESSERA_SCHEDULETOTILE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ScheduleToTilePass : Pass<"schedule-to-tile", "::mlir::ModuleOp"> {
  let summary = "Kernels become tile programs, functions become plans";
  let description = [{
    Here values between kernels become memory, once: a function is then only what
    to allocate, view and launch, which the runtime does without a compiler.

    ```mlir
    // Before
    %y = sched.fuse @f_0 (%x) numerics = "elementwise" : (tensor<?xf32>) -> tensor<?xf32> { ... }
    // After
    tile.func @f_0(%x: memref<?xf32, strided<[1]>>, %y: memref<?xf32, strided<[1]>>) { ... }
    plan.func @f target "cpu" {
      ...
      plan.launch @f_0(%x, %y) grid %programs : !plan.tensor<f32, 1>, !plan.tensor<f32, 1>
    }
    ```
  }];
  let dependentDialects = ["::tessera::plan::PlanDialect", "::tessera::tile::TileDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::memref::MemRefDialect"];
}

def CheckValueContractPass : Pass<"tile-check-value-contract", "::mlir::ModuleOp"> {
  let summary = "Refuse what may not stand in Tile IR's value level";
  let description = [{
    The closed list of README.md: kernels and plans in the module; value-level
    `tile` ops, `arith`, `math` and `scf` in a kernel.

    ```mlir
    // Refused: a buffer belongs to the mapped level
    %b = tile.alloc : !tile.buffer<4xf32, "", "scratch">
    ```
  }];
}

#endif // TESSERA_SCHEDULETOTILE_PASSES_TD
