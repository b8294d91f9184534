//===- LoopPrograms.cpp - cpu-loop-programs: the loop over programs -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/Mapping/Passes.h"
#include "compiler/Target/CPU/Mapping/RowStores.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tessera::cpu {
#define GEN_PASS_DEF_LOOPPROGRAMSPASS
#include "compiler/Target/CPU/Mapping/Passes.h.inc"
} // namespace tessera::cpu

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

/// Does every program compute the same, or use the same memory for it?
static bool isSameForAll(Operation &op, const DenseSet<Operation *> &same) {
  if (isa<tile::DimOp, tile::StrideOp, tile::AllocOp>(op))
    return true;
  return isa<arith::ArithDialect>(op.getDialect()) &&
         llvm::all_of(op.getOperands(), [&](Value operand) {
           return isa<BlockArgument>(operand) ||
                  same.contains(operand.getDefiningOp());
         });
}

static void loopOverPrograms(tile::FuncOp func, tile::ProgramOp program) {
  Block &entry = func.getBody().front();
  OpBuilder builder(entry.getTerminator());
  Location loc = program.getLoc();
  DenseSet<Operation *> same;
  SmallVector<Operation *> inside;
  for (Operation &op : entry.without_terminator()) {
    if (isSameForAll(op, same))
      same.insert(&op);
    else
      inside.push_back(&op);
  }
  auto chunk = tile::ChunkOp::create(builder, loc, program.getExtents(),
                                     program.getTiles());
  auto one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto loop =
      scf::ForOp::create(builder, loc, chunk.getBegin(), chunk.getEnd(), one);
  for (Operation *op : inside)
    op->moveBefore(loop.getBody()->getTerminator());
  program.getNumberMutable().assign(loop.getInductionVar());
}

namespace {
struct LoopProgramsPass
    : tessera::cpu::impl::LoopProgramsPassBase<LoopProgramsPass> {
  void runOnOperation() override {
    Block &entry = getOperation().getBody().front();
    auto programs = entry.getOps<tile::ProgramOp>();
    if (!programs.empty() && RowStores::find(entry))
      loopOverPrograms(getOperation(), *programs.begin());
  }
};
} // namespace
