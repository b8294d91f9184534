// Running a launch: worker threads that interleave the blocks of a grid.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Launch.h"

#include "sim/check/Checker.h"
#include "sim/check/GridTrace.h"
#include "sim/exec/Access.h"
#include "sim/exec/Cluster.h"
#include "sim/exec/Link.h"
#include "sim/report/Recorder.h"
#include <deque>
#include <thread>

namespace tessera::sim {

thread_local const Warp *runningWarp = nullptr;

Launch::~Launch() = default;

std::string sourcePlace(const Inst &inst, const Launch &launch) {
  const ptx::Instruction *source = inst.source;
  if (!source || source->location < 0)
    return "";
  // The function that holds the instruction holds its locations too.
  for (const auto &code : launch.program->codes) {
    const auto &body = code->function->body;
    if (body.empty() || source < &body.front() || source > &body.back())
      continue;
    const ptx::Location &loc = code->function->locations[source->location];
    const auto &files = launch.program->module->filesOf(code->function);
    auto name = [&](const ptx::Location &l) {
      auto file = files.find(l.file);
      return (file == files.end() ? "file " + std::to_string(l.file)
                                  : file->second) +
             ":" + std::to_string(l.line);
    };
    std::string place = name(loc);
    if (loc.inlinedAt >= 0)
      place += " inlined at " + name(code->function->locations[loc.inlinedAt]);
    return place;
  }
  return "";
}

std::string describePlace(const Inst &inst, const Launch &launch) {
  std::string place = "PTX line " + std::to_string(inst.line);
  std::string source = sourcePlace(inst, launch);
  if (!source.empty())
    place += " (" + source + ")";
  return place;
}

void Launch::addReport(Report report) {
  std::lock_guard lock(mutex);
  for (Report &old : result.reports)
    if (old.kind == report.kind && old.ptxLine == report.ptxLine &&
        old.otherPtxLine == report.otherPtxLine) {
      ++old.count;
      return;
    }
  if (result.reports.size() >= options.maxReports)
    return;
  // Who waits for what stands in the timeline anyway.
  if (const Warp *w = runningWarp;
      w && w->block->recorder && report.kind != "deadlock")
    w->block->recorder->finding(*w, report.ptxLine, report.kind);
  result.reports.push_back(std::move(report));
}

bool Launch::isReported(std::string_view kind, unsigned ptxLine,
                        unsigned otherPtxLine) {
  std::lock_guard lock(mutex);
  for (Report &old : result.reports)
    if (old.ptxLine == ptxLine && old.otherPtxLine == otherPtxLine &&
        old.kind == kind) {
      ++old.count;
      return true;
    }
  return result.reports.size() >= options.maxReports;
}

static const char *faultName(Fault::Kind kind) {
  switch (kind) {
  case Fault::IllegalAddress:
    return "out-of-bounds";
  case Fault::MisalignedAddress:
    return "misaligned";
  case Fault::Trap:
    return "trap";
  case Fault::Assert:
    return "assert";
  case Fault::IllegalInstruction:
    return "illegal-instruction";
  case Fault::TensorMemory:
    return "tensor-memory";
  case Fault::Deadlock:
    return "deadlock";
  case Fault::Limit:
    return "limit";
  case Fault::ExitedBlock:
    return "exited-block";
  case Fault::Stopped:
    return "stopped";
  }
  return "fault";
}

void Launch::work(unsigned number) {
  LaunchWorker worker;
  worker.random.seed(options.seed * 1000003 + number);
  std::unique_ptr<report::Counters> counters;
  if (options.count) {
    counters = std::make_unique<report::Counters>(*program);
    worker.counters = counters.get();
  }
  // Clusters, mostly of one block, that were started and are not done. One
  // that spins hands over to the next one, and a new one is started, so that a
  // block may wait for any other.
  std::deque<std::unique_ptr<Cluster>> active;
  uint64_t quantum = options.adversarial ? 2000 : 400000;
  size_t wanted = 1;
  if (options.cooperative)
    wanted = (clusterCount + 1);
  else if (options.adversarial)
    wanted = 4;
  std::unique_ptr<Cluster> current; // outlives a fault, which names it
  try {
    while (!stop) {
      while (active.size() < wanted) {
        uint64_t next = nextCluster.fetch_add(1);
        if (next >= clusterCount)
          break;
        active.push_back(std::make_unique<Cluster>(*this, worker, next));
      }
      if (active.empty())
        break;
      // Adversarial: any block, for a short or a long turn.
      size_t chosen = 0;
      uint64_t turn = quantum;
      if (options.adversarial) {
        chosen = worker.random() % active.size();
        turn = 1 + worker.random() % (worker.random() % 4 ? 100 : quantum);
      }
      current = std::move(active[chosen]);
      active.erase(active.begin() + long(chosen));
      if (current->run(turn) == Block::State::Running) {
        if (!options.adversarial || current->spins)
          ++wanted; // somebody waits: more blocks may be needed
        active.push_back(std::move(current));
      } else if (wanted > 1 && !options.cooperative && !options.adversarial) {
        --wanted;
      }
      current.reset();
      runningWarp = nullptr; // it may be gone
    }
  } catch (const Fault &fault) {
    if (fault.kind != Fault::Stopped) {
      if (current)
        current->recordWaits();
      Report report;
      report.kind = faultName(fault.kind);
      const Warp *where = current ? runningWarp : nullptr;
      report.message = fault.message;
      if (where && fault.kind != Fault::Deadlock) {
        report.ptxLine = where->inst->line;
        report.source = sourcePlace(*where->inst, *this);
      }
      if (fault.inst) {
        report.ptxLine = fault.inst->line;
        report.source = sourcePlace(*fault.inst, *this);
        report.thread = fault.thread;
        report.address = fault.address;
      }
      // The others name every warp themselves.
      if (where && fault.kind != Fault::Deadlock &&
          fault.kind != Fault::Limit) {
        report.address = fault.address;
        report.thread = fault.lane >= 0
                            ? threadName(*where, unsigned(fault.lane))
                            : "block " + std::to_string(where->block->linear) +
                                  " warp " + std::to_string(where->index);
        report.message +=
            " at " + describePlace(*where->inst, *this) + ", '" +
            std::string(where->inst->source ? where->inst->source->spelling
                                            : "ret") +
            "', " + blockName(options, where->block->linear) + " warp " +
            std::to_string(where->index);
      }
      addReport(report);
      std::lock_guard lock(mutex);
      result.ok = false;
      result.fault = fault.kind;
      stop = true;
    }
    runningWarp = nullptr;
  }
  std::lock_guard lock(mutex);
  result.warpInstructions += worker.warpInstructions;
  result.threadInstructions += worker.threadInstructions;
  if (counters) {
    if (!result.counters)
      result.counters = std::make_shared<report::Counters>(*program);
    result.counters->add(*counters);
  }
}

LaunchResult Launch::run() {
  begin = std::chrono::steady_clock::now();
  static std::atomic<uint64_t> grids{0};
  gridId = ++grids;
  clusterCount = uint64_t(options.grid[0]) * options.grid[1] * options.grid[2] /
                 options.clusterBlocks();
  workspace.assign(256, 0);
  uint32_t size = 256;
  std::memcpy(workspace.data(), &size, 4);
  memory->expose(reinterpret_cast<uint64_t>(workspace.data()), workspace.size(),
                 "grid workspace");
  if (options.check)
    checker = std::make_unique<check::Checker>(*this);
  else
    memory->markAllInitialised();
  if (checker && before)
    checker->follow(*before);
  unsigned count =
      options.threads
          ? options.threads
          : std::min(8u, std::max(1u, std::thread::hardware_concurrency()));
  // Checking and chosen schedules must repeat exactly: one thread.
  if (options.check || options.adversarial)
    count = 1;
  count = unsigned(std::min<uint64_t>(count, clusterCount));
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < count; ++i)
    threads.emplace_back([this, i] { work(i); });
  work(0);
  for (std::thread &t : threads)
    t.join();
  if (checker)
    checker->finish();
  if (checker && program->usesGridControl)
    trace = checker->takeTrace();
  memory->unexpose(reinterpret_cast<uint64_t>(workspace.data()));
  for (const Report &r : result.reports)
    if (r.kind != "remark")
      result.ok = false;
  result.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  return std::move(result);
}

} // namespace tessera::sim
