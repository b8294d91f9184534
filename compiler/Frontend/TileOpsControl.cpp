//===- TileOpsControl.cpp - Loops, branches, print and assert in kernels --===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/TileOps.h"

#include "llvm/ADT/STLExtras.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tessera::frontend {

Type TileOps::getCounterType() { return builder().getIndexType(); }

void TileOps::yield(Location location, ValueRange values) {
  scf::YieldOp::create(builder(), location, values);
}

void TileOps::condition(Location location, Value holds, ValueRange carried) {
  scf::ConditionOp::create(builder(), location, holds, carried);
}

Operation *TileOps::makeFor(Location location, Value start, Value stop,
                            int64_t step, ValueRange inits, Region &body) {
  Value by = arith::ConstantIndexOp::create(builder(), location, step);
  auto loop = scf::ForOp::create(builder(), location, start, stop, by, inits);
  loop.getRegion().takeBody(body);
  return loop;
}

Operation *TileOps::makeWhile(Location location, ValueRange inits, Region &test,
                              Region &body) {
  auto loop =
      scf::WhileOp::create(builder(), location, inits.getTypes(), inits);
  loop.getBefore().takeBody(test);
  loop.getAfter().takeBody(body);
  return loop;
}

Operation *TileOps::makeIf(Location location, Value condition, Region &then,
                           Region &orelse) {
  auto yields = cast<scf::YieldOp>(then.front().getTerminator());
  auto op = scf::IfOp::create(builder(), location, yields.getOperandTypes(),
                              condition,
                              /*withElseRegion=*/true);
  op.getThenRegion().takeBody(then);
  op.getElseRegion().takeBody(orelse);
  if (op.getNumResults() == 0 &&
      op.getElseRegion().front().getOperations().size() == 1)
    op.getElseRegion().getBlocks().clear();
  return op;
}

mlir::Value TileOps::conform(const SemaValue &, const SemaValue &after,
                             llvm::StringRef, Location) {
  return after.ssa;
}

ValueResult TileOps::conformArms(SemaValue &first, SemaValue &, Block *const *,
                                 llvm::StringRef, Location) {
  return first;
}

//===----------------------------------------------------------------------===//
// print, assert
//===----------------------------------------------------------------------===//

/// Which program speaks: "scale[m=2, n=0]", its ids as values.
std::string TileOps::describeProgram(llvm::SmallVectorImpl<Value> &ids,
                                     Location location) {
  std::string text = context.request.definition->name;
  if (gridAxes.empty())
    return text;
  text += "[";
  for (auto [i, axis] : llvm::enumerate(gridAxes)) {
    text += (i ? ", " : "") + axis.name + "={}";
    if (axis.index) {
      ids.push_back(axis.index);
      continue;
    }
    Value start = tile::RangeStartOp::create(
        builder(), location, builder().getIndexType(), axis.axis->range);
    Value size =
        arith::ConstantIndexOp::create(builder(), location, axis.axis->size);
    ids.push_back(arith::DivUIOp::create(builder(), location, start, size));
  }
  return text + "]";
}

LogicalResult TileOps::print(llvm::StringRef text,
                             llvm::ArrayRef<SemaValue> values,
                             const OpSite &site) {
  if (!insideGrid)
    return context.notYet(site.range, "print before the grid of a kernel",
                          "print inside the loop of the grid");
  Location location = context.loc(site.range);
  SmallVector<Value> operands;
  std::string whole = describeProgram(operands, location);
  whole += (text.empty() ? "" : " ") + text.str();
  for (const SemaValue &value : values)
    operands.push_back(value.ssa);
  tile::PrintOp::create(builder(), location, whole, operands);
  return success();
}

LogicalResult TileOps::breakpoint(llvm::StringRef label, const OpSite &site) {
  if (!context.request.debug)
    return success();
  return print("breakpoint " + label.str(), {}, site);
}

LogicalResult TileOps::assertTrue(const SemaValue &condition,
                                  llvm::StringRef message, const OpSite &site) {
  // What a kernel says of its sizes before its grid, the call checks in every
  // build; the rest is checked in debug ones.
  bool atCall = !insideGrid && tile::isMadeOfSizes(condition.ssa);
  if (atCall || context.request.debug)
    tile::AssertOp::create(builder(), context.loc(site.range), condition.ssa,
                           message, atCall);
  return success();
}

/// An int that the call gives must fit where one that is written must.
void TileOps::checkFits(const SemaValue &number, mlir::Value value, DType dtype,
                        Location location) {
  if (!number.weak || !isInteger(dtype) || getDTypeBits(dtype) >= 64 ||
      !tile::isMadeOfSizes(value))
    return;
  OpBuilder &b = builder();
  using P = arith::CmpIPredicate;
  int64_t limit = int64_t(1) << (getDTypeBits(dtype) - 1);
  auto compare = [&](P how, int64_t bound) -> mlir::Value {
    mlir::Value constant = arith::ConstantOp::create(
        b, location, b.getIntegerAttr(value.getType(), bound));
    return arith::CmpIOp::create(b, location, how, value, constant);
  };
  mlir::Value fits = arith::AndIOp::create(b, location, compare(P::sge, -limit),
                                           compare(P::sle, limit - 1));
  tile::AssertOp::create(b, location, fits,
                         (number.name.empty() ? "a number" : number.name) +
                             " does not fit in " + getDTypeName(dtype),
                         /*at_call=*/true);
}

} // namespace tessera::frontend
