//===- Passes.h - The passes of Tile IR -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_TILE_TRANSFORMS_PASSES_H
#define TESSERA_COMPILER_TILE_TRANSFORMS_PASSES_H

#include "compiler/Tile/IR/Tile.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace tessera::tile {

#define GEN_PASS_DECL
#include "compiler/Tile/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/Tile/Transforms/Passes.h.inc"

/// Adds a pass on kernels. It is done with all of them before the next pass
/// begins: what is observed after it is a module of one level.
void addKernelPass(mlir::OpPassManager &manager,
                   std::unique_ptr<mlir::Pass> pass);

} // namespace tessera::tile

#endif // TESSERA_COMPILER_TILE_TRANSFORMS_PASSES_H
