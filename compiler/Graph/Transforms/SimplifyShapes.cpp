//===- SimplifyShapes.cpp - Equal sizes become one value ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Graph/IR/Extents.h"
#include "compiler/Graph/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tessera::graph {
#define GEN_PASS_DEF_SIMPLIFYSHAPESPASS
#include "compiler/Graph/Transforms/Passes.h.inc"
} // namespace tessera::graph

using namespace mlir;
using namespace tessera::graph;

namespace {

RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Whether two tensors have equal extents, axis by axis.
bool haveOneShape(Value a, Value b) {
  if (typeOf(a).getRank() != typeOf(b).getRank())
    return false;
  for (int64_t axis = 0; axis < typeOf(a).getRank(); ++axis)
    if (getExtent(a, axis) != getExtent(b, axis))
      return false;
  return true;
}

/// dim(op(x), i) -> dim(x, j), a constant, or the size that was given
struct ResolveDim : OpRewritePattern<DimOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(DimOp op,
                                PatternRewriter &rewriter) const override {
    Extent extent = getExtent(op.getResult());
    if (extent.kind == Extent::Kind::Axis && extent.value == op.getInput() &&
        extent.axis == int64_t(op.getAxis()))
      return rewriter.notifyMatchFailure(op, "already in simplest form");
    rewriter.replaceOp(op, materialize(rewriter, op.getLoc(), extent));
    return success();
  }
};

/// dim(concat(a, b), axis) -> dim(a, axis) + dim(b, axis)
struct ResolveConcatDim : OpRewritePattern<DimOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(DimOp op,
                                PatternRewriter &rewriter) const override {
    auto concat = op.getInput().getDefiningOp<ConcatOp>();
    if (!concat || concat.getAxis() != op.getAxis())
      return rewriter.notifyMatchFailure(op, "not the joined axis of a concat");
    Value sum;
    for (Value input : concat.getInputs()) {
      Value size = materialize(rewriter, op.getLoc(),
                               getExtent(input, int64_t(op.getAxis())));
      sum = sum ? AddOp::create(rewriter, op.getLoc(), sum, size).getResult()
                : size;
    }
    rewriter.replaceOp(op, sum);
    return success();
  }
};

/// A check of sizes that are equal disappears; one that must fail is an error.
struct DropProvedCheck : OpRewritePattern<CheckEqualOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(CheckEqualOp op,
                                PatternRewriter &rewriter) const override {
    if (getExtent(op.getLhs()) != getExtent(op.getRhs()))
      return rewriter.notifyMatchFailure(op, "not proved");
    rewriter.eraseOp(op);
    return success();
  }
};

/// broadcast(x) to the shape of x -> x
struct DropBroadcast : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BroadcastOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getInput().getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "changes the type");
    if (!haveOneShape(op.getInput(), op.getResult()))
      return rewriter.notifyMatchFailure(op, "may repeat");
    rewriter.replaceOp(op, op.getInput());
    return success();
  }
};

/// broadcast(broadcast(x)) -> broadcast(x)
struct MergeBroadcasts : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BroadcastOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<BroadcastOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "input is no broadcast");
    SmallVector<int64_t> axes;
    for (int64_t axis : inner.getAxes())
      axes.push_back(op.getAxes()[axis]);
    rewriter.replaceOpWithNewOp<BroadcastOp>(
        op, op.getType(), inner.getInput(), rewriter.getDenseI64ArrayAttr(axes),
        op.getSizes());
    return success();
  }
};

/// transpose(transpose(x)) -> transpose(x), or x where they cancel out
struct MergeTransposes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<TransposeOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "input is no transpose");
    SmallVector<int64_t> permutation;
    for (int64_t axis : op.getPermutation())
      permutation.push_back(inner.getPermutation()[axis]);
    if (llvm::is_sorted(permutation)) {
      rewriter.replaceOp(op, inner.getInput());
      return success();
    }
    rewriter.replaceOpWithNewOp<TransposeOp>(
        op, op.getType(), inner.getInput(),
        rewriter.getDenseI64ArrayAttr(permutation));
    return success();
  }
};

/// reshape(reshape(x)) -> reshape(x)
struct MergeReshapes : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<ReshapeOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "input is no reshape");
    rewriter.modifyOpInPlace(
        op, [&] { op.getInputMutable().assign(inner.getInput()); });
    return success();
  }
};

/// reshape(x) to the shape of x -> x
struct DropReshape : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getInput().getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "changes the type");
    // With one dynamic axis and all others equal, the count of elements leaves
    // no choice, unless there are none of them.
    bool isOneDynamic = op.getType().getNumDynamicDims() == 1 &&
                        !llvm::is_contained(op.getType().getShape(), 0);
    if (!isOneDynamic && !haveOneShape(op.getInput(), op.getResult()))
      return rewriter.notifyMatchFailure(op, "may change the shape");
    rewriter.replaceOp(op, op.getInput());
    return success();
  }
};

/// slice(x) from 0 by 1 to the end -> x
struct DropSlice : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getInput().getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "changes the type");
    for (auto [start, step] : llvm::zip(op.getStarts(), op.getSteps()))
      if (step != 1 || !getExtent(start).isConstant(0))
        return rewriter.notifyMatchFailure(op, "skips elements");
    if (!haveOneShape(op.getInput(), op.getResult()))
      return rewriter.notifyMatchFailure(op, "may stop early");
    rewriter.replaceOp(op, op.getInput());
    return success();
  }
};

/// A single concat input is the result.
struct DropConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getInputs().size() != 1 ||
        op.getInputs().front().getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "joins several");
    rewriter.replaceOp(op, op.getInputs().front());
    return success();
  }
};

struct SimplifyShapesPass
    : tessera::graph::impl::SimplifyShapesPassBase<SimplifyShapesPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ResolveDim, ResolveConcatDim, DropProvedCheck, DropBroadcast,
                 MergeBroadcasts, MergeTransposes, MergeReshapes, DropReshape,
                 DropSlice, DropConcat>(&getContext());
    // No folding: it would round a scale that attention takes unrounded.
    GreedyRewriteConfig config;
    config.enableFolding(false);
    if (failed(
            applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      return signalPassFailure();
    getOperation().walk([&](CheckEqualOp check) {
      Extent lhs = getExtent(check.getLhs()), rhs = getExtent(check.getRhs());
      if (!lhs.isConstant() || !rhs.isConstant())
        return;
      // The front end reports what it can see; this is for edited IR.
      check.emitError() << "sizes " << lhs.constant << " and " << rhs.constant
                        << " differ: " << check.getMessage();
      signalPassFailure();
    });
  }
};

} // namespace
