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
  std::string precision = context.precision;
  if (const CallArgument *argument = (*bound)[3]) {
    FailureOr<std::string> given =
        getChoice(context, *argument, "precision", {"ieee", "tf32"},
                  {"tf32x3", "bf16x3"});
    if (failed(given))
      return failure();
    precision = *given;
  }
  const CallArgument *acc = (*bound)[2];
  if (acc && acc->value.isNone())
    acc = nullptr;
  // The sum comes last: mma(acc, a, b) would multiply it.
  auto chains = [](const SemaValue &a, const SemaValue &b, const SemaValue &c) {
    return a.isTile() && b.isTile() && c.isTile() && a.axes.size() == 2 &&
           b.axes.size() == 2 && c.axes.size() == 2 && a.axes[1] == b.axes[0] &&
           c.axes[0] == a.axes[0] && c.axes[1] == b.axes[1];
  };
  const CallArgument *first = (*bound)[0], *second = (*bound)[1];
  if (acc && !chains(first->value, second->value, acc->value) &&
      chains(second->value, acc->value, first->value)) {
    context
        .error(site.range, "tsr.mma takes two factors, then the sum: " +
                               context.quote(first->where) + " comes last")
        .setFix("tsr.mma(" + context.quote(second->where) + ", " +
                context.quote(acc->where) + ", " + context.quote(first->where) +
                ")");
    return failure();
  }
  OpSite inner = site;
  inner.operands = {(*bound)[0]->expr, (*bound)[1]->expr};
  if (acc)
    inner.operands.push_back(acc->expr);
  ValueResult result = multiply((*bound)[0]->value, (*bound)[1]->value,
                                acc ? &acc->value : nullptr, precision, inner);
  return result;
}

