//===- LowerTiles.cpp - Tiles in registers --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/Math/NarrowFloats.h"
#include "compiler/Target/SIMT/Lowering/GlobalAccess.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::simt;
using target::convertForBf16;
using target::extendFp8;
using target::isFp8;
using target::roundToOdd;
using target::truncateToFp8;

static bool isHalf(Type type) { return type.isF16() || type.isBF16(); }

//===----------------------------------------------------------------------===//
// Element-wise
//===----------------------------------------------------------------------===//

/// The same op on scalars; 16-bit floats are computed in f32 and rounded.
Value KernelLowering::scalarOp(Operation *like, ValueRange given) {
  Type type = getElementTypeOrSelf(like->getResult(0));
  SmallVector<Value> operands(given);
  Type f32 = builder.getF32Type();
  if (isa<arith::ExtFOp>(like) && isFp8(operands[0].getType())) {
    Value single = extendFp8(builder, loc, operands[0]);
    if (type.isF32())
      return single;
    if (type.isF64())
      return arith::ExtFOp::create(builder, loc, type, single);
    return arith::TruncFOp::create(builder, loc, type, single);
  }
  if (isa<arith::TruncFOp>(like) && isFp8(type)) {
    Value single = operands[0];
    if (isHalf(single.getType()))
      single = arith::ExtFOp::create(builder, loc, f32, single);
    return truncateToFp8(builder, loc, single, type);
  }
  if (isa<arith::SIToFPOp>(like) && type.isBF16())
    return arith::TruncFOp::create(builder, loc, type,
                                   convertForBf16(builder, loc, operands[0]));
  // Of a shift and the select for counts of 64 or more, LLVM 22 makes one
  // shl.b64, whose count has 32 bits only: two halves it leaves alone.
  if (isa<arith::ShLIOp>(like) && type.isInteger(64)) {
    Value one =
        arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(1));
    Value half = arith::ShRUIOp::create(builder, loc, operands[1], one);
    Value rest = arith::SubIOp::create(builder, loc, operands[1], half);
    Value part = arith::ShLIOp::create(builder, loc, operands[0], half);
    return arith::ShLIOp::create(builder, loc, part, rest);
  }
  if (isa<arith::TruncFOp>(like) && type.isBF16() &&
      operands[0].getType().isF64())
    return arith::TruncFOp::create(builder, loc, type,
                                   roundToOdd(builder, loc, operands[0]));
  bool widen = isHalf(type) && !isa<arith::SelectOp, arith::BitcastOp>(like) &&
               !like->hasTrait<OpTrait::ConstantLike>() &&
               llvm::all_of(operands, [&](Value operand) {
                 return operand.getType() == type;
               });
  if (widen)
    for (Value &operand : operands)
      operand =
          arith::ExtFOp::create(builder, loc, builder.getF32Type(), operand);
  OperationState state(loc, like->getName());
  state.addOperands(operands);
  state.addTypes(widen ? Type(builder.getF32Type()) : type);
  for (NamedAttribute attribute : like->getAttrs())
    if (like->getInherentAttr(attribute.getName()))
      state.addAttribute(attribute.getName(), attribute.getValue());
  Value result = builder.create(state)->getResult(0);
  if (widen)
    result = arith::TruncFOp::create(builder, loc, type, result);
  return result;
}

Value KernelLowering::elementOf(Operation *op, int64_t r) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(isa<RankedTensorType>(operand.getType())
                           ? tiles[operand][r]
                           : scalars.lookup(operand));
  return scalarOp(op, operands);
}

//===----------------------------------------------------------------------===//
// What does not exist
//===----------------------------------------------------------------------===//

