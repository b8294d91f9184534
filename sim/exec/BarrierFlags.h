// Bits of Inst::flags for bar and barrier.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace tessera::sim {
constexpr uint8_t barrierAligned = 1;
constexpr uint8_t barrierArriveOnly = 2;
constexpr uint8_t barrierAnd = 4;
constexpr uint8_t barrierOr = 8;
constexpr uint8_t barrierNegated = 16;
} // namespace tessera::sim
