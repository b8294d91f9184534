//===- TileOpsIndexErrors.cpp - Wrong indices, and their fixes ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/LoopUses.h"
#include "compiler/Frontend/ParseText.h"
#include "compiler/Frontend/TileOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tessera::frontend {

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// X[m, i]: what an access would be with another index on one axis.
static std::string replaceIndex(const SemaContext &context,
                                const std::string &name,
                                llvm::ArrayRef<SemaValue> indices, size_t axis,
                                const std::string &index, const OpSite &site) {
  std::string text = name + "[";
  for (size_t i = 0; i < indices.size(); ++i)
    text += (i ? ", " : "") + (i == axis ? index
                               : i < site.operands.size() && site.operands[i]
                                   ? context.quote(site.operands[i]->range)
                                   : std::string(":"));
  return text + "]";
}

/// Where all uses of a loop's variable index another dim than the loop covers,
/// the loop is wrong and not they: true, with an error there.
bool TileOps::reportWrongLoop(const SemaValue &view, const SemaValue &index,
                              size_t axis, const Expr *expr) {
  auto *name = dynCast<Name>(expr);
  const std::string &wanted = view.dims[axis]->name;
  if (!name || !index.axis->dim)
    return false;
  std::vector<LoopUse> uses = collectLoopUses(
      context, [&](llvm::StringRef of) { return context.dimNamesOf(of); });
  const LoopUse *own = nullptr;
  for (const LoopUse &use : uses)
    if (use.name == name->id && isWithin(expr->range, use.loop->range))
      own = &use;
  if (!own || own->dims != std::set<std::string>{wanted})
    return false;
  std::string covered = context.quote(own->extent->range);
  const std::string &declared = parameterTexts[view.parameter];
  // The names of a grid in another order than its ranges.
  for (const LoopUse &other : uses) {
    if (other.loop != own->loop || &other == own || other.dims.size() != 1 ||
        *other.dims.begin() != covered ||
        context.quote(other.extent->range) != wanted)
      continue;
    std::string targets =
        changeWords(context.quote(own->loop->target->range),
                    [&](llvm::StringRef word, char, char) -> std::string {
                      return word == own->name    ? other.name
                             : word == other.name ? own->name
                                                  : word.str();
                    });
    context
        .error(own->loop->target->range,
               own->name + " covers " + covered + " and " + other.name +
                   " covers " + wanted +
                   ", but all that they index has them the other way round")
        .addNote(expr->range, context.quote(expr->range) + " indexes axis " +
                                  std::to_string(axis) + " of " + declared)
        .setFix(targets);
    return true;
  }
  if (own->count < 2 && !context.findRange(*view.dims[axis]).empty())
    return false;
  context
      .error(own->extent->range, own->name + " covers dim " + covered +
                                     ", but every axis that it indexes is " +
                                     wanted)
      .addNote(expr->range, context.quote(expr->range) + " indexes axis " +
                                std::to_string(axis) + " of " + declared)
      .setFix(wanted);
  return true;
}

/// W[d, rows], where d covers the dim of axis 1: true, with an error.
bool TileOps::reportIndicesSwapped(const SemaValue &view,
                                   const SemaValue &index, size_t axis,
                                   const Expr *expr) {
  const Subscript *access = nullptr;
  walkExpressions(context.getBody(), [&](const Expr *each) {
    auto *subscript = dynCast<Subscript>(each);
    if (subscript && expr && isWithin(expr->range, subscript->slice->range))
      access = subscript;
    return true;
  });
  auto *indices = access ? dynCast<Tuple>(access->slice) : nullptr;
  if (!indices || indices->elts.size() != view.dims.size())
    return false;
  for (size_t other = 0; other < view.dims.size(); ++other) {
    if (other == axis || view.dims[other] != index.axis->dim)
      continue;
    std::vector<std::string> texts;
    for (const Expr *each : indices->elts)
      texts.push_back(context.quote(each->range));
    std::swap(texts[axis], texts[other]);
    context
        .error(access->range, "axis " + std::to_string(axis) + " of " +
                                  parameterNames[view.parameter] + " is " +
                                  view.dims[axis]->name +
                                  ", but is indexed by " + index.axis->name +
                                  ", which covers " + index.axis->dim->name)
        .addNote(parameterRanges[view.parameter],
                 parameterTexts[view.parameter])
        .setFix(context.quote(access->value->range) + "[" +
                llvm::join(texts, ", ") + "]");
    return true;
  }
  return false;
}

