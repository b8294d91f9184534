// The figures are those of tessera/sim/boards.py, which says where they come
// from; test_boards.py compares them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/driver/Boards.h"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <strings.h>

namespace tessera::sim::driver {

static constexpr Board boards[] = {
    {"H100", 90, 132, 80ull << 30, 50 << 20},
    {"B200", 100, 148, 180ull << 30, 126 << 20},
    {"GB300", 103, 160, 288ull << 30, 126 << 20},
    {"RTX 5090", 120, 170, 32ull << 30, 96 << 20},
    {"RTX 5080", 120, 84, 16ull << 30, 64 << 20},
    {"RTX 5070", 120, 48, 12ull << 30, 48 << 20}};

const Board *chosenBoard() {
  const char *name = std::getenv("TESSERA_SIM_BOARD");
  if (!name || !*name)
    return nullptr;
  std::string known;
  for (const Board &board : boards) {
    if (!strcasecmp(board.name, name))
      return &board;
    known += (known.empty() ? "" : ", ") + std::string(board.name);
  }
  throw std::runtime_error("no board is called '" + std::string(name) +
                           "'; the simulator has " + known);
}

} // namespace tessera::sim::driver
