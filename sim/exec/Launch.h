// One kernel launch: what to run, how, and what came out.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/Code.h"
#include "sim/exec/Memory.h"
#include "sim/report/Occupancy.h"
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <random>
#include <string_view>

namespace tessera::sim {

struct Block;
struct Warp;
namespace check {
class Checker;
struct BlockChecker;
struct GridTrace;
} // namespace check
namespace report {
struct Counters;
}

/// How tensor cores add up, where the ISA leaves it open.
enum class TensorMode : uint8_t { Hardware, Ieee };

struct LaunchOptions {
  uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  /// Zeros: the launch does not say, and the kernel decides (fillCluster).
  uint32_t cluster[3] = {0, 0, 0};
  bool electBySeed = false;     // elect.sync: not the lowest lane
  bool explicitCluster = false; // the launch or the kernel says
  uint32_t dynamicShared = 0;
  unsigned arch = 80;
  bool check = false;
  bool count = false;
  bool adversarial = false;
  bool cooperative = false;
  /// It may start before the end of the grid before it.
  bool programmatic = false;
  uint64_t seed = 0;
  unsigned threads = 0; // 0: as many as the machine has, at most 8
  bool ring = false;    // floats are elements of an integer ring, see Ring.h
  TensorMode tensorMode = TensorMode::Hardware;
  // When an endless kernel is ended; 0: the default, see Limits.h.
  uint64_t maxInstructions = 0; // warp instructions of one block
  double maxSeconds = 0;        // of the launch, on the host's clock
  unsigned maxReports = 64;
  unsigned registers = 0; // per thread, from the assembler; 0: not known

  uint64_t clusterBlocks() const {
    return uint64_t(cluster[0]) * cluster[1] * cluster[2];
  }
};

struct Report {
  std::string kind; // "race", "out-of-bounds", ...
  std::string message;
  unsigned ptxLine = 0;
  std::string source; // file:line
  std::string thread, otherThread;
  unsigned otherPtxLine = 0;
  std::string otherSource;
  uint64_t address = 0;
  uint64_t count = 1; // times the same place was reported
};

struct LaunchResult {
  bool ok = true;
  int fault = -1; // Fault::Kind
  std::vector<Report> reports;
  uint64_t warpInstructions = 0, threadInstructions = 0;
  double seconds = 0;
  std::shared_ptr<report::Counters> counters;
  report::Occupancy occupancy;
};

/// What a worker thread owns.
struct LaunchWorker {
  std::mt19937_64 random;
  uint64_t warpInstructions = 0, threadInstructions = 0;
  uint64_t clockAt = 0; // instructions after which the clock is looked at
  report::Counters *counters = nullptr;
};

struct Launch {
  const Program *program = nullptr;
  Memory *memory = nullptr;
  LaunchOptions options;
  std::vector<uint8_t> params;
  std::vector<uint8_t> workspace; // behind %envreg1/2
  uint64_t gridId = 0;
  std::atomic<uint64_t> nextCluster{0};
  uint64_t clusterCount = 0;
  std::chrono::steady_clock::time_point begin;
  std::atomic<bool> stop{false};
  std::mutex mutex;
  LaunchResult result;
  std::unique_ptr<check::Checker> checker;
  /// With checking, for grids that overlap: what the one before did (null if
  /// it is over), and what this one does (null unless it lets others start).
  std::shared_ptr<check::GridTrace> before, trace;
  std::function<void(const std::string &)> print; // printf of kernels

  void addReport(Report report);
  /// True if this place was reported before, or no more reports are taken: it
  /// is counted, and the caller need not write a message.
  bool isReported(std::string_view kind, unsigned ptxLine,
                  unsigned otherPtxLine);
  LaunchResult run();
  ~Launch();

private:
  void work(unsigned number);
};

/// The warp this thread executes, for reports.
extern thread_local const Warp *runningWarp;

/// "PTX line 12 (kernel.py:3)", for messages.
std::string describePlace(const Inst &inst, const Launch &launch);
std::string sourcePlace(const Inst &inst, const Launch &launch);

} // namespace tessera::sim
