// The measured roofline: that it measures what it says, and refuses the rest.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/Roofline.h"

#include <chrono>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

using namespace tessera::runtime;

static std::string take(tsr_status status) {
  std::string text = tsr_status_message(status);
  tsr_status_free(status);
  return text;
}

/// The best of a short measurement; 0 if this machine has not what it needs.
static double best(int32_t roof) {
  tsr_roof_sample sample{};
  sample.struct_size = sizeof sample;
  tsr_status status = tsr_roof_measure(roof, 1, 0.01, &sample);
  const bool isThere = roofline::whyNot(roof).empty();
  EXPECT_EQ(tsr_status_code(status), isThere ? TSR_OK : TSR_UNSUPPORTED)
      << tsr_roof_name(roof) << ": " << tsr_status_message(status);
  tsr_status_free(status);
  if (!isThere)
    return 0;
  EXPECT_GE(sample.runs, 3) << tsr_roof_name(roof);
  EXPECT_GE(sample.best, sample.median) << tsr_roof_name(roof);
  EXPECT_GT(sample.median, 1e8) << tsr_roof_name(roof);
  EXPECT_EQ(sample.bytes > 0, tsr_roof_unit(roof) == std::string("byte/s"));
  return sample.best;
}

/// Expects the best of the roof `fast` to be more than `factor` times that of
/// `slow`. Others may hold the machine while one of them is measured: both are
/// measured again, beside each other, until it is so or five seconds are over.
static void expectFaster(int32_t fast, double factor, int32_t slow) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(5);
  double fastest = 0, slowest = 0;
  do {
    fastest = best(fast);
    slowest = best(slow);
    if (fastest == 0 || slowest == 0 || fastest > factor * slowest)
      return;
  } while (Clock::now() < end);
  ADD_FAILURE() << tsr_roof_name(fast) << ": " << fastest << ", "
                << tsr_roof_name(slow) << ": " << slowest << ", never "
                << factor << " times as fast";
}

TEST(Roofline, WiderRegistersAreNotSlower) {
  // Even in its slow state a matrix unit beats vectors.
  expectFaster(TSR_ROOF_FMA_F32_AVX512, 0.5, TSR_ROOF_FMA_F32_AVX2);
  expectFaster(TSR_ROOF_FMA_F16_AVX512, 1, TSR_ROOF_FMA_F32_AVX512);
  expectFaster(TSR_ROOF_AMX_BF16, 1, TSR_ROOF_FMA_F32_AVX512);
  expectFaster(TSR_ROOF_AMX_I8, 0.5, TSR_ROOF_AMX_BF16);
}

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
TEST(Roofline, NearerMemoryIsFaster) {
  expectFaster(TSR_ROOF_READ_L1, 2, TSR_ROOF_READ_DRAM);
}
#endif

TEST(Roofline, RefusesWhatMakesNoSense) {
  tsr_roof_sample sample{};
  EXPECT_EQ(take(tsr_roof_measure(TSR_ROOF_COPY, 1, 0.01, &sample)),
            "the sample's struct_size is not set");
  sample.struct_size = sizeof sample;
  EXPECT_EQ(take(tsr_roof_measure(TSR_NUM_ROOFS, 1, 0.01, &sample)),
            "there is no roof 11");
  EXPECT_EQ(take(tsr_roof_measure(-1, 1, 0.01, &sample)),
            "there is no roof -1");
  const int32_t most = tsr_get_num_threads();
  EXPECT_EQ(take(tsr_roof_measure(TSR_ROOF_COPY, most + 1, 0.01, &sample)),
            "threads is " + std::to_string(most + 1) + ", but must be 1 to " +
                std::to_string(most));
  EXPECT_EQ(take(tsr_roof_measure(TSR_ROOF_COPY, 1, -1, &sample)),
            "seconds must be 0 to 3600");
  EXPECT_EQ(tsr_roof_name(TSR_NUM_ROOFS), nullptr);
  EXPECT_EQ(tsr_roof_unit(-1), nullptr);
}

TEST(Roofline, AMachineWithoutTheInstructions) {
  setenv("TESSERA_HIDE_CPU_FEATURES", "amx-tile,avx512f", 1);
  tsr_roof_sample sample{};
  sample.struct_size = sizeof sample;
  double rate = -1;
  EXPECT_EQ(take(tsr_amx_probe(&rate)), "this processor has no amx-tile");
  EXPECT_EQ(rate, -1);
  EXPECT_EQ(take(tsr_roof_measure(TSR_ROOF_FMA_F32_AVX512, 1, 0, &sample)),
            "this processor has no avx512f");
  // Memory is measured with narrower registers then.
  EXPECT_EQ(take(tsr_roof_measure(TSR_ROOF_READ_L2, 1, 0, &sample)), "");
  EXPECT_GT(sample.best, 1e8);
  unsetenv("TESSERA_HIDE_CPU_FEATURES");
}

TEST(Roofline, TheProbeLooksAtEveryThread) {
  if (!roofline::whyNot(TSR_ROOF_AMX_BF16).empty())
    GTEST_SKIP() << "no AMX";
  if (tsr_get_num_threads() < 2)
    GTEST_SKIP() << "one thread";
  int64_t seen = 0;
  tsr_set_parallel_for(
      [](void *seen, int64_t n, int32_t, tsr_range_fn body, void *data) {
        *static_cast<int64_t *>(seen) = n;
        body(data, 0, n);
      },
      &seen);
  double rate = 0;
  EXPECT_EQ(take(tsr_amx_probe(&rate)), "");
  tsr_set_parallel_for(nullptr, nullptr);
  EXPECT_EQ(seen, tsr_get_num_threads());
  EXPECT_GT(rate, 1e10);
}

TEST(Roofline, AllThreadsTogether) {
  if (tsr_get_num_threads() < 2)
    GTEST_SKIP() << "one thread";
  tsr_roof_sample sample{};
  sample.struct_size = sizeof sample;
  EXPECT_EQ(take(tsr_roof_measure(TSR_ROOF_COPY_STREAM, 2, 0.02, &sample)), "");
  EXPECT_EQ(sample.threads, 2);
  EXPECT_EQ(sample.bytes, 32u << 20);
}
