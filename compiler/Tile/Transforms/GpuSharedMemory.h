//===- GpuSharedMemory.h - Copies through shared memory ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_TILE_TRANSFORMS_GPUSHAREDMEMORY_H
#define TESSERA_COMPILER_TILE_TRANSFORMS_GPUSHAREDMEMORY_H

#include "compiler/Tile/Transforms/GpuLayouts.h"

namespace tessera::tile {

/// Loads that only feed products become copies into swizzled buffers, a wait, a
/// barrier and fragment loads. Returns the bytes of shared memory.
int64_t copyThroughShared(FuncOp func, const GpuLayouts &layouts);

} // namespace tessera::tile

#endif // TESSERA_COMPILER_TILE_TRANSFORMS_GPUSHAREDMEMORY_H
