//===- ScheduleToTile.cpp - Kernels and plans from Schedule IR ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Plan/IR/Plan.h"
#include "compiler/ScheduleToTile/KernelBuilder.h"
#include "compiler/ScheduleToTile/Passes.h"
#include "compiler/ScheduleToTile/PlanWriter.h"

#include "llvm/ADT/STLExtras.h"

namespace tessera::tile {
#define GEN_PASS_DEF_SCHEDULETOTILEPASS
#include "compiler/ScheduleToTile/Passes.h.inc"
} // namespace tessera::tile

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace {

/// sched.kernel -> tile.func: the user's program with its decisions. Views come
/// before scalars, as in a launch; `order` keeps the user's order.
FailureOr<FuncOp> convertKernel(OpBuilder &builder,
                                schedule::KernelOp wrapper) {
  auto inner = wrapper.getBody().getOps<graph::KernelOp>();
  if (!llvm::hasSingleElement(inner))
    return wrapper.emitOpError() << "must hold exactly one gir.kernel";
  graph::KernelOp kernel = *inner.begin();
  SmallVector<unsigned> order;
  for (bool views : {true, false})
    for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
      if (isa<MemRefType>(kernel.getArgumentTypes()[i]) == views)
        order.push_back(i);
  SmallVector<Type> types;
  for (unsigned i : order)
    types.push_back(kernel.getArgumentTypes()[i]);
  auto function = FuncOp::create(builder, kernel.getLoc(),
                                 (kernel.getSymName() + "_0").str(),
                                 builder.getFunctionType(types, {}));
  SmallVector<int64_t> positions(order.size());
  for (auto [at, i] : llvm::enumerate(order)) {
    if (DictionaryAttr attributes = kernel.getArgAttrDict(i))
      function.setArgAttrs(at, attributes);
    positions[i] = at;
  }
  function.getBody().takeBody(kernel.getBody());
  Block &entry = function.getBody().front();
  SmallVector<BlockArgument> old(entry.getArguments());
  for (unsigned i : order) {
    BlockArgument moved = entry.addArgument(old[i].getType(), old[i].getLoc());
    old[i].replaceAllUsesWith(moved);
  }
  entry.eraseArguments(0, order.size());
  Decisions decisions(wrapper.getBody().front());
  function.setConfigAttr(decisions.config);
  if (!llvm::is_sorted(positions))
    function.setOrder(positions);
  decisions.applyGroup(function);
  if (decisions.stages > 0)
    function->walk([&](ForOp loop) {
      if (loop.getStages() == 0)
        loop.setStages(decisions.stages);
    });
  return function;
}

/// A plan stands behind its kernels. Its ops have names of their own, not those
/// of the source that led to them.
void placeLast(plan::FuncOp plan) {
  plan->moveBefore(plan->getBlock(), plan->getBlock()->end());
  plan->walk([](Operation *op) {
    if (auto named = dyn_cast<NameLoc>(op->getLoc()))
      op->setLoc(named.getChildLoc());
  });
}

struct ScheduleToTilePass
    : tessera::tile::impl::ScheduleToTilePassBase<ScheduleToTilePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    KernelTable kernels;
    auto wrappers = llvm::to_vector(module.getOps<schedule::KernelOp>());
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    for (schedule::KernelOp wrapper : wrappers) {
      FailureOr<FuncOp> kernel = convertKernel(builder, wrapper);
      if (failed(kernel))
        return signalPassFailure();
      kernels[wrapper.getSymName()] = *kernel;
    }
    SmallVector<std::string> names;
    for (schedule::KernelOp wrapper : wrappers) {
      names.push_back(wrapper.getSymName().str());
      wrapper.erase();
    }
    // A kernel that functions of this module call has no plan of its own.
    if (functions.empty())
      for (const std::string &name : names)
        if (failed(writeKernelPlan(builder, kernels[name], name)))
          return signalPassFailure();
    KernelTexts texts;
    for (func::FuncOp function : functions) {
      if (failed(writePlan(builder, function, kernels, texts)))
        return signalPassFailure();
      function.erase();
    }
    for (auto plan : llvm::to_vector(module.getOps<plan::FuncOp>()))
      placeLast(plan);
    // From here on the plan alone checks sizes, and says how many threads a
    // launch may use.
    for (FuncOp kernel : module.getOps<FuncOp>()) {
      kernel.walk([](AssertOp check) {
        if (check.getAtCall())
          check.erase();
      });
      if (DictionaryAttr config = kernel.getConfigAttr()) {
        NamedAttrList entries(config);
        entries.erase("threads");
        if (entries.empty())
          kernel.removeConfigAttr();
        else
          kernel.setConfigAttr(entries.getDictionary(kernel.getContext()));
      }
    }
  }
};

} // namespace
