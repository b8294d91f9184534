//===- ScheduleOps.cpp - Schedule IR: verifiers ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedule/IR/Payload.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tessera::schedule;

#define GET_OP_CLASSES
#include "compiler/Schedule/IR/ScheduleOps.cpp.inc"

/// More in one axis of a tile, or more vectors in a turn, is a mistake.
static constexpr int64_t maxTile = 1 << 16;
/// More variants than anybody offers.
static constexpr size_t maxVariants = 16;

/// (C3) of FuseOp.
static LogicalResult verifyVariants(FuseOp fuse) {
  SmallVector<Operation *> products;
  for (Operation &op : fuse.getBody().front())
    if (isa<tessera::graph::GemmOp, tessera::graph::AttentionOp>(op))
      products.push_back(&op);
  if (products.size() != 1 ||
      cast<RankedTensorType>(fuse.getResult(0).getType()).getRank() < 2)
    return fuse.emitOpError() << "variants are of one product or attention";
  ArrayAttr variants = fuse.getVariantsAttr();
  if (variants.size() > maxVariants)
    return fuse.emitOpError()
           << "has " << variants.size() << " variants; at most " << maxVariants;
  llvm::SmallDenseSet<StringRef> names;
  for (auto variant : variants.getAsRange<VariantAttr>()) {
    if (!names.insert(variant.getName()).second)
      return fuse.emitOpError()
             << "two variants are called '" << variant.getName() << "'";
    if (!canSpecialize(products[0], variant.getForm()))
      return fuse.emitOpError()
             << "the product has no form '"
             << stringifyVariantForm(variant.getForm()) << "'";
  }
  return success();
}

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
  return getVariantsAttr() ? verifyVariants(*this) : success();
}

FuseOp VersionsOp::getGeneral() {
  auto yield = cast<YieldOp>(getVersions().back().front().getTerminator());
  return yield.getValues()[0].getDefiningOp<FuseOp>();
}

LogicalResult VersionsOp::verify() {
  // (C1)
  if (getVersions().size() != getWhen().size() + 1 || getWhen().empty())
    return emitOpError() << "has " << getVersions().size() << " regions and "
                         << getWhen().size()
                         << " conditions; all but the last region have one";
  // (C2)
  for (Region &region : getVersions()) {
    auto yield = dyn_cast<YieldOp>(region.front().getTerminator());
    if (!yield || yield.getValues().size() != 1 ||
        yield.getValues()[0].getType() != getType())
      return emitOpError() << "every region yields one " << getType();
  }
  if (getType().getRank() < 2)
    return emitOpError() << "has rows and columns; " << getType() << " has not";
  if (!getGeneral())
    return emitOpError() << "the last region yields a kernel's result";
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
  if (size < 1 || size > maxTile)
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
