//===- NestPairs.cpp - Which nests take bf16 two by two -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A line has 32 bf16. Those at even places are f32 after a shift, those at odd
// places after clearing the other: one instruction each, and none that moves
// lanes. So f32 lanes are those of even, then of odd places, which no
// element-wise op can tell; sums take them in this order.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/NestEmitter.h"
#include "compiler/Target/Math/FloatEmitter.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

/// Reads or writes the nest whole lines of 16-bit floats, and buffers only row
/// by row? Then its vectors are two registers of f32, rounded into one.
bool target::hasHalfLines(tile::NestOp nest, int64_t vectorAxis) {
  Value range = nest.getAxes()[vectorAxis];
  if (cast<tile::RangeType>(range.getType()).getSize() < 32)
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
        layout.terms.back().size() != 1 || layout.terms.back()[0].extent % 32 ||
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
  for (size_t next = 0; next < worklist.size(); ++next) {
    Value number = worklist[next];
    Operation *op = number.getDefiningOp();
    if (!op) {
      // What a row leaves to the next (DelayStores.h) comes after the
      // arguments.
      auto argument = cast<BlockArgument>(number);
      auto func = dyn_cast<tile::FuncOp>(argument.getOwner()->getParentOp());
      if (func &&
          argument.getArgNumber() < func.getFunctionType().getNumInputs())
        return false;
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
static bool isOfPairs(tile::NestOp nest, CpuLowering &lower) {
  int64_t axis = nest.getVectorAxis(), rank = nest.getAxes().size();
  if (axis != rank - 1 || nest.getLanes() != 0 || !hasHalfLines(nest, axis))
    return false;
  auto isContiguous = [&](Value view, OperandRange indices) {
    const CpuView &place = lower.views[view];
    if (place.packing || !place.element.isBF16())
      return false;
    return llvm::all_of(llvm::zip(indices, place.staticStrides),
                        [&](auto pair) {
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
bool target::hasPairs(tile::NestOp nest, CpuLowering &lower) {
  llvm::SetVector<Operation *> nests;
  nests.insert(nest);
  for (size_t i = 0; i < nests.size(); ++i) {
    auto one = cast<tile::NestOp>(nests[i]);
    if (!isOfPairs(one, lower))
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

/// Two bf16 lie in 32 bits: each is the upper half of its f32.
Value CpuLowering::extendPairs(Value value) {
  auto words = VectorType::get({16}, builder.getI32Type());
  auto number = [&](int32_t n) {
    return splatConstant(builder.getI32IntegerAttr(n), 16);
  };
  Value both = vector::BitCastOp::create(builder, loc, words, toMemory(value));
  Value even = arith::ShLIOp::create(builder, loc, both, number(16));
  Value odd = arith::AndIOp::create(builder, loc, both, number(~0xffff));
  return arith::BitcastOp::create(builder, loc,
                                  typeOf(builder.getF32Type(), 32),
                                  joined(builder, loc, {even, odd}));
}

/// To nearest even, in place. A NaN here has its lower half clear, as bf16 and
/// the machine's own do: it stays one.
Value CpuLowering::truncatePairs(Value value) {
  auto number = [&](int32_t n) {
    return splatConstant(builder.getI32IntegerAttr(n), 16);
  };
  auto rounded = [&](int64_t lane) -> Value {
    Value bits = arith::BitcastOp::create(
        builder, loc, VectorType::get({16}, builder.getI32Type()),
        register16(builder, loc, value, lane));
    Value upper = arith::ShRUIOp::create(builder, loc, bits, number(16));
    Value bias = arith::AddIOp::create(
        builder, loc, arith::AndIOp::create(builder, loc, upper, number(1)),
        number(0x7fff));
    return arith::AddIOp::create(builder, loc, bits, bias);
  };
  Value even = arith::ShRUIOp::create(builder, loc, rounded(0), number(16));
  Value odd = arith::AndIOp::create(builder, loc, rounded(16), number(~0xffff));
  Value both = vector::BitCastOp::create(
      builder, loc, VectorType::get({32}, builder.getI16Type()),
      arith::OrIOp::create(builder, loc, even, odd));
  return arith::BitcastOp::create(builder, loc,
                                  typeOf(builder.getBF16Type(), 32), both);
}
