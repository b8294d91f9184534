// The documented runtime API, over the driver.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/cudart/Runtime.h"
#include <algorithm>
#include <cstring>

using namespace tessera::sim::cudart;

namespace tessera::sim::cudart {
static thread_local int last = 0;
int record(int code) {
  if (code && code != 600) // not ready is no error
    last = code;
  return code;
}
} // namespace tessera::sim::cudart

static DevicePtr address(const void *p) {
  return reinterpret_cast<DevicePtr>(p);
}
static DevicePtr *slot(void **p) { return reinterpret_cast<DevicePtr *>(p); }

// Errors and versions.
RT int cudaGetLastError(void) {
  int code = last;
  last = 0;
  return code;
}
RT int cudaPeekAtLastError(void) { return last; }
RT const char *cudaGetErrorString(int code) {
  const char *text = "unknown error";
  if (code == 98)
    return "invalid device function";
  if (code == 13)
    return "invalid device symbol";
  if (code == 9)
    return "invalid configuration argument";
  cuGetErrorString(code, &text);
  return text;
}
RT const char *cudaGetErrorName(int code) {
  switch (code) {
  case 0:
    return "cudaSuccess";
  case 1:
    return "cudaErrorInvalidValue";
  case 2:
    return "cudaErrorMemoryAllocation";
  case 98:
    return "cudaErrorInvalidDeviceFunction";
  case 209:
    return "cudaErrorNoKernelImageForDevice";
  case 218:
    return "cudaErrorInvalidPtx";
  case 700:
    return "cudaErrorIllegalAddress";
  case 710:
    return "cudaErrorAssert";
  case 719:
    return "cudaErrorLaunchFailure";
  }
  const char *text = "cudaErrorUnknown";
  cuGetErrorName(code, &text);
  return text;
}
RT int cudaRuntimeGetVersion(int *version) {
  *version = 13000;
  return 0;
}
RT int cudaDriverGetVersion(int *version) {
  return cuDriverGetVersion(version);
}
RT int cudaGetDriverEntryPoint(const char *name, void **function,
                               unsigned long long flags, int *status) {
  return record(cuGetProcAddress_v2(name, function, 13000, flags, status));
}
RT int cudaGetDriverEntryPointByVersion(const char *name, void **function,
                                        unsigned version,
                                        unsigned long long flags, int *status) {
  return record(
      cuGetProcAddress_v2(name, function, int(version), flags, status));
}

// Devices.
RT int cudaGetDeviceCount(int *count) {
  *count = 1;
  return 0;
}
RT int cudaGetDevice(int *device) {
  *device = 0;
  return 0;
}
RT int cudaSetDevice(int device) { return record(device == 0 ? 0 : 101); }
RT int cudaInitDevice(int device, unsigned, unsigned) {
  return cudaSetDevice(device);
}
RT int cudaSetDeviceFlags(unsigned) { return 0; }
RT int cudaGetDeviceFlags(unsigned *flags) {
  *flags = 0;
  return 0;
}
RT int cudaDeviceSynchronize(void) { return record(cuCtxSynchronize()); }
RT int cudaDeviceReset(void) { return 0; }
RT int cudaDeviceGetAttribute(int *value, int attribute, int device) {
  return record(cuDeviceGetAttribute(value, attribute, device));
}
RT int cudaDeviceGetLimit(size_t *value, int) {
  *value = 8 << 20;
  return 0;
}
RT int cudaDeviceSetLimit(int, size_t) { return 0; }
RT int cudaDeviceGetCacheConfig(int *config) {
  *config = 0;
  return 0;
}
RT int cudaDeviceSetCacheConfig(int) { return 0; }
RT int cudaDeviceCanAccessPeer(int *can, int, int) {
  *can = 0;
  return 0;
}
RT int cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  return record(cuCtxGetStreamPriorityRange(least, greatest));
}
RT int cudaDeviceGetDefaultMemPool(void **pool, int device) {
  return record(cuDeviceGetDefaultMemPool(pool, device));
}
RT int cudaDeviceGetMemPool(void **pool, int device) {
  return record(cuDeviceGetDefaultMemPool(pool, device));
}
RT int cudaMemPoolSetAttribute(void *, int, void *) { return 0; }
RT int cudaMemPoolTrimTo(void *, size_t) { return 0; }

