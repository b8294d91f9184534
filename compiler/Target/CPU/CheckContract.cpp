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
  // Most ops: asked first.
  if (isa_and_present<arith::ArithDialect, math::MathDialect, scf::SCFDialect,
                      vector::VectorDialect>(op->getDialect()))
    return true;
  return isa<LLVM::AllocaOp, LLVM::AtomicCmpXchgOp, LLVM::AtomicRMWOp,
             LLVM::CallIntrinsicOp, LLVM::ExtractValueOp, LLVM::Prefetch,
             LLVM::ConstantOp, LLVM::GEPOp, LLVM::LoadOp, LLVM::MaskedLoadOp,
             LLVM::MaskedStoreOp, LLVM::StoreOp, LLVM::masked_gather,
             LLVM::masked_scatter, LLVM::PoisonOp, LLVM::UndefOp,
             target::CallOp, target::ReturnOp>(op);
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
        auto isListed = [&](Operation *inner) {
          bool may = mayStandInKernel(inner);
          if (!may)
            refuse(inner, "a kernel of the CPU");
          return success(may);
        };
        if (failed(target::verifyMachineKernel(kernel, isListed)))
          good = false;
      } else if (op.getName().getStringRef() != "plan.func")
        refuse(&op, "a module of Target IR");
    }
    if (!good)
      signalPassFailure();
  }
};

} // namespace
