//===- MatrixShortcuts.cpp - What a matrix step can do without ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Four nests around a matrix step need not run where the step can do without:
//
//   clearing the sum before a loop over k: the first step starts from zero
//   packing an operand that is read well where it lies
//   copying the sum to the result: the last step stores it there
//   making results of the sum: the last step does, block by block
//
// Which it is depends on sizes and strides, so the program asks when it runs.
//
//===----------------------------------------------------------------------===//

#include "compiler/Support/Architectures/X86.h"
#include "compiler/Target/CPU/CpuLowering.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

static bool isAmx(tile::NestOp step) {
  return step.getUnit() == tile::MatrixUnit::Amx;
}

bool CpuLowering::isThin(tile::NestOp step) {
  std::optional<ArrayRef<int64_t>> registers = step.getRegisterTile();
  auto rows = cast<tile::RangeType>(step.getAxes()[0].getType());
  auto columns = cast<tile::RangeType>(step.getAxes()[1].getType());
  return registers && rows.getSize() <= 2 * (*registers)[0] &&
         columns.getSize() > (*registers)[1] * (*registers)[2];
}

bool CpuLowering::readsFewVectors(tile::NestOp step) {
  ArrayRef<int64_t> registers = *step.getRegisterTile();
  return registers[1] > 2 && step.getAxes()[1].getDefiningOp<tile::ProgramOp>();
}

/// The buffer of a nest that does nothing but clear it.
static Value clearedBy(tile::NestOp nest) {
  Value buffer;
  for (Operation &op : nest.getBody().front().without_terminator()) {
    if (isa<tile::FillOp>(op))
      continue;
    auto store = dyn_cast<tile::LocalStoreOp>(op);
    if (!store || store.getSlot() || buffer)
      return {};
    auto fill = store.getValue().getDefiningOp<tile::FillOp>();
    if (!fill || !(matchPattern(fill.getValue(), m_PosZeroFloat()) ||
                   matchPattern(fill.getValue(), m_Zero())))
      return {};
    buffer = store.getBuffer();
  }
  return buffer;
}

/// The loop after `nest` whose one matrix step sums into `buffer`, and that
/// step. Nobody else looks at the buffer in the loop.
static std::pair<tile::ForOp, tile::NestOp> summedAfter(tile::NestOp nest,
                                                        Value buffer) {
  Operation *next = nest->getNextNode();
  while (next && (isa<tile::AllocOp>(next) || isPure(next)))
    next = next->getNextNode();
  auto loop = dyn_cast_or_null<tile::ForOp>(next);
  if (!loop)
    return {};
  tile::NestOp step;
  for (Operation *user : buffer.getUsers()) {
    if (!loop->isProperAncestor(user))
      continue;
    auto owner = user->getParentOfType<tile::NestOp>();
    if (!owner || (step && owner != step) || owner->getParentOp() != loop ||
        !stepIn(owner))
      return {};
    step = owner;
  }
  // The step starts all that was cleared.
  if (!step || step.getAxes().size() != 3 || nest.getAxes().size() != 2 ||
      step.getAxes()[0] != nest.getAxes()[0] ||
      step.getAxes()[1] != nest.getAxes()[1])
    return {};
  auto sum = stepIn(step).getAcc().getDefiningOp<tile::LocalLoadOp>();
  if (!sum || sum.getBuffer() != buffer)
    return {};
  return {loop, step};
}

Value CpuLowering::isFirst(tile::NestOp step) {
  auto loop = dyn_cast<tile::ForOp>(step->getParentOp());
  auto sum = stepIn(step).getAcc().getDefiningOp<tile::LocalLoadOp>();
  auto known = [&](bool is) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getBoolAttr(is));
  };
  if (!loop || !sum)
    return known(!sum);
  for (Operation *user : sum.getBuffer().getUsers()) {
    auto nest = user->getParentOfType<tile::NestOp>();
    if (nest && nest != step && clearedBy(nest) == sum.getBuffer() &&
        summedAfter(nest, sum.getBuffer()).second == step)
      return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                   ranges[loop.getRange()].start,
                                   values.lookup(loop.getStart()));
  }
  return known(false);
}

