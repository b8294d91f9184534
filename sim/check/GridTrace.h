// What a grid did to global memory, for the grid that may start before its end
// (programmatic dependent launch).
//
// Grids are executed one after the other, but what the earlier one read and
// wrote is known to a thread of the later one only after griddepcontrol.wait,
// its own or that of a thread it is ordered after.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/check/Checker.h"

namespace tessera::sim::check {

struct GridTrace {
  std::string kernel;
  std::unordered_map<uint64_t, std::unique_ptr<std::vector<ByteState>>> pages;
};

/// The grid before, as an agent of no block.
constexpr uint32_t gridAgent = 9u << 28, noBlock = ~0u;

} // namespace tessera::sim::check
