//===- RaiseAttention.cpp - matmul-softmax-matmul becomes attention -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Graph/IR/Extents.h"
#include "compiler/Graph/Transforms/Passes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <map>

namespace tessera::graph {
#define GEN_PASS_DEF_RAISEATTENTIONPASS
#include "compiler/Graph/Transforms/Passes.h.inc"
} // namespace tessera::graph

using namespace mlir;
using namespace tessera::graph;

namespace {

RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

/// The rank-0 value that `value` repeats everywhere, or null. Casts between
/// floats are looked through: attention takes the scale unrounded.
Value matchScalar(Value value) {
  while (typeOf(value).getRank() != 0) {
    if (auto broadcast = value.getDefiningOp<BroadcastOp>())
      value = broadcast.getInput();
    else if (auto reshape = value.getDefiningOp<ReshapeOp>();
             reshape && typeOf(reshape.getInput()).getRank() == 0)
      value = reshape.getInput();
    else if (auto cast = value.getDefiningOp<CastOp>();
             cast && isa<FloatType>(typeOf(cast.getInput()).getElementType()))
      value = cast.getInput();
    else
      return {};
  }
  while (auto cast = value.getDefiningOp<CastOp>()) {
    if (!isa<FloatType>(typeOf(cast.getInput()).getElementType()))
      break;
    value = cast.getInput();
  }
  return value;
}

/// Whether `value` is this number everywhere.
bool isEverywhere(Value value, function_ref<bool(const APFloat &)> holds) {
  DenseElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return constant.isSplat() && isa<FloatType>(constant.getElementType()) &&
           holds(constant.getSplatValue<APFloat>());
  Value scalar = matchScalar(value);
  if (!scalar || !matchPattern(scalar, m_Constant(&constant)))
    return false;
  return isa<FloatType>(constant.getElementType()) &&
         holds(constant.getSplatValue<APFloat>());
}

bool isMinusInfinity(const APFloat &x) {
  return x.isInfinity() && x.isNegative();
}

//===----------------------------------------------------------------------===//
// The causal mask
//===----------------------------------------------------------------------===//

/// An integer tensor as a linear function of its own position plus sizes:
/// sum of coefficient * position[axis] + sum of factor * size + constant.
struct Affine {
  std::map<int64_t, int64_t> positions;
  SmallVector<std::pair<Extent, int64_t>> sizes;
  int64_t constant = 0;

  void addSize(const Extent &extent, int64_t factor) {
    if (extent.isConstant()) {
      constant += extent.constant * factor;
      return;
    }
    for (auto &[known, sum] : sizes)
      if (known == extent) {
        sum += factor;
        return;
      }
    sizes.emplace_back(extent, factor);
  }

  /// this += factor * other
  void add(const Affine &other, int64_t factor) {
    for (auto [axis, coefficient] : other.positions)
      positions[axis] += coefficient * factor;
    for (auto [extent, sum] : other.sizes)
      addSize(extent, sum * factor);
    constant += other.constant * factor;
  }

