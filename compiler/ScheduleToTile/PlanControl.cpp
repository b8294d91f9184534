//===- PlanControl.cpp - Branches and loops of a plan ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An integer that is carried is one `$` name, set at the end of each turn. A
// tensor that is carried is two pieces of memory: each turn computes its new
// value into fresh memory and swaps the two, so that what a turn reads is never
// what it writes:
//
//   alloc %x; launch (%x)
//   loop
//     while $i < $n
//     alloc %x.1; launch (%x, %x.1); swap %x %x.1
//     set $i = $i + 1
//   end                                    # the result is %x
//
// What an arm of an `if` yields is written where the result is.
//
//===----------------------------------------------------------------------===//

#include "compiler/ScheduleToTile/PlanWriterImpl.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;
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

void PlanWriter::nameCarried() {
  function->walk([&](Operation *op) {
    if (!graph::isControlFlow(op))
      return;
    Block &last = op->getRegions().back().front();
    for (OpResult result : op->getResults()) {
      if (!isPlanInteger(result.getType()))
        continue;
      unsigned i = result.getResultNumber();
      Value carried =
          isa<graph::IfOp>(op)
              ? last.getTerminator()->getOperand(i)
              : last.getArgument(i + (isa<graph::ForOp>(op) ? 1 : 0));
      StringRef hint = hintOf(carried);
      std::string name = "$" + names.integer(hint.empty() ? "n" : hint);
      integers[result] = name;
      lateNames.push_back(name);
    }
  });
}

//===----------------------------------------------------------------------===//
// if
//===----------------------------------------------------------------------===//

LogicalResult PlanWriter::write(graph::IfOp op) {
  std::string condition = integer(op.getCondition());
  for (Value result : op.getResults()) {
    if (isPlanInteger(result.getType()))
      body.push_back("let " + integers[result] + " = 0");
    else
      allocate(result);
  }
  body.push_back("if " + condition);
  if (failed(writeArm(op, op.getThenRegion())))
    return failure();
  body.push_back("else");
  size_t end = body.size();
  if (failed(writeArm(op, op.getElseRegion())))
    return failure();
  if (body.size() == end)
    body.pop_back();
  body.push_back("end");
  return failure(failedExpression);
}

LogicalResult PlanWriter::writeArm(graph::IfOp op, Region &region) {
  Knowledge before = remember();
  Operation *yield = region.front().getTerminator();
  for (auto [result, value] : llvm::zip(op.getResults(), yield->getOperands()))
    if (!isPlanInteger(result.getType())) {
      // A copy first: what operator[] gives does not outlive an insertion.
      Tensor place = tensors.lookup(result);
      place.temporary = false;
      tensors[value] = place;
      placed.insert(value);
    }
  if (failed(writeBlock(region.front())))
    return failure();
  for (auto [result, value] : llvm::zip(op.getResults(), yield->getOperands()))
    if (isPlanInteger(result.getType())) {
      std::string text = integer(value);
      body.push_back("set " + integers[result] + " = " + text);
    }
  forget(std::move(before));
  return success();
}

//===----------------------------------------------------------------------===//
// for, while
//===----------------------------------------------------------------------===//

void PlanWriter::startLoop(Operation *loop, ValueRange inits) {
  for (auto [result, init] : llvm::zip(loop->getResults(), inits)) {
    if (isPlanInteger(result.getType())) {
      std::string text = integer(init);
      body.push_back("let " + integers[result] + " = " + text);
    } else {
      Tensor place = tensors.lookup(init);
      tensors[result] = place;
    }
  }
}

void PlanWriter::bindCarried(Operation *loop, ValueRange inits,
                             ValueRange arguments) {
  for (auto [result, init, argument] :
       llvm::zip(loop->getResults(), inits, arguments)) {
    if (isPlanInteger(result.getType())) {
      std::string name = integers.lookup(result);
      integers[argument] = name;
    } else {
      Tensor place = tensors.lookup(init);
      tensors[argument] = place;
    }
  }
}

void PlanWriter::finishTurn(Operation *loop, Block &block) {
  Operation *yield = block.getTerminator();
  // All are computed before any is changed: a, b = b, a + b.
  std::vector<std::pair<std::string, std::string>> changes;
  for (auto [result, value] :
       llvm::zip(loop->getResults(), yield->getOperands()))
    if (isPlanInteger(result.getType())) {
      // The text first: it may add to what is known.
      std::string text = integer(value);
      changes.emplace_back(integers[result], text);
    }
  if (changes.size() > 1)
    for (auto &[name, text] : changes) {
      std::string next =
          "$" + names.integer(StringRef(name).drop_front().str() + ".next");
      body.push_back("let " + next + " = " + text);
      text = next;
    }
  for (auto [result, value] :
       llvm::zip(loop->getResults(), yield->getOperands()))
    if (!isPlanInteger(result.getType()))
      body.push_back("swap " + tensors[result].name + " " +
                     tensors[value].name);
  for (const auto &[name, text] : changes)
    body.push_back("set " + name + " = " + text);
}

LogicalResult PlanWriter::write(graph::ForOp op) {
  std::string start = integer(op.getStart()), stop = integer(op.getStop());
  startLoop(op, op.getInits());
  Knowledge before = remember();
  Block &block = op.getBody().front();
  BlockArgument counter = block.getArgument(0);
  StringRef hint = hintOf(counter);
  std::string name = "$" + names.integer(hint.empty() ? "i" : hint);
  body.push_back("let " + name + " = " + start);
  // Computed once, as in Python.
  if (StringRef(stop).contains(' ')) {
    std::string once = "$" + names.integer("stop");
    body.push_back("let " + once + " = " + stop);
    stop = once;
  }
  auto step = int64_t(op.getStep());
  body.push_back("loop");
  body.push_back("while " + name + (step > 0 ? " < " : " > ") + stop);
  integers[counter] = name;
  bindCarried(op, op.getInits(), block.getArguments().drop_front());
  if (failed(writeBlock(block)))
    return failure();
  finishTurn(op, block);
  body.push_back("set " + name + " = " + name + (step > 0 ? " + " : " - ") +
                 std::to_string(std::abs(step)));
  body.push_back("end");
  forget(std::move(before));
  return failure(failedExpression);
}

LogicalResult PlanWriter::write(graph::WhileOp op) {
  startLoop(op, op.getInits());
  Knowledge before = remember();
  Block &test = op.getTest().front(), &block = op.getBody().front();
  body.push_back("loop");
  bindCarried(op, op.getInits(), test.getArguments());
  if (failed(writeBlock(test)))
    return failure();
  body.push_back("while " + integer(test.getTerminator()->getOperand(0)));
  bindCarried(op, op.getInits(), block.getArguments());
  if (failed(writeBlock(block)))
    return failure();
  finishTurn(op, block);
  body.push_back("end");
  forget(std::move(before));
  return failure(failedExpression);
}
