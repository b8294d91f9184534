// mbarrier operations that other instructions perform.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/Warp.h"

namespace tessera::sim {
/// One arrival at the object; `addPending` for cp.async without .noinc.
void mbarrierArriveOne(Warp &w, const Inst &inst, unsigned lane,
                       uint64_t address, bool addPending);
} // namespace tessera::sim
