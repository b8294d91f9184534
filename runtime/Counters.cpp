// The processor's and the system's counters, by perf_event_open.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tessera-c/profile.h"
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <linux/perf_event.h>
#include <new>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

struct Kind {
  const char *name;
  uint32_t type;
  uint64_t config;
};

constexpr uint64_t loadMisses(uint64_t cache) {
  return cache | PERF_COUNT_HW_CACHE_OP_READ << 8 |
         PERF_COUNT_HW_CACHE_RESULT_MISS << 16;
}

constexpr Kind kinds[TSR_NUM_COUNTERS] = {
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache_references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branch_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"tlb_misses", PERF_TYPE_HW_CACHE, loadMisses(PERF_COUNT_HW_CACHE_DTLB)},
    {"task_clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"context_switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
};

/// What read(2) gives, by `read_format`.
struct Reading {
  uint64_t value, enabled, running;
};

std::vector<pid_t> threadsOfProcess() {
  std::vector<pid_t> found;
  if (DIR *folder = opendir("/proc/self/task")) {
    while (const dirent *entry = readdir(folder))
      if (entry->d_name[0] != '.')
        found.push_back(static_cast<pid_t>(std::atoi(entry->d_name)));
    closedir(folder);
  }
  return found;
}

int openCounter(const Kind &kind, pid_t thread) {
  perf_event_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = kind.type;
  attributes.config = kind.config;
  attributes.exclude_kernel = kind.type != PERF_TYPE_SOFTWARE;
  attributes.exclude_hv = 1;
  attributes.read_format =
      PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(syscall(SYS_perf_event_open, &attributes, thread, -1,
                                  -1, PERF_FLAG_FD_CLOEXEC));
}

std::string whyNot(int error) {
  switch (error) {
  case ENOENT:
  case EOPNOTSUPP:
  case ENODEV:
    return "this machine, or the virtual one around us, has no such counter";
  case EACCES:
  case EPERM:
    return "not allowed: /proc/sys/kernel/perf_event_paranoid";
  case ENOSYS:
    return "the system has no perf_event_open";
  default:
    return std::strerror(error);
  }
}

} // namespace

struct tsr_counters {
  std::array<std::vector<int>, TSR_NUM_COUNTERS> files;
  std::array<std::string, TSR_NUM_COUNTERS> missing;
};

const char *tsr_counter_name(int32_t counter) {
  return counter < 0 || counter >= TSR_NUM_COUNTERS ? nullptr
                                                    : kinds[counter].name;
}

tsr_counters *tsr_counters_open(void) {
  auto *counters = new (std::nothrow) tsr_counters;
  if (!counters)
    return nullptr;
  std::vector<pid_t> threads = threadsOfProcess();
  for (size_t i = 0; i < TSR_NUM_COUNTERS; ++i) {
    int error = 0;
    for (pid_t thread : threads) {
      int file = openCounter(kinds[i], thread);
      if (file >= 0)
        counters->files[i].push_back(file);
      else if (errno != ESRCH) // a thread that has ended meanwhile
        error = errno;
    }
    if (counters->files[i].empty())
      counters->missing[i] = whyNot(error ? error : ENOENT);
  }
  return counters;
}

bool tsr_counters_read(const tsr_counters *counters, int32_t counter,
                       double *value) {
  if (counter < 0 || counter >= TSR_NUM_COUNTERS)
    return false;
  double sum = 0;
  bool isCounted = false;
  for (int file : counters->files[static_cast<size_t>(counter)]) {
    Reading reading;
    if (read(file, &reading, sizeof reading) != sizeof reading)
      continue;
    isCounted = true;
    if (reading.running)
      sum += static_cast<double>(reading.value) *
             (static_cast<double>(reading.enabled) /
              static_cast<double>(reading.running));
  }
  *value = sum;
  return isCounted;
}

const char *tsr_counters_missing(const tsr_counters *counters,
                                 int32_t counter) {
  return counter < 0 || counter >= TSR_NUM_COUNTERS
             ? "no such counter"
             : counters->missing[static_cast<size_t>(counter)].c_str();
}

void tsr_counters_close(tsr_counters *counters) {
  if (!counters)
    return;
  for (const std::vector<int> &files : counters->files)
    for (int file : files)
      close(file);
  delete counters;
}
