//===- BlockLayouts.cpp - Which thread holds which element ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/SIMT/Mapping/BlockLayouts.h"

#include "compiler/Support/Layout/Exchange.h"
#include "compiler/Tile/Transforms/MaskAbsent.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::simt;
using namespace tessera::tile;
using layout::Layout;

static RankedTensorType tileType(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

bool tessera::simt::isElementwise(Operation *op) {
  return OpTrait::hasElementwiseMappableTraits(op) &&
         op->getNumResults() == 1 &&
         isa<RankedTensorType>(op->getResult(0).getType());
}

LoadOp tessera::simt::sharedOperand(Value operand) {
  if (!isPlainLoad(operand))
    return {};
  while (auto transpose = operand.getDefiningOp<TransposeOp>())
    operand = transpose.getInput();
  return operand.getDefiningOp<LoadOp>();
}

Layout tessera::simt::inputLayout(BroadcastOp op, const Layout &result) {
  Layout layout = result;
  for (int64_t axis = op.getType().getRank() - 1; axis >= 0; --axis)
    if (!llvm::is_contained(op.getAxes(), axis))
      layout = layout::sliced(layout, axis);
  return layout;
}

Layout tessera::simt::inputLayout(TransposeOp op, const Layout &result) {
  // Axis p[i] of the input is axis i of the result.
  std::vector<int> order(op.getPermutation().size());
  for (auto [i, axis] : llvm::enumerate(op.getPermutation()))
    order[axis] = int(i);
  return result.transposed(order);
}

Layout tessera::simt::indexLayout(ArrayRef<int64_t> axes, const Layout &tile) {
  Layout layout = tile;
  for (int64_t axis = int64_t(tile.outs().size()) - 1; axis >= 0; --axis)
    if (!llvm::is_contained(axes, axis))
      layout = layout::sliced(layout, axis);
  if (llvm::is_sorted(axes))
    return layout;
  std::vector<int> order; // what axis i of the index is among those kept
  for (int64_t axis : axes)
    order.push_back(
        int(llvm::count_if(axes, [&](int64_t a) { return a < axis; })));
  return layout.transposed(order);
}

bool tessera::simt::isWithinWarp(const Layout &layout, int64_t axis) {
  std::optional<int> warp = layout.findIn("warp");
  for (int b = 0; warp && b < layout.ins()[*warp].bits; ++b)
    if (layout.basis(*warp, b)[axis])
      return false;
  return true;
}

int64_t tessera::simt::unitAxis(Value view, OperandRange indices,
                                std::optional<ArrayAttr> indexAxes) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(cast<MemRefType>(view.getType())
                 .getStridesAndOffset(strides, offset)))
    return -1;
  auto spans = axesOfIndices(indices, indexAxes);
  for (auto [i, index] : llvm::enumerate(indices)) {
    if (strides[i] != 1 || !isa<RangeType>(index.getType()) ||
        spans[i].size() != 1)
      continue;
    // Where each element has its own row, neighbours are none.
    int64_t axis = spans[i].front();
    for (auto [other, span] : llvm::zip(indices, spans))
      if (tileType(other) && llvm::is_contained(span, axis))
        return -1;
    return axis;
  }
  return -1;
}

bool tessera::simt::isUniformAlong(Value root, int64_t rootAxis) {
  SetVector<std::pair<Value, int64_t>> worklist;
  worklist.insert({root, rootAxis});
  for (size_t next = 0; next < worklist.size(); ++next) {
    auto [tile, axis] = worklist[next];
    Operation *op = tile.getDefiningOp();
    if (!op)
      return false;
    if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      for (auto [i, to] : llvm::enumerate(broadcast.getAxes()))
        if (to == axis)
          worklist.insert({broadcast.getInput(), int64_t(i)});
      continue;
    }
    if (isa<FillOp, arith::ConstantOp>(op)) // constants are splats (C2)
      continue;
    if (!isa<ConvertLayoutOp>(op) && !isElementwise(op))
      return false;
    for (Value operand : op->getOperands())
      if (tileType(operand))
        worklist.insert({operand, axis});
  }
  return true;
}

static Layout resultLayout(TransposeOp op, const Layout &input) {
  std::vector<int> order(op.getPermutation().begin(),
                         op.getPermutation().end());
  return input.transposed(order);
}

