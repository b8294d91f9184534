//===- Emitter.h - Values of a kernel as tiles ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tile programs are emitted from the result backwards. `emit(v, indices)` asks
// for value `v` of the payload at one index per axis: a range (a whole tile of
// positions) or a single position. The answer is a tile with one axis per
// range, or a scalar. Each op translates the question for its operands:
//
//   y = x + broadcast(b, axis 1)      emit(y, [i, j])
//     x at [i, j]                     tile.load %x[%i, %j]
//     b at [j]                        tile.load %b[%j], tile.broadcast
//
// A reduction asks for its input inside a loop of its own. Everything is
// emitted at the outermost place where its indices exist: the maximum of a row,
// asked for inside the loop over the row, stands before that loop. Asked twice
// at one place, it is emitted once; asked again in another loop, it is computed
// again.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_SCHEDULETOTILE_EMITTER_H
#define TESSERA_COMPILER_SCHEDULETOTILE_EMITTER_H

#include "compiler/ScheduleToTile/Passes.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>

namespace tessera::tile {

/// Values indexed by position, one per axis: ranges or index scalars.
using Indices = llvm::SmallVector<mlir::Value, 4>;

class Emitter {
public:
  /// Emits into `body`, an empty block of a tile.func. `arguments` maps the
  /// payload's block arguments to views (memrefs) or scalars.
  Emitter(mlir::Block *body, mlir::Location loc,
          llvm::DenseMap<mlir::Value, mlir::Value> arguments);

  /// How many positions a step of a reduction's loop takes, and its hint.
  int64_t reductionTile = 1024;
  int64_t stages = 0;
  /// Something could not be emitted; an error has been reported.
  bool failed = false;

  /// Creates the kernel's tile.program; 0 in `tiles` gives a position.
  Indices makeProgram(mlir::ValueRange extents, llvm::ArrayRef<int64_t> tiles);

  mlir::Value emit(mlir::Value value, llvm::ArrayRef<mlir::Value> indices);

  /// The extent of an axis, before the program.
  mlir::Value extent(mlir::Value value, int64_t axis);

  /// A loop over positions start <= i < stop, `size` at a time (0: single
  /// positions). `turn` gets the position or range and the carried values and
  /// returns the next ones.
  llvm::SmallVector<mlir::Value>
  loop(mlir::Value start, mlir::Value stop, int64_t size,
       mlir::ValueRange inits,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                         mlir::ValueRange)>
           turn);

  void store(mlir::Value tile, mlir::Value view,
             llvm::ArrayRef<mlir::Value> indices);

  // Small pieces, at the current place.
  mlir::OpBuilder &at();
  mlir::Location getLoc() const { return loc; }
  mlir::Value position(int64_t value);
  mlir::Value number(mlir::Type type, double value);
  /// One value at every position of the ranges among `indices`; the scalar
  /// itself if there is none.
  mlir::Value splat(mlir::Value scalar, llvm::ArrayRef<mlir::Value> indices);
  mlir::Value combine(ReduceKind kind, mlir::Value a, mlir::Value b);
  mlir::Value neutral(ReduceKind kind, mlir::Type type);
  mlir::Value convert(mlir::Value value, mlir::Type element);
  /// Marks a value as existing from the current loop inwards.
  void existsHere(mlir::Value index) { depth[index] = scopes.size() - 1; }

private:
  struct Scope {
    mlir::Block *block;
    mlir::Operation *loop;             ///< null for the function
    mlir::Operation *before = nullptr; ///< insert here, else at the end
    std::map<std::vector<void *>, mlir::Value> known;
  };

  mlir::Value evaluate(mlir::Value value, llvm::ArrayRef<mlir::Value> indices);
  mlir::Value evaluateReduce(graph::ReduceOp op,
                             llvm::ArrayRef<mlir::Value> indices);
  mlir::Value evaluateArg(graph::ReduceOp op,
                          llvm::ArrayRef<mlir::Value> indices);
  mlir::Value firstOf(mlir::Value tile, mlir::Value value,
                      llvm::ArrayRef<mlir::Value> indices, int64_t axis);
  mlir::Value evaluateGemm(graph::GemmOp op,
                           llvm::ArrayRef<mlir::Value> indices);
  mlir::Value evaluateLookup(mlir::Value data, mlir::Value lookup, int64_t axis,
                             llvm::SmallVector<mlir::Value> indices, bool tied);
  mlir::Value evaluateElementwise(mlir::Operation *op,
                                  llvm::ArrayRef<mlir::Value> operands,
                                  mlir::Type element);
  mlir::Value integerPower(mlir::Value x, mlir::Value y);
  mlir::Value spread(mlir::Value tile, llvm::ArrayRef<int64_t> axes,
                     llvm::ArrayRef<mlir::Value> indices);
  /// Runs `body` with the loops deeper than `target` set aside.
  void outwards(size_t target, llvm::function_ref<void()> body);

  mlir::OpBuilder builder;
  mlir::Location loc;
  llvm::DenseMap<mlir::Value, mlir::Value> arguments;
  llvm::DenseMap<mlir::Value, size_t> depth;
  std::map<std::pair<void *, int64_t>, mlir::Value> extents;
  std::vector<Scope> scopes;
  mlir::Operation *program = nullptr;
};

/// Attention with an online softmax: stores the rows `rows` of one head.
/// `heads` are the positions of the leading axes; `width` the padded head size.
void emitAttention(Emitter &emitter, graph::AttentionOp op,
                   llvm::ArrayRef<mlir::Value> heads, mlir::Value rows,
                   int64_t width, int64_t keys, mlir::Value output);

} // namespace tessera::tile

#endif // TESSERA_COMPILER_SCHEDULETOTILE_EMITTER_H
