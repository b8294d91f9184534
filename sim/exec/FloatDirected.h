// f32 and f64 arithmetic with a rounding mode other than to-nearest.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/Code.h"
#include "sim/exec/SmallFloat.h"

namespace tessera::sim {

enum class FloatOp : uint8_t { Add, Sub, Mul, Fma, Div, Rcp, Sqrt };
/// Inst::round holds the mode; flags bit 0 ftz, bit 1 sat. `packed`: f32x2.
ExecFn directedFloat(FloatOp op, bool isDouble, bool packed);

} // namespace tessera::sim
