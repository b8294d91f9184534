//===- MapToThreads.cpp - simt-map-to-threads: layouts, masks, shared memory
//------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three steps, each on the whole kernel:
//   1. ops that a GPU does as several are taken apart; absence becomes
//      explicit: what a reduction or a product must skip is replaced by its
//      neutral element
//   2. every tile gets a layout, as the encoding of its type
//   3. loads that feed products become copies into shared memory, a barrier,
//      and fragment loads; tiles that change threads by shared memory get a
//      place there
//
//===----------------------------------------------------------------------===//

#include "compiler/Plan/IR/Plan.h"
#include "compiler/Target/SIMT/Machine.h"
#include "compiler/Target/SIMT/Mapping/BlockLayouts.h"
#include "compiler/Target/SIMT/Mapping/Decompose.h"
#include "compiler/Target/SIMT/Mapping/Passes.h"
#include "compiler/Target/SIMT/Mapping/SharedCopies.h"
#include "compiler/Tile/Transforms/MaskAbsent.h"

#include "llvm/ADT/TypeSwitch.h"

namespace tessera::simt {
#define GEN_PASS_DEF_MAPTOTHREADSPASS
#include "compiler/Target/SIMT/Mapping/Passes.h.inc"
} // namespace tessera::simt

using namespace mlir;
using namespace tessera;
using namespace tessera::simt;
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
      .Case([](PrintOp print) { return refuse(print, wordFor(print)); }) // (C2)
      .Case([](AtomicOp atomic) -> LogicalResult {                       // (C2)
        Type element = getElementTypeOrSelf(atomic.getValue());
        if (element.getIntOrFloatBitWidth() < 16)
          return refuse(atomic, "an atomic on " + nameOf(element));
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
  LayoutApplier(FuncOp func, const Machine &machine)
      : func(func), layouts(func, machine) {
    layouts.chooseAccesses(func, machine.sharedPerBlock);
  }
  void run();
  const BlockLayouts &getLayouts() const { return layouts; }

private:
  Type typed(Value tile, const Layout &layout) {
    RankedTensorType type = tileType(tile);
    return RankedTensorType::get(
        type.getShape(), type.getElementType(),
        LayoutAttr::get(func.getContext(), layouts.canonical(layout)));
  }
  /// `tile`, held as `layout`, at the builder's place.
  Value materialise(OpBuilder &builder, Value tile, const Layout &layout);
  /// The op's result is held as `natural`; its users get what was assigned.
  void setNatural(Operation *op, const Layout &natural);
  void setType(Value tile);

  FuncOp func;
  BlockLayouts layouts;
};
} // namespace

/// May the op be done again somewhere else? Then it need not be moved. Small
/// things only: `budget` ops.
static bool isRepeatable(Operation *op, int &budget) {
  if (--budget < 0)
    return false;
  auto operandsAre = [&] {
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      Operation *def = operand.getDefiningOp();
      return !isa<RankedTensorType>(operand.getType()) ||
             (def && isRepeatable(def, budget));
    });
  };
  if (isa<FillOp, IndexOp, arith::ConstantOp>(op))
    return true;
  if (auto load = dyn_cast<LoadOp>(op)) {
    // Of memory that nobody writes.
    auto argument = dyn_cast<BlockArgument>(load.getView());
    if (!argument)
      return false;
    auto kernel = cast<FuncOp>(argument.getOwner()->getParentOp());
    return kernel.getArgMode(argument.getArgNumber()) == "in" && operandsAre();
  }
  if (isa<BroadcastOp, TransposeOp>(op) || isElementwise(op))
    return operandsAre();
  return false;
}

static bool isRepeatable(Operation *op) {
  int budget = 12;
  return isRepeatable(op, budget);
}

/// What an operand of a repeatable op must have for the result to be `result`.
static Layout operandLayout(OpOperand &operand, const Layout &result) {
  Operation *op = operand.getOwner();
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return inputLayout(broadcast, result);
  if (auto transpose = dyn_cast<TransposeOp>(op))
    return inputLayout(transpose, result);
  if (auto load = dyn_cast<LoadOp>(op)) {
    auto spans = axesOfIndices(load.getIndices(), load.getIndexAxes());
    for (size_t i = 0; i < spans.size(); ++i)
      if (&load.getIndicesMutable()[i] == &operand)
        return indexLayout(spans[i], result);
  }
  return result;
}

