// Runs of plans: kernels, temporaries, views, branches, loops, results, errors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RunPlan.h"
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

using namespace tessera;
using namespace tessera::test;

// From docs/abi.md.
extern "C" int32_t gemm_0(void *const *, const int64_t *, int64_t, int64_t,
                          void *);

/// z = x + y over one axis, 16 elements per program.
static int32_t add(void *const *pointers, const int64_t *integers,
                   int64_t begin, int64_t end, void *) {
  auto *x = static_cast<const float *>(pointers[0]);
  auto *y = static_cast<const float *>(pointers[1]);
  auto *z = static_cast<float *>(pointers[2]);
  int64_t n = integers[0];
  for (int64_t i = begin * 16; i < std::min(end * 16, n); ++i)
    z[i * integers[5]] = x[i * integers[1]] + y[i * integers[3]];
  return 0;
}

static const std::string addPlan =
    head + "arg %x in f32 [$N]\narg %y in f32 [$N]\nresult %z f32 [$N]\nbody\n"
           "launch @add(%x, %y, %z) grid $N ceildiv 16\nend\n";

class Threads : public testing::TestWithParam<int> {
protected:
  void SetUp() override { tsr_set_num_threads(GetParam()); }
  void TearDown() override { tsr_set_num_threads(0); }
};
INSTANTIATE_TEST_SUITE_P(One, Threads, testing::Values(1, 2, 7));

TEST_P(Threads, AddAtOddExtentsAndStrides) {
  for (int64_t n : {0, 1, 7, 15, 16, 17, 63, 65, 127, 1000}) {
    std::vector<float> x(static_cast<size_t>(3 * n + 1));
    std::vector<float> y(static_cast<size_t>(n + 1));
    std::vector<float> z(static_cast<size_t>(2 * n + 1), -1.0f);
    for (int64_t i = 0; i < n; ++i) {
      x[static_cast<size_t>(3 * i)] = static_cast<float>(i);
      y[static_cast<size_t>(i)] = static_cast<float>(1000 * i);
    }
    // x every third, y backwards, z every second.
    EXPECT_EQ(runPlan(addPlan, {{"add", add}},
                      {view(x.data(), {n}, {3}),
                       view(y.data() + std::max<int64_t>(n - 1, 0), {n}, {-1}),
                       view(z.data(), {n}, {2})}),
              "");
    for (int64_t i = 0; i < 2 * n + 1; ++i)
      EXPECT_EQ(z[static_cast<size_t>(i)],
                i % 2 || i == 2 * n
                    ? -1.0f
                    : static_cast<float>(i / 2 + 1000 * (n - 1 - i / 2)));
  }
}

TEST_P(Threads, DocumentedGemmAtOddExtents) {
  for (int64_t m : {0, 1, 7, 65, 100})
    for (int64_t n : {1, 33, 63})
      for (int64_t k : {0, 1, 17, 127}) {
        std::vector<float> a(static_cast<size_t>(m * k + 1));
        std::vector<float> b(static_cast<size_t>(k * n + 1));
        for (size_t i = 0; i < a.size(); ++i)
          a[i] = static_cast<float>(i * 7 % 5) - 2;
        for (size_t i = 0; i < b.size(); ++i)
          b[i] = static_cast<float>(i * 11 % 7) - 3;
        Results results;
        // B is stored transposed.
        ASSERT_EQ(runPlan(documentedPlan(0), {{"gemm_0", gemm_0}},
                          {view(a.data(), {m, k}),
                           view(b.data(), {k, n}, {1, k}), View()},
                          {2.0}, &results),
                  "");
        ASSERT_EQ(results.sizes[2], (std::vector<int64_t>{m, n}));
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            float sum = 0; // small integers: exact in any order
            for (int64_t l = 0; l < k; ++l)
              sum += a[static_cast<size_t>(i * k + l)] *
                     b[static_cast<size_t>(j * k + l)];
            ASSERT_EQ(results.data<float>(2)[i * n + j], 2 * sum)
                << m << " " << n << " " << k;
          }
      }
}

TEST(Executable, MissingKernelIsNamedWhenLoading) {
  EXPECT_EQ(runPlan(addPlan, {}, {}),
            "f needs the kernel add, which was not provided");
}

/// Fills its operand with the first scalar.
static int32_t fill(void *const *pointers, const int64_t *integers, int64_t,
                    int64_t, void *) {
  auto *data = static_cast<int32_t *>(pointers[0]);
  for (int64_t i = 0; i < integers[0]; ++i)
    data[i * integers[1]] = static_cast<int32_t>(integers[2]);
  return 0;
}

