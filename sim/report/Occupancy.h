// How many blocks of a kernel fit one multiprocessor, from its resources.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>

namespace tessera::sim::report {

struct Occupancy {
  unsigned blocks = 0; // per multiprocessor; at most, if registers are unknown
  unsigned warps = 0, maxWarps = 0;
  uint32_t sharedPerBlock = 0; // asked for, static and dynamic
  unsigned registers = 0;      // per thread, 0: not known from PTX
  const char *limit = "";      // what runs out first
};
/// `registers` is what the assembler said, or 0: PTX names none.
Occupancy occupancy(unsigned arch, unsigned threads, uint32_t shared,
                    unsigned registers);
std::string toJson(const Occupancy &o);
/// "at most 4 blocks, 16 of 64 warps (25 %) per multiprocessor, limited by
/// shared memory; registers: not measured: PTX does not say"
std::string describe(const Occupancy &o);

} // namespace tessera::sim::report
