// The passes of Tile IR. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_TILE_PASSES
#define TESSERA_TILE_PASSES

include "mlir/Pass/PassBase.td"

def SimplifyPass : Pass<"tile-simplify", "::mlir::ModuleOp"> {
  let summary = "Canonicalise, but leave element-wise ops on tiles alone";
  let description = [{
    Elements of a tile that lie outside their dim do not exist, and a result
    has the elements its operands have. Upstream's folds do not know that:
    `arith.cmpi uge, %x, %x` becomes a constant of all ones, and a sum of it
    counts the whole tile. So arithmetic on tiles is neither folded nor
    rewritten; integers, loops and branches are. Nor is arithmetic of floats: in
    the ring, 1.0 >= -2.0 need not hold, and a number that was computed in the
    reals is not the ring's. LLVM folds it later.

    Before:
    ```mlir
    %n = arith.addi %c16, %c16 : index
    %all = arith.cmpi uge, %x, %x : tensor<64xi32>
    ```
    After:
    ```mlir
    %all = arith.cmpi uge, %x, %x : tensor<64xi32>  // %n is the constant 32
    ```
  }];
}

def ExpandProductsPass : Pass<"tile-expand-products", "::tessera::tile::FuncOp"> {
  let summary = "Sparse and scaled products where the machine has no such instruction";
  let description = [{
    A sparse left operand is spread out between zeros, scaled operands are
    multiplied by their factors in f32. Products that say their instruction
    stay: the machine has it.

    Before:
    ```mlir
    %c = tile.mma %a, %b, %acc scaled(%s, %t : tensor<64x1xi8>, tensor<1x16xi8>)
         : tensor<64x32xf8E4M3FN>, tensor<32x16xf8E4M3FN>, tensor<64x16xf32>
    ```
    After:
    ```mlir
    %x = arith.mulf %wide, %factors : tensor<64x32xf32>
    %y = arith.mulf %wide_0, %factors_0 : tensor<32x16xf32>
    %c = tile.mma %x, %y, %acc : tensor<64x32xf32>, tensor<32x16xf32>, tensor<64x16xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::tessera::tile::TileDialect"];
}

def DropRedundantBarriersPass : Pass<"tile-drop-redundant-barriers", "::tessera::tile::FuncOp"> {
  let summary = "Leave out barriers and waits without which the proof still holds";
  let description = [{
    The passes that copy and reduce put a barrier wherever one may be needed.
    Here each is left out in turn; where the proof of `tile-prove-barriers`
    holds without it, it stays out. What is left is needed, one by one. The wait
    for all threads with which an op with `scratch` begins goes the same way: it
    gets `unguarded`.

    Before:
    ```mlir
    %s = tile.reduce sum %x axis = 1 {scratch = 0 : i64} : ...
    ```
    After:
    ```mlir
    %s = tile.reduce sum %x axis = 1 {scratch = 0 : i64, unguarded} : ...
    ```
  }];
}

def ProveBarriersPass : Pass<"tile-prove-barriers", "::tessera::tile::FuncOp"> {
  let summary = "Prove that no thread races and none waits forever, or show how";
  let description = [{
    After the last pass that touches synchronisation: a lost wait or barrier
    gives wrong numbers once in a while, on some machine. The proof
    (`Analysis/BarrierProof.h`) holds for any number of turns of every loop; a
    kernel that breaks the rules is an error at the user's line, with the
    schedule that shows it, and so is one that the proof has no model of. A
    proved kernel gets `proved`, the number of states that were looked at.

    Before:
    ```mlir
    tile.func @f(...) attributes {block_size = 64 : i64} {
    ```
    After:
    ```mlir
    tile.func @f(...) attributes {block_size = 64 : i64, proved = 12 : i64} {
    ```
  }];
}

def CheckMappedContractPass : Pass<"tile-check-mapped-contract", "::mlir::ModuleOp"> {
  let summary = "Refuse what may not leave Tile IR's mapped level on any machine";
  let description = [{
    A module holds kernels and plans. What a kernel may hold depends on the
    machine, whose own check runs behind this one (`cpu-check-mapped-contract`,
    `simt-check-mapped-contract`).
  }];
}

#endif // TESSERA_TILE_PASSES
