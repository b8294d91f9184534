// Fragments of mma.sync against the PTX ISA's formulas, form by form.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Support/Layout/GpuTiles.h"
#include "compiler/Support/Layout/Instances.h"

#include <gtest/gtest.h>

using namespace tessera::layout;

namespace {
struct Form {
  const char *name;
  MmaShape shape;
};
TEST(MmaFragments, BesideSparseAndScaledOperands) {
  // Metadata: rows g and g + 8 in two registers, all four lanes of a row.
  Layout meta = mmaMeta(32, 2, {2, 1});
  ASSERT_EQ(meta.outSize("dim0"), 32);
  ASSERT_EQ(meta.outSize("dim1"), 2);
  auto at = [](const Layout &layout, int64_t r, int64_t lane, int64_t warp) {
    Index in;
    for (const Dim &dim : layout.ins())
      in.push_back(dim.name == "register" ? r
                   : dim.name == "lane"   ? lane
                                          : warp);
    return *layout.apply(in);
  };
  for (int64_t lane = 0; lane < 32; ++lane)
    for (int64_t r = 0; r < 2; ++r)
      EXPECT_EQ(at(meta, r, lane, 1), (Index{16 + lane / 4 + 8 * r, 0}));
  // Factors: row g from lane 4 g, row g + 8 from the lane after it; column g
  // from all four.
  Layout left = mmaLhsScale(16, 1, {}), right = mmaRhsScale(1, 8, {});
  for (int64_t g = 0; g < 8; ++g) {
    EXPECT_EQ(at(left, 0, 4 * g, 0), (Index{g, 0}));
    EXPECT_EQ(at(left, 0, 4 * g + 1, 0), (Index{g + 8, 0}));
    for (int64_t t = 0; t < 4; ++t)
      EXPECT_EQ(at(right, 0, 4 * g + t, 0), (Index{0, g}));
  }
}

} // namespace

// The forms of the table of architectures, with E of their operands' type.
static constexpr Form forms[] = {
    {"f16 m16n8k8", {16, 8, 8, 2}},   {"f16 m16n8k16", {16, 8, 16, 2}},
    {"tf32 m16n8k8", {16, 8, 8, 1}},  {"s8 m8n8k16", {8, 8, 16, 4}},
    {"s8 m16n8k32", {16, 8, 32, 4}},  {"f64 m8n8k4", {8, 8, 4, 1}},
    {"f64 m16n8k16", {16, 8, 16, 1}},
};

/// The place of register `i`, lane `l` of a fragment with one axis of bits.
static Index at(const Layout &layout, int64_t i, int64_t lane) {
  return *layout.apply({i, lane});
}

TEST(MmaFragments, LeftOperand) {
  // 9.7.14.5: row = g (+ 8 for odd registers of 16 rows), k = t E + j (+ 4 E
  // for each further register of the row).
  for (const Form &form : forms) {
    auto [m, n, k, e, sparse] = form.shape;
    Layout a = mmaA(m, k, e);
    ASSERT_EQ(a.inSize("register") * 32, m * k) << form.name;
    for (int64_t i = 0; i < a.inSize("register"); ++i)
      for (int64_t lane = 0; lane < 32; ++lane) {
        int64_t r = i / e, j = i % e, g = lane / 4, t = lane % 4;
        int64_t row = m == 16 ? g + 8 * (r % 2) : g;
        int64_t step = m == 16 ? r / 2 : r;
        EXPECT_EQ(at(a, i, lane), (Index{row, step * 4 * e + t * e + j}))
            << form.name << " register " << i << " lane " << lane;
      }
  }
}

TEST(MmaFragments, RightOperand) {
  for (const Form &form : forms) {
    auto [m, n, k, e, sparse] = form.shape;
    Layout b = mmaB(k, e);
    ASSERT_EQ(b.inSize("register") * 32, k * n) << form.name;
    for (int64_t i = 0; i < b.inSize("register"); ++i)
      for (int64_t lane = 0; lane < 32; ++lane)
        EXPECT_EQ(at(b, i, lane),
                  (Index{(i / e) * 4 * e + (lane % 4) * e + i % e, lane / 4}))
            << form.name << " register " << i << " lane " << lane;
  }
}

TEST(MmaFragments, Result) {
  for (const Form &form : forms) {
    Layout c = mmaC(form.shape.m);
    ASSERT_EQ(c.inSize("register") * 32, form.shape.m * 8) << form.name;
    for (int64_t i = 0; i < c.inSize("register"); ++i)
      for (int64_t lane = 0; lane < 32; ++lane)
        EXPECT_EQ(at(c, i, lane),
                  (Index{lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2}));
  }
}

TEST(MmaFragments, LdmatrixFillsThemFromRowsAlongK) {
  // ldmatrix: lane l gets the 4 bytes t of row g; so every type whose rows run
  // along k can be loaded by it, and only 16-bit ones across.
  for (const Form &form : forms) {
    auto [m, n, k, e, sparse] = form.shape;
    int64_t bytes = e == 1 && m * k != 128 ? 8 : 4 / e; // f64 has no word
    if (std::string(form.name).starts_with("tf32"))
      bytes = 4;
    Layout a = mmaLhs(m, k, {1, 1}, form.shape),
           b = mmaRhs(k, n, {1, 1}, form.shape);
    for (bool left : {true, false}) {
      const Layout &fragment = left ? a : b;
      int along = left ? 1 : 0;
      auto straight = matrixLoad(fragment, along, bytes);
      auto across = matrixLoad(fragment, 1 - along, bytes);
      EXPECT_EQ(bool(straight), bytes <= 4) << form.name;
      EXPECT_EQ(bool(across), bytes == 2) << form.name;
      if (!straight)
        continue;
      EXPECT_FALSE(straight->transposed);
      // What lane l's word holds is where ldmatrix takes it from: row l / 4 of
      // the matrix, whose address lane 8 j + row gives.
      for (int64_t j = 0; j < straight->matrices; ++j)
        for (int64_t lane = 0; lane < 32; ++lane) {
          Index row = *straight->lanes.apply({8 * j + lane / 4});
          row[along] += (lane % 4) * e;
          EXPECT_EQ(*fragment.apply({j * e, lane, 0}), row) << form.name;
        }
    }
  }
}

TEST(MmaFragments, SharedMemoryWithoutConflicts) {
  // 128 x 128 tiles of a byte, two and four; rows along k.
  for (const Form &form : forms) {
    int64_t e = form.shape.perRegister, bytes = 4 / e;
    if (std::string(form.name).starts_with("f64"))
      continue;
    for (int64_t columns : {32, 64, 128}) {
      Layout memory = sharedTile(128, columns, 1, bytes);
      auto load =
          matrixLoad(mmaLhs(128, columns, {1, 1}, form.shape), 1, bytes);
      ASSERT_TRUE(load) << form.name;
      EXPECT_EQ(bankConflicts(load->lanes, memory, bytes, 16 / bytes), 0)
          << form.name << " " << columns;
    }
  }
}
