// Construction and evaluation of layouts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Support/Layout/Layout.h"

#include "compiler/Support/Layout/BitSpan.h"
#include "compiler/Support/Layout/DimBits.h"

#include <algorithm>
#include <cassert>
#include <set>

namespace tessera::layout {

std::optional<int> exactLog2(int64_t value) {
  if (value <= 0 || (value & (value - 1)))
    return std::nullopt;
  return __builtin_ctzll(uint64_t(value));
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

Layout::Layout(std::vector<Dim> ins, std::vector<Dim> outs,
               const std::vector<std::vector<Index>> &bases)
    : inDims(std::move(ins)), outDims(std::move(outs)) {
  assert(bases.size() == inDims.size() && "bases for every input");
  assert(outBits() < 63 && inBits() < 63 && "index does not fit 63 bits");
  for (size_t i = 0; i < inDims.size(); ++i) {
    assert(bases[i].size() == size_t(inDims[i].bits) && "a basis for each bit");
    for (const Index &basis : bases[i])
      columns.push_back(flatten(outDims, basis));
  }
}

Layout Layout::identity(int64_t size, std::string in, std::string out) {
  return strided(size, 1, std::move(in), std::move(out));
}

Layout Layout::strided(int64_t size, int64_t stride, std::string in,
                       std::string out) {
  assert(size >= 1 && stride >= 0);
  std::optional<int> bits = exactLog2(size), shift = exactLog2(stride);
  if (!bits || (!shift && size > 1)) {
    Layout layout({{in, 0}}, {{out, 0}}, {{}});
    layout.gridAxes.push_back({size, in, 1, out, stride});
    return layout;
  }
  std::vector<Index> bases;
  for (int b = 0; b < *bits; ++b)
    bases.push_back({stride << b});
  int outBits = *bits ? *bits + *shift : 0;
  return Layout({{std::move(in), *bits}}, {{std::move(out), outBits}}, {bases});
}

Layout Layout::broadcast(int64_t size, std::string in, std::string out) {
  std::optional<int> bits = exactLog2(size);
  assert(bits && "broadcast needs a power of two");
  std::vector<Index> bases(*bits, Index{0});
  return Layout({{std::move(in), *bits}}, {{std::move(out), 0}}, {bases});
}

/// One past the largest index along a dim, before padding.
static int64_t spanBeforePadding(const std::vector<Dim> &dims,
                                 const std::vector<Axis> &axes,
                                 std::string_view name, bool input) {
  int64_t span = 1;
  for (const Dim &dim : dims)
    if (dim.name == name)
      span = dim.size();
  for (const Axis &axis : axes)
    if ((input ? axis.in : axis.out) == name)
      span += (axis.extent - 1) * (input ? axis.inStride : axis.outStride);
  return span;
}

Layout Layout::repeated(int64_t extent, const std::string &in,
                        const std::string &out) const {
  Layout layout = withDims({in}, {out});
  Axis axis{extent, in,
            spanBeforePadding(layout.inDims, layout.gridAxes, in, true), out,
            spanBeforePadding(layout.outDims, layout.gridAxes, out, false)};
  std::optional<Layout> result = layout.withAxis(axis);
  assert(result && "a step of the whole span is nested");
  return *result;
}

/// Does an index split into atom index and grid position in one way only?
static bool areNested(const std::vector<Dim> &dims,
                      const std::vector<Axis> &axes, bool input) {
  for (const Dim &dim : dims) {
    std::vector<std::pair<int64_t, int64_t>> steps; // stride, extent
    for (const Axis &axis : axes)
      if ((input ? axis.in : axis.out) == dim.name)
        steps.push_back({input ? axis.inStride : axis.outStride, axis.extent});
    std::sort(steps.begin(), steps.end());
    int64_t span = dim.size();
    for (auto [stride, extent] : steps) {
      if (stride < span)
        return false;
      span += (extent - 1) * stride;
    }
  }
  return true;
}

std::optional<Layout> Layout::withAxis(const Axis &axis) const {
  assert(axis.extent >= 1 && axis.outStride >= 0);
  Layout layout = withDims({axis.in}, {axis.out});
  if (axis.extent == 1)
    return layout;
  layout.gridAxes.push_back(axis);
  if (!areNested(layout.inDims, layout.gridAxes, true))
    return std::nullopt;
  layout.sortAxes();
  return layout;
}

Layout Layout::withPadding(const Padding &padding) const {
  assert(padding.interval >= 1 && padding.amount >= 0);
  assert(findIn(padding.dim).has_value() != findOut(padding.dim).has_value() &&
         "padding is on one side");
  Layout layout = *this;
  if (padding.amount)
    layout.paddingList.push_back(padding);
  return layout;
}

Layout Layout::withDims(const std::vector<std::string> &inNames,
                        const std::vector<std::string> &outNames) const {
  Layout layout = *this;
  for (const std::string &name : inNames)
    if (!layout.findIn(name))
      layout.inDims.push_back({name, 0});
  for (const std::string &name : outNames)
    if (!layout.findOut(name))
      layout.outDims.push_back({name, 0});
  return layout;
}

void Layout::sortAxes() {
  std::sort(gridAxes.begin(), gridAxes.end(),
            [&](const Axis &a, const Axis &b) {
              return std::make_pair(*findIn(a.in), a.inStride) <
                     std::make_pair(*findIn(b.in), b.inStride);
            });
}

//===----------------------------------------------------------------------===//
// Looking
//===----------------------------------------------------------------------===//

std::optional<int> Layout::findIn(std::string_view name) const {
  return findDim(inDims, name);
}
std::optional<int> Layout::findOut(std::string_view name) const {
  return findDim(outDims, name);
}

Index Layout::basis(int in, int bit) const {
  return unflatten(outDims, columns[bitOffset(inDims, in) + bit]);
}

int Layout::inBits() const { return bitOffset(inDims, inDims.size()); }
int Layout::outBits() const { return bitOffset(outDims, outDims.size()); }

static int64_t pad(const std::vector<Padding> &paddings, std::string_view dim,
                   int64_t offset) {
  for (const Padding &padding : paddings)
    if (padding.dim == dim)
      offset += offset / padding.interval * padding.amount;
  return offset;
}

/// The offset before padding, or nullopt in the gap.
static std::optional<int64_t> unpad(const std::vector<Padding> &paddings,
                                    std::string_view dim, int64_t offset) {
  for (size_t i = paddings.size(); i-- > 0;) {
    const Padding &padding = paddings[i];
    if (padding.dim != dim)
      continue;
    int64_t period = padding.interval + padding.amount;
    if (offset % period >= padding.interval)
      return std::nullopt;
    offset = offset / period * padding.interval + offset % period;
  }
  return offset;
}

int64_t Layout::inSize(std::string_view name) const {
  int64_t span = spanBeforePadding(inDims, gridAxes, name, true);
  return pad(paddingList, name, span - 1) + 1;
}
int64_t Layout::outSize(std::string_view name) const {
  int64_t span = spanBeforePadding(outDims, gridAxes, name, false);
  return pad(paddingList, name, span - 1) + 1;
}

int64_t Layout::count() const {
  int64_t points = int64_t(1) << inBits();
  for (const Axis &axis : gridAxes)
    points *= axis.extent;
  return points;
}

std::optional<Index> Layout::apply(const Index &in) const {
  assert(in.size() == inDims.size() && "one number for each input");
  Index atomIndex(in.size());
  Index shift(outDims.size(), 0);
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] < 0)
      return std::nullopt;
    std::optional<int64_t> rest = unpad(paddingList, inDims[i].name, in[i]);
    if (!rest)
      return std::nullopt;
    // Largest stride first; axes of one input are sorted by stride.
    for (size_t a = gridAxes.size(); a-- > 0;) {
      const Axis &axis = gridAxes[a];
      if (axis.in != inDims[i].name)
        continue;
      int64_t step = std::min(*rest / axis.inStride, axis.extent - 1);
      *rest -= step * axis.inStride;
      shift[*findOut(axis.out)] += step * axis.outStride;
    }
    if (*rest >= inDims[i].size())
      return std::nullopt;
    atomIndex[i] = *rest;
  }
  uint64_t bits = flatten(inDims, atomIndex), image = 0;
  for (size_t j = 0; j < columns.size(); ++j)
    if (bits >> j & 1)
      image ^= columns[j];
  Index out = unflatten(outDims, image);
  for (size_t o = 0; o < out.size(); ++o)
    out[o] = pad(paddingList, outDims[o].name, out[o] + shift[o]);
  return out;
}