/// y[i] += x[i]
static int32_t accumulate(void *const *pointers, const int64_t *integers,
                          int64_t, int64_t, void *) {
  auto *x = static_cast<const int32_t *>(pointers[0]);
  auto *y = static_cast<int32_t *>(pointers[1]);
  for (int64_t i = 0; i < integers[0]; ++i)
    y[i * integers[3]] += x[i * integers[1]];
  return 0;
}

static std::string runInts(const std::string &steps, std::vector<int32_t> &y,
                           int64_t n = 0) {
  return runPlan(head + "arg %y inout i32 [$N]\narg $n i64\nbody\n" + steps +
                     "end\n",
                 {{"fill", fill}, {"accumulate", accumulate}},
                 {view(y.data(), {static_cast<int64_t>(y.size())})}, {n});
}

TEST(Executable, TemporariesLiveUntilTheirBlockEnds) {
  tsr_memory_stats before{}, after{};
  before.struct_size = after.struct_size = sizeof before;
  tsr_get_memory_stats(&before);
  std::vector<int32_t> y(5, 1);
  EXPECT_EQ(runInts("alloc %t i32 [$N]\nlaunch @fill(%t; 3) grid 1\n"
                    "if $n\nalloc %u i32 [$N]\nlaunch @fill(%u; 4) grid 1\n"
                    "launch @accumulate(%u, %t) grid 1\nend\n"
                    "launch @accumulate(%t, %y) grid 1\n",
                    y, 1),
            "");
  EXPECT_EQ(y, std::vector<int32_t>(5, 8));
  // Also when a return or an error leaves early.
  EXPECT_EQ(
      runInts("alloc %t i32 [$N]\nif 1\nalloc %u i32 [1]\nreturn\nend\n", y),
      "");
  EXPECT_EQ(runInts("alloc %t i32 [$N]\ncheck 0 : \"no\"\n", y), "no");
  tsr_get_memory_stats(&after);
  EXPECT_EQ(before.bytes_in_use, after.bytes_in_use);
}

TEST(Executable, WhatIsMadeOfAConstantIsKeptAsLongAsItLives) {
  static int fills;
  fills = 0;
  // %t = %X + 1, counted; %Y += %t
  auto addOne = [](void *const *pointers, const int64_t *integers, int64_t,
                   int64_t, void *) -> int32_t {
    ++fills;
    for (int64_t i = 0; i < integers[0]; ++i)
      static_cast<int32_t *>(pointers[1])[i] =
          static_cast<const int32_t *>(pointers[0])[i * integers[1]] + 1;
    return 0;
  };
  const std::string text =
      head + "arg %X in i32 [$N]\narg %Y inout i32 [$N]\narg $bad i64\nbody\n"
             "alloc %t i32 [$N] of %X\nif fresh(%t)\n"
             "launch @add_one(%X, %t) grid 1\nend\n"
             "check $bad == 0 : \"bad\"\nlaunch @accumulate(%t, %Y) grid 1\n"
             "check constant(%X) == $N mod 2 : \"constant\"\nend\n";
  tsr_memory_stats before{}, after{};
  before.struct_size = after.struct_size = sizeof before;
  tsr_get_memory_stats(&before);
  {
    Executable executable;
    ASSERT_TRUE(Executable::create(
        text, {{"add_one", addOne}, {"accumulate", accumulate}}, executable));
    auto run = [&](const void *x, int64_t n, std::vector<int32_t> &y,
                   int64_t bad = 0) -> std::string {
      return executable
          .run(
              {view(static_cast<const int32_t *>(x), {n}), view(y.data(), {n})},
              {bad})
          .message();
    };
    std::vector<int32_t> x{1, 2, 3}, y(3), even(2);
    void *constant, *other;
    ASSERT_TRUE(Status(tsr_constant_create(x.data(), 12, &constant)));
    ASSERT_TRUE(Status(tsr_constant_create(x.data(), 12, &other)));
    // A run that fails keeps nothing.
    EXPECT_EQ(run(constant, 3, y, 1), "bad");
    EXPECT_EQ(fills, 1);
    EXPECT_EQ(run(constant, 3, y), "");
    EXPECT_EQ(run(constant, 3, y), "");
    EXPECT_EQ(fills, 2);
    EXPECT_EQ(y, (std::vector<int32_t>{4, 6, 8}));
    // Another constant, and plain memory.
    EXPECT_EQ(run(other, 3, y), "");
    EXPECT_EQ(fills, 3);
    EXPECT_EQ(run(x.data(), 2, even), "");
    EXPECT_EQ(run(x.data(), 2, even), "");
    EXPECT_EQ(fills, 5);
    // New memory at the same place, perhaps, is not the old constant.
    tsr_constant_free(constant);
    x = {5, 5, 5};
    ASSERT_TRUE(Status(tsr_constant_create(x.data(), 12, &constant)));
    y = {0, 0, 0};
    EXPECT_EQ(run(constant, 3, y), "");
    EXPECT_EQ(y, (std::vector<int32_t>{6, 6, 6}));
    tsr_constant_free(constant);
    executable = Executable(); // `other` outlives it
    tsr_constant_free(other);
  }
  tsr_get_memory_stats(&after);
  EXPECT_EQ(before.bytes_in_use, after.bytes_in_use);
}

