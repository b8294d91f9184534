//===- GpuContract.h - What a mapped kernel of a GPU keeps ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lowering to threads goes by layouts: register r of an operand meets
// register r of another, a reduction finds its result's register, a fragment
// lies in its buffer. A text may say anything, so all of that is checked first.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TILE_TRANSFORMS_GPUCONTRACT_H
#define TESSERA_COMPILER_TILE_TRANSFORMS_GPUCONTRACT_H

#include "compiler/Tile/IR/Tile.h"

namespace tessera::tile {

/// Every tile is held by threads as its op has it, every buffer is shared
/// memory inside what the kernel has.
mlir::LogicalResult checkGpuKernel(FuncOp func);

} // namespace tessera::tile

#endif // TESSERA_COMPILER_TILE_TRANSFORMS_GPUCONTRACT_H
