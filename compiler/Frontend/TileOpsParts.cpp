//===- TileOpsParts.cpp - Reductions and scans over a part of a row -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is reduced or scanned is a tile. Where the row is longer, that is a part
// of it: right if the program puts the parts together, and seldom meant if not,
// as the result then depends on the size of the tile. That gets a remark.
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/TileOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace tessera::frontend {

static bool isElementwise(Operation *op) {
  return op->getNumResults() == 1 && !op->getNumRegions() &&
         OpTrait::hasElementwiseMappableTraits(op);
}

/// What a loop carries is of other tiles, too.
static bool isCarried(mlir::Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument &&
         !isa<FunctionOpInterface>(argument.getOwner()->getParentOp()) &&
         isa<RankedTensorType, FloatType>(argument.getType());
}

/// Whether a value is stored as it is, or after element-wise ops and
/// transposes.
static bool isStored(mlir::Value value) {
  SetVector<mlir::Value> open;
  open.insert(value);
  for (size_t next = 0; next < open.size() && next < 64; ++next)
    for (Operation *user : open[next].getUsers()) {
      if (isa<tile::StoreOp>(user))
        return true;
      if (isElementwise(user) || isa<tile::TransposeOp>(user))
        open.insert(user->getResult(0));
    }
  return false;
}

/// Whether a value, or what element-wise ops make of it, is combined with what
/// a loop carries; by a difference, if `asDifference`.
static bool isJoined(mlir::Value value, bool asDifference = false) {
  SetVector<mlir::Value> open;
  open.insert(value);
  for (size_t next = 0; next < open.size() && next < 64; ++next)
    for (Operation *user : open[next].getUsers()) {
      if (!isElementwise(user))
        continue;
      if (llvm::any_of(user->getOperands(), isCarried) &&
          (!asDifference || isa<arith::SubFOp>(user)))
        return true;
      open.insert(user->getResult(0));
    }
  return false;
}

static llvm::StringRef nameOf(tile::ReduceKind kind) {
  switch (kind) {
  case tile::ReduceKind::Sum:
    return "sum";
  case tile::ReduceKind::Max:
    return "maximum";
  case tile::ReduceKind::Min:
    return "minimum";
  case tile::ReduceKind::Argmax:
  case tile::ReduceKind::Argmin:
    return "position";
  default:
    return "";
  }
}

/// A reduction over one tile of a dim that is combined with that tile again,
/// and with nothing of other tiles: a softmax of parts. An extremum may be
/// taken away and put back, so that one counts only if the result is stored.
static void remarkPartOfRow(tile::ReduceOp reduce, const Axis &axis,
                            llvm::StringRef callee, llvm::StringRef alongWhole,
                            bool isOfGrid) {
  llvm::StringRef name =
      callee == "tsr.mean" ? "mean" : nameOf(reduce.getKind());
  bool isSum = reduce.getKind() == tile::ReduceKind::Sum;
  if (name.empty())
    return;
  // A kernel that stores the extremum, too, works by blocks: a scale for each.
  if (!isSum && isStored(reduce.getResult()))
    return;
  mlir::Value range = axis.range;
  // A kernel that joins it with what it carries puts the parts together.
  if (isJoined(reduce.getResult()))
    return;
  SetVector<mlir::Value> open;
  open.insert(reduce.getResult());
  for (size_t next = 0; next < open.size() && next < 64; ++next)
    for (Operation *user : open[next].getUsers()) {
      if (isa<tile::BroadcastOp, tile::FillOp>(user)) {
        if (!llvm::is_contained(user->getOperands(), range)) {
          open.insert(user->getResult(0));
          continue;
        }
        if (!isSum && !isStored(user->getResult(0)))
          continue;
        InFlightDiagnostic remark = emitRemark(reduce.getLoc());
        remark << "this " << name << " is of the " << axis.size
               << " elements of a tile along " << axis.name
               << ", not of all of " << (axis.dim ? axis.dim->name : axis.name)
               << ", and is combined with that tile: the result depends on the "
                  "size of the tile"
               << (isOfGrid ? "; was another axis meant?"
                            : "; of a whole row, index with ':'");
        if (isOfGrid && !alongWhole.empty())
          remark.attachNote() << "fix: " << alongWhole;
        return;
      }
      bool isOfOthers = llvm::any_of(user->getOperands(), isCarried);
      if (isElementwise(user) && !isOfOthers)
        open.insert(user->getResult(0));
    }
}

/// Whether a value is made of what a loop carries, or is loaded without the
/// axis: of what the tiles before have left.
static bool isOfOtherTiles(mlir::Value value, mlir::Value range,
                           bool isOfGrid) {
  SetVector<mlir::Value> open;
  open.insert(value);
  for (size_t next = 0; next < open.size() && next < 64; ++next) {
    Operation *op = open[next].getDefiningOp();
    // No loop carries anything from one program of the grid to another.
    if (isCarried(open[next]) && !isOfGrid)
      return true;
    if (auto load = dyn_cast_or_null<tile::LoadOp>(op);
        load && !llvm::is_contained(load.getIndices(), range))
      return true;
    if (op && (isElementwise(op) || isa<tile::BroadcastOp, tile::FillOp>(op)))
      open.insert_range(op->getOperands());
  }
  return false;
}

/// Whether anything that is stored, or decides about it, is made of a value.
static bool isUsed(mlir::Value value) {
  SetVector<mlir::Value> open;
  open.insert(value);
  for (size_t next = 0; next < open.size(); ++next)
    for (OpOperand &use : open[next].getUses()) {
      Operation *user = use.getOwner();
      Operation *parent = user->getParentOp();
      if (user->hasTrait<OpTrait::IsTerminator>() &&
          isa<tile::ForOp, scf::ForOp, scf::IfOp>(parent)) {
        open.insert(parent->getResult(use.getOperandNumber()));
        // What a turn leaves the next one begins with, behind its counter.
        if (!isa<scf::IfOp>(parent))
          open.insert(
              parent->getRegion(0).getArgument(use.getOperandNumber() + 1));
        continue;
      }
      // What leaves another region may be anything's start.
      if (user->hasTrait<OpTrait::IsTerminator>() || user->getNumRegions() ||
          !isMemoryEffectFree(user))
        return true;
      open.insert_range(user->getResults());
    }
  return false;
}

/// The variable of a loop that a value is added to, or otherwise joined with;
/// empty if there is none.
static std::string getJoined(mlir::Value value) {
  for (Operation *user : value.getUsers())
    for (mlir::Value operand : user->getOperands())
      if (auto named = dyn_cast<NameLoc>(operand.getLoc());
          named && isElementwise(user) && isCarried(operand))
        return named.getName().str();
  return {};
}

/// Whether the kernel puts the parts of a scan together: it joins the scan with
/// what the tiles before have left, or it takes the total of the tile, too.
/// `lost` is the variable for totals that nothing reads, if there is one.
static bool isContinued(tile::ScanOp scan, const Axis &along,
                        llvm::function_ref<const Axis *(Location)> alongOf,
                        Operation *kernel, bool isOfGrid, std::string &lost) {
  bool isTotalled = false;
  kernel->walk([&](tile::ReduceOp reduce) {
    if (reduce.getKind() != scan.getKind() ||
        alongOf(reduce.getLoc()) != &along)
      return;
    if (isUsed(reduce.getResult()))
      isTotalled = true;
    else
      lost = getJoined(reduce.getResult());
  });
  if (isTotalled)
    return true;
  SetVector<mlir::Value> open;
  open.insert(scan.getResult());
  for (size_t next = 0; next < open.size() && next < 64; ++next)
    for (Operation *user : open[next].getUsers()) {
      if (!isElementwise(user))
        continue;
      for (mlir::Value operand : user->getOperands())
        if (operand != open[next] &&
            isOfOtherTiles(operand, along.range, isOfGrid))
          return true;
      open.insert(user->getResult(0));
    }
  return false;
}

/// "tsr.cumsum(x, n) + carry": a scan and the total of the tiles before it.
static std::string joinScan(tile::ReduceKind kind, const std::string &scan,
                            const std::string &total) {
  if (kind == tile::ReduceKind::Max)
    return "tsr.maximum(" + scan + ", " + total + ")";
  return scan + (kind == tile::ReduceKind::Sum ? " + " : " * ") + total;
}

LogicalResult TileOps::checkPartsOfRows(Operation *kernel) {
  LogicalResult result = success();
  llvm::DenseSet<Location> remarked;
  kernel->walk([&](tile::ReduceOp reduce) {
    auto part = partialReductions.find(reduce.getLoc());
    // A mean of the tiles' means is that only where all have one size.
    if (part != partialReductions.end() && !part->second.mean.empty() &&
        !isJoined(reduce.getResult(), /*asDifference=*/true) &&
        remarked.insert(reduce.getLoc()).second)
      emitRemark(reduce.getLoc()) << part->second.mean;
    if (part != partialReductions.end())
      remarkPartOfRow(reduce, *part->second.along, part->second.callee,
                      part->second.alongWhole, isOfGrid(*part->second.along));
  });
  kernel->walk([&](tile::ScanOp scan) {
    auto known = partialScans.find(scan.getLoc());
    std::string lost;
    if (failed(result) || known == partialScans.end() ||
        isContinued(
            scan, *known->second.along,
            [&](Location at) { return partialReductions.lookup(at).along; },
            kernel, isOfGrid(*known->second.along), lost))
      return;
    const PartialScan &part = known->second;
    if (lost.empty()) {
      InFlightDiagnostic remark = emitRemark(scan.getLoc());
      remark << part.remark;
      if (!part.otherAxis.empty())
        remark.attachNote() << "fix: " << part.otherAxis;
      return;
    }
    context
        .error(part.where, "each tile of " + part.along->name +
                               " is scanned by itself: nothing reads " + lost +
                               ", which has what the tiles before come to")
        .addNote(part.along->where, "the axis " + part.along->name)
        .setFix(joinScan(scan.getKind(), context.quote(part.where), lost));
    result = failure();
  });
  return result;
}

} // namespace tessera::frontend
