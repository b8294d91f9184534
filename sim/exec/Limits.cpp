// The table of machines, and what it refuses.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Limits.h"

#include "sim/exec/Launch.h"
#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <tuple>

namespace tessera::sim {

// clang-format off
// number, suffixes, threads and blocks of a multiprocessor, shared memory of a
// multiprocessor and of a block, registers, blocks of a cluster
static constexpr uint32_t K = 1024;
static constexpr Machine table[] = {
    {70, "", 2048, 32, 96 * K, 96 * K, 65536, 0},
    {72, "", 2048, 32, 96 * K, 96 * K, 65536, 0},
    {75, "", 1024, 16, 64 * K, 64 * K, 65536, 0},
    {80, "", 2048, 32, 164 * K, 163 * K, 65536, 0},
    {86, "", 1536, 16, 100 * K, 99 * K, 65536, 0},
    {87, "", 1536, 16, 164 * K, 163 * K, 65536, 0},
    {88, "", 1536, 16, 100 * K, 99 * K, 65536, 0},
    {89, "", 1536, 24, 100 * K, 99 * K, 65536, 0},
    {90, "a", 2048, 32, 228 * K, 227 * K, 65536, 16},
    {100, "af", 2048, 32, 228 * K, 227 * K, 65536, 16},
    {103, "af", 2048, 32, 228 * K, 227 * K, 65536, 16},
    {110, "af", 1536, 24, 228 * K, 227 * K, 65536, 16},
    {120, "af", 1536, 24, 100 * K, 99 * K, 65536, 8},
    {121, "af", 1536, 24, 100 * K, 99 * K, 65536, 8},
};
// clang-format on

std::span<const Machine> machines() { return table; }

const Machine *findMachine(unsigned number) {
  for (const Machine &m : table)
    if (m.number == number)
      return &m;
  return nullptr;
}

/// Calls `f(machine, "sm_90a")` for every name.
template <class F> static void forNames(F f) {
  for (const Machine &m : table) {
    std::string name = "sm_" + std::to_string(m.number);
    f(m, name);
    for (const char *s = m.suffixes; *s; ++s)
      f(m, name + *s);
  }
}

std::string archNames() {
  std::string all;
  forNames([&](const Machine &, const std::string &name) {
    all += (all.empty() ? "" : ", ") + name;
  });
  return all;
}

static std::runtime_error unknownArch(std::string_view name) {
  return std::runtime_error("no architecture is called '" + std::string(name) +
                            "'; the simulator has " + archNames());
}

const Machine &machine(unsigned number) {
  if (const Machine *m = findMachine(number))
    return *m;
  throw unknownArch("sm_" + std::to_string(number));
}

unsigned parseArch(std::string_view text) {
  unsigned found = 0;
  forNames([&](const Machine &m, const std::string &name) {
    if (text == name || text == std::string_view(name).substr(3))
      found = m.number;
  });
  if (!found)
    throw unknownArch(text);
  return found;
}

std::string machinesJson() {
  std::string out;
  forNames([&](const Machine &m, const std::string &name) {
    auto field = [](const char *key, uint64_t value) {
      return ", \"" + std::string(key) + "\": " + std::to_string(value);
    };
    out += (out.empty() ? "[" : ",\n ") + ("{\"name\": \"" + name + "\"") +
           field("number", m.number) + field("warps_per_sm", m.threads / 32) +
           field("blocks_per_sm", m.blocks) + field("shared_per_sm", m.shared) +
           field("shared_per_block", m.sharedPerBlock) +
           field("registers_per_sm", m.registers) +
           field("cluster", m.cluster) + "}";
  });
  return out + "]";
}

template <class T> static T fromEnvironment(const char *name, T otherwise) {
  const char *text = std::getenv(name);
  if (!text || !*text)
    return otherwise;
  T value = 0;
  const char *end = text + std::string_view(text).size();
  auto [at, error] = std::from_chars(text, end, value);
  if (error != std::errc() || at != end || !(value >= 0))
    throw std::runtime_error(std::string(name) + " is '" + text +
                             "'; expected a number, 0 for the default");
  return value > 0 ? value : otherwise;
}

void fillLimits(LaunchOptions &o) {
  if (!o.maxInstructions)
    o.maxInstructions =
        fromEnvironment("TESSERA_SIM_MAX_INSTRUCTIONS", defaultMaxInstructions);
  if (o.maxSeconds == 0)
    o.maxSeconds =
        fromEnvironment("TESSERA_SIM_MAX_SECONDS", defaultMaxSeconds);
}

void fillCluster(const Program &program, LaunchOptions &o) {
  const ptx::Function &entry = *program.entry;
  const unsigned *required = entry.requiredCluster;
  o.explicitCluster = o.cluster[0] || required[0];
  if (!o.cluster[0])
    for (int d = 0; d < 3; ++d)
      o.cluster[d] = required[0] ? required[d] : 1;
  if (entry.blocksAreClusters)
    for (int d = 0; d < 3; ++d) // what is too large stays too large
      o.grid[d] =
          uint32_t(std::min<uint64_t>(uint64_t(o.grid[d]) * o.cluster[d], ~0u));
}

static std::string dims(const uint32_t *d) {
  return std::to_string(d[0]) + "x" + std::to_string(d[1]) + "x" +
         std::to_string(d[2]);
}

void checkLaunch(const Program &program, const LaunchOptions &o) {
  const Machine &m = machine(o.arch);
  const ptx::Function &entry = *program.entry;
  std::string kernel = "kernel '" + entry.name + "'";
  auto refuse = [](const std::string &why) { throw std::runtime_error(why); };
  auto refuseCluster = [](const std::string &why) { throw ClusterError(why); };
  for (auto [what, given, limit] : {std::tuple("grid", o.grid, gridLimit),
                                    std::tuple("block", o.block, blockLimit)}) {
    for (int d = 0; d < 3; ++d)
      if (!given[d] || given[d] > limit[d])
        refuse(kernel + ": " + what + " of " + dims(given) +
               "; its sizes go from 1 to " + dims(limit));
  }
  uint64_t threads = uint64_t(o.block[0]) * o.block[1] * o.block[2];
  if (threads > threadsPerBlockLimit)
    refuse(kernel + ": block of " + dims(o.block) + ", " +
           std::to_string(threads) + " threads; a block has 1 to " +
           std::to_string(threadsPerBlockLimit));
  const unsigned *required = entry.requiredThreads;
  if (required[0])
    for (int d = 0; d < 3; ++d)
      if (required[d] != o.block[d])
        refuse(kernel + " needs blocks of " + dims(required) +
               " threads (.reqntid), given " + dims(o.block));
  const unsigned *maximum = entry.maxThreads;
  if (maximum[0] && threads > uint64_t(maximum[0]) * maximum[1] * maximum[2])
    refuse(kernel + ": block of " + std::to_string(threads) +
           " threads is larger than its .maxntid of " + dims(maximum));
  for (int d = 0; d < 3; ++d)
    if (!o.cluster[d] || o.grid[d] % o.cluster[d])
      refuseCluster(kernel + ": grid of " + dims(o.grid) +
                    " is not a multiple of the cluster of " + dims(o.cluster));
  uint64_t cluster = o.clusterBlocks();
  if (cluster > 1 && cluster > m.cluster)
    refuseCluster(kernel + ": cluster of " + std::to_string(cluster) +
                  " blocks; sm_" + std::to_string(m.number) + " has " +
                  (m.cluster ? "at most " + std::to_string(m.cluster)
                             : std::string("no clusters")));
  const unsigned *wanted = entry.requiredCluster;
  if (wanted[0] && !std::equal(wanted, wanted + 3, o.cluster))
    refuseCluster(kernel + " needs clusters of " + dims(wanted) +
                  " blocks (.reqnctapercluster), given " + dims(o.cluster));
  if (entry.maxClusterRank && cluster > entry.maxClusterRank)
    refuseCluster(kernel + ": cluster of " + std::to_string(cluster) +
                  " blocks is larger than its .maxclusterrank of " +
                  std::to_string(entry.maxClusterRank));
  if (entry.explicitCluster && !o.explicitCluster)
    refuseCluster(kernel + " needs a launch that gives the size of the "
                           "cluster (.explicitcluster)");
  uint64_t shared = uint64_t(program.staticShared) + o.dynamicShared;
  if (shared > m.sharedPerBlock)
    refuse(kernel + " asks for " + std::to_string(shared) +
           " bytes of shared memory (" + std::to_string(program.staticShared) +
           " static, " + std::to_string(o.dynamicShared) +
           " dynamic); a block of sm_" + std::to_string(m.number) +
           " has at most " + std::to_string(m.sharedPerBlock));
}

} // namespace tessera::sim