/// A dim that one annotation alone has, and no loop: true, with an error there.
bool TileOps::reportLonelyDim(const SemaValue &view, const SemaValue &index,
                              size_t axis, const Expr *expr) {
  const std::string &wanted = view.dims[axis]->name,
                    &declared = parameterTexts[view.parameter];
  auto quoted = [](const std::string &name) { return "\"" + name + "\""; };
  unsigned count = 0;
  for (const std::string &text : parameterTexts)
    count += llvm::StringRef(text).count(quoted(wanted));
  bool isUsed = false;
  walkExpressions(context.getBody(), [&](const Expr *each) {
    auto *name = dynCast<Name>(each);
    isUsed |= name && name->id == wanted;
    return true;
  });
  size_t at = declared.find(quoted(wanted));
  if (count != 1 || isUsed || at == std::string::npos || !index.axis->dim ||
      !findDimText(index.axis->dim->name))
    return false;
  if (reportIndicesSwapped(view, index, axis, expr))
    return true;
  std::string text = declared;
  text.replace(at, quoted(wanted).size(), quoted(index.axis->dim->name));
  context
      .error(parameterRanges[view.parameter],
             "axis " + std::to_string(axis) + " of " +
                 parameterNames[view.parameter] + " is " + wanted +
                 ", a dim of its own, but is indexed by " + index.axis->name +
                 ", which covers " + index.axis->dim->name)
      .addNote(expr ? expr->range : SourceRange(), "indexed here")
      .addNote(index.axis->where, context.quote(index.axis->where))
      .setFix(text);
  return true;
}

/// Does an annotation have the dim by this name?
bool TileOps::findDimText(llvm::StringRef name) const {
  return llvm::any_of(parameterTexts, [&](const std::string &text) {
    return llvm::StringRef(text).contains(("\"" + name + "\"").str());
  });
}

/// "W[n, k]" or "W[n, k].T" in place of what is at `where`: the one that the
/// product it is an operand of accepts.
static std::string getOperandFix(SemaContext &context, const SourceRange &where,
                                 const std::string &fix) {
  std::string found = fix;
  walkExpressions(context.getBody(), [&](const Expr *expr) {
    auto *product = dynCast<BinOp>(expr);
    if (!product || product->op != BinaryOperator::MatMult)
      return true;
    bool isLeft = product->left->range == where;
    if (!isLeft && product->right->range != where)
      return true;
    for (const std::string &operand : {fix, fix + ".T"}) {
      std::string other =
          context.quote((isLeft ? product->right : product->left)->range);
      if (context.tryFix(isLeft ? operand + " @ " + other
                                : other + " @ " + operand)) {
        found = operand;
        break;
      }
    }
    return false;
  });
  return found;
}

/// The dim of a range, or of positions along one.
static Dim *dimOfIndex(const SemaValue &index) {
  if (index.kind == ValueKind::Range)
    return index.axis->dim;
  return index.isTile() && index.axes.size() == 1 ? index.axes[0]->dim
                                                  : nullptr;
}

/// Whether an access indexes an axis of the dim by ':', and no loop covers it.
static bool isIndexedWhole(SemaContext &context, const Dim &dim) {
  bool isWhole = false;
  walkIndices(
      context, [&](llvm::StringRef of) { return context.dimNamesOf(of); },
      [&](const Subscript &, const Expr *index, const std::string &of) {
        isWhole |= of == dim.name && context.quote(index->range) == ":";
      });
  return isWhole && context.findRange(dim).empty();
}

