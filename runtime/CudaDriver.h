// A CUDA driver library, loaded when it is first asked for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only what is used is declared, with plain types, so that no CUDA header is
// needed. The simulator's driver exports the same names and, besides, the
// functions at the end (sim/driver/tessera_sim_driver.h).
#ifndef TESSERA_RUNTIME_CUDADRIVER_H
#define TESSERA_RUNTIME_CUDADRIVER_H

#include "tessera-c/runtime.h"
#include <cstddef>
#include <cstdint>
#include <string>

namespace tessera::runtime {

using CudaResult = int;
using CudaPointer = unsigned long long;

constexpr CudaResult cudaOutOfMemory = 2, cudaNotReady = 600;

// name of the member, exported name, parameters
#define TESSERA_CUDA_FUNCTIONS(F)                                              \
  F(init, cuInit, (unsigned))                                                  \
  F(driverGetVersion, cuDriverGetVersion, (int *))                             \
  F(getErrorName, cuGetErrorName, (CudaResult, const char **))                 \
  F(getErrorString, cuGetErrorString, (CudaResult, const char **))             \
  F(deviceGetCount, cuDeviceGetCount, (int *))                                 \
  F(deviceGet, cuDeviceGet, (int *, int))                                      \
  F(deviceGetName, cuDeviceGetName, (char *, int, int))                        \
  F(deviceTotalMem, cuDeviceTotalMem_v2, (size_t *, int))                      \
  F(deviceGetAttribute, cuDeviceGetAttribute, (int *, int, int))               \
  F(primaryCtxRetain, cuDevicePrimaryCtxRetain, (void **, int))                \
  F(ctxGetCurrent, cuCtxGetCurrent, (void **))                                 \
  F(ctxPushCurrent, cuCtxPushCurrent_v2, (void *))                             \
  F(ctxPopCurrent, cuCtxPopCurrent_v2, (void **))                              \
  F(ctxSynchronize, cuCtxSynchronize, ())                                      \
  F(moduleLoadDataEx, cuModuleLoadDataEx,                                      \
    (void **, const void *, unsigned, int *, void **))                         \
  F(moduleUnload, cuModuleUnload, (void *))                                    \
  F(moduleGetFunction, cuModuleGetFunction, (void **, void *, const char *))   \
  F(funcSetAttribute, cuFuncSetAttribute, (void *, int, int))                  \
  F(launchKernel, cuLaunchKernel,                                              \
    (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,       \
     unsigned, void *, void **, void **))                                      \
  F(memAlloc, cuMemAlloc_v2, (CudaPointer *, size_t))                          \
  F(memFree, cuMemFree_v2, (CudaPointer))                                      \
  F(memHostAlloc, cuMemHostAlloc, (void **, size_t, unsigned))                 \
  F(memcpyAsync, cuMemcpyAsync, (CudaPointer, CudaPointer, size_t, void *))    \
  F(memcpyDtoHAsync, cuMemcpyDtoHAsync_v2,                                     \
    (void *, CudaPointer, size_t, void *))                                     \
  F(pointerGetAttribute, cuPointerGetAttribute, (void *, int, CudaPointer))    \
  F(streamCreate, cuStreamCreate, (void **, unsigned))                         \
  F(streamDestroy, cuStreamDestroy_v2, (void *))                               \
  F(streamSynchronize, cuStreamSynchronize, (void *))                          \
  F(streamWaitEvent, cuStreamWaitEvent, (void *, void *, unsigned))            \
  F(streamIsCapturing, cuStreamIsCapturing, (void *, int *))                   \
  F(eventCreate, cuEventCreate, (void **, unsigned))                           \
  F(eventDestroy, cuEventDestroy_v2, (void *))                                 \
  F(eventRecord, cuEventRecord, (void *, void *))                              \
  F(eventSynchronize, cuEventSynchronize, (void *))                            \
  F(eventElapsedTime, cuEventElapsedTime, (float *, void *, void *))

// Not in every driver.
#define TESSERA_CUDA_OPTIONAL_FUNCTIONS(F)                                     \
  F(CudaResult, streamGetId, cuStreamGetId, (void *, unsigned long long *))    \
  F(CudaResult, funcGetParamInfo, cuFuncGetParamInfo,                          \
    (void *, size_t, size_t *, size_t *))                                      \
  F(const char *, simMessage, tessera_sim_message, ())                         \
  F(int, simExpose, tessera_sim_expose_here,                                   \
    (uint64_t, uint64_t, const char *))                                        \
  F(void, simConceal, tessera_sim_conceal, ())

struct CudaDriver {
  std::string path;
  int version = 0;
#define TESSERA_MEMBER(member, name, parameters)                               \
  CudaResult(*member) parameters = nullptr;
  TESSERA_CUDA_FUNCTIONS(TESSERA_MEMBER)
#undef TESSERA_MEMBER
#define TESSERA_MEMBER(result, member, name, parameters)                       \
  result(*member) parameters = nullptr;
  TESSERA_CUDA_OPTIONAL_FUNCTIONS(TESSERA_MEMBER)
#undef TESSERA_MEMBER

  /// "CUDA_ERROR_INVALID_VALUE (invalid argument)", and what else is known.
  std::string describe(CudaResult code) const;
  /// An error that begins with `what`; out of memory has its own code.
  tsr_status error(CudaResult code, const std::string &what) const;
};

/// Loads a driver once. `path` null: $TESSERA_CUDA_DRIVER or libcuda.so.1.
tsr_status loadCudaDriver(const char *path, const CudaDriver *&driver);

} // namespace tessera::runtime

#endif
