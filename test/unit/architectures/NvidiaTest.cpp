// Names, order and availability in the table of NVIDIA's architectures.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Support/Architectures/Nvidia.h"

#include <gtest/gtest.h>
#include <set>

using namespace tessera::nvidia;

static Arch arch(const char *name) { return parseArch(name).value(); }

TEST(Nvidia, NamesAreReadAndWritten) {
  for (const char *name :
       {"sm_70", "sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90",
        "sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_103a", "sm_110f",
        "sm_120a", "sm_121f"})
    EXPECT_EQ(arch(name).name(), name);
  for (const char *name :
       {"", "sm_", "sm_9", "sm_85", "sm_80a", "sm_90f", "sm_90aa", "sm_090",
        "sm_1000", "sm90", "gfx942", "sm_120b", "sm_a", "SM_90"})
    EXPECT_FALSE(parseArch(name)) << name;
}

TEST(Nvidia, OrderIsThatOfNumbersNotOfStrings) {
  EXPECT_LT(arch("sm_90"), arch("sm_100"));
  EXPECT_GT(std::string("sm_90"), std::string("sm_100")); // the trap
  EXPECT_LT(arch("sm_89"), arch("sm_90a"));
  EXPECT_TRUE(arch("sm_90") >= arch("sm_90a") &&
              arch("sm_90a") >= arch("sm_90"));
  EXPECT_NE(arch("sm_90"), arch("sm_90a"));
}

TEST(Nvidia, HopperIsPromotedAndNobodyElse) {
  EXPECT_EQ(promoted(arch("sm_90")).name(), "sm_90a");
  for (const char *name : {"sm_80", "sm_90a", "sm_100", "sm_120f"})
    EXPECT_EQ(promoted(arch(name)), arch(name));
}

TEST(Nvidia, InstructionsBySuffix) {
  EXPECT_TRUE(has(arch("sm_80"), Feature::CpAsync));
  EXPECT_FALSE(has(arch("sm_75"), Feature::CpAsync));
  EXPECT_TRUE(has(arch("sm_100"), Feature::CpAsync));
  EXPECT_FALSE(has(arch("sm_90"), Feature::Wgmma));
  EXPECT_TRUE(has(arch("sm_90a"), Feature::Wgmma));
  EXPECT_FALSE(has(arch("sm_100a"), Feature::Wgmma));
  for (const char *name : {"sm_100f", "sm_100a", "sm_103f", "sm_103a"})
    EXPECT_TRUE(has(arch(name), Feature::Tcgen05)) << name;
  for (const char *name : {"sm_100", "sm_90a", "sm_120a", "sm_121f"})
    EXPECT_FALSE(has(arch(name), Feature::Tcgen05)) << name;
  EXPECT_TRUE(has(arch("sm_121f"), Feature::MmaBlockScale));
  EXPECT_FALSE(has(arch("sm_120"), Feature::MmaBlockScale));
}

TEST(Nvidia, TheLargestFormOfAProduct) {
  auto form = [](const char *name, const char *a, const char *d) {
    const MmaRow *row = findMma(arch(name), a, a, d);
    return row ? row->text() : "none";
  };
  EXPECT_EQ(form("sm_75", "f16", "f32"), "m16n8k8.f32.f16.f16.f32");
  EXPECT_EQ(form("sm_80", "f16", "f32"), "m16n8k16.f32.f16.f16.f32");
  EXPECT_EQ(form("sm_75", "bf16", "f32"), "none");
  EXPECT_EQ(form("sm_75", "s8", "s32"), "m8n8k16.s32.s8.s8.s32");
  EXPECT_EQ(form("sm_86", "s8", "s32"), "m16n8k32.s32.s8.s8.s32");
  EXPECT_EQ(form("sm_86", "e4m3", "f32"), "none");
  EXPECT_EQ(form("sm_89", "e4m3", "f32"), "m16n8k32.f32.e4m3.e4m3.f32");
  EXPECT_EQ(form("sm_120", "e2m1", "f32"), "none");
  EXPECT_EQ(form("sm_120a", "e2m1", "f32"), "m16n8k32.f32.e2m1.e2m1.f32");
  EXPECT_EQ(form("sm_70", "f16", "f32"), "none");
}

TEST(Nvidia, TheTableIsWhole) {
  std::set<int> seen;
  int before = 0;
  for (const Machine &row : machines()) {
    EXPECT_LT(before, row.number);
    before = row.number;
    EXPECT_TRUE(seen.insert(row.number).second);
    EXPECT_LE(row.sharedPerBlock, row.sharedPerSm);
    EXPECT_GE(row.sharedPerBlock, staticSharedLimit);
    EXPECT_EQ(row.registersPerSm, 65536);
    EXPECT_TRUE(*row.peak.source);
    EXPECT_EQ(std::string(row.suffixes).find('a') != std::string::npos,
              row.ptxA != 0);
    EXPECT_EQ(std::string(row.suffixes).find('f') != std::string::npos,
              row.ptxF != 0);
    EXPECT_LE(row.cluster, 8); // X13: the documents' {8, 4, 1} is 32 blocks
  }
}

TEST(Nvidia, OccupancyOfTheDocumentsExample) {
  // 128 registers x 256 threads: two blocks, a quarter of an SM (X11).
  Occupancy o = occupancy(arch("sm_90a"), 256, 128, 49152);
  EXPECT_EQ(o.blocks, 2);
  EXPECT_DOUBLE_EQ(o.fraction, 0.25);
  EXPECT_STREQ(o.limiter, "registers");
  // 227 KiB of a block are legal on sm_90, not on sm_86 (X12).
  EXPECT_EQ(occupancy(arch("sm_90a"), 128, 64, 227 * 1024).blocks, 1);
  EXPECT_EQ(occupancy(arch("sm_86"), 128, 64, 227 * 1024).blocks, 0);
}
