//===- IndexValues.h - Index arithmetic of a call, as numbers ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_TILE_ANALYSIS_INDEXVALUES_H
#define TESSERA_COMPILER_TILE_ANALYSIS_INDEXVALUES_H

#include "compiler/Tile/IR/Tile.h"

#include <optional>

namespace tessera::tile {

/// Numbers of a kernel where its shapes are known: exact, or the mean over its
/// programs and the turns of its loops.
class IndexValues {
public:
  std::optional<double> find(mlir::Value value) const;
  void set(mlir::Value value, double number) { known[value] = number; }
  /// What `arith` computes of known numbers; nothing of others.
  void compute(mlir::Operation *op);

private:
  llvm::DenseMap<mlir::Value, double> known;
};

} // namespace tessera::tile

#endif // TESSERA_COMPILER_TILE_ANALYSIS_INDEXVALUES_H
