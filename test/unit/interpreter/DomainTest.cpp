// Absence, poison and rounding: what every domain has in common.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Interpreter/Domain.h"

#include "gtest/gtest.h"
#include <cmath>

using namespace tessera::interpreter;
using S = ScalarOp;

namespace {

const Types f32{Element::F32, Element::F32, Element::F32};
const Types i32{Element::I32, Element::I32, Element::I32};
const Cell absent = Cell::with(State::Absent),
           poison = Cell::with(State::Poison);

class EveryDomain : public testing::TestWithParam<const char *> {
protected:
  std::unique_ptr<Domain> domain = createDomain(GetParam());
  Cell number(double value) { return domain->constant(Element::F32, value); }
  bool same(const Cell &a, const Cell &b) {
    return a.present() && b.present() &&
           domain->toBits(Element::F32, a) == domain->toBits(Element::F32, b);
  }
};
INSTANTIATE_TEST_SUITE_P(Domains, EveryDomain,
                         testing::Values("exact", "reference", "ring", "bound"),
                         [](const auto &info) { return info.param; });

TEST_P(EveryDomain, ElementwiseOpsKeepAbsenceAndPoison) {
  Cell one = number(1);
  EXPECT_EQ(domain->apply(S::Add, f32, {one, absent}).state, State::Absent);
  EXPECT_EQ(domain->apply(S::Add, f32, {absent, poison}).state, State::Poison);
  EXPECT_EQ(domain->cast(poison, Element::F32, Element::F16).state,
            State::Poison);
  EXPECT_TRUE(same(domain->apply(S::Add, f32, {one, one}), number(2)));
}

TEST_P(EveryDomain, SelectLooksAtWhatItChoosesOnly) {
  Cell yes = Cell::ofInteger(1), no = Cell::ofInteger(0), one = number(1);
  EXPECT_TRUE(same(domain->apply(S::Select, f32, {yes, one, poison}), one));
  EXPECT_EQ(domain->apply(S::Select, f32, {no, one, poison}).state,
            State::Poison);
  EXPECT_EQ(domain->apply(S::Select, f32, {poison, one, one}).state,
            State::Poison);
}

TEST_P(EveryDomain, ReductionsSkipWhatIsAbsent) {
  Cell row[] = {absent, number(5), absent, number(3), absent};
  EXPECT_TRUE(same(domain->reduce(Reduction::Sum, f32, row), number(8)));
  EXPECT_TRUE(same(domain->reduce(Reduction::Min, f32, row), number(3)));
  // Positions count the absent ones.
  EXPECT_EQ(domain->reduce(Reduction::Argmax, f32, row).integer, 1);
  EXPECT_EQ(domain->reduce(Reduction::Argmin, f32, row).integer, 3);
  Cell none[] = {absent, absent};
  EXPECT_TRUE(same(domain->reduce(Reduction::Prod, f32, none), number(1)));
  EXPECT_TRUE(
      same(domain->reduce(Reduction::Max, f32, none), number(-INFINITY)));
  EXPECT_EQ(domain->reduce(Reduction::Argmax, f32, none).integer, -1);
  Cell bad[] = {number(1), poison};
  EXPECT_EQ(domain->reduce(Reduction::Sum, f32, bad).state, State::Poison);
}

TEST_P(EveryDomain, ProductsSkipPairsWithAnAbsentCell) {
  Cell a[] = {number(2), absent, number(3), poison};
  Cell b[] = {number(5), number(7), number(11), absent};
  // Poison beside nothing is no term either.
  EXPECT_TRUE(same(domain->dot(f32, a, b), number(43)));
  Cell start = number(100);
  EXPECT_TRUE(same(domain->dot(f32, a, b, &start), number(143)));
  Cell c[] = {number(5), number(7), number(11), number(1)};
  EXPECT_EQ(domain->dot(f32, a, c).state, State::Poison);
  std::vector<Cell> out(4);
  Cell left[] = {number(1), number(2), number(3), absent};
  Cell right[] = {number(5), number(6), number(7), number(8)};
  domain->multiply(f32, 2, 2, 2, left, right, out);
  EXPECT_TRUE(same(out[0], number(17)));
  EXPECT_TRUE(same(out[3], number(21)));
}

TEST_P(EveryDomain, ScansLeaveAbsentCellsAndPoisonWhatFollows) {
  Cell row[] = {number(1), absent, number(2), poison, number(4), absent};
  std::vector<Cell> out(6);
  domain->scan(Reduction::Sum, f32, row, out);
  EXPECT_TRUE(same(out[0], number(1)));
  EXPECT_EQ(out[1].state, State::Absent);
  EXPECT_TRUE(same(out[2], number(3)));
  EXPECT_EQ(out[3].state, State::Poison);
  EXPECT_EQ(out[4].state, State::Poison);
  EXPECT_EQ(out[5].state, State::Absent);
}

TEST_P(EveryDomain, IntegersWrapInTheirType) {
  Cell most = Cell::ofInteger(INT32_MAX), one = Cell::ofInteger(1);
  EXPECT_EQ(domain->apply(S::Add, i32, {most, one}).integer, INT32_MIN);
  EXPECT_EQ(domain->reduce(Reduction::Sum, i32, {most, most, most}).integer,
            int32_t(3u * INT32_MAX));
  // arith's division by 0 is undefined, gir's is 0.
  Cell zero = Cell::ofInteger(0);
  EXPECT_EQ(domain->apply(S::DivTrunc, i32, {one, zero}).state, State::Poison);
  EXPECT_EQ(domain->apply(S::FloorDiv, i32, {one, zero}).integer, 0);
}

TEST(Elements, NarrowTypesRoundOnce) {
  // 1 + 2^-11 + 2^-60: up in f16, though f32 would drop the last bit first and
  // make it a tie to even.
  long double value = 1 + std::ldexp(1.0L, -11) + std::ldexp(1.0L, -60);
  EXPECT_EQ(roundTo(Element::F16, value), 1 + std::ldexp(1.0L, -10));
  EXPECT_EQ(roundTo(Element::F16, float(value)), 1);
  value = 1 + std::ldexp(1.0L, -8) + std::ldexp(1.0L, -60);
  EXPECT_EQ(roundTo(Element::BF16, value), 1 + std::ldexp(1.0L, -7));
}

TEST(Elements, StoresOfF8Saturate) {
  EXPECT_TRUE(std::isnan(roundTo(Element::F8E4M3, 1000)));
  EXPECT_EQ(saturateTo(Element::F8E4M3, 1000), 448);
  EXPECT_EQ(saturateTo(Element::F8E4M3, -INFINITY), -448);
  EXPECT_TRUE(std::isinf(roundTo(Element::F8E5M2, 1e6)));
  EXPECT_EQ(saturateTo(Element::F8E5M2, 1e6), 57344);
  EXPECT_TRUE(std::isnan(saturateTo(Element::F8E5M2, NAN)));
}

TEST(Elements, EncodeAndDecodeAreInverse) {
  for (Element e :
       {Element::F8E4M3, Element::F8E5M2, Element::F16, Element::BF16})
    for (uint64_t bits = 0; bits < uint64_t(1) << bitsOf(e); ++bits)
      if (long double value = decode(e, bits); !std::isnan(value)) {
        EXPECT_EQ(encode(e, value), bits);
        EXPECT_EQ(roundTo(e, value), value);
      }
}

TEST(ScalarOps, TheTableIsInOrder) {
  for (const ScalarOpInfo &info : scalarOps())
    EXPECT_EQ(&infoOf(info.op), &info);
  EXPECT_FALSE(createDomain("float"));
}

} // namespace
