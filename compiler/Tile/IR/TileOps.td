// Tile IR: the ops of both levels. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_TILE_OPS_TD
#define TESSERA_TILE_OPS_TD

include "compiler/Tile/IR/TileDialect.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/LoopLikeInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

defvar Tile_View = AnyMemRef;
def Tile_Tile : Type<And<[AnyRankedTensor.predicate,
    CPred<"::tessera::tile::isTileType(::llvm::cast<::mlir::RankedTensorType>($_self))">]>,
    "tile (tensor of static shape, of at most 2^24 numbers)", "::mlir::RankedTensorType">;
defvar Tile_Scalar = AnyTypeOf<[AnySignlessIntegerOrIndex, AnyFloat]>;
defvar Tile_Value = AnyTypeOf<[Tile_Tile, AnySignlessIntegerOrIndex, AnyFloat]>;
// An index into a view: a range (an axis), a scalar (no axis), a tile of
// integers (a gather).
defvar Tile_Index = AnyTypeOf<[Tile_RangeType, Index, Tile_Tile]>;

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

def Tile_FuncOp : Tile_Op<"func", [IsolatedFromAbove, FunctionOpInterface,
                                   AutomaticAllocationScope, Symbol]> {
  let summary = "One kernel: the program of one block";
  let description = [{
    Arguments are views (memrefs with any strides), then scalars (i64, f64, i1).
    Argument attributes: `gir.name`, `gir.dims`, `gir.mode`. What passes know of
    it: `config`, decisions of the schedule; `numerics`, the order of its sums;
    `order`, the user's order of arguments where scalars stood between views;
    `as_is`, variants that keep it have been made. Mapped to a CPU it has
    `scratch_bytes`, memory of a thread. Mapped to a GPU it has `block_size`, the
    threads of a block, `shared_bytes`, memory of a block, `arch`, the machine,
    and after the proof of its barriers `proved`, the states it looked at.

    Constraints:
    * (C1) it has one block, which ends with `tile.return`, and no results.
    * (C2) `tile.packed` of an argument is of a matrix or more and has the five numbers of a packing, each 1 to 1024.
    * (C3) a block has whole warps, of 8 threads at least.

    Example:
    ```mlir
    tile.func @fill(%y: memref<?xf32, strided<[?]>>) {
      %n = tile.dim %y, 0 : memref<?xf32, strided<[?]>>
      %i = tile.program extents(%n) tiles = [64] : !tile.range<64>
      %one = arith.constant 1.0 : f32
      %t = tile.fill %one [%i] : f32, !tile.range<64> -> tensor<64xf32>
      tile.store %t, %y[%i] : tensor<64xf32>, memref<?xf32, strided<[?]>>, !tile.range<64>
      tile.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs,
                       OptionalAttr<Tile_ConfigAttr>:$config, OptionalAttr<Tile_NumericsAttr>:$numerics,
                       OptionalAttr<Tile_Numbers<0, 65536, "positions">>:$order, UnitAttr:$as_is,
                       OptionalAttr<Tile_Bytes>:$scratch_bytes,
                       OptionalAttr<Tile_Number<32, 1024, "threads of a block">>:$block_size,
                       OptionalAttr<Tile_SharedBytes>:$shared_bytes, OptionalAttr<StrAttr>:$arch,
                       OptionalAttr<Tile_Number<0, 1073741824, "states of the proof">>:$proved);
  let regions = (region AnyRegion:$body);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type), [{
    $_state.getOrAddProperties<Properties>().sym_name = $_builder.getStringAttr(name);
    $_state.getOrAddProperties<Properties>().function_type = ::mlir::TypeAttr::get(type);
    $_state.addRegion();
  }]>];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// A number of `config`; nullopt if nobody decided it.
    std::optional<int64_t> getDecision(::llvm::StringRef name);
    /// Whether its tiles lie in the registers of the threads of a block.
    bool hasThreads() { return getBlockSize().has_value(); }
    /// "in", "out" or "inout"; empty for a scalar.
    ::llvm::StringRef getArgMode(unsigned number);
    /// As the user named it; empty if nobody did.
    ::llvm::StringRef getArgName(unsigned number);
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
  let hasVerifier = 1;
}

def Tile_ReturnOp : Tile_Op<"return", [Pure, Terminator, ReturnLike]> {
  let summary = "End of a kernel";
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Grid and ranges
//===----------------------------------------------------------------------===//

def Tile_ProgramOp : Tile_Op<"program", [Pure, AttrSizedOperandSegments]> {
  let summary = "Which program of the grid this is";
  let description = [{
    One result per grid axis: a range where `tiles` holds a size (the axis has
    ceil(extent / size) programs), an index where it holds 0 (extent programs).
    The first axis varies slowest. `group` = g orders the first two axes so that
    g programs of the first run before the second moves on (L2 reuse). The
    launch grid is the product. Exactly one per kernel, at its top; in a kernel
    that runs a `tile.chunk` of programs one for each number that it needs.

    Constraints:
    * (C1) there are as many extents, tiles and results.
    * (C2) a result is a range of the tile's size, or an index where it is 0.
    * (C3) `group` is 1 to 65536.
    * (C4) it says its number if, and only if, the kernel has a `tile.chunk`.

    Example:
    ```mlir
    %m, %b = tile.program extents(%M, %B) tiles = [128, 0] : !tile.range<128>, index
    ```
  }];
  let arguments = (ins Variadic<Index>:$extents, DenseI64ArrayAttr:$tiles,
                       DefaultValuedAttr<I64Attr, "1">:$group, UnitAttr:$persistent, Optional<Index>:$number);
  let builders = [
    OpBuilder<(ins "::mlir::TypeRange":$ids, "::mlir::ValueRange":$extents, "::mlir::DenseI64ArrayAttr":$tiles,
                   CArg<"::mlir::IntegerAttr", "{}">:$group, CArg<"::mlir::UnitAttr", "{}">:$persistent), [{
      build($_builder, $_state, ids, extents, tiles, group, persistent, ::mlir::Value());
    }]>,
    OpBuilder<(ins "::mlir::TypeRange":$ids, "::mlir::ValueRange":$extents, "::llvm::ArrayRef<int64_t>":$tiles), [{
      build($_builder, $_state, ids, extents, $_builder.getDenseI64ArrayAttr(tiles));
    }]>];
  let results = (outs Variadic<AnyTypeOf<[Tile_RangeType, Index]>>:$ids);
  let assemblyFormat = "`extents` `(` $extents `)` `tiles` `=` $tiles (`at` $number^)? attr-dict `:` type($ids)";
  let hasVerifier = 1;
}

def Tile_ChunkOp : Tile_Op<"chunk", [Pure]> {
  let summary = "The programs that one call of the kernel runs, begin <= number < end";
  let description = [{
    A thread is given a chunk of the grid's programs. Without this op it runs
    the kernel's body for each of them; with it the body is run once, and loops
    over the programs itself, so that a pass can move ops from one program into
    another. Programs do not depend on each other, and results do not depend on
    how the grid is cut into chunks.

    Constraints:
    * (C1) there are as many extents as tiles.
    * (C2) there is at most one, at the kernel's top.

    Example:
    ```mlir
    %begin, %end = tile.chunk extents(%M) tiles = [0]
    ```
  }];
  let arguments = (ins Variadic<Index>:$extents, DenseI64ArrayAttr:$tiles);
  let results = (outs Index:$begin, Index:$end);
  let assemblyFormat = "`extents` `(` $extents `)` `tiles` `=` $tiles attr-dict";
  let hasVerifier = 1;
}

def Tile_RangeAtOp : Tile_Op<"range_at", [Pure]> {
  let summary = "The range from `start`, within a dim of the given extent";
  let description = [{
    Positions start, start + 1, ... of a dim; those at or past `extent` are
    absent. Also the whole of a small dim (start 0).

    Example:
    ```mlir
    %d = tile.range_at %zero of %D : !tile.range<64>
    ```
  }];
  let arguments = (ins Index:$start, Index:$extent);
  let results = (outs Tile_RangeType:$range);
  let assemblyFormat = "$start `of` $extent attr-dict `:` type($range)";
}

def Tile_RangeStartOp : Tile_Op<"range_start", [Pure]> {
  let summary = "First position of a range";
  let arguments = (ins Tile_RangeType:$range);
  let results = (outs Index:$result);
  let assemblyFormat = "$range attr-dict `:` type($range)";
}
def Tile_RangeStopOp : Tile_Op<"range_stop", [Pure]> {
  let summary = "One past the last existing position of a range";
  let arguments = (ins Tile_RangeType:$range);
  let results = (outs Index:$result);
  let assemblyFormat = "$range attr-dict `:` type($range)";
}
def Tile_IndexOp : Tile_Op<"index", [Pure]> {
  let summary = "The positions of a range, as a tile of i64 over it";
  let description = [{
    Constraints:
    * (C1) the result has one axis, of the range's size, of i64.

    Example:
    ```mlir
    %i = tile.index %m : !tile.range<64> -> tensor<64xi64>
    ```
  }];
  let arguments = (ins Tile_RangeType:$range);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$range attr-dict `:` type($range) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_DimOp : Tile_Op<"dim", [Pure]> {
  let summary = "The extent of one axis of a view";
  let description = [{
    Constraints:
    * (C1) the axis exists.

    Example:
    ```mlir
    %n = tile.dim %x, 0 : memref<?xf32, strided<[?]>>
    ```
  }];
  let hasVerifier = 1;
  let arguments = (ins Tile_View:$view, I64Attr:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$view `,` $axis attr-dict `:` type($view)";
}

def Tile_StrideOp : Tile_Op<"stride", [Pure]> {
  let summary = "Elements from one position along an axis of a view to the next";
  let description = [{
    Constraints:
    * (C1) the axis exists.

    Example:
    ```mlir
    %s = tile.stride %x, 0 : memref<?xf32, strided<[?]>>
    ```
  }];
  let hasVerifier = 1;
  let arguments = (ins Tile_View:$view, I64Attr:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$view `,` $axis attr-dict `:` type($view)";
}

def Tile_ForOp : Tile_Op<"for", [AutomaticAllocationScope, SingleBlockImplicitTerminator<"YieldOp">,
    DeclareOpInterfaceMethods<RegionBranchOpInterface, ["getEntrySuccessorOperands"]>, RecursiveMemoryEffects]> {
  let summary = "Sequential loop over the tiles of a dim";
  let description = [{
    Runs the body for the ranges start, start + size, ... below `stop`; the
    region's first argument is the range (positions at or past `stop` are
    absent), the others are carried. `stop` never exceeds the dim's extent: the
    front end takes the smaller. `stages` is a hint for pipelining. Of a row that
    is kept on a CPU (KeepRows.h) the loop over what does not fit is `rest`. One
    `at_least_once` takes a turn over an empty range if there is none else.

    Constraints:
    * (C1) the region's first argument is a range; the rest match the carried values.
    * (C2) `stages` is 0 to 64.
    * (C3) only a loop of matrix steps (`tile.nest` with a `unit`) runs `at_least_once`.

    Example:
    ```mlir
    %r = tile.for %k = %zero to %K carry(%acc = %acc0) : !tile.range<64>, (tensor<16xf32>) {
      tile.yield %acc : tensor<16xf32>
    } {stages = 3}
    ```
  }];
  let arguments = (ins Index:$start, Index:$stop, Variadic<AnyType>:$inits,
                       DefaultValuedAttr<I64Attr, "0">:$stages, UnitAttr:$rest, UnitAttr:$at_least_once);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$start, "::mlir::Value":$stop, "int64_t":$size,
                                 "::mlir::ValueRange":$inits)>];
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getRange() { return getBody().getArgument(0); }
    ::mlir::Block::BlockArgListType getCarried() {
      return getBody().getArguments().drop_front();
    }
    int64_t getSize();
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["ForOp"]>]> {
  let summary = "The carried values after one turn";
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ /* nothing carried */ }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

//===----------------------------------------------------------------------===//
// Memory, value level
//===----------------------------------------------------------------------===//

def Tile_LoadOp : Tile_Op<"load", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "A tile (or a scalar) of a view";
  let description = [{
    One index per axis of the view: a range, a scalar, or a tile of i64
    (gather). The axes of the result are those of the ranges and tiles, in
    order. Where an axis of a gather index is that of another index,
    `index_axes` says, for each index, which result axes it spans. An absent
    position is absent in the result; a gather index out of bounds reads 0.
    Where `mask` (a tile of i1 with the result's axes) is false, the element is
    `pad` (a constant, default 0). One with `in_registers` is not copied through
    shared memory. `prefetch` = n asks for what the program n further on loads,
    while this one loads its own.

    Constraints:
    * (C1) there is one index per axis of the view.
    * (C2) the result's shape is that of the indices, its element type the view's.
    * (C3) `index_axes` has, for each index, its axes of the result, and sizes agree there.
    * (C4) a tile that is an index holds integers; the mask has the result's shape; `pad` has its element type.
    * (C5) `prefetch` is 1 to 64.

    Example:
    ```mlir
    %a = tile.load %A[%m, %k] : memref<?x?xf16, strided<[?, ?]>>, !tile.range<64>, !tile.range<32> -> tensor<64x32xf16>
    ```
  }];
  let arguments = (ins Tile_View:$view, Variadic<Tile_Index>:$indices, Optional<Tile_Tile>:$mask,
                       OptionalAttr<ArrayAttr>:$index_axes, OptionalAttr<TypedAttrInterface>:$pad,
                       OptionalAttr<DictionaryAttr>:$hints, UnitAttr:$in_registers, OptionalAttr<I64Attr>:$prefetch);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$view, "::mlir::ValueRange":$indices,
                                 "::mlir::Value":$mask, "::mlir::ArrayAttr":$index_axes, "::mlir::TypedAttr":$pad,
                                 "::mlir::DictionaryAttr":$hints), [{
    build($_builder, $_state, result, view, indices, mask, index_axes, pad, hints, ::mlir::UnitAttr(), ::mlir::IntegerAttr());
  }]>];
  let results = (outs Tile_Value:$result);
  let assemblyFormat = [{
    $view `[` $indices `]` (`mask` `(` $mask^ `:` type($mask) `)`)? attr-dict
    `:` type($view) (`,` type($indices)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Writes a tile (or a scalar) into a view";
  let description = [{
    The value has the view's element type. Indices, `index_axes` and `mask` as
    in `tile.load`; absent elements, masked ones and gather indices out of
    bounds write nothing. Into a packed view zeros are written up to a whole
    group along `zero_padding`: what lies there is multiplied.

    Constraints:
    * (C1) there is one index per axis of the view.
    * (C2) into a packed view with groups (`tile.packed`) it has `zero_padding`, the summed axis.
    * (C3) `index_axes` and `mask` as in `tile.load`.

    Example:
    ```mlir
    tile.store %c, %C[%m, %n] : tensor<64x32xf16>, memref<?x?xf16, strided<[?, ?]>>, !tile.range<64>, !tile.range<32>
    ```
  }];
  let arguments = (ins Tile_Value:$value, Tile_View:$view, Variadic<Tile_Index>:$indices,
                       Optional<Tile_Tile>:$mask, OptionalAttr<ArrayAttr>:$index_axes,
                       OptionalAttr<DictionaryAttr>:$hints, OptionalAttr<Tile_Axis>:$zero_padding);
  let builders = [OpBuilder<(ins "::mlir::Value":$value, "::mlir::Value":$view, "::mlir::ValueRange":$indices,
                                 "::mlir::Value":$mask, "::mlir::ArrayAttr":$index_axes,
                                 "::mlir::DictionaryAttr":$hints), [{
    build($_builder, $_state, value, view, indices, mask, index_axes, hints, ::mlir::IntegerAttr());
  }]>];
  let assemblyFormat = [{
    $value `,` $view `[` $indices `]` (`mask` `(` $mask^ `:` type($mask) `)`)? attr-dict
    `:` type($value) `,` type($view) (`,` type($indices)^)?
  }];
  let hasVerifier = 1;
}

def Tile_AtomicOp : Tile_Op<"atomic", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Combines a tile into a view, element by element, atomically";
  let description = [{
    Constraints:
    * (C1) indices, `index_axes` and `mask` as in `tile.load`.

    Example:
    ```mlir
    tile.atomic sum %c, %C[%m] : tensor<64xf32>, memref<?xf32, strided<[?]>>, !tile.range<64>
    ```
  }];
  let arguments = (ins Tile_ReduceKind:$kind, Tile_Value:$value, Tile_View:$view,
                       Variadic<Tile_Index>:$indices, Optional<Tile_Tile>:$mask,
                       OptionalAttr<ArrayAttr>:$index_axes);
  let assemblyFormat = [{
    $kind $value `,` $view `[` $indices `]` (`mask` `(` $mask^ `:` type($mask) `)`)? attr-dict
    `:` type($value) `,` type($view) (`,` type($indices)^)?
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Tiles, value level
//===----------------------------------------------------------------------===//

def Tile_FillOp : Tile_Op<"fill", [Pure]> {
  let summary = "A tile over the given ranges, one value everywhere";
  let description = [{
    Constraints:
    * (C1) the result has the shape of the ranges and the element type of the value.

    Example:
    ```mlir
    %t = tile.fill %one [%i] : f32, !tile.range<64> -> tensor<64xf32>
    ```
  }];
  let hasVerifier = 1;
  let arguments = (ins Tile_Scalar:$value, Variadic<Tile_RangeType>:$ranges);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$value `[` $ranges `]` attr-dict `:` type($value) (`,` type($ranges)^)? `->` type($result)";
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "Repeats a tile along new axes, each over a range";
  let description = [{
    Axis `i` of the input becomes axis `axes[i]` of the result; the remaining
    axes of the result are new, over `ranges` in order.

    Constraints:
    * (C1) `axes` is strictly increasing, one entry per axis of the input.
    * (C2) there is one range per new axis, of its size.

    Example:
    ```mlir
    %y = tile.broadcast %x axes = [0] [%n] : tensor<64xf32>, !tile.range<32> -> tensor<64x32xf32>
    ```
  }];
  let arguments = (ins Tile_Tile:$input, DenseI64ArrayAttr:$axes, Variadic<Tile_RangeType>:$ranges);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{
    $input `axes` `=` $axes `[` $ranges `]` attr-dict
    `:` type($input) (`,` type($ranges)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_TransposeOp : Tile_Op<"transpose", [Pure]> {
  let summary = "Permutes the axes of a tile";
  let description = [{
    Axis `i` of the result is axis `permutation[i]` of the input.

    Constraints:
    * (C1) `permutation` is one of the input's axes, and gives the result's shape.

    Example:
    ```mlir
    %t = tile.transpose %x [1, 0] : tensor<64x32xf32> -> tensor<32x64xf32>
    ```
  }];
  let arguments = (ins Tile_Tile:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input $permutation attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_ReshapeOp : Tile_Op<"reshape", [Pure]> {
  let summary = "The same elements in row-major order; no axis has absent elements";
  let description = [{
    Constraints:
    * (C1) input and result have as many elements, of one type.

    Example:
    ```mlir
    %y = tile.reshape %x : tensor<64x32xf32> -> tensor<2048xf32>
    ```
  }];
  let hasVerifier = 1;
  let arguments = (ins Tile_Tile:$input);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Tile_CatOp : Tile_Op<"cat", [Pure]> {
  let summary = "Tiles one after the other; no axis has absent elements";
  let description = [{
    Constraints:
    * (C1) the axis exists; the inputs have the result's element type and other axes, and their sizes along `axis` add up to its.

    Example:
    ```mlir
    %z = tile.cat %x, %y axis = 0 : (tensor<4xf32>, tensor<8xf32>) -> tensor<12xf32>
    ```
  }];
  let hasVerifier = 1;
  let arguments = (ins Variadic<Tile_Tile>:$inputs, I64Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$inputs `axis` `=` $axis attr-dict `:` functional-type($inputs, $result)";
}

def Tile_FilledOp : Tile_Op<"filled", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "Absent elements become real, with the given value";
  let description = [{
    Constraints:
    * (C1) the value has the element type.

    Example:
    ```mlir
    %y = tile.filled %x, %zero : tensor<64xf32>, f32
    ```
  }];
  let arguments = (ins Tile_Tile:$input, Tile_Scalar:$value);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input `,` $value attr-dict `:` type($input) `,` type($value)";
  let hasVerifier = 1;
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure]> {
  let summary = "Reduction along one axis, skipping absent elements";
  let description = [{
    In the element type (the front end widens first). NaN propagates; the first
    of equals wins in argmax and argmin, whose result is a position within the
    dim (i64). A reduction over nothing gives the neutral element. The result is
    a scalar when the input has one axis.

    Constraints:
    * (C1) the axis exists.
    * (C2) the result has the other axes, and the element type (an integer for argmax and argmin).

    Example:
    ```mlir
    %s = tile.reduce sum %x axis = 1 : tensor<64x32xf32> -> tensor<64xf32>
    ```
  }];
  let arguments = (ins Tile_ReduceKind:$kind, Tile_Tile:$input, I64Attr:$axis);
  let results = (outs Tile_Value:$result);
  let assemblyFormat = "$kind $input `axis` `=` $axis attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_ScanOp : Tile_Op<"scan", [Pure, SameOperandsAndResultType]> {
  let summary = "Running reduction along one axis";
  let description = [{
    Constraints:
    * (C1) the axis exists; the kind is none of argmax and argmin.

    Example:
    ```mlir
    %s = tile.scan sum %x axis = 1 : tensor<64x32xf32>
    ```
  }];
  let hasVerifier = 1;
  let arguments = (ins Tile_ReduceKind:$kind, Tile_Tile:$input, I64Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$kind $input `axis` `=` $axis attr-dict `:` type($input)";
}

def Tile_MmaOp : Tile_Op<"mma", [Pure, AttrSizedOperandSegments, AllTypesMatch<["acc", "result"]>]> {
  let summary = "acc + lhs * rhs: the matrix step";
  let description = [{
    Joins the last axis of `lhs` with the first of `rhs` (the same range);
    elements absent there are skipped. The products are exact in the
    accumulator's type; the order of summation is the kernel's numerics class.
    lhs is [M, K] or [K], rhs [K, N] or [K]; batch axes are not part of it.

    `sparse`: of every four elements of a row lhs has two, [M, K/2]; two bits
    each say which, the first in the lowest bits of an i32: [M, K/32]. Of a pair
    the first position is the smaller one. What lhs does not have is 0.

    `scaled`: 32 elements along K have one factor, 2^(e - 127) for the byte e
    (NaN for 255): [M, K/32] of lhs, [K/32, N] of rhs.

    On a GPU `instruction` says what computes it; without one 16-bit floats are
    multiplied by the machine's matrix instruction, others by fma.

    Constraints:
    * (C1) the shapes chain: [.., K] x [K, ..] -> [.., ..].
    * (C2) lhs and rhs have one element type.
    * (C3) `sparse` and `scaled` are of matrices, and have one entry for each 32
      elements along K; not both.
    * (C4) operands have one or two axes, and the accumulator's type holds products of theirs.

    Example:
    ```mlir
    %c = tile.mma %a, %b, %acc : tensor<64x32xf16>, tensor<32x16xf16>, tensor<64x16xf32>
    %d = tile.mma %h, %b, %acc sparse(%e : tensor<64x1xi32>) : tensor<64x16xf16>, tensor<32x16xf16>, tensor<64x16xf32>
    %f = tile.mma %x, %y, %acc scaled(%s, %t : tensor<64x1xi8>, tensor<1x16xi8>)
         : tensor<64x32xf8E4M3FN>, tensor<32x16xf8E4M3FN>, tensor<64x16xf32>
    ```
  }];
  let arguments = (ins Tile_Tile:$lhs, Tile_Tile:$rhs, Tile_Value:$acc,
                       Optional<Tile_Tile>:$meta, Optional<Tile_Tile>:$lhs_scale,
                       Optional<Tile_Tile>:$rhs_scale,
                       DefaultValuedAttr<StrAttr, "\"ieee\"">:$precision,
                       OptionalAttr<Tile_InstructionAttr>:$instruction);
  let results = (outs Tile_Value:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$lhs,
                   "::mlir::Value":$rhs, "::mlir::Value":$acc,
                   "::llvm::StringRef":$precision), [{
      build($_builder, $_state, result, lhs, rhs, acc, ::mlir::Value(),
            ::mlir::Value(), ::mlir::Value(), precision, InstructionAttr());
    }]>,
  ];
  let assemblyFormat = [{
    $lhs `,` $rhs `,` $acc (`sparse` `(` $meta^ `:` type($meta) `)`)?
    (`scaled` `(` $lhs_scale^ `,` $rhs_scale `:` type($lhs_scale) `,` type($rhs_scale) `)`)?
    attr-dict `:` type($lhs) `,` type($rhs) `,` type($acc)
  }];
  let hasVerifier = 1;
}

def Tile_RandOp : Tile_Op<"rand", [Pure]> {
  let summary = "Uniform in [0, 1), a function of seed and index only (Philox 4x32-10)";
  let description = [{
    `seed` and `index` are i64; the result is f32 with the shape of `index`.

    Constraints:
    * (C1) the types are those.

    Example:
    ```mlir
    %r = tile.rand %seed, %i : i64, tensor<64xi64> -> tensor<64xf32>
    ```
  }];
  let hasVerifier = 1;
  let arguments = (ins AnySignlessIntegerOrIndex:$seed, Tile_Value:$index);
  let results = (outs Tile_Value:$result);
  let assemblyFormat = "$seed `,` $index attr-dict `:` type($seed) `,` type($index) `->` type($result)";
}

def Tile_PrintOp : Tile_Op<"print", []> {
  let summary = "Prints values";
  let description = [{
    A line: its text, then the values. Mapped to a CPU it is in pieces, of which
    `part` says which: the text, a value, the axes of a tile, its elements (in a
    nest), the end of the line.

    Example:
    ```mlir
    tile.print "x =" %x : f32
    ```
  }];
  let arguments = (ins StrAttr:$text, Variadic<AnyType>:$values, OptionalAttr<Tile_PrintPartAttr>:$part);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$text, "::mlir::ValueRange":$values), [{
    build($_builder, $_state, text, values, PrintPartAttr());
  }]>];
  let assemblyFormat = "$text ($values^ `:` type($values))? attr-dict";
}

def Tile_AssertOp : Tile_Op<"assert", []> {
  let summary = "Fails the launch with a message where the condition is false";
  let description = [{
    With `at_call` the plan checks it before any launch, in every build.

    Verified:
    * (C1) what is checked at the call is computed from sizes and integer arguments of the kernel alone.

    Example:
    ```mlir
    tile.assert %fits, "n does not fit in i32" {at_call} : i1
    ```
  }];
  let arguments = (ins Tile_Value:$condition, StrAttr:$message, UnitAttr:$at_call);
  let assemblyFormat = "$condition `,` $message attr-dict `:` type($condition)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Mapped level
//===----------------------------------------------------------------------===//

def Tile_AllocOp : Tile_Op<"alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "A buffer of the block, with its layout and space";
  let description = [{
    `offset` is its first byte in the block's shared memory, or in a thread's
    scratch memory (`cpu-place-buffers`).

    Example:
    ```mlir
    %b = tile.alloc {offset = 128 : i64} : !tile.buffer<3x128x64xf16, shared>
    ```
  }];
  let arguments = (ins OptionalAttr<Tile_Bytes>:$offset);
  let builders = [OpBuilder<(ins "::mlir::Type":$buffer), [{
    build($_builder, $_state, buffer, ::mlir::IntegerAttr());
  }]>];
  let results = (outs Tile_BufferType:$buffer);
  let assemblyFormat = "attr-dict `:` type($buffer)";
}

def Tile_CpAsyncOp : Tile_Op<"cp_async", [AttrSizedOperandSegments]> {
  let summary = "Asynchronous copy of a tile of a view into a buffer slot";
  let description = [{
    Absent elements are written as 0. Visible after a `tile.wait` on its token.
    `commit`: the last copy of a group that is waited for together. `conflicts`
    are the passes over the banks of shared memory beyond the first, from the
    layouts; -1 if they are not known.

    Constraints:
    * (C1) indices as in `tile.load`; what they span, without axes of one position, is the buffer's last two axes.
    * (C2) buffer and view have one element type; a buffer with three axes is a ring and has a `slot`.
    * (C3) `vector` elements are copied at once: a power of two, 16 bytes at most.

    Example:
    ```mlir
    %t = tile.cp_async %A[%m, %k] -> %b slot %s {vector = 8 : i64, commit}
         : memref<?x?xf16, strided<[?, 1]>>, !tile.range<128>, !tile.range<64> -> !tile.buffer<3x128x64xf16, shared>
    ```
  }];
  let hasVerifier = 1;
  let arguments = (ins Tile_View:$view, Variadic<Tile_Index>:$indices, Tile_BufferType:$buffer,
                       Optional<Index>:$slot, DefaultValuedAttr<I64Attr, "1">:$vector, UnitAttr:$commit,
                       OptionalAttr<Tile_Conflicts>:$conflicts);
  let results = (outs Tile_TokenType:$token);
  let assemblyFormat = [{
    $view `[` $indices `]` `->` $buffer (`slot` $slot^)? attr-dict
    `:` type($view) (`,` type($indices)^)? `->` type($buffer)
  }];
}

def Tile_WaitOp : Tile_Op<"wait", []> {
  let summary = "Waits until at most `pending` later groups are still under way";
  let description = [{
    Constraints:
    * (C1) `pending` is 0 to 64.

    Example:
    ```mlir
    tile.wait %token pending = 1
    ```
  }];
  let hasVerifier = 1;
  let arguments = (ins Variadic<Tile_TokenType>:$tokens, DefaultValuedAttr<I64Attr, "0">:$pending);
  let assemblyFormat = "($tokens^)? `pending` `=` $pending attr-dict";
}

def Tile_BarrierOp : Tile_Op<"barrier", []> {
  let summary = "All threads of the block have come here, and see each other's writes";
  let description = [{
    Example:
    ```mlir
    tile.barrier
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_LocalLoadOp : Tile_Op<"local_load", [MemoryEffects<[MemRead]>]> {
  let summary = "A tile from a buffer slot";
  let description = [{
    Constraints:
    * (C1) the tile has the buffer's shape and element type; with a `slot`, without the buffer's first axis.

    Example:
    ```mlir
    %x = tile.local_load %b slot %s : !tile.buffer<3x128x64xf16, shared> -> tensor<128x64xf16>
    ```
  }];
  let hasVerifier = 1;
  let arguments = (ins Tile_BufferType:$buffer, Optional<Index>:$slot, OptionalAttr<Tile_Conflicts>:$conflicts);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$buffer, "::mlir::Value":$slot), [{
    build($_builder, $_state, result, buffer, slot, ::mlir::IntegerAttr());
  }]>];
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$buffer (`slot` $slot^)? attr-dict `:` type($buffer) `->` type($result)";
}

def Tile_LocalStoreOp : Tile_Op<"local_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "A tile into a buffer slot";
  let description = [{
    In a nest of a CPU vectors may write past the last element, unless it has
    `keep_rest`; `zero_padding` as of `tile.store`.

    Constraints:
    * (C1) as of `tile.local_load`.

    Example:
    ```mlir
    tile.local_store %x, %b slot %s : tensor<128x64xf16>, !tile.buffer<3x128x64xf16, shared>
    ```
  }];
  let hasVerifier = 1;
  let arguments = (ins AnyRankedTensor:$value, Tile_BufferType:$buffer, Optional<Index>:$slot,
                       OptionalAttr<Tile_Axis>:$zero_padding, UnitAttr:$keep_rest);
  let builders = [OpBuilder<(ins "::mlir::Value":$value, "::mlir::Value":$buffer, "::mlir::Value":$slot), [{
    build($_builder, $_state, value, buffer, slot, ::mlir::IntegerAttr(), false);
  }]>];
  let assemblyFormat = "$value `,` $buffer (`slot` $slot^)? attr-dict `:` type($value) `,` type($buffer)";
}

