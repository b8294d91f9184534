// Conversions, vector widths and bank conflicts against brute force.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Support/Layout/Queries.h"

#include "compiler/Support/Layout/Instances.h"

#include "test/unit/layout/RandomLayouts.h"
#include <gtest/gtest.h>
#include <map>
#include <set>

namespace tessera::layout {
namespace {

const std::vector<std::string> levels = {"register", "lane", "warp", "block"};

/// The nearest movement that serves every destination place, by looking.
std::optional<Movement> movementByLooking(const Layout &from,
                                          const Layout &to) {
  std::map<Index, std::vector<Index>> holders;
  for (const Index &place : from.domain())
    holders[*from.apply(place)].push_back(place);
  int farthest = 0;
  for (const Index &place : to.domain()) {
    int nearest = 5;
    for (const Index &holder : holders[*to.apply(place)]) {
      int distance = 0;
      for (int level = 0; level < 4; ++level)
        if (holder[size_t(level)] != place[size_t(level)])
          distance = level + 1;
      nearest = std::min(nearest, distance);
    }
    farthest = std::max(farthest, nearest);
  }
  if (farthest == 5)
    return std::nullopt;
  return Movement(farthest);
}

TEST(Queries, ConversionsAgreeWithLooking) {
  RandomLayouts random(21);
  std::map<int, int> seen;
  for (int trial = 0; trial < 6000; ++trial) {
    std::vector<Dim> outs = random.dimsOf({"dim0", "dim1"}, 4);
    std::vector<Dim> fromIns = {{"register", int(random.number(0, 3))},
                                {"lane", int(random.number(0, 3))},
                                {"warp", int(random.number(0, 1))},
                                {"block", int(random.number(0, 1))}};
    Layout from = random.atom(fromIns, outs);
    std::vector<Dim> toIns = fromIns;
    toIns[0].bits = int(random.number(0, 3));
    Layout to = random.atom(toIns, outs);
    // Often something near: registers or lanes of `from` mixed.
    if (trial % 3) {
      std::vector<std::vector<Index>> bases;
      for (size_t level = 0; level < 4; ++level) {
        bases.emplace_back();
        for (int b = 0; b < toIns[level].bits; ++b) {
          Index place(4, 0);
          if (level > 0)
            place[level] = int64_t(1) << b;
          for (int64_t l = 0; l < trial % 3; ++l)
            place[size_t(l)] ^= random.number(0, fromIns[size_t(l)].size() - 1);
          bases.back().push_back(*from.apply(place));
        }
      }
      to = Layout(toIns, outs, bases);
    }
    std::optional<Movement> expected = movementByLooking(from, to);
    std::optional<Conversion> conversion = convert(from, to);
    ASSERT_EQ(conversion.has_value(), expected.has_value())
        << from.print() << "\n"
        << to.print();
    if (!expected) {
      ++seen[-1];
      continue;
    }
    EXPECT_EQ(int(conversion->movement), int(*expected)) << from.print() << "\n"
                                                         << to.print();
    ++seen[int(*expected)];
    for (const Index &place : to.domain()) {
      Index source = *conversion->source.apply(place);
      ASSERT_EQ(from.apply(source), to.apply(place));
      // It does not look farther than the movement says.
      for (int level = int(*expected); level < 4; ++level)
        ASSERT_EQ(source[size_t(level)], place[size_t(level)]);
    }
  }
  for (int kind = -1; kind <= 4; ++kind)
    EXPECT_GT(seen[kind], 20) << kind;
}

TEST(Queries, ConversionOfGrids) {
  // 2x2 copies of an mma result, registers counted in another order.
  Layout c = mmaM16N8K16C();
  Layout rows =
      c.repeated(3, "register", "dim0").repeated(2, "register", "dim1");
  Layout columns =
      c.repeated(2, "register", "dim1").repeated(3, "register", "dim0");
  std::optional<Conversion> conversion = convert(rows, columns);
  ASSERT_TRUE(conversion);
  EXPECT_EQ(conversion->movement, Movement::Registers);
  for (const Index &place : columns.domain()) {
    Index full = {place[0], place[1], 0, 0};
    Index source = *conversion->source.apply(full);
    EXPECT_EQ(rows.apply({source[0], source[1]}), columns.apply(place));
  }
  EXPECT_EQ(convert(rows, rows)->movement, Movement::None);
  EXPECT_FALSE(convert(rows, c)); // another tile
}

TEST(Queries, MmaResultAsOperandNeedsOnlyRegisters) {
  // Flash attention's trick: two C fragments side by side are an A fragment.
  Layout pair = mmaM16N8K16C().product(Layout::identity(2, "register", "dim1"));
  std::optional<Conversion> conversion = convert(pair, mmaM16N8K16A());
  ASSERT_TRUE(conversion);
  EXPECT_EQ(conversion->movement, Movement::None);
  // The transposed tile has its elements in other lanes.
  Layout square = mmaM16N8K16A();
  conversion = convert(square, square.transposed({1, 0}));
  ASSERT_TRUE(conversion);
  EXPECT_EQ(conversion->movement, Movement::Lanes);
  EXPECT_GT(conversion->shuffles, 0);
}

TEST(Queries, ShufflesAreCounted) {
  // Every lane takes its register 0 from the next lane but keeps register 1.
  Layout from({{"register", 1}, {"lane", 2}}, {{"dim0", 3}},
              {{{4}}, {{1}, {2}}});
  Layout swapped({{"register", 1}, {"lane", 2}}, {{"dim0", 3}},
                 {{{4}}, {{2}, {1}}});
  std::optional<Conversion> conversion = convert(from, swapped);
  ASSERT_TRUE(conversion);
  EXPECT_EQ(conversion->movement, Movement::Lanes);
  EXPECT_EQ(conversion->shuffles, 2); // lanes 1 and 2 trade both registers
}

/// Is there a fixed place for every register in aligned runs of `width`, the
/// same in all lanes?
bool vectorsByLooking(const Layout &access, int64_t width) {
  std::map<Index, std::map<int64_t, std::set<int64_t>>> runs;
  std::map<int64_t, int64_t> position;
  for (const Index &place : access.domain()) {
    int64_t offset = (*access.apply(place))[0];
    auto [slot, isNew] = position.insert({place[0], offset % width});
    if (!isNew && slot->second != offset % width)
      return false;
    runs[{place[1]}][offset / width].insert(offset % width);
  }
  for (const auto &[lane, blocks] : runs)
    for (const auto &[block, filled] : blocks)
      if (int64_t(filled.size()) != width)
        return false;
  return true;
}

TEST(Queries, VectorWidthsAgreeWithLooking) {
  RandomLayouts random(22);
  std::map<int64_t, int> seen;
  for (int trial = 0; trial < 6000; ++trial) {
    Layout access = random.atom(random.dims({"register", "lane"}, 3),
                                {{"offset", int(random.number(0, 5))}});
    if (trial % 2)
      access = random.bijection({{"register", 2}}, {{"offset", 2}})
                   .withDims({"lane"}, {})
                   .product(access);
    if (trial % 5 == 0)
      access = *access.withAxis({3, "register", access.inSize("register"),
                                 "offset", 4 * random.number(0, 9)});
    int64_t widest = 1;
    while (widest < 16 && vectorsByLooking(access, widest * 2))
      widest *= 2;
    int64_t found = maxVectorWidth(access, 1);
    // Steps of a grid may happen to fill a run; they are not looked at.
    if (access.isAtom()) {
      EXPECT_EQ(found, widest) << access.print();
    }
    EXPECT_TRUE(found == 1 || vectorsByLooking(access, found))
        << access.print();
    EXPECT_EQ(maxVectorWidth(access, 4), std::min<int64_t>(found, 4));
    ++seen[widest];
  }
  EXPECT_GT(seen.size(), 3u);
}

TEST(Queries, VectorWidthOfKnownAccesses) {
  // mma's C fragment goes to row-major memory two elements at a time.
  Layout store = *mmaM16N8K16C().compose(rowMajor(16, 8));
  EXPECT_EQ(maxVectorWidth(store, 4), 2);
  // Padding by an odd number spoils alignment.
  Layout padded =
      *mmaM16N8K16C().compose(rowMajor(16, 8).withPadding({"offset", 8, 1}));
  EXPECT_EQ(maxVectorWidth(padded, 4), 1);
  // A row of 8 halves per lane: 16 bytes; the limit is the instruction's.
  Layout rows = *ldmatrixX4Addresses().compose(rowMajor(16, 16));
  EXPECT_EQ(maxVectorWidth(rows, 2), 8);
  EXPECT_EQ(maxVectorWidth(rows, 4), 4);
}

/// Wavefronts by the book: per phase, distinct words per bank.
int64_t countWavefronts(const Layout &access, int64_t elementBytes,
                        int64_t vector) {
  int64_t bytes = elementBytes * vector;
  int64_t together = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8, total = 0;
  for (int64_t first = 0; first < 32; first += together) {
    std::set<int64_t> words;
    for (int64_t lane = first; lane < first + together; ++lane)
      for (int64_t byte = 0; byte < bytes; ++byte)
        words.insert(((*access.apply({lane}))[0] * elementBytes + byte) / 4);
    std::map<int64_t, int64_t> perBank;
    for (int64_t word : words)
      ++perBank[word % 32];
    int64_t most = 0;
    for (auto [bank, count] : perBank)
      most = std::max(most, count);
    total += most;
  }
  return total;
}

TEST(Queries, BankConflictsAgreeWithCounting) {
  RandomLayouts random(23);
  std::set<int64_t> seen;
  for (int trial = 0; trial < 6000; ++trial) {
    int64_t elementBytes = int64_t(1) << random.number(0, 3);
    int64_t vector = int64_t(1) << random.number(0, 4);
    if (elementBytes * vector > 16)
      continue;
    Layout access = random.atom({{"lane", 5}}, {{"offset", 10}});
    if (trial % 2) { // aligned vectors, as real accesses have
      std::vector<Index> bases;
      for (int b = 0; b < 5; ++b)
        bases.push_back({random.number(0, 255) * vector});
      access = Layout({{"lane", 5}}, {{"offset", 12}}, {bases});
    }
    if (trial % 7 == 0)
      access = access.withPadding({"offset", 32, random.number(1, 4) * vector});
    int64_t expected = countWavefronts(access, elementBytes, vector);
    EXPECT_EQ(wavefronts(access, elementBytes, vector), expected)
        << access.print() << " " << elementBytes << " x " << vector;
    seen.insert(expected);
  }
  EXPECT_GT(seen.size(), 8u);
}

TEST(Queries, KnownBankConflicts) {
  auto column = [](int64_t stride) {
    return Layout::strided(32, stride, "lane", "offset");
  };
  EXPECT_EQ(wavefronts(column(1), 4, 1), 1);   // a row of floats
  EXPECT_EQ(wavefronts(column(32), 4, 1), 32); // a column: all in one bank
  EXPECT_EQ(wavefronts(column(2), 4, 1), 2);
  EXPECT_EQ(wavefronts(column(33), 4, 1), 1); // the classic padded column
  EXPECT_EQ(wavefronts(column(1), 2, 1), 1);  // two halves share a word
  EXPECT_EQ(wavefronts(column(4), 4, 4), 4);  // 16 bytes per lane: 4 quarters
  EXPECT_EQ(minWavefronts(4, 4), 4);
  EXPECT_EQ(minWavefronts(4, 2), 2);
  EXPECT_EQ(wavefronts(Layout::broadcast(32, "lane", "offset"), 4, 1), 1);
  // Padding, as layouts have it: 32 columns plus one.
  Layout padded = rowMajor(32, 32).withPadding({"offset", 32, 1});
  Layout lanes = Layout::identity(32, "lane", "dim0");
  EXPECT_EQ(wavefronts(*lanes.compose(padded), 4, 1), 1);
  EXPECT_EQ(wavefronts(*lanes.compose(rowMajor(32, 32)), 4, 1), 32);
  EXPECT_EQ(wavefronts(*lanes.compose(xorSwizzle(32, 32, 1, 1, 32)), 4, 1), 1);
}

} // namespace
} // namespace tessera::layout
