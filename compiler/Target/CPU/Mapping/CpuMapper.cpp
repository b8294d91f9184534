//===- CpuMapper.cpp - Nests: opening, merging, filling -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/Mapping/CpuMapper.h"

#include "compiler/Support/Architectures/X86.h"
#include "compiler/Target/CPU/Mapping/KeepRows.h"
#include "compiler/Tile/IR/CpuBuffer.h"
#include "compiler/Tile/IR/IndexBounds.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;
using namespace tessera::tile;

CpuMapper::CpuMapper(FuncOp func, const CpuMapperOptions &options)
    : func(func), options(options), ranges(func), plan(func),
      builder(func.getContext()) {}

LogicalResult CpuMapper::run() {
  OwningOpRef<FuncOp> mapped = cast<FuncOp>(func->cloneWithoutRegions());
  Block *entry = &mapped->getBody().emplaceBlock();
  for (BlockArgument argument : func.getBody().getArguments())
    scalars.map(argument,
                entry->addArgument(argument.getType(), argument.getLoc()));
  builder.setInsertionPointToStart(entry);
  // Constants and whole ranges stand before this marker.
  entryPoint = arith::ConstantIndexOp::create(builder, func.getLoc(), 0);
  emitBlock(func.getBody().front());
  closeNest();
  ReturnOp::create(builder, func.getLoc());
  if (failed)
    return failure();
  if (entryPoint->use_empty())
    entryPoint->erase();
  func.getBody().takeBody(mapped->getBody());
  func.walk([&](NestOp nest) { scheduleNest(nest); });
  return success();
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

/// The one range (of the new function) that stands for these bounds.
Value CpuMapper::axisRange(ArrayRef<Value> bounds, int64_t size) {
  MLIRContext *context = builder.getContext();
  Location loc = func.getLoc();
  if (bounds.size() == 1)
    return scalars.lookup(bounds[0]);
  if (bounds.empty()) {
    Value &full = fullRanges[size];
    if (!full) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointAfter(entryPoint);
      Value extent = arith::ConstantIndexOp::create(builder, loc, size);
      full = RangeAtOp::create(builder, loc, RangeType::get(context, size),
                               entryPoint->getResult(0), extent);
    }
    return full;
  }
  Value extent;
  for (Value bound : bounds) {
    Value range = scalars.lookup(bound);
    Value length = arith::SubIOp::create(
        builder, loc,
        RangeStopOp::create(builder, loc, builder.getIndexType(), range),
        RangeStartOp::create(builder, loc, builder.getIndexType(), range));
    extent = extent
                 ? Value(arith::MinSIOp::create(builder, loc, extent, length))
                 : length;
  }
  return RangeAtOp::create(builder, loc, RangeType::get(context, size),
                           entryPoint->getResult(0), extent);
}

SmallVector<Value> CpuMapper::axesOf(Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  SmallVector<Value> axes;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    axes.push_back(axisRange(ranges.get(tile, axis), type.getDimSize(axis)));
  return axes;
}

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

CpuMapper::Accesses CpuMapper::collect(ArrayRef<Value> roots) const {
  Accesses result;
  // Each value once: the paths to it may double with every operation.
  SetVector<std::pair<Value, unsigned>> worklist; // and whether it is aligned
  for (Value root : roots)
    worklist.insert({root, 1});
  for (size_t next = 0; next < worklist.size(); ++next) {
    auto [value, aligned] = worklist[next];
    if (!isTile(value)) {
      result.scalars.push_back(value);
      continue;
    }
    if (buffers.count(value)) {
      result.tiles.push_back({value, aligned});
      continue;
    }
    Operation *op = value.getDefiningOp();
    auto load = dyn_cast<LoadOp>(op);
    if (load)
      result.loads.push_back(load);
    for (Value operand : load ? load.getIndices() : op->getOperands())
      worklist.insert({operand, aligned && CpuMaterialise::isElementwise(op)});
    if (load && load.getMask())
      worklist.insert({load.getMask(), aligned});
  }
  return result;
}