/// Is `mask` "the position lies before the end of the range" (MaskAbsent.h),
/// along some axes?
static bool looksAtEnds(Value mask,
                        SmallVectorImpl<std::pair<int64_t, Value>> &ends,
                        int64_t axis = 0) {
  // More ends than axes are no mask of ours.
  if (ends.size() > 8)
    return false;
  Operation *op = mask.getDefiningOp();
  if (auto broadcast = dyn_cast_or_null<tile::BroadcastOp>(op))
    return broadcast.getAxes().size() == 1 && axis == 0 &&
           looksAtEnds(broadcast.getInput(), ends, broadcast.getAxes()[0]);
  if (auto both = dyn_cast_or_null<arith::AndIOp>(op))
    return looksAtEnds(both.getLhs(), ends, axis) &&
           looksAtEnds(both.getRhs(), ends, axis);
  auto compare = dyn_cast_or_null<arith::CmpIOp>(op);
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::slt)
    return false;
  auto index = compare.getLhs().getDefiningOp<tile::IndexOp>();
  auto fill = compare.getRhs().getDefiningOp<tile::FillOp>();
  auto cast =
      fill ? fill.getValue().getDefiningOp<arith::IndexCastOp>() : nullptr;
  auto stop = cast ? cast.getIn().getDefiningOp<tile::RangeStopOp>() : nullptr;
  if (!index || !stop || stop.getRange() != index.getRange())
    return false;
  ends.push_back({axis, index.getRange()});
  return true;
}

void KernelLowering::findMasks() {
  func.walk([&](arith::SelectOp op) {
    Ends ends;
    if (isa<RankedTensorType>(op.getType()) &&
        isa<RankedTensorType>(op.getCondition().getType()) &&
        looksAtEnds(op.getCondition(), ends))
      maskedBy[op] = ends;
  });
  // Users come first.
  SmallVector<Operation *> open;
  for (auto &[op, ends] : maskedBy)
    open.push_back(op->getOperand(0).getDefiningOp());
  while (!open.empty()) {
    Operation *op = open.pop_back_val();
    bool alone = llvm::all_of(op->getUses(), [&](OpOperand &use) {
      return onlyMasks.contains(use.getOwner()) ||
             (maskedBy.contains(use.getOwner()) && use.getOperandNumber() == 0);
    });
    if (!alone || !onlyMasks.insert(op).second)
      continue;
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        if (Operation *next = operand.getDefiningOp())
          open.push_back(next);
  }
}

/// Most tiles are whole: one question for all of it, and no select.
void KernelLowering::lowerMasked(arith::SelectOp op) {
  ThreadLayout layout(op.getResult());
  auto type = cast<RankedTensorType>(op.getType());
  Registers given = tiles[op.getTrueValue()], other = tiles[op.getFalseValue()];
  auto replaced = [&] {
    SmallVector<Value> rooms;
    for (auto [axis, range] : maskedBy[op])
      rooms.push_back(sub(ranges[range].length, base(layout, axis)));
    std::map<std::pair<int64_t, int64_t>, Value> known; // by end and offset
    Registers kept;
    for (int64_t r = 0; r < layout.registers(); ++r) {
      Value inside;
      for (auto [i, end] : llvm::enumerate(maskedBy[op])) {
        int64_t at = layout.offset(r)[end.first];
        Value &one = known[{int64_t(i), at}];
        if (!one)
          one = less(i32(at), rooms[i]);
        inside = both(inside, one);
      }
      kept.push_back(
          arith::SelectOp::create(builder, loc, inside, given[r], other[r]));
    }
    return kept;
  };
  Value whole;
  for (auto [axis, range] : maskedBy[op]) {
    int64_t size = type.getDimSize(axis);
    // Threads may hold positions beyond the tile.
    if (layout.get().outSize("dim" + std::to_string(axis)) > size) {
      tiles[op.getResult()] = replaced();
      return;
    }
    whole = both(whole,
                 arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       ranges[range].length, i32(size)));
  }
  auto branch = scf::IfOp::create(
      builder, loc, SmallVector<Type>(given.size(), type.getElementType()),
      whole, true);
  {
    OpBuilder::InsertionGuard inner(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(builder, loc, given);
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, loc, replaced());
  }
  tiles[op.getResult()] = Registers(branch.getResults());
}

/// Takes the op into the group, if it is of its layout (or the first).
bool KernelLowering::joins(Operation *op, Group &group) {
  tile::LayoutAttr layout;
  if (maskedBy.contains(op))
    return false;
  if (auto store = dyn_cast<tile::StoreOp>(op))
    layout = tile::findLayout(store.getValue().getType());
  else if (OpTrait::hasElementwiseMappableTraits(op) &&
           op->getNumResults() == 1)
    layout = tile::findLayout(op->getResult(0).getType());
  if (!layout || (!group.ops.empty() && layout != group.layout))
    return false;
  group.layout = layout;
  group.ops.push_back(op);
  group.members.insert(op);
  return true;
}

