// C++17 profiler of what the Tessera runtime runs on the CPU: how long, how
// near the machine's measured roofs, and what limits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   tessera::TesseraPerformanceProfiler profiler;
//   auto data = profiler.profileKernel(rms_norm::rms_norm, args, {});
//   std::cout << data.average_runtime_ms << " ms, "
//             << data.bottleneck_analysis << "\n";
//
// The names are the usage guide's, whose header
// Tessera/Target/TesseraPerformanceProfiler.h forwards to this one. Arguments
// that a kernel updates in place are updated by every run. Link
// Tessera::Runtime. Needs neither exceptions nor RTTI.
#ifndef TESSERA_PROFILER_H
#define TESSERA_PROFILER_H

#include "tessera/runtime.h"

#include "tessera-c/profile.h"
#include "tessera-c/roofline.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <ostream>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace tessera {

/// A number, or "not measured".
struct Figure {
  double value = 0.0;
  bool isMeasured = false;

  Figure() = default;
  Figure(double given) : value(given), isMeasured(true) {}
  friend std::ostream &operator<<(std::ostream &out, const Figure &figure) {
    return figure.isMeasured ? out << figure.value : out << "not measured";
  }
};

struct ProfileOptions {
  bool enable_occupancy_analysis = true;   // threads, by a trace of the kernels
  bool enable_memory_analysis = true;      // bytes, and the roof of memory
  bool enable_instruction_analysis = true; // counters, and the roof of compute
  int sample_count = 100;
  int warmup_count = 5;
  double flops = 0.0; // of one run, if you know them
  double bytes = 0.0; // of one run; 0: the operands of its kernels
};

/// One kernel of a run, in milliseconds.
struct KernelTime {
  std::string name;
  double time_ms = 0.0;
  int threads = 0;
  double busy_percentage = 0.0;
};

struct ProfileData {
  double average_runtime_ms = 0.0;
  double median_runtime_ms = 0.0;
  double stddev_runtime_ms = 0.0;
  double min_runtime_ms = 0.0;
  double max_runtime_ms = 0.0;
  Figure
      occupancy_percentage; // of the threads' time in launches, with programs
  Figure memory_bandwidth_gb_s;
  Figure memory_roof_gb_s;        // streaming copies, measured
  Figure compute_gflop_s;         // of ProfileOptions::flops
  Figure compute_roof_gflop_s;    // vector multiply-adds, measured
  Figure tensor_core_utilization; // percent of the matrix unit's bf16 peak
  std::map<std::string, Figure> counters; // per run
  std::vector<KernelTime> kernels;
  std::string bottleneck_analysis; // kind, colon, evidence
  std::string error;               // what a run said; then nothing is measured
};

class TesseraPerformanceProfiler {
public:
  /// Calls `kernel(arguments)`, or `kernel` with the elements of a tuple.
  template <typename Kernel, typename Arguments>
  ProfileData profileKernel(Kernel &&kernel, Arguments &&arguments,
                            ProfileOptions options = {}) {
    ProfileData data;
    auto run = [&] { return call(kernel, arguments, data); };
    std::vector<double> times;
    for (int i = 0; i < options.warmup_count; ++i)
      if (!run())
        return data;
    for (int i = 0; i < std::max(options.sample_count, 1); ++i) {
      auto start = std::chrono::steady_clock::now();
      if (!run())
        return data;
      std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - start;
      times.push_back(took.count());
    }
    summarise(times, data);
    Trace trace;
    tsr_set_trace(Trace::take, &trace);
    run();
    tsr_set_trace(nullptr, nullptr);
    readTrace(trace, options, data);
    if (options.enable_instruction_analysis)
      readCounters(run, data);
    judge(options, trace, data);
    return data;
  }

private:
  struct Trace {
    std::mutex mutex;
    std::vector<std::pair<tsr_trace_event, std::string>> events;
    int32_t threads = 1;

    static void take(void *data, const tsr_trace_event *event) {
      auto &self = *static_cast<Trace *>(data);
      std::lock_guard<std::mutex> lock(self.mutex);
      self.events.emplace_back(*event, event->kernel);
      self.threads = std::max(self.threads, event->team);
    }
  };

  template <typename T> struct IsTuple : std::false_type {};
  template <typename... T> struct IsTuple<std::tuple<T...>> : std::true_type {};

  /// False, with the error in `data`, if the kernel gives an error.
  template <typename Kernel, typename Arguments>
  static bool call(Kernel &kernel, Arguments &arguments, ProfileData &data) {
    auto invoke = [&]() -> decltype(auto) {
      if constexpr (IsTuple<std::decay_t<Arguments>>::value)
        return std::apply(kernel, arguments);
      else
        return kernel(arguments);
    };
    if constexpr (std::is_same_v<decltype(invoke()), Status>) {
      Status status = invoke();
      if (!status)
        data.error = status.message();
      return status.ok();
    } else {
      invoke();
      return true;
    }
  }

  static void summarise(std::vector<double> times, ProfileData &data) {
    std::sort(times.begin(), times.end());
    double sum = 0.0, squares = 0.0;
    for (double time : times)
      sum += time;
    double count = static_cast<double>(times.size()), mean = sum / count;
    for (double time : times)
      squares += (time - mean) * (time - mean);
    data.average_runtime_ms = mean;
    data.median_runtime_ms = times[times.size() / 2];
    data.stddev_runtime_ms = count > 1 ? std::sqrt(squares / (count - 1)) : 0.0;
    data.min_runtime_ms = times.front();
    data.max_runtime_ms = times.back();
  }

