//===- CheckContract.cpp - The closed list of Schedule IR -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedule/Transforms/Passes.h"

#include "llvm/ADT/StringSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::schedule {
#define GEN_PASS_DEF_CHECKCONTRACTPASS
#include "compiler/Schedule/Transforms/Passes.h.inc"
} // namespace tessera::schedule

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;

namespace {

/// Between kernels: views of memory, calls, and what the plan computes.
bool mayStandInFunction(Operation *op) {
  if (isa<func::ReturnOp, schedule::FuseOp, schedule::OverlapOp, TransposeOp,
          BroadcastOp, ReshapeOp, SliceOp, CallKernelOp, DimOp, ConstantOp,
          CheckEqualOp, CheckOp, ReportIndexOp, graph::PrintOp, graph::YieldOp,
          ConditionOp>(op) ||
      isControlFlow(op))
    return true;
  return op->getNumResults() == 1 &&
         schedule::isPlanExpression(op->getResult(0));
}

/// In a kernel: decisions and primitives.
bool mayStandInFuse(Operation *op) {
  if (isa<schedule::TileOp, schedule::PlaceOp, schedule::PipelineOp,
          schedule::AutotuneOp, schedule::YieldOp, schedule::PartialOp>(op))
    return true;
  if (auto gemm = dyn_cast<GemmOp>(op))
    return !gemm.getTransposeLhs() && !gemm.getTransposeRhs();
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getKind() < ReduceKind::Mean;
  return schedule::isElementwise(op) ||
         isa<TransposeOp, BroadcastOp, ReshapeOp, ConstantOp, ArangeOp, TakeOp,
             GatherOp, ScanOp, ConcatOp, AttentionOp>(op);
}

/// The kernel that a call names, inside its decisions.
graph::KernelOp kernelOf(CallKernelOp call) {
  auto wrapper = dyn_cast_or_null<schedule::KernelOp>(
      SymbolTable::lookupNearestSymbolFrom(call, call.getKernelAttr()));
  if (!wrapper)
    return {};
  auto kernels = wrapper.getOps<graph::KernelOp>();
  return kernels.empty() ? graph::KernelOp() : *kernels.begin();
}

/// The axis of the result that a program goes along by itself, in order.
std::optional<int64_t> getSequentialAxis(Operation *root) {
  if (auto scan = dyn_cast_or_null<ScanOp>(root))
    return scan.getAxis();
  if (auto concat = dyn_cast_or_null<ConcatOp>(root))
    return concat.getAxis();
  return std::nullopt;
}

/// A tile is one of a value over some of the loops: of all of them, or, in a
/// product, of two.
LogicalResult verifyTileSizes(schedule::FuseOp fuse) {
  constexpr int64_t most = int64_t(1) << 24;
  bool isProduct = false;
  fuse.getBody().walk(
      [&](Operation *op) { isProduct |= isa<GemmOp, AttentionOp>(op); });
  int64_t all = 1, largest = 1;
  for (auto tile : fuse.getBody().getOps<schedule::TileOp>()) {
    int64_t size = std::max<int64_t>(tile.getSize().getValue(), 1);
    int64_t together = isProduct ? largest : all;
    if (size > most / together)
      return tile.emitError() << "a tile of " << together << " x " << size
                              << " elements; it has at most 2^24";
    all = isProduct ? 1 : all * size;
    largest = std::max(largest, size);
  }
  return success();
}

/// Every axis of the result has one decision; so may the reductions.
LogicalResult verifyLoops(schedule::FuseOp fuse) {
  Block &body = fuse.getBody().front();
  Value root = body.getTerminator()->getOperand(0);
  int64_t rank = schedule::rankOf(root);
  SmallVector<bool> isDecided(rank + 1);
  std::optional<int64_t> sequential = getSequentialAxis(root.getDefiningOp());
  for (auto tile : body.getOps<schedule::TileOp>()) {
    int64_t loop = tile.getLoop();
    if (loop < 0 || loop > rank)
      return tile.emitError()
             << "there is no loop " << loop << ": the result has " << rank
             << " axes, and loop " << rank << " is that of reductions";
    if (isDecided[loop])
      return tile.emitError() << "loop " << loop << " is tiled twice";
    isDecided[loop] = true;
    bool isGrid = tile.getKind() == schedule::LoopKind::Grid;
    if (isGrid && loop == rank)
      return tile.emitError() << "the loop of reductions is no grid";
    if (isGrid && sequential == loop)
      return tile.emitError()
             << "loop " << loop << " runs in order in a program and is no grid";
    if (!isGrid && loop == 0 && root.getDefiningOp<schedule::PartialOp>())
      return tile.emitError() << "the chunks of a reduction are a grid";
  }
  if (failed(verifyTileSizes(fuse)))
    return failure();
  for (int64_t axis = 0; axis < rank; ++axis)
    if (!isDecided[axis])
      return fuse.emitError() << "there is no sched.tile of loop " << axis;
  return success();
}

/// What a function returns is memory that its kernels write, each once.
LogicalResult verifyResults(func::FuncOp function) {
  auto done =
      dyn_cast<func::ReturnOp>(function.getBody().back().getTerminator());
  llvm::SmallDenseSet<Value> seen;
  for (Value value : done ? done.getOperands() : ValueRange()) {
    Operation *op = value.getDefiningOp();
    if (!op || (!isa<schedule::FuseOp, CallKernelOp>(op) && !isControlFlow(op)))
      return done.emitError() << "returns what no kernel writes";
    if (!seen.insert(value).second)
      return done.emitError() << "returns one value twice";
  }
  return success();
}

struct CheckContractPass
    : schedule::impl::CheckContractPassBase<CheckContractPass> {
  void runOnOperation() override {
    bool good = true;
    auto check = [&](Operation *op, bool listed, StringRef place) {
      if (listed)
        return;
      op->emitError() << "'" << op->getName() << "' may not stand in " << place;
      good = false;
    };
    // Decisions hold what users wrote: they are checked in every build, also
    // where MLIR's verifier does not run.
    getOperation()->walk([&](Operation *op) {
      if (auto tile = dyn_cast<schedule::TileOp>(op))
        good &= succeeded(tile.verify());
      else if (auto place = dyn_cast<schedule::PlaceOp>(op))
        good &= succeeded(place.verify());
      else if (auto pipeline = dyn_cast<schedule::PipelineOp>(op))
        good &= succeeded(pipeline.verify());
    });
    // Each becomes a kernel of its name, beside the functions' plans.
    llvm::StringSet<> names;
    for (auto symbol : getOperation().getOps<SymbolOpInterface>())
      names.insert(symbol.getName());
    getOperation()->walk([&](schedule::FuseOp fuse) {
      if (names.insert(fuse.getSymName()).second)
        return;
      fuse.emitError() << "there is another kernel or function called '"
                       << fuse.getSymName() << "'";
      good = false;
    });
    for (Operation &op : getOperation().getOps()) {
      if (auto function = dyn_cast<func::FuncOp>(op)) {
        if (function.isExternal()) {
          function.emitError() << "a function of Schedule IR has a body";
          good = false;
          continue;
        }
        good &= succeeded(graph::verifyTypes(function));
        good &= succeeded(verifyResults(function));
        function.getBody().walk<WalkOrder::PreOrder>([&](Operation *inner) {
          check(inner, mayStandInFunction(inner), "a function of Schedule IR");
          auto fuse = dyn_cast<schedule::FuseOp>(inner);
          good &= succeeded(graph::verifyTypes(inner));
          if (auto call = dyn_cast<CallKernelOp>(inner))
            good &= succeeded(graph::verifyCall(call, kernelOf(call)));
          if (!fuse)
            return WalkResult::advance();
          for (Operation &payload : fuse.getOps()) {
            check(&payload, mayStandInFuse(&payload), "a sched.fuse");
            if (auto cast = dyn_cast<CastOp>(payload);
                cast && cast.getRounding() != "rn") {
              cast.emitError() << "kernels round to nearest, not by '"
                               << cast.getRounding() << "'";
              good = false;
            }
            good &= succeeded(graph::verifyTypes(&payload));
          }
          good &= succeeded(verifyLoops(fuse));
          return WalkResult::skip();
        });
        continue;
      }
      if (auto kernel = dyn_cast<schedule::KernelOp>(op)) {
        for (Operation &inner : kernel.getOps())
          check(&inner,
                isa<schedule::TileOp, schedule::PlaceOp, schedule::PipelineOp,
                    schedule::AutotuneOp, graph::KernelOp>(inner),
                "a sched.kernel");
        continue;
      }
      check(&op, false, "a module of Schedule IR");
    }
    if (!good)
      signalPassFailure();
  }
};

} // namespace
