// Laws of the algebra on thousands of random layouts, against brute force.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/layout/RandomLayouts.h"
#include <gtest/gtest.h>
#include <map>
#include <set>

namespace tessera::layout {
namespace {

const std::vector<std::string> places = {"register", "lane", "warp"};
const std::vector<std::string> tile = {"dim0", "dim1"};

Layout randomLayout(RandomLayouts &random) {
  Layout layout = random.atom(random.dims(places, 2), random.dims(tile, 3));
  return random.withAxes(layout, int(random.number(0, 3)),
                         random.number(0, 1) == 0);
}

TEST(LayoutProperty, AtomsAreLinear) {
  RandomLayouts random(1);
  for (int trial = 0; trial < 1000; ++trial) {
    Layout layout = random.atom(random.dims(places, 3), random.dims(tile, 4));
    std::vector<Index> points = layout.domain();
    for (int pair = 0; pair < 10; ++pair) {
      Index a = points[size_t(random.number(0, points.size() - 1))];
      Index b = points[size_t(random.number(0, points.size() - 1))], both = a;
      for (size_t i = 0; i < a.size(); ++i)
        both[i] = a[i] ^ b[i];
      Index left = *layout.apply(a), right = *layout.apply(b);
      for (size_t o = 0; o < left.size(); ++o)
        EXPECT_EQ((*layout.apply(both))[o], left[o] ^ right[o]);
    }
  }
}

TEST(LayoutProperty, TextRoundTrip) {
  RandomLayouts random(2);
  for (int trial = 0; trial < 3000; ++trial) {
    Layout layout = randomLayout(random);
    if (trial % 3 == 0)
      layout = layout.renamedOut("dim1", "offset")
                   .withPadding(
                       {"offset", random.number(1, 64), random.number(0, 8)});
    std::string error;
    std::optional<Layout> parsed = Layout::parse(layout.print(), &error);
    ASSERT_TRUE(parsed) << layout.print() << "\n" << error;
    EXPECT_EQ(*parsed, layout) << layout.print();
    EXPECT_EQ(parsed->print(), layout.print());
  }
}

TEST(LayoutProperty, DomainIsWhereApplyAnswers) {
  RandomLayouts random(3);
  for (int trial = 0; trial < 300; ++trial) {
    Layout layout = randomLayout(random);
    std::vector<Index> points = layout.domain();
    EXPECT_EQ(int64_t(points.size()), layout.count());
    std::set<Index> domain(points.begin(), points.end());
    EXPECT_EQ(domain.size(), points.size());
    Index at(3);
    for (at[0] = 0; at[0] <= layout.inSize("register"); ++at[0])
      for (at[1] = 0; at[1] <= layout.inSize("lane"); ++at[1])
        for (at[2] = 0; at[2] <= layout.inSize("warp"); ++at[2])
          EXPECT_EQ(layout.apply(at).has_value(), domain.count(at) == 1)
              << layout.print();
  }
}

TEST(LayoutProperty, InjectiveAndSurjectiveAgreeWithCounting) {
  RandomLayouts random(4);
  int injective = 0, surjective = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    Layout layout = randomLayout(random);
    std::set<Index> image;
    for (const Index &point : layout.domain())
      image.insert(*layout.apply(point));
    EXPECT_EQ(layout.isInjective(), int64_t(image.size()) == layout.count())
        << layout.print();
    int64_t box = layout.outSize("dim0") * layout.outSize("dim1");
    EXPECT_EQ(layout.isSurjective(), int64_t(image.size()) == box)
        << layout.print();
    injective += layout.isInjective();
    surjective += layout.isSurjective();
  }
  EXPECT_GT(injective, 40);
  EXPECT_GT(surjective, 40);
}

TEST(LayoutProperty, AbsorbingAndReleasingKeepTheFunction) {
  RandomLayouts random(5);
  int changed = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    Layout layout = randomLayout(random);
    for (const Layout &form : {layout.absorbed(), layout.released()}) {
      changed += !(form == layout);
      ASSERT_EQ(form.count(), layout.count());
      for (const Index &point : layout.domain())
        ASSERT_EQ(form.apply(point), layout.apply(point))
            << layout.print() << "\n"
            << form.print();
      EXPECT_TRUE(layout.isEquivalent(form));
    }
  }
  EXPECT_GT(changed, 200);
}

