// What ran when on which thread, for who asked for it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_RUNTIME_TRACE_H
#define TESSERA_RUNTIME_TRACE_H

#include "tessera-c/profile.h"
#include <atomic>
#include <chrono>

namespace tessera::runtime {

extern std::atomic<tsr_trace_fn> traceFunction;

/// Whether somebody listens: one load per launch if nobody does.
inline bool isTracing() {
  return traceFunction.load(std::memory_order_relaxed) != nullptr;
}

inline uint64_t traceClock() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

/// Fills in the thread and reports.
void reportTrace(tsr_trace_event &event);

} // namespace tessera::runtime

#endif
