// Schedule IR: the ops. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_SCHEDULE_OPS_TD
#define TESSERA_SCHEDULE_OPS_TD

include "compiler/Schedule/IR/ScheduleDialect.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// By hand: TableGen would write the enums of Tile IR once more.
def Schedule_NumericsAttr : Attr<CPred<"::llvm::isa<::tessera::tile::NumericsAttr>($_self)">, "a #tile.numerics"> {
  let storageType = "::tessera::tile::NumericsAttr";
  let returnType = "::tessera::tile::NumericsAttr";
  let convertFromStorage = "$_self";
}

def Schedule_VariantArrayAttr : TypedArrayAttrBase<Schedule_VariantAttr, "variants of a product">;
def Schedule_WhenArrayAttr : TypedArrayAttrBase<Schedule_WhenAttr, "the calls that versions are for">;

def Schedule_FuseOp : Schedule_Op<"fuse", [IsolatedFromAbove, RecursiveMemoryEffects,
                                           SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "These ops become one kernel";
  let description = [{
    The region's arguments are the inputs, the yielded tensors the results; what
    stands between never reaches memory unless the tile program says so.
    `numerics` names the reduction order (the numerics class): tuning stays
    inside it unless the user opens it.

    Constraints:
    * (C1) region arguments have the inputs' types, yielded values the results'.
    * (C2) there is one result.
    * (C3) `variants` are of one product or attention, at most 16 and of
      different names; those of the form `turned` or `row` read the right
      operand from memory, and `row` both, which are f32 matrices.

    `schedule-specialize` makes `sched.versions` of the variants. `as_is` is
    what it makes: the plan looks for no other way to launch this kernel.

    Example:
    ```mlir
    %y = sched.fuse @relu_0 (%x) numerics = <elementwise> : (tensor<?xf32>) -> tensor<?xf32> {
    ^bb0(%a: tensor<?xf32>):
      sched.tile 0 by #sched.param<1024, [256, 1024, 4096], default>
      %r = gir.relu %a : tensor<?xf32>
      sched.yield %r : tensor<?xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Variadic<AnyType>:$inputs, Schedule_NumericsAttr:$numerics,
                       OptionalAttr<Schedule_VariantArrayAttr>:$variants, UnitAttr:$as_is);
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::StringAttr":$sym_name,
                                 "::mlir::ValueRange":$inputs, "::tessera::tile::NumericsAttr":$numerics), [{
    build($_builder, $_state, results, sym_name, inputs, numerics, ::mlir::ArrayAttr(), /*as_is=*/false);
  }]>];
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name ` ` `(` $inputs `)` `numerics` `=` $numerics attr-dict
    `:` functional-type($inputs, $results) $body
  }];
  let hasVerifier = 1;
}

def Schedule_VersionsOp : Schedule_Op<"versions", [RecursiveMemoryEffects, SingleBlock]> {
  let summary = "One kernel in several ways; a call takes the first that is for it";
  let description = [{
    Each region holds one `sched.fuse` and the views it reads, and yields its
    result. All compute the same. Version `i` is for the calls of `when[i]`, the
    last one, which is the kernel as it was written, for all others.

    Constraints:
    * (C1) every region but the last has its `when`.
    * (C2) the result has two axes at least; every region ends with a yield of
      its type, and the last one yields the result of a `sched.fuse`.

    Example:
    ```mlir
    %y = sched.versions [#sched.when<rows = [0, 4]>] : tensor<?x?xf32> {
      %few = sched.fuse @product_0_thin4 (%a, %b) numerics = <gemm step = 64> {as_is} : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32> {
      ^bb0(%x: tensor<?x?xf32>, %w: tensor<?x?xf32>):
        %p = gir.gemm %x, %w : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
        sched.yield %p : tensor<?x?xf32>
      }
      sched.yield %few : tensor<?x?xf32>
    }, {
      %all = sched.fuse @product_0 (%a, %b) numerics = <gemm step = 2048> : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32> {
      ^bb0(%x: tensor<?x?xf32>, %w: tensor<?x?xf32>):
        %p = gir.gemm %x, %w : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
        sched.yield %p : tensor<?x?xf32>
      }
      sched.yield %all : tensor<?x?xf32>
    }
    ```
  }];
  let arguments = (ins Schedule_WhenArrayAttr:$when);
  let results = (outs AnyRankedTensor:$result);
  let regions = (region VariadicRegion<SizedRegion<1>>:$versions);
  let assemblyFormat = "$when attr-dict `:` type($result) $versions";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The version for calls that no other one is for.
    ::tessera::schedule::FuseOp getGeneral();
  }];
}

def Schedule_YieldOp : Schedule_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "The results of a kernel";
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let builders = [OpBuilder<(ins), [{ /* no result */ }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Schedule_TileOp : Schedule_Op<"tile", []> {
  let summary = "Loop `loop` of this kernel is cut into tiles of that size";
  let description = [{
    Loops are numbered as in the root op of the kernel: its result axes in
    order, then reduction loops. `kind` is grid (programs), loop (sequential in
    a program) or whole.

    Constraints:
    * (C1) the size is positive.
    * (C2) `loop` is 0 to 31.

    In a `sched.fuse` every axis of the result has one such op, and loop `rank`
    is that of reductions (`schedule-check-contract`).

    Example:
    ```mlir
    sched.tile 1 by #sched.param<1024, [256, 1024], default> as loop {name = "N"}
    ```
  }];
  let arguments = (ins I64Attr:$loop, Schedule_ParamAttr:$size, DefaultValuedAttr<Schedule_LoopKind, "LoopKind::Grid">:$kind,
                       OptionalAttr<StrAttr>:$name);
  let assemblyFormat = "$loop `by` $size (`as` $kind^)? attr-dict";
  let hasVerifier = 1;
}

def Schedule_PipelineOp : Schedule_Op<"pipeline", []> {
  let summary = "How many stages the sequential loop keeps in flight";
  let description = [{
    Constraints:
    * (C1) there are 0 to 64 stages.

    Example:
    ```mlir
    sched.pipeline #sched.param<3, [2, 3, 4], user>
    ```
  }];
  let hasVerifier = 1;
  let arguments = (ins Schedule_ParamAttr:$stages);
  let assemblyFormat = "$stages attr-dict";
}

def Schedule_PlaceOp : Schedule_Op<"place", []> {
  let summary = "Where work and results go: threads, vector width, order of programs, packing";
  let description = [{
    `what` is one of threads (0: all), vector (elements; 0: a register), unroll
    (vectors per turn; 0: by the size of the loop), group (`tile.program`),
    num_warps (of a block of a GPU), pack (operands of products once for all
    programs; 0: never, 1: where several read the same), split_k (parts of a
    product's sum; 0: as many as the plan finds, 1: not divided), stream (results past
    the caches; 0: never, 1: large ones, 2: always), fuse (of a function; 0:
    each op is a kernel of its own).
    None of them changes a result.

    Constraints:
    * (C1) the value is not negative; vector is a power of two, pack and fuse
      are 0 or 1, stream is 0, 1 or 2.

    Example:
    ```mlir
    sched.place threads #sched.param<0, [0, 1, 2, 4], default>
    ```
  }];
  let arguments = (ins Schedule_Placement:$what, Schedule_ParamAttr:$value);
  let assemblyFormat = "$what $value attr-dict";
  let hasVerifier = 1;
}

def Schedule_AutotuneOp : Schedule_Op<"autotune", []> {
  let summary = "The search space a user or the compiler opened";
  let arguments = (ins DictionaryAttr:$space, StrArrayAttr:$key, I64Attr:$budget, StrAttr:$numerics);
  let assemblyFormat = "$space `key` $key `budget` `=` $budget `numerics` `=` $numerics attr-dict";
}

def Schedule_PartialOp : Schedule_Op<"partial", [Pure]> {
  let summary = "One reduction per chunk of a long axis";
  let description = [{
    Element `p` of the result is the reduction of the elements
    `p * chunk ... (p + 1) * chunk - 1` that exist. A full reduction is a partial
    one and a reduction of its few results: every chunk is a program of its own,
    and the order does not depend on the number of threads. `kind` is sum, prod,
    max, min, any or all.

    Constraints:
    * (C1) input and result have rank 1 and one element type.
    * (C2) a chunk has 1 to 2^30 elements; `size` is a `tensor<i64>`.
    * (C3) a program has one chunk: a `sched.tile` of loop 0 beside it is by 1.

    Example:
    ```mlir
    %p = sched.partial sum %x chunk = 16384 size(%n : tensor<i64>) : tensor<?xf32> -> tensor<?xf32>
    ```
  }];
  let arguments = (ins Schedule_PartialKind:$kind, AnyRankedTensor:$input, I64Attr:$chunk, AnyRankedTensor:$size);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $kind $input `chunk` `=` $chunk `size` `(` $size `:` type($size) `)` attr-dict
    `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Schedule_OverlapOp : Schedule_Op<"overlap", []> {
  let summary = "Two kernels of this plan may run at once";
  let arguments = (ins StrAttr:$first, StrAttr:$second);
  let assemblyFormat = "$first `with` $second attr-dict";
}

def Schedule_KernelOp : Schedule_Op<"kernel", [IsolatedFromAbove, Symbol, NoTerminator, SymbolTable]> {
  let summary = "A user's tile program with its decisions";
  let description = [{
    Holds one `gir.kernel` and the decisions taken for it: what the user's
    decorators said, what the tuner found, what the model chose.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Schedule_NumericsAttr:$numerics);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `numerics` `=` $numerics attr-dict-with-keyword $body";
}

#endif // TESSERA_SCHEDULE_OPS_TD
