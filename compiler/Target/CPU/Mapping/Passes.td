// The CPU's passes on Tile IR. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_CPU_MAPPING_PASSES
#define TESSERA_CPU_MAPPING_PASSES

include "mlir/Pass/PassBase.td"

def SplitProductsPass : Pass<"cpu-split-products", "::mlir::ModuleOp"> {
  let summary = "Sum parts of a long product beside each other";
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

def PackOperandsPass : Pass<"cpu-pack-operands", "::mlir::ModuleOp"> {
  let summary = "Pack operands of products once for all programs";
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

def AssumeDensePass : Pass<"cpu-assume-dense", "::mlir::ModuleOp"> {
  let summary = "Strides of arrays without gaps are numbers";
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

def NontemporalStoresPass : Pass<"cpu-nontemporal-stores", "::mlir::ModuleOp"> {
  let summary = "Write large results past the caches";
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

def MapToNestsPass : Pass<"cpu-map-to-nests", "::tessera::tile::FuncOp"> {
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

def PrefetchPass : Pass<"cpu-prefetch", "::tessera::tile::FuncOp"> {
  let summary = "Fetch what a sum is combined with while it is summed";
  let description = [{
    After a loop of matrix steps its sum may be combined with a matrix, as in a
    residual connection. The rows of a tile of it are too short and too far
    apart for the machine's own prefetcher. They are asked for before the loop,
    and arrive while it runs.

    Before:
    ```mlir
    tile.for %k = %none to %deep : !tile.range<256> { ... }
    tile.nest [%m, %n] ... {
      %s = tile.local_load %sum ...
      %r = tile.load %R[%m, %n] ...
    ```
    After:
    ```mlir
    tile.prefetch %R[%m, %n] ...
    tile.for %k = %none to %deep : !tile.range<256> { ... }
    ```
  }];
}

def ElideCopyPass : Pass<"cpu-elide-copy", "::tessera::tile::FuncOp"> {
  let summary = "Let the last matrix step store its sum where the result lies";
  let description = [{
    A matrix step sums in registers and keeps sums in a buffer from one turn of
    its loop to the next. A nest after the loop that only copies the buffer to
    a result is left out: the last turn stores there at once. With AMX, which
    stores whole tiles, where the result is whole tiles; not past the caches.

    Before:
    ```mlir
    tile.for %k = %none to %deep : !tile.range<256> {
      tile.nest [%m, %n, %k] {unit = #tile.unit<fma>, ...} ... {
        %c = tile.mma %a, %b, %acc ...
        tile.local_store %c, %sum ...
      }
    }
    tile.nest [%m, %n] ... { ... tile.store %copy, %C[%m, %n] ... }
    ```
    After:
    ```mlir
        scf.if %last {
          tile.store %c, %C[%m, %n] ...
        } else {
          tile.local_store %c, %sum ...
        }
    ...
    scf.if %nothing { tile.nest [%m, %n] ... }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def FuseEpiloguePass : Pass<"cpu-fuse-epilogue", "::tessera::tile::FuncOp"> {
  let summary = "Let the last AMX step make results of its sum";
  let description = [{
    What a nest after the loop of an AMX step makes of the sum, element by
    element (a bias, an activation, rounding), the last turn of the loop makes,
    block by block while the sum is in the first-level cache. Where there is
    nothing to sum the loop takes one turn, of nothing.

    Before:
    ```mlir
    tile.for %k = %none to %deep : !tile.range<256> {
      tile.nest [%m, %n, %k] {unit = #tile.unit<amx>, ...} ... { ... }
    }
    tile.nest [%m, %n] ... {
      %s = tile.local_load %sum ...
      %h = arith.truncf %s ...
      tile.store %h, %C[%m, %n] ...
    }
    ```
    After:
    ```mlir
    tile.for %k = %none to %deep : !tile.range<256> {
      tile.nest [%m, %n, %k] {unit = #tile.unit<amx>, ...} ... {
        ...
        scf.if %last {
          tile.nest [%m, %n] ... { ... }
        }
      }
    } {at_least_once}
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def ElideZeroInitPass : Pass<"cpu-elide-zero-init", "::tessera::tile::FuncOp"> {
  let summary = "Let the first matrix step begin its sum at zero";
  let description = [{
    A nest that clears a sum before the loop of its matrix step writes memory
    that the first turn reads again. The step begins at zero in registers; the
    nest remains for a loop without turns.

    Before:
    ```mlir
    tile.nest [%m, %n] ... { ... tile.local_store %zeros, %sum ... }
    tile.for %k = %none to %deep : !tile.range<256> {
      tile.nest [%m, %n, %k] ... {
        %acc = tile.local_load %sum ...
        %c = tile.mma %a, %b, %acc ...
    ```
    After:
    ```mlir
    scf.if %nothing { tile.nest [%m, %n] ... }
    tile.for %k = %none to %deep : !tile.range<256> {
      tile.nest [%m, %n, %k] ... {
        %before = tile.local_load %sum ...
        %acc = arith.select %first, %zeros, %before ...
        %c = tile.mma %a, %b, %acc ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def ElidePackingPass : Pass<"cpu-elide-packing", "::tessera::tile::FuncOp"> {
  let summary = "Read an operand where it lies if it is read well there";
  let description = [{
    A matrix step reads its operands from panels, which a nest packs. Where rows
    are contiguous the right operand of `fma` is as good where it lies: if it is
    whole panels, its rows do not alias in the first-level cache, and all of it
    stays in the second-level cache; and always if the step has few rows. AMX
    reads whole tiles of its left operand row by row; what is left of k is
    packed, with zeros behind it. Sizes decide when the program runs.

    Before:
    ```mlir
    tile.nest [%k, %n] ... { %x = tile.load %B[%k, %n] ... tile.local_store %x, %panels ... }
    tile.nest [%m, %n, %k] {unit = #tile.unit<fma>, ...} ... {
      %b = tile.local_load %panels ...
    ```
    After:
    ```mlir
    scf.if %unusable { tile.nest [%k, %n] ... }
    tile.nest [%m, %n, %k] {unit = #tile.unit<fma>, ...} ... {
      %packed = tile.local_load %panels ...
      %there = tile.load %B[%k, %n] ...
      %b = arith.select %usable, %there, %packed ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def NarrowPanelsPass : Pass<"cpu-narrow-panels", "::tessera::tile::FuncOp"> {
  let summary = "Multiply fewer vectors where few columns are left";
  let description = [{
    A panel of the right operand is three or four vectors wide. Of a result of
    few columns, or the last ones of many, most of a panel would be multiplied
    for nothing: a step may take one or two vectors of it, masked. A result of
    at most one vector and a half is a step of few independent sums; in f32, if
    neighbours along k of the left operand are neighbours in memory, even and
    odd k are summed beside each other, two to a broadcast. That the result has
    so few columns decides when the program runs, not that a tile has, so that
    tiles do not change the order of sums.

    Before:
    ```mlir
    tile.nest [%m, %n, %k] {register_tile = array<i64: 8, 3, 16>, unit = #tile.unit<fma>, ...} ...
    ```
    After:
    ```mlir
    tile.nest [%m, %n, %k] {narrow_vectors = 2 : i64, pairs_of_k, register_tile = array<i64: 8, 3, 16>, unit = #tile.unit<fma>, ...} ...
    ```
  }];
}

def RegisterTransposePass : Pass<"cpu-register-transpose", "::tessera::tile::FuncOp"> {
  let summary = "Turn tiles in squares of registers";
  let description = [{
    A tile that is read along its first axis and stored along its second would
    be gathered or scattered, an element at a time. As many rows as a vector has
    lanes are loaded, turned in registers and stored, if elements have 32 bits;
    of panels that a nest fills, also of 64.

    Before:
    ```mlir
    tile.nest [%m, %n] {vector_axis = 1 : i64} : (!tile.range<64>, !tile.range<64>) -> () {
      %x = tile.load %X[%n, %m] : memref<?x?xf32, strided<[?, 1]>>, ...
      %y = tile.transpose %x ...
      tile.store %y, %Y[%m, %n] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, 1]>>, ...
    }
    ```
    After:
    ```mlir
    tile.nest [%m, %n] {transposes, vector_axis = 1 : i64} : (!tile.range<64>, !tile.range<64>) -> () {
    ```
  }];
  let options = [
    Option<"vectorBytes", "vector-bytes", "int64_t", "64",
           "Bytes of a vector register">,
  ];
}

def VersionStridesPass : Pass<"cpu-version-strides", "::tessera::tile::FuncOp"> {
  let summary = "Load numbers two apart by vectors, not by gathers";
  let description = [{
    Where a view's elements along the vector are not neighbours by its type,
    they are gathered. Two apart, as the parts of complex numbers are, they are
    two loads and a shuffle. If the type has no number, the nest is there twice,
    and strides decide when the program runs.

    Before:
    ```mlir
    tile.nest [%n] {vector_axis = 0 : i64} : (!tile.range<256>) -> () {
      %x = tile.load %X[%n] : memref<?xf32, strided<[?]>>, !tile.range<256> -> tensor<256xf32>
      ...
    }
    ```
    After:
    ```mlir
    %stride = tile.stride %X, 0 : memref<?xf32, strided<[?]>> -> index
    %two = arith.cmpi eq, %stride, %c2 : index
    scf.if %two {
      tile.nest [%n] {two_apart, vector_axis = 0 : i64} ...
    } else {
      tile.nest [%n] {vector_axis = 0 : i64} ...
    }
    ```
  }];
  let options = [
    Option<"vectorBytes", "vector-bytes", "int64_t", "64",
           "Bytes of a vector register">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def PairBf16Pass : Pass<"cpu-pair-bf16", "::tessera::tile::FuncOp"> {
  let summary = "Take lines of bf16 as pairs in words of 32 bits";
  let description = [{
    A line of the cache has 32 bf16. Those at even places are f32 after a shift,
    those at odd places after clearing the others: one instruction each, and
    none that moves lanes. So f32 lie in registers as those of even, then those
    of odd places, which no element-wise op can tell; sums along the vector take
    them in this order. Nests that share buffers agree, since what is kept of a
    row is kept in the order of lanes. Without AVX-512 nothing is paired.

    Before:
    ```mlir
    tile.nest [%n] {vector_axis = 0 : i64} : (!tile.range<256>) -> () {
      %x = tile.load %X[%m, %n] : memref<?x?xbf16, strided<[?, 1]>>, index, !tile.range<256> -> tensor<256xbf16>
      %y = arith.addf %x, %x : tensor<256xbf16>
      tile.store %y, %Y[%m, %n] ...
    }
    ```
    After:
    ```mlir
    tile.nest [%n] {pairs, vector_axis = 0 : i64} : (!tile.range<256>) -> () {
    ```
  }];
  let options = [
    Option<"vectorBytes", "vector-bytes", "int64_t", "64",
           "Bytes of a vector register">,
  ];
}

def PrefetchRowsPass : Pass<"cpu-prefetch-rows", "::tessera::tile::FuncOp"> {
  let summary = "Prefetch the next program's row in the last pass over this one";
  let description = [{
    The hardware does not know which row comes next. If a program has a row, or
    if results go past the caches, the last pass over a row prefetches that of
    the next program: a line of it for each line that is loaded. If a pass
    writes past the caches it is that one, so that memory reads and writes at a
    time. What a program writes is not prefetched, nor what it reads in a loop
    over other axes.

    Before:
    ```mlir
    tile.nest [%n] {vector_axis = 0 : i64} : (!tile.range<1024>) -> () {
      %x = tile.load %X[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xf32>
    ```
    After:
    ```mlir
      %x = tile.load %X[%m, %n] {prefetch = 1 : i64} : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xf32>
    ```
  }];
}

def LoopProgramsPass : Pass<"cpu-loop-programs", "::tessera::tile::FuncOp"> {
  let summary = "Loop over the programs of a call where rows are stored at their ends";
  let description = [{
    A kernel's body is one program, and a call of it runs a chunk of the grid's.
    Where a program ends with stores of a row past the caches, the loop over the
    chunk is made, so that the next passes can move ops from one program into
    another. What all programs compute alike stands before it.

    Before:
    ```mlir
    %m = tile.program extents(%M) tiles = [0] : index
    tile.for %n = %zero to %N : !tile.range<1024> { ... tile.store %y, %Y[%m, %n] {hints = {nontemporal}} ... }
    ```
    After:
    ```mlir
    %begin, %end = tile.chunk extents(%M) tiles = [0]
    scf.for %number = %begin to %end step %c1 {
      %m = tile.program extents(%M) tiles = [0] at %number : index
      tile.for %n = %zero to %N : !tile.range<1024> { ... tile.store %y, %Y[%m, %n] {hints = {nontemporal}} ... }
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def DelayRowStoresPass : Pass<"cpu-delay-row-stores", "::tessera::tile::FuncOp"> {
  let summary = "Store the results of a row while the next row is computed";
  let description = [{
    A non-temporal store waits for memory, an exponential for the arithmetic
    units. The results of a row are stored in the loop that computes what the
    next row keeps; a buffer of a row has slots for two. If nothing is kept, as
    in rms_norm, results are made of the row itself, which is still near, in the
    first pass over the next one: memory reads and writes at a time, as in a
    copy. After two passes or more that holds for fp32 rows of up to 8 KiB
    (`cpu-batch-row-stores` takes the others).

    Before:
    ```mlir
    scf.for %number = %begin to %end step %c1 {
      %m = tile.program extents(%M) tiles = [0] at %number : index
      %sum = tile.for %n = %zero to %N carry(...) { ... tile.local_store %e, %kept slot %s ... }
      tile.for %n = %zero to %N { ... tile.local_load %kept slot %s ... tile.store %y, %Y[%m, %n] ... }
    }
    ```
    After:
    ```mlir
    %last = scf.for %number = %begin to %end step %c1 iter_args(%before = %none) -> (f32) {
      %m0 = tile.program extents(%M) tiles = [0] at %previous : index
      %m = tile.program extents(%M) tiles = [0] at %number : index
      %sum = scf.if %started {
        tile.for %n = %zero to %N carry(...) {
          ... tile.local_store %e, %kept slot %s1 ... tile.local_load %kept slot %s0 ... tile.store %y, %Y[%m0, %n] ... }
      } else { ... }
      scf.yield %sum : f32
    }
    scf.if %some { ... tile.store %y, %Y[%mlast, %n] ... }
    ```
  }];
  let options = [
    Option<"vectorBytes", "vector-bytes", "int64_t", "64",
           "Bytes of a vector register">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def BatchRowStoresPass : Pass<"cpu-batch-row-stores", "::tessera::tile::FuncOp"> {
  let summary = "Store the results of four rows together";
  let description = [{
    After two passes or more over a row, as in layer_norm, four programs run up
    to their stores, and then all four rows are stored in one loop: what they
    share, such as weights, is loaded once, and memory reads and writes several
    rows at a time. Programs that are left, or whose rows do not stay in the
    second-level cache, run one by one.

    Before:
    ```mlir
    scf.for %number = %begin to %end step %c1 {
      %m = tile.program extents(%M) tiles = [0] at %number : index
      %mean = tile.for ...
      %root = tile.for ...
      tile.for %n = %zero to %N { ... tile.store %y, %Y[%m, %n] ... }
    }
    ```
    After:
    ```mlir
    scf.for %first = %begin to %whole step %c4 {
      %s:4 = scf.for %i = %c0 to %c4 step %c1 iter_args(...) { %mean = ... %root = ... }
      tile.for %n = %zero to %N { ... tile.store %y0, %Y[%m0, %n] ... tile.store %y3, %Y[%m3, %n] ... }
    }
    scf.for %number = %whole to %end step %c1 { ... }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def PlaceBuffersPass : Pass<"cpu-place-buffers", "::tessera::tile::FuncOp"> {
  let summary = "Give each scratch buffer its offset, and the plan its size";
  let description = [{
    Scratch memory is one block per thread. Buffers that are never alive
    together share bytes. Each `tile.alloc` gets `offset`, the function
    `scratch_bytes`, and the plan's launches of it ` scratch <bytes>`.

    Before:
    ```mlir
    tile.func @f(...) {
      %a = tile.alloc : !tile.buffer<64xf32, ...>
      %b = tile.alloc : !tile.buffer<64xf32, ...>  // used after the last use of %a
    ```
    After:
    ```mlir
    tile.func @f(...) attributes {scratch_bytes = 256 : i64} {
      %a = tile.alloc {offset = 0 : i64} : !tile.buffer<64xf32, ...>
      %b = tile.alloc {offset = 0 : i64} : !tile.buffer<64xf32, ...>
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def CheckMappedContractPass : Pass<"cpu-check-mapped-contract", "::mlir::ModuleOp"> {
  let summary = "Refuse mapped Tile IR that the CPU's code cannot be made of";
  let description = [{
    Of kernels without threads. They hold only the ops that Tile's README.md
    lists; a tile is computed in a nest, its memory is a buffer with a layout.
    Everything else would be an op that a pass forgot, and is an error in every
    build. Buffers lie inside `scratch_bytes`, and apart while both are in use.
  }];
}

#endif // TESSERA_CPU_MAPPING_PASSES
