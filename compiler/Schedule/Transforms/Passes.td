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

def DecidePass : Pass<"schedule-decide", "::mlir::ModuleOp"> {
  let summary = "Take the first decisions for each kernel";
  let description = [{
    Tile sizes, threads, the order of programs and the variants that a product
    is offered: each is an op or attribute that says which value was taken,
    among which others, and who decided. The user's words (`gir.schedule`) go
    before the sizes of the program, and those before defaults. The numerics
    class gets the sizes that order a sum.

    ```mlir
    // Before
    %r = sched.fuse @f_0 (%x) numerics = <rows> : ... {
      %r = gir.reduce sum %x axes = [1] : tensor<?x?xf32> -> tensor<?xf32>
      sched.yield %r : tensor<?xf32>
    }
    // After
    %r = sched.fuse @f_0 (%x) numerics = <rows step = 1024> : ... {
      sched.tile 0 by <1, [1], default>
      sched.tile 1 by <1024, [256, 512, 1024, 2048, 4096], default> as loop
      sched.place threads <0, [0, 1, 2, 4, 8, 16], default>
      ...
      %r = gir.reduce ...
    }
    ```
  }];
  let options = [
    Option<"model", "model", "::tessera::schedule::Model",
           /*default=*/"::tessera::schedule::Model::Caches",
           "What keeps the operands that a program reads again",
           [{::llvm::cl::values(
             clEnumValN(::tessera::schedule::Model::Caches, "caches",
                        "the caches of a core"),
             clEnumValN(::tessera::schedule::Model::SharedMemory,
                        "shared-memory", "the shared memory of a block"))}]>,
  ];
  let dependentDialects = ["::tessera::graph::GraphDialect",
                           "::tessera::schedule::ScheduleDialect"];
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
