//===- PadRows.h - Temporaries of a plan with padded rows -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_TARGET_CPU_MAPPING_PADROWS_H
#define TESSERA_COMPILER_TARGET_CPU_MAPPING_PADROWS_H

#include "compiler/Plan/IR/Plan.h"

namespace tessera::cpu {

/// Rows that are an odd number of cache lines apart: AMX reads them where they
/// lie, and they do not push each other out of the first-level cache. For a
/// temporary of i8 or bf16, unless something relies on its strides.
void padRows(mlir::Value tensor);

} // namespace tessera::cpu

#endif // TESSERA_COMPILER_TARGET_CPU_MAPPING_PADROWS_H
