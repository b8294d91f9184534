//===- TileOpsErrors.cpp - Wrong operands and indices, and their fixes ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/TileOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tessera::frontend {

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// "offs" of "X + offs" or "offs + X": Triton's pointers.
static std::string getPointerIndex(llvm::StringRef text, llvm::StringRef name) {
  auto [left, right] = text.split('+');
  if (left.trim() == name)
    return right.trim().str();
  return right.trim() == name ? left.trim().str() : "";
}

LogicalResult TileOps::checkOperand(const SemaValue &value, const Expr *expr,
                                    const SourceRange &where,
                                    llvm::StringRef what,
                                    const std::string &other) {
  if (value.isTile() || value.isNumber())
    return success();
  std::string name = nameOf(value, expr), positions;
  if (value.kind == ValueKind::Range)
    positions = rewriteRanges(expr, where);
  bool isStart = llvm::StringRef(positions).ends_with(".start");
  Diagnostic &diagnostic = context.error(
      expr && !isStart ? expr->range : where,
      what.str() + " needs tiles or numbers, but " + name + " is " +
          describe(value) + (other.empty() ? "" : "; " + other));
  if (value.kind == ValueKind::Range)
    diagnostic.addNote(value.axis->where, "the range " + name)
        .setFix(positions);
  else if (std::string index = getPointerIndex(context.quote(where), name);
           value.kind == ValueKind::View && what == "+" && !index.empty())
    diagnostic.setFix(name + "[" + index + "]");
  else if (value.kind == ValueKind::View) {
    std::string indices;
    for (auto [i, dim] : llvm::enumerate(value.dims)) {
      std::string range = context.findRange(*dim);
      indices += (i ? ", " : "") + (range.empty() ? ":" : range);
    }
    diagnostic.setFix(name + "[" + indices + "]");
  } else if (value.isConstant() && value.constant.isString()) {
    double number;
    llvm::StringRef text = value.constant.asString();
    diagnostic.setFix(!text.getAsDouble(number) ? text.str()
                      : what == "%"             ? "print(\"x =\", x)"
                                                : "print(" + name + ", x)");
  } else if (value.isConstant() && value.constant.isNone()) {
    diagnostic.setFix("0.0, or leave it out");
  } else if (value.kind == ValueKind::Tuple) {
    diagnostic.setFix(name + "[0]");
  } else if (value.kind == ValueKind::Function ||
             value.kind == ValueKind::Builtin ||
             value.kind == ValueKind::Method) {
    diagnostic.setFix(context.quote(expr ? expr->range : where) + "(...)");
  } else if (value.isConstant() && value.constant.isDType()) {
    diagnostic.setFix("x.to(" + name + ")");
  }
  return failure();
}

/// `text` with each of its words as `change(word, before, after)` makes it, the
/// characters beside it given.
static std::string changeWords(
    llvm::StringRef text,
    llvm::function_ref<std::string(llvm::StringRef, char, char)> change) {
  std::string result;
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  for (size_t i = 0; i < text.size();) {
    size_t begin = i;
    while (i < text.size() && isWord(text[i]))
      ++i;
    if (i == begin)
      result += text[i++];
    else
      result += change(text.slice(begin, i), begin ? text[begin - 1] : ' ',
                       i < text.size() ? text[i] : ' ');
  }
  return result;
}

/// The whole of an operation with ranges in it, as positions: m.index + 1.
std::string TileOps::rewriteRanges(const Expr *expr, const SourceRange &where) {
  std::string text = context.quote(where);
  // Triton's pid * BLOCK is where a range of BLOCK elements starts.
  auto [left, right] = llvm::StringRef(text).split('*');
  for (auto [range, size] : {std::pair(left, right), std::pair(right, left)}) {
    std::optional<SemaValue> one, other;
    if (context.isRange(range.trim()) &&
        (one = context.tryFix(range.trim().str())) &&
        (other = context.tryFix(size.trim().str())) &&
        other->getConstantInt() == one->axis->size)
      return range.trim().str() + ".start";
  }
  // `if m == 0` asks which program or turn it is.
  std::string line = context.quoteBefore(where);
  llvm::StringRef start = llvm::StringRef(line).trim();
  bool isTest = start == "if" || start == "elif" || start == "while";
  const char *attribute = isTest ? ".id" : ".index";
  std::string result =
      changeWords(text, [&](llvm::StringRef word, char before, char after) {
        bool isPosition =
            before != '.' && after != '.' && context.isRange(word);
        return word.str() + (isPosition ? attribute : "");
      });
  return result == text && expr ? context.quote(expr->range) + attribute
                                : result;
}

