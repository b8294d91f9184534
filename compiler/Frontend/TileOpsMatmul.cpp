//===- TileOpsMatmul.cpp - Matrix products of tiles -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/TileOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tessera::frontend {

ValueResult TileOps::callMma(const CallArguments &arguments,
                             const OpSite &site) {
  FailureOr<BoundArguments> bound = bindArguments(
      context, "tsr.mma", arguments, {"a", "b", "acc", "*precision"}, 2, site);
  if (failed(bound))
    return failure();
  std::string precision = "ieee";
  if (const CallArgument *argument = (*bound)[3]) {
    FailureOr<std::string> given =
        getChoice(context, *argument, "precision", {"ieee"},
                  {"tf32", "tf32x3", "bf16x3"});
    if (failed(given))
      return failure();
    precision = *given;
  }
  const CallArgument *acc = (*bound)[2];
  if (acc && acc->value.isNone())
    acc = nullptr;
  OpSite inner = site;
  inner.operands = {(*bound)[0]->expr, (*bound)[1]->expr};
  if (acc)
    inner.operands.push_back(acc->expr);
  ValueResult result = multiply((*bound)[0]->value, (*bound)[1]->value,
                                acc ? &acc->value : nullptr, precision, inner);
  return result;
}

ValueResult TileOps::matmul(const SemaValue &left, const SemaValue &right,
                            const SemaValue *acc, const OpSite &site) {
  return multiply(left, right, acc, "ieee", site);
}

