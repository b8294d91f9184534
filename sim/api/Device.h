// A simulated device: memory, and settings of its launches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/Launch.h"
#include "sim/exec/Link.h"

namespace tessera::sim {

struct Device {
  Memory memory;
  std::function<void(const std::string &)> print;
  /// Of the last launch, for one that may overlap with it; its code must be
  /// there as long.
  std::shared_ptr<check::GridTrace> lastGrid;
};

/// Checks a configuration against the kernel and the machine, runs it.
/// Throws ptx::Error or std::runtime_error before anything ran.
LaunchResult launchKernel(Device &device, LinkedModule &module,
                          const std::string &kernel,
                          const LaunchOptions &options, const void *params,
                          size_t paramsSize);

} // namespace tessera::sim