bool tessera::simt::isSame(const Layout &a, const Layout &b) {
  if (a == b)
    return true;
  if (a.outs().size() != b.outs().size())
    return false;
  for (const layout::Dim &dim : a.outs())
    if (!b.findOut(dim.name) || a.outSize(dim.name) != b.outSize(dim.name))
      return false;
  // Register part and thread part add up, so it is enough to compare each.
  auto images = [](const Layout &layout, StringRef name) {
    std::vector<layout::Index> all;
    std::optional<int> in = layout.findIn(name.str());
    for (int64_t i = 0; in && i < layout.inSize(name.str()); ++i) {
      layout::Index at(layout.ins().size(), 0);
      at[*in] = i;
      all.push_back(layout.apply(at).value_or(layout::Index()));
    }
    return all;
  };
  return llvm::all_of(
      ArrayRef<StringRef>{"register", "lane", "warp"},
      [&](StringRef name) { return images(a, name) == images(b, name); });
}

const Layout &BlockLayouts::canonical(const Layout &layout) const {
  for (const auto &other : known)
    if (isSame(*other, layout))
      return *other;
  known.push_back(std::make_unique<Layout>(layout));
  return *known.back();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

void BlockLayouts::chooseWarps(FuncOp func) {
  int64_t largest = 0, m = 0, n = 0, byFma = 0;
  func.walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (RankedTensorType type = tileType(result))
        largest = std::max(largest, type.getNumElements());
    auto mma = dyn_cast<MmaOp>(op);
    RankedTensorType type = mma ? tileType(mma.getResult()) : nullptr;
    if (!type || type.getRank() != 2)
      return;
    m = std::max(m, type.getDimSize(0));
    n = std::max(n, type.getDimSize(1));
    byFma += usesFma(mma) ? type.getNumElements() : 0;
    // A computed left operand should stay in its registers.
    rowsOnly |= !usesFma(mma) && !sharedOperand(mma.getLhs());
  });
  // Half a thread's registers, for 16 rows of one warp.
  rowsOnly &= n <= 128;
  int64_t given = func.getDecision("num_warps").value_or(0);
  if (given > 0)
    warps = llvm::PowerOf2Ceil(given);
  else if (m && rowsOnly) // 16 rows are one fragment
    warps = std::clamp<int64_t>(llvm::PowerOf2Ceil(m / 16), 1, 8);
  else if (m) // 64 accumulators for each thread
    warps = std::clamp<int64_t>(
        llvm::PowerOf2Ceil(llvm::divideCeil(std::max(m * n, byFma), 2048)), 1,
        8);
  else // up to 32 elements for each thread
    warps = std::clamp<int64_t>(llvm::PowerOf2Ceil(largest / 1024), 1, 16);
}

bool tessera::simt::isFactor(OpOperand &use) {
  return isa<MmaOp>(use.getOwner()) && use.getOperandNumber() < 2;
}

bool tessera::simt::usesFma(MmaOp mma) {
  InstructionAttr given = mma.getInstructionAttr();
  return !given || given.getForm() == MmaForm::Fma;
}

static layout::WarpGrid gridOf(MmaOp mma, int64_t warps, bool rowsOnly) {
  RankedTensorType type = tileType(mma.getResult());
  return layout::chooseWarpGrid(type.getDimSize(0), type.getDimSize(1), warps,
                                rowsOnly);
}

Layout BlockLayouts::partOf(MmaOp mma, ProductPart part) const {
  return machine.fragmentOf(mma, part, gridOf(mma, warps, rowsOnly));
}

Layout BlockLayouts::blocked(Value tile, int64_t withinWarp) const {
  return layout::blocked(tileType(tile).getShape().vec(), warps, withinWarp,
                         machine.lanes);
}

Layout BlockLayouts::resultOf(MmaOp mma) const {
  if (usesFma(mma))
    return blocked(mma.getResult());
  return partOf(mma, ProductPart::Result);
}

Layout BlockLayouts::lhsOf(MmaOp mma) const {
  if (usesFma(mma))
    return layout::fmaLhs(resultOf(mma), mma.getLhs().getType().getDimSize(1));
  return partOf(mma, ProductPart::Lhs);
}

Layout BlockLayouts::rhsOf(MmaOp mma) const {
  if (usesFma(mma))
    return layout::fmaRhs(resultOf(mma), mma.getRhs().getType().getDimSize(0));
  return partOf(mma, ProductPart::Rhs);
}

//===----------------------------------------------------------------------===//
// Spreading
//===----------------------------------------------------------------------===//

/// Made again where another user wants it differently; so it takes a layout
/// from its first user and gives it to nobody.
static bool isSource(Value value) {
  return isa_and_nonnull<FillOp, IndexOp, arith::ConstantOp>(
      value.getDefiningOp());
}

/// What memory moves at once.
static constexpr int64_t sectorBytes = 32, groupBytes = 16;

