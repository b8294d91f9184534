//===- KernelRows.cpp - Programs whose results wait for others ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Support/Architectures/X86.h"
#include "compiler/Target/CPU/KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

static void emptyTurn(OpBuilder &, Location, Value, ValueRange) {}

/// The number and the bounds of another program.
LogicalResult KernelEmitter::emitAgain(const OtherProgram &other,
                                       Value number) {
  program = number;
  for (Operation *op : other.again)
    if (failed(emitOp(op)))
      return failure();
  return success();
}

Value KernelEmitter::zeroOf(Value scalar) {
  Type type = computeType(scalar.getType());
  return lower.splatConstant(builder.getZeroAttr(type), 0);
}

/// In turn `turn` what is kept of a row lies in this half of its buffer; of the
/// row before, in the other.
void KernelEmitter::placeRows(const OtherProgram &earlier, Value turn) {
  Value two = lower.constant(2);
  for (auto [here, before] : earlier.rows) {
    auto alloc = here.getDefiningOp<tile::AllocOp>();
    int64_t offset = *alloc.getOffset();
    Value half = lower.constant(tile::CpuBuffer(alloc.getType()).bytes() / 2);
    for (auto [buffer, at] : {std::pair(here, turn),
                              std::pair(before, lower.addConstant(turn, 1))}) {
      Value odd = arith::RemUIOp::create(builder, lower.loc, at, two);
      lower.buffers[buffer] = lower.pointerTo(
          lower.scratch, lower.addConstant(lower.mul(odd, half), offset),
          builder.getI8Type());
    }
  }
}

/// The results of the program before, or their rest.
LogicalResult KernelEmitter::emitBefore(DelayedStores &delayed, bool rest) {
  tile::ForOp loop = rest ? delayed.restOfBefore : delayed.before;
  return loop ? emitFor(loop) : success();
}

/// The programs from `begin` to `end`, each with the results of the one before
/// it (DelayStores.h).
LogicalResult KernelEmitter::emitDelayed(DelayedStores &delayed, Value begin,
                                         Value end) {
  const OtherProgram &earlier = delayed.earlier;
  for (tile::ForOp loop : {delayed.keeps, delayed.stores})
    loop->setAttr(kBefore, builder.getUnitAttr());
  SmallVector<Value> zeros, scalars(llvm::make_first_range(earlier.carried));
  SmallVector<Value> before(llvm::make_second_range(earlier.carried));
  for (Value scalar : scalars)
    zeros.push_back(zeroOf(scalar));
  Value one = lower.constant(1);
  auto loop =
      scf::ForOp::create(builder, lower.loc, begin, end, one, zeros, emptyTurn);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    Value number = loop.getInductionVar();
    lower.values.map(ValueRange(before), loop.getRegionIterArgs());
    placeRows(earlier, lower.sub(number, begin));
    if (failed(emitAgain(earlier, lower.sub(number, one))))
      return failure();
    program = number;
    for (Operation &op : func.getBody().front()) {
      if (&op == delayed.stores)
        break;
      if (isa<tile::AllocOp>(op) &&
          llvm::is_contained(llvm::make_first_range(earlier.rows),
                             op.getResult(0)))
        continue; // in halves
      if (&op != delayed.keeps) {
        if (failed(emitOp(&op)))
          return failure();
        continue;
      }
      lower.loc = op.getLoc();
      // Two views may give the row different lengths.
      Value started = lower.less(begin, number);
      Value alike =
          arith::CmpIOp::create(builder, lower.loc, arith::CmpIPredicate::eq,
                                lower.values.lookup(delayed.before.getStop()),
                                lower.values.lookup(delayed.keeps.getStop()));
      SmallVector<Type> types;
      for (Type type : op.getResultTypes())
        types.push_back(computeType(type));
      auto choice = scf::IfOp::create(
          builder, lower.loc, types,
          arith::AndIOp::create(builder, lower.loc, started, alike),
          /*addThenBlock=*/true, /*addElseBlock=*/true);
      OpBuilder::InsertionGuard inside(builder);
      builder.setInsertionPointToEnd(choice.thenBlock());
      if (failed(emitFor(delayed.both)))
        return failure();
      scf::YieldOp::create(builder, lower.loc,
                           lookup(delayed.both.getResults()));
      builder.setInsertionPointToEnd(choice.elseBlock());
      auto alone = scf::IfOp::create(builder, lower.loc, started, false);
      builder.setInsertionPointToStart(alone.thenBlock());
      if (failed(emitBefore(delayed, /*rest=*/false)))
        return failure();
      builder.setInsertionPointAfter(alone);
      if (failed(emitFor(delayed.keeps)))
        return failure();
      scf::YieldOp::create(builder, lower.loc, lookup(op.getResults()));
      lower.values.map(op.getResults(), choice.getResults());
      builder.setInsertionPointAfter(choice);
      auto rest = scf::IfOp::create(builder, lower.loc, started, false);
      builder.setInsertionPointToStart(rest.thenBlock());
      if (failed(emitBefore(delayed, /*rest=*/true)))
        return failure();
    }
    scf::YieldOp::create(builder, lower.loc, lookup(scalars));
  }
  // The last program's.
  auto some = scf::IfOp::create(builder, lower.loc, lower.less(begin, end),
                                /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(some.thenBlock());
  lower.values.map(ValueRange(before), loop.getResults());
  placeRows(earlier, lower.sub(end, begin));
  if (failed(emitAgain(earlier, lower.sub(end, one))) ||
      failed(emitBefore(delayed, /*rest=*/false)))
    return failure();
  return emitBefore(delayed, /*rest=*/true);
}