namespace {
struct DeviceProperties {
  char name[256];
  unsigned char uuid[16];
  char luid[8];
  unsigned luidDeviceNodeMask;
  size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize;
  size_t memPitch;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
  size_t totalConstMem;
  int major, minor;
  size_t textureAlignment, texturePitchAlignment;
  int multiProcessorCount, integrated, canMapHostMemory;
  int textures[45];
  size_t surfaceAlignment;
  int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID,
      tccDriver, asyncEngineCount, unifiedAddressing, memoryBusWidth,
      l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor,
      streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
  size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, managedMemory, isMultiGpuBoard,
      multiGpuBoardGroupID, hostNativeAtomicSupported, pageableMemoryAccess,
      concurrentManagedAccess, computePreemptionSupported,
      canUseHostPointerForRegisteredMem, cooperativeLaunch;
  size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost,
      maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize;
  size_t reservedSharedMemPerBlock;
  int rest[18];
  int reserved[56];
};
// Textures: 1 + 1 + 2 + 2 + 3 + 2 + 3 + 3 + 1 + 2 + 3 + 2, surfaces:
// 1 + 2 + 3 + 2 + 3 + 1 + 2 = 39 integers.
} // namespace

RT int cudaGetDeviceProperties(void *out, int device) {
  if (device != 0)
    return record(101);
  // The layout after the texture limits is reached by offset: 25 texture and
  // 14 surface integers follow canMapHostMemory.
  std::memset(out, 0, 1008);
  auto *p = static_cast<DeviceProperties *>(out);
  auto get = [](int attribute) {
    int v = 0;
    cuDeviceGetAttribute(&v, attribute, 0);
    return v;
  };
  cuDeviceGetName(p->name, 256, 0);
  cuDeviceGetUuid_v2(p->uuid, 0);
  cuDeviceTotalMem_v2(&p->totalGlobalMem, 0);
  p->sharedMemPerBlock = get(8);
  p->regsPerBlock = get(12);
  p->warpSize = 32;
  p->memPitch = 0x7fffffff;
  p->maxThreadsPerBlock = 1024;
  for (int d = 0; d < 3; ++d) {
    p->maxThreadsDim[d] = get(2 + d);
    p->maxGridSize[d] = get(5 + d);
  }
  p->totalConstMem = get(9);
  p->major = get(75);
  p->minor = get(76);
  p->textureAlignment = 512;
  p->texturePitchAlignment = 32;
  p->multiProcessorCount = get(16);
  p->canMapHostMemory = 1;
  auto *after = reinterpret_cast<char *>(&p->canMapHostMemory) + 4 + 39 * 4;
  after = reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(after) + 7) &
                                   ~uintptr_t(7));
  auto *surface = reinterpret_cast<size_t *>(after);
  *surface = 512;
  auto *ints = reinterpret_cast<int *>(surface + 1);
  const int values[] = {1,   0,       0, 0,       0, 0, 1, 1,
                        256, get(38), 0, get(39), 1, 1, 1};
  std::memcpy(ints, values, sizeof values);
  after = reinterpret_cast<char *>(ints + 15);
  after = reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(after) + 7) &
                                   ~uintptr_t(7));
  *reinterpret_cast<size_t *>(after) = get(81);
  ints = reinterpret_cast<int *>(after + 8);
  const int more[] = {65536, 1, 0, 0, 0, 0, 1, 1, 1, 1};
  std::memcpy(ints, more, sizeof more);
  after = reinterpret_cast<char *>(ints + 10);
  after = reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(after) + 7) &
                                   ~uintptr_t(7));
  *reinterpret_cast<size_t *>(after) = get(97);
  ints = reinterpret_cast<int *>(after + 8);
  const int last3[] = {0, 1, 32, 0};
  std::memcpy(ints, last3, sizeof last3);
  after = reinterpret_cast<char *>(ints + 4);
  *reinterpret_cast<size_t *>(after) = 1024;
  return 0;
}

