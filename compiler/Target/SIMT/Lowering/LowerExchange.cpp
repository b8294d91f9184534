//===- LowerExchange.cpp - Tiles that change threads ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// compiler/Support/Layout/Exchange.h says how a tile goes from the threads that
// hold it to those that want it; here is the code. Through shared memory it is
//
//     barrier      earlier readers are done
//     write        of those that hold the same element, one
//     barrier
//     read
//
// in the kernel's scratch memory, at the byte `scratch` of the op.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/SIMT/Lowering/GlobalAccess.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::simt;
using layout::Board;
using layout::Exchange;
using layout::Index;

/// Bytes of one access: elements of 8 bytes are two planes of 4.
static int64_t wordBytes(Type element) {
  int64_t bits = element.getIntOrFloatBitWidth();
  return std::clamp<int64_t>(bits / 8, 1, 4);
}

static int64_t scratchOf(Operation *op) {
  return *tile::getExchange(op).getOffset();
}

static Board plainBoard(ArrayRef<int64_t> shape) {
  return layout::rowMajorBoard(shape.vec(), /*oddRows=*/false);
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

Value KernelLowering::threadPlace(const ThreadLayout &layout,
                                  const Board &board) {
  auto places = [&](StringRef in) {
    SmallVector<int64_t> all;
    for (const Index &image : layout.bits(in))
      all.push_back(board.placeOf(image));
    return all;
  };
  return add(sumOf(lane, places("lane")), sumOf(warp, places("warp")));
}

Value KernelLowering::insideShape(const ThreadLayout &layout, int64_t r,
                                  ArrayRef<int64_t> shape) {
  Value inside;
  for (auto [axis, size] : llvm::enumerate(shape)) {
    if (layout.get().outSize("dim" + std::to_string(axis)) <= size)
      continue;
    inside = both(inside, less(base(layout, int64_t(axis)),
                               i32(size - layout.offset(r)[axis])));
  }
  return inside;
}

static bool isBeyond(ArrayRef<int64_t> offset, ArrayRef<int64_t> shape) {
  return llvm::any_of(llvm::zip(offset, shape), [](auto pair) {
    return std::get<0>(pair) >= std::get<1>(pair);
  });
}

void KernelLowering::put(ValueRange values, const ThreadLayout &layout,
                         ArrayRef<int64_t> shape, const Board &board,
                         int64_t first, int64_t shift) {
  Type element = values.front().getType();
  int64_t bits = element.getIntOrFloatBitWidth(), bytes = wordBytes(element);
  Value mine = mul(threadPlace(layout, board), i32(bytes));
  Value writes = firstHolder(layout);
  int64_t vector = layout::boardVector(layout.get(), board, shape.vec(),
                                       std::max<int64_t>(1, bits / 8));
  while ((first + shift * bytes) % (vector * bytes) != 0)
    vector /= 2;
  if (vector * bytes >= 4 && vector > 1 && !writes)
    return putGroups(values, layout, shape, board, mine, first + shift * bytes,
                     vector);
  auto pointer = getSharedPointerType();
  auto store = [&](Value value, int64_t at, Value predicate) {
    Value address =
        LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), shared,
                            ValueRange(add(mine, i32(at))));
    if (!predicate) {
      LLVM::StoreOp::create(builder, loc, value, address);
      return;
    }
    Value number =
        LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), address);
    machine.store(*this, value, number, predicate);
  };
  for (int64_t r = 0; r < layout.registers(); ++r) {
    if (isBeyond(layout.offset(r), shape))
      continue;
    Value predicate = both(writes, insideShape(layout, r, shape));
    Index offset(layout.offset(r).begin(), layout.offset(r).end());
    int64_t at = first + (board.placeOf(offset) + shift) * bytes;
    Value value = values[r];
    if (isa<FloatType>(element))
      value = arith::BitcastOp::create(builder, loc,
                                       builder.getIntegerType(bits), value);
    if (bits == 1)
      value = arith::ExtUIOp::create(builder, loc, builder.getI8Type(), value);
    if (bits < 64) {
      store(value, at, predicate);
      continue;
    }
    Type word = builder.getI32Type();
    store(arith::TruncIOp::create(builder, loc, word, value), at, predicate);
    Value high = arith::ShRUIOp::create(builder, loc, value, i64(32));
    store(arith::TruncIOp::create(builder, loc, word, high),
          at + board.elements * 4, predicate);
  }
}