/// The programs from `begin` to `end`, several and then their results at a time
/// (DelayStores.h), as long as the rows of so many stay in the second-level
/// cache until they are read again; else, and in the end, one by one.
LogicalResult KernelEmitter::emitTogether(StoresTogether &together, Value begin,
                                          Value end) {
  int64_t count = together.programs.size();
  for (Operation *op : together.shared)
    if (failed(emitOp(op)))
      return failure();
  Value many = lower.constant(count), one = lower.constant(1);
  Value bytes = lower.mul(lower.values.lookup(together.together.getStop()),
                          lower.constant(together.rowBytes * count));
  Value whole = arith::DivUIOp::create(
      builder, lower.loc,
      arith::MaxSIOp::create(builder, lower.loc, lower.sub(end, begin),
                             lower.constant(0)),
      many);
  whole = arith::SelectOp::create(
      builder, lower.loc, lower.less(lower.constant(x86::level2), bytes), begin,
      lower.add(begin, lower.mul(whole, many)));
  auto emitOne = [&](Value number, bool stores) {
    program = number;
    for (Operation &op : func.getBody().front()) {
      if (&op == together.stores && !stores)
        break;
      if (failed(emitOp(&op)))
        return failure();
      if (&op == together.stores)
        break;
    }
    return success();
  };
  auto groups = scf::ForOp::create(builder, lower.loc, begin, whole, many);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(groups.getBody()->getTerminator());
    // The scalars of each program, the last one's at the end.
    SmallVector<Value> window;
    for (const OtherProgram &other : together.programs)
      for (auto [here, there] : other.carried)
        window.push_back(zeroOf(here));
    auto each = scf::ForOp::create(builder, lower.loc, lower.constant(0), many,
                                   one, window, emptyTurn);
    builder.setInsertionPointToEnd(each.getBody());
    if (failed(
            emitOne(lower.add(groups.getInductionVar(), each.getInductionVar()),
                    /*stores=*/false)))
      return failure();
    auto &carried = together.programs.front().carried;
    SmallVector<Value> next(
        each.getRegionIterArgs().drop_front(carried.size()));
    llvm::append_range(
        next, lookup(llvm::to_vector(llvm::make_first_range(carried))));
    scf::YieldOp::create(builder, lower.loc, next);
    builder.setInsertionPointAfter(each);
    ValueRange scalars = each.getResults();
    for (auto [number, other] : llvm::enumerate(together.programs)) {
      for (auto [here, there] : other.carried) {
        lower.values.map(there, scalars.front());
        scalars = scalars.drop_front();
      }
      if (failed(emitAgain(
              other, lower.addConstant(groups.getInductionVar(), number))))
        return failure();
    }
    if (failed(emitFor(together.together)))
      return failure();
  }
  auto singles = scf::ForOp::create(builder, lower.loc, whole, end, one);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(singles.getBody()->getTerminator());
  return emitOne(singles.getInductionVar(), /*stores=*/true);
}

LogicalResult KernelEmitter::emitRows(StoresOfRows &rows, Value begin,
                                      Value end) {
  if (!rows.together)
    return emitDelayed(*rows.delayed, begin, end);
  if (!rows.delayed)
    return emitTogether(*rows.together, begin, end);
  for (Operation *op : rows.together->shared)
    if (failed(emitOp(op)))
      return failure();
  Value length = lower.values.lookup(rows.together->together.getStop());
  Value bytes = lower.mul(length, lower.constant(rows.together->rowBytes));
  auto choice =
      scf::IfOp::create(builder, lower.loc,
                        lower.less(lower.constant(x86::shortRow), bytes), true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(choice.thenBlock());
  if (failed(emitTogether(*rows.together, begin, end)))
    return failure();
  // After it, because loops that the first and last row share fetch nothing.
  builder.setInsertionPointToStart(choice.elseBlock());
  return emitDelayed(*rows.delayed, begin, end);
}
