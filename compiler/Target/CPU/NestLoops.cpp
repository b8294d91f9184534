//===- NestLoops.cpp - Loops, reductions and stores of a nest -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/NestEmitter.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;
using tile::ReduceKind;

static bool isArg(Operation *op) {
  auto reduce = dyn_cast<tile::ReduceOp>(op);
  return reduce && (reduce.getKind() == ReduceKind::Argmax ||
                    reduce.getKind() == ReduceKind::Argmin);
}

static ReduceKind kindOf(Operation *op) {
  if (auto scan = dyn_cast<tile::ScanOp>(op))
    return scan.getKind();
  return cast<tile::ReduceOp>(op).getKind();
}

/// What a reduction carries. The greater of two halves needs no rounding: they
/// are compared as f32.
static Type carriedElement(Operation *op) {
  Type element = getElementTypeOrSelf(op->getOperand(0).getType());
  bool extreme = isa<tile::ReduceOp>(op) && (kindOf(op) == ReduceKind::Max ||
                                             kindOf(op) == ReduceKind::Min);
  return isHalf(element) && extreme ? Type(Float32Type::get(op->getContext()))
                                    : element;
}

NestEmitter::NestEmitter(CpuLowering &lower, tile::NestOp nest)
    : lower(lower), nest(nest), vectorAxis(nest.getVectorAxis()) {
  cpu::NestVectors vectors =
      cpu::vectorsOf(nest, lower.vectorBytes, lower.partSizes);
  lanes = vectors.lanes;
  unroll = vectors.unroll;
  paired = vectors.halfLines && nest.getPairs();
  zeroPadding = vectors.zeroPadding;
  if (nest.getTwoApart())
    for (const cpu::LanesApart &apart :
         cpu::lanesApart(nest, lower.vectorBytes))
      twoApart.push_back(lower.views[apart.view].strides[apart.axis]);
  // What is left of a panel is multiplied: not whatever lies there, which may
  // be subnormal and slow.
  if (nest.getAxes().size() == 2 && vectorAxis == 1 && !zeroPadding)
    if (std::optional<Packed> to = cpu::packedBy(nest);
        to && to->group == 1 && to->isPanel)
      panelWidth = to->width;

  for (Operation &op : nest.getBody().front()) {
    if (auto reduce = dyn_cast<tile::ReduceOp>(op))
      carryAxis = reduce.getAxis();
    else if (auto scan = dyn_cast<tile::ScanOp>(op))
      carryAxis = scan.getAxis();
  }
  int64_t rank = nest.getAxes().size();
  for (int64_t axis = 0; axis < rank; ++axis)
    if (axis != vectorAxis && axis != carryAxis)
      order.push_back(axis);
  if (vectorAxis >= 0 && vectorAxis != carryAxis)
    order.push_back(vectorAxis);
  if (carryAxis >= 0)
    order.push_back(carryAxis);
  else if (writesRowsPastCaches())
    std::swap(order[0], order[1]);
  depths.resize(rank);
  for (auto [i, axis] : llvm::enumerate(order))
    depths[axis] = i + 1;
  counters.resize(rank);
  openLoops.resize(order.size() + 2, nullptr);
  memo.resize(order.size() + 1);
}

/// A few rows that go past the caches: their columns in turn, so that what all
/// rows read is read once, and memory writes several rows at a time.
bool NestEmitter::writesRowsPastCaches() {
  if (order.size() != 2 || vectorAxis != 1)
    return false;
  auto rows = cast<tile::RangeType>(nest.getAxes()[0].getType());
  return rows.getSize() > 1 && rows.getSize() <= 8 &&
         llvm::any_of(nest.getBody().getOps<tile::StoreOp>(),
                      tile::isStreaming);
}

void NestEmitter::run() {
  llvm::SaveAndRestore pairs(lower.paired, paired);
  emitLoops(1);
}

/// The mask for lanes of f32.
Value NestEmitter::maskOfPairs() {
  SmallVector<int64_t> places;
  for (int64_t odd : {0, 1})
    for (int64_t lane = odd; lane < lanes; lane += 2)
      places.push_back(lane);
  return vector::ShuffleOp::create(lower.builder, lower.loc, mask, mask,
                                   places);
}

bool NestEmitter::reducesAlongVector() const {
  return carryAxis >= 0 && carryAxis == vectorAxis;
}

