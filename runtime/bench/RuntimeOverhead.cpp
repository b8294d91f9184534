// Measures what the runtime adds to the kernels: nanoseconds per call.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tessera-c/runtime.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

static int32_t nothing(void *const *, const int64_t *, int64_t, int64_t,
                       void *) {
  return 0;
}

/// The best of many rounds: other work on the machine only adds.
template <typename Function> static double nanoseconds(Function function) {
  constexpr int rounds = 60, calls = 5000;
  double best = 1e9;
  for (int round = 0; round < rounds; ++round) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i)
      function();
    std::chrono::duration<double, std::nano> time =
        std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count() / calls);
  }
  return best;
}

static void measure(const char *title, const std::string &plan, int tensors,
                    int rank) {
  tsr_plan *parsed;
  tsr_executable *executable = nullptr;
  tsr_status status = tsr_plan_parse(plan.data(), plan.size(), &parsed);
  if (!status) {
    tsr_symbol symbol{"k", nothing};
    status = tsr_executable_create(parsed, &symbol, 1, &executable);
  }
  int64_t sizes[] = {8, 8, 8, 8}, strides[] = {512, 64, 8, 1};
  alignas(64) static float data[8][4096];
  tsr_tensor given[8];
  for (int i = 0; i < tensors; ++i)
    given[i] = {data[i], sizes, strides + 4 - rank, TSR_F32, rank};
  tsr_call call{};
  call.struct_size = sizeof call;
  call.tensors = given;
  call.num_tensors = tensors;
  double time = status ? 0 : nanoseconds([&] {
    if (tsr_status error = tsr_executable_run(executable, &call))
      status = error;
  });
  if (status)
    std::printf("%-40s error: %s\n", title, tsr_status_message(status));
  else
    std::printf("%-40s %8.1f ns\n", title, time);
  tsr_status_free(status);
  tsr_executable_free(executable);
  tsr_plan_free(parsed);
}

static void empty(void *, int64_t, int64_t) {}

int main() {
  std::string head = "tessera.plan 1\nfunction f\ntarget cpu 1\n";
  std::string three = "arg %A in f32 [$M, $K]\narg %B in f32 [$K, $N]\n"
                      "result %C f32 [$M, $N]\nbody\n";
  measure("no arguments, no steps", head + "body\nend\n", 0, 0);
  measure("3 tensors, no steps", head + three + "end\n", 3, 2);
  std::string launch = "launch @k(%A, %B, %C) grid ($M ceildiv 32) * "
                       "($N ceildiv 32) scratch 4096 work $M * $N * $K\n";
  measure("3 tensors, 1 launch (gemm)", head + three + launch + "end\n", 3, 2);
  std::string ten;
  for (int i = 0; i < 10; ++i)
    ten += launch;
  measure("3 tensors, 10 launches", head + three + ten + "end\n", 3, 2);
  measure("3 tensors, 1 temporary, 2 launches",
          head + three + "alloc %t f32 [$M, $N]\n" + launch +
              "launch @k(%A, %t, %C) grid 1\nfree %t\nend\n",
          3, 2);
  measure("3 tensors, loop of 100 passes",
          head + three +
              "let $i = 0\nloop\nwhile $i < 100\nset $i = $i + 1\nend\nend\n",
          3, 2);
  std::string many;
  for (int i = 0; i < 8; ++i)
    many += "arg %T" + std::to_string(i) + (i < 7 ? " in" : " out") +
            " f32 [$B, $H, $S, $D]\n";
  measure("8 tensors of rank 4, 1 launch",
          head + many + "body\nlaunch @k(%T0, %T7) grid 1\nend\n", 8, 4);
  std::printf("%-40s %8.1f ns (%s, %d threads)\n",
              "tsr_parallel_for, 64 chunks",
              nanoseconds([] { tsr_parallel_for(64, empty, nullptr); }),
              tsr_threading_name(), tsr_get_num_threads());
  std::printf("%-40s %8.1f ns\n", "tsr_parallel_for, 1",
              nanoseconds([] { tsr_parallel_for(1, empty, nullptr); }));
  std::printf("%-40s %8.1f ns\n", "tsr_allocate + tsr_deallocate, 4 KiB",
              nanoseconds([] { tsr_deallocate(tsr_allocate(4096)); }));
  return 0;
}
