//===- CheckMappedContract.cpp - The closed list of the mapped level ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/Transforms/BufferLifetimes.h"
#include "compiler/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tessera::tile {
#define GEN_PASS_DEF_CHECKMAPPEDCONTRACTPASS
#include "compiler/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

using namespace mlir;
using namespace tessera::tile;

namespace {

bool mayStandInKernel(Operation *op) {
  if (isa<FuncOp, PlanOp>(op))
    return false;
  return isa_and_present<TileDialect, arith::ArithDialect, math::MathDialect,
                         scf::SCFDialect>(op->getDialect());
}

/// Buffers lie inside the scratch memory, and apart while both are alive.
LogicalResult checkBuffers(FuncOp func) {
  int64_t scratch = 0;
  if (auto bytes = func->getAttrOfType<IntegerAttr>("tile.scratch"))
    scratch = bytes.getInt();
  SmallVector<BufferLifetime> lives = lifetimesOf(func);
  auto offsetOf = [](AllocOp alloc) {
    auto offset = alloc->getAttrOfType<IntegerAttr>("offset");
    return offset ? offset.getInt() : -1;
  };
  for (auto [i, life] : llvm::enumerate(lives)) {
    int64_t offset = offsetOf(life.alloc);
    if (offset < 0 || offset % 64 != 0)
      return life.alloc->emitError()
             << "a buffer needs an offset that is a multiple of 64";
    if (offset + life.bytes > scratch)
      return life.alloc->emitError()
             << "the buffer ends at byte " << offset + life.bytes
             << " of scratch memory, but the kernel has tile.scratch = "
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

/// A kernel of a GPU: every tile is held by threads, every buffer is shared
/// memory inside what the kernel has.
LogicalResult checkGpu(FuncOp func) {
  int64_t shared = 0;
  if (auto bytes = func->getAttrOfType<IntegerAttr>("tile.shared"))
    shared = bytes.getInt();
  WalkResult result = func.getBody().walk([&](Operation *op) -> WalkResult {
    if (!mayStandInKernel(op) || isa<NestOp, NestYieldOp, FilledOp>(op))
      return op->emitError() << "'" << op->getName()
                             << "' may not stand in a mapped kernel of a GPU";
    for (Value value : op->getResults())
      if (auto type = dyn_cast<RankedTensorType>(value.getType());
          type && !isa_and_nonnull<StringAttr>(type.getEncoding()))
        return op->emitError() << "a tile of a mapped kernel needs a layout";
    auto alloc = dyn_cast<AllocOp>(op);
    if (!alloc)
      return WalkResult::advance();
    BufferType type = alloc.getBuffer().getType();
    int64_t end = type.getElementType().getIntOrFloatBitWidth() / 8;
    for (int64_t size : type.getShape())
      end *= size;
    auto offset = alloc->getAttrOfType<IntegerAttr>("offset");
    if (!offset || offset.getInt() < 0 || offset.getInt() % 128 != 0)
      return alloc->emitError()
             << "a shared buffer needs an offset that is a multiple of 128";
    if (offset.getInt() + end > shared)
      return alloc->emitError()
             << "the buffer ends at byte " << offset.getInt() + end
             << " of shared memory, but the kernel has tile.shared = "
             << shared;
    return WalkResult::advance();
  });
  return success(!result.wasInterrupted());
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
        if (!isa<PlanOp>(op))
          refuse(&op, "a module of Tile IR");
        continue;
      }
      if (kernel->hasAttr("tile.block")) {
        good &= succeeded(checkGpu(kernel));
        continue;
      }
      kernel.getBody().walk([&](Operation *inner) {
        if (!mayStandInKernel(inner))
          refuse(inner, "a mapped kernel");
        else if (isa<MmaOp, ReduceOp, ScanOp, TransposeOp, CatOp>(inner) &&
                 !inner->getParentOfType<NestOp>())
          refuse(inner, "a mapped kernel outside a nest");
      });
      good &= succeeded(checkBuffers(kernel));
    }
    if (!good)
      signalPassFailure();
  }
};

} // namespace