// Memory.
RT int cudaMalloc(void **p, size_t n) {
  if (!n) {
    *p = nullptr;
    return 0;
  }
  return record(cuMemAlloc_v2(slot(p), n));
}
RT int cudaFree(void *p) { return record(cuMemFree_v2(address(p))); }
RT int cudaMallocHost(void **p, size_t n) {
  return record(cuMemAllocHost_v2(p, n));
}
RT int cudaHostAlloc(void **p, size_t n, unsigned) {
  return record(cuMemAllocHost_v2(p, n));
}
RT int cudaFreeHost(void *p) { return record(cuMemFreeHost(p)); }
RT int cudaHostGetDevicePointer(void **d, void *h, unsigned flags) {
  return record(cuMemHostGetDevicePointer_v2(slot(d), h, flags));
}
RT int cudaHostGetFlags(unsigned *flags, void *) {
  *flags = 2;
  return 0;
}
RT int cudaHostRegister(void *p, size_t n, unsigned flags) {
  return record(cuMemHostRegister_v2(p, n, flags));
}
RT int cudaHostUnregister(void *p) { return record(cuMemHostUnregister(p)); }
RT int cudaMallocManaged(void **p, size_t n, unsigned flags) {
  return record(cuMemAllocManaged(slot(p), n, flags));
}
RT int cudaMallocPitch(void **p, size_t *pitch, size_t width, size_t height) {
  return record(cuMemAllocPitch_v2(slot(p), pitch, width, height, 4));
}
RT int cudaMallocAsync(void **p, size_t n, void *stream) {
  return record(cuMemAllocAsync(slot(p), n, stream));
}
RT int cudaMallocFromPoolAsync(void **p, size_t n, void *, void *stream) {
  return record(cuMemAllocAsync(slot(p), n, stream));
}
RT int cudaFreeAsync(void *p, void *stream) {
  return record(cuMemFreeAsync(address(p), stream));
}
RT int cudaMemGetInfo(size_t *free, size_t *total) {
  return record(cuMemGetInfo_v2(free, total));
}
RT int cudaMemcpyAsync(void *to, const void *from, size_t n, int,
                       void *stream) {
  if (!n)
    return 0;
  return record(cuMemcpyAsync(address(to), address(from), n, stream));
}
RT int cudaMemcpy(void *to, const void *from, size_t n, int kind) {
  int code = cudaMemcpyAsync(to, from, n, kind, nullptr);
  return code ? code : record(cuCtxSynchronize());
}
RT int cudaMemcpy2DAsync(void *to, size_t toPitch, const void *from,
                         size_t fromPitch, size_t width, size_t height,
                         int kind, void *stream) {
  for (size_t row = 0; row < height; ++row)
    if (int code =
            cudaMemcpyAsync(static_cast<char *>(to) + row * toPitch,
                            static_cast<const char *>(from) + row * fromPitch,
                            width, kind, stream))
      return code;
  return 0;
}
RT int cudaMemcpy2D(void *to, size_t toPitch, const void *from,
                    size_t fromPitch, size_t width, size_t height, int kind) {
  return cudaMemcpy2DAsync(to, toPitch, from, fromPitch, width, height, kind,
                           nullptr);
}
RT int cudaMemcpyPeer(void *to, int, const void *from, int, size_t n) {
  return cudaMemcpy(to, from, n, 4);
}
RT int cudaMemsetAsync(void *p, int value, size_t n, void *stream) {
  if (!n)
    return 0;
  return record(cuMemsetD8Async(address(p), (unsigned char)value, n, stream));
}
RT int cudaMemset(void *p, int value, size_t n) {
  return cudaMemsetAsync(p, value, n, nullptr);
}
RT int cudaMemset2DAsync(void *p, size_t pitch, int value, size_t width,
                         size_t height, void *stream) {
  for (size_t row = 0; row < height; ++row)
    if (int code = cudaMemsetAsync(static_cast<char *>(p) + row * pitch, value,
                                   width, stream))
      return code;
  return 0;
}
RT int cudaMemset2D(void *p, size_t pitch, int value, size_t width,
                    size_t height) {
  return cudaMemset2DAsync(p, pitch, value, width, height, nullptr);
}
RT int cudaMemPrefetchAsync(const void *, size_t, uint64_t, unsigned, void *) {
  return 0;
}
RT int cudaMemAdvise(const void *, size_t, int, uint64_t) { return 0; }
RT int cudaPointerGetAttributes(void *out, const void *p) {
  struct Attributes {
    int type, device;
    void *devicePointer, *hostPointer;
    long reserved[8];
  } *a = static_cast<Attributes *>(out);
  std::memset(a, 0, sizeof *a);
  unsigned type = 0, managed = 0;
  if (cuPointerGetAttribute(&type, 2, address(p))) {
    a->hostPointer = const_cast<void *>(p);
    a->device = -2;
    return 0; // unregistered host memory
  }
  cuPointerGetAttribute(&managed, 8, address(p));
  a->type = managed ? 3 : type == 1 ? 1 : 2;
  a->devicePointer = const_cast<void *>(p);
  if (a->type != 2)
    a->hostPointer = const_cast<void *>(p);
  return 0;
}

