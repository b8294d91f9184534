// Distribution of index ranges over threads; see docs/abi.md section 4.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/Parallel.h"

#include "runtime/Constants.h"
#include "runtime/Memory.h"
#include "runtime/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <mutex>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <utility>

namespace tessera::runtime {

// Waking threads costs a few microseconds; a thread should have more to do.
static constexpr int64_t minWorkPerThreadNs = 10000;
static constexpr int32_t maxThreads = 1024;

static thread_local bool insideParallel = false;

//===-- Number of threads -------------------------------------------------===//

static std::atomic<int32_t> requestedThreads{0};

/// The first number of e.g. "4" or OpenMP's "4,2"; 0 if there is none.
static int32_t threadsFromEnvironment(const char *variable) {
  const char *text = std::getenv(variable);
  if (!text)
    return 0;
  long value = std::strtol(text, nullptr, 10);
  return static_cast<int32_t>(std::clamp(value, 0L, long{maxThreads}));
}

static int32_t defaultThreads() {
  for (const char *variable : {"TESSERA_NUM_THREADS", "OMP_NUM_THREADS"})
    if (int32_t threads = threadsFromEnvironment(variable))
      return threads;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    return std::clamp(CPU_COUNT(&allowed), 1, maxThreads);
  return 1;
}

static int32_t numThreads() {
  if (int32_t threads = requestedThreads.load(std::memory_order_relaxed))
    return threads;
  // Not a function-local static: a fork during its initialisation would leave
  // the child with a guard that nobody releases.
  static std::atomic<int32_t> cached{0};
  int32_t threads = cached.load(std::memory_order_relaxed);
  if (threads == 0) {
    threads = defaultThreads();
    cached.store(threads, std::memory_order_relaxed);
  }
  return threads;
}

//===-- Who provides threads ----------------------------------------------===//

namespace {
using GompParallel = void (*)(void (*)(void *), void *, unsigned, unsigned);
using OmpInParallel = int (*)();
using OmpThreadNumber = int (*)();

/// Guarded by `mutex`, except that the pointers are atomics so that a launch
/// doesn't take the lock.
struct Provider {
  std::mutex mutex;
  bool isChosen = false;
  bool isOwnGomp = false; // we loaded it, nobody else in the process has one
  bool isForkedChild = false;
  unsigned long long loadsSeen = 0; // objects the process had loaded by then
  std::atomic<GompParallel> gomp{nullptr};
  std::atomic<OmpInParallel> ompInParallel{nullptr};
  std::atomic<OmpThreadNumber> ompThreadNumber{nullptr};
  std::atomic<ThreadPool *> pool{nullptr};
  tsr_parallel_for_fn custom = nullptr;
  void *customContext = nullptr;
};
} // namespace

static Provider &provider() {
  static Provider &instance = *new Provider;
  return instance;
}

static int countLoads(dl_phdr_info *info, size_t, void *count) {
  *static_cast<unsigned long long *>(count) = info->dlpi_adds;
  return 1;
}

static int findGomp(dl_phdr_info *info, size_t, void *path) {
  if (!info->dlpi_name || !std::strstr(info->dlpi_name, "libgomp"))
    return 0;
  *static_cast<std::string *>(path) = info->dlpi_name;
  return 1;
}

static bool useGomp(Provider &p, void *library) {
  if (!library)
    return false;
  auto parallel =
      reinterpret_cast<GompParallel>(dlsym(library, "GOMP_parallel"));
  if (!parallel)
    return false;
  p.ompInParallel =
      reinterpret_cast<OmpInParallel>(dlsym(library, "omp_in_parallel"));
  p.ompThreadNumber =
      reinterpret_cast<OmpThreadNumber>(dlsym(library, "omp_get_thread_num"));
  p.gomp = parallel;
  return true;
}

/// Precondition: the lock is held.
static void chooseProvider(Provider &p) {
  p.isChosen = true;
  const char *wanted = std::getenv("TESSERA_THREADING");
  // libgomp hangs in a forked child: it waits for threads that were not forked.
  bool mayUseGomp =
      !p.isForkedChild && !(wanted && std::strcmp(wanted, "pool") == 0);
  if (mayUseGomp) {
    dl_iterate_phdr(countLoads, &p.loadsSeen);
    std::string path;
    dl_iterate_phdr(findGomp, &path);
    // PyTorch brings its own copy: sharing it shares its threads.
    if (!path.empty() &&
        useGomp(p, dlopen(path.c_str(), RTLD_NOLOAD | RTLD_LAZY))) {
      p.isOwnGomp = false;
      return;
    }
    if (p.gomp)
      return; // the one we loaded ourselves before
    if (useGomp(p, dlopen("libgomp.so.1", RTLD_LAZY | RTLD_LOCAL))) {
      p.isOwnGomp = true;
      dl_iterate_phdr(countLoads, &p.loadsSeen);
      return;
    }
  }
  p.gomp = nullptr;
  p.ompInParallel = nullptr;
  p.ompThreadNumber = nullptr;
  if (!p.pool)
    p.pool = new (std::nothrow) ThreadPool;
}

static void ensureProvider(Provider &p) {
  std::lock_guard lock(p.mutex);
  if (p.isChosen && p.isOwnGomp && p.gomp) {
    // If PyTorch was imported after our first launch, join its copy.
    unsigned long long loads = 0;
    dl_iterate_phdr(countLoads, &loads);
    if (loads != p.loadsSeen)
      p.isChosen = false;
  }
  if (!p.isChosen)
    chooseProvider(p);
}

//===-- fork
//----------------------------------------------------------------===//

static void beforeFork() {
  provider().mutex.lock();
  lockConstantsForFork();
  lockPoolForFork();
}

static void afterForkInParent() {
  unlockPoolAfterFork();
  unlockConstantsAfterFork();
  provider().mutex.unlock();
}

static void afterForkInChild() {
  unlockPoolAfterFork();
  unlockConstantsAfterFork();
  Provider &p = provider();
  // The old pool's threads don't exist here and its locks may be taken: leave
  // it behind. A new one starts its threads when it is first used.
  p.isForkedChild = true;
  p.isChosen = false;
  p.gomp = nullptr;
  p.ompInParallel = nullptr;
  p.ompThreadNumber = nullptr;
  p.pool = nullptr;
  insideParallel = false;
  p.mutex.unlock();
}

__attribute__((constructor)) static void registerForkHandlers() {
  provider();
  pthread_atfork(beforeFork, afterForkInParent, afterForkInChild);
}

//===-- What the thread sanitizer cannot see ------------------------------===//

// libgomp is not instrumented: that a team starts after what its caller did,
// and that the caller goes on after what the team did, has to be said.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
extern "C" void __tsan_acquire(void *address);
extern "C" void __tsan_release(void *address);
#define TESSERA_TSAN 1
#endif
#endif
static void sayHappensBefore([[maybe_unused]] void *point) {
#ifdef TESSERA_TSAN
  __tsan_release(point);
#endif
}
static void sayHappensAfter([[maybe_unused]] void *point) {
#ifdef TESSERA_TSAN
  __tsan_acquire(point);
#endif
}

//===-- Distribution ------------------------------------------------------===//

namespace {
struct Team {
  /// A piece of the range. A thread begins with the same one in every launch:
  /// what it wrote in the last one is in its cache. Then it helps the others.
  struct alignas(64) Part {
    std::atomic<int64_t> next;
    int64_t end;

