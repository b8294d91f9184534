// What a launch may ask for and take: the simulated machines as data.
//
// The one table of the simulator. test/sim/test_limits.py compares it with the
// compiler's (compiler/Support/Architectures), which this folder must not
// include, and with docs/simulator.md.
//
// Sources: CUDA C++ Programming Guide 13, "Compute Capabilities", tables
// "Technical Specifications per Compute Capability" [G]; PTX ISA 9.0, "Kernel
// Function Parameters" [P]; cuda_occupancy.h of CUDA 13 for sm_88, which [G]
// does not list.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tessera::sim {

struct LaunchOptions;
struct Program;

/// One machine; sizes in bytes. [G]
struct Machine {
  unsigned number;          // 90
  const char *suffixes;     // "", "a" or "af": sm_90, sm_90a, sm_90f
  unsigned threads, blocks; // of one multiprocessor
  uint32_t shared;          // of one multiprocessor
  uint32_t sharedPerBlock;  // static and dynamic, if the launch asks for it
  uint32_t registers;       // of one multiprocessor
  unsigned cluster; // most blocks of a cluster, if the launch asks; 0: none
};
std::span<const Machine> machines();
/// Null if there is no such machine.
const Machine *findMachine(unsigned number);
/// The same, or std::runtime_error that names those there are.
const Machine &machine(unsigned number);
/// 90 for "sm_90", "sm_90a" or "90"; std::runtime_error for all else.
unsigned parseArch(std::string_view name);
/// "sm_70, sm_72, ..., sm_90, sm_90a, ..."
std::string archNames();
/// [{"name": "sm_90a", "number": 90, "shared_per_block": ...}, ...]
std::string machinesJson();

/// Of every machine. [G]
constexpr uint32_t gridLimit[3] = {0x7fffffff, 65535, 65535};
constexpr uint32_t blockLimit[3] = {1024, 1024, 64};
constexpr uint32_t threadsPerBlockLimit = 1024;
/// What ptxas lets a kernel declare, and a launch has without asking.
constexpr uint32_t staticSharedLimit = 48 << 10;
/// Blocks of a cluster that every machine with clusters has. [G]
constexpr uint32_t portableCluster = 8;
constexpr uint32_t localLimit = 512 << 10; // of one thread
/// Bytes of parameters: more from PTX 8.1 and sm_70 on. [P]
constexpr uint32_t parameterLimit = 4096, largeParameterLimit = 32764;

/// When a kernel that does not end is ended, unless the launch or
/// $TESSERA_SIM_MAX_INSTRUCTIONS and $TESSERA_SIM_MAX_SECONDS say otherwise.
constexpr uint64_t defaultMaxInstructions = 200000000;
constexpr double defaultMaxSeconds = 240;

/// Puts the defaults where `options` has zeros.
void fillLimits(LaunchOptions &options);
/// Takes what the launch does not say of clusters from the kernel.
void fillCluster(const Program &program, LaunchOptions &options);
/// The size of the cluster is not possible; the driver has a code for it.
struct ClusterError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Throws std::runtime_error if no machine like this would run it; clusters
/// are filled in.
void checkLaunch(const Program &program, const LaunchOptions &options);

} // namespace tessera::sim
