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
    rewritten; scalars, loops and branches are.
  }];
}

def MapToCpuPass : Pass<"tile-map-to-cpu", "::mlir::ModuleOp"> {
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

def MapToGpuPass : Pass<"tile-map-to-gpu", "::mlir::ModuleOp"> {
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
    %t = tile.cp_async %B[%k, %n] -> %y ...
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

def PlaceBuffersPass : Pass<"tile-place-buffers", "::mlir::ModuleOp"> {
  let summary = "Give each scratch buffer its offset, and the plan its size";
  let description = [{
    Scratch memory is one block per thread. Buffers that are never alive
    together share bytes. Each `tile.alloc` gets `offset`, the function
    `tile.scratch`, and the plan's launches of it ` scratch <bytes>`.
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def CheckMappedContractPass : Pass<"tile-check-mapped-contract", "::mlir::ModuleOp"> {
  let summary = "Refuse what may not leave Tile IR's mapped level";
  let description = [{
    Kernels hold only the ops that README.md lists; a tile is computed in a
    nest, its memory is a buffer with a layout. Everything else would be an op
    that a pass forgot, and is an error in every build. Buffers lie inside
    `tile.scratch`, and apart while both are in use.
  }];
}

#endif // TESSERA_TILE_PASSES
