//===- MaskAbsent.cpp - What reductions and products skip -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/Transforms/MaskAbsent.h"

#include "compiler/Tile/Transforms/AxisRanges.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace tessera::tile;

static RankedTensorType tileType(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

namespace {
class MaskInserter {
public:
  MaskInserter(FuncOp func, HeldSize heldSize)
      : func(func), ranges(func), heldSize(heldSize) {}
  void run();

private:
  /// `tile` where its positions along `axes` exist, else `neutral`.
  /// With `with`, where that exists at its axes, too.
  Value masked(OpBuilder &builder, Location loc, Value tile,
               ArrayRef<int64_t> axes, Attribute neutral, Value with = {},
               ArrayRef<int64_t> withAxes = {});
  /// A scatter's index: what does not exist is written nowhere.
  template <typename Access> void maskIndices(OpBuilder &builder, Access op);
  Value rangeOf(OpBuilder &builder, Location loc, Value tile, int64_t axis);
  bool isFull(Value tile, int64_t axis);
  /// Nobody looks at what does not exist: who comes later may have the masked
  /// tile, too, and the other one need not be kept.
  void useInstead(Value tile, Value with);

  FuncOp func;
  AxisRanges ranges;
  HeldSize heldSize;
  struct Known {
    Value tile; // what was masked
    SmallVector<int64_t> axes;
    Attribute neutral;
  };
  llvm::DenseMap<Value, Known> known;
};
} // namespace

/// Is every position of the axis there, those that are held beyond it too?
bool MaskInserter::isFull(Value tile, int64_t axis) {
  int64_t size = tileType(tile).getDimSize(axis);
  if (heldSize(tile, axis) != size)
    return false;
  return llvm::all_of(ranges.get(tile, axis), [&](Value range) {
    auto at = range.getDefiningOp<RangeAtOp>();
    return at && getConstantIntValue(at.getStart()) == 0 &&
           getConstantIntValue(at.getExtent()).value_or(0) >= size;
  });
}

Value MaskInserter::rangeOf(OpBuilder &builder, Location loc, Value tile,
                            int64_t axis) {
  if (ArrayRef<Value> found = ranges.get(tile, axis); !found.empty())
    return found.front();
  int64_t size = tileType(tile).getDimSize(axis);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value extent = arith::ConstantIndexOp::create(builder, loc, size);
  return RangeAtOp::create(
      builder, loc, RangeType::get(builder.getContext(), size), zero, extent);
}

Value MaskInserter::masked(OpBuilder &builder, Location loc, Value tile,
                           ArrayRef<int64_t> axes, Attribute neutral,
                           Value with, ArrayRef<int64_t> withAxes) {
  RankedTensorType type = tileType(tile);
  Value mask, before = tile;
  if (auto found = known.find(tile); found != known.end()) {
    if (!with && found->second.axes == axes && found->second.neutral == neutral)
      return tile;
    before = found->second.tile;
  }
  auto also = [&](Value other) {
    mask =
        mask ? Value(arith::AndIOp::create(builder, loc, mask, other)) : other;
  };
  for (int64_t axis : axes) {
    if (isFull(before, axis) && (!with || isFull(with, withAxes[axis])))
      continue;
    int64_t size = type.getDimSize(axis);
    SmallVector<Value> bounds = llvm::to_vector(ranges.get(before, axis));
    if (with)
      for (Value range : ranges.get(with, withAxes[axis]))
        if (!llvm::is_contained(bounds, range))
          bounds.push_back(range);
    if (bounds.empty())
      bounds.push_back(rangeOf(builder, loc, before, axis));
    Value along;
    for (Value range : bounds) {
      auto positions = RankedTensorType::get(size, builder.getI64Type());
      Value index = IndexOp::create(builder, loc, positions, range);
      Value stop = arith::IndexCastOp::create(
          builder, loc, builder.getI64Type(),
          RangeStopOp::create(builder, loc, builder.getIndexType(), range));
      Value stops = FillOp::create(builder, loc, positions, stop, range);
      Value there = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::slt, index, stops);
      along = along ? Value(arith::AndIOp::create(builder, loc, along, there))
                    : there;
    }
    if (type.getRank() > 1) {
      SmallVector<Value> others;
      for (int64_t other = 0; other < type.getRank(); ++other)
        if (other != axis)
          others.push_back(rangeOf(builder, loc, before, other));
      along = BroadcastOp::create(
          builder, loc,
          RankedTensorType::get(type.getShape(), builder.getI1Type()), along,
          builder.getDenseI64ArrayAttr(axis), others);
    }
    also(along);
  }
  if (!mask)
    return tile;
  Value other = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, neutral));
  Value result = arith::SelectOp::create(builder, loc, mask, tile, other);
  if (!with)
    known[result] = {before, llvm::to_vector(axes), neutral};
  return result;
}

