// Graph IR: the passes. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_GRAPH_PASSES_TD
#define TESSERA_GRAPH_PASSES_TD

include "mlir/Pass/PassBase.td"

def CheckContractPass : Pass<"graph-check-contract", "::mlir::ModuleOp"> {
  let summary = "Refuse what may not stand in Graph IR";
  let description = [{
    A stage that meets an op it does not know fails late and without the user's
    line, so the closed list of README.md is checked at both borders: `gir` and
    `func` in functions; `tile` (value level), `arith`, `math` and `scf` in a
    `gir.kernel`.

    ```mlir
    // Refused: "arith.addf may not stand in a function of Graph IR"
    %c = arith.addf %a, %b : tensor<4xf32>
    ```
  }];
}

def FoldTransposeIntoGemmPass
    : Pass<"graph-fold-transpose-into-gemm", "::mlir::func::FuncOp"> {
  let summary = "Turn a transposed gemm operand into a flag";
  let description = [{
    Every machine reads a matrix operand in either order, so a transpose that
    only feeds a gemm costs nothing once it is a flag.

    ```mlir
    // Before
    %t = gir.transpose %a [1, 0] : tensor<64x128xf32> -> tensor<128x64xf32>
    %c = gir.gemm %t, %b : tensor<128x64xf32>, tensor<64x32xf32> -> tensor<128x32xf32>
    // After
    %c = gir.gemm %a, %b transpose_lhs : tensor<64x128xf32>, tensor<64x32xf32> -> tensor<128x32xf32>
    ```
  }];
}

def RaiseAttentionPass
    : Pass<"graph-raise-attention", "::mlir::func::FuncOp"> {
  let summary = "Turn matmul-softmax-matmul into one attention";
  let description = [{
    The scores of attention are quadratic in the sequence; as one op they never
    reach memory. One output rounding replaces those of the single ops, which
    `strict` forbids, so functions of that policy are left alone. A causal mask
    is recognised; scores or probabilities that something else reads stay.

    ```mlir
    // Before
    %s = gir.gemm %q, %k transpose_rhs : ...
    %t = gir.mul %s, %scale : ...
    %p = gir.softmax %t axis = 3 : ...
    %o = gir.gemm %p, %v : ...
    // After
    %o = gir.attention %q, %k, %v scale(%scale) : ...
    ```
  }];
}

def SimplifyShapesPass
    : Pass<"graph-simplify-shapes", "::mlir::func::FuncOp"> {
  let summary = "Express sizes by those of arguments; drop movement that moves nothing";
  let description = [{
    A size is then one value wherever it is used, so that equal sizes are seen to
    be equal: checks of them and broadcasts to them disappear.

    ```mlir
    // Before
    %t = gir.transpose %x [1, 0] : tensor<?x8xf32> -> tensor<8x?xf32>
    %n = gir.dim %t, 1 : tensor<8x?xf32>
    // After
    %n = gir.dim %x, 0 : tensor<?x8xf32>
    ```
  }];
}

#endif // TESSERA_GRAPH_PASSES_TD
