//===- MapToNests.cpp - cpu-map-to-nests: the roots of a program
//-------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/Mapping/CpuMapper.h"
#include "compiler/Target/CPU/Mapping/KeepRows.h"
#include "compiler/Target/CPU/Mapping/Passes.h"
#include "compiler/Tile/IR/CpuBuffer.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tessera::cpu {
#define GEN_PASS_DEF_MAPTONESTSPASS
#include "compiler/Target/CPU/Mapping/Passes.h.inc"
} // namespace tessera::cpu

using namespace mlir;
using namespace tessera::cpu;
using namespace tessera::tile;

static bool isZero(Value value) {
  if (auto fill = value.getDefiningOp<FillOp>())
    value = fill.getValue();
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

void CpuMapper::emitBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    emitOp(&op);
}

void CpuMapper::emitOp(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ForOp loop) { emitFor(loop); })
      .Case([&](scf::ForOp loop) { emitScfFor(loop); })
      .Case([&](scf::IfOp branch) { emitIf(branch); })
      .Case([&](scf::WhileOp loop) { emitWhile(loop); })
      .Case([&](ReduceOp reduce) { emitReduce(reduce); })
      .Case([&](MmaOp mma) { emitMma(mma); })
      .Case([&](FilledOp filled) { emitFilled(filled); })
      .Case<ScanOp, CatOp, ReshapeOp>([&](auto whole) { emitWhole(whole); })
      .Case([&](PrintOp print) { emitPrint(print); })
      .Case<StoreOp, AtomicOp, AssertOp>([&](auto access) {
        if (llvm::any_of(access->getOperands(), isTile))
          emitAccess(access);
        else
          emitScalar(access);
      })
      .Default([&](Operation *other) {
        if (other->getNumResults() == 1 && isTile(other->getResult(0))) {
          Value tile = other->getResult(0);
          if (!plan.isMaterialised(tile))
            return;
          if (other->hasAttr(kKeep) || other->hasAttr(kKept)) {
            emitKept(tile);
            return;
          }
          Value buffer = chooseBuffer(tile);
          storeTo(tile, buffer);
          buffers[tile] = buffer;
          return;
        }
        emitScalar(other);
      });
}

/// Scalars stay as they are.
void CpuMapper::emitScalar(Operation *op) {
  // A number may be read before the nest writes, unless it is written there.
  auto load = dyn_cast<LoadOp>(op);
  bool early = load && open && !open->viewsStored.contains(load.getView());
  if (!isMemoryEffectFree(op) && !early)
    closeNest();
  builder.clone(*op, scalars);
}

/// A print becomes a line in pieces: its beginning, each value, its end. Of a
/// tile, those are its axes and then, in a nest, the elements that exist.
void CpuMapper::emitPrint(PrintOp op) {
  closeNest();
  Location loc = op.getLoc();
  auto piece = [&](PrintPart part, StringRef text, ValueRange values) {
    PrintOp::create(builder, loc, text, values,
                    PrintPartAttr::get(builder.getContext(), part));
  };
  piece(PrintPart::Begin, op.getText(), {});
  for (Value value : op.getValues()) {
    if (!isTile(value)) {
      piece(PrintPart::Value, "", scalars.lookup(value));
      continue;
    }
    SmallVector<Value> axes = axesOf(value);
    piece(PrintPart::Axes, "", axes);
    Root root;
    root.alone = true;
    root.tiles.push_back(value);
    openNest(root, axes, loc);
    Value tile = cloneTile(value);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(open->nest.getBody().front().getTerminator());
      piece(PrintPart::Element, "", tile);
    }
    closeNest();
  }
  piece(PrintPart::End, "", {});
}

