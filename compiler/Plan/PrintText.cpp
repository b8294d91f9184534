//===- PrintText.cpp - Shows the text of plans ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Plan/Export.h"
#include "compiler/Plan/Passes.h"

#include "llvm/Support/raw_ostream.h"

namespace tessera::plan {
#define GEN_PASS_DEF_PRINTTEXTPASS
#include "compiler/Plan/Passes.h.inc"
} // namespace tessera::plan

using namespace mlir;
using namespace tessera::plan;

namespace {
struct PrintTextPass : tessera::plan::impl::PrintTextPassBase<PrintTextPass> {
  void runOnOperation() override {
    for (FuncOp func : getOperation().getOps<FuncOp>())
      llvm::outs() << exportText(func,
                                 [](Operation *) { return LaunchNeeds(); });
    markAllAnalysesPreserved();
  }
};
} // namespace
