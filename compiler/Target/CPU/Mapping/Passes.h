//===- Passes.h - The CPU's passes on Tile IR -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_TARGET_CPU_MAPPING_PASSES_H
#define TESSERA_COMPILER_TARGET_CPU_MAPPING_PASSES_H

#include "compiler/Tile/IR/Tile.h"

#include "mlir/Pass/Pass.h"

namespace tessera::cpu {

#define GEN_PASS_DECL
#include "compiler/Target/CPU/Mapping/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/Target/CPU/Mapping/Passes.h.inc"

} // namespace tessera::cpu

#endif // TESSERA_COMPILER_TARGET_CPU_MAPPING_PASSES_H
