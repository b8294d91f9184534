// cuInit, devices, contexts, errors, entry points.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/driver/Api.h"
#include "sim/driver/Boards.h"
#include "sim/exec/Limits.h"
#include <cstring>
#include <dlfcn.h>
#include <utility>

using namespace tessera::sim;
using namespace tessera::sim::driver;

namespace {
char contexts[maxDevices]; // one of each GPU; its address is the handle
thread_local int current = -1;
thread_local std::vector<int> pushed; // what was current before

int deviceOf(const void *context) {
  auto at = static_cast<const char *>(context) - contexts;
  return at >= 0 && at < int(maxDevices) ? int(at) : 0;
}
unsigned archOf(int device) {
  return state().archs[device >= 0 && device < int(maxDevices) ? device : 0];
}
/// Only the first GPU is a card.
const Board *boardOf(int device) {
  try {
    return device ? nullptr : chosenBoard();
  } catch (const std::exception &) {
    return nullptr; // said when the driver was loaded
  }
}
} // namespace

namespace tessera::sim::driver {
int currentDevice() { return current < 0 ? 0 : current; }
unsigned currentArch() { return archOf(currentDevice()); }
} // namespace tessera::sim::driver

CU cuInit(unsigned) {
  return state().stickyError == NoDevice ? NoDevice : Success;
}
CU cuDriverGetVersion(int *version) {
  *version = 13020; // newer than 13.1: descriptor bit 21 is not touched then
  return Success;
}
CU cuDeviceGetCount(int *count) {
  *count = int(state().deviceCount);
  return Success;
}
CU cuDeviceGet(int *device, int ordinal) {
  if (ordinal < 0 || ordinal >= int(state().deviceCount))
    return InvalidDevice;
  *device = ordinal;
  return Success;
}
CU cuDeviceGetName(char *name, int size, int device) {
  if (const Board *board = boardOf(device))
    std::snprintf(name, size, "Tessera simulator (%s)", board->name);
  else
    std::snprintf(name, size, "Tessera simulator (sm_%u)", archOf(device));
  return Success;
}
CU cuDeviceGetUuid_v2(unsigned char *uuid, int) {
  std::memcpy(uuid, "tessera-sim-dev0", 16);
  return Success;
}
CU cuDeviceGetUuid(unsigned char *uuid, int d) {
  return cuDeviceGetUuid_v2(uuid, d);
}
CU cuDeviceTotalMem_v2(size_t *bytes, int) {
  *bytes = state().totalMemory;
  return Success;
}
CU cuDeviceGetPCIBusId(char *id, int size, int) {
  std::snprintf(id, size, "0000:00:00.0");
  return Success;
}
CU cuDeviceComputeCapability(int *major, int *minor, int device) {
  *major = int(archOf(device) / 10);
  *minor = int(archOf(device) % 10);
  return Success;
}

CU cuDeviceGetAttribute(int *value, int attribute, int device) {
  unsigned arch = archOf(device);
  const Machine &m = machine(arch);
  const Board *board = boardOf(device);
  struct Entry {
    int attribute, value;
  };
  const Entry table[] = {{1, threadsPerBlockLimit},
                         {2, blockLimit[0]},
                         {3, blockLimit[1]},
                         {4, blockLimit[2]},
                         {5, gridLimit[0]},
                         {6, gridLimit[1]},
                         {7, gridLimit[2]},
                         {8, staticSharedLimit},
                         {9, 65536},
                         {10, 32},
                         {11, 0x7fffffff},
                         {12, int(m.registers)},
                         {13, 1000000},
                         {14, 512},
                         {15, 1},
                         {16, board ? board->multiprocessors : 4},
                         {18, 0},
                         {19, 1},
                         {31, 1},
                         {36, 1000000},
                         {37, 256},
                         {38, board ? board->l2Bytes : 4 << 20},
                         {39, int(m.threads)},
                         {40, 1},
                         {41, 1},
                         {75, int(arch / 10)},
                         {76, int(arch % 10)},
                         {78, 1},
                         {79, 1},
                         {80, 1},
                         {81, int(m.shared)},
                         {82, int(m.registers)},
                         {83, 1},
                         {86, 0},
                         {88, 0},
                         {89, 1},
                         {90, 1},
                         {91, 1},
                         {95, 1},
                         {97, int(m.sharedPerBlock)},
                         {99, 1},
                         {101, 1},
                         {106, int(m.blocks)},
                         {111, 1024},
                         {115, 1},
                         {120, m.cluster > 0}, // clusters
                         {127, 0},
                         {132, 0}};
  *value = 0;
  for (const Entry &e : table)
    if (e.attribute == attribute)
      *value = e.value;
  return attribute >= 1 && attribute < 200 ? Success : InvalidValue;
}

