//===- TileOpsStoreErrors.cpp - What is stored does not fit ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/LoopUses.h"
#include "compiler/Frontend/ParseText.h"
#include "compiler/Frontend/TileOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tessera::frontend {

/// `text` with the axis `from`, a name or a call that makes it, replaced.
static std::string replaceAxis(llvm::StringRef text, llvm::StringRef from,
                               llvm::StringRef to) {
  if (size_t at = text.find(from);
      from.ends_with(")") && at != llvm::StringRef::npos)
    return (text.take_front(at) + to + text.drop_front(at + from.size())).str();
  return changeWords(text, [&](llvm::StringRef word, char before, char) {
    return (before != '.' && word == from ? to : word).str();
  });
}

/// m.index + 1 for the range tsr.range_at(M, m.start + 1, 64) behind m; empty
/// for one that has nothing to do with m.
static std::string getShifted(const SemaContext &context, const Axis &shifted,
                              const Axis &axis) {
  std::string text = context.quote(shifted.where);
  size_t open = text.find("range_at(");
  if (open == std::string::npos)
    return {};
  std::vector<std::string> arguments =
      splitAtCommas(std::string_view(text).substr(open + 9));
  std::string start = axis.name + ".start";
  if (arguments.size() != 3)
    return {};
  const std::string &second = arguments[1];
  size_t found = second.find(start);
  if (found == std::string::npos)
    return {};
  return second.substr(0, found) + axis.name + ".index" +
         second.substr(found + start.size());
}

LogicalResult TileOps::reportStoredKind(const SemaValue &view, DType dtype,
                                        const Expr *value, const OpSite &site) {
  std::string from = getDTypeName(dtype), to = getDTypeName(view.dtype);
  std::string text = value ? context.parenthesize(value) : std::string("x");
  std::string fix = text + ".to(" + to + ")";
  // A copy is of the same dtype: the array is the one to change.
  std::string declared = parameterTexts[view.parameter];
  if (size_t at = declared.rfind(to);
      value && is<Subscript>(value) && at != std::string::npos)
    fix = std::string(declared).replace(at, to.size(), from);
  // An Out without a dtype has that of the first array, which may be indices.
  bool isImplied = isFloat(dtype) && impliedDTypes[view.parameter] &&
                   llvm::StringRef(declared).ends_with("\"]");
  if (isImplied) {
    context
        .error(value ? value->range : site.range,
               "a store rounds, it does not turn " + from + " into " + to)
        .addNote(parameterRanges[view.parameter],
                 declared + " says no dtype and has that of " +
                     parameterNames[0] + ", " + to)
        .setFix(declared.substr(0, declared.size() - 1) + ", " + from + "]",
                parameterRanges[view.parameter]);
    return failure();
  }
  context
      .error(value ? value->range : site.range,
             "a store rounds, it does not turn " + from + " into " + to)
      .addNote(parameterRanges[view.parameter], declared + " is " + to)
      .setFix(fix);
  return failure();
}

/// tsr.sum(x, dim=0) as its parts: the text up to the number of the axis.
static std::string getFrontOfReduction(const SemaContext &context,
                                       const Call *call) {
  if (call->args.empty() || call->keywords.size() > 1)
    return {};
  const Expr *axis = call->args.size() == 2 ? call->args[1] : nullptr;
  std::string keyword;
  if (call->keywords.size() == 1) {
    keyword = call->keywords[0].name + "=";
    axis = call->keywords[0].value;
  }
  bool isNumber = is<Constant>(axis) || is<UnaryOp>(axis);
  bool isOverAxis = keyword == "dim=" || keyword == "axis=" || keyword.empty();
  return isNumber && isOverAxis
             ? context.quote(call->func->range) + "(" +
                   context.quote(call->args[0]->range) + ", " + keyword
             : "";
}

/// "tsr.sum(x, dim=1)" for the call tsr.sum(x, dim=0) that a value is made of,
/// where that leaves the axes of what is stored; and where it stands.
std::pair<std::string, SourceRange>
TileOps::getOtherAxis(const Expr *value, ArrayRef<Axis *> stored) {
  llvm::SetVector<const Expr *> open;
  if (value)
    open.insert(value);
  for (size_t next = 0; next < open.size() && next < 16; ++next) {
    SourceRange within = open[next]->range;
    std::pair<std::string, SourceRange> found;
    walkExpressions(context.getBody(), [&](const Expr *expr) {
      if (!isWithin(expr->range, within) || !found.first.empty())
        return true;
      if (auto *name = dynCast<Name>(expr))
        if (const Expr *assigned = context.findAssigned(name->id))
          open.insert(assigned);
      auto *call = dynCast<Call>(expr);
      std::string front = call ? getFrontOfReduction(context, call) : "";
      for (unsigned i = 0; i < 4 && !front.empty(); ++i) {
        std::string fix = front + std::to_string(i) + ")";
        std::optional<SemaValue> tried = context.tryFix(fix);
        bool fits = tried && tried->isTile() &&
                    fix != context.quote(call->range) &&
                    llvm::all_of(tried->axes, [&](Axis *each) {
                      return llvm::is_contained(stored, each);
                    });
        if (fits && found.first.empty())
          found = {fix, call->range};
      }
      return true;
    });
    if (!found.first.empty())
      return found;
  }
  return {};
}