// Symbols.
RT int cudaGetSymbolAddress(void **p, const void *symbol) {
  size_t size;
  return record(symbolOf(symbol, slot(p), &size));
}
RT int cudaGetSymbolSize(size_t *size, const void *symbol) {
  DevicePtr p;
  return record(symbolOf(symbol, &p, size));
}
RT int cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t n,
                               size_t offset, int, void *stream) {
  DevicePtr p;
  size_t size;
  if (int code = symbolOf(symbol, &p, &size))
    return record(code);
  if (offset + n > size)
    return record(1);
  return record(cuMemcpyAsync(p + offset, address(from), n, stream));
}
RT int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t n,
                          size_t offset, int kind) {
  return cudaMemcpyToSymbolAsync(symbol, from, n, offset, kind, nullptr);
}
RT int cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t n,
                                 size_t offset, int, void *stream) {
  DevicePtr p;
  size_t size;
  if (int code = symbolOf(symbol, &p, &size))
    return record(code);
  if (offset + n > size)
    return record(1);
  return record(cuMemcpyAsync(address(to), p + offset, n, stream));
}
RT int cudaMemcpyFromSymbol(void *to, const void *symbol, size_t n,
                            size_t offset, int kind) {
  return cudaMemcpyFromSymbolAsync(to, symbol, n, offset, kind, nullptr);
}

// Streams and events.
RT int cudaStreamCreate(void **s) { return record(cuStreamCreate(s, 0)); }
RT int cudaStreamCreateWithFlags(void **s, unsigned flags) {
  return record(cuStreamCreate(s, flags));
}
RT int cudaStreamCreateWithPriority(void **s, unsigned flags, int priority) {
  return record(cuStreamCreateWithPriority(s, flags, priority));
}
RT int cudaStreamDestroy(void *s) { return record(cuStreamDestroy_v2(s)); }
RT int cudaStreamSynchronize(void *s) { return record(cuStreamSynchronize(s)); }
RT int cudaStreamQuery(void *s) { return record(cuStreamQuery(s)); }
RT int cudaStreamWaitEvent(void *s, void *e, unsigned flags) {
  return record(cuStreamWaitEvent(s, e, flags));
}
RT int cudaStreamAddCallback(void *s, void (*f)(void *, int, void *),
                             void *data, unsigned flags) {
  return record(cuStreamAddCallback(s, f, data, flags));
}
RT int cudaStreamGetFlags(void *s, unsigned *flags) {
  return record(cuStreamGetFlags(s, flags));
}
RT int cudaStreamGetPriority(void *s, int *priority) {
  return record(cuStreamGetPriority(s, priority));
}
RT int cudaStreamAttachMemAsync(void *, void *, size_t, unsigned) { return 0; }
RT int cudaStreamGetDevice(void *, int *device) {
  *device = 0;
  return 0;
}
RT int cudaLaunchHostFunc(void *s, void (*f)(void *), void *data) {
  return record(cuLaunchHostFunc(s, f, data));
}
RT int cudaEventCreate(void **e) { return record(cuEventCreate(e, 0)); }
RT int cudaEventCreateWithFlags(void **e, unsigned flags) {
  return record(cuEventCreate(e, flags));
}
RT int cudaEventDestroy(void *e) { return record(cuEventDestroy_v2(e)); }
RT int cudaEventRecord(void *e, void *s) { return record(cuEventRecord(e, s)); }
RT int cudaEventRecordWithFlags(void *e, void *s, unsigned) {
  return record(cuEventRecord(e, s));
}
RT int cudaEventSynchronize(void *e) { return record(cuEventSynchronize(e)); }
RT int cudaEventQuery(void *e) { return record(cuEventQuery(e)); }
RT int cudaEventElapsedTime(float *ms, void *a, void *b) {
  return record(cuEventElapsedTime(ms, a, b));
}
