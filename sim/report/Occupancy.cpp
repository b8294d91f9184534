// Static occupancy.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/report/Occupancy.h"

#include "sim/exec/Limits.h"
#include <algorithm>
#include <cstdio>

namespace tessera::sim::report {

Occupancy occupancy(unsigned arch, unsigned threads, uint32_t shared,
                    unsigned registers) {
  const Machine &sm = machine(arch);
  Occupancy o;
  unsigned warps = std::max(1u, (threads + 31) / 32);
  o.maxWarps = sm.threads / 32;
  o.sharedPerBlock = shared;
  o.registers = registers;
  o.blocks = sm.blocks;
  o.limit = "blocks per multiprocessor";
  auto bound = [&](unsigned blocks, const char *what) {
    if (blocks < o.blocks) {
      o.blocks = blocks;
      o.limit = what;
    }
  };
  bound(o.maxWarps / warps, "threads");
  // From sm_80 on the system keeps 1 KB of each block's shared memory. Up to
  // sm_75 it keeps none.
  uint32_t reserved = arch >= 80 ? 1024 : 0;
  uint32_t each = (shared + reserved + 127) / 128 * 128;
  if (each)
    bound(shared > sm.sharedPerBlock ? 0 : sm.shared / each, "shared memory");
  if (registers) {
    // A warp gets registers in pieces of 256.
    unsigned perWarp = (registers * 32 + 255) / 256 * 256;
    bound(sm.registers / perWarp / warps, "registers");
  }
  o.warps = o.blocks * warps;
  return o;
}

std::string toJson(const Occupancy &o) {
  std::string out =
      "{\"blocks_per_sm\": " + std::to_string(o.blocks) +
      ", \"warps_per_sm\": " + std::to_string(o.warps) +
      ", \"max_warps_per_sm\": " + std::to_string(o.maxWarps) +
      ", \"limited_by\": \"" + o.limit +
      "\", \"shared_bytes_per_block\": " + std::to_string(o.sharedPerBlock) +
      ", \"registers\": ";
  out += o.registers ? std::to_string(o.registers) : "\"not measured\"";
  return out + "}";
}

std::string describe(const Occupancy &o) {
  char text[200];
  std::snprintf(text, sizeof text,
                "%s%u blocks, %u of %u warps (%.0f %%) per multiprocessor, "
                "limited by %s; registers: ",
                o.registers ? "" : "at most ", o.blocks, o.warps, o.maxWarps,
                100.0 * o.warps / o.maxWarps, o.limit);
  return text + (o.registers ? std::to_string(o.registers)
                             : "not measured: PTX does not say");
}

} // namespace tessera::sim::report
