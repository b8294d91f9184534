//===- RelaxRounding.cpp - Policy "fast": roundings between ops go --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/GraphToSchedule/Passes.h"

#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tessera::schedule {
#define GEN_PASS_DEF_RELAXROUNDINGPASS
#include "compiler/GraphToSchedule/Passes.h.inc"
} // namespace tessera::schedule

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using schedule::tensorType;

namespace {

bool isShort(Type element) { return element.isF16() || element.isBF16(); }

/// add(a, b) : bf16 -> cast(add(cast(a), cast(b)) : f32). No bit changes by it:
/// an op computes in f32 and rounds once anyway.
void widen(Operation *op) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  auto f32 = builder.getF32Type();
  auto cast = [&](Value value, Type element) -> Value {
    return CastOp::create(builder, loc, tensorType(value).clone(element), value,
                          builder.getStringAttr("rn"));
  };
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (isShort(tensorType(operand).getElementType()))
      mapping.map(operand, cast(operand, f32));
  Operation *wide = builder.clone(*op, mapping);
  Value result = op->getResult(0), made = wide->getResult(0);
  if (isShort(tensorType(result).getElementType())) {
    made.setType(tensorType(result).clone(f32));
    made = cast(made, tensorType(result).getElementType());
  }
  result.replaceAllUsesWith(made);
  op->erase();
}

/// cast(cast(x : f32 -> bf16) : bf16 -> f32) -> x
struct DropRounding : OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(CastOp op,
                                PatternRewriter &rewriter) const override {
    auto rounding = op.getInput().getDefiningOp<CastOp>();
    if (!rounding || rounding.getRounding() != "rn")
      return rewriter.notifyMatchFailure(op, "input is no rounding");
    Value before = rounding.getInput();
    if (!isShort(tensorType(op.getInput()).getElementType()) ||
        before.getType() != op.getType() ||
        !tensorType(before).getElementType().isF32())
      return rewriter.notifyMatchFailure(op, "not f32 to 16 bits and back");
    rewriter.replaceOp(op, before);
    return success();
  }
};

struct RelaxRoundingPass
    : schedule::impl::RelaxRoundingPassBase<RelaxRoundingPass> {
  void runOnOperation() override {
    auto policy = getOperation()->getAttrOfType<StringAttr>("gir.policy");
    if (!policy || policy.getValue() != "fast")
      return;
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (!schedule::isElementwise(op) || isa<CastOp>(op))
        return;
      if (llvm::any_of(op->getOperandTypes(), [](Type type) {
            return isShort(cast<RankedTensorType>(type).getElementType());
          }))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      widen(op);
    RewritePatternSet patterns(&getContext());
    patterns.add<DropRounding>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
