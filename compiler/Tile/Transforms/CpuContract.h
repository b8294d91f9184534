//===- CpuContract.h - What a mapped kernel of the CPU keeps ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU's code is made nest by nest, from what is stored back to what is
// loaded: so tiles live in one nest, what is stored has the nest's axes, and a
// matrix step has its operands in panels. A text may say anything, so that is
// checked first.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TILE_TRANSFORMS_CPUCONTRACT_H
#define TESSERA_COMPILER_TILE_TRANSFORMS_CPUCONTRACT_H

#include "compiler/Tile/IR/Tile.h"

namespace tessera::tile {

mlir::LogicalResult checkCpuKernel(FuncOp func);

} // namespace tessera::tile

#endif // TESSERA_COMPILER_TILE_TRANSFORMS_CPUCONTRACT_H
