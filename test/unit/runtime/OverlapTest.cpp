// Overlap of strided views against counting every byte.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/Overlap.h"

#include "tessera-c/runtime.h"
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <vector>

using namespace tessera::runtime;

namespace {
struct Sample {
  const char *data;
  Dtype dtype;
  std::vector<int64_t> sizes, strides;

  MemoryView view() const {
    return {data, dtype, static_cast<int32_t>(sizes.size()), sizes.data(),
            strides.data()};
  }

  /// How many elements cover each bit.
  std::map<int64_t, int> bits() const {
    std::map<int64_t, int> result;
    std::vector<int64_t> index(sizes.size(), 0);
    for (int64_t size : sizes)
      if (size == 0)
        return result;
    int64_t width = dtypeInfo(dtype).bits;
    for (;;) {
      int64_t offset = 0;
      for (size_t axis = 0; axis < sizes.size(); ++axis)
        offset += index[axis] * strides[axis];
      int64_t base = static_cast<int64_t>(reinterpret_cast<intptr_t>(data)) * 8;
      for (int64_t bit = 0; bit < width; ++bit)
        ++result[base + offset * width + bit];
      size_t axis = 0;
      while (axis < sizes.size() && ++index[axis] == sizes[axis])
        index[axis++] = 0;
      if (axis == sizes.size())
        return result;
    }
  }
};
} // namespace

static Sample randomSample(std::mt19937 &random, const char *memory) {
  static const Dtype dtypes[] = {TSR_I8, TSR_F16, TSR_F32, TSR_F4E2M1,
                                 TSR_F6E2M3};
  Sample sample;
  sample.dtype = dtypes[random() % std::size(dtypes)];
  sample.data = memory + random() % 64;
  for (size_t rank = random() % 4; rank > 0; --rank) {
    sample.sizes.push_back(random() % 20 == 0 ? 0 : 1 + random() % 5);
    sample.strides.push_back(static_cast<int64_t>(random() % 25) - 12);
  }
  return sample;
}

TEST(Overlap, AgreesWithCountingBits) {
  static char memory[4096];
  std::mt19937 random(3);
  int outcomes[2] = {}, selfOutcomes[2] = {};
  for (int i = 0; i < 20000; ++i) {
    Sample a = randomSample(random, memory + 2000);
    Sample b = randomSample(random, memory + 2000);
    auto bitsA = a.bits(), bitsB = b.bits();
    bool expected = false;
    for (auto &[bit, n] : bitsA)
      expected |= bitsB.count(bit) > 0;
    ASSERT_EQ(overlapOf(a.view(), b.view()),
              expected ? Overlap::Certain : Overlap::None)
        << i;
    ++outcomes[expected];
    bool expectedSelf = false;
    for (auto &[bit, n] : bitsA)
      expectedSelf |= n > 1;
    ASSERT_EQ(selfOverlapOf(a.view()),
              expectedSelf ? Overlap::Certain : Overlap::None)
        << i;
    ++selfOutcomes[expectedSelf];
    // The interval is the smallest one that holds all bits.
    BitInterval interval;
    ASSERT_TRUE(bitInterval(a.view(), interval));
    ASSERT_EQ(interval.isEmpty(), bitsA.empty());
    if (!bitsA.empty()) {
      ASSERT_EQ(interval.begin, bitsA.begin()->first);
      ASSERT_EQ(interval.end, bitsA.rbegin()->first + 1);
    }
  }
  for (int n : {outcomes[0], outcomes[1], selfOutcomes[0], selfOutcomes[1]})
    EXPECT_GT(n, 1000);
}

/// An address, without the memory that would belong to it.
static const char *at(uintptr_t offset) {
  return reinterpret_cast<const char *>((uintptr_t{1} << 32) + offset);
}

TEST(Overlap, SlicesOfLargeArraysAreDecidedExactly) {
  // Heads 0-3 and 4-7 of a [64, 2048, 8, 128] array, interleaved in memory.
  Sample a{at(0), TSR_F32, {64, 2048, 4, 128}, {2097152, 1024, 128, 1}};
  Sample b = a;
  b.data = at(4 * 128 * 4);
  EXPECT_EQ(overlapOf(a.view(), b.view()), Overlap::None);
  b.data = at(4 * 128 * 4 - 4);
  EXPECT_EQ(overlapOf(a.view(), b.view()), Overlap::Certain);
  // The upper half of one transposed against the lower half.
  Sample c{at(0), TSR_F32, {1000, 500}, {1, 1000}};
  Sample d{at(500 * 1000 * 4), TSR_F32, {500, 1000}, {1000, 1}};
  EXPECT_EQ(overlapOf(c.view(), d.view()), Overlap::None);
  // Even and odd elements.
  Sample even{at(0), TSR_F32, {1000000}, {2}};
  Sample odd{at(4), TSR_F32, {1000000}, {2}};
  EXPECT_EQ(overlapOf(even.view(), odd.view()), Overlap::None);
}

TEST(Overlap, HardQuestionsEndInTime) {
  // A subset sum of 32 large numbers: too many cases to try, so the answer is
  // that nobody knows, and it comes at once.
  std::mt19937_64 random(1);
  Sample a{at(0), TSR_I8, {}, {}}, b = a;
  uintptr_t middle = 0;
  for (int i = 0; i < 16; ++i)
    for (Sample *sample : {&a, &b}) {
      auto stride = static_cast<int64_t>(random() >> 24);
      sample->sizes.push_back(2);
      sample->strides.push_back(sample == &a ? stride : -stride);
      middle += static_cast<uintptr_t>(stride) / 2;
    }
  b.data = at(middle);
  EXPECT_EQ(overlapOf(a.view(), b.view()), Overlap::Possible);
}

TEST(Overlap, HugeSpansAreRefused) {
  BitInterval interval;
  Sample a{nullptr, TSR_I8, {2, 2}, {int64_t{1} << 62, int64_t{1} << 62}};
  EXPECT_FALSE(bitInterval(a.view(), interval));
  a.strides = {INT64_MIN, 1};
  EXPECT_FALSE(bitInterval(a.view(), interval));
}
