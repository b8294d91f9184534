// Tiles over the threads of a block. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_SIMT_MAPPING_PASSES
#define TESSERA_SIMT_MAPPING_PASSES

include "mlir/Pass/PassBase.td"

def ChooseInstructionsPass : Pass<"simt-choose-instructions", "::tessera::tile::FuncOp"> {
  let summary = "Mark sparse and scaled products that the machine has an instruction for";
  let description = [{
    The others are made plain ones by `tile-expand-products`. Plain products get
    their instruction in `simt-map-to-threads`, which may still take them apart.

    Before:
    ```mlir
    %c = tile.mma %a, %b, %acc sparse(%e : tensor<16x8xi8>) : tensor<16x16xf16>, tensor<32x8xf16>, tensor<16x8xf32>
    ```
    After, for sm_80:
    ```mlir
    %c = tile.mma %a, %b, %acc sparse(%e : tensor<16x8xi8>) {instruction = #tile.instruction<sparse 16 x 8 x 32>} : ...
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"\"", "The machine's name">,
  ];
}

def MakePersistentPass : Pass<"simt-make-persistent", "::mlir::ModuleOp"> {
  let summary = "A few blocks that each run many programs, one after the other";
  let description = [{
    For grids with `persistent`: as many blocks are launched as the machine has
    multiprocessors, and each takes every so-manyeth program. What a program
    begins (its first copies) then runs beside nothing but its own block.

    Before:
    ```mlir
    %m = tile.program extents(%M) tiles = [64] {persistent} : !tile.range<64>
    ```
    After:
    ```mlir
    %block = tile.program extents(%blocks) tiles = [0] : index
    scf.for %program = %block to %programs step %blocks {
      %m = tile.range_at %start of %M : <64>
    ```
  }];
  let options = [
    Option<"blocks", "blocks", "int64_t", "128", "How many are launched">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::tessera::tile::TileDialect"];
}

def MapToThreadsPass : Pass<"simt-map-to-threads", "::tessera::tile::FuncOp"> {
  let summary = "Give tiles layouts over the threads of a block, products shared memory";
  let description = [{
    A tile belongs to a block of threads, so the question is who holds which
    element, and how operands of products get there. Layouts (the encoding of a
    tile's type) spread from the products, whose instruction prescribes them;
    loads that feed products go through swizzled shared memory. What reductions
    and products skip is masked here, so that below every element exists.

    Before:
    ```mlir
    %a = tile.load %A[%m, %k] : ... -> tensor<64x32xf16>
    %b = tile.load %B[%k, %n] : ... -> tensor<32x64xf16>
    %c = tile.mma %a, %b, %acc : tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32>
    ```
    After:
    ```mlir
    %s = tile.cp_async %A[%m, %k] -> %x ... -> !tile.buffer<64x32xf16, "#layout<...>", "shared">
    %t = tile.cp_async %B[%k, %n] -> %y {commit} ...
    tile.wait %s, %t pending = 0
    tile.barrier
    %a = tile.local_load %x : ... -> tensor<64x32xf16, "#layout<...>">
    %b = tile.local_load %y : ... -> tensor<32x64xf16, "#layout<...>">
    %c = tile.mma %a, %b, %acc : ...
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"\"",
           "The machine's name">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::tessera::tile::TileDialect"];
}

def PipelineCopiesPass : Pass<"simt-pipeline-copies", "::tessera::tile::FuncOp"> {
  let summary = "Let the copies of a loop run ahead of its products, through rings of buffers";
  let description = [{
    A block that waits for every copy it begins pays the whole way to memory in
    every turn. Here a loop that copies operands into shared memory begins the
    copies of a later turn first: `stages` slots per operand, one group of
    copies per turn (the copy with `commit` closes it), one barrier. How many: the loop's `stages`, else three
    where two blocks still fit a multiprocessor, else two. A loop stays as it is
    if one turn's copies depend on what another computes, or on arrays that the
    kernel writes.

    Before:
    ```mlir
    tile.for %k = %zero to %K carry(%c = %acc) : !tile.range<32>, (tensor<64x64xf32, "...">) {
      tile.barrier
      %s = tile.cp_async %A[%m, %k] -> %x {commit} : ...
      tile.wait %s pending = 0
      tile.barrier
      %a = tile.local_load %x : ...
    ```
    After:
    ```mlir
    %s = tile.cp_async %A[%m, %k0] -> %x slot %zero {commit} : ...
    %t = tile.cp_async %A[%m, %k1] -> %x slot %one {commit} : ...
    tile.for %k = %zero to %K carry(%c = %acc, %reading = %zero, %filling = %two) : !tile.range<32>, (...) {
      tile.wait pending = 1
      tile.barrier
      %u = tile.cp_async %A[%m, %ahead] -> %x slot %filling {commit} : ...
      %a = tile.local_load %x slot %reading : ...
      ...
    } {stages = 3}
    tile.wait pending = 0
    ```
  }];
  let options = [
    Option<"sharedLimit", "shared-limit", "int64_t", "166912",
           "Bytes of shared memory a block may have">,
    Option<"sharedPortable", "shared-portable", "int64_t", "101376",
           "Bytes a block may have on every machine that runs this code: the most for stages nobody asked for">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::tessera::tile::TileDialect"];
}

def CheckMappedContractPass : Pass<"simt-check-mapped-contract", "::mlir::ModuleOp"> {
  let summary = "Refuse mapped Tile IR that no threads can run";
  let description = [{
    Of kernels with threads. The lowering goes by layouts: register r of an
    operand meets register r of another, a reduction finds its result's
    register, a fragment lies in its buffer. Every tile is held by threads as
    its op has it, every buffer is shared memory inside what the kernel has.
  }];
}

#endif // TESSERA_SIMT_MAPPING_PASSES
