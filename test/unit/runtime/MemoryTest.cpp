// The pool: alignment, reuse, statistics, limits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tessera-c/runtime.h"
#include <cstring>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

static tsr_memory_stats stats() {
  tsr_memory_stats result{};
  result.struct_size = sizeof result;
  tsr_get_memory_stats(&result);
  return result;
}

TEST(Memory, EverySizeIsAlignedAndUsable) {
  std::vector<void *> blocks;
  for (size_t bytes = 0; bytes < 5000; bytes += 7) {
    void *memory = tsr_allocate(bytes);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
    std::memset(memory, 0x5a, bytes); // asan sees if it is too small
    blocks.push_back(memory);
  }
  for (size_t shift = 5; shift < 24; ++shift)
    for (size_t bytes : {(size_t{1} << shift) - 1, size_t{1} << shift,
                         (size_t{1} << shift) + 1}) {
      void *memory = tsr_allocate(bytes);
      std::memset(memory, 0x5a, bytes);
      blocks.push_back(memory);
    }
  for (void *block : blocks)
    tsr_deallocate(block);
}

TEST(Memory, BlocksAreUsedAgain) {
  tsr_deallocate(tsr_allocate(100000));
  tsr_memory_stats before = stats();
  void *memory = tsr_allocate(99000);
  tsr_memory_stats during = stats();
  EXPECT_EQ(during.pool_hits, before.pool_hits + 1);
  EXPECT_EQ(during.allocations, before.allocations + 1);
  uint64_t taken = during.bytes_in_use - before.bytes_in_use;
  EXPECT_GE(taken, 99000u);
  EXPECT_LE(taken, 99000u * 5 / 4 + 64); // at most a quarter is wasted
  EXPECT_EQ(before.bytes_cached - during.bytes_cached, taken);
  EXPECT_GE(during.peak_bytes_in_use, during.bytes_in_use);
  tsr_deallocate(memory);
  EXPECT_EQ(stats().bytes_in_use, before.bytes_in_use);
}

TEST(Memory, ImpossibleSizesGiveNull) {
  EXPECT_EQ(tsr_allocate(~size_t{0}), nullptr);
  EXPECT_EQ(tsr_allocate(size_t{1} << 62), nullptr);
}

TEST(Memory, NullMayBeFreed) { tsr_deallocate(nullptr); }

TEST(Memory, CacheCanBeEmptiedAndLimited) {
  tsr_deallocate(tsr_allocate(1 << 20));
  EXPECT_GT(stats().bytes_cached, 0u);
  tsr_release_cached_memory();
  EXPECT_EQ(stats().bytes_cached, 0u);
  tsr_set_memory_cache_limit(1 << 16);
  tsr_deallocate(tsr_allocate(1 << 20));
  EXPECT_EQ(stats().bytes_cached, 0u);
  tsr_deallocate(tsr_allocate(1 << 10));
  EXPECT_GT(stats().bytes_cached, 0u);
  tsr_set_memory_cache_limit(uint64_t{1} << 30);
}

TEST(Memory, LargeBlocksBeginAtHugePages) {
  for (size_t bytes : {size_t{2} << 20, size_t{5} << 20, size_t{64} << 20}) {
    void *memory = tsr_allocate(bytes);
    ASSERT_NE(memory, nullptr);
    // The header of 64 bytes lies before it.
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % (2 << 20), 64u);
    std::memset(memory, 0x5a, bytes);
    tsr_deallocate(memory);
    EXPECT_EQ(tsr_allocate(bytes), memory);
    tsr_deallocate(memory);
  }
  tsr_release_cached_memory();
}

TEST(Memory, ALowerLimitEmptiesTheCache) {
  tsr_release_cached_memory();
  void *large = tsr_allocate(4 << 20), *small = tsr_allocate(1 << 12);
  tsr_deallocate(large);
  tsr_deallocate(small);
  EXPECT_GE(stats().bytes_cached, (4u << 20) + (1u << 12));
  tsr_set_memory_cache_limit(1 << 16);
  EXPECT_LE(stats().bytes_cached, 1u << 16);
  EXPECT_GE(stats().bytes_cached, 1u << 12); // the largest go first
  tsr_set_memory_cache_limit(uint64_t{1} << 30);
}

TEST(Memory, BlocksInUseOutliveTheCache) {
  auto *memory = static_cast<unsigned char *>(tsr_allocate(3 << 20));
  std::memset(memory, 0x77, 3 << 20);
  tsr_release_cached_memory();
  EXPECT_EQ(memory[0], 0x77);
  EXPECT_EQ(memory[(3 << 20) - 1], 0x77);
  tsr_deallocate(memory);
}

TEST(Memory, OlderStructsAreFilledAsFarAsTheyGo) {
  struct {
    tsr_memory_stats stats;
    uint64_t guard;
  } older{};
  older.stats.struct_size = offsetof(tsr_memory_stats, bytes_cached);
  older.stats.bytes_cached = 12345;
  tsr_get_memory_stats(&older.stats);
  EXPECT_EQ(older.stats.bytes_cached, 12345u);
  EXPECT_EQ(older.stats.struct_size, offsetof(tsr_memory_stats, bytes_cached));
}

TEST(Memory, ManyThreads) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t)
    threads.emplace_back([t] {
      for (unsigned i = 0; i < 2000; ++i) {
        size_t bytes = (i * 97 + t * 13) % 9000 + 1;
        auto *memory = static_cast<unsigned char *>(tsr_allocate(bytes));
        std::memset(memory, static_cast<int>(t), bytes);
        EXPECT_EQ(memory[bytes - 1], t);
        tsr_deallocate(memory);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}
