//===- NarrowTypes.h - What may be done with i8 and fp8 ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_FRONTEND_NARROWTYPES_H
#define TESSERA_COMPILER_FRONTEND_NARROWTYPES_H

#include "compiler/Frontend/Diagnostics.h"
#include "compiler/Frontend/Promotion.h"

#include "mlir/IR/BuiltinOps.h"

namespace tessera::frontend {

/// Only loaded, converted, multiplied (@) and stored: fp8_e4m3 fp8_e5m2 i8.
bool isStorageOnly(DType dtype);

/// Refuses other uses of them, at their line. Looked at once, in the finished
/// program; `whole` is where to point if a line is not known.
mlir::LogicalResult checkNarrowTypes(mlir::ModuleOp module,
                                     const SourceRange &whole,
                                     DiagnosticEngine &diags);

/// Marks the weights of a product of 16-bit floats, which are summed and
/// rounded and nothing else: their exp2 need not be nearer than 13 bits
/// (fastmath<afn>; docs/language.md, section 7).
void markWeights(mlir::ModuleOp module);

} // namespace tessera::frontend

#endif // TESSERA_COMPILER_FRONTEND_NARROWTYPES_H
