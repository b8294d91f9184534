// What the first cluster of a launch did to its pipelines, in the order in
// which the simulator saw it: copies, arrivals, waits and products, and which
// of them ended the phase that a wait was for. There is no time in it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/Code.h"
#include <map>

namespace tessera::sim::report {

struct TimelineEvent {
  enum Kind : uint8_t {
    Copy,       // to shared memory; signals an mbarrier
    Store,      // of a bulk group, from shared memory
    Arrive,     // at an mbarrier
    Commit,     // tcgen05.commit, arrives when products are done
    Wait,       // a phase of an mbarrier was complete
    Stuck,      // it never was
    Product,    // wgmma, tcgen05.mma
    TensorMove, // tcgen05.ld, st, cp, shift
    GroupWait,  // of wgmma or of bulk groups
    Finding,    // the checker reported something
  };
  Kind kind = Copy;
  uint16_t block = 0, warp = 0; // block: rank in the cluster
  uint32_t line = 0;            // of the PTX
  uint32_t count = 1;           // alike, one after the other
  uint64_t bytes = 0;           // of one
  /// The mbarrier, if there is one: whose, where, and which phase, from 0; -1
  /// is the phase before the first one, which counts as complete.
  int owner = -1;
  uint32_t mbarrier = 0;
  int64_t phase = 0;
  /// Wait: the event that ended the phase, or -1.
  int by = -1;
  uint32_t place = 0; // shared address that a copy fills, or reads
  /// wgmma: the group of a product, from 1, or up to which one a wait waits.
  uint32_t group = 0;
  std::string what; // shape of a product, kind of a finding, ...
};
const char *kindName(TimelineEvent::Kind kind);

struct Timeline {
  /// A page shows fewer; the rest is only counted.
  static constexpr size_t mostEvents = 3000;

  std::vector<TimelineEvent> events;
  uint64_t leftOut = 0;
  /// What signals next, for the phase that it may end.
  int signals = -1;

  /// The number of the event, or -1 if there are too many. Arrivals, products
  /// and moves like the one before are counted there.
  int add(TimelineEvent event);
  void phaseEnded(int owner, uint32_t mbarrier, int64_t phase);
  /// The event that ended a phase, or -1.
  int endOf(int owner, uint32_t mbarrier, int64_t phase) const;

private:
  std::map<std::pair<int, int>, size_t> last; // by block and warp
  std::map<std::tuple<int, uint32_t, int64_t>, int> ends;
};

std::string toJson(const Timeline &timeline, const Program &program);

} // namespace tessera::sim::report
