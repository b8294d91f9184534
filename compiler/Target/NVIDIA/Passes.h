//===- Passes.h - Passes of the NVIDIA target -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_TARGET_NVIDIA_PASSES_H
#define TESSERA_COMPILER_TARGET_NVIDIA_PASSES_H

#include "compiler/Target/IR/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tessera::target {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Target/NVIDIA/Passes.h.inc"
} // namespace tessera::target

#endif // TESSERA_COMPILER_TARGET_NVIDIA_PASSES_H
