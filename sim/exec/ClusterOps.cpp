// mapa, getctarank and barrier.cluster.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/check/Checker.h"
#include "sim/check/Semantics.h"
#include "sim/exec/Access.h"
#include "sim/exec/BarrierFlags.h"
#include "sim/exec/Cluster.h"
#include "sim/exec/Decode.h"

namespace tessera::sim {

using ptx::Operand;
using ptx::Type;

namespace {

constexpr uint64_t offsetMask = (1ull << clusterRankShift) - 1;

// ops[0] result, ops[1] address, ops[2] rank
//
// A rank that is not in the cluster gives an address in no block, and only its
// use is refused: compilers move mapa in front of the branch that chooses the
// lanes with a rank.
template <class T> void mapa(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<T>(i.ops[0]);
  const auto *a = w.reg<T>(i.ops[1]);
  const auto *b = w.reg<uint32_t>(i.ops[2]);
  constexpr uint32_t last = 0xff;
  forLanes(mask, [&](unsigned l) {
    T window = sizeof(T) == 8 ? T(uint64_t(a[l]) & windowMask) : T(0);
    d[l] = T((a[l] & offsetMask) | window |
             T(std::min(b[l], last)) << clusterRankShift);
  });
}
template <class T> void rankOf(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<uint32_t>(i.ops[0]);
  const auto *a = w.reg<T>(i.ops[1]);
  forLanes(mask, [&](unsigned l) {
    d[l] = uint32_t((uint64_t(a[l]) & ~windowMask) >> clusterRankShift);
  });
}

} // namespace

void Block::arriveCluster(Warp &w, const Inst &i, uint32_t mask) {
  if (checker)
    checker->clusterArrive(w, i, mask);
  clusterBarrier.waiting[w.index] |= mask;
  clusterBarrier.arrived[w.index] |= mask;
  ++events;
  cluster->completeBarrier();
}

void Block::finishClusterWait(Warp &w, const Inst &i, uint32_t mask) {
  if (checker) {
    if (mask & ~clusterBarrier.waiting[w.index])
      checker->note(w, i, "barrier-misuse",
                    "barrier.cluster.wait without an arrive before it", 0);
    checker->clusterWait(w, i, mask);
  }
  clusterBarrier.waiting[w.index] &= ~mask;
}

void decodeCluster(Decoder &d, Inst &inst) {
  inst.opClass = OpClass::Other;
  bool wide = d.type() == Type::U64;
  Type address = wide ? Type::U64 : Type::U32;
  if (d.source->base == "getctarank") {
    inst.ops[0] = d.dst(d.operand(0), 32);
    inst.ops[1] = d.src(d.operand(1), address);
    inst.fn = wide ? rankOf<uint64_t> : rankOf<uint32_t>;
    return;
  }
  inst.ops[0] = d.dst(d.operand(0), wide ? 64 : 32);
  inst.ops[1] = d.src(d.operand(1), address);
  inst.ops[2] = d.src(d.operand(2), Type::U32);
  inst.fn = wide ? mapa<uint64_t> : mapa<uint32_t>;
}

void decodeClusterBarrier(Decoder &d, Inst &inst) {
  inst.semantics = d.semantics();
  bool isWait = d.has("wait");
  if (isWait == d.has("arrive"))
    d.fail("needs .arrive or .wait");
  if ((inst.semantics & check::orderMask) == check::weak)
    inst.semantics =
        (isWait ? check::acquire : check::release) | check::scopeCluster;
  inst.flags = d.has("aligned") ? barrierAligned : 0;
  inst.flow = isWait ? Flow::ClusterWait : Flow::ClusterArrive;
}

} // namespace tessera::sim