LogicalResult TileOps::reportWrongDim(const SemaValue &view,
                                      llvm::ArrayRef<SemaValue> indices,
                                      size_t axis, const OpSite &site) {
  const std::string &name = parameterNames[view.parameter];
  const SemaValue &index = indices[axis];
  const Expr *expr =
      axis < site.operands.size() ? site.operands[axis] : nullptr;
  if (index.axis->dim && context.unify(*index.axis->dim, *view.dims[axis],
                                       expr ? expr->range : site.range))
    return failure();
  if (expr && reportWrongLoop(view, index, axis, expr))
    return failure();
  std::string range = expr ? context.quote(expr->range) : index.axis->name;
  bool isThere = !context.findRange(*view.dims[axis]).empty();
  bool isTransposed = llvm::any_of(indices, [&](const SemaValue &each) {
    return &each != &index && dimOfIndex(each) == view.dims[axis];
  });
  if (!isThere && !isTransposed && reportLonelyDim(view, index, axis, expr))
    return failure();
  std::string covers =
      index.axis->dim ? "dim " + index.axis->dim->name : "a number, no dim";
  Diagnostic &diagnostic = context.error(
      expr ? expr->range : site.range,
      range + " covers " + covers + ", but axis " + std::to_string(axis) +
          " of " + name + " is " + view.dims[axis]->name);
  diagnostic.addNote(parameterRanges[view.parameter],
                     parameterTexts[view.parameter]);
  diagnostic.addNote(index.axis->where, context.quote(index.axis->where));
  // The same indices in the order of the axes, if there is exactly one.
  std::vector<std::string> fixed;
  llvm::SmallVector<bool> used(indices.size(), false);
  for (Dim *dim : view.dims) {
    bool found = false;
    for (size_t i = 0; i < indices.size() && !found; ++i) {
      if (used[i] || !dim || dimOfIndex(indices[i]) != dim)
        continue;
      used[i] = found = true;
      fixed.push_back(i < site.operands.size() && site.operands[i]
                          ? context.quote(site.operands[i]->range)
                          : indices[i].axis->name);
    }
    if (!found)
      break;
  }
  // B[n, :] of B[K, N]: the range belongs to the axis that has the ':'.
  std::string swapped;
  for (size_t i = 0; i < indices.size() && fixed.size() < indices.size(); ++i) {
    // Or B[i, n] with a number i.
    bool isWhole =
        (indices[i].kind == ValueKind::Slice && indices[i].elements.empty()) ||
        (i != axis && indices[i].isNumber());
    if (!isWhole || !index.axis->dim || view.dims[i] != index.axis->dim)
      continue;
    for (size_t k = 0; k < indices.size(); ++k) {
      size_t from = k == i ? axis : k == axis ? i : k;
      swapped += (k ? ", " : name + "[") +
                 (from < site.operands.size() && site.operands[from]
                      ? context.quote(site.operands[from]->range)
                      : std::string(":"));
    }
    swapped += "]";
    break;
  }
  // Of "N - 1" elements of N: positions, which no dim has to match.
  bool isPart = false;
  if (index.axis->dim)
    changeWords(index.axis->dim->name, [&](llvm::StringRef word, char, char) {
      isPart |= word == view.dims[axis]->name;
      return word.str();
    });
  if (isPart) {
    diagnostic.setFix(
        replaceIndex(context, name, indices, axis, range + ".index", site));
  } else if (!swapped.empty()) {
    diagnostic.setFix(swapped, site.range);
  } else if (fixed.size() == view.dims.size()) {
    std::string fix = name + "[", dims;
    for (auto [i, part] : llvm::enumerate(fixed))
      fix += (i ? ", " : "") + part;
    // A value that lies as it is stored means the transpose, and so does a
    // load whose elements are stored the other way round: nothing else is done.
    std::optional<SemaValue> stored;
    bool isCopy = false, isAlike = false;
    if (site.operands.size() == indices.size() + 1 && site.operands.back()) {
      stored = context.tryFix(context.quote(site.operands.back()->range));
      auto *load = dynCast<Subscript>(site.operands.back());
      auto *order = load ? dynCast<Tuple>(load->slice) : nullptr;
      auto isName = [](const Expr *index) { return is<Name>(index); };
      // A gather or a copy of the same elements says nothing of the order.
      isCopy = order && llvm::all_of(order->elts, isName);
      isAlike =
          load &&
          (!isCopy || (stored && llvm::all_of(llvm::zip(stored->axes, indices),
                                              [](const auto &pair) {
                                                return std::get<0>(pair) ==
                                                       std::get<1>(pair).axis;
                                              })));
    }
    bool isMeant = stored && stored->axes.size() == indices.size() && !isAlike;
    for (auto [i, each] : llvm::enumerate(indices)) {
      isMeant &= isMeant && each.kind == ValueKind::Range &&
                 (isCopy || stored->axes[i] == each.axis);
      dims += (dims.empty() ? "\"" : ", \"") + dimOfIndex(each)->name + "\"";
    }
    llvm::StringRef declared = parameterTexts[view.parameter];
    isMeant &= size_t(declared.count('"')) == 2 * view.dims.size() &&
               declared.consume_front(name + ": Out[\"") &&
               declared.ends_with("\"]");
    if (isMeant)
      diagnostic.setFix(name + ": Out[" + dims + "]",
                        parameterRanges[view.parameter]);
    else
      diagnostic.setFix(getOperandFix(context, site.range, fix + "]"),
                        site.range);
  } else if (std::string other = context.findRange(*view.dims[axis]);
             !other.empty()) {
    // And of the other axes those that are wrong, too.
    std::string fix = name + "[";
    for (size_t i = 0; i < indices.size(); ++i) {
      std::string known, given = i < site.operands.size() && site.operands[i]
                                     ? context.quote(site.operands[i]->range)
                                 : indices[i].axis ? indices[i].axis->name
                                                   : std::string(":");
      if (indices[i].kind == ValueKind::Range &&
          indices[i].axis->dim != view.dims[i])
        known = context.findRange(*view.dims[i]);
      bool isTwice =
          indices[i].kind == ValueKind::Range && i != axis && given == other;
      if (isTwice && known.empty() && range != given)
        known = range;
      fix += (i ? ", " : "") + (i == axis        ? other
                                : !known.empty() ? known
                                                 : given);
    }
    diagnostic.setFix(fix + "]", site.range);
  } else if (isIndexedWhole(context, *view.dims[axis])) {
    diagnostic.setFix(replaceIndex(context, name, indices, axis, ":", site),
                      site.range);
  } else {
    // A range over the dim, with a name that nothing has.
    std::string variable = llvm::StringRef(view.dims[axis]->name).lower();
    if (!llvm::all_of(variable, [](char c) { return llvm::isAlnum(c); }) ||
        variable == view.dims[axis]->name)
      variable = "r";
    while (context.isRange(variable))
      variable += "2";
    diagnostic.setFix(
        "for " + variable + " in tsr.tile(" + view.dims[axis]->name + ", " +
        std::to_string(index.axis->size) + "):  # and " +
        replaceIndex(context, name, indices, axis, variable, site));
  }
  return failure();
}

