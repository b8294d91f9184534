// Graph IR to Schedule IR: the passes. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_GRAPHTOSCHEDULE_PASSES_TD
#define TESSERA_GRAPHTOSCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposeCompositesPass
    : Pass<"graph-to-schedule-decompose-composites", "::mlir::func::FuncOp"> {
  let summary = "Express composites by primitives, f32 inside, one rounding";
  let description = [{
    Fusion, emission and every target then know about forty element-wise ops,
    reductions and products instead of a hundred names. Inner values are f32
    (f64 for f64); the result is rounded once.

    ```mlir
    // Before
    %y = gir.softmax %x axis = 1 : tensor<?x?xf32>
    // After
    %m = gir.reduce max %x axes = [1] : ...
    %e = gir.exp ...  // of x - m
    %s = gir.reduce sum %e axes = [1] : ...
    %y = gir.mul ...  // of e and 1 / s
    ```
  }];
  let dependentDialects = ["::tessera::graph::GraphDialect",
                           "::tessera::schedule::ScheduleDialect"];
}

def RelaxRoundingPass
    : Pass<"graph-to-schedule-relax-rounding", "::mlir::func::FuncOp"> {
  let summary = "Under the policy fast, drop the roundings between ops";
  let description = [{
    Only `fast` may drop a rounding: a chain of 16-bit ops is then computed in
    f32 and rounded where it reaches memory as 16 bits. Functions of another
    policy are left alone.

    ```mlir
    // Before, in a function with gir.policy = "fast"
    %s = gir.add %x, %y : tensor<?xbf16>
    %r = gir.exp %s : tensor<?xbf16>
    // After
    %s = gir.add ... : tensor<?xf32>  // of x and y in f32
    %e = gir.exp %s : tensor<?xf32>
    %r = gir.cast %e : tensor<?xf32> -> tensor<?xbf16>
    ```
  }];
  let dependentDialects = ["::tessera::graph::GraphDialect"];
}

def GraphToSchedulePass : Pass<"graph-to-schedule", "::mlir::ModuleOp"> {
  let summary = "Group ops into kernels";
  let description = [{
    What is computed once and read in place never reaches memory, so the fewer
    values between kernels the better; README.md tells the rules. Each group
    becomes a `sched.fuse` whose numerics class says what kind of kernel it is,
    each `gir.kernel` a `sched.kernel`; `schedule-decide` writes their
    decisions.

    ```mlir
    // Before
    %s = gir.add %x, %y : tensor<?xf32>
    %r = gir.relu %s : tensor<?xf32>
    // After
    %r = sched.fuse @f_0 (%x, %y) numerics = <elementwise> : ... {
      %s = gir.add ...
      %r = gir.relu ...
      sched.yield %r : tensor<?xf32>
    }
    ```
  }];
  let dependentDialects = ["::tessera::graph::GraphDialect",
                           "::tessera::schedule::ScheduleDialect"];
}

#endif // TESSERA_GRAPHTOSCHEDULE_PASSES_TD
