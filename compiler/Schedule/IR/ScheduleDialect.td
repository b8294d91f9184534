// Schedule IR: the dialect and its attributes. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_SCHEDULE_DIALECT_TD
#define TESSERA_SCHEDULE_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"

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
  let useDefaultAttributePrinterParser = 1;
}

class Schedule_Op<string mnemonic, list<Trait> traits = []>
    : Op<Schedule_Dialect, mnemonic, traits>;

def Schedule_ParamAttr : AttrDef<Schedule_Dialect, "Param"> {
  let mnemonic = "param";
  let summary = "One decision: its value, the alternatives, who decided";
  let description = [{
    `by` is user, tuner, profile, model or default.

    Example: `#sched.param<128, [64, 128, 256], default>`
  }];
  let parameters = (ins "int64_t":$value, ArrayRefParameter<"int64_t">:$range, "::mlir::StringAttr":$by);
  let hasCustomAssemblyFormat = 1;
}

#endif // TESSERA_SCHEDULE_DIALECT_TD
