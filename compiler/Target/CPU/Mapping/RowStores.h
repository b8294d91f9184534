//===- RowStores.h - Kernels that write a row at their end ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A non-temporal store waits for memory, an exponential for the arithmetic
// units. A row kernel does them one after the other:
//
//   for row: { top = max(x); for n: keep[n] = exp(x[n] - top), sum += ...
//              for n: y[n] = keep[n] / sum }
//
// Programs do not depend on each other, so a thread that runs several of them
// may write the results of one while it computes the next:
//
//   cpu-loop-programs     makes the loop over programs
//   cpu-delay-row-stores  stores of a row beside the next row's exponentials
//   cpu-batch-row-stores  stores of four rows together
//
// The order of each row's sums does not change.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TARGET_CPU_MAPPING_ROWSTORES_H
#define TESSERA_COMPILER_TARGET_CPU_MAPPING_ROWSTORES_H

#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/SetVector.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

#include <optional>

namespace tessera::cpu {

/// Is it the loop over the turns of a row that are not kept?
bool isRest(mlir::Operation *op);
/// The one nest of a loop over a row from its beginning.
tile::NestOp nestOfRow(tile::ForOp loop);

/// The loop at a program's end that writes a row past the caches, and what it
/// is made of.
struct RowStores {
  mlir::Block *body;  ///< of one program
  tile::ForOp stores; ///< the results; nothing but `rest` follows
  tile::ForOp rest;   ///< its turns past what is kept, or null
  tile::NestOp nest;  ///< of `stores`
  llvm::SmallSetVector<mlir::Value, 2> kept; ///< buffers that it reads

  static std::optional<RowStores> find(mlir::Block &body);
  /// Loops over the row before `stores`.
  int64_t passes();
  /// Bytes of an element of the rows that results are made of.
  int64_t rowBytes();
  /// Can the results of several programs be written together?
  bool mayBatch();
  /// The scalars of a program that `stores` and `rest` read; nothing if they
  /// read something else of it.
  std::optional<llvm::SmallSetVector<mlir::Value, 4>> carried();
  /// The loop that writes what results are made of; without anything kept the
  /// first to read the row; null: none.
  tile::ForOp findKeeps();
};

/// A loop over all programs of a chunk, made by `cpu-loop-programs`.
struct ProgramLoop {
  mlir::scf::ForOp loop;
  tile::ChunkOp chunk;

  mlir::Block *body() { return loop.getBody(); }
};
/// Those of the kernel that are whole: no pass has cut them yet.
llvm::SmallVector<ProgramLoop> programLoopsOf(tile::FuncOp func);

/// A loop without a terminator that carries these scalars of `programs`
/// programs, from zeros.
mlir::scf::ForOp loopCarrying(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Value begin, mlir::Value end,
                              mlir::Value step,
                              llvm::ArrayRef<mlir::Value> scalars,
                              int64_t programs = 1);
/// Maps what `body` says of its program to another one, `number`.
void addProgram(mlir::OpBuilder &builder, mlir::Block &body, mlir::Value number,
                mlir::IRMapping &map);
/// Adds to `nest`, and before it, what `row.stores` does in its loop, by `map`;
/// what is the same by `like`, once.
void addStores(RowStores &row, tile::NestOp nest, mlir::IRMapping &map,
               const mlir::IRMapping &like);
/// How many programs ahead the loads of `op` prefetch; 0: none does.
void setPrefetch(mlir::Operation *op, int64_t programs);

} // namespace tessera::cpu

#endif // TESSERA_COMPILER_TARGET_CPU_MAPPING_ROWSTORES_H
