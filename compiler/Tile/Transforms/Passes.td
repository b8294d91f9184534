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
  }];
}

def SplitProductsPass : Pass<"tile-split-products", "::mlir::ModuleOp"> {
  let summary = "Sum parts of a long product beside each other (CPU)";
  let description = [{
    A product with few rows and columns is few programs, whatever its K. A
    variant of the kernel has a program for each part of K, which writes its
    sum into a temporary; another adds them in order and does what the kernel
    does with the sum. The plan takes this way where K is long and programs are
    few, whatever the number of threads: it decides the order of summation.

    Before:
    ```plan
    launch @f(%a, %b, %c) grid $g
    ```
    After:
    ```plan
    if size(%a, 1) >= 4096 and $g <= 8
      alloc %f.parts f32 [size(%a, 1) floordiv 2048, size(%c, 0), size(%c, 1)]
      launch @f_parts(%a, %b, %f.parts) grid size(%a, 1) floordiv 2048 * $g
      launch @f_sum(%c, %f.parts) grid $g
    else
      launch @f(%a, %b, %c) grid $g
    end
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::tessera::tile::TileDialect"];
}

def PackOperandsPass : Pass<"tile-pack-operands", "::mlir::ModuleOp"> {
  let summary = "Pack operands of products once for all programs (CPU)";
  let description = [{
    A matrix step of the CPU reads its operands from panels. Where every
    program of a grid would copy the same rows of B into panels of its own, a
    kernel before it does so once: the packed matrix is a temporary of the
    plan, an argument with `tile.packed`, and is loaded like any other view.
    The plan takes this way where more than one program reads the same piece.

    Before:
    ```plan
    launch @f(%a, %b, %c) grid ...
    ```
    After:
    ```plan
    if size(%c, 0) > 192
      alloc %b.0.all f32 [size(%b, 0), size(%b, 1) ceildiv 64 * 64]
      view %b.0 = %b.0.all offset 0 sizes [...] strides [...]
      launch @f_pack_b(%b, %b.0) grid ...
      launch @f_packed(%a, %b, %c, %b.0) grid ...
    else
      launch @f(%a, %b, %c) grid ...
    end
    ```
  }];
  let options = [
    Option<"amx", "amx", "bool", "false", "Multiply bf16 by AMX tiles">,
    Option<"vectorBytes", "vector-bytes", "int64_t", "64",
           "Bytes of a vector register">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::tessera::tile::TileDialect"];
}

def AssumeDensePass : Pass<"tile-assume-dense", "::mlir::ModuleOp"> {
  let summary = "Strides of arrays without gaps are numbers (CPU)";
  let description = [{
    A kernel that works in memory it is given, row by row, needs a pointer for
    each row, and they do not fit the registers. Where the inner sizes are
    numbers, a variant of the kernel has strides that are numbers, too, and the
    plan takes it for arrays that have them.

    Before:
    ```plan
    launch @f(%x, %y) grid $M
    ```
    After, if %y is memref<?x32x16xf32> and both read and written:
    ```plan
    if stride(%y, 1) == 16
      launch @f_dense(%x, %y) grid $M
    else
      launch @f(%x, %y) grid $M
    end
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def StreamStoresPass : Pass<"tile-stream-stores", "::mlir::ModuleOp"> {
  let summary = "Write large results past the caches (CPU)";
  let description = [{
    A plain store reads the line it writes; of a result that no cache could
    keep, that is a third of all traffic. A variant of the kernel has
    `nontemporal` among the hints of its stores, and the plan takes it where
    the result has at least `threshold` bytes and its rows begin at lines.

    Before:
    ```plan
    launch @f(%x, %y) grid $M
    ```
    After:
    ```plan
    if size(%y, 0) * size(%y, 1) >= 4194304 and address(%y) mod 64 == 0 and stride(%y, 0) mod 16 == 0
      launch @f_stream(%x, %y) grid $M
    else
      launch @f(%x, %y) grid $M
    end
    ```
  }];
  let options = [
    Option<"threshold", "threshold", "int64_t", "16777216",
           "Bytes of a result from which on it is written past the caches">,
  ];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def MapToCpuPass : Pass<"tile-map-to-cpu", "::tessera::tile::FuncOp"> {
  let summary = "Cut tile programs into loop nests over scratch buffers";
  let description = [{
    A core has no tile memory: what does not fit registers lives in the
    thread's scratch memory, and every pass over it costs. Element-wise ops are
    therefore grouped with their consumers into `tile.nest`s; cheap values are
    computed again where they are used, expensive ones, matrix products and
    what loops carry get a buffer.

    Before:
    ```mlir
    %x = tile.load %X[%m] : memref<?xf32, strided<[1]>>, !tile.range<64> -> tensor<64xf32>
    %y = math.exp %x : tensor<64xf32>
    tile.store %y, %Y[%m] : tensor<64xf32>, memref<?xf32, strided<[1]>>, !tile.range<64>
    ```
    After:
    ```mlir
    tile.nest [%m] {vector_axis = 0 : i64} : (!tile.range<64>) -> () {
      %x = tile.load %X[%m] ...
      %y = math.exp %x : tensor<64xf32>
      tile.store %y, %Y[%m] ...
    }
    ```
  }];
  let options = [
    Option<"amx", "amx", "bool", "false",
           "Multiply bf16 by AMX tiles instead of widening to f32">,
    Option<"vectorBytes", "vector-bytes", "int64_t", "64",
           "Bytes of a vector register">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::tessera::tile::TileDialect"];
}

def ExpandProductsPass : Pass<"tile-expand-products", "::tessera::tile::FuncOp"> {
  let summary = "Sparse and scaled products where the machine has no such instruction";
  let description = [{
    A sparse left operand is spread out between zeros, scaled operands are
    multiplied by their factors in f32. Products that `target` has an
    instruction for stay; without a target none does.

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
  let options = [
    Option<"target", "target", "std::string", "\"\"",
           "The machine whose own products stay">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::tessera::tile::TileDialect"];
}

def MakePersistentPass : Pass<"tile-make-persistent", "::mlir::ModuleOp"> {
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

def MapToGpuPass : Pass<"tile-map-to-gpu", "::tessera::tile::FuncOp"> {
  let summary = "Give tiles layouts over the threads of a block, products shared memory";
  let description = [{
    A GPU tile belongs to a block of threads, so the question is who holds which
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
    Option<"target", "target", "std::string", "\"sm_80\"",
           "The machine's name, for the plan">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::tessera::tile::TileDialect"];
}

def PipelineCopiesPass : Pass<"tile-pipeline-copies", "::tessera::tile::FuncOp"> {
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
  }];
}

def PlaceBuffersPass : Pass<"tile-place-buffers", "::tessera::tile::FuncOp"> {
  let summary = "Give each scratch buffer its offset, and the plan its size";
  let description = [{
    Scratch memory is one block per thread. Buffers that are never alive
    together share bytes. Each `tile.alloc` gets `offset`, the function
    `scratch_bytes`, and the plan's launches of it ` scratch <bytes>`.
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def CheckMappedContractPass : Pass<"tile-check-mapped-contract", "::mlir::ModuleOp"> {
  let summary = "Refuse what may not leave Tile IR's mapped level";
  let description = [{
    Kernels hold only the ops that README.md lists; a tile is computed in a
    nest, its memory is a buffer with a layout. Everything else would be an op
    that a pass forgot, and is an error in every build. Buffers lie inside
    `scratch_bytes`, and apart while both are in use.
  }];
}

#endif // TESSERA_TILE_PASSES