static int64_t bytesOf(RankedTensorType type) {
  return std::max<int64_t>(1, type.getElementTypeBitWidth() / 8);
}

/// In groups of 16 bytes along the axis that is contiguous in memory.
template <typename Access>
static std::optional<Layout> layoutForMemory(Access op, Value moved,
                                             int64_t warps, int64_t lanes) {
  int64_t unit = unitAxis(op.getView(), op.getIndices(), op.getIndexAxes());
  if (unit < 0 || (op.getMask() && !isUniformAlong(op.getMask(), unit)))
    return std::nullopt;
  RankedTensorType type = tileType(moved);
  return layout::blockedFor(type.getShape().vec(), warps, unit,
                            std::max<int64_t>(1, groupBytes / bytesOf(type)),
                            lanes);
}

BlockLayouts::BlockLayouts(FuncOp func, const Machine &machine)
    : machine(machine) {
  chooseWarps(func);
  // All results of products first: what one's result is computed with may be
  // another's.
  func.walk([&](MmaOp mma) {
    if (RankedTensorType type = tileType(mma.getResult());
        type && type.getRank() == 2) {
      layouts.insert({mma.getResult(), &canonical(resultOf(mma))});
      worklist.push_back(mma.getResult());
    }
  });
  spreadAll();
  // The rest, tiles of many axes first: those of few are slices of them.
  SmallVector<Value> left;
  auto isNeeded = [](Value tile) {
    // Loads (and their transposes) that only products use are not held.
    return !llvm::all_of(tile.getUses(), [](OpOperand &use) {
      auto mma = dyn_cast<MmaOp>(use.getOwner());
      if (mma && isFactor(use))
        return bool(sharedOperand(use.get()));
      return isa<TransposeOp>(use.getOwner()) && bool(sharedOperand(use.get()));
    });
  };
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          if (tileType(argument))
            left.push_back(argument);
    for (Value result : op->getResults())
      if (tileType(result) && isNeeded(result))
        left.push_back(result);
  });
  // Sources last: they follow what they are used with.
  SmallVector<Value> ordered;
  for (bool sources : {false, true})
    for (int64_t rank : {4, 3, 2, 1, 0})
      llvm::copy_if(left, std::back_inserter(ordered), [&](Value tile) {
        return isSource(tile) == sources && tileType(tile).getRank() == rank;
      });
  for (Value tile : ordered) {
    if (find(tile))
      continue;
    auto load = tile.getDefiningOp<LoadOp>();
    std::optional<Layout> good;
    if (load)
      good = layoutForMemory(load, tile, warps, machine.lanes);
    assign(tile, good ? *good : blocked(tile));
  }
}

//===----------------------------------------------------------------------===//
// The user's arrays
//===----------------------------------------------------------------------===//

template <typename Access>
void BlockLayouts::chooseAccess(Access op, Value moved, int64_t limit) {
  const Layout *own = tileType(moved) ? find(moved) : nullptr;
  std::optional<Layout> good;
  if (own && tileType(moved).getRank() > 1)
    good = layoutForMemory(op, moved, warps, machine.lanes);
  if (!good || isSame(*own, *good))
    return;
  // Elements that are there again would be moved again.
  int64_t unit = unitAxis(op.getView(), op.getIndices(), op.getIndexAxes());
  layout::MemoryRuns now = layout::memoryRuns(*own, unit),
                     then = layout::memoryRuns(*good, unit);
  RankedTensorType type = tileType(moved);
  int64_t bytes = bytesOf(type);
  if (now.run * bytes >= sectorBytes || then.run <= now.run)
    return;
  layout::Exchange plan = layout::planExchange(isa<LoadOp>(op) ? *good : *own,
                                               isa<LoadOp>(op) ? *own : *good,
                                               type.getShape().vec(), bytes);
  if (plan.needsMemory() && plan.board.elements * bytes > limit)
    return;
  accesses.insert({op.getOperation(), &canonical(*good)});
}

void BlockLayouts::chooseAccesses(FuncOp func, int64_t limit) {
  func.walk([&](Operation *op) {
    if (auto store = dyn_cast<StoreOp>(op))
      chooseAccess(store, store.getValue(), limit);
    else if (auto load = dyn_cast<LoadOp>(op))
      chooseAccess(load, load.getResult(), limit);
  });
}

const Layout *BlockLayouts::accessLayout(Operation *op) const {
  auto found = accesses.find(op);
  return found == accesses.end() ? nullptr : found->second;
}

