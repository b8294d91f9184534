// Hardware layouts equal the tables of their manuals.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Support/Layout/Instances.h"

#include "compiler/Support/Layout/Queries.h"

#include <gtest/gtest.h>

namespace tessera::layout {
namespace {

// The formulas of the PTX ISA, "Matrix Fragments for mma.m16n8k16 with
// floating point type": groupID = lane >> 2, threadID_in_group = lane % 4.
TEST(Instances, MmaFragmentA) {
  Layout layout = mmaM16N8K16A();
  for (int64_t lane = 0; lane < 32; ++lane)
    for (int64_t i = 0; i < 8; ++i) {
      int64_t group = lane >> 2, inGroup = lane % 4;
      int64_t row = i < 2 || (4 <= i && i < 6) ? group : group + 8;
      int64_t column = inGroup * 2 + (i & 1) + (i >= 4 ? 8 : 0);
      EXPECT_EQ(*layout.apply({i, lane}), (Index{row, column}));
    }
  EXPECT_TRUE(layout.isBijective());
}

TEST(Instances, MmaFragmentB) {
  Layout layout = mmaM16N8K16B();
  for (int64_t lane = 0; lane < 32; ++lane)
    for (int64_t i = 0; i < 4; ++i) {
      int64_t group = lane >> 2, inGroup = lane % 4;
      int64_t row = inGroup * 2 + (i & 1) + (i >= 2 ? 8 : 0);
      EXPECT_EQ(*layout.apply({i, lane}), (Index{row, group}));
    }
  EXPECT_TRUE(layout.isBijective());
}

TEST(Instances, MmaFragmentC) {
  Layout layout = mmaM16N8K16C();
  for (int64_t lane = 0; lane < 32; ++lane)
    for (int64_t i = 0; i < 4; ++i) {
      int64_t group = lane >> 2, inGroup = lane % 4;
      int64_t row = i < 2 ? group : group + 8;
      EXPECT_EQ(*layout.apply({i, lane}), (Index{row, inGroup * 2 + (i & 1)}));
    }
}

TEST(Instances, LdmatrixGivesFragmentA) {
  EXPECT_EQ(ldmatrixX4Result(), mmaM16N8K16A());
  // Addresses: lanes 0-7 the rows of the first matrix, 8-15 of the second ...
  Layout addresses = ldmatrixX4Addresses();
  for (int64_t lane = 0; lane < 32; ++lane) {
    int64_t matrix = lane / 8;
    EXPECT_EQ(*addresses.apply({0, lane}),
              (Index{lane % 8 + (matrix & 1) * 8, (matrix >> 1) * 8}));
  }
  EXPECT_TRUE(addresses.isBijective());
}

TEST(Instances, RowAndColumnMajor) {
  for (int64_t rows : {1, 4, 6, 16})
    for (int64_t columns : {1, 5, 8}) {
      Layout across = rowMajor(rows, columns),
             down = columnMajor(rows, columns);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          EXPECT_EQ(*across.apply({i, j}), Index{i * columns + j});
          EXPECT_EQ(*down.apply({i, j}), Index{j * rows + i});
        }
    }
}

TEST(Instances, XorSwizzleIsItsFormula) {
  for (int64_t vec : {1, 4, 8})
    for (int64_t perPhase : {1, 2, 4})
      for (int64_t maxPhase : {1, 2, 8}) {
        Layout layout = xorSwizzle(16, 64, vec, perPhase, maxPhase);
        EXPECT_TRUE(layout.isBijective());
        for (int64_t row = 0; row < 16; ++row)
          for (int64_t column = 0; column < 64; ++column) {
            int64_t phase = row / perPhase % maxPhase;
            int64_t group = (column / vec) ^ phase;
            EXPECT_EQ(*layout.apply({row, column}),
                      Index{row * 64 + group * vec + column % vec});
          }
      }
}

TEST(Instances, TmaSwizzlesAddressBits) {
  // In bytes: bits 4.. of the address are XORed with bits 7.., as many as the
  // mode has 16-byte chunks in its row.
  for (int64_t mode : {32, 64, 128})
    for (int64_t bytes : {1, 2, 4}) {
      Layout box = tmaSwizzle(16, bytes, mode);
      int64_t columns = mode / bytes, chunks = mode / 16;
      for (int64_t row = 0; row < 16; ++row)
        for (int64_t column = 0; column < columns; ++column) {
          int64_t address = row * mode + column * bytes;
          address ^= (address >> 7) % chunks << 4;
          EXPECT_EQ(*box.apply({row, column}), Index{address / bytes});
        }
    }
}

TEST(Instances, AmxTiles) {
  for (int64_t bytes : {1, 2, 4}) {
    int64_t group = 4 / bytes, depth = 64 / bytes;
    Layout a = amxTileA(bytes), b = amxTileB(bytes);
    for (int64_t m = 0; m < 16; ++m)
      for (int64_t k = 0; k < depth; ++k) {
        EXPECT_EQ(*a.apply({m, k}), Index{m * depth + k});
        EXPECT_EQ(*b.apply({k, m}),
                  Index{k / group * 16 * group + m * group + k % group});
      }
    EXPECT_TRUE(b.isBijective());
  }
}

TEST(Instances, ChosenSwizzleMakesLdmatrixFree) {
  // 16-bit tiles of 16 rows; ldmatrix reads 16 bytes per lane, down the rows.
  for (int64_t columns : {16, 32, 64, 128, 256}) {
    Swizzle s = chooseSwizzle(columns, 2, 16);
    Layout memory = xorSwizzle(16, columns, s.vec, s.perPhase, s.maxPhase);
    Layout lanes = ldmatrixX4Addresses().sublayout({"lane"}, {"dim0", "dim1"});
    std::optional<Layout> access = lanes.compose(memory);
    ASSERT_TRUE(access);
    EXPECT_EQ(wavefronts(*access, 2, 8), minWavefronts(2, 8)) << columns;
    // Without it, rows of 128 bytes and more collide eightfold.
    std::optional<Layout> plain = lanes.compose(rowMajor(16, columns));
    ASSERT_TRUE(plain);
    int64_t ways = std::min<int64_t>(8, std::max<int64_t>(1, columns / 8));
    EXPECT_EQ(wavefronts(*plain, 2, 8), 4 * ways) << columns;
  }
}

} // namespace
} // namespace tessera::layout
