//===- PlanVersions.cpp - Which version of a kernel a call takes ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes of a call and the strides of its operands say which, so the plan
// asks, and launches the first version that is for them:
//
//   if $M <= 4 ...      @f_thin4      B is read once, along its rows
//   if $N == 16 ...     @f_narrow16   A is read once, along its rows
//   else                @f
//
// Which axis has stride 1 is known here: a version for another layout is not
// written at all.
//
//===----------------------------------------------------------------------===//

#include "compiler/ScheduleToTile/PlanWriterImpl.h"
#include "compiler/Support/Architectures/X86.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;
using plan::IntegerBuilder;
using schedule::RightLayout;
using schedule::tensorType;

/// The right operand of the fused product if it lies in memory.
static BlockArgument rightOperand(schedule::FuseOp fuse) {
  auto gemms = fuse.getBody().getOps<graph::GemmOp>();
  return gemms.empty() ? BlockArgument()
                       : dyn_cast<BlockArgument>((*gemms.begin()).getRhs());
}

/// `size` within `bounds`, where 0 is any.
static void addBounds(IntegerBuilder &make, Value size,
                      ArrayRef<int64_t> bounds, SmallVectorImpl<Value> &all) {
  int64_t least = bounds[0], most = bounds[1];
  if (least)
    all.push_back(least == most ? make.eq(size, least) : make.ge(size, least));
  if (most && least != most)
    all.push_back(make.le(size, most));
}

Value PlanWriter::depthOf(schedule::FuseOp fuse) {
  for (Operation &op : fuse.getBody().front()) {
    if (auto gemm = dyn_cast<graph::GemmOp>(op))
      return insideSize(fuse, gemm.getLhs(), tensorType(gemm).getRank() - 1);
    if (auto attention = dyn_cast<graph::AttentionOp>(op)) {
      int64_t last = tensorType(attention).getRank() - 1;
      Value q = insideSize(fuse, attention.getQ(), last);
      Value v = insideSize(fuse, attention.getV(), last);
      return q == v ? q : integersAt(fuse.getLoc()).max(q, v);
    }
  }
  // Versions of something else have no depth to ask for.
  return integersAt(fuse.getLoc()).number(0);
}

Value PlanWriter::conditionOf(schedule::WhenAttr when,
                              schedule::FuseOp general) {
  Value result = general.getResult(0);
  int64_t rank = tensorType(result).getRank();
  BlockArgument right = rightOperand(general);
  bool asksDepth = when.getDepth()[0] || when.getDepth()[1];
  if (when.getRight() != RightLayout::Any && !right)
    return {};
  Tensor memory;
  if (right)
    memory = tensors.lookup(general.getInputs()[right.getArgNumber()]);
  bool isColumnMajor = right && memory.unitAxis == rank - 2;
  bool isNear = when.getRight() == RightLayout::NearRowMajor;
  if ((when.getRight() == RightLayout::ColumnMajor && !isColumnMajor) ||
      (when.getRight() == RightLayout::NotColumnMajor && isColumnMajor) ||
      (isNear && (rank != 2 || isColumnMajor)))
    return {};
  IntegerBuilder make = integersAt(general.getLoc());
  SmallVector<Value> all;
  addBounds(make, sizeOf(result, rank - 2), when.getRows(), all);
  addBounds(make, sizeOf(result, rank - 1), when.getColumns(), all);
  if (asksDepth)
    addBounds(make, depthOf(general), when.getDepth(), all);
  if (isNear) {
    all.push_back(make.eq(make.stride(memory.memory, 1), 1));
    all.push_back(make.le(
        make.mul(make.size(memory.memory, 0), make.stride(memory.memory, 0)),
        x86::nearOperand / 4));
  }
  return all.empty() ? make.eq(0, 0) : make.all(all);
}

LogicalResult PlanWriter::writeVersion(schedule::VersionsOp op,
                                       Region &region) {
  Block &block = region.front();
  Value yielded = block.getTerminator()->getOperand(0);
  // A copy first: what operator[] gives does not outlive an insertion.
  Tensor place = tensors.lookup(op.getResult());
  tensors[yielded] = place;
  placed.insert(yielded);
  return writeBlock(block);
}

LogicalResult PlanWriter::write(schedule::VersionsOp op) {
  schedule::FuseOp general = op.getGeneral();
  allocate(op.getResult());
  checkHead(general);
  // What all versions ask for is computed before the first of them.
  for (Value input : general.getInputs())
    if (schedule::isScalar(input))
      (void)integer(input);
  OpBuilder::InsertionGuard guard(at);
  Knowledge before = remember();
  for (auto [when, region] : llvm::zip_first(
           op.getWhen().getAsRange<schedule::WhenAttr>(), op.getVersions()))
    if (Value condition = conditionOf(when, general))
      if (failed(writeVariant(condition, op.getLoc(),
                              [&] { return writeVersion(op, region); })))
        return failure();
  LogicalResult done = writeVersion(op, op.getVersions().back());
  forget(std::move(before));
  return done;
}
