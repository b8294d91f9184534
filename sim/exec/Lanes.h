// Shapes of lane-wise instructions: apply a function object to every lane.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/Warp.h"

namespace tessera::sim {

template <class D, class A, class F>
void lanes1(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<D>(i.ops[0]);
  const auto *a = w.reg<A>(i.ops[1]);
  forLanes(mask, [&](unsigned l) { d[l] = F()(a[l]); });
}
template <class D, class A, class B, class F>
void lanes2(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<D>(i.ops[0]);
  const auto *a = w.reg<A>(i.ops[1]);
  const auto *b = w.reg<B>(i.ops[2]);
  forLanes(mask, [&](unsigned l) { d[l] = F()(a[l], b[l]); });
}
template <class D, class A, class B, class C, class F>
void lanes3(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<D>(i.ops[0]);
  const auto *a = w.reg<A>(i.ops[1]);
  const auto *b = w.reg<B>(i.ops[2]);
  const auto *c = w.reg<C>(i.ops[3]);
  forLanes(mask, [&](unsigned l) { d[l] = F()(a[l], b[l], c[l]); });
}

} // namespace tessera::sim
