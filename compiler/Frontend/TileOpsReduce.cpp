//===- TileOpsReduce.cpp - Reductions, scans, softmax ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reduction of fp16 or bf16 sums in fp32 and rounds once at the end.
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/TileOps.h"

#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;

namespace tessera::frontend {

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

/// Is the tile made of a reduction, element by element?
static bool isReduced(mlir::Value tile) {
  llvm::SetVector<mlir::Value> worklist;
  worklist.insert(tile);
  for (size_t next = 0; next < worklist.size(); ++next) {
    Operation *op = worklist[next].getDefiningOp();
    if (isa_and_present<tile::ReduceOp>(op))
      return true;
    if (op && OpTrait::hasElementwiseMappableTraits(op))
      worklist.insert_range(op->getOperands());
  }
  return false;
}

/// The line with `x` instead of `tsr.mean(x, N)`; empty if it is not one line.
static std::string quoteWithout(const SemaContext &context,
                                const std::string &reducing, const Expr *x,
                                const CallArgument &axis) {
  if (!x || reducing.empty() || x->range.begin.line != axis.where.end.line)
    return "";
  std::string front = context.quoteBefore(x->range),
              back = context.quoteBehind(axis.where);
  size_t call = front.rfind(reducing + "(");
  size_t close = back.find(')');
  if (call == std::string::npos || close == std::string::npos ||
      call + reducing.size() + 1 != front.size())
    return "";
  while (call > 0 && (front[call - 1] == '.' || llvm::isAlnum(front[call - 1])))
    --call;
  return llvm::StringRef(front).take_front(call).ltrim().str() +
         context.parenthesize(x) + back.substr(close + 1);
}

FailureOr<int64_t> TileOps::findAxis(const SemaValue &tile,
                                     const CallArgument &axis,
                                     const Expr *tileExpr) {
  const SemaValue &value = axis.value;
  Axis *wanted = nullptr;
  if (value.kind == ValueKind::Range) {
    wanted = value.axis;
  } else if (value.isTile() && value.axes.size() == 1 &&
             isInteger(value.dtype)) {
    wanted = value.axes[0];
  } else if (value.kind == ValueKind::Dim) {
    for (auto [i, candidate] : llvm::enumerate(tile.axes))
      if (candidate->kind == Axis::Kind::Whole && candidate->dim == value.dim)
        return int64_t(i);
    // A range over the dim is not the dim: the result would be a part of it.
    for (Axis *candidate : tile.axes)
      if (candidate->dim == value.dim) {
        context
            .error(axis.where, nameOf(tile, tileExpr) + " is " +
                                   describeAxes(tile.axes) + ": it has " +
                                   candidate->name + ", a range over " +
                                   value.dim->name + ", not all of it")
            .addNote(candidate->where, "the range " + candidate->name)
            .setFix(candidate->name);
        return failure();
      }
  } else if (auto position = value.getConstantInt()) {
    int64_t rank = tile.axes.size();
    if (*position < -rank || *position >= rank) {
      std::string keyword = axis.keyword.empty() ? "" : axis.keyword + "=";
      context
          .error(getValueRange(axis),
                 nameOf(tile, tileExpr) + " is " + describeAxes(tile.axes) +
                     " and has no axis " + std::to_string(*position))
          .setFix(keyword + (*position < 0 ? "-" : "") +
                  std::to_string(*position < 0 ? rank : rank - 1));
      return failure();
    }
    return *position < 0 ? *position + rank : *position;
  }
  if (wanted)
    if (auto *found = llvm::find(tile.axes, wanted); found != tile.axes.end())
      return int64_t(found - tile.axes.begin());
  Diagnostic &diagnostic =
      context.error(getValueRange(axis),
                    nameOf(tile, tileExpr) + " is " + describeAxes(tile.axes) +
                        " and has no axis " + quoteValue(context, axis));
  if (wanted)
    diagnostic.addNote(wanted->where, "the axis " + wanted->name);
  std::string keyword = axis.keyword.empty() ? "" : axis.keyword + "=";
  // max(x, 0.0) of two values is maximum.
  bool beside = value.isTile() ||
                (value.isConstant() && value.constant.isFloat()) ||
                (value.isScalar() && isFloat(value.dtype));
  if (beside && (reducing == "max" || reducing == "min")) {
    diagnostic.message += "; tsr." + reducing + " is over an axis, tsr." +
                          reducing + "imum of two values";
    diagnostic.setFix("tsr." + reducing + "imum(" +
                      (tileExpr ? context.quote(tileExpr->range) : "x") + ", " +
                      quoteValue(context, axis) + ")");
    return failure();
  }
  if (beside && !value.isConstant()) {
    diagnostic.message += "; an axis is a range, a dim or an int";
    diagnostic.setFix(keyword + tile.axes.back()->name);
    return failure();
  }
  // for w in range(0, W, BW): a number, not a range over W.
  if (auto *name = dynCast<Name>(axis.expr))
    if (auto loop = context.tileLoops.find(name->id);
        loop != context.tileLoops.end()) {
      diagnostic.setFix(loop->second.text, loop->second.where);
      return failure();
    }
  if ((wanted || value.kind == ValueKind::Dim) && isReduced(tile.ssa))
    if (std::string line = quoteWithout(context, reducing, tileExpr, axis);
        !line.empty()) {
      diagnostic.message += ": it is reduced already";
      diagnostic.setFix(line);
      return failure();
    }
  if (tile.axes.size() == 1) {
    diagnostic.setFix(keyword + tile.axes[0]->name);
    return failure();
  }
  // dim="N" means the axis of that name; else the last.
  size_t meant = tile.axes.size() - 1;
  if (value.isConstant() && value.constant.isString())
    for (auto [i, candidate] : llvm::enumerate(tile.axes))
      if (candidate->name == value.constant.asString() ||
          (candidate->dim && candidate->dim->name == value.constant.asString()))
        meant = i;
  diagnostic.setFix(keyword.empty() ? tile.axes[meant]->name
                                    : keyword + std::to_string(meant));
  return failure();
}

FailureOr<std::optional<int64_t>> TileOps::getAxisArgument(
    const SemaValue &tile, const CallArgument *axis, const CallArgument *dim,
    const CallArgument *axisKeyword, const Expr *tileExpr) {
  const CallArgument *given = nullptr;
  for (const CallArgument *candidate : {axis, dim, axisKeyword}) {
    if (!candidate || candidate->value.isNone())
      continue;
    if (given) {
      context.error(candidate->where, "the axis is given twice")
          .setFix("drop " + context.quote(candidate->where));
      return failure();
    }
    given = candidate;
  }
  if (!given)
    return std::optional<int64_t>();
  FailureOr<int64_t> position = findAxis(tile, *given, tileExpr);
  if (failed(position))
    return failure();
  return std::optional<int64_t>(*position);
}

//===----------------------------------------------------------------------===//
// Building blocks
//===----------------------------------------------------------------------===//

SemaValue TileOps::reduce(tile::ReduceKind kind, const SemaValue &input,
                          int64_t axis, Location location) {
  llvm::SmallVector<Axis *, 4> axes = input.axes;
  llvm::SmallVector<bool, 4> complete = input.complete;
  axes.erase(axes.begin() + axis);
  complete.erase(complete.begin() + axis);
  bool position =
      kind == tile::ReduceKind::Argmax || kind == tile::ReduceKind::Argmin;
  DType dtype = position ? DType::I64 : input.dtype;
  OpBuilder &b = builder();
  Type type = axes.empty() ? getStorageType(b.getContext(), dtype)
                           : getType(dtype, axes);
  mlir::Value result =
      tile::ReduceOp::create(b, location, type, kind, input.ssa, axis);
  if (!isWholeRow(*input.axes[axis]))
    partialReductions[location] = {input.axes[axis], {}, {}};
  if (axes.empty()) {
    if (dtype == DType::I64)
      result =
          arith::IndexCastOp::create(b, location, b.getIndexType(), result);
    return SemaValue::makeScalar(result, dtype);
  }
  return SemaValue::makeTile(result, dtype, axes, complete);
}

mlir::Value TileOps::countElements(const SemaValue &input, int64_t axis,
                                   DType dtype, Location location) {
  OpBuilder &b = builder();
  Axis *over = input.axes[axis];
  if (over->complete || input.complete[axis])
    return makeConstant(ConstantData(over->size), dtype, getType(dtype, {}),
                        location);
  mlir::Value start =
      tile::RangeStartOp::create(b, location, b.getIndexType(), over->range);
  mlir::Value stop =
      tile::RangeStopOp::create(b, location, b.getIndexType(), over->range);
  mlir::Value count = arith::SubIOp::create(b, location, stop, start);
  return castElements(count, DType::I64, dtype, location);
}

SemaValue TileOps::apply(BinaryOperator op, const SemaValue &left,
                         const SemaValue &right, Location location) {
  OpSite site;
  Alignment alignment = *align({&left, &right}, site);
  DType dtype = left.dtype;
  mlir::Value result =
      emitBinary(op, dtype, spread(left, dtype, alignment, location),
                 spread(right, dtype, alignment, location), location);
  return SemaValue::makeTile(result, dtype, alignment.axes, alignment.complete);
}

SemaValue TileOps::applyUnary(llvm::StringRef name, const SemaValue &operand,
                              Location location) {
  SemaValue result = operand;
  result.ssa = emitUnary(name, operand.dtype, operand.ssa, location);
  return result;
}

/// exp(x - max(x)), where a maximum of minus infinity counts as 0: a row of
/// nothing but minus infinity then sums to 0 instead of NaN. With `anyInfinity`
/// plus infinity counts as 0, too: the sum is then infinite, and not NaN.
SemaValue TileOps::shiftByMax(const SemaValue &input, int64_t axis,
                              SemaValue &maximum, bool anyInfinity,
                              Location location) {
  maximum = reduce(tile::ReduceKind::Max, input, axis, location);
  double limit = std::numeric_limits<double>::infinity();
  mlir::Value infinity =
      makeConstant(ConstantData(anyInfinity ? limit : -limit), input.dtype,
                   maximum.ssa.getType(), location);
  mlir::Value zero = makeConstant(ConstantData(0.0), input.dtype,
                                  maximum.ssa.getType(), location);
  mlir::Value tested = maximum.ssa;
  if (anyInfinity)
    tested = math::AbsFOp::create(builder(), location, tested);
  mlir::Value empty =
      emitCompare(CompareOperator::Eq, input.dtype, tested, infinity, location);
  maximum.ssa =
      arith::SelectOp::create(builder(), location, empty, zero, maximum.ssa);
  SemaValue shifted = apply(BinaryOperator::Sub, input, maximum, location);
  return applyUnary("exp", shifted, location);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// What a remark on a reduction of a part says of the call.
void TileOps::nameCallOfPart(Location at, const std::string &callee,
                             const CallArgument &argument, const SemaValue &x) {
  auto part = partialReductions.find(at);
  if (part == partialReductions.end())
    return;
  part->second.callee = callee;
  std::string &fix = part->second.alongWhole;
  for (auto [i, axis] : llvm::enumerate(x.axes)) {
    // Beside an axis of the grid the one of a loop may be meant, too.
    if (axis == part->second.along ||
        (!isWholeRow(*axis) &&
         (isOfGrid(*axis) || !isOfGrid(*part->second.along))))
      continue;
    bool isOnly = fix.empty();
    fix = callee + "(" + context.quote(argument.where) + ", " +
          (isWholeRow(*axis) ? "dim=" + std::to_string(i) : axis->name) + ")";
    if (!isOnly)
      return fix.clear();
  }
}

ValueResult TileOps::callReduction(llvm::StringRef name,
                                   const CallArguments &arguments,
                                   const OpSite &site) {
  std::string callee = "tsr." + name.str();
  reducing = name.str();
  llvm::SmallVector<llvm::StringRef> parameters = {"x", "over", "*dim",
                                                   "*axis"};
  if (name == "var")
    parameters.push_back("*correction");
  FailureOr<BoundArguments> bound =
      bindArguments(context, callee, arguments, parameters, 1, site);
  if (failed(bound))
    return failure();
  const CallArgument &argument = *(*bound)[0];
  SemaValue x = argument.value;
  x.text.clear();
  if (!x.isTile()) {
    Diagnostic &diagnostic = context.error(
        argument.where, callee + " reduces a tile, but " +
                            nameOf(x, argument.expr) + " is " + describe(x));
    if ((name == "max" || name == "min") && x.isNumber())
      diagnostic.setFix("tsr." + name.str() + "imum(a, b)");
    if (x.kind == ValueKind::Tuple && name == "sum" && !x.elements.empty()) {
      std::string sum, tuple = nameOf(x, argument.expr);
      for (size_t i = 0; i < x.elements.size(); ++i)
        sum += (i ? " + " : "") + tuple + "[" + std::to_string(i) + "]";
      diagnostic.setFix(sum);
    }
    if (diagnostic.fix.empty())
      diagnostic.setFix(getTileFixFor(argument, callee));
    return failure();
  }
  FailureOr<std::optional<int64_t>> axis =
      getAxisArgument(x, (*bound)[1], (*bound)[2], (*bound)[3], argument.expr);
  if (failed(axis))
    return failure();
  Location at = context.loc(site.range);
  int64_t correction = 1;
  if (name == "var" && (*bound)[4]) {
    FailureOr<int64_t> value =
        frontend::getConstantInt(context, *(*bound)[4], "correction");
    if (failed(value))
      return failure();
    correction = *value;
  }

  // any and all work on truth values, sums of bools count.
  DType original = x.dtype;
  if (name == "any" || name == "all")
    x = *convert(x, DType::Bool, at);
  else if (x.dtype == DType::Bool && (name == "sum" || name == "prod"))
    x = *convert(x, original = DType::I64, at);
  bool floats = name == "mean" || name == "var" || name == "logsumexp";
  if (floats && !isFloat(x.dtype)) {
    context
        .error(argument.where, callee + " needs floats, but " +
                                   nameOf(x, argument.expr) + " is " +
                                   describe(argument.value))
        .setFix(context.quote(argument.where) + ".to(fp32)");
    return failure();
  }
  bool position = name == "argmax" || name == "argmin";
  if (position && !*axis && x.axes.size() != 1) {
    context
        .error(site.range,
               callee + " needs the axis: the tile is " + describeAxes(x.axes))
        .setFix(callee + "(" + context.quote(argument.where) + ", " +
                x.axes.back()->name + ")");
    return failure();
  }
  // Comparisons are exact in any dtype; sums are widened.
  bool widens = floats || name == "sum" || name == "prod";
  if (widens)
    x = *convert(x, getAccumulate(x.dtype), at);

  std::vector<int64_t> over;
  if (*axis)
    over = {**axis};
  else // the last first, so that positions stay valid
    for (int64_t i = int64_t(x.axes.size()) - 1; i >= 0; --i)
      over.push_back(i);

  auto reduceAll = [&](tile::ReduceKind kind, SemaValue value) {
    for (int64_t i : over)
      value = reduce(kind, value, i, at);
    nameCallOfPart(at, callee, argument, x);
    if (Axis *along = x.axes[over[0]];
        (name == "mean" || name == "var") && over.size() == 1 &&
        !isWholeRow(*along) && !isOfGrid(*along)) {
      std::string dim = along->dim ? along->dim->name : along->name;
      partialReductions[at].mean =
          callee + " is of the " + std::to_string(along->size) +
          " elements of a tile, not of all along " + dim +
          "; a mean of all is tsr.sum in each turn, divided by " +
          (along->dim ? dim : "their number") + " behind the loop";
    }
    return value;
  };
  auto getCount = [&](int64_t minus) {
    DType dtype = x.dtype;
    mlir::Value count = countElements(x, over[0], dtype, at);
    for (size_t i = 1; i < over.size(); ++i)
      count = arith::MulFOp::create(builder(), at, count,
                                    countElements(x, over[i], dtype, at));
    auto number = [&](int64_t value) {
      return makeConstant(ConstantData(value), dtype, count.getType(), at);
    };
    if (minus)
      count = arith::SubFOp::create(builder(), at, count, number(minus));
    if (minus > 0)
      count = arith::MaximumFOp::create(builder(), at, count, number(0));
    return SemaValue::makeScalar(count, dtype);
  };
  SemaValue result;
  if (name == "sum")
    result = reduceAll(tile::ReduceKind::Sum, x);
  else if (name == "prod")
    result = reduceAll(tile::ReduceKind::Prod, x);
  else if (name == "max")
    result = reduceAll(x.dtype == DType::Bool ? tile::ReduceKind::Or
                                              : tile::ReduceKind::Max,
                       x);
  else if (name == "min")
    result = reduceAll(x.dtype == DType::Bool ? tile::ReduceKind::And
                                              : tile::ReduceKind::Min,
                       x);
  else if (name == "any")
    result = reduceAll(tile::ReduceKind::Or, x);
  else if (name == "all")
    result = reduceAll(tile::ReduceKind::And, x);
  else if (name == "argmax")
    return reduceAll(tile::ReduceKind::Argmax, x);
  else if (name == "argmin")
    return reduceAll(tile::ReduceKind::Argmin, x);
  else if (name == "mean" || name == "var") {
    SemaValue mean =
        apply(BinaryOperator::Div, reduceAll(tile::ReduceKind::Sum, x),
              getCount(0), at);
    result = mean;
    if (name == "var") {
      // Two passes: no cancellation.
      SemaValue centred = apply(BinaryOperator::Sub, x, mean, at);
      SemaValue squares = apply(BinaryOperator::Mult, centred, centred, at);
      result =
          apply(BinaryOperator::Div, reduceAll(tile::ReduceKind::Sum, squares),
                getCount(correction), at);
    }
  } else { // logsumexp
    if (over.size() > 1) {
      (void)context.notYet(site.range, "tsr.logsumexp over several axes",
                           callee + "(" + context.quote(argument.where) + ", " +
                               x.axes.back()->name + ")");
      return failure();
    }
    SemaValue maximum;
    SemaValue powers = shiftByMax(x, over[0], maximum, true, at);
    SemaValue sum = reduce(tile::ReduceKind::Sum, powers, over[0], at);
    result =
        apply(BinaryOperator::Add, applyUnary("log", sum, at), maximum, at);
  }
  if (widens && result.dtype != original)
    return convert(result, original, at);
  return result;
}

ValueResult TileOps::callScan(llvm::StringRef name,
                              const CallArguments &arguments,
                              const OpSite &site) {
  std::string callee = "tsr." + name.str();
  FailureOr<BoundArguments> bound = bindArguments(
      context, callee, arguments, {"x", "over", "*dim", "*axis"}, 1, site);
  if (failed(bound))
    return failure();
  const CallArgument &argument = *(*bound)[0];
  SemaValue x = argument.value;
  x.text.clear();
  if (!x.isTile()) {
    context
        .error(argument.where, callee + " runs along a tile, but " +
                                   nameOf(x, argument.expr) + " is " +
                                   describe(x))
        .setFix(getTileFixFor(argument, callee));
    return failure();
  }
  FailureOr<std::optional<int64_t>> axis =
      getAxisArgument(x, (*bound)[1], (*bound)[2], (*bound)[3], argument.expr);
  if (failed(axis))
    return failure();
  if (!*axis && x.axes.size() != 1) {
    context
        .error(site.range,
               callee + " needs the axis: the tile is " + describeAxes(x.axes))
        .setFix(callee + "(" + context.quote(argument.where) + ", " +
                x.axes.back()->name + ")");
    return failure();
  }
  if (x.dtype == DType::Bool) {
    context.error(argument.where, callee + " of bools")
        .setFix(context.quote(argument.where) + ".to(i32)");
    return failure();
  }
  Location at = context.loc(site.range);
  if (Axis *along = x.axes[*axis ? **axis : 0]; !isWholeRow(*along)) {
    std::string dim = along->dim ? along->dim->name : along->name;
    // Along an axis of the grid it is of one program: another one is meant.
    std::string fix;
    for (Axis *other : x.axes)
      if (isOfGrid(*along) && other != along && x.axes.size() == 2)
        fix = callee + "(" + context.quote(argument.where) + ", " +
              (isWholeRow(*other) && other->dim ? other->dim->name
                                                : other->name) +
              ")";
    partialScans[at] = {
        along, site.range, fix,
        callee + " begins anew in each tile of " + along->name +
            ": it is of the " + std::to_string(along->size) +
            " elements of a tile, not of all along " + dim +
            (fix.empty()
                 ? "; of a tile with all of them it runs through: " + callee +
                       "(" + getWholeRow(argument, *along) + ", " + dim + ")"
                 : "; was another axis meant?")};
  }
  DType original = x.dtype;
  if (name != "cummax")
    x = *convert(x, getAccumulate(x.dtype), at);
  tile::ReduceKind kind = name == "cumsum"    ? tile::ReduceKind::Sum
                          : name == "cumprod" ? tile::ReduceKind::Prod
                                              : tile::ReduceKind::Max;
  SemaValue result = x;
  result.name.clear();
  result.text.clear();
  result.ssa = tile::ScanOp::create(builder(), at, x.ssa.getType(), kind, x.ssa,
                                    *axis ? **axis : 0);
  if (result.dtype != original)
    return convert(result, original, at);
  return result;
}

/// "X[m, :]" for X[m, n], n being the axis.
std::string TileOps::getWholeRow(const CallArgument &argument,
                                 const Axis &along) const {
  return changeWords(context.quote(argument.where), [&](llvm::StringRef word,
                                                        char before, char) {
    return before != '.' && word == along.name ? std::string(":") : word.str();
  });
}

bool TileOps::isOfGrid(const Axis &axis) const {
  return llvm::any_of(gridAxes,
                      [&](const GridAxis &one) { return one.axis == &axis; });
}

/// One tile of a loop or of the grid is no whole row.
bool TileOps::isWholeRow(const Axis &axis) const {
  APInt extent;
  bool isWhole =
      axis.kind != Axis::Kind::Range ||
      (axis.dim && axis.dim->size >= 0 && axis.dim->size <= axis.size) ||
      (axis.extent && matchPattern(axis.extent, m_ConstantInt(&extent)) &&
       extent.sle(axis.size));
  return isWhole ||
         !(isOfGrid(axis) || isa_and_nonnull<BlockArgument>(axis.range));
}

/// A softmax over one tile is of that tile alone, and its values depend on the
/// tile's size.
LogicalResult TileOps::checkWholeRow(const Axis &axis, const OpSite &site) {
  if (isWholeRow(axis))
    return success();
  reportPartOfRow(axis, isOfGrid(axis), site);
  return failure();
}

ValueResult TileOps::callSoftmax(const CallArguments &arguments,
                                 const OpSite &site) {
  FailureOr<BoundArguments> bound =
      bindArguments(context, "tsr.softmax", arguments,
                    {"x", "over", "*dim", "*axis"}, 1, site);
  if (failed(bound))
    return failure();
  const CallArgument &argument = *(*bound)[0];
  SemaValue x = argument.value;
  x.text.clear();
  if (!x.isTile() || !isFloat(x.dtype)) {
    context
        .error(argument.where, "tsr.softmax needs a tile of floats, but " +
                                   nameOf(x, argument.expr) + " is " +
                                   describe(x))
        .setFix(getTileFixFor(argument, "tsr.softmax"));
    return failure();
  }
  FailureOr<std::optional<int64_t>> axis =
      getAxisArgument(x, (*bound)[1], (*bound)[2], (*bound)[3], argument.expr);
  if (failed(axis))
    return failure();
  if (!*axis && x.axes.size() != 1) {
    context
        .error(site.range, "tsr.softmax needs the axis: the tile is " +
                               describeAxes(x.axes))
        .setFix("tsr.softmax(" + context.quote(argument.where) + ", " +
                x.axes.back()->name + ")");
    return failure();
  }
  int64_t over = *axis ? **axis : 0;
  if (failed(checkWholeRow(*x.axes[over], site)))
    return failure();
  Location at = context.loc(site.range);
  DType original = x.dtype;
  x = *convert(x, getAccumulate(x.dtype), at);
  SemaValue maximum;
  SemaValue powers = shiftByMax(x, over, maximum, false, at);
  SemaValue sum = reduce(tile::ReduceKind::Sum, powers, over, at);
  // A row of nothing is 0, not 0 / 0.
  mlir::Value zero =
      makeConstant(ConstantData(0.0), x.dtype, sum.ssa.getType(), at);
  mlir::Value one =
      makeConstant(ConstantData(1.0), x.dtype, sum.ssa.getType(), at);
  mlir::Value empty =
      emitCompare(CompareOperator::Eq, x.dtype, sum.ssa, zero, at);
  sum.ssa = arith::SelectOp::create(builder(), at, empty, one, sum.ssa);
  SemaValue result = apply(BinaryOperator::Div, powers, sum, at);
  if (original != result.dtype)
    return convert(result, original, at);
  return result;
}

} // namespace tessera::frontend
