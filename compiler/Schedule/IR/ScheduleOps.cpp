//===- ScheduleOps.cpp - Schedule IR: verifiers ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedule/IR/Schedule.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tessera::schedule;

#define GET_OP_CLASSES
#include "compiler/Schedule/IR/ScheduleOps.cpp.inc"

/// More in one axis of a tile, or more vectors in a turn, is a mistake.
static constexpr int64_t maxTile = 1 << 16;

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

LogicalResult TileOp::verify() {
  // (C1)
  if (getKind() != "grid" && getKind() != "loop" && getKind() != "whole")
    return emitOpError() << "kind is grid, loop or whole, not '" << getKind()
                         << "'";
  int64_t size = getSize().getValue();
  if (size < (getKind() == "whole" ? 0 : 1) || size > maxTile)
    return emitOpError() << "a tile has 1 to " << maxTile << " elements, not "
                         << size;
  return success();
}

LogicalResult PlaceOp::verify() {
  // (C1)
  int64_t value = getValue().getValue();
  StringRef what = getWhat();
  constexpr StringRef known[] = {"threads",   "vector", "unroll",
                                 "group",     "pack",   "split_k",
                                 "num_warps", "stream", "fuse"};
  if (!llvm::is_contained(known, what))
    return emitOpError() << "there are threads, vector, unroll, group, "
                            "num_warps, pack, split_k, stream and fuse, not '"
                         << what << "'";
  if (value < 0 || value > (what == "unroll" ? 64 : maxTile))
    return emitOpError() << what << " cannot be " << value;
  if (((what == "pack" || what == "fuse") && value > 1) ||
      (what == "stream" && value > 2))
    return emitOpError() << what << " is "
                         << (what == "stream" ? "0, 1 or 2" : "0 or 1")
                         << ", not " << value;
  if (what == "vector" && (value & (value - 1)))
    return emitOpError() << "vector is 0 (a register) or a power of two, not "
                         << value;
  return success();
}
