// Layouts of a GPU block: coverage, fragments, bank conflicts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Support/Layout/GpuTiles.h"

#include "compiler/Support/Layout/Instances.h"
#include "compiler/Support/Layout/Queries.h"

#include <gtest/gtest.h>
#include <set>

using namespace tessera::layout;

/// Every position of the tile is held by somebody, and register and thread
/// parts of a coordinate share no bit.
static void expectCovers(const Layout &layout, std::vector<int64_t> shape) {
  std::set<Index> held;
  for (const Index &place : layout.domain()) {
    Index at = *layout.apply(place);
    Index reg = *layout.apply({place[0], 0, 0});
    Index thread = *layout.apply({0, place[1], place[2]});
    for (size_t d = 0; d < at.size(); ++d) {
      EXPECT_EQ(at[d], reg[d] + thread[d]) << layout.print();
      EXPECT_EQ(reg[d] & thread[d], 0) << layout.print();
    }
    held.insert(at);
  }
  Index at(shape.size(), 0);
  int64_t missing = 0;
  for (at[0] = 0; at[0] < shape[0]; ++at[0])
    for (int64_t j = 0; j < (shape.size() > 1 ? shape[1] : 1); ++j) {
      if (shape.size() > 1)
        at[1] = j;
      missing += !held.count(at);
    }
  EXPECT_EQ(missing, 0) << layout.print();
}

TEST(GpuTiles, CoverAnyShape) {
  for (int64_t warps : {1, 4})
    for (auto [m, n] : {std::pair<int64_t, int64_t>{128, 128},
                        {64, 64},
                        {48, 80},
                        {16, 8},
                        {7, 3},
                        {128, 96}})
      for (bool rowsOnly : {false, true}) {
        WarpGrid grid = chooseWarpGrid(m, n, warps, rowsOnly);
        EXPECT_EQ(grid.count(), warps);
        EXPECT_TRUE(!rowsOnly || grid.columns == 1);
        expectCovers(mmaResult(m, n, grid), {m, n});
        expectCovers(mmaLhs(m, n, grid), {m, n});
        expectCovers(mmaRhs(m, n, grid), {m, n});
        expectCovers(blocked({m, n}, warps), {m, n});
        expectCovers(blocked({m}, warps), {m});
        expectCovers(blockedFor({m, n}, warps, 1, 8), {m, n});
        expectCovers(blockedFor({m, n}, warps, 0, 4), {m, n});
        expectCovers(fmaLhs(blocked({m, n}, warps), 5), {m, 5});
        expectCovers(fmaRhs(blocked({m, n}, warps), 5), {5, n});
      }
}

TEST(GpuTiles, ResultOfOneProductIsOperandOfTheNext) {
  WarpGrid grid = chooseWarpGrid(128, 64, 8, /*rowsOnly=*/true);
  Layout result = mmaResult(128, 64, grid), lhs = mmaLhs(128, 64, grid);
  std::optional<Conversion> same = convert(result, lhs);
  ASSERT_TRUE(same);
  EXPECT_LE(int(same->movement), int(Movement::Registers));
  // With warps side by side it would have to go through shared memory.
  Layout wide = mmaResult(128, 64, {4, 2});
  std::optional<Conversion> far = convert(wide, mmaLhs(128, 64, {4, 2}));
  ASSERT_TRUE(far);
  EXPECT_EQ(int(far->movement), int(Movement::Warps));
}

TEST(GpuTiles, SlicesAgree) {
  // The rows of scores and of the output of attention are held alike.
  Layout scores = mmaResult(128, 64, {8, 1}),
         output = mmaResult(128, 128, {8, 1});
  EXPECT_TRUE(sliced(scores, 1).isEquivalent(sliced(output, 1)));
  EXPECT_EQ(sliced(scores, 1).inSize("register"), 2);
  EXPECT_EQ(sliced(scores, 0).outSize("dim0"), 64);
}

