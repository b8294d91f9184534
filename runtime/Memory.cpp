// Memory for temporaries: a pool of 64-byte aligned blocks, and scratch memory
// per thread.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes are rounded up to four classes per power of two (at most 25 % waste),
// so that a program whose shapes vary a little finds its blocks again. A block
// is preceded by a 64-byte header that knows its class. Blocks from 2 MiB on
// are mapped at huge-page boundaries, so that touching them first costs one
// fault per 2 MiB where the system has such pages.
#include "runtime/Memory.h"

#include "runtime/Device.h"

#include "tessera-c/runtime.h"
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define TESSERA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TESSERA_ASAN 1
#endif
#endif
#ifdef TESSERA_ASAN
#include <sanitizer/asan_interface.h>
#define TESSERA_POISON(memory, bytes) ASAN_POISON_MEMORY_REGION(memory, bytes)
#define TESSERA_UNPOISON(memory, bytes)                                        \
  ASAN_UNPOISON_MEMORY_REGION(memory, bytes)
#else
#define TESSERA_POISON(memory, bytes) ((void)0)
#define TESSERA_UNPOISON(memory, bytes) ((void)0)
#endif

namespace tessera::runtime {

static constexpr size_t alignment = 64;
static constexpr unsigned minShift = 8; // the smallest class is 256 bytes
static constexpr unsigned numClasses = 4 * (62 - minShift);

namespace {
struct alignas(alignment) BlockHeader {
  BlockHeader *next;
  size_t capacity; // usable bytes
  unsigned sizeClass;

  void *memory() { return this + 1; }
};
static_assert(sizeof(BlockHeader) == alignment);

struct Pool {
  std::mutex mutex;
  BlockHeader *free[numClasses] = {};
  uint64_t bytesInUse = 0, peakBytesInUse = 0, bytesCached = 0;
  uint64_t allocations = 0, hits = 0;
  uint64_t cacheLimit = defaultCacheLimit();