std::vector<Index> Layout::domain() const {
  std::vector<Index> points{{}};
  for (const Dim &dim : inDims) {
    // Offsets along this input: the atom's, then one axis after another.
    std::vector<int64_t> offsets;
    for (int64_t v = 0; v < dim.size(); ++v)
      offsets.push_back(v);
    for (const Axis &axis : gridAxes) {
      if (axis.in != dim.name)
        continue;
      size_t base = offsets.size();
      for (int64_t g = 1; g < axis.extent; ++g)
        for (size_t j = 0; j < base; ++j)
          offsets.push_back(offsets[j] + g * axis.inStride);
    }
    std::vector<Index> next;
    next.reserve(points.size() * offsets.size());
    for (int64_t offset : offsets)
      for (const Index &point : points) {
        next.push_back(point);
        next.back().push_back(pad(paddingList, dim.name, offset));
      }
    points = std::move(next);
  }
  return points;
}

static int64_t countImage(const Layout &layout) {
  std::set<Index> image;
  for (const Index &point : layout.domain())
    image.insert(*layout.apply(point));
  return int64_t(image.size());
}

bool Layout::isInjective() const {
  if (spanOf(columns).rank() < inBits())
    return false;
  if (areNested(outDims, gridAxes, false))
    return true;
  // Overlapping strides may still miss each other.
  return countImage(*this) == count();
}