/// Element by element and not op by op: so a long chain (an exp between two
/// sums, a gelu before a store) needs few registers beside its ends. Stores of
/// groups of neighbours come last.
void KernelLowering::lowerGroup(Group &group) {
  if (group.ops.empty())
    return;
  ThreadLayout layout(group.layout.getValue());
  std::vector<std::tuple<tile::StoreOp, Access, int64_t>> stores;
  bool grouped = false;
  for (Operation *op : group.ops)
    if (auto store = dyn_cast<tile::StoreOp>(op)) {
      loc = op->getLoc();
      int64_t size = storeGroup(store, layout);
      stores.push_back({store, storeAccess(store, layout), size});
      grouped |= size > 1;
    } else {
      tiles[op->getResult(0)] = {};
    }
  for (int64_t r = 0; r < layout.registers(); ++r) {
    size_t next = 0;
    for (Operation *op : group.ops) {
      loc = op->getLoc();
      if (auto store = dyn_cast<tile::StoreOp>(op)) {
        if (!grouped)
          storeElement(store, std::get<1>(stores[next++]), layout, r);
      } else {
        Value element = elementOf(op, r);
        tiles[op->getResult(0)].push_back(element);
      }
    }
  }
  for (auto &[store, to, size] : stores) {
    loc = store.getLoc();
    if (size > 1)
      storeGroups(store, to, layout, size);
    for (int64_t r = 0; grouped && size == 1 && r < layout.registers(); ++r)
      storeElement(store, to, layout, r);
  }
  group = Group();
}

void KernelLowering::lowerBroadcast(tile::BroadcastOp op) {
  ThreadLayout to(op.getResult()), from(op.getInput());
  Registers result;
  for (int64_t r = 0; r < to.registers(); ++r) {
    SmallVector<int64_t> at;
    for (int64_t axis : op.getAxes())
      at.push_back(to.offset(r)[axis]);
    result.push_back(tiles[op.getInput()][from.find(at)]);
  }
  tiles[op.getResult()] = result;
}

