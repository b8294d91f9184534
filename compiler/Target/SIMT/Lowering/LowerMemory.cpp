//===- LowerMemory.cpp - Loads and stores of the user's arrays ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An element that does not exist is not touched: every access is predicated
// (on NVIDIA `@p ld.global` and `@p st.global`, so threads do not diverge).
// Neighbours that a thread holds move together, up to 16 bytes, where they are
// aligned and none of them is missing; that is asked once for the tile:
//
//     if aligned and the row's length is a multiple of 8
//       @p st.global.v4.b32 [a], {...}
//     else
//       @p st.global.b16 [a], ...
//
//===----------------------------------------------------------------------===//

#include "compiler/Support/Layout/GpuTiles.h"
#include "compiler/Target/SIMT/Lowering/GlobalAccess.h"
#include "compiler/Target/SIMT/Mapping/BlockLayouts.h"
#include "compiler/Tile/IR/IndexBounds.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::simt;

KernelLowering::Access
KernelLowering::access(Value view, OperandRange indices,
                       const ThreadLayout *layout,
                       std::optional<ArrayAttr> indexAxes) {
  const View &memory = views[view];
  Access result;
  result.origin = memory.address;
  auto spans = tile::axesOfIndices(indices, indexAxes);
  for (auto [number, index] : llvm::enumerate(indices)) {
    Value bytes = mul(toI64(memory.strides[number]), i64(memory.elementBytes));
    if (isa<RankedTensorType>(index.getType())) {
      result.gathers.push_back({index, ThreadLayout(index), spans[number],
                                bytes, toI64(memory.sizes[number])});
      continue;
    }
    if (!isa<tile::RangeType>(index.getType())) {
      Value position = scalars.lookup(index);
      // A program id lies within its own dim; other scalars may point anywhere.
      if (!index.getDefiningOp<tile::ProgramOp>() ||
          !tile::isInside(index, view, int64_t(number)))
        result.inside =
            both(result.inside,
                 arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       position, memory.sizes[number]));
      result.origin = add(result.origin, mul(toI64(position), bytes));
      continue;
    }
    const PositionRange &range = ranges[index];
    result.origin = add(result.origin, mul(toI64(range.start), bytes));
    AccessAxis along;
    along.axis = spans[number].empty() ? 0 : spans[number].front();
    along.bytes = bytes;
    along.room = range.length;
    if (memory.staticStrides[number] == 1)
      along.constantBytes = memory.elementBytes;
    result.axes.push_back(along);
  }
  result.base = result.origin;
  for (AccessAxis &along : result.axes) {
    if (!layout)
      break;
    Value mine = base(*layout, along.axis);
    along.room = sub(along.room, mine);
    Value wide =
        arith::ExtUIOp::create(builder, loc, builder.getI64Type(), mine);
    result.base = add(result.base, mul(wide, along.bytes));
  }
  return result;
}

/// Where a gather's element at `offset` lies along its dim.
Value KernelLowering::positionAt(AccessGather &gather,
                                 ArrayRef<int64_t> offset) {
  SmallVector<int64_t> at;
  for (int64_t axis : gather.axes)
    at.push_back(offset[axis]);
  return toI64(tiles[gather.index][gather.layout.find(at)]);
}

Value KernelLowering::addressAt(Access &access, ArrayRef<int64_t> offset) {
  Value address = access.base;
  int64_t constant = 0;
  for (AccessGather &gather : access.gathers)
    address = add(address, mul(positionAt(gather, offset), gather.bytes));
  for (AccessAxis &along : access.axes) {
    int64_t step = offset[along.axis];
    if (along.constantBytes >= 0)
      constant += step * along.constantBytes;
    else if (step)
      address = add(address, mul(along.bytes, i64(step)));
  }
  return constant ? add(address, i64(constant)) : address;
}

Value KernelLowering::insideAt(Access &access, ArrayRef<int64_t> offset) {
  Value inside = access.inside;
  for (AccessGather &gather : access.gathers)
    inside = both(
        inside, arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                      positionAt(gather, offset), gather.size));
  for (AccessAxis &along : access.axes) {
    int64_t step = offset[along.axis];
    Value &known = along.insideAt[step];
    if (!known)
      known = less(i32(step), along.room);
    inside = both(inside, known);
  }
  return inside ? inside : truth(true);
}

