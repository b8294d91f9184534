// Register tiles fit their machine; panels equal the textbook's formulas.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Support/Layout/CpuTiles.h"

#include "compiler/Support/Layout/Instances.h"

#include <gtest/gtest.h>

namespace tessera::layout {
namespace {

TEST(CpuTiles, TilesFitTheRegisters) {
  for (const VectorMachine &machine :
       {avx512Machine(4), avx512Machine(8), avx2Machine(4)}) {
    RegisterTile best = chooseRegisterTile(machine);
    int64_t forA = machine.broadcastOperand ? 0 : 1;
    EXPECT_LE(best.accumulators() + best.vectors + forA, machine.registers);
    // Enough independent multiply-adds to hide their latency.
    EXPECT_GE(best.accumulators(), machine.fmaPerCycle * machine.fmaLatency);
    for (const RegisterTile &tile : registerTiles(machine)) {
      EXPECT_LE(tile.accumulators() + tile.vectors + forA, machine.registers);
      EXPECT_GE(tile.loadsPerFma(), best.loadsPerFma());
    }
  }
  EXPECT_EQ(chooseRegisterTile(avx512Machine(4)), (RegisterTile{7, 4, 16}));
  EXPECT_EQ(chooseRegisterTile(avx2Machine(4)), (RegisterTile{4, 3, 8}));
  EXPECT_EQ(chooseAmxBlock().tilesM, 2);
  EXPECT_EQ(chooseAmxBlock().tilesN, 2);
}

TEST(CpuTiles, SmallResultsChooseTheTileThatWastesLeast) {
  // 12 x 16: one register per row, and a divisor of 12 rows.
  RegisterTile tile = chooseRegisterTile(avx512Machine(4), 12, 16);
  EXPECT_EQ(tile.vectors, 1);
  EXPECT_EQ(12 % tile.mr, 0);
  // All 80 columns at once, not 5 times 16.
  EXPECT_EQ(chooseRegisterTile(avx512Machine(4), 64, 80),
            (RegisterTile{4, 5, 16}));
  EXPECT_LE(chooseRegisterTile(avx512Machine(4), 64, 160).vectors, 4);
  // One row: as many columns as the row has.
  EXPECT_EQ(chooseRegisterTile(avx512Machine(4), 1, 64).mr, 1);
}

TEST(CpuTiles, AccumulatorsCoverTheTile) {
  RegisterTile tile = chooseRegisterTile(avx512Machine(4));
  Layout layout = accumulatorLayout(tile);
  EXPECT_TRUE(layout.isBijective());
  EXPECT_EQ(layout.outSize("dim0"), tile.mr);
  EXPECT_EQ(layout.outSize("dim1"), tile.nr());
  EXPECT_EQ(layout.inSize("register"), tile.accumulators());
  // Register r is row r / vectors; a register is contiguous along n.
  EXPECT_EQ(*layout.apply({3, 2 * tile.vectors + 1}),
            (Index{2, tile.lanes + 3}));
  EXPECT_EQ(layout.contiguous("element", "dim1"), tile.lanes);
}

TEST(CpuTiles, PanelsEqualTheirFormula) {
  for (int64_t group : {1, 2, 4})
    for (int64_t width : {6, 8, 14}) {
      const int64_t wide = 3 * width - 1, deep = 10;
      int64_t groups = (deep + group - 1) / group;
      Layout a = packedA(wide, deep, width, group);
      Layout b = packedB(deep, wide, width, group);
      for (int64_t w = 0; w < 3 * width; ++w)
        for (int64_t k = 0; k < groups * group; ++k) {
          int64_t offset =
              ((w / width * groups + k / group) * width + w % width) * group +
              k % group;
          EXPECT_EQ(*a.apply({w, k}), Index{offset});
          EXPECT_EQ(*b.apply({k, w}), Index{offset});
        }
      EXPECT_TRUE(a.isBijective());
      EXPECT_EQ(a.outSize("offset"), 3 * width * groups * group);
    }
}

TEST(CpuTiles, LoopsVisitThePanelInOrder) {
  for (int64_t group : {1, 2})
    for (int64_t width : {6, 16}) {
      Layout panel = packedB(12, 40, width, group);
      auto loops = packLoops(panel);
      ASSERT_TRUE(loops);
      // Running the loops gives offsets 0, 1, 2, ... and the layout's sources.
      std::vector<int64_t> at(loops->size(), 0);
      int64_t expected = 0;
      while (true) {
        int64_t offset = 0, k = 0, n = 0;
        for (size_t l = 0; l < at.size(); ++l) {
          const PackLoop &loop = (*loops)[l];
          offset += at[l] * loop.offsetStep;
          (loop.dim == "dim0" ? k : n) += at[l] * loop.sourceStep;
        }
        EXPECT_EQ(offset, expected++);
        EXPECT_EQ(*panel.apply({k, n}), Index{offset});
        size_t l = at.size();
        while (l > 0 && ++at[l - 1] == (*loops)[l - 1].extent)
          at[--l] = 0;
        if (l == 0)
          break;
      }
      EXPECT_EQ(expected, panel.count());
    }
  // Atoms become loops too; a swizzle cannot.
  EXPECT_EQ(packLoops(rowMajor(4, 8)),
            (std::vector<PackLoop>{{"dim0", 4, 1, 8}, {"dim1", 8, 1, 1}}));
  EXPECT_FALSE(packLoops(xorSwizzle(8, 8, 1, 1, 8)));
}

TEST(CpuTiles, RunsAndTransposes) {
  Layout b = packedB(100, 96, 48), a = packedA(100, 96, 6);
  // Row-major B is copied 48 columns at a time; row-major A is transposed.
  EXPECT_EQ(contiguousRun(b, "dim1"), 48);
  EXPECT_FALSE(needsTranspose(b, "dim1"));
  EXPECT_TRUE(needsTranspose(b, "dim0"));
  EXPECT_TRUE(needsTranspose(a, "dim1"));
  EXPECT_EQ(contiguousRun(a, "dim0"), 6);
  // Pairs along k: neither direction is a plain copy beyond the pair.
  Layout pairs = packedB(100, 96, 16, 2);
  EXPECT_EQ(contiguousRun(pairs, "dim0"), 2);
  EXPECT_EQ(contiguousRun(pairs, "dim1"), 1);
  // One panel that holds everything is one run.
  EXPECT_EQ(contiguousRun(packedB(1, 96, 48), "dim1"), 96);
}

TEST(CpuTiles, AmxTileIsAPanel) {
  // The right operand of AMX is a B panel of 16 columns with pairs along k.
  Layout tile = amxTileB(2), panel = packedB(32, 16, 16, 2);
  EXPECT_TRUE(tile.isEquivalent(panel));
}

} // namespace
} // namespace tessera::layout
