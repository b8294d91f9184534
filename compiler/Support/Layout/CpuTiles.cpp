// Chooses register tiles and builds panel layouts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Support/Layout/CpuTiles.h"

#include <algorithm>
#include <cassert>
#include <tuple>

namespace tessera::layout {

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

//===----------------------------------------------------------------------===//
// Register tiles
//===----------------------------------------------------------------------===//

VectorMachine avx512Machine(int64_t elementBytes) {
  VectorMachine machine;
  machine.lanes = 64 / elementBytes;
  return machine;
}

VectorMachine avx2Machine(int64_t elementBytes) {
  VectorMachine machine;
  machine.lanes = 32 / elementBytes;
  machine.registers = 16;
  machine.broadcastOperand = false;
  return machine;
}

/// More columns per row than this make panels of B so wide that a tail costs
/// more than the saved loads bring; a few more if they are all there are.
static constexpr int64_t maxVectorsPerRow = 4;
static constexpr int64_t maxVectorsInAll = 6;

std::vector<RegisterTile> registerTiles(const VectorMachine &machine,
                                        int64_t n) {
  std::vector<RegisterTile> tiles;
  int64_t forA = machine.broadcastOperand ? 0 : 1;
  bool isAll = n % machine.lanes == 0 && n / machine.lanes <= maxVectorsInAll;
  int64_t most = std::max(maxVectorsPerRow, isAll ? n / machine.lanes : 0);
  for (int64_t vectors = 1; vectors <= most; ++vectors)
    for (int64_t mr = 1; mr * vectors + vectors + forA <= machine.registers;
         ++mr)
      tiles.push_back({mr, vectors, machine.lanes});
  return tiles;
}

/// Cycles that the multiply-adds of one step along k take per element of C.
static double cyclesPerElement(const VectorMachine &machine,
                               const RegisterTile &tile, int64_t m, int64_t n) {
  int64_t accumulators = tile.accumulators();
  double fma = double(accumulators) / double(machine.fmaPerCycle);
  // Each accumulator is used once per step: too few leave the units waiting.
  double latency = double(machine.fmaLatency);
  double loads = double(tile.mr + tile.vectors) / double(machine.loadsPerCycle);
  double cycles = std::max({fma, latency, loads});
  double useful = double(tile.mr * tile.nr());
  if (m > 0)
    useful *= double(m) / double(ceilDiv(m, tile.mr) * tile.mr);
  if (n > 0)
    useful *= double(n) / double(ceilDiv(n, tile.nr()) * tile.nr());
  return cycles / useful;
}

RegisterTile chooseRegisterTile(const VectorMachine &machine, int64_t m,
                                int64_t n) {
  auto key = [&](const RegisterTile &tile) {
    int64_t area =
        ceilDiv(m, tile.mr) * tile.mr * ceilDiv(n, tile.nr()) * tile.nr();
    return std::make_tuple(cyclesPerElement(machine, tile, m, n), area,
                           tile.loadsPerFma(), tile.nr());
  };
  std::vector<RegisterTile> tiles = registerTiles(machine, n);
  assert(!tiles.empty() && "no tile fits the registers");
  return *std::min_element(tiles.begin(), tiles.end(),
                           [&](const RegisterTile &a, const RegisterTile &b) {
                             return key(a) < key(b);
                           });
}

Layout accumulatorLayout(const RegisterTile &tile) {
  return Layout::identity(tile.lanes, "element", "dim1")
      .withDims({"register"}, {"dim0"})
      .sublayout({"element", "register"}, {"dim0", "dim1"})
      .repeated(tile.vectors, "register", "dim1")
      .repeated(tile.mr, "register", "dim0");
}

AmxBlock chooseAmxBlock(int64_t tileRegisters) {
  AmxBlock best;
  auto loadsPerMultiply = [](const AmxBlock &block) {
    return double(block.tilesM + block.tilesN) /
           double(block.tilesM * block.tilesN);
  };
  for (int64_t m = 1; m < tileRegisters; ++m)
    for (int64_t n = 1; m * n + m + n <= tileRegisters; ++n)
      if (loadsPerMultiply({m, n}) < loadsPerMultiply(best))
        best = {m, n};
  return best;
}

//===----------------------------------------------------------------------===//
// Packed panels
//===----------------------------------------------------------------------===//

/// [wide/width][depth/group][width][group], where `wide` and `deep` name the
/// source dims.
static Layout panels(const std::string &wide, int64_t wideExtent,
                     const std::string &deep, int64_t deepExtent, int64_t width,
                     int64_t group) {
  int64_t groups = ceilDiv(deepExtent, group);
  Layout layout = Layout().withDims({"dim0", "dim1"}, {"offset"});
  for (const Axis &axis : {Axis{group, deep, 1, "offset", 1},
                           Axis{width, wide, 1, "offset", group},
                           Axis{groups, deep, group, "offset", group * width},
                           Axis{ceilDiv(wideExtent, width), wide, width,
                                "offset", group * width * groups}}) {
    std::optional<Layout> next = layout.withAxis(axis);
    assert(next && "panels are nested");
    layout = *next;
  }
  return layout;
}

Layout packedA(int64_t m, int64_t k, int64_t mr, int64_t group) {
  return panels("dim0", m, "dim1", k, mr, group);
}

Layout packedB(int64_t k, int64_t n, int64_t nr, int64_t group) {
  return panels("dim1", n, "dim0", k, nr, group);
}

std::optional<std::vector<PackLoop>> packLoops(const Layout &panel) {
  if (panel.outs().size() != 1 || !panel.paddings().empty())
    return std::nullopt;
  std::vector<PackLoop> loops;
  int64_t used = 0;
  for (size_t i = 0; i < panel.ins().size(); ++i)
    for (int b = 0; b < panel.ins()[i].bits; ++b) {
      int64_t offset = panel.basis(int(i), b)[0];
      if (offset & used)
        return std::nullopt; // XORed, not added
      used |= offset;
      loops.push_back({panel.ins()[i].name, 2, int64_t(1) << b, offset});
    }
  for (const Axis &axis : panel.axes())
    loops.push_back({axis.in, axis.extent, axis.inStride, axis.outStride});
  std::sort(loops.begin(), loops.end(),
            [](const PackLoop &a, const PackLoop &b) {
              return std::tie(b.offsetStep, a.dim, b.sourceStep) <
                     std::tie(a.offsetStep, b.dim, a.sourceStep);
            });
  std::vector<PackLoop> joined;
  for (const PackLoop &loop : loops) {
    if (!joined.empty()) {
      PackLoop &outer = joined.back();
      if (outer.dim == loop.dim &&
          outer.sourceStep == loop.sourceStep * loop.extent &&
          outer.offsetStep == loop.offsetStep * loop.extent) {
        outer = {loop.dim, outer.extent * loop.extent, loop.sourceStep,
                 loop.offsetStep};
        continue;
      }
    }
    joined.push_back(loop);
  }
  return joined;
}

int64_t contiguousRun(const Layout &panel, std::string_view dim) {
  return panel.contiguous(dim, panel.outs()[0].name);
}

bool needsTranspose(const Layout &panel, std::string_view dim) {
  return panel.inSize(dim) > 1 && contiguousRun(panel, dim) == 1;
}

} // namespace tessera::layout
