//===- NestVectors.h - How a nest takes elements by vectors -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_TARGET_CPU_MAPPING_NESTVECTORS_H
#define TESSERA_COMPILER_TARGET_CPU_MAPPING_NESTVECTORS_H

#include "compiler/Tile/IR/Tile.h"

#include <optional>

namespace tessera::cpu {

/// Along the vector axis of a nest.
struct NestVectors {
  int64_t lanes = 0, unroll = 1;
  bool halfLines = false;   // of 32 numbers of 16 bits, in two registers of f32
  bool zeroPadding = false; // the buffer wants zeros up to a whole group
};
/// `partSizes`: of a nest that is done in parts; empty: whole.
NestVectors vectorsOf(tile::NestOp nest, int64_t vectorBytes,
                      llvm::ArrayRef<int64_t> partSizes = {});

/// The one store of a nest, if it is one of [k, n] into panels along n.
struct PackedStore {
  mlir::Operation *store = nullptr;
  mlir::Value value;
  mlir::Type element;
  int64_t width = 1, group = 1;
  bool isPanel = false; // else rows of a plain buffer
  bool isView = false;  // plain memory: nothing may be written past an end
};
std::optional<PackedStore> packedBy(tile::NestOp nest);

/// Can the nest have `transposes`?
bool mayTranspose(tile::NestOp nest, int64_t vectorBytes);

/// The store of the other part, if a nest stores both parts of pairs.
tile::StoreOp otherPart(tile::StoreOp store);

/// An axis of a view along which neighbours of a vector are not neighbours in
/// memory, and their distance, if that is a number.
struct LanesApart {
  mlir::Value view;
  int64_t axis, stride;
};
/// Of loads that would be gathered, and of pairs that would be scattered.
llvm::SmallVector<LanesApart> lanesApart(tile::NestOp nest,
                                         int64_t vectorBytes);

} // namespace tessera::cpu

#endif // TESSERA_COMPILER_TARGET_CPU_MAPPING_NESTVECTORS_H
