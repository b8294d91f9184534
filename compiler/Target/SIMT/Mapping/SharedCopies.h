//===- SharedCopies.h - Copies through shared memory ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_TARGET_SIMT_MAPPING_SHAREDCOPIES_H
#define TESSERA_COMPILER_TARGET_SIMT_MAPPING_SHAREDCOPIES_H

#include "compiler/Target/SIMT/Mapping/BlockLayouts.h"

namespace tessera::simt {

/// Loads that only feed products become copies into swizzled buffers, a wait, a
/// barrier and fragment loads. Returns the bytes of shared memory.
int64_t copyThroughShared(tile::FuncOp func, const BlockLayouts &layouts);

} // namespace tessera::simt

#endif // TESSERA_COMPILER_TARGET_SIMT_MAPPING_SHAREDCOPIES_H
