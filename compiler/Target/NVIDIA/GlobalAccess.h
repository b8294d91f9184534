//===- GlobalAccess.h - An access to a view, taken apart --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_TARGET_NVIDIA_GLOBALACCESS_H
#define TESSERA_COMPILER_TARGET_NVIDIA_GLOBALACCESS_H

#include "compiler/Target/NVIDIA/NvidiaLowering.h"

namespace tessera::target {

/// One axis of a tile in a view.
struct AccessAxis {
  mlir::Value bytes; // i64: from one element to the next
  int64_t constantBytes = -1;
  mlir::Value room; // i32: elements that exist from this thread's on
  std::map<int64_t, mlir::Value> insideAt;
};

struct NvidiaLowering::Access {
  mlir::Value origin; // i64: address of the tile's first element
  mlir::Value base;   // i64: of this thread's first element
  mlir::Value inside; // i1, or null
  llvm::SmallVector<AccessAxis, 2> axes;
};

} // namespace tessera::target

#endif // TESSERA_COMPILER_TARGET_NVIDIA_GLOBALACCESS_H
