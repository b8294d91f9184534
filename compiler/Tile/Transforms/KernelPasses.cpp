//===- KernelPasses.cpp - Passes on kernels, one after the other ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/Transforms/Passes.h"

using namespace mlir;

namespace {

/// Between two passes on kernels. MLIR runs neighbours kernel by kernel, the
/// second of them on the first kernel before the first on the second.
struct Boundary : PassWrapper<Boundary, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Boundary)
  void runOnOperation() override { markAllAnalysesPreserved(); }
};

} // namespace

void tessera::tile::addKernelPass(OpPassManager &manager,
                                  std::unique_ptr<Pass> pass) {
  manager.addNestedPass<FuncOp>(std::move(pass));
  manager.addPass(std::make_unique<Boundary>());
}