bool Layout::isSurjective() const {
  if (isAtom())
    return spanOf(columns).rank() == outBits();
  int64_t box = 1;
  for (const Dim &dim : outDims)
    box *= outSize(dim.name);
  if (box > count())
    return false;
  return (isInjective() ? count() : countImage(*this)) == box;
}

int64_t Layout::contiguous(std::string_view in, std::string_view out) const {
  std::optional<int> i = findIn(in), o = findOut(out);
  if (!i || !o)
    return 1;
  int outStart = bitOffset(outDims, *o), inStart = bitOffset(inDims, *i);
  int bits = 0;
  while (bits < inDims[*i].bits &&
         columns[inStart + bits] == uint64_t(1) << (outStart + bits) &&
         bits < outDims[*o].bits)
    ++bits;
  // Another basis that touches these bits permutes the run.
  for (int j = 0; j < int(columns.size()); ++j) {
    if (j >= inStart && j < inStart + bits)
      continue;
    uint64_t along =
        (columns[j] >> outStart) & ((uint64_t(1) << outDims[*o].bits) - 1);
    if (along)
      bits = std::min(bits, __builtin_ctzll(along));
  }
  int64_t run = int64_t(1) << bits;
  if (bits == inDims[*i].bits) {
    for (const Axis &axis : gridAxes) // sorted by stride
      if (axis.in == in && axis.out == out && axis.inStride == run &&
          axis.outStride == run)
        run *= axis.extent;
  }
  for (const Padding &padding : paddingList)
    if (padding.dim == out || padding.dim == in)
      run = std::min(run, padding.interval);
  return run;
}

bool Layout::isEquivalent(const Layout &other) const {
  std::vector<std::string> inNames, outNames;
  for (const Dim &dim : inDims)
    inNames.push_back(dim.name);
  for (const Dim &dim : outDims)
    outNames.push_back(dim.name);
  // Dims that only `other` has must be of size 1.
  Layout same = other.withDims(inNames, outNames);
  for (const Dim &dim : same.inDims)
    if (!findIn(dim.name) && same.inSize(dim.name) != 1)
      return false;
  for (const Dim &dim : same.outDims)
    if (!findOut(dim.name) && same.outSize(dim.name) != 1)
      return false;
  same = same.sublayout(inNames, outNames);
  if (absorbed() == same.absorbed())
    return true;
  if (count() != same.count())
    return false;
  for (const Index &point : domain())
    if (apply(point) != same.apply(point))
      return false;
  return true;
}

} // namespace tessera::layout
