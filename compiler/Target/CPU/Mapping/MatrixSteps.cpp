//===- MatrixSteps.cpp - The nests around a matrix step -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/Mapping/MatrixSteps.h"

#include "compiler/Tile/IR/CpuBuffer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

tile::MmaOp tessera::cpu::stepIn(tile::NestOp nest) {
  auto steps = nest.getBody().front().getOps<tile::MmaOp>();
  return steps.empty() ? tile::MmaOp() : *steps.begin();
}

tile::NestOp tessera::cpu::nestAround(Operation *op) {
  auto nest = op->getParentOfType<tile::NestOp>();
  while (nest)
    if (auto outer = nest->getParentOfType<tile::NestOp>())
      nest = outer;
    else
      break;
  return nest;
}

bool tessera::cpu::isAmx(tile::NestOp step) {
  return step.getUnit() == tile::MatrixUnit::Amx;
}

bool tessera::cpu::isThin(tile::NestOp step) {
  std::optional<ArrayRef<int64_t>> registers = step.getRegisterTile();
  auto rows = cast<tile::RangeType>(step.getAxes()[0].getType());
  auto columns = cast<tile::RangeType>(step.getAxes()[1].getType());
  return registers && rows.getSize() <= 2 * (*registers)[0] &&
         columns.getSize() > (*registers)[1] * (*registers)[2];
}

/// Are neighbours along k, axis 1 of a left operand, neighbours in memory?
static bool isContiguousAlongK(Value tile) {
  unsigned axis = 1;
  while (auto transpose = tile.getDefiningOp<tile::TransposeOp>()) {
    axis = transpose.getPermutation()[axis];
    tile = transpose.getInput();
  }
  if (auto load = tile.getDefiningOp<tile::LocalLoadOp>())
    return axis == 1 ||
           tile::CpuBuffer(load.getBuffer().getType()).stride(0) == 1;
  auto load = tile.getDefiningOp<tile::LoadOp>();
  if (!load)
    return false;
  SmallVector<int64_t> strides, ofRanges;
  int64_t offset;
  (void)load.getView().getType().getStridesAndOffset(strides, offset);
  for (auto [stride, index] : llvm::zip_equal(strides, load.getIndices()))
    if (isa<tile::RangeType>(index.getType()))
      ofRanges.push_back(stride);
  return axis < ofRanges.size() && ofRanges[axis] == 1;
}

bool tessera::cpu::mayPairK(tile::NestOp step) {
  tile::MmaOp mma = stepIn(step);
  return step.getAxes()[1].getDefiningOp<tile::ProgramOp>() &&
         getElementTypeOrSelf(mma.getAcc().getType()).isF32() &&
         (*step.getRegisterTile())[2] == 16 && isContiguousAlongK(mma.getLhs());
}

//===----------------------------------------------------------------------===//
// What stands in a step
//===----------------------------------------------------------------------===//

TypedValue<tile::BufferType> tessera::cpu::sumOf(tile::NestOp step) {
  for (Operation *user : stepIn(step).getResult().getUsers())
    if (auto store = dyn_cast<tile::LocalStoreOp>(user))
      return store.getBuffer();
  return {};
}

Value tessera::cpu::startsWhere(tile::NestOp step, bool &always) {
  Value sum = stepIn(step).getAcc();
  always = bool(sum.getDefiningOp<tile::FillOp>());
  auto choice = sum.getDefiningOp<arith::SelectOp>();
  return choice ? choice.getCondition() : Value();
}

scf::IfOp tessera::cpu::branchOf(tile::NestOp step) {
  auto branches = step.getBody().front().getOps<scf::IfOp>();
  return branches.empty() ? scf::IfOp() : *branches.begin();
}

tile::StoreOp tessera::cpu::directStoreOf(tile::NestOp step) {
  for (Operation *user : stepIn(step).getResult().getUsers())
    if (auto store = dyn_cast<tile::StoreOp>(user))
      return store;
  return {};
}

tile::NestOp tessera::cpu::epilogueOf(tile::NestOp step) {
  scf::IfOp branch = branchOf(step);
  if (!branch)
    return {};
  auto nests = branch.getThenRegion().front().getOps<tile::NestOp>();
  return nests.empty() ? tile::NestOp() : *nests.begin();
}

//===----------------------------------------------------------------------===//
// What stands around it
//===----------------------------------------------------------------------===//