TEST(GpuTiles, SharedTilesHaveNoBankConflicts) {
  for (int64_t rows : {8, 16, 48, 64, 128})
    for (int64_t columns : {16, 32, 48, 64, 80, 96, 128, 256})
      for (int axis : {0, 1}) {
        int64_t d0 = axis == 1 ? rows : columns,
                d1 = axis == 1 ? columns : rows;
        Layout memory = sharedTile(d0, d1, axis, 2);
        EXPECT_TRUE(memory.isBijective()) << memory.print();
        EXPECT_EQ(contiguousAxis(memory), axis);
        EXPECT_EQ(bankConflicts(copyLanes(memory, axis, 2), memory, 2, 8), 0)
            << rows << " x " << columns << " " << memory.print();
        if (d0 % 16 || d1 % 16)
          continue;
        for (const Layout &fragment :
             {mmaLhs(d0, d1, {1, 1}), mmaRhs(d0, d1, {1, 1})}) {
          std::optional<MatrixLoad> load = matrixLoad(fragment, axis);
          ASSERT_TRUE(load);
          EXPECT_EQ(bankConflicts(load->lanes, memory, 2, 8), 0)
              << rows << " x " << columns << " " << memory.print();
        }
      }
}

TEST(GpuTiles, PlainRowsWouldConflict) {
  // What the swizzle is for: the same loads from rows of 64 elements.
  Layout memory = rowMajor(128, 64);
  std::optional<MatrixLoad> load = matrixLoad(mmaLhs(128, 64, {8, 1}), 1);
  ASSERT_TRUE(load);
  EXPECT_EQ(bankConflicts(load->lanes, memory, 2, 8), 28);
}

TEST(GpuTiles, MatrixLoadsMatchTheInstruction) {
  std::optional<MatrixLoad> load = matrixLoad(mmaLhs(16, 16, {1, 1}), 1);
  ASSERT_TRUE(load);
  EXPECT_FALSE(load->transposed);
  EXPECT_EQ(load->matrices, 4);
  Layout rows = ldmatrixX4Addresses().sublayout({"lane"}, {"dim0", "dim1"});
  EXPECT_TRUE(load->lanes.isEquivalent(rows)) << load->lanes.print();
  EXPECT_TRUE(matrixLoad(mmaRhs(32, 8, {1, 1}), 1)->transposed);
  EXPECT_FALSE(matrixLoad(mmaRhs(32, 8, {1, 1}), 0)->transposed);
  EXPECT_EQ(matrixLoad(mmaRhs(16, 8, {1, 1}), 0)->matrices, 2);
  // Three steps along k: pairs of matrices, not four, lie alike everywhere.
  EXPECT_EQ(matrixLoad(mmaRhs(48, 16, {1, 1}), 0)->matrices, 2);
  EXPECT_FALSE(matrixLoad(blocked({16, 16}, 1), 1));
}

TEST(GpuTiles, GroupsAlongMemory) {
  // A row of 64 f16 is 8 lanes of 16 bytes.
  MemoryRuns rows = memoryRuns(blockedFor({64, 64}, 4, 1, 8), 1);
  EXPECT_EQ(rows.vector, 8);
  EXPECT_EQ(rows.run, 64);
  MemoryRuns columns = memoryRuns(blockedFor({64, 64}, 4, 0, 8), 0);
  EXPECT_EQ(columns.vector, 8);
  EXPECT_EQ(columns.run, 64);
  // No thread is left without work, no group without an element.
  EXPECT_EQ(memoryRuns(blockedFor({256}, 4, 0, 8), 0).vector, 2);
  EXPECT_EQ(memoryRuns(blockedFor({64, 12}, 1, 1, 8), 1).vector, 4);
  // A fragment has pairs, 8 neighbours on 4 lanes.
  MemoryRuns fragment = memoryRuns(mmaResult(64, 64, {2, 2}), 1);
  EXPECT_EQ(fragment.vector, 2);
  EXPECT_EQ(fragment.run, 8);
  EXPECT_EQ(memoryRuns(mmaResult(64, 64, {2, 2}), 0).vector, 1);
}
