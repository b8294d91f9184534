// The trace of launches and the counters.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tessera-c/profile.h"

#include "RunPlan.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <mutex>
#include <set>
#include <string>
#include <vector>

using namespace tessera;
using namespace tessera::test;

static int32_t twice(void *const *pointers, const int64_t *integers,
                     int64_t begin, int64_t end, void *) {
  auto *x = static_cast<float *>(pointers[0]);
  for (int64_t i = begin; i < end; ++i)
    x[i * integers[1]] *= 2;
  return 0;
}

static const std::string plan = head + "arg %x inout f32 [$N]\nbody\n"
                                       "launch @twice(%x) grid $N\n"
                                       "launch @twice(%x) grid $N\nend\n";

namespace {
struct Listener {
  std::mutex mutex;
  std::vector<tsr_trace_event> events;
  std::set<std::string> names;

  static void take(void *data, const tsr_trace_event *event) {
    auto &self = *static_cast<Listener *>(data);
    std::lock_guard lock(self.mutex);
    EXPECT_EQ(event->struct_size, sizeof *event);
    self.events.push_back(*event);
    self.names.insert(event->kernel);
  }
};
} // namespace

TEST(Trace, EveryProgramOnceInsideItsLaunch) {
  for (int threads : {1, 2, 5}) {
    tsr_set_num_threads(threads);
    std::vector<float> x(10000, 1.0f);
    Listener listener;
    tsr_set_trace(Listener::take, &listener);
    EXPECT_EQ(runPlan(plan, {{"twice", twice}}, {view(x.data(), {10000})}), "");
    tsr_set_trace(nullptr, nullptr);
    EXPECT_EQ(x[9999], 4.0f);
    EXPECT_EQ(listener.names, std::set<std::string>{"twice"});
    std::vector<tsr_trace_event> launches, ranges;
    for (const tsr_trace_event &event : listener.events)
      (event.kind == TSR_TRACE_LAUNCH ? launches : ranges).push_back(event);
    ASSERT_EQ(launches.size(), 2u);
    EXPECT_LE(launches[0].end_ns, launches[1].start_ns);
    for (const tsr_trace_event &launch : launches) {
      EXPECT_EQ(launch.end, 10000);
      EXPECT_EQ(launch.bytes, 40000);
      EXPECT_GE(launch.team, 1);
      EXPECT_LE(launch.team, threads);
      std::vector<std::pair<int64_t, int64_t>> mine;
      for (const tsr_trace_event &range : ranges)
        if (range.start_ns >= launch.start_ns && range.end_ns <= launch.end_ns)
          mine.emplace_back(range.begin, range.end);
      std::sort(mine.begin(), mine.end());
      int64_t next = 0;
      for (auto [begin, end] : mine) {
        EXPECT_EQ(begin, next);
        next = end;
      }
      EXPECT_EQ(next, 10000);
    }
  }
  tsr_set_num_threads(0);
}

TEST(Trace, NobodyListensAfterwards) {
  Listener listener;
  tsr_set_trace(Listener::take, &listener);
  tsr_set_trace(nullptr, nullptr);
  std::vector<float> x(100, 1.0f);
  EXPECT_EQ(runPlan(plan, {{"twice", twice}}, {view(x.data(), {100})}), "");
  EXPECT_TRUE(listener.events.empty());
}

TEST(Counters, CountOrSayWhyNot) {
  tsr_counters *counters = tsr_counters_open();
  ASSERT_NE(counters, nullptr);
  tsr_release_cached_memory();
  void *memory = tsr_allocate(64 << 20);
  for (size_t i = 0; i < 64 << 20; i += 4096) // page faults, 32 huge ones
    static_cast<volatile char *>(memory)[i] = 1;
  tsr_deallocate(memory);
  tsr_release_cached_memory();
  for (int32_t i = 0; i < TSR_NUM_COUNTERS; ++i) {
    double value = -1;
    std::string missing = tsr_counters_missing(counters, i);
    ASSERT_NE(tsr_counter_name(i), nullptr);
    EXPECT_EQ(tsr_counters_read(counters, i, &value), missing.empty());
    if (missing.empty()) {
      EXPECT_GE(value, 0.0);
      if (i == TSR_COUNTER_PAGE_FAULTS) {
        EXPECT_GE(value, 32.0);
      }
    }
  }
  double value;
  EXPECT_FALSE(tsr_counters_read(counters, TSR_NUM_COUNTERS, &value));
  EXPECT_EQ(tsr_counter_name(-1), nullptr);
  tsr_counters_close(counters);
  tsr_counters_close(nullptr);
}
