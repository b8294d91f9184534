//===- NestEmitter.h - Loops and vectors of one nest ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A nest becomes loops over its axes, the vectorised one innermost:
//
//   for m in 0 .. extent(m):
//     for n in 0 .. extent(n) step lanes * unroll:   whole vectors
//     for n in rest .. extent(n) step lanes:         masked
//
// unless something is reduced along another axis: then that loop is innermost
// and the sums stay in registers; or a few rows go past the caches: then the
// loop over them is. Every tile of the body is computed at the depth of the
// innermost axis it depends on.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TARGET_CPU_NESTEMITTER_H
#define TESSERA_COMPILER_TARGET_CPU_NESTEMITTER_H

#include "compiler/Target/CPU/CpuLowering.h"
#include "compiler/Target/CPU/Mapping/NestVectors.h"

#include <map>

namespace tessera::target {

class NestEmitter {
public:
  NestEmitter(CpuLowering &lower, tile::NestOp nest);
  void run();

  /// A nest that fills a packed buffer whose order is not that of the source:
  /// blocks of rows are transposed, or interleaved, in registers.
  bool runAsPacking();
  /// The same for a nest that stores a transposed tile.
  bool runAsTransposing();

private:
  /// Where along one axis of a tile: at the nest's axis, or anywhere.
  struct Position {
    int64_t axis = -1;
    mlir::Value value;
    bool operator<(const Position &other) const {
      return std::pair(axis, value.getAsOpaquePointer()) <
             std::pair(other.axis, other.value.getAsOpaquePointer());
    }
  };
  using Positions = llvm::SmallVector<Position, 4>;
  struct Key {
    void *tile;
    int64_t copy;
    std::vector<Position> at;
    bool operator<(const Key &other) const {
      return std::tie(tile, copy, at) <
             std::tie(other.tile, other.copy, other.at);
    }
  };
  /// One running value per reduction, scan, argmax (two) and copy.
  struct Carry {
    mlir::Operation *op;
    llvm::SmallVector<mlir::Value> values; // [copy], argmax: then indices
  };

  using Packed = cpu::PackedStore;
  bool transposes();
  mlir::Value packedPlace(const Packed &to, mlir::Value k, mlir::Value n);
  void emitPackedBlocks(const Packed &to, int64_t rows, bool interleave);
  void emitPackedBlock(const Packed &to, int64_t rows, bool interleave);
  mlir::Value orZero(mlir::Value value, mlir::Value keep);

  void emitLoops(size_t depth);
  void emitVectorLoops(size_t depth);
  void emitLoop(size_t depth, mlir::Value from, mlir::Value to, int64_t step,
                bool carries);
  void emitBody();
  void accumulate(Carry &carry);
  /// Of a maximum or minimum, where no element is NaN: one instruction each.
  void accumulateExtremes(Carry &carry, llvm::ArrayRef<mlir::Value> values);
  void finish();
  std::vector<Carry> startCarries(int64_t copies);
  bool reducesAlongVector() const;
  mlir::Value maskOfPairs();

  mlir::Value eval(mlir::Value tile, const Positions &at, int64_t copy);
  mlir::Value compute(mlir::Operation *op, const Positions &at, int64_t copy);
  mlir::Value evalLoad(tile::LoadOp load, const Positions &at, int64_t copy);
  bool writesRowsPastCaches();
  mlir::Value evalLocalLoad(tile::LocalLoadOp load, const Positions &at,
                            int64_t copy);
  mlir::Value evalReshape(tile::ReshapeOp op, const Positions &at,
                          int64_t copy);
  mlir::Value evalCat(tile::CatOp op, const Positions &at, int64_t copy);
  void storeToView(tile::StoreOp op);
  void storeToBuffer(mlir::Value value, tile::LocalStoreOp store,
                     const Positions &at, int64_t copy);
  void emitAtomic(tile::AtomicOp op);
  void emitPrint(tile::PrintOp op);

  /// Offset in elements and, if lanes are not neighbours, a vector of offsets;
  /// `inBounds` is null when all gather indices are known to be inside.
  struct Address {
    mlir::Value base, offset;
    mlir::Value offsets;
    mlir::Value inBounds;
    bool vector = false;
    mlir::Value stride = {}; // between lanes, if that is all there is to it
    std::optional<int64_t> part = {}; // of pairs: which one
  };
  void fetchNextProgram(tile::LoadOp load, const CpuView &view,
                        const Address &address);
  void fetchRowsAhead(tile::LoadOp load, const CpuView &view,
                      const Address &address);
  bool contiguousIn(const CpuView &view, int64_t axis) const;
  Address addressOf(const CpuView &view, mlir::OperandRange indices,
                    std::optional<mlir::ArrayAttr> indexAxes,
                    const Positions &at, int64_t copy);
  bool isTwoApart(const Address &address) const;
  mlir::Value interleave(mlir::Value even, mlir::Value odd, int64_t half);
  mlir::Value loadLanes(const CpuView &view, const Address &address,
                        mlir::Value keep);
  Address addressIn(mlir::Value buffer, mlir::Value slot, const Positions &at,
                    int64_t copy);

  mlir::Value positionValue(const Position &at, int64_t copy);
  bool isVector(const Position &at) const {
    return at.axis >= 0 && at.axis == vectorAxis;
  }
  uint64_t dependencies(mlir::Value tile);
  size_t depthOf(mlir::Value tile, const Positions &at);
  Positions identity(int64_t skip = -1);

  CpuLowering &lower;
  tile::NestOp nest;
  int64_t vectorAxis, lanes, unroll, carryAxis = -1;
  int64_t panelWidth = 0;   // fills panels of this many columns with zeros
  bool zeroPadding = false; // the buffer wants zeros up to a whole group
  llvm::SmallVector<int64_t> order;               // axes, outermost first
  llvm::SmallVector<size_t> depths;               // axis -> depth, from 1
  llvm::SmallVector<mlir::Value> counters;        // axis -> loop counter
  llvm::SmallVector<mlir::Operation *> openLoops; // depth -> loop
  size_t current = 0;
  int64_t copies = 1;
  int64_t blockAxis = -1; // packing: copies count along this axis
  bool packsRows = false; // packing: rows of memory into a buffer, as they lie
  mlir::Value mask;       // lanes that exist; null: all
  llvm::SmallVector<mlir::Value> twoApart; // strides that are 2
  bool paired = false; // lanes of f32: of even places, then of odd ones
  std::vector<std::map<Key, mlir::Value>> memo;
  llvm::DenseMap<mlir::Value, uint64_t> depends;
  std::vector<Carry> carriesNow;
};

} // namespace tessera::target

#endif // TESSERA_COMPILER_TARGET_CPU_NESTEMITTER_H