/// Several registers by one access. All holders write: they are one each.
void KernelLowering::putGroups(ValueRange values, const ThreadLayout &layout,
                               ArrayRef<int64_t> shape, const Board &board,
                               Value mine, int64_t first, int64_t vector) {
  int64_t bytes = wordBytes(values.front().getType());
  Registers all = words(Registers(values), 4 / bytes);
  int64_t count = vector * bytes / 4;
  auto pointer = getSharedPointerType();
  Type word = builder.getI32Type();
  for (int64_t r = 0; r < layout.registers(); r += vector) {
    if (isBeyond(layout.offset(r), shape))
      continue;
    Index offset(layout.offset(r).begin(), layout.offset(r).end());
    Value address = LLVM::GEPOp::create(
        builder, loc, pointer, builder.getI8Type(), shared,
        ValueRange(add(mine, i32(first + board.placeOf(offset) * bytes))));
    Value group = all[r / vector * count];
    if (count > 1) {
      group =
          LLVM::PoisonOp::create(builder, loc, VectorType::get(count, word));
      for (int64_t i = 0; i < count; ++i)
        group = LLVM::InsertElementOp::create(
            builder, loc, group, all[r / vector * count + i], i32(i));
    }
    auto store = [&] {
      LLVM::StoreOp::create(builder, loc, group, address,
                            unsigned(vector * bytes));
    };
    if (Value inside = insideShape(layout, r, shape)) {
      auto guard = scf::IfOp::create(builder, loc, inside, false);
      OpBuilder::InsertionGuard inner(builder);
      builder.setInsertionPointToStart(guard.thenBlock());
      store();
    } else {
      store();
    }
  }
}

/// The element at `place` (bytes, i32) from byte `first` on.
Value KernelLowering::loadWords(Type element, Value place, const Board &board,
                                int64_t first) {
  int64_t bits = element.getIntOrFloatBitWidth(), bytes = wordBytes(element);
  auto pointer = getSharedPointerType();
  Type word = builder.getIntegerType(bytes * 8);
  auto load = [&](int64_t at) -> Value {
    Value address =
        LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), shared,
                            ValueRange(add(place, i32(at))));
    return LLVM::LoadOp::create(builder, loc, word, address);
  };
  Value value = load(first);
  if (bits == 64) {
    Type wide = builder.getI64Type();
    Value high = arith::ExtUIOp::create(builder, loc, wide,
                                        load(first + board.elements * 4));
    value = arith::OrIOp::create(
        builder, loc, arith::ExtUIOp::create(builder, loc, wide, value),
        arith::ShLIOp::create(builder, loc, high, i64(32)));
  }
  if (bits == 1)
    return arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ne, value,
        arith::ConstantOp::create(builder, loc,
                                  builder.getIntegerAttr(word, 0)));
  if (isa<FloatType>(element))
    value = arith::BitcastOp::create(builder, loc, element, value);
  return value;
}

KernelLowering::Registers KernelLowering::take(Type element,
                                               const ThreadLayout &layout,
                                               ArrayRef<int64_t> shape,
                                               const Board &board,
                                               int64_t first) {
  int64_t bytes = wordBytes(element);
  Value mine = mul(threadPlace(layout, board), i32(bytes));
  int64_t vector = layout::boardVector(
      layout.get(), board, shape.vec(),
      std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8));
  while (first % (vector * bytes) != 0)
    vector /= 2;
  if (vector * bytes < 4)
    vector = 1;
  auto pointer = getSharedPointerType();
  Type word = builder.getI32Type();
  Registers result;
  for (int64_t r = 0; r < layout.registers(); r += vector) {
    if (isBeyond(layout.offset(r), shape)) {
      // Nobody has it, nobody looks at it.
      result.append(vector, arith::ConstantOp::create(
                                builder, loc, builder.getZeroAttr(element)));
      continue;
    }
    Index offset(layout.offset(r).begin(), layout.offset(r).end());
    Value place = add(mine, i32(board.placeOf(offset) * bytes));
    // What does not exist is not read: it was not written.
    Value inside = insideShape(layout, r, shape);
    if (vector == 1) {
      if (inside)
        place = arith::SelectOp::create(builder, loc, inside, place, i32(0));
      result.push_back(loadWords(element, place, board, first));
      continue;
    }
    int64_t count = vector * bytes / 4;
    Value address =
        LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), shared,
                            ValueRange(add(place, i32(first))));
    if (inside) {
      address = LLVM::PtrToIntOp::create(builder, loc, word, address);
      llvm::append_range(result, elementsOf(machine.loadWords(*this, count, 32,
                                                              address, inside),
                                            element));
      continue;
    }
    Value group = LLVM::LoadOp::create(
        builder, loc, count > 1 ? Type(VectorType::get(count, word)) : word,
        address, unsigned(vector * bytes));
    Registers loaded;
    for (int64_t i = 0; i < count; ++i)
      loaded.push_back(count == 1 ? group
                                  : LLVM::ExtractElementOp::create(
                                        builder, loc, word, group, i32(i)));
    llvm::append_range(result, elementsOf(loaded, element));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

