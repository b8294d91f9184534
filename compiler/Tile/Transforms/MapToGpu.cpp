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
#include "compiler/Tile/Transforms/GpuLayouts.h"
#include "compiler/Tile/Transforms/GpuSharedMemory.h"
#include "compiler/Tile/Transforms/MaskAbsent.h"
#include "compiler/Tile/Transforms/Passes.h"

#include "llvm/ADT/TypeSwitch.h"

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
  return refuseOn(op, what, "on a GPU");
}

static LogicalResult checkSupported(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      // (C2) of Target/NVIDIA/README.md, as is what follows but the products.
      .Case<AtomicOp, ScanOp, ReshapeOp, CatOp, RandOp, PrintOp, AssertOp,
            scf::WhileOp>(
          [](Operation *other) { return refuse(other, wordFor(other)); })
      .Case([](MmaOp mma) -> LogicalResult { // (C1)
        Type element = mma.getLhs().getType().getElementType();
        auto result = dyn_cast<RankedTensorType>(mma.getResult().getType());
        if (!result || result.getRank() != 2)
          return refuse(mma, "@ of a tile with one axis");
        bool half = element.isF16() || element.isBF16();
        if (half && !result.getElementType().isF32())
          return refuse(mma, "@ that accumulates in another type than fp32");
        if (half)
          return success();
        if (!element.isF32() && !element.isF64())
          return refuse(mma, "@ of " + nameOf(element));
        if (!sharedOperand(mma.getLhs()) || !sharedOperand(mma.getRhs()))
          return mma.emitError()
                 << "not yet: @ of a computed tile of " << nameOf(element)
                 << " on a GPU; use fp16 or bf16 operands";
        return success();
      })
      .Case([](ReduceOp reduce) -> LogicalResult {
        if (reduce.getKind() == ReduceKind::Argmax ||
            reduce.getKind() == ReduceKind::Argmin)
          return refuse(reduce, wordFor(reduce));
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
  if (isa<BroadcastOp, TransposeOp>(op) || isElementwise(op))
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
        else if (auto transpose = dyn_cast<TransposeOp>(op))
          needed = inputLayout(transpose, wanted);
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
  // (C3)
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
    {
      GpuLayouts plain(func);
      maskAbsent(func, [&](Value tile, int64_t axis) -> int64_t {
        const Layout *layout = plain.find(tile);
        return layout ? layout->outSize("dim" + std::to_string(axis)) : -1;
      });
    }
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
