// What is checked before a run, with the whole text of each message.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RunPlan.h"
#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::test;

static int launches;
static int32_t count(void *const *, const int64_t *, int64_t, int64_t, void *) {
  ++launches;
  return 0;
}

static const std::string gemm =
    head + "arg %A in f32 [$M, $K]\narg %B in f32 [$K, $N]\n"
           "arg %C out f32 [$M, $N]\nbody\nlaunch @k(%A, %B, %C) grid 1\nend\n";

class Arguments : public testing::Test {
protected:
  std::string run(std::initializer_list<View> tensors,
                  Results *results = nullptr) {
    launches = 0;
    std::string error = runPlan(gemm, {{"k", count}}, tensors, {}, results);
    // Either it ran, or there is an error; never both.
    EXPECT_EQ(launches, error.empty());
    return error;
  }
  float a[4096], b[4096], c[4096];
};

TEST_F(Arguments, Fit) {
  EXPECT_EQ(run({view(a, {3, 4}), view(b, {4, 5}), view(c, {3, 5})}), "");
}

TEST_F(Arguments, DimsDisagree) {
  EXPECT_EQ(run({view(a, {16, 64}), view(b, {32, 8}), view(c, {16, 8})}),
            "A (16 x 64) and B (32 x 8) disagree on K: 64 from A, 32 from B");
  EXPECT_EQ(run({view(a, {3, 4}), view(b, {4, 5}), view(c, {5, 3})}),
            "A (3 x 4) and C (5 x 3) disagree on M: 3 from A, 5 from C");
}

TEST_F(Arguments, NumberOfTensorsAndScalars) {
  EXPECT_EQ(run({view(a, {3, 4})}), "f takes 3 tensors, but 1 were given");
  EXPECT_EQ(runPlan(head + "arg $a i64\nbody\nend\n", {}, {}, {1, 2}),
            "f takes 1 scalars, but 2 were given");
}

TEST_F(Arguments, DtypeAndRank) {
  double wrong[4];
  EXPECT_EQ(run({view(wrong, {2, 2}), view(b, {2, 2}), view(c, {2, 2})}),
            "A must be f32, but is f64");
  EXPECT_EQ(run({View(a, 99, {2, 2}), view(b, {2, 2}), view(c, {2, 2})}),
            "A must be f32, but is of an unknown dtype");
  EXPECT_EQ(run({view(a, {2, 2}), view(b, {2}), view(c, {2, 2})}),
            "B must have rank 2, but has rank 1");
}

TEST_F(Arguments, Memory) {
  EXPECT_EQ(run({view(a, {-1, 2}), view(b, {2, 2}), view(c, {2, 2})}),
            "A has the negative size -1 on axis 0");
  EXPECT_EQ(
      run({view<float>(nullptr, {2, 2}), view(b, {2, 2}), view(c, {2, 2})}),
      "A has elements but no data pointer");
  EXPECT_EQ(run({view<float>(nullptr, {0, 2}), view(b, {2, 2}),
                 view<float>(nullptr, {0, 2})}),
            "");
  auto *odd = reinterpret_cast<float *>(reinterpret_cast<char *>(a) + 2);
  EXPECT_EQ(run({view(odd, {2, 2}), view(b, {2, 2}), view(c, {2, 2})}),
            "A is not aligned to its element type");
  EXPECT_EQ(run({view(a, {2, 2}, {int64_t{1} << 62, 1}), view(b, {2, 2}),
                 view(c, {2, 2})}),
            "A spans more than any memory");
}

TEST_F(Arguments, AbsentOut) {
  Results results;
  EXPECT_EQ(run({view(a, {3, 4}), view(b, {4, 5}), View()}, &results), "");
  EXPECT_EQ(results.sizes[2], (std::vector<int64_t>{3, 5}));
  EXPECT_EQ(results.bytes[2].size(), 61u); // Results adds one
  EXPECT_EQ(run({view(a, {3, 4}), view(b, {4, 5}), View()}),
            "C was not given, and the call has no allocator");
  EXPECT_EQ(run({view(a, {3, 4}), View(), view(c, {3, 5})}, &results),
            "B must be given");
  // The allocator is not asked when a check fails.
  Results untouched;
  EXPECT_NE(run({view(a, {3, 4}), view(b, {5, 5}), View()}, &untouched), "");
  EXPECT_TRUE(untouched.bytes[2].empty());
}

TEST_F(Arguments, OutThatBindsADimMustBeGiven) {
  std::string plan = head + "arg %C out f32 [$M]\nbody\nend\n";
  Results results;
  EXPECT_EQ(runPlan(plan, {}, {View()}, {}, &results), "C must be given");
}