def Tile_ConvertLayoutOp : Tile_Op<"convert_layout", [Pure]> {
  let summary = "The same tile under another layout";
  let description = [{
    `way` is how elements get to other threads, `conflicts` as of
    `tile.cp_async`.

    Constraints:
    * (C1) input and result have one shape and element type.

    Example:
    ```mlir
    %y = tile.convert_layout %x : tensor<128x64xf16> -> tensor<128x64xf16>
    ```
  }];
  let hasVerifier = 1;
  let arguments = (ins AnyRankedTensor:$input, OptionalAttr<Tile_ExchangeWayAttr>:$way,
                       OptionalAttr<Tile_Conflicts>:$conflicts);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$input), [{
    build($_builder, $_state, result, input, ExchangeWayAttr(), ::mlir::IntegerAttr());
  }]>];
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Tile_MmaAsyncOp : Tile_Op<"mma_async", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "A product that goes on while the program does: wgmma, tcgen05";
  let description = [{
    As `tile.mma`, with operands that a matrix unit reads itself. `rhs` is a
    buffer of shared memory, `lhs` one or a tile. The sum is a tile or what the
    last product left (`!tile.in_flight`), and then the result is in flight; or
    it is a buffer of tensor memory, which is updated, and there is no result.
    `issuer` is who issues it: its threads arrive here together. Operands may be
    written again, and a buffer's sum be read, after a `tile.wait` on the token.

    Constraints:
    * (C1) `rhs` and a buffer `lhs` are shared or, of `lhs`, tensor memory; shapes chain as of `tile.mma`.
    * (C2) a sum in tensor memory has no result; any other has one in flight, of its shape and type.
    * (C3) `meta` is of lhs, scales are of both factors.
    * (C4) a warp group's sum is in registers, that of a thread or a pair of blocks in tensor memory.

    Example:
    ```mlir
    %d, %t = tile.mma_async %a, %b, %c0 issuer = warp_group {instruction = #tile.instruction<wgmma 64 x 128 x 16>}
             : !tile.buffer<64x64xf16, shared>, !tile.buffer<64x128xf16, shared>, tensor<64x128xf32>
             -> !tile.in_flight<tensor<64x128xf32>>
    %u = tile.mma_async %x, %y, %s issuer = thread
         : !tile.buffer<128x64xf16, shared>, !tile.buffer<64x256xf16, shared>, !tile.buffer<128x256xf32, tmem>
    ```
  }];
  let arguments = (ins AnyTypeOf<[Tile_Tile, Tile_BufferType]>:$lhs, Tile_BufferType:$rhs,
                       AnyTypeOf<[Tile_Tile, Tile_InFlightType, Tile_BufferType]>:$acc,
                       Optional<AnyTypeOf<[Tile_Tile, Tile_BufferType]>>:$meta,
                       Optional<Tile_BufferType>:$lhs_scale, Optional<Tile_BufferType>:$rhs_scale,
                       Tile_IssuerAttr:$issuer, OptionalAttr<Tile_InstructionAttr>:$instruction);
  let results = (outs Optional<Tile_InFlightType>:$result, Tile_TokenType:$token);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` $acc (`sparse` `(` $meta^ `:` type($meta) `)`)?
    (`scaled` `(` $lhs_scale^ `,` $rhs_scale `:` type($lhs_scale) `,` type($rhs_scale) `)`)?
    `issuer` `=` custom<Issuer>($issuer) attr-dict
    `:` type($lhs) `,` type($rhs) `,` type($acc) (`->` type($result)^)?
  }];
  let hasVerifier = 1;
}

def Tile_MmaWaitOp : Tile_Op<"mma_wait", []> {
  let summary = "The tile of a product in flight, when at most `pending` later ones still go on";
  let description = [{
    Constraints:
    * (C1) the result is the tile of the type; `pending` is 0 to 64.

    Example:
    ```mlir
    %c = tile.mma_wait %d pending = 0 : !tile.in_flight<tensor<64x128xf32>> -> tensor<64x128xf32>
    ```
  }];
  let arguments = (ins Tile_InFlightType:$input, DefaultValuedAttr<I64Attr, "0">:$pending);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input `pending` `=` $pending attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_RolesOp : Tile_Op<"roles", [NoTerminator, NoRegionArguments, RecursiveMemoryEffects]> {
  let summary = "Warps of a block do different things: one region per role";
  let description = [{
    The first `warps[0]` warps do the first region, the next `warps[1]` the
    second, and so on; they meet again behind it. A region uses what stands
    before the op, and gives nothing back but what it writes. `registers` is
    what a thread of each role has (0: as the kernel does), `names` are for
    people and messages.

    Constraints:
    * (C1) there are two roles or more, with as many names, counts of warps and of registers as regions.
    * (C2) a role has 1 to 32 warps, and all together have 32 at most; those of a mapped kernel are its block.
    * (C3) registers are 0, or 24 to 256 in steps of 8, and then the role is whole warp groups of four.
    * (C4) it stands at the kernel's top or in a loop, not in another role.

    Example:
    ```mlir
    tile.roles ["load", "multiply"] warps = [4, 8] registers = [40, 232] {
      tile.barrier
    }, {
      tile.barrier
    }
    ```
  }];
  let arguments = (ins StrArrayAttr:$names, DenseI64ArrayAttr:$warps, DenseI64ArrayAttr:$registers);
  let regions = (region VariadicRegion<SizedRegion<1>>:$bodies);
  let assemblyFormat = "$names `warps` `=` $warps `registers` `=` $registers attr-dict-with-keyword $bodies";
  let hasVerifier = 1;
}

def Tile_NestOp : Tile_Op<"nest", [SingleBlockImplicitTerminator<"NestYieldOp">, RecursiveMemoryEffects]> {
  let summary = "Tile ops done together, element by element (CPU)";
  let description = [{
    One loop nest of the CPU: the body's tile ops over the elements that exist
    in `axes`. Buffers (`tile.local_load`, `tile.local_store`) and views are
    read and written at the same element, so an op of the body may update a
    buffer in place. `vector_axis` is the axis that is vectorised (-1: none),
    `unroll` the independent vectors per turn, `lanes` the elements of a vector
    (0: a whole register). A body with a `tile.mma` is a
    matrix step; its axes are M, N and K, its right operand is a buffer or a
    packed view. `unit` computes it: fma with `register_tile` (rows, vectors of a
    row, lanes), or amx. Of a nest with `pairs`, f32 of a line of bf16 lie in
    registers as those of even places, then those of odd ones. Scalars leave
    through the terminator.

    How it is done:
    * `transposes`: what is contiguous along the first axis is stored so along
      the second, a square of registers at a time.
    * `two_apart`: of f32 and f64 that are loaded over all axes, neighbours
      along `vector_axis` that are not one element apart by a view's type are
      two apart, as the parts of complex numbers are.
    * `narrow_vectors`: a matrix step takes so many vectors of a panel, or
      fewer, where no more columns are left. `pairs_of_k`: where the result has
      one vector and a half or less, it sums even and odd k beside each other.

    Constraints:
    * (C1) tiles stored at full rank have the nest's axes, in order.
    * (C2) `vector_axis` is -1 or an axis, `unroll` is 1 to 64, `lanes` is 0 or
      a power of two up to 64.
    * (C3) a matrix step that has its `unit` has three axes, three positive
      numbers as `register_tile`, and one `tile.mma`, whose result is stored by
      one `tile.local_store` and at most one `tile.store`, and not used else.
    * (C4) `transposes` needs two axes and a `vector_axis`, and `two_apart` a
      `vector_axis`, but not both; `narrow_vectors`, of 0 to 2, and `pairs_of_k`
      need `unit` fma.

    Example:
    ```mlir
    tile.nest [%m, %n] {vector_axis = 1 : i64} : (!tile.range<64>, !tile.range<32>) -> () {
      %x = tile.local_load %b : !tile.buffer<64x32xf32, scratch> -> tensor<64x32xf32>
      %y = math.exp %x : tensor<64x32xf32>
      tile.local_store %y, %b : tensor<64x32xf32>, !tile.buffer<64x32xf32, scratch>
    }
    ```
  }];
  let arguments = (ins Variadic<Tile_RangeType>:$axes, DefaultValuedAttr<I64Attr, "-1">:$vector_axis,
                       DefaultValuedAttr<I64Attr, "1">:$unroll, DefaultValuedAttr<I64Attr, "0">:$lanes,
                       OptionalAttr<Tile_MatrixUnitAttr>:$unit,
                       OptionalAttr<Tile_Numbers<1, 1024, "a register tile">>:$register_tile,
                       UnitAttr:$pairs, UnitAttr:$transposes, UnitAttr:$two_apart,
                       DefaultValuedAttr<I64Attr, "0">:$narrow_vectors, UnitAttr:$pairs_of_k);
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::ValueRange":$axes,
                                 "int64_t":$vector_axis, "int64_t":$unroll), [{
    build($_builder, $_state, results, axes, uint64_t(vector_axis), uint64_t(unroll), uint64_t(0),
          MatrixUnitAttr(), ::mlir::DenseI64ArrayAttr(), /*pairs=*/false,
          /*transposes=*/false, /*two_apart=*/false, /*narrow_vectors=*/uint64_t(0), /*pairs_of_k=*/false);
  }]>];
  let results = (outs Variadic<Tile_Scalar>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `[` $axes `]` attr-dict `:` functional-type($axes, $results) $body
  }];
  let hasVerifier = 1;
}

def Tile_PrefetchOp : Tile_Op<"prefetch", []> {
  let summary = "Asks for a tile of a view that will be read (CPU)";
  let description = [{
    Nothing depends on it: what lies outside of the view is not read.

    Constraints:
    * (C1) there is one index per axis of the view: two ranges, of which one is that of the last axis, which is
      contiguous, and scalars.

    Example:
    ```mlir
    tile.prefetch %r[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<32>
    ```
  }];
  let hasVerifier = 1;
  let arguments = (ins Tile_View:$view, Variadic<AnyTypeOf<[Tile_RangeType, Index]>>:$indices);
  let assemblyFormat = "$view `[` $indices `]` attr-dict `:` type($view) (`,` type($indices)^)?";
}

def Tile_SpliceOp : Tile_Op<"splice", [Pure, AllTypesMatch<["head", "tail", "result"]>]> {
  let summary = "Columns of one tile up to a place, then those of another (CPU)";
  let description = [{
    Along the last axis, elements before position `at` are those of `head`;
    from there on those of `tail`, from its first.

    Constraints:
    * (C1) both tiles have the result's type.

    Example:
    ```mlir
    %a = tile.splice %x, %y at %whole : tensor<64x32xbf16>
    ```
  }];
  let arguments = (ins Tile_Tile:$head, Tile_Tile:$tail, Index:$at);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$head `,` $tail `at` $at attr-dict `:` type($result)";
}

def Tile_NestYieldOp : Tile_Op<"nest_yield", [Pure, Terminator, ReturnLike, ParentOneOf<["NestOp"]>]> {
  let summary = "The scalars a nest leaves";
  let arguments = (ins Variadic<Tile_Scalar>:$values);
  let builders = [OpBuilder<(ins), [{ /* no scalars */ }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // TESSERA_TILE_OPS_TD
