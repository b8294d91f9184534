//===- DelayStores.cpp - Results of a row beside the next row -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/DelayStores.h"

#include "compiler/Target/CPU/CpuLowering.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

static bool isRest(Operation *op) { return op && op->hasAttr("tile.rest"); }

/// The one nest of a loop over a row from its beginning.
static tile::NestOp nestOf(tile::ForOp loop) {
  tile::NestOp found;
  if (!matchPattern(loop.getStart(), m_Zero()))
    return {};
  for (Operation &op : loop.getBody().front().without_terminator()) {
    if (auto nest = dyn_cast<tile::NestOp>(op)) {
      if (found || nest.getAxes().size() != 1 ||
          nest.getAxes()[0] != loop.getRange() || nest.getVectorAxis() != 0)
        return {};
      found = nest;
    } else if (!isPure(&op)) {
      return {};
    }
  }
  return found;
}

namespace {
class Delayer {
public:
  explicit Delayer(tile::FuncOp func)
      : func(func), entry(func.getBody().front()), builder(func.getContext()) {}

  std::optional<DelayedStores> run();

private:
  bool find();
  bool isInvariant(Value value);
  bool takeBefore(Value value);
  bool takeOperands(Operation *op);

  tile::FuncOp func;
  Block &entry;
  OpBuilder builder;
  tile::ForOp rest;
  tile::NestOp keepsNest, storesNest;
  IRMapping map; // to the program before
  DelayedStores result;
};
} // namespace

bool Delayer::find() {
  if (func.walk([](Operation *op) {
            return isa<tile::AssertOp, tile::AtomicOp, tile::PrintOp>(op) ||
                           (isa<tile::AllocOp>(op) &&
                            !op->hasAttr("tile.twice"))
                       ? WalkResult::interrupt()
                       : WalkResult::advance();
          })
          .wasInterrupted())
    return false;
  Operation *last = entry.getTerminator()->getPrevNode();
  if (isRest(last)) {
    rest = dyn_cast<tile::ForOp>(last);
    last = last->getPrevNode();
  }
  result.stores = dyn_cast_or_null<tile::ForOp>(last);
  if (!result.stores || isRest(last) || result.stores->getNumResults() != 0 ||
      (rest && rest->getNumResults() != 0))
    return false;
  storesNest = nestOf(result.stores);
  if (!storesNest)
    return false;
  bool streams = false;
  llvm::SmallDenseSet<Value> kept;
  for (Operation &op : storesNest.getBody().front()) {
    if (auto store = dyn_cast<tile::StoreOp>(op))
      streams |= isStreaming(store);
    else if (auto load = dyn_cast<tile::LocalLoadOp>(op))
      kept.insert(load.getBuffer());
    else if (isa<tile::ReduceOp, tile::LocalStoreOp>(op))
      return false;
  }
  if (!streams)
    return false;
  for (auto loop : entry.getOps<tile::ForOp>()) {
    if (loop == result.stores || isRest(loop))
      continue;
    tile::NestOp nest = nestOf(loop);
    if (!nest || loop.getSize() != result.stores.getSize())
      continue;
    bool keeps = llvm::any_of(nest.getBody().getOps<tile::LocalStoreOp>(),
                              [&](tile::LocalStoreOp store) {
                                return kept.contains(store.getBuffer());
                              });
    // Without anything kept: the first to read the row.
    if (keeps || (kept.empty() && !result.keeps)) {
      result.keeps = loop;
      keepsNest = nest;
    }
  }
  return bool(result.keeps);
}

/// Does every program compute the same?
bool Delayer::isInvariant(Value value) {
  Operation *op = value.getDefiningOp();
  return !op || isa<tile::DimOp>(op) ||
         (isa<arith::ArithDialect>(op->getDialect()) &&
          llvm::all_of(op->getOperands(),
                       [&](Value operand) { return isInvariant(operand); }));
}

/// Maps `value`, of the kernel's own block, to what it is one program before.
bool Delayer::takeBefore(Value value) {
  Operation *op = value.getDefiningOp();
  if (map.contains(value) || !op)
    return true;
  if (isa<tile::AllocOp>(op)) {
    result.rows.push_back({value, builder.clone(*op)->getResult(0)});
    map.map(value, result.rows.back().second);
    return true;
  }
  if (isa<tile::ProgramOp>(op) || isInvariant(value)) {
    for (Value operand : op->getOperands())
      if (!takeBefore(operand))
        return false;
    result.again.push_back(builder.clone(*op, map));
    return true;
  }
  if (!value.getType().isIntOrIndexOrFloat())
    return false;
  result.carried.push_back(
      {value, entry.addArgument(value.getType(), value.getLoc())});
  map.map(value, result.carried.back().second);
  return true;
}

bool Delayer::takeOperands(Operation *op) {
  return !op->walk([&](Operation *inner) {
              for (Value operand : inner->getOperands())
                if (operand.getParentBlock() == &entry && !takeBefore(operand))
                  return WalkResult::interrupt();
              return WalkResult::advance();
            }).wasInterrupted();
}

std::optional<DelayedStores> Delayer::run() {
  if (!find())
    return std::nullopt;
  builder.setInsertionPoint(entry.getTerminator());
  Operation *last = entry.getTerminator()->getPrevNode();
  unsigned arguments = entry.getNumArguments();
  if (!takeOperands(result.stores) || (rest && !takeOperands(rest))) {
    while (entry.getTerminator()->getPrevNode() != last)
      entry.getTerminator()->getPrevNode()->erase();
    entry.eraseArguments(arguments, entry.getNumArguments() - arguments);
    return std::nullopt;
  }
  result.before = cast<tile::ForOp>(builder.clone(*result.stores, map));
  IRMapping here;
  result.both = cast<tile::ForOp>(builder.clone(*result.keeps, here));
  auto nest = cast<tile::NestOp>(here.lookup(keepsNest.getOperation()));
  map.map(result.stores.getRange(), result.both.getRange());
  builder.setInsertionPoint(nest);
  for (Operation &op : result.stores.getBody().front().without_terminator())
    if (&op != storesNest)
      builder.clone(op, map);
  builder.setInsertionPoint(nest.getBody().front().getTerminator());
  for (Operation &op : storesNest.getBody().front().without_terminator())
    if (Operation *copy = builder.clone(op, map); isa<tile::LoadOp>(copy))
      copy->setAttr(kBefore, builder.getUnitAttr());
  for (tile::ForOp loop : {result.keeps, result.stores, result.before})
    loop->setAttr(kBefore, builder.getUnitAttr());
  builder.setInsertionPoint(entry.getTerminator());
  if (rest)
    result.restOfBefore = cast<tile::ForOp>(builder.clone(*rest, map));
  return result;
}

std::optional<DelayedStores> target::delayStores(tile::FuncOp func) {
  return Delayer(func).run();
}