Value LayoutApplier::materialise(OpBuilder &builder, Value tile,
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
    for (OpOperand &operand : op->getOpOperands())
      operands.push_back(tileType(operand.get())
                             ? materialise(builder, operand.get(),
                                           operandLayout(operand, wanted))
                             : operand.get());
    Operation *copy = builder.clone(*op);
    copy->setOperands(operands);
    copy->getResult(0).setType(type);
    return copy->getResult(0);
  }
  return ConvertLayoutOp::create(builder, loc, type, tile);
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

void LayoutApplier::setNatural(Operation *op, const Layout &natural) {
  Value result = op->getResult(0);
  Type type = typed(result, natural), assigned = result.getType();
  if (type == assigned)
    return;
  result.setType(type);
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  auto moved = ConvertLayoutOp::create(builder, op->getLoc(), assigned, result);
  result.replaceAllUsesExcept(moved, moved);
}

void LayoutApplier::run() {
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
  // What a loop carries leaves it as it is carried.
  auto leave = [](ValueRange results, ValueRange carried) {
    for (auto [result, argument] : llvm::zip(results, carried))
      result.setType(argument.getType());
  };
  for (Operation *op : ops) {
    if (auto loop = dyn_cast<ForOp>(op))
      leave(loop.getResults(), ValueRange(loop.getCarried()));
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      leave(loop.getResults(), ValueRange(loop.getRegionIterArgs()));
  }
  for (Operation *op : ops) {
    if (auto reduce = dyn_cast<ReduceOp>(op);
        reduce && tileType(reduce.getResult())) {
      // It leaves its result where its input was.
      Layout input = layoutOf(reduce.getInput().getType());
      setNatural(op, layout::sliced(input, reduce.getAxis()));
    }
    if (isa<LoadOp>(op))
      if (const Layout *good = layouts.accessLayout(op))
        setNatural(op, *good);
    if (auto scan = dyn_cast<ScanOp>(op)) {
      RankedTensorType type = tileType(scan);
      if (!isWithinWarp(layoutOf(type), scan.getAxis()))
        setNatural(op, layouts.blocked(scan, scan.getAxis()));
    }
    OpBuilder builder(op);
    for (OpOperand &operand : op->getOpOperands()) {
      if (!tileType(operand.get()))
        continue;
      if (isFactor(operand) && sharedOperand(operand.get()))
        continue; // step 3
      std::optional<Layout> wanted = layouts.wanted(operand);
      if (isa<ScanOp>(op))
        wanted = layoutOf(op->getResult(0).getType());
      if (isa<YieldOp, scf::YieldOp>(op) &&
          isa<ForOp, scf::ForOp>(op->getParentOp()))
        wanted = layoutOf(
            op->getParentOp()->getResult(operand.getOperandNumber()).getType());
      if (wanted)
        operand.set(materialise(builder, operand.get(), *wanted));
    }
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct MapToThreadsPass
    : tessera::simt::impl::MapToThreadsPassBase<MapToThreadsPass> {
  using MapToThreadsPassBase::MapToThreadsPassBase;

  LogicalResult map(FuncOp func, const Machine &machine) {
    bool good = true;
    func.walk([&](Operation *op) { good &= succeeded(checkSupported(op)); });
    if (!good)
      return failure();
    // What is taken apart depends on the instruction, and may leave products.
    auto choose = [&] {
      func.walk([&](MmaOp mma) {
        good &= succeeded(machine.chooseInstruction(mma)); // (C1)
      });
      return success(good);
    };
    if (failed(choose()))
      return failure();
    decompose(func);
    if (failed(choose()))
      return failure();
    {
      BlockLayouts plain(func, machine);
      maskAbsent(func, [&](Value tile, int64_t axis) -> int64_t {
        const Layout *layout = plain.find(tile);
        return layout ? layout->outSize("dim" + std::to_string(axis)) : -1;
      });
    }
    LayoutApplier applier(func, machine);
    applier.run();
    int64_t shared = copyThroughShared(func, applier.getLayouts());
    func.setBlockSize(applier.getLayouts().getWarps() * machine.lanes);
    func.setSharedBytes(shared);
    func.setArch(machine.name);
    // A function may have a variant that is too large for the machine: that is
    // an error at its launch.
    return success();
  }

  void runOnOperation() override {
    const Machine *machine = requireMachine(getOperation(), target);
    if (!machine)
      return signalPassFailure();
    if (failed(map(getOperation(), *machine)))
      signalPassFailure();
  }
};
} // namespace