  void clean() {
    std::erase_if(positions, [](auto &entry) { return entry.second == 0; });
    llvm::erase_if(sizes, [](auto &entry) { return entry.second == 0; });
  }
};

/// The axes of the reshape's result that are not new axes of extent 1, if it
/// only adds such axes.
std::optional<SmallVector<int64_t>> keptAxes(ReshapeOp op) {
  RankedTensorType from = typeOf(op.getInput()), to = op.getType();
  SmallVector<int64_t> kept;
  for (int64_t axis = 0; axis < to.getRank(); ++axis) {
    int64_t next = kept.size();
    bool matches =
        next < from.getRank() && from.getDimSize(next) == to.getDimSize(axis);
    // An axis of extent 1 that matches either way has only position 0.
    if (matches)
      kept.push_back(axis);
    else if (to.getDimSize(axis) != 1)
      return std::nullopt;
  }
  if (int64_t(kept.size()) != from.getRank())
    return std::nullopt;
  return kept;
}

Affine moveAxes(const Affine &from, ArrayRef<int64_t> axes) {
  Affine to = from;
  to.positions.clear();
  for (auto [axis, coefficient] : from.positions)
    to.positions[axes[axis]] = coefficient;
  return to;
}

std::optional<Affine> matchAffine(Value value, unsigned depth = 0) {
  if (!isa<IntegerType>(typeOf(value).getElementType()) || depth > 16)
    return std::nullopt;
  DenseElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant))) {
    if (!constant.isSplat())
      return std::nullopt;
    Affine result;
    result.constant = constant.getSplatValue<APInt>().getSExtValue();
    return result;
  }
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<AddOp, SubOp>(op)) {
    std::optional<Affine> a = matchAffine(op->getOperand(0), depth + 1);
    std::optional<Affine> b = matchAffine(op->getOperand(1), depth + 1);
    if (!a || !b)
      return std::nullopt;
    a->add(*b, isa<AddOp>(op) ? 1 : -1);
    return a;
  }
  if (auto arange = dyn_cast_if_present<ArangeOp>(op)) {
    Affine result;
    result.positions[0] = 1;
    return result;
  }
  if (auto broadcast = dyn_cast_if_present<BroadcastOp>(op)) {
    std::optional<Affine> input = matchAffine(broadcast.getInput(), depth + 1);
    if (!input)
      return std::nullopt;
    // A repeated axis of extent 1 has only position 0.
    for (auto &[axis, coefficient] : input->positions)
      if (typeOf(broadcast.getInput()).getDimSize(axis) == 1)
        coefficient = 0;
    return moveAxes(*input, broadcast.getAxes());
  }
  if (auto reshape = dyn_cast_if_present<ReshapeOp>(op)) {
    std::optional<SmallVector<int64_t>> axes = keptAxes(reshape);
    std::optional<Affine> input = matchAffine(reshape.getInput(), depth + 1);
    if (!axes || !input)
      return std::nullopt;
    return moveAxes(*input, *axes);
  }
  if (typeOf(value).getRank() == 0 &&
      typeOf(value).getElementType().isInteger(64)) {
    Affine result;
    result.addSize(getExtent(value), 1);
    return result;
  }
  return std::nullopt;
}

/// Whether `condition` (or, if `negated`, its complement) says: query i sees
/// the keys up to i + T - S.
bool isCausal(Value condition, bool negated, const Extent &S, const Extent &T) {
  int64_t rank = typeOf(condition).getRank();
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  while (auto broadcast = condition.getDefiningOp<BroadcastOp>()) {
    for (int64_t &axis : axes) {
      // Which axis of the input becomes this one; -1: none, or a repeated one.
      auto found = llvm::find(broadcast.getAxes(), axis);
      axis = found == broadcast.getAxes().end()
                 ? -1
                 : found - broadcast.getAxes().begin();
      if (axis >= 0 && typeOf(broadcast.getInput()).getDimSize(axis) == 1)
        axis = -1;
    }
    condition = broadcast.getInput();
  }
  while (auto inverse = condition.getDefiningOp<NotOp>()) {
    negated = !negated;
    condition = inverse.getInput();
  }
  auto compare = condition.getDefiningOp<CompareOp>();
  if (!compare)
    return false;
  std::optional<Affine> lhs = matchAffine(compare.getLhs());
  std::optional<Affine> rhs = matchAffine(compare.getRhs());
  if (!lhs || !rhs)
    return false;
  // difference >= 0, from a comparison of lhs with rhs.
  CompareKind kind = compare.getKind();
  if (negated) {
    switch (kind) {
    case CompareKind::Lt:
      kind = CompareKind::Ge;
      break;
    case CompareKind::Le:
      kind = CompareKind::Gt;
      break;
    case CompareKind::Gt:
      kind = CompareKind::Le;
      break;
    case CompareKind::Ge:
      kind = CompareKind::Lt;
      break;
    default:
      return false;
    }
  }
  Affine difference;
  switch (kind) {
  case CompareKind::Ge:
  case CompareKind::Gt:
    difference = *lhs;
    difference.add(*rhs, -1);
    break;
  case CompareKind::Le:
  case CompareKind::Lt:
    difference = *rhs;
    difference.add(*lhs, -1);
    break;
  default:
    return false;
  }
  if (kind == CompareKind::Gt || kind == CompareKind::Lt)
    difference.constant -= 1;
  // i - j + (T - S) >= 0
  difference.addSize(T, -1);
  difference.addSize(S, 1);
  difference.clean();
  int64_t row = axes[rank - 2], column = axes[rank - 1];
  return row >= 0 && column >= 0 && difference.sizes.empty() &&
         difference.constant == 0 && difference.positions.size() == 2 &&
         difference.positions.count(row) && difference.positions[row] == 1 &&
         difference.positions.count(column) &&
         difference.positions[column] == -1;
}

