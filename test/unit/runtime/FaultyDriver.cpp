// A CUDA driver around the simulator's that fails where a test asks it to.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// $TESSERA_FAULTY_DRIVER is the library behind it. Every function that the
// runtime uses is passed on, unless the test said that it fails.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <string>

namespace {
std::mutex mutex;
std::string failing;          // guarded by `mutex`
int failure = 0, skipped = 0; // guarded by `mutex`
std::atomic<int> calls{0};    // of the failing function, since it was set

void *find(const char *name) {
  static void *library =
      dlopen(std::getenv("TESSERA_FAULTY_DRIVER"), RTLD_NOW | RTLD_LOCAL);
  void *address = library ? dlsym(library, name) : nullptr;
  if (!address)
    std::abort();
  return address;
}

/// The error this call has to return, or 0.
int failureOf(const char *name) {
  std::lock_guard lock(mutex);
  if (failing != name)
    return 0;
  ++calls;
  if (skipped > 0) {
    --skipped;
    return 0;
  }
  return failure;
}
} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

/// The function `name` fails with `code` from now on, after `skip` good calls;
/// "" for none.
EXPORT void faulty_set(const char *name, int code, int skip) {
  std::lock_guard lock(mutex);
  failing = name;
  failure = code;
  skipped = skip;
  calls = 0;
}
EXPORT int faulty_calls() { return calls; }

#define FORWARD(name, parameters, arguments)                                   \
  EXPORT int name parameters {                                                 \
    static auto *real = reinterpret_cast<int(*) parameters>(find(#name));      \
    if (int code = failureOf(#name))                                           \
      return code;                                                             \
    return real arguments;                                                     \
  }

using Pointer = unsigned long long;
FORWARD(cuInit, (unsigned a), (a))
FORWARD(cuDriverGetVersion, (int *a), (a))
FORWARD(cuGetErrorName, (int a, const char **b), (a, b))
FORWARD(cuGetErrorString, (int a, const char **b), (a, b))
FORWARD(cuDeviceGetCount, (int *a), (a))
FORWARD(cuDeviceGet, (int *a, int b), (a, b))
FORWARD(cuDeviceGetName, (char *a, int b, int c), (a, b, c))
FORWARD(cuDeviceTotalMem_v2, (size_t *a, int b), (a, b))
FORWARD(cuDeviceGetAttribute, (int *a, int b, int c), (a, b, c))
FORWARD(cuDevicePrimaryCtxRetain, (void **a, int b), (a, b))
FORWARD(cuCtxGetCurrent, (void **a), (a))
FORWARD(cuCtxPushCurrent_v2, (void *a), (a))
FORWARD(cuCtxPopCurrent_v2, (void **a), (a))
FORWARD(cuCtxSynchronize, (), ())
FORWARD(cuModuleLoadDataEx,
        (void **a, const void *b, unsigned c, int *d, void **e),
        (a, b, c, d, e))
FORWARD(cuModuleUnload, (void *a), (a))
FORWARD(cuModuleGetFunction, (void **a, void *b, const char *c), (a, b, c))
FORWARD(cuFuncSetAttribute, (void *a, int b, int c), (a, b, c))
FORWARD(cuFuncGetParamInfo, (void *a, size_t b, size_t *c, size_t *d),
        (a, b, c, d))
FORWARD(cuLaunchKernel,
        (void *f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e,
         unsigned g, unsigned h, void *s, void **p, void **x),
        (f, a, b, c, d, e, g, h, s, p, x))
FORWARD(cuMemAlloc_v2, (Pointer * a, size_t b), (a, b))
FORWARD(cuMemHostAlloc, (void **a, size_t b, unsigned c), (a, b, c))
FORWARD(cuMemFree_v2, (Pointer a), (a))
FORWARD(cuMemcpyAsync, (Pointer a, Pointer b, size_t c, void *d), (a, b, c, d))
FORWARD(cuMemcpyDtoHAsync_v2, (void *a, Pointer b, size_t c, void *d),
        (a, b, c, d))
FORWARD(cuPointerGetAttribute, (void *a, int b, Pointer c), (a, b, c))
FORWARD(cuStreamCreate, (void **a, unsigned b), (a, b))
FORWARD(cuStreamDestroy_v2, (void *a), (a))
FORWARD(cuStreamSynchronize, (void *a), (a))
FORWARD(cuStreamWaitEvent, (void *a, void *b, unsigned c), (a, b, c))
FORWARD(cuStreamIsCapturing, (void *a, int *b), (a, b))
FORWARD(cuStreamGetId, (void *a, unsigned long long *b), (a, b))
FORWARD(cuStreamBeginCapture_v2, (void *a, int b), (a, b))
FORWARD(cuStreamEndCapture, (void *a, void **b), (a, b))
FORWARD(cuEventCreate, (void **a, unsigned b), (a, b))
FORWARD(cuEventDestroy_v2, (void *a), (a))
FORWARD(cuEventRecord, (void *a, void *b), (a, b))
FORWARD(cuEventSynchronize, (void *a), (a))
FORWARD(cuEventElapsedTime, (float *a, void *b, void *c), (a, b, c))
