//===- CpuMaterialise.h - Which tiles get a scratch buffer ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile is either *virtual*, computed again in every nest that reads it, or
// *materialised* in a buffer. Loops carry, matrix steps, reductions and scans
// make materialised tiles; element-wise values become materialised when
// computing them again would cost more than a trip through L1.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TARGET_CPU_MAPPING_CPUMATERIALISE_H
#define TESSERA_COMPILER_TARGET_CPU_MAPPING_CPUMATERIALISE_H

#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/DenseSet.h"

namespace tessera::cpu {

class CpuMaterialise {
public:
  explicit CpuMaterialise(tile::FuncOp func);

  /// An op that computes or consumes whole tiles at its place: never virtual.
  static bool isRoot(mlir::Operation *op);
  /// Axes of operands and result are the same, element by element.
  static bool isElementwise(mlir::Operation *op);

  bool isMaterialised(mlir::Value tile) const;
  /// Would computing it again cost more than a trip through L1 or L2?
  bool isExpensive(mlir::Value tile);

  /// A place where a tile is read: in the block of its definition.
  struct Reader {
    mlir::Operation *op;
    bool aligned; ///< only the element that is being computed
  };
  llvm::SmallVector<Reader> readers(mlir::Value root) const;

  int64_t position(mlir::Operation *op) const { return positions.lookup(op); }

private:
  bool decide(mlir::Value tile);
  int64_t cost(mlir::Value tile);
  bool conflictsWithStores(tile::LoadOp load) const;

  llvm::DenseMap<mlir::Operation *, int64_t> positions;
  llvm::DenseSet<mlir::Value> materialised;
  llvm::DenseMap<mlir::Value, int64_t> costs;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Operation *>> writers;
};

} // namespace tessera::cpu

#endif // TESSERA_COMPILER_TARGET_CPU_MAPPING_CPUMATERIALISE_H
