//===- Passes.h - Tiles over the threads of a block -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_TARGET_SIMT_MAPPING_PASSES_H
#define TESSERA_COMPILER_TARGET_SIMT_MAPPING_PASSES_H

#include "compiler/Target/SIMT/Machine.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace tessera::simt {

#define GEN_PASS_DECL
#include "compiler/Target/SIMT/Mapping/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/Target/SIMT/Mapping/Passes.h.inc"

/// From the value level to the mapped one, for `machine`.
void buildMappedPipeline(mlir::OpPassManager &manager, const Machine &machine);

} // namespace tessera::simt

#endif // TESSERA_COMPILER_TARGET_SIMT_MAPPING_PASSES_H
