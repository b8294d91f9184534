//===- ElidePacking.cpp - cpu-elide-packing: operands where they lie ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Support/Architectures/X86.h"
#include "compiler/Target/CPU/Mapping/MatrixSteps.h"
#include "compiler/Target/CPU/Mapping/Passes.h"
#include "compiler/Tile/IR/CpuBuffer.h"
#include "compiler/Tile/IR/IndexBounds.h"

#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Dominance.h"

namespace tessera::cpu {
#define GEN_PASS_DEF_ELIDEPACKINGPASS
#include "compiler/Target/CPU/Mapping/Passes.h.inc"
} // namespace tessera::cpu

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

namespace {
/// A nest that packs a matrix, and the one step that reads what it packed.
class Packing {
public:
  explicit Packing(tile::NestOp nest) : nest(nest) {}

  bool find();
  void elide();

private:
  bool findLoad();
  void elideRows();
  void elidePanels();
  Value isNear(IndexBuilder &at, int64_t width);
  /// What the step reads, where it lies.
  Value loadInStep();
  void runUnless(IndexBuilder &at, Value condition);
  OpOperand &operand() {
    return isLhs ? stepIn(step).getLhsMutable() : stepIn(step).getRhsMutable();
  }

  tile::NestOp nest, step;
  tile::LoadOp load;
  Value buffer;
  bool isLhs = false;
};
} // namespace

/// A nest that copies a matrix from an argument that is only read, its rows
/// contiguous, into a buffer.
bool Packing::findLoad() {
  auto ops = nest.getBody().front().without_terminator();
  if (std::distance(ops.begin(), ops.end()) != 2 || nest.getAxes().size() != 2)
    return false;
  load = dyn_cast<tile::LoadOp>(*ops.begin());
  auto store = dyn_cast<tile::LocalStoreOp>(*std::next(ops.begin()));
  if (!load || !store || store.getValue() != load.getResult() ||
      store.getSlot() || load.getMask() || load.getIndexAxes())
    return false;
  buffer = store.getBuffer();
  auto view = dyn_cast<BlockArgument>(load.getView());
  auto func = nest->getParentOfType<tile::FuncOp>();
  if (!view || view.getOwner() != &func.getBody().front() ||
      func.getArgMode(view.getArgNumber()) != "in" ||
      !hasRows(view, load.getIndices()))
    return false;
  SmallVector<Value> ranges;
  for (auto [axis, index] : llvm::enumerate(load.getIndices())) {
    if (isa<RankedTensorType>(index.getType()))
      return false;
    if (isa<tile::RangeType>(index.getType()))
      ranges.push_back(index);
    else if (!tile::isInside(index, view, int64_t(axis)))
      return false;
  }
  return ranges == llvm::to_vector(nest.getAxes());
}

bool Packing::find() {
  if (!findLoad())
    return false;
  for (Operation *user : buffer.getUsers()) {
    auto read = dyn_cast<tile::LocalLoadOp>(user);
    if (!read)
      continue;
    tile::NestOp owner = nestAround(user);
    tile::MmaOp mma = owner ? stepIn(owner) : tile::MmaOp();
    if (!mma || step || !read->hasOneUse() ||
        (mma.getLhs() != read.getResult() && mma.getRhs() != read.getResult()))
      return false;
    step = owner;
    isLhs = mma.getLhs() == read.getResult();
  }
  if (!step || isAmx(step) != isLhs)
    return false;
  tile::CpuBuffer layout(cast<tile::BufferType>(buffer.getType()));
  return isLhs || llvm::isPowerOf2_64(layout.run(1));
}

Value Packing::loadInStep() {
  OpBuilder builder(stepIn(step));
  return builder.clone(*load)->getResult(0);
}

void Packing::runUnless(IndexBuilder &at, Value condition) {
  auto branch = scf::IfOp::create(at.builder, at.loc, at.invert(condition),
                                  /*withElse=*/false);
  nest->moveBefore(branch.thenBlock(), branch.thenBlock()->begin());
}

