//===- Passes.h - The lowering of tiles to threads --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_TARGET_SIMT_LOWERING_PASSES_H
#define TESSERA_COMPILER_TARGET_SIMT_LOWERING_PASSES_H

#include "compiler/Target/IR/Target.h"
#include "compiler/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"

namespace tessera::simt {

#define GEN_PASS_DECL
#include "compiler/Target/SIMT/Lowering/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/Target/SIMT/Lowering/Passes.h.inc"

} // namespace tessera::simt

#endif // TESSERA_COMPILER_TARGET_SIMT_LOWERING_PASSES_H