TEST(Executable, LoopSwapAndView) {
  // Fibonacci numbers, two at a time, in a temporary viewed backwards.
  std::vector<int32_t> y(1, 0);
  EXPECT_EQ(runInts("alloc %a i32 [1]\nalloc %b i32 [1]\n"
                    "launch @fill(%a; 0) grid 1\nlaunch @fill(%b; 1) grid 1\n"
                    "let $i = 0\nloop\nwhile $i < $n\n"
                    "view %v = %b offset 0 sizes [1] strides [-5]\n"
                    "launch @accumulate(%v, %a) grid 1\n"
                    "swap %a %b\nset $i = $i + 1\nend\n"
                    "launch @accumulate(%a, %y) grid 1\n",
                    y, 10),
            "");
  EXPECT_EQ(y[0], 55);
}

TEST(Executable, LeavingALoopInTheMiddleFreesItsTemporaries) {
  tsr_memory_stats before{}, after{};
  before.struct_size = after.struct_size = sizeof before;
  tsr_get_memory_stats(&before);
  std::vector<int32_t> y(3, 0);
  EXPECT_EQ(runInts("let $i = 0\nloop\nalloc %t i32 [$N]\n"
                    "launch @fill(%t; $i) grid 1\n"
                    "launch @accumulate(%t, %y) grid 1\nset $i = $i + 1\n"
                    "while $i < $n\nend\n",
                    y, 5),
            "");
  EXPECT_EQ(y, std::vector<int32_t>(3, 10));
  // An outer loop comes back: what the first visit held must be gone.
  EXPECT_EQ(runInts("let $i = 0\nloop\nwhile $i < $n\nset $i = $i + 1\n"
                    "loop\nalloc %t i32 [$N]\nwhile 0\nend\nend\n",
                    y, 5),
            "");
  tsr_get_memory_stats(&after);
  EXPECT_EQ(before.bytes_in_use, after.bytes_in_use);
}

TEST(Executable, ViewsOfViewsAndTheirLimits) {
  std::vector<int32_t> y(6, 0);
  // Elements 5, 3, 1 and of those the last two: 3, 1.
  EXPECT_EQ(runInts("view %v = %y offset 5 sizes [3] strides [-2]\n"
                    "view %w = %v offset -2 sizes [2] strides [-2]\n"
                    "launch @fill(%w; 9) grid 1\n",
                    y),
            "");
  EXPECT_EQ(y, (std::vector<int32_t>{0, 9, 0, 9, 0, 0}));
  EXPECT_EQ(runInts("view %v = %y offset 1 sizes [6] strides [1]\n", y),
            "f, plan line 7: the view v (6) leaves the memory of y (6)");
  EXPECT_EQ(runInts("view %v = %y offset -1 sizes [1] strides [1]\n", y),
            "f, plan line 7: the view v (1) leaves the memory of y (6)");
  EXPECT_EQ(runInts("view %v = %y offset 0 sizes [2] strides "
                    "[0x7fffffffffffffff]\n",
                    y),
            "f, plan line 7: the view v (2) leaves the memory of y (6)");
  EXPECT_EQ(runInts("view %v = %y offset 100 sizes [0, 5] strides [1, 1]\n", y),
            "");
}

TEST(Executable, PackedViewsStartOnAByte) {
  uint8_t data[8] = {};
  std::string plan = head + "arg %q in f4e2m1 [$N]\narg $n i64\nbody\n"
                            "view %v = %q offset $n sizes [1] strides [1]\n"
                            "check address(%v) == address(%q) + $n floordiv 2 "
                            ": \"wrong place\"\nend\n";
  EXPECT_EQ(runPlan(plan, {}, {View(data, TSR_F4E2M1, {16})}, {6}), "");
  EXPECT_EQ(runPlan(plan, {}, {View(data, TSR_F4E2M1, {16})}, {7}),
            "f, plan line 7: the view v doesn't start on a byte");
}

