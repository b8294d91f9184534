// One GPU behind a CUDA driver: its context and its memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_RUNTIME_CUDADEVICE_H
#define TESSERA_RUNTIME_CUDADEVICE_H

#include "runtime/CudaDriver.h"
#include "runtime/Device.h"
#include "runtime/Expectations.h"

#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace tessera::runtime {

/// (8, 9, 0) is sm_89, (12, 0, 'a') is sm_120a. Never compared as text.
struct CudaArch {
  int major = 0, minor = 0;
  char suffix = 0;

  std::string text() const;
};
/// False if the text is no architecture.
bool parseArch(std::string_view text, CudaArch &arch);

class CudaDevice final : public Device {
public:
  static constexpr int32_t maxDevices = 64;

  tsr_status allocate(size_t bytes, void *stream, void *&memory) override;
  void deallocate(void *memory, void *stream) override;
  tsr_status read(void *to, const void *from, size_t bytes,
                  void *stream) override;
  tsr_status copy(void *to, const void *from, size_t bytes, void *stream);
  tsr_status releaseCached();
  void setCacheLimit(uint64_t bytes);
  tsr_memory_stats memoryStats() const;

  const CudaDriver *driver = nullptr;
  int32_t index = 0;   // among all devices of the process
  int32_t ordinal = 0; // of the driver
  void *context = nullptr;
  CudaArch arch;
  std::string name;
  int multiprocessors = 0, sharedPerBlock = 0;
  uint64_t totalMemory = 0;
  Expectations expected; // by calls that did not wait

  /// Opens what the driver has; `index` is the caller's.
  tsr_status open(const CudaDriver &driver, int32_t ordinal);

private:
  struct Block {
    size_t capacity;
  };
  uint64_t streamKey(void *stream, bool &mayCache) const;
  void freeAll(std::unique_lock<std::mutex> &lock);

  // The pool. Blocks of one stream and size class; a stream is in order, so a
  // block that was given back on it can be used again at once.
  mutable std::mutex mutex;
  std::map<std::pair<uint64_t, size_t>, std::vector<CudaPointer>> cached;
  std::unordered_map<CudaPointer, size_t> capacities; // of blocks in use
  uint64_t bytesInUse = 0, peakBytesInUse = 0, bytesCached = 0;
  uint64_t allocations = 0, hits = 0;
  uint64_t cacheLimit = ~uint64_t{0};
};

/// Makes a device's context the thread's, as long as it lives.
class ContextScope {
public:
  explicit ContextScope(const CudaDevice &device);
  ~ContextScope();
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

  CudaResult code = 0;

private:
  const CudaDriver &driver;
  bool isPushed = false;
};

/// Every device is opened once.
tsr_status findCudaDevice(const char *driverPath, int32_t ordinal,
                          tsr_device *&device);

} // namespace tessera::runtime

struct tsr_device {
  tessera::runtime::CudaDevice cuda;
};

#endif
