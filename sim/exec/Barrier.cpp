// bar, barrier and bar.warp.sync; Block.cpp does the waiting.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/BarrierFlags.h"
#include "sim/exec/Decode.h"

namespace tessera::sim {

using ptx::Type;

void decodeBarrier(Decoder &d, Inst &inst) {
  inst.opClass = OpClass::Barrier;
  if (d.has("warp")) {
    inst.flow = Flow::WarpSync;
    inst.target = 2;
    inst.ops[8] = d.src(d.operand(0), Type::U32);
    return;
  }
  if (d.has("cluster"))
    return decodeClusterBarrier(d, inst);
  inst.flow = Flow::BlockBarrier;
  // bar is barrier.aligned.
  inst.flags = d.source->base == "bar" || d.has("aligned") ? barrierAligned : 0;
  if (d.has("arrive")) {
    if (d.operandCount() != 2)
      d.fail("needs a thread count");
    inst.flags |= barrierArriveOnly;
    inst.ops[0] = d.src(d.operand(0), Type::U32);
    inst.ops[1] = d.src(d.operand(1), Type::U32);
    return;
  }
  if (d.has("red")) {
    size_t n = d.operandCount();
    if (n < 3)
      d.fail("needs a destination, a barrier and a predicate");
    if (d.has("popc")) {
      inst.ops[2] = d.dst(d.operand(0), 32);
    } else {
      inst.ops[2] = d.predDst(d.operand(0));
      inst.flags |= d.has("and") ? barrierAnd : barrierOr;
    }
    inst.ops[0] = d.src(d.operand(1), Type::U32);
    if (n == 4)
      inst.ops[1] = d.src(d.operand(2), Type::U32);
    inst.ops[3] = d.pred(d.operand(n - 1));
    return;
  }
  inst.ops[0] = d.src(d.operand(0), Type::U32);
  if (d.operandCount() > 1)
    inst.ops[1] = d.src(d.operand(1), Type::U32);
}

} // namespace tessera::sim