void TileOps::reportPartOfRow(const Axis &axis, bool isOfGrid,
                              const OpSite &site) {
  std::string dim = axis.dim ? axis.dim->name : "-1",
              text = "tsr.softmax of a tile with all of " + dim + ", X[m, :]";
  // "Y[m, n] = tsr.softmax(X[m, n], n)" with n as ":", if that is the line.
  std::string given = context.quote(
      {site.range.file, {site.range.begin.line, 1}, site.range.end});
  std::string whole =
      changeWords(given, [&](llvm::StringRef word, char before, char) {
        llvm::StringRef front(given.data(), word.data() - given.data());
        return word != axis.name || before == '.'    ? word.str()
               : front.count('[') > front.count(']') ? std::string(":")
                                                     : dim;
      });
  if (llvm::StringRef(context.quoteBehind(site.range)).trim().empty() &&
      llvm::StringRef(whole).contains(':'))
    text = llvm::StringRef(whole).trim().str();
  context
      .error(site.range, "tsr.softmax is of the " + std::to_string(axis.size) +
                             " elements of this tile, not of all along " +
                             (axis.dim ? axis.dim->name : axis.name))
      .addNote(axis.where, "the axis " + axis.name)
      .setFix(text + (isOfGrid ? ", without " + axis.name + " in the grid"
                               : ", without the loop over " + axis.name));
}

std::string TileOps::getTileFixFor(const CallArgument &argument,
                                   const std::string &callee) {
  const SemaValue &value = argument.value;
  std::string text = context.quote(argument.where);
  if (value.kind == ValueKind::View) {
    std::string indices;
    for (auto [i, dim] : llvm::enumerate(value.dims)) {
      std::string range = context.findRange(*dim);
      indices += (i ? ", " : "") + (range.empty() ? ":" : range);
    }
    return callee + "(" + text + "[" + indices + "], dim=-1)";
  }
  if (value.kind == ValueKind::Range)
    return callee + "(" + text + ".index)";
  if (value.isTile())
    return callee + "(" + text + ".to(fp32), dim=-1)";
  return callee + "(x, dim=-1), with x a tile: X[m, :]";
}

/// The positional arguments in a text that begins with one and goes on past
/// the end of the call.
static size_t countArguments(const std::string &text) {
  int depth = 0;
  size_t count = 1;
  for (size_t i = 0; i < text.size() && depth >= 0; ++i) {
    depth += text[i] == '(' || text[i] == '[';
    depth -= text[i] == ')' || text[i] == ']';
    count += depth == 0 && text[i] == ',';
    count -= depth == 0 && text[i] == '=';
  }
  return count;
}

FailureOr<Axis *> TileOps::getAxisOperand(const CallArgument &argument,
                                          llvm::StringRef what) {
  const SemaValue &value = argument.value;
  if (value.kind == ValueKind::Range)
    return value.axis;
  if (value.kind == ValueKind::Dim)
    return context.getWholeAxis(*value.dim, argument.where);
  if (value.isTile() && value.axes.size() == 1)
    return value.axes[0];
  Diagnostic &diagnostic = context.error(
      argument.where, "an axis of " + what.str() +
                          " is a range or a dim, not " + describe(value));
  // A size, or a shape: the ranges of these sizes are meant.
  std::string fix;
  std::vector<SemaValue> sizes = {value};
  if (value.kind == ValueKind::Tuple)
    sizes = value.elements;
  for (const SemaValue &size : sizes) {
    std::string range;
    if (size.kind == ValueKind::Range)
      range = size.axis->name;
    else if (auto number = size.getConstantInt())
      range = context.findRangeOfSize(*number);
    if (range.empty() && size.getConstantInt())
      range = "tsr.arange(" + std::to_string(*size.getConstantInt()) + ")";
    fix += (fix.empty() ? "" : ", ") + (range.empty() ? "m" : range);
  }
  // zeros(BM, BN): as many sizes as the grid has ranges are those.
  SourceRange rest = argument.where;
  rest.end = {rest.begin.line, rest.begin.column + 200};
  size_t count =
      sizes.size() > 1 ? sizes.size() : countArguments(context.quote(rest));
  std::string grid;
  size_t ranges = 0;
  for (const GridAxis &axis : gridAxes)
    if (axis.axis) {
      grid += (ranges++ ? ", " : "") + axis.axis->name;
    }
  if (ranges == count && ranges > 1)
    fix = grid;
  diagnostic.setFix(what.starts_with("tsr.zeros") || what == "tsr.ones"
                        ? what.str() + "(" + fix + ")"
                    : what == "tsr.full" ? "tsr.full(0.0, " + fix + ")"
                                         : fix);
  return failure();
}

