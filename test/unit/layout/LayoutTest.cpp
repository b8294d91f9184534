// The examples of Layout.h, constructors, text and its errors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Support/Layout/Layout.h"

#include "compiler/Support/Layout/Instances.h"

#include <gtest/gtest.h>

namespace tessera::layout {
namespace {

Layout parse(const std::string &text) {
  std::string error;
  std::optional<Layout> layout = Layout::parse(text, &error);
  EXPECT_TRUE(layout) << text << "\n" << error;
  return layout.value_or(Layout());
}

TEST(Layout, WorkedExampleOfTheHeader) {
  Layout layout =
      parse("#layout<register:[(0,1)], lane:[(0,2),(1,0),(2,0)] -> (4x4)>");
  EXPECT_EQ(*layout.apply({1, 5}), (Index{2, 3}));
  EXPECT_EQ(*layout.apply({0, 3}), (Index{1, 2}));
  EXPECT_TRUE(layout.isBijective());
  EXPECT_EQ(layout.contiguous("register", "dim1"), 2);
  EXPECT_EQ(layout.contiguous("register", "dim0"), 1);
  // Who holds element (2,3)?
  EXPECT_EQ(*layout.invert()->apply({2, 3}), (Index{1, 5}));
}

TEST(Layout, SwizzleTableOfTheHeader) {
  Layout swizzled = parse("#layout<dim0:[5,10], dim1:[1,2] -> offset:16>");
  const int64_t table[4][4] = {
      {0, 1, 2, 3}, {5, 4, 7, 6}, {10, 11, 8, 9}, {15, 14, 13, 12}};
  for (int64_t row = 0; row < 4; ++row)
    for (int64_t column = 0; column < 4; ++column)
      EXPECT_EQ(*swizzled.apply({row, column}), Index{table[row][column]});
  EXPECT_EQ(swizzled, xorSwizzle(4, 4, 1, 1, 4));
}

TEST(Layout, GridExampleOfTheHeader) {
  Layout atom =
      parse("#layout<register:[(0,1)], lane:[(0,2),(1,0),(2,0)] -> (4x4)>");
  Layout grid =
      atom.repeated(3, "register", "dim0").repeated(5, "register", "dim1");
  EXPECT_EQ(grid.print(),
            "#layout<register:[(0,1)], lane:[(0,2),(1,0),(2,0)] -> (4x4), "
            "repeat [3: register*2 -> dim0*4, 5: register*6 -> dim1*4]>");
  EXPECT_EQ(grid.outSize("dim0"), 12);
  EXPECT_EQ(grid.outSize("dim1"), 20);
  EXPECT_EQ(grid.inSize("register"), 30);
  EXPECT_TRUE(grid.isBijective());
  EXPECT_FALSE(grid.apply({30, 0}));
  Layout panel = parse("#layout<-> offset:1, repeat [6: dim0*1 -> offset*1, "
                       "100: dim1*1 -> offset*6]>");
  EXPECT_EQ(*panel.apply({5, 7}), Index{47});
}

TEST(Layout, ShortRepeatCountsRowMajor) {
  Layout layout = parse("#layout<register:[(0,1)], lane:[(1,0)] -> (2x2), "
                        "repeat (3x5)>");
  EXPECT_EQ(layout.print(), "#layout<register:[(0,1)], lane:[(1,0)] -> (2x2), "
                            "repeat (3x5)>");
  EXPECT_EQ(*layout.apply({2, 0}), (Index{0, 2}));
  EXPECT_EQ(*layout.apply({10, 0}), (Index{2, 0}));
}

TEST(Layout, Constructors) {
  EXPECT_EQ(Layout::identity(8, "lane", "dim0").print(),
            "#layout<lane:[1,2,4] -> (8)>");
  EXPECT_EQ(Layout::identity(6, "lane", "dim0").print(),
            "#layout<lane:[] -> (1), repeat (6)>");
  EXPECT_EQ(Layout::strided(4, 8, "dim0", "offset").print(),
            "#layout<dim0:[8,16] -> offset:32>");
  EXPECT_EQ(*Layout::strided(4, 12, "dim0", "offset").apply({3}), Index{36});
  EXPECT_EQ(*Layout::broadcast(4, "lane", "dim0").apply({3}), Index{0});
  EXPECT_EQ(Layout().print(), "#layout<-> ()>");
  EXPECT_EQ(Layout::parse("#layout<-> ()>"), Layout());
}

TEST(Layout, Padding) {
  Layout layout = rowMajor(4, 64).withPadding({"offset", 64, 8});
  EXPECT_EQ(*layout.apply({1, 0}), Index{72});
  EXPECT_EQ(layout.outSize("offset"), 4 * 64 + 3 * 8);
  EXPECT_TRUE(layout.isInjective());
  EXPECT_FALSE(layout.isSurjective());
  EXPECT_EQ(layout.print(), "#layout<dim0:[64,128], dim1:[1,2,4,8,16,32] -> "
                            "offset:256, pad offset [64:+8]>");
  // Composition keeps it, and refuses to look through it.
  Layout lanes = Layout::identity(4, "lane", "dim0");
  EXPECT_EQ(*lanes.compose(layout)->apply({3}), Index{216});
  Layout offsets = Layout::identity(256, "offset", "bank");
  EXPECT_FALSE(layout.compose(offsets));
  EXPECT_EQ(layout.contiguous("dim1", "offset"), 64);
}

TEST(Layout, AxesMustBeNested) {
  Layout layout = Layout::identity(4, "register", "dim0");
  EXPECT_FALSE(layout.withAxis({2, "register", 3, "dim0", 4}));
  EXPECT_TRUE(layout.withAxis({2, "register", 4, "dim0", 4}));
}

TEST(Layout, ComposeSplitsAxesThatCrossAnother) {
  // Twelve steps of 4 walk through an outer grid of 3 x 4.
  Layout inner = Layout::identity(4, "i", "x").repeated(12, "i", "x");
  Layout outer = Layout::identity(4, "x", "offset")
                     .withAxis({3, "x", 4, "offset", 100})
                     ->withAxis({4, "x", 12, "offset", 1000})
                     .value();
  std::optional<Layout> both = inner.compose(outer);
  ASSERT_TRUE(both);
  for (int64_t i = 0; i < 48; ++i)
    EXPECT_EQ(both->apply({i}), outer.apply({i}));
}

TEST(Layout, RegisterTileOverAMatrixOfAnySize) {
  // 16 lanes of a vector along a row of 1000: the atom becomes an axis.
  Layout tile = Layout::identity(16, "element", "dim1")
                    .repeated(3, "register", "dim1")
                    .repeated(6, "register", "dim0");
  Layout memory = rowMajor(50, 1000);
  std::optional<Layout> both = tile.compose(memory);
  ASSERT_TRUE(both);
  for (const Index &point : tile.domain()) {
    Index at = *tile.apply(point); // (dim1, dim0)
    EXPECT_EQ(*both->apply(point), Index{at[1] * 1000 + at[0]});
  }
}

TEST(Layout, ComposeRefusesToLeaveTheDomain) {
  Layout inner = Layout::identity(8, "lane", "x");
  EXPECT_FALSE(inner.compose(Layout::identity(4, "x", "offset")));
  EXPECT_FALSE(inner.compose(Layout::identity(6, "x", "offset")));
  EXPECT_FALSE(inner.compose(Layout::identity(8, "y", "offset")));
}

struct BadText {
  const char *text, *message;
};

TEST(Layout, TextErrors) {
  const BadText cases[] = {
      {"layout<-> ()>", "layout, column 1: expected '#'"},
      {"#layout<lane:[1,2] -> (3)>", "layout, column 25: the atom's size 3 is "
                                     "not a power of two; use repeat"},
      {"#layout<lane:[1,4] -> (4)>",
       "layout, column 26: basis 4 of 'dim0' is not below its size 4"},
      {"#layout<lane:[(1,0)] -> (4)>",
       "layout, column 28: a basis has 2 numbers, but there are 1 outputs"},
      {"#layout<lane:[], lane:[] -> (1)>",
       "layout, column 24: input 'lane' is there twice"},
      {"#layout<lane:[1,2] -> (4), repeat [2: lane*3 -> dim0*4]>",
       "layout, column 55: step 3 of 'lane' overlaps what is below it"},
      {"#layout<lane:[1] -> (2), pad offset [4:+1]>",
       "layout, column 38: padding needs a dim of one side, but 'offset' is "
       "none"},
      {"#layout<lane:[1] -> (2), twice>",
       "layout, column 26: expected 'repeat' or 'pad'"},
      {"#layout<lane:[1] -> (2)> x",
       "layout, column 26: text after the layout"},
      {"#layout<lane:[1] -> (2)", "layout, column 24: expected '>'"},
      {"#layout<repeat:[1] -> (2)>",
       "layout, column 15: 'repeat' cannot name a dim"},
      {"#layout<lane:[99999999999999999999] -> (2)>",
       "layout, column 33: number is too large"},
  };
  for (const BadText &bad : cases) {
    std::string error;
    EXPECT_FALSE(Layout::parse(bad.text, &error)) << bad.text;
    EXPECT_EQ(error, bad.message) << bad.text;
  }
}

} // namespace
} // namespace tessera::layout