/// Two numbers along one axis that are never equal: no element is common.
static bool areApart(StoreOp a, StoreOp b) {
  return llvm::any_of(llvm::zip(a.getIndices(), b.getIndices()), [](auto pair) {
    return alwaysDiffer(std::get<0>(pair), std::get<1>(pair));
  });
}

bool CpuMapper::canMerge(Root &root, ArrayRef<Value> axes,
                         const Accesses &accesses) {
  if (!open || open->closed || root.alone ||
      !llvm::equal(open->nest.getAxes(), axes))
    return false;
  // Scalars that leave the nest are not there inside it.
  if (!open->nest->use_empty() ||
      llvm::any_of(accesses.scalars, [&](Value scalar) {
        return scalars.lookup(scalar).getDefiningOp() == open->nest;
      }))
    return false;
  if (root.reduceAxis >= 0 && open->reduceAxis >= 0 &&
      root.reduceAxis != open->reduceAxis)
    return false;
  for (auto [tile, aligned] : accesses.tiles) {
    bool inNest = open->written.contains(buffers.lookup(tile));
    if (inNest && !(aligned && open->tiles.contains(tile)))
      return false;
    if (root.buffer && buffers.lookup(tile) == root.buffer && !aligned)
      return false;
  }
  for (LoadOp load : accesses.loads)
    if (open->viewsStored.contains(load.getView()))
      return false;
  if (root.buffer && (open->written.contains(root.buffer) ||
                      open->readAcross.contains(root.buffer)))
    return false;
  if (root.store) {
    for (StoreOp other : open->stores)
      if (other.getView() == root.store.getView() &&
          !areApart(other, root.store))
        return false;
    for (LoadOp load : open->loads)
      if (load.getView() == root.store.getView() &&
          !llvm::equal(load.getIndices(), root.store.getIndices()))
        return false;
  }
  return true;
}

void CpuMapper::openNest(Root &root, ArrayRef<Value> axes, Location loc) {
  Accesses accesses = collect(root.tiles);
  if (canMerge(root, axes, accesses)) {
    // Only pure scalar ops stand between; none of them uses the nest.
    Block *block = builder.getInsertionBlock();
    open->nest->moveBefore(block, builder.getInsertionPoint());
  } else {
    closeNest();
    open.emplace();
    open->nest = NestOp::create(builder, loc, TypeRange(), axes,
                                /*vector_axis=*/-1, /*unroll=*/1);
    open->nest.getBody().emplaceBlock();
    NestOp::ensureTerminator(open->nest.getBody(), builder, loc);
    open->closed = root.alone;
  }
  for (auto [tile, aligned] : accesses.tiles)
    if (!aligned)
      open->readAcross.insert(buffers.lookup(tile));
  llvm::append_range(open->loads, accesses.loads);
  if (root.reduceAxis >= 0)
    open->reduceAxis = root.reduceAxis;
  if (root.buffer)
    open->written.insert(root.buffer);
  if (root.store) {
    open->viewsStored.insert(root.store.getView());
    open->stores.push_back(root.store);
  }
}

void CpuMapper::closeNest() { open.reset(); }

/// The tile inside the open nest: what it is computed from, cloned.
Value CpuMapper::cloneTile(Value tile) {
  if (Value known = open->tiles.lookupOrNull(tile))
    return known;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(open->nest.getBody().front().getTerminator());
  if (Value buffer = buffers.lookup(tile)) {
    Value loaded = LocalLoadOp::create(builder, tile.getLoc(), tile.getType(),
                                       buffer, slots.lookup(tile));
    open->tiles.map(tile, loaded);
    return loaded;
  }
  Operation *op = tile.getDefiningOp();
  IRMapping local;
  for (Value operand : op->getOperands())
    local.map(operand,
              isTile(operand) ? cloneTile(operand) : scalars.lookup(operand));
  builder.setInsertionPoint(open->nest.getBody().front().getTerminator());
  Operation *cloned = builder.clone(*op, local);
  open->tiles.map(tile, cloned->getResult(0));
  return cloned->getResult(0);
}