TEST(Executable, LoadsEveryIntegerType) {
  struct {
    const char *dtype;
    int32_t number;
    uint64_t bits;
    int64_t expected;
  } cases[] = {{"i8", TSR_I8, 0xff, -1},
               {"u8", TSR_U8, 0xff, 255},
               {"bool", TSR_BOOL, 1, 1},
               {"i16", TSR_I16, 0x8000, -32768},
               {"u16", TSR_U16, 0x8000, 32768},
               {"i32", TSR_I32, 0xffffffff, -1},
               {"u32", TSR_U32, 0xffffffff, 4294967295},
               {"i64", TSR_I64, ~uint64_t{0}, -1},
               {"u64", TSR_U64, 5, 5}};
  for (auto &c : cases) {
    uint64_t data[2] = {};
    std::memcpy(&data[1], &c.bits, 8);
    int64_t perWord = 64 / tsr_dtype_bits(c.number);
    std::string plan = head + "arg %t in " + c.dtype +
                       " [2]\narg $e i64\nbody\nload $v = %t [1]\n"
                       "check $v == $e : \"{$v}\"\nend\n";
    EXPECT_EQ(
        runPlan(plan, {}, {View(data, c.number, {2}, {perWord})}, {c.expected}),
        "")
        << c.dtype;
  }
  uint64_t large = ~uint64_t{0};
  EXPECT_EQ(runPlan(head + "arg %t in u64 []\nbody\nload $v = %t []\nend\n", {},
                    {view(&large, {})}),
            "f, plan line 6: an integer overflows 64 bits");
  EXPECT_EQ(runPlan(head + "arg %t in u64 [1]\nbody\nload $v = %t [1]\nend\n",
                    {}, {view(&large, {1})}),
            "f, plan line 6: index 1 is outside axis 0 of t (1)");
}

TEST(Executable, MessagesInsertValues) {
  float data[6] = {};
  EXPECT_EQ(runPlan(head + "arg %A in f32 [$M, $K]\narg $x f64\narg $b bool\n"
                           "arg %s in f32 []\nbody\nload $y = %s []\n"
                           "check 0 : \"{{{%A}}} {%s} {$M * 10} {$x} {$b} "
                           "{$y} {1 floordiv 0} \\\"q\\\"\"\nend\n",
                    {}, {view(data, {2, 3}), view(data, {})}, {1.5, true}),
            "{2 x 3} scalar 20 1.5 true 0 ? \"q\"");
}

static int32_t failFrom50(void *const *, const int64_t *, int64_t begin,
                          int64_t end, void *) {
  // Program 50 fails with message 0, all later ones with message 1.
  if (begin <= 50 && 50 < end)
    return 1;
  return begin > 50 ? 2 : 0;
}

TEST_P(Threads, TheLowestFailingProgramIsReported) {
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(runPlan(head + "message \"first {1 + 1}\"\nmessage \"later\"\n"
                             "body\nlaunch @k() grid 1000\nend\n",
                      {{"k", failFrom50}}, {}),
              "first 2");
}

TEST(Executable, AnUnknownReturnValueIsAnError) {
  EXPECT_EQ(runPlan(head + "body\nlaunch @k() grid 51\nend\n",
                    {{"k", failFrom50}}, {}),
            "f, plan line 5: kernel k returned 1, which is no message of the "
            "plan");
}

static int32_t useScratch(void *const *, const int64_t *integers, int64_t begin,
                          int64_t end, void *scratch) {
  if (reinterpret_cast<uintptr_t>(scratch) % 64)
    return 1;
  auto *words = static_cast<int64_t *>(scratch);
  int64_t n = integers[0] / 8;
  for (int64_t id = begin; id < end; ++id) {
    for (int64_t i = 0; i < n; ++i)
      words[i] = id + i;
    for (int64_t i = 0; i < n; ++i)
      if (words[i] != id + i)
        return 2; // another thread has the same memory
  }
  return 0;
}

TEST_P(Threads, ScratchIsAlignedAndPrivate) {
  for (int64_t bytes : {64, 4096, 100000})
    EXPECT_EQ(runPlan(head + "arg $n i64\nmessage \"unaligned\"\n"
                             "message \"shared\"\nbody\n"
                             "launch @k(; $n) grid 200 scratch $n\nend\n",
                      {{"k", useScratch}}, {}, {bytes}),
              "");
}

