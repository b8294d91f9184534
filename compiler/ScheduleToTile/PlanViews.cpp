//===- PlanViews.cpp - Views of memory in a plan --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/ScheduleToTile/PlanWriterImpl.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;
using plan::IntegerBuilder;
using schedule::rankOf;
using schedule::tensorType;

void PlanWriter::view(Value value, Value source, Value offset,
                      ArrayRef<Value> strides, int64_t unitAxis) {
  SmallVector<Value> extents;
  for (int64_t axis = 0; axis < rankOf(value); ++axis)
    extents.push_back(sizeOf(value, axis));
  StringRef hint = hintOf(value);
  std::string name = hint.empty() ? "view" : hint.str();
  auto type = plan::PlanTensorType::get(
      value.getContext(), tensorType(value).getElementType(), rankOf(value));
  Value memory =
      plan::ViewOp::create(at, value.getLoc(), type, name,
                           tensors[source].memory, offset, extents, strides);
  tensors[value] = {memory, name, unitAxis};
}

Value PlanWriter::strideOf(Value source, int64_t axis) {
  return integersAt(source.getLoc()).stride(tensors[source].memory, axis);
}

LogicalResult PlanWriter::write(graph::TransposeOp op) {
  SmallVector<Value> strides;
  int64_t unit = -1;
  for (auto [i, axis] : llvm::enumerate(op.getPermutation())) {
    strides.push_back(strideOf(op.getInput(), axis));
    if (axis == tensors[op.getInput()].unitAxis)
      unit = i;
  }
  Value zero = integersAt(op.getLoc()).number(0);
  view(op.getResult(), op.getInput(), zero, strides, unit);
  return failure(failedExpression);
}

LogicalResult PlanWriter::write(graph::BroadcastOp op) {
  Value zero = integersAt(op.getLoc()).number(0);
  SmallVector<Value> strides(rankOf(op.getResult()), zero);
  int64_t unit = -1;
  for (auto [i, axis] : llvm::enumerate(op.getAxes())) {
    bool repeated = tensorType(op.getInput()).getDimSize(i) == 1 &&
                    op.getType().getDimSize(axis) != 1;
    if (repeated)
      continue;
    strides[axis] = strideOf(op.getInput(), i);
    if (int64_t(i) == tensors[op.getInput()].unitAxis)
      unit = axis;
  }
  view(op.getResult(), op.getInput(), zero, strides, unit);
  return failure(failedExpression);
}

LogicalResult PlanWriter::write(graph::SliceOp op) {
  IntegerBuilder make = integersAt(op.getLoc());
  SmallVector<Value> strides;
  Value offset = make.number(0), input = op.getInput();
  int64_t unit = tensors[input].unitAxis;
  for (int64_t axis = 0; axis < rankOf(input); ++axis) {
    Value stride = strideOf(input, axis);
    offset = make.add(offset, make.mul(integer(op.getStarts()[axis]), stride));
    int64_t step = op.getSteps()[axis];
    strides.push_back(make.mul(stride, step));
    if (step != 1 && unit == axis)
      unit = -1;
  }
  view(op.getResult(), input, offset, strides, unit);
  return failure(failedExpression);
}

LogicalResult PlanWriter::write(graph::ReshapeOp op) {
  Value input = op.getInput(), result = op.getResult();
  int64_t from = rankOf(input), to = rankOf(result);
  schedule::ReshapeParts parts = schedule::getReshapeParts(op);
  if (!parts.isView() &&
      !isa_and_present<schedule::FuseOp, schedule::VersionsOp>(
          input.getDefiningOp()))
    return op.emitOpError() << "merges axes of memory that need not be "
                               "row-major: copy it first";
  IntegerBuilder make = integersAt(op.getLoc());
  SmallVector<Value> strides(to, make.number(1));
  int64_t inputUnit = tensors[input].unitAxis, unit = -1;
  for (int64_t axis = 0; axis < parts.front; ++axis) {
    strides[axis] = strideOf(input, axis);
    if (axis == inputUnit)
      unit = axis;
  }
  for (int64_t i = 1; i <= parts.back; ++i) {
    strides[to - i] = strideOf(input, from - i);
    if (from - i == inputUnit)
      unit = to - i;
  }
  // Between them: row-major within the last merged axis.
  int64_t lastIn = from - parts.back - 1, lastOut = to - parts.back - 1;
  if (parts.mergedAxes > 0) {
    Value stride = strideOf(input, lastIn);
    for (int64_t axis = lastOut; axis >= parts.front; --axis) {
      strides[axis] = stride;
      stride = make.mul(stride, sizeOf(result, axis));
    }
    if (lastIn == inputUnit && lastOut >= parts.front)
      unit = lastOut;
  }
  view(result, input, make.number(0), strides, unit);
  return failure(failedExpression);
}