/// One pass over the tile that leaves it in `buffer`, widened if asked.
void CpuMapper::storeTo(Value tile, Value buffer, Type widenTo) {
  Root root;
  root.tiles = {tile};
  root.buffer = buffer;
  auto type = cast<RankedTensorType>(tile.getType());
  BufferType plain = CpuBuffer::rows(widenTo ? type.clone(widenTo) : type,
                                     options.vectorBytes);
  // Packing has loops of its own, but for rows of AMX tiles.
  root.alone = buffer.getType() != plain &&
               (widenTo || type.getRank() != 2 ||
                buffer.getType() != CpuBuffer::amxLhs(type));
  openNest(root, axesOf(tile), tile.getLoc());
  Value value = cloneTile(tile);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(open->nest.getBody().front().getTerminator());
  if (widenTo) {
    Type wide = cast<RankedTensorType>(tile.getType()).clone(widenTo);
    if (isa<FloatType>(widenTo))
      value = arith::ExtFOp::create(builder, tile.getLoc(), wide, value);
    else
      value = arith::ExtSIOp::create(builder, tile.getLoc(), wide, value);
  }
  LocalStoreOp::create(builder, tile.getLoc(), value, buffer, Value());
}

Value CpuMapper::allocate(BufferType type, Location loc) {
  return AllocOp::create(builder, loc, type);
}

/// A row has a slot per turn of the loops that write and read it.
void CpuMapper::emitKept(Value tile) {
  Operation *op = tile.getDefiningOp();
  Location loc = tile.getLoc();
  auto loop = cast<ForOp>(op->getParentOp());
  bool keeps = op->hasAttr(kKeep);
  auto number = op->getAttrOfType<IntegerAttr>(keeps ? kKeep : kKept);
  auto type = cast<RankedTensorType>(tile.getType());
  Value &buffer = keptRows[number.getInt()];
  if (!buffer) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfter(entryPoint);
    auto row = RankedTensorType::get(
        {x86::keptElements / loop.getSize(), loop.getSize()},
        type.getElementType());
    buffer = allocate(CpuBuffer::rows(row, options.vectorBytes, false), loc);
  }
  Value start = RangeStartOp::create(builder, loc, builder.getIndexType(),
                                     scalars.lookup(loop.getRange()));
  Value size = arith::ConstantIndexOp::create(builder, loc, loop.getSize());
  Value slot = arith::DivUIOp::create(builder, loc, start, size);
  if (keeps) {
    Root root;
    root.tiles = {tile};
    root.buffer = buffer;
    openNest(root, axesOf(tile), loc);
    Value value = cloneTile(tile);
    value.getDefiningOp()->removeAttr(kKeep);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(open->nest.getBody().front().getTerminator());
    LocalStoreOp::create(builder, loc, value, buffer, slot);
  }
  buffers[tile] = buffer;
  slots[tile] = slot;
}

//===----------------------------------------------------------------------===//
// Buffers of carried tiles
//===----------------------------------------------------------------------===//

/// If `tile` is yielded to a loop and everyone who reads the loop's previous
/// value does so before (or at the same element of the same nest), the loop's
/// own buffer: the update then happens in place.
Value CpuMapper::inPlaceBuffer(Value tile) {
  Operation *def = tile.getDefiningOp();
  Operation *terminator = def->getBlock()->getTerminator();
  auto targets = yieldTargets.find(def->getBlock());
  if (targets == yieldTargets.end())
    return {};
  // scf.condition has its flag in front.
  unsigned skip = isa<scf::ConditionOp>(terminator) ? 1 : 0;
  Value found;
  for (auto [i, operand] :
       llvm::enumerate(terminator->getOperands().drop_front(skip))) {
    if (operand != tile)
      continue;
    if (found)
      return {};
    found = targets->second[i];
  }
  if (!found)
    return {};
  for (BlockArgument argument : def->getBlock()->getArguments()) {
    if (!isTile(argument) || buffers.lookup(argument) != found)
      continue;
    for (auto reader : plan.readers(argument))
      if (!(plan.position(reader.op) < plan.position(def) ||
            (reader.op == def && reader.aligned)))
        return {};
  }
  return found;
}

