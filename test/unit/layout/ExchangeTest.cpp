// Tiles that change threads: every element arrives, without bank conflicts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Support/Layout/Exchange.h"

#include "compiler/Support/Layout/GpuTiles.h"

#include <gtest/gtest.h>
#include <set>

using namespace tessera::layout;

static Index at(const Layout &layout, int64_t reg, int64_t lane, int64_t warp) {
  Index place(layout.ins().size(), 0);
  for (auto [name, value] : {std::pair<const char *, int64_t>{"register", reg},
                             {"lane", lane},
                             {"warp", warp}})
    if (std::optional<int> in = layout.findIn(name))
      place[*in] = value;
  return *layout.apply(place);
}

/// Does what generated code does, for every thread, and counts elements that
/// came from the wrong place.
static int64_t wrongElements(const Layout &from, const Layout &to,
                             const std::vector<int64_t> &shape, int64_t warps,
                             const Exchange &plan) {
  int64_t wrong = 0;
  for (int64_t warp = 0; warp < warps; ++warp)
    for (int64_t lane = 0; lane < 32; ++lane)
      for (size_t r = 0; r < plan.sources.size(); ++r) {
        Index wanted = at(to, int64_t(r), lane, warp);
        bool exists = true;
        for (size_t a = 0; a < shape.size(); ++a)
          exists &= wanted[a] < shape[a];
        if (!exists)
          continue;
        int64_t giver = plan.laneOfRegister[r];
        for (int b = 0; b < 5; ++b)
          if (lane >> b & 1)
            giver ^= plan.laneOfLane[b];
        for (size_t b = 0; b < plan.laneOfWarp.size(); ++b)
          if (warp >> b & 1)
            giver ^= plan.laneOfWarp[b];
        size_t choice = 0;
        for (size_t c = 0; c < plan.choices.size(); ++c)
          choice |= size_t((plan.choices[c].warp ? warp : lane) >>
                               plan.choices[c].bit &
                           1)
                    << c;
        int64_t source = plan.sources[r][choice];
        wrong += source < 0 || at(from, source, giver, warp) != wanted;
      }
  return wrong;
}

static std::vector<Layout> layoutsOf(int64_t m, int64_t n, int64_t warps) {
  WarpGrid grid = chooseWarpGrid(m, n, warps, false),
           rows = chooseWarpGrid(m, n, warps, true);
  return {blocked({m, n}, warps), blocked({n, m}, warps).transposed({1, 0}),
          mmaResult(m, n, grid),  mmaResult(m, n, rows),
          mmaLhs(m, n, rows),     mmaResult(n, m, grid).transposed({1, 0})};
}

TEST(Exchange, EveryElementArrives) {
  int64_t byRegisters = 0, byShuffles = 0, byShared = 0;
  for (int64_t warps : {1, 4})
    for (auto [m, n] : {std::pair<int64_t, int64_t>{16, 8},
                        {33, 17},
                        {64, 64},
                        {7, 130},
                        {1, 65}}) {
      std::vector<Layout> all = layoutsOf(m, n, warps);
      for (const Layout &from : all)
        for (const Layout &to : all) {
          Exchange plan = planExchange(from, to, {m, n}, 4);
          byRegisters += plan.way == Exchange::Way::Registers;
          byShuffles += plan.way == Exchange::Way::Shuffles;
          byShared += plan.way == Exchange::Way::Shared;
          if (plan.shuffleCost < 0)
            EXPECT_EQ(plan.way, Exchange::Way::Shared);
          else
            EXPECT_EQ(wrongElements(from, to, {m, n}, warps, plan), 0)
                << from.print() << " -> " << to.print();
          EXPECT_GE(plan.sharedCost, 0);
        }
    }
  // All three ways occur.
  EXPECT_GT(byRegisters, 0);
  EXPECT_GT(byShuffles, 0);
  EXPECT_GT(byShared, 0);
}

