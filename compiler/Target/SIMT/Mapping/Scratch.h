//===- Scratch.h - Memory for tiles that change threads ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions over warps, conversions of layouts, reshapes, joins and computed
// operands of products without tensor cores pass through shared memory for the
// time of one op. They all use the same bytes, behind the kernel's buffers;
// what comes after the last use of a buffer (results on their way to memory)
// uses the buffers' own. `scratch` on the op says where, `scratch_bytes` how
// many.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TARGET_SIMT_MAPPING_SCRATCH_H
#define TESSERA_COMPILER_TARGET_SIMT_MAPPING_SCRATCH_H

#include "compiler/Support/Layout/Exchange.h"
#include "compiler/Tile/IR/Tile.h"

namespace tessera::simt {

/// Bytes of a board, a multiple of 16. A truth takes a byte.
int64_t boardBytes(const layout::Board &board, mlir::Type element);

/// Bytes that an op needs for the time it takes; 0 if none.
int64_t exchangeBytes(mlir::Operation *op);

/// Sets `scratch_bytes` on the ops that need memory, and what a conversion
/// takes
/// (`way`, `conflicts`) as attributes for the reader.
void measureScratch(tile::FuncOp func);

/// What must lie behind the buffers.
int64_t bytesBesideBuffers(tile::FuncOp func);

/// Sets `scratch` on those ops; buffers end at byte `end`. Returns where all
/// ends.
int64_t placeScratch(tile::FuncOp func, int64_t end);

} // namespace tessera::simt

#endif // TESSERA_COMPILER_TARGET_SIMT_MAPPING_SCRATCH_H
