// Validating and running a launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/api/Device.h"

#include "sim/check/Checker.h"
#include "sim/exec/Limits.h"
#include <cfenv>
#include <stdexcept>

namespace tessera::sim {

LaunchResult launchKernel(Device &device, LinkedModule &module,
                          const std::string &kernel, const LaunchOptions &given,
                          const void *params, size_t paramsSize) {
  LaunchOptions options = given;
  Program &program = module.program(kernel, options.ring);
  fillCluster(program, options);
  checkLaunch(program, options);
  if (paramsSize < program.paramSize)
    throw std::runtime_error(
        "kernel '" + kernel + "' takes " + std::to_string(program.paramSize) +
        " bytes of parameters, given " + std::to_string(paramsSize));
  {
    std::lock_guard lock(module.mutex);
    addRankConstants(program, unsigned(options.clusterBlocks()));
  }
  Launch launch;
  launch.program = &program;
  launch.memory = &device.memory;
  launch.options = options;
  fillLimits(launch.options);
  launch.print = device.print;
  const auto *bytes = static_cast<const uint8_t *>(params);
  launch.params.assign(bytes, bytes + program.paramSize);
  // The host may have changed how its thread treats subnormals or rounding.
  std::fenv_t environment;
  std::fegetenv(&environment);
  std::fesetenv(FE_DFL_ENV);
  std::shared_ptr<check::GridTrace> last = std::move(device.lastGrid);
  device.lastGrid.reset();
  if (options.programmatic)
    launch.before = last;
  LaunchResult result = launch.run();
  device.lastGrid = launch.trace;
  unsigned registers =
      options.registers ? options.registers : program.entry->maxRegisters;
  result.occupancy = report::occupancy(
      options.arch, options.block[0] * options.block[1] * options.block[2],
      program.staticShared + options.dynamicShared, registers);
  std::fesetenv(&environment);
  return result;
}

} // namespace tessera::sim
