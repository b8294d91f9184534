//===- Decompose.h - Ops that a GPU does as several ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_TARGET_SIMT_MAPPING_DECOMPOSE_H
#define TESSERA_COMPILER_TARGET_SIMT_MAPPING_DECOMPOSE_H

#include "compiler/Tile/IR/Tile.h"

namespace tessera::simt {

/// At the value level, before absence is made explicit:
///   argmax(x)        the smallest position where x is max(x), or is NaN
///   a @ b, one axis  the sum of the products
/// Loads that must not stay in shared memory are marked `registers`.
void decompose(tile::FuncOp func);

} // namespace tessera::simt

#endif // TESSERA_COMPILER_TARGET_SIMT_MAPPING_DECOMPOSE_H
