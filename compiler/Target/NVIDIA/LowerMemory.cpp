//===- LowerMemory.cpp - Loads and stores of the user's arrays ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An element that does not exist is not touched: every access is predicated,
// `@p ld.global` and `@p st.global`, so threads do not diverge. Neighbours that
// a thread holds move together, up to 16 bytes, where they are aligned and none
// of them is missing; that is asked once for the tile:
//
//     if aligned and the row's length is a multiple of 8
//       @p st.global.v4.b32 [a], {...}
//     else
//       @p st.global.b16 [a], ...
//
//===----------------------------------------------------------------------===//

#include "compiler/Support/Layout/GpuTiles.h"
#include "compiler/Target/NVIDIA/GlobalAccess.h"
#include "compiler/Target/NVIDIA/InlinePtx.h"
#include "compiler/Tile/Transforms/GpuLayouts.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

NvidiaLowering::Access
NvidiaLowering::access(Value view, OperandRange indices,
                       const ThreadLayout *layout,
                       std::optional<ArrayAttr> indexAxes) {
  const GpuView &memory = views[view];
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
      // A program id lies within its dim; other scalars may point anywhere.
      if (!index.getDefiningOp<tile::ProgramOp>())
        result.inside =
            both(result.inside,
                 arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       position, memory.sizes[number]));
      result.origin = add(result.origin, mul(toI64(position), bytes));
      continue;
    }
    const GpuRange &range = ranges[index];
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
Value NvidiaLowering::positionAt(AccessGather &gather,
                                 ArrayRef<int64_t> offset) {
  SmallVector<int64_t> at;
  for (int64_t axis : gather.axes)
    at.push_back(offset[axis]);
  return toI64(tiles[gather.index][gather.layout.find(at)]);
}

Value NvidiaLowering::addressAt(Access &access, ArrayRef<int64_t> offset) {
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

Value NvidiaLowering::insideAt(Access &access, ArrayRef<int64_t> offset) {
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

/// PTX's name and the constraint letter for accesses of `bytes`.
static std::pair<StringRef, StringRef> accessForm(int64_t bytes) {
  switch (bytes) {
  case 1:
    return {"u8", "h"};
  case 2:
    return {"b16", "h"};
  case 4:
    return {"b32", "r"};
  default:
    return {"b64", "l"};
  }
}

Value NvidiaLowering::predicatedLoad(Type type, Value address,
                                     Value predicate) {
  int64_t bits = type.getIntOrFloatBitWidth();
  int64_t bytes = bits == 1 ? 1 : bits / 8;
  auto [form, letter] = accessForm(bytes);
  Type container = builder.getIntegerType(std::max<int64_t>(bytes, 2) * 8);
  StringRef move = bytes <= 2 ? "b16" : form;
  std::string text =
      ("mov." + move + " $0, 0;\n\t@$2 ld.global." + form + " $0, [$1];").str();
  Value value =
      createInlinePtx(builder, loc, container, {address, predicate}, text,
                      ("=&" + letter + ",l,b").str(), /*hasSideEffects=*/true)
          .getRes();
  if (bits == 1)
    return arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ne, value,
        arith::ConstantOp::create(builder, loc,
                                  builder.getIntegerAttr(container, 0)));
  if (bits < int64_t(container.getIntOrFloatBitWidth()))
    value = arith::TruncIOp::create(builder, loc, builder.getIntegerType(bits),
                                    value);
  if (isa<FloatType>(type))
    value = arith::BitcastOp::create(builder, loc, type, value);
  return value;
}

static bool isTrue(Value predicate) { return matchPattern(predicate, m_One()); }

/// ".v4.b32", ".b64": one access of several words.
static std::string groupForm(int64_t words, int64_t wordBits) {
  std::string form = words > 1 ? ".v" + std::to_string(words) : "";
  return form + ".b" + std::to_string(wordBits);
}

/// "{$1, $2}", or "$1".
static std::string listOf(int64_t first, int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return count > 1 ? "{" + text + "}" : text;
}

NvidiaLowering::Registers NvidiaLowering::predicatedLoadGroup(int64_t bytes,
                                                              int64_t wordBits,
                                                              Value address,
                                                              Value predicate) {
  int64_t count = bytes * 8 / wordBits;
  Type word = builder.getIntegerType(wordBits), type = word;
  if (count > 1)
    type = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                            SmallVector<Type>(count, word));
  bool global = address.getType().isInteger(64), always = isTrue(predicate);
  StringRef letter = wordBits == 64 ? "l" : "r";
  std::string text, letters, number = std::to_string(count);
  for (int64_t i = 0; i < count; ++i) {
    if (!always)
      text += "mov.b" + std::to_string(wordBits) + " $" + std::to_string(i) +
              ", 0;\n\t";
    letters += ((always ? "=" : "=&") + letter + ",").str();
  }
  if (!always)
    text += "@$" + std::to_string(count + 1) + " ";
  text += (global ? "ld.global" : "ld.shared") + groupForm(count, wordBits) +
          " " + listOf(0, count) + ", [$" + number + "];";
  letters += global ? "l" : "r";
  SmallVector<Value> operands = {address};
  if (!always) {
    letters += ",b";
    operands.push_back(predicate);
  }
  Value loaded = createInlinePtx(builder, loc, type, operands, text, letters,
                                 /*hasSideEffects=*/true)
                     .getRes();
  Registers words;
  for (int64_t i = 0; i < count; ++i)
    words.push_back(
        count == 1 ? loaded
                   : LLVM::ExtractValueOp::create(builder, loc, loaded, i));
  return words;
}

