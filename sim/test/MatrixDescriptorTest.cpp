// Matrix descriptors: fields, and chunks that do not overlap.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/MatrixDescriptor.h"

#include <gtest/gtest.h>
#include <set>

using namespace tessera::sim;

namespace {

TEST(MatrixDescriptor, Fields) {
  // Of a gemm by Triton: 128-byte swizzle, strides of 16 and 1024 bytes.
  MatrixDescriptor m(4611686293305294848ull | 0x123);
  EXPECT_EQ(m.start, 0x1230u);
  EXPECT_EQ(m.leading, 0u);
  EXPECT_EQ(m.stride, 1024u);
  EXPECT_EQ(m.baseOffset, 0u);
  EXPECT_EQ(m.swizzleBits, 3u);
  EXPECT_EQ(MatrixDescriptor(5ull << 49).baseOffset, 5u);
  EXPECT_EQ(MatrixDescriptor(0).swizzleBits, 0u);
  EXPECT_EQ(MatrixDescriptor(2ull << 62).swizzleBits, 2u);
  EXPECT_EQ(MatrixDescriptor(3ull << 62).swizzleBits, 1u);
}

/// A dense tile fills its bytes, each once.
TEST(MatrixDescriptor, ChunksArePermuted) {
  constexpr uint64_t modes[] = {0, 3, 2, 1}; // by swizzleBits
  for (unsigned bits = 0; bits < 4; ++bits)
    for (bool kMajor : {true, false}) {
      unsigned width = 1u << bits, rows = 64, depth = 8 * width;
      uint64_t atom = 128 * width;
      uint64_t leading = atom, stride = atom; // of what repeats
      if (kMajor && !bits)
        leading = 128 * (rows / 8), stride = 128;
      if (!kMajor && bits)
        leading = atom * (depth / 8);
      if (!kMajor && !bits)
        leading = 128 * (rows / 8);
      MatrixDescriptor m(leading / 16 << 16 | stride / 16 << 32 |
                         modes[bits] << 62);
      std::set<uint32_t> seen;
      for (unsigned mn = 0; mn < rows; mn += kMajor ? 1 : 8)
        for (unsigned k = 0; k < depth; k += kMajor ? 8 : 1)
          seen.insert(m.chunk(kMajor, mn, k, 8));
      EXPECT_EQ(seen.size(), rows * depth / 8) << bits << kMajor;
      EXPECT_EQ(*seen.begin(), 0u);
      EXPECT_EQ(*seen.rbegin(), rows * depth * 2 - 16) << bits << kMajor;
    }
}

} // namespace
