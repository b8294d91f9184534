//===- Export.h - A plan as the text that the runtime reads -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// docs/abi.md, section 3, is what is written here, and nowhere else.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_PLAN_EXPORT_H
#define TESSERA_COMPILER_PLAN_EXPORT_H

#include "compiler/Plan/IR/Plan.h"

#include <string>

namespace tessera::plan {

/// What a launch gives a kernel besides its operands. Nothing is written where
/// it is 0, or, of a GPU, -1.
struct LaunchNeeds {
  int64_t scratch = 0;             ///< bytes per thread of a CPU
  int64_t block = -1, shared = -1; ///< threads and bytes of a block of a GPU
};

/// `needsOf` knows the kernels; its argument is null if there is none of the
/// name.
std::string
exportText(FuncOp func,
           llvm::function_ref<LaunchNeeds(mlir::Operation *)> needsOf);

} // namespace tessera::plan

#endif // TESSERA_COMPILER_PLAN_EXPORT_H
