//===- CheckContract.cpp - The closed list of NVIDIA's Target IR ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Support/Architectures/Nvidia.h"
#include "compiler/Target/NVIDIA/InlinePtx.h"
#include "compiler/Target/NVIDIA/Passes.h"
#include "compiler/Target/SIMT/Machine.h"
#include "compiler/Tile/Transforms/MaskAbsent.h"

namespace tessera::target {
#define GEN_PASS_DEF_CHECKNVIDIACONTRACTPASS

#include "compiler/Target/NVIDIA/Passes.h.inc"
} // namespace tessera::target

using namespace mlir;
using namespace tessera;

namespace {

/// Of the `llvm` dialect only memory, vectors of operands, inline PTX; of
/// `nvvm` what LowerTiles writes.
bool mayStandInKernel(Operation *op) {
  if (isa<LLVM::BitcastOp, LLVM::ConstantOp, LLVM::ExtractElementOp,
          LLVM::ExtractValueOp, LLVM::GEPOp, LLVM::InlineAsmOp,
          LLVM::InsertElementOp, LLVM::IntToPtrOp, LLVM::LoadOp, LLVM::PoisonOp,
          LLVM::PtrToIntOp, LLVM::StoreOp, target::AllocateOp,
          target::BreakpointOp, target::MemcpyOp, target::PtxInstrOp,
          target::TensorCoreOp, target::AssertOp, target::ReturnOp,
          NVVM::Barrier0Op, NVVM::BlockIdXOp, NVVM::CpAsyncCommitGroupOp,
          NVVM::CpAsyncOp, NVVM::CpAsyncWaitGroupOp, NVVM::LdMatrixOp,
          NVVM::ShflOp, NVVM::ThreadIdXOp>(op))
    return true;
  return isa_and_present<arith::ArithDialect, math::MathDialect,
                         scf::SCFDialect>(op->getDialect());
}

/// Is there an instruction, or an expansion of ours, for it?
bool hasCode(Operation *op) {
  if (!isa_and_present<math::MathDialect>(op->getDialect()))
    return true;
  if (isa<math::FmaOp, math::SqrtOp, math::FloorOp, math::CeilOp, math::AbsFOp,
          math::AbsIOp, math::RoundEvenOp, math::TruncOp, math::CopySignOp,
          math::CtPopOp, math::CountLeadingZerosOp, math::IsNaNOp,
          math::IsInfOp, math::IsFiniteOp>(op))
    return true;
  bool expands = isa<math::ExpOp, math::Exp2Op, math::ExpM1Op, math::LogOp,
                     math::Log2Op, math::Log1pOp, math::RsqrtOp, math::SinOp,
                     math::CosOp, math::SincosOp, math::TanhOp, math::ErfOp,
                     math::ErfcOp, math::PowFOp>(op);
  // (C4)
  return expands && !(op->getResult(0).getType().isF64() &&
                      isa<math::ErfcOp, math::SincosOp>(op));
}

/// What these ops' own verifiers leave to LLVM, which would not refuse it.
LogicalResult verifyInstruction(Operation *op) {
  if (auto code = dyn_cast<LLVM::InlineAsmOp>(op))
    return target::verifyInlinePtx(code);
  if (auto shuffle = dyn_cast<NVVM::ShflOp>(op)) {
    Type type = shuffle.getVal().getType();
    if ((!type.isInteger(32) && !type.isF32()) ||
        shuffle.getRes().getType() != type)
      return op->emitError() << "lanes exchange i32 or f32, not " << type;
  }
  if (isa<NVVM::BlockIdXOp, NVVM::ThreadIdXOp>(op) &&
      (!op->getResult(0).getType().isInteger(32) || op->hasAttr("range")))
    return op->emitError() << "a number of a thread is an i32 without a range";
  return success();
}

/// Another folder's machine checks its kernels itself; a name that nobody knows
/// is refused here.
bool isOurs(target::KernelOp kernel) {
  StringAttr name = kernel.getMachine();
  return kernel.isForGpu() && !(name && !nvidia::parseArch(name.getValue()) &&
                                simt::findMachine(name));
}

struct CheckNvidiaContractPass
    : target::impl::CheckNvidiaContractPassBase<CheckNvidiaContractPass> {
  void runOnOperation() override {
    bool good = true;
    for (auto kernel : getOperation().getOps<target::KernelOp>()) {
      if (!isOurs(kernel))
        continue;
      kernel.getBody().walk([&](Operation *inner) {
        if (!mayStandInKernel(inner)) {
          inner->emitError() << "'" << inner->getName()
                             << "' may not stand in a kernel of an NVIDIA GPU";
          good = false;
        } else if (!hasCode(inner)) {
          (void)tile::refuseOn(inner,
                               tile::wordFor(inner) + " of " +
                                   tile::nameOf(getElementTypeOrSelf(
                                       inner->getResult(0).getType())),
                               "on a GPU");
          good = false;
        } else if (failed(verifyInstruction(inner))) {
          good = false;
        }
      });
    }
    for (auto kernel : getOperation().getOps<target::KernelOp>())
      if (good && isOurs(kernel))
        good = succeeded(target::verifyMachineKernel(kernel));
    if (!good)
      signalPassFailure();
  }
};

} // namespace