//===----------------------------------------------------------------------===//
// Methods and attributes
//===----------------------------------------------------------------------===//

/// "X, a tensor", "x, [m, n] fp32": the object of a method.
static std::string describeObject(const SemaContext &context,
                                  const SemaValue &object, const Expr *expr) {
  std::string name = expr ? context.quote(expr->range) : std::string("it");
  return name + " is " + describe(object);
}

ValueResult TileOps::reportAppend(const CallArguments &arguments,
                                  const OpSite &site) {
  std::string name = context.quote(site.operands[0]->range), axes, value;
  if (!arguments.arguments.empty()) {
    value = context.quote(arguments.arguments.back().where);
    for (Axis *axis : arguments.arguments.back().value.axes)
      axes += (axes.empty() ? "" : ", ") + axis->name;
  }
  context
      .error(site.nameRange, "a tuple cannot grow in a loop whose turns are "
                             "known only at the call")
      .setFix(axes.empty()
                  ? "a loop over tsr.unroll(8), or an Out that each turn "
                    "stores into"
                  : name + " += " + value + ", with " + name + " = tsr.zeros(" +
                        axes +
                        ") before the loop; or an Out that each turn "
                        "stores into");
  return failure();
}

ValueResult TileOps::reportMethod(const SemaValue &object, llvm::StringRef name,
                                  const CallArguments &arguments,
                                  const OpSite &site) {
  const Expr *expr = site.operands.empty() ? nullptr : site.operands[0];
  bool view = object.kind == ValueKind::View;
  if (object.kind == ValueKind::Tuple && name == "append" && context.isInLoop())
    return reportAppend(arguments, site);
  std::string kind = view                ? "a tensor"
                     : object.isTile()   ? "a tile"
                     : object.isScalar() ? "a scalar"
                                         : describe(object);
  Diagnostic &diagnostic = context.error(
      site.nameRange, kind + " has no method '" + name.str() + "'; " +
                          describeObject(context, object, expr));
  diagnostic.origins = context.findOrigins(site.range);
  std::string text = expr ? context.quote(expr->range) : std::string("x");
  std::vector<std::string> given = quoteArguments(context, arguments, site);
  std::vector<std::string> names = getCallNames();
  if (view) {
    // The tile of it at hand, for what is a method of tiles.
    std::string indices;
    for (auto [i, dim] : llvm::enumerate(object.dims)) {
      std::string range = context.findRange(*dim);
      indices += (i ? ", " : "") + (range.empty() ? ":" : range);
    }
    std::string tile = text + "[" + indices + "]";
    if (name == "size" && given.size() == 1) {
      auto axis = arguments.arguments[0].value.getConstantInt();
      int64_t rank = object.dims.size();
      if (axis && *axis >= -rank && *axis < rank) {
        diagnostic.setFix(object.dims[*axis < 0 ? *axis + rank : *axis]->name);
        return failure();
      }
    }
    if (name == "store" && given.size() > 1) {
      std::string value = given.back();
      std::string index;
      for (size_t i = 0; i + 1 < given.size(); ++i)
        index += (i ? ", " : "") + given[i];
      diagnostic.setFix(text + "[" + index + "] = " + value);
      return failure();
    }
    if (llvm::is_contained(names, name.str()) || name == "to" ||
        name == "filled" || name == "permute" || name == "reshape" ||
        name == "expand") {
      std::string listed;
      for (const std::string &one : given)
        listed += (listed.empty() ? "" : ", ") + one;
      diagnostic.setFix(tile + "." + name.str() + "(" + listed + ")");
      return failure();
    }
  }
  names.insert(names.end(), {"to", "permute", "expand", "reshape", "filled"});
  explainUnknown(context, diagnostic, ForeignKind::Method, name, arguments,
                 site, names, expr);
  if (diagnostic.fix.empty())
    diagnostic.setFix(view ? text + "[...], and operations on the tile"
                           : "operations of tessera: tsr.exp(" + text +
                                 "), tsr.sum(" + text + "), ...");
  return failure();
}

