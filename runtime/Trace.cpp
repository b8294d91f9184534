// What ran when on which thread, for who asked for it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/Trace.h"

namespace tessera::runtime {

std::atomic<tsr_trace_fn> traceFunction{nullptr};
static std::atomic<void *> traceData{nullptr};

static int32_t threadNumber() {
  static std::atomic<int32_t> next{0};
  static thread_local int32_t number =
      next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

void reportTrace(tsr_trace_event &event) {
  tsr_trace_fn function = traceFunction.load(std::memory_order_acquire);
  if (!function)
    return;
  event.struct_size = sizeof event;
  event.thread = threadNumber();
  function(traceData.load(std::memory_order_relaxed), &event);
}

} // namespace tessera::runtime

using namespace tessera::runtime;

void tsr_set_trace(tsr_trace_fn function, void *data) {
  traceData.store(data, std::memory_order_relaxed);
  traceFunction.store(function, std::memory_order_release);
}