bool tessera::cpu::isZero(Value tile) {
  auto fill = tile.getDefiningOp<tile::FillOp>();
  return fill && (matchPattern(fill.getValue(), m_PosZeroFloat()) ||
                  matchPattern(fill.getValue(), m_Zero()));
}

bool tessera::cpu::hasRows(Value view, OperandRange indices) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return !tile::CpuPacking::of(view) &&
         succeeded(cast<MemRefType>(view.getType())
                       .getStridesAndOffset(strides, offset)) &&
         !strides.empty() && strides.back() == 1 &&
         isa<tile::RangeType>(indices.back().getType());
}

Value tessera::cpu::clearedBy(tile::NestOp nest) {
  Value buffer;
  for (Operation &op : nest.getBody().front().without_terminator()) {
    if (isa<tile::FillOp>(op))
      continue;
    auto store = dyn_cast<tile::LocalStoreOp>(op);
    if (!store || store.getSlot() || buffer)
      return {};
    if (!isZero(store.getValue()))
      return {};
    buffer = store.getBuffer();
  }
  return buffer;
}

tile::NestOp tessera::cpu::summedBefore(tile::NestOp nest, Value buffer) {
  tile::NestOp step;
  for (Operation *user : buffer.getUsers()) {
    tile::NestOp owner = nestAround(user);
    if (owner == nest || (owner && clearedBy(owner)))
      continue;
    if (!owner || (step && owner != step) || !stepIn(owner))
      return {};
    step = owner;
  }
  auto loop = step ? dyn_cast<tile::ForOp>(step->getParentOp()) : tile::ForOp();
  if (!loop || loop->getBlock() != nest->getBlock() ||
      !loop->isBeforeInBlock(nest) || isThin(step) || branchOf(step) ||
      step.getAxes()[0] != nest.getAxes()[0] ||
      step.getAxes()[1] != nest.getAxes()[1])
    return {};
  return step;
}

bool tessera::cpu::isSumOfAmx(Value tile) {
  auto load = tile.getDefiningOp<tile::LocalLoadOp>();
  if (!load)
    return false;
  return llvm::all_of(load.getBuffer().getUsers(), [](Operation *user) {
    tile::NestOp nest = nestAround(user);
    return !isa<tile::LocalStoreOp>(user) ||
           (nest && (clearedBy(nest) || (stepIn(nest) && isAmx(nest))));
  });
}

bool tessera::cpu::isOnlyWritten(tile::StoreOp store) {
  return llvm::all_of(store.getView().getUsers(), [&](Operation *user) {
    return user == store || isa<tile::DimOp, tile::StrideOp>(user);
  });
}

tile::NestOp tessera::cpu::copiedStep(tile::NestOp nest) {
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
  if (ranges != llvm::to_vector(nest.getAxes()) || !isOnlyWritten(store))
    return {};
  tile::NestOp step = summedBefore(nest, load.getBuffer());
  // AMX stores whole tiles, and not past the caches.
  if (step && isAmx(step) && isStreaming(store))
    return {};
  return step;
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

Value IndexBuilder::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value IndexBuilder::truth() {
  return arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
}

Value IndexBuilder::start(Value range) {
  return tile::RangeStartOp::create(builder, loc, builder.getIndexType(),
                                    range);
}

Value IndexBuilder::length(Value range) {
  Value stop =
      tile::RangeStopOp::create(builder, loc, builder.getIndexType(), range);
  return arith::SubIOp::create(builder, loc, stop, start(range));
}

Value IndexBuilder::compare(arith::CmpIPredicate predicate, Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, predicate, a, b);
}

Value IndexBuilder::invert(Value condition) {
  return arith::XOrIOp::create(builder, loc, condition, truth());
}

Value IndexBuilder::isMultiple(Value value, int64_t unit) {
  Value rest = arith::AndIOp::create(builder, loc, value, constant(unit - 1));
  return compare(arith::CmpIPredicate::eq, rest, constant(0));
}

Value tessera::cpu::isLastTurn(IndexBuilder &at, tile::ForOp loop) {
  Value next =
      arith::AddIOp::create(at.builder, at.loc, at.start(loop.getRange()),
                            at.constant(loop.getSize()));
  return at.compare(arith::CmpIPredicate::sge, next, loop.getStop());
}
