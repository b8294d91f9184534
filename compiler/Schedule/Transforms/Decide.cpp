//===- Decide.cpp - Kernels get their first decisions ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedule/Transforms/Decisions.h"
#include "compiler/Schedule/Transforms/Passes.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::schedule {
#define GEN_PASS_DEF_DECIDEPASS
#include "compiler/Schedule/Transforms/Passes.h.inc"
} // namespace tessera::schedule

using namespace mlir;
using namespace tessera;
using namespace tessera::schedule;

/// The user's tile sizes must name dims.
static LogicalResult checkTileNames(func::FuncOp function,
                                    DictionaryAttr schedule) {
  llvm::SetVector<StringRef> dims;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto names = function.getArgAttrOfType<ArrayAttr>(i, "gir.dims"))
      for (auto name : names.getAsRange<StringAttr>())
        if (!name.getValue().empty())
          dims.insert(name.getValue());
  for (NamedAttribute entry : schedule) {
    StringRef key = entry.getName().getValue();
    if (key.consume_front("tile.") && !dims.contains(key))
      return function.emitError() << "the schedule has a tile size for " << key
                                  << ", but the named dims are "
                                  << llvm::join(dims.takeVector(), ", ");
  }
  return success();
}

/// What @autotune opened stands beside the decisions of each kernel.
static void writeTuning(OpBuilder &builder, Operation *program, Location loc) {
  auto tuning = program->getAttrOfType<DictionaryAttr>("gir.autotune");
  if (tuning)
    AutotuneOp::create(builder, loc, tuning.getAs<DictionaryAttr>("space"),
                       tuning.getAs<ArrayAttr>("key"),
                       tuning.getAs<IntegerAttr>("budget"),
                       tuning.getAs<StringAttr>("numerics"));
}

/// What the user said is said once, by the decisions.
static void dropWords(Operation *program) {
  program->removeAttr("gir.schedule");
  program->removeAttr("gir.autotune");
}

static LogicalResult decideFunction(func::FuncOp function, Model model) {
  auto schedule = function->getAttrOfType<DictionaryAttr>("gir.schedule");
  if (schedule && failed(checkTileNames(function, schedule)))
    return failure();
  function.walk([&](FuseOp fuse) {
    writeDecisions(fuse, schedule, model);
    offerVariants(fuse, schedule, model);
    OpBuilder builder = OpBuilder::atBlockBegin(&fuse.getBody().front());
    writeTuning(builder, function, fuse.getLoc());
  });
  dropWords(function);
  return success();
}

static void decideKernel(schedule::KernelOp wrapper, Model model) {
  auto kernel = *wrapper.getBody().getOps<graph::KernelOp>().begin();
  bool products = kernel
                      .walk([](Operation *op) {
                        return op->getName().getStringRef() == "tile.mma"
                                   ? WalkResult::interrupt()
                                   : WalkResult::advance();
                      })
                      .wasInterrupted();
  OpBuilder builder(kernel);
  writeKernelDecisions(builder, kernel.getLoc(),
                       kernel->getAttrOfType<DictionaryAttr>("gir.schedule"),
                       products, model);
  writeTuning(builder, kernel, kernel.getLoc());
  dropWords(kernel);
}

namespace {
struct DecidePass : schedule::impl::DecidePassBase<DecidePass> {
  using DecidePassBase::DecidePassBase;

  void runOnOperation() override {
    for (auto wrapper : getOperation().getOps<schedule::KernelOp>())
      decideKernel(wrapper, model);
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && failed(decideFunction(function, model)))
        return signalPassFailure();
  }
};
} // namespace