void KernelLowering::lowerConvert(tile::ConvertLayoutOp op) {
  ThreadLayout from(op.getInput()), to(op.getResult());
  auto type = cast<RankedTensorType>(op.getType());
  Type element = type.getElementType();
  int64_t bits = element.getIntOrFloatBitWidth();
  Exchange plan =
      layout::planExchange(from.get(), to.get(), type.getShape().vec(),
                           std::max<int64_t>(1, bits / 8));
  Registers given = tiles[op.getInput()];
  if (plan.needsMemory()) {
    machine.barrier(builder, loc);
    put(given, from, type.getShape(), plan.board, scratchOf(op));
    machine.barrier(builder, loc);
    tiles[op.getResult()] =
        take(element, to, type.getShape(), plan.board, scratchOf(op));
    return;
  }
  bool moves = plan.way == Exchange::Way::Shuffles;
  Value giver = xorOf(lane, plan.laneOfLane);
  if (llvm::any_of(plan.laneOfWarp, [](int64_t v) { return v != 0; }))
    giver = arith::XOrIOp::create(builder, loc, giver,
                                  xorOf(warp, plan.laneOfWarp));
  SmallVector<Value> bitsOfChoice;
  for (const Exchange::Choice &choice : plan.choices)
    bitsOfChoice.push_back(arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ne,
        arith::AndIOp::create(builder, loc, choice.warp ? warp : lane,
                              i32(int64_t(1) << choice.bit)),
        i32(0)));
  Registers result;
  for (int64_t r = 0; r < to.registers(); ++r) {
    Value asked = giver;
    if (plan.laneOfRegister[r])
      asked = arith::XOrIOp::create(builder, loc, giver,
                                    i32(plan.laneOfRegister[r]));
    Registers found;
    for (int64_t source : plan.sources[r]) {
      Value value = given[std::max<int64_t>(source, 0)];
      found.push_back(moves ? shuffle(value, asked, /*isMask=*/false) : value);
    }
    for (Value bit : bitsOfChoice) {
      Registers kept;
      for (size_t i = 0; i + 1 < found.size(); i += 2)
        kept.push_back(
            arith::SelectOp::create(builder, loc, bit, found[i + 1], found[i]));
      found = kept;
    }
    result.push_back(found.front());
  }
  tiles[op.getResult()] = result;
}

/// Row-major order is the same before and after.
void KernelLowering::lowerReshape(tile::ReshapeOp op) {
  ThreadLayout from(op.getInput()), to(op.getResult());
  auto before = op.getInput().getType(), after = op.getResult().getType();
  machine.barrier(builder, loc);
  put(tiles[op.getInput()], from, before.getShape(),
      plainBoard(before.getShape()), scratchOf(op));
  machine.barrier(builder, loc);
  tiles[op.getResult()] = take(after.getElementType(), to, after.getShape(),
                               plainBoard(after.getShape()), scratchOf(op));
}

void KernelLowering::lowerCat(tile::CatOp op) {
  ThreadLayout to(op.getResult());
  auto type = op.getResult().getType();
  Board board = plainBoard(type.getShape());
  int64_t shift = 0, step = 1;
  for (int64_t size : type.getShape().drop_front(op.getAxis() + 1))
    step *= size;
  machine.barrier(builder, loc);
  for (Value input : op.getInputs()) {
    auto part = cast<RankedTensorType>(input.getType());
    put(tiles[input], ThreadLayout(input), part.getShape(), board,
        scratchOf(op), shift * step);
    shift += part.getDimSize(op.getAxis());
  }
  machine.barrier(builder, loc);
  tiles[op.getResult()] =
      take(type.getElementType(), to, type.getShape(), board, scratchOf(op));
}

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