KernelLowering::Registers KernelLowering::words(ArrayRef<Value> values,
                                                int64_t perWord) {
  Registers result;
  Type element = values.front().getType();
  int64_t bits = element.getIntOrFloatBitWidth();
  Type word = builder.getIntegerType(std::max<int64_t>(bits, 32));
  for (size_t r = 0; r + perWord <= values.size(); r += perWord) {
    if (bits >= 32) {
      result.push_back(
          isa<FloatType>(element)
              ? Value(arith::BitcastOp::create(builder, loc, word, values[r]))
              : values[r]);
      continue;
    }
    // Types that LLVM does not have are their bits; a truth is a byte.
    Type item = bits <= 8 ? Type(builder.getIntegerType(8)) : element;
    auto type = VectorType::get(perWord, item);
    Value group = LLVM::PoisonOp::create(builder, loc, type);
    for (int64_t i = 0; i < perWord; ++i) {
      Value value = values[r + i];
      if (bits == 1)
        value = arith::ExtUIOp::create(builder, loc, item, value);
      else if (item != element)
        value = arith::BitcastOp::create(builder, loc, item, value);
      group = LLVM::InsertElementOp::create(builder, loc, group, value, i32(i));
    }
    result.push_back(LLVM::BitcastOp::create(builder, loc, word, group));
  }
  return result;
}

KernelLowering::Registers KernelLowering::elementsOf(ValueRange words,
                                                     Type type) {
  int64_t bits = type.getIntOrFloatBitWidth();
  int64_t stored = bits == 1 ? 8 : bits;
  Registers result;
  for (Value word : words) {
    int64_t count = word.getType().getIntOrFloatBitWidth() / stored;
    if (count == 1) {
      result.push_back(isa<FloatType>(type) ? Value(arith::BitcastOp::create(
                                                  builder, loc, type, word))
                                            : word);
      continue;
    }
    // Types that LLVM does not have are their bits.
    Type item = stored == 8 ? Type(builder.getIntegerType(8)) : type;
    Value all = LLVM::BitcastOp::create(builder, loc,
                                        VectorType::get(count, item), word);
    for (int64_t i = 0; i < count; ++i) {
      Value one =
          LLVM::ExtractElementOp::create(builder, loc, item, all, i32(i));
      if (bits == 1)
        one = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::ne, one,
            arith::ConstantOp::create(builder, loc,
                                      builder.getIntegerAttr(item, 0)));
      else if (item != type)
        one = arith::BitcastOp::create(builder, loc, type, one);
      result.push_back(one);
    }
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Groups of neighbours
//===----------------------------------------------------------------------===//

static int64_t bytesOf(Type element) {
  return std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
}

template <typename AccessOp>
int64_t KernelLowering::groupSize(AccessOp op, const ThreadLayout &layout,
                                  Type element) {
  int64_t unit = unitAxis(op.getView(), op.getIndices(), op.getIndexAxes());
  if (unit < 0 || (op.getMask() && !isUniformAlong(op.getMask(), unit)))
    return 1;
  int64_t bytes = bytesOf(element);
  int64_t group =
      std::min(layout::memoryRuns(layout.get(), unit).vector, 16 / bytes);
  return group * bytes >= 4 ? group : 1;
}

template <typename AccessOp>
Value KernelLowering::groupsWhole(AccessOp op, int64_t group, Type element) {
  Value whole =
      groupsAligned(op.getView(), op.getIndices(), group * bytesOf(element));
  // No group may be cut.
  const View &view = views[op.getView()];
  for (auto [number, index] : llvm::enumerate(op.getIndices())) {
    if (view.staticStrides[number] != 1 ||
        !isa<tile::RangeType>(index.getType()))
      continue;
    Value rest = both(ranges[index].length, i32(group - 1));
    whole =
        both(whole, arith::CmpIOp::create(
                        builder, loc, arith::CmpIPredicate::eq, rest, i32(0)));
  }
  return whole;
}

LogicalResult KernelLowering::lowerLoad(tile::LoadOp op) {
  Type type = getElementTypeOrSelf(op.getResult());
  if (!isa<RankedTensorType>(op.getResult().getType())) {
    Access from = access(op.getView(), op.getIndices(), nullptr);
    scalars.map(op.getResult(),
                machine.load(*this, type, from.base, insideAt(from, {})));
    return success();
  }
  ThreadLayout layout(op.getResult());
  Access from =
      access(op.getView(), op.getIndices(), &layout, op.getIndexAxes());
  auto insideOf = [&](int64_t r) {
    Value inside = insideAt(from, layout.offset(r));
    return op.getMask() ? both(inside, tiles[op.getMask()][r]) : inside;
  };
  auto loadSingly = [&] {
    Registers result;
    for (int64_t r = 0; r < layout.registers(); ++r)
      result.push_back(machine.load(
          *this, type, addressAt(from, layout.offset(r)), insideOf(r)));
    return result;
  };
  int64_t group = groupSize(op, layout, type);
  Registers result;
  if (group == 1) {
    result = loadSingly();
  } else {
    // Both ways give words: what a loop or a branch carries is few registers.
    int64_t bytes = bytesOf(type), wordBits = bytes == 8 ? 64 : 32;
    int64_t count = layout.registers() * bytes * 8 / wordBits;
    Value whole = groupsWhole(op, group, type);
    auto branch = scf::IfOp::create(
        builder, loc,
        SmallVector<Type>(count, builder.getIntegerType(wordBits)), whole,
        true);
    {
      OpBuilder::InsertionGuard inner(builder);
      builder.setInsertionPointToStart(branch.thenBlock());
      Access inThen = from;
      Registers found;
      for (int64_t r = 0; r < layout.registers(); r += group) {
        Value inside = insideAt(inThen, layout.offset(r));
        if (op.getMask())
          inside = both(inside, tiles[op.getMask()][r]);
        llvm::append_range(
            found,
            machine.loadWords(*this, group * bytes * 8 / wordBits, wordBits,
                              addressAt(inThen, layout.offset(r)), inside));
      }
      scf::YieldOp::create(builder, loc, found);
      builder.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(builder, loc,
                           words(loadSingly(), wordBits / (bytes * 8)));
    }
    result = elementsOf(branch.getResults(), type);
  }
  for (int64_t r = 0; op.getMask() && op.getPad() && r < layout.registers();
       ++r) {
    Value pad =
        arith::ConstantOp::create(builder, loc, cast<TypedAttr>(*op.getPad()));
    result[r] = arith::SelectOp::create(builder, loc, tiles[op.getMask()][r],
                                        result[r], pad);
  }
  tiles[op.getResult()] = result;
  return success();
}

/// One thread writes.
void KernelLowering::lowerScalarStore(tile::StoreOp op) {
  Access to = access(op.getView(), op.getIndices(), nullptr);
  Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      tid, i32(0));
  machine.store(*this, scalars.lookup(op.getValue()), to.base,
                both(first, insideAt(to, {})));
}

