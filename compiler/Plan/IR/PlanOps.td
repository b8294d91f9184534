// The plan: its ops. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_PLAN_OPS_TD
#define TESSERA_PLAN_OPS_TD

include "compiler/Plan/IR/PlanDialect.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// What a kernel takes besides tensors: an integer, a condition, a number.
defvar Plan_Scalar = AnyTypeOf<[Index, I1, F64]>;
defvar Plan_Shown = AnyTypeOf<[Index, I1, F64, Plan_Tensor]>;

//===----------------------------------------------------------------------===//
// The function and its arguments
//===----------------------------------------------------------------------===//

def Plan_FuncOp : Plan_Op<"func", [IsolatedFromAbove, Symbol, SingleBlock]> {
  let summary = "The host program of one function";
  let description = [{
    Its body begins with what a call gives: `plan.dim`, `plan.arg`,
    `plan.scalar`, `plan.result` and the integers their axes are made of. Steps
    follow in the order in which they run. `messages` are those that kernels
    refer to by number, `features` what the processor must have.

    Constraints:
    * (C1) the body ends with `plan.return`.
    * (C2) axes of arguments and results are made of dims, scalars and constants.
    * (C3) its ops are those of `plan`, `scf.if` and `scf.while`, which carry
      integers and conditions, and of `arith` constants, sums, products,
      divisions that round down or up, minima, maxima, signed comparisons,
      selections and casts of integers, and logic of conditions.
    * (C4) braces in `messages` are doubled.
    * (C5) a `scf.while` hands on what it carries, or what was computed before it.

    Example:
    ```mlir
    plan.func @copy target "cpu" {
      %n = plan.dim "n"
      %x = plan.arg "x" in [%n] : !plan.tensor<f32, 1>
      %y = plan.result "y" [%n] : !plan.tensor<f32, 1>
      %c64 = arith.constant 64 : index
      %programs = arith.ceildivsi %n, %c64 : index
      plan.launch @copy_0(%x, %y) grid %programs : !plan.tensor<f32, 1>, !plan.tensor<f32, 1>
      plan.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$target,
                       OptionalAttr<StrArrayAttr>:$features, OptionalAttr<StrArrayAttr>:$messages);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `target` $target (`features` $features^)? (`messages` $messages^)?
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Plan_ReturnOp : Plan_Op<"return", [Terminator, HasParent<"FuncOp">]> {
  let summary = "End of a plan";
  let assemblyFormat = "attr-dict";
}

def Plan_DimOp : Plan_NamedOp<"dim", [Pure, HasParent<"FuncOp">]> {
  let summary = "A size that axes of the arguments have";
  let description = [{
    The first axis of a `plan.arg` that is the dim binds it; the other ones, and
    those of results that the caller gives, are checked to be as long.

    Constraints:
    * (C1) an axis of a `plan.arg` is it.

    Example: `%m = plan.dim "M"`
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs Index:$result);
  let assemblyFormat = "$name attr-dict";
  let hasVerifier = 1;
}

def Plan_ArgOp : Plan_NamedOp<"arg", [HasParent<"FuncOp">]> {
  let summary = "A tensor that the caller gives";
  let description = [{
    One integer for each axis: a `plan.dim`, which it binds or must agree with,
    or an integer that its size must be. A caller may leave out what the mode
    says is only written (`out`), if each axis is known without it.

    Constraints:
    * (C1) there are as many axes as the tensor has.

    Example: `%a = plan.arg "A" in [%m, %k] : !plan.tensor<f32, 2>`
  }];
  let arguments = (ins StrAttr:$name, Plan_Mode:$mode, Variadic<Index>:$axes);
  let results = (outs Plan_Tensor:$result);
  let assemblyFormat = "$name $mode `[` $axes `]` attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Plan_ScalarOp : Plan_NamedOp<"scalar", [HasParent<"FuncOp">]> {
  let summary = "A number that the caller gives";
  let description = [{
    An `f64` is given to kernels and shown in messages; plans do not compute with
    it.

    Example: `%alpha = plan.scalar "alpha" : f64`
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs Plan_Scalar:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
}

def Plan_ResultOp : Plan_NamedOp<"result", [HasParent<"FuncOp">]> {
  let summary = "A tensor that the function returns";
  let description = [{
    The caller gives it, or gets it from its allocator before the first step. A
    `late` one has sizes that are known later: `plan.alloc_result` gives them.

    Constraints:
    * (C1) there are as many axes as the tensor has, or none if it is `late`.
    * (C2) a `late` one is allocated once, in the body of the plan, and not used
      before.

    Example: `%c = plan.result "C" [%m, %n] : !plan.tensor<f32, 2>`
  }];
  let arguments = (ins StrAttr:$name, Variadic<Index>:$axes, UnitAttr:$late);
  let results = (outs Plan_Tensor:$result);
  let assemblyFormat = "$name (`late` $late^)? `[` $axes `]` attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

class Plan_OfAxis<string mnemonic, string what>
    : Plan_Op<mnemonic, [Pure]> {
  let summary = "The " # what # " of a tensor along an axis";
  let description = [{
    Constraints:
    * (C1) the tensor has the axis.

    Example: `%n = plan.size %x, 0 : !plan.tensor<f32, 2>`
  }];
  let arguments = (ins Plan_Tensor:$tensor, I64Attr:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$tensor `,` $axis attr-dict `:` type($tensor)";
  let hasVerifier = 1;
}

def Plan_SizeOp : Plan_OfAxis<"size", "size">;
def Plan_StrideOp : Plan_OfAxis<"stride", "stride, in elements,">;

def Plan_AddressOp : Plan_Op<"address", [MemoryEffects<[MemRead]>]> {
  let summary = "Where a tensor's first element lies, as an integer";
  let description = [{
    Example: `%where = plan.address %x : !plan.tensor<f32, 2>`
  }];
  let arguments = (ins Plan_Tensor:$tensor);
  let results = (outs Index:$result);
  let assemblyFormat = "$tensor attr-dict `:` type($tensor)";
}

def Plan_IsConstantOp : Plan_Op<"is_constant", [MemoryEffects<[MemRead]>]> {
  let summary = "Whether the tensor's memory never changes";
  let description = [{
    It is memory of `tsr_constant_create`: what is computed from it may be kept
    (`plan.alloc ... of`).

    Example: `%kept = plan.is_constant %w : !plan.tensor<f32, 2>`
  }];
  let arguments = (ins Plan_Tensor:$tensor);
  let results = (outs I1:$result);
  let assemblyFormat = "$tensor attr-dict `:` type($tensor)";
}

def Plan_ModOp : Plan_Op<"mod", [Pure, SameOperandsAndResultType]> {
  let summary = "The rest of a division that rounds down, as Python's %";
  let description = [{
    Example: `%rest = plan.mod %n, %c64`
  }];
  let arguments = (ins Index:$lhs, Index:$rhs);
  let results = (outs Index:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict";
}

def Plan_LoadOp : Plan_Op<"load", [MemoryEffects<[MemRead]>]> {
  let summary = "One element of a tensor";
  let description = [{
    How a plan branches or loops on a computed value. Integers and bools are read
    as `index`, f32 and f64 as `f64`.

    Constraints:
    * (C1) there are as many indices as the tensor has axes.
    * (C2) the result is of the kind of the element.

    Example: `%n = plan.load %count[] : !plan.tensor<i64, 0> -> index`
  }];
  let arguments = (ins Plan_Tensor:$tensor, Variadic<Index>:$indices);
  let results = (outs AnyTypeOf<[Index, F64]>:$result);
  let assemblyFormat = "$tensor `[` $indices `]` attr-dict `:` type($tensor) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

def Plan_CheckOp : Plan_Op<"check"> {
  let summary = "Ends the run with a message unless a condition holds";
  let description = [{
    Each `{}` of the message is replaced by the next value: a number, or the sizes
    of a tensor. `{{` and `}}` are braces.

    Constraints:
    * (C1) the message has as many `{}` as there are values, and no other brace
      alone.

    Example: `plan.check %even, "n is {}, but must be even" (%n) : index`
  }];
  let arguments = (ins I1:$condition, StrAttr:$message, Variadic<Plan_Shown>:$values);
  let assemblyFormat = "$condition `,` $message (`(` $values^ `)` `:` type($values))? attr-dict";
  let hasVerifier = 1;
}

def Plan_ExpectOp : Plan_Op<"expect", [SingleBlock]> {
  let summary = "Ends the run with a message unless what a kernel computed is right";
  let description = [{
    Reads an i64 of rank 0. On a GPU the call does not wait for it: it is copied
    to the host when the stream gets there, and the error is reported with the
    next synchronisation.

    Constraints:
    * (C1) the tensor is an i64 without axes.
    * (C2) the region takes it as an `index`, and computes integers only.

    Example:
    ```mlir
    plan.expect %worst : !plan.tensor<i64, 0> {
    ^bb0(%index: index):
      %holds = arith.cmpi slt, %index, %n : index
      plan.holds %holds, "index {} is outside of {} elements" (%index, %n) : index, index
    }
    ```
  }];
  let arguments = (ins Plan_Tensor:$tensor);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$tensor attr-dict `:` type($tensor) $body";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Plan_HoldsOp : Plan_Op<"holds", [Terminator, HasParent<"ExpectOp">]> {
  let summary = "What must hold, and the message if it does not";
  let description = [{
    As `plan.check`, whose constraints it has.
  }];
  let arguments = (ins I1:$condition, StrAttr:$message, Variadic<Plan_Shown>:$values);
  let assemblyFormat = "$condition `,` $message (`(` $values^ `)` `:` type($values))? attr-dict";
  let hasVerifier = 1;
}

def Plan_AllocOp : Plan_NamedOp<"alloc", [AttrSizedOperandSegments]> {
  let summary = "Memory for as long as its block runs";
  let description = [{
    Row-major without gaps, aligned to 64 bytes, of undefined content. With `of`
    it is computed from that tensor alone, and kept if that is constant: it is
    filled where `plan.fresh` says that it must be.

    Constraints:
    * (C1) there are as many sizes as the tensor has axes.

    Example: `%t = plan.alloc "t" [%m, %n] -> !plan.tensor<f32, 2>`
  }];
  let arguments = (ins StrAttr:$name, Variadic<Index>:$sizes, Optional<Plan_Tensor>:$source);
  let results = (outs Plan_Tensor:$result);
  let assemblyFormat = [{
    $name `[` $sizes `]` (`of` $source^ `:` type($source))? attr-dict `->` type($result)
  }];
  let hasVerifier = 1;
}

def Plan_AllocResultOp : Plan_Op<"alloc_result", [HasParent<"FuncOp">]> {
  let summary = "The sizes of a late result";
  let description = [{
    Constraints:
    * (C1) the tensor is a `late` result, and has as many axes as there are sizes.

    Example: `plan.alloc_result %found [%n] : !plan.tensor<i64, 1>`
  }];
  let arguments = (ins Plan_Tensor:$tensor, Variadic<Index>:$sizes);
  let assemblyFormat = "$tensor `[` $sizes `]` attr-dict `:` type($tensor)";
  let hasVerifier = 1;
}

def Plan_FreshOp : Plan_Op<"fresh", [MemoryEffects<[MemRead]>]> {
  let summary = "Whether memory that may be kept must be filled";
  let description = [{
    Constraints:
    * (C1) the tensor is a `plan.alloc` with `of`.

    Example: `%fill = plan.fresh %panels : !plan.tensor<f32, 2>`
  }];
  let arguments = (ins Plan_Tensor:$tensor);
  let results = (outs I1:$result);
  let assemblyFormat = "$tensor attr-dict `:` type($tensor)";
  let hasVerifier = 1;
}

def Plan_ViewOp : Plan_NamedOp<"view", [AttrSizedOperandSegments]> {
  let summary = "A tensor over the memory of another one";
  let description = [{
    Its first element lies `offset` elements behind the source's. It must lie
    within the source's memory, which is checked when it runs.

    Constraints:
    * (C1) there are as many sizes and strides as the tensor has axes.
    * (C2) elements are of the source's type.

    Example:
    ```mlir
    %t = plan.view "t" %x offset %zero sizes [%n, %m] strides [%s1, %s0] : !plan.tensor<f32, 2> -> !plan.tensor<f32, 2>
    ```
  }];
  let arguments = (ins StrAttr:$name, Plan_Tensor:$source, Index:$offset,
                       Variadic<Index>:$sizes, Variadic<Index>:$strides);
  let results = (outs Plan_Tensor:$result);
  let assemblyFormat = [{
    $name $source `offset` $offset `sizes` `[` $sizes `]` `strides` `[` $strides `]` attr-dict
    `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Plan_LaunchOp : Plan_Op<"launch", [AttrSizedOperandSegments]> {
  let summary = "Runs the programs of a kernel";
  let description = [{
    Programs 0 to `grid` - 1. Memory per thread, block and shared memory are the
    kernel's: they are written when the plan is exported. `threads` is a limit,
    `work` a guess of the time on one core in nanoseconds; neither changes
    results.

    Constraints:
    * (C1) `threads` is at least 1.

    Example:
    ```mlir
    plan.launch @scale_0(%new, %y) with (%alpha : f64) grid %programs work %ns threads 2 : !plan.tensor<f32, 1>, !plan.tensor<f32, 1>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Plan_Tensor>:$tensors,
                       Variadic<Plan_Scalar>:$scalars, Index:$grid, Optional<Index>:$work,
                       OptionalAttr<I64Attr>:$threads);
  let assemblyFormat = [{
    $kernel `(` $tensors `)` (`with` `(` $scalars^ `:` type($scalars) `)`)? `grid` $grid
    (`work` $work^)? (`threads` $threads^)? attr-dict (`:` type($tensors)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The same launch of another kernel, at the builder's place.
    LaunchOp cloneFor(::mlir::OpBuilder &builder, ::llvm::StringRef kernel);
    /// Launches `kernel` instead, with the same operands, where `condition`
    /// holds: this launch moves into the other arm.
    ::mlir::scf::IfOp chooseIf(::mlir::Value condition, ::llvm::StringRef kernel);
  }];
}

def Plan_SwapOp : Plan_Op<"swap", [SameTypeOperands]> {
  let summary = "Exchanges the memory of two temporaries";
  let description = [{
    Of the same sizes. Views of them that were made before end.

    Constraints:
    * (C1) both are of one type, and made by `plan.alloc`.

    Example: `plan.swap %new, %old : !plan.tensor<f32, 2>`
  }];
  let arguments = (ins Plan_Tensor:$lhs, Plan_Tensor:$rhs);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs)";
  let hasVerifier = 1;
}

def Plan_FreeOp : Plan_Op<"free"> {
  let summary = "Gives a temporary back before its block ends";
  let description = [{
    Constraints:
    * (C1) it is made by `plan.alloc`, without `of`, in this block.

    Example: `plan.free %t : !plan.tensor<f32, 2>`
  }];
  let arguments = (ins Plan_Tensor:$tensor);
  let assemblyFormat = "$tensor attr-dict `:` type($tensor)";
  let hasVerifier = 1;
}

#endif // TESSERA_PLAN_OPS_TD
