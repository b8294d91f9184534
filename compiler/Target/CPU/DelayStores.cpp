//===- DelayStores.cpp - Results of rows beside other rows ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/DelayStores.h"

#include "compiler/Target/CPU/CpuLowering.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

static bool isRest(Operation *op) {
  auto loop = dyn_cast_or_null<tile::ForOp>(op);
  return loop && loop.getRest();
}

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
/// The loop at a kernel's end that writes a row, and what it is made of.
class RowEnd {
public:
  explicit RowEnd(tile::FuncOp func)
      : func(func), entry(func.getBody().front()), builder(func.getContext()) {}

  bool find();
  /// Are results made of what was kept of the row?
  bool keepsRow() const { return !kept.empty(); }
  /// Loops over the row before the one that writes it.
  int64_t passes();
  std::optional<DelayedStores> delay();
  std::optional<StoresTogether> together();

private:
  tile::ForOp findKeeps(tile::NestOp &nest);
  bool isInvariant(Value value);
  bool takeValue(Value value, OtherProgram &other);
  bool takeOperands(Operation *op, OtherProgram &other);
  void addStores(tile::NestOp nest, IRMapping &map, const IRMapping &like);
  /// Without what was added, which began after `last`.
  std::nullopt_t undo(Operation *last, unsigned arguments);

  tile::FuncOp func;
  Block &entry;
  OpBuilder builder;
  tile::ForOp stores, rest;
  tile::NestOp storesNest;
  llvm::SmallDenseSet<Value> kept; // buffers that `stores` reads
  SmallVector<Operation *> shared;
  IRMapping sharedMap; // of what is the same for all programs
};
} // namespace

