//===- LowerControl.cpp - Programs, ranges, loops -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/IR/Target.h"
#include "compiler/Target/SIMT/Lowering/KernelLowering.h"
#include "compiler/Target/SIMT/Mapping/ProgramOrder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::simt;

//===----------------------------------------------------------------------===//
// Programs and ranges
//===----------------------------------------------------------------------===//

void KernelLowering::lowerProgram(tile::ProgramOp op) {
  SmallVector<Value> counts;
  for (auto [extent, tile] : llvm::zip(op.getExtents(), op.getTiles())) {
    Value size = scalars.lookup(extent);
    counts.push_back(tile ? Value(arith::CeilDivUIOp::create(builder, loc, size,
                                                             index(tile)))
                          : size);
  }
  Value number =
      arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), block);
  SmallVector<Value> ids = placesOf(builder, loc, op, counts, number);
  for (auto [id, result, extent, tile] :
       llvm::zip(ids, op.getIds(), op.getExtents(), op.getTiles())) {
    if (tile == 1) // A program has at least one position.
      ranges[result] = {id, add(id, index(1)), i32(1)};
    else if (tile)
      defineRange(result, mul(id, index(tile)), scalars.lookup(extent), tile);
    else
      scalars.map(result, id);
  }
}

void KernelLowering::defineRange(Value range, Value start, Value extent,
                                 int64_t size) {
  Value stop = builder.createOrFold<arith::MinSIOp>(
      loc, add(start, index(size)), extent);
  Value length =
      builder.createOrFold<arith::MaxSIOp>(loc, sub(stop, start), index(0));
  ranges[range] = {start, stop,
                   builder.createOrFold<arith::IndexCastOp>(
                       loc, builder.getI32Type(), length)};
}

//===----------------------------------------------------------------------===//
// Loops: every register of a carried tile is carried
//===----------------------------------------------------------------------===//

KernelLowering::Registers KernelLowering::flatten(ValueRange values) {
  Registers flat;
  for (Value value : values) {
    if (isa<RankedTensorType>(value.getType()))
      flat.append(tiles[value]);
    else
      flat.push_back(scalars.lookup(value));
  }
  return flat;
}

void KernelLowering::unflatten(ValueRange values, ValueRange flat) {
  for (Value value : values) {
    if (!isa<RankedTensorType>(value.getType())) {
      scalars.map(value, flat.front());
      flat = flat.drop_front();
      continue;
    }
    int64_t count = ThreadLayout(value).registers();
    tiles[value] = Registers(flat.take_front(count));
    flat = flat.drop_front(count);
  }
}

LogicalResult KernelLowering::lowerFor(tile::ForOp op) {
  int64_t size = op.getSize();
  Value stop = scalars.lookup(op.getStop());
  auto loop = scf::ForOp::create(builder, loc, scalars.lookup(op.getStart()),
                                 stop, index(size), flatten(op.getInits()));
  {
    OpBuilder::InsertionGuard guard(builder);
    if (loop.getNumResults() == 0)
      loop.getBody()->getTerminator()->erase();
    builder.setInsertionPointToStart(loop.getBody());
    defineRange(op.getRange(), loop.getInductionVar(), stop, size);
    unflatten(ValueRange(op.getCarried()),
              ValueRange(loop.getRegionIterArgs()));
    if (failed(lowerBlock(op.getBody().front())))
      return failure();
    auto yield = cast<tile::YieldOp>(op.getBody().front().getTerminator());
    scf::YieldOp::create(builder, loc, flatten(yield.getValues()));
  }
  unflatten(op.getResults(), loop.getResults());
  return success();
}

LogicalResult KernelLowering::lowerScfFor(scf::ForOp op) {
  auto loop = scf::ForOp::create(
      builder, loc, scalars.lookup(op.getLowerBound()),
      scalars.lookup(op.getUpperBound()), scalars.lookup(op.getStep()),
      flatten(op.getInitArgs()));
  {
    OpBuilder::InsertionGuard guard(builder);
    if (loop.getNumResults() == 0)
      loop.getBody()->getTerminator()->erase();
    builder.setInsertionPointToStart(loop.getBody());
    scalars.map(op.getInductionVar(), loop.getInductionVar());
    unflatten(ValueRange(op.getRegionIterArgs()),
              ValueRange(loop.getRegionIterArgs()));
    if (failed(lowerBlock(*op.getBody())))
      return failure();
    scf::YieldOp::create(builder, loc, flatten(op.getYieldedValues()));
  }
  unflatten(op.getResults(), loop.getResults());
  return success();
}

SmallVector<Type> KernelLowering::flatTypes(ValueRange values) {
  SmallVector<Type> types;
  for (Value value : values) {
    int64_t count = isa<RankedTensorType>(value.getType())
                        ? ThreadLayout(value).registers()
                        : 1;
    types.append(count, getElementTypeOrSelf(value));
  }
  return types;
}

LogicalResult KernelLowering::lowerWhile(scf::WhileOp op) {
  auto loop = scf::WhileOp::create(builder, loc, flatTypes(op.getResults()),
                                   flatten(op.getInits()));
  OpBuilder::InsertionGuard guard(builder);
  auto enter = [&](Block *from, Region &to) {
    Block &block = to.emplaceBlock();
    for (Type type : flatTypes(ValueRange(from->getArguments())))
      block.addArgument(type, loc);
    unflatten(ValueRange(from->getArguments()),
              ValueRange(block.getArguments()));
    builder.setInsertionPointToEnd(&block);
    return lowerBlock(*from);
  };
  Location at = loc;
  if (failed(enter(op.getBeforeBody(), loop.getBefore())))
    return failure();
  scf::ConditionOp condition = op.getConditionOp();
  scf::ConditionOp::create(builder, at,
                           scalars.lookup(condition.getCondition()),
                           flatten(condition.getArgs()));
  if (failed(enter(op.getAfterBody(), loop.getAfter())))
    return failure();
  scf::YieldOp::create(builder, at, flatten(op.getYieldOp().getResults()));
  unflatten(op.getResults(), loop.getResults());
  return success();
}

LogicalResult KernelLowering::lowerIf(scf::IfOp op) {
  bool hasElse = !op.getElseRegion().empty();
  auto branch = scf::IfOp::create(builder, loc, flatTypes(op.getResults()),
                                  scalars.lookup(op.getCondition()), hasElse);
  for (auto [from, to] :
       {std::pair(&op.getThenRegion(), &branch.getThenRegion()),
        std::pair(&op.getElseRegion(), &branch.getElseRegion())}) {
    if (from->empty())
      continue;
    OpBuilder::InsertionGuard guard(builder);
    Block &block = to->front();
    if (!block.empty())
      block.back().erase();
    builder.setInsertionPointToEnd(&block);
    if (failed(lowerBlock(from->front())))
      return failure();
    scf::YieldOp::create(builder, loc,
                         flatten(from->front().getTerminator()->getOperands()));
  }
  unflatten(op.getResults(), branch.getResults());
  return success();
}

/// What a thread holds beyond the tile is true already (MaskAbsent).
void KernelLowering::lowerAssert(tile::AssertOp op) {
  Value holds;
  if (isa<RankedTensorType>(op.getCondition().getType()))
    for (Value truth : tiles[op.getCondition()])
      holds = both(holds, truth);
  else
    holds = scalars.lookup(op.getCondition());
  target::AssertOp::create(builder, loc, holds, op.getMessageAttr());
}