/// Bit by bit of the position along the axis, the lowest first. After the bits
/// below 2^k, `total` is that of the aligned 2^k positions around an element
/// and `prefix` that of those up to it; the upper half of a pair of such blocks
/// then adds the lower half's total. A bit is one of the lane (a shuffle) or of
/// the register.
void KernelLowering::lowerScan(tile::ScanOp op) {
  ThreadLayout layout(op.getResult());
  int64_t axis = op.getAxis();
  Registers prefix = tiles[op.getInput()], total = prefix;
  int64_t size = layout.get().outSize("dim" + std::to_string(axis));
  std::map<int64_t, int64_t> laneBit; // by distance along the axis
  for (auto [b, image] : llvm::enumerate(layout.bits("lane")))
    if (image[axis])
      laneBit[image[axis]] = int64_t(b);
  for (int64_t distance = 1; distance < size; distance *= 2) {
    if (auto found = laneBit.find(distance); found != laneBit.end()) {
      int64_t mask = int64_t(1) << found->second;
      Value upper = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::ne,
          arith::AndIOp::create(builder, loc, lane, i32(mask)), i32(0));
      for (int64_t r = 0; r < layout.registers(); ++r) {
        Value other = shuffle(total[r], mask);
        prefix[r] = arith::SelectOp::create(
            builder, loc, upper, combine(op.getKind(), other, prefix[r]),
            prefix[r]);
        total[r] = combine(op.getKind(), total[r], other);
      }
      continue;
    }
    Registers before = total;
    for (int64_t r = 0; r < layout.registers(); ++r) {
      SmallVector<int64_t> at(layout.offset(r));
      bool upper = at[axis] & distance;
      at[axis] ^= distance;
      int64_t other = layout.find(at);
      if (other < 0)
        continue;
      if (upper)
        prefix[r] = combine(op.getKind(), before[other], prefix[r]);
      total[r] = combine(op.getKind(), before[upper ? other : r],
                         before[upper ? r : other]);
    }
  }
  tiles[op.getResult()] = prefix;
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

/// Philox 4x32-10 of (seed, index); its first word's upper 24 bits.
Value KernelLowering::random(Value seed, Value index) {
  Type i32Type = builder.getI32Type(), i64Type = builder.getI64Type();
  auto halves = [&](Value whole) {
    Value low = arith::TruncIOp::create(builder, loc, i32Type, whole);
    Value high = arith::TruncIOp::create(
        builder, loc, i32Type,
        arith::ShRUIOp::create(builder, loc, whole, i64(32)));
    return std::pair(low, high);
  };
  auto product = [&](Value a, uint32_t b) {
    return halves(
        mul(arith::ExtUIOp::create(builder, loc, i64Type, a), i64(int64_t(b))));
  };
  auto exclusive = [&](Value a, Value b) -> Value {
    return arith::XOrIOp::create(builder, loc, a, b);
  };
  auto [key0, key1] = halves(toI64(seed));
  auto [x0, x1] = halves(toI64(index));
  Value x2 = i32(0), x3 = i32(0);
  for (int round = 0; round < 10; ++round) {
    auto [low0, high0] = product(x0, 0xD2511F53u);
    auto [low1, high1] = product(x2, 0xCD9E8D57u);
    x0 = exclusive(exclusive(high1, x1), key0);
    x2 = exclusive(exclusive(high0, x3), key1);
    x1 = low1;
    x3 = low0;
    key0 = add(key0, i32(int32_t(0x9E3779B9u)));
    key1 = add(key1, i32(int32_t(0xBB67AE85u)));
  }
  Value upper = arith::ShRUIOp::create(builder, loc, x0, i32(8));
  Value number =
      arith::UIToFPOp::create(builder, loc, builder.getF32Type(), upper);
  return arith::MulFOp::create(
      builder, loc, number,
      arith::ConstantOp::create(builder, loc,
                                builder.getF32FloatAttr(0x1p-24f)));
}

void KernelLowering::lowerRand(tile::RandOp op) {
  Value seed = scalars.lookup(op.getSeed());
  if (!isa<RankedTensorType>(op.getIndex().getType())) {
    scalars.map(op.getResult(), random(seed, scalars.lookup(op.getIndex())));
    return;
  }
  Registers result;
  for (Value index : tiles[op.getIndex()])
    result.push_back(random(seed, index));
  tiles[op.getResult()] = result;
}
