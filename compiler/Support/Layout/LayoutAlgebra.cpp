// Products, composition, inverses and reshapes of layouts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Support/Layout/BitSpan.h"
#include "compiler/Support/Layout/DimBits.h"
#include "compiler/Support/Layout/Layout.h"

#include <algorithm>
#include <cassert>
#include <map>

namespace tessera::layout {

/// Moves the bits of `value`, flattened by `from`, to where dims of the same
/// name are in `to`, raised by `shift` of that name. Names that `to` lacks are
/// dropped.
static uint64_t moveBits(uint64_t value, const std::vector<Dim> &from,
                         const std::vector<Dim> &to,
                         const std::map<std::string, int> &shift = {}) {
  uint64_t moved = 0;
  Index index = unflatten(from, value);
  for (size_t d = 0; d < from.size(); ++d) {
    std::optional<int> target = findDim(to, from[d].name);
    if (!target)
      continue;
    auto raise = shift.find(from[d].name);
    int by = raise == shift.end() ? 0 : raise->second;
    moved |= uint64_t(index[d]) << (bitOffset(to, *target) + by);
  }
  return moved;
}

static std::map<std::string, int> bitsByName(const std::vector<Dim> &dims) {
  std::map<std::string, int> bits;
  for (const Dim &dim : dims)
    bits[dim.name] = dim.bits;
  return bits;
}

/// Dims of both, bits added up.
static std::vector<Dim> joinDims(const std::vector<Dim> &inner,
                                 const std::vector<Dim> &outer) {
  std::vector<Dim> joined = inner;
  for (const Dim &dim : outer) {
    if (std::optional<int> i = findDim(joined, dim.name))
      joined[*i].bits += dim.bits;
    else
      joined.push_back(dim);
  }
  return joined;
}

//===----------------------------------------------------------------------===//
// Product and quotient
//===----------------------------------------------------------------------===//

Layout Layout::product(const Layout &outer) const {
  assert(isAtom() && "the inner factor must be an atom");
  Layout result;
  result.inDims = joinDims(inDims, outer.inDims);
  result.outDims = joinDims(outDims, outer.outDims);
  std::map<std::string, int> outShift = bitsByName(outDims);
  for (const Dim &dim : result.inDims) {
    if (std::optional<int> i = findIn(dim.name))
      for (int b = 0; b < inDims[*i].bits; ++b)
        result.columns.push_back(moveBits(columns[bitOffset(inDims, *i) + b],
                                          outDims, result.outDims));
    if (std::optional<int> i = outer.findIn(dim.name))
      for (int b = 0; b < outer.inDims[*i].bits; ++b)
        result.columns.push_back(
            moveBits(outer.columns[bitOffset(outer.inDims, *i) + b],
                     outer.outDims, result.outDims, outShift));
  }
  auto inFactor = [&](const std::string &name) {
    std::optional<int> i = findIn(name);
    return i ? inDims[*i].size() : 1;
  };
  auto outFactor = [&](const std::string &name) {
    std::optional<int> i = findOut(name);
    return i ? outDims[*i].size() : 1;
  };
  for (Axis axis : outer.gridAxes) {
    axis.inStride *= inFactor(axis.in);
    axis.outStride *= outFactor(axis.out);
    result.gridAxes.push_back(axis);
  }
  for (Padding padding : outer.paddingList) {
    int64_t factor = outer.findOut(padding.dim) ? outFactor(padding.dim)
                                                : inFactor(padding.dim);
    padding.interval *= factor;
    padding.amount *= factor;
    result.paddingList.push_back(padding);
  }
  result.sortAxes();
  return result;
}

std::optional<Layout> Layout::divide(const Layout &divisor) const {
  if (!divisor.isAtom())
    return std::nullopt;
  Layout quotient;
  auto shrink =
      [](const std::vector<Dim> &dims,
         const std::vector<Dim> &by) -> std::optional<std::vector<Dim>> {
    std::vector<Dim> rest = dims;
    for (const Dim &dim : by) {
      std::optional<int> i = findDim(rest, dim.name);
      if (dim.bits && (!i || rest[*i].bits < dim.bits))
        return std::nullopt;
      if (i)
        rest[*i].bits -= dim.bits;
    }
    return rest;
  };
  auto ins = shrink(inDims, divisor.inDims);
  auto outs = shrink(outDims, divisor.outDims);
  if (!ins || !outs)
    return std::nullopt;
  quotient.inDims = *ins;
  quotient.outDims = *outs;

  // High columns, without the low bits of every output. If those are not
  // zero, the product below does not give this layout back.
  for (size_t i = 0; i < inDims.size(); ++i) {
    int skipped = inDims[i].bits - quotient.inDims[i].bits;
    for (int b = skipped; b < inDims[i].bits; ++b) {
      Index image = basis(int(i), b);
      for (size_t o = 0; o < image.size(); ++o)
        image[o] >>= outDims[o].bits - quotient.outDims[o].bits;
      quotient.columns.push_back(flatten(quotient.outDims, image));
    }
  }
  auto inFactor = [&](const std::string &name) {
    std::optional<int> i = divisor.findIn(name);
    return i ? divisor.inDims[*i].size() : 1;
  };
  auto outFactor = [&](const std::string &name) {
    std::optional<int> i = divisor.findOut(name);
    return i ? divisor.outDims[*i].size() : 1;
  };
  for (Axis axis : gridAxes) {
    if (axis.inStride % inFactor(axis.in) ||
        axis.outStride % outFactor(axis.out))
      return std::nullopt;
    axis.inStride /= inFactor(axis.in);
    axis.outStride /= outFactor(axis.out);
    quotient.gridAxes.push_back(axis);
  }
  for (Padding padding : paddingList) {
    int64_t factor =
        findOut(padding.dim) ? outFactor(padding.dim) : inFactor(padding.dim);
    if (padding.interval % factor || padding.amount % factor)
      return std::nullopt;
    padding.interval /= factor;
    padding.amount /= factor;
    quotient.paddingList.push_back(padding);
  }
  std::vector<std::string> inNames, outNames;
  for (const Dim &dim : inDims)
    inNames.push_back(dim.name);
  for (const Dim &dim : outDims)
    outNames.push_back(dim.name);
  Layout back = divisor.product(quotient).sublayout(inNames, outNames);
  if (!(back == *this))
    return std::nullopt;
  return quotient;
}

//===----------------------------------------------------------------------===//
// Moving factors of two from the grid into the atom
//===----------------------------------------------------------------------===//

std::optional<Layout> Layout::absorbedAxis(size_t index, int bits) const {
  const Axis &axis = gridAxes[index];
  int in = *findIn(axis.in), out = *findOut(axis.out);
  if (axis.extent & ((int64_t(1) << bits) - 1))
    return std::nullopt;
  // Below the step there must be the whole atom, and nothing else, on the
  // input side; on the output side, bits that the atom does not use.
  std::optional<int> outShift = exactLog2(axis.outStride);
  if (axis.inStride != inDims[in].size() || !outShift ||
      *outShift < outDims[out].bits)
    return std::nullopt;

  Layout result = *this;
  result.outDims[out].bits = *outShift + bits;
  std::vector<uint64_t> moved;
  for (uint64_t column : columns)
    moved.push_back(moveBits(column, outDims, result.outDims));
  int at = bitOffset(inDims, in) + inDims[in].bits;
  int base = bitOffset(result.outDims, out) + *outShift;
  for (int b = 0; b < bits; ++b)
    moved.insert(moved.begin() + at + b, uint64_t(1) << (base + b));
  result.columns = std::move(moved);
  result.inDims[in].bits += bits;
  Axis &rest = result.gridAxes[index];
  rest.extent >>= bits;
  rest.inStride <<= bits;
  rest.outStride <<= bits;
  if (rest.extent == 1)
    result.gridAxes.erase(result.gridAxes.begin() + index);
  return result;
}

std::optional<Layout> Layout::absorbedDim(bool input, std::string_view name,
                                          int bits) const {
  Layout layout = *this;
  while (true) {
    const std::vector<Dim> &dims = input ? layout.inDims : layout.outDims;
    std::optional<int> d = findDim(dims, name);
    if (!d || dims[*d].bits >= bits)
      return layout;
    int64_t size = dims[*d].size(), target = int64_t(1) << bits;
    std::optional<size_t> next;
    bool blocked = false;
    for (size_t a = 0; a < layout.gridAxes.size(); ++a) {
      const Axis &axis = layout.gridAxes[a];
      if ((input ? axis.in : axis.out) != name)
        continue;
      int64_t stride = input ? axis.inStride : axis.outStride;
      if (stride == size)
        next = a;
      else if (stride % target)
        blocked = true;
    }
    if (!next) {
      if (blocked)
        return std::nullopt;
      return layout; // nothing is left to absorb
    }
    int available = __builtin_ctzll(uint64_t(layout.gridAxes[*next].extent));
    int take = std::min(available, bits - dims[*d].bits);
    if (take == 0)
      return std::nullopt;
    std::optional<Layout> absorbed = layout.absorbedAxis(*next, take);
    if (!absorbed)
      return std::nullopt;
    layout = *absorbed;
  }
}

std::optional<Layout> Layout::absorbedIn(std::string_view name,
                                         int bits) const {
  return absorbedDim(true, name, bits);
}
std::optional<Layout> Layout::absorbedOut(std::string_view name,
                                          int bits) const {
  return absorbedDim(false, name, bits);
}

Layout Layout::absorbed() const {
  Layout layout = *this;
  for (size_t a = 0; a < layout.gridAxes.size();) {
    const Axis &axis = layout.gridAxes[a];
    int bits = __builtin_ctzll(uint64_t(axis.extent));
    // No gap on the output side either: it would change the output's size.
    bool adjacent =
        axis.outStride == layout.outDims[*layout.findOut(axis.out)].size();
    std::optional<Layout> next;
    if (bits && adjacent)
      next = layout.absorbedAxis(a, bits);
    if (next) {
      layout = *next;
      a = 0;
    } else {
      ++a;
    }
  }
  return layout;
}

Layout Layout::released() const {
  Layout layout = *this;
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t i = 0; i < layout.inDims.size() && !changed; ++i) {
      if (layout.inDims[i].bits == 0)
        continue;
      // The top bit of this input must be alone on the top bit of an output.
      int top = layout.inDims[i].bits - 1;
      int at = bitOffset(layout.inDims, i) + top;
      uint64_t column = layout.columns[at];
      if (column == 0 || (column & (column - 1)))
        continue;
      bool alone = true;
      for (size_t j = 0; j < layout.columns.size(); ++j)
        alone &= int(j) == at || !(layout.columns[j] & column);
      Index image = layout.basis(int(i), top);
      size_t o = 0;
      while (image[o] == 0)
        ++o;
      if (!alone || image[o] * 2 != layout.outDims[o].size())
        continue;

      Layout next = layout;
      next.columns.erase(next.columns.begin() + at);
      next.inDims[i].bits -= 1;
      next.outDims[o].bits -= 1;
      // Unused bits below would leave a gap when the atom is measured.
      for (uint64_t &other : next.columns)
        other = moveBits(other, layout.outDims, next.outDims);
      Axis axis{2, layout.inDims[i].name, int64_t(1) << top,
                layout.outDims[o].name, image[o]};
      // Join with the axis that goes on where this one ends.
      for (size_t a = 0; a < next.gridAxes.size(); ++a) {
        const Axis &above = next.gridAxes[a];
        if (above.in == axis.in && above.out == axis.out &&
            above.inStride == axis.inStride * 2 &&
            above.outStride == axis.outStride * 2) {
          axis.extent *= above.extent;
          next.gridAxes.erase(next.gridAxes.begin() + a);
          break;
        }
      }
      next.gridAxes.push_back(axis);
      next.sortAxes();
      layout = std::move(next);
      changed = true;
    }
  }
  return layout;
}

