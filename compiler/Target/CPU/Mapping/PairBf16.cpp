//===- PairBf16.cpp - Which nests take bf16 two by two --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/Mapping/PairBf16.h"

#include "compiler/Target/CPU/Mapping/Passes.h"
#include "compiler/Tile/IR/CpuBuffer.h"

#include "llvm/ADT/SetVector.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tessera::cpu {
#define GEN_PASS_DEF_PAIRBF16PASS
#include "compiler/Target/CPU/Mapping/Passes.h.inc"
} // namespace tessera::cpu

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

static bool isHalf(Type type) { return type.isF16() || type.isBF16(); }

/// Elements of a line of the cache.
static constexpr int64_t lineElements = 32;

bool tessera::cpu::hasHalfLines(tile::NestOp nest, int64_t vectorAxis) {
  Value range = nest.getAxes()[vectorAxis];
  if (cast<tile::RangeType>(range.getType()).getSize() < lineElements)
    return false;
  bool some = false;
  for (Operation &op : nest.getBody().front()) {
    Value buffer, view;
    if (auto load = dyn_cast<tile::LoadOp>(op))
      view = load.getView();
    else if (auto store = dyn_cast<tile::StoreOp>(op))
      view = store.getView();
    else if (auto load = dyn_cast<tile::LocalLoadOp>(op))
      buffer = load.getBuffer();
    else if (auto store = dyn_cast<tile::LocalStoreOp>(op))
      buffer = store.getBuffer();
    if (view)
      some |= isHalf(getElementTypeOrSelf(view.getType()));
    if (!buffer)
      continue;
    // Rows are padded to 32, panels of few columns are not.
    tile::CpuBuffer layout(cast<tile::BufferType>(buffer.getType()));
    if (vectorAxis + 1 != int64_t(nest.getAxes().size()) ||
        layout.terms.back().size() != 1 ||
        layout.terms.back()[0].extent % lineElements ||
        llvm::any_of(layout.terms,
                     [](auto &terms) { return terms.size() > 1; }))
      return false;
  }
  return some;
}

/// A number of the kernel that is no NaN with bits in its lower half: not from
/// memory of f32.
static bool isComputed(Value root) {
  SetVector<Value> worklist;
  worklist.insert(root);
  auto takeCarried = [&](scf::ForOp loop, unsigned which) {
    worklist.insert(loop.getInitArgs()[which]);
    worklist.insert(loop.getYieldedValues()[which]);
  };
  for (size_t next = 0; next < worklist.size(); ++next) {
    Value number = worklist[next];
    Operation *op = number.getDefiningOp();
    if (!op) {
      auto argument = cast<BlockArgument>(number);
      Operation *parent = argument.getOwner()->getParentOp();
      if (isa<tile::FuncOp>(parent))
        return false;
      if (auto loop = dyn_cast<scf::ForOp>(parent))
        takeCarried(loop, argument.getArgNumber() - 1);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      takeCarried(loop, cast<OpResult>(number).getResultNumber());
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      unsigned which = cast<OpResult>(number).getResultNumber();
      worklist.insert(branch.thenYield().getOperand(which));
      worklist.insert(branch.elseYield().getOperand(which));
    } else if (auto load = dyn_cast<tile::LoadOp>(op)) {
      if (!load.getView().getType().getElementType().isBF16())
        return false;
    } else if (op->getNumRegions() != 0 || isa<arith::BitcastOp>(op)) {
      if (!isa<tile::NestOp, tile::ForOp>(op))
        return false;
    } else {
      for (Value operand : op->getOperands())
        if (isa<FloatType>(operand.getType()))
          worklist.insert(operand);
    }
  }
  return true;
}

