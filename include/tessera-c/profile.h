/* C interface of the Tessera runtime: what ran when on which thread, and the
 * processor's counters.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * `tessera.profile` in Python and tessera/profiler.h in C++ are made of it.
 */
#ifndef TESSERA_C_PROFILE_H
#define TESSERA_C_PROFILE_H

#include "tessera-c/runtime.h"
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Trace ----------------------------------------------------------------
 */

enum {
  TSR_TRACE_LAUNCH = 0, /* a kernel, from its launch to the last thread's end */
  TSR_TRACE_RANGE = 1   /* programs begin to end of it, on one thread */
};

typedef struct tsr_trace_event {
  size_t struct_size;
  int32_t kind;
  int32_t thread; /* a small number per thread, in the order of their first */
  const char *kernel; /* lives as long as the plan */
  int64_t begin, end; /* programs */
  uint64_t start_ns;  /* of the monotonic clock */
  uint64_t end_ns;
  int32_t team;  /* launches: threads that were asked for */
  int64_t bytes; /* launches: of all operands, each counted once */
} tsr_trace_event;

/* Called on the thread that has just run it, maybe on several at once. */
typedef void (*tsr_trace_fn)(void *data, const tsr_trace_event *event);

/* Every launch on the CPU reports from now on; NULL ends it. Not while
 * something runs. */
TSR_API void tsr_set_trace(tsr_trace_fn function, void *data);

/* ---- Counters -------------------------------------------------------------
 */

enum {
  TSR_COUNTER_CYCLES = 0,
  TSR_COUNTER_INSTRUCTIONS = 1,
  TSR_COUNTER_CACHE_REFERENCES = 2,
  TSR_COUNTER_CACHE_MISSES = 3,
  TSR_COUNTER_BRANCH_MISSES = 4,
  TSR_COUNTER_TLB_MISSES = 5, /* of loads */
  TSR_COUNTER_TASK_CLOCK = 6, /* nanoseconds of processor time */
  TSR_COUNTER_PAGE_FAULTS = 7,
  TSR_COUNTER_CONTEXT_SWITCHES = 8,
  TSR_NUM_COUNTERS = 9
};

/* "cycles", or NULL for a number that is no counter. */
TSR_API const char *tsr_counter_name(int32_t counter);

typedef struct tsr_counters tsr_counters;

/* Counts on all threads that the process has now, from now on; what the
 * machine or its administrator does not allow stays uncounted. NULL: no
 * memory. */
TSR_API tsr_counters *tsr_counters_open(void);
/* The count since tsr_counters_open, scaled where counters took turns; false
 * if it is not counted. */
TSR_API bool tsr_counters_read(const tsr_counters *counters, int32_t counter,
                               double *value);
/* Why it is not counted; "" if it is. */
TSR_API const char *tsr_counters_missing(const tsr_counters *counters,
                                         int32_t counter);
TSR_API void tsr_counters_close(tsr_counters *counters);

#ifdef __cplusplus
}
#endif

#endif