ValueResult TileOps::multiply(const SemaValue &left, const SemaValue &right,
                              const SemaValue *acc, llvm::StringRef precision,
                              const OpSite &site) {
  const SemaValue *sides[] = {&left, &right};
  const Expr *exprs[] = {site.operands[0], site.operands[1]};
  std::string names[] = {nameOf(left, exprs[0]), nameOf(right, exprs[1])};
  for (int i : {0, 1}) {
    if (sides[i]->isTile())
      continue;
    Diagnostic &diagnostic = context.error(
        exprs[i] ? exprs[i]->range : site.range,
        "@ multiplies tiles, but " + names[i] + " is " + describe(*sides[i]));
    if (sides[i]->kind == ValueKind::View)
      diagnostic.setFix(names[i] + "[m, k]");
    else if (sides[i]->isNumber())
      diagnostic.setFix((exprs[0] ? context.quote(exprs[0]->range) : names[0]) +
                        " * " +
                        (exprs[1] ? context.quote(exprs[1]->range) : names[1]));
    return failure();
  }
  if (left.axes.size() > 2 || right.axes.size() > 2) {
    (void)context.notYet(site.range, "@ of tiles with more than two axes",
                         "index the others by scalars");
    return failure();
  }
  std::string texts[] = {exprs[0] ? context.quote(exprs[0]->range) : names[0],
                         exprs[1] ? context.quote(exprs[1]->range) : names[1]};
  Axis *last = left.axes.back(), *first = right.axes.front();
  if (last != first) {
    Diagnostic &diagnostic = context.error(
        site.nameRange, "@ joins axis " + last->name + " of " + names[0] +
                            " with axis " + first->name + " of " + names[1] +
                            "; they must be the same axis");
    for (int i : {0, 1})
      if (!sides[i]->name.empty() && exprs[i] && is<Name>(exprs[i]))
        diagnostic.addNote(sides[i]->origin,
                           names[i] + " is " + describe(*sides[i]));
    auto *call = exprs[1] && is<Attribute>(exprs[1])
                     ? checkedCast<Attribute>(exprs[1])
                     : nullptr;
    if (call && call->attr == "T" && right.axes.back() == last)
      diagnostic.setFix(texts[0] + " @ " + context.quote(call->value->range));
    else if (right.axes.back() == last)
      diagnostic.setFix(texts[0] + " @ " + texts[1] + ".T");
    else if (left.axes.front() == first)
      diagnostic.setFix(texts[0] + ".T @ " + texts[1]);
    else if (left.axes.front() == right.axes.back())
      diagnostic.setFix(texts[0] + ".T @ " + texts[1] + ".T");
    else if (left.axes.size() == 1 && right.axes.size() == 1)
      diagnostic.setFix(texts[0] + " * " + texts[1] +
                        ", the product of all pairs [" + last->name + ", " +
                        first->name + "]");
    else
      diagnostic.setFix("load " + names[1] + " with " + last->name +
                        " as its first axis: " + names[1] + "[" + last->name +
                        ", ...]");
    diagnostic.origins = context.findOrigins(site.range);
    return failure();
  }
  if (left.axes.size() == 2 && right.axes.size() == 2 &&
      left.axes.front() == right.axes.back()) {
    context
        .error(site.range, "the product would have the axis " +
                               left.axes.front()->name + " twice")
        .addNote(left.axes.front()->where,
                 "the axis " + left.axes.front()->name)
        .setFix(left.axes.front()->name + "2 = " + left.axes.front()->name +
                ".copy(), and load one side with it");
    return failure();
  }
  if (left.dtype != right.dtype) {
    auto show = [&](int i) {
      std::string text = names[i] + " is " + getDTypeName(sides[i]->dtype);
      if (exprs[i] && is<Name>(exprs[i]) && sides[i]->origin.isValid())
        text += " (line " + std::to_string(sides[i]->origin.begin.line) + ")";
      return text;
    };
    // The wider side is rounded: to the dtype of the tensor it meets.
    int wider = getDTypeBits(left.dtype) >= getDTypeBits(right.dtype) ? 0 : 1;
    auto *other = dynCast<Subscript>(exprs[1 - wider]);
    std::string dtype = other && is<Name>(other->value)
                            ? names[1 - wider] + ".dtype"
                            : getDTypeName(sides[1 - wider]->dtype);
    std::string text = texts[wider];
    if (is<BinOp>(exprs[wider]) || is<UnaryOp>(exprs[wider]))
      text = "(" + text + ")";
    context
        .error(site.range, "@ needs equal dtypes: " + show(0) + ", " + show(1))
        .setFix(text + ".to(" + dtype + ")");
    return failure();
  }
  if (!isFloat(left.dtype) && left.dtype != DType::I8) {
    (void)context.notYet(site.range,
                         std::string("@ of ") + getDTypeName(left.dtype),
                         texts[0] + ".to(fp32) @ " + texts[1] + ".to(fp32)");
    return failure();
  }
  DType dtype = getAccumulate(left.dtype);
  Alignment alignment;
  for (size_t i = 0; i + 1 < left.axes.size(); ++i) {
    alignment.axes.push_back(left.axes[i]);
    alignment.complete.push_back(left.complete[i]);
  }
  for (size_t i = 1; i < right.axes.size(); ++i) {
    alignment.axes.push_back(right.axes[i]);
    alignment.complete.push_back(right.complete[i]);
  }
  OpBuilder &b = builder();
  Location at = context.loc(site.range);
  // One op if the accumulator has the product's dtype and no other axes.
  bool fused = acc && (acc->isTile() || acc->isScalar()) && !acc->weak &&
               acc->dtype == dtype &&
               (acc->axes == alignment.axes ||
                (acc->axes.size() < alignment.axes.size() &&
                 llvm::all_of(acc->axes, [&](Axis *axis) {
                   return llvm::is_contained(alignment.axes, axis);
                 })));
  mlir::Value start;
  if (fused) {
    start = spread(*acc, dtype, alignment, at);
  } else {
    start = makeConstant(ConstantData(0.0), dtype, getType(dtype, {}), at);
    SmallVector<mlir::Value> ranges;
    for (auto [axis, complete] : llvm::zip(alignment.axes, alignment.complete))
      ranges.push_back(getRange(axis, complete, at));
    if (!ranges.empty())
      start = tile::FillOp::create(b, at, getType(dtype, alignment.axes), start,
                                   ranges);
  }
  mlir::Value result = tile::MmaOp::create(b, at, start.getType(), left.ssa,
                                           right.ssa, start, precision);
  SemaValue product =
      SemaValue::makeTile(result, dtype, alignment.axes, alignment.complete);
  if (!acc || fused)
    return product;
  OpSite sum = site;
  sum.operands = {site.operands.size() > 2 ? site.operands[2] : nullptr,
                  nullptr};
  ValueResult decayed = context.decay(*acc, site.range);
  if (failed(decayed))
    return failure();
  return binary(BinaryOperator::Add, *decayed, product, sum);
}

} // namespace tessera::frontend