/// Stores, atomics and assertions of tiles.
void CpuMapper::emitAccess(Operation *op) {
  Root root;
  root.store = dyn_cast<StoreOp>(op);
  root.alone = !root.store;
  for (Value operand : op->getOperands())
    if (isTile(operand))
      root.tiles.push_back(operand);
  Value value = op->getOperand(0);
  auto type = cast<RankedTensorType>(root.tiles[0].getType());
  SmallVector<SmallVector<Value>> bounds(type.getRank());
  auto bound = [&](int64_t axis, ValueRange more) {
    for (Value range : more)
      if (!llvm::is_contained(bounds[axis], range))
        bounds[axis].push_back(range);
  };
  if (!isTile(value))
    value = root.tiles[0];
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    bound(axis, llvm::to_vector(ranges.get(value, axis)));
  OperandRange indices(nullptr, 0);
  std::optional<ArrayAttr> indexAxes;
  if (auto store = dyn_cast<StoreOp>(op)) {
    indices = store.getIndices();
    indexAxes = store.getIndexAxes();
  } else if (auto atomic = dyn_cast<AtomicOp>(op)) {
    indices = atomic.getIndices();
    indexAxes = atomic.getIndexAxes();
  }
  auto spans = axesOfIndices(indices, indexAxes);
  for (auto [index, span] : llvm::zip(indices, spans))
    for (auto [i, axis] : llvm::enumerate(span)) {
      if (isTile(index))
        bound(axis, llvm::to_vector(ranges.get(index, i)));
      else
        bound(axis, index);
    }
  SmallVector<Value> axes;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    axes.push_back(axisRange(bounds[axis], type.getDimSize(axis)));
  openNest(root, axes, op->getLoc());
  IRMapping local;
  for (Value operand : op->getOperands())
    local.map(operand,
              isTile(operand) ? cloneTile(operand) : scalars.lookup(operand));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(open->nest.getBody().front().getTerminator());
  builder.clone(*op, local);
}

/// The value everywhere, then the tile over it where it exists.
void CpuMapper::emitFilled(FilledOp op) {
  Location loc = op.getLoc();
  RankedTensorType type = op.getInput().getType();
  Value buffer = allocate(CpuBuffer::rows(type, options.vectorBytes), loc);
  bool whole = true;
  SmallVector<Value> axes;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    whole &= ranges.get(op.getInput(), axis).empty();
    axes.push_back(axisRange({}, type.getDimSize(axis)));
  }
  if (!whole) {
    Root root;
    root.buffer = buffer;
    openNest(root, axes, loc);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(open->nest.getBody().front().getTerminator());
    Value fill =
        FillOp::create(builder, loc, type, scalars.lookup(op.getValue()), axes);
    LocalStoreOp::create(builder, loc, fill, buffer, Value());
    closeNest();
  }
  storeTo(op.getInput(), buffer);
  // What lies past the end is real now: vectors must not run over it.
  for (Operation *user : buffer.getUsers())
    if (auto store = dyn_cast<LocalStoreOp>(user); store && !whole)
      store.setKeepRest(true);
  buffers[op.getResult()] = buffer;
  open->tiles.map(op.getResult(), open->tiles.lookup(op.getInput()));
}

/// Scans, concatenations, reshapes: a nest of their own.
void CpuMapper::emitWhole(Operation *op) {
  Value result = op->getResult(0);
  Value buffer = chooseBuffer(result);
  Root root;
  root.buffer = buffer;
  root.alone = true;
  for (Value operand : op->getOperands())
    root.tiles.push_back(operand);
  openNest(root, axesOf(isa<ScanOp>(op) ? op->getOperand(0) : result),
           op->getLoc());
  IRMapping local;
  for (Value operand : op->getOperands())
    local.map(operand, cloneTile(operand));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(open->nest.getBody().front().getTerminator());
  Operation *cloned = builder.clone(*op, local);
  LocalStoreOp::create(builder, op->getLoc(), cloned->getResult(0), buffer,
                       Value());
  buffers[result] = buffer;
}