    /// Large chunks first, small ones at the end, where they even out.
    bool take(int64_t &begin, int64_t &chunkEnd) {
      begin = next.load(std::memory_order_relaxed);
      do {
        if (begin >= end)
          return false;
        chunkEnd = begin + (end - begin - 1) / 2 + 1;
      } while (!next.compare_exchange_weak(begin, chunkEnd,
                                           std::memory_order_relaxed));
      return true;
    }
  };
  static constexpr int32_t maxParts = 64; // more threads share them

  std::atomic<int32_t> seats; // how many threads may still join
  uint32_t numParts;
  tsr_range_fn body;
  void *data;
  Part parts[maxParts];

  Team(int64_t n, int32_t threads, tsr_range_fn body, void *data)
      : seats(threads), numParts(std::min(threads, maxParts)), body(body),
        data(data) {
    int64_t size = n / numParts, more = n % numParts, at = 0;
    for (uint32_t i = 0; i < numParts; ++i) {
      parts[i].next.store(at, std::memory_order_relaxed);
      at += size + (i < more);
      parts[i].end = at;
    }
  }

  static void member(void *self) {
    auto &team = *static_cast<Team *>(self);
    int32_t seat = team.seats.fetch_sub(1, std::memory_order_relaxed);
    if (seat <= 0)
      return;
    OmpThreadNumber number = provider().ompThreadNumber.load();
    auto first = static_cast<uint32_t>(number ? number() : seat);
    bool wasInside = std::exchange(insideParallel, true);
    int64_t begin, end;
    for (uint32_t i = 0; i < team.numParts; ++i)
      while (team.parts[(first + i) % team.numParts].take(begin, end))
        team.body(team.data, begin, end);
    insideParallel = wasInside;
  }

