// Which instructions this machine and its operating system allow.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asked of the instruction CPUID and of XGETBV, never of family and model:
// hypervisors mask features, and then the model promises too much.
#include "runtime/CpuFeatures.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tessera::runtime {

static bool isHidden(std::string_view feature) {
  const char *text = std::getenv("TESSERA_HIDE_CPU_FEATURES");
  std::string_view list = text ? text : "";
  while (!list.empty()) {
    size_t length = list.find(',');
    if (list.substr(0, length) == feature)
      return true;
    list.remove_prefix(length == std::string_view::npos ? list.size()
                                                        : length + 1);
  }
  return false;
}

#if defined(__x86_64__)

namespace {
enum Register { Eax, Ebx, Ecx, Edx };

struct Feature {
  std::string_view name;
  unsigned leaf, subleaf;
  Register reg;
  unsigned bit;
  uint64_t state; // bits of XCR0: registers the system must save
};
} // namespace

static constexpr uint64_t noState = 0, ymm = 0x6, zmm = 0xe6, tiles = 0x60000;

static constexpr Feature features[] = {
    {"sse3", 1, 0, Ecx, 0, noState},
    {"ssse3", 1, 0, Ecx, 9, noState},
    {"cx16", 1, 0, Ecx, 13, noState},
    {"sse4.1", 1, 0, Ecx, 19, noState},
    {"sse4.2", 1, 0, Ecx, 20, noState},
    {"movbe", 1, 0, Ecx, 22, noState},
    {"popcnt", 1, 0, Ecx, 23, noState},
    {"fma", 1, 0, Ecx, 12, ymm},
    {"avx", 1, 0, Ecx, 28, ymm},
    {"f16c", 1, 0, Ecx, 29, ymm},
    {"bmi", 7, 0, Ebx, 3, noState},
    {"avx2", 7, 0, Ebx, 5, ymm},
    {"bmi2", 7, 0, Ebx, 8, noState},
    {"lzcnt", 0x80000001, 0, Ecx, 5, noState},
    {"avx512f", 7, 0, Ebx, 16, zmm},
    {"avx512dq", 7, 0, Ebx, 17, zmm},
    {"avx512ifma", 7, 0, Ebx, 21, zmm},
    {"avx512cd", 7, 0, Ebx, 28, zmm},
    {"avx512bw", 7, 0, Ebx, 30, zmm},
    {"avx512vl", 7, 0, Ebx, 31, zmm},
    {"avx512vbmi", 7, 0, Ecx, 1, zmm},
    {"avx512vbmi2", 7, 0, Ecx, 6, zmm},
    {"avx512vnni", 7, 0, Ecx, 11, zmm},
    {"avx512bitalg", 7, 0, Ecx, 12, zmm},
    {"avx512vpopcntdq", 7, 0, Ecx, 14, zmm},
    {"avx512fp16", 7, 0, Edx, 23, zmm},
    {"avx512bf16", 7, 1, Eax, 5, zmm},
    {"avxvnni", 7, 1, Eax, 4, ymm},
    {"amx-bf16", 7, 0, Edx, 22, tiles},
    {"amx-tile", 7, 0, Edx, 24, tiles},
    {"amx-int8", 7, 0, Edx, 25, tiles},
    {"amx-fp16", 7, 1, Eax, 21, tiles},
};

static uint64_t enabledState() {
  unsigned a, b, c, d;
  bool hasXgetbv = __get_cpuid(1, &a, &b, &c, &d) && (c >> 27 & 1);
  if (!hasXgetbv)
    return 0;
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

/// Linux gives a process the large tile registers only when it asks.
static bool mayUseTiles() {
  constexpr long requestPermission = 0x1023, tileData = 18;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

static bool isThere(const Feature &feature) {
  unsigned registers[4] = {};
  return __get_cpuid_count(feature.leaf, feature.subleaf, &registers[Eax],
                           &registers[Ebx], &registers[Ecx], &registers[Edx]) &&
         (registers[feature.reg] >> feature.bit & 1);
}

std::string missingCpuFeature(std::string_view name) {
  for (const Feature &feature : features) {
    if (feature.name != name)
      continue;
    if (isHidden(name) || !isThere(feature))
      return "this processor has no " + std::string(name);
    if ((enabledState() & feature.state) != feature.state)
      return "the operating system doesn't enable " + std::string(name);
    if (feature.state == tiles && !mayUseTiles())
      return "the operating system doesn't permit " + std::string(name);
    return {};
  }
  return "this runtime doesn't know the processor feature " + std::string(name);
}

std::string cpuSignature() {
  struct Part {
    unsigned leaf, subleaf;
    uint32_t mask[4]; // eax, ebx, ecx, edx
  };
  constexpr uint32_t all = ~0u;
  // Not the stepping, the number of this core (leaf 1, ebx), or what tells of
  // defects and not of instructions (leaf 7, edx).
  static constexpr Part parts[] = {
      {0, 0, {0, all, all, all}},        {1, 0, {0x0fff3ff0, 0, all, all}},
      {7, 0, {0, all, all, 0x03fffbff}}, {7, 1, {all, all, all, all}},
      {0xd, 1, {all, 0, 0, 0}},          {0x14, 0, {0, all, 0, 0}},
      {0x19, 0, {0, all, 0, 0}},         {0x1e, 1, {all, 0, 0, 0}},
      {0x24, 0, {0, all, 0, 0}},         {0x80000001, 0, {0, 0, all, all}},
      {0x80000008, 0, {0, all, 0, 0}},
  };
  char number[24];
  std::string text;
  for (const Part &part : parts) {
    unsigned registers[4] = {};
    __get_cpuid_count(part.leaf, part.subleaf, &registers[Eax], &registers[Ebx],
                      &registers[Ecx], &registers[Edx]);
    for (int i = 0; i < 4; ++i)
      if (part.mask[i]) {
        std::snprintf(number, sizeof(number), "%x ",
                      registers[i] & part.mask[i]);
        text += number;
      }
  }
  std::snprintf(number, sizeof(number), "%llx",
                static_cast<unsigned long long>(enabledState()));
  const char *hidden = std::getenv("TESSERA_HIDE_CPU_FEATURES");
  return text + number + " " + (hidden ? hidden : "");
}

#else

std::string cpuSignature() { return "unknown"; }

std::string missingCpuFeature(std::string_view name) {
  return (isHidden(name) ? "this processor has no "
                         : "this runtime doesn't know the processor feature ") +
         std::string(name);
}

#endif

} // namespace tessera::runtime
