//===- TileOpsStarts.cpp - One element where each of a tile was meant -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `X[t.start - j]` is one element, `X[t.index - j]` one for each position of t.
// A tile of t that is stored, and made of the first alone, is the same along t,
// and depends on the size of the tile. That gets a remark.
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/TileOps.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tessera::frontend {

/// What a value is made of, without the axes along which it is only repeated
/// and the bounds of loops.
static SetVector<mlir::Value> getMakings(mlir::Value value) {
  SetVector<mlir::Value> open;
  open.insert(value);
  for (size_t next = 0; next < open.size(); ++next) {
    mlir::Value each = open[next];
    auto argument = dyn_cast<BlockArgument>(each);
    Operation *op =
        argument ? argument.getOwner()->getParentOp() : each.getDefiningOp();
    if (isa_and_nonnull<tile::FillOp, tile::BroadcastOp>(op)) {
      open.insert(op->getOperand(0));
      continue;
    }
    if (isa_and_nonnull<tile::ForOp, scf::ForOp>(op)) {
      // What it starts with, and what each turn yields; a counter is made of
      // nothing here.
      OperandRange starts = isa<tile::ForOp>(op)
                                ? cast<tile::ForOp>(op).getInits()
                                : cast<scf::ForOp>(op).getInits();
      unsigned number = argument ? argument.getArgNumber()
                                 : cast<OpResult>(each).getResultNumber() + 1;
      if (number == 0)
        continue;
      open.insert(starts[number - 1]);
      open.insert(op->getRegion(0).front().back().getOperand(number - 1));
      continue;
    }
    if (!op || argument || isa<tile::RangeStartOp>(op))
      continue;
    open.insert_range(op->getOperands());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (!block.empty())
          open.insert_range(block.back().getOperands());
  }
  return open;
}

/// Whether a number is the start of a range, give or take some.
static bool isNearStart(mlir::Value number, mlir::Value range) {
  Operation *op = number.getDefiningOp();
  if (auto start = dyn_cast_or_null<tile::RangeStartOp>(op))
    return start->getOperand(0) == range;
  return isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op) &&
         llvm::any_of(op->getOperands(), [&](mlir::Value operand) {
           return isNearStart(operand, range);
         });
}

static std::string replaceAll(std::string text, llvm::StringRef from,
                              llvm::StringRef to) {
  for (size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// tsr.where(m.start >= n.start, x, 0): of a tile all elements are taken, or
/// none.
void TileOps::remarkStartsCompared(const CallArgument &condition,
                                   const SemaValue &a, const SemaValue &b) {
  std::string text = context.quote(condition.where);
  if (!condition.value.isScalar() || !(a.isTile() || b.isTile()) ||
      llvm::StringRef(text).count(".start") < 2 ||
      llvm::StringRef(text).contains(".stop") ||
      llvm::StringRef(text).contains("//"))
    return;
  InFlightDiagnostic remark = emitRemark(context.loc(condition.where));
  remark << text
         << " is one bool for all elements of a tile: the result depends on "
            "the size of the tile";
  remark.attachNote() << "fix: " << replaceAll(text, ".start", ".index");
}

void TileOps::remarkStarts(Operation *kernel) {
  kernel->walk([&](tile::StoreOp store) {
    if (!isa<RankedTensorType>(store.getValue().getType()))
      return;
    SetVector<mlir::Value> makings = getMakings(store.getValue());
    for (mlir::Value range : store.getIndices()) {
      if (!isa<tile::RangeType>(range.getType()) || makings.contains(range))
        continue;
      for (mlir::Value each : makings) {
        auto load = each.getDefiningOp<tile::LoadOp>();
        auto known =
            load ? elementReads.find(load.getLoc()) : elementReads.end();
        if (known == elementReads.end() ||
            llvm::none_of(load.getIndices(), [&](mlir::Value index) {
              return isNearStart(index, range);
            }))
          continue;
        std::string text = context.quote(known->second);
        InFlightDiagnostic remark = emitRemark(load.getLoc());
        remark << text
               << " is one element, which is stored for all of a tile: the "
                  "result depends on the size of the tile";
        remark.attachNote() << "fix: " << replaceAll(text, ".start", ".index");
        return;
      }
    }
  });
}

} // namespace tessera::frontend