TEST_F(Arguments, AllocatorWithoutMemory) {
  auto none = [](void *, int32_t, int32_t, int32_t, const int64_t *,
                 size_t) -> void * { return nullptr; };
  Executable executable;
  ASSERT_TRUE(Executable::create(gemm, {{"k", count}}, executable));
  Status status =
      executable.run({view(a, {3, 4}), view(b, {4, 5}), View()}, {}, none);
  EXPECT_EQ(status.code(), TSR_OUT_OF_MEMORY);
  EXPECT_STREQ(status.message(), "no memory for C (3 x 5), 60 bytes");
}

TEST_F(Arguments, ComputedAxes) {
  std::string plan = head + "arg %X in f32 [$N, $H*$D]\narg %W in f32 "
                            "[$H, $D, 4, ?]\narg $n i64\n"
                            "result %Y f32 [$n + 1]\nbody\nend\n";
  auto runIt = [&](View x, View w, View y) {
    return runPlan(plan, {}, {x, w, y}, {2});
  };
  EXPECT_EQ(runIt(view(a, {5, 6}), view(b, {2, 3, 4, 9}), view(c, {3})), "");
  EXPECT_EQ(runIt(view(a, {5, 7}), view(b, {2, 3, 4, 9}), view(c, {3})),
            "X (5 x 7): axis 1 must be H*D = 6, but is 7");
  EXPECT_EQ(runIt(view(a, {5, 6}), view(b, {2, 3, 5, 9}), view(c, {3})),
            "W (2 x 3 x 5 x 9): axis 2 must be 4, but is 5");
  EXPECT_EQ(runIt(view(a, {5, 6}), view(b, {2, 3, 4, 9}), view(c, {4})),
            "Y (4): axis 0 must be n + 1 = 3, but is 4; Y must be 3");
  EXPECT_EQ(runPlan(head + "arg %S in f32 [$N, $N]\nbody\nend\n", {},
                    {view(a, {2, 3})}),
            "S (2 x 3) disagrees with itself on N: 2 and 3");
}

TEST_F(Arguments, SizesThatOverflow) {
  EXPECT_EQ(runPlan(head + "arg $n i64\nresult %Y f32 [$n * $n]\nbody\nend\n",
                    {}, {View()}, {int64_t{1} << 40}),
            "the size n * n of Y: an integer overflows 64 bits");
  EXPECT_EQ(runPlan(head + "arg $n i64\nresult %Y f32 [$n]\nbody\nend\n", {},
                    {View()}, {-4}),
            "Y would have the negative size n = -4");
}

TEST_F(Arguments, Overlap) {
  EXPECT_EQ(run({view(a, {3, 4}), view(b, {4, 5}), view(a, {3, 5})}),
            "C is written, but overlaps A in memory; pass a copy of one of "
            "them");
  EXPECT_EQ(run({view(a, {3, 4}), view(b, {4, 5}), view(b + 19, {3, 5})}),
            "C is written, but overlaps B in memory; pass a copy of one of "
            "them");
  EXPECT_EQ(run({view(a, {3, 4}), view(b, {4, 5}), view(b + 20, {3, 5})}), "");
  // Two that are only read may overlap.
  EXPECT_EQ(run({view(a, {4, 4}), view(a, {4, 4}), view(c, {4, 4})}), "");
  // Columns 0-3, 4-7 and 8-11 of one array with 12 columns.
  EXPECT_EQ(run({view(a, {4, 4}, {12, 1}), view(a + 4, {4, 4}, {12, 1}),
                 view(a + 8, {4, 4}, {12, 1})}),
            "");
  EXPECT_EQ(run({view(a, {4, 4}, {12, 1}), view(a + 4, {4, 4}, {12, 1}),
                 view(a + 7, {4, 4}, {12, 1})}),
            "C is written, but overlaps B in memory; pass a copy of one of "
            "them");
  EXPECT_EQ(run({view(a, {3, 4}), view(b, {4, 5}), view(c, {3, 5}, {0, 1})}),
            "C (3 x 5) is written, but overlaps itself in memory; pass a copy");
}

TEST_F(Arguments, OneArrayAsOneInOutIsFine) {
  EXPECT_EQ(
      runPlan(head + "arg %X inout f32 [$N]\nbody\nend\n", {}, {view(a, {5})}),
      "");
}

TEST_F(Arguments, OldCallersAreRefusedNotMisread) {
  Executable executable;
  tsr_plan *plan;
  std::string text = head + "body\nend\n";
  ASSERT_EQ(tsr_plan_parse(text.data(), text.size(), &plan), nullptr);
  tsr_executable *raw;
  ASSERT_EQ(tsr_executable_create(plan, nullptr, 0, &raw), nullptr);
  tsr_plan_free(plan); // the executable keeps what it needs
  tsr_call call{};
  Status status(tsr_executable_run(raw, &call));
  EXPECT_EQ(status.code(), TSR_INVALID_ARGUMENT);
  call.struct_size = sizeof call;
  EXPECT_EQ(tsr_executable_run(raw, &call), nullptr);
  tsr_executable_free(raw);
}