//===----------------------------------------------------------------------===//
// The pattern
//===----------------------------------------------------------------------===//

/// Follows casts between float types of values nobody else reads.
Value skipCasts(Value value) {
  while (auto cast = value.getDefiningOp<CastOp>()) {
    if (!value.hasOneUse() ||
        !isa<FloatType>(typeOf(cast.getInput()).getElementType()))
      break;
    value = cast.getInput();
  }
  return value;
}

/// gemm(softmax(mask(gemm(q, k^T) * scale)), v) -> attention(q, k, v)
struct Raise : OpRewritePattern<GemmOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GemmOp op,
                                PatternRewriter &rewriter) const override {
    Type element = op.getType().getElementType();
    if (!isa<FloatType>(element) || op.getTransposeLhs() ||
        op.getTransposeRhs() || op.getPrecision() != "ieee")
      return rewriter.notifyMatchFailure(op, "not a plain product of floats");
    if (!op.getLhs().hasOneUse())
      return rewriter.notifyMatchFailure(op, "probabilities have other uses");

    Value value = skipCasts(op.getLhs());
    auto softmax = value.getDefiningOp<SoftmaxOp>();
    int64_t rank = op.getType().getRank();
    // Attention adds up in f32, or in f64 for f64.
    unsigned inner = element.isF64() ? 64 : 32;
    auto isWider = [&](std::optional<Type> accumulate) {
      return accumulate && accumulate->getIntOrFloatBitWidth() > inner;
    };
    if (isWider(op.getAccumulate()) ||
        (softmax && isWider(softmax.getAccumulate())))
      return rewriter.notifyMatchFailure(op, "sums in a wider type");
    if (!softmax || softmax.getLog() || !value.hasOneUse() ||
        int64_t(softmax.getAxis()) != rank - 1)
      return rewriter.notifyMatchFailure(op, "lhs is no softmax of rows");

    value = skipCasts(softmax.getInput());
    Value condition;
    bool negated = false;
    if (!value.hasOneUse())
      return rewriter.notifyMatchFailure(op, "scores have other uses");
    if (auto select = value.getDefiningOp<SelectOp>()) {
      condition = select.getCondition();
      if (isEverywhere(select.getB(), isMinusInfinity)) {
        value = skipCasts(select.getA());
      } else if (isEverywhere(select.getA(), isMinusInfinity)) {
        value = skipCasts(select.getB());
        negated = true;
      } else {
        return rewriter.notifyMatchFailure(op, "mask is not minus infinity");
      }
    } else if (auto add = value.getDefiningOp<AddOp>()) {
      // scores + where(visible, 0, -inf)
      Value scores = add.getLhs(), mask = add.getRhs();
      if (!matchAdditiveMask(mask, condition, negated)) {
        std::swap(scores, mask);
        if (!matchAdditiveMask(mask, condition, negated))
          return rewriter.notifyMatchFailure(op, "adds something to scores");
      }
      value = skipCasts(scores);
    }
    if (!value.hasOneUse())
      return rewriter.notifyMatchFailure(op, "scores have other uses");

    Value scale;
    bool divides = false;
    if (auto mul = value.getDefiningOp<MulOp>()) {
      scale = matchScalar(mul.getRhs());
      Value rest = mul.getLhs();
      if (!scale) {
        scale = matchScalar(mul.getLhs());
        rest = mul.getRhs();
      }
      if (!scale)
        return rewriter.notifyMatchFailure(op, "scale is no scalar");
      value = skipCasts(rest);
    } else if (auto div = value.getDefiningOp<DivOp>()) {
      scale = matchScalar(div.getRhs());
      if (!scale)
        return rewriter.notifyMatchFailure(op, "divisor is no scalar");
      divides = true;
      value = skipCasts(div.getLhs());
    }

    auto scores = value.getDefiningOp<GemmOp>();
    if (scores && isWider(scores.getAccumulate()))
      return rewriter.notifyMatchFailure(op, "sums in a wider type");
    if (!scores || !value.hasOneUse() || scores.getTransposeLhs() ||
        scores.getPrecision() != "ieee")
      return rewriter.notifyMatchFailure(op, "scores are no plain product");
    if (!scores.getTransposeRhs())
      return rewriter.notifyMatchFailure(op, "keys are not transposed");
    Value q = scores.getLhs(), k = scores.getRhs(), v = op.getRhs();
    Type input = typeOf(q).getElementType();
    if (typeOf(k).getElementType() != input ||
        typeOf(v).getElementType() != input || element != input)
      return rewriter.notifyMatchFailure(op, "q, k, v, result differ in type");
    if (condition && !isCausal(condition, negated, getExtent(q, rank - 2),
                               getExtent(k, rank - 2)))
      return rewriter.notifyMatchFailure(op, "mask is not the causal one");

    // The scale in the type attention computes in, rounded once to it.
    Location loc = op.getLoc();
    Type compute = input.isF64() ? input : rewriter.getF32Type();
    Attribute number = rewriter.getFloatAttr(compute, 1.0);
    auto scalar = RankedTensorType::get({}, compute);
    if (!scale)
      scale = ConstantOp::create(
          rewriter, loc,
          cast<ElementsAttr>(DenseElementsAttr::get(scalar, number)));
    if (divides) {
      auto own = typeOf(scale);
      Attribute one = rewriter.getFloatAttr(own.getElementType(), 1.0);
      Value numerator = ConstantOp::create(
          rewriter, loc, cast<ElementsAttr>(DenseElementsAttr::get(own, one)));
      scale = rewriter.createOrFold<DivOp>(loc, numerator, scale);
    }
    if (scale.getType() != scalar)
      scale = rewriter.createOrFold<CastOp>(loc, scalar, scale,
                                            rewriter.getStringAttr("rn"));
    rewriter.replaceOpWithNewOp<AttentionOp>(op, op.getType(), q, k, v, scale,
                                             bool(condition));
    return success();
  }