//===----------------------------------------------------------------------===//
// Composition
//===----------------------------------------------------------------------===//

/// The axes of inner-then-outer that one axis of the inner layout becomes, or
/// nullopt if its steps do not fall on steps of the outer grid. `used` counts
/// how far each outer axis is walked.
static std::optional<std::vector<Axis>>
throughGrid(Axis axis, const std::vector<Axis> &outerAxes,
            std::vector<int64_t> &used) {
  std::vector<Axis> result;
  while (true) {
    // The outer axis with the largest stride that is not above the step.
    std::optional<size_t> best;
    for (size_t j = 0; j < outerAxes.size(); ++j)
      if (outerAxes[j].in == axis.out &&
          outerAxes[j].inStride <= axis.outStride &&
          (!best || outerAxes[j].inStride > outerAxes[*best].inStride))
        best = j;
    if (!best || axis.outStride % outerAxes[*best].inStride)
      return std::nullopt;
    const Axis &outer = outerAxes[*best];
    int64_t steps = axis.outStride / outer.inStride;
    Axis low = axis;
    low.out = outer.out;
    low.outStride = outer.outStride * steps;
    if ((axis.extent - 1) * steps < outer.extent) {
      used[*best] += (axis.extent - 1) * steps;
      result.push_back(low);
      return result;
    }
    // It goes beyond: split it where the outer axis ends.
    if (outer.extent % steps)
      return std::nullopt;
    low.extent = outer.extent / steps;
    if (low.extent < 2 || axis.extent % low.extent)
      return std::nullopt;
    used[*best] += (low.extent - 1) * steps;
    result.push_back(low);
    axis.extent /= low.extent;
    axis.inStride *= low.extent;
    axis.outStride *= low.extent;
  }
}