NestEmitter::Positions NestEmitter::identity(int64_t skip) {
  Positions at;
  for (int64_t axis = 0; axis < int64_t(depths.size()); ++axis)
    if (axis != skip)
      at.push_back({axis, {}});
  return at;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void NestEmitter::emitLoops(size_t depth) {
  if (depth > order.size()) {
    emitBody();
    return;
  }
  int64_t axis = order[depth - 1];
  bool carries = depth == order.size() && carryAxis >= 0;
  if (axis == vectorAxis) {
    emitVectorLoops(depth);
    return;
  }
  if (carries)
    carriesNow = startCarries(copies);
  emitLoop(depth, lower.constant(0), lower.ranges[nest.getAxes()[axis]].length,
           1, carries);
  if (carries)
    finish();
}

void NestEmitter::emitVectorLoops(size_t depth) {
  bool carries = depth == order.size() && carryAxis >= 0;
  Value range = nest.getAxes()[vectorAxis];
  Value extent = lower.ranges[range].length;
  int64_t size = cast<tile::RangeType>(range.getType()).getSize();
  Value done = lower.constant(0);
  int64_t block = lanes * unroll;
  std::vector<Carry> all;
  if (carries)
    all = startCarries(unroll);
  if (size >= block) {
    Value rest = arith::RemUIOp::create(lower.builder, lower.loc, extent,
                                        lower.constant(block));
    Value whole = lower.sub(extent, rest);
    copies = unroll;
    carriesNow = all;
    emitLoop(depth, done, whole, block, carries);
    all = carriesNow;
    done = whole;
  }
  copies = 1;
  carriesNow.clear();
  for (Carry &carry : all)
    carriesNow.push_back({carry.op, {carry.values[0]}});
  mask = extent; // replaced by the real mask inside the loop
  Value end = extent;
  if (panelWidth)
    end = lower.mul(lower.ceilDiv(extent, lower.constant(panelWidth)),
                    lower.constant(panelWidth));
  emitLoop(depth, done, end, lanes, carries);
  mask = {};
  for (auto [carry, tail] : llvm::zip(all, carriesNow))
    carry.values[0] = tail.values[0];
  if (carries) {
    carriesNow = all;
    finish();
  }
}

/// One loop at `depth`; `carriesNow` goes in, and comes out changed.
void NestEmitter::emitLoop(size_t depth, Value from, Value to, int64_t step,
                           bool carries) {
  OpBuilder &builder = lower.builder;
  int64_t axis = order[depth - 1];
  SmallVector<Value> inits;
  if (carries)
    for (Carry &carry : carriesNow)
      llvm::append_range(inits, carry.values);
  auto loop = scf::ForOp::create(
      builder, lower.loc, from, to, lower.constant(step), inits,
      [](OpBuilder &, Location, Value, ValueRange) {});
  openLoops[depth] = loop;
  memo[depth].clear();
  counters[axis] = loop.getInductionVar();
  size_t outer = current;
  current = depth;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  if (axis == vectorAxis && mask) {
    Value left = lower.sub(mask, counters[axis]);
    if (panelWidth) // past the end there are none
      left =
          arith::MaxSIOp::create(builder, lower.loc, left, lower.constant(0));
    mask = lower.firstLanes(left, lanes);
  }
  if (carries) {
    size_t next = 0;
    for (Carry &carry : carriesNow)
      for (Value &value : carry.values)
        value = loop.getRegionIterArgs()[next++];
  }
  emitLoops(depth + 1);
  SmallVector<Value> yielded;
  if (carries)
    for (Carry &carry : carriesNow)
      llvm::append_range(yielded, carry.values);
  scf::YieldOp::create(builder, lower.loc, yielded);
  if (carries) {
    size_t next = 0;
    for (Carry &carry : carriesNow)
      for (Value &value : carry.values)
        value = loop.getResult(next++);
  }
  current = outer;
  openLoops[depth] = nullptr;
  memo[depth].clear();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

std::vector<NestEmitter::Carry> NestEmitter::startCarries(int64_t count) {
  std::vector<Carry> result;
  for (Operation &op : nest.getBody().front()) {
    if (!isa<tile::ReduceOp, tile::ScanOp>(op))
      continue;
    Type element = carriedElement(&op);
    Carry carry{&op, {}};
    ReduceKind kind = kindOf(&op);
    if (isArg(&op)) {
      ReduceKind extreme =
          kind == ReduceKind::Argmax ? ReduceKind::Max : ReduceKind::Min;
      for (int64_t copy = 0; copy < count; ++copy)
        carry.values.push_back(lower.neutral(extreme, element, lanes));
      // Of nothing: -1.
      const CpuRange &range = lower.ranges[nest.getAxes()[carryAxis]];
      Value some = arith::CmpIOp::create(lower.builder, lower.loc,
                                         arith::CmpIPredicate::sgt,
                                         range.length, lower.constant(0));
      Value start = arith::SelectOp::create(lower.builder, lower.loc, some,
                                            range.start, lower.constant(-1));
      for (int64_t copy = 0; copy < count; ++copy)
        carry.values.push_back(lower.splat(start, lanes));
    } else {
      for (int64_t copy = 0; copy < count; ++copy)
        carry.values.push_back(lower.neutral(kind, element, lanes));
    }
    result.push_back(std::move(carry));
  }
  return result;
}

/// The instruction has its second operand where one of them is NaN: that keeps
/// a NaN among `carry`, but does not see a new one. Those are looked for two
/// vectors at a time, and found rarely.
void NestEmitter::accumulateExtremes(Carry &carry, ArrayRef<Value> values) {
  OpBuilder &builder = lower.builder;
  ReduceKind kind = kindOf(carry.op);
  Value unordered;
  for (size_t i = 0; i < values.size(); i += 2) {
    Value next = values[std::min(i + 1, values.size() - 1)];
    Value pair = arith::CmpFOp::create(
        builder, lower.loc, arith::CmpFPredicate::UNO, values[i], next);
    unordered =
        unordered
            ? Value(arith::OrIOp::create(builder, lower.loc, unordered, pair))
            : pair;
  }
  Value some = lower.anyLane(unordered);
  auto choice = scf::IfOp::create(builder, lower.loc,
                                  ValueRange(carry.values).getTypes(), some,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  for (Block *block : {choice.thenBlock(), choice.elseBlock()}) {
    builder.setInsertionPointToStart(block);
    SmallVector<Value> next;
    for (auto [x, best] : llvm::zip_equal(values, carry.values)) {
      if (block == choice.thenBlock()) {
        next.push_back(lower.combine(kind, best, x));
        continue;
      }
      Value better = arith::CmpFOp::create(builder, lower.loc,
                                           kind == ReduceKind::Max
                                               ? arith::CmpFPredicate::OGT
                                               : arith::CmpFPredicate::OLT,
                                           x, best);
      next.push_back(
          arith::SelectOp::create(builder, lower.loc, better, x, best));
    }
    scf::YieldOp::create(builder, lower.loc, next);
  }
  carry.values.assign(choice.getResults().begin(), choice.getResults().end());
}

void NestEmitter::accumulate(Carry &carry) {
  OpBuilder &builder = lower.builder;
  Positions at = identity();
  Type element = carriedElement(carry.op);
  ReduceKind kind = kindOf(carry.op);
  auto operand = [&](int64_t copy) {
    Value x = lower.splat(eval(carry.op->getOperand(0), at, copy), lanes);
    return getElementTypeOrSelf(x) == computeType(element)
               ? x
               : lower.extend(x, element);
  };
  bool extreme = isa<tile::ReduceOp>(carry.op) &&
                 (kind == ReduceKind::Max || kind == ReduceKind::Min);
  if (extreme && isa<FloatType>(element) && lanes > 1 && copies > 1 && !mask) {
    SmallVector<Value> values;
    for (int64_t copy = 0; copy < copies; ++copy)
      values.push_back(operand(copy));
    return accumulateExtremes(carry, values);
  }
  for (int64_t copy = 0; copy < copies; ++copy) {
    Value x = operand(copy);
    Value &best = carry.values[copy];
    if (isArg(carry.op)) {
      // NaN counts as the largest (argmax) or smallest (argmin); the first of
      // equals stays.
      Value &place = carry.values[copies + copy];
      Value here =
          lower.splat(lower.add(lower.ranges[nest.getAxes()[carryAxis]].start,
                                counters[carryAxis]),
                      lanes);
      bool most = kindOf(carry.op) == ReduceKind::Argmax;
      Value better;
      if (isa<FloatType>(getElementTypeOrSelf(x))) {
        auto compare = [&](arith::CmpFPredicate predicate, Value a,
                           Value b) -> Value {
          Type f32 = builder.getF32Type();
          if (getElementTypeOrSelf(a).getIntOrFloatBitWidth() == 16)
            a = lower.extend(a, f32), b = lower.extend(b, f32);
          return arith::CmpFOp::create(builder, lower.loc, predicate, a, b);
        };
        Value beats = compare(most ? arith::CmpFPredicate::OGT
                                   : arith::CmpFPredicate::OLT,
                              x, best);
        Value nan = compare(arith::CmpFPredicate::UNO, x, x);
        Value had = compare(arith::CmpFPredicate::ORD, best, best);
        Value firstNan = arith::AndIOp::create(builder, lower.loc, nan, had);
        better = arith::OrIOp::create(builder, lower.loc, beats, firstNan);
      } else {
        // A signed bit has True as -1.
        bool isBit = getElementTypeOrSelf(x).isInteger(1);
        auto above =
            isBit ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt;
        auto below =
            isBit ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
        better = arith::CmpIOp::create(builder, lower.loc, most ? above : below,
                                       x, best);
      }
      best = arith::SelectOp::create(builder, lower.loc, better, x, best);
      place = arith::SelectOp::create(builder, lower.loc, better, here, place);
      continue;
    }
    Value next = lower.combine(kindOf(carry.op), best, x);
    // Along the vector, lanes past the end must not count.
    if (reducesAlongVector() && mask)
      next = arith::SelectOp::create(
          builder, lower.loc,
          paired && !isHalf(getElementTypeOrSelf(next)) ? maskOfPairs() : mask,
          next, best);
    best = next;
  }
}

/// After the reducing loop: results go to their buffers or leave the nest.
void NestEmitter::finish() {
  for (Carry &carry : carriesNow) {
    if (isa<tile::ScanOp>(carry.op))
      continue;
    int64_t first = isArg(carry.op) ? carry.values.size() / 2 : 0;
    SmallVector<Value> results(llvm::drop_begin(carry.values, first));
    if (reducesAlongVector()) {
      // Pairs first, so that the tree is the same for every unroll.
      while (results.size() > 1) {
        SmallVector<Value> half;
        for (size_t i = 0; i + 1 < results.size(); i += 2)
          half.push_back(
              lower.combine(kindOf(carry.op), results[i], results[i + 1]));
        if (results.size() % 2)
          half.push_back(results.back());
        results = half;
      }
      results[0] = lower.horizontal(kindOf(carry.op), results[0]);
    }
    Value reduced = carry.op->getResult(0);
    Type element = getElementTypeOrSelf(reduced.getType());
    if (!isArg(carry.op) && carriedElement(carry.op) != element)
      for (Value &result : results)
        result = lower.truncate(result, element);
    for (OpOperand &use : reduced.getUses()) {
      if (auto store = dyn_cast<tile::LocalStoreOp>(use.getOwner())) {
        for (auto [copy, value] : llvm::enumerate(results))
          storeToBuffer(value, store, identity(carryAxis), copy);
      } else if (isa<tile::NestYieldOp>(use.getOwner())) {
        lower.values.map(nest.getResult(use.getOperandNumber()), results[0]);
      }
    }
  }
  carriesNow.clear();
}

//===----------------------------------------------------------------------===//
// Body
//===----------------------------------------------------------------------===//

void NestEmitter::emitBody() {
  for (Operation &op : nest.getBody().front()) {
    if (auto store = dyn_cast<tile::StoreOp>(op)) {
      storeToView(store);
    } else if (auto atomic = dyn_cast<tile::AtomicOp>(op)) {
      emitAtomic(atomic);
    } else if (auto check = dyn_cast<tile::AssertOp>(op)) {
      lower.emitAssert(eval(check.getCondition(), identity(), 0),
                       check.getMessage());
    } else if (auto print = dyn_cast<tile::PrintOp>(op)) {
      emitPrint(print);
    } else if (isa<tile::ReduceOp, tile::ScanOp>(op)) {
      for (Carry &carry : carriesNow)
        if (carry.op == &op)
          accumulate(carry);
    } else if (auto store = dyn_cast<tile::LocalStoreOp>(op)) {
      Operation *source = store.getValue().getDefiningOp();
      if (isa<tile::ReduceOp>(source))
        continue;
      SmallVector<Value> values;
      if (isa<tile::ScanOp>(source)) {
        for (Carry &carry : carriesNow)
          if (carry.op == source)
            values = carry.values;
      } else {
        for (int64_t copy = 0; copy < copies; ++copy)
          values.push_back(eval(store.getValue(), identity(), copy));
      }
      for (auto [copy, value] : llvm::enumerate(values))
        storeToBuffer(value, store, identity(), copy);
    }
  }
}

void NestEmitter::storeToBuffer(Value value, tile::LocalStoreOp op,
                                const Positions &at, int64_t copy) {
  Value buffer = op.getBuffer();
  Address address = addressIn(buffer, op.getSlot(), at, copy);
  Type element = cast<tile::BufferType>(buffer.getType()).getElementType();
  Value base = address.base;
  if (!address.vector) {
    lower.store(value, lower.pointerTo(base, address.offset, element));
    return;
  }
  value = lower.splat(value, lanes);
  if (zeroPadding || panelWidth)
    value = orZero(value, mask);
  // Past the end of the range the buffer is padded: no mask is needed.
  if (address.offsets)
    lower.scatter(value, base, address.offsets, element, mask);
  else
    lower.maskedStore(value, lower.pointerTo(base, address.offset, element),
                      op.getKeepRest() ? mask : Value());
}

/// The store of the other part of the same pairs, if this nest has it.
void NestEmitter::storeToView(tile::StoreOp op) {
  OpBuilder &builder = lower.builder;
  const CpuView &view = lower.views[op.getView()];
  tile::StoreOp other = cpu::otherPart(op);
  Positions at = identity();
  SmallVector<Value> values;
  for (int64_t copy = 0; copy < copies; ++copy)
    values.push_back(eval(op.getValue(), at, copy));
  for (auto [copy, value] : llvm::enumerate(values)) {
    Address address =
        addressOf(view, op.getIndices(), op.getIndexAxes(), at, copy);
    Value keep = address.inBounds;
    if (op.getMask()) {
      Value asked = eval(op.getMask(), at, copy);
      bool wide = address.vector;
      asked = lower.splat(asked, wide ? lanes : 0);
      if (keep)
        keep = lower.splat(keep, wide ? lanes : 0);
      keep = keep
                 ? Value(arith::AndIOp::create(builder, lower.loc, keep, asked))
                 : asked;
    }
    if (!address.vector) {
      auto write = [&] {
        lower.store(
            value, lower.pointerTo(address.base, address.offset, view.element));
      };
      if (!keep) {
        write();
        continue;
      }
      auto guard = scf::IfOp::create(builder, lower.loc, keep, false);
      OpBuilder::InsertionGuard inside(builder);
      builder.setInsertionPointToStart(guard.thenBlock());
      write();
      continue;
    }
    value = lower.splat(value, lanes);
    if ((zeroPadding || panelWidth) && !address.offsets) {
      lower.store(orZero(value, mask),
                  lower.pointerTo(address.base, address.offset, view.element));
      continue;
    }
    if (mask)
      keep = keep ? Value(arith::AndIOp::create(builder, lower.loc,
                                                lower.splat(keep, lanes), mask))
                  : mask;
    else if (keep)
      keep = lower.splat(keep, lanes);
    if (other && isTwoApart(address)) {
      // With the first of them both are written.
      if (other->isBeforeInBlock(op))
        continue;
      Value parts[] = {value,
                       lower.splat(eval(other.getValue(), at, copy), lanes)};
      bool turned = address.part == 1;
      for (int64_t half : {0, 1})
        lower.maskedStore(
            interleave(parts[turned], parts[!turned], half),
            lower.pointerTo(address.base,
                            lower.addConstant(address.offset, half * lanes),
                            view.element),
            keep ? interleave(keep, keep, half) : Value());
    } else if (address.offsets)
      lower.scatter(value, address.base, address.offsets, view.element, keep);
    else if (isStreaming(op) && !keep)
      lower.streamingStore(
          value, lower.pointerTo(address.base, address.offset, view.element));
    else
      lower.maskedStore(
          value, lower.pointerTo(address.base, address.offset, view.element),
          keep);
  }
}

void NestEmitter::emitAtomic(tile::AtomicOp op) {
  OpBuilder &builder = lower.builder;
  const CpuView &view = lower.views[op.getView()];
  Positions at = identity();
  Value value = eval(op.getValue(), at, 0);
  Address address = addressOf(view, op.getIndices(), op.getIndexAxes(), at, 0);
  Value keep = address.inBounds;
  if (op.getMask()) {
    Value asked = eval(op.getMask(), at, 0);
    keep = keep ? Value(arith::AndIOp::create(builder, lower.loc, keep, asked))
                : asked;
  }
  OpBuilder::InsertionGuard inside(builder);
  if (keep) {
    auto guard = scf::IfOp::create(builder, lower.loc, keep, false);
    builder.setInsertionPointToStart(guard.thenBlock());
  }
  lower.atomic(op.getKind(), value,
               lower.pointerTo(address.base, address.offset, view.element));
}

/// The sum, maximum or minimum of a bf16 in memory and another, by comparing
/// and exchanging its bits: LLVM has no arithmetic of them on every machine.
void CpuLowering::exchangeBf16(ReduceKind how, Value value, Value pointer) {
  Type i16 = builder.getI16Type();
  Value start = LLVM::LoadOp::create(builder, loc, i16, pointer);
  scf::WhileOp::create(
      builder, loc, TypeRange{i16}, ValueRange{start},
      [&](OpBuilder &, Location, ValueRange before) {
        Value made =
            combine(how, fromMemory(before[0], value.getType()), value);
        auto exchange = LLVM::AtomicCmpXchgOp::create(
            builder, loc, pointer, before[0], toMemory(made),
            LLVM::AtomicOrdering::monotonic, LLVM::AtomicOrdering::monotonic);
        Value found =
            LLVM::ExtractValueOp::create(builder, loc, exchange, int64_t(0));
        Value isDone =
            LLVM::ExtractValueOp::create(builder, loc, exchange, int64_t(1));
        Value truth =
            arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
        scf::ConditionOp::create(
            builder, loc, arith::XOrIOp::create(builder, loc, isDone, truth),
            found);
      },
      [&](OpBuilder &, Location, ValueRange found) {
        scf::YieldOp::create(builder, loc, found);
      });
}

void CpuLowering::atomic(ReduceKind how, Value value, Value pointer) {
  if (value.getType().isBF16())
    return exchangeBf16(how, value, pointer);
  bool isFloat = isa<FloatType>(value.getType());
  LLVM::AtomicBinOp kind;
  switch (how) {
  case ReduceKind::Sum:
    kind = isFloat ? LLVM::AtomicBinOp::fadd : LLVM::AtomicBinOp::add;
    break;
  case ReduceKind::Max:
    kind = isFloat ? LLVM::AtomicBinOp::fmaximum : LLVM::AtomicBinOp::max;
    break;
  case ReduceKind::Min:
    kind = isFloat ? LLVM::AtomicBinOp::fminimum : LLVM::AtomicBinOp::min;
    break;
  case ReduceKind::And:
    kind = LLVM::AtomicBinOp::_and;
    break;
  case ReduceKind::Or:
    kind = LLVM::AtomicBinOp::_or;
    break;
  default:
    kind = LLVM::AtomicBinOp::_xor;
    break;
  }
  LLVM::AtomicRMWOp::create(builder, loc, kind, pointer, toMemory(value),
                            LLVM::AtomicOrdering::monotonic);
}

void CpuLowering::emitNest(tile::NestOp nest) {
  llvm::SaveAndRestore outer(loc, nest.getLoc());
  OpBuilder::InsertionGuard guard(builder);
  if (cpu::stepIn(nest))
    emitMatrixStep(nest);
  else
    emitWhole(nest);
}

void CpuLowering::emitWhole(tile::NestOp nest) {
  NestEmitter emitter(*this, nest);
  if (!emitter.runAsPacking() && !emitter.runAsTransposing())
    emitter.run();
}

void CpuLowering::emitPart(tile::NestOp nest, ArrayRef<Value> at,
                           ArrayRef<int64_t> sizes) {
  llvm::SaveAndRestore outer(loc, nest.getLoc());
  llvm::SaveAndRestore whole(ranges);
  llvm::SaveAndRestore part(partSizes, sizes);
  OpBuilder::InsertionGuard guard(builder);
  for (auto [axis, begin, size] : llvm::zip_equal(nest.getAxes(), at, sizes)) {
    CpuRange &range = ranges[axis];
    range.start = add(range.start, begin);
    range.length = minimum(sub(range.length, begin), constant(size));
    range.stop = add(range.start, range.length);
  }
  emitWhole(nest);
}