void MaskInserter::useInstead(Value tile, Value with) {
  Operation *made = with.getDefiningOp();
  if (with == tile || !made)
    return;
  tile.replaceUsesWithIf(with, [&](OpOperand &use) {
    Operation *user = made->getBlock()->findAncestorOpInBlock(*use.getOwner());
    return user && user != made && made->isBeforeInBlock(user);
  });
}

static Attribute neutralOf(ReduceKind kind, Type type) {
  OpBuilder builder(type.getContext());
  if (auto floats = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &form = floats.getFloatSemantics();
    if (kind == ReduceKind::Max || kind == ReduceKind::Min)
      return builder.getFloatAttr(
          type, APFloat::getInf(form, kind == ReduceKind::Max));
    return builder.getFloatAttr(type, kind == ReduceKind::Prod ? 1.0 : 0.0);
  }
  unsigned width = type.getIntOrFloatBitWidth();
  APInt value = APInt::getZero(width);
  if (kind == ReduceKind::Prod)
    value = APInt(width, 1);
  else if (kind == ReduceKind::And)
    value = APInt::getAllOnes(width);
  else if (kind == ReduceKind::Max)
    value = width == 1 ? value : APInt::getSignedMinValue(width);
  else if (kind == ReduceKind::Min)
    value = width == 1 ? APInt(1, 1) : APInt::getSignedMaxValue(width);
  return builder.getIntegerAttr(type, value);
}

template <typename Access>
void MaskInserter::maskIndices(OpBuilder &builder, Access op) {
  auto spans = axesOfIndices(op.getIndices(), op.getIndexAxes());
  for (auto [i, span] : llvm::enumerate(spans)) {
    Value index = op.getIndices()[i];
    RankedTensorType type = tileType(index);
    if (!type)
      continue;
    auto axes = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    Attribute nowhere = builder.getIntegerAttr(type.getElementType(), -1);
    op.getIndicesMutable()[i].set(masked(builder, op.getLoc(), index, axes,
                                         nowhere, op.getValue(), span));
  }
}

