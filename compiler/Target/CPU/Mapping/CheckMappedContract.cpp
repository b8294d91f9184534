//===- CheckMappedContract.cpp - What a mapped kernel of the CPU keeps ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU's code is made nest by nest, from what is stored back to what is
// loaded: so tiles live in one nest, what is stored has the nest's axes, and a
// matrix step has its operands in panels. A text may say anything, so that is
// checked first.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/Mapping/BufferLifetimes.h"
#include "compiler/Target/CPU/Mapping/MatrixSteps.h"
#include "compiler/Target/CPU/Mapping/NestVectors.h"
#include "compiler/Target/CPU/Mapping/PairBf16.h"
#include "compiler/Target/CPU/Mapping/Passes.h"
#include "compiler/Tile/IR/CpuBuffer.h"

#include "llvm/ADT/STLExtras.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tessera::cpu {
#define GEN_PASS_DEF_CHECKMAPPEDCONTRACTPASS
#include "compiler/Target/CPU/Mapping/Passes.h.inc"
} // namespace tessera::cpu

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;
using namespace tessera::tile;

static SmallVector<int64_t> sizesOf(NestOp nest) {
  SmallVector<int64_t> sizes;
  for (Value axis : nest.getAxes())
    sizes.push_back(cast<RangeType>(axis.getType()).getSize());
  return sizes;
}

/// A matrix step has one branch, and an epilogue stands in it.
static bool mayStandInStep(Operation *op, NestOp step) {
  if (!step.getUnit())
    return false;
  if (isa<scf::IfOp>(op))
    return op->getParentOp() == step;
  auto branch = dyn_cast<scf::IfOp>(op->getParentOp());
  return isa<NestOp>(op) && branch && branch == branchOf(step);
}

/// Tiles are made and used in one nest.
static LogicalResult checkTiles(Operation *op, NestOp nest) {
  if (op->getNumRegions() && nest && !mayStandInStep(op, nest))
    return op->emitError() << "'" << op->getName()
                           << "' may not stand in a nest";
  for (Value operand : op->getOperands()) {
    if (!isTile(operand))
      continue;
    Operation *source = operand.getDefiningOp();
    if (!nest || !source || source->getParentOfType<NestOp>() != nest)
      return op->emitError()
             << "a tile is made in the nest that uses it, and goes from one "
                "nest to another through a buffer";
  }
  if (!nest)
    for (Value result : op->getResults())
      if (isTile(result))
        return op->emitError() << "a tile is made in a nest";
  return success();
}

/// What leaves a nest has its axes, or those that a reduction leaves.
static LogicalResult checkNest(NestOp nest) {
  SmallVector<int64_t> sizes = sizesOf(nest);
  std::optional<int64_t> carried;
  for (Operation &op : nest.getBody().front()) {
    if (isa<MmaOp>(op))
      return op.emitError() << "a matrix step says its unit";
    if (!isa<ReduceOp, ScanOp>(op))
      continue;
    auto reduce = dyn_cast<ReduceOp>(op);
    int64_t axis = reduce ? reduce.getAxis() : cast<ScanOp>(op).getAxis();
    auto input = cast<RankedTensorType>(op.getOperand(0).getType());
    if (input.getShape() != ArrayRef(sizes))
      return op.emitError()
             << "a nest over [" << sizes << "] reduces " << input;
    if (carried && *carried != axis)
      return op.emitError() << "a nest reduces along one axis, not " << *carried
                            << " and " << axis;
    carried = axis;
  }
  SmallVector<int64_t> left = sizes;
  if (carried)
    left.erase(left.begin() + *carried);
  for (Operation &op : nest.getBody().front()) {
    Value stored;
    if (auto store = dyn_cast<StoreOp>(op))
      stored = store.getValue();
    else if (auto store = dyn_cast<LocalStoreOp>(op))
      stored = store.getValue();
    else if (auto atomic = dyn_cast<AtomicOp>(op))
      stored = atomic.getValue();
    if (!stored || !isTile(stored))
      continue;
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(stored.getType()).getShape();
    bool reduced = stored.getDefiningOp<ReduceOp>();
    if (shape != (reduced ? ArrayRef(left) : ArrayRef(sizes)))
      return op.emitError()
             << "a nest over [" << sizes << "] stores [" << shape << "]";
  }
  return success();
}