  /// An eighth of the machine's memory, at most 4 GiB.
  static uint64_t defaultCacheLimit() {
    long pages = sysconf(_SC_PHYS_PAGES), pageSize = sysconf(_SC_PAGESIZE);
    uint64_t physical =
        pages > 0 && pageSize > 0
            ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(pageSize)
            : uint64_t{8} << 30;
    return std::min(physical / 8, uint64_t{4} << 30);
  }
};
} // namespace

/// Never destroyed: threads may give memory back while the process ends.
static Pool &pool() {
  static Pool &instance = *new Pool;
  return instance;
}

//===----------------------------------------------------------------------===//
// Blocks of the system
//===----------------------------------------------------------------------===//

static constexpr size_t hugePage = size_t{2} << 20;

static bool isMapped(size_t capacity) { return capacity >= hugePage; }

static size_t mappedSize(size_t capacity) {
  constexpr size_t page = 4096;
  return (capacity + sizeof(BlockHeader) + page - 1) / page * page;
}

/// Memory that begins at a huge page; nobody has touched it.
static void *mapAtHugePage(size_t bytes) {
  size_t reserved = bytes + hugePage;
  void *raw = mmap(nullptr, reserved, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED)
    return nullptr;
  auto start = reinterpret_cast<uintptr_t>(raw);
  uintptr_t first = (start + hugePage - 1) / hugePage * hugePage;
  if (first > start)
    munmap(raw, first - start);
  if (size_t rest = start + reserved - (first + bytes))
    munmap(reinterpret_cast<void *>(first + bytes), rest);
  auto *memory = reinterpret_cast<void *>(first);
  madvise(memory, bytes, MADV_HUGEPAGE); // refused: small pages, no harm
  return memory;
}

static BlockHeader *takeFromSystem(size_t capacity) {
  void *raw =
      isMapped(capacity)
          ? mapAtHugePage(mappedSize(capacity))
          : std::aligned_alloc(alignment, capacity + sizeof(BlockHeader));
  return static_cast<BlockHeader *>(raw);
}

static void giveToSystem(BlockHeader *block) {
  size_t capacity = block->capacity;
  TESSERA_UNPOISON(block->memory(), capacity);
  if (isMapped(capacity))
    munmap(block, mappedSize(capacity));
  else
    std::free(block);
}

//===----------------------------------------------------------------------===//
// The pool
//===----------------------------------------------------------------------===//

/// Class c holds 2^(minShift + c / 4) * (4 + c % 4) / 4 bytes.
static size_t classCapacity(unsigned sizeClass) {
  return (size_t{4} + sizeClass % 4) << (minShift - 2 + sizeClass / 4);
}

static unsigned classOf(size_t bytes) {
  if (bytes <= size_t{1} << minShift)
    return 0;
  unsigned shift = static_cast<unsigned>(std::bit_width(bytes - 1)) - 1;
  size_t quarter = ((bytes - 1) >> (shift - 2)) & 3;
  return (shift - minShift) * 4 + static_cast<unsigned>(quarter) + 1;
}

size_t poolCapacity(size_t bytes) { return classCapacity(classOf(bytes)); }

void *poolAllocate(size_t bytes) {
  if (bytes > size_t{1} << 60)
    return nullptr;
  unsigned sizeClass = classOf(bytes);
  Pool &p = pool();
  BlockHeader *block = nullptr;
  {
    std::lock_guard lock(p.mutex);
    ++p.allocations;
    block = p.free[sizeClass];
    if (block) {
      p.free[sizeClass] = block->next;
      p.bytesCached -= block->capacity;
      ++p.hits;
      p.bytesInUse += block->capacity;
      p.peakBytesInUse = std::max(p.peakBytesInUse, p.bytesInUse);
    }
  }
  if (!block) {
    size_t capacity = classCapacity(sizeClass);
    block = takeFromSystem(capacity);
    if (!block)
      return nullptr;
    block->capacity = capacity;
    block->sizeClass = sizeClass;
    std::lock_guard lock(p.mutex);
    p.bytesInUse += capacity;
    p.peakBytesInUse = std::max(p.peakBytesInUse, p.bytesInUse);
  }
  // What was not asked for stays poisoned, so overruns are found.
  TESSERA_POISON(block->memory(), block->capacity);
  TESSERA_UNPOISON(block->memory(), bytes);
  return block->memory();
}

void poolDeallocate(void *memory) {
  if (!memory)
    return;
  BlockHeader *block = static_cast<BlockHeader *>(memory) - 1;
  Pool &p = pool();
  TESSERA_POISON(memory, block->capacity);
  {
    std::lock_guard lock(p.mutex);
    p.bytesInUse -= block->capacity;
    if (p.bytesCached + block->capacity <= p.cacheLimit) {
      p.bytesCached += block->capacity;
      block->next = p.free[block->sizeClass];
      p.free[block->sizeClass] = block;
      return;
    }
  }
  giveToSystem(block);
}

void *poolReallocate(void *memory, size_t bytes) {
  if (!memory)
    return poolAllocate(bytes);
  size_t capacity = (static_cast<BlockHeader *>(memory) - 1)->capacity;
  if (capacity == classCapacity(classOf(bytes))) {
    TESSERA_POISON(memory, capacity);
    TESSERA_UNPOISON(memory, bytes);
    return memory;
  }
  void *moved = poolAllocate(bytes);
  if (!moved)
    return nullptr;
  TESSERA_UNPOISON(memory, capacity);
  std::memcpy(moved, memory, std::min(bytes, capacity));
  poolDeallocate(memory);
  return moved;
}

/// Gives cached blocks back, the largest first, until `limit` bytes are left.
static void shrinkCache(Pool &p, uint64_t limit) {
  for (unsigned sizeClass = numClasses; sizeClass-- > 0;)
    while (p.bytesCached > limit && p.free[sizeClass]) {
      BlockHeader *block = p.free[sizeClass];
      p.free[sizeClass] = block->next;
      p.bytesCached -= block->capacity;
      giveToSystem(block);
    }
}

namespace {
struct Scratch {
  void *memory = nullptr;
  size_t capacity = 0;
  ~Scratch() { poolDeallocate(memory); }
};
} // namespace

void *threadScratch(size_t bytes) {
  static thread_local Scratch scratch;
  if (bytes <= scratch.capacity)
    return bytes ? scratch.memory : nullptr;
  poolDeallocate(scratch.memory);
  scratch.memory = poolAllocate(bytes);
  scratch.capacity = scratch.memory ? bytes : 0;
  return scratch.memory;
}

namespace {
class CpuDevice final : public Device {
public:
  tsr_status allocate(size_t bytes, void *, void *&memory) override {
    memory = poolAllocate(bytes);
    return nullptr;
  }
  void deallocate(void *memory, void *) override { poolDeallocate(memory); }
  tsr_status read(void *to, const void *from, size_t bytes, void *) override {
    std::memcpy(to, from, bytes);
    return nullptr;
  }
};
} // namespace

Device &cpuDevice() {
  static CpuDevice device;
  return device;
}

void lockPoolForFork() { pool().mutex.lock(); }
void unlockPoolAfterFork() { pool().mutex.unlock(); }

} // namespace tessera::runtime

using namespace tessera::runtime;

void *tsr_allocate(size_t bytes) { return poolAllocate(bytes); }

void tsr_deallocate(void *memory) { poolDeallocate(memory); }

void tsr_get_memory_stats(tsr_memory_stats *stats) {
  if (!stats)
    return;
  Pool &p = pool();
  tsr_memory_stats all{};
  {
    std::lock_guard lock(p.mutex);
    all.bytes_in_use = p.bytesInUse;
    all.peak_bytes_in_use = p.peakBytesInUse;
    all.bytes_cached = p.bytesCached;
    all.allocations = p.allocations;
    all.pool_hits = p.hits;
  }
  all.struct_size = stats->struct_size;
  std::memcpy(stats, &all, std::min(stats->struct_size, sizeof all));
}

void tsr_release_cached_memory(void) {
  Pool &p = pool();
  std::lock_guard lock(p.mutex);
  shrinkCache(p, 0);
}

void tsr_set_memory_cache_limit(uint64_t bytes) {
  Pool &p = pool();
  std::lock_guard lock(p.mutex);
  p.cacheLimit = bytes;
  shrinkCache(p, bytes);
}
