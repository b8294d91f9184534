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
/// More kinds of tiles for thin products than anybody offers.
static constexpr int64_t maxThin = 16;

LogicalResult FuseOp::verify() {
  // (C1)
  Block &body = getBody().front();
  if (TypeRange(body.getArgumentTypes()) != TypeRange(getInputs()))
    return emitOpError() << "the region's arguments differ from the inputs";
  auto yield = cast<YieldOp>(body.getTerminator());
  if (TypeRange(yield.getValues()) != getResultTypes())
    return emitOpError() << "yields other types than its results";
  // (C2)
  if (getNumResults() != 1)
    return emitOpError() << "makes one result";
  // (C3)
  if (DenseI64ArrayAttr thin = getThinAttr()) {
    auto result = cast<RankedTensorType>(getResult(0).getType());
    bool good = thin.size() % 7 == 0 && thin.size() <= 7 * maxThin &&
                result.getRank() >= 2;
    for (auto [i, number] :
         llvm::enumerate(good ? thin.asArrayRef() : ArrayRef<int64_t>()))
      good = good && number >= (i % 7 < 3 ? 1 : 0) &&
             number <= (i % 7 < 3 ? maxTile : int64_t(1) << 40);
    // A tile spans two of the three.
    for (size_t i = 0; good && i < size_t(thin.size()); i += 7)
      for (size_t k : {0, 1, 2})
        good &= thin[i + k] * thin[i + (k + 1) % 3] <= int64_t(1) << 24;
    if (!good)
      return emitOpError() << "thin has three sizes of tiles and four bounds "
                              "of extents for each tile, not "
                           << thin;
  }
  return success();
}

LogicalResult PartialOp::verify() {
  // (C1)
  auto input = cast<RankedTensorType>(getInput().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  if (input.getRank() != 1 || result.getRank() != 1 ||
      input.getElementType() != result.getElementType())
    return emitOpError() << "reduces chunks of " << input << " into " << result;
  // (C2)
  constexpr int64_t maxChunk = int64_t(1) << 30;
  auto size = cast<RankedTensorType>(getSize().getType());
  if (int64_t(getChunk()) < 1 || int64_t(getChunk()) > maxChunk)
    return emitOpError() << "a chunk has 1 to " << maxChunk << " elements, not "
                         << int64_t(getChunk());
  if (size.getRank() != 0 || !size.getElementType().isInteger(64))
    return emitOpError() << "a size is a tensor<i64>, not " << size;
  // (C3)
  for (TileOp tile : (*this)->getBlock()->getOps<TileOp>())
    if (tile.getLoop() == 0 && tile.getSize().getValue() != 1)
      return emitOpError() << "a program has one chunk: loop 0 is tiled by 1, "
                              "not by "
                           << tile.getSize().getValue();
  return success();
}

LogicalResult TileOp::verify() {
  // (C1)
  int64_t size = getSize().getValue();
  if (size < (getKind() == LoopKind::Whole ? 0 : 1) || size > maxTile)
    return emitOpError() << "a tile has 1 to " << maxTile << " elements, not "
                         << size;
  // (C2)
  constexpr int64_t maxLoop = 31;
  if (int64_t(getLoop()) < 0 || int64_t(getLoop()) > maxLoop)
    return emitOpError() << "loops are 0 to " << maxLoop << ", not "
                         << int64_t(getLoop());
  return success();
}

LogicalResult PipelineOp::verify() {
  // (C1)
  constexpr int64_t most = 64;
  int64_t stages = getStages().getValue();
  if (stages < 0 || stages > most)
    return emitOpError() << "there are 0 to " << most << " stages, not "
                         << stages;
  return success();
}

LogicalResult PlaceOp::verify() {
  // (C1)
  int64_t value = getValue().getValue();
  Placement what = getWhat();
  bool isStream = what == Placement::Stream;
  if (value < 0 || value > (what == Placement::Unroll ? 64 : maxTile))
    return emitOpError() << stringifyPlacement(what) << " cannot be " << value;
  if (((what == Placement::Pack || what == Placement::Fuse) && value > 1) ||
      (isStream && value > 2))
    return emitOpError() << stringifyPlacement(what) << " is "
                         << (isStream ? "0, 1 or 2" : "0 or 1") << ", not "
                         << value;
  if (what == Placement::Vector && (value & (value - 1)))
    return emitOpError() << "vector is 0 (a register) or a power of two, not "
                         << value;
  return success();
}
