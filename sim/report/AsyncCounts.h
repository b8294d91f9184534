// Counts of what runs beside the threads: copies by TMA, waits at mbarriers,
// products of wgmma and tcgen05, tensor memory, and how deep pipelines are.
//
// A copy is in flight from its issue until somebody has waited for it, whatever
// the simulator decided about its end: the depth is what the kernel asks for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

namespace tessera::sim::report {

/// Bulk copies of one kind. Bytes are those of shared memory, so the parts of a
/// tensor's box that lie outside of the tensor count.
struct TmaCount {
  uint64_t requests = 0;
  uint64_t bytes = 0;     // read, once for all blocks of a multicast
  uint64_t delivered = 0; // written, in all blocks
};

struct TmaKind {
  std::string operation; // load, store, reduction, copy, prefetch
  std::string from, to;  // global, shared
  bool isTensor = false, isMulticast = false;
  auto key() const {
    return std::tie(operation, from, to, isTensor, isMulticast);
  }
  bool operator<(const TmaKind &other) const { return key() < other.key(); }
};

/// The most that one block had in flight at once.
struct PipelineDepth {
  uint64_t copies = 0, bytes = 0;
  /// Phases of mbarriers with copies that nobody has seen complete: the slots
  /// of a ring that are ahead of its consumers.
  uint64_t phases = 0;
  uint64_t groups = 0; // of bulk copies from the block
};

struct AsyncCounts {
  std::map<TmaKind, TmaCount> tma;
  uint64_t asyncStores = 0, asyncStoreBytes = 0; // st.async and red.async
  /// Groups of lanes that saw a phase complete, and those of them that had
  /// come before its end.
  uint64_t waits = 0, hadToWait = 0;
  /// "wgmma.m64n128k16.f32.f16.f16", by warp group; "tcgen05.mma ...", by
  /// thread.
  std::map<std::string, uint64_t> tensorInstructions;
  uint64_t tensorColumns = 0; // of one block at once
  PipelineDepth depth;

  void add(const AsyncCounts &other);
  /// Bytes that were delivered without being read again.
  uint64_t savedByMulticast() const;
};

/// One fact per line; nothing about what the kernel does not use.
std::string toText(const AsyncCounts &counts);
/// Members of a JSON object, with a comma at the end.
std::string toJson(const AsyncCounts &counts);

} // namespace tessera::sim::report
