//===- ScheduleOps.cpp - Schedule IR: verifiers ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedule/IR/Schedule.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tessera::schedule;

#define GET_OP_CLASSES
#include "compiler/Schedule/IR/ScheduleOps.cpp.inc"

LogicalResult FuseOp::verify() {
  // (C1)
  Block &body = getBody().front();
  if (TypeRange(body.getArgumentTypes()) != TypeRange(getInputs()))
    return emitOpError() << "the region's arguments differ from the inputs";
  auto yield = cast<YieldOp>(body.getTerminator());
  if (TypeRange(yield.getValues()) != getResultTypes())
    return emitOpError() << "yields other types than its results";
  return success();
}

LogicalResult PartialOp::verify() {
  // (C1)
  auto input = cast<RankedTensorType>(getInput().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  if (input.getRank() != 1 || result.getRank() != 1 ||
      input.getElementType() != result.getElementType())
    return emitOpError() << "reduces chunks of " << input << " into " << result;
  return success();
}