/// A layout that starts where others end.
Layout randomOuter(RandomLayouts &random, const std::vector<std::string> &from,
                   const std::vector<std::string> &to) {
  Layout layout = random.atom(random.dims(from, 4), random.dims(to, 4));
  return random.withAxes(layout, int(random.number(0, 2)),
                         random.number(0, 1) == 0);
}

TEST(LayoutProperty, CompositionAgreesWithPoints) {
  RandomLayouts random(6);
  int composed = 0, withGrid = 0;
  for (int trial = 0; trial < 6000; ++trial) {
    Layout inner = randomLayout(random);
    Layout outer = randomOuter(random, tile, {"offset"});
    std::optional<Layout> both = inner.compose(outer);
    if (!both)
      continue;
    ++composed;
    withGrid += !inner.axes().empty() && !outer.axes().empty();
    ASSERT_EQ(both->count(), inner.count());
    for (const Index &point : inner.domain()) {
      std::optional<Index> expected = outer.apply(*inner.apply(point));
      ASSERT_TRUE(expected)
          << "leaves the domain: " << inner.print() << " " << outer.print();
      ASSERT_EQ(both->apply(point), expected) << inner.print() << "\n"
                                              << outer.print() << "\n"
                                              << both->print();
    }
  }
  EXPECT_GT(composed, 1000);
  EXPECT_GT(withGrid, 100);
}

TEST(LayoutProperty, AtomsInsideAlwaysCompose) {
  RandomLayouts random(7);
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<Dim> middle = random.dims(tile, 4);
    Layout inner = random.atom(random.dims(places, 3), middle);
    Layout outer = random.atom(middle, random.dims({"x", "y"}, 3));
    ASSERT_TRUE(inner.compose(outer));
  }
}

TEST(LayoutProperty, CompositionIsAssociative) {
  RandomLayouts random(8);
  int compared = 0;
  for (int trial = 0; trial < 12000; ++trial) {
    Layout f = randomLayout(random);
    Layout g = randomOuter(random, tile, {"x", "y"});
    Layout h = randomOuter(random, {"x", "y"}, {"offset"});
    std::optional<Layout> fg = f.compose(g), gh = g.compose(h);
    if (!fg || !gh)
      continue;
    std::optional<Layout> left = fg->compose(h), right = f.compose(*gh);
    if (!left || !right)
      continue;
    ++compared;
    for (const Index &point : f.domain())
      ASSERT_EQ(left->apply(point), right->apply(point));
  }
  EXPECT_GT(compared, 300);
}

TEST(LayoutProperty, InverseUndoes) {
  RandomLayouts random(9);
  for (int trial = 0; trial < 600; ++trial) {
    int bits = int(random.number(0, 7));
    Layout layout = random.bijection(random.dimsOf(places, bits),
                                     random.dimsOf(tile, bits));
    layout = random.withAxes(layout, int(random.number(0, 3)), true);
    ASSERT_TRUE(layout.isInjective());
    std::optional<Layout> inverse = layout.invert();
    ASSERT_TRUE(inverse) << layout.print();
    for (const Index &point : layout.domain())
      ASSERT_EQ(inverse->apply(*layout.apply(point)), point) << layout.print();
    EXPECT_TRUE(inverse->invert()->isEquivalent(layout));
  }
}

