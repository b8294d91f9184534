//===- CheckMappedContract.cpp - The closed list of the mapped level ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Plan/IR/Plan.h"
#include "compiler/Tile/Transforms/BufferLifetimes.h"
#include "compiler/Tile/Transforms/CpuContract.h"
#include "compiler/Tile/Transforms/GpuContract.h"
#include "compiler/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tessera::tile {
#define GEN_PASS_DEF_CHECKMAPPEDCONTRACTPASS
#include "compiler/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace {

bool mayStandInKernel(Operation *op) {
  if (isa<FuncOp>(op))
    return false;
  return isa_and_present<TileDialect, arith::ArithDialect, math::MathDialect,
                         scf::SCFDialect>(op->getDialect());
}

/// Buffers lie inside the scratch memory, and apart while both are alive.
LogicalResult checkBuffers(FuncOp func) {
  int64_t scratch = func.getScratchBytes().value_or(0);
  SmallVector<BufferLifetime> lives = lifetimesOf(func);
  auto offsetOf = [](AllocOp alloc) -> int64_t {
    std::optional<uint64_t> offset = alloc.getOffset();
    return offset ? int64_t(*offset) : -1;
  };
  for (auto [i, life] : llvm::enumerate(lives)) {
    int64_t offset = offsetOf(life.alloc);
    if (offset < 0 || offset % 64 != 0)
      return life.alloc->emitError()
             << "a buffer needs an offset that is a multiple of 64";
    if (offset + life.bytes > scratch)
      return life.alloc->emitError()
             << "the buffer ends at byte " << offset + life.bytes
             << " of scratch memory, but the kernel has scratch_bytes = "
             << scratch;
    for (const BufferLifetime &other : llvm::ArrayRef(lives).take_front(i)) {
      int64_t begin = offsetOf(other.alloc);
      if (life.overlaps(other) && begin < offset + life.bytes &&
          offset < begin + other.bytes)
        return life.alloc->emitError()
               << "the buffer at bytes " << offset << " to "
               << offset + life.bytes << " overlaps the one at " << begin
               << " to " << begin + other.bytes
               << ", which is in use at the same time";
    }
  }
  return success();
}

struct CheckMappedContractPass
    : tessera::tile::impl::CheckMappedContractPassBase<
          CheckMappedContractPass> {
  void runOnOperation() override {
    bool good = true;
    auto refuse = [&](Operation *op, StringRef place) {
      op->emitError() << "'" << op->getName() << "' may not stand in " << place;
      good = false;
    };
    for (Operation &op : getOperation().getOps()) {
      auto kernel = dyn_cast<FuncOp>(op);
      if (!kernel) {
        if (!isa<plan::FuncOp>(op))
          refuse(&op, "a module of Tile IR");
        continue;
      }
      if (failed(verifyKernel(kernel))) {
        good = false;
        continue;
      }
      kernel.walk([&](Operation *inner) {
        if (isa<MmaAsyncOp, MmaWaitOp, RolesOp>(inner)) {
          inner->emitError() << "no machine is lowered to with '"
                             << inner->getName() << "' yet";
          good = false;
        }
      });
      if (kernel.hasThreads()) {
        good &= succeeded(checkGpuKernel(kernel));
        continue;
      }
      kernel.getBody().walk([&](Operation *inner) {
        if (!mayStandInKernel(inner))
          refuse(inner, "a mapped kernel");
        else if (isa<MmaOp, ReduceOp, ScanOp, TransposeOp, CatOp>(inner) &&
                 !inner->getParentOfType<NestOp>())
          refuse(inner, "a mapped kernel outside a nest");
      });
      if (good)
        good = succeeded(checkCpuKernel(kernel)) &&
               succeeded(checkBuffers(kernel));
    }
    if (!good)
      signalPassFailure();
  }
};

} // namespace
