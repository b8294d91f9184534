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

static void span(InstructionCount &c, uint32_t mask, const uint64_t *address,
                 unsigned bytes) {
  for (uint32_t m = mask; m; m &= m - 1) {
    uint64_t a = address[std::countr_zero(m)];
    c.lowest = std::min(c.lowest, a);
    c.highest = std::max(c.highest, a + bytes - 1);
  }
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
    span(c, global, at.address, bytes);
    c.sectors += globalSectors(global, at.address, bytes);
    c.idealSectors += (uint64_t(bytes) * std::popcount(global) + 31) / 32;
  }
  if (shared) {
    span(c, shared, at.address, bytes);
    unsigned ideal;
    unsigned passes = sharedWavefronts(shared, at.address, bytes, &ideal);
    c.wavefronts += passes;
    c.conflicts += passes - ideal;
  }
}

void Counters::add(const Counters &other) {
  async.groups = std::max(async.groups, other.async.groups);
  async.bytes = std::max(async.bytes, other.async.bytes);
  asyncWork.add(other.asyncWork);
  if (!timeline)
    timeline = other.timeline;
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
    a.lowest = std::min(a.lowest, b.lowest);
    a.highest = std::max(a.highest, b.highest);
  }
}

std::string toText(const Counters &counters) {
  uint64_t perClass[int(OpClass::Count)] = {};
  InstructionCount t;
  for (size_t k = 0; k < counters.perInstruction.size(); ++k) {
    const InstructionCount &c = counters.perInstruction[k];
    if (!c.warps || !counters.instructions[k])
      continue;
    perClass[int(counters.instructions[k]->opClass)] += c.warps;
    t.warps += c.warps;
    t.lanes += c.lanes;
    t.divergent += c.divergent;
    t.sectors += c.sectors;
    t.idealSectors += c.idealSectors;
    t.wavefronts += c.wavefronts;
    t.conflicts += c.conflicts;
  }
  std::string text = "instructions by class:";
  for (int c = 0; c < int(OpClass::Count); ++c)
    if (perClass[c])
      text += std::string(" ") + opClassName(OpClass(c)) + " " +
              std::to_string(perClass[c]);
  char line[400];
  std::snprintf(
      line, sizeof line,
      "\nwarp execution efficiency: %.1f %%, divergent branches: %llu\n"
      "global sectors: %llu (least possible %llu), shared wavefronts: %llu, "
      "bank conflicts: %llu\n"
      "cp.async in flight at most: %llu groups of a thread, %llu bytes of a "
      "block\n",
      t.warps ? 100.0 * double(t.lanes) / double(t.warps * 32) : 0.0,
      (unsigned long long)t.divergent, (unsigned long long)t.sectors,
      (unsigned long long)t.idealSectors, (unsigned long long)t.wavefronts,
      (unsigned long long)t.conflicts,
      (unsigned long long)counters.async.groups,
      (unsigned long long)counters.async.bytes);
  return text + line + toText(counters.asyncWork);
}

} // namespace tessera::sim::report