std::optional<Layout> Layout::compose(const Layout &outer) const {
  // The same function can be written with more in the atom or more in the
  // grid. Which form meets the other layout's depends on both.
  for (const Layout &in : {*this, absorbed(), released()})
    for (const Layout &out : {outer, outer.absorbed(), outer.released()})
      if (std::optional<Layout> result = in.composeAtoms(out))
        return result;
  return std::nullopt;
}

std::optional<Layout> Layout::composeAtoms(const Layout &outerGiven) const {
  Layout inner = *this, outer = outerGiven;
  for (const Dim &dim : inner.outDims)
    if (!outer.findIn(dim.name) && inner.outSize(dim.name) != 1)
      return std::nullopt;
  // Padding in the middle must be there on both sides and cancel.
  std::vector<Padding> kept, innerMiddle, outerMiddle;
  for (const Padding &padding : inner.paddingList)
    (inner.findOut(padding.dim) ? innerMiddle : kept).push_back(padding);
  for (const Padding &padding : outer.paddingList)
    (outer.findIn(padding.dim) ? outerMiddle : kept).push_back(padding);
  if (innerMiddle != outerMiddle)
    return std::nullopt;
  for (const Padding &padding : kept)
    if (inner.findIn(padding.dim) && outer.findOut(padding.dim))
      return std::nullopt;

  // Bring the atoms to a common size on every dim in the middle.
  for (size_t m = 0; m < outer.inDims.size(); ++m) {
    std::string name = outer.inDims[m].name;
    std::optional<int> o = inner.findOut(name);
    if (!o)
      continue;
    std::optional<Layout> grown = inner.absorbedOut(name, outer.inDims[m].bits);
    if (!grown)
      return std::nullopt;
    inner = *grown;
    int bits = inner.outDims[*inner.findOut(name)].bits;
    grown = outer.absorbedIn(name, bits);
    if (!grown)
      return std::nullopt;
    outer = *grown;
    // The last bits of an atom may be unused; then it need not be as large.
    int reached = 0, start = bitOffset(inner.outDims, *inner.findOut(name));
    for (uint64_t column : inner.columns) {
      uint64_t along = column >> start & ((uint64_t(1) << bits) - 1);
      reached = std::max(reached, along ? 64 - __builtin_clzll(along) : 0);
    }
    if (outer.inDims[m].bits < reached)
      return std::nullopt;
  }

  Layout result;
  result.inDims = inner.inDims;
  result.outDims = outer.outDims;
  result.paddingList = kept;
  for (uint64_t column : inner.columns) {
    uint64_t middle = moveBits(column, inner.outDims, outer.inDims), image = 0;
    for (size_t j = 0; j < outer.columns.size(); ++j)
      if (middle >> j & 1)
        image ^= outer.columns[j];
    result.columns.push_back(image);
  }
  std::vector<int64_t> used(outer.gridAxes.size(), 0);
  for (const Axis &axis : inner.gridAxes) {
    if (axis.outStride == 0) { // a repetition of the same elements
      Axis same = axis;
      if (result.outDims.empty())
        return std::nullopt;
      same.out = result.outDims[0].name;
      result.gridAxes.push_back(same);
      continue;
    }
    auto mapped = throughGrid(axis, outer.gridAxes, used);
    if (!mapped)
      return std::nullopt;
    result.gridAxes.insert(result.gridAxes.end(), mapped->begin(),
                           mapped->end());
  }
  for (size_t j = 0; j < used.size(); ++j)
    if (used[j] >= outer.gridAxes[j].extent)
      return std::nullopt; // steps add up to more than the axis has
  result.sortAxes();
  return result;
}