void CpuMapper::emitReduce(ReduceOp op) {
  Root root;
  root.tiles = {op.getInput()};
  root.reduceAxis = op.getAxis();
  bool isArg =
      op.getKind() == ReduceKind::Argmax || op.getKind() == ReduceKind::Argmin;
  root.alone = isArg;
  if (isTile(op.getResult()))
    root.buffer = chooseBuffer(op.getResult());
  openNest(root, axesOf(op.getInput()), op.getLoc());
  Value input = cloneTile(op.getInput());
  OpBuilder::InsertionGuard guard(builder);
  Operation *terminator = open->nest.getBody().front().getTerminator();
  builder.setInsertionPoint(terminator);
  Value reduced =
      ReduceOp::create(builder, op.getLoc(), op.getResult().getType(),
                       op.getKind(), input, op.getAxis());
  if (root.buffer) {
    LocalStoreOp::create(builder, op.getLoc(), reduced, root.buffer, Value());
    buffers[op.getResult()] = root.buffer;
    return;
  }
  // A scalar leaves the nest: one more result.
  SmallVector<Value> values(terminator->getOperands());
  values.push_back(reduced);
  terminator->setOperands(values);
  SmallVector<Type> types(open->nest->getResultTypes());
  types.push_back(reduced.getType());
  builder.setInsertionPoint(open->nest);
  auto grown =
      NestOp::create(builder, open->nest.getLoc(), types, open->nest.getAxes(),
                     open->nest.getVectorAxis(), open->nest.getUnroll());
  grown.getBody().takeBody(open->nest.getBody());
  // Earlier results keep their numbers.
  for (auto [i, result] : llvm::enumerate(open->nest.getResults())) {
    for (auto &[from, to] : scalars.getValueMap())
      if (to == result)
        scalars.map(from, grown.getResult(i));
    result.replaceAllUsesWith(grown.getResult(i));
  }
  open->nest.erase();
  open->nest = grown;
  scalars.map(op.getResult(), grown.getResults().back());
}

/// The store of a packing nest also writes zeros up to a whole group of
/// `axis`, the summed one: what lies there is multiplied.
static void markZeroPadding(Value buffer, int64_t axis) {
  for (Operation *user : buffer.getUsers())
    if (auto store = dyn_cast<LocalStoreOp>(user))
      store.setZeroPadding(axis);
}

/// The operand in a buffer of `type`, filled where the operand is defined: not
/// again in every turn of a loop that only reads it.
Value CpuMapper::packOnce(Value operand, MmaOp op, BufferType type,
                          Type widen) {
  if (Value known = packedOperands.lookup({operand, type}))
    return known;
  // Both functions have the same nest of regions.
  OpBuilder::InsertionGuard guard(builder);
  Operation *outer = nullptr;
  Block *block = builder.getInsertionBlock();
  for (Block *old = op->getBlock(); old != operand.getParentBlock();
       old = old->getParentOp()->getBlock()) {
    outer = block->getParentOp();
    block = outer->getBlock();
  }
  if (outer) {
    closeNest();
    builder.setInsertionPoint(outer);
  }
  Value buffer = allocate(type, op.getLoc());
  storeTo(operand, buffer, widen);
  if (outer)
    closeNest();
  // A value of this block is computed anew in every turn, but used in it only.
  packedOperands[{operand, type}] = buffer;
  return buffer;
}

/// A load of a matrix that the step can address by itself.
static bool isPlain(Value tile) {
  if (auto transpose = tile.getDefiningOp<TransposeOp>())
    tile = transpose.getInput();
  auto load = tile.getDefiningOp<LoadOp>();
  return load && !load.getMask() && !load.getIndexAxes() &&
         !CpuPacking::of(load.getView()) &&
         llvm::none_of(load.getIndices(), isTile);
}

static bool isPacked(Value tile) {
  auto load = tile.getDefiningOp<LoadOp>();
  return load && CpuPacking::of(load.getView());
}