/// "d" of `d = tsr.range_at(D // 2, 0, 64)`, a range over that extent.
static std::string findRangeAt(const SemaContext &context,
                               llvm::StringRef extent) {
  std::string found;
  walkExpressions(context.getBody(), [&](const Expr *expr) {
    auto *call = dynCast<Call>(expr);
    if (!call || call->args.size() != 3 ||
        context.quote(call->func->range) != "tsr.range_at" ||
        context.quote(call->args[0]->range) != extent)
      return true;
    std::string front = context.quoteBefore(call->range);
    llvm::StringRef name = llvm::StringRef(front).trim();
    if (name.consume_back("=") && context.isRange(name.trim()))
      found = name.trim().str();
    return true;
  });
  return found;
}

/// "N" and "BN" of "tsr.tile(N, BN)".
static std::pair<std::string, std::string>
getTileArguments(llvm::StringRef text) {
  if (!text.consume_back(")"))
    return {};
  std::vector<std::string> arguments =
      splitAtCommas(std::string_view(text.split('(').second));
  return arguments.size() < 2 ? std::pair<std::string, std::string>()
                              : std::pair(arguments[0], arguments[1]);
}

/// "BN" of the loop `for n in tsr.tile(N, BN)`; empty if it is not known.
static std::string getSizeText(const SemaContext &context,
                               llvm::StringRef range) {
  std::string size;
  for (const LoopUse &use : collectLoopUses(
           context, [](llvm::StringRef) { return SmallVector<std::string>(); }))
    if (use.name == range)
      size = use.size ? context.quote(use.size->range) : "";
  return size;
}

