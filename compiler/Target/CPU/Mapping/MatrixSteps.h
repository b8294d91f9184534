//===- MatrixSteps.h - The nests around a matrix step -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product of two matrices is these nests, once it is cut into loops:
//
//   nest           clears the sum
//   for k:
//     nest         packs a piece of an operand
//     nest         the matrix step: sum += piece * piece
//   nest           makes results of the sum
//
// Passes do without the nests around the step where it can do their part. What
// it does then stands in it:
//
//   %acc = arith.select %first, %zeros, %sum          cpu-elide-zero-init
//   %b = arith.select %usable, %where_it_lies, %panels   cpu-elide-packing
//   scf.if %last { tile.store } else { tile.local_store } cpu-elide-copy
//   scf.if %last { tile.nest }                        cpu-fuse-epilogue
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TARGET_CPU_MAPPING_MATRIXSTEPS_H
#define TESSERA_COMPILER_TARGET_CPU_MAPPING_MATRIXSTEPS_H

#include "compiler/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tessera::cpu {

/// The product of a matrix step; null if the nest is none.
tile::MmaOp stepIn(tile::NestOp nest);
/// The nest that an op of it belongs to: the step of an epilogue in a step.
tile::NestOp nestAround(mlir::Operation *op);

bool isAmx(tile::NestOp step);
/// Does it have so few rows that B is read along its lines, and once?
bool isThin(tile::NestOp step);
/// Can it have `pairs_of_k`: if the whole result has few columns, and not if a
/// tile has, so that tiles do not change the order of sums.
bool mayPairK(tile::NestOp step);

//===----------------------------------------------------------------------===//
// What stands in a step
//===----------------------------------------------------------------------===//

/// The buffer that a matrix step sums into.
mlir::TypedValue<tile::BufferType> sumOf(tile::NestOp step);
/// Whether (i1) the sum starts from zero; null: it goes on always, or `always`
/// it starts.
mlir::Value startsWhere(tile::NestOp step, bool &always);
/// The branch in which the step stores the sum where the result lies, or the
/// one in which its epilogue stands; null: neither.
mlir::scf::IfOp branchOf(tile::NestOp step);
tile::StoreOp directStoreOf(tile::NestOp step);
tile::NestOp epilogueOf(tile::NestOp step);

//===----------------------------------------------------------------------===//
// What stands around it
//===----------------------------------------------------------------------===//

/// A tile of zeros.
bool isZero(mlir::Value tile);
/// Of an access of a view: does its last index run along contiguous elements?
bool hasRows(mlir::Value view, mlir::OperandRange indices);
/// The buffer of a nest that does nothing but clear it.
mlir::Value clearedBy(tile::NestOp nest);
/// The matrix step of a loop before `nest` that alone sums into `buffer`, for
/// `nest` alone and over its axes.
tile::NestOp summedBefore(tile::NestOp nest, mlir::Value buffer);
/// The matrix step of the loop before `nest` whose sum the nest copies to a
/// result, and does nothing else. Nobody reads the sum or the result but they.
tile::NestOp copiedStep(tile::NestOp nest);
/// Is this tile a sum as AMX leaves it, without subnormals?
bool isSumOfAmx(mlir::Value tile);
/// Does nobody else write this view, or read it?
bool isOnlyWritten(tile::StoreOp store);

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

/// Index arithmetic at one place.
struct IndexBuilder {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  mlir::Value constant(int64_t value);
  mlir::Value truth();
  mlir::Value start(mlir::Value range);
  mlir::Value length(mlir::Value range);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a,
                      mlir::Value b);
  mlir::Value invert(mlir::Value condition);
  /// Whether a number that is not negative is a multiple of a power of two.
  mlir::Value isMultiple(mlir::Value value, int64_t unit);
};

/// Before a step of a loop: whether (i1) this is the last turn.
mlir::Value isLastTurn(IndexBuilder &at, tile::ForOp loop);

} // namespace tessera::cpu

#endif // TESSERA_COMPILER_TARGET_CPU_MAPPING_MATRIXSTEPS_H
