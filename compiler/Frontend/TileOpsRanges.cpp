//===- TileOpsRanges.cpp - Ranges that start anywhere ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/LoopUses.h"
#include "compiler/Frontend/TileOps.h"

#include <limits>

using namespace mlir;

namespace tessera::frontend {

/// Of an axis that has no elements, or too many.
static std::string describeWrongSize(const std::string &what, int64_t size) {
  return what +
         (size < 1
              ? " has at least one element"
              : " has at most " + std::to_string(maxAxisSize) + " elements") +
         ", not " + std::to_string(size);
}

ValueResult TileOps::callArange(const CallArguments &arguments,
                                const OpSite &site) {
  FailureOr<BoundArguments> bound =
      bindArguments(context, "tsr.arange", arguments, {"n"}, 1, site);
  if (failed(bound))
    return failure();
  FailureOr<int64_t> size =
      frontend::getConstantInt(context, *(*bound)[0], "the size of tsr.arange");
  if (failed(size))
    return failure();
  if (*size < 1 || *size > maxAxisSize) {
    context.error((*bound)[0]->where, describeWrongSize("tsr.arange", *size))
        .setFix("tsr.arange(64)");
    return failure();
  }
  OpBuilder &b = builder();
  Location at = context.loc(site.range);
  Axis axis;
  axis.kind = Axis::Kind::Own;
  axis.name = context.nameHint.empty() ? "arange" : context.nameHint;
  axis.size = *size;
  axis.complete = true;
  axis.where = site.range;
  axis.extent = arith::ConstantIndexOp::create(b, at, *size);
  axis.range = tile::RangeAtOp::create(
      b, at, tile::RangeType::get(b.getContext(), *size),
      arith::ConstantIndexOp::create(b, at, 0), axis.extent);
  Axis *own = context.addAxis(std::move(axis));
  mlir::Value tile =
      tile::IndexOp::create(b, at, getType(DType::I64, {own}), own->range);
  return SemaValue::makeTile(tile, DType::I64, {own});
}

LogicalResult TileOps::checkRangeDim(const CallArguments &arguments,
                                     const OpSite &site) {
  const std::vector<CallArgument> &given = arguments.arguments;
  if (given.size() != 2 || !given[1].keyword.empty() || context.dimOf(given[0]))
    return success();
  // The dim whose blocks the grid counts, if it does.
  std::string dim = "N", start = context.quote(given[0].where);
  for (const GridAxis &axis : gridAxes)
    if (std::string blocks = getBlocks(context.quote(axis.where)).first;
        context.findDim(blocks))
      dim = blocks;
  // Or the dim of what it indexes.
  if (std::string used = findIndexedDim(
          context, context.nameHint,
          [&](llvm::StringRef of) { return context.dimNamesOf(of); });
      !used.empty())
    dim = used;
  context
      .error(given[0].where,
             "tsr.range_at needs 'dim' first: " + start + " is a number")
      .setFix("tsr.range_at(" + dim + ", " + start + ", " +
              context.quote(given[1].where) + ")");
  return failure();
}

LogicalResult TileOps::checkRangeOrder(const CallArgument &dim,
                                       const CallArgument &start,
                                       const CallArgument &size) {
  if (context.dimOf(dim) || !context.dimOf(start))
    return success();
  std::string first = context.quote(dim.where),
              second = context.quote(start.where);
  context
      .error(dim.where, "tsr.range_at takes the dim, then the start, but " +
                            first + " is no dim and " + second + " is one")
      .setFix("tsr.range_at(" + second + ", " + first + ", " +
              context.quote(size.where) + ")");
  return failure();
}

/// tsr.range_at(N, BN) of a constant: the first BN elements.
LogicalResult TileOps::checkRangeStart(const CallArguments &arguments,
                                       const OpSite &site) {
  const std::vector<CallArgument> &given = arguments.arguments;
  if (given.size() != 2 || !given[1].keyword.empty() ||
      !given[0].keyword.empty() || !given[1].value.isConstant())
    return success();
  std::string dim = context.quote(given[0].where),
              size = context.quote(given[1].where);
  context
      .error(site.range, "tsr.range_at takes the dim, the start and the size, "
                         "but has no start")
      .setFix("tsr.range_at(" + dim + ", 0, " + size + ")");
  return failure();
}

ValueResult TileOps::callRangeAt(const CallArguments &arguments,
                                 const OpSite &site) {
  if (failed(checkRangeDim(arguments, site)) ||
      failed(checkRangeStart(arguments, site)))
    return failure();
  FailureOr<BoundArguments> bound = bindArguments(
      context, "tsr.range_at", arguments, {"dim", "start", "size"}, 3, site);
  if (failed(bound))
    return failure();
  FailureOr<int64_t> size =
      frontend::getConstantInt(context, *(*bound)[2], "the size of a range");
  if (failed(size))
    return failure();
  if (*size < 1 || *size > maxAxisSize) {
    context.error((*bound)[2]->where, describeWrongSize("a range", *size))
        .setFix("tsr.range_at(" + context.quote((*bound)[0]->where) + ", " +
                context.quote((*bound)[1]->where) + ", 64)");
    return failure();
  }
  if (failed(checkRangeOrder(*(*bound)[0], *(*bound)[1], *(*bound)[2])))
    return failure();
  OpBuilder &b = builder();
  Location at = context.loc(site.range);
  mlir::Value limits[2];
  for (int i : {0, 1}) {
    const CallArgument &argument = *(*bound)[i];
    ValueResult value = context.decay(argument.value, argument.where);
    if (failed(value))
      return failure();
    if (!value->isNumber() || !isInteger(value->getPromotionOperand().dtype)) {
      std::string text = context.quote(argument.where);
      context
          .error(argument.where, "a range is placed by ints, but " + text +
                                     " is " + describe(*value))
          .setFix(value->kind == ValueKind::Range  ? text + ".start"
                  : value->kind == ValueKind::View ? text + ".shape[0]"
                                                   : "(" + text + ").to(i64)");
      return failure();
    }
    limits[i] = makeScalar(*value, DType::I64, at);
  }
  if (auto start = (*bound)[1]->value.getConstantInt(); start && *start < 0) {
    std::string dim = context.quote((*bound)[0]->where);
    context
        .error((*bound)[1]->where,
               "a range starts at 0 or later, not at " + std::to_string(*start))
        .setFix("tsr.range_at(" + dim + ", " + dim + " - " +
                std::to_string(-*start) + ", " + std::to_string(*size) + ")");
    return failure();
  }
  // A range that starts before the dim or behind it has no elements: it starts
  // at its end, so that no position in it overflows.
  auto start = (*bound)[1]->value.getConstantInt();
  if (!start || *start > std::numeric_limits<int32_t>::max()) {
    mlir::Value outside = arith::CmpIOp::create(
        b, at, arith::CmpIPredicate::ugt, limits[1], limits[0]);
    limits[1] = arith::SelectOp::create(b, at, outside, limits[0], limits[1]);
  }
  Axis axis;
  axis.size = *size;
  axis.dim = context.dimOf(*(*bound)[0]);
  axis.where = site.range;
  axis.name = context.quote(site.range); // until it is given one
  axis.extent = limits[0];
  axis.range = tile::RangeAtOp::create(
      b, at, tile::RangeType::get(b.getContext(), *size), limits[1], limits[0]);
  SemaValue range;
  range.kind = ValueKind::Range;
  range.axis = context.addAxis(std::move(axis));
  return range;
}

} // namespace tessera::frontend
