// What the files of the runtime library share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#define RT extern "C" __attribute__((visibility("default")))
using DevicePtr = unsigned long long;

struct dim3 {
  unsigned x, y, z;
};

// The driver functions the runtime stands on.
extern "C" {
int cuInit(unsigned);
int cuDriverGetVersion(int *);
int cuDeviceGetAttribute(int *, int, int);
int cuDeviceGetName(char *, int, int);
int cuDeviceTotalMem_v2(size_t *, int);
int cuDeviceGetUuid_v2(unsigned char *, int);
int cuCtxSynchronize(void);
int cuCtxGetStreamPriorityRange(int *, int *);
int cuGetErrorString(int, const char **);
int cuGetErrorName(int, const char **);
int cuMemAlloc_v2(DevicePtr *, size_t);
int cuMemFree_v2(DevicePtr);
int cuMemAllocPitch_v2(DevicePtr *, size_t *, size_t, size_t, unsigned);
int cuMemAllocHost_v2(void **, size_t);
int cuMemFreeHost(void *);
int cuMemHostGetDevicePointer_v2(DevicePtr *, void *, unsigned);
int cuMemHostRegister_v2(void *, size_t, unsigned);
int cuMemHostUnregister(void *);
int cuMemAllocManaged(DevicePtr *, size_t, unsigned);
int cuMemAllocAsync(DevicePtr *, size_t, void *);
int cuMemFreeAsync(DevicePtr, void *);
int cuMemGetInfo_v2(size_t *, size_t *);
int cuMemcpyAsync(DevicePtr, DevicePtr, size_t, void *);
int cuMemsetD8Async(DevicePtr, unsigned char, size_t, void *);
int cuPointerGetAttribute(void *, int, DevicePtr);
int cuMemGetAddressRange_v2(DevicePtr *, size_t *, DevicePtr);
int cuModuleLoadData(void **, const void *);
int cuModuleUnload(void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuModuleGetGlobal_v2(DevicePtr *, size_t *, void *, const char *);
int cuFuncGetAttribute(int *, int, void *);
int cuFuncSetAttribute(void *, int, int);
int cuFuncGetName(const char **, void *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned,
                   unsigned, unsigned, void *, void **, void **);
int cuLaunchKernelEx(const void *, void *, void **, void **);
int cuLaunchCooperativeKernel(void *, unsigned, unsigned, unsigned, unsigned,
                              unsigned, unsigned, unsigned, void *, void **);
int cuLaunchHostFunc(void *, void (*)(void *), void *);
int cuOccupancyMaxActiveClusters(int *, void *, const void *);
int cuOccupancyMaxPotentialClusterSize(int *, void *, const void *);
int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *, void *, int,
                                                         size_t, unsigned);
int cuStreamCreate(void **, unsigned);
int cuStreamCreateWithPriority(void **, unsigned, int);
int cuStreamDestroy_v2(void *);
int cuStreamSynchronize(void *);
int cuStreamQuery(void *);
int cuStreamWaitEvent(void *, void *, unsigned);
int cuStreamAddCallback(void *, void (*)(void *, int, void *), void *,
                        unsigned);
int cuStreamGetFlags(void *, unsigned *);
int cuStreamGetPriority(void *, int *);
int cuStreamBeginCapture_v2(void *, int);
int cuStreamEndCapture(void *, void **);
int cuStreamIsCapturing(void *, int *);
int cuStreamGetCaptureInfo_v2(void *, int *, unsigned long long *, void **,
                              const void **, size_t *);
int cuEventCreate(void **, unsigned);
int cuEventDestroy_v2(void *);
int cuEventRecord(void *, void *);
int cuEventSynchronize(void *);
int cuEventQuery(void *);
int cuEventElapsedTime(float *, void *, void *);
int cuGraphCreate(void **, unsigned);
int cuGraphDestroy(void *);
int cuGraphGetNodes(void *, void **, size_t *);
int cuGraphAddKernelNode_v2(void **, void *, void *const *, size_t,
                            const void *);
int cuGraphAddEmptyNode(void **, void *, void *const *, size_t);
int cuGraphAddHostNode(void **, void *, void *const *, size_t, const void *);
int cuGraphAddDependencies(void *, void *const *, void *const *, size_t);
int cuGraphInstantiateWithFlags(void **, void *, unsigned long long);
int cuGraphExecUpdate_v2(void *, void *, void *);
int cuGraphLaunch(void *, void *);
int cuGraphExecDestroy(void *);
int cuGetProcAddress_v2(const char *, void **, int, unsigned long long, int *);
int cuDeviceGetDefaultMemPool(void **, int);
void *tessera_sim_graph_node(void *, int, void *const *, size_t,
                             int (*)(void *), void *);
int tessera_sim_load_texts(const char *const *, size_t, void **);
}

namespace tessera::sim::cudart {

/// Remembers an error for cudaGetLastError and passes it on.
int record(int code);
/// The driver function behind a host function; null (and an error) if none.
void *kernelOf(const void *host, int *error);
/// cuLaunchKernel with the runtime's errors.
int launch(void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
           void *stream);
/// Address and size of the device variable behind a host variable.
int symbolOf(const void *host, DevicePtr *address, size_t *size);

} // namespace tessera::sim::cudart
