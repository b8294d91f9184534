//===- Simplify.cpp - Canonicalisation that keeps absence -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tessera::tile {
#define GEN_PASS_DEF_SIMPLIFYPASS
#include "compiler/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

using namespace mlir;
using namespace tessera;

static bool computesFloats(Operation *op) {
  auto isFloat = [](Type type) {
    return isa<FloatType>(getElementTypeOrSelf(type));
  };
  return isa<math::MathDialect>(op->getDialect()) ||
         llvm::any_of(op->getOperandTypes(), isFloat) ||
         llvm::any_of(op->getResultTypes(), isFloat);
}

/// Element-wise arithmetic on a tile, and arithmetic of floats: the ring knows
/// |0|, or 1.0 >= -2.0, but not which of its numbers came from there.
static bool isKept(Operation *op) {
  if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
          op->getDialect()))
    return false;
  return isa<TensorType>(op->getResult(0).getType()) ||
         (!isa<arith::SelectOp>(op) && computesFloats(op));
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
      if (op != getOperation() && !isKept(op))
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
