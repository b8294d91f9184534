//===- TensorOpsControl.cpp - Loops, branches, print, assert in functions -===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor keeps its shape through a loop and has one shape after both arms of
// an `if`. Sizes that are proved equal need nothing; sizes that are proved
// different, and axes of two names, are an error; the rest is checked when the
// program runs.
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/TensorOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using tessera::graph::Extent;

namespace tessera::frontend {

Type TensorOps::getCounterType() {
  return graph::DimOp::sizeType(context.getContext());
}

void TensorOps::yield(Location location, ValueRange values) {
  graph::YieldOp::create(context.builder, location, values);
}

void TensorOps::condition(Location location, mlir::Value holds, ValueRange) {
  graph::ConditionOp::create(context.builder, location, holds);
}

Operation *TensorOps::makeFor(Location location, mlir::Value start,
                              mlir::Value stop, int64_t step, ValueRange inits,
                              Region &body) {
  auto loop = graph::ForOp::create(context.builder, location, inits.getTypes(),
                                   start, stop, step, inits);
  loop.getBody().takeBody(body);
  return loop;
}

Operation *TensorOps::makeWhile(Location location, ValueRange inits,
                                Region &test, Region &body) {
  auto loop = graph::WhileOp::create(context.builder, location,
                                     inits.getTypes(), inits);
  loop.getTest().takeBody(test);
  loop.getBody().takeBody(body);
  return loop;
}

Operation *TensorOps::makeIf(Location location, mlir::Value condition,
                             Region &then, Region &orelse) {
  Operation *yield = then.front().getTerminator();
  // conformArms saw to it that they can be computed here.
  SmallVector<mlir::Value> sizes;
  for (mlir::Value value : yield->getOperands())
    for (int64_t axis = 0,
                 rank = cast<RankedTensorType>(value.getType()).getRank();
         axis < rank; ++axis)
      if (cast<RankedTensorType>(value.getType()).isDynamicDim(axis))
        sizes.push_back(
            graph::materialize(context.builder, location,
                               *hoist(graph::getExtent(value, axis), then)));
  auto op = graph::IfOp::create(context.builder, location,
                                yield->getOperandTypes(), condition, sizes);
  op.getThenRegion().takeBody(then);
  op.getElseRegion().takeBody(orelse);
  return op;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

TensorOps::Fit TensorOps::fits(const Extent &a, const Dim *aDim,
                               const Extent &b, const Dim *bDim) {
  if (isProvedEqual(a, aDim, b, bDim))
    return Fit::Equal;
  auto isNamed = [](const Dim *dim) {
    return dim && dim->name.find_first_of(".[ *+-/%") == std::string::npos;
  };
  bool constants = a.isConstant() && b.isConstant();
  return constants || (isNamed(aDim) && isNamed(bDim)) ? Fit::Differ
                                                       : Fit::Unknown;
}

mlir::Value TensorOps::fitTo(const SemaValue &value, const TensorShape &shape,
                             llvm::StringRef name, llvm::StringRef when,
                             Location location) {
  TensorShape own = shapeOf(value);
  for (size_t axis = 0; axis < shape.rank(); ++axis) {
    Fit fit = fits(own.extents[axis], own.dims[axis], shape.extents[axis],
                   shape.dims[axis]);
    if (fit == Fit::Differ)
      return {};
    if (fit == Fit::Equal)
      continue;
    checkEqual(
        graph::materialize(context.builder, location, own.extents[axis]),
        graph::materialize(context.builder, location, shape.extents[axis]),
        ("axis " + llvm::Twine(axis) + " of " + name + " is {lhs} " + when)
            .str(),
        location);
  }
  if (value.ssa.getType() == typeOf(shape, value.dtype))
    return value.ssa;
  return reshapeTo(value.ssa, shape, location);
}

mlir::Value TensorOps::conform(const SemaValue &before, const SemaValue &after,
                               llvm::StringRef name, Location location) {
  if (rankOf(before) == 0)
    return convert(after, before.getPromotionOperand().dtype, location);
  return fitTo(after, shapeOf(before), name,
               "after one turn of the loop, but {rhs} before it", location);
}

/// Whether an op computes sizes from sizes.
static bool isSizeArithmetic(Operation *op) {
  return op->getNumResults() == 1 && isMemoryEffectFree(op) &&
         op->getNumRegions() == 0 &&
         llvm::all_of(op->getOperandTypes(), [](Type type) {
           return cast<RankedTensorType>(type).getRank() == 0;
         });
}

mlir::Value TensorOps::hoist(mlir::Value value, Region &region) {
  if (!region.isAncestor(value.getParentRegion()))
    return value;
  Operation *op = value.getDefiningOp();
  if (auto dim = dyn_cast_or_null<graph::DimOp>(op)) {
    std::optional<Extent> extent = hoist(graph::getExtent(value), region);
    return extent ? graph::materialize(context.builder, dim.getLoc(), *extent)
                  : mlir::Value();
  }
  if (!op || !isSizeArithmetic(op))
    return {};
  SmallVector<mlir::Value> operands;
  for (mlir::Value operand : op->getOperands()) {
    mlir::Value outside = hoist(operand, region);
    if (!outside)
      return {};
    operands.push_back(outside);
  }
  Operation *copy = context.builder.clone(*op);
  copy->setOperands(operands);
  return copy->getResult(0);
}

std::optional<Extent> TensorOps::hoist(const Extent &extent, Region &region) {
  if (extent.isConstant() ||
      !region.isAncestor(mlir::Value(extent.value).getParentRegion()))
    return extent;
  if (extent.kind == Extent::Kind::Scalar) {
    mlir::Value outside = hoist(extent.value, region);
    return outside ? std::optional(graph::getExtent(outside)) : std::nullopt;
  }
  auto concat = extent.value.getDefiningOp<graph::ConcatOp>();
  if (!concat)
    return std::nullopt;
  mlir::Value sum;
  for (mlir::Value input : concat.getInputs()) {
    auto part = hoist(graph::getExtent(input, extent.axis), region);
    if (!part)
      return std::nullopt;
    mlir::Value size =
        graph::materialize(context.builder, concat.getLoc(), *part);
    sum = sum ? emit("gir.add", concat.getLoc(), size.getType(), {sum, size})
              : size;
  }
  return graph::getExtent(sum);
}

ValueResult TensorOps::conformArms(SemaValue &first, SemaValue &second,
                                   Block *const *arms, llvm::StringRef name,
                                   Location location) {
  SemaValue *values[] = {&first, &second};
  int64_t rank = std::max(rankOf(first), rankOf(second));
  if (rank == 0) {
    // A number without a dtype of its own takes the other's.
    DType dtype = first.getPromotionOperand().weak
                      ? second.getPromotionOperand().dtype
                      : first.getPromotionOperand().dtype;
    for (int arm = 0; arm < 2; ++arm) {
      OpBuilder::InsertionGuard guard(context.builder);
      context.builder.setInsertionPointToEnd(arms[arm]);
      *values[arm] = SemaValue::makeTensor(
          convert(*values[arm], dtype, location), dtype, {});
    }
    return first;
  }
  TensorShape shapes[] = {shapeOf(first), shapeOf(second)}, shape;
  for (int64_t axis = 0; axis < rank; ++axis) {
    const Extent &a = shapes[0].extents[axis], &b = shapes[1].extents[axis];
    Dim *aDim = shapes[0].dims[axis], *bDim = shapes[1].dims[axis];
    if (fits(a, aDim, b, bDim) == Fit::Differ)
      return failure();
    // A known one says more; else one that is known before the `if`.
    std::optional<Extent> extent;
    if (b.isConstant())
      extent = b;
    else if (!(extent = hoist(a, *arms[0]->getParent())))
      extent = hoist(b, *arms[1]->getParent());
    if (!extent)
      return failure();
    shape.push_back(*extent, aDim == bDim ? aDim : nullptr);
  }
  for (int arm = 0; arm < 2; ++arm) {
    OpBuilder::InsertionGuard guard(context.builder);
    context.builder.setInsertionPointToEnd(arms[arm]);
    values[arm]->ssa =
        fitTo(*values[arm], shape, name,
              "in one arm of the 'if', but {rhs} in the other", location);
    if (!values[arm]->ssa)
      return failure();
  }
  // The op takes its sizes from the first arm.
  for (int64_t axis = 0; axis < rank; ++axis)
    if (!hoist(graph::getExtent(first.ssa, axis), *arms[0]->getParent())) {
      OpBuilder::InsertionGuard guard(context.builder);
      context.builder.setInsertionPointToEnd(arms[0]);
      first.ssa = reshapeTo(first.ssa, shape, location);
      break;
    }
  SemaValue result = first;
  result.dims = shape.dims;
  return result;
}

//===----------------------------------------------------------------------===//
// print, assert
//===----------------------------------------------------------------------===//

LogicalResult TensorOps::print(llvm::StringRef text, ArrayRef<SemaValue> values,
                               const OpSite &site) {
  SmallVector<mlir::Value> operands;
  for (const SemaValue &value : values)
    operands.push_back(value.ssa);
  graph::PrintOp::create(context.builder, loc(site), text, operands);
  return success();
}

LogicalResult TensorOps::breakpoint(llvm::StringRef label, const OpSite &site) {
  if (!context.request.debug)
    return success();
  return print("breakpoint " + label.str(), {}, site);
}

LogicalResult TensorOps::assertTrue(const SemaValue &condition,
                                    llvm::StringRef message,
                                    const OpSite &site) {
  // An equality of sizes is checked in every build; the rest in debug ones.
  std::string text = message.empty() ? "assertion failed" : message.str();
  if (condition.ssa)
    if (auto compare = condition.ssa.getDefiningOp<graph::CompareOp>())
      if (compare.getKind() == graph::CompareKind::Eq &&
          compare.getLhs().getType() ==
              graph::DimOp::sizeType(context.getContext())) {
        checkEqual(compare.getLhs(), compare.getRhs(), escapeBraces(text),
                   loc(site));
        return success();
      }
  if (!context.request.debug)
    return success();
  mlir::Value holds = condition.ssa;
  if (rankOf(condition) > 0) {
    SmallVector<int64_t> axes;
    for (int64_t i = 0, e = rankOf(condition); i < e; ++i)
      axes.push_back(i);
    ValueResult all =
        reduce("all", condition, axes, /*keep=*/false, DType::Bool, 1, site);
    if (failed(all))
      return failure();
    holds = all->ssa;
  }
  graph::CheckOp::create(context.builder, loc(site), holds, text);
  return success();
}

} // namespace tessera::frontend
