// Graph IR: the dialect. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_GRAPH_DIALECT_TD
#define TESSERA_GRAPH_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"

def Graph_Dialect : Dialect {
  let name = "gir";
  let cppNamespace = "::tessera::graph";
  let summary = "What is computed: whole-tensor ops with named dims, effects and precision";
  let description = [{
    Stage 1 of 4. A program here says what is computed, and nothing about loops,
    tiles or threads. Values are plain builtin tensors whose element type is the
    storage type; a run-time scalar is a tensor of rank 0. A function is a
    `func.func`; its arguments carry `gir.name`, `gir.dims` (one string per axis)
    and, for kernels, `gir.mode` (`in`, `out`, `inout`, `reduce_sum`, ...).
    A tile program stands in a `gir.kernel` as Tile IR's value level.
  }];
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

class Graph_Op<string mnemonic, list<Trait> traits = []>
    : Op<Graph_Dialect, mnemonic, traits>;

def Graph_ReduceKind : I32EnumAttr<"ReduceKind", "what a reduction computes", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">,
    I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">,
    I32EnumAttrCase<"Any", 4, "any">, I32EnumAttrCase<"All", 5, "all">,
    I32EnumAttrCase<"Argmax", 6, "argmax">, I32EnumAttrCase<"Argmin", 7, "argmin">,
    I32EnumAttrCase<"Mean", 8, "mean">, I32EnumAttrCase<"Var", 9, "var">,
    I32EnumAttrCase<"Logsumexp", 10, "logsumexp">]> {
  let cppNamespace = "::tessera::graph";
}

def Graph_CompareKind : I32EnumAttr<"CompareKind", "how two elements are compared", [
    I32EnumAttrCase<"Eq", 0, "eq">, I32EnumAttrCase<"Ne", 1, "ne">,
    I32EnumAttrCase<"Lt", 2, "lt">, I32EnumAttrCase<"Le", 3, "le">,
    I32EnumAttrCase<"Gt", 4, "gt">, I32EnumAttrCase<"Ge", 5, "ge">]> {
  let cppNamespace = "::tessera::graph";
}

#endif // TESSERA_GRAPH_DIALECT_TD