  static void gompMember(void *self) {
    sayHappensAfter(self);
    member(self);
    sayHappensBefore(self);
  }
};
} // namespace

/// For threads that the application provides: they are inside as well.
namespace {
struct Forwarded {
  tsr_range_fn body;
  void *data;

  static void call(void *self, int64_t begin, int64_t end) {
    auto &forwarded = *static_cast<Forwarded *>(self);
    bool wasInside = std::exchange(insideParallel, true);
    forwarded.body(forwarded.data, begin, end);
    insideParallel = wasInside;
  }
};
} // namespace

int32_t threadsFor(int64_t n, int32_t limit, int64_t workNs) {
  if (n <= 1 || limit <= 1 || insideParallel)
    return 1;
  int64_t threads = std::min<int64_t>({n, limit, numThreads()});
  if (workNs >= 0)
    threads = std::min(threads, workNs / minWorkPerThreadNs);
  return static_cast<int32_t>(std::max<int64_t>(threads, 1));
}

void parallelFor(int64_t n, int32_t threads, tsr_range_fn body, void *data) {
  Provider &p = provider();
  if (p.custom) {
    Forwarded forwarded{body, data};
    return p.custom(p.customContext, n, threads, Forwarded::call, &forwarded);
  }
  ensureProvider(p);
  Team team(n, threads, body, data);
  if (GompParallel gomp = p.gomp.load()) {
    OmpInParallel inParallel = p.ompInParallel.load();
    if (inParallel && inParallel())
      return body(data, 0, n);
    // Always the whole team: libgomp ends the threads that a smaller team
    // doesn't need and has to start them again for the next one.
    sayHappensBefore(&team);
    gomp(Team::gompMember, &team, static_cast<unsigned>(numThreads()), 0);
    return sayHappensAfter(&team);
  }
  ThreadPool *pool = p.pool.load();
  if (!pool || !pool->runTeam(Team::member, &team, threads))
    body(data, 0, n);
}

} // namespace tessera::runtime

using namespace tessera::runtime;

void tsr_parallel_for(int64_t n, tsr_range_fn body, void *data) {
  if (n <= 0)
    return;
  int32_t threads = threadsFor(n, maxThreads, -1);
  if (threads == 1)
    return body(data, 0, n);
  parallelFor(n, threads, body, data);
}

void tsr_set_parallel_for(tsr_parallel_for_fn function, void *context) {
  Provider &p = provider();
  std::lock_guard lock(p.mutex);
  p.custom = function;
  p.customContext = context;
}

void tsr_set_num_threads(int32_t threads) {
  requestedThreads = std::clamp(threads, 0, maxThreads);
}

int32_t tsr_get_num_threads(void) { return numThreads(); }

const char *tsr_threading_name(void) {
  Provider &p = provider();
  if (p.custom)
    return "custom";
  ensureProvider(p);
  return p.gomp.load() ? "libgomp" : "pool";
}