LogicalResult TileOps::reportExtraAxis(const SemaValue &value,
                                       const Expr *valueExpr, Axis &extra,
                                       ArrayRef<Axis *> stored,
                                       const OpSite &site) {
  // Whole axes whose dims have no names: those of one size are one.
  if (context.unifyWhole(value.axes, stored,
                         valueExpr ? valueExpr->range : site.range))
    return failure();
  // Another axis over the same dim: they are two, whatever their positions.
  Axis *same = nullptr;
  for (Axis *axis : stored)
    if (extra.dim && axis->dim == extra.dim &&
        (!same || !llvm::is_contained(value.axes, axis)))
      same = axis;
  std::string text =
      valueExpr ? context.quote(valueExpr->range) : std::string();
  std::string target = context.quote(site.range);
  // The candidates, best first; the first that is accepted is the fix.
  std::vector<std::string> fixes;
  std::string why;
  if (same) {
    why = "; " + extra.name + " and " + same->name + " are two axes over dim " +
          extra.dim->name;
    std::string shifted = getShifted(context, extra, *same);
    std::string backwards = getShifted(context, *same, extra);
    if (!text.empty() && !shifted.empty())
      fixes.push_back(replaceAxis(text, extra.name, shifted));
    if (!text.empty() && backwards.empty())
      fixes.push_back(replaceAxis(text, extra.name, same->name));
  }
  if (auto *load = dynCast<Subscript>(valueExpr))
    if (auto *order = dynCast<Tuple>(load->slice);
        order && order->elts.size() == 2)
      fixes.push_back(context.quote(load->value->range) + "[" +
                      context.quote(order->elts[1]->range) + ", " +
                      context.quote(order->elts[0]->range) + "]");
  SourceRange wrong = valueExpr ? valueExpr->range : site.range;
  if (auto [along, where] = getOtherAxis(valueExpr, stored); !along.empty()) {
    fixes.insert(fixes.begin(), along);
    wrong = where;
  }
  const auto *call = dynCast<Call>(valueExpr);
  if (call && call->args.size() == 2 && call->keywords.empty())
    for (Axis *axis : stored)
      if (!llvm::is_contained(value.axes, axis) &&
          context.quote(call->args[1]->range) == axis->name)
        fixes.push_back(context.quote(call->func->range) + "(" +
                        context.quote(call->args[0]->range) + ", " +
                        extra.name + ")");
  // tsr.maximum(x, n) is of two values, tsr.max(x, n) over an axis.
  if (call && call->args.size() == 2 &&
      context.quote(call->args[1]->range) ==
          (extra.kind == Axis::Kind::Whole && extra.dim ? extra.dim->name
                                                        : extra.name))
    for (llvm::StringRef name : {"max", "min"})
      if (context.quote(call->func->range) == ("tsr." + name + "imum").str())
        fixes.push_back("tsr." + name.str() + "(" +
                        context.quote(call->args[0]->range) + ", " +
                        context.quote(call->args[1]->range) + ")");
  // A reduction inside it over an axis that is stored: over this one instead.
  if (valueExpr)
    walkExpressions(context.getBody(), [&](const Expr *each) {
      auto *inner = dynCast<Call>(each);
      if (!inner || inner->args.size() != 2 || !inner->keywords.empty() ||
          !isWithin(inner->range, valueExpr->range) ||
          inner->range.begin.line != valueExpr->range.begin.line)
        return true;
      std::string over = context.quote(inner->args[1]->range);
      for (Axis *axis : stored)
        if (over == axis->name) {
          std::string fix = text;
          fix.replace(inner->args[1]->range.begin.column -
                          valueExpr->range.begin.column,
                      over.size(), extra.name);
          fixes.insert(fixes.begin(), fix);
        }
      return true;
    });
  if (!same && !text.empty()) {
    std::string sum = text;
    for (Axis *axis : value.axes)
      if (!llvm::is_contained(stored, axis))
        sum = "tsr.sum(" + sum + ", " + axis->name + ")";
    fixes.push_back(sum);
  }
  std::string fix;
  for (const std::string &candidate : fixes) {
    if (!fix.empty() || candidate == text)
      continue;
    std::optional<SemaValue> tried = context.tryFix(candidate);
    if (tried && llvm::all_of(tried->axes, [&](Axis *axis) {
          return llvm::is_contained(stored, axis);
        }))
      fix = candidate;
  }
  // It was made before: where it is made, one range serves both.
  if (fix.empty() && same)
    fix = "one range for both: " + same->name + " where " + extra.name +
          " is used, or r = " +
          (!extra.isNamed()
               ? extra.name
               : "tsr.range_at(" + extra.dim->name + ", " + extra.name +
                     ".start, " + std::to_string(extra.size) + ")") +
          " in the load and in the store";
  // What made it, if that is where it is to be changed.
  bool isMadeBefore = !fixes.empty() && fix == fixes.front() && valueExpr &&
                      !isWithin(wrong, valueExpr->range);
  Diagnostic &diagnostic = context.error(
      isMadeBefore ? wrong
      : valueExpr  ? valueExpr->range
                   : site.range,
      (value.name.empty() ? std::string("the value") : value.name) + " is " +
          describeAxes(value.axes) + ", but " + target + " has no axis " +
          extra.name + "; it is " + describeAxes(stored) + why);
  diagnostic.addNote(extra.where, "the axis " + extra.name);
  if (same)
    diagnostic.addNote(same->where, "the axis " + same->name);
  if (!fix.empty())
    diagnostic.setFix(fix);
  return failure();
}

} // namespace tessera::frontend