Value CpuLowering::isLast(tile::NestOp step) {
  auto loop = cast<tile::ForOp>(step->getParentOp());
  return arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::sge,
      addConstant(ranges[loop.getRange()].start, loop.getSize()),
      values.lookup(loop.getStop()));
}

/// A nest that copies a matrix from an argument that is only read, its rows
/// contiguous, into a buffer.
static tile::LoadOp copiedBy(tile::NestOp nest, const CpuLowering &lower) {
  auto ops = nest.getBody().front().without_terminator();
  if (std::distance(ops.begin(), ops.end()) != 2 || nest.getAxes().size() != 2)
    return {};
  auto load = dyn_cast<tile::LoadOp>(*ops.begin());
  auto store = dyn_cast<tile::LocalStoreOp>(*std::next(ops.begin()));
  if (!load || !store || store.getValue() != load.getResult() ||
      store.getSlot() || load.getMask() || load.getIndexAxes())
    return {};
  auto view = dyn_cast<BlockArgument>(load.getView());
  auto func = nest->getParentOfType<tile::FuncOp>();
  if (!view || view.getOwner() != &func.getBody().front())
    return {};
  if (func.getArgMode(view.getArgNumber()) != "in")
    return {};
  SmallVector<Value> ranges;
  int64_t last = -1;
  for (auto [axis, index] : llvm::enumerate(load.getIndices())) {
    if (isa<RankedTensorType>(index.getType()))
      return {};
    if (!isa<tile::RangeType>(index.getType()))
      continue;
    ranges.push_back(index);
    last = axis;
  }
  const CpuView &from = lower.views.find(view)->second;
  if (ranges != llvm::to_vector(nest.getAxes()) || from.packing ||
      from.staticStrides[last] != 1)
    return {};
  return load;
}

/// The one matrix step that reads the buffer, as its left or right operand.
static tile::NestOp readerOf(Value buffer, bool &isLhs) {
  tile::NestOp step;
  for (Operation *user : buffer.getUsers()) {
    auto load = dyn_cast<tile::LocalLoadOp>(user);
    if (!load)
      continue;
    auto owner = user->getParentOfType<tile::NestOp>();
    tile::MmaOp mma = owner ? stepIn(owner) : tile::MmaOp();
    if (!mma || step || !load->hasOneUse() ||
        (mma.getLhs() != load.getResult() && mma.getRhs() != load.getResult()))
      return {};
    step = owner;
    isLhs = mma.getLhs() == load.getResult();
  }
  return step;
}

/// Does nobody else write this view, or read it?
static bool isOnlyWritten(tile::StoreOp store) {
  return llvm::all_of(store.getView().getUsers(), [&](Operation *user) {
    return user == store || isa<tile::DimOp>(user);
  });
}

/// The matrix step of a loop before `nest` that alone sums into `buffer`, for
/// `nest` alone and over its axes.
static tile::NestOp summedBefore(tile::NestOp nest, Value buffer) {
  tile::NestOp step;
  for (Operation *user : buffer.getUsers()) {
    auto owner = user->getParentOfType<tile::NestOp>();
    if (owner == nest || (owner && clearedBy(owner)))
      continue;
    if (!owner || (step && owner != step) || !stepIn(owner))
      return {};
    step = owner;
  }
  auto loop = step ? dyn_cast<tile::ForOp>(step->getParentOp()) : tile::ForOp();
  if (!loop || loop->getBlock() != nest->getBlock() ||
      !loop->isBeforeInBlock(nest) || CpuLowering::isThin(step) ||
      step.getAxes()[0] != nest.getAxes()[0] ||
      step.getAxes()[1] != nest.getAxes()[1])
    return {};
  return step;
}

