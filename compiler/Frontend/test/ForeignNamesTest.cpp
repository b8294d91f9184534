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
  for (const Row &row : rows) {
    std::string text = fillForeign(row.ours, {"a", "b", "c"}, "x", "1");
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
  EXPECT_EQ(findForeign(ForeignKind::Method, "no_such"), nullptr);
  EXPECT_EQ(findForeign(ForeignKind::Keyword, "dot"), nullptr);
}

} // namespace