/// "n.index - 1" for n.start - 1:n.stop - 1, the elements one before; empty if
/// the ends are not those of a range, moved alike.
static std::string getMoved(const SemaContext &context, const Slice &slice) {
  std::string lower = context.quote(slice.lower->range),
              upper = context.quote(slice.upper->range);
  size_t dot = lower.find(".start");
  if (dot == std::string::npos)
    return {};
  size_t begin = dot;
  while (begin > 0 &&
         (llvm::isAlnum(lower[begin - 1]) || lower[begin - 1] == '_'))
    --begin;
  std::string range = lower.substr(begin, dot - begin);
  if (!context.isRange(range))
    return {};
  auto replaced = [&](const std::string &by) {
    return lower.substr(0, begin) + by + lower.substr(dot + 6);
  };
  auto isSame = [&](std::string text) {
    auto isBlank = [](char c) { return c == ' ' || c == '(' || c == ')'; };
    std::string given = upper;
    llvm::erase_if(text, isBlank);
    llvm::erase_if(given, isBlank);
    return text == given;
  };
  bool isMoved = isSame(replaced(range + ".stop"));
  for (std::string size : {range + ".size", getSizeText(context, range)})
    isMoved |= !size.empty() && (isSame(lower + " + " + size) ||
                                 isSame(replaced(range + ".start + " + size)) ||
                                 isSame(size + " + " + lower));
  return isMoved ? replaced(range + ".index") : "";
}