/// The load or buffer behind an operand, through transposes of a matrix.
static Operation *sourceOf(Value operand, bool transposes) {
  while (auto transpose =
             transposes ? operand.getDefiningOp<TransposeOp>() : TransposeOp())
    operand = transpose.getInput();
  return operand.getDefiningOp();
}

/// Is it a matrix that lies in a buffer, or in a view by two ranges? For
/// `panels` the view is packed.
static bool isMatrix(Operation *source, bool panels) {
  if (auto local = dyn_cast_or_null<LocalLoadOp>(source))
    return local.getBuffer().getType().getShape().size() == 2 &&
           !local.getSlot();
  auto load = dyn_cast_or_null<LoadOp>(source);
  if (!load || load.getMask() || load.getIndexAxes() ||
      (panels && !CpuPacking::of(load.getView())))
    return false;
  int64_t ranges = 0;
  for (Value index : load.getIndices()) {
    if (isTile(index))
      return false;
    ranges += isa<RangeType>(index.getType());
  }
  return ranges == 2;
}

static bool liesInRows(Value tile) {
  auto load = tile.getDefiningOp<LoadOp>();
  return load && isMatrix(load, false) &&
         hasRows(load.getView(), load.getIndices());
}

/// Panels; of a left operand without AMX any matrix; or (Mapping/MatrixSteps.h)
/// rows as they lie, of a right operand without AMX or a left one with it.
static bool isOperand(Value tile, NestOp step, bool isLhs) {
  bool amx = isAmx(step), mayLie = amx == isLhs;
  if (auto choice = tile.getDefiningOp<arith::SelectOp>())
    return mayLie && !amx && !isTile(choice.getCondition()) &&
           liesInRows(choice.getTrueValue()) &&
           choice.getFalseValue().getDefiningOp<LocalLoadOp>() &&
           isMatrix(choice.getFalseValue().getDefiningOp(), true);
  if (auto splice = tile.getDefiningOp<SpliceOp>())
    return mayLie && amx && liesInRows(splice.getHead()) &&
           splice.getTail().getDefiningOp<LocalLoadOp>() &&
           isMatrix(splice.getTail().getDefiningOp(), true);
  bool any = isLhs && !amx;
  return isMatrix(sourceOf(tile, any), !any) ||
         (mayLie && !isLhs && isThin(step) && liesInRows(tile));
}

/// What stands in a step behind its product: one branch, with the store of the
/// sum where the result lies, or with an epilogue of AMX.
static LogicalResult checkBranch(NestOp step) {
  MmaOp mma = stepIn(step);
  for (Operation *user : mma.getResult().getUsers())
    if (auto store = dyn_cast<LocalStoreOp>(user);
        store && store->getParentOp() != step &&
        !(branchOf(step) && store->getBlock() == branchOf(step).elseBlock()))
      return store.emitError() << "a matrix step keeps its sum, but for the "
                                  "turn that stores the result";
  auto branches = step.getBody().getOps<scf::IfOp>();
  if (branches.empty())
    return success();
  scf::IfOp branch = branchOf(step);
  if (!llvm::hasSingleElement(branches) || branch.getNumResults())
    return branch.emitError() << "a matrix step has one branch";
  auto then = branch.thenBlock()->without_terminator();
  if (!llvm::hasSingleElement(then))
    return branch.emitError() << "a matrix step stores its sum, or has one "
                                 "nest for an epilogue";
  if (StoreOp store = dyn_cast<StoreOp>(*then.begin())) {
    bool keeps =
        branch.elseBlock() &&
        llvm::hasSingleElement(branch.elseBlock()->without_terminator()) &&
        isa<LocalStoreOp>(branch.elseBlock()->front());
    auto whole = ArrayRef<Value>(llvm::to_vector(step.getAxes())).take_front(2);
    SmallVector<Value> ranges;
    for (Value index : store.getIndices())
      if (isa<RangeType>(index.getType()))
        ranges.push_back(index);
    if (!keeps || store.getValue() != mma.getResult() || store.getMask() ||
        store.getIndexAxes() || ArrayRef(ranges) != whole ||
        !hasRows(store.getView(), store.getIndices()) ||
        (isAmx(step) && isStreaming(store)))
      return store.emitError() << "a matrix step stores its sum, row by row";
    return success();
  }
  auto epilogue = dyn_cast<NestOp>(*then.begin());
  auto loop = dyn_cast<ForOp>(step->getParentOp());
  bool fits = epilogue && isAmx(step) && !branch.elseBlock() && loop &&
              loop.getAtLeastOnce() && epilogue.getNumResults() == 0 &&
              epilogue.getAxes() == step.getAxes().take_front(2);
  if (fits)
    for (Operation &op : epilogue.getBody().front().without_terminator()) {
      auto local = dyn_cast<LocalLoadOp>(op);
      fits &= local ? local.getBuffer() == sumOf(step) && !local.getSlot()
                    : isa<StoreOp, LoadOp, FillOp, BroadcastOp, IndexOp>(op) ||
                          OpTrait::hasElementwiseMappableTraits(&op);
    }
  if (!fits)
    return branch.emitError() << "an epilogue makes results of a sum of AMX, "
                                 "element by element";
  return success();
}

