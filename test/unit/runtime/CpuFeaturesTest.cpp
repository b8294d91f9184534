// Processor features a plan requires.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/CpuFeatures.h"

#include "RunPlan.h"
#include <cstdlib>
#include <fstream>
#include <set>

using namespace tessera::test;
using tessera::runtime::missingCpuFeature;

static std::string load(const std::string &features) {
  return runPlan(head + "requires " + features + "\nbody\nend\n", {}, {});
}

TEST(CpuFeatures, APlanIsRefusedIfOneIsMissing) {
  EXPECT_EQ(load("\"made-up\""),
            "f can't run here: this runtime doesn't know the processor feature "
            "made-up");
  EXPECT_EQ(parseError(head + "requires avx2\nbody\nend\n"),
            "plan line 4: expected a string, found 'avx2'");
  EXPECT_EQ(parseError(head + "requires\nbody\nend\n"),
            "plan line 4: expected a string, found the end of the line");
}

#if defined(__x86_64__)
TEST(CpuFeatures, AgreeWithTheSystem) {
  std::ifstream file("/proc/cpuinfo");
  std::string word;
  std::set<std::string> known;
  for (std::string line; std::getline(file, line);)
    if (line.rfind("flags", 0) == 0) {
      std::istringstream words(line);
      while (words >> word)
        known.insert(word);
      break;
    }
  if (known.empty())
    GTEST_SKIP() << "no flags in /proc/cpuinfo";
  // LLVM's name and Linux's.
  const std::pair<const char *, const char *> names[] = {
      {"sse3", "pni"},
      {"ssse3", "ssse3"},
      {"sse4.1", "sse4_1"},
      {"sse4.2", "sse4_2"},
      {"popcnt", "popcnt"},
      {"movbe", "movbe"},
      {"cx16", "cx16"},
      {"fma", "fma"},
      {"avx", "avx"},
      {"f16c", "f16c"},
      {"bmi", "bmi1"},
      {"bmi2", "bmi2"},
      {"lzcnt", "abm"},
      {"avx2", "avx2"},
      {"avx512f", "avx512f"},
      {"avx512dq", "avx512dq"},
      {"avx512ifma", "avx512ifma"},
      {"avx512cd", "avx512cd"},
      {"avx512bw", "avx512bw"},
      {"avx512vl", "avx512vl"},
      {"avx512vbmi", "avx512vbmi"},
      {"avx512vbmi2", "avx512_vbmi2"},
      {"avx512vnni", "avx512_vnni"},
      {"avx512bitalg", "avx512_bitalg"},
      {"avx512vpopcntdq", "avx512_vpopcntdq"},
      {"avx512fp16", "avx512_fp16"},
      {"avx512bf16", "avx512_bf16"},
      {"avxvnni", "avx_vnni"},
      {"amx-bf16", "amx_bf16"},
      {"amx-tile", "amx_tile"},
      {"amx-int8", "amx_int8"},
  };
  for (auto [ours, theirs] : names)
    EXPECT_EQ(missingCpuFeature(ours).empty(), known.count(theirs) == 1)
        << ours << ": " << missingCpuFeature(ours);
}

TEST(CpuFeatures, CanBeHiddenForTests) {
  EXPECT_EQ(load("\"sse3\" \"popcnt\""), "");
  setenv("TESSERA_HIDE_CPU_FEATURES", "avx,popcnt", 1);
  EXPECT_EQ(load("\"sse3\" \"popcnt\""),
            "f can't run here: this processor has no popcnt");
  unsetenv("TESSERA_HIDE_CPU_FEATURES");
}
#endif
