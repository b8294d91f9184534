//===- CheckContract.cpp - The closed list of Graph IR --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Graph/Transforms/Passes.h"

#include "llvm/ADT/StringSet.h"

namespace tessera::graph {
#define GEN_PASS_DEF_CHECKCONTRACTPASS
#include "compiler/Graph/Transforms/Passes.h.inc"
} // namespace tessera::graph

using namespace mlir;
using namespace tessera::graph;

namespace {

/// What a function may hold besides `gir`.
bool mayStandInFunction(Operation *op) {
  return isa<func::FuncOp, func::ReturnOp, func::CallOp>(op) ||
         isa<GraphDialect>(op->getDialect());
}

/// Tile IR's value level, by name: a stage includes no other stage's headers
/// but the next one's. The mapped ops (buffers, copies, barriers) are missing
/// on purpose.
bool mayStandInKernel(Operation *op) {
  static const llvm::StringSet<> tileOps = {
      "tile.return",     "tile.program",   "tile.range_at",  "tile.range_start",
      "tile.range_stop", "tile.index",     "tile.dim",       "tile.for",
      "tile.yield",      "tile.load",      "tile.store",     "tile.atomic",
      "tile.fill",       "tile.broadcast", "tile.transpose", "tile.reshape",
      "tile.cat",        "tile.filled",    "tile.reduce",    "tile.scan",
      "tile.mma",        "tile.rand",      "tile.print",     "tile.assert"};
  StringRef dialect = op->getName().getDialectNamespace();
  if (dialect == "tile")
    return tileOps.contains(op->getName().getStringRef());
  return dialect == "arith" || dialect == "math" || dialect == "scf";
}

struct CheckContractPass
    : tessera::graph::impl::CheckContractPassBase<CheckContractPass> {
  void runOnOperation() override {
    // Every unlisted op is reported, not only the first.
    bool good = true;
    auto refuse = [&](Operation *op, StringRef place) {
      op->emitError() << "'" << op->getName() << "' may not stand in " << place;
      good = false;
    };
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<ModuleOp>(op))
        return WalkResult::advance();
      if (auto kernel = dyn_cast<KernelOp>(op)) {
        kernel.getBody().walk([&](Operation *inner) {
          if (!mayStandInKernel(inner))
            refuse(inner, "a gir.kernel");
        });
        return WalkResult::skip();
      }
      if (!op->getDialect() || !mayStandInFunction(op)) {
        refuse(op, "Graph IR");
        return WalkResult::skip();
      }
      auto function = dyn_cast<func::FuncOp>(op);
      if (function && function.isExternal()) {
        op->emitError() << "a function of Graph IR has a body";
        good = false;
        return WalkResult::skip();
      }
      good &= succeeded(verifyTypes(op));
      if (auto call = dyn_cast<CallKernelOp>(op))
        good &=
            succeeded(verifyCall(call, dyn_cast_or_null<KernelOp>(
                                           SymbolTable::lookupNearestSymbolFrom(
                                               call, call.getKernelAttr()))));
      return WalkResult::advance();
    });
    if (!good)
      signalPassFailure();
  }
};

} // namespace
