//===- LowerAtomics.cpp - Combining into memory ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of the threads that hold the same element, one combines it
// (`Machine::atomic`).
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/SIMT/Lowering/GlobalAccess.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::simt;
using tile::ReduceKind;

void KernelLowering::lowerAtomic(tile::AtomicOp op) {
  if (!isa<RankedTensorType>(op.getValue().getType())) {
    Access to = access(op.getView(), op.getIndices(), nullptr);
    Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        tid, i32(0));
    machine.atomic(*this, op.getKind(), scalars.lookup(op.getValue()), to.base,
                   both(first, insideAt(to, {})));
    return;
  }
  ThreadLayout layout(op.getValue());
  Access to = access(op.getView(), op.getIndices(), &layout, op.getIndexAxes());
  to.inside = both(to.inside, firstHolder(layout));
  for (int64_t r = 0; r < layout.registers(); ++r) {
    Value inside = insideAt(to, layout.offset(r));
    if (op.getMask())
      inside = both(inside, tiles[op.getMask()][r]);
    machine.atomic(*this, op.getKind(), tiles[op.getValue()][r],
                   addressAt(to, layout.offset(r)), inside);
  }
}
