// Validating and running a launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/api/Device.h"

#include "sim/check/Checker.h"
#include <cfenv>
#include <stdexcept>

namespace tessera::sim {

LaunchResult launchKernel(Device &device, LinkedModule &module,
                          const std::string &kernel,
                          const LaunchOptions &options, const void *params,
                          size_t paramsSize) {
  Program &program = module.program(kernel, options.ring);
  uint64_t threads =
      uint64_t(options.block[0]) * options.block[1] * options.block[2];
  if (threads == 0 || threads > 1024)
    throw std::runtime_error("block of " + std::to_string(threads) +
                             " threads; a block has 1 to 1024");
  if (!options.grid[0] || !options.grid[1] || !options.grid[2])
    throw std::runtime_error("grid has no blocks");
  const unsigned *required = program.entry->requiredThreads;
  if (required[0])
    for (int d = 0; d < 3; ++d)
      if (required[d] != options.block[d])
        throw std::runtime_error(
            "kernel '" + kernel + "' needs blocks of " +
            std::to_string(required[0]) + "x" + std::to_string(required[1]) +
            "x" + std::to_string(required[2]) + " threads (.reqntid)");
  const unsigned *maximum = program.entry->maxThreads;
  if (maximum[0] && threads > uint64_t(maximum[0]) * maximum[1] * maximum[2])
    throw std::runtime_error("block of " + std::to_string(threads) +
                             " threads is larger than .maxntid of kernel '" +
                             kernel + "'");
  for (int d = 0; d < 3; ++d)
    if (!options.cluster[d] || options.grid[d] % options.cluster[d])
      throw std::runtime_error("grid is not a multiple of the cluster");
  if (paramsSize < program.paramSize)
    throw std::runtime_error(
        "kernel '" + kernel + "' takes " + std::to_string(program.paramSize) +
        " bytes of parameters, given " + std::to_string(paramsSize));
  Launch launch;
  launch.program = &program;
  launch.memory = &device.memory;
  launch.options = options;
  launch.print = device.print;
  const auto *bytes = static_cast<const uint8_t *>(params);
  launch.params.assign(bytes, bytes + program.paramSize);
  // The host may have changed how its thread treats subnormals or rounding.
  std::fenv_t environment;
  std::fegetenv(&environment);
  std::fesetenv(FE_DFL_ENV);
  LaunchResult result = launch.run();
  unsigned registers =
      options.registers ? options.registers : program.entry->maxRegisters;
  result.occupancy = report::occupancy(
      options.arch, unsigned(threads),
      program.staticShared + options.dynamicShared, registers);
  std::fesetenv(&environment);
  return result;
}

} // namespace tessera::sim
