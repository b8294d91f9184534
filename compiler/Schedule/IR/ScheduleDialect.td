// Schedule IR: the dialect and its attributes. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_SCHEDULE_DIALECT_TD
#define TESSERA_SCHEDULE_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Schedule_Dialect : Dialect {
  let name = "sched";
  let cppNamespace = "::tessera::schedule";
  let summary = "How it is computed: which ops make one kernel, tile sizes, placement; who decided";
  let description = [{
    Stage 2 of 4. Every `sched.fuse` becomes one kernel. Its payload is a handful
    of primitives (`linalg` on tensors; `gir` ops that are primitives themselves:
    gemm, attention, scan, gather), its head the decisions: `sched.tile`,
    `sched.pipeline`, `sched.place`, `sched.autotune`. Each decision is a
    `#sched.param` that names its value, the alternatives and who chose it.
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
  let useDefaultAttributePrinterParser = 1;
}

class Schedule_Op<string mnemonic, list<Trait> traits = []>
    : Op<Schedule_Dialect, mnemonic, traits>;

class Schedule_Enum<string name, string what, list<I32EnumAttrCase> cases> : I32EnumAttr<name, what, cases> {
  let cppNamespace = "::tessera::schedule";
}

def Schedule_LoopKind : Schedule_Enum<"LoopKind", "how a loop of a kernel is done", [
    I32EnumAttrCase<"Grid", 0, "grid">, I32EnumAttrCase<"Loop", 1, "loop">,
    I32EnumAttrCase<"Whole", 2, "whole">]>;

def Schedule_Placement : Schedule_Enum<"Placement", "what is placed", [
    I32EnumAttrCase<"Threads", 0, "threads">, I32EnumAttrCase<"Vector", 1, "vector">,
    I32EnumAttrCase<"Unroll", 2, "unroll">, I32EnumAttrCase<"Group", 3, "group">,
    I32EnumAttrCase<"NumWarps", 4, "num_warps">, I32EnumAttrCase<"Pack", 5, "pack">,
    I32EnumAttrCase<"SplitK", 6, "split_k">, I32EnumAttrCase<"Stream", 7, "stream">,
    I32EnumAttrCase<"Fuse", 8, "fuse">]>;

def Schedule_PartialKind : Schedule_Enum<"PartialKind", "how a chunk is reduced", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">,
    I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">,
    I32EnumAttrCase<"Any", 4, "any">, I32EnumAttrCase<"All", 5, "all">]>;

def Schedule_Decider : Schedule_Enum<"Decider", "who decided", [
    I32EnumAttrCase<"User", 0, "user">, I32EnumAttrCase<"Tuner", 1, "tuner">,
    I32EnumAttrCase<"Profile", 2, "profile">, I32EnumAttrCase<"Model", 3, "model">,
    I32EnumAttrCase<"Default", 4, "default">]> {
  let genSpecializedAttr = 0;
}

def Schedule_ParamAttr : AttrDef<Schedule_Dialect, "Param"> {
  let mnemonic = "param";
  let summary = "One decision: its value, the alternatives, who decided";
  let description = [{
    `by` is user, tuner, profile, model or default.

    Example: `#sched.param<128, [64, 128, 256], default>`
  }];
  let parameters = (ins "int64_t":$value, ArrayRefParameter<"int64_t">:$range, "::tessera::schedule::Decider":$by);
  let hasCustomAssemblyFormat = 1;
}

def Schedule_VariantForm : Schedule_Enum<"VariantForm", "how a variant computes a product or attention", [
    I32EnumAttrCase<"Product", 0, "product">, I32EnumAttrCase<"Turned", 1, "turned">,
    I32EnumAttrCase<"Row", 2, "row">, I32EnumAttrCase<"Head", 3, "head">]>;

def Schedule_Layout : Schedule_Enum<"RightLayout", "how the right operand of a product must lie in memory", [
    I32EnumAttrCase<"Any", 0, "any">, I32EnumAttrCase<"ColumnMajor", 1, "column_major">,
    I32EnumAttrCase<"NotColumnMajor", 2, "not_column_major">, I32EnumAttrCase<"NearRowMajor", 3, "near_row_major">]>;

def Schedule_WhenAttr : AttrDef<Schedule_Dialect, "When"> {
  let mnemonic = "when";
  let summary = "The calls that a variant of a product is for";
  let description = [{
    Bounds of the product's rows, columns and depth, each the least and the most
    (0: any; the depth of attention is its head size), and how its right operand lies in memory: `column_major` has
    stride 1 along a column, `near_row_major` has stride 1 along a row and is
    small enough to be read from a near cache again and again.

    Example: `#sched.when<rows = [0, 16], depth = [256, 0], right = column_major>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$rows, ArrayRefParameter<"int64_t">:$columns,
                        ArrayRefParameter<"int64_t">:$depth, "::tessera::schedule::RightLayout":$right);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Schedule_VariantAttr : AttrDef<Schedule_Dialect, "Variant"> {
  let mnemonic = "variant";
  let summary = "Another way to compute a fused product or attention, for some calls";
  let description = [{
    `name` is what the kernel's name ends with, `tiles` are those of rows,
    columns and depth. `product` changes tiles only. `turned` computes
    `(B^T A^T)^T`, which reads the columns of B along memory. `row` is the
    product of one row: a sum along each column of B. `head` is attention whose
    heads are padded to the one tile that it has.

    Example: `#sched.variant<thin4, product, [4, 1024, 64], <rows = [0, 4]>>`
  }];
  let parameters = (ins StringRefParameter<>:$name, "::tessera::schedule::VariantForm":$form,
                        ArrayRefParameter<"int64_t">:$tiles, "::tessera::schedule::WhenAttr":$when);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // TESSERA_SCHEDULE_DIALECT_TD