const Layout *BlockLayouts::find(Value tile) const {
  auto found = layouts.find(tile);
  return found == layouts.end() ? nullptr : found->second;
}

void BlockLayouts::assign(Value tile, const Layout &layout) {
  if (!layouts.insert({tile, &canonical(layout)}).second)
    return;
  if (isSource(tile))
    return;
  worklist.push_back(tile);
  if (worklist.size() == 1) // The outermost call works the list off.
    spreadAll();
}

void BlockLayouts::spreadAll() {
  for (size_t i = 0; i < worklist.size(); ++i) {
    Value next = worklist[i];
    if (Operation *op = next.getDefiningOp())
      spreadThrough(op, next);
    else if (Operation *parent = next.getParentBlock()->getParentOp())
      spreadThrough(parent, next);
    for (Operation *user : next.getUsers())
      spreadThrough(user, next);
  }
  worklist.clear();
}

/// `others` are held as `from` is, if they have its shape.
void BlockLayouts::join(Value from, ValueRange others) {
  const Layout *layout = find(from);
  for (Value other : others)
    if (RankedTensorType type = tileType(other);
        type && type.getShape() == tileType(from).getShape() && !find(other))
      assign(other, *layout);
}

template <typename Access>
void BlockLayouts::spreadAccess(Access op, Value moved) {
  const Layout *layout = tileType(moved) ? find(moved) : nullptr;
  if (!layout)
    return;
  if (op.getMask())
    join(moved, op.getMask());
  auto spans = axesOfIndices(op.getIndices(), op.getIndexAxes());
  for (auto [index, span] : llvm::zip(op.getIndices(), spans))
    if (tileType(index) && !find(index))
      assign(index, indexLayout(span, *layout));
}

template <typename Access>
std::optional<Layout> BlockLayouts::wantedByAccess(Access op, Value moved,
                                                   OpOperand &operand) const {
  const Layout *layout = accessLayout(op);
  if (layout && operand.get() == moved)
    return *layout;
  if (!layout) // The moved tile may have been replaced if it is another's.
    layout = tileType(moved) ? find(moved) : nullptr;
  if (!layout)
    return std::nullopt;
  if (operand.get() == op.getMask())
    return *layout;
  auto spans = axesOfIndices(op.getIndices(), op.getIndexAxes());
  for (auto [i, index] : llvm::enumerate(op.getIndices()))
    if (&op.getIndicesMutable()[i] == &operand)
      return indexLayout(spans[i], *layout);
  return std::nullopt;
}

void BlockLayouts::spreadThrough(Operation *op, Value tile) {
  const Layout &layout = *find(tile);
  // Carried values: what enters, is carried, is yielded and leaves.
  auto joinCarried = [&](ValueRange inits, ValueRange arguments,
                         ValueRange yielded, ValueRange results) {
    for (auto [i, result] : llvm::enumerate(results)) {
      SmallVector<Value> group = {result, yielded[i]};
      if (!inits.empty())
        group.append({inits[i], arguments[i]});
      if (llvm::is_contained(group, tile))
        join(tile, group);
    }
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ForOp loop) {
        auto yield = cast<YieldOp>(loop.getBody().front().getTerminator());
        joinCarried(loop.getInits(), ValueRange(loop.getCarried()),
                    yield.getValues(), loop.getResults());
      })
      .Case([&](scf::ForOp loop) {
        joinCarried(loop.getInitArgs(), ValueRange(loop.getRegionIterArgs()),
                    loop.getYieldedValues(), loop.getResults());
      })
      .Case([&](scf::IfOp branch) {
        if (!branch.getNumResults())
          return;
        joinCarried({}, {}, branch.thenYield().getResults(),
                    branch.getResults());
        joinCarried({}, {}, branch.elseYield().getResults(),
                    branch.getResults());
      })
      .Case<YieldOp, scf::YieldOp>(
          [&](Operation *yield) { spreadThrough(yield->getParentOp(), tile); })
      .Case([&](ReduceOp reduce) {
        if (tile == reduce.getInput() && tileType(reduce.getResult()) &&
            !find(reduce.getResult()))
          assign(reduce.getResult(), layout::sliced(layout, reduce.getAxis()));
      })
      .Case([&](BroadcastOp broadcast) {
        if (tile == broadcast.getResult() && !find(broadcast.getInput()))
          assign(broadcast.getInput(), inputLayout(broadcast, layout));
      })
      .Case([&](TransposeOp transpose) {
        if (tile == transpose.getInput() && !find(transpose))
          assign(transpose, resultLayout(transpose, layout));
        else if (tile == transpose.getResult() && !find(transpose.getInput()))
          assign(transpose.getInput(), inputLayout(transpose, layout));
      })
      .Case([&](MmaOp mma) {
        if (tile == mma.getResult())
          join(tile, mma.getAcc());
      })
      .Case([&](FilledOp filled) {
        join(tile, {filled.getInput(), filled.getResult()});
      })
      .Case<StoreOp, AtomicOp>([&](auto access) {
        if (tile == access.getValue())
          spreadAccess(access, tile);
      })
      .Case([&](LoadOp load) {
        if (tile == load.getResult())
          spreadAccess(load, tile);
      })
      .Case([&](ScanOp scan) {
        if (isWithinWarp(layout, scan.getAxis()))
          join(tile, {scan.getInput(), scan.getResult()});
      })
      .Case(
          [&](RandOp rand) { join(tile, {rand.getIndex(), rand.getResult()}); })
      .Case([&](scf::WhileOp loop) {
        auto among = [&](ValueRange a, ValueRange b, ValueRange c) {
          for (size_t i = 0; i < a.size(); ++i)
            if (tile == a[i] || tile == b[i] || tile == c[i])
              join(tile, {a[i], b[i], c[i]});
        };
        among(loop.getInits(), ValueRange(loop.getBeforeArguments()),
              loop.getYieldOp().getResults());
        among(loop.getConditionOp().getArgs(),
              ValueRange(loop.getAfterArguments()), loop.getResults());
      })
      .Case([&](scf::ConditionOp condition) {
        spreadThrough(condition->getParentOp(), tile);
      })
      .Default([&](Operation *other) {
        if (!isElementwise(other))
          return;
        join(tile, other->getOperands());
        join(tile, other->getResults());
      });
}

