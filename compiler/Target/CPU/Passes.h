//===- Passes.h - The passes of the CPU target ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_TARGET_CPU_PASSES_H
#define TESSERA_COMPILER_TARGET_CPU_PASSES_H

#include "compiler/Target/IR/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace tessera::target {

#define GEN_PASS_DECL
#include "compiler/Target/CPU/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/Target/CPU/Passes.h.inc"

} // namespace tessera::target

#endif // TESSERA_COMPILER_TARGET_CPU_PASSES_H
