// Results of a launch as JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/Launch.h"

namespace tessera::sim::report {
std::string toJson(const LaunchResult &result, const Program *program,
                   const std::string &error);
std::string quote(std::string_view text);
} // namespace tessera::sim::report
