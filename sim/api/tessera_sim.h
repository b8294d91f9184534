/* The C interface of the simulator, for Python and other languages.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef TESSERA_SIM_H
#define TESSERA_SIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TESSERA_SIM_API __attribute__((visibility("default")))

typedef struct tessera_sim_device tessera_sim_device;
typedef struct tessera_sim_module tessera_sim_module;

typedef struct {
  uint32_t grid[3], block[3];
  uint32_t cluster[3]; /* zeros: as the kernel says, mostly 1x1x1 */
  uint32_t dynamic_shared;
  uint32_t arch;  /* 80 */
  uint32_t check; /* races, uninitialised reads, ... */
  uint32_t count; /* instruction and memory counters */
  uint32_t adversarial;
  uint32_t cooperative;
  uint32_t threads; /* 0: all */
  uint32_t ieee;    /* tensor cores add in f64 and round once */
  uint64_t seed;
  uint64_t max_instructions; /* warp instructions per block; 0: the default */
  uint32_t registers;        /* per thread, for the occupancy; 0: not known */
  uint32_t ring;             /* floats are elements of an integer ring */
  double max_seconds;        /* of the launch; 0: the default */
  uint32_t elect_by_seed;    /* elect.sync: any lane, not the lowest */
  uint32_t programmatic;     /* it may overlap with the launch before */
} tessera_sim_launch_options;

TESSERA_SIM_API tessera_sim_device *tessera_sim_create(void);
TESSERA_SIM_API void tessera_sim_destroy(tessera_sim_device *);
/* The device that libcuda.so.1 of this process uses. */
TESSERA_SIM_API tessera_sim_device *tessera_sim_shared_device(void);

TESSERA_SIM_API uint64_t tessera_sim_allocate(tessera_sim_device *,
                                              uint64_t size, const char *name);
TESSERA_SIM_API int tessera_sim_free(tessera_sim_device *, uint64_t address);
TESSERA_SIM_API void tessera_sim_expose(tessera_sim_device *, uint64_t address,
                                        uint64_t size, const char *name);
TESSERA_SIM_API void tessera_sim_unexpose(tessera_sim_device *,
                                          uint64_t address);
/* Which bytes of exposed or allocated memory count as written, one byte each
 * (0: a kernel that reads it is reported). Zero if there is no memory of that
 * place and size. */
TESSERA_SIM_API int tessera_sim_set_written(tessera_sim_device *,
                                            uint64_t address,
                                            const uint8_t *written,
                                            uint64_t size);
TESSERA_SIM_API int tessera_sim_get_written(tessera_sim_device *,
                                            uint64_t address, uint8_t *written,
                                            uint64_t size);
/* Called for an address nobody knows; may expose it and return non-zero. */
TESSERA_SIM_API void tessera_sim_set_resolver(tessera_sim_device *,
                                              int (*resolver)(uint64_t));
/* Receives what kernels print; null: standard output. */
TESSERA_SIM_API void tessera_sim_set_print(tessera_sim_device *,
                                           void (*print)(const char *));

/* Null on failure; then `error` holds "line:column: message". */
TESSERA_SIM_API tessera_sim_module *tessera_sim_load(tessera_sim_device *,
                                                     const char *const *texts,
                                                     size_t count, char *error,
                                                     size_t error_size);
TESSERA_SIM_API void tessera_sim_unload(tessera_sim_module *);
/* Names of the kernels, separated by newlines; free with release_text. */
TESSERA_SIM_API char *tessera_sim_kernels(tessera_sim_module *);
/* Number of parameters, -1 if the kernel is unknown; offsets and sizes are
 * filled up to `capacity`. */
TESSERA_SIM_API int tessera_sim_parameters(tessera_sim_module *,
                                           const char *kernel,
                                           uint32_t *offsets, uint32_t *sizes,
                                           int capacity);
/* Address and size of a module variable, 0 if unknown. */
TESSERA_SIM_API uint64_t tessera_sim_variable(tessera_sim_module *,
                                              const char *name, uint64_t *size);

/* Runs a kernel to its end. Returns a JSON text (see docs/simulator.md). */
TESSERA_SIM_API char *tessera_sim_launch(tessera_sim_module *,
                                         const char *kernel,
                                         const tessera_sim_launch_options *,
                                         const void *params,
                                         size_t params_size);
TESSERA_SIM_API void tessera_sim_release_text(char *);
/* cuTensorMapEncodeTiled: fills the 128 bytes at `map`. Null, or a text that
 * says what is wrong; free with release_text. */
TESSERA_SIM_API char *
tessera_sim_encode_tiled(void *map, unsigned type, unsigned rank, uint64_t base,
                         const uint64_t *dims, const uint64_t *strides,
                         const uint32_t *box, const uint32_t *steps,
                         unsigned interleave, unsigned swizzle, unsigned fill);
/* cuTensorMapEncodeIm2col, the same. */
TESSERA_SIM_API char *tessera_sim_encode_im2col(
    void *map, unsigned type, unsigned rank, uint64_t base,
    const uint64_t *dims, const uint64_t *strides, const int *lower,
    const int *upper, uint32_t channels, uint32_t pixels, const uint32_t *steps,
    unsigned swizzle, unsigned fill);
/* The architectures and what each has, as JSON. */
TESSERA_SIM_API char *tessera_sim_architectures(void);
/* The support table as Markdown. */
TESSERA_SIM_API char *tessera_sim_support_table(void);

#ifdef __cplusplus
}
#endif
#endif
