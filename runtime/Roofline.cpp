// What this machine's cores and memory can do, measured.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run gives every thread the same work, lets all begin together and takes the
// time from the first that begins to the last that ends. Threads are those that
// kernels get, so their number, place and waking are the same.
#include "runtime/Roofline.h"

#include "runtime/CpuFeatures.h"
#include "runtime/Parallel.h"
#include "runtime/RooflineKernels.h"
#include "runtime/Status.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace tessera::runtime::roofline {

namespace {
using Clock = std::chrono::steady_clock;

enum class Kind { Compute, Read, Copy };

using ReadLoop = void (*)(const char *, size_t);
using CopyLoop = void (*)(char *, const char *, size_t);

struct Roof {
  const char *name;
  Kind kind;
  const char *features[2]; // for compute; memory takes the widest there is
};
} // namespace

static constexpr size_t kib = 1024, mib = 1024 * kib;
static constexpr size_t copyBytes = 64 * mib;
static constexpr double runSeconds = 0.002;
static constexpr int minRuns = 3, maxRuns = 1000;

// In the order of the enumerators.
static constexpr Roof roofs[TSR_NUM_ROOFS] = {
    {"fma_f32_avx2", Kind::Compute, {"avx2", "fma"}},
    {"fma_f32_avx512", Kind::Compute, {"avx512f", nullptr}},
    {"fma_f16_avx512", Kind::Compute, {"avx512fp16", nullptr}},
    {"amx_bf16", Kind::Compute, {"amx-tile", "amx-bf16"}},
    {"amx_i8", Kind::Compute, {"amx-tile", "amx-int8"}},
    {"read_l1", Kind::Read, {}},
    {"read_l2", Kind::Read, {}},
    {"read_l3", Kind::Read, {}},
    {"read_dram", Kind::Read, {}},
    {"copy", Kind::Copy, {}},
    {"copy_stream", Kind::Copy, {}},
};

static bool isRoof(int32_t roof) { return roof >= 0 && roof < TSR_NUM_ROOFS; }

Caches caches() {
  auto ask = [](int name, size_t otherwise) {
    long bytes = sysconf(name);
    return bytes > 0 ? static_cast<size_t>(bytes) : otherwise;
  };
  return {ask(_SC_LEVEL1_DCACHE_SIZE, 32 * kib),
          ask(_SC_LEVEL2_CACHE_SIZE, mib), ask(_SC_LEVEL3_CACHE_SIZE, 8 * mib)};
}

std::string whyNot(int32_t roof) {
#if defined(__x86_64__)
  for (const char *feature : roofs[roof].features)
    if (feature)
      if (std::string missing = missingCpuFeature(feature); !missing.empty())
        return missing;
  return {};
#else
  return "the roofline is measured on x86-64 only";
#endif
}

#if defined(__x86_64__)

//===-- The loop and the memory of a roof ---------------------------------===//

namespace {
/// Zeroed pages of this process alone.
class Pages {
public:
  explicit Pages(size_t bytes) : bytes(bytes) {
    void *got = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    data = got == MAP_FAILED ? nullptr : static_cast<char *>(got);
    if (data) // as NumPy asks for large arrays
      madvise(data, bytes, MADV_HUGEPAGE);
  }
  ~Pages() {
    if (data)
      munmap(data, bytes);
  }
  Pages(const Pages &) = delete;

  char *data;
  size_t bytes;
};

/// What one thread does in one run.
struct Work {
  ComputeLoop compute = nullptr;
  ReadLoop read = nullptr;
  CopyLoop copy = nullptr;
  int64_t unit = 0;     // operations of one unit of compute
  size_t bytes = 0;     // of memory that one thread passes through
  int64_t count = 1;    // units, or passes over the memory
  char *from = nullptr; // of thread 0; the others follow
  char *to = nullptr;

  void run(int64_t thread) const {
    if (compute)
      return compute(count);
    const size_t offset = static_cast<size_t>(thread) * bytes;
    for (int64_t i = 0; i < count; ++i)
      if (read)
        read(from + offset, bytes);
      else
        copy(to + offset, from + offset, bytes);
  }

  double amount() const { // of one run of one thread
    if (compute)
      return static_cast<double>(count) * static_cast<double>(unit);
    return static_cast<double>(count) * static_cast<double>(bytes) *
           (copy ? 2 : 1);
  }
};
} // namespace

static bool has(const char *feature) {
  return missingCpuFeature(feature).empty();
}

