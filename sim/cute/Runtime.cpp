// Stands in for the runtime library of CuTe DSL (libcute_dsl_runtime.so).
//
// The host code that CuTe DSL compiles calls CUDA's functions under names of
// its own, with an underscore in front. Each name is a jump through a slot
// here; tessera.sim.cute puts a function of the same signature there. What
// nobody put there says its name and returns cudaErrorNotSupported.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <cstring>

namespace {
constexpr int notSupported = 801;

int refuse(const char *name) {
  std::fprintf(stderr,
               "tessera-sim: CuTe DSL's host code asks for %s, which "
               "is not supported\n",
               name);
  return notSupported;
}
} // namespace

#define TESSERA_CUTE_FUNCTIONS(X)                                              \
  X(_cuDeviceGet)                                                              \
  X(_cuKernelGetAttribute)                                                     \
  X(_cuLibraryGetGlobal)                                                       \
  X(_cuLibraryGetKernel)                                                       \
  X(_cuLibraryGetKernelCount)                                                  \
  X(_cuLibraryGetManaged)                                                      \
  X(_cuLibraryGetModule)                                                       \
  X(_cuLibraryGetUnifiedFunction)                                              \
  X(_cuLibraryLoadData)                                                        \
  X(_cuLibraryLoadFromFile)                                                    \
  X(_cuLibraryUnload)                                                          \
  X(_cuTensorMapEncodeTiled)                                                   \
  X(_cudaDeviceGetAttribute)                                                   \
  X(_cudaDeviceSynchronize)                                                    \
  X(_cudaEventCreate)                                                          \
  X(_cudaEventDestroy)                                                         \
  X(_cudaEventElapsedTime)                                                     \
  X(_cudaEventRecord)                                                          \
  X(_cudaFree)                                                                 \
  X(_cudaFreeAsync)                                                            \
  X(_cudaFreeHost)                                                             \
  X(_cudaFuncSetAttribute)                                                     \
  X(_cudaGetDevice)                                                            \
  X(_cudaGetDeviceCount)                                                       \
  X(_cudaGetDeviceProperties)                                                  \
  X(_cudaGraphDestroy)                                                         \
  X(_cudaGraphExecDestroy)                                                     \
  X(_cudaGraphInstantiate)                                                     \
  X(_cudaGraphLaunch)                                                          \
  X(_cudaKernelSetAttributeForDevice)                                          \
  X(_cudaLaunchKernel)                                                         \
  X(_cudaLaunchKernelEx)                                                       \
  X(_cudaLibraryGetGlobal)                                                     \
  X(_cudaLibraryGetKernel)                                                     \
  X(_cudaLibraryGetKernelCount)                                                \
  X(_cudaLibraryGetManaged)                                                    \
  X(_cudaLibraryGetUnifiedFunction)                                            \
  X(_cudaLibraryLoadData)                                                      \
  X(_cudaLibraryLoadFromFile)                                                  \
  X(_cudaLibraryUnload)                                                        \
  X(_cudaMalloc)                                                               \
  X(_cudaMallocAsync)                                                          \
  X(_cudaMallocHost)                                                           \
  X(_cudaMallocManaged)                                                        \
  X(_cudaMemcpy)                                                               \
  X(_cudaMemcpyAsync)                                                          \
  X(_cudaMemset)                                                               \
  X(_cudaMemsetAsync)                                                          \
  X(_cudaOccupancyMaxActiveBlocksPerMultiprocessor)                            \
  X(_cudaProfilerStart)                                                        \
  X(_cudaProfilerStop)                                                         \
  X(_cudaSetDevice)                                                            \
  X(_cudaStreamAddCallback)                                                    \
  X(_cudaStreamBeginCapture)                                                   \
  X(_cudaStreamCreate)                                                         \
  X(_cudaStreamDestroy)                                                        \
  X(_cudaStreamEndCapture)                                                     \
  X(_cudaStreamSynchronize)                                                    \
  X(_cudaStreamWaitEvent)                                                      \
  X(cuda_dialect_assert_success)                                               \
  X(cuda_dialect_get_error_name)                                               \
  X(cuda_dialect_print_on_error)

#if defined(__x86_64__)
#define TESSERA_CUTE_JUMP(name)                                                \
  "  movq slot_" name "@GOTPCREL(%rip), %r11\n  jmpq *(%r11)\n"
#elif defined(__aarch64__)
#define TESSERA_CUTE_JUMP(name)                                                \
  "  adrp x16, :got:slot_" name "\n  ldr x16, [x16, :got_lo12:slot_" name      \
  "]\n  ldr x16, [x16]\n  br x16\n"
#endif

#define DEFINE(name)                                                           \
  extern "C" int refuse_##name() { return refuse(#name); }                     \
  extern "C" __attribute__((used)) void *slot_##name =                         \
      reinterpret_cast<void *>(&refuse_##name);                                \
  asm(".text\n.globl " #name "\n.type " #name ", %function\n" #name            \
      ":\n" TESSERA_CUTE_JUMP(#name) ".size " #name ", .-" #name "\n");
TESSERA_CUTE_FUNCTIONS(DEFINE)

// What host code of TVM's calling convention needs beyond CUDA.
#define EXPORTED extern "C" __attribute__((visibility("default")))
namespace {
using SetError = void (*)(const char *kind, const char *message);
using SetErrorOfParts = void (*)(const char *kind, const char **parts,
                                 int count);
/// tessera.sim.cute raises what happened; TVM needs some error until then.
constexpr const char *errorKind = "RuntimeError",
                     *errorText = "the simulator refused a call of CUDA";
void setError(SetErrorOfParts set) {
  const char *parts[] = {errorText};
  set(errorKind, parts, 1);
}
} // namespace

/// Loads the kernels into the one device, at the first call.
EXPORTED int cuda_dialect_init_library_once(void **library,
                                            int (*load)(void **),
                                            int (*loadToDevice)(void **, int),
                                            SetError set) {
  if (*library || (!load(library) && !loadToDevice(library, 0)))
    return 0;
  *library = nullptr;
  set(errorKind, errorText);
  return -1;
}
/// Called when the process ends, after Python: nothing is left to unload.
EXPORTED void cuda_dialect_unload_library_once(void **) {}
EXPORTED void CuteDSLRT_TVMFFISetRaisedCudaError(SetErrorOfParts set, int) {
  setError(set);
}
EXPORTED void CuteDSLRT_TVMFFISetRaisedCudaLaunchError(SetErrorOfParts set,
                                                       ...) {
  setError(set);
}

/// Puts a function behind a name; 0, or 1 if there is no such name.
EXPORTED int tessera_cute_set(const char *name, void *function) {
#define SET(known)                                                             \
  if (!std::strcmp(name, #known)) {                                            \
    slot_##known = function;                                                   \
    return 0;                                                                  \
  }
  TESSERA_CUTE_FUNCTIONS(SET)
  return 1;
}