TEST(Executable, ResultSizedInTheBody) {
  const std::string plan = head + "arg $n i64\nresult %r i32 [?]\nbody\n"
                                  "alloc %r i32 [$n * 2]\n"
                                  "launch @fill(%r; 7) grid 1\nend\n";
  Results results;
  EXPECT_EQ(runPlan(plan, {{"fill", fill}}, {View()}, {3}, &results), "");
  EXPECT_EQ(results.sizes[0], std::vector<int64_t>{6});
  EXPECT_EQ(results.data<int32_t>(0)[5], 7);
  int32_t given[8] = {};
  EXPECT_EQ(runPlan(plan, {{"fill", fill}}, {view(given, {6})}, {3}), "");
  EXPECT_EQ(given[5], 7);
  EXPECT_EQ(runPlan(plan, {{"fill", fill}}, {view(given, {8})}, {3}),
            "r (8) must be (6)");
  EXPECT_EQ(runPlan(plan, {{"fill", fill}}, {View()}, {-3}, &results),
            "f, plan line 7: r would have the negative size -6");
}

TEST(Executable, SizesThatDontFitAreErrors) {
  std::vector<int32_t> y(1);
  const int64_t huge = int64_t{1} << 61;
  EXPECT_EQ(runInts("alloc %t i32 [$n, $n]\n", y, huge),
            "f, plan line 7: no memory for the temporary t "
            "(2305843009213693952 x 2305843009213693952)");
  EXPECT_EQ(runInts("alloc %t i32 [$n]\n", y, huge),
            "f, plan line 7: no memory for the temporary t "
            "(2305843009213693952)");
  EXPECT_EQ(runInts("alloc %t i32 [$n]\n", y, -1),
            "f, plan line 7: t would have the negative size -1");
  EXPECT_EQ(runInts("launch @fill(%y; 1) grid $n\n", y, -1),
            "f, plan line 7: a negative grid or scratch size");
}

TEST(Executable, ManyThreadsRunOneExecutable) {
  Executable executable;
  ASSERT_TRUE(Executable::create(
      head + "arg %y inout i32 [$N]\nbody\nalloc %t i32 [$N]\n"
             "launch @fill(%t; 1) grid 1\nlaunch @accumulate(%t, %y) grid 1\n"
             "end\n",
      {{"fill", fill}, {"accumulate", accumulate}}, executable));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 12; ++t)
    threads.emplace_back([&] {
      std::vector<int32_t> y(33, 0);
      for (int i = 0; i < 200; ++i)
        wrong += !executable.run({view(y.data(), {33})}).ok();
      wrong += y != std::vector<int32_t>(33, 200);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

/// Provides "add" once it may, and counts how often it is asked.
struct LateKernels {
  std::atomic<int> asked{0};
  bool isReady = false;

  static tsr_status resolve(void *self, const char *name,
                            tsr_kernel_fn *function) {
    auto &kernels = *static_cast<LateKernels *>(self);
    ++kernels.asked;
    if (!kernels.isReady)
      return tsr_status_create(TSR_INTERNAL, "not ready");
    *function = std::strcmp(name, "add") == 0 ? add : nullptr;
    return nullptr;
  }
};

TEST(Executable, KernelsAreAskedForWhenLaunched) {
  const std::string text =
      head + "arg %x in f32 [$N]\nresult %z f32 [$N]\nbody\nif $N == 3\n"
             "launch @missing(%x, %x, %z) grid 1\nelse\n"
             "launch @add(%x, %x, %z) grid $N ceildiv 16\nend\nend\n";
  tsr_plan *plan;
  ASSERT_FALSE(tsr_plan_parse(text.data(), text.size(), &plan));
  LateKernels kernels;
  tsr_executable *executable;
  ASSERT_FALSE(tsr_executable_create_lazy(plan, LateKernels::resolve, &kernels,
                                          &executable));
  tsr_plan_free(plan);
  EXPECT_EQ(kernels.asked, 0);
  float x[3] = {1, 2, 3}, z[3] = {};
  auto run = [&](int64_t n) {
    tsr_tensor tensors[] = {{x, &n, nullptr, TSR_F32, 1},
                            {z, &n, nullptr, TSR_F32, 1}};
    tsr_call call{};
    call.struct_size = sizeof call;
    call.tensors = tensors;
    call.num_tensors = 2;
    return std::string(Status(tsr_executable_run(executable, &call)).message());
  };
  // An error is not remembered.
  EXPECT_EQ(run(2), "not ready");
  EXPECT_EQ(kernels.asked, 1);
  kernels.isReady = true;
  EXPECT_EQ(run(2), "");
  EXPECT_EQ(z[1], 4.0f);
  EXPECT_EQ(run(1), "");
  EXPECT_EQ(kernels.asked, 2);
  EXPECT_EQ(run(3), "f needs the kernel missing, which was not provided");
  tsr_executable_free(executable);
}