LogicalResult TileOps::reportSlice(const SemaValue &view,
                                   llvm::ArrayRef<SemaValue> indices,
                                   size_t axis, const OpSite &site) {
  const std::string &name = parameterNames[view.parameter];
  const std::string &dim = view.dims[axis]->name;
  const auto *slice = dynCast<Slice>(site.operands[axis]);
  std::string text = context.quote(site.operands[axis]->range);
  Diagnostic &diagnostic = context.error(
      site.operands[axis]->range,
      "not yet: a slice with bounds, " + text + ", on axis " +
          std::to_string(axis) + " of " + name + " (" + dim +
          "); an index is a range, an int, ':' or an integer tile");
  diagnostic.addNote(parameterRanges[view.parameter],
                     parameterTexts[view.parameter]);
  auto quote = [&](const Expr *expr, const char *otherwise) {
    return expr ? context.quote(expr->range) : std::string(otherwise);
  };
  // X[m.start:m.stop] is X[m].
  std::string range = context.findRange(*view.dims[axis]);
  bool isOfRange = slice && slice->lower &&
                   context.quote(slice->lower->range) == range + ".start";
  if (slice && !slice->step && !range.empty() && isOfRange) {
    diagnostic.setFix(replaceIndex(context, name, indices, axis, range, site));
    return failure();
  }
  // X[:D // 2] beside a range d over D // 2 is X[d.index].
  if (slice && !slice->lower && slice->upper && !slice->step)
    for (const GridAxis &each : gridAxes) {
      auto [whole, size] = getTileArguments(context.quote(each.where));
      if (!each.axis || whole != context.quote(slice->upper->range))
        continue;
      diagnostic.setFix(replaceIndex(context, name, indices, axis,
                                     each.name + ".index", site),
                        site.range);
      return failure();
    }
  if (slice && !slice->lower && slice->upper && !slice->step)
    if (std::string range =
            findRangeAt(context, context.quote(slice->upper->range));
        !range.empty()) {
      diagnostic.setFix(
          replaceIndex(context, name, indices, axis, range + ".index", site),
          site.range);
      return failure();
    }
  // X[m.start - 1:m.stop - 1] is X[m.index - 1].
  if (slice && slice->lower && slice->upper && !slice->step)
    if (std::string moved = getMoved(context, *slice); !moved.empty()) {
      diagnostic.setFix(replaceIndex(context, name, indices, axis, moved, site),
                        site.range);
      return failure();
    }
  // X[k:k + BK] in a loop over the starts of tiles: a loop over tiles.
  if (auto *name = slice ? dynCast<Name>(slice->lower) : nullptr)
    if (auto loop = context.tileLoops.find(name->id);
        loop != context.tileLoops.end()) {
      std::string line = context.quoteBefore(site.range) +
                         context.quote(site.range) +
                         context.quoteBehind(site.range);
      for (size_t at = 0; (at = line.find(text, at)) != std::string::npos;
           at += name->id.size())
        line.replace(at, text.size(), name->id);
      diagnostic.setFix(loop->second.text + "\n    " +
                        llvm::StringRef(line).trim().str());
      return failure();
    }
  // X[1:][n] is X[n.index + 1].
  std::string follows = context.quoteBehind(site.range);
  llvm::StringRef behind = follows;
  if (slice && !slice->step && behind.consume_front("[") &&
      behind.contains(']')) {
    std::string index = behind.split(']').first.str();
    std::string from = quote(slice->lower, "0");
    std::string moved = from == "0" ? index : index + ".index + " + from;
    if (context.isRange(index) && !llvm::StringRef(from).starts_with("-")) {
      SourceRange whole = site.range;
      whole.end.column += uint32_t(index.size()) + 2;
      diagnostic.setFix(replaceIndex(context, name, indices, axis, moved, site),
                        whole);
      return failure();
    }
  }
  std::string start = quote(slice ? slice->lower : nullptr, "0");
  std::string stop = quote(slice ? slice->upper : nullptr, dim.c_str());
  std::string size = start == "0" ? stop : stop + " - " + start;
  // i * BM to (i + 1) * BM are BM.
  auto [counter, step] = llvm::StringRef(start).split('*');
  auto [next, same] = llvm::StringRef(stop).rsplit('*');
  if (!step.empty() && step.trim() == same.trim() &&
      next.trim().trim("()") == (counter.trim() + " + 1").str())
    size = step.trim().str();
  if (const SemaValue &index = indices[axis]; index.elements.size() == 3) {
    auto first = index.elements[0].isNone()
                     ? std::optional<int64_t>(0)
                     : index.elements[0].getConstantInt(),
         last = index.elements[1].getConstantInt();
    if (first && last && *first >= 0 && *last > *first)
      size = std::to_string(*last - *first);
  }
  // i:i + BN has BN elements.
  llvm::StringRef more = stop;
  if (more.consume_front(start + " + ") || more.consume_front(start + "+"))
    size = more.trim().str();
  // i * BS:(i + 1) * BS has BS elements.
  if (auto [count, step] = llvm::StringRef(start).split(" * ");
      !step.empty() && stop == ("(" + count + " + 1) * " + step).str())
    size = step.str();
  if (slice && slice->step) {
    // Positions with a step, of a range n of the result.
    std::string step = quote(slice->step, "1");
    bool isBack = llvm::StringRef(step).starts_with("-");
    std::string first = isBack && !slice->lower ? dim + " - 1" : start;
    diagnostic.message += "; of a range n of the result it is " + first +
                          (isBack ? " - " + step.substr(1) : " + " + step) +
                          " * n.index";
    return failure();
  }
  // Only where the line can do with such an axis, and stores by it.
  std::string made = "tsr.range_at(" + dim + ", " + start + ", " + size + ")";
  std::string line = context.quoteBefore(site.range) +
                     replaceIndex(context, name, indices, axis, made, site) +
                     context.quoteBehind(site.range);
  // The same elements are stored: one range for both.
  std::string whole = context.quoteBefore(site.range) +
                      context.quote(site.range) +
                      context.quoteBehind(site.range);
  if (llvm::StringRef(whole).split(" = ").first.contains(text)) {
    std::string range = "r";
    while (context.isRange(range))
      range += "2";
    for (size_t at = 0; (at = whole.find(text, at)) != std::string::npos;
         at += range.size())
      whole.replace(at, text.size(), range);
    diagnostic.setFix(range + " = " + made + "\n" +
                      llvm::StringRef(whole).trim().str());
    return failure();
  }
  size_t equals = line.find("= ");
  if (equals != std::string::npos) {
    std::optional<SemaValue> value =
        context.tryFix(llvm::StringRef(line).substr(equals + 2).trim().str());
    bool isStored = llvm::StringRef(line).take_front(equals).contains('[');
    bool hasAxis =
        value && value->isTile() && llvm::any_of(value->axes, [&](Axis *axis) {
          return axis->kind == Axis::Kind::Range &&
                 !context.isRange(axis->name);
        });
    if (!value || (isStored && hasAxis))
      return failure();
  }
  diagnostic.setFix("r = " + made + "\n" +
                    replaceIndex(context, name, indices, axis, "r", site));
  return failure();
}

