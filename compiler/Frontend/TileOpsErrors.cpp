//===- TileOpsErrors.cpp - Wrong operands and indices, and their fixes ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/LoopUses.h"
#include "compiler/Frontend/ParseText.h"
#include "compiler/Frontend/TileOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <array>

using namespace mlir;

namespace tessera::frontend {

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// "m, n": the ranges over the dims of an array, `:` where there is none.
std::string TileOps::getIndicesFor(const SemaValue &view) const {
  std::string indices;
  for (auto [i, dim] : llvm::enumerate(view.dims)) {
    std::string range = context.findRange(*dim);
    indices += (i ? ", " : "") + (range.empty() ? ":" : range);
  }
  return indices;
}

/// "offs" of "X + offs" or "offs + X": Triton's pointers.
static std::string getPointerIndex(llvm::StringRef text, llvm::StringRef name) {
  auto [left, right] = text.split('+');
  if (left.trim() == name)
    return right.trim().str();
  return right.trim() == name ? left.trim().str() : "";
}

/// "A[m, k]" for the pointers A + m.index * K + k.index in a call of tsr.load,
/// whose place `where` becomes.
std::string TileOps::getPointerLoad(const SemaValue &view,
                                    SourceRange &where) const {
  std::string found, indices = getIndicesFor(view);
  if (view.kind != ValueKind::View || llvm::StringRef(indices).contains(':'))
    return found;
  SourceRange at = where;
  walkExpressions(context.getBody(), [&](const Expr *expr) {
    auto *call = dynCast<Call>(expr);
    bool isLoad =
        call && call->args.size() == 1 && isWithin(at, call->range) &&
        llvm::StringRef(context.quote(call->func->range)).ends_with("load");
    if (isLoad) {
      found = parameterNames[view.parameter] + "[" + indices + "]";
      where = call->range;
    }
    return true;
  });
  return found;
}

LogicalResult TileOps::checkOperand(const SemaValue &value, const Expr *expr,
                                    const SourceRange &given,
                                    llvm::StringRef what,
                                    const std::string &other) {
  SourceRange where = given;
  if (value.isTile() || value.isNumber())
    return success();
  std::string name = nameOf(value, expr), positions;
  if (value.kind == ValueKind::Range)
    positions = what == "a store" && is<Name>(expr)
                    ? name + ".index"
                    : rewriteRanges(expr, where);
  bool isStart = llvm::StringRef(positions).ends_with(".start");
  Diagnostic &diagnostic = context.error(
      expr && !isStart ? expr->range : where,
      what.str() + " needs tiles or numbers, but " + name + " is " +
          describe(value) + (other.empty() ? "" : "; " + other));
  if (value.kind == ValueKind::Range)
    diagnostic.addNote(value.axis->where, "the range " + name)
        .setFix(positions);
  else if (std::string index = getPointerIndex(context.quote(where), name);
           value.kind == ValueKind::View && what == "+" && !index.empty() &&
           context.tryFix(name + "[" + index + "]"))
    diagnostic.setFix(name + "[" + index + "]", where);
  else if (std::string load = getPointerLoad(value, where);
           what == "+" && !load.empty())
    diagnostic.setFix(load, where);
  else if (value.kind == ValueKind::View) {
    // And of what stands beside it, the arrays that lack an index, too.
    std::string whole =
        changeWords(context.quote(where), [&](llvm::StringRef word, char before,
                                              char next) {
          std::optional<SemaValue> other;
          if (before != '.' && next != '[' && next != '.' && next != '(')
            other = context.tryFix(word.str());
          return other && other->kind == ValueKind::View
                     ? word.str() + "[" + getIndicesFor(*other) + "]"
                     : word.str();
        });
    diagnostic.setFix(whole, where);
    diagnostic.where = where;
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
    // x * tsr.sigmoid: of what stands beside it.
    std::string text = context.quote(expr ? expr->range : where);
    llvm::StringRef beside = llvm::StringRef(other).split(" is ").first;
    std::string call = text + "(" + (beside.empty() ? "x" : beside.str()) + ")";
    diagnostic.setFix(call);
  } else if (value.isConstant() && value.constant.isDType()) {
    diagnostic.setFix("x.to(" + name + ")");
  }
  return failure();
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
    std::string indices = getIndicesFor(value);
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

/// "BM" for tiles of M, if the kernel has such a constant.
std::string TileOps::getSizeOfTiles(const std::string &dim) const {
  for (const char *front : {"B", "BLOCK_", "TILE_"})
    if (std::optional<SemaValue> size = context.tryFix(front + dim);
        size && size->getConstantInt())
      return front + dim;
  return "32";
}

/// "tsr.grid(tsr.tile(M, BM), N)" for a name that counts the blocks of
/// `tsr.grid(tsr.cdiv(M, BM), N)`, and where the grid stands; empty for others.
std::pair<std::string, SourceRange>
TileOps::getTiledGrid(const Expr *counter) const {
  auto *name = dynCast<Name>(counter);
  // tsr.grid(M, N) with m.index is of tiles, too.
  auto isCounted = [&](const GridAxis &axis) {
    if (axis.axis || !name)
      return false;
    bool isRange = false;
    walkExpressions(context.getBody(), [&](const Expr *expr) {
      auto *part = dynCast<Attribute>(expr);
      auto *of = part ? dynCast<Name>(part->value) : nullptr;
      isRange |= of && of->id == axis.name &&
                 llvm::is_contained({"index", "start", "stop"}, part->attr);
      return true;
    });
    std::string extent = context.quote(axis.where);
    return isRange || name->id == axis.name ||
           !getBlocks(extent).second.empty() || getSizeOfTiles(extent) != "32";
  };
  auto own = llvm::find_if(gridAxes, [&](const GridAxis &axis) {
    return name && axis.name == name->id && isCounted(axis);
  });
  if (own == gridAxes.end())
    return {};
  std::vector<LoopUse> loops = collectLoopUses(
      context, [](llvm::StringRef) { return SmallVector<std::string>(); });
  for (const LoopUse &loop : loops) {
    if (!isWithin(own->where, loop.loop->iter->range))
      continue;
    SourceRange where = loop.loop->iter->range;
    std::string text = context.quote(where);
    // From the back, so that places stay what they are.
    for (const GridAxis &axis : llvm::reverse(gridAxes)) {
      std::string extent = context.quote(axis.where);
      bool isHere =
          isCounted(axis) && axis.where.begin.line == where.begin.line;
      size_t at = isHere ? axis.where.begin.column - where.begin.column
                         : std::string::npos;
      auto [whole, size] = getBlocks(extent);
      // "M // 2" may be a dim of an annotation.
      if (size.empty() || findDimText(whole + "//" + size))
        std::tie(whole, size) = std::pair(extent, getSizeOfTiles(extent));
      if (at != std::string::npos)
        text.replace(at, extent.size(),
                     "tsr.tile(" + whole + ", " + size + ")");
    }
    return {text, where};
  }
  return {};
}

/// "m, n": the ranges or dims of a size, or of those in a tuple.
std::string TileOps::getRangesOfSizes(const SemaValue &value) const {
  std::vector<SemaValue> sizes = {value};
  if (value.kind == ValueKind::Tuple)
    sizes = value.elements;
  std::string ranges;
  for (const SemaValue &size : sizes) {
    std::string range;
    if (size.kind == ValueKind::Range)
      range = size.axis->name;
    else if (size.kind == ValueKind::Dim)
      range = size.dim->name;
    else if (auto number = size.getConstantInt())
      range = context.findRangeOfSize(*number);
    if (range.empty() && size.getConstantInt())
      range = "tsr.arange(" + std::to_string(*size.getConstantInt()) + ")";
    ranges += (ranges.empty() ? "" : ", ") + (range.empty() ? "m" : range);
  }
  return ranges;
}

/// "-tsr.inf" of tsr.full(-tsr.inf, BM), whose second argument is at `where`.
std::string TileOps::getFilled(SourceRange where) const {
  SourceRange line = where;
  line.begin.column = 1;
  line.end = where.begin;
  std::string before = context.quote(line);
  size_t at = before.rfind("tsr.full(");
  std::vector<std::string> given;
  if (at != std::string::npos)
    given = splitAtCommas(std::string_view(before).substr(at + 9));
  return given.empty() || given[0].empty() ? "0.0" : given[0];
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
  // A number of blocks that the grid counts: its ranges are meant.
  if (auto [tiled, where] = getTiledGrid(argument.expr); !tiled.empty()) {
    diagnostic.where = where;
    diagnostic.message = context.quote(argument.where) +
                         " is a counter, and no range of elements, as an axis "
                         "of " +
                         what.str() + " is";
    diagnostic.addNote(argument.where, "an axis of " + what.str());
    diagnostic.setFix(tiled);
    return failure();
  }
  // A size, or a shape: the ranges of these sizes are meant.
  std::string fix = getRangesOfSizes(value);
  size_t sizes = value.kind == ValueKind::Tuple ? value.elements.size() : 1;
  // zeros(BM, BN): as many sizes as the grid has ranges are those.
  SourceRange rest = argument.where;
  rest.end = {rest.begin.line, rest.begin.column + 200};
  size_t count = sizes > 1 ? sizes : countArguments(context.quote(rest));
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
                    : what == "tsr.full"
                        ? "tsr.full(" + getFilled(argument.where) + ", " + fix +
                              ")"
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
      .error(site.nameRange, "a list cannot grow in a loop whose turns are "
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
    std::string indices = getIndicesFor(object);
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
  // h.index, where h counts blocks: the grid is to have their tiles.
  if (auto [tiled, where] = getTiledGrid(expr);
      !tiled.empty() &&
      llvm::is_contained({"index", "start", "stop", "size"}, name)) {
    context
        .error(where, text +
                          " is a counter, and no range of elements, so "
                          "it has no '" +
                          name.str() + "'")
        .addNote(site.range, context.quote(site.range))
        .setFix(tiled);
    return failure();
  }
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
    std::string indices = getIndicesFor(object);
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

/// tsr.argmax(x, n) + n.start, as Triton needs it: true, with an error.
bool TileOps::reportStartedPosition(const OpSite &site) {
  if (site.operands.size() != 2)
    return false;
  for (auto [first, second] : {std::pair(0, 1), std::pair(1, 0)}) {
    auto *call = dynCast<Call>(site.operands[first]);
    auto *start = dynCast<Attribute>(site.operands[second]);
    auto *callee = call ? dynCast<Attribute>(call->func) : nullptr;
    if (!callee || (callee->attr != "argmax" && callee->attr != "argmin") ||
        call->args.empty() || !start || start->attr != "start" ||
        context.quote(call->args.back()->range) !=
            context.quote(start->value->range))
      continue;
    context
        .error(site.range, callee->attr +
                               " counts along the whole dim, not "
                               "from the start of the tile: " +
                               context.quote(start->range) +
                               " would be added twice")
        .setFix(context.quote(call->range));
    return true;
  }
  return false;
}

/// "acc = tsr.zeros(m, n, dtype=i32)" for an acc that was begun with zeros of
/// another dtype.
/// "at = tsr.zeros(m, dtype=tsr.i64)" for a variable that begins so without a
/// dtype.
std::string TileOps::getTypedStart(const SemaValue &value, const Expr *expr,
                                   DType dtype) const {
  if (!value.isTile() || !value.origin.isValid() || !is<Name>(expr))
    return "";
  SourceRange line = value.origin;
  line.end = {line.begin.line, line.begin.column + 200};
  std::string quoted = context.quote(line);
  llvm::StringRef text = llvm::StringRef(quoted).trim();
  std::string name = context.quote(expr->range), made = text.str();
  bool starts = llvm::any_of(std::array{"zeros(", "ones(", "full("},
                             [&](const char *call) {
                               return text.starts_with(name + " = tsr." + call);
                             });
  if (!starts || !text.ends_with(")") || text.contains("dtype"))
    return "";
  made.pop_back();
  return made + ", dtype=tsr." + getDTypeName(dtype) + ")";
}

std::string TileOps::getZeros(const SemaValue &value, const Expr *expr,
                              DType dtype) const {
  auto fill = value.isTile() && value.ssa && is<Name>(expr)
                  ? value.origin.isValid()
                  : false;
  if (!fill)
    return "";
  std::string text = context.quote(expr->range) + " = tsr.zeros(";
  for (Axis *axis : value.axes)
    text += axis->name + ", ";
  return text + "dtype=tsr." + getDTypeName(dtype) + ")";
}

} // namespace tessera::frontend