//===----------------------------------------------------------------------===//
// Inverses
//===----------------------------------------------------------------------===//

/// Inputs and outputs change places; `matrix` is the atom's new map.
Layout Layout::swapped(std::vector<uint64_t> matrix) const {
  Layout result;
  result.inDims = outDims;
  result.outDims = inDims;
  result.columns = std::move(matrix);
  for (const Axis &axis : gridAxes)
    result.gridAxes.push_back(
        {axis.extent, axis.out, axis.outStride, axis.in, axis.inStride});
  result.paddingList = paddingList;
  result.sortAxes();
  return result;
}

std::optional<Layout> Layout::pseudoInvert() const {
  Layout result = swapped(pseudoInverse(columns, outBits()));
  // As axes are added one by one, overlapping ones are refused.
  Layout checked = result;
  checked.gridAxes.clear();
  for (const Axis &axis : result.gridAxes) {
    if (axis.inStride == 0)
      return std::nullopt;
    std::optional<Layout> next = checked.withAxis(axis);
    if (!next)
      return std::nullopt;
    checked = *next;
  }
  return checked;
}

std::optional<Layout> Layout::invert() const {
  if (inBits() != outBits() || spanOf(columns).rank() != inBits())
    return std::nullopt;
  return pseudoInvert();
}

