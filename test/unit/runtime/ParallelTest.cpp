// tsr_parallel_for: covers all indices once; nesting, fork, own threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tessera-c/runtime.h"
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <gtest/gtest.h>
#include <mutex>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {
/// Counts how often each index is visited and by whom.
struct Counter {
  std::vector<std::atomic<int>> visits;
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::vector<std::pair<int64_t, int64_t>> ranges;
  int sleepMicroseconds = 0;

  explicit Counter(int64_t n) : visits(static_cast<size_t>(n)) {}

  static void body(void *self, int64_t begin, int64_t end) {
    auto &counter = *static_cast<Counter *>(self);
    EXPECT_LT(begin, end);
    EXPECT_LE(end, static_cast<int64_t>(counter.visits.size()));
    for (int64_t i = begin; i < end; ++i)
      ++counter.visits[static_cast<size_t>(i)];
    if (counter.sleepMicroseconds)
      std::this_thread::sleep_for(
          std::chrono::microseconds(counter.sleepMicroseconds));
    std::lock_guard lock(counter.mutex);
    counter.threads.insert(std::this_thread::get_id());
    counter.ranges.emplace_back(begin, end);
  }

  bool eachOnce() const {
    for (const std::atomic<int> &n : visits)
      if (n != 1)
        return false;
    return true;
  }
};

class Parallel : public testing::Test {
protected:
  void SetUp() override { tsr_set_num_threads(4); }
  void TearDown() override {
    tsr_set_num_threads(0);
    tsr_set_parallel_for(nullptr, nullptr);
  }
};
} // namespace

TEST_F(Parallel, UsesTheProviderTheTestAsksFor) {
  const char *wanted = std::getenv("TESSERA_THREADING");
  if (wanted && std::string(wanted) == "pool")
    EXPECT_STREQ(tsr_threading_name(), "pool");
  else
    EXPECT_STREQ(tsr_threading_name(), "libgomp");
}

TEST_F(Parallel, EachIndexOnce) {
  for (int64_t n : {0, 1, 2, 3, 4, 5, 16, 17, 100, 1000, 12345})
    for (int threads : {1, 2, 3, 4, 9}) {
      tsr_set_num_threads(threads);
      EXPECT_EQ(tsr_get_num_threads(), threads);
      Counter counter(n);
      tsr_parallel_for(n, Counter::body, &counter);
      EXPECT_TRUE(counter.eachOnce()) << n << " on " << threads;
      EXPECT_LE(counter.threads.size(), static_cast<size_t>(threads));
    }
}

TEST_F(Parallel, NegativeCountsDoNothing) {
  tsr_parallel_for(-1, [](void *, int64_t, int64_t) { FAIL(); }, nullptr);
}

TEST_F(Parallel, SeveralThreadsTakePart) {
  Counter counter(64);
  counter.sleepMicroseconds = 2000;
  tsr_parallel_for(64, Counter::body, &counter);
  EXPECT_TRUE(counter.eachOnce());
  EXPECT_EQ(counter.threads.size(), 4u);
  // Chunks get smaller, down to one.
  EXPECT_GT(counter.ranges.size(), 16u);
}

TEST_F(Parallel, AThreadBeginsWhereItBeganBefore) {
  if (std::string(tsr_threading_name()) == "pool")
    GTEST_SKIP() << "its threads come as they wake";
  tsr_set_num_threads(2);
  struct Pair {
    std::atomic<int> inside{0};
    std::thread::id threads[2];
  };
  std::set<std::pair<std::thread::id, std::thread::id>> seen;
  for (int launch = 0; launch < 100; ++launch) {
    Pair pair;
    tsr_parallel_for(
        2,
        [](void *data, int64_t begin, int64_t end) {
          ASSERT_EQ(end, begin + 1);
          auto &pair = *static_cast<Pair *>(data);
          pair.threads[begin] = std::this_thread::get_id();
          // Nobody takes the other one's as well.
          for (++pair.inside; pair.inside < 2;)
            std::this_thread::yield();
        },
        &pair);
    seen.insert({pair.threads[0], pair.threads[1]});
  }
  EXPECT_EQ(seen.size(), 1u);
}

TEST_F(Parallel, OneThreadMeansOneCall) {
  tsr_set_num_threads(1);
  Counter counter(1000);
  tsr_parallel_for(1000, Counter::body, &counter);
  EXPECT_EQ(counter.ranges.size(), 1u);
}

TEST_F(Parallel, NestedCallsRunOnTheirThread) {
  struct Nested {
    std::atomic<int64_t> sum{0};
    std::atomic<int> foreign{0};
  } nested;
  tsr_parallel_for(
      50,
      [](void *data, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          Counter inner(100);
          tsr_parallel_for(100, Counter::body, &inner);
          auto *outer = static_cast<Nested *>(data);
          outer->sum += inner.eachOnce() ? 1 : 1000;
          outer->foreign +=
              inner.threads.size() != 1 ||
              *inner.threads.begin() != std::this_thread::get_id();
        }
      },
      &nested);
  EXPECT_EQ(nested.sum, 50);
  EXPECT_EQ(nested.foreign, 0);
}

