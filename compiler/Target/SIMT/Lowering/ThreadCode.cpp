//===- ThreadCode.cpp - Layouts as code of one thread ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/SIMT/Lowering/KernelLowering.h"

#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::simt;
using layout::Index;
using layout::Layout;

ThreadLayout::ThreadLayout(Value tile) : ThreadLayout(tile::layoutOf(tile)) {}

ThreadLayout::ThreadLayout(const Layout &given) : layout(given) {
  std::optional<int> in = layout.findIn("register");
  int64_t count = in ? layout.inSize("register") : 1;
  for (int64_t r = 0; r < count; ++r) {
    Index at(layout.ins().size(), 0);
    if (in)
      at[*in] = r;
    offsets.push_back(layout.apply(at).value_or(Index()));
    registerAt.insert({offsets.back(), r});
  }
}

int64_t ThreadLayout::find(ArrayRef<int64_t> offset) const {
  auto found = registerAt.find(offset.vec());
  return found == registerAt.end() ? -1 : found->second;
}

std::vector<Index> ThreadLayout::bits(StringRef name) const {
  std::vector<Index> images;
  if (std::optional<int> in = layout.findIn(name.str()))
    for (int b = 0; b < layout.ins()[*in].bits; ++b)
      images.push_back(layout.basis(*in, b));
  return images;
}

int64_t ThreadLayout::redundant(StringRef name) const {
  int64_t mask = 0;
  for (auto [b, image] : llvm::enumerate(bits(name)))
    if (llvm::all_of(image, [](int64_t v) { return v == 0; }))
      mask |= int64_t(1) << b;
  return mask;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

LLVM::LLVMPointerType KernelLowering::getSharedPointerType() {
  return LLVM::LLVMPointerType::get(builder.getContext(), machine.sharedSpace);
}

Value KernelLowering::i32(int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI32IntegerAttr(int32_t(value)));
}

Value KernelLowering::i64(int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI64IntegerAttr(value));
}

Value KernelLowering::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value KernelLowering::truth(bool value) {
  return arith::ConstantOp::create(builder, loc, builder.getBoolAttr(value));
}

Value KernelLowering::toI64(Value value) {
  if (value.getType().isInteger(64))
    return value;
  if (value.getType().isIndex())
    return builder.createOrFold<arith::IndexCastOp>(loc, builder.getI64Type(),
                                                    value);
  return builder.createOrFold<arith::ExtSIOp>(loc, builder.getI64Type(), value);
}

Value KernelLowering::add(Value a, Value b) {
  return builder.createOrFold<arith::AddIOp>(loc, a, b);
}

Value KernelLowering::sub(Value a, Value b) {
  return builder.createOrFold<arith::SubIOp>(loc, a, b);
}

Value KernelLowering::mul(Value a, Value b) {
  return builder.createOrFold<arith::MulIOp>(loc, a, b);
}

Value KernelLowering::both(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return builder.createOrFold<arith::AndIOp>(loc, a, b);
}

Value KernelLowering::less(Value a, Value b) {
  return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, a,
                                             b);
}

Value KernelLowering::equal(Value a, Value b) {
  return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, a,
                                             b);
}

Value KernelLowering::xorOf(Value x, ArrayRef<int64_t> images) {
  // Bits that move by the same distance move together.
  std::map<int, int64_t> maskOfShift;
  for (auto [b, image] : llvm::enumerate(images))
    for (int64_t left = image; left; left &= left - 1)
      maskOfShift[llvm::countr_zero(uint64_t(left)) - int(b)] |= int64_t(1)
                                                                 << b;
  Value result;
  for (auto [shift, mask] : maskOfShift) {
    Value part = arith::AndIOp::create(builder, loc, x, i32(mask));
    if (shift > 0)
      part = arith::ShLIOp::create(builder, loc, part, i32(shift));
    else if (shift < 0)
      part = arith::ShRUIOp::create(builder, loc, part, i32(-shift));
    result = result ? Value(arith::XOrIOp::create(builder, loc, result, part))
                    : part;
  }
  return result ? result : i32(0);
}

Value KernelLowering::sumOf(Value x, ArrayRef<int64_t> images) {
  // Bits with the same ratio of image to weight are one product.
  std::map<int64_t, int64_t> maskOfFactor;
  Value result;
  auto accumulate = [&](Value part) {
    result = result ? add(result, part) : part;
  };
  for (auto [b, image] : llvm::enumerate(images)) {
    if (image == 0)
      continue;
    int64_t weight = int64_t(1) << b;
    if (image % weight == 0) {
      maskOfFactor[image / weight] |= weight;
      continue;
    }
    Value bit = arith::AndIOp::create(
        builder, loc, arith::ShRUIOp::create(builder, loc, x, i32(b)), i32(1));
    accumulate(mul(bit, i32(image)));
  }
  for (auto [factor, mask] : maskOfFactor)
    accumulate(
        mul(arith::AndIOp::create(builder, loc, x, i32(mask)), i32(factor)));
  return result ? result : i32(0);
}

Value KernelLowering::base(const ThreadLayout &layout, int64_t axis) {
  auto images = [&](StringRef in) {
    SmallVector<int64_t> all;
    for (const Index &image : layout.bits(in))
      all.push_back(image[axis]);
    return all;
  };
  SmallVector<int64_t> lanes = images("lane"), warps = images("warp");
  auto zero = [](int64_t v) { return v == 0; };
  if (llvm::all_of(warps, zero))
    return xorOf(lane, lanes);
  if (llvm::all_of(lanes, zero))
    return xorOf(warp, warps);
  return add(xorOf(lane, lanes), xorOf(warp, warps));
}
