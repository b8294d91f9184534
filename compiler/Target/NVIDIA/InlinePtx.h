//===- InlinePtx.h - Instructions that LLVM hands on as text --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_TARGET_NVIDIA_INLINEPTX_H
#define TESSERA_COMPILER_TARGET_NVIDIA_INLINEPTX_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace tessera::target {

/// `constraints` as LLVM has them, "=r,l,b": results first, then operands.
mlir::LLVM::InlineAsmOp
createInlinePtx(mlir::OpBuilder &builder, mlir::Location loc,
                mlir::TypeRange results, mlir::ValueRange operands,
                llvm::StringRef text, llvm::StringRef constraints,
                bool hasSideEffects);

/// LLVM ends the process where registers, constraints and the places in the
/// text do not belong together.
mlir::LogicalResult verifyInlinePtx(mlir::LLVM::InlineAsmOp code);

} // namespace tessera::target

#endif // TESSERA_COMPILER_TARGET_NVIDIA_INLINEPTX_H
