//===- RowStores.cpp - Kernels that write a row at their end --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/Mapping/RowStores.h"

#include "compiler/Tile/IR/CpuBuffer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

bool tessera::cpu::isRest(Operation *op) {
  auto loop = dyn_cast_or_null<tile::ForOp>(op);
  return loop && loop.getRest();
}

tile::NestOp tessera::cpu::nestOfRow(tile::ForOp loop) {
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

/// A buffer with a slot for each turn of the loops over a row.
static bool keepsRow(tile::AllocOp alloc) {
  return llvm::all_of(alloc->getUsers(), [](Operation *user) {
    auto load = dyn_cast<tile::LocalLoadOp>(user);
    auto store = dyn_cast<tile::LocalStoreOp>(user);
    return load ? bool(load.getSlot()) : store && store.getSlot();
  });
}

std::optional<RowStores> RowStores::find(Block &body) {
  auto func = dyn_cast<tile::FuncOp>(body.getParentOp());
  if (!func)
    func = body.getParentOp()->getParentOfType<tile::FuncOp>();
  bool other =
      func.walk([](Operation *op) {
            auto alloc = dyn_cast<tile::AllocOp>(op);
            return isa<tile::AssertOp, tile::AtomicOp, tile::PrintOp>(op) ||
                           (alloc && !keepsRow(alloc))
                       ? WalkResult::interrupt()
                       : WalkResult::advance();
          })
          .wasInterrupted();
  if (other)
    return std::nullopt;
  RowStores row;
  row.body = &body;
  Operation *last = body.getTerminator()->getPrevNode();
  if (isRest(last)) {
    row.rest = cast<tile::ForOp>(last);
    last = last->getPrevNode();
  }
  row.stores = dyn_cast_or_null<tile::ForOp>(last);
  if (!row.stores || isRest(last) || row.stores->getNumResults() != 0 ||
      (row.rest && row.rest->getNumResults() != 0) ||
      !(row.nest = nestOfRow(row.stores)))
    return std::nullopt;
  bool streams = false;
  for (Operation &op : row.nest.getBody().front()) {
    if (auto store = dyn_cast<tile::StoreOp>(op))
      streams |= isStreaming(store);
    else if (auto load = dyn_cast<tile::LocalLoadOp>(op))
      row.kept.insert(load.getBuffer());
    else if (isa<tile::ReduceOp, tile::LocalStoreOp>(op))
      return std::nullopt;
  }
  return streams ? std::optional(row) : std::nullopt;
}

int64_t RowStores::passes() {
  return llvm::count_if(body->getOps<tile::ForOp>(), [&](tile::ForOp loop) {
    return loop != stores && !isRest(loop);
  });
}

int64_t RowStores::rowBytes() {
  int64_t bytes = 0;
  for (auto load : nest.getBody().front().getOps<tile::LoadOp>())
    if (llvm::any_of(load.getIndices(), [](Value index) {
          return index.getDefiningOp<tile::ProgramOp>();
        }))
      bytes += tile::scratchBytesOf(
          cast<MemRefType>(load.getView().getType()).getElementType());
  return bytes;
}

bool RowStores::mayBatch() {
  auto stop = stores->getOperand(1);
  return kept.empty() && !rest && stores.getStop().getParentBlock() != body &&
         passes() >= 2 && carried();
}

std::optional<llvm::SmallSetVector<Value, 4>> RowStores::carried() {
  llvm::SmallSetVector<Value, 4> scalars;
  for (tile::ForOp loop : {stores, rest}) {
    if (!loop)
      continue;
    WalkResult read = loop->walk([&](Operation *op) {
      for (Value operand : op->getOperands()) {
        if (operand.getParentBlock() != body ||
            operand.getDefiningOp<tile::ProgramOp>())
          continue;
        if (!operand.getType().isIntOrIndexOrFloat())
          return WalkResult::interrupt();
        scalars.insert(operand);
      }
      return WalkResult::advance();
    });
    if (read.wasInterrupted())
      return std::nullopt;
  }
  return scalars;
}

tile::ForOp RowStores::findKeeps() {
  tile::ForOp found;
  for (auto loop : body->getOps<tile::ForOp>()) {
    if (loop == stores || isRest(loop))
      continue;
    tile::NestOp inside = nestOfRow(loop);
    if (!inside || loop.getSize() != stores.getSize())
      continue;
    bool keeps = llvm::any_of(inside.getBody().getOps<tile::LocalStoreOp>(),
                              [&](tile::LocalStoreOp store) {
                                return kept.contains(store.getBuffer());
                              });
    if (kept.empty() ? !found : keeps)
      found = loop;
  }
  return found;
}

SmallVector<ProgramLoop> tessera::cpu::programLoopsOf(tile::FuncOp func) {
  SmallVector<ProgramLoop> found;
  func.walk([&](scf::ForOp loop) {
    auto chunk = loop.getLowerBound().getDefiningOp<tile::ChunkOp>();
    if (chunk && loop.getLowerBound() == chunk.getBegin() &&
        loop.getUpperBound() == chunk.getEnd() &&
        matchPattern(loop.getStep(), m_One()) && loop.getInitArgs().empty())
      found.push_back({loop, chunk});
  });
  return found;
}

scf::ForOp tessera::cpu::loopCarrying(OpBuilder &builder, Location loc,
                                      Value begin, Value end, Value step,
                                      ArrayRef<Value> scalars,
                                      int64_t programs) {
  SmallVector<Value> zeros;
  for (int64_t program = 0; program < programs; ++program)
    for (Value scalar : scalars)
      zeros.push_back(arith::ConstantOp::create(
          builder, loc, builder.getZeroAttr(scalar.getType())));
  auto emptyTurn = [](OpBuilder &, Location, Value, ValueRange) {};
  return scf::ForOp::create(builder, loc, begin, end, step, zeros, emptyTurn);
}

void tessera::cpu::addProgram(OpBuilder &builder, Block &body, Value number,
                              IRMapping &map) {
  map.map(body.getArgument(0), number);
  for (auto program : body.getOps<tile::ProgramOp>())
    builder.clone(*program, map);
}

void tessera::cpu::addStores(RowStores &row, tile::NestOp nest, IRMapping &map,
                             const IRMapping &like) {
  OpBuilder builder(nest);
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
  for (Operation &op : row.stores.getBody().front().without_terminator())
    if (&op != row.nest)
      add(op);
  builder.setInsertionPoint(nest.getBody().front().getTerminator());
  for (Operation &op : row.nest.getBody().front().without_terminator())
    add(op);
}

void tessera::cpu::setPrefetch(Operation *op, int64_t programs) {
  op->walk([&](tile::LoadOp load) {
    if (!load.getPrefetch())
      return;
    if (programs)
      load.setPrefetch(programs);
    else
      load.removePrefetchAttr();
  });
}
