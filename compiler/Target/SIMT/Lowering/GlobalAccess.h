//===- GlobalAccess.h - An access to a view, taken apart --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_TARGET_SIMT_LOWERING_GLOBALACCESS_H
#define TESSERA_COMPILER_TARGET_SIMT_LOWERING_GLOBALACCESS_H

#include "compiler/Target/SIMT/Lowering/KernelLowering.h"

namespace tessera::simt {

/// One axis of a tile in a view.
struct AccessAxis {
  int64_t axis = 0;  // of the tile
  mlir::Value bytes; // i64: from one element to the next
  int64_t constantBytes = -1;
  mlir::Value room; // i32: elements that exist from this thread's on
  std::map<int64_t, mlir::Value> insideAt;
};

/// An index that is a tile: each element has its own position.
struct AccessGather {
  mlir::Value index; // i64 tile
  ThreadLayout layout;
  llvm::SmallVector<int64_t, 2> axes; // of the tile, that the index spans
  mlir::Value bytes;                  // i64
  mlir::Value size;                   // i64
};

struct KernelLowering::Access {
  mlir::Value origin; // i64: address of the tile's first element
  mlir::Value base;   // i64: of this thread's first element
  mlir::Value inside; // i1, or null
  llvm::SmallVector<AccessAxis, 2> axes;
  llvm::SmallVector<AccessGather, 1> gathers;
};

} // namespace tessera::simt

#endif // TESSERA_COMPILER_TARGET_SIMT_LOWERING_GLOBALACCESS_H
