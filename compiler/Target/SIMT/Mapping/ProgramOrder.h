//===- ProgramOrder.h - Which program of the grid a number is ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_TARGET_SIMT_MAPPING_PROGRAMORDER_H
#define TESSERA_COMPILER_TARGET_SIMT_MAPPING_PROGRAMORDER_H

#include "compiler/Tile/IR/Tile.h"

namespace tessera::simt {

/// Where program number `linear` (index) of the grid stands on each axis, which
/// has `counts` programs: the first axis varies slowest, but for groups
/// (tile.program).
llvm::SmallVector<mlir::Value> placesOf(mlir::OpBuilder &builder,
                                        mlir::Location loc, tile::ProgramOp op,
                                        llvm::ArrayRef<mlir::Value> counts,
                                        mlir::Value linear);

} // namespace tessera::simt

#endif // TESSERA_COMPILER_TARGET_SIMT_MAPPING_PROGRAMORDER_H
