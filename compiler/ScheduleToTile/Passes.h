//===- Passes.h - Schedule IR to Tile IR: passes ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_SCHEDULETOTILE_PASSES_H
#define TESSERA_COMPILER_SCHEDULETOTILE_PASSES_H

#include "compiler/Schedule/IR/Payload.h"
#include "compiler/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"

namespace tessera::tile {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/ScheduleToTile/Passes.h.inc"

/// Adds the step into stage 3 to `pm`: Schedule IR in, Tile IR's value level
/// and plans out.
void buildScheduleToTilePipeline(mlir::OpPassManager &pm);

/// The passes of this step, for command-line drivers.
void registerScheduleToTilePipeline();

} // namespace tessera::tile

#endif // TESSERA_COMPILER_SCHEDULETOTILE_PASSES_H
