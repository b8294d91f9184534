//===- LowerMemory.cpp - Loads and stores of the user's arrays ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An element that does not exist is not touched: every access is predicated,
// `@p ld.global` and `@p st.global`, so threads do not diverge.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/NVIDIA/GlobalAccess.h"

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
    along.room = arith::SubIOp::create(builder, loc, along.room, mine);
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
  auto load = LLVM::InlineAsmOp::create(
      builder, loc, container, ValueRange{address, predicate}, text,
      ("=&" + letter + ",l,b").str(), /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT),
      ArrayAttr());
  Value value = load.getRes();
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

Value NvidiaLowering::predicatedLoad16(Value address, Value predicate) {
  Type word = builder.getI32Type();
  auto type = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                               SmallVector<Type>(4, word));
  auto load = LLVM::InlineAsmOp::create(
      builder, loc, type, ValueRange{address, predicate},
      "mov.b32 $0, 0;\n\tmov.b32 $1, 0;\n\tmov.b32 $2, 0;\n\t"
      "mov.b32 $3, 0;\n\t@$5 ld.global.v4.b32 {$0, $1, $2, $3}, [$4];",
      "=&r,=&r,=&r,=&r,l,b", /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT),
      ArrayAttr());
  Value group = LLVM::PoisonOp::create(builder, loc, VectorType::get(4, word));
  for (int64_t i = 0; i < 4; ++i)
    group = LLVM::InsertElementOp::create(
        builder, loc, group,
        LLVM::ExtractValueOp::create(builder, loc, load.getRes(), i), i32(i));
  return group;
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
  LLVM::InlineAsmOp::create(
      builder, loc, TypeRange(), ValueRange{address, value, predicate}, text,
      ("l," + letter + ",b").str(), /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT),
      ArrayAttr());
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
  Registers result;
  for (int64_t r = 0; r < layout.registers(); ++r) {
    Value inside = insideAt(from, layout.offset(r));
    if (op.getMask())
      inside = both(inside, tiles[op.getMask()][r]);
    Value value =
        predicatedLoad(type, addressAt(from, layout.offset(r)), inside);
    if (op.getMask() && op.getPad()) {
      Value pad = arith::ConstantOp::create(builder, loc,
                                            cast<TypedAttr>(*op.getPad()));
      value = arith::SelectOp::create(builder, loc, tiles[op.getMask()][r],
                                      value, pad);
    }
    result.push_back(value);
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
