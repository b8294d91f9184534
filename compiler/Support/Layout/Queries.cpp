// Computes conversions, vector widths and bank conflicts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Support/Layout/Queries.h"

#include "compiler/Support/Layout/BitSpan.h"
#include "compiler/Support/Layout/DimBits.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <map>
#include <set>

namespace tessera::layout {

/// The hardware's levels, the nearest first.
static constexpr std::array<const char *, 4> levels = {"register", "lane",
                                                       "warp", "block"};

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// Levels that exist, in order, and outputs in the order of `like`.
static Layout arranged(const Layout &layout, const Layout &like) {
  std::vector<std::string> ins(levels.begin(), levels.end()), outs;
  for (const Dim &dim : like.outs())
    outs.push_back(dim.name);
  return layout.withDims(ins, outs).sublayout(ins, outs);
}

/// Is every destination place served by a source place that differs from it in
/// the first `reach` levels only? If so, its columns: for each destination bit
/// the source place. By linearity it is enough to look at bases.
static std::optional<std::vector<uint64_t>>
solveWithin(const Layout &from, const Layout &to, size_t reach) {
  BitSpan near;
  for (size_t level = 0; level < reach; ++level) {
    int start = bitOffset(from.ins(), level);
    for (int b = 0; b < from.ins()[level].bits; ++b)
      near.add(from.matrix()[start + b], uint64_t(1) << (start + b));
  }
  std::vector<uint64_t> solution;
  for (size_t level = 0; level < levels.size(); ++level) {
    int toStart = bitOffset(to.ins(), level);
    int fromStart = bitOffset(from.ins(), level);
    for (int b = 0; b < to.ins()[level].bits; ++b) {
      uint64_t wanted = to.matrix()[toStart + b];
      // Keep this bit of the place if the rest can be made up nearby. A
      // register may change anyway, so there only if nothing is left to do.
      uint64_t own = uint64_t(1) << (fromStart + b);
      if (b < from.ins()[level].bits) {
        uint64_t rest = wanted ^ from.matrix()[fromStart + b];
        std::optional<uint64_t> found = near.solve(rest);
        if (found && (level >= 1 || *found == 0)) {
          solution.push_back(*found ^ own);
          continue;
        }
      }
      if (level >= reach)
        return std::nullopt;
      std::optional<uint64_t> found = near.solve(wanted);
      if (!found)
        return std::nullopt;
      solution.push_back(*found);
    }
  }
  return solution;
}

static bool sameGrid(const Layout &a, const Layout &b, bool registersToo) {
  std::vector<Axis> left = a.axes(), right = b.axes();
  auto byOutput = [](const Axis &x, const Axis &y) {
    return std::tie(x.out, x.outStride, x.in) <
           std::tie(y.out, y.outStride, y.in);
  };
  std::sort(left.begin(), left.end(), byOutput);
  std::sort(right.begin(), right.end(), byOutput);
  if (left.size() != right.size())
    return false;
  for (size_t i = 0; i < left.size(); ++i)
    if (left[i].extent != right[i].extent || left[i].out != right[i].out ||
        left[i].outStride != right[i].outStride || left[i].in != right[i].in ||
        (registersToo && left[i].inStride != right[i].inStride) ||
        (left[i].in != "register" && left[i].inStride != right[i].inStride))
      return false;
  return true;
}

/// Shuffles that a map of places needs: per destination register, one for each
/// source register that a lane wants, unless all lanes take it from themselves.
static int64_t countShuffles(const Layout &source) {
  int64_t shuffles = 0;
  int64_t registers = source.ins()[0].size(), lanes = source.ins()[1].size();
  for (int64_t r = 0; r < registers; ++r) {
    std::set<int64_t> wanted;
    bool moves = false;
    for (int64_t l = 0; l < lanes; ++l) {
      Index place = *source.apply({r, l, 0, 0});
      wanted.insert(place[0]);
      moves |= place[1] != l;
    }
    if (moves)
      shuffles += int64_t(wanted.size());
  }
  return shuffles;
}

static std::optional<Conversion> convertAs(Layout from, Layout to) {
  // Grow both atoms to a common size.
  for (size_t o = 0; o < from.outs().size(); ++o) {
    int bits = std::max(from.outs()[o].bits, to.outs()[o].bits);
    std::string name = from.outs()[o].name;
    std::optional<Layout> a = from.absorbedOut(name, bits);
    std::optional<Layout> b = to.absorbedOut(name, bits);
    if (!a || !b || a->outs()[o].bits != b->outs()[o].bits)
      return std::nullopt;
    from = *a;
    to = *b;
  }
  if (!sameGrid(from, to, false))
    return std::nullopt;
  for (size_t level = 1; level < levels.size(); ++level)
    if (from.ins()[level].bits != to.ins()[level].bits)
      return std::nullopt;

  for (size_t reach = 0; reach <= levels.size(); ++reach) {
    std::optional<std::vector<uint64_t>> columns = solveWithin(from, to, reach);
    if (!columns)
      continue;
    // Renaming the registers of the grid is a movement of registers.
    if (reach == 0 && !sameGrid(from, to, true))
      continue;
    Conversion conversion;
    conversion.movement = Movement(reach);
    std::vector<std::vector<Index>> bases;
    size_t next = 0;
    for (const Dim &dim : to.ins()) {
      bases.emplace_back();
      for (int b = 0; b < dim.bits; ++b)
        bases.back().push_back(unflatten(from.ins(), (*columns)[next++]));
    }
    conversion.source = Layout(to.ins(), from.ins(), bases);
    if (conversion.movement == Movement::Lanes)
      conversion.shuffles = countShuffles(conversion.source);
    // A step of the destination's grid is the same step of the source's.
    for (const Axis &target : to.axes()) {
      if (conversion.movement == Movement::Lanes)
        conversion.shuffles *= target.extent;
      for (const Axis &origin : from.axes())
        if (origin.out == target.out && origin.outStride == target.outStride)
          conversion.source = *conversion.source.withAxis(
              {target.extent, target.in, target.inStride, origin.in,
               origin.inStride});
    }
    return conversion;
  }
  return std::nullopt;
}

std::optional<Conversion> convert(const Layout &from, const Layout &to) {
  for (const Dim &dim : from.outs())
    if (!to.findOut(dim.name) || from.outSize(dim.name) != to.outSize(dim.name))
      return std::nullopt;
  Layout a = arranged(from, from), b = arranged(to, from);
  // Grids are compared axis by axis, so try the forms that can be alike.
  if (std::optional<Conversion> found = convertAs(a, b))
    return found;
  if (std::optional<Conversion> found = convertAs(a.absorbed(), b.absorbed()))
    return found;
  return convertAs(a.released(), b.released());
}

//===----------------------------------------------------------------------===//
// Vector width
//===----------------------------------------------------------------------===//

int64_t maxVectorWidth(const Layout &access, int64_t elementBytes,
                       int64_t maxBytes) {
  std::optional<int> in = access.findIn("register");
  assert(access.outs().size() == 1 && "an access has one output, the offset");
  if (!in)
    return 1;
  // Offsets that a lane can reach by changing registers only.
  BitSpan reach;
  int start = bitOffset(access.ins(), *in);
  for (int b = 0; b < access.ins()[*in].bits; ++b)
    reach.add(access.matrix()[start + b], 0);

  int64_t width = 1;
  for (; width * 2 * elementBytes <= maxBytes; width *= 2) {
    int64_t next = width * 2;
    // The registers fill aligned runs of `next`...
    if (!reach.contains(uint64_t(width)))
      break;
    // ... and which register is where in its run is the same for all lanes.
    bool fixed = true;
    for (size_t i = 0; i < access.ins().size(); ++i)
      for (int b = 0; b < access.ins()[i].bits; ++b)
        fixed &= int(i) == *in || access.basis(int(i), b)[0] % next == 0;
    for (const Axis &axis : access.axes())
      fixed &= axis.outStride % next == 0;
    for (const Padding &padding : access.paddings())
      fixed &= padding.interval % next == 0 && padding.amount % next == 0;
    if (!fixed)
      break;
  }
  return width;
}

//===----------------------------------------------------------------------===//
// Bank conflicts
//===----------------------------------------------------------------------===//

/// Lanes that the hardware serves together.
static int64_t lanesPerPhase(int64_t bytes, const SharedMemory &memory) {
  int64_t line = memory.banks * memory.bankBytes;
  return std::min(memory.lanes, std::max<int64_t>(1, line / bytes));
}

int64_t minWavefronts(int64_t elementBytes, int64_t vectorElements,
                      const SharedMemory &memory) {
  return memory.lanes / lanesPerPhase(elementBytes * vectorElements, memory);
}

int64_t wavefronts(const Layout &accessGiven, int64_t elementBytes,
                   int64_t vectorElements, const SharedMemory &memory) {
  Layout access = accessGiven.sublayout({"lane"}, {accessGiven.outs()[0].name});
  int64_t bytes = elementBytes * vectorElements;
  int64_t together = lanesPerPhase(bytes, memory);
  int64_t phases = memory.lanes / together;
  assert(!access.ins().empty() && access.inSize("lane") <= memory.lanes);

  // For a plain atom whose vectors are aligned: the words of a phase form a
  // linear space, each bank that is touched is touched equally often, and that
  // often is the number of words of the space in bank 0. Phases are shifted
  // copies of one another.
  bool aligned = access.isAtom() && exactLog2(bytes) &&
                 access.ins()[0].size() == memory.lanes;
  for (int b = 0; aligned && b < access.ins()[0].bits; ++b)
    aligned = access.basis(0, b)[0] * elementBytes % bytes == 0;
  if (aligned && bytes >= memory.bankBytes) {
    BitSpan words, banks;
    auto addWord = [&](uint64_t word) {
      words.add(word, 0);
      banks.add(word & uint64_t(memory.banks - 1), 0);
    };
    for (int64_t w = 1; w < bytes / memory.bankBytes; w *= 2)
      addWord(uint64_t(w));
    for (int b = 0; (int64_t(1) << b) < together; ++b)
      addWord(
          uint64_t(access.basis(0, b)[0] * elementBytes / memory.bankBytes));
    return phases * (int64_t(1) << (words.rank() - banks.rank()));
  }

  // Else count.
  int64_t total = 0;
  for (int64_t first = 0; first < memory.lanes; first += together) {
    std::map<int64_t, std::set<int64_t>> wordsOfBank;
    for (int64_t lane = first; lane < first + together; ++lane) {
      std::optional<Index> offset = access.apply({lane});
      if (!offset)
        continue; // an inactive lane
      int64_t start = (*offset)[0] * elementBytes;
      for (int64_t byte = start; byte < start + bytes; ++byte) {
        int64_t word = byte / memory.bankBytes;
        wordsOfBank[word % memory.banks].insert(word);
      }
    }
    size_t most = 0;
    for (const auto &[bank, words] : wordsOfBank)
      most = std::max(most, words.size());
    total += int64_t(most);
  }
  return total;
}

} // namespace tessera::layout