Value CpuMapper::chooseBuffer(Value tile) {
  if (tile.getDefiningOp())
    if (Value buffer = inPlaceBuffer(tile))
      return buffer;
  return allocate(CpuBuffer::rows(cast<RankedTensorType>(tile.getType()),
                                  options.vectorBytes),
                  tile.getLoc());
}

/// A loop may work in the buffer of its initial value if nobody reads that
/// afterwards, and it is computed anew before the loop runs again.
bool CpuMapper::canTakeOver(Value init, Operation *loop) {
  if (!buffers.count(init) || init.getParentBlock() != loop->getBlock())
    return false;
  if (llvm::count(loop->getOperands(), init) != 1)
    return false;
  // The loop itself reads it once, as its operand, and nowhere inside.
  return llvm::count_if(plan.readers(init), [&](auto reader) {
           return plan.position(reader.op) >= plan.position(loop);
         }) == 1;
}

void CpuMapper::carryIn(Operation *loop, ValueRange inits, ValueRange arguments,
                        ValueRange results,
                        SmallVectorImpl<Value> &scalarInits) {
  for (auto [i, init] : llvm::enumerate(inits)) {
    if (!isTile(init)) {
      scalarInits.push_back(scalars.lookup(init));
      continue;
    }
    Value buffer;
    if (canTakeOver(init, loop)) {
      buffer = buffers.lookup(init);
    } else {
      buffer = results.empty() ? Value() : inPlaceBuffer(results[i]);
      // Other initial values may still be read from there.
      if (!buffer || llvm::any_of(inits, [&](Value other) {
            return isTile(other) && buffers.lookup(other) == buffer;
          }))
        buffer =
            allocate(CpuBuffer::rows(cast<RankedTensorType>(init.getType()),
                                     options.vectorBytes),
                     init.getLoc());
      storeTo(init, buffer);
    }
    buffers[arguments[i]] = buffer;
  }
}

SmallVector<Value> CpuMapper::carryOut(ValueRange values, ValueRange targets) {
  SmallVector<Value> scalarValues;
  SmallVector<std::pair<Value, Value>> pending; // tile, target buffer
  for (auto [value, target] : llvm::zip(values, targets)) {
    if (!isTile(value))
      scalarValues.push_back(scalars.lookup(value));
    else if (buffers.lookup(value) != target)
      pending.push_back({value, target});
  }
  auto reads = [&](Value tile, Value buffer, bool sameElementToo) {
    return llvm::any_of(collect(tile).tiles, [&](auto access) {
      return buffers.lookup(access.first) == buffer &&
             (sameElementToo || !access.second);
    });
  };
  // A buffer is written when no value still to come reads it; a cycle (two
  // tiles that change places) is cut by a copy.
  while (!pending.empty()) {
    auto *next = llvm::find_if(pending, [&](auto &one) {
      return !reads(one.first, one.second, false) &&
             llvm::none_of(pending, [&](auto &other) {
               return &other != &one && reads(other.first, one.second, true);
             });
    });
    if (next != pending.end()) {
      storeTo(next->first, next->second);
      pending.erase(next);
      continue;
    }
    Value copy = allocate(
        CpuBuffer::rows(cast<RankedTensorType>(pending[0].first.getType()),
                        options.vectorBytes),
        pending[0].first.getLoc());
    storeTo(pending[0].first, copy);
    buffers[pending[0].first] = copy;
  }
  closeNest();
  return scalarValues;
}