void CpuMapper::emitMma(MmaOp op) {
  Location loc = op.getLoc();
  RankedTensorType lhs = op.getLhs().getType(), rhs = op.getRhs().getType();
  auto acc = cast<RankedTensorType>(op.getAcc().getType());
  Type element = lhs.getElementType(), accumulate = acc.getElementType();
  bool amx = options.amx && isAmxProduct(element, accumulate);
  Type widen;
  if (!amx && element != accumulate)
    widen = accumulate;

  // Rows of A are read by broadcasts, where they lie. A packed operand is read
  // from its panels.
  Value a = widen || amx ? Value() : buffers.lookup(op.getLhs());
  bool leftInPlace =
      !a && (amx ? isPacked(op.getLhs()) : !widen && isPlain(op.getLhs()));
  bool rightInPlace = isPacked(op.getRhs());
  if (!a && !leftInPlace) {
    RankedTensorType type = widen ? lhs.clone(widen) : lhs;
    a = packOnce(op.getLhs(), op,
                 amx ? CpuBuffer::amxLhs(lhs)
                     : CpuBuffer::rows(type, options.vectorBytes),
                 widen);
    if (amx)
      markZeroPadding(a, 1);
  }
  layout::RegisterTile registers = registerTileFor(
      lhs.getDimSize(0), rhs.getDimSize(1), accumulate, options.vectorBytes);
  BufferType packed =
      amx ? CpuBuffer::amxRhs(rhs)
          : CpuBuffer::panels(widen ? rhs.clone(widen) : rhs, registers.nr());
  Value b;
  if (!rightInPlace) {
    b = packOnce(op.getRhs(), op, packed, widen);
    if (amx)
      markZeroPadding(b, 0);
  }

  Value c = chooseBuffer(op.getResult());
  bool fromZero = isZero(op.getAcc());
  if (!fromZero && buffers.lookup(op.getAcc()) != c)
    storeTo(op.getAcc(), c);

  auto bounds = [&](Value tile, int64_t axis, Value other, int64_t otherAxis) {
    SmallVector<Value> all(ranges.get(tile, axis));
    if (other)
      for (Value range : ranges.get(other, otherAxis))
        if (!llvm::is_contained(all, range))
          all.push_back(range);
    return axisRange(all,
                     cast<RankedTensorType>(tile.getType()).getDimSize(axis));
  };
  SmallVector<Value> axes = {bounds(op.getLhs(), 0, {}, 0),
                             bounds(op.getRhs(), 1, {}, 0),
                             bounds(op.getLhs(), 1, op.getRhs(), 0)};
  closeNest();
  Root root;
  root.alone = true;
  openNest(root, axes, loc);
  // Which register holds which part of the result.
  open->nest.setUnit(amx ? MatrixUnit::Amx : MatrixUnit::Fma);
  if (!amx)
    open->nest.setRegisterTile(
        ArrayRef<int64_t>({registers.mr, registers.vectors, registers.lanes}));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(open->nest.getBody().front().getTerminator());
    auto loadFrom = [&](Value buffer, RankedTensorType type) -> Value {
      return LocalLoadOp::create(builder, loc, type, buffer, Value());
    };
    Value left = leftInPlace ? cloneTile(op.getLhs())
                             : loadFrom(a, widen ? lhs.clone(widen) : lhs);
    Value right = rightInPlace ? cloneTile(op.getRhs())
                               : loadFrom(b, widen ? rhs.clone(widen) : rhs);
    builder.setInsertionPoint(open->nest.getBody().front().getTerminator());
    Value before = fromZero ? cloneTile(op.getAcc()) : loadFrom(c, acc);
    builder.setInsertionPoint(open->nest.getBody().front().getTerminator());
    Value after = MmaOp::create(builder, loc, acc, left, right, before,
                                op.getPrecision());
    LocalStoreOp::create(builder, loc, after, c, Value());
  }
  closeNest();
  buffers[op.getResult()] = c;
}

//===----------------------------------------------------------------------===//
// Control flow: scalars are carried as before, tiles in buffers
//===----------------------------------------------------------------------===//

static void mapScalars(ValueRange from, ValueRange to, IRMapping &map) {
  unsigned next = 0;
  for (Value value : from)
    if (!isTile(value))
      map.map(value, to[next++]);
}

void CpuMapper::emitFor(ForOp loop) {
  SmallVector<Value> inits, targets;
  carryIn(loop, loop.getInits(), loop.getCarried(), loop.getResults(), inits);
  closeNest();
  auto mapped =
      ForOp::create(builder, loop.getLoc(), scalars.lookup(loop.getStart()),
                    scalars.lookup(loop.getStop()), loop.getSize(), inits);
  mapped->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  mapped.setStages(loop.getStages());
  mapped.setRest(loop.getRest());
  scalars.map(loop.getRange(), mapped.getRange());
  mapScalars(loop.getCarried(), mapped.getCarried(), scalars);
  for (Value argument : loop.getCarried())
    targets.push_back(buffers.lookup(argument));
  Block &body = loop.getBody().front();
  yieldTargets[&body] = targets;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&mapped.getBody().front());
  emitBlock(body);
  SmallVector<Value> yielded =
      carryOut(cast<YieldOp>(body.getTerminator()).getValues(), targets);
  YieldOp::create(builder, loop.getLoc(), yielded);
  mapScalars(loop.getResults(), mapped.getResults(), scalars);
  for (auto [result, target] : llvm::zip(loop.getResults(), targets))
    if (target)
      buffers[result] = target;
}