std::optional<Layout> BlockLayouts::wanted(OpOperand &operand) const {
  Operation *op = operand.getOwner();
  auto as = [&](Value value) -> std::optional<Layout> {
    const Layout *layout = find(value);
    return layout ? std::optional(*layout) : std::nullopt;
  };
  unsigned number = operand.getOperandNumber();
  return llvm::TypeSwitch<Operation *, std::optional<Layout>>(op)
      .Case([&](ForOp loop) { return as(loop.getCarried()[number - 2]); })
      .Case([&](scf::ForOp loop) {
        return as(loop.getRegionIterArg(number - 3));
      })
      .Case([&](scf::WhileOp loop) {
        return as(loop.getBeforeArguments()[number]);
      })
      .Case([&](scf::ConditionOp condition) {
        auto loop = cast<scf::WhileOp>(condition->getParentOp());
        return as(loop.getAfterArguments()[number - 1]);
      })
      .Case<YieldOp, scf::YieldOp>([&](Operation *yield) {
        if (auto loop = dyn_cast<scf::WhileOp>(yield->getParentOp()))
          return as(loop.getBeforeArguments()[number]);
        return as(yield->getParentOp()->getResult(number));
      })
      .Case([&](BroadcastOp broadcast) -> std::optional<Layout> {
        if (!find(broadcast))
          return std::nullopt;
        return inputLayout(broadcast, *find(broadcast));
      })
      .Case([&](TransposeOp transpose) -> std::optional<Layout> {
        if (!find(transpose))
          return std::nullopt;
        return inputLayout(transpose, *find(transpose));
      })
      .Case([&](MmaOp mma) -> std::optional<Layout> {
        if (operand.get() == mma.getAcc())
          return resultOf(mma);
        if (usesFma(mma)) // through memory
          return std::nullopt;
        if (operand.get() == mma.getMeta())
          return partOf(mma, ProductPart::Meta);
        if (operand.get() == mma.getLhsScale())
          return partOf(mma, ProductPart::LhsScale);
        if (operand.get() == mma.getRhsScale())
          return partOf(mma, ProductPart::RhsScale);
        return number == 0 ? lhsOf(mma) : rhsOf(mma);
      })
      .Case<StoreOp, AtomicOp>([&](auto access) {
        return wantedByAccess(access, access.getValue(), operand);
      })
      .Case([&](LoadOp load) {
        return wantedByAccess(load, load.getResult(), operand);
      })
      .Case([&](ScanOp scan) { return as(scan); })
      .Case([&](RandOp rand) { return as(rand.getResult()); })
      .Case([&](FilledOp filled) { return as(filled); })
      .Case([&](ReduceOp) -> std::optional<Layout> { return std::nullopt; })
      .Default([&](Operation *other) -> std::optional<Layout> {
        return isElementwise(other) ? as(other->getResult(0)) : std::nullopt;
      });
}
