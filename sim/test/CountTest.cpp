// Sectors, bank conflicts and instruction counts against values by hand.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/test/Run.h"

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

struct Counted {
  uint64_t warps = 0, lanes = 0, sectors = 0, wavefronts = 0, conflicts = 0,
           divergent = 0;
};

/// Runs `body` with one warp; %t is the lane, %g a 128-byte aligned buffer,
/// %s the start of 64 KiB of shared memory. Counts instructions that start
/// with `opcode`.
Counted count(const std::string &body, const std::string &opcode) {
  Harness h;
  std::string text =
      ".version 8.5\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .u64 p) {\n.reg .b32 %t, %r<9>; .reg .b64 "
      "%g, %x, %d<9>; .reg .f32 %f<9>; .reg .pred %p<4>;\n"
      ".shared .align 128 .b8 s[49152];\n"
      "mov.u32 %t, %tid.x; ld.param.u64 %g, [p];\n" +
      body + "\nret;\n}\n";
  uint64_t g = h.device.memory.allocate(1 << 16, Allocation::Managed, "g");
  LaunchOptions o;
  o.block[0] = 32;
  o.count = true;
  LaunchResult r = h.launch(text, "k", o, {g});
  EXPECT_TRUE(r.ok) << (r.reports.empty() ? "" : r.reports[0].message);
  Counted out;
  const auto &c = *r.counters;
  for (size_t k = 0; k < c.perInstruction.size(); ++k)
    if (c.instructions[k]->source && c.instructions[k]->source->spelling.substr(
                                         0, opcode.size()) == opcode) {
      out.warps += c.perInstruction[k].warps;
      out.lanes += c.perInstruction[k].lanes;
      out.sectors += c.perInstruction[k].sectors;
      out.wavefronts += c.perInstruction[k].wavefronts;
      out.conflicts += c.perInstruction[k].conflicts;
      out.divergent += c.perInstruction[k].divergent;
    }
  return out;
}

std::string shared(unsigned stride, const char *load) {
  return "mul.lo.u32 %r1, %t, " + std::to_string(stride) +
         "; mov.u32 %r2, s; add.u32 %r1, %r1, %r2; " + load;
}
std::string global(unsigned stride, const char *load) {
  return "mul.wide.u32 %x, %t, " + std::to_string(stride) +
         "; add.s64 %x, %x, %g; " + load;
}

TEST(Count, BankConflicts) {
  const char *word = "ld.shared.u32 %r3, [%r1];";
  // Stride in bytes, wavefronts: the busiest of 32 banks.
  const unsigned table[][2] = {{4, 1},    {8, 2},   {12, 1}, {16, 4}, {32, 8},
                               {128, 32}, {132, 1}, {0, 1},  {64, 16}};
  for (auto [stride, passes] : table) {
    Counted c = count(shared(stride, word), "ld.shared");
    EXPECT_EQ(c.wavefronts, passes) << stride;
    // The least possible is one pass for up to 32 words.
    EXPECT_EQ(c.conflicts, passes - 1) << stride;
  }
  // 8-byte accesses go by half warps: 2 passes without conflict.
  Counted d = count(shared(8, "ld.shared.u64 %d1, [%r1];"), "ld.shared");
  EXPECT_EQ(d.wavefronts, 2u);
  EXPECT_EQ(d.conflicts, 0u);
  // 16-byte accesses go by quarter warps.
  Counted q = count(shared(16, "ld.shared.v4.u32 {%r3,%r4,%r5,%r6}, [%r1];"),
                    "ld.shared");
  EXPECT_EQ(q.wavefronts, 4u);
  EXPECT_EQ(q.conflicts, 0u);
  Counted w = count(shared(256, "st.shared.u64 [%r1], %g;"), "st.shared");
  EXPECT_EQ(w.wavefronts, 32u); // 16 lanes in two banks, twice
}

TEST(Count, Sectors) {
  const char *word = "ld.global.u32 %r3, [%x];";
  const unsigned table[][2] = {{4, 4},   {8, 8}, {16, 16},  {32, 32},
                               {64, 32}, {0, 1}, {1024, 32}};
  for (auto [stride, sectors] : table)
    EXPECT_EQ(count(global(stride, word), "ld.global").sectors, sectors)
        << stride;
  EXPECT_EQ(count(global(16, "ld.global.v4.u32 {%r3,%r4,%r5,%r6}, [%x];"),
                  "ld.global")
                .sectors,
            16u);
  // Shifted by one word, a coalesced access touches a fifth sector.
  EXPECT_EQ(count(global(4, "ld.global.u32 %r3, [%x+4];"), "ld.global").sectors,
            5u);
}

