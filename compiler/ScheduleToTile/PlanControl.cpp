//===- PlanControl.cpp - Branches and loops of a plan ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integers are carried by scf.while. A tensor that is carried is two pieces of
// memory: each turn computes its new value into fresh memory and swaps the two,
// so that what a turn reads is never what it writes. What an arm of an `if`
// yields is written where the result is.
//
//===----------------------------------------------------------------------===//

#include "compiler/ScheduleToTile/PlanWriterImpl.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;
using plan::IntegerBuilder;
using schedule::isPlanInteger;

StringRef tessera::tile::hintOf(Value value) {
  if (auto name = dyn_cast<NameLoc>(value.getLoc()))
    return name.getName().getValue();
  return "";
}

void PlanWriter::forget(Knowledge before) {
  integers = std::move(before.integers);
  sizes = std::move(before.sizes);
}

static Type integerType(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isInteger(1) ? element
                              : Type(IndexType::get(type.getContext()));
}

/// A block with an argument for each integer, called as it is in the function.
static Block &addBlock(Region &region, ValueRange like, Location loc) {
  Block &block = region.emplaceBlock();
  for (Value value : like) {
    StringRef hint = hintOf(value);
    block.addArgument(
        integerType(value.getType()),
        hint.empty() ? loc
                     : NameLoc::get(StringAttr::get(loc.getContext(), hint)));
  }
  return block;
}

static SmallVector<Value> integersAmong(ValueRange values) {
  return llvm::filter_to_vector(
      values, [](Value value) { return isPlanInteger(value.getType()); });
}

//===----------------------------------------------------------------------===//
// if
//===----------------------------------------------------------------------===//

LogicalResult PlanWriter::write(graph::IfOp op) {
  Value condition = integer(op.getCondition());
  SmallVector<Type> types;
  for (Value result : op.getResults()) {
    if (isPlanInteger(result.getType()))
      types.push_back(integerType(result.getType()));
    else
      allocate(result);
  }
  auto choice = scf::IfOp::create(at, op.getLoc(), types, condition,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  for (auto [arm, block] :
       {std::pair(&op.getThenRegion(), choice.thenBlock()),
        std::pair(&op.getElseRegion(), choice.elseBlock())}) {
    OpBuilder::InsertionGuard guard(at);
    at.setInsertionPointToStart(block);
    if (failed(writeArm(op, *arm)))
      return failure();
  }
  for (auto [result, made] :
       llvm::zip(integersAmong(op.getResults()), choice.getResults()))
    integers[result] = made;
  return failure(failedExpression);
}

LogicalResult PlanWriter::writeArm(graph::IfOp op, Region &region) {
  Knowledge before = remember();
  Operation *yield = region.front().getTerminator();
  for (auto [result, value] : llvm::zip(op.getResults(), yield->getOperands()))
    if (!isPlanInteger(result.getType())) {
      // A copy first: what operator[] gives does not outlive an insertion.
      Tensor place = tensors.lookup(result);
      tensors[value] = place;
      placed.insert(value);
    }
  if (failed(writeBlock(region.front())))
    return failure();
  SmallVector<Value> yielded;
  for (Value value : integersAmong(yield->getOperands()))
    yielded.push_back(integer(value));
  scf::YieldOp::create(at, op.getLoc(), yielded);
  forget(std::move(before));
  return success();
}

//===----------------------------------------------------------------------===//
// for, while
//===----------------------------------------------------------------------===//

void PlanWriter::bindCarried(ValueRange arguments, ValueRange inits,
                             ValueRange carried) {
  size_t next = 0;
  for (auto [argument, init] : llvm::zip(arguments, inits)) {
    if (isPlanInteger(argument.getType())) {
      integers[argument] = carried[next++];
    } else {
      Tensor place = tensors.lookup(init);
      tensors[argument] = place;
    }
  }
}

SmallVector<Value> PlanWriter::finishTurn(ValueRange inits, Block &block) {
  Operation *yield = block.getTerminator();
  // Before memory changes: some are loaded.
  SmallVector<Value> next;
  for (Value value : integersAmong(yield->getOperands()))
    next.push_back(integer(value));
  for (auto [init, value] : llvm::zip(inits, yield->getOperands()))
    if (!isPlanInteger(value.getType()))
      plan::SwapOp::create(at, yield->getLoc(), tensors[init].memory,
                           tensors[value].memory);
  return next;
}

LogicalResult PlanWriter::write(graph::ForOp op) {
  Location loc = op.getLoc();
  Value start = integer(op.getStart()), stop = integer(op.getStop());
  Block &turn = op.getBody().front();
  SmallVector<Value> inits = {start}, like = {turn.getArgument(0)};
  for (Value init : integersAmong(op.getInits()))
    inits.push_back(integer(init));
  llvm::append_range(like, integersAmong(turn.getArguments().drop_front()));
  auto loop =
      scf::WhileOp::create(at, loc, ValueRange(inits).getTypes(), inits);
  Block &test = addBlock(loop.getBefore(), like, loc);
  Block &body = addBlock(loop.getAfter(), like, loc);
  auto step = int64_t(op.getStep());
  Knowledge before = remember();
  {
    OpBuilder::InsertionGuard guard(at);
    at.setInsertionPointToStart(&test);
    IntegerBuilder make = integersAt(loc);
    Value counter = test.getArgument(0);
    Value more = step > 0 ? make.lt(counter, stop) : make.gt(counter, stop);
    scf::ConditionOp::create(at, loc, more, test.getArguments());
    at.setInsertionPointToStart(&body);
    integers[turn.getArgument(0)] = body.getArgument(0);
    bindCarried(turn.getArguments().drop_front(), op.getInits(),
                ValueRange(body.getArguments()).drop_front());
    if (failed(writeBlock(turn)))
      return failure();
    SmallVector<Value> next = finishTurn(op.getInits(), turn);
    next.insert(next.begin(), integersAt(loc).add(body.getArgument(0), step));
    scf::YieldOp::create(at, loc, next);
  }
  forget(std::move(before));
  bindCarried(op.getResults(), op.getInits(), loop.getResults().drop_front());
  return failure(failedExpression);
}

LogicalResult PlanWriter::write(graph::WhileOp op) {
  Location loc = op.getLoc();
  Block &asked = op.getTest().front(), &turn = op.getBody().front();
  SmallVector<Value> inits;
  for (Value init : integersAmong(op.getInits()))
    inits.push_back(integer(init));
  SmallVector<Value> like = integersAmong(turn.getArguments());
  auto loop =
      scf::WhileOp::create(at, loc, ValueRange(inits).getTypes(), inits);
  Block &test = addBlock(loop.getBefore(), like, loc);
  Block &body = addBlock(loop.getAfter(), like, loc);
  Knowledge before = remember();
  {
    OpBuilder::InsertionGuard guard(at);
    at.setInsertionPointToStart(&test);
    bindCarried(asked.getArguments(), op.getInits(), test.getArguments());
    if (failed(writeBlock(asked)))
      return failure();
    Value more = integer(asked.getTerminator()->getOperand(0));
    scf::ConditionOp::create(at, loc, more, test.getArguments());
    forget(before);
    at.setInsertionPointToStart(&body);
    bindCarried(turn.getArguments(), op.getInits(), body.getArguments());
    if (failed(writeBlock(turn)))
      return failure();
    SmallVector<Value> next = finishTurn(op.getInits(), turn);
    scf::YieldOp::create(at, loc, next);
  }
  forget(std::move(before));
  bindCarried(op.getResults(), op.getInits(), loop.getResults());
  return failure(failedExpression);
}
