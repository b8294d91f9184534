// Turning the addresses of a warp's memory instruction into host pointers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/Block.h"

namespace tessera::sim {

enum class AccessKind : uint8_t { Read, Write, Atomic };

/// Per-lane addresses and pointers of one access. `address` is relative to
/// its space (an offset for shared, local and parameters); shared memory is
/// that of `owner`.
struct Access {
  uint64_t address[32];
  uint8_t *pointer[32];
  ptx::Space space[32];
  Block *owner[32];
};

/// Computes addresses (register + offset) of the lanes in `mask`.
void computeAddresses(Warp &w, const Inst &i, uint32_t mask, Ref base,
                      uint64_t *address);
/// Fills `access` for `bytes` bytes per lane; throws Fault for an address
/// outside of all memory or not aligned to `align`. Reports the access to
/// checker and counters; with `check` false the caller tells the checker.
void translate(Warp &w, const Inst &i, uint32_t mask, ptx::Space space,
               unsigned bytes, unsigned align, AccessKind kind, Access &access,
               bool check = true);
/// Only bounds and pointer for one address.
uint8_t *globalPointer(Warp &w, uint64_t address, unsigned bytes, bool write,
                       unsigned lane);
uint8_t *sharedPointer(Warp &w, uint64_t address, unsigned bytes,
                       unsigned lane);
/// The same for addresses that may be generic. With `reachesCluster` they may
/// lie in another block of the cluster, which must not have exited.
SharedPlace sharedPlace(Warp &w, uint64_t address, unsigned bytes,
                        unsigned lane, bool reachesCluster);
/// "4 bytes past the end of 's' of 64 bytes", for reports.
std::string describeShared(const Block &block, uint64_t address);
std::string threadName(const Warp &w, unsigned lane);
std::string threadName(const LaunchOptions &options, uint64_t block,
                       uint32_t thread);

} // namespace tessera::sim