/// The matrix step of the loop before `nest` whose sum the nest copies to a
/// result, and does nothing else. Nobody reads the sum or the result but they.
static tile::NestOp copiedStep(tile::NestOp nest) {
  auto ops = nest.getBody().front().without_terminator();
  if (std::distance(ops.begin(), ops.end()) != 2 || nest.getAxes().size() != 2)
    return {};
  auto load = dyn_cast<tile::LocalLoadOp>(*ops.begin());
  auto store = dyn_cast<tile::StoreOp>(*std::next(ops.begin()));
  if (!load || !store || load.getSlot() || store.getMask() ||
      store.getIndexAxes() || store.getValue() != load.getResult())
    return {};
  SmallVector<Value> ranges;
  for (Value index : store.getIndices()) {
    if (isa<tile::RangeType>(index.getType()))
      ranges.push_back(index);
    else if (!index.getDefiningOp<tile::ProgramOp>())
      return {};
  }
  if (ranges != llvm::to_vector(nest.getAxes()))
    return {};
  if (!isOnlyWritten(store))
    return {};
  tile::NestOp step = summedBefore(nest, load.getBuffer());
  // AMX stores whole tiles, and not past the caches.
  if (step && isAmx(step) && isStreaming(store))
    return {};
  return step;
}

/// Is the view never written?
static bool isOnlyRead(tile::LoadOp load) {
  return llvm::all_of(load.getView().getUsers(),
                      llvm::IsaPred<tile::LoadOp, tile::DimOp>);
}

/// May the loop of `step` take one more turn, of nothing? It is the loop that
/// is summed over, and the others of its nests do no more than pack operands.
static bool maySumNothing(tile::NestOp step) {
  auto loop = cast<tile::ForOp>(step->getParentOp());
  auto packs = [&](Operation &op) {
    auto store = dyn_cast<tile::LocalStoreOp>(op);
    Operation *alloc = store ? store.getBuffer().getDefiningOp() : nullptr;
    return (alloc && loop->isProperAncestor(alloc)) || isa<tile::LoadOp>(op) ||
           isPure(&op);
  };
  return step.getAxes()[2] == loop.getRange() && loop.getInits().empty() &&
         llvm::all_of(loop.getBody().front(), [&](Operation &op) {
           auto nest = dyn_cast<tile::NestOp>(op);
           return nest ? nest == step ||
                             llvm::all_of(nest.getBody().front(), packs)
                       : isa<tile::AllocOp>(op) || isPure(&op);
         });
}

/// The AMX step of the loop before `nest` whose sum the nest makes results of,
/// element by element, from what was there before the loop.
static tile::NestOp finishedStep(tile::NestOp nest) {
  if (nest.getAxes().size() != 2 || nest.getAxes()[0] == nest.getAxes()[1] ||
      nest.getNumResults() || copiedStep(nest))
    return {};
  Value sum;
  for (Operation &op : nest.getBody().front().without_terminator()) {
    if (auto load = dyn_cast<tile::LocalLoadOp>(op)) {
      if (load.getSlot() || (sum && sum != load.getBuffer()))
        return {};
      sum = load.getBuffer();
    } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
      if (!isOnlyWritten(store))
        return {};
    } else if (auto load = dyn_cast<tile::LoadOp>(op)) {
      if (!isOnlyRead(load))
        return {};
    } else if (!isa<tile::FillOp, tile::BroadcastOp, tile::IndexOp>(op) &&
               !OpTrait::hasElementwiseMappableTraits(&op)) {
      return {};
    }
  }
  tile::NestOp step = sum ? summedBefore(nest, sum) : tile::NestOp();
  if (!step || !isAmx(step) || !maySumNothing(step) ||
      !step.getAxes()[1].getDefiningOp<tile::ProgramOp>())
    return {};
  Operation *loop = step->getParentOp();
  auto isLate = [&](Value value) {
    Operation *def = value.getDefiningOp();
    return def && def->getBlock() == loop->getBlock() &&
           !def->isBeforeInBlock(loop);
  };
  for (Operation &op : nest.getBody().front())
    if (llvm::any_of(op.getOperands(), isLate))
      return {};
  return step;
}

