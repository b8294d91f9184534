// Builds the layouts of a GPU block.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Support/Layout/GpuTiles.h"

#include "compiler/Support/Layout/Instances.h"
#include "compiler/Support/Layout/Queries.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>
#include <set>

namespace tessera::layout {

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

static std::string dimName(int64_t axis) {
  return "dim" + std::to_string(axis);
}

WarpGrid chooseWarpGrid(int64_t m, int64_t n, int64_t warps, bool rowsOnly) {
  WarpGrid grid;
  while (grid.count() < warps) {
    bool moreRows = m > 16 * grid.rows;
    bool moreColumns = !rowsOnly && n > 8 * grid.columns;
    if (moreRows && moreColumns)
      moreRows = m / grid.rows >= n / grid.columns;
    if (moreRows || !moreColumns)
      grid.rows *= 2; // Beyond the tile: those warps hold absent elements.
    else
      grid.columns *= 2;
  }
  return grid;
}

/// The atom spread over warps: columns are the low bits of the warp's number.
/// A step of 0 means that all warps of that direction hold the same.
static Layout overWarps(const Layout &atom, WarpGrid warps, int rowAxis,
                        int columnAxis) {
  std::vector<Index> bases;
  std::array<int, 2> bits = {0, 0};
  auto spread = [&](int64_t count, int axis) {
    for (int64_t w = 1; w < count; w *= 2) {
      Index step = {0, 0};
      if (axis >= 0)
        step[axis] = int64_t(1) << bits[axis]++;
      bases.push_back(step);
    }
  };
  spread(warps.columns, columnAxis);
  spread(warps.rows, rowAxis);
  Layout outer({{"warp", int(bases.size())}},
               {{"dim0", bits[0]}, {"dim1", bits[1]}}, {bases});
  return atom.product(outer);
}

/// Repeated in registers along `first`, then along the other dim.
static Layout cover(Layout layout, int first, int64_t size0, int64_t size1) {
  int64_t sizes[] = {size0, size1};
  for (int axis : {first, 1 - first}) {
    int64_t times = ceilDiv(sizes[axis], layout.outSize(dimName(axis)));
    if (times > 1)
      layout = layout.repeated(times, "register", dimName(axis));
  }
  return layout;
}

Layout fragments(const Layout &atom, WarpGrid warps, int rowAxis,
                 int columnAxis, int first, int64_t size0, int64_t size1) {
  return cover(overWarps(atom, warps, rowAxis, columnAxis), first, size0,
               size1);
}

Layout mmaResult(int64_t m, int64_t n, WarpGrid warps, MmaShape shape) {
  return fragments(mmaC(shape.m), warps, 0, 1, 1, m, n);
}

Layout mmaLhs(int64_t m, int64_t k, WarpGrid warps, MmaShape shape) {
  return fragments(mmaA(shape.m, shape.kOfLhs(), shape.perRegister), warps, 0,
                   -1, 1, m, k);
}

Layout mmaRhs(int64_t k, int64_t n, WarpGrid warps, MmaShape shape) {
  return fragments(mmaB(shape.k, shape.perRegister), warps, -1, 1, 0, k, n);
}

Layout mmaMeta(int64_t m, int64_t words, WarpGrid warps) {
  Layout atom({{"register", 1}, {"lane", 5}}, {{"dim0", 4}, {"dim1", 0}},
              {{{8, 0}}, {{0, 0}, {0, 0}, {1, 0}, {2, 0}, {4, 0}}});
  return fragments(atom, warps, 0, -1, 1, m, words);
}

Layout mmaLhsScale(int64_t m, int64_t scales, WarpGrid warps) {
  Layout atom({{"register", 0}, {"lane", 5}}, {{"dim0", 4}, {"dim1", 0}},
              {{}, {{8, 0}, {0, 0}, {1, 0}, {2, 0}, {4, 0}}});
  return fragments(atom, warps, 0, -1, 1, m, scales);
}

Layout mmaRhsScale(int64_t scales, int64_t n, WarpGrid warps) {
  Layout atom({{"register", 0}, {"lane", 5}}, {{"dim0", 0}, {"dim1", 3}},
              {{}, {{0, 0}, {0, 0}, {0, 1}, {0, 2}, {0, 4}}});
  return fragments(atom, warps, -1, 1, 0, scales, n);
}

Layout fmaLhs(const Layout &result, int64_t k) {
  return sliced(result, 1).repeated(k, "register", "dim1");
}

Layout fmaRhs(const Layout &result, int64_t k) {
  return sliced(result, 0)
      .renamedOut("dim0", "dim1")
      .repeated(k, "register", "dim0")
      .sublayout({"register", "lane", "warp"}, {"dim0", "dim1"});
}

/// Registers hold 2^`groupBits` neighbours along the last of `order`; lanes
/// take the axes from the back of `order`, warps from its front.
static Layout spread(const std::vector<int64_t> &shape, int64_t warps,
                     int64_t withinWarp, const std::vector<int64_t> &order,
                     int groupBits, int64_t lanesOfWarp) {
  int64_t rank = int64_t(shape.size());
  std::vector<int> bits(rank, 0);
  auto step = [&](int64_t axis) {
    Index image(rank, 0);
    image[axis] = int64_t(1) << bits[axis]++;
    return image;
  };
  auto take = [&](int64_t axis, int64_t count, std::vector<Index> &bases) {
    // Lanes or warps double along an axis while it is not covered.
    for (; count > 1 && (int64_t(1) << bits[axis]) < shape[axis]; count /= 2)
      bases.push_back(step(axis));
    return count;
  };
  std::vector<Index> registers, lanes, warpBases;
  int64_t lanesLeft = lanesOfWarp, warpsLeft = warps;
  for (int b = 0; b < groupBits; ++b)
    registers.push_back(step(order.back()));
  for (size_t i = order.size(); i-- > 0;)
    lanesLeft = take(order[i], lanesLeft, lanes);
  for (; lanesLeft > 1; lanesLeft /= 2)
    lanes.push_back(Index(rank, 0)); // the same element again
  for (int64_t axis : order)
    if (axis != withinWarp)
      warpsLeft = take(axis, warpsLeft, warpBases);
  for (; warpsLeft > 1; warpsLeft /= 2)
    warpBases.push_back(Index(rank, 0));
  std::vector<Dim> outs;
  for (int64_t axis = 0; axis < rank; ++axis)
    outs.push_back({dimName(axis), bits[axis]});
  Layout layout({{"register", groupBits},
                 {"lane", int(lanes.size())},
                 {"warp", int(warpBases.size())}},
                outs, {registers, lanes, warpBases});
  for (size_t i = order.size(); i-- > 0;)
    if (int64_t times =
            ceilDiv(shape[order[i]], layout.outSize(dimName(order[i])));
        times > 1)
      layout = layout.repeated(times, "register", dimName(order[i]));
  return layout;
}

Layout blocked(const std::vector<int64_t> &shape, int64_t warps,
               int64_t withinWarp, int64_t lanes) {
  std::vector<int64_t> order(shape.size());
  std::iota(order.begin(), order.end(), int64_t(0));
  return spread(shape, warps, withinWarp, order, 0, lanes);
}

Layout blockedFor(const std::vector<int64_t> &shape, int64_t warps,
                  int64_t unit, int64_t vector, int64_t lanes) {
  std::vector<int64_t> order;
  int64_t elements = 1;
  for (int64_t axis = 0; axis < int64_t(shape.size()); ++axis) {
    if (axis != unit)
      order.push_back(axis);
    elements *= shape[axis];
  }
  order.push_back(unit);
  int bits = 0;
  while ((int64_t(2) << bits) <= vector &&
         shape[unit] % (int64_t(2) << bits) == 0 &&
         (int64_t(2) << bits) * lanes * warps <= elements)
    ++bits;
  return spread(shape, warps, -1, order, bits, lanes);
}

MemoryRuns memoryRuns(const Layout &layout, int64_t unit) {
  auto along = [&](int64_t run) {
    Index image(layout.outs().size(), 0);
    image[unit] = run;
    return image;
  };
  MemoryRuns runs;
  if (std::optional<int> in = layout.findIn("register"))
    for (int b = 0; b < layout.ins()[*in].bits &&
                    layout.basis(*in, b) == along(runs.vector);
         ++b)
      runs.vector *= 2;
  runs.run = runs.vector;
  if (std::optional<int> in = layout.findIn("lane"))
    for (bool more = true; more;) {
      more = false;
      for (int b = 0; b < layout.ins()[*in].bits; ++b)
        if (layout.basis(*in, b) == along(runs.run)) {
          runs.run *= 2;
          more = true;
        }
    }
  return runs;
}

Layout sliced(const Layout &layout, int64_t axis) {
  std::vector<std::string> outs;
  for (const Dim &dim : layout.outs())
    if (dim.name != dimName(axis))
      outs.push_back(dim.name);
  // Register bits and steps that only moved along `axis` are dropped.
  std::vector<std::vector<Index>> bases;
  std::vector<Dim> ins;
  for (size_t i = 0; i < layout.ins().size(); ++i) {
    bases.emplace_back();
    for (int b = 0; b < layout.ins()[i].bits; ++b) {
      Index image = layout.basis(int(i), b), kept;
      for (size_t o = 0; o < image.size(); ++o)
        if (layout.outs()[o].name != dimName(axis))
          kept.push_back(image[o]);
      bool zero = std::all_of(kept.begin(), kept.end(),
                              [](int64_t v) { return v == 0; });
      if (!zero || layout.ins()[i].name != "register")
        bases.back().push_back(kept);
    }
    ins.push_back({layout.ins()[i].name, int(bases.back().size())});
  }
  std::vector<Dim> outDims;
  for (const Dim &dim : layout.outs())
    if (dim.name != dimName(axis))
      outDims.push_back({dimName(int64_t(outDims.size())), dim.bits});
  Layout result(ins, outDims, bases);
  for (const Axis &step : layout.axes()) {
    if (step.out == dimName(axis))
      continue;
    size_t to = std::find(outs.begin(), outs.end(), step.out) - outs.begin();
    result = result.repeated(step.extent, step.in, dimName(int64_t(to)));
  }
  return result;
}

/// Blocks of `height` rows by `width` elements, swizzled, over the whole tile.
static Layout overTile(int64_t rows, int64_t columns, int64_t height,
                       int64_t width, Swizzle swizzle, int contiguousAxis) {
  Layout layout = xorSwizzle(height, width, swizzle.vec, swizzle.perPhase,
                             swizzle.maxPhase);
  if (rows > height)
    layout = *layout.withAxis(
        {rows / height, "dim0", height, "offset", height * width});
  if (columns > width)
    layout = *layout.withAxis(
        {columns / width, "dim1", width, "offset", rows * width});
  if (contiguousAxis == 1)
    return layout;
  return layout.renamedIn("dim0", "$")
      .renamedIn("dim1", "dim0")
      .renamedIn("$", "dim1")
      .withDims({"dim0", "dim1"}, {});
}

std::vector<Layout> sharedTiles(int64_t dim0, int64_t dim1, int contiguousAxis,
                                int64_t elementBytes) {
  int64_t columns = contiguousAxis == 1 ? dim1 : dim0;
  int64_t rows = contiguousAxis == 1 ? dim0 : dim1;
  assert(columns % 16 == 0 && rows % 8 == 0 && "pad the tile first");
  int64_t width = columns & -columns; // the largest power of two in it
  width = std::min(width, 128 / elementBytes);
  std::vector<Layout> found = {overTile(rows, columns, 8, width,
                                        chooseSwizzle(width, elementBytes, 16),
                                        contiguousAxis)};
  for (int64_t height : {8, 16})
    for (int64_t vec = 16 / elementBytes; vec <= 64 / elementBytes; vec *= 2)
      for (int64_t perPhase : {1, 2, 4}) {
        Swizzle swizzle;
        swizzle.vec = vec;
        swizzle.perPhase = perPhase;
        swizzle.maxPhase = std::min(height / perPhase, width / vec);
        if (rows % height == 0 && swizzle.maxPhase > 1)
          found.push_back(
              overTile(rows, columns, height, width, swizzle, contiguousAxis));
      }
  return found;
}

Layout sharedTile(int64_t dim0, int64_t dim1, int contiguousAxis,
                  int64_t elementBytes) {
  return sharedTiles(dim0, dim1, contiguousAxis, elementBytes).front();
}

int contiguousAxis(const Layout &memory) {
  for (size_t i = 0; i < memory.ins().size(); ++i) {
    if (memory.ins()[i].bits == 0)
      continue;
    if (memory.basis(int(i), 0)[0] == 1)
      return memory.ins()[i].name == "dim0" ? 0 : 1;
  }
  for (const Axis &axis : memory.axes())
    if (axis.outStride == 1)
      return axis.in == "dim0" ? 0 : 1;
  return 1;
}

/// Bits of the atom of input `name`.
static int atomBits(const Layout &layout, const std::string &name) {
  std::optional<int> in = layout.findIn(name);
  return in ? layout.ins()[*in].bits : 0;
}

Layout copyLanes(const Layout &memory, int contiguousAxis,
                 int64_t elementBytes) {
  int64_t vector = 16 / elementBytes;
  int64_t width = int64_t(1) << atomBits(memory, dimName(contiguousAxis));
  std::vector<Index> bases;
  int bits[2] = {0, 0};
  int64_t row = 1;
  for (int b = 0; b < 5; ++b) {
    Index step = {0, 0};
    int64_t group = vector << b;
    if (group < width) {
      step[contiguousAxis] = group;
      bits[contiguousAxis] = *exactLog2(group) + 1;
    } else {
      step[1 - contiguousAxis] = row;
      bits[1 - contiguousAxis] = *exactLog2(row) + 1;
      row *= 2;
    }
    bases.push_back(step);
  }
  return Layout({{"lane", 5}}, {{"dim0", bits[0]}, {"dim1", bits[1]}}, {bases});
}

std::optional<MatrixLoad> matrixLoad(const Layout &fragment, int contiguousAxis,
                                     int64_t elementBytes) {
  std::optional<int> reg = fragment.findIn("register"),
                     lane = fragment.findIn("lane");
  if (!lane || fragment.outs().size() != 2 || elementBytes > 4 ||
      fragment.ins()[*lane].bits != 5)
    return std::nullopt;
  int64_t perWord = 4 / elementBytes;
  int wordBits = *exactLog2(perWord);
  if (!reg || fragment.ins()[*reg].bits < wordBits)
    return std::nullopt;
  // Which axis do words run along? Then the matrix is: a word's elements and
  // lane bits 0, 1 across, lane bits 2, 3, 4 down.
  Index first = fragment.basis(*lane, 0);
  int across = first == Index{0, perWord}   ? 1
               : first == Index{perWord, 0} ? 0
                                            : -1;
  if (across < 0)
    return std::nullopt;
  for (int b = 0; b < wordBits; ++b) {
    Index expected = {0, 0};
    expected[across] = int64_t(1) << b;
    if (fragment.basis(*reg, b) != expected)
      return std::nullopt;
  }
  for (int b = 0; b < 5; ++b) {
    Index expected = {0, 0};
    expected[b < 2 ? across : 1 - across] =
        b < 2 ? perWord << b : int64_t(1) << (b - 2);
    if (fragment.basis(*lane, b) != expected)
      return std::nullopt;
  }
  MatrixLoad load;
  load.transposed = contiguousAxis != across;
  if (load.transposed && elementBytes != 2)
    return std::nullopt;
  // Lanes 8j .. 8j + 7 give the rows of matrix j, which is word j.
  // They may be joined while every group lies like the first one.
  int64_t registers = fragment.inSize("register");
  auto at = [&](int64_t r) {
    Index place(fragment.ins().size(), 0);
    place[*reg] = r;
    return *fragment.apply(place);
  };
  auto fits = [&](int64_t matrices) {
    if (registers % (perWord * matrices) != 0)
      return false;
    for (int64_t r = 0; r < registers; r += perWord * matrices)
      for (int64_t j = 1; j < matrices; ++j) {
        Index linear = {0, 0};
        for (int64_t b = 1; b <= j; b *= 2)
          for (int axis : {0, 1})
            linear[axis] += j & b ? at(perWord * b)[axis] : 0;
        for (int axis : {0, 1})
          if (at(r + perWord * j)[axis] != at(r)[axis] + linear[axis] ||
              (at(r)[axis] & linear[axis]))
            return false;
      }
    return true;
  };
  load.matrices = fits(4) ? 4 : fits(2) ? 2 : 1;
  std::vector<Index> bases;
  for (int b = 0; b < 3; ++b) {
    Index step = {0, 0};
    step[1 - contiguousAxis] = 1 << b;
    bases.push_back(step);
  }
  for (int64_t j = 1; j < 4; j *= 2) {
    Index step = {0, 0};
    if (j < load.matrices)
      step = at(perWord * j);
    bases.push_back(step);
  }
  int bits[2] = {0, 0};
  for (const Index &base : bases)
    for (int axis : {0, 1})
      if (base[axis])
        bits[axis] = std::max(bits[axis], *exactLog2(base[axis]) + 1);
  load.lanes =
      Layout({{"lane", 5}}, {{"dim0", bits[0]}, {"dim1", bits[1]}}, {bases});
  return load;
}

int64_t bankConflicts(const Layout &lanes, const Layout &memory,
                      int64_t elementBytes, int64_t vectorElements) {
  SharedMemory banks;
  banks.lanes = std::max(banks.lanes, lanes.inSize("lane"));
  if (std::optional<Layout> access = lanes.compose(memory))
    return wavefronts(*access, elementBytes, vectorElements, banks) -
           minWavefronts(elementBytes, vectorElements, banks);
  // The composition need not be a layout (a tile narrower than the warp's
  // reach); then the lanes are placed one by one.
  int64_t phases = minWavefronts(elementBytes, vectorElements, banks);
  int64_t together = banks.lanes / phases, total = 0;
  for (int64_t first = 0; first < banks.lanes; first += together) {
    std::map<int64_t, std::set<int64_t>> words;
    for (int64_t lane = first; lane < first + together; ++lane) {
      std::optional<Index> at = lanes.apply({lane});
      std::optional<Index> offset = at ? memory.apply(*at) : std::nullopt;
      if (!offset)
        continue; // an inactive lane
      int64_t start = (*offset)[0] * elementBytes;
      for (int64_t byte = start; byte < start + elementBytes * vectorElements;
           byte += banks.bankBytes) {
        int64_t word = byte / banks.bankBytes;
        words[word % banks.banks].insert(word);
      }
    }
    size_t most = 0;
    for (const auto &entry : words)
      most = std::max(most, entry.second.size());
    total += std::max<int64_t>(int64_t(most), 1);
  }
  return total - phases;
}

} // namespace tessera::layout