static LogicalResult checkStep(NestOp nest) {
  MmaOp mma = *nest.getBody().getOps<MmaOp>().begin();
  SmallVector<int64_t> sizes = sizesOf(nest);
  RankedTensorType lhs = mma.getLhs().getType(), rhs = mma.getRhs().getType();
  auto sum = dyn_cast<RankedTensorType>(mma.getResult().getType());
  if (!sum || lhs.getShape() != ArrayRef<int64_t>{sizes[0], sizes[2]} ||
      rhs.getShape() != ArrayRef<int64_t>{sizes[2], sizes[1]})
    return mma.emitError() << "a matrix step over [" << sizes
                           << "] is of matrices of these sizes";
  if (mma.getMeta() || mma.getLhsScale())
    return mma.emitError() << "a matrix step is neither sparse nor scaled";
  bool amx = nest.getUnit() == MatrixUnit::Amx;
  if (amx && !isAmxProduct(lhs.getElementType(), sum.getElementType()))
    return mma.emitError() << "amx multiplies bf16 into f32 and i8 into i32, "
                              "not "
                           << lhs.getElementType() << " into "
                           << sum.getElementType();
  if (!amx && lhs.getElementType() != sum.getElementType())
    return mma.emitError() << "a matrix step sums " << lhs.getElementType()
                           << " in " << sum.getElementType();
  if (!isOperand(mma.getLhs(), nest, /*isLhs=*/true) ||
      !isOperand(mma.getRhs(), nest, /*isLhs=*/false))
    return mma.emitError()
           << "the operands of a matrix step are matrices in buffers or views";
  if (failed(checkBranch(nest)))
    return failure();
  TypedValue<BufferType> buffer = sumOf(nest);
  bool hasSlot = llvm::any_of(mma.getResult().getUsers(), [](Operation *user) {
    auto store = dyn_cast<LocalStoreOp>(user);
    return store && store.getSlot();
  });
  Value start = mma.getAcc();
  if (auto choice = start.getDefiningOp<arith::SelectOp>()) {
    if (isTile(choice.getCondition()) || !isZero(choice.getTrueValue()))
      return choice.emitError() << "a matrix step starts from zero";
    start = choice.getFalseValue();
  }
  auto acc = start.getDefiningOp<LocalLoadOp>();
  bool isStart = start == mma.getAcc() && start.getDefiningOp<FillOp>();
  bool isSame = acc && acc.getBuffer() == buffer && !acc.getSlot();
  if (!(isStart || isSame) || hasSlot ||
      buffer.getType().getShape().size() != 2)
    return mma.emitError() << "a matrix step sums into one buffer";
  return success();
}