/// Whether (i1) `value` is, or is not, a multiple of a power of two.
static Value isMultiple(CpuLowering &lower, Value value, int64_t unit,
                        bool is = true) {
  Value rest = arith::AndIOp::create(lower.builder, lower.loc, value,
                                     lower.constant(unit - 1));
  return arith::CmpIOp::create(lower.builder, lower.loc,
                               is ? arith::CmpIPredicate::eq
                                  : arith::CmpIPredicate::ne,
                               rest, lower.constant(0));
}

/// Whether (i1) the result of a step is whole tiles.
static Value hasWholeTiles(CpuLowering &lower, tile::NestOp step) {
  Value lengths = arith::OrIOp::create(lower.builder, lower.loc,
                                       lower.ranges[step.getAxes()[0]].length,
                                       lower.ranges[step.getAxes()[1]].length);
  return isMultiple(lower, lengths, 16);
}

std::optional<CpuDirect> CpuLowering::resultOf(tile::NestOp step) {
  Value sum = sumOf(step);
  for (Operation *user : sum.getUsers()) {
    auto nest = user->getParentOfType<tile::NestOp>();
    if (!nest || nest == step || copiedStep(nest) != step)
      continue;
    auto store = *nest.getBody().front().getOps<tile::StoreOp>().begin();
    const CpuView &view = views[store.getView()];
    Value offset = constant(0);
    SmallVector<int64_t> axes;
    for (auto [axis, index] : llvm::enumerate(store.getIndices())) {
      bool range = isa<tile::RangeType>(index.getType());
      if (range)
        axes.push_back(axis);
      offset = add(offset, offsetAlong(view, axis,
                                       range ? ranges[index].start
                                             : values.lookup(index)));
    }
    if (view.packing || view.staticStrides.back() != 1 ||
        axes[1] + 1 != int64_t(view.sizes.size()))
      return std::nullopt;
    Value last = isLast(step);
    if (isAmx(step))
      last =
          arith::AndIOp::create(builder, loc, last, hasWholeTiles(*this, step));
    return CpuDirect{pointerTo(view.base, offset, view.element),
                     view.strides[axes[0]], last, isStreaming(store)};
  }
  return std::nullopt;
}

bool CpuLowering::isPartOfStep(tile::NestOp nest) {
  if (Value sum = clearedBy(nest))
    if (tile::NestOp step = summedAfter(nest, sum).second)
      return bool(finishOf(step));
  return bool(finishedStep(nest));
}

/// The one nest that looks at the sum of `step` after its loop.
tile::NestOp CpuLowering::finishOf(tile::NestOp step) {
  Value sum = sumOf(step);
  for (Operation *user : sum.getUsers())
    if (auto nest = user->getParentOfType<tile::NestOp>();
        nest && nest != step && finishedStep(nest) == step)
      return nest;
  return {};
}

bool CpuLowering::isSumOfAmx(Value tile) {
  auto load = tile.getDefiningOp<tile::LocalLoadOp>();
  if (!load)
    return false;
  return llvm::all_of(load.getBuffer().getUsers(), [](Operation *user) {
    auto nest = user->getParentOfType<tile::NestOp>();
    return !isa<tile::LocalStoreOp>(user) ||
           (nest && (clearedBy(nest) || (stepIn(nest) && isAmx(nest))));
  });
}