void KernelLowering::lowerIndex(tile::IndexOp op) {
  ThreadLayout layout(op.getResult());
  Value first = add(toI64(ranges[op.getRange()].start), toI64(base(layout, 0)));
  Registers result;
  for (int64_t r = 0; r < layout.registers(); ++r)
    result.push_back(add(first, i64(layout.offset(r)[0])));
  tiles[op.getResult()] = result;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value KernelLowering::combine(tile::ReduceKind kind, Value a, Value b) {
  Type type = a.getType();
  if (isHalf(type)) {
    Type f32 = builder.getF32Type();
    Value wide = combine(kind, arith::ExtFOp::create(builder, loc, f32, a),
                         arith::ExtFOp::create(builder, loc, f32, b));
    return arith::TruncFOp::create(builder, loc, type, wide);
  }
  bool isFloat = isa<FloatType>(type), isTruth = type.isInteger(1);
  using tile::ReduceKind;
  switch (kind) {
  case ReduceKind::Sum:
    if (isFloat)
      return arith::AddFOp::create(builder, loc, a, b);
    return add(a, b);
  case ReduceKind::Prod:
    if (isFloat)
      return arith::MulFOp::create(builder, loc, a, b);
    return mul(a, b);
  case ReduceKind::Max:
    if (isFloat)
      return arith::MaximumFOp::create(builder, loc, a, b);
    if (isTruth)
      return arith::OrIOp::create(builder, loc, a, b);
    return arith::MaxSIOp::create(builder, loc, a, b);
  case ReduceKind::Min:
    if (isFloat)
      return arith::MinimumFOp::create(builder, loc, a, b);
    if (isTruth)
      return arith::AndIOp::create(builder, loc, a, b);
    return arith::MinSIOp::create(builder, loc, a, b);
  case ReduceKind::And:
    return arith::AndIOp::create(builder, loc, a, b);
  case ReduceKind::Or:
    return arith::OrIOp::create(builder, loc, a, b);
  default:
    return arith::XOrIOp::create(builder, loc, a, b);
  }
}

/// The value of the lane whose number differs in the bits of `laneMask`.
Value KernelLowering::shuffle(Value value, int64_t laneMask) {
  return shuffle(value, i32(laneMask), /*isMask=*/true);
}

Value KernelLowering::shuffle(Value value, Value other, bool isMask) {
  Type type = value.getType();
  int64_t bits = type.getIntOrFloatBitWidth();
  Type word = builder.getI32Type();
  auto exchange = [&](Value given) -> Value {
    return machine.shuffle(builder, loc, given, other, isMask);
  };
  if (type.isF32() || type.isInteger(32))
    return exchange(value);
  Value whole = value;
  if (isa<FloatType>(type))
    whole = arith::BitcastOp::create(builder, loc, builder.getIntegerType(bits),
                                     value);
  if (bits < 32) {
    whole = exchange(arith::ExtUIOp::create(builder, loc, word, whole));
    whole = arith::TruncIOp::create(builder, loc, builder.getIntegerType(bits),
                                    whole);
  } else {
    Value low = arith::TruncIOp::create(builder, loc, word, whole);
    Value high = arith::TruncIOp::create(
        builder, loc, word,
        arith::ShRUIOp::create(builder, loc, whole, i64(32)));
    Type wide = builder.getI64Type();
    low = arith::ExtUIOp::create(builder, loc, wide, exchange(low));
    high = arith::ExtUIOp::create(builder, loc, wide, exchange(high));
    whole = arith::OrIOp::create(
        builder, loc, low, arith::ShLIOp::create(builder, loc, high, i64(32)));
  }
  if (isa<FloatType>(type))
    whole = arith::BitcastOp::create(builder, loc, type, whole);
  return whole;
}

LogicalResult KernelLowering::lowerReduce(tile::ReduceOp op) {
  int64_t axis = op.getAxis();
  ThreadLayout from(op.getInput());
  bool toScalar = !isa<RankedTensorType>(op.getResult().getType());
  std::optional<ThreadLayout> to;
  if (!toScalar)
    to.emplace(op.getResult());
  // 1. Registers: neighbours first, then neighbours of those, so that rounding
  // errors grow with the logarithm of the length.
  int64_t count = toScalar ? 1 : to->registers();
  SmallVector<Registers> parts(count);
  SmallVector<layout::Index> places(count);
  for (int64_t r = 0; r < from.registers(); ++r) {
    layout::Index rest(from.offset(r).begin(), from.offset(r).end());
    rest.erase(rest.begin() + axis);
    int64_t target = toScalar ? 0 : to->find(rest);
    parts[target].push_back(tiles[op.getInput()][r]);
    places[target] = rest;
  }
  Registers result;
  for (Registers &values : parts) {
    while (values.size() > 1) {
      Registers next;
      for (size_t i = 0; i + 1 < values.size(); i += 2)
        next.push_back(combine(op.getKind(), values[i], values[i + 1]));
      if (values.size() % 2)
        next.push_back(values.back());
      values = next;
    }
    result.push_back(values.front());
  }
  // 2. Lanes that differ along the axis.
  for (auto [b, image] : llvm::enumerate(from.bits("lane")))
    if (image[axis])
      for (Value &value : result)
        value = combine(op.getKind(), value, shuffle(value, int64_t(1) << b));
  // 3. Warps that differ along the axis, through shared memory: each writes its
  // part, everybody combines them in the same order.
  SmallVector<int64_t> part, place; // images of the warp's bits
  int64_t parallel = 1;
  for (const layout::Index &image : from.bits("warp")) {
    part.push_back(image[axis] ? parallel : 0);
    parallel *= image[axis] ? 2 : 1;
  }
  if (parallel > 1) {
    Type type = result.front().getType();
    int64_t bits = type.getIntOrFloatBitWidth();
    int64_t bytes = std::max<int64_t>(4, bits / 8);
    Type container = builder.getIntegerType(bytes * 8);
    tile::ExchangeAttr exchange = tile::getExchange(op);
    int64_t scratch = *exchange.getOffset();
    // Row-major over the result's axes; parts outermost.
    SmallVector<int64_t> strides;
    int64_t total = 1;
    for (int64_t a = int64_t(from.offset(0).size()) - 1; a >= 0; --a) {
      if (a == axis)
        continue;
      strides.insert(strides.begin(), total);
      total *= from.get().outSize("dim" + std::to_string(a));
    }
    Value mine = i32(0);
    int64_t kept = 0;
    for (int64_t a = 0; a < int64_t(from.offset(0).size()); ++a)
      if (a != axis)
        mine = add(mine, mul(base(from, a), i32(strides[kept++])));
    auto pointer = getSharedPointerType();
    auto slot = [&](Value offset, int64_t constant) -> Value {
      Value at = add(mul(add(offset, i32(constant)), i32(bytes)), i32(scratch));
      return LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(),
                                 shared, ValueRange(at));
    };
    auto constantOf = [&](int64_t r) {
      int64_t sum = 0;
      for (auto [at, stride] : llvm::zip(places[r], strides))
        sum += at * stride;
      return sum;
    };
    if (!exchange.getUnguarded())
      machine.barrier(builder, loc); // earlier readers are done
    // One lane of those that hold the same writes.
    int64_t idle = 0;
    for (auto [b, image] : llvm::enumerate(from.bits("lane")))
      if (llvm::all_of(llvm::enumerate(image), [&](auto entry) {
            return int64_t(entry.index()) == axis || entry.value() == 0;
          }))
        idle |= int64_t(1) << b;
    Value writes = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq,
        arith::AndIOp::create(builder, loc, lane, i32(idle)), i32(0));
    // And of the warps that hold the same, the first.
    if (int64_t same = from.redundant("warp"))
      writes =
          both(writes, arith::CmpIOp::create(
                           builder, loc, arith::CmpIPredicate::eq,
                           arith::AndIOp::create(builder, loc, warp, i32(same)),
                           i32(0)));
    Value partAt = mul(xorOf(warp, part), i32(total));
    auto guard = scf::IfOp::create(builder, loc, writes, false);
    {
      OpBuilder::InsertionGuard inner(builder);
      builder.setInsertionPointToStart(guard.thenBlock());
      for (int64_t r = 0; r < count; ++r) {
        Value value = result[r];
        if (isa<FloatType>(type))
          value = arith::BitcastOp::create(builder, loc,
                                           builder.getIntegerType(bits), value);
        if (bits < bytes * 8)
          value = arith::ExtUIOp::create(builder, loc, container, value);
        LLVM::StoreOp::create(builder, loc, value,
                              slot(add(partAt, mine), constantOf(r)));
      }
    }
    machine.barrier(builder, loc);
    for (int64_t r = 0; r < count; ++r) {
      Value sum;
      // Parts of a single result are neighbours.
      int64_t together = total == 1 && bytes == 4 && scratch % 16 == 0
                             ? std::min<int64_t>(parallel, 4)
                             : 1;
      Value several;
      for (int64_t p = 0; p < parallel; ++p) {
        if (together > 1 && p % together == 0)
          several = LLVM::LoadOp::create(
              builder, loc, VectorType::get(together, container),
              slot(mine, constantOf(r) + p * total), unsigned(together * 4));
        Value value =
            together > 1
                ? Value(LLVM::ExtractElementOp::create(
                      builder, loc, container, several, i32(p % together)))
                : Value(LLVM::LoadOp::create(
                      builder, loc, container,
                      slot(mine, constantOf(r) + p * total)));
        if (bits < bytes * 8)
          value = arith::TruncIOp::create(builder, loc,
                                          builder.getIntegerType(bits), value);
        if (isa<FloatType>(type))
          value = arith::BitcastOp::create(builder, loc, type, value);
        sum = sum ? combine(op.getKind(), sum, value) : value;
      }
      result[r] = sum;
    }
  }
  if (toScalar)
    scalars.map(op.getResult(), result.front());
  else
    tiles[op.getResult()] = result;
  return success();
}