bool RowEnd::find() {
  if (func.walk([](Operation *op) {
            auto alloc = dyn_cast<tile::AllocOp>(op);
            return isa<tile::AssertOp, tile::AtomicOp, tile::PrintOp>(op) ||
                           (alloc && !alloc.getTwice())
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
  stores = dyn_cast_or_null<tile::ForOp>(last);
  if (!stores || isRest(last) || stores->getNumResults() != 0 ||
      (rest && rest->getNumResults() != 0))
    return false;
  storesNest = nestOf(stores);
  if (!storesNest)
    return false;
  bool streams = false;
  for (Operation &op : storesNest.getBody().front()) {
    if (auto store = dyn_cast<tile::StoreOp>(op))
      streams |= isStreaming(store);
    else if (auto load = dyn_cast<tile::LocalLoadOp>(op))
      kept.insert(load.getBuffer());
    else if (isa<tile::ReduceOp, tile::LocalStoreOp>(op))
      return false;
  }
  return streams;
}

int64_t RowEnd::passes() {
  return llvm::count_if(entry.getOps<tile::ForOp>(), [&](tile::ForOp loop) {
    return loop != stores && !isRest(loop);
  });
}

/// The loop that writes what the results are made of, and its nest. Without
/// anything kept: the first to read the row.
tile::ForOp RowEnd::findKeeps(tile::NestOp &nest) {
  tile::ForOp found;
  for (auto loop : entry.getOps<tile::ForOp>()) {
    if (loop == stores || isRest(loop))
      continue;
    tile::NestOp inside = nestOf(loop);
    if (inside && loop.getSize() == stores.getSize() &&
        (kept.empty()
             ? !found
             : llvm::any_of(inside.getBody().getOps<tile::LocalStoreOp>(),
                            [&](tile::LocalStoreOp store) {
                              return kept.contains(store.getBuffer());
                            }))) {
      found = loop;
      nest = inside;
    }
  }
  return found;
}

/// Does every program compute the same?
bool RowEnd::isInvariant(Value value) {
  SetVector<Value> worklist;
  worklist.insert(value);
  for (size_t next = 0; next < worklist.size(); ++next) {
    Operation *op = worklist[next].getDefiningOp();
    if (!op || isa<tile::DimOp>(op))
      continue;
    if (!isa<arith::ArithDialect>(op->getDialect()))
      return false;
    worklist.insert_range(op->getOperands());
  }
  return true;
}

/// Maps `value`, of the kernel's own block, to what it is in another program.
bool RowEnd::takeValue(Value value, OtherProgram &other) {
  Operation *op = value.getDefiningOp();
  if (other.map.contains(value) || !op)
    return true;
  if (isa<tile::AllocOp>(op)) {
    other.rows.push_back({value, builder.clone(*op)->getResult(0)});
    other.map.map(value, other.rows.back().second);
    return true;
  }
  bool invariant = isInvariant(value);
  if (invariant || isa<tile::ProgramOp>(op)) {
    for (Value operand : op->getOperands())
      if (!takeValue(operand, other))
        return false;
    if (!invariant) {
      other.again.push_back(builder.clone(*op, other.map));
      return true;
    }
    if (!sharedMap.contains(value))
      shared.push_back(builder.clone(*op, sharedMap));
    other.map.map(value, sharedMap.lookup(value));
    return true;
  }
  if (!value.getType().isIntOrIndexOrFloat())
    return false;
  other.carried.push_back(
      {value, entry.addArgument(value.getType(), value.getLoc())});
  other.map.map(value, other.carried.back().second);
  return true;
}

bool RowEnd::takeOperands(Operation *op, OtherProgram &other) {
  return !op->walk([&](Operation *inner) {
              for (Value operand : inner->getOperands())
                if (operand.getParentBlock() == &entry &&
                    !takeValue(operand, other))
                  return WalkResult::interrupt();
              return WalkResult::advance();
            }).wasInterrupted();
}

std::nullopt_t RowEnd::undo(Operation *last, unsigned arguments) {
  while (entry.getTerminator()->getPrevNode() != last)
    entry.getTerminator()->getPrevNode()->erase();
  entry.eraseArguments(arguments, entry.getNumArguments() - arguments);
  shared.clear();
  sharedMap.clear();
  return std::nullopt;
}

/// Adds to `nest` and its loop what `stores` does, by `map`; what is the same
/// by `like`, once.
void RowEnd::addStores(tile::NestOp nest, IRMapping &map,
                       const IRMapping &like) {
  auto add = [&](Operation &op) {
    bool same = llvm::all_of(op.getOperands(), [&](Value operand) {
      return like.lookupOrDefault(operand) == map.lookupOrDefault(operand);
    });
    if (same && op.getNumRegions() == 0 && op.getNumResults() == 1 &&
        like.contains(op.getResult(0)))
      map.map(op.getResult(0), like.lookup(op.getResult(0)));
    else
      builder.clone(op, map);
  };
  builder.setInsertionPoint(nest);
  for (Operation &op : stores.getBody().front().without_terminator())
    if (&op != storesNest)
      add(op);
  builder.setInsertionPoint(nest.getBody().front().getTerminator());
  for (Operation &op : storesNest.getBody().front().without_terminator())
    add(op);
}

std::optional<DelayedStores> RowEnd::delay() {
  DelayedStores result;
  tile::NestOp keepsNest;
  if (!(result.keeps = findKeeps(keepsNest)))
    return std::nullopt;
  result.stores = stores;
  builder.setInsertionPoint(entry.getTerminator());
  Operation *last = entry.getTerminator()->getPrevNode();
  unsigned arguments = entry.getNumArguments();
  OtherProgram &before = result.earlier;
  if (!takeOperands(stores, before) || (rest && !takeOperands(rest, before)))
    return undo(last, arguments);
  before.again.insert(before.again.begin(), shared.begin(), shared.end());
  result.before = cast<tile::ForOp>(builder.clone(*stores, before.map));
  IRMapping here, map = before.map;
  result.both = cast<tile::ForOp>(builder.clone(*result.keeps, here));
  auto nest = cast<tile::NestOp>(here.lookup(keepsNest.getOperation()));
  map.map(stores.getRange(), result.both.getRange());
  Operation *end = nest.getBody().front().getTerminator()->getPrevNode();
  addStores(nest, map, /*like=*/{});
  for (Operation *op = end->getNextNode(); op; op = op->getNextNode())
    if (isa<tile::LoadOp>(op))
      op->setAttr(kBefore, builder.getUnitAttr());
  result.before->setAttr(kBefore, builder.getUnitAttr());
  builder.setInsertionPoint(entry.getTerminator());
  if (rest)
    result.restOfBefore = cast<tile::ForOp>(builder.clone(*rest, before.map));
  return result;
}

std::optional<StoresTogether> RowEnd::together() {
  constexpr int64_t programs = 4;
  if (!kept.empty() || rest || !isInvariant(stores.getStop()) || passes() < 2)
    return std::nullopt;
  StoresTogether result{stores};
  for (auto load : storesNest.getBody().getOps<tile::LoadOp>())
    if (llvm::any_of(load.getIndices(), [](Value index) {
          return index.getDefiningOp<tile::ProgramOp>();
        }))
      result.rowBytes += tile::scratchBytesOf(
          cast<MemRefType>(load.getView().getType()).getElementType());
  builder.setInsertionPoint(entry.getTerminator());
  Operation *last = entry.getTerminator()->getPrevNode();
  unsigned arguments = entry.getNumArguments();
  result.programs.resize(programs);
  for (OtherProgram &program : result.programs)
    if (!takeOperands(stores, program))
      return undo(last, arguments);
  result.shared = shared;
  IRMapping &first = result.programs.front().map;
  result.together = cast<tile::ForOp>(builder.clone(*stores, first));
  result.together->setAttr(kTogether, builder.getI64IntegerAttr(programs));
  auto nest = cast<tile::NestOp>(first.lookup(storesNest.getOperation()));
  for (OtherProgram &program : llvm::drop_begin(result.programs)) {
    program.map.map(stores.getRange(), result.together.getRange());
    addStores(nest, program.map, first);
  }
  return result;
}

StoresOfRows target::findStoresOfRows(tile::FuncOp func) {
  StoresOfRows result;
  RowEnd end(func);
  if (!end.find())
    return result;
  bool fewPasses = end.keepsRow() || end.passes() < 2;
  result.together = end.together();
  // bf16 is slower beside the next row at every length.
  if (result.together ? result.together->rowBytes >= 4 : fewPasses)
    result.delayed = end.delay();
  return result;
}
