// Questions to the table of NVIDIA's architectures.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Support/Architectures/Nvidia.h"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <cstring>
#include <vector>

namespace tessera::nvidia {

static const Machine *findMachine(int number) {
  for (const Machine &row : machines())
    if (row.number == number)
      return &row;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::string Arch::name() const {
  std::string text = "sm_" + std::to_string(number());
  if (suffix)
    text += suffix;
  return text;
}

std::optional<Arch> parseArch(std::string_view name) {
  if (!name.starts_with("sm_"))
    return std::nullopt;
  name.remove_prefix(3);
  int number = 0;
  size_t digits = 0;
  for (; digits < name.size() && name[digits] >= '0' && name[digits] <= '9';
       ++digits) {
    if (digits == 3 || (digits == 0 && name[0] == '0'))
      return std::nullopt;
    number = number * 10 + (name[digits] - '0');
  }
  std::string_view rest = name.substr(digits);
  const Machine *found = findMachine(number);
  if (digits < 2 || rest.size() > 1 || !found ||
      (rest.size() == 1 && !std::strchr(found->suffixes, rest[0])))
    return std::nullopt;
  return Arch{number / 10, number % 10, rest.empty() ? char(0) : rest[0]};
}

Arch promoted(const Arch &arch) {
  // Hopper's only: later machines do without their suffix what matters.
  if (arch == Arch{9, 0, 0})
    return {9, 0, 'a'};
  return arch;
}

const Machine &machine(const Arch &arch) {
  const Machine *found = findMachine(arch.number());
  assert(found && "parseArch knows only machines of the table");
  return *found;
}

int ptxVersion(const Arch &arch) {
  const Machine &row = machine(arch);
  return arch.suffix == 'a' ? row.ptxA : arch.suffix ? row.ptxF : row.ptx;
}

int ptxEmitted(const Arch &arch) {
  return std::max(ptxVersion(arch), machine(arch).ptxUsed);
}

std::string archNames() {
  std::string text;
  for (const Machine &row : machines()) {
    std::string name = "sm_" + std::to_string(row.number);
    text += (text.empty() ? "" : ", ") + name;
    for (const char *suffix = row.suffixes; *suffix; ++suffix)
      text += ", " + name + *suffix;
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

bool Availability::on(const Arch &arch) const {
  for (int first : machines) {
    if (!first)
      break;
    switch (kind) {
    case From:
      if (arch.number() >= first)
        return true;
      break;
    case Family:
      // A family is one major version; `a` can do what `f` can.
      if (arch.suffix && arch.major == first / 10 && arch.number() >= first)
        return true;
      break;
    case Only:
      if (arch.suffix == 'a' && arch.number() == first)
        return true;
      break;
    }
  }
  return false;
}

std::string Availability::text() const {
  std::string list;
  for (int first : machines) {
    if (!first)
      break;
    std::string name = "sm_" + std::to_string(first);
    if (kind == From)
      return name + " and newer";
    bool hasFamily = std::strchr(findMachine(first)->suffixes, 'f');
    list += (list.empty() ? "" : ", ") + name +
            (kind == Family && hasFamily ? "f" : "a");
  }
  return list + (kind == Only ? " only" : " and their families");
}

const FeatureRow &featureRow(Feature feature) {
  auto found = std::ranges::find(features(), feature, &FeatureRow::feature);
  assert(found != features().end() && "every feature has a row");
  return *found;
}

bool has(const Arch &arch, Feature feature) {
  return featureRow(feature).where.on(arch);
}

std::string MmaRow::text() const {
  std::string types = std::string(d) + "." + a + "." + b;
  switch (instruction) {
  case Sync:
  case SyncSparse:
  case SyncBlockScale:
    return "m" + std::to_string(m) + "n" + std::to_string(n) + "k" +
           std::to_string(k) + "." + types + "." + d;
  default:
    return "m" + std::to_string(m) + "nNk" + std::to_string(k) + "." + types;
  }
}

static const MmaRow *bestMma(const Arch *arch, std::string_view a,
                             std::string_view b, std::string_view d,
                             MmaRow::Instruction kind) {
  const MmaRow *best = nullptr;
  for (const MmaRow &row : mmaRows()) {
    if (row.instruction != kind || a != row.a || b != row.b || d != row.d)
      continue;
    if (!arch)
      return &row;
    if (row.where.on(*arch) && (!best || row.m * row.k > best->m * best->k))
      best = &row;
  }
  return best;
}

const MmaRow *findMma(const Arch &arch, std::string_view a, std::string_view b,
                      std::string_view d, MmaRow::Instruction kind) {
  return bestMma(&arch, a, b, d, kind);
}

const MmaRow *findMmaAnywhere(std::string_view a, std::string_view b,
                              std::string_view d, MmaRow::Instruction kind) {
  return bestMma(nullptr, a, b, d, kind);
}

//===----------------------------------------------------------------------===//
// Occupancy
//===----------------------------------------------------------------------===//

Occupancy occupancy(const Arch &arch, int threads, int registers, int shared) {
  const Machine &sm = machine(arch);
  int warps = std::max(1, (threads + 31) / 32);
  // Registers are given to warps in units of 256, shared memory to blocks in
  // units of 128 bytes (256 before sm_80), with 1 KiB for the system from
  // sm_80 on. [G]
  int perWarp = (std::max(registers, 1) * 32 + 255) / 256 * 256;
  bool reserves = sm.number >= 80;
  int unit = reserves ? 128 : 256;
  int perBlock = (shared + unit - 1) / unit * unit + (reserves ? 1024 : 0);
  Occupancy result;
  result.blocks = sm.blocksPerSm;
  result.limiter = "blocks";
  auto bound = [&](int blocks, const char *what) {
    if (blocks < result.blocks) {
      result.blocks = blocks;
      result.limiter = what;
    }
  };
  bound(sm.warpsPerSm / warps, "warps");
  bound(registers > sm.registersPerThread ? 0
                                          : sm.registersPerSm / perWarp / warps,
        "registers");
  if (shared)
    bound(shared > sm.sharedPerBlock ? 0 : sm.sharedPerSm / perBlock,
          "shared memory");
  result.warps = result.blocks * warps;
  result.fraction = double(result.warps) / sm.warpsPerSm;
  return result;
}

//===----------------------------------------------------------------------===//
// The page
//===----------------------------------------------------------------------===//

static std::string number(double value) {
  if (value < 0)
    return "?";
  if (value == 0)
    return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

static std::string version(int ptx) {
  return std::to_string(ptx / 10) + "." + std::to_string(ptx % 10);
}

/// Names of the machines an instruction exists on, as short as it can be said.
static std::string archMarks(const Availability &where) {
  std::string text = "|";
  for (const Machine &row : machines()) {
    Arch plain{row.number / 10, row.number % 10, 0}, family = plain,
                                                     only = plain;
    family.suffix = 'f', only.suffix = 'a';
    bool hasFamily = std::strchr(row.suffixes, 'f');
    const char *mark = where.on(plain)                   ? "yes"
                       : hasFamily && where.on(family)   ? "f"
                       : *row.suffixes && where.on(only) ? "a"
                                                         : "";
    text += std::string(" ") + mark + (*mark ? " |" : "|");
  }
  return text;
}

std::string archPage() {
  std::string head = "|", rule = "|";
  for (const Machine &row : machines()) {
    head += " " + std::to_string(row.number) + " |";
    rule += "---|";
  }
  std::string page =
      "# NVIDIA's architectures\n"
      "Generated from `compiler/Support/Architectures/NvidiaTable.cpp`, which "
      "has the source of each line; `tools/generate-docs.py` writes it.\n"
      "\n"
      "`sm_90` is compiled as `sm_90a`, with a remark: its products exist only "
      "there. `sm_70` is PTX text only: CUDA 13 has no assembler for it.\n"
      "\n"
      "## Resources\n"
      "| | name | suffixes | PTX from | machine code | shared memory per "
      "block | per SM | registers per SM | per thread | warps | blocks | "
      "cluster | tensor memory |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const Machine &row : machines()) {
    std::string versions = version(row.ptx);
    if (row.ptxA)
      versions += ", a " + version(row.ptxA);
    if (row.ptxF)
      versions += ", f " + version(row.ptxF);
    std::string suffixes = row.suffixes;
    page +=
        "| sm_" + std::to_string(row.number) + " | " + row.family + " | " +
        (suffixes.empty()  ? "-"
         : suffixes == "a" ? "a"
                           : "a, f") +
        " | " + versions + " | " + (row.assembles ? "yes" : "no: PTX only") +
        " | " + std::to_string(row.sharedPerBlock / 1024) + " KiB | " +
        std::to_string(row.sharedPerSm / 1024) + " KiB | " +
        std::to_string(row.registersPerSm) + " | " +
        std::to_string(row.registersPerThread) + " | " +
        std::to_string(row.warpsPerSm) + " | " +
        std::to_string(row.blocksPerSm) + " | " +
        (row.cluster
             ? std::to_string(row.cluster) +
                   (row.clusterNonPortable > row.cluster
                        ? " (" + std::to_string(row.clusterNonPortable) + ")"
                        : "")
             : "-") +
        " | " +
        (row.tensorMemoryColumns
             ? std::to_string(row.tensorMemoryColumns) + " columns"
             : "-") +
        " |\n";
  }
  page += "\n## Instructions\n"
          "`yes`: on the plain name and every later machine; `f`, `a`: only "
          "with that suffix (`a` can do what `f` can).\n"
          "\n"
          "| instruction " +
          head + "\n|---" + rule + "\n";
  for (const FeatureRow &row : features())
    page += std::string("| `") + row.name + "` " + archMarks(row.where) + "\n";
  page += "\n## Matrix products\n"
          "Result, left, right and accumulated type, as PTX spells them.\n"
          "\n"
          "| instruction | form " +
          head + "\n|---|---" + rule + "\n";
  static constexpr const char *names[] = {
      "mma.sync", "mma.sp.sync", "mma.block_scale", "wgmma", "tcgen05.mma"};
  for (const MmaRow &row : mmaRows())
    page += std::string("| `") + names[row.instruction] + "` | `" + row.text() +
            "` " + archMarks(row.where) + "\n";
  page += "\n## Peak rates\n"
          "Dense, 10^12 operations per second, of one product; `-`: no such "
          "unit, `?`: not published. Bounds, never measurements.\n"
          "\n"
          "| | product | f64 | f32 | tf32 | f16 | bf16 | fp8 | int8 | fp4 | "
          "memory, GB/s | source |\n"
          "|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const Machine &row : machines()) {
    const Peak &p = row.peak;
    page += "| sm_" + std::to_string(row.number) + " | " +
            (*p.product ? p.product : "-") + " |";
    for (double rate : {p.f64, p.f32, p.tf32, p.f16, p.bf16, p.fp8, p.int8,
                        p.fp4, p.bandwidth})
      page += " " + number(rate) + " |";
    page += std::string(" ") + p.source + " |\n";
  }
  return page;
}

} // namespace tessera::nvidia
