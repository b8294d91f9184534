/* C interface of the Tessera runtime: GPUs, their memory, streams and events.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The CUDA driver is a library that is looked for when it is first asked for;
 * neither its headers nor a GPU are needed to build a program. The simulator's
 * driver (docs/simulator.md) is another such library.
 *
 *   tsr_device *gpu;
 *   tsr_status st = tsr_cuda_device(NULL, 0, &gpu);
 *   if (!st) st = tsr_device_allocate(gpu, bytes, NULL, &memory);
 *   if (!st) st = tsr_device_copy(gpu, memory, host, bytes, NULL);
 *   call.device = gpu;
 *   if (!st) st = tsr_executable_run(gemm, &call);
 *   if (!st) st = tsr_stream_synchronize(gpu, NULL);
 */
#ifndef TESSERA_C_DEVICE_H
#define TESSERA_C_DEVICE_H

#include "tessera-c/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* GPU `ordinal` of a driver library. NULL: the one $TESSERA_CUDA_DRIVER names,
 * else libcuda.so.1. A device is opened once, is shared by all who ask for it
 * and lives as long as the process. TSR_UNSUPPORTED if there is no driver. */
TSR_API tsr_status tsr_cuda_device(const char *driver, int32_t ordinal,
                                   tsr_device **device);
TSR_API tsr_status tsr_cuda_device_count(const char *driver, int32_t *count);
/* The same for the GPU whose memory `pointer` points to. */
TSR_API tsr_status tsr_cuda_device_of(const char *driver, const void *pointer,
                                      tsr_device **device);

typedef struct tsr_device_info {
  size_t struct_size; /* set by the caller */
  const char *name;   /* texts live as long as the process */
  const char *driver; /* the library */
  int32_t ordinal;
  int32_t major, minor;   /* compute capability */
  int32_t driver_version; /* 12080 is CUDA 12.8 */
  int32_t multiprocessors;
  int32_t shared_per_block; /* that a kernel may ask for, in bytes */
  uint64_t total_memory;
} tsr_device_info;

TSR_API tsr_status tsr_device_get_info(const tsr_device *device,
                                       tsr_device_info *info);

/* ---- Memory ----------------------------------------------------------------
 *
 * From the device's pool. A block that was given back on a stream is handed
 * out again for that stream only, so nobody waits. NULL is the default stream.
 */
TSR_API tsr_status tsr_device_allocate(tsr_device *device, size_t bytes,
                                       void *stream, void **memory);
TSR_API void tsr_device_deallocate(tsr_device *device, void *memory,
                                   void *stream);
/* Between any two of host and GPU; the driver knows which is which. Host memory
 * may be touched again after tsr_stream_synchronize. */
TSR_API tsr_status tsr_device_copy(tsr_device *device, void *to,
                                   const void *from, size_t bytes,
                                   void *stream);
TSR_API tsr_status tsr_device_get_memory_stats(const tsr_device *device,
                                               tsr_memory_stats *stats);
/* Gives all cached blocks back to the driver; waits for the device. */
TSR_API tsr_status tsr_device_release_cached_memory(tsr_device *device);
/* 0: nothing is kept, and blocks are exactly as large as asked for. */
TSR_API void tsr_device_set_memory_cache_limit(tsr_device *device,
                                               uint64_t bytes);

/* ---- Streams and events ------------------------------------------------- */

TSR_API tsr_status tsr_stream_create(tsr_device *device, void **stream);
TSR_API void tsr_stream_destroy(tsr_device *device, void *stream);
TSR_API tsr_status tsr_stream_synchronize(tsr_device *device, void *stream);
/* Later work of the stream waits for the event. */
TSR_API tsr_status tsr_stream_wait(tsr_device *device, void *stream,
                                   void *event);

TSR_API tsr_status tsr_event_create(tsr_device *device, void **event);
TSR_API void tsr_event_destroy(tsr_device *device, void *event);
TSR_API tsr_status tsr_event_record(tsr_device *device, void *event,
                                    void *stream);
TSR_API tsr_status tsr_event_synchronize(tsr_device *device, void *event);
TSR_API tsr_status tsr_event_elapsed(tsr_device *device, void *start, void *end,
                                     float *milliseconds);

/* ---- Executables for GPUs ------------------------------------------------ */

/* Kernels for one architecture: a cubin, or PTX text. */
typedef struct tsr_image {
  const char *arch; /* "sm_80", "sm_120a", "sm_100f" */
  const void *data;
  size_t size;
} tsr_image;

/* A plan whose target is a GPU. The images are copied. Which of them a device
 * takes is decided when it first runs there: a cubin of its architecture, else
 * PTX it can compile; what the driver refuses is passed over. */
TSR_API tsr_status tsr_executable_create_cuda(const tsr_plan *plan,
                                              const tsr_image *images,
                                              size_t num_images,
                                              tsr_executable **executable);
/* Loads the kernels for a device before the first call. */
TSR_API tsr_status tsr_executable_load(const tsr_executable *executable,
                                       tsr_device *device);
/* TSR_OK if one of the images is for this device. */
TSR_API tsr_status tsr_images_fit(const tsr_image *images, size_t num_images,
                                  const tsr_device *device);

#ifdef __cplusplus
}
#endif

#endif
