//===- ForeignNamesTest.cpp - The table of other libraries' names ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/ForeignNames.h"

#include <gtest/gtest.h>
#include <set>

using namespace tessera::frontend;

namespace {

struct Row {
  const char *kind, *name, *ours;
};
constexpr Row rows[] = {
#define FUNCTION(name, ours, why) {"function", name, ours},
#define TILES(name, ours, why) {"tiles", name, ours},
#define TENSORS(name, ours, why) {"tensors", name, ours},
#define METHOD(name, ours, why) {"method", name, ours},
#define ATTRIBUTE(name, ours, why) {"attribute", name, ours},
#define KEYWORD(name, ours, why) {"keyword", name, ours},
#define DECORATOR(name, ours, why) {"decorator", name, ours},
#include "compiler/Frontend/ForeignNames.inc"
};

TEST(ForeignNames, NoNameStandsTwice) {
  std::set<std::string> seen;
  for (const Row &row : rows)
    EXPECT_TRUE(seen.insert(std::string(row.kind) + " " + row.name).second)
        << row.kind << " " << row.name;
}

TEST(ForeignNames, EveryPlaceholderIsFilled) {
  for (const Row &row : rows)
    for (std::string_view way : splitForeign(row.ours)) {
      // The axes of a tile and conditions are the analyser's.
      std::string known(way);
      for (size_t at; (at = known.find("$a")) != std::string::npos;)
        known.replace(at, 2, "m");
      if (known.starts_with("$?"))
        known.erase(0, 2);
      std::string text = fillForeign(known, {"a", "b", "c"}, "x", "1");
      EXPECT_EQ(text.find('$'), std::string::npos) << row.name << ": " << text;
      EXPECT_EQ(text.find("..., ..."), std::string::npos) << row.name;
    }
}

TEST(ForeignNames, ArgumentsAreTheUsersOwn) {
  const ForeignName *dot = findForeign(ForeignKind::Function, "dot");
  ASSERT_TRUE(dot);
  EXPECT_EQ(fillForeign(dot->ours, {"A[m, k]", "B[k, n]"}),
            "A[m, k] @ B[k, n]");
  EXPECT_EQ(fillForeign(dot->ours, {"a + b", "f(x, y)"}), "(a + b) @ f(x, y)");
  EXPECT_EQ(fillForeign(dot->ours, {"a"}), "a @ ...");
  EXPECT_EQ(fillForeign("tsr.clamp($*)", {"a + b", "0.0", "max=1.0"}),
            "tsr.clamp(a + b, 0.0, max=1.0)");
  EXPECT_EQ(fillForeign("tsr.sqrt(tsr.var($x, $*))", {}, "x"),
            "tsr.sqrt(tsr.var(x))");
  EXPECT_EQ(fillForeign("pad=$v", {}, {}, "0.0"), "pad=0.0");
  EXPECT_EQ(fillForeign("tsr.sum(tsr.abs($0), $r)", {"a", "dim=1"}),
            "tsr.sum(tsr.abs(a), dim=1)");
  EXPECT_EQ(fillForeign("tsr.sum(tsr.abs($0), $r)", {"a"}),
            "tsr.sum(tsr.abs(a))");
  EXPECT_EQ(fillForeign("${1:0.01} * $0", {"a"}), "0.01 * a");
  EXPECT_EQ(fillForeign("${1:0.01} * $0", {"a", "s"}), "s * a");
  EXPECT_EQ(findForeign(ForeignKind::Method, "no_such"), nullptr);
  EXPECT_EQ(findForeign(ForeignKind::Keyword, "dot"), nullptr);
}

/// What a call has and `ours` has no place for is never dropped without a word.
TEST(ForeignNames, ArgumentsAreNotDropped) {
  bool exact = true;
  fillForeign("$0 + $1", {"a", "b", "alpha=2"}, {}, {}, &exact);
  EXPECT_FALSE(exact);
  fillForeign("$0 + $1", {"a", "b"}, {}, {}, &exact);
  EXPECT_TRUE(exact);
  fillForeign("$0 + $1", {"a"}, {}, {}, &exact);
  EXPECT_FALSE(exact);
  fillForeign("$!$0", {"a", "16"}, {}, {}, &exact);
  EXPECT_TRUE(exact);
}

TEST(ForeignNames, TilesAndTensorsDiffer) {
  auto find = [](const char *name, ForeignLevel level) {
    return findForeign(ForeignKind::Function, name, level);
  };
  EXPECT_TRUE(find("zeros_like", ForeignLevel::Tiles));
  EXPECT_FALSE(find("zeros_like", ForeignLevel::Tensors));
  EXPECT_TRUE(find("amax", ForeignLevel::Tensors));
}

TEST(ForeignNames, NamesOfOthersAreNoMisspellings) {
  for (const char *name : {"amax", "logcumsumexp", "erfc", "selu", "sort"})
    EXPECT_TRUE(isForeignWord(name)) << name;
  EXPECT_FALSE(isForeignWord("sofmax"));
}

} // namespace
