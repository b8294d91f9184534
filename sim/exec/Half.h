// Arithmetic on f16, bf16 and their packed pairs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/Decode.h"

namespace tessera::sim {
void decodeHalf(Decoder &, Inst &);
} // namespace tessera::sim