void MaskInserter::run() {
  SmallVector<Operation *> ops;
  func.walk([&](Operation *op) {
    if (isa<ReduceOp, MmaOp, FilledOp, AssertOp, StoreOp, AtomicOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    OpBuilder builder(op);
    Location loc = op->getLoc();
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      Value input = reduce.getInput();
      Type element = tileType(input).getElementType();
      Value skipped = masked(builder, loc, input, reduce.getAxis(),
                             neutralOf(reduce.getKind(), element));
      op->setOperand(0, skipped);
      useInstead(input, skipped);
    } else if (auto mma = dyn_cast<MmaOp>(op)) {
      // Loads are zero outside already.
      for (auto [number, axis] : {std::pair(0, 1), std::pair(1, 0)}) {
        Value tile = op->getOperand(number);
        if (isPlainLoad(tile))
          continue;
        // Before a conversion, where a sum may want the same.
        Operation *cast = tile.getDefiningOp();
        bool again = isa_and_nonnull<arith::TruncFOp>(cast);
        Value given = again ? cast->getOperand(0) : tile;
        Type element = tileType(given).getElementType();
        Value zeroed =
            masked(builder, loc, given, axis, builder.getZeroAttr(element));
        if (zeroed == given)
          continue;
        if (again) {
          Operation *copy = builder.clone(*cast);
          copy->setOperand(0, zeroed);
          zeroed = copy->getResult(0);
        }
        op->setOperand(number, zeroed);
      }
    } else if (auto store = dyn_cast<StoreOp>(op)) {
      maskIndices(builder, store);
    } else if (auto atomic = dyn_cast<AtomicOp>(op)) {
      maskIndices(builder, atomic);
    } else if (auto check = dyn_cast<AssertOp>(op)) {
      Value condition = check.getCondition();
      if (RankedTensorType type = tileType(condition)) {
        auto axes = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
        op->setOperand(0, masked(builder, loc, condition, axes,
                                 builder.getBoolAttr(true)));
      }
    } else if (auto filled = dyn_cast<FilledOp>(op)) {
      // The value is a scalar of the program, so the mask is inverted.
      SmallVector<int64_t> axes =
          llvm::to_vector(llvm::seq<int64_t>(0, filled.getType().getRank()));
      RankedTensorType type = filled.getType();
      RankedTensorType truth = type.clone(builder.getI1Type());
      Value yes = arith::ConstantOp::create(
          builder, loc, DenseElementsAttr::get(truth, true));
      // Presence of the input's positions, carried by a tile of truths.
      Value there = yes;
      for (int64_t axis : axes) {
        ArrayRef<Value> bounds = ranges.get(filled.getInput(), axis);
        for (Value range : bounds) {
          int64_t size = type.getDimSize(axis);
          auto positions = RankedTensorType::get(size, builder.getI64Type());
          Value index = IndexOp::create(builder, loc, positions, range);
          Value stop = arith::IndexCastOp::create(
              builder, loc, builder.getI64Type(),
              RangeStopOp::create(builder, loc, builder.getIndexType(), range));
          Value stops = FillOp::create(builder, loc, positions, stop, range);
          Value inside = arith::CmpIOp::create(
              builder, loc, arith::CmpIPredicate::slt, index, stops);
          if (type.getRank() > 1) {
            SmallVector<Value> others;
            for (int64_t other : axes)
              if (other != axis)
                others.push_back(
                    rangeOf(builder, loc, filled.getInput(), other));
            inside =
                BroadcastOp::create(builder, loc, truth, inside,
                                    builder.getDenseI64ArrayAttr(axis), others);
          }
          there = arith::AndIOp::create(builder, loc, there, inside);
        }
      }
      Value value = filled.getValue();
      SmallVector<Value> full;
      for (int64_t axis : axes)
        full.push_back(rangeOf(builder, loc, filled.getInput(), axis));
      Value other = FillOp::create(builder, loc, type, value, full);
      Value result = arith::SelectOp::create(builder, loc, there,
                                             filled.getInput(), other);
      filled.replaceAllUsesWith(result);
      filled.erase();
    }
  }
}

void tessera::tile::maskAbsent(FuncOp func, HeldSize heldSize) {
  MaskInserter(func, heldSize).run();
}

std::string tessera::tile::nameOf(Type type) {
  if (isa<Float8E4M3FNType>(type))
    return "fp8_e4m3";
  if (isa<Float8E5M2Type>(type))
    return "fp8_e5m2";
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return isa<FloatType>(type) && name[0] == 'f' ? "fp" + name.substr(1) : name;
}

StringRef tessera::tile::wordFor(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](AtomicOp) { return "an atomic"; })
      .Case([](ScanOp) { return "a scan (cumsum, cumprod, cummax)"; })
      .Case([](ReshapeOp) { return "reshape"; })
      .Case([](CatOp) { return "tsr.cat"; })
      .Case([](RandOp) { return "tsr.rand"; })
      .Case([](PrintOp) { return "print"; })
      .Case([](AssertOp) { return "assert"; })
      .Case([](scf::WhileOp) { return "'while'"; })
      .Case([](scf::ForOp) { return "'for' over range"; })
      .Case(
          [](ReduceOp reduce) { return stringifyReduceKind(reduce.getKind()); })
      .Default(
          [](Operation *other) { return other->getName().stripDialect(); });
}

LogicalResult tessera::tile::refuseOn(Operation *op, const Twine &what,
                                      StringRef target) {
  InFlightDiagnostic error = op->emitError()
                             << "not yet: " << what << " " << target;
  error.attachNote() << "fix: target=\"cpu\", which has it";
  return error;
}

bool tessera::tile::isPlainLoad(Value operand) {
  while (auto transpose = operand.getDefiningOp<TransposeOp>())
    operand = transpose.getInput();
  auto load = operand.getDefiningOp<LoadOp>();
  if (!load || load.getMask() || load.getInRegisters() ||
      !tileType(load.getResult()) || tileType(load.getResult()).getRank() != 2)
    return false;
  return llvm::none_of(load.getIndices(), [](Value index) {
    return isa<RankedTensorType>(index.getType());
  });
}
