//===- CpuMapper.h - Rewrites one tile program into nests -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks a value-level function in order and builds the mapped one. At every
// root (store, reduction, matrix step, materialised value, yield) the virtual
// tiles it needs are cloned into a `tile.nest`; a nest over the same axes as
// the one before is merged into it where no element would be read too late.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TARGET_CPU_MAPPING_CPUMAPPER_H
#define TESSERA_COMPILER_TARGET_CPU_MAPPING_CPUMAPPER_H

#include "compiler/Target/CPU/Mapping/CpuMaterialise.h"
#include "compiler/Tile/Transforms/AxisRanges.h"

#include "llvm/ADT/DenseSet.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace tessera::cpu {

struct CpuMapperOptions {
  bool amx = false;
  int64_t vectorBytes = 64;
};

class CpuMapper {
public:
  CpuMapper(tile::FuncOp func, const CpuMapperOptions &options);

  /// Builds the mapped function beside the old one and removes that.
  llvm::LogicalResult run();

private:
  // What the nest under construction holds, while it can still grow.
  struct Open {
    tile::NestOp nest;
    mlir::IRMapping tiles; // old tile -> its clone in the body
    llvm::SmallDenseSet<mlir::Value> written, readAcross, viewsStored;
    llvm::SmallVector<tile::LoadOp> loads;
    llvm::SmallVector<tile::StoreOp> stores;
    int64_t reduceAxis = -1;
    bool closed = false;
  };
  struct Accesses {
    llvm::SmallVector<std::pair<mlir::Value, bool>> tiles; // tile, aligned
    llvm::SmallVector<tile::LoadOp> loads;
    llvm::SmallVector<mlir::Value> scalars; // old scalars the tiles depend on
  };
  struct Root {
    llvm::SmallVector<mlir::Value> tiles; // old tiles of the nest's full rank
    mlir::Value buffer;                   // written, or null
    tile::StoreOp store;                  // written view, or null
    int64_t reduceAxis = -1;
    bool alone = false; // neither merged nor merged into
  };

  void emitBlock(mlir::Block &block);
  void emitOp(mlir::Operation *op);
  void emitFor(tile::ForOp loop);
  void emitScfFor(mlir::scf::ForOp loop);
  void emitIf(mlir::scf::IfOp branch);
  void emitWhile(mlir::scf::WhileOp loop);
  void emitReduce(tile::ReduceOp op);
  void emitMma(tile::MmaOp op);
  mlir::Value packOnce(mlir::Value operand, tile::MmaOp op,
                       tile::BufferType type, mlir::Type widen);
  void emitPrint(tile::PrintOp op);
  void emitAccess(mlir::Operation *op);
  void emitWhole(mlir::Operation *op);
  void emitFilled(tile::FilledOp op);
  void emitScalar(mlir::Operation *op);
  /// A tile of a row that is kept from one loop to the next (KeepRows.h).
  void emitKept(mlir::Value tile);

  /// Carried tiles: their buffers, filled with the initial values.
  void carryIn(mlir::Operation *loop, mlir::ValueRange inits,
               mlir::ValueRange arguments, mlir::ValueRange results,
               llvm::SmallVectorImpl<mlir::Value> &scalars);
  /// Writes yielded tiles into the buffers of `targets`; returns the scalars.
  llvm::SmallVector<mlir::Value> carryOut(mlir::ValueRange values,
                                          mlir::ValueRange targets);
  bool canTakeOver(mlir::Value init, mlir::Operation *loop);
  mlir::Value inPlaceBuffer(mlir::Value tile);
  mlir::Value chooseBuffer(mlir::Value tile);
  mlir::Value allocate(tile::BufferType type, mlir::Location loc);

  Accesses collect(mlir::ArrayRef<mlir::Value> roots) const;
  bool canMerge(Root &root, mlir::ArrayRef<mlir::Value> axes,
                const Accesses &accesses);
  void openNest(Root &root, mlir::ArrayRef<mlir::Value> axes,
                mlir::Location loc);
  void closeNest();
  mlir::Value cloneTile(mlir::Value tile);
  void storeTo(mlir::Value tile, mlir::Value buffer, mlir::Type widenTo = {});

  mlir::Value axisRange(llvm::ArrayRef<mlir::Value> ranges, int64_t size);
  llvm::SmallVector<mlir::Value> axesOf(mlir::Value tile);
  void scheduleNest(tile::NestOp nest);

  tile::FuncOp func;
  CpuMapperOptions options;
  tile::AxisRanges ranges;
  CpuMaterialise plan;
  mlir::OpBuilder builder;
  mlir::IRMapping scalars;
  llvm::DenseMap<mlir::Value, mlir::Value> buffers; // old tile -> buffer
  llvm::DenseMap<mlir::Value, mlir::Value> slots;   // and where in a kept row
  llvm::DenseMap<int64_t, mlir::Value> keptRows;    // number -> buffer
  llvm::DenseMap<mlir::Block *, llvm::SmallVector<mlir::Value>> yieldTargets;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value>
      packedOperands;
  llvm::DenseMap<int64_t, mlir::Value> fullRanges;
  mlir::Operation *entryPoint = nullptr;
  std::optional<Open> open;
  bool failed = false;
};

} // namespace tessera::cpu

#endif // TESSERA_COMPILER_TARGET_CPU_MAPPING_CPUMAPPER_H
