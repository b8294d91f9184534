/* C interface of the Tessera runtime: what this machine's cores and memory
 * can do, measured.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *   tsr_roof_sample sample = {sizeof sample};
 *   tsr_status st = tsr_roof_measure(TSR_ROOF_FMA_F32_AVX512, 1, 0.05,
 *                                    &sample);
 *   if (!st) printf("%.0f GFLOP/s\n", sample.best * 1e-9);
 */
#ifndef TESSERA_C_ROOFLINE_H
#define TESSERA_C_ROOFLINE_H

#include "tessera-c/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Register peaks count operations (a multiply-add is two), with random data:
 * matrix units are slower on it than on zeros. Reads count bytes read, copies
 * bytes read plus bytes written. */
enum {
  TSR_ROOF_FMA_F32_AVX2 = 0,
  TSR_ROOF_FMA_F32_AVX512 = 1,
  TSR_ROOF_FMA_F16_AVX512 = 2,
  TSR_ROOF_AMX_BF16 = 3,
  TSR_ROOF_AMX_I8 = 4,
  TSR_ROOF_READ_L1 = 5,
  TSR_ROOF_READ_L2 = 6,
  TSR_ROOF_READ_L3 = 7,
  TSR_ROOF_READ_DRAM = 8,
  TSR_ROOF_COPY = 9,         /* 64 MiB into mapped memory, plain stores */
  TSR_ROOF_COPY_STREAM = 10, /* the same, non-temporal stores */
  TSR_NUM_ROOFS = 11
};

/* "fma_f32_avx512", or NULL for a number that is no roof. */
TSR_API const char *tsr_roof_name(int32_t roof);
/* "flop/s" or "byte/s", or NULL. */
TSR_API const char *tsr_roof_unit(int32_t roof);

typedef struct tsr_roof_sample {
  size_t struct_size; /* set by the caller */
  double best;        /* per second, all threads together */
  double median;
  uint64_t bytes; /* working set of one thread; 0 for registers */
  int32_t threads;
  int32_t runs;
} tsr_roof_sample;

/* Measures for about `seconds`, at least three runs. `threads` are those that
 * kernels use (tsr_parallel_for), at most tsr_get_num_threads(). Code:
 * TSR_UNSUPPORTED if this machine has not the instructions, or if the threads
 * could not be had at the same time. */
TSR_API tsr_status tsr_roof_measure(int32_t roof, int32_t threads,
                                    double seconds, tsr_roof_sample *sample);

/* One look at the state of the matrix units, in operations per second of the
 * slowest among the threads that kernels use: bf16 products fed from the L1
 * cache, under a millisecond. On shared hosts AMX is at times three times
 * slower than its peak, on one core or on all; a measurement that uses it has
 * a probe before and after it. TSR_UNSUPPORTED without AMX. */
TSR_API tsr_status tsr_amx_probe(double *rate);

#ifdef __cplusplus
}
#endif

#endif