TEST(LayoutProperty, InverseOfPaddedMemory) {
  RandomLayouts random(10);
  for (int trial = 0; trial < 500; ++trial) {
    int bits = int(random.number(1, 7));
    Layout layout =
        random.bijection(random.dimsOf(tile, bits), {{"offset", bits}});
    layout =
        random.withAxes(layout, 1, true)
            .withPadding({"offset", random.number(1, 32), random.number(1, 8)});
    Layout inverse = *layout.invert();
    std::map<int64_t, Index> reached;
    for (const Index &point : layout.domain())
      reached[(*layout.apply(point))[0]] = point;
    ASSERT_EQ(int64_t(reached.size()), layout.count());
    for (int64_t offset = 0; offset < layout.outSize("offset"); ++offset) {
      std::optional<Index> back = inverse.apply({offset});
      ASSERT_EQ(back.has_value(), reached.count(offset) == 1);
      if (back) {
        ASSERT_EQ(*back, reached[offset]);
      }
    }
  }
}

TEST(LayoutProperty, PseudoInverseIsWhatTheHeaderSays) {
  RandomLayouts random(11);
  int several = 0, unheld = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    Layout a = random.atom(random.dims(places, 2), random.dims(tile, 3));
    Layout p = *a.pseudoInvert();
    // A P A = A and P A P = P.
    for (const Index &x : a.domain())
      ASSERT_EQ(a.apply(*p.apply(*a.apply(x))), a.apply(x));
    for (const Index &y : p.domain())
      ASSERT_EQ(p.apply(*a.apply(*p.apply(y))), p.apply(y));
    // Of several places the smallest, the first input counting fastest, which
    // is the order of domain().
    std::map<Index, Index> smallest;
    for (const Index &x : a.domain())
      smallest.insert({*a.apply(x), x});
    for (const auto &[y, x] : smallest)
      ASSERT_EQ(*p.apply(y), x) << a.print();
    // Of elements that nobody holds, the lowest bits that complete the image
    // count as 0. The image and its completion are listed in full here.
    std::set<uint64_t> reached;
    for (const auto &[y, x] : smallest)
      reached.insert(uint64_t(y[0]) | uint64_t(y[1]) << a.outs()[0].bits);
    for (int bit = 0; bit < a.outBits(); ++bit) {
      uint64_t unit = uint64_t(1) << bit;
      if (reached.count(unit))
        continue;
      Index y = {int64_t(unit) % a.outs()[0].size(),
                 int64_t(unit) / a.outs()[0].size()};
      ASSERT_EQ(*p.apply(y), Index({0, 0, 0})) << a.print();
      std::set<uint64_t> more = reached;
      for (uint64_t member : reached)
        more.insert(member ^ unit);
      reached = more;
    }
    several += int64_t(smallest.size()) < a.count();
    unheld += int64_t(smallest.size()) < p.count();
  }
  EXPECT_GT(several, 100);
  EXPECT_GT(unheld, 100);
}

TEST(LayoutProperty, ProductAndQuotient) {
  RandomLayouts random(12);
  for (int trial = 0; trial < 3000; ++trial) {
    Layout b = random.atom(random.dims(places, 2), random.dims(tile, 2));
    Layout c = randomLayout(random);
    Layout a = b.product(c);
    ASSERT_EQ(a.count(), b.count() * c.count());
    std::optional<Layout> quotient = a.divide(b);
    ASSERT_TRUE(quotient) << a.print() << " / " << b.print();
    EXPECT_EQ(*quotient, c);
    // Low digits from b, high digits from c.
    std::vector<Index> points = c.domain();
    for (const Index &low : b.domain())
      for (const Index &high : {points.front(), points.back()}) {
        Index in(3), out(2);
        for (size_t i = 0; i < 3; ++i)
          in[i] = low[i] + b.ins()[i].size() * high[i];
        for (size_t o = 0; o < 2; ++o)
          out[o] =
              (*b.apply(low))[o] + b.outs()[o].size() * (*c.apply(high))[o];
        ASSERT_EQ(*a.apply(in), out);
      }
  }
}