void CpuMapper::emitScfFor(scf::ForOp loop) {
  SmallVector<Value> inits, targets;
  carryIn(loop, loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults(),
          inits);
  closeNest();
  auto mapped = scf::ForOp::create(
      builder, loop.getLoc(), scalars.lookup(loop.getLowerBound()),
      scalars.lookup(loop.getUpperBound()), scalars.lookup(loop.getStep()),
      inits, [](OpBuilder &, Location, Value, ValueRange) {});
  scalars.map(loop.getInductionVar(), mapped.getInductionVar());
  mapScalars(loop.getRegionIterArgs(), mapped.getRegionIterArgs(), scalars);
  for (Value argument : loop.getRegionIterArgs())
    targets.push_back(buffers.lookup(argument));
  yieldTargets[loop.getBody()] = targets;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(mapped.getBody());
  emitBlock(*loop.getBody());
  scf::YieldOp::create(builder, loop.getLoc(),
                       carryOut(loop.getYieldedValues(), targets));
  mapScalars(loop.getResults(), mapped.getResults(), scalars);
  for (auto [result, target] : llvm::zip(loop.getResults(), targets))
    if (target)
      buffers[result] = target;
}

void CpuMapper::emitIf(scf::IfOp branch) {
  SmallVector<Value> targets;
  SmallVector<Type> types;
  for (Value result : branch.getResults()) {
    targets.push_back(isTile(result) ? chooseBuffer(result) : Value());
    if (!isTile(result))
      types.push_back(result.getType());
  }
  closeNest();
  bool hasElse = !branch.getElseRegion().empty();
  auto mapped =
      scf::IfOp::create(builder, branch.getLoc(), types,
                        scalars.lookup(branch.getCondition()), hasElse);
  for (auto [from, to] :
       llvm::zip(branch->getRegions(), mapped->getRegions())) {
    if (from.empty())
      continue;
    Block &block = from.front(), &target = to.front();
    if (!target.empty())
      target.back().erase();
    yieldTargets[&block] = targets;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&target);
    emitBlock(block);
    SmallVector<Value> yielded =
        carryOut(block.getTerminator()->getOperands(), targets);
    scf::YieldOp::create(builder, branch.getLoc(), yielded);
  }
  mapScalars(branch.getResults(), mapped.getResults(), scalars);
  for (auto [result, target] : llvm::zip(branch.getResults(), targets))
    if (target)
      buffers[result] = target;
}

