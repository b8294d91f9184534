//===- PlanViews.cpp - Views of memory in a plan --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/ScheduleToTile/PlanWriterImpl.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;
using schedule::rankOf;
using schedule::tensorType;

void PlanWriter::view(Value value, Value source, const std::string &offset,
                      ArrayRef<std::string> strides, int64_t unitAxis) {
  StringRef hint = hintOf(value);
  Tensor &tensor = tensors[value];
  tensor = {"%" + names.tensor(hint.empty() ? "view" : hint), unitAxis, false};
  SmallVector<std::string> extents;
  for (int64_t axis = 0; axis < rankOf(value); ++axis)
    extents.push_back(sizeOf(value, axis));
  body.push_back("view " + tensor.name + " = " + tensors[source].name +
                 " offset " + offset + " sizes [" + llvm::join(extents, ", ") +
                 "] strides [" + llvm::join(strides, ", ") + "]");
}

std::string PlanWriter::strideOf(Value source, int64_t axis) {
  return "stride(" + tensors[source].name + ", " + std::to_string(axis) + ")";
}

LogicalResult PlanWriter::write(graph::TransposeOp op) {
  SmallVector<std::string> strides;
  int64_t unit = -1;
  for (auto [i, axis] : llvm::enumerate(op.getPermutation())) {
    strides.push_back(strideOf(op.getInput(), axis));
    if (axis == tensors[op.getInput()].unitAxis)
      unit = i;
  }
  view(op.getResult(), op.getInput(), "0", strides, unit);
  return failure(failedExpression);
}

LogicalResult PlanWriter::write(graph::BroadcastOp op) {
  SmallVector<std::string> strides(rankOf(op.getResult()), "0");
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
  view(op.getResult(), op.getInput(), "0", strides, unit);
  return failure(failedExpression);
}

LogicalResult PlanWriter::write(graph::SliceOp op) {
  SmallVector<std::string> strides;
  std::string offset;
  Value input = op.getInput();
  int64_t unit = tensors[input].unitAxis;
  for (int64_t axis = 0; axis < rankOf(input); ++axis) {
    std::string stride = strideOf(input, axis);
    std::string start = integer(op.getStarts()[axis]);
    if (start != "0") {
      std::string part = infix(start, "*", stride);
      offset = offset.empty() ? part : offset + " + " + part;
    }
    int64_t step = op.getSteps()[axis];
    strides.push_back(step == 1 ? stride
                                : infix(stride, "*", std::to_string(step)));
    if (step != 1 && unit == axis)
      unit = -1;
  }
  view(op.getResult(), input, offset.empty() ? "0" : offset, strides, unit);
  return failure(failedExpression);
}

LogicalResult PlanWriter::write(graph::ReshapeOp op) {
  Value input = op.getInput(), result = op.getResult();
  int64_t from = rankOf(input), to = rankOf(result);
  schedule::ReshapeParts parts = schedule::getReshapeParts(op);
  if (!parts.isView() && !input.getDefiningOp<schedule::FuseOp>())
    return op.emitOpError() << "merges axes of memory that need not be "
                               "row-major: copy it first";
  SmallVector<std::string> strides(to, "1");
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
    std::string stride = strideOf(input, lastIn);
    for (int64_t axis = lastOut; axis >= parts.front; --axis) {
      strides[axis] = stride;
      stride = infix(stride, "*", sizeOf(result, axis));
    }
    if (lastIn == inputUnit && lastOut >= parts.front)
      unit = lastOut;
  }
  view(result, input, "0", strides, unit);
  return failure(failedExpression);
}
