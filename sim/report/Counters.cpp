// Counting sectors and bank conflicts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/report/Counters.h"

#include <algorithm>

namespace tessera::sim::report {

Counters::Counters(const Program &program)
    : perInstruction(program.instructionCount),
      instructions(program.instructionCount) {
  for (const auto &code : program.codes)
    for (const Inst &inst : code->insts)
      if (inst.id != ~0u)
        instructions[inst.id] = &inst;
}

unsigned globalSectors(uint32_t mask, const uint64_t *address, unsigned bytes) {
  uint64_t sectors[32 * 3];
  unsigned n = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    uint64_t a = address[std::countr_zero(m)];
    for (uint64_t s = a >> 5; s <= (a + bytes - 1) >> 5; ++s)
      if (n < std::size(sectors))
        sectors[n++] = s;
  }
  std::sort(sectors, sectors + n);
  return unsigned(std::unique(sectors, sectors + n) - sectors);
}

unsigned sharedWavefronts(uint32_t mask, const uint64_t *address,
                          unsigned bytes, unsigned *ideal) {
  unsigned lanesPerPass = bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8;
  unsigned total = 0, least = 0;
  for (unsigned first = 0; first < 32; first += lanesPerPass) {
    uint32_t part =
        mask & ((lanesPerPass == 32 ? ~0u : (1u << lanesPerPass) - 1) << first);
    if (!part)
      continue;
    // Different words per bank.
    uint32_t words[32][32];
    unsigned counts[32] = {};
    unsigned distinct = 0;
    for (uint32_t m = part; m; m &= m - 1) {
      uint64_t a = address[std::countr_zero(m)];
      for (uint64_t w = a >> 2; w <= (a + bytes - 1) >> 2; ++w) {
        unsigned bank = w & 31;
        bool seen = false;
        for (unsigned k = 0; k < counts[bank]; ++k)
          seen |= words[bank][k] == uint32_t(w);
        if (!seen && counts[bank] < 32) {
          words[bank][counts[bank]++] = uint32_t(w);
          ++distinct;
        }
      }
    }
    total += *std::max_element(counts, counts + 32);
    least += (distinct + 31) / 32;
  }
  if (ideal)
    *ideal = least;
  return total;
}

void Counters::access(const Inst &inst, uint32_t mask, const Access &at,
                      unsigned bytes, AccessKind kind) {
  if (inst.id == ~0u)
    return;
  InstructionCount &c = perInstruction[inst.id];
  c.bytes += uint64_t(bytes) * std::popcount(mask);
  uint32_t global = 0, shared = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    ptx::Space s = at.space[std::countr_zero(m)];
    if (s == ptx::Space::Shared)
      shared |= m & -m;
    else if (s == ptx::Space::Global)
      global |= m & -m;
  }
  if (global) {
    c.sectors += globalSectors(global, at.address, bytes);
    c.idealSectors += (uint64_t(bytes) * std::popcount(global) + 31) / 32;
  }
  if (shared) {
    unsigned ideal;
    unsigned passes = sharedWavefronts(shared, at.address, bytes, &ideal);
    c.wavefronts += passes;
    c.conflicts += passes - ideal;
  }
}

void Counters::add(const Counters &other) {
  for (size_t k = 0; k < perInstruction.size(); ++k) {
    InstructionCount &a = perInstruction[k];
    const InstructionCount &b = other.perInstruction[k];
    a.warps += b.warps;
    a.lanes += b.lanes;
    a.present += b.present;
    a.divergent += b.divergent;
    a.bytes += b.bytes;
    a.sectors += b.sectors;
    a.idealSectors += b.idealSectors;
    a.wavefronts += b.wavefronts;
    a.conflicts += b.conflicts;
  }
}

} // namespace tessera::sim::report