void TileOps::reportIndexCount(const SemaValue &view,
                               llvm::ArrayRef<SemaValue> indices,
                               const OpSite &site) {
  const std::string &name = parameterNames[view.parameter];
  std::string text;
  for (auto [i, dim] : llvm::enumerate(view.dims))
    text += (i ? ", " : "") + dim->name;
  Diagnostic &diagnostic = context.error(
      site.range, name + " has " + std::to_string(view.dims.size()) +
                      (view.dims.size() == 1 ? " axis" : " axes") + " [" +
                      text + "], but " + std::to_string(indices.size()) +
                      (indices.size() == 1 ? " index is" : " indices are") +
                      " given");
  diagnostic.addNote(parameterRanges[view.parameter],
                     parameterTexts[view.parameter]);
  // Axes left out at the end are whole, as NumPy has it.
  std::string fix;
  // (m, n) in a variable is written out; of a store, the last operand is the
  // value.
  bool tuple = indices.size() == 1 && indices[0].kind == ValueKind::Tuple;
  for (size_t i = 0; i < view.dims.size(); ++i) {
    std::string index = ":";
    if (tuple && i < indices[0].elements.size())
      index = indices[0].elements[i].name;
    else if (!tuple && i < indices.size() && i < site.operands.size() &&
             site.operands[i])
      index = context.quote(site.operands[i]->range);
    else if (indices.size() < view.dims.size())
      index = findLoop(context, *view.dims[i], fix); // that is there
    fix += (i ? ", " : "") + (index.empty() ? ":" : index);
  }
  // Of too few: where each names a dim, one is missing before them.
  SmallVector<std::string> byDim;
  size_t used = 0;
  for (size_t i = 0;
       !tuple && indices.size() < view.dims.size() && i < view.dims.size();
       ++i) {
    std::string known = context.findRange(*view.dims[i]);
    for (const GridAxis &axis : gridAxes)
      if (known.empty() && !axis.axis &&
          context.quote(axis.where) == view.dims[i]->name)
        known = axis.name;
    for (auto [given, expr] : llvm::zip(indices, site.operands))
      if (given.kind == ValueKind::Range && expr &&
          given.axis->dim == view.dims[i]) {
        known = context.quote(expr->range);
        ++used;
      }
    byDim.push_back(known);
  }
  if (used == indices.size() && used > 0 && !llvm::is_contained(byDim, ""))
    fix = llvm::join(byDim, ", ");
  // Y[...] and Y[:] in a kernel are of its program.
  std::string given =
      indices.size() == 1 && !site.operands.empty() && site.operands[0]
          ? context.quote(site.operands[0]->range)
          : "";
  if (given == "..." || given == ":") {
    for (std::string &range : byDim)
      if (range.empty())
        range = ":";
    fix = llvm::join(byDim, ", ");
  }
  // KP[page][t, :], as NumPy and torch have it.
  std::string behind = context.quoteBehind(site.range), first;
  for (const Expr *operand : site.operands)
    first += (first.empty() ? "" : ", ") +
             (operand ? context.quote(operand->range) : "");
  size_t end = behind.find(']');
  if (indices.size() < view.dims.size() && !behind.empty() &&
      behind[0] == '[' && end != std::string::npos) {
    SourceRange whole = site.range;
    whole.end.column += uint32_t(end) + 1;
    diagnostic.setFix(
        name + "[" + first + ", " + behind.substr(1, end - 1) + "]", whole);
    diagnostic.where = whole;
    return;
  }
  // Too many: the first ones are kept.
  diagnostic.setFix(name + "[" + fix + "]");
}

void TileOps::reportIndex(const SemaValue &view,
                          llvm::ArrayRef<SemaValue> indices, size_t axis,
                          const SourceRange &where) {
  const std::string &name = parameterNames[view.parameter];
  const SemaValue &index = indices[axis];
  std::string text = context.quote(where);
  Diagnostic &diagnostic = context.error(
      where, "an index is a range, an int, ':' or an integer tile, but " +
                 text + ", on axis " + std::to_string(axis) + " of " + name +
                 " (" + view.dims[axis]->name + "), is " + describe(index));
  diagnostic.addNote(parameterRanges[view.parameter],
                     parameterTexts[view.parameter]);
  std::string range = context.findRange(*view.dims[axis]);
  if (index.isNumber())
    diagnostic.setFix(index.isConstant() ? "int(" + text + ")"
                                         : "(" + text + ").to(i64)");
  else if (text == "...")
    diagnostic.setFix(name + "[" + (range.empty() ? ":" : range) + "]");
  else if (index.kind == ValueKind::View)
    diagnostic.setFix(text + "[" + getIndicesFor(index) + "]");
  else
    diagnostic.setFix(range.empty() ? ":" : range);
}

