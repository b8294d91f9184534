// Random layouts for property tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_TEST_UNIT_LAYOUT_RANDOMLAYOUTS_H
#define TESSERA_TEST_UNIT_LAYOUT_RANDOMLAYOUTS_H

#include "compiler/Support/Layout/BitSpan.h"
#include "compiler/Support/Layout/Layout.h"

#include <random>

namespace tessera::layout {

class RandomLayouts {
public:
  explicit RandomLayouts(unsigned seed) : engine(seed) {}

  int64_t number(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine);
  }

  std::vector<Dim> dims(const std::vector<std::string> &names, int maxBits) {
    std::vector<Dim> result;
    for (const std::string &name : names)
      result.push_back({name, int(number(0, maxBits))});
    return result;
  }

  /// Any bases; mostly neither one-to-one nor onto.
  Layout atom(const std::vector<Dim> &ins, const std::vector<Dim> &outs) {
    std::vector<std::vector<Index>> bases;
    for (const Dim &in : ins) {
      bases.emplace_back();
      for (int b = 0; b < in.bits; ++b) {
        Index image;
        for (const Dim &out : outs)
          image.push_back(number(0, out.size() - 1));
        bases.back().push_back(image);
      }
    }
    return Layout(ins, outs, bases);
  }

  /// A one-to-one atom: as many input as output bits, full rank.
  Layout bijection(const std::vector<Dim> &ins, const std::vector<Dim> &outs) {
    while (true) {
      Layout layout = atom(ins, outs);
      if (layout.inBits() == layout.outBits() &&
          spanOf(layout.matrix()).rank() == layout.inBits())
        return layout;
    }
  }

  /// Dims of the given total number of bits.
  std::vector<Dim> dimsOf(const std::vector<std::string> &names, int total) {
    std::vector<Dim> result;
    for (const std::string &name : names)
      result.push_back({name, 0});
    for (int b = 0; b < total; ++b)
      ++result[size_t(number(0, int64_t(names.size()) - 1))].bits;
    return result;
  }

  /// With up to `count` axes, whose inputs are nested (now and then with a
  /// gap). Output steps are whole atoms if `aligned`, else anything.
  Layout withAxes(Layout layout, int count, bool aligned) {
    for (int a = 0; a < count; ++a) {
      const Dim &in =
          layout.ins()[size_t(number(0, int64_t(layout.ins().size()) - 1))];
      const Dim &out =
          layout.outs()[size_t(number(0, int64_t(layout.outs().size()) - 1))];
      int64_t extent = number(2, 6);
      if (aligned) {
        layout = layout.repeated(extent, in.name, out.name);
        continue;
      }
      int64_t gap = number(0, 3) == 0 ? number(1, 5) : 0;
      Axis axis{extent, in.name, layout.inSize(in.name) + gap, out.name,
                number(0, 40)};
      layout = *layout.withAxis(axis);
    }
    return layout;
  }

private:
  std::mt19937 engine;
};

} // namespace tessera::layout

#endif // TESSERA_TEST_UNIT_LAYOUT_RANDOMLAYOUTS_H
