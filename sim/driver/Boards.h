// Cards to choose: what the architecture leaves open.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace tessera::sim::driver {

struct Board {
  const char *name;
  unsigned arch;
  int multiprocessors;
  uint64_t memory;
  int l2Bytes;
};

/// The card that TESSERA_SIM_BOARD names, or null. Throws what is wrong with
/// the name.
const Board *chosenBoard();

} // namespace tessera::sim::driver
