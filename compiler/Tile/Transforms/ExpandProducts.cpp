//===- ExpandProducts.cpp - Sparse and scaled products as plain ones ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/IR/Tile.h"
#include "compiler/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tessera::tile {
#define GEN_PASS_DEF_EXPANDPRODUCTSPASS
#include "compiler/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace {
class Expander {
public:
  explicit Expander(MmaOp op) : op(op), builder(op), loc(op.getLoc()) {}

  void run() {
    Value lhs = op.getLhs(), rhs = op.getRhs();
    if (op.getMeta()) {
      lhs = dense();
    } else {
      lhs = times(lhs, op.getLhsScale(), 1);
      rhs = times(rhs, op.getRhsScale(), 0);
    }
    Value product = MmaOp::create(builder, loc, op.getResult().getType(), lhs,
                                  rhs, op.getAcc(), op.getPrecision());
    op.getResult().replaceAllUsesWith(product);
    op.erase();
  }

private:
  static ArrayRef<int64_t> shapeOf(Value tile) {
    return cast<RankedTensorType>(tile.getType()).getShape();
  }
  Type typed(ArrayRef<int64_t> shape, Type element) {
    return RankedTensorType::get(shape, element);
  }
  Value range(int64_t size) {
    return RangeAtOp::create(
        builder, loc, RangeType::get(builder.getContext(), size),
        arith::ConstantIndexOp::create(builder, loc, 0),
        arith::ConstantIndexOp::create(builder, loc, size));
  }
  Value number(Type type, int64_t value) {
    auto tile = dyn_cast<RankedTensorType>(type);
    TypedAttr attr = builder.getIntegerAttr(getElementTypeOrSelf(type), value);
    if (tile)
      attr = DenseElementsAttr::get(tile, attr);
    return arith::ConstantOp::create(builder, loc, attr);
  }
  Value filled(Value tile) {
    Type element = getElementTypeOrSelf(tile.getType());
    Value zero = arith::ConstantOp::create(
        builder, loc, cast<TypedAttr>(builder.getZeroAttr(element)));
    return FilledOp::create(builder, loc, tile, zero);
  }
  Value reshaped(Value tile, ArrayRef<int64_t> shape) {
    return ReshapeOp::create(
        builder, loc, typed(shape, getElementTypeOrSelf(tile.getType())), tile);
  }
  /// With a new axis of this size at `axis`.
  Value repeated(Value tile, int64_t axis, int64_t size) {
    SmallVector<int64_t> shape(shapeOf(tile)), axes;
    for (int64_t i = 0; i < int64_t(shape.size()) + 1; ++i)
      if (i != axis)
        axes.push_back(i);
    shape.insert(shape.begin() + axis, size);
    return BroadcastOp::create(
        builder, loc, typed(shape, getElementTypeOrSelf(tile.getType())), tile,
        builder.getDenseI64ArrayAttr(axes), range(size));
  }
  /// 0, 1, 2, ... along the last axis of a tile of this shape.
  Value counting(ArrayRef<int64_t> shape, Type element) {
    int64_t size = shape.back(), rank = int64_t(shape.size());
    Value index = IndexOp::create(
        builder, loc, typed({size}, builder.getI64Type()), range(size));
    index =
        arith::TruncIOp::create(builder, loc, typed({size}, element), index);
    SmallVector<Value> ranges;
    for (int64_t other : shape.drop_back())
      ranges.push_back(range(other));
    return BroadcastOp::create(builder, loc, typed(shape, element), index,
                               builder.getDenseI64ArrayAttr(rank - 1), ranges);
  }

  /// [M, K/2] to [M, K]: each of two goes to that of four it names, and what
  /// meets there is added to zeros.
  Value dense() {
    int64_t m = shapeOf(op.getLhs())[0], half = shapeOf(op.getLhs())[1];
    int64_t words = half / 16, fours = half / 2;
    Type i32 = builder.getI32Type();
    Type element = getElementTypeOrSelf(op.getLhs().getType());
    Value two = number(typed({m, words, 16}, i32), 2);
    Value shift =
        arith::MulIOp::create(builder, loc, counting({m, words, 16}, i32), two);
    Value place = arith::ShRUIOp::create(
        builder, loc, repeated(filled(op.getMeta()), 2, 16), shift);
    place = arith::AndIOp::create(builder, loc, place,
                                  number(typed({m, words, 16}, i32), 3));
    SmallVector<int64_t> wide = {m, fours, 2, 4};
    place = repeated(reshaped(place, {m, fours, 2}), 3, 4);
    Value values = repeated(reshaped(filled(op.getLhs()), {m, fours, 2}), 3, 4);
    Value here = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       place, counting(wide, i32));
    auto zeros = DenseElementsAttr::get(cast<ShapedType>(values.getType()),
                                        builder.getZeroAttr(element));
    Value chosen =
        arith::SelectOp::create(builder, loc, here, values,
                                arith::ConstantOp::create(builder, loc, zeros));
    Value sum = ReduceOp::create(builder, loc, typed({m, fours, 4}, element),
                                 ReduceKind::Sum, chosen, uint64_t(2));
    return reshaped(sum, {m, 2 * half});
  }

  /// In f32, times 2^(e - 127): the bits of e are an exponent's, but 0, which
  /// is a half of the smallest normal number, and 255, which is NaN.
  Value times(Value tile, Value scale, int64_t axis) {
    SmallVector<int64_t> shape(shapeOf(scale));
    Type i32 = builder.getI32Type(), f32 = builder.getF32Type();
    auto narrow = typed(shape, i32);
    Value e = arith::ExtUIOp::create(builder, loc, narrow, filled(scale));
    auto is = [&](int64_t value) -> Value {
      return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, e,
                                   number(narrow, value));
    };
    Value bits = arith::ShLIOp::create(builder, loc, e, number(narrow, 23));
    bits = arith::SelectOp::create(builder, loc, is(0), number(narrow, 1 << 22),
                                   bits);
    bits = arith::SelectOp::create(builder, loc, is(255),
                                   number(narrow, 0x7fc00000), bits);
    Value factor =
        arith::BitcastOp::create(builder, loc, typed(shape, f32), bits);
    factor = repeated(factor, axis + 1, 32);
    SmallVector<int64_t> full(shapeOf(tile));
    factor = reshaped(factor, full);
    Value wide = arith::ExtFOp::create(builder, loc, typed(full, f32), tile);
    return arith::MulFOp::create(builder, loc, wide, factor);
  }

  MmaOp op;
  OpBuilder builder;
  Location loc;
};

struct ExpandProductsPass
    : tessera::tile::impl::ExpandProductsPassBase<ExpandProductsPass> {
  using ExpandProductsPassBase::ExpandProductsPassBase;

  void runOnOperation() override {
    SmallVector<MmaOp> products;
    getOperation()->walk([&](MmaOp mma) {
      if ((mma.getMeta() || mma.getLhsScale()) && !mma.getInstructionAttr())
        products.push_back(mma);
    });
    for (MmaOp mma : products)
      Expander(mma).run();
  }
};
} // namespace
