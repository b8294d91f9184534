// Kernel arguments as they are written on the command line.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/api/Device.h"

namespace tessera::sim {

/// A scalar ("i32:7"), or an array the kernel gets by address
/// ("zeros:f32:1024", "range:i32:100", "random:f32:64", "file:data.bin").
struct Argument {
  std::string text, type;
  bool isArray = false;
  std::vector<uint8_t> bytes;
  uint64_t address = 0;
};

Argument parseArgument(const std::string &text);
std::vector<uint8_t> packArguments(const Program &program,
                                   std::vector<Argument> &arguments,
                                   Device &device);
/// The first elements of an array, after the launch.
void printArgument(const Argument &argument);
/// A whole number for `option`, from 0 to `most`.
uint64_t parseNumber(const std::string &option, const std::string &text,
                     uint64_t most = ~0ull);
/// "4" or "4,2,1".
void parseDims(const std::string &option, const std::string &text,
               uint32_t *dims);

} // namespace tessera::sim
