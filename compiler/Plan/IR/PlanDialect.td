// The plan: the dialect, its type and attributes. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_PLAN_DIALECT_TD
#define TESSERA_PLAN_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::tessera::plan";
  let summary = "The host program of a function: what to allocate, check and launch";
  let description = [{
    A `plan.func` stands beside the kernels it launches, from stage tile-value
    on. Passes that make variants of a kernel change it as any other IR;
    `compiler/Plan/Export.cpp` is the only place that writes the text of
    docs/abi.md section 3, which the runtime reads.

    Integers are values of type `index`, conditions of type `i1`: ops of `arith`,
    which are expressions. They are computed where a step uses them, and only if
    it does: `arith.select` chooses which side is computed. An overflow or a
    division by zero ends the run with an error. Branches and loops are `scf.if`
    and `scf.while`, which carry integers; a loop that carries a tensor swaps
    two (`plan.swap`).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
  let useDefaultTypePrinterParser = 1;
}

class Plan_Op<string mnemonic, list<Trait> traits = []>
    : Op<Plan_Dialect, mnemonic, traits>;

// An op that gives its result a name, which is printed.
class Plan_NamedOp<string mnemonic, list<Trait> traits = []>
    : Plan_Op<mnemonic, traits # [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let extraClassDefinition = [{
    void $cppClass::getAsmResultNames(::mlir::OpAsmSetValueNameFn set) {
      set(getResult(), getName());
    }
  }];
}

def Plan_Tensor : TypeDef<Plan_Dialect, "PlanTensor"> {
  let mnemonic = "tensor";
  let summary = "Memory with a size and a stride in elements for each axis";
  let description = [{
    Sizes and strides belong to the value, not to the type: `plan.size` and
    `plan.stride` ask for them.

    Example: `!plan.tensor<f32, 2>`
  }];
  let parameters = (ins "::mlir::Type":$element, "int64_t":$rank);
  let assemblyFormat = "`<` $element `,` $rank `>`";
  let genVerifyDecl = 1;
}

def Plan_Mode : I32EnumAttr<"Mode", "What a call does with an argument", [
    I32EnumAttrCase<"In", 0, "in">,
    I32EnumAttrCase<"Out", 1, "out">,
    I32EnumAttrCase<"InOut", 2, "inout">,
    I32EnumAttrCase<"Reduce", 3, "reduce">]> {
  let cppNamespace = "::tessera::plan";
}

#endif // TESSERA_PLAN_DIALECT_TD