CU cuDevicePrimaryCtxRetain(void **ctx, int device) {
  if (device < 0 || device >= int(state().deviceCount))
    return InvalidDevice;
  *ctx = &contexts[device];
  return Success;
}
CU cuDevicePrimaryCtxRelease_v2(int) { return Success; }
CU cuDevicePrimaryCtxRelease(int) { return Success; }
CU cuDevicePrimaryCtxReset_v2(int) { return Success; }
CU cuDevicePrimaryCtxSetFlags_v2(int, unsigned) { return Success; }
CU cuDevicePrimaryCtxGetState(int, unsigned *flags, int *active) {
  *flags = 0;
  *active = 1;
  return Success;
}
CU cuCtxCreate_v2(void **ctx, unsigned, int device) {
  if (device < 0 || device >= int(state().deviceCount))
    return InvalidDevice;
  *ctx = &contexts[device];
  current = device;
  return Success;
}
CU cuCtxCreate_v4(void **ctx, void *, unsigned flags, int device) {
  return cuCtxCreate_v2(ctx, flags, device);
}
CU cuCtxDestroy_v2(void *) {
  current = -1;
  return Success;
}
CU cuCtxGetCurrent(void **ctx) {
  *ctx = current >= 0 ? &contexts[current] : nullptr;
  return Success;
}
CU cuCtxSetCurrent(void *ctx) {
  current = ctx ? deviceOf(ctx) : -1;
  return Success;
}
CU cuCtxPushCurrent_v2(void *ctx) {
  pushed.push_back(current);
  return cuCtxSetCurrent(ctx);
}
CU cuCtxPopCurrent_v2(void **ctx) {
  if (ctx)
    *ctx = current >= 0 ? &contexts[current] : nullptr;
  if (pushed.empty())
    return current >= 0 ? Success : InvalidContext;
  current = pushed.back();
  pushed.pop_back();
  return Success;
}
CU cuCtxGetDevice(int *device) {
  *device = currentDevice();
  return Success;
}
CU cuCtxGetApiVersion(void *, unsigned *version) {
  *version = 13020;
  return Success;
}
CU cuCtxGetFlags(unsigned *flags) {
  *flags = 0;
  return Success;
}
CU cuCtxSynchronize(void) { return pendingError(); }
CU cuCtxGetLimit(size_t *value, int) {
  *value = 8 << 20;
  return Success;
}
CU cuCtxSetLimit(int, size_t) { return Success; }
CU cuCtxGetCacheConfig(int *config) {
  *config = 0;
  return Success;
}
CU cuCtxSetCacheConfig(int) { return Success; }
CU cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0;
  *greatest = -5;
  return Success;
}
CU cuDeviceCanAccessPeer(int *can, int, int) {
  *can = 0;
  return Success;
}

namespace {
struct ErrorText {
  int code;
  const char *name, *text;
};
constexpr ErrorText errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {218, "CUDA_ERROR_INVALID_PTX",
     "a PTX JIT compilation failed (the simulator refused the PTX)"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT",
     "the launch timed out and was terminated (deadlock)"},
    {710, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION",
     "an illegal instruction was encountered"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {912, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "cluster misconfiguration"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"}};
} // namespace

CU cuGetErrorString(int code, const char **text) {
  for (const ErrorText &e : errors)
    if (e.code == code) {
      *text = e.text;
      return Success;
    }
  *text = "unrecognized error code";
  return InvalidValue;
}
CU cuGetErrorName(int code, const char **text) {
  for (const ErrorText &e : errors)
    if (e.code == code) {
      *text = e.name;
      return Success;
    }
  *text = "unrecognized error code";
  return InvalidValue;
}

CU cuGetProcAddress_v2(const char *name, void **function, int,
                       unsigned long long, int *status) {
  static void *self = [] {
    Dl_info info;
    dladdr(reinterpret_cast<void *>(&cuInit), &info);
    return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }();
  void *found = nullptr;
  for (const char *suffix : {"_v3", "_v2", ""})
    if (!found)
      found = dlsym(self, (std::string(name) + suffix).c_str());
  *function = found;
  if (status)
    *status = found ? 0 : 1;
  return found ? Success : NotFound;
}
CU cuGetProcAddress(const char *name, void **function, int version,
                    unsigned long long flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}
CU cuGetExportTable(const void **, const void *) {
  // Told once; the runtime that CuTe DSL's package links asks as well, and
  // nothing of it is used.
  static bool isTold = dlopen("libtessera_cute.so", RTLD_NOW | RTLD_NOLOAD);
  if (std::exchange(isTold, true))
    return NotSupported;
  return problem(NotSupported,
                 "private driver tables are asked for: the program carries "
                 "NVIDIA's runtime; build it with nvcc -cudart shared and run "
                 "it with tessera-sim exec");
}