void NvidiaLowering::predicatedStoreGroup(ValueRange words, Value address,
                                          Value predicate) {
  int64_t count = int64_t(words.size());
  int64_t wordBits = words.front().getType().getIntOrFloatBitWidth();
  SmallVector<Value> operands = {address};
  std::string letters = "l";
  for (Value word : words) {
    operands.push_back(word);
    letters += wordBits == 64 ? ",l" : ",r";
  }
  std::string text = "st.global" + groupForm(count, wordBits) + " [$0], " +
                     listOf(1, count) + ";";
  if (!isTrue(predicate)) {
    operands.push_back(predicate);
    text = "@$" + std::to_string(count + 1) + " " + text;
    letters += ",b";
  }
  createInlinePtx(builder, loc, {}, operands, text, letters,
                  /*hasSideEffects=*/true);
}

NvidiaLowering::Registers NvidiaLowering::elementsOf(ValueRange words,
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
int64_t NvidiaLowering::groupSize(AccessOp op, const ThreadLayout &layout,
                                  Type element) {
  int64_t unit =
      tile::unitAxis(op.getView(), op.getIndices(), op.getIndexAxes());
  if (unit < 0 || (op.getMask() && !tile::isUniformAlong(op.getMask(), unit)))
    return 1;
  int64_t bytes = bytesOf(element);
  int64_t group =
      std::min(layout::memoryRuns(layout.get(), unit).vector, 16 / bytes);
  return group * bytes >= 4 ? group : 1;
}

template <typename AccessOp>
Value NvidiaLowering::groupsWhole(AccessOp op, int64_t group, Type element) {
  Value whole =
      groupsAligned(op.getView(), op.getIndices(), group * bytesOf(element));
  // No group may be cut.
  const GpuView &view = views[op.getView()];
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

void NvidiaLowering::predicatedStore(Value value, Value address,
                                     Value predicate) {
  Type type = value.getType();
  int64_t bits = type.getIntOrFloatBitWidth();
  int64_t bytes = bits == 1 ? 1 : bits / 8;
  auto [form, letter] = accessForm(bytes);
  if (isa<FloatType>(type))
    value = arith::BitcastOp::create(builder, loc, builder.getIntegerType(bits),
                                     value);
  if (bytes == 1)
    value =
        arith::ExtUIOp::create(builder, loc, builder.getIntegerType(16), value);
  std::string text = ("@$2 st.global." + form + " [$0], $1;").str();
  createInlinePtx(builder, loc, {}, {address, value, predicate}, text,
                  ("l," + letter + ",b").str(), /*hasSideEffects=*/true);
}

LogicalResult NvidiaLowering::lowerLoad(tile::LoadOp op) {
  Type type = getElementTypeOrSelf(op.getResult());
  if (!isa<RankedTensorType>(op.getResult().getType())) {
    Access from = access(op.getView(), op.getIndices(), nullptr);
    scalars.map(op.getResult(),
                predicatedLoad(type, from.base, insideAt(from, {})));
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
      result.push_back(
          predicatedLoad(type, addressAt(from, layout.offset(r)), insideOf(r)));
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
            predicatedLoadGroup(group * bytes, wordBits,
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
void NvidiaLowering::lowerScalarStore(tile::StoreOp op) {
  Access to = access(op.getView(), op.getIndices(), nullptr);
  Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      tid, i32(0));
  predicatedStore(scalars.lookup(op.getValue()), to.base,
                  both(first, insideAt(to, {})));
}

Value NvidiaLowering::firstHolder(const ThreadLayout &layout) {
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

NvidiaLowering::Access NvidiaLowering::storeAccess(tile::StoreOp op,
                                                   const ThreadLayout &layout) {
  Access to = access(op.getView(), op.getIndices(), &layout, op.getIndexAxes());
  to.inside = both(to.inside, firstHolder(layout));
  return to;
}

void NvidiaLowering::storeElement(tile::StoreOp op, Access &to,
                                  const ThreadLayout &layout, int64_t r) {
  Value inside = insideAt(to, layout.offset(r));
  if (op.getMask())
    inside = both(inside, tiles[op.getMask()][r]);
  predicatedStore(tiles[op.getValue()][r], addressAt(to, layout.offset(r)),
                  inside);
}

int64_t NvidiaLowering::storeGroup(tile::StoreOp op,
                                   const ThreadLayout &layout) {
  return groupSize(op, layout, getElementTypeOrSelf(op.getValue()));
}

void NvidiaLowering::storeGroups(tile::StoreOp op, Access &to,
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
    predicatedStoreGroup(
        ArrayRef<Value>(stored).slice(r / group * wordsOfGroup, wordsOfGroup),
        addressAt(inThen, layout.offset(r)), inside);
  }
  builder.setInsertionPointToStart(branch.elseBlock());
  for (int64_t r = 0; r < layout.registers(); ++r)
    storeElement(op, to, layout, r);
}