TEST_F(Parallel, CallersAtTheSameTime) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 6; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        Counter counter(333);
        tsr_parallel_for(333, Counter::body, &counter);
        wrong += !counter.eachOnce();
      }
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Parallel, ManyInARow) {
  std::atomic<int64_t> sum = 0;
  for (int i = 0; i < 2000; ++i)
    tsr_parallel_for(
        8,
        [](void *data, int64_t begin, int64_t end) {
          *static_cast<std::atomic<int64_t> *>(data) += end - begin;
        },
        &sum);
  EXPECT_EQ(sum, 16000);
}

TEST_F(Parallel, TheApplicationsOwnThreads) {
  int calls = 0;
  tsr_set_parallel_for(
      [](void *context, int64_t n, int32_t maxThreads, tsr_range_fn body,
         void *data) {
        ++*static_cast<int *>(context);
        EXPECT_EQ(maxThreads, 4);
        for (int64_t i = n; i > 0; --i) // any order
          body(data, i - 1, i);
      },
      &calls);
  EXPECT_STREQ(tsr_threading_name(), "custom");
  Counter counter(10);
  tsr_parallel_for(10, Counter::body, &counter);
  EXPECT_TRUE(counter.eachOnce());
  EXPECT_EQ(calls, 1);
}

TEST_F(Parallel, NestedCallsDontAskTheApplicationAgain) {
  static std::atomic<int> calls;
  calls = 0;
  tsr_set_parallel_for(
      [](void *, int64_t n, int32_t, tsr_range_fn body, void *data) {
        ++calls;
        body(data, 0, n);
      },
      nullptr);
  tsr_parallel_for(
      10,
      [](void *, int64_t, int64_t) {
        Counter inner(10);
        tsr_parallel_for(10, Counter::body, &inner);
        EXPECT_TRUE(inner.eachOnce());
      },
      nullptr);
  EXPECT_EQ(calls, 1);
}

/// The child's exit status; kills a child that hangs.
static int waitFor(pid_t child) {
  for (int i = 0; i < 2000; ++i) {
    int status;
    if (waitpid(child, &status, WNOHANG) == child)
      return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return -2;
}

static bool worksHere() {
  Counter counter(1000);
  tsr_parallel_for(1000, Counter::body, &counter);
  tsr_deallocate(tsr_allocate(1000));
  return counter.eachOnce();
}

#if defined(__SANITIZE_THREAD__)
#define TESSERA_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TESSERA_TSAN 1
#endif
#endif
#ifdef TESSERA_TSAN
#define SKIP_UNDER_TSAN                                                        \
  GTEST_SKIP() << "tsan supports no threads in a forked child"
#else
#define SKIP_UNDER_TSAN ((void)0)
#endif

TEST_F(Parallel, AForkedChildDoesntHang) {
  SKIP_UNDER_TSAN;
  ASSERT_TRUE(worksHere()); // the parent has threads now
  for (int i = 0; i < 20; ++i) {
    pid_t child = fork();
    if (child == 0) {
      bool works = worksHere() && std::string(tsr_threading_name()) == "pool";
      // And a child of the child.
      pid_t grandchild = fork();
      if (grandchild == 0)
        _exit(worksHere() ? 0 : 1);
      _exit(works && waitFor(grandchild) == 0 ? 0 : 1);
    }
    ASSERT_EQ(waitFor(child), 0);
  }
  EXPECT_TRUE(worksHere()); // and the parent goes on
}

TEST_F(Parallel, ForkWhileOtherThreadsAllocate) {
  SKIP_UNDER_TSAN;
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      while (!stop) {
        tsr_deallocate(tsr_allocate(5000));
        worksHere();
      }
    });
  for (int i = 0; i < 30; ++i) {
    pid_t child = fork();
    if (child == 0) {
      // Not worksHere: malloc's own locks are only safe in glibc's fork, the
      // sanitizers' are not.
      std::atomic<int64_t> sum = 0;
      tsr_parallel_for(
          100,
          [](void *data, int64_t begin, int64_t end) {
            *static_cast<std::atomic<int64_t> *>(data) += end - begin;
          },
          &sum);
      _exit(sum == 100 ? 0 : 1);
    }
    EXPECT_EQ(waitFor(child), 0);
  }
  stop = true;
  for (std::thread &thread : threads)
    thread.join();
}

/// Environment variables are read once, so each needs a process of its own.
static int threadsWith(const char *tessera, const char *openmp) {
  pid_t child = fork();
  if (child == 0) {
    tsr_set_num_threads(0);
    tessera ? setenv("TESSERA_NUM_THREADS", tessera, 1)
            : unsetenv("TESSERA_NUM_THREADS");
    openmp ? setenv("OMP_NUM_THREADS", openmp, 1) : unsetenv("OMP_NUM_THREADS");
    _exit(tsr_get_num_threads());
  }
  return waitFor(child);
}

TEST_F(Parallel, NumberOfThreadsComesFromTheEnvironment) {
  EXPECT_EQ(threadsWith("3", "5"), 3);
  EXPECT_EQ(threadsWith(nullptr, "5"), 5);
  EXPECT_EQ(threadsWith(nullptr, "6,2"), 6);
  EXPECT_EQ(threadsWith("nonsense", "5"), 5);
  EXPECT_GE(threadsWith(nullptr, nullptr), 1);
}