void CpuMapper::emitWhile(scf::WhileOp loop) {
  SmallVector<Value> inits, targets, results;
  carryIn(loop, loop.getInits(), loop.getBeforeArguments(), {}, inits);
  SmallVector<Type> types;
  for (Value result : loop.getResults()) {
    if (isTile(result)) {
      results.push_back(
          allocate(CpuBuffer::rows(cast<RankedTensorType>(result.getType()),
                                   options.vectorBytes),
                   result.getLoc()));
    } else {
      results.push_back({});
      types.push_back(result.getType());
    }
  }
  closeNest();
  auto mapped = scf::WhileOp::create(builder, loop.getLoc(), types, inits);
  auto enter = [&](Block &from, Region &to) {
    Block &block = to.emplaceBlock();
    for (Value argument : from.getArguments())
      if (!isTile(argument))
        scalars.map(argument,
                    block.addArgument(argument.getType(), argument.getLoc()));
    builder.setInsertionPointToEnd(&block);
  };
  OpBuilder::InsertionGuard guard(builder);
  Block &before = *loop.getBeforeBody(), &after = *loop.getAfterBody();
  for (Value argument : before.getArguments())
    targets.push_back(buffers.lookup(argument));
  enter(before, mapped.getBefore());
  emitBlock(before);
  Value flag = scalars.lookup(loop.getConditionOp().getCondition());
  SmallVector<Value> forwarded =
      carryOut(loop.getConditionOp().getArgs(), results);
  scf::ConditionOp::create(builder, loop.getLoc(), flag, forwarded);
  for (auto [argument, result, buffer] :
       llvm::zip(after.getArguments(), loop.getResults(), results))
    if (buffer) {
      buffers[result] = buffer;
      buffers[argument] = buffer;
    }
  yieldTargets[&after] = targets;
  enter(after, mapped.getAfter());
  emitBlock(after);
  SmallVector<Value> yielded =
      carryOut(loop.getYieldOp().getResults(), targets);
  scf::YieldOp::create(builder, loop.getLoc(), yielded);
  mapScalars(loop.getResults(), mapped.getResults(), scalars);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// [M, K] x [K], [K] x [K, N] and [K] x [K] are no matrix steps on a CPU but
/// sums of products: acc + reduce(lhs * rhs).
static void expandVectorProduct(MmaOp op, const AxisRanges &ranges) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Type accumulate = getElementTypeOrSelf(op.getAcc().getType());
  auto widen = [&](Value tile) -> Value {
    auto type = cast<RankedTensorType>(tile.getType());
    if (type.getElementType() == accumulate)
      return tile;
    Type wide = type.clone(accumulate);
    if (isa<FloatType>(accumulate))
      return arith::ExtFOp::create(builder, loc, wide, tile);
    return arith::ExtSIOp::create(builder, loc, wide, tile);
  };
  Value lhs = widen(op.getLhs()), rhs = widen(op.getRhs());
  auto left = cast<RankedTensorType>(lhs.getType());
  auto right = cast<RankedTensorType>(rhs.getType());
  int64_t axis = 0;
  // The vector is repeated along the matrix' other axis.
  auto repeat = [&](Value vector, Value matrix, int64_t keep) -> Value {
    auto type = cast<RankedTensorType>(matrix.getType());
    int64_t other = 1 - keep;
    Value range;
    ArrayRef<Value> bounds =
        ranges.get(matrix == lhs ? op.getLhs() : op.getRhs(), other);
    if (!bounds.empty()) {
      range = bounds[0];
    } else {
      Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
      Value size =
          arith::ConstantIndexOp::create(builder, loc, type.getDimSize(other));
      range = RangeAtOp::create(
          builder, loc,
          RangeType::get(builder.getContext(), type.getDimSize(other)), zero,
          size);
    }
    return BroadcastOp::create(builder, loc, type, vector,
                               builder.getDenseI64ArrayAttr({keep}), range);
  };
  if (left.getRank() == 2) {
    rhs = repeat(rhs, lhs, 1);
    axis = 1;
  } else if (right.getRank() == 2) {
    lhs = repeat(lhs, rhs, 0);
  }
  bool isFloat = isa<FloatType>(accumulate);
  Value product = isFloat
                      ? Value(arith::MulFOp::create(builder, loc, lhs, rhs))
                      : Value(arith::MulIOp::create(builder, loc, lhs, rhs));
  Value sum = ReduceOp::create(builder, loc, op.getResult().getType(),
                               ReduceKind::Sum, product, axis);
  Value result =
      isFloat ? Value(arith::AddFOp::create(builder, loc, op.getAcc(), sum))
              : Value(arith::AddIOp::create(builder, loc, op.getAcc(), sum));
  op.getResult().replaceAllUsesWith(result);
  op.erase();
}

namespace {
struct MapToNestsPass : tessera::cpu::impl::MapToNestsPassBase<MapToNestsPass> {
  using MapToNestsPassBase::MapToNestsPassBase;

  void runOnOperation() override {
    FuncOp func = getOperation();
    SmallVector<MmaOp> vectors;
    func.walk([&](MmaOp op) {
      if (op.getLhs().getType().getRank() == 1 ||
          op.getRhs().getType().getRank() == 1)
        vectors.push_back(op);
    });
    if (!vectors.empty()) {
      AxisRanges ranges(func);
      for (MmaOp op : vectors)
        expandVectorProduct(op, ranges);
    }
    if (std::optional<int64_t> lanes = func.getDecision("vector");
        lanes && *lanes > vectorBytes / 4)
      func.emitRemark() << "vector=" << *lanes
                        << " is more than this target's registers hold; "
                        << vectorBytes / 4 << " is used";
    keepRows(func);
    if (failed(CpuMapper(func, {amx, vectorBytes}).run()))
      signalPassFailure();
  }
};
} // namespace
