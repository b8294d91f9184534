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
            good &= succeeded(graph::verifyTypes(&payload));
          }
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