TEST(Exchange, SlicesOfOneTile) {
  for (int64_t warps : {1, 4}) {
    Layout tile = blocked({64, 32}, warps);
    WarpGrid grid = chooseWarpGrid(64, 32, warps, false);
    for (int axis : {0, 1}) {
      std::vector<int64_t> shape = {axis ? 64 : 32};
      for (const Layout &from :
           {sliced(tile, axis), sliced(mmaResult(64, 32, grid), axis)})
        for (const Layout &to : {blocked(shape, warps), sliced(tile, axis)}) {
          Exchange plan = planExchange(from, to, shape, 4);
          if (plan.shuffleCost >= 0)
            EXPECT_EQ(wrongElements(from, to, shape, warps, plan), 0);
        }
    }
  }
}

TEST(Exchange, TheSameIsFree) {
  Layout tile = mmaResult(64, 64, {2, 2});
  Exchange plan = planExchange(tile, tile, {64, 64}, 4);
  EXPECT_EQ(plan.way, Exchange::Way::Registers);
  EXPECT_EQ(plan.registerCost, 0);
  // Lanes that hold the same element keep to themselves, too.
  Layout few = blocked({7}, 4);
  EXPECT_EQ(planExchange(few, few, {7}, 4).way, Exchange::Way::Registers);
}

// An accumulator of 16-bit products is the left operand of the next one.
TEST(Exchange, AccumulatorToOperandStaysInRegisters) {
  Exchange plan = planExchange(mmaResult(64, 64, {4, 1}),
                               mmaLhs(64, 64, {4, 1}), {64, 64}, 2);
  EXPECT_EQ(plan.way, Exchange::Way::Registers);
}

// No two elements share a place, and all lie inside.
TEST(Exchange, BoardsAreInjective) {
  for (auto [m, n] : {std::pair<int64_t, int64_t>{33, 65}, {1, 7}, {64, 16}})
    for (const Layout &to : layoutsOf(m, n, 4)) {
      Board board = chooseBoard({m, n}, {layoutsOf(m, n, 4)[2]}, {to}, 4);
      std::set<int64_t> places;
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          int64_t place = board.placeOf({i, j});
          EXPECT_LT(place, board.elements);
          EXPECT_TRUE(places.insert(place).second) << i << ", " << j;
        }
    }
}

TEST(Exchange, SharedMemoryHasNoConflicts) {
  for (int64_t bytes : {2, 4, 8})
    for (int64_t warps : {1, 4})
      for (auto [m, n] :
           {std::pair<int64_t, int64_t>{64, 64}, {128, 32}, {33, 65}}) {
        std::vector<Layout> all = layoutsOf(m, n, warps);
        for (const Layout &from : all)
          for (const Layout &to : all) {
            Board board = chooseBoard({m, n}, {from}, {to}, bytes);
            EXPECT_EQ(board.conflicts, 0)
                << bytes << " bytes: " << from.print() << " -> " << to.print();
            EXPECT_GE(board.elements, m * n);
          }
      }
  // Fragments of f16 to 16-byte groups of rows: words in, 4 words out.
  for (auto [m, n] :
       {std::pair<int64_t, int64_t>{128, 128}, {64, 32}, {128, 64}}) {
    Layout from = mmaResult(m, n, chooseWarpGrid(m, n, 4, false)),
           to = blockedFor({m, n}, 4, 1, 8);
    Board board = chooseBoard({m, n}, {from}, {to}, 2);
    EXPECT_EQ(board.conflicts, 0);
    EXPECT_EQ(boardVector(from, board, {m, n}, 2), 2);
    EXPECT_EQ(boardVector(to, board, {m, n}, 2), 8);
    EXPECT_EQ(boardVector(to, rowMajorBoard({m, n}, true), {m, n}, 2), 1);
  }
  // A gap of one after each row, as by hand.
  Layout rows = blocked({32, 32}, 1), columns = rows.transposed({1, 0});
  Board board = chooseBoard({32, 32}, {rows}, {columns}, 4);
  EXPECT_EQ(board.placeOf({1, 0}), 33);
  EXPECT_EQ(board.placeOf({5, 3}), 33 * 5 + 3);
}
