// Target IR: the dialect and its attributes. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_TARGET_DIALECT_TD
#define TESSERA_TARGET_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"

def Target_Dialect : Dialect {
  let name = "tessera_target";
  let cppNamespace = "::tessera::target";
  let summary = "How one machine says it: kernels, memory, instructions";
  let description = [{
    Stage 4 of 4. A kernel of one machine: its launch configuration, its memory
    and, as payload, that machine's dialects (`vector`, `amx`, `x86vector`,
    `llvm`; `nvvm`; `rocdl`).
  }];
  let useDefaultAttributePrinterParser = 1;
}

class Target_Op<string mnemonic, list<Trait> traits = []>
    : Op<Target_Dialect, mnemonic, traits>;

def Target_KernelConfigAttr : AttrDef<Target_Dialect, "KernelConfig"> {
  let mnemonic = "kernel_config";
  let summary = "Launch configuration: grid, block, shared bytes, registers";
  let description = [{
    On the CPU: `grid` is [] (the plan computes it), `block` [1, 1], `shared`
    the bytes of a thread's scratch memory, `regs` 0.

    Example: `#tessera_target.kernel_config<grid = [128, 64], block = [256, 1], shared = 49152, regs = 128>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$grid, ArrayRefParameter<"int64_t">:$block,
                        "int64_t":$shared, "int64_t":$regs);
  let hasCustomAssemblyFormat = 1;
}

def Target_ThreadConfigAttr : AttrDef<Target_Dialect, "ThreadConfig"> {
  let mnemonic = "thread_config";
  let summary = "How threads cover a tile: their grid, and the elements of each";
  let description = [{
    Constraints:
    * (C1) the grid has at most 1024 threads, each with one element or more.

    Example: `#tessera_target.thread_config<[16, 16], 4>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$grid, "int64_t":$elements);
  let assemblyFormat = "`<` `[` $grid `]` `,` $elements `>`";
  let genVerifyDecl = 1;
}

#endif // TESSERA_TARGET_DIALECT_TD
