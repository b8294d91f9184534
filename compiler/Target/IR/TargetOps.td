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
    Attributes beside `config`: `arch`, the machine's name (sm_90 is promoted to
    sm_90a); `threads`, a `thread_config`, for the block of a kernel without
    `config`; `cluster`, blocks of a cluster; `tessera.debug_info`, a dictionary
    of `source_location` ("file:line", which the kernel's code names),
    `variable_names` (for people: nothing reads them) and `optimization_level`
    (0: LLVM leaves the code as it is).

    `config` may stand before the body, without `attributes`, as in
    `tessera_target.kernel @k() config = #tessera_target.kernel_config<...> {}`;
    a body without an end gets a `return`.

    Constraints:
    * (C1) `arch` is an architecture.
    * (C2) block, shared memory and registers of `config` fit it.
    * (C3) it has clusters, and the cluster's blocks are at most 8 (16 where the launch allows what is not portable).
    * (C4) `tessera.debug_info` has these entries, of these types.
    * (C5) `threads` and the block of `config` have the same threads.
    * (C6) `config` has up to three sizes of grid and block, 2^31 blocks and 1024 threads at most.

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
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    /// The name of its machine (`arch`), or null.
    ::mlir::StringAttr getMachine() { return (*this)->getAttrOfType<::mlir::StringAttr>("arch"); }
    void setMachine(::mlir::StringAttr name) { (*this)->setAttr("arch", name); }
    /// Names a machine, or has threads; a kernel of the CPU has one.
    bool isForGpu();
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
    The clauses stand in any order; `align` is 64 and `zero_initialize` false
    unless they are there. A `size` whose type is left out is an i64.

    Constraints:
    * (C1) `pool` is device, managed, pinned, shared or scratch; `align` is a power of two up to 4096.

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
    $size custom<AllocateClauses>($pool, $align, $zero_initialize)
    attr-dict `:` custom<AllocateTypes>(type($size), type($pointer))
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

def Target_MemcpyOp : Target_Op<"memcpy", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Copies bytes between memories";
  let description = [{
    In a kernel all threads of the block take part, 16 bytes each at a time;
    the copy has arrived for everybody when the op is done unless `async`, and
    then at the next copy that is not. Addresses are multiples of 16 bytes; any
    number of bytes. The clauses stand in any order; a copy without `async` is
    none; a `size` whose type is left out is an i64.

    Constraints:
    * (C1) `kind` is global_to_shared, shared_to_global, global_to_global or, on the host, device_to_device, host_to_device or device_to_host.
    * (C2) the pointers' address spaces are those of `kind`: 1 is global, 3 shared.
    * (C3) an `async` copy into shared memory needs cp.async: sm_80 and newer.
    * (C4) a `stream` is for copies on the host.

    Example:
    ```mlir
    tessera_target.memcpy %shared, %global, %bytes kind = "global_to_shared" async = true : !llvm.ptr<3>, !llvm.ptr<1>, i64
    ```
  }];
  let arguments = (ins LLVM_AnyPointer:$dest, LLVM_AnyPointer:$source, AnySignlessIntegerOrIndex:$size,
                       StrAttr:$kind, DefaultValuedAttr<BoolAttr, "false">:$async,
                       Optional<I64>:$stream);
  let assemblyFormat = [{
    $dest `,` $source `,` $size custom<MemcpyClauses>($kind, $async, $stream)
    attr-dict `:` custom<MemcpyTypes>(type($dest), type($source), type($size))
  }];
  let hasVerifier = 1;
}

def Target_TensorCoreOp : Target_Op<"tensor_core", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "One matrix instruction";
  let description = [{
    D = A B + C by one `mma`, `wgmma` or `tcgen05` instruction. `shape` is
    [M, N, K], `precision` the operands' type (fp16, bf16, tf32, fp8_e4m3,
    fp8_e5m2, i8, fp64) and `layout` "nt" or "nn": a left operand of rows, a
    right one of columns or rows. `mma` takes its fragments' registers as
    vectors: 32-bit words of the operands, elements of the accumulator. The
    clauses stand in any order; `layout` is "nt" unless it is there.

    Constraints:
    * (C1) the machine has the instruction for these types: its kernel's `arch`, or this op's.
    * (C2) the shape is one of those the architecture's table has for them.
    * (C3) `mma` has three operands and the result's type is the accumulator's.
    * (C4) `layout` is "nt" for mma, and for wgmma of types other than fp16 and bf16.

    Example:
    ```mlir
    %d = tessera_target.tensor_core "mma" (%a, %b, %c) shape = [16, 8, 16] layout = "nt" precision = "fp16" {arch = "sm_80"} : (vector<4xi32>, vector<2xi32>, vector<4xf32>) -> vector<4xf32>
    ```
  }];
  let arguments = (ins StrAttr:$instruction, Variadic<AnyType>:$operands_, DenseI64ArrayAttr:$shape,
                       StrAttr:$layout, StrAttr:$precision);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $instruction `(` $operands_ `)` custom<TensorCoreClauses>($shape, $layout, $precision)
    attr-dict `:` functional-type($operands_, $result)
  }];
  let hasVerifier = 1;
}

def Target_PtxInstrOp : Target_Op<"ptx_instr", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "One PTX instruction by its name";
  let description = [{
    `constraints` gives each operand's register (`operand0 = "r"`, and so on:
    r 32-bit, l 64-bit, h 16-bit, f f32, d f64, b predicate, n a number; `+`
    before it: written too); without it they follow from the types. Operands
    stand in the order of the PTX instruction, the result first; a pointer is an
    address in brackets, a vector a list of registers in braces. `latency` is
    for schedulers and changes nothing.

    Constraints:
    * (C1) the name is an instruction of PTX, made of words that it has, and its machine has it.
    * (C2) names that the documents spell otherwise than PTX does are refused with the right spelling.
    * (C3) constraints are known letters, one for each operand.

    Example:
    ```mlir
    %r = tessera_target.ptx_instr "brev.b32" (%x) {constraints = {operand0 = "r"}, latency = 4 : i64} : (i32) -> i32
    ```
  }];
  let arguments = (ins StrAttr:$instruction, Variadic<AnyType>:$operands_,
                       OptionalAttr<DictionaryAttr>:$constraints, OptionalAttr<I64Attr>:$latency);
  let results = (outs Variadic<AnyType>:$results_);
  let assemblyFormat = [{
    $instruction `(` $operands_ `)` attr-dict `:` functional-type($operands_, $results_)
  }];
  let hasVerifier = 1;
}

#endif // TESSERA_TARGET_OPS_TD
