// Graph IR: the ops. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_GRAPH_OPS_TD
#define TESSERA_GRAPH_OPS_TD

include "compiler/Graph/IR/GraphDialect.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

defvar Graph_Tensor = AnyRankedTensor;
defvar Graph_FloatTensor = RankedTensorOf<[AnyFloat]>;
defvar Graph_IntTensor = RankedTensorOf<[AnySignlessInteger]>;
defvar Graph_BoolTensor = RankedTensorOf<[I1]>;
// A run-time integer: a size, an offset.
def Graph_Size : Type<And<[Graph_IntTensor.predicate,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getRank() == 0">,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getElementType().isInteger(64)">]>,
    "i64 scalar (tensor<i64>)", "::mlir::RankedTensorType">,
    BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getI64Type())">;
// A run-time truth value.
def Graph_Condition : Type<And<[Graph_BoolTensor.predicate,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getRank() == 0">]>,
    "bool scalar (tensor<i1>)", "::mlir::RankedTensorType">,
    BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getI1Type())">;

//===----------------------------------------------------------------------===//
// Element-wise
//===----------------------------------------------------------------------===//

// result and operand have one type. Ops that IEEE 754 rounds correctly (or that
// are exact) fold on constants; the others are left to the target's functions.
class Graph_Unary<string mnemonic, string what, Type tensor = Graph_FloatTensor,
                  bit folds = 0>
    : Graph_Op<mnemonic, [Pure, SameOperandsAndResultType]> {
  let hasFolder = folds;
  let summary = what;
  let arguments = (ins tensor:$input);
  let results = (outs tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

// Both operands and the result have one type; broadcasting is explicit.
class Graph_Binary<string mnemonic, string what, Type tensor = Graph_Tensor,
                   list<Trait> traits = [], bit folds = 1>
    : Graph_Op<mnemonic, !listconcat([Pure, SameOperandsAndResultType], traits)> {
  let hasFolder = folds;
  let summary = what;
  let arguments = (ins tensor:$lhs, tensor:$rhs);
  let results = (outs tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

def Graph_NegOp : Graph_Unary<"neg", "Negation", Graph_Tensor, 1>;
def Graph_AbsOp : Graph_Unary<"abs", "Absolute value", Graph_Tensor, 1>;
def Graph_ExpOp : Graph_Unary<"exp", "e to the x">;
def Graph_Exp2Op : Graph_Unary<"exp2", "2 to the x">;
def Graph_LogOp : Graph_Unary<"log", "Natural logarithm">;
def Graph_Log2Op : Graph_Unary<"log2", "Logarithm to base 2">;
def Graph_Log1pOp : Graph_Unary<"log1p", "log(1 + x)">;
def Graph_SqrtOp : Graph_Unary<"sqrt", "Square root", Graph_FloatTensor, 1>;
def Graph_RsqrtOp : Graph_Unary<"rsqrt", "1 / sqrt(x)">;
def Graph_SinOp : Graph_Unary<"sin", "Sine">;
def Graph_CosOp : Graph_Unary<"cos", "Cosine">;
def Graph_TanhOp : Graph_Unary<"tanh", "Hyperbolic tangent">;
def Graph_ErfOp : Graph_Unary<"erf", "Error function">;
def Graph_SigmoidOp : Graph_Unary<"sigmoid", "1 / (1 + exp(-x)), stable at both ends">;
def Graph_FloorOp : Graph_Unary<"floor", "Largest integer not above", Graph_FloatTensor, 1>;
def Graph_CeilOp : Graph_Unary<"ceil", "Smallest integer not below", Graph_FloatTensor, 1>;
def Graph_RoundOp : Graph_Unary<"round", "Nearest integer, ties to even", Graph_FloatTensor, 1>;
def Graph_GeluOp : Graph_Unary<"gelu", "x * normal CDF of x"> {
  let arguments = (ins Graph_FloatTensor:$input, UnitAttr:$tanh);
  let description = [{
    Exact by `erf`; with `tanh` the usual approximation. One rounding.

    Example:
    ```mlir
    %y = gir.gelu %x {tanh} : tensor<?x8xf32>
    ```
  }];
}
def Graph_SiluOp : Graph_Unary<"silu", "x * sigmoid(x)">;
def Graph_ReluOp : Graph_Unary<"relu", "max(x, 0); NaN stays NaN", Graph_Tensor, 1>;
def Graph_NotOp : Graph_Unary<"not", "Bitwise (or boolean) complement", Graph_IntTensor, 1>;

def Graph_AddOp : Graph_Binary<"add", "Sum", Graph_Tensor, [Commutative]>;
def Graph_SubOp : Graph_Binary<"sub", "Difference">;
def Graph_MulOp : Graph_Binary<"mul", "Product", Graph_Tensor, [Commutative]>;
def Graph_DivOp : Graph_Binary<"div", "True division", Graph_FloatTensor>;
def Graph_FloorDivOp : Graph_Binary<"floordiv", "Division rounded down, as in Python">;
def Graph_ModOp : Graph_Binary<"mod", "Remainder with the divisor's sign, as in Python">;
def Graph_PowOp : Graph_Binary<"pow", "Power", Graph_Tensor, [], 0>;
def Graph_AndOp : Graph_Binary<"and", "Bitwise and", Graph_IntTensor, [Commutative]>;
def Graph_OrOp : Graph_Binary<"or", "Bitwise or", Graph_IntTensor, [Commutative]>;
def Graph_XorOp : Graph_Binary<"xor", "Bitwise exclusive or", Graph_IntTensor, [Commutative]>;
def Graph_ShlOp : Graph_Binary<"shl", "Left shift", Graph_IntTensor>;
def Graph_ShrOp : Graph_Binary<"shr", "Arithmetic right shift", Graph_IntTensor>;
def Graph_MaximumOp : Graph_Binary<"maximum", "Larger of two; NaN wins", Graph_Tensor, [Commutative]>;
def Graph_MinimumOp : Graph_Binary<"minimum", "Smaller of two; NaN wins", Graph_Tensor, [Commutative]>;

def Graph_FmaOp : Graph_Op<"fma", [Pure, SameOperandsAndResultType]> {
  let summary = "a * b + c with one rounding";
  let description = [{
    Example:
    ```mlir
    %y = gir.fma %a, %b, %c : tensor<?xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$a, Graph_FloatTensor:$b, Graph_FloatTensor:$c);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$a `,` $b `,` $c attr-dict `:` type($result)";
}

def Graph_CompareOp : Graph_Op<"compare", [Pure, SameTypeOperands, SameOperandsAndResultShape]> {
  let summary = "Element-wise comparison";
  let description = [{
    False wherever an operand is NaN, except `ne`, which is true there.

    Example:
    ```mlir
    %y = gir.compare lt %a, %b : tensor<?xf32> -> tensor<?xi1>
    ```
  }];
  let arguments = (ins Graph_CompareKind:$kind, Graph_Tensor:$lhs, Graph_Tensor:$rhs);
  let results = (outs Graph_BoolTensor:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
  let hasFolder = 1;
}

// isnan and isfinite.
class Graph_Predicate<string mnemonic, string what>
    : Graph_Op<mnemonic, [Pure, SameOperandsAndResultShape]> {
  let summary = what;
  let arguments = (ins Graph_FloatTensor:$input);
  let results = (outs Graph_BoolTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}
def Graph_IsNanOp : Graph_Predicate<"isnan", "Whether an element is NaN">;
def Graph_IsFiniteOp : Graph_Predicate<"isfinite", "Whether an element is neither infinite nor NaN">;

def Graph_SelectOp : Graph_Op<"select", [Pure, AllTypesMatch<["a", "b", "result"]>]> {
  let summary = "a where the condition holds, b elsewhere";
  let description = [{
    Constraints:
    * (C1) the condition has the shape of the result.

    Example:
    ```mlir
    %y = gir.select %cond, %a, %b : tensor<?xi1>, tensor<?xf32>
    ```
  }];
  let arguments = (ins Graph_BoolTensor:$condition, Graph_Tensor:$a, Graph_Tensor:$b);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$condition `,` $a `,` $b attr-dict `:` type($condition) `,` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Graph_CastOp : Graph_Op<"cast", [Pure, SameOperandsAndResultShape]> {
  let summary = "Conversion to another element type";
  let description = [{
    To a float: nearest, ties to even. Float to integer: toward zero,
    saturating, NaN to 0. To `i1`: whether the element is not zero.

    Example:
    ```mlir
    %y = gir.cast %x : tensor<?xf32> -> tensor<?xbf16>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, DefaultValuedAttr<StrAttr, "\"rn\"">:$rounding);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Constants, sizes, names
//===----------------------------------------------------------------------===//

def Graph_ConstantOp : Graph_Op<"constant", [Pure, ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "A constant tensor";
  let description = [{
    Constraints:
    * (C1) its elements stand in the text.

    Example:
    ```mlir
    %one = gir.constant dense<1.0> : tensor<f32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Graph_DimOp : Graph_Op<"dim", [Pure]> {
  let summary = "The extent of one axis";
  let description = [{
    Constraints:
    * (C1) the axis exists.

    Example:
    ```mlir
    %n = gir.dim %x, 1 : tensor<?x?xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, I64Attr:$axis);
  let results = (outs Graph_Size:$result);
  let assemblyFormat = "$input `,` $axis attr-dict `:` type($input)";
  let extraClassDeclaration = [{
    static ::mlir::Type sizeType(::mlir::MLIRContext *context);
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Graph_BindDimsOp : Graph_Op<"bind_dims", []> {
  let summary = "Names the axes of a value";
  let description = [{
    Two axes of one name have one extent; where that is not proved it is
    checked at entry. An empty string leaves an axis without a name.

    Constraints:
    * (C1) there is one name per axis.

    Example:
    ```mlir
    gir.bind_dims %x ["M", "K"] : tensor<?x?xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, StrArrayAttr:$names);
  let assemblyFormat = "$input $names attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Graph_CheckEqualOp : Graph_Op<"check_equal", []> {
  let summary = "Two sizes are equal, or the call fails with the message";
  let description = [{
    Stands where two run-time extents must agree and nothing proves it; the plan
    makes a `check` of it. In the message, `{lhs}` and `{rhs}` stand for the two
    sizes.

    Example:
    ```mlir
    gir.check_equal %m, %n, "x has {lhs} rows, but y has {rhs}"
    ```
  }];
  let arguments = (ins Graph_Size:$lhs, Graph_Size:$rhs, StrAttr:$message);
  let assemblyFormat = "$lhs `,` $rhs `,` $message attr-dict";
}

def Graph_CheckOp : Graph_Op<"check", []> {
  let summary = "The condition holds, or the call fails with the message";
  let description = [{
    An `assert` on a run-time value; the plan makes a `check` of it.

    Example:
    ```mlir
    gir.check %c, "x must be positive"
    ```
  }];
  let arguments = (ins Graph_Condition:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict";
}

def Graph_CheckIndicesOp : Graph_Op<"check_indices", []> {
  let summary = "Every index lies within an axis, or the call fails";
  let description = [{
    Stands before an op that reads at `indices`. They are at least 0, or with
    `wraps` at least `-size` (counted from the end), and below `size`; the value
    `ignored` may stand for none. In the message, `{index}` stands for an index
    that does not, `{size}` for the size.

    Example:
    ```mlir
    gir.check_indices %ids within %n, "index {index}, but the table has {size} rows" : tensor<?xi64>
    ```
  }];
  let arguments = (ins Graph_IntTensor:$indices, Graph_Size:$size, StrAttr:$message,
                       UnitAttr:$wraps, OptionalAttr<I64Attr>:$ignored);
  let assemblyFormat = [{
    $indices `within` $size (`wraps` $wraps^)? (`ignoring` $ignored^)? `,` $message attr-dict
    `:` type($indices)
  }];
  let hasCanonicalizeMethod = 1;
}

def Graph_ReportIndexOp : Graph_Op<"report_index", []> {
  let summary = "The call fails if there is an index that lies outside";
  let description = [{
    What a `gir.check_indices` becomes: `worst` is the largest index outside, or
    the smallest integer if there is none. On a GPU the call does not wait for
    it: the next synchronisation fails.

    Example:
    ```mlir
    gir.report_index %worst, %n, "index {index}, but the table has {size} rows"
    ```
  }];
  let arguments = (ins Graph_Size:$worst, Graph_Size:$size, StrAttr:$message);
  let assemblyFormat = "$worst `,` $size `,` $message attr-dict";
}

def Graph_PrintOp : Graph_Op<"print", []> {
  let summary = "Writes a line with values to the standard output";
  let description = [{
    Each `{}` of the text stands for the next value.

    Example:
    ```mlir
    gir.print "x is {}", %x : tensor<?xf32>
    ```
  }];
  let arguments = (ins StrAttr:$text, Variadic<Graph_Tensor>:$values);
  let assemblyFormat = "$text (`,` $values^ `:` type($values))? attr-dict";
}

def Graph_ArangeOp : Graph_Op<"arange", [Pure]> {
  let summary = "0, 1, 2, ... along one axis";
  let description = [{
    Constraints:
    * (C1) the result has rank 1.

    Example:
    ```mlir
    %i = gir.arange %n : tensor<?xi64>
    ```
  }];
  let arguments = (ins Graph_Size:$size);
  let results = (outs Graph_IntTensor:$result);
  let assemblyFormat = "$size attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Shape and data movement
//===----------------------------------------------------------------------===//

def Graph_BroadcastOp : Graph_Op<"broadcast", [Pure]> {
  let summary = "Repeats a tensor along new or size-1 axes";
  let description = [{
    Axis `i` of the input becomes axis `axes[i]` of the result; it has the same
    extent there, or the static extent 1 and is repeated (a dynamic extent is
    never repeated: "equals 1" is part of the key). `sizes` gives the dynamic
    extents of the result, in order.

    Constraints:
    * (C1) `axes` has one strictly increasing entry per axis of the input.
    * (C2) there is one size per dynamic extent of the result.
    * (C3) known extents of input and result agree, or the input's is 1.
    * (C4) the element types are one.

    Example:
    ```mlir
    %y = gir.broadcast %b axes = [1] sizes(%m) : tensor<8xf32> -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, DenseI64ArrayAttr:$axes, Variadic<Graph_Size>:$sizes);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{
    $input `axes` `=` $axes (`sizes` `(` $sizes^ `)`)? attr-dict
    `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Graph_TransposeOp : Graph_Op<"transpose", [Pure]> {
  let summary = "Permutes axes";
  let description = [{
    Axis `i` of the result is axis `permutation[i]` of the input.

    Constraints:
    * (C1) `permutation` is one.
    * (C2) known extents agree, and element types.

    Example:
    ```mlir
    %t = gir.transpose %a [1, 0] : tensor<?x8xf32> -> tensor<8x?xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input $permutation attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_ReshapeOp : Graph_Op<"reshape", [Pure]> {
  let summary = "The same elements in row-major order under another shape";
  let description = [{
    Constraints:
    * (C1) there is one size per dynamic extent of the result.
    * (C2) the element types are one, and the numbers of elements, if both are known.

    Example:
    ```mlir
    %y = gir.reshape %x sizes(%n) : tensor<?x8xf32> -> tensor<?xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, Variadic<Graph_Size>:$sizes);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input (`sizes` `(` $sizes^ `)`)? attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Graph_SliceOp : Graph_Op<"slice", [Pure, AttrSizedOperandSegments]> {
  let summary = "Every step-th element from start, along each axis";
  let description = [{
    Constraints:
    * (C1) there is one start and one step per axis; no step is 0.
    * (C2) there is one size per dynamic extent of the result.
    * (C3) the result has the input's rank and element type.

    Example:
    ```mlir
    %y = gir.slice %x starts(%z, %s) steps = [1, 2] sizes(%m, %n) : tensor<?x?xf32> -> tensor<?x?xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, Variadic<Graph_Size>:$starts,
                       DenseI64ArrayAttr:$steps, Variadic<Graph_Size>:$sizes);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{
    $input `starts` `(` $starts `)` `steps` `=` $steps (`sizes` `(` $sizes^ `)`)?
    attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Graph_ConcatOp : Graph_Op<"concat", [Pure]> {
  let summary = "Tensors one after the other along an axis";
  let description = [{
    Constraints:
    * (C1) all inputs have the result's rank and element type.
    * (C2) there is an input, and the axis exists.

    Example:
    ```mlir
    %y = gir.concat %a, %b axis = 1 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$inputs, I64Attr:$axis);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$inputs `axis` `=` $axis attr-dict `:` functional-type($inputs, $result)";
  let hasVerifier = 1;
}

def Graph_TakeOp : Graph_Op<"take", [Pure]> {
  let summary = "Rows of a tensor by index (embedding look-up, index_select)";
  let description = [{
    The axis `axis` of the input is replaced by the axes of `indices`. An index
    out of bounds reads 0; a `gir.check_indices` before it refuses them.

    Constraints:
    * (C1) the axis exists.
    * (C2) the result has the ranks of input and indices less one, and the input's element type.

    Example:
    ```mlir
    %y = gir.take %table, %ids axis = 0 : tensor<?x64xf32>, tensor<?xi64> -> tensor<?x64xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, Graph_IntTensor:$indices, I64Attr:$axis);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $indices `axis` `=` $axis attr-dict
    `:` type($input) `,` type($indices) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Graph_GatherOp : Graph_Op<"gather", [Pure]> {
  let summary = "One element per index along an axis (torch.gather)";
  let description = [{
    `result[i][j] = input[i][indices[i][j]]` for axis 1. The result has the
    shape of `indices`. An index out of bounds reads 0; a `gir.check_indices`
    before it refuses them.

    Constraints:
    * (C1) input, indices and result have one rank.
    * (C2) the axis exists; input and result have one element type.

    Example:
    ```mlir
    %y = gir.gather %x, %ids axis = 1 : tensor<?x?xf32>, tensor<?x4xi64> -> tensor<?x4xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, Graph_IntTensor:$indices, I64Attr:$axis);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $indices `axis` `=` $axis attr-dict
    `:` type($input) `,` type($indices) `->` type($result)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Reductions and scans
//===----------------------------------------------------------------------===//

def Graph_ReduceOp : Graph_Op<"reduce", [Pure]> {
  let summary = "Reduction over axes, which disappear";
  let description = [{
    Accumulates in `accumulate` (default: f32 for f16 and bf16, else the
    element type) and rounds once. NaN propagates; ties of argmax and argmin go
    to the first; an empty reduction gives the neutral element. `var` divides by
    max(n - `correction`, 0).

    Constraints:
    * (C1) the axes are distinct and exist.
    * (C2) the result has the rank of the input less the reduced axes.
    * (C3) `accumulate` is a type of numbers; `correction` is at most 2^31.

    Example:
    ```mlir
    %y = gir.reduce sum %x axes = [1] : tensor<?x?xbf16> -> tensor<?xbf16>
    ```
  }];
  let arguments = (ins Graph_ReduceKind:$kind, Graph_Tensor:$input, DenseI64ArrayAttr:$axes,
                       OptionalAttr<TypeAttr>:$accumulate,
                       DefaultValuedAttr<I64Attr, "1">:$correction);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$kind $input `axes` `=` $axes attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Graph_ScanOp : Graph_Op<"scan", [Pure, SameOperandsAndResultShape]> {
  let summary = "Running reduction along an axis (cumsum, cumprod, cummax)";
  let description = [{
    Element i is the reduction of elements 0..i, left to right, in `accumulate`
    (default: f32 for f16 and bf16, else the element type), rounded once.

    Constraints:
    * (C1) the kind is sum, prod, max or min.
    * (C2) the axis exists; `accumulate` is a type of numbers.

    Example:
    ```mlir
    %y = gir.scan sum %x axis = 1 : tensor<?x?xf32> -> tensor<?x?xf32>
    ```
  }];
  let arguments = (ins Graph_ReduceKind:$kind, Graph_Tensor:$input, I64Attr:$axis,
                       OptionalAttr<TypeAttr>:$accumulate);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$kind $input `axis` `=` $axis attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Linear algebra and composites
//===----------------------------------------------------------------------===//

def Graph_GemmOp : Graph_Op<"gemm", [Pure]> {
  let summary = "(Batched) matrix product";
  let description = [{
    Multiplies the matrices in the last two axes; all earlier axes are batch
    axes with equal extents. A `transpose_` flag means that operand's matrices
    are stored transposed; no copy is implied. Accumulates in `accumulate`
    (default: f32 for floats up to f32, f64 for f64, i32 for i8, else the
    element type) and rounds once.

    Constraints:
    * (C1) `lhs`, `rhs` and `result` have one rank, at least 2.
    * (C2) the reduction sizes of `lhs` and `rhs` agree, if both are known.
    * (C3) the result's extents are those of the operands, if both are known.
    * (C4) operands have one element type; `accumulate` is a type of numbers.

    Example:
    ```mlir
    %c = gir.gemm %a, %b transpose_lhs : tensor<64x128xbf16>, tensor<64x32xbf16> -> tensor<128x32xbf16>
    ```
  }];
  let arguments = (ins Graph_Tensor:$lhs, Graph_Tensor:$rhs, UnitAttr:$transpose_lhs,
                       UnitAttr:$transpose_rhs, OptionalAttr<TypeAttr>:$accumulate,
                       DefaultValuedAttr<StrAttr, "\"ieee\"">:$precision);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`transpose_lhs` $transpose_lhs^)?
    (`transpose_rhs` $transpose_rhs^)? attr-dict
    `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Graph_SoftmaxOp : Graph_Op<"softmax", [Pure, SameOperandsAndResultType]> {
  let summary = "exp(x - max) / sum along an axis";
  let description = [{
    Computed in `accumulate` (default: f32, f64 for f64) and rounded once. A row
    of only minus infinity gives 0.

    Constraints:
    * (C1) the axis exists; `accumulate` is a type of floats.

    Example:
    ```mlir
    %y = gir.softmax %x axis = 1 : tensor<?x?xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$input, I64Attr:$axis, UnitAttr:$log,
                       OptionalAttr<TypeAttr>:$accumulate);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input `axis` `=` $axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Graph_LayerNormOp : Graph_Op<"layer_norm", [Pure]> {
  let summary = "(x - mean) / sqrt(var + eps) over the last axes, times weight plus bias";
  let description = [{
    Normalises over the last `axes` axes, two passes, in `accumulate` (default:
    f32, f64 for f64), rounded once.
    With `rms` the mean is not subtracted. Weight and bias, if present, have the
    normalised axes.

    Constraints:
    * (C1) `axes` is 1 to the rank; the result has the input's type.
    * (C2) there are at most two parameters, of rank `axes`; `accumulate` is a type of floats.

    Example:
    ```mlir
    %y = gir.layer_norm %x, %w, %b axes = 1 eps = 1.0e-05 : tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32> -> tensor<?x?xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$input, Variadic<Graph_FloatTensor>:$parameters,
                       I64Attr:$axes, F64Attr:$eps, UnitAttr:$rms,
                       OptionalAttr<TypeAttr>:$accumulate);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{
    $input (`,` $parameters^)? `axes` `=` $axes `eps` `=` $eps (`rms` $rms^)? attr-dict
    `:` type($input) (`,` type($parameters)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

def Graph_CrossEntropyOp : Graph_Op<"cross_entropy", [Pure]> {
  let summary = "logsumexp(row) - row[target], per row";
  let description = [{
    Logits [..., C] and integer targets [...]; computed in `accumulate`
    (default: f32, f64 for f64). A row whose target is `ignored` gives 0. That
    the other targets lie within C is checked before it.

    Constraints:
    * (C1) targets and result have the rank of the logits less one; `accumulate` is a type of floats.

    Example:
    ```mlir
    %y = gir.cross_entropy %x, %t : tensor<?x?xbf16>, tensor<?xi64> -> tensor<?xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$logits, Graph_IntTensor:$targets,
                       DefaultValuedAttr<I64Attr, "-100">:$ignored, OptionalAttr<TypeAttr>:$accumulate);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$logits `,` $targets attr-dict `:` type($logits) `,` type($targets) `->` type($result)";
  let hasVerifier = 1;
}

def Graph_AttentionOp : Graph_Op<"attention", [Pure]> {
  let summary = "softmax(q k^T * scale + mask) v, never materialised";
  let description = [{
    q [..., H, S, D], k and v [..., HK, T, D]; HK divides H (grouped heads).
    f32 inside, one output rounding. `causal` lets query i see the keys up to
    i + T - S. A row without keys is 0. `scale` is a scalar; without it,
    1 / sqrt(D).

    Constraints:
    * (C1) q, k, v and the result have one rank, at least 2.
    * (C2) they have one element type; a `scale` is a scalar.

    Example:
    ```mlir
    %o = gir.attention %q, %k, %v causal : tensor<?x?x?x?xf16>, tensor<?x?x?x?xf16>, tensor<?x?x?x?xf16> -> tensor<?x?x?x?xf16>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$q, Graph_FloatTensor:$k, Graph_FloatTensor:$v,
                       Optional<Graph_FloatTensor>:$scale, UnitAttr:$causal);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`scale` `(` $scale^ `:` type($scale) `)`)? (`causal` $causal^)? attr-dict
    `:` type($q) `,` type($k) `,` type($v) `->` type($result)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

def Graph_IfOp : Graph_Op<"if", [RecursiveMemoryEffects, RecursivelySpeculatable,
                                 SingleBlock, NoRegionArguments]> {
  let summary = "One of two regions, chosen at run time";
  let description = [{
    Both regions yield the results. `sizes` gives the dynamic extents of the
    results, in order: they are known before either region is run.

    Constraints:
    * (C1) both regions end with a `gir.yield` of values of the results' types.
    * (C2) there is one size per dynamic extent of the results.

    Example:
    ```mlir
    %y = gir.if %c sizes(%n) -> (tensor<?xf32>) {
      %a = gir.exp %x : tensor<?xf32>
      gir.yield %a : tensor<?xf32>
    } else {
      gir.yield %x : tensor<?xf32>
    }
    ```
  }];
  let arguments = (ins Graph_Condition:$condition, Variadic<Graph_Size>:$sizes);
  let results = (outs Variadic<Graph_Tensor>:$results);
  let regions = (region SizedRegion<1>:$thenRegion, SizedRegion<1>:$elseRegion);
  let assemblyFormat = [{
    $condition (`sizes` `(` $sizes^ `)`)? (`->` `(` type($results)^ `)`)? attr-dict-with-keyword
    $thenRegion `else` $elseRegion
  }];
  let hasVerifier = 1;
}

def Graph_ForOp : Graph_Op<"for", [RecursiveMemoryEffects, RecursivelySpeculatable, SingleBlock]> {
  let summary = "A region once per integer from start, by step, before stop";
  let description = [{
    The region's arguments are the counter and the carried values; it yields
    what they are after the turn. A carried value keeps its type and extents.

    Constraints:
    * (C1) the region's arguments are a `tensor<i64>` and the inits' types; it
      ends with a `gir.yield` of those, which are the results' types too.
    * (C2) the step is not 0, and less than 2^40 away from it.

    Example:
    ```mlir
    %y = gir.for %zero to %n step 1 init(%x) : tensor<?xf32> -> tensor<?xf32> {
    ^bb0(%i: tensor<i64>, %a: tensor<?xf32>):
      %b = gir.exp %a : tensor<?xf32>
      gir.yield %b : tensor<?xf32>
    }
    ```
  }];
  let arguments = (ins Graph_Size:$start, Graph_Size:$stop, I64Attr:$step, Variadic<Graph_Tensor>:$inits);
  let results = (outs Variadic<Graph_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $start `to` $stop `step` $step (`init` `(` $inits^ `)` `:` type($inits) `->` type($results))? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Graph_WhileOp : Graph_Op<"while", [RecursiveMemoryEffects, SingleBlock]> {
  let summary = "A region again and again, while a condition holds";
  let description = [{
    Both regions have the carried values as arguments. The first says with
    `gir.condition` whether there is another turn; the second yields the values
    after it. A carried value keeps its type and extents.

    Constraints:
    * (C1) both regions' arguments have the inits' types; the first ends with a
      `gir.condition`, the second with a `gir.yield` of those types.

    Example:
    ```mlir
    %y = gir.while init(%x) : tensor<f32> -> tensor<f32> {
    ^bb0(%a: tensor<f32>):
      %more = gir.compare gt %a, %one : tensor<f32> -> tensor<i1>
      gir.condition %more
    } do {
    ^bb0(%a: tensor<f32>):
      %b = gir.sqrt %a : tensor<f32>
      gir.yield %b : tensor<f32>
    }
    ```
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$inits);
  let results = (outs Variadic<Graph_Tensor>:$results);
  let regions = (region SizedRegion<1>:$test, SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`init` `(` $inits^ `)` `:` type($inits) `->` type($results))? attr-dict-with-keyword $test `do` $body
  }];
  let hasVerifier = 1;
}

def Graph_YieldOp : Graph_Op<"yield", [Pure, Terminator, ParentOneOf<["IfOp", "ForOp", "WhileOp"]>]> {
  let summary = "The values a region of control flow leaves with";
  let arguments = (ins Variadic<Graph_Tensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Graph_ConditionOp : Graph_Op<"condition", [Pure, Terminator, HasParent<"WhileOp">]> {
  let summary = "Whether a gir.while takes another turn";
  let arguments = (ins Graph_Condition:$condition);
  let assemblyFormat = "$condition attr-dict";
}

//===----------------------------------------------------------------------===//
// Kernels and calls
//===----------------------------------------------------------------------===//

def Graph_KernelOp : Graph_Op<"kernel", [IsolatedFromAbove, FunctionOpInterface,
                                         AutomaticAllocationScope, Symbol]> {
  let summary = "A tile program, as Tile IR's value level";
  let description = [{
    The body is what `@tsr.kernel` wrote: views, loads, dots, reductions and
    stores, no layouts. Tensor arguments are memrefs with any strides; scalars
    are i64, f64 or i1. Argument attributes: `gir.name`, `gir.dims`, `gir.mode`.

    Constraints:
    * (C1) it has one block, which ends with `tile.return`, and no results.
    * (C2) arguments are memrefs with strides, of rank 8 at most, or numbers.

    Example:
    ```mlir
    gir.kernel @copy(%x: memref<?xf32, strided<[?]>>, %y: memref<?xf32, strided<[?]>>) {
      %n = tile.dim %x, 0 : memref<?xf32, strided<[?]>>
      %i = tile.program extents(%n) tiles = [64] : !tile.range<64>
      %t = tile.load %x[%i] : memref<?xf32, strided<[?]>>, !tile.range<64> -> tensor<64xf32>
      tile.store %t, %y[%i] : tensor<64xf32>, memref<?xf32, strided<[?]>>, !tile.range<64>
      tile.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
  let hasVerifier = 1;
}

def Graph_CallKernelOp : Graph_Op<"call_kernel", [AttrSizedOperandSegments]> {
  let summary = "Runs a kernel on tensors; written arguments are its results";
  let description = [{
    `inputs` are the arguments in the kernel's order; an `out` argument has no
    input, an `inout` or `reduce_*` one has an input (its value before) and a
    result. `sizes` gives the dynamic extents of the results of `out`
    arguments, in order.

    Example:
    ```mlir
    %y = gir.call_kernel @copy(%x) sizes(%n) : (tensor<?xf32>) -> tensor<?xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyType>:$inputs, Variadic<Graph_Size>:$sizes);
  let results = (outs Variadic<Graph_Tensor>:$results);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` (`sizes` `(` $sizes^ `)`)? attr-dict
    `:` functional-type($inputs, $results)
  }];
}

#endif // TESSERA_GRAPH_OPS_TD
