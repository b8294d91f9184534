// The pool of a GPU's memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuMemAlloc takes microseconds and cuMemFree waits for the device, so blocks
// are kept. A block is kept for the stream it was given back on: work that was
// put into that stream before is done with it before later work begins. Sizes
// are rounded as the CPU's pool rounds them (Memory.cpp), at least 512 bytes.
#include "runtime/CudaDevice.h"
#include "runtime/Memory.h"
#include "runtime/Status.h"

#include <algorithm>

namespace tessera::runtime {

/// Handles of streams that died are used again; their numbers are not.
uint64_t CudaDevice::streamKey(void *stream, bool &mayCache) const {
  auto handle = reinterpret_cast<uintptr_t>(stream);
  mayCache = true;
  unsigned long long id = 0;
  if (driver->streamGetId && !driver->streamGetId(stream, &id))
    return id;
  mayCache = handle != 2; // 2 is another stream on every thread
  return handle;
}

tsr_status CudaDevice::allocate(size_t bytes, void *stream, void *&memory) {
  memory = nullptr;
  if (bytes > size_t{1} << 60)
    return makeError(TSR_OUT_OF_MEMORY, "larger than any memory");
  ContextScope scope(*this);
  if (scope.code)
    return driver->error(scope.code, "using " + name);
  int capturing = 0;
  if (CudaResult code = driver->streamIsCapturing(stream, &capturing))
    return driver->error(code, "using a stream of " + name);
  if (capturing)
    return makeError(
        TSR_UNSUPPORTED,
        "temporary memory while a CUDA graph is captured: a replay "
        "of the graph would use it after it was given back");
  bool mayCache;
  uint64_t key = streamKey(stream, mayCache);
  std::unique_lock lock(mutex);
  bool isExact = cacheLimit == 0;
  size_t capacity = isExact ? std::max<size_t>(bytes, 1)
                            : poolCapacity(std::max<size_t>(bytes, 512));
  ++allocations;
  CudaPointer pointer = 0;
  if (auto it = cached.find({key, capacity});
      mayCache && it != cached.end() && !it->second.empty()) {
    pointer = it->second.back();
    it->second.pop_back();
    bytesCached -= capacity;
    ++hits;
  } else {
    lock.unlock();
    CudaResult code = driver->memAlloc(&pointer, capacity);
    lock.lock();
    if (code == cudaOutOfMemory && bytesCached) {
      freeAll(lock);
      lock.unlock();
      code = driver->memAlloc(&pointer, capacity);
      lock.lock();
    }
    if (code)
      return driver->error(code, "no " + std::to_string(capacity) +
                                     " bytes of memory on " + name);
  }
  capacities[pointer] = capacity;
  bytesInUse += capacity;
  peakBytesInUse = std::max(peakBytesInUse, bytesInUse);
  memory = reinterpret_cast<void *>(pointer);
  return nullptr;
}

void CudaDevice::deallocate(void *memory, void *stream) {
  if (!memory)
    return;
  ContextScope scope(*this);
  bool mayCache;
  uint64_t key = streamKey(stream, mayCache);
  auto pointer = reinterpret_cast<CudaPointer>(memory);
  {
    std::lock_guard lock(mutex);
    auto it = capacities.find(pointer);
    if (it == capacities.end())
      return;
    size_t capacity = it->second;
    capacities.erase(it);
    bytesInUse -= capacity;
    if (mayCache && bytesCached + capacity <= cacheLimit) {
      bytesCached += capacity;
      cached[{key, capacity}].push_back(pointer);
      return;
    }
  }
  // It waits for the device. An error here is that of an earlier kernel, which
  // the next call reports.
  driver->memFree(pointer);
}

/// The lock is given up while the driver waits.
void CudaDevice::freeAll(std::unique_lock<std::mutex> &lock) {
  std::vector<CudaPointer> blocks;
  for (auto &[key, list] : cached) {
    blocks.insert(blocks.end(), list.begin(), list.end());
    bytesCached -= key.second * list.size();
    list.clear();
  }
  lock.unlock();
  for (CudaPointer pointer : blocks)
    driver->memFree(pointer);
  lock.lock();
}

tsr_status CudaDevice::releaseCached() {
  ContextScope scope(*this);
  if (scope.code)
    return driver->error(scope.code, "using " + name);
  std::unique_lock lock(mutex);
  freeAll(lock);
  return nullptr;
}

void CudaDevice::setCacheLimit(uint64_t bytes) {
  std::lock_guard lock(mutex);
  cacheLimit = bytes;
}

tsr_memory_stats CudaDevice::memoryStats() const {
  std::lock_guard lock(mutex);
  tsr_memory_stats all{};
  all.bytes_in_use = bytesInUse;
  all.peak_bytes_in_use = peakBytesInUse;
  all.bytes_cached = bytesCached;
  all.allocations = allocations;
  all.pool_hits = hits;
  return all;
}

} // namespace tessera::runtime