TEST(LayoutProperty, QuotientIsRefusedWhenThereIsNone) {
  RandomLayouts random(13);
  int refused = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    Layout a = random.atom(random.dims(places, 3), random.dims(tile, 3));
    Layout b = random.atom(random.dims(places, 1), random.dims(tile, 1));
    std::optional<Layout> quotient = a.divide(b);
    refused += !quotient;
    if (quotient) {
      EXPECT_EQ(b.product(*quotient), a);
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(LayoutProperty, ProductIsAssociative) {
  RandomLayouts random(14);
  for (int trial = 0; trial < 1000; ++trial) {
    Layout a = random.atom(random.dims(places, 2), random.dims(tile, 2));
    Layout b = random.atom(random.dims(places, 2), random.dims(tile, 2));
    Layout c = randomLayout(random);
    EXPECT_EQ(a.product(b).product(c), a.product(b.product(c)));
    EXPECT_EQ(Layout().product(c).isEquivalent(c), true);
  }
}

TEST(LayoutProperty, ContiguousIsTheLongestRun) {
  RandomLayouts random(15);
  std::map<int64_t, int> seen;
  for (int trial = 0; trial < 6000; ++trial) {
    // Mostly runs by construction, so that long ones occur.
    Layout layout = random.atom(random.dims(places, 2), random.dims(tile, 2));
    if (trial % 4)
      layout = Layout::identity(1 << random.number(0, 3), "register", "dim1")
                   .withDims(places, tile)
                   .sublayout(places, tile)
                   .product(layout);
    int64_t size = layout.ins()[0].size();
    auto holds = [&](int64_t run) {
      for (const Index &point : layout.domain()) {
        if (point[0] % run)
          continue;
        Index first = *layout.apply(point);
        for (int64_t j = 1; j < run; ++j) {
          Index in = point, expected = first;
          in[0] += j;
          expected[1] += j;
          if (*layout.apply(in) != expected)
            return false;
        }
      }
      return true;
    };
    int64_t longest = 1;
    while (longest * 2 <= size && holds(longest * 2))
      longest *= 2;
    EXPECT_EQ(layout.contiguous("register", "dim1"), longest) << layout.print();
    ++seen[longest];
  }
  EXPECT_GT(seen.size(), 3u);
}

TEST(LayoutProperty, ReshapeTransposeAndProjectAgreeWithPoints) {
  RandomLayouts random(16);
  for (int trial = 0; trial < 1000; ++trial) {
    Layout layout = random.atom(random.dims(places, 2), random.dims(tile, 3));
    int64_t rows = layout.outs()[0].size(), columns = layout.outs()[1].size();
    Layout flat = *layout.reshapedOuts({{"flat", layout.outBits()}});
    Layout other =
        *flat.reshapedOuts(random.dimsOf({"a", "b", "c"}, layout.outBits()));
    Layout transposed = layout.transposed({1, 0});
    Layout lanes = layout.sublayout({"lane"}, {"dim1"});
    for (const Index &point : layout.domain()) {
      Index out = *layout.apply(point);
      EXPECT_EQ((*flat.apply(point))[0], out[0] * columns + out[1]);
      Index split = *other.apply(point);
      int64_t back = 0;
      for (size_t d = 0; d < 3; ++d)
        back = back * other.outs()[d].size() + split[d];
      EXPECT_EQ(back, out[0] * columns + out[1]);
      EXPECT_EQ(*transposed.apply(point), (Index{out[1], out[0]}));
      Index alone = {0, point[1], 0};
      EXPECT_EQ((*lanes.apply({point[1]}))[0], (*layout.apply(alone))[1]);
    }
    EXPECT_EQ(transposed.outs()[0].name, "dim0");
    EXPECT_EQ(transposed.outs()[1].size(), rows);
    EXPECT_EQ(transposed.transposed({1, 0}), layout);
  }
}

} // namespace
} // namespace tessera::layout