  static double milliseconds(const tsr_trace_event &event) {
    return static_cast<double>(event.end_ns - event.start_ns) * 1e-6;
  }

  static void readTrace(const Trace &trace, const ProfileOptions &options,
                        ProfileData &data) {
    double bytes = 0.0, could = 0.0, ran = 0.0;
    for (const auto &[event, name] : trace.events) {
      double time = milliseconds(event);
      auto known =
          std::find_if(data.kernels.begin(), data.kernels.end(),
                       [&](const KernelTime &k) { return k.name == name; });
      if (known == data.kernels.end())
        known = data.kernels.insert(known, KernelTime{name, 0.0, 0, 0.0});
      if (event.kind == TSR_TRACE_LAUNCH) {
        known->time_ms += time;
        known->threads = std::max(known->threads, event.team);
        bytes += static_cast<double>(event.bytes);
        could += time * event.team;
      } else {
        known->busy_percentage += time; // of programs, so far
        ran += time;
      }
    }
    for (KernelTime &kernel : data.kernels) {
      double whole = kernel.time_ms * std::max(kernel.threads, 1);
      kernel.busy_percentage =
          whole > 0.0 ? std::min(100.0 * kernel.busy_percentage / whole, 100.0)
                      : 0.0;
    }
    if (options.enable_occupancy_analysis && could > 0.0)
      data.occupancy_percentage = std::min(100.0 * ran / could, 100.0);
    if (options.bytes > 0.0)
      bytes = options.bytes;
    if (options.enable_memory_analysis && bytes > 0.0)
      data.memory_bandwidth_gb_s = bytes / data.median_runtime_ms * 1e-6;
  }

  template <typename Run>
  static void readCounters(Run &run, ProfileData &data) {
    constexpr int runs = 3;
    tsr_counters *counters = tsr_counters_open();
    if (!counters)
      return;
    for (int i = 0; i < runs; ++i)
      run();
    for (int32_t i = 0; i < TSR_NUM_COUNTERS; ++i) {
      double value;
      data.counters[tsr_counter_name(i)] =
          tsr_counters_read(counters, i, &value) ? Figure(value / runs)
                                                 : Figure();
    }
    tsr_counters_close(counters);
  }

  /// Measured once per profiler and number of threads.
  Figure roof(int32_t which, int32_t threads) {
    auto [known, isNew] = roofs.try_emplace({which, threads});
    if (isNew) {
      tsr_roof_sample sample{};
      sample.struct_size = sizeof sample;
      Status status(tsr_roof_measure(which, threads, 0.05, &sample));
      if (status)
        known->second = Figure(sample.best * 1e-9);
    }
    return known->second;
  }

  void judge(const ProfileOptions &options, const Trace &trace,
             ProfileData &data) {
    double memory = 0.0, compute = 0.0; // of their roofs
    std::ostringstream evidence;
    if (options.enable_memory_analysis &&
        data.memory_bandwidth_gb_s.isMeasured) {
      data.memory_roof_gb_s = roof(TSR_ROOF_COPY_STREAM, trace.threads);
      if (data.memory_roof_gb_s.isMeasured) {
        memory = data.memory_bandwidth_gb_s.value / data.memory_roof_gb_s.value;
        evidence << "; " << data.memory_bandwidth_gb_s << " of "
                 << data.memory_roof_gb_s << " GB/s (streaming copies)";
      }
    }
    if (options.enable_instruction_analysis && options.flops > 0.0) {
      data.compute_gflop_s = options.flops / data.median_runtime_ms * 1e-6;
      Figure peak = roof(TSR_ROOF_FMA_F32_AVX512, trace.threads);
      if (!peak.isMeasured)
        peak = roof(TSR_ROOF_FMA_F32_AVX2, trace.threads);
      data.compute_roof_gflop_s = peak;
      if (peak.isMeasured) {
        compute = data.compute_gflop_s.value / peak.value;
        evidence << "; " << data.compute_gflop_s << " of " << peak
                 << " GFLOP/s (vector multiply-adds)";
      }
      Figure matrix = roof(TSR_ROOF_AMX_BF16, trace.threads);
      if (matrix.isMeasured)
        data.tensor_core_utilization =
            100.0 * data.compute_gflop_s.value / matrix.value;
    }
    const Figure &busy = data.occupancy_percentage;
    const char *kind = "not measured";
    if (busy.isMeasured && trace.threads > 1 && busy.value < 70.0)
      kind = "synchronization_bound";
    else if (memory > 0.0 && memory >= compute)
      kind = "memory_bound";
    else if (compute > 0.0)
      kind = "compute_bound";
    if (busy.isMeasured)
      evidence << "; " << trace.threads << " threads busy in " << busy
               << " % of their time in launches";
    std::string text = evidence.str();
    data.bottleneck_analysis =
        kind + (text.empty() ? "" : ": " + text.substr(2));
  }

  std::map<std::pair<int32_t, int32_t>, Figure> roofs;
};

} // namespace tessera

#endif