Value CpuLowering::isSuperfluous(tile::NestOp nest) {
  auto both = [&](Value a, Value b) -> Value {
    return arith::AndIOp::create(builder, loc, a, b);
  };
  if (tile::NestOp step = copiedStep(nest)) {
    auto store = *nest.getBody().front().getOps<tile::StoreOp>().begin();
    auto loop = cast<tile::ForOp>(step->getParentOp());
    if (views[store.getView()].staticStrides.back() == 1 &&
        isa<tile::RangeType>(store.getIndices().back().getType())) {
      Value some =
          less(values.lookup(loop.getStart()), values.lookup(loop.getStop()));
      return isAmx(step) ? both(some, hasWholeTiles(*this, step)) : some;
    }
    return {};
  }
  if (Value buffer = clearedBy(nest))
    if (auto [loop, step] = summedAfter(nest, buffer); loop)
      return less(values.lookup(loop.getStart()),
                  values.lookup(loop.getStop()));
  tile::LoadOp load = copiedBy(nest, *this);
  if (!load)
    return {};
  Value buffer;
  for (auto store : nest.getBody().front().getOps<tile::LocalStoreOp>())
    buffer = store.getBuffer();
  bool isLhs = false;
  tile::NestOp step = readerOf(buffer, isLhs);
  if (!step)
    return {};
  bool amx = isAmx(step);
  tile::CpuBuffer layout(cast<tile::BufferType>(buffer.getType()));
  auto multiple = [&](Value value, int64_t unit, bool is = true) {
    return isMultiple(*this, value, unit, is);
  };
  Value inside;
  Value base = tileStart(load, inside);
  if (inside)
    return {};
  const CpuView &view = views[load.getView()];
  SmallVector<Value> strides;
  for (auto [axis, index] : llvm::enumerate(load.getIndices()))
    if (isa<tile::RangeType>(index.getType()))
      strides.push_back(view.strides[axis]);
  Value line = strides[0];
  Value rows = ranges[nest.getAxes()[0]].length;
  Value columns = ranges[nest.getAxes()[1]].length;
  Value bytes = mul(line, constant(layout.elementBytes));
  Value usable;
  if (amx && isLhs) {
    // Whole tiles of rows; what is left of k is packed, with zeros behind it.
    usable = multiple(rows, 16);
    Value rest = arith::AndIOp::create(
        builder, loc, columns, constant(tile::amxStep(view.element) - 1));
    Value whole = sub(columns, rest);
    Value all = arith::SelectOp::create(builder, loc, usable, whole, columns);
    inPlace[buffer] = {usable, base, line, all};
    CpuRange &range = ranges[nest.getAxes()[1]];
    range.start = arith::SelectOp::create(builder, loc, usable,
                                          add(range.start, whole), range.start);
    range.length =
        arith::SelectOp::create(builder, loc, usable, rest, range.length);
    return both(usable,
                arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      rest, constant(0)));
  } else if (!amx && !isLhs) {
    int64_t width = layout.run(1);
    if (!llvm::isPowerOf2_64(width))
      return {};
    // Whole panels, or one of so few columns that MatrixEmitter masks them, and
    // near enough; few rows need neither.
    if (CpuLowering::isThin(step)) {
      usable =
          arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
    } else {
      ArrayRef<int64_t> registers = *step.getRegisterTile();
      Value whole = multiple(columns, width);
      if (readsFewVectors(step))
        whole = arith::OrIOp::create(
            builder, loc, whole, less(columns, constant(2 * registers[2] + 1)));
      // Rows half a page apart push each other out of the first-level cache.
      // (The rows may be those of a loop that is still to come.)
      Value range = step.getAxes()[0];
      int64_t most = cast<tile::RangeType>(range.getType()).getSize();
      Value few =
          less(ranges.contains(range) ? ranges[range].length : constant(most),
               constant(25));
      Value apart = arith::OrIOp::create(
          builder, loc, few, multiple(bytes, x86::aliasedStride, false));
      usable = both(both(whole, apart),
                    less(mul(rows, bytes), constant(x86::nearOperand + 1)));
    }
  } else {
    return {};
  }
  inPlace[buffer] = {usable, base, line, {}};
  return usable;
}