Value KernelLowering::firstHolder(const ThreadLayout &layout) {
  Value first;
  for (auto [number, name] : {std::pair(lane, "lane"), std::pair(warp, "warp")})
    if (int64_t mask = layout.redundant(name))
      first = both(first,
                   arith::CmpIOp::create(
                       builder, loc, arith::CmpIPredicate::eq,
                       arith::AndIOp::create(builder, loc, number, i32(mask)),
                       i32(0)));
  return first;
}

KernelLowering::Access KernelLowering::storeAccess(tile::StoreOp op,
                                                   const ThreadLayout &layout) {
  Access to = access(op.getView(), op.getIndices(), &layout, op.getIndexAxes());
  to.inside = both(to.inside, firstHolder(layout));
  return to;
}

void KernelLowering::storeElement(tile::StoreOp op, Access &to,
                                  const ThreadLayout &layout, int64_t r) {
  Value inside = insideAt(to, layout.offset(r));
  if (op.getMask())
    inside = both(inside, tiles[op.getMask()][r]);
  machine.store(*this, tiles[op.getValue()][r], addressAt(to, layout.offset(r)),
                inside);
}

int64_t KernelLowering::storeGroup(tile::StoreOp op,
                                   const ThreadLayout &layout) {
  return groupSize(op, layout, getElementTypeOrSelf(op.getValue()));
}

void KernelLowering::storeGroups(tile::StoreOp op, Access &to,
                                 const ThreadLayout &layout, int64_t group) {
  Type type = getElementTypeOrSelf(op.getValue());
  int64_t bytes = bytesOf(type), wordBits = bytes == 8 ? 64 : 32;
  int64_t wordsOfGroup = group * bytes * 8 / wordBits;
  Value whole = groupsWhole(op, group, type);
  Registers stored = words(tiles[op.getValue()], wordBits / (bytes * 8));
  auto branch = scf::IfOp::create(builder, loc, whole, true);
  OpBuilder::InsertionGuard inner(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  Access inThen = to;
  for (int64_t r = 0; r < layout.registers(); r += group) {
    Value inside = insideAt(inThen, layout.offset(r));
    if (op.getMask())
      inside = both(inside, tiles[op.getMask()][r]);
    machine.storeWords(
        *this,
        ArrayRef<Value>(stored).slice(r / group * wordsOfGroup, wordsOfGroup),
        addressAt(inThen, layout.offset(r)), inside);
  }
  builder.setInsertionPointToStart(branch.elseBlock());
  for (int64_t r = 0; r < layout.registers(); ++r)
    storeElement(op, to, layout, r);
}
