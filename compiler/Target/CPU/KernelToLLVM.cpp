//===- KernelToLLVM.cpp - target-kernel-to-llvm ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/Passes.h"
#include "compiler/Tile/IR/Tile.h"

namespace tessera::target {
#define GEN_PASS_DEF_KERNELTOLLVMPASS
#include "compiler/Target/CPU/Passes.h.inc"
} // namespace tessera::target

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

namespace {
struct KernelToLLVMPass
    : tessera::target::impl::KernelToLLVMPassBase<KernelToLLVMPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    OpBuilder builder(&getContext());
    for (KernelOp kernel :
         llvm::make_early_inc_range(module.getOps<KernelOp>())) {
      builder.setInsertionPoint(kernel);
      auto type = LLVM::LLVMFunctionType::get(kernel.getResultTypes()[0],
                                              kernel.getArgumentTypes());
      auto func = LLVM::LLVMFuncOp::create(builder, kernel.getLoc(),
                                           kernel.getSymName(), type);
      func.getBody().takeBody(kernel.getBody());
      func.walk([&](target::ReturnOp op) {
        builder.setInsertionPoint(op);
        LLVM::ReturnOp::create(builder, op.getLoc(), op.getValues());
        op.erase();
      });
      kernel.erase();
    }
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (isa<tile::PlanOp>(op))
        op.erase();
  }
};
} // namespace
