//===- Simplify.cpp - Canonicalisation that keeps absence -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tessera::tile {
#define GEN_PASS_DEF_SIMPLIFYPASS
#include "compiler/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

using namespace mlir;
using namespace tessera;

/// Element-wise arithmetic on a tile.
static bool computesTile(Operation *op) {
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
             op->getDialect()) &&
         isa<TensorType>(op->getResult(0).getType());
}

namespace {

struct SimplifyPass : tile::impl::SimplifyPassBase<SimplifyPass> {
  std::shared_ptr<FrozenRewritePatternSet> patterns;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet all(context);
    for (Dialect *dialect : context->getLoadedDialects())
      dialect->getCanonicalizationPatterns(all);
    for (RegisteredOperationName name : context->getRegisteredOperations())
      name.getCanonicalizationPatterns(all, context);
    patterns = std::make_shared<FrozenRewritePatternSet>(std::move(all));
    return success();
  }

  void runOnOperation() override {
    SmallVector<Operation *> simplified;
    getOperation().walk([&](Operation *op) {
      if (op != getOperation() && !computesTile(op))
        simplified.push_back(op);
    });
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    (void)applyOpPatternsGreedily(simplified, *patterns, config);
    // What only they used.
    getOperation()->walk<WalkOrder::PostOrder, ReverseIterator>(
        [](Operation *op) {
          if (isOpTriviallyDead(op))
            op->erase();
        });
  }
};

} // namespace