void TileOps::reportTileIndex(const SemaValue &tile, const SemaValue &index,
                              const Expr *expr, const OpSite &site) {
  std::string text = context.quote(site.range);
  std::string name = text.substr(0, text.find('['));
  std::string given = context.quote(expr->range);
  bool isItself = index.kind == ValueKind::Range &&
                  llvm::is_contained(tile.axes, index.axis);
  Diagnostic &diagnostic = context.error(
      isItself ? site.range : expr->range,
      "a tile is indexed by ':' and None only, but " + given + " is " +
          describe(index) + " and " + name + " is " + describe(tile) +
          (isItself ? ": it has that axis already"
                    : "; elements are taken from tensors"));
  if (index.isTile() && index.dtype == DType::Bool)
    diagnostic.setFix("tsr.where(" + given + ", " + name + ", 0)");
  else if (index.isNumber() && !tile.axes.empty()) {
    // One position of a tile is a sum of one element.
    const std::string &axis = tile.axes.back()->name;
    std::string place = given;
    if (auto known = index.getConstantInt(); known && *known < 0)
      place = axis + ".stop - " + std::to_string(-*known);
    diagnostic.setFix("tsr.sum(tsr.where(" + axis + ".index == " + place +
                          ", " + name + ", 0), " + axis + ")",
                      site.range);
  } else if (isItself)
    diagnostic.setFix(name);
  else
    diagnostic.setFix("index the tensor, or tsr.where and a reduction");
}

LogicalResult TileOps::reportNotIndexable(const SemaValue &object,
                                          const OpSite &site) {
  std::string text = context.quote(site.range);
  std::string name = text.substr(0, text.find('['));
  Diagnostic &diagnostic =
      context.error(site.range, name + " is " + describe(object) +
                                    ", which cannot be indexed");
  if (object.kind == ValueKind::Range)
    diagnostic.addNote(object.axis->where, "the range " + name)
        .setFix(name + ".start");
  else if (object.kind == ValueKind::Function ||
           object.kind == ValueKind::Builtin)
    diagnostic.setFix(name + "(...)");
  else
    diagnostic.setFix(name);
  return failure();
}

/// tsr.store(C, acc): the index is left out, and the ranges say it.
LogicalResult TileOps::checkStoreIndex(const CallArguments &arguments,
                                       const OpSite &site) {
  const std::vector<CallArgument> &given = arguments.arguments;
  if (given.size() != 2 || given[0].value.kind != ValueKind::View ||
      !given[1].keyword.empty() || !given[1].value.isTile())
    return success();
  std::string indices;
  for (Dim *dim : given[0].value.dims) {
    std::string range = context.findRange(*dim);
    indices += (indices.empty() ? "" : ", ") + (range.empty() ? ":" : range);
  }
  std::string name = context.quote(given[0].where),
              value = context.quote(given[1].where);
  bool isPlain = indices.find(':') == std::string::npos;
  context
      .error(site.range, "tsr.store takes the tensor, the index and the value, "
                         "but the index is missing")
      .setFix(isPlain ? "tsr.store(" + name + ", (" + indices +
                            (given[0].value.dims.size() == 1 ? ",), " : "), ") +
                            value + ")"
                      : name + "[" + indices + "] = " + value);
  return failure();
}

/// Two whole axes of one dim would be one axis of the tile: a diagonal.
LogicalResult TileOps::reportSameDim(const SemaValue &view, size_t first,
                                     size_t second, SourceRange where) {
  const Dim &dim = *view.dims[second];
  llvm::StringRef text = parameterTexts[view.parameter];
  std::string fix = text.take_until([](char c) { return c == '['; }).str();
  for (auto [i, other] : llvm::enumerate(view.dims)) {
    bool isNumber = llvm::all_of(other->name, llvm::isDigit);
    fix += (i ? ", " : "[") + (i == second ? "\"Q\""
                               : isNumber  ? other->name
                                           : "\"" + other->name + "\"");
  }
  context
      .error(where, "axis " + std::to_string(first) + " and axis " +
                        std::to_string(second) + " of " +
                        parameterNames[view.parameter] + " are both dim " +
                        dim.name + "; an axis stands once in a tile")
      .addNote(dim.where, "dim " + dim.name)
      .setFix(fix + "]");
  return failure();
}

} // namespace tessera::frontend
