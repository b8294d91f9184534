//===- TensorOpsProgram.cpp - Calls of kernels from functions -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/TensorOps.h"

using namespace mlir;

namespace tessera::frontend {

ValueResult TensorOps::callProgram(const CapturedFunction &callee,
                                   const CallArguments &, const OpSite &site) {
  (void)context.notYet(site.range, "a call of " + callee.definition->name +
                                       " from a function");
  return failure();
}

} // namespace tessera::frontend