//===----------------------------------------------------------------------===//
// Other dims, other order
//===----------------------------------------------------------------------===//

Layout Layout::sublayout(const std::vector<std::string> &inNames,
                         const std::vector<std::string> &outNames) const {
  Layout result;
  for (const std::string &name : inNames)
    if (std::optional<int> i = findIn(name))
      result.inDims.push_back(inDims[*i]);
  for (const std::string &name : outNames)
    if (std::optional<int> o = findOut(name))
      result.outDims.push_back(outDims[*o]);
  for (const Dim &dim : result.inDims) {
    int start = bitOffset(inDims, *findIn(dim.name));
    for (int b = 0; b < dim.bits; ++b)
      result.columns.push_back(
          moveBits(columns[start + b], outDims, result.outDims));
  }
  for (const Axis &axis : gridAxes)
    if (result.findIn(axis.in) && result.findOut(axis.out))
      result.gridAxes.push_back(axis);
  for (const Padding &padding : paddingList)
    if (result.findIn(padding.dim) || result.findOut(padding.dim))
      result.paddingList.push_back(padding);
  result.sortAxes();
  return result;
}

Layout Layout::renamedIn(const std::string &from, const std::string &to) const {
  Layout result = *this;
  for (Dim &dim : result.inDims)
    if (dim.name == from)
      dim.name = to;
  for (Axis &axis : result.gridAxes)
    if (axis.in == from)
      axis.in = to;
  if (!findOut(from))
    for (Padding &padding : result.paddingList)
      if (padding.dim == from)
        padding.dim = to;
  return result;
}

Layout Layout::renamedOut(const std::string &from,
                          const std::string &to) const {
  Layout result = *this;
  for (Dim &dim : result.outDims)
    if (dim.name == from)
      dim.name = to;
  for (Axis &axis : result.gridAxes)
    if (axis.out == from)
      axis.out = to;
  if (!findIn(from))
    for (Padding &padding : result.paddingList)
      if (padding.dim == from)
        padding.dim = to;
  return result;
}

Layout Layout::transposed(const std::vector<int> &order) const {
  assert(order.size() == outDims.size() && "one entry for each output");
  std::vector<std::string> inNames, outNames;
  for (const Dim &dim : inDims)
    inNames.push_back(dim.name);
  for (int o : order)
    outNames.push_back(outDims[o].name);
  Layout result = sublayout(inNames, outNames);
  // Two steps, as the names are a permutation of one another.
  for (size_t i = 0; i < order.size(); ++i)
    result = result.renamedOut(outNames[i], "$" + std::to_string(i));
  for (size_t i = 0; i < order.size(); ++i)
    result = result.renamedOut("$" + std::to_string(i), outDims[i].name);
  return result;
}

/// Where bit p, counted in row-major order (last dim first), is when flattened.
static std::vector<int> rowMajorBits(const std::vector<Dim> &dims) {
  std::vector<int> positions;
  for (size_t d = dims.size(); d-- > 0;)
    for (int b = 0; b < dims[d].bits; ++b)
      positions.push_back(bitOffset(dims, d) + b);
  return positions;
}

std::optional<Layout> Layout::reshapedIns(const std::vector<Dim> &dims) const {
  std::vector<int> from = rowMajorBits(inDims), to = rowMajorBits(dims);
  if (!isAtom() || from.size() != to.size())
    return std::nullopt;
  Layout result = *this;
  result.inDims = dims;
  for (size_t p = 0; p < from.size(); ++p)
    result.columns[to[p]] = columns[from[p]];
  return result;
}

std::optional<Layout> Layout::reshapedOuts(const std::vector<Dim> &dims) const {
  std::vector<int> from = rowMajorBits(outDims), to = rowMajorBits(dims);
  if (!isAtom() || from.size() != to.size())
    return std::nullopt;
  Layout result = *this;
  result.outDims = dims;
  for (uint64_t &column : result.columns) {
    uint64_t moved = 0;
    for (size_t p = 0; p < from.size(); ++p)
      moved |= (column >> from[p] & 1) << to[p];
    column = moved;
  }
  return result;
}

} // namespace tessera::layout