TEST(Count, InstructionsAndDivergence) {
  Counted loop = count("mov.u32 %r1, 0;\nL: add.u32 %r1, %r1, 1; "
                       "setp.lt.u32 %p1, %r1, 10; @%p1 bra L;",
                       "add.u32");
  EXPECT_EQ(loop.warps, 10u);
  EXPECT_EQ(loop.lanes, 320u);
  const char *branch = "setp.lt.u32 %p1, %t, 8; @%p1 bra A;\n"
                       "mul.lo.u32 %r1, %t, 3; bra B;\n"
                       "A: xor.b32 %r1, %t, 5;\nB: not.b32 %r2, %r1;";
  Counted taken = count(branch, "xor"), other = count(branch, "mul.lo"),
          joined = count(branch, "not"), jump = count(branch, "bra");
  EXPECT_EQ(taken.lanes, 8u);
  EXPECT_EQ(other.lanes, 24u);
  EXPECT_EQ(joined.warps, 1u); // the two sides meet again
  EXPECT_EQ(joined.lanes, 32u);
  EXPECT_EQ(jump.divergent, 1u);
  // Every lane leaves the loop at its own time, all meet behind it.
  const char *trip = "mov.u32 %r1, 0;\nL: add.u32 %r1, %r1, 1; "
                     "setp.le.u32 %p1, %r1, %t; @%p1 bra L;\n"
                     "not.b32 %r2, %r1;";
  EXPECT_EQ(count(trip, "add.u32").lanes, 32u * 33 / 2);
  EXPECT_EQ(count(trip, "not").warps, 1u);
}

TEST(Count, AsyncDepth) {
  // Three groups in flight, then one; 16 bytes of 32 lanes each. The second
  // group is empty and does not count.
  std::string copy = "cp.async.cg.shared.global [%r1], [%x], 16;\n",
              commit = "cp.async.commit_group;\n";
  std::string start = "mul.wide.u32 %x, %t, 16; add.s64 %x, %x, %g; "
                      "mul.lo.u32 %r1, %t, 16; mov.u32 %r2, s; "
                      "add.u32 %r1, %r1, %r2;\n";
  auto depth = [&](const std::string &body) {
    Harness h;
    std::string text = ".version 8.5\n.target sm_80\n.address_size 64\n"
                       ".visible .entry k(.param .u64 p) {\n"
                       ".reg .b32 %t, %r<9>; .reg .b64 %g, %x;\n"
                       ".shared .align 128 .b8 s[4096];\n"
                       "mov.u32 %t, %tid.x; ld.param.u64 %g, [p];\n" +
                       start + body + "cp.async.wait_all;\nret;\n}\n";
    uint64_t g = h.device.memory.allocate(4096, Allocation::Managed, "g");
    LaunchOptions o;
    o.block[0] = 32;
    o.count = true;
    LaunchResult r = h.launch(text, "k", o, {g});
    EXPECT_TRUE(r.ok);
    return r.counters->async;
  };
  auto three = depth(copy + commit + commit + copy + copy + commit + copy +
                     commit + "cp.async.wait_group 1;\n" + copy + commit);
  EXPECT_EQ(three.groups, 3u);
  EXPECT_EQ(three.bytes, 4u * 16 * 32);
  auto one = depth(copy + commit + "cp.async.wait_group 0;\n" + copy + commit +
                   "cp.async.wait_group 0;\n" + copy);
  EXPECT_EQ(one.groups, 1u);
  EXPECT_EQ(one.bytes, 16u * 32);
}

TEST(Count, Occupancy) {
  using report::occupancy;
  // 256 threads and nothing else: 2048 / 256.
  EXPECT_EQ(occupancy(80, 256, 0, 0).blocks, 8u);
  EXPECT_STREQ(occupancy(80, 256, 0, 0).limit, "threads");
  EXPECT_EQ(occupancy(75, 256, 0, 0).blocks, 4u);
  EXPECT_EQ(occupancy(89, 32, 0, 0).blocks, 24u); // blocks run out first
  // 48 KB and the system's 1 KB: three times 49 in 164 KB.
  EXPECT_EQ(occupancy(80, 128, 48 << 10, 0).blocks, 3u);
  EXPECT_STREQ(occupancy(80, 128, 48 << 10, 0).limit, "shared memory");
  // 41 KB would fit four times but for that KB, which sm_75 does not take.
  EXPECT_EQ(occupancy(80, 128, 41 << 10, 0).blocks, 3u);
  EXPECT_EQ(occupancy(75, 128, 16 << 10, 0).blocks, 4u);
  EXPECT_EQ(occupancy(86, 128, 100 << 10, 0).blocks, 0u); // more than a block's
  // 128 registers: 4096 per warp, 16 warps in 65536: two blocks of eight.
  EXPECT_EQ(occupancy(90, 256, 0, 128).blocks, 2u);
  EXPECT_EQ(occupancy(90, 256, 0, 128).warps, 16u);
  EXPECT_STREQ(occupancy(90, 256, 0, 128).limit, "registers");
}

} // namespace
