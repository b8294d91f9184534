//===- MapToGpu.cpp - tile-map-to-gpu: layouts, masks, shared memory ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three steps, each on the whole kernel:
//   1. absence becomes explicit: what a reduction or a product must skip is
//      replaced by its neutral element
//   2. every tile gets a layout, as the encoding of its type
//   3. loads that feed products become copies into shared memory, a barrier,
//      and fragment loads
//
//===----------------------------------------------------------------------===//

#include "compiler/Support/Layout/Queries.h"
#include "compiler/Tile/Transforms/AxisRanges.h"
#include "compiler/Tile/Transforms/GpuLayouts.h"
#include "compiler/Tile/Transforms/GpuSharedMemory.h"
#include "compiler/Tile/Transforms/Passes.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

namespace tessera::tile {
#define GEN_PASS_DEF_MAPTOGPUPASS
#include "compiler/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;
using layout::Layout;

static RankedTensorType tileType(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// What there is no code for yet
//===----------------------------------------------------------------------===//

static LogicalResult refuse(Operation *op, const Twine &what) {
  return op->emitError() << "not yet: " << what << " on a GPU";
}

static LogicalResult checkSupported(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<AtomicOp, ScanOp, ReshapeOp, CatOp, RandOp, PrintOp, AssertOp>(
          [](Operation *other) {
            return refuse(other, other->getName().getStringRef());
          })
      .Case([](scf::WhileOp loop) { return refuse(loop, "'while'"); })
      .Case([](MmaOp mma) -> LogicalResult {
        RankedTensorType type = mma.getLhs().getType();
        Type element = type.getElementType();
        if (!element.isF16() && !element.isBF16())
          return mma.emitError() << "not yet: @ of " << element
                                 << " on a GPU; use fp16 or bf16 operands";
        auto result = dyn_cast<RankedTensorType>(mma.getResult().getType());
        if (!result || result.getRank() != 2)
          return refuse(mma, "@ of a tile with one axis");
        if (!result.getElementType().isF32())
          return refuse(mma, "@ that accumulates in another type than fp32");
        return success();
      })
      .Case([](ReduceOp reduce) -> LogicalResult {
        if (reduce.getKind() == ReduceKind::Argmax ||
            reduce.getKind() == ReduceKind::Argmin)
          return refuse(reduce, stringifyReduceKind(reduce.getKind()));
        return success();
      })
      .Case<LoadOp, StoreOp>([](auto access) -> LogicalResult {
        for (Value index : access.getIndices())
          if (isa<RankedTensorType>(index.getType()))
            return refuse(access, "a gather or scatter");
        return success();
      })
      .Case([](arith::ConstantOp constant) -> LogicalResult {
        auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
        if (dense && !dense.isSplat())
          return refuse(constant, "a tile of different constants");
        return success();
      })
      .Default([](Operation *) { return success(); });
}

//===----------------------------------------------------------------------===//
// Step 1: masks
//===----------------------------------------------------------------------===//

namespace {
class MaskInserter {
public:
  MaskInserter(FuncOp func) : func(func), ranges(func), layouts(func) {}
  void run();

private:
  /// `tile` where its positions along `axes` exist, else `neutral`.
  Value masked(OpBuilder &builder, Location loc, Value tile,
               ArrayRef<int64_t> axes, Attribute neutral);
  Value rangeOf(OpBuilder &builder, Location loc, Value tile, int64_t axis);
  bool isFull(Value tile, int64_t axis);

  FuncOp func;
  AxisRanges ranges;
  GpuLayouts layouts;
};
} // namespace

/// Is every position of the axis there, those that the layout adds included?
bool MaskInserter::isFull(Value tile, int64_t axis) {
  int64_t size = tileType(tile).getDimSize(axis);
  const Layout *layout = layouts.find(tile);
  if (!layout || layout->outSize("dim" + std::to_string(axis)) != size)
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
                           ArrayRef<int64_t> axes, Attribute neutral) {
  RankedTensorType type = tileType(tile);
  Value mask;
  auto also = [&](Value other) {
    mask =
        mask ? Value(arith::AndIOp::create(builder, loc, mask, other)) : other;
  };
  for (int64_t axis : axes) {
    if (isFull(tile, axis))
      continue;
    int64_t size = type.getDimSize(axis);
    SmallVector<Value> bounds = llvm::to_vector(ranges.get(tile, axis));
    if (bounds.empty())
      bounds.push_back(rangeOf(builder, loc, tile, axis));
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
          others.push_back(rangeOf(builder, loc, tile, other));
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
  return arith::SelectOp::create(builder, loc, mask, tile, other);
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

void MaskInserter::run() {
  SmallVector<Operation *> ops;
  func.walk([&](Operation *op) {
    if (isa<ReduceOp, MmaOp, FilledOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    OpBuilder builder(op);
    Location loc = op->getLoc();
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      Value input = reduce.getInput();
      Type element = tileType(input).getElementType();
      op->setOperand(0, masked(builder, loc, input, reduce.getAxis(),
                               neutralOf(reduce.getKind(), element)));
    } else if (auto mma = dyn_cast<MmaOp>(op)) {
      // Loads are zero outside already.
      for (auto [number, axis] : {std::pair(0, 1), std::pair(1, 0)}) {
        Value tile = op->getOperand(number);
        if (sharedOperand(tile))
          continue;
        Type element = tileType(tile).getElementType();
        op->setOperand(number, masked(builder, loc, tile, axis,
                                      builder.getFloatAttr(element, 0.0)));
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

//===----------------------------------------------------------------------===//
// Step 2: layouts
//===----------------------------------------------------------------------===//

namespace {
class LayoutApplier {
public:
  LayoutApplier(FuncOp func) : func(func), layouts(func) {}
  LogicalResult run();
  const GpuLayouts &getLayouts() const { return layouts; }

private:
  Type typed(Value tile, const Layout &layout) {
    RankedTensorType type = tileType(tile);
    return RankedTensorType::get(
        type.getShape(), type.getElementType(),
        StringAttr::get(func.getContext(), layouts.canonical(layout).print()));
  }
  /// `tile`, held as `layout`, at the builder's place.
  FailureOr<Value> materialise(OpBuilder &builder, Value tile,
                               const Layout &layout);
  void setType(Value tile);

  FuncOp func;
  GpuLayouts layouts;
  // What a tile that was made here is held as.
  llvm::DenseMap<Value, Layout> made;
};
} // namespace

/// May the op be done again somewhere else? Then it need not be moved.
static bool isRepeatable(Operation *op) {
  if (isa<FillOp, IndexOp, arith::ConstantOp>(op))
    return true;
  if (auto load = dyn_cast<LoadOp>(op)) {
    // Of memory that nobody writes.
    auto argument = dyn_cast<BlockArgument>(load.getView());
    if (!argument)
      return false;
    auto kernel = cast<FuncOp>(argument.getOwner()->getParentOp());
    auto mode = kernel.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                    "gir.mode");
    return mode && mode == "in" && !load.getMask();
  }
  if (isa<BroadcastOp>(op) || isElementwise(op))
    return llvm::all_of(op->getOperands(), [](Value operand) {
      Operation *def = operand.getDefiningOp();
      return !isa<RankedTensorType>(operand.getType()) ||
             (def && isRepeatable(def));
    });
  return false;
}

FailureOr<Value> LayoutApplier::materialise(OpBuilder &builder, Value tile,
                                            const Layout &wanted) {
  Operation *op = tile.getDefiningOp();
  Type type = typed(tile, wanted);
  Location loc = tile.getLoc();
  if (tile.getType() == type)
    return tile;
  if (op && isRepeatable(op)) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto dense = cast<DenseElementsAttr>(constant.getValue());
      return arith::ConstantOp::create(
                 builder, loc,
                 DenseElementsAttr::get(cast<ShapedType>(type),
                                        dense.getSplatValue<Attribute>()))
          .getResult();
    }
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (tileType(operand)) {
        Layout needed = wanted;
        if (auto broadcast = dyn_cast<BroadcastOp>(op))
          needed = inputLayout(broadcast, wanted);
        FailureOr<Value> other = materialise(builder, operand, needed);
        if (failed(other))
          return failure();
        operand = *other;
      }
      operands.push_back(operand);
    }
    Operation *copy = builder.clone(*op);
    copy->setOperands(operands);
    copy->getResult(0).setType(type);
    return copy->getResult(0);
  }
  // The threads that hold an element must be those that want it: what crosses
  // lanes or warps would have to go through shared memory.
  std::string text = cast<StringAttr>(tileType(tile).getEncoding()).str();
  std::optional<Layout> have = Layout::parse(text);
  std::optional<layout::Conversion> moved;
  if (have)
    moved = layout::convert(*have, wanted);
  if (!moved || moved->movement > layout::Movement::Registers)
    return op ? op->emitError() << "not yet: a tile that has to change threads "
                                   "on a GPU"
              : func.emitError() << "not yet: a carried tile that has to "
                                    "change threads on a GPU";
  return ConvertLayoutOp::create(builder, loc, type, tile).getResult();
}

void LayoutApplier::setType(Value tile) {
  const Layout *layout = layouts.find(tile);
  if (!layout)
    return;
  Type type = typed(tile, *layout);
  auto constant = tile.getDefiningOp<arith::ConstantOp>();
  tile.setType(cast<RankedTensorType>(type));
  if (constant) {
    auto dense = cast<DenseElementsAttr>(constant.getValue());
    constant.setValueAttr(DenseElementsAttr::get(
        cast<ShapedType>(type), dense.getSplatValue<Attribute>()));
  }
}

LogicalResult LayoutApplier::run() {
  SmallVector<Operation *> ops;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
  // Types first, so that operands can be compared with what is wanted.
  for (Operation *op : ops) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          if (tileType(argument))
            setType(argument);
    for (Value result : op->getResults())
      if (tileType(result))
        setType(result);
  }
  for (Operation *op : ops) {
    if (auto reduce = dyn_cast<ReduceOp>(op);
        reduce && tileType(reduce.getResult())) {
      // It leaves its result where its input was.
      Layout input = *Layout::parse(
          cast<StringAttr>(tileType(reduce.getInput()).getEncoding()).str());
      Type natural =
          typed(reduce.getResult(), layout::sliced(input, reduce.getAxis()));
      Type assigned = reduce.getResult().getType();
      if (natural != assigned) {
        reduce.getResult().setType(cast<RankedTensorType>(natural));
        OpBuilder builder(op->getContext());
        builder.setInsertionPointAfter(op);
        FailureOr<Value> moved = materialise(
            builder, reduce.getResult(),
            *Layout::parse(
                cast<StringAttr>(cast<RankedTensorType>(assigned).getEncoding())
                    .str()));
        if (failed(moved))
          return failure();
        reduce.getResult().replaceUsesWithIf(*moved, [&](OpOperand &use) {
          return use.getOwner() != moved->getDefiningOp();
        });
      }
    }
    OpBuilder builder(op);
    for (OpOperand &operand : op->getOpOperands()) {
      if (!tileType(operand.get()))
        continue;
      if (auto mma = dyn_cast<MmaOp>(op);
          mma && operand.get() != mma.getAcc() && sharedOperand(operand.get()))
        continue; // step 3
      std::optional<Layout> wanted = layouts.wanted(operand);
      if (!wanted)
        continue;
      FailureOr<Value> value = materialise(builder, operand.get(), *wanted);
      if (failed(value))
        return failure();
      operand.set(*value);
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// The plan names the machine, and what a launch needs beside the grid.
static void editPlan(ModuleOp module, StringRef target) {
  for (auto plan : module.getOps<PlanOp>()) {
    SmallVector<Attribute> lines;
    for (Attribute line : plan.getLines()) {
      std::string text = cast<StringAttr>(line).str();
      if (StringRef(text).starts_with("target "))
        text = "target " + target.str() + " 1";
      for (auto func : module.getOps<FuncOp>())
        if (StringRef(text).ltrim().starts_with(
                ("launch @" + func.getSymName() + "(").str()))
          text += " block " +
                  std::to_string(
                      func->getAttrOfType<IntegerAttr>("tile.block").getInt()) +
                  " shared " +
                  std::to_string(
                      func->getAttrOfType<IntegerAttr>("tile.shared").getInt());
      lines.push_back(StringAttr::get(module.getContext(), text));
    }
    plan.setLinesAttr(ArrayAttr::get(module.getContext(), lines));
  }
}

namespace {
struct MapToGpuPass : tessera::tile::impl::MapToGpuPassBase<MapToGpuPass> {
  using MapToGpuPassBase::MapToGpuPassBase;

  LogicalResult map(FuncOp func) {
    bool good = true;
    func.walk([&](Operation *op) { good &= succeeded(checkSupported(op)); });
    if (!good)
      return failure();
    MaskInserter(func).run();
    LayoutApplier applier(func);
    if (failed(applier.run()))
      return failure();
    int64_t shared = copyThroughShared(func, applier.getLayouts());
    OpBuilder builder(func.getContext());
    func->setAttr("tile.block", builder.getI64IntegerAttr(
                                    applier.getLayouts().getWarps() * 32));
    func->setAttr("tile.shared", builder.getI64IntegerAttr(shared));
    return success();
  }

  void runOnOperation() override {
    for (auto func : getOperation().getOps<FuncOp>())
      if (failed(map(func)))
        return signalPassFailure();
    editPlan(getOperation(), target);
  }
};
} // namespace
