/* What the simulator's libcuda.so.1 has beyond CUDA's driver API: a GPU of each
 * architecture, and sessions that report what launches did.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef TESSERA_SIM_DRIVER_H
#define TESSERA_SIM_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TESSERA_SIM_DRIVER_API __attribute__((visibility("default")))

/* The ordinal of the simulated GPU of this architecture (80, 120), made if it
 * is not there yet; -1 if there are too many or no such architecture is known,
 * see tessera_sim_message. */
TESSERA_SIM_DRIVER_API int tessera_sim_device_of(unsigned arch);

typedef struct {
  size_t struct_size;
  uint32_t check; /* races, uninitialised reads, ... */
  uint32_t count; /* instruction and memory counters */
  uint32_t adversarial;
  uint32_t threads; /* 0: all */
  uint32_t ieee;    /* tensor cores add in f64 and round once */
  uint32_t ring;    /* floats are elements of an integer ring */
  uint64_t seed;
  uint64_t max_instructions; /* warp instructions per block; 0: the default */
  double max_seconds;        /* of a launch; 0: the default */
  uint32_t elect_by_seed;    /* elect.sync: any lane, not the lowest */
} tessera_sim_session_options;

/* From here on the launches of this thread have these options and are reported;
 * host arrays can be exposed to them; nothing is printed on standard error; and
 * a fault ends with the session instead of the process. 0, or non-zero if this
 * thread has a session already. */
TESSERA_SIM_DRIVER_API int
tessera_sim_session_begin(const tessera_sim_session_options *);
/* [{"kernel": name, "result": {...}}, ...] as JSON; free it with release_text.
 * Null without a session. */
TESSERA_SIM_DRIVER_API char *tessera_sim_session_end(void);
TESSERA_SIM_DRIVER_API void tessera_sim_session_release_text(char *);

/* Shows host memory to the launches of this thread's session, exactly as large
 * as it is. Does nothing without a session. */
TESSERA_SIM_DRIVER_API int
tessera_sim_expose_here(uint64_t address, uint64_t size, const char *name);
/* Ends all of that. */
TESSERA_SIM_DRIVER_API void tessera_sim_conceal(void);

/* Why the last call of this thread failed, "" if there is no more to say;
 * valid until the next call of it. */
TESSERA_SIM_DRIVER_API const char *tessera_sim_message(void);

#ifdef __cplusplus
}
#endif
#endif