/// A left operand of AMX: whole tiles of rows; what is left of k is packed,
/// with zeros behind it.
void Packing::elideRows() {
  OpBuilder builder(nest);
  IndexBuilder at{builder, nest.getLoc()};
  Value rows = nest.getAxes()[0], columns = nest.getAxes()[1];
  Value usable = at.isMultiple(at.length(rows), 16);
  Value length = at.length(columns);
  int64_t group =
      tile::amxStep(cast<RankedTensorType>(load.getType()).getElementType());
  Value rest =
      arith::AndIOp::create(builder, at.loc, length, at.constant(group - 1));
  Value whole = arith::SubIOp::create(builder, at.loc, length, rest);
  Value from =
      arith::SelectOp::create(builder, at.loc, usable, whole, at.constant(0));
  // The step first: it reads all of the columns.
  Value inPlace = loadInStep();
  OpBuilder inStep(stepIn(step));
  operand().set(tile::SpliceOp::create(inStep, at.loc, inPlace.getType(),
                                       inPlace, operand().get(), from));

  Value start = arith::AddIOp::create(builder, at.loc, at.start(columns), from);
  Value stop = tile::RangeStopOp::create(builder, at.loc,
                                         builder.getIndexType(), columns);
  Value left =
      tile::RangeAtOp::create(builder, at.loc, columns.getType(), start, stop);
  nest->replaceUsesOfWith(columns, left);
  load->replaceUsesOfWith(columns, left);
  runUnless(at, at.compare(arith::CmpIPredicate::eq, from, length));
}

/// Whether (i1) a right operand is read well where it lies: its rows do not
/// push each other out of the first-level cache, and all of it is near
/// enough.
Value Packing::isNear(IndexBuilder &at, int64_t width) {
  OpBuilder &builder = at.builder;
  Value rows = at.length(nest.getAxes()[0]),
        columns = at.length(nest.getAxes()[1]);
  // Whole panels, or one of so few columns that the step masks them.
  Value whole = at.isMultiple(columns, width);
  auto both = [&](Value a, Value b) -> Value {
    return arith::AndIOp::create(builder, at.loc, a, b);
  };
  auto either = [&](Value a, Value b) -> Value {
    return arith::OrIOp::create(builder, at.loc, a, b);
  };
  ArrayRef<int64_t> registers = *step.getRegisterTile();
  if (int64_t few = step.getNarrowVectors())
    whole = either(whole, at.compare(arith::CmpIPredicate::slt, columns,
                                     at.constant(few * registers[2] + 1)));
  int64_t axis = -1;
  for (auto [i, index] : llvm::enumerate(load.getIndices()))
    if (index == nest.getAxes()[0])
      axis = int64_t(i);
  int64_t elementBytes = tile::scratchBytesOf(
      cast<MemRefType>(load.getView().getType()).getElementType());
  Value bytes = arith::MulIOp::create(
      builder, at.loc,
      tile::StrideOp::create(builder, at.loc, builder.getIndexType(),
                             load.getView(), builder.getI64IntegerAttr(axis)),
      at.constant(elementBytes));
  Value apart = at.invert(at.isMultiple(bytes, x86::aliasedStride));
  // (The rows may be those of a loop that is still to come.)
  Value range = step.getAxes()[0];
  DominanceInfo dominance;
  if (dominance.properlyDominates(range, nest))
    apart = either(at.compare(arith::CmpIPredicate::slt, at.length(range),
                              at.constant(25)),
                   apart);
  else if (cast<tile::RangeType>(range.getType()).getSize() < 25)
    apart = at.truth();
  Value all = arith::MulIOp::create(builder, at.loc, rows, bytes);
  return both(both(whole, apart),
              at.compare(arith::CmpIPredicate::slt, all,
                         at.constant(x86::nearOperand + 1)));
}

void Packing::elidePanels() {
  Value inPlace = loadInStep();
  if (isThin(step)) { // needs no panels at all
    operand().set(inPlace);
    nest.erase();
    return;
  }
  OpBuilder builder(nest);
  IndexBuilder at{builder, nest.getLoc()};
  tile::CpuBuffer layout(cast<tile::BufferType>(buffer.getType()));
  Value usable = isNear(at, layout.run(1));
  OpBuilder inStep(stepIn(step));
  operand().set(arith::SelectOp::create(inStep, at.loc, usable, inPlace,
                                        operand().get()));
  runUnless(at, usable);
}

void Packing::elide() { isLhs ? elideRows() : elidePanels(); }

namespace {
struct ElidePackingPass
    : tessera::cpu::impl::ElidePackingPassBase<ElidePackingPass> {
  void runOnOperation() override {
    SmallVector<Packing> found;
    getOperation().walk([&](tile::NestOp nest) {
      Packing packing(nest);
      if (packing.find())
        found.push_back(packing);
    });
    for (Packing &packing : found)
      packing.elide();
  }
};
} // namespace
