//===- Tile.h - Tile IR: dialect, types and ops -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stage 3 of 4: what one block does. The only header other stages include.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TILE_IR_TILE_H
#define TESSERA_COMPILER_TILE_IR_TILE_H

#include "compiler/Support/Layout/Layout.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "compiler/Tile/IR/TileDialect.h.inc"
#include "compiler/Tile/IR/TileEnums.h.inc"

namespace tessera::tile {

/// What a number of a text may ask for. The largest tiles of real kernels have
/// 2^20 numbers; a pass may take a step for each.
constexpr int64_t maxRank = 8, maxPositions = 1 << 20,
                  maxTileElements = 1 << 24, maxStages = 64;

/// Numbers that kernels compute with: i1, i4, i8 to i64, index and floats.
bool isNumber(mlir::Type type);
/// A static shape within those limits, of numbers; an encoding is a layout.
bool isTileType(mlir::RankedTensorType type);
/// Tiles are the tensors of kernels.
inline bool isTile(mlir::Value value) {
  return mlir::isa<mlir::RankedTensorType>(value.getType());
}
/// Decisions of a schedule: numbers of 0 to 65536 by name.
bool isConfig(mlir::Attribute attribute);

} // namespace tessera::tile

namespace tessera::tile::detail {
struct LayoutAttrStorage;
} // namespace tessera::tile::detail

#define GET_ATTRDEF_CLASSES
#include "compiler/Tile/IR/TileAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/Tile/IR/TileTypes.h.inc"

#define GET_OP_CLASSES
#include "compiler/Tile/IR/TileOps.h.inc"

namespace tessera::tile {

/// Whether a plan has the operation.
bool isOfPlan(mlir::Operation *op);
/// Whether the plan can compute it, from sizes and integer arguments.
bool isMadeOfSizes(mlir::Value root);

/// For each index of an access, the axes of the tile it spans: `index_axes`,
/// or the tile's axes in order.
llvm::SmallVector<llvm::SmallVector<int64_t, 2>>
axesOfIndices(mlir::OperandRange indices,
              std::optional<mlir::ArrayAttr> indexAxes);

/// The layout of a tile of a mapped kernel; null if it has none.
LayoutAttr findLayout(mlir::Type tile);
inline const layout::Layout &layoutOf(mlir::Type tile) {
  return findLayout(tile).getValue();
}
inline const layout::Layout &layoutOf(mlir::Value tile) {
  return layoutOf(tile.getType());
}

/// The shared memory through which an op moves elements between threads; null
/// if it needs none. Any op of tiles may have it.
ExchangeAttr getExchange(mlir::Operation *op);
void setExchange(mlir::Operation *op, ExchangeAttr exchange);

/// Whether the arguments of a kernel are views of numbers with strides, then
/// scalars; and whether all its tiles are tiles.
mlir::LogicalResult verifyKernel(FuncOp func);

} // namespace tessera::tile

#endif // TESSERA_COMPILER_TILE_IR_TILE_H