ValueResult TileOps::reportAttribute(const SemaValue &object,
                                     llvm::StringRef name, const OpSite &site) {
  const Expr *expr = site.operands.empty() ? nullptr : site.operands[0];
  std::string text = expr ? context.quote(expr->range) : std::string("x");
  std::string kind = object.kind == ValueKind::View ? "a tensor"
                     : object.isTile()              ? "a tile"
                     : object.isScalar()            ? "a scalar"
                                                    : describe(object);
  std::vector<std::string> known = {"dtype", "shape", "ndim"};
  std::string listed = "dtype, shape, ndim";
  if (object.isTile()) {
    known.insert(known.end(),
                 {"T", "to", "permute", "expand", "reshape", "filled"});
    listed += ", T, to, permute, expand, reshape, filled";
  }
  Diagnostic &diagnostic =
      context.error(site.nameRange, kind + " has no attribute '" + name.str() +
                                        "'; it has " + listed);
  diagnostic.origins = context.findOrigins(site.range);
  std::vector<std::string> near = nearestNames(name, known);
  if (object.kind == ValueKind::View && name == "T") {
    std::string indices;
    for (auto [i, dim] : llvm::enumerate(object.dims)) {
      std::string range = context.findRange(*dim);
      indices += (i ? ", " : "") + (range.empty() ? ":" : range);
    }
    diagnostic.setFix(text + "[" + indices + "].T");
  } else if (!near.empty()) {
    diagnostic.setFix(text + "." + near.front());
  } else if (llvm::is_contained(getCallNames(), name.str())) {
    diagnostic.setFix("tsr." + name.str() + "(" + text + ")");
  } else if (!explainForeign(context, diagnostic, ForeignKind::Attribute, name,
                             {}, site, expr) ||
             diagnostic.fix.empty()) {
    diagnostic.setFix(text + (object.isTile() ? ".shape" : ".dtype"));
  }
  return failure();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

ValueResult TileOps::callProgram(const CapturedFunction &callee,
                                 const CallArguments &arguments,
                                 const OpSite &site) {
  const std::string &name = callee.definition->name;
  const bool kernel = callee.kind == ProgramKind::Kernel;
  std::string parameters;
  for (const Parameter &parameter : callee.definition->parameters) {
    const Expr *base = parameter.annotation;
    if (auto *subscript = dynCast<Subscript>(base))
      base = subscript->value;
    std::string annotation = base ? context.quote(base->range) : std::string();
    // What a helper writes it returns.
    if (!llvm::StringRef(annotation).ends_with("Out"))
      parameters += (parameters.empty() ? "" : ", ") + parameter.name;
  }
  context
      .error(site.range,
             kernel ? "the kernel " + name +
                          " is called in a kernel; it has a grid and stores of "
                          "its own, and returns nothing"
                    : "the function " + name +
                          " has tensor annotations, so it works on tensors, "
                          "not on tiles")
      .addNote(callee.definition->nameRange,
               name + (kernel ? " is a @tsr.kernel" : " is declared here"))
      .setFix("@tsr.function\ndef " + name + "(" + parameters +
              "):  # without annotations: inlined on tiles");
  return failure();
}

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
  std::string range = expr ? context.quote(expr->range) : index.axis->name;
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
      if (used[i] || indices[i].kind != ValueKind::Range ||
          indices[i].axis->dim != dim)
        continue;
      used[i] = found = true;
      fixed.push_back(i < site.operands.size() && site.operands[i]
                          ? context.quote(site.operands[i]->range)
                          : indices[i].axis->name);
    }
    if (!found)
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
  } else if (fixed.size() == view.dims.size()) {
    std::string fix = name + "[", dims;
    for (auto [i, part] : llvm::enumerate(fixed))
      fix += (i ? ", " : "") + part;
    // What is written may be meant as the transpose.
    for (const SemaValue &each : indices)
      dims += (dims.empty() ? "\"" : ", \"") + each.axis->dim->name + "\"";
    llvm::StringRef declared = parameterTexts[view.parameter];
    bool isPlain = size_t(declared.count('"')) == 2 * view.dims.size() &&
                   declared.consume_front(name + ": Out[\"") &&
                   declared.ends_with("\"]");
    diagnostic.setFix(isPlain ? name + ": Out[" + dims + "], or " + fix + "]"
                              : fix + "]");
  } else if (std::string other = context.findRange(*view.dims[axis]);
             !other.empty()) {
    std::string fix = name + "[";
    for (size_t i = 0; i < indices.size(); ++i)
      fix += (i ? ", " : "") + (i == axis ? other
                                : i < site.operands.size() && site.operands[i]
                                    ? context.quote(site.operands[i]->range)
                                : indices[i].axis ? indices[i].axis->name
                                                  : std::string("..."));
    diagnostic.setFix(fix + "]");
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

/// `text` with the word `from` replaced.
static std::string replaceWord(llvm::StringRef text, llvm::StringRef from,
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
  // The second argument.
  int depth = 0;
  std::vector<std::string> arguments(1);
  for (char c : llvm::StringRef(text).drop_front(open + 9)) {
    depth += c == '(' || c == '[';
    depth -= c == ')' || c == ']';
    if (depth < 0)
      break;
    if (c == ',' && depth == 0)
      arguments.emplace_back();
    else
      arguments.back() += c;
  }
  std::string start = axis.name + ".start";
  if (arguments.size() != 3)
    return {};
  std::string second = llvm::StringRef(arguments[1]).trim().str();
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
  context
      .error(value ? value->range : site.range,
             "a store rounds, it does not turn " + from + " into " + to)
      .addNote(parameterRanges[view.parameter], declared + " is " + to)
      .setFix(fix);
  return failure();
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
      fixes.push_back(replaceWord(text, extra.name, shifted));
    if (!text.empty() && backwards.empty())
      fixes.push_back(replaceWord(text, extra.name, same->name));
  }
  const auto *call = dynCast<Call>(valueExpr);
  if (call && call->args.size() == 2 && call->keywords.empty())
    for (Axis *axis : stored)
      if (!llvm::is_contained(value.axes, axis) &&
          context.quote(call->args[1]->range) == axis->name)
        fixes.push_back(context.quote(call->func->range) + "(" +
                        context.quote(call->args[0]->range) + ", " +
                        extra.name + ")");
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
  Diagnostic &diagnostic = context.error(
      valueExpr ? valueExpr->range : site.range,
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
  if (slice && !slice->step && !range.empty()) {
    diagnostic.setFix(replaceIndex(context, name, indices, axis, range, site));
    return failure();
  }
  std::string start = quote(slice ? slice->lower : nullptr, "0");
  std::string stop = quote(slice ? slice->upper : nullptr, dim.c_str());
  std::string size = start == "0" ? stop : stop + " - " + start;
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
  std::string made =
      slice && slice->step
          ? start + " + " + quote(slice->step, "1") + " * tsr.arange(size)"
          : "tsr.range_at(" + dim + ", " + start + ", " + size + ")";
  diagnostic.setFix("r = " + made + "\n" +
                    replaceIndex(context, name, indices, axis, "r", site));
  return failure();
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
  else
    diagnostic.setFix(range.empty() ? ":" : range);
}

void TileOps::reportTileIndex(const SemaValue &tile, const SemaValue &index,
                              const Expr *expr, const OpSite &site) {
  std::string text = context.quote(site.range);
  std::string name = text.substr(0, text.find('['));
  std::string given = context.quote(expr->range);
  Diagnostic &diagnostic = context.error(
      expr->range, "a tile is indexed by ':' and None only, but " + given +
                       " is " + describe(index) + " and " + name + " is " +
                       describe(tile) + "; elements are taken from tensors");
  if (index.isTile() && index.dtype == DType::Bool)
    diagnostic.setFix("tsr.where(" + given + ", " + name + ", 0)");
  else if (index.isNumber() && !tile.axes.empty())
    diagnostic.setFix("tsr.sum(tsr.where(" + tile.axes.back()->name +
                      ".index == " + given + ", " + name + ", 0), " +
                      tile.axes.back()->name + "), or index the tensor");
  else if (index.kind == ValueKind::Range)
    diagnostic.setFix(name + ", which has its axes already");
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

LogicalResult TileOps::checkTileSize(llvm::ArrayRef<Axis *> axes,
                                     SourceRange where) {
  int64_t elements = 1;
  std::string sizes;
  for (Axis *axis : axes) {
    sizes += (sizes.empty() ? "" : " x ") + std::to_string(axis->size);
    elements = axis->size > tile::maxTileElements ? tile::maxTileElements + 1
                                                  : elements * axis->size;
    if (elements <= tile::maxTileElements)
      continue;
    context
        .error(where, "a tile of " + sizes + " elements; it has at most 2^24")
        .addNote(axes.front()->where, "the axis " + axes.front()->name)
        .setFix("smaller tiles: tsr.tile(" +
                (axis->dim ? axis->dim->name : std::string("N")) + ", 64)");
    return failure();
  }
  return success();
}

} // namespace tessera::frontend