/// mma_sparse(a, meta, b, acc): a [m, h], meta [m, w], b [k, n] with two
/// positions of k for one of h, 32 for one of w.
/// mma_scaled(a, sa, b, sb, acc): a [m, k], sa [m, s], b [k, n], sb [s, n] with
/// 32 positions of k for one of s.
ValueResult TileOps::callExtendedMma(llvm::StringRef name,
                                     const CallArguments &arguments,
                                     const OpSite &site) {
  bool sparse = name == "mma_sparse";
  std::string callee = "tsr." + name.str();
  SmallVector<llvm::StringRef> names = {"a", "meta", "b", "acc"};
  if (!sparse)
    names = {"a", "sa", "b", "sb", "acc"};
  FailureOr<BoundArguments> bound = bindArguments(
      context, callee, arguments, names, unsigned(names.size()) - 1, site);
  if (failed(bound))
    return failure();
  const CallArgument *a = (*bound)[0], *beside = (*bound)[1], *b = (*bound)[2],
                     *other = sparse ? nullptr : (*bound)[3],
                     *acc = (*bound)[names.size() - 1];
  auto fail = [&](const CallArgument &at, const std::string &text,
                  const std::string &fix) -> ValueResult {
    context.error(at.expr ? at.expr->range : site.range, text).setFix(fix);
    return failure();
  };
  for (size_t i = 0; i + 1 < names.size(); ++i) {
    const CallArgument &side = *(*bound)[i];
    if (!side.value.isTile() || side.value.axes.size() != 2)
      return fail(side,
                  names[i].str() + " of " + callee +
                      " is a tile of two axes, not " + describe(side.value),
                  i == 0   ? "A[m, k]"
                  : i == 2 ? "B[k, n]"
                           : "S[m, s]");
  }
  auto sizeOf = [](const CallArgument *side, size_t axis) {
    return side->value.axes[axis]->size;
  };
  DType dtype = a->value.dtype;
  bool known = sparse ? dtype == DType::FP16 || dtype == DType::BF16
                      : dtype == DType::FP8_E4M3 || dtype == DType::FP8_E5M2;
  if (!known || b->value.dtype != dtype)
    return fail(known ? *b : *a,
                callee + " multiplies tiles of one dtype, " +
                    (sparse ? "fp16 or bf16" : "fp8_e4m3 or fp8_e5m2") +
                    ", not " + getDTypeName(dtype) + " and " +
                    getDTypeName(b->value.dtype),
                sparse ? "tsr.mma(a, b, acc)" : "a.to(fp8_e4m3)");
  int64_t k = sizeOf(b, 0), group = 32;
  DType word = sparse ? DType::I32 : DType::I8;
  for (const CallArgument *side : {beside, other})
    if (side && side->value.dtype != word)
      return fail(*side,
                  "the " + std::string(sparse ? "positions" : "factors") +
                      " of " + callee + " are " + getDTypeName(word) +
                      ", not " + getDTypeName(side->value.dtype),
                  sparse ? "meta: Tensor[\"M\", \"W\", i32]"
                         : "sa: Tensor[\"M\", \"S\", i8]");
  auto number = [](int64_t value) { return std::to_string(value); };
  if (sizeOf(a, 1) * (sparse ? 2 : 1) != k || k % group ||
      sizeOf(beside, 1) * group != k ||
      (other && sizeOf(other, 0) * group != k))
    return fail(*beside,
                callee + ": for " + number(k) + " positions of " +
                    b->value.axes[0]->name + " a has " +
                    number(k / (sparse ? 2 : 1)) + " and " + names[1].str() +
                    (other ? " and sb have " : " has ") + number(k) + " / " +
                    number(group) + ", not " + number(sizeOf(a, 1)) + " and " +
                    number(sizeOf(beside, 1)),
                "tsr.range_at(W, k.start // " + number(group) + ", " +
                    number(std::max<int64_t>(k / group, 1)) + ")");
  Axis *m = a->value.axes[0], *n = b->value.axes[1];
  if (beside->value.axes[0] != m || (other && other->value.axes[1] != n) ||
      (!sparse && a->value.axes[1] != b->value.axes[0]) ||
      (other && other->value.axes[0] != beside->value.axes[1]))
    return fail(*beside,
                callee + (sparse ? " takes a [m, h], meta [m, w], b [k, n]"
                                 : " takes a [m, k], sa [m, s], b [k, n], "
                                   "sb [s, n]"),
                sparse ? "A[m, h], E[m, w], B[k, n]"
                       : "A[m, k], SA[m, s], B[k, n], SB[s, n]");
  Alignment alignment;
  alignment.axes = {m, n};
  alignment.complete = {a->value.complete[0], b->value.complete[1]};
  OpBuilder &builder = this->builder();
  Location at = context.loc(site.range);
  if (acc && acc->value.isNone())
    acc = nullptr;
  if (acc && (!acc->value.isTile() || acc->value.dtype != DType::FP32 ||
              acc->value.axes != alignment.axes))
    return fail(*acc,
                "the accumulator of " + callee + " is an fp32 tile [" +
                    m->name + ", " + n->name + "], not " + describe(acc->value),
                "tsr.zeros(" + m->name + ", " + n->name + ")");
  mlir::Value start;
  if (acc) {
    start = acc->value.ssa;
  } else {
    start = makeConstant(ConstantData(0.0), DType::FP32,
                         getType(DType::FP32, {}), at);
    SmallVector<mlir::Value> ranges;
    for (auto [axis, complete] : llvm::zip(alignment.axes, alignment.complete))
      ranges.push_back(getRange(axis, complete, at));
    start = tile::FillOp::create(
        builder, at, getType(DType::FP32, alignment.axes), start, ranges);
  }
  mlir::Value meta, left, right;
  if (sparse) {
    // Absent words name the first two of four: their elements are absent too.
    Type i32 = builder.getI32Type();
    meta = tile::FilledOp::create(
        builder, at, beside->value.ssa,
        arith::ConstantOp::create(builder, at,
                                  builder.getIntegerAttr(i32, 0x44444444)));
  } else {
    left = beside->value.ssa;
    right = other->value.ssa;
  }
  mlir::Value result = tile::MmaOp::create(
      builder, at, start.getType(), a->value.ssa, b->value.ssa, start, meta,
      left, right, "ieee", tile::InstructionAttr());
  return SemaValue::makeTile(result, DType::FP32, alignment.axes,
                             alignment.complete);
}

/// "for k in tsr.tile(K, 64):" for an operand A[m, k] whose k counts in steps.
static SemaContext::TileLoop getLoopFix(const SemaContext &context,
                                        const Expr *operand) {
  auto *access = dynCast<Subscript>(operand);
  if (!access)
    return {};
  llvm::ArrayRef<Expr *> indices = access->slice;
  if (auto *tuple = dynCast<Tuple>(access->slice))
    indices = tuple->elts;
  for (const Expr *index : indices)
    if (auto *name = dynCast<Name>(index))
      if (auto found = context.tileLoops.find(name->id);
          found != context.tileLoops.end())
        return found->second;
  return {};
}