private:
  /// where(condition, 0, -inf), or the other way round (`negated`).
  static bool matchAdditiveMask(Value mask, Value &condition, bool &negated) {
    while (auto broadcast = mask.getDefiningOp<BroadcastOp>()) {
      // Only the last axes, in place: the condition is then read with them.
      RankedTensorType from = typeOf(broadcast.getInput());
      int64_t shift = broadcast.getType().getRank() - from.getRank();
      for (auto [i, axis] : llvm::enumerate(broadcast.getAxes()))
        if (axis != int64_t(i) + shift)
          return false;
      for (auto [i, size] : llvm::enumerate(from.getShape()))
        if (int64_t(i) >= from.getRank() - 2 && size == 1)
          return false;
      mask = broadcast.getInput();
    }
    auto select = mask.getDefiningOp<SelectOp>();
    if (!select || typeOf(mask).getRank() < 2)
      return false;
    auto isZero = [](const APFloat &x) { return x.isZero(); };
    condition = select.getCondition();
    negated = isEverywhere(select.getA(), isMinusInfinity);
    return negated ? isEverywhere(select.getB(), isZero)
                   : isEverywhere(select.getA(), isZero) &&
                         isEverywhere(select.getB(), isMinusInfinity);
  }
};

struct RaiseAttentionPass
    : tessera::graph::impl::RaiseAttentionPassBase<RaiseAttentionPass> {
  void runOnOperation() override {
    auto policy = getOperation()->getAttrOfType<StringAttr>("gir.policy");
    if (policy && policy.getValue() == "strict")
      return;
    RewritePatternSet patterns(&getContext());
    patterns.add<Raise>(&getContext());
    // No folding: it would round a scale that attention takes unrounded.
    GreedyRewriteConfig config;
    config.enableFolding(false);
    if (failed(
            applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace
