//===- FoldTransposeIntoGemm.cpp - Transposed operands become flags -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Graph/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tessera::graph {
#define GEN_PASS_DEF_FOLDTRANSPOSEINTOGEMMPASS
#include "compiler/Graph/Transforms/Passes.h.inc"
} // namespace tessera::graph

using namespace mlir;
using namespace tessera::graph;

namespace {

/// The input of a transpose that swaps the last two axes and no others, or
/// null.
Value matrixTransposeInput(Value value) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  if (!transpose)
    return {};
  ArrayRef<int64_t> permutation = transpose.getPermutation();
  int64_t rank = permutation.size();
  if (rank < 2)
    return {};
  for (int64_t axis = 0; axis < rank - 2; ++axis)
    if (permutation[axis] != axis)
      return {};
  bool swaps =
      permutation[rank - 1] == rank - 2 && permutation[rank - 2] == rank - 1;
  return swaps ? transpose.getInput() : Value();
}

/// gemm(transpose(a), b) -> gemm(a, b) transpose_lhs
struct FoldLhs : OpRewritePattern<GemmOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GemmOp op,
                                PatternRewriter &rewriter) const override {
    Value input = matrixTransposeInput(op.getLhs());
    if (!input)
      return rewriter.notifyMatchFailure(op, "lhs is no matrix transpose");

    // Two transposes cancel out, hence the negation rather than `true`.
    rewriter.modifyOpInPlace(op, [&] {
      op.getLhsMutable().assign(input);
      op.setTransposeLhs(!op.getTransposeLhs());
    });
    return success();
  }
};

/// gemm(a, transpose(b)) -> gemm(a, b) transpose_rhs
struct FoldRhs : OpRewritePattern<GemmOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GemmOp op,
                                PatternRewriter &rewriter) const override {
    Value input = matrixTransposeInput(op.getRhs());
    if (!input)
      return rewriter.notifyMatchFailure(op, "rhs is no matrix transpose");

    rewriter.modifyOpInPlace(op, [&] {
      op.getRhsMutable().assign(input);
      op.setTransposeRhs(!op.getTransposeRhs());
    });
    return success();
  }
};

struct FoldTransposeIntoGemmPass
    : tessera::graph::impl::FoldTransposeIntoGemmPassBase<
          FoldTransposeIntoGemmPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldLhs, FoldRhs>(&getContext());
    // No folding: it would round a scale that attention takes unrounded.
    GreedyRewriteConfig config;
    config.enableFolding(false);
    if (failed(
            applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace
