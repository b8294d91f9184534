//===- TileOpsShape.cpp - Attributes, methods, new tiles ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/TileOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tessera::frontend {

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

ValueResult TileOps::rangeAttribute(const SemaValue &range,
                                    llvm::StringRef name, const OpSite &site) {
  OpBuilder &b = builder();
  Axis *axis = range.axis;
  Location at = context.loc(site.range);
  Type index = b.getIndexType();
  auto getStart = [&]() -> mlir::Value {
    return tile::RangeStartOp::create(b, at, index, axis->range);
  };
  if (name == "index") {
    auto tile =
        tile::IndexOp::create(b, at, getType(DType::I64, {axis}), axis->range);
    return SemaValue::makeTile(tile, DType::I64, {axis});
  }
  if (name == "start")
    return SemaValue::makeScalar(getStart(), DType::I64, true);
  if (name == "stop")
    return SemaValue::makeScalar(
        tile::RangeStopOp::create(b, at, index, axis->range), DType::I64, true);
  if (name == "size")
    return SemaValue::makeConstant(axis->size);
  if (name == "id") {
    mlir::Value start = getStart();
    if (axis->loopStart)
      start = arith::SubIOp::create(b, at, start, axis->loopStart);
    mlir::Value size = arith::ConstantIndexOp::create(b, at, axis->size);
    return SemaValue::makeScalar(
        arith::FloorDivSIOp::create(b, at, start, size), DType::I64, true);
  }
  if (name == "dim") {
    if (!axis->dim)
      return SemaValue::makeScalar(axis->extent, DType::I64, true);
    SemaValue dim;
    dim.kind = ValueKind::Dim;
    dim.dim = axis->dim;
    return dim;
  }
  Diagnostic &diagnostic = context.error(
      site.nameRange, axis->name + " is a range, which has no attribute '" +
                          name.str() +
                          "'; it has index, start, stop, size, id, dim, copy");
  diagnostic.addNote(axis->where, "the range " + axis->name);
  std::vector<std::string> near = nearestNames(
      name, {"index", "start", "stop", "size", "id", "dim", "copy"});
  if (!near.empty())
    diagnostic.setFix(axis->name + "." + near.front());
  else if (!explainForeign(context, diagnostic, ForeignKind::Attribute, name,
                           {}, site,
                           site.operands.empty() ? nullptr : site.operands[0]))
    diagnostic.setFix(axis->name + ".index");
  return failure();
}

ValueResult TileOps::attribute(const SemaValue &object, llvm::StringRef name,
                               const OpSite &site) {
  if (object.kind == ValueKind::Range)
    return rangeAttribute(object, name, site);
  bool hasType =
      object.kind == ValueKind::View || object.isTile() || object.isScalar();
  if (hasType && name == "dtype")
    return SemaValue::makeConstant(object.dtype);
  if (object.kind == ValueKind::View && name == "shape") {
    std::vector<SemaValue> dims;
    for (Dim *dim : object.dims) {
      SemaValue value;
      value.kind = ValueKind::Dim;
      value.dim = dim;
      value.name = dim->name;
      dims.push_back(value);
    }
    return SemaValue::makeTuple(std::move(dims));
  }
  if (object.isTile() && name == "shape") {
    std::vector<SemaValue> sizes;
    for (Axis *axis : object.axes)
      sizes.push_back(SemaValue::makeConstant(axis->size));
    return SemaValue::makeTuple(std::move(sizes));
  }
  if (hasType && name == "ndim")
    return SemaValue::makeConstant(int64_t(object.kind == ValueKind::View
                                               ? object.dims.size()
                                               : object.axes.size()));
  if (object.isTile() && name == "T") {
    SmallVector<int64_t> reversed;
    for (int64_t i = int64_t(object.axes.size()) - 1; i >= 0; --i)
      reversed.push_back(i);
    return transpose(object, reversed, context.loc(site.range));
  }
  return reportAttribute(object, name, site);
}

//===----------------------------------------------------------------------===//
// Methods
//===----------------------------------------------------------------------===//

ValueResult TileOps::method(const SemaValue &object, llvm::StringRef name,
                            const CallArguments &arguments,
                            const OpSite &site) {
  if (object.kind == ValueKind::Range && name == "copy") {
    if (!arguments.arguments.empty()) {
      context
          .error(site.range, "copy takes no arguments, but " +
                                 std::to_string(arguments.arguments.size()) +
                                 " are given")
          .setFix(rewriteCall(context, site, {}));
      return failure();
    }
    OpBuilder &b = builder();
    Location at = context.loc(site.range);
    Axis axis = *object.axis;
    mlir::Value start =
        tile::RangeStartOp::create(b, at, b.getIndexType(), axis.range);
    axis.range = tile::RangeAtOp::create(b, at, axis.range.getType(), start,
                                         axis.extent);
    axis.name.clear();
    axis.kind = Axis::Kind::Range;
    axis.where = site.range;
    SemaValue copy;
    copy.kind = ValueKind::Range;
    copy.axis = context.addAxis(std::move(axis));
    return copy;
  }
  if (object.isTile() || object.isScalar()) {
    if (name == "to")
      return methodTo(object, arguments, site);
    if (name == "filled")
      return methodFilled(object, arguments, site);
  }
  if (object.isTile()) {
    if (name == "permute")
      return methodPermute(object, arguments, site);
    if (name == "reshape")
      return methodReshape(object, arguments, site);
  }
  if ((object.isTile() || object.isScalar()) && name == "expand")
    return methodExpand(object, arguments, site);
  if (object.isConstant() && object.constant.isNumber() && name == "to")
    return methodTo(object, arguments, site);
  // Methods and functions are the same: x.sum(n) is tsr.sum(x, n).
  if (object.isTile() || object.isScalar()) {
    std::vector<std::string> names = getCallNames();
    if (llvm::is_contained(names, name.str())) {
      CallArguments all;
      all.arguments.push_back(
          {"", object, site.operands[0],
           site.operands[0] ? site.operands[0]->range : site.range});
      llvm::append_range(all.arguments, arguments.arguments);
      return call(name, all, site);
    }
  }
  return reportMethod(object, name, arguments, site);
}

ValueResult TileOps::methodTo(const SemaValue &value,
                              const CallArguments &arguments,
                              const OpSite &site) {
  FailureOr<BoundArguments> bound =
      bindArguments(context, ".to", arguments, {"dtype", "*rounding"}, 1, site);
  if (failed(bound))
    return failure();
  FailureOr<DType> dtype = getDTypeArgument(context, *(*bound)[0]);
  if (failed(dtype))
    return failure();
  if (const CallArgument *rounding = (*bound)[1]) {
    if (failed(getChoice(context, *rounding, "rounding", {"rn"},
                         {"rz", "stochastic"})))
      return failure();
  }
  ValueResult result = convert(value, *dtype, context.loc(site.range));
  if (succeeded(result))
    result->text = value.isTile() ? value.text : "";
  return result;
}

ValueResult TileOps::methodFilled(const SemaValue &value,
                                  const CallArguments &arguments,
                                  const OpSite &site) {
  FailureOr<BoundArguments> bound =
      bindArguments(context, ".filled", arguments, {"value"}, 1, site);
  if (failed(bound))
    return failure();
  if (!value.isTile())
    return value;
  const CallArgument &argument = *(*bound)[0];
  ValueResult fill = context.decay(argument.value, argument.where);
  if (failed(fill))
    return failure();
  OpSite inner = site;
  inner.operands = {site.operands.empty() ? nullptr : site.operands[0],
                    argument.expr};
  FailureOr<Promotion> promotion =
      promoteAll(".filled", {&value, &*fill}, inner);
  if (failed(promotion))
    return failure();
  if (promotion->dtype != value.dtype) {
    context
        .error(argument.where, "the tile is " + describe(value) +
                                   ", the value " + describe(*fill))
        .setFix(context.quote(argument.where) + ".to(" +
                getDTypeName(value.dtype) + ")");
    return failure();
  }
  if (fill->isTile()) {
    std::string text = context.quote(argument.where);
    context
        .error(argument.where,
               ".filled takes a number, but " + text + " is " + describe(*fill))
        .setFix(".filled(0), or tsr.where(mask, x, " + text + ")");
    return failure();
  }
  OpBuilder &b = builder();
  Location at = context.loc(site.range);
  mlir::Value number = makeFitting(*fill, value.dtype, at);
  if (number.getType().isIndex())
    number = arith::IndexCastOp::create(b, at, b.getI64Type(), number);
  SemaValue result = value;
  result.ssa = tile::FilledOp::create(b, at, value.ssa, number);
  result.complete.assign(value.axes.size(), true);
  result.name.clear();
  return result;
}

ValueResult TileOps::transpose(const SemaValue &tile,
                               llvm::ArrayRef<int64_t> permutation,
                               Location location) {
  if (llvm::is_sorted(permutation))
    return tile;
  llvm::SmallVector<Axis *, 4> axes;
  llvm::SmallVector<bool, 4> complete;
  for (int64_t from : permutation) {
    axes.push_back(tile.axes[from]);
    complete.push_back(tile.complete[from]);
  }
  auto result = tile::TransposeOp::create(
      builder(), location, getType(tile.dtype, axes), tile.ssa, permutation);
  return SemaValue::makeTile(result, tile.dtype, axes, complete);
}

/// "n, m" of [m, n].
static std::string reverseAxes(const SemaValue &value) {
  std::string text;
  for (Axis *axis : llvm::reverse(value.axes))
    text += (text.empty() ? "" : ", ") + axis->name;
  return text;
}

ValueResult TileOps::methodPermute(const SemaValue &value,
                                   const CallArguments &arguments,
                                   const OpSite &site) {
  SmallVector<int64_t> permutation;
  std::vector<CallArgument> axes = arguments.arguments;
  if (axes.size() == 1 && axes[0].value.kind == ValueKind::Tuple) {
    CallArgument whole = axes[0];
    axes.clear();
    for (const SemaValue &element : whole.value.elements)
      axes.push_back({"", element, whole.expr, whole.where});
  }
  for (const CallArgument &argument : axes) {
    if (!argument.keyword.empty()) {
      context
          .error(argument.where, "permute takes axes, no keywords, but '" +
                                     argument.keyword + "' is given")
          .setFix(".permute(" + reverseAxes(value) + ")");
      return failure();
    }
    FailureOr<int64_t> position = findAxis(
        value, argument, site.operands.empty() ? nullptr : site.operands[0]);
    if (failed(position))
      return failure();
    if (llvm::is_contained(permutation, *position)) {
      context
          .error(argument.where, "permute names the axis " +
                                     value.axes[*position]->name + " twice")
          .setFix(".permute(" + reverseAxes(value) + ")");
      return failure();
    }
    permutation.push_back(*position);
  }
  if (permutation.size() != value.axes.size()) {
    context
        .error(site.range,
               "permute needs all axes of " + describeAxes(value.axes) +
                   ", but " + std::to_string(permutation.size()) + " are given")
        .setFix(".permute(" + reverseAxes(value) + ")");
    return failure();
  }
  return transpose(value, permutation, context.loc(site.range));
}

ValueResult TileOps::methodExpand(const SemaValue &value,
                                  const CallArguments &arguments,
                                  const OpSite &site) {
  Alignment alignment{value.axes, value.complete};
  for (const CallArgument &argument : arguments.arguments) {
    FailureOr<Axis *> axis = getAxisOperand(argument, "expand");
    if (failed(axis))
      return failure();
    if (llvm::is_contained(alignment.axes, *axis))
      continue;
    alignment.axes.push_back(*axis);
    alignment.complete.push_back((*axis)->complete);
  }
  mlir::Value result =
      spread(value, value.dtype, alignment, context.loc(site.range));
  return SemaValue::makeTile(result, value.dtype, alignment.axes,
                             alignment.complete);
}

LogicalResult TileOps::checkComplete(const SemaValue &value, const Expr *expr,
                                     const SourceRange &where,
                                     llvm::StringRef what) {
  for (auto [axis, complete] : llvm::zip(value.axes, value.complete)) {
    if (complete)
      continue;
    std::string text = expr ? context.quote(expr->range) : std::string("x");
    context
        .error(where, what.str() +
                          " needs tiles without absent elements, but "
                          "the axis " +
                          axis->name + " of " + nameOf(value, expr) +
                          " may have some")
        .addNote(axis->where, "the axis " + axis->name)
        .setFix(text + ".filled(0)");
    return failure();
  }
  return success();
}

ValueResult TileOps::methodReshape(const SemaValue &value,
                                   const CallArguments &arguments,
                                   const OpSite &site) {
  const Expr *expr = site.operands.empty() ? nullptr : site.operands[0];
  if (failed(checkComplete(value, expr, site.range, "reshape")))
    return failure();
  std::vector<CallArgument> parts = arguments.arguments;
  if (parts.size() == 1 && parts[0].value.kind == ValueKind::Tuple) {
    CallArgument whole = parts[0];
    parts.clear();
    for (const SemaValue &element : whole.value.elements)
      parts.push_back({"", element, whole.expr, whole.where});
  }
  int64_t total = 1, product = 1;
  for (Axis *axis : value.axes)
    total *= axis->size;
  llvm::SmallVector<Axis *, 4> axes;
  OpBuilder &b = builder();
  Location at = context.loc(site.range);
  for (const CallArgument &part : parts) {
    // A dim or a range keeps its identity, a number makes an axis of its own.
    if (part.value.kind == ValueKind::Range ||
        part.value.kind == ValueKind::Dim) {
      FailureOr<Axis *> axis = getAxisOperand(part, "reshape");
      if (failed(axis))
        return failure();
      axes.push_back(*axis);
      product *= (*axis)->size;
      continue;
    }
    FailureOr<int64_t> size =
        frontend::getConstantInt(context, part, "a size of reshape");
    if (failed(size))
      return failure();
    if (*size < 1) {
      context
          .error(part.where, "a size of reshape is at least 1, not " +
                                 std::to_string(*size) +
                                 "; there is no -1 here")
          .setFix(".reshape(" + std::to_string(total) + ")");
      return failure();
    }
    Axis axis;
    axis.kind = Axis::Kind::Own;
    axis.name = std::to_string(*size);
    axis.size = *size;
    axis.complete = true;
    axis.where = site.range;
    axis.extent = arith::ConstantIndexOp::create(b, at, *size);
    axis.range = tile::RangeAtOp::create(
        b, at, tile::RangeType::get(b.getContext(), *size),
        arith::ConstantIndexOp::create(b, at, 0), axis.extent);
    axes.push_back(context.addAxis(std::move(axis)));
    product *= *size;
  }
  if (product != total) {
    Diagnostic &diagnostic = context.error(
        site.range, "reshape of " + describeAxes(value.axes) + ", " +
                        std::to_string(total) + " elements, into " +
                        std::to_string(product));
    // The last size follows from the others.
    std::string sizes;
    int64_t others = 1;
    for (size_t i = 0; i + 1 < axes.size(); ++i) {
      others *= axes[i]->size;
      sizes += std::to_string(axes[i]->size) + ", ";
    }
    diagnostic.setFix(".reshape(" +
                      (others && total % others == 0
                           ? sizes + std::to_string(total / others)
                           : std::to_string(total)) +
                      ")");
    return failure();
  }
  llvm::SmallVector<bool, 4> complete(axes.size(), true);
  mlir::Value result =
      tile::ReshapeOp::create(b, at, getType(value.dtype, axes), value.ssa);
  return SemaValue::makeTile(result, value.dtype, axes, complete);
}

//===----------------------------------------------------------------------===//
// New tiles and ranges
//===----------------------------------------------------------------------===//

ValueResult TileOps::callFull(llvm::StringRef name,
                              const CallArguments &arguments,
                              const OpSite &site) {
  std::string callee = "tsr." + name.str();
  DType dtype = DType::FP32;
  SemaValue number = SemaValue::makeConstant(int64_t(name == "ones" ? 1 : 0));
  bool needsNumber = name == "full";
  SourceRange numberRange = site.range;
  Alignment alignment;
  for (const CallArgument &argument : arguments.arguments) {
    if (argument.keyword == "dtype") {
      FailureOr<DType> given = getDTypeArgument(context, argument);
      if (failed(given))
        return failure();
      dtype = *given;
      continue;
    }
    if (!argument.keyword.empty()) {
      std::vector<std::string> texts;
      for (const CallArgument &other : arguments.arguments)
        if (&other != &argument)
          texts.push_back(context.quote(other.where));
      if (argument.keyword == "shape" || argument.keyword == "size")
        texts = {"m"};
      context
          .error(argument.where, callee + " has no argument '" +
                                     argument.keyword + "'; it takes " +
                                     (name == "full" ? "a number, " : "") +
                                     "ranges or dims, and dtype=")
          .setFix(rewriteCall(context, site, texts));
      return failure();
    }
    if (needsNumber) {
      ValueResult value = context.decay(argument.value, argument.where);
      if (failed(value))
        return failure();
      number = *value;
      numberRange = argument.where;
      needsNumber = false;
      if (!number.isNumber()) {
        // torch and NumPy have the shape first.
        std::string fill = "0", axes;
        for (const CallArgument &other : arguments.arguments) {
          std::string text = context.quote(other.where);
          if (other.value.isConstant() && other.value.constant.isNumber()) {
            fill = text;
            continue;
          }
          bool isShape = other.value.kind == ValueKind::Tuple;
          axes += ", " + (isShape ? getRangesOfSizes(other.value) : text);
        }
        context
            .error(site.range, "tsr.full takes the number first, then the "
                               "axes, but " +
                                   context.quote(argument.where) + " is " +
                                   describe(number))
            .setFix("tsr.full(" + fill + axes + ")");
        return failure();
      }
      continue;
    }
    if (argument.value.isConstant() && argument.value.constant.isDType()) {
      std::vector<std::string> texts = quoteArguments(context, arguments, site);
      for (std::string &text : texts)
        if (text == context.quote(argument.where))
          text = "dtype=" + text;
      context
          .error(argument.where, "an axis of " + callee +
                                     " is a range or a dim; " +
                                     context.quote(argument.where) +
                                     " is a dtype, which is given by dtype=")
          .setFix(rewriteCall(context, site, texts));
      return failure();
    }
    FailureOr<Axis *> axis = getAxisOperand(argument, callee);
    if (failed(axis))
      return failure();
    if (llvm::is_contained(alignment.axes, *axis)) {
      context
          .error(argument.where,
                 "the axis " + (*axis)->name + " twice in one tile")
          .setFix((*axis)->name + "2 = " + (*axis)->name + ".copy()");
      return failure();
    }
    alignment.axes.push_back(*axis);
    alignment.complete.push_back((*axis)->complete);
  }
  if (needsNumber) {
    context.error(site.range, "tsr.full needs a number to fill with, and axes")
        .setFix("tsr.full(0.0, m)");
    return failure();
  }
  Promotion promotion = promote({dtype, false}, number.getPromotionOperand());
  if (!promotion || promotion.dtype != dtype) {
    context
        .error(numberRange, "a tile of " + std::string(getDTypeName(dtype)) +
                                " filled with " + describe(number))
        .setFix(number.isConstant()
                    ? std::string("dtype=") +
                          (number.constant.isFloat() ? "fp32" : "i64")
                    : asObject(context.quote(numberRange)) + ".to(" +
                          getDTypeName(dtype) + ")");
    return failure();
  }
  if (failed(checkTileSize(alignment.axes, site.range)))
    return failure();
  if (std::string misfit = number.isConstant()
                               ? findMisfit(number.constant, dtype)
                               : std::string();
      !misfit.empty()) {
    context.error(numberRange, misfit)
        .setFix(std::string("dtype=") + getDTypeName(getWiderDType(dtype)));
    return failure();
  }
  OpBuilder &b = builder();
  Location at = context.loc(site.range);
  mlir::Value scalar = makeFitting(number, dtype, at);
  if (alignment.axes.empty())
    return SemaValue::makeScalar(scalar, dtype);
  if (scalar.getType().isIndex())
    scalar = arith::IndexCastOp::create(b, at, b.getI64Type(), scalar);
  SmallVector<mlir::Value> ranges;
  for (Axis *axis : alignment.axes)
    ranges.push_back(axis->range);
  mlir::Value tile = tile::FillOp::create(b, at, getType(dtype, alignment.axes),
                                          scalar, ranges);
  return SemaValue::makeTile(tile, dtype, alignment.axes);
}

ValueResult TileOps::callCat(const CallArguments &arguments,
                             const OpSite &site) {
  FailureOr<BoundArguments> bound =
      bindArguments(context, "tsr.cat", arguments,
                    {"tiles", "over", "*dim", "*axis"}, 1, site);
  if (failed(bound))
    return failure();
  const CallArgument &list = *(*bound)[0];
  if (list.value.kind != ValueKind::Tuple || list.value.elements.empty()) {
    std::string texts;
    for (const CallArgument &argument : arguments.arguments)
      if (argument.value.isTile())
        texts += (texts.empty() ? "" : ", ") + context.quote(argument.where);
    context
        .error(list.where, "tsr.cat takes a tuple of tiles, but " +
                               context.quote(list.where) + " is " +
                               describe(list.value))
        .setFix("tsr.cat((" + texts + "), dim=0)");
    return failure();
  }
  const SemaValue &first = list.value.elements[0];
  int64_t position = 0, total = 0;
  SmallVector<mlir::Value> inputs;
  auto *tuple = dynCast<Tuple>(list.expr);
  for (auto [i, tile] : llvm::enumerate(list.value.elements)) {
    const Expr *expr =
        tuple && i < tuple->elts.size() ? tuple->elts[i] : nullptr;
    SourceRange where = expr ? expr->range : list.where;
    if (!tile.isTile()) {
      context
          .error(where, "tsr.cat takes tiles, but " + context.quote(where) +
                            " is " + describe(tile))
          .setFix(tile.kind == ValueKind::View
                      ? context.quote(where) + "[:]"
                      : "tsr.full(" + context.quote(where) + ", m)");
      return failure();
    }
    if (failed(checkComplete(tile, expr, where, "tsr.cat")))
      return failure();
    if (i == 0) {
      FailureOr<std::optional<int64_t>> axis =
          getAxisArgument(tile, (*bound)[1], (*bound)[2], (*bound)[3], expr);
      if (failed(axis))
        return failure();
      position = *axis ? **axis : 0;
    }
    bool fits =
        tile.dtype == first.dtype && tile.axes.size() == first.axes.size();
    for (size_t j = 0; fits && j < tile.axes.size(); ++j)
      fits = int64_t(j) == position || tile.axes[j] == first.axes[j];
    if (!fits) {
      context
          .error(where, "tsr.cat needs equal dtypes and the other axes equal, "
                        "but the first is " +
                            describe(first) + " and " + context.quote(where) +
                            " is " + describe(tile))
          .setFix(tile.dtype != first.dtype
                      ? asObject(context.quote(where)) + ".to(" +
                            getDTypeName(first.dtype) + ")"
                      : "dim=" + std::to_string(position ? 0 : 1));
      return failure();
    }
    total += tile.axes[position]->size;
    inputs.push_back(tile.ssa);
  }
  OpBuilder &b = builder();
  Location at = context.loc(site.range);
  Axis axis;
  axis.kind = Axis::Kind::Own;
  axis.name = "cat";
  axis.size = total;
  axis.complete = true;
  axis.where = site.range;
  axis.extent = arith::ConstantIndexOp::create(b, at, total);
  axis.range = tile::RangeAtOp::create(
      b, at, tile::RangeType::get(b.getContext(), total),
      arith::ConstantIndexOp::create(b, at, 0), axis.extent);
  llvm::SmallVector<Axis *, 4> axes = first.axes;
  axes[position] = context.addAxis(std::move(axis));
  llvm::SmallVector<bool, 4> complete(axes.size(), true);
  mlir::Value result =
      tile::CatOp::create(b, at, getType(first.dtype, axes), inputs, position);
  return SemaValue::makeTile(result, first.dtype, axes, complete);
}

ValueResult TileOps::callProgramId(llvm::StringRef name,
                                   const CallArguments &arguments,
                                   const OpSite &site) {
  std::string callee = "tsr." + name.str();
  FailureOr<BoundArguments> bound =
      bindArguments(context, callee, arguments, {"axis"}, 1, site);
  if (failed(bound))
    return failure();
  FailureOr<int64_t> axis =
      frontend::getConstantInt(context, *(*bound)[0], "the axis");
  if (failed(axis) || failed(checkInsideGrid(site, callee)))
    return failure();
  if (*axis < 0 || size_t(*axis) >= gridAxes.size()) {
    context
        .error((*bound)[0]->where,
               "the grid has " + std::to_string(gridAxes.size()) +
                   (gridAxes.size() == 1 ? " axis" : " axes") +
                   ", so there is no axis " + std::to_string(*axis))
        .setFix(callee + "(" + std::to_string(gridAxes.size() - 1) + ")");
    return failure();
  }
  OpBuilder &b = builder();
  Location at = context.loc(site.range);
  const GridAxis &grid = gridAxes[*axis];
  mlir::Value result;
  if (name == "num_programs") {
    result = grid.extent;
    if (grid.size)
      result = arith::CeilDivSIOp::create(
          b, at, grid.extent, arith::ConstantIndexOp::create(b, at, grid.size));
  } else if (grid.axis) {
    mlir::Value start =
        tile::RangeStartOp::create(b, at, b.getIndexType(), grid.axis->range);
    result = arith::FloorDivSIOp::create(
        b, at, start, arith::ConstantIndexOp::create(b, at, grid.size));
  } else {
    result = grid.index;
  }
  return SemaValue::makeScalar(result, DType::I64, true);
}

} // namespace tessera::frontend