ValueResult TileOps::matmul(const SemaValue &left, const SemaValue &right,
                            const SemaValue *acc, const OpSite &site) {
  return multiply(left, right, acc, context.precision, site);
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
      diagnostic.setFix(names[i] + "[" + getIndicesFor(*sides[i]) + "]");
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
    // Whole axes of dims without names are what the product makes of them,
    // unless the sides have an axis in common.
    bool common = llvm::any_of(left.axes, [&](Axis *axis) {
      return llvm::is_contained(right.axes, axis);
    });
    for (auto [a, b] : {std::pair(last, first),
                        {last, right.axes.back()},
                        {left.axes.front(), first}})
      if (!common && a->kind == Axis::Kind::Whole &&
          b->kind == Axis::Kind::Whole &&
          context.unify(*a->dim, *b->dim, site.range))
        return failure();
    Diagnostic &diagnostic = context.error(
        site.nameRange, "@ joins axis " + last->name + " of " + names[0] +
                            " with axis " + first->name + " of " + names[1] +
                            "; they must be the same axis");
    for (int i : {0, 1})
      if (!sides[i]->name.empty() && exprs[i] && is<Name>(exprs[i]))
        diagnostic.addNote(sides[i]->origin,
                           names[i] + " is " + describe(*sides[i]));
    SemaContext::TileLoop loop = getLoopFix(context, exprs[0]);
    auto *call = exprs[1] && is<Attribute>(exprs[1])
                     ? checkedCast<Attribute>(exprs[1])
                     : nullptr;
    if (!loop.text.empty())
      diagnostic.setFix(loop.text, loop.where);
    else if (call && call->attr == "T" && right.axes.back() == last)
      diagnostic.setFix(texts[0] + " @ " + context.quote(call->value->range));
    else if (right.axes.back() == last)
      diagnostic.setFix(texts[0] + " @ " + asObject(texts[1]) + ".T");
    else if (left.axes.front() == first)
      diagnostic.setFix(texts[0] + ".T @ " + texts[1]);
    else if (left.axes.front() == right.axes.back())
      diagnostic.setFix(asObject(texts[1]) + " @ " + asObject(texts[0]),
                        site.range);
    else if (left.axes.size() == 1 && right.axes.size() == 1)
      diagnostic.setFix(texts[0] + " * " + texts[1] +
                        ", the product of all pairs [" + last->name + ", " +
                        first->name + "]");
    else
      diagnostic.setFix("load " + names[1] + " with " + last->name +
                        " as its first axis: " + names[1] + "[" + last->name +
                        ", ...]");
    // tsr.mma(a, b, acc) stays a call.
    auto [a, b] = llvm::StringRef(diagnostic.fix).split(" @ ");
    if (exprs[0] && exprs[1] && !b.empty() &&
        context.quote(site.nameRange) == "mma")
      diagnostic.setFix("tsr.mma(" + a.str() + ", " + b.str() +
                            context.quote({site.range.file, exprs[1]->range.end,
                                           site.range.end}),
                        site.range);
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
    // The wider side is rounded: to the dtype of the tensor it meets. Integers
    // beside floats become floats, which loses nothing.
    int wider = getDTypeBits(left.dtype) >= getDTypeBits(right.dtype) ? 0 : 1;
    if (isFloat(left.dtype) != isFloat(right.dtype))
      wider = isFloat(left.dtype) ? 1 : 0;
    auto *other = dynCast<Subscript>(exprs[1 - wider]);
    std::string dtype = other && is<Name>(other->value)
                            ? names[1 - wider] + ".dtype"
                            : getDTypeName(sides[1 - wider]->dtype);
    std::string text = texts[wider];
    if (is<BinOp>(exprs[wider]) || is<UnaryOp>(exprs[wider]))
      text = "(" + text + ")";
    Diagnostic &diagnostic = context.error(
        site.range, "@ needs equal dtypes: " + show(0) + ", " + show(1));
    diagnostic.setFix(text + ".to(" + dtype + ")",
                      exprs[wider] ? exprs[wider]->range : SourceRange());
    const DType dtypes[2] = {left.dtype, right.dtype};
    leaveOutConversion(context, diagnostic, exprs, dtypes);
    return failure();
  }
  if (!isFloat(left.dtype) && left.dtype != DType::I8) {
    (void)context.notYet(
        site.range, std::string("@ of ") + getDTypeName(left.dtype),
        asObject(texts[0]) + ".to(fp32) @ " + asObject(texts[1]) + ".to(fp32)");
    return failure();
  }
  if (failed(checkAccumulate(context, left.dtype, site)))
    return failure();
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
  // Of other types the precision is their own.
  mlir::Value result = tile::MmaOp::create(
      b, at, start.getType(), left.ssa, right.ssa, start,
      left.dtype == DType::FP32 ? precision : llvm::StringRef("ieee"));
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
