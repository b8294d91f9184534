//===- PairBf16.h - Which nests take bf16 two by two ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_TARGET_CPU_MAPPING_PAIRBF16_H
#define TESSERA_COMPILER_TARGET_CPU_MAPPING_PAIRBF16_H

#include "compiler/Tile/IR/Tile.h"

namespace tessera::cpu {

/// Reads or writes the nest whole lines of 16-bit floats, and buffers only row
/// by row? Then its vectors are two registers of f32, rounded into one.
bool hasHalfLines(tile::NestOp nest, int64_t vectorAxis);

/// Can the nest have `pairs`, and all that share buffers with it?
bool mayPair(tile::NestOp nest);

} // namespace tessera::cpu

#endif // TESSERA_COMPILER_TARGET_CPU_MAPPING_PAIRBF16_H
