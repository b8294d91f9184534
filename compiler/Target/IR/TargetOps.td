// Target IR: the ops every machine shares. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_TARGET_OPS_TD
#define TESSERA_TARGET_OPS_TD

include "compiler/Target/IR/TargetDialect.td"
include "mlir/Dialect/LLVMIR/LLVMOpBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Target_KernelOp : Target_Op<"kernel", [IsolatedFromAbove, FunctionOpInterface,
                                           AutomaticAllocationScope, Symbol]> {
  let summary = "One kernel of one machine";
  let description = [{
    Example:
    ```mlir
    tessera_target.kernel @k(%p: !llvm.ptr) attributes {config = #tessera_target.kernel_config<grid = [], block = [1, 1], shared = 0, regs = 0>} {
      tessera_target.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<Target_KernelConfigAttr>:$config,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
}

def Target_ReturnOp : Target_Op<"return", [Pure, Terminator, ReturnLike]> {
  let summary = "End of a kernel";
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ /* nothing returned */ }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Target_AllocateOp : Target_Op<"allocate", [MemoryEffects<[MemAlloc]>]> {
  let summary = "Memory from a pool";
  let description = [{
    Constraints:
    * (C1) `pool` is device, managed, pinned, shared or scratch; `align` is a power of two.

    Example:
    ```mlir
    %p = tessera_target.allocate %size pool = "device" align = 128 zero_initialize = false : i64 -> !llvm.ptr<1>
    ```
  }];
  let arguments = (ins AnySignlessIntegerOrIndex:$size, StrAttr:$pool,
                       DefaultValuedAttr<I64Attr, "64">:$align,
                       DefaultValuedAttr<BoolAttr, "false">:$zero_initialize);
  let results = (outs LLVM_AnyPointer:$pointer);
  let assemblyFormat = [{
    $size `pool` `=` $pool `align` `=` $align `zero_initialize` `=` $zero_initialize
    attr-dict `:` type($size) `->` type($pointer)
  }];
  let hasVerifier = 1;
}

def Target_AssertOp : Target_Op<"assert", []> {
  let summary = "Fails the launch where the condition is false";
  let arguments = (ins I1:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `message` `=` $message attr-dict";
}

def Target_CallOp : Target_Op<"call", []> {
  let summary = "Calls a function of the runtime";
  let description = [{
    With a `text`, its address and length are the first two arguments.

    Example:
    ```mlir
    tessera_target.call "tsr_print_begin" text "x is {}" (%program) : i64
    ```
  }];
  let arguments = (ins StrAttr:$callee, OptionalAttr<StrAttr>:$text, Variadic<AnyType>:$arguments);
  let assemblyFormat = "$callee (`text` $text^)? `(` $arguments `)` attr-dict (`:` type($arguments)^)?";
}

def Target_BreakpointOp : Target_Op<"breakpoint", []> {
  let summary = "A place for a debugger";
  let arguments = (ins StrAttr:$label);
  let assemblyFormat = "`label` `=` $label attr-dict";
}

#endif // TESSERA_TARGET_OPS_TD
