// What setmaxnreg moves between the warps of a block.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace tessera::sim {

struct Block;
struct Inst;
struct Launch;

struct RegisterPool {
  bool isKnown = false; // how many registers a thread has at the launch
  unsigned free = 0;    // registers that nobody has
  std::vector<unsigned> perThread; // by warp
  std::vector<unsigned> waiting;   // warps at setmaxnreg.inc

  bool waits(unsigned warp) const {
    return std::find(waiting.begin(), waiting.end(), warp) != waiting.end();
  }
};

/// Registers per thread when a block starts; 0: not known.
unsigned registersAtLaunch(const Launch &launch);
/// What a warp that waits at setmaxnreg.inc waits for.
std::string describeRegisterWait(const Block &block, unsigned warp,
                                 const Inst &inst);

} // namespace tessera::sim
