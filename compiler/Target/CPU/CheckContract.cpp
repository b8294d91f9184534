//===- CheckContract.cpp - The closed list of the CPU's Target IR ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/Passes.h"

namespace tessera::target {
#define GEN_PASS_DEF_CHECKCONTRACTPASS
#include "compiler/Target/CPU/Passes.h.inc"
} // namespace tessera::target

using namespace mlir;
using namespace tessera;

namespace {

/// Of the `llvm` dialect only memory, and AMX by its intrinsics.
bool mayStandInKernel(Operation *op) {
  if (isa<LLVM::AllocaOp, LLVM::AtomicCmpXchgOp, LLVM::AtomicRMWOp,
          LLVM::CallIntrinsicOp, LLVM::ExtractValueOp, LLVM::Prefetch,
          LLVM::ConstantOp, LLVM::GEPOp, LLVM::LoadOp, LLVM::MaskedLoadOp,
          LLVM::MaskedStoreOp, LLVM::StoreOp, LLVM::masked_gather,
          LLVM::masked_scatter, LLVM::PoisonOp, LLVM::UndefOp, target::CallOp,
          target::ReturnOp>(op))
    return true;
  return isa_and_present<arith::ArithDialect, math::MathDialect,
                         scf::SCFDialect, vector::VectorDialect>(
      op->getDialect());
}

struct CheckContractPass
    : target::impl::CheckContractPassBase<CheckContractPass> {
  void runOnOperation() override {
    bool good = true;
    auto refuse = [&](Operation *op, StringRef place) {
      op->emitError() << "'" << op->getName() << "' may not stand in " << place;
      good = false;
    };
    for (Operation &op : getOperation().getOps()) {
      // By name: a target includes no other stage's headers.
      if (auto kernel = dyn_cast<target::KernelOp>(op)) {
        // A GPU has its own check.
        if (kernel.isForGpu())
          continue;
        kernel.getBody().walk([&](Operation *inner) {
          if (!mayStandInKernel(inner))
            refuse(inner, "a kernel of the CPU");
        });
        if (good)
          good = succeeded(target::verifyMachineKernel(kernel));
      } else if (op.getName().getStringRef() != "plan.func")
        refuse(&op, "a module of Target IR");
    }
    if (!good)
      signalPassFailure();
  }
};

} // namespace