/// What a nest says of how it is done, on some machine.
static LogicalResult checkForm(NestOp nest) {
  constexpr int64_t vectorBytes[] = {32, 64};
  if (nest.getPairs() && !mayPair(nest))
    return nest.emitError() << "lines of bf16 are taken in pairs only where "
                               "no op can tell the order of lanes, and by "
                               "all nests that share a buffer";
  if (nest.getTransposes() && llvm::none_of(vectorBytes, [&](int64_t bytes) {
        return mayTranspose(nest, bytes);
      }))
    return nest.emitError() << "a nest transposes what is contiguous along "
                               "its first axis and stored so along the second";
  auto isNoTwo = [](const LanesApart &one) {
    return one.stride != 2 && !ShapedType::isDynamic(one.stride);
  };
  if (nest.getTwoApart() && llvm::any_of(vectorBytes, [&](int64_t bytes) {
        return llvm::any_of(lanesApart(nest, bytes), isNoTwo);
      }))
    return nest.emitError() << "a view of this nest has elements that are not "
                               "two apart";
  if (nest.getPairsOfK() && !mayPairK(nest))
    return nest.emitError() << "pairs of k are of f32, 16 lanes, and a left "
                               "operand that is contiguous along k";
  return success();
}

static LogicalResult checkNests(FuncOp func) {
  WalkResult result = func.getBody().walk([&](Operation *op) -> WalkResult {
    auto nest = op->getParentOfType<NestOp>();
    if (failed(checkTiles(op, nest)))
      return WalkResult::interrupt();
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        if (isTile(argument))
          return op->emitError() << "a tile is kept in a buffer between turns";
    auto inner = dyn_cast<NestOp>(op);
    if (!inner)
      return WalkResult::advance();
    if (failed(inner.getUnit() ? checkStep(inner) : checkNest(inner)))
      return WalkResult::interrupt();
    return checkForm(inner);
  });
  return failure(result.wasInterrupted());
}

static bool mayStandInKernel(Operation *op) {
  if (isa<FuncOp>(op))
    return false;
  return isa_and_present<TileDialect, arith::ArithDialect, math::MathDialect,
                         scf::SCFDialect>(op->getDialect());
}

/// Only what is lowered, products and reductions in nests.
static LogicalResult checkOps(FuncOp func) {
  bool good = true;
  auto refuse = [&](Operation *op, StringRef place) {
    op->emitError() << "'" << op->getName() << "' may not stand in " << place;
    good = false;
  };
  func.getBody().walk([&](Operation *op) {
    if (!mayStandInKernel(op))
      refuse(op, "a mapped kernel");
    else if (isa<MmaOp, ReduceOp, ScanOp, TransposeOp, CatOp>(op) &&
             !op->getParentOfType<NestOp>())
      refuse(op, "a mapped kernel outside a nest");
  });
  return success(good);
}

/// Buffers lie inside the scratch memory, and apart while both are alive.
static LogicalResult checkBuffers(FuncOp func) {
  int64_t scratch = func.getScratchBytes().value_or(0);
  SmallVector<BufferLifetime> lives = lifetimesOf(func);
  auto offsetOf = [](AllocOp alloc) -> int64_t {
    std::optional<uint64_t> offset = alloc.getOffset();
    return offset ? int64_t(*offset) : -1;
  };
  for (auto [i, life] : llvm::enumerate(lives)) {
    int64_t offset = offsetOf(life.alloc);
    if (offset < 0 || offset % 64 != 0)
      return life.alloc->emitError()
             << "a buffer needs an offset that is a multiple of 64";
    if (offset + life.bytes > scratch)
      return life.alloc->emitError()
             << "the buffer ends at byte " << offset + life.bytes
             << " of scratch memory, but the kernel has scratch_bytes = "
             << scratch;
    for (const BufferLifetime &other : llvm::ArrayRef(lives).take_front(i)) {
      int64_t begin = offsetOf(other.alloc);
      if (life.overlaps(other) && begin < offset + life.bytes &&
          offset < begin + other.bytes)
        return life.alloc->emitError()
               << "the buffer at bytes " << offset << " to "
               << offset + life.bytes << " overlaps the one at " << begin
               << " to " << begin + other.bytes
               << ", which is in use at the same time";
    }
  }
  return success();
}

namespace {

struct CheckMappedContractPass
    : tessera::cpu::impl::CheckMappedContractPassBase<CheckMappedContractPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<FuncOp>())
      if (!kernel.hasThreads() &&
          (failed(checkOps(kernel)) || failed(checkNests(kernel)) ||
           failed(checkBuffers(kernel))))
        signalPassFailure();
  }
};

} // namespace
