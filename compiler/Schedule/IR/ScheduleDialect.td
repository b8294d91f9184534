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

#endif // TESSERA_SCHEDULE_DIALECT_TD
