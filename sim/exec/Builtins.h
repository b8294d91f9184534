// Functions the driver supplies to kernels: vprintf, __assertfail, malloc.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/Warp.h"

namespace tessera::sim {
CallSite::Builtin findBuiltin(std::string_view name);
void callBuiltin(Warp &w, const Inst &inst, const CallSite &site,
                 uint32_t mask);
} // namespace tessera::sim