static void chooseCompute(int32_t roof, Work &work) {
  switch (roof) {
  case TSR_ROOF_FMA_F32_AVX2:
    work.compute = fmaF32Avx2;
    work.unit = fmaUnit(8);
    break;
  case TSR_ROOF_FMA_F32_AVX512:
    work.compute = fmaF32Avx512;
    work.unit = fmaUnit(16);
    break;
  case TSR_ROOF_FMA_F16_AVX512:
    work.compute = fmaF16Avx512;
    work.unit = fmaUnit(32);
    break;
  case TSR_ROOF_AMX_BF16:
    work.compute = amxBf16;
    work.unit = amxBf16Unit;
    break;
  default:
    work.compute = amxI8;
    work.unit = amxI8Unit;
  }
}

static void chooseMemory(int32_t roof, Work &work) {
  const bool zmm = has("avx512f"), ymm = has("avx");
  if (roof == TSR_ROOF_COPY)
    work.copy = zmm ? copyAvx512 : ymm ? copyAvx : copySse;
  else if (roof == TSR_ROOF_COPY_STREAM)
    work.copy = zmm ? streamAvx512 : ymm ? streamAvx : streamSse;
  else
    work.read = zmm ? readAvx512 : ymm ? readAvx : readSse;
}

/// Bytes of one thread: half a cache, so that the rest of the process doesn't
/// push them out; of memory twice the last cache, if that much is free.
static size_t workingSet(int32_t roof, size_t threads) {
  const Caches cache = caches();
  size_t bytes = 0;
  switch (roof) {
  case TSR_ROOF_READ_L1:
    bytes = cache.l1 / 2;
    break;
  case TSR_ROOF_READ_L2:
    bytes = cache.l2 / 2;
    break;
  case TSR_ROOF_READ_L3:
    bytes = std::clamp(cache.l3 / (2 * threads), 2 * cache.l2, 8 * cache.l2);
    break;
  case TSR_ROOF_READ_DRAM: {
    const size_t freeBytes = static_cast<size_t>(sysconf(_SC_AVPHYS_PAGES)) *
                             static_cast<size_t>(sysconf(_SC_PAGESIZE));
    bytes = std::max(std::min(2 * cache.l3, freeBytes / 4), 64 * mib) / threads;
    break;
  }
  default:
    bytes = copyBytes / threads;
  }
  return std::max(bytes / memoryUnit, size_t{1}) * memoryUnit;
}

//===-- Runs --------------------------------------------------------------===//

/// `body` on that many of the threads that kernels get; one is the caller.
static void onThreads(int32_t threads, tsr_range_fn body, void *data) {
  if (threads == 1)
    return body(data, 0, 1);
  parallelFor(threads, threads, body, data);
}

namespace {
struct Moment {
  Clock::time_point begin, end;
};

/// One run of all threads.
struct Race {
  const Work &work;
  int64_t threads;
  std::atomic<int64_t> arrived{0};
  std::atomic<bool> isApart{false}; // threads came one after another
  std::vector<Moment> moments;

  Race(const Work &work, int64_t threads)
      : work(work), threads(threads), moments(static_cast<size_t>(threads)) {}

  void enter(int64_t thread) {
    arrived.fetch_add(1);
    const auto limit = Clock::now() + std::chrono::milliseconds(200);
    while (arrived.load() < threads && !isApart) {
      sched_yield(); // the others may have been put on this core
      if (Clock::now() > limit)
        isApart = true;
    }
    if (isApart)
      return;
    Moment &moment = moments[static_cast<size_t>(thread)];
    moment.begin = Clock::now();
    work.run(thread);
    moment.end = Clock::now();
  }

  static void body(void *self, int64_t begin, int64_t end) {
    for (int64_t thread = begin; thread < end; ++thread)
      static_cast<Race *>(self)->enter(thread);
  }

  /// Seconds, or negative if the threads did not run beside each other.
  double run() {
    onThreads(static_cast<int32_t>(threads), body, this);
    if (isApart)
      return -1;
    Moment all = moments.front();
    for (const Moment &moment : moments) {
      all.begin = std::min(all.begin, moment.begin);
      all.end = std::max(all.end, moment.end);
    }
    return std::chrono::duration<double>(all.end - all.begin).count();
  }
};

/// Every thread writes to its own memory first: then it is mapped, and near.
struct Touch {
  char *data;
  size_t bytes;

  static void body(void *self, int64_t begin, int64_t end) {
    auto &touch = *static_cast<Touch *>(self);
    for (int64_t thread = begin; thread < end; ++thread)
      std::memset(touch.data + static_cast<size_t>(thread) * touch.bytes, 1,
                  touch.bytes);
  }
};
} // namespace

static void touch(char *data, size_t bytes, int32_t threads) {
  Touch all{data, bytes};
  onThreads(threads, Touch::body, &all);
}