/// Element-wise on lines of bf16, where the order of lanes does not matter.
static bool isOfPairs(tile::NestOp nest) {
  int64_t axis = nest.getVectorAxis(), rank = nest.getAxes().size();
  if (axis < 0 || axis != rank - 1 || nest.getLanes() != 0 || nest.getUnit() ||
      !hasHalfLines(nest, axis))
    return false;
  auto isContiguous = [&](Value view, OperandRange indices) {
    auto type = cast<MemRefType>(view.getType());
    SmallVector<int64_t> strides;
    int64_t offset;
    if (tile::CpuPacking::of(view) || !type.getElementType().isBF16() ||
        failed(type.getStridesAndOffset(strides, offset)))
      return false;
    return llvm::all_of(llvm::zip(indices, strides), [&](auto pair) {
      auto [index, stride] = pair;
      if (!isa<tile::RangeType>(index.getType()))
        return !isa<RankedTensorType>(index.getType());
      return llvm::is_contained(nest.getAxes(), index) &&
             (index != nest.getAxes()[axis] || stride == 1);
    });
  };
  for (Operation &op : nest.getBody().front().without_terminator()) {
    auto local = dyn_cast<tile::LocalStoreOp>(op);
    if (tile::zeroPaddingOf(&op) || (local && local.getKeepRest()))
      return false;
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      if (load.getMask() || load.getIndexAxes() ||
          !isContiguous(load.getView(), load.getIndices()))
        return false;
      continue;
    }
    if (auto store = dyn_cast<tile::StoreOp>(op)) {
      if (store.getMask() || store.getIndexAxes() ||
          !isContiguous(store.getView(), store.getIndices()))
        return false;
      continue;
    }
    if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
      if (int64_t(reduce.getAxis()) != axis ||
          reduce.getKind() == tile::ReduceKind::Argmax ||
          reduce.getKind() == tile::ReduceKind::Argmin)
        return false;
      continue;
    }
    if (auto store = dyn_cast<tile::LocalStoreOp>(op)) {
      if (!store.getValue().getDefiningOp<tile::ReduceOp>() &&
          store.getValue().getType().getRank() != rank)
        return false;
      continue;
    }
    if (auto load = dyn_cast<tile::LocalLoadOp>(op)) {
      auto type = load.getResult().getType();
      Value range = nest.getAxes()[axis];
      if (type.getRank() != rank &&
          llvm::is_contained(type.getShape(),
                             cast<tile::RangeType>(range.getType()).getSize()))
        return false;
      continue;
    }
    if (auto fill = dyn_cast<tile::FillOp>(op)) {
      if (!isComputed(fill.getValue()))
        return false;
      continue;
    }
    if (isa<tile::BroadcastOp, arith::ConstantOp>(op))
      continue;
    if (!OpTrait::hasElementwiseMappableTraits(&op) ||
        isa<arith::BitcastOp>(op))
      return false;
    for (Type type :
         llvm::concat<const Type>(op.getOperandTypes(), op.getResultTypes())) {
      Type element = getElementTypeOrSelf(type);
      if (!element.isF32() && !element.isInteger(1) &&
          !(element.isBF16() && !isa<arith::SelectOp>(op)))
        return false;
    }
  }
  return true;
}

/// The buffers that a nest reads or writes lane by lane: not those of numbers
/// of a row.
static SmallVector<Value> buffersOf(tile::NestOp nest) {
  SmallVector<Value> buffers;
  int64_t rank = nest.getAxes().size();
  for (Operation &op : nest.getBody().front()) {
    if (auto load = dyn_cast<tile::LocalLoadOp>(op);
        load && load.getResult().getType().getRank() == rank)
      buffers.push_back(load.getBuffer());
    if (auto store = dyn_cast<tile::LocalStoreOp>(op);
        store && !store.getValue().getDefiningOp<tile::ReduceOp>())
      buffers.push_back(store.getBuffer());
  }
  return buffers;
}

/// What is kept of a row is kept in the order of lanes: all nests that share
/// buffers, directly or by way of others, agree.
bool tessera::cpu::mayPair(tile::NestOp nest) {
  llvm::SetVector<Operation *> nests;
  nests.insert(nest);
  for (size_t i = 0; i < nests.size(); ++i) {
    auto one = cast<tile::NestOp>(nests[i]);
    if (!isOfPairs(one))
      return false;
    for (Value buffer : buffersOf(one))
      for (Operation *user : buffer.getUsers()) {
        if (!isa<tile::NestOp>(user->getParentOp()))
          return false;
        nests.insert(user->getParentOp());
      }
  }
  return true;
}

namespace {

struct PairBf16Pass : tessera::cpu::impl::PairBf16PassBase<PairBf16Pass> {
  using PairBf16PassBase::PairBf16PassBase;

  void runOnOperation() override {
    if (vectorBytes != 64)
      return;
    getOperation().walk([](tile::NestOp nest) {
      int64_t axis = nest.getVectorAxis();
      if (axis < 0)
        return;
      auto range = cast<tile::RangeType>(nest.getAxes()[axis].getType());
      nest.setPairs(range.getSize() % lineElements == 0 && mayPair(nest));
    });
  }
};

} // namespace
