//===- Decompose.cpp - Ops that threads do as several ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/SIMT/Mapping/Decompose.h"

#include "compiler/Target/SIMT/Mapping/BlockLayouts.h"
#include "compiler/Tile/Transforms/AxisRanges.h"

using namespace mlir;
using namespace tessera::simt;
using namespace tessera::tile;

static RankedTensorType tileType(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

namespace {
class Decomposer {
public:
  explicit Decomposer(FuncOp func) : func(func), ranges(func) {}
  void run();

private:
  void decompose(ReduceOp op);
  void decompose(MmaOp op);
  /// The range of an axis: its positions count from where the dim's do.
  Value rangeOf(OpBuilder &builder, Location loc, Value tile, int64_t axis);
  /// `value`, a tile without `axis` or a scalar, along `axis` of `like`.
  Value spread(OpBuilder &builder, Location loc, Value value, Value like,
               int64_t axis);

  FuncOp func;
  AxisRanges ranges;
};
} // namespace

Value Decomposer::rangeOf(OpBuilder &builder, Location loc, Value tile,
                          int64_t axis) {
  if (ArrayRef<Value> found = ranges.get(tile, axis); found.size() == 1)
    return found.front();
  int64_t size = tileType(tile).getDimSize(axis);
  return RangeAtOp::create(builder, loc,
                           RangeType::get(builder.getContext(), size),
                           arith::ConstantIndexOp::create(builder, loc, 0),
                           arith::ConstantIndexOp::create(builder, loc, size));
}

Value Decomposer::spread(OpBuilder &builder, Location loc, Value value,
                         Value like, int64_t axis) {
  RankedTensorType shape = tileType(like);
  auto type = RankedTensorType::get(shape.getShape(),
                                    getElementTypeOrSelf(value.getType()));
  Value range = rangeOf(builder, loc, like, axis);
  if (!tileType(value))
    return FillOp::create(builder, loc, type, value, range);
  SmallVector<int64_t> axes;
  for (int64_t other = 0; other < shape.getRank(); ++other)
    if (other != axis)
      axes.push_back(other);
  return BroadcastOp::create(builder, loc, type, value,
                             builder.getDenseI64ArrayAttr(axes), range);
}

/// NaN propagates through max, so it is found where x is not x. What does not
/// exist lies behind all that does.
void Decomposer::decompose(ReduceOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value input = op.getInput();
  RankedTensorType type = tileType(input);
  int64_t axis = op.getAxis();
  Type element = type.getElementType(), i64 = builder.getI64Type();
  bool largest = op.getKind() == ReduceKind::Argmax;
  RankedTensorType positions = tileType(op.getResult());
  Type extremeType = positions ? Type(positions.clone(element)) : element;
  Value extreme = ReduceOp::create(builder, loc, extremeType,
                                   largest ? ReduceKind::Max : ReduceKind::Min,
                                   input, uint64_t(axis));
  Value everywhere = spread(builder, loc, extreme, input, axis);
  Value found;
  if (isa<FloatType>(element)) {
    found = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ,
                                  input, everywhere);
    found = arith::OrIOp::create(
        builder, loc, found,
        arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, input,
                              input));
  } else {
    found = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, input,
                                  everywhere);
  }
  Value range = rangeOf(builder, loc, input, axis);
  Value index = IndexOp::create(
      builder, loc, RankedTensorType::get(type.getDimSize(axis), i64), range);
  RankedTensorType wide = type.clone(i64);
  if (type.getRank() > 1) {
    SmallVector<Value> others;
    for (int64_t other = 0; other < type.getRank(); ++other)
      if (other != axis)
        others.push_back(rangeOf(builder, loc, input, other));
    index = BroadcastOp::create(builder, loc, wide, index,
                                builder.getDenseI64ArrayAttr(axis), others);
  }
  int64_t none = std::numeric_limits<int64_t>::max();
  auto constant = [&](Type of, int64_t value) -> Value {
    if (auto tile = dyn_cast<RankedTensorType>(of))
      return arith::ConstantOp::create(
          builder, loc,
          DenseElementsAttr::get(tile, builder.getI64IntegerAttr(value)));
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  };
  Value candidates =
      arith::SelectOp::create(builder, loc, found, index, constant(wide, none));
  Type resultType = op.getResult().getType();
  Value first = ReduceOp::create(builder, loc, resultType, ReduceKind::Min,
                                 candidates, uint64_t(axis));
  // Of nothing: -1.
  Value any = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                    first, constant(resultType, none));
  Value result = arith::SelectOp::create(builder, loc, any,
                                         constant(resultType, -1), first);
  op.getResult().replaceAllUsesWith(result);
  op.erase();
}

void Decomposer::decompose(MmaOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value lhs = op.getLhs(), rhs = op.getRhs();
  Type element = getElementTypeOrSelf(op.getAcc());
  int64_t kOfLhs = tileType(lhs).getRank() - 1;
  // Both with the axes of the one that has two.
  int64_t axis = kOfLhs;
  if (kOfLhs)
    rhs = spread(builder, loc, rhs, lhs, 0);
  else if (tileType(rhs).getRank() > 1)
    lhs = spread(builder, loc, lhs, rhs, 1);
  auto widened = [&](Value tile) -> Value {
    RankedTensorType type = tileType(tile);
    if (type.getElementType() == element)
      return tile;
    RankedTensorType wide = type.clone(element);
    if (isa<FloatType>(element))
      return arith::ExtFOp::create(builder, loc, wide, tile);
    return arith::ExtSIOp::create(builder, loc, wide, tile);
  };
  lhs = widened(lhs);
  rhs = widened(rhs);
  bool isFloat = isa<FloatType>(element);
  Value products = isFloat
                       ? Value(arith::MulFOp::create(builder, loc, lhs, rhs))
                       : Value(arith::MulIOp::create(builder, loc, lhs, rhs));
  Value sum = ReduceOp::create(builder, loc, op.getResult().getType(),
                               ReduceKind::Sum, products, uint64_t(axis));
  Value result =
      isFloat ? Value(arith::AddFOp::create(builder, loc, op.getAcc(), sum))
              : Value(arith::AddIOp::create(builder, loc, op.getAcc(), sum));
  op.getResult().replaceAllUsesWith(result);
  op.erase();
}

void Decomposer::run() {
  SmallVector<Operation *> ops;
  func.walk([&](Operation *op) {
    if (auto reduce = dyn_cast<ReduceOp>(op);
        reduce && (reduce.getKind() == ReduceKind::Argmax ||
                   reduce.getKind() == ReduceKind::Argmin))
      ops.push_back(op);
    if (auto mma = dyn_cast<MmaOp>(op))
      if (mma.getLhs().getType().getRank() != 2 ||
          mma.getRhs().getType().getRank() != 2)
        ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (auto reduce = dyn_cast<ReduceOp>(op))
      decompose(reduce);
    else
      decompose(cast<MmaOp>(op));
  }
  // A buffer is filled and read within one block of code. Without tensor cores
  // it is read at the product: an operand from outside comes in registers.
  func.walk([&](MmaOp mma) {
    if (!usesFma(mma))
      return;
    for (Value operand : {mma.getLhs(), mma.getRhs()})
      if (LoadOp load = sharedOperand(operand);
          load && load->getBlock() != mma->getBlock())
        load.setInRegisters(true);
  });
}

void tessera::simt::decompose(FuncOp func) { Decomposer(func).run(); }