static tsr_status measure(int32_t roof, int32_t threads, double seconds,
                          tsr_roof_sample &sample) {
  const size_t count = static_cast<size_t>(threads);
  const bool isCopy = roofs[roof].kind == Kind::Copy;
  const bool isMemory = isCopy || roofs[roof].kind == Kind::Read;
  Work work;
  if (isMemory)
    chooseMemory(roof, work);
  else
    chooseCompute(roof, work);
  work.bytes = isMemory ? workingSet(roof, count) : 0;
  const size_t total = work.bytes * count;
  Pages from(isMemory ? total : 1), to(isCopy ? total : 1);
  if (!from.data || !to.data)
    return outOfMemory();
  work.from = from.data;
  work.to = to.data;
  if (isMemory)
    touch(from.data, work.bytes, threads);
  if (isCopy)
    touch(to.data, work.bytes, threads);

  auto failed = [] {
    return makeError(TSR_UNSUPPORTED,
                     "the threads could not be had at the same time");
  };
  // Long enough that beginning and ending together doesn't matter; one thread
  // decides, since a late one says nothing of the work.
  for (;;) {
    const double time = Race(work, 1).run();
    if (time >= runSeconds / 2 || work.count > int64_t{1} << 40)
      break;
    const double more = runSeconds / std::max(time, 1e-7);
    work.count = static_cast<int64_t>(static_cast<double>(work.count) *
                                      std::clamp(more, 2.0, 1000.0));
  }
  std::vector<double> rates;
  const auto start = Clock::now();
  auto isOver = [&] {
    std::chrono::duration<double> spent = Clock::now() - start;
    return rates.size() >= maxRuns ||
           (rates.size() >= minRuns && spent.count() >= seconds);
  };
  while (!isOver()) {
    const double time = Race(work, threads).run();
    if (time < 0)
      return failed();
    rates.push_back(work.amount() * static_cast<double>(threads) / time);
  }
  std::sort(rates.begin(), rates.end());
  sample.best = rates.back();
  sample.median = rates[rates.size() / 2];
  sample.bytes = work.bytes;
  sample.threads = threads;
  sample.runs = static_cast<int32_t>(rates.size());
  return nullptr;
}

#else

static tsr_status measure(int32_t, int32_t, double, tsr_roof_sample &) {
  return makeError(TSR_UNSUPPORTED, whyNot(0));
}

#endif

} // namespace tessera::runtime::roofline

using namespace tessera::runtime;

const char *tsr_roof_name(int32_t roof) {
  return roofline::isRoof(roof) ? roofline::roofs[roof].name : nullptr;
}

const char *tsr_roof_unit(int32_t roof) {
  if (!roofline::isRoof(roof))
    return nullptr;
  return roofline::roofs[roof].kind == roofline::Kind::Compute ? "flop/s"
                                                               : "byte/s";
}

tsr_status tsr_roof_measure(int32_t roof, int32_t threads, double seconds,
                            tsr_roof_sample *sample) {
  if (!roofline::isRoof(roof))
    return makeError(TSR_INVALID_ARGUMENT,
                     "there is no roof " + std::to_string(roof));
  if (!sample || sample->struct_size < sizeof(tsr_roof_sample))
    return makeError(TSR_INVALID_ARGUMENT,
                     "the sample's struct_size is not set");
  if (threads < 1 || threads > tsr_get_num_threads())
    return makeError(TSR_INVALID_ARGUMENT,
                     "threads is " + std::to_string(threads) +
                         ", but must be 1 to " +
                         std::to_string(tsr_get_num_threads()));
  if (!(seconds >= 0 && seconds <= 3600))
    return makeError(TSR_INVALID_ARGUMENT, "seconds must be 0 to 3600");
  if (std::string missing = roofline::whyNot(roof); !missing.empty())
    return makeError(TSR_UNSUPPORTED, missing);
  const size_t size = sample->struct_size;
  tsr_roof_sample found{};
  if (tsr_status status = roofline::measure(roof, threads, seconds, found))
    return status;
  found.struct_size = size;
  *sample = found;
  return nullptr;
}

tsr_status tsr_amx_probe(double *rate) {
  if (std::string missing = roofline::whyNot(TSR_ROOF_AMX_BF16);
      !missing.empty())
    return makeError(TSR_UNSUPPORTED, missing);
#if defined(__x86_64__)
  constexpr int64_t units = 12288; // 0.4 ms at 2 TFLOP/s
  const int32_t threads = tsr_get_num_threads();
  std::vector<double> seconds(static_cast<size_t>(threads));
  auto probe = [](void *seconds, int64_t begin, int64_t end) {
    for (int64_t thread = begin; thread < end; ++thread)
      static_cast<double *>(seconds)[thread] = roofline::amxBf16FromL1(units);
  };
  roofline::onThreads(threads, probe, seconds.data());
  *rate = static_cast<double>(units * roofline::amxBf16Unit) /
          *std::max_element(seconds.begin(), seconds.end());
#endif
  return nullptr;
}
