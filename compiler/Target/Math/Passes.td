// Declares the pass target-expand-math.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_TARGET_MATH_PASSES
#define TESSERA_TARGET_MATH_PASSES

include "mlir/Pass/PassBase.td"

def ExpandMathPass : Pass<"target-expand-math"> {
  let summary = "Replace float32 math functions by plain arithmetic";
  let description = [{
    Every target computes the same bits, within 2 ULP, without a math library:
    libm differs between machines, is scalar, and does not exist on GPUs.
    `exp exp2 expm1 log log2 log1p rsqrt sin cos sincos tanh erf powf` of f32
    become `arith` ops, `math.fma`, `math.sqrt` and `math.floor`. f16 and bf16
    are computed in f32 and rounded once more; f64 is left alone, unless
    `expand-doubles` is given (machines without a math library).

    Before:
    ```mlir
    %y = math.rsqrt %x : vector<16xf32>
    ```
    After:
    ```mlir
    %one = arith.constant dense<1.0> : vector<16xf32>
    %s = math.sqrt %x : vector<16xf32>
    %y = arith.divf %one, %s : vector<16xf32>
    ```
  }];
  // createExpandMathPass takes the options struct of ExpandMath.h.
  let constructor = "tessera::target::createExpandMathPass()";
  let options = [
    Option<"branchOnLargeArguments", "branch-on-large-arguments", "bool",
           /*default=*/"false",
           "Compute the argument reduction of sin and cos for |x| > 20000 only "
           "if an element needs it, behind an scf.if">,
    Option<"expandDoubles", "expand-doubles", "bool", /*default=*/"false",
           "Expand f64 scalars, too">,
    Option<"avx512", "avx512", "bool", /*default=*/"false",
           "Use instructions of AVX-512 for vectors of 16 lanes">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect",
  ];
}

#endif // TESSERA_TARGET_MATH_PASSES
