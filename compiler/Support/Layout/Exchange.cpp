// Plans how a tile changes threads, and lays it out in shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Support/Layout/Exchange.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace tessera::layout {

/// A barrier, counted in instructions: all warps of the block drain.
static constexpr int64_t barrierCost = 16;

/// Images of the bits of an input; none if the layout lacks it.
static std::vector<Index> imagesOf(const Layout &layout, const char *name) {
  std::vector<Index> images;
  if (std::optional<int> in = layout.findIn(name))
    for (int b = 0; b < layout.ins()[*in].bits; ++b)
      images.push_back(layout.basis(*in, b));
  return images;
}

static std::vector<Index> registersOf(const Layout &layout) {
  std::vector<Index> offsets;
  std::optional<int> in = layout.findIn("register");
  int64_t count = in ? layout.inSize("register") : 1;
  for (int64_t r = 0; r < count; ++r) {
    Index at(layout.ins().size(), 0);
    if (in)
      at[*in] = r;
    offsets.push_back(layout.apply(at).value_or(Index(layout.outs().size())));
  }
  return offsets;
}

static bool isZero(const Index &image) {
  return std::all_of(image.begin(), image.end(),
                     [](int64_t v) { return v == 0; });
}

/// The one axis that an image of a bit moves along.
static size_t axisOf(const Index &image) {
  return size_t(std::find_if(image.begin(), image.end(),
                             [](int64_t v) { return v != 0; }) -
                image.begin());
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

int64_t Board::placeOf(const Index &at) const {
  int64_t place = 0;
  for (size_t a = 0; a < at.size(); ++a)
    for (size_t b = 0; b < weights[a].size(); ++b)
      if (at[a] >> b & 1)
        place += weights[a][b];
  return place;
}

Board rowMajorBoard(const std::vector<int64_t> &shape, bool oddRows) {
  Board board;
  board.weights.resize(shape.size());
  board.elements = 1;
  for (size_t a = shape.size(); a-- > 0;) {
    for (int64_t step = 1; step < std::max<int64_t>(shape[a], 2); step *= 2)
      board.weights[a].push_back(board.elements * step);
    board.elements *= shape[a];
    if (oddRows && a + 1 == shape.size())
      board.elements |= 1;
  }
  return board;
}

int64_t boardVector(const Layout &layout, const Board &board,
                    const std::vector<int64_t> &shape, int64_t elementBytes) {
  std::optional<int> in = layout.findIn("register");
  if (!in || elementBytes > 4)
    return 1;
  int64_t vector = 1, most = 16 / elementBytes;
  size_t along = shape.size();
  for (int b = 0; b < layout.ins()[*in].bits && vector < most; ++b) {
    const Index &image = layout.basis(*in, b);
    size_t axis = axisOf(image);
    if (axis >= shape.size() || (b > 0 && axis != along) ||
        board.placeOf(image) != vector || shape[axis] % (2 * vector) != 0)
      break;
    along = axis;
    vector *= 2;
  }
  // Everything else moves by whole groups.
  auto breaks = [&](const Index &image) {
    while (vector > 1 && board.placeOf(image) % vector != 0)
      vector /= 2;
  };
  for (const char *name : {"lane", "warp"})
    for (const Index &image : imagesOf(layout, name))
      breaks(image);
  for (int b = exactLog2(vector).value_or(0); b < layout.ins()[*in].bits; ++b)
    breaks(layout.basis(*in, b));
  for (const Axis &axis : layout.axes())
    if (std::optional<int> out = layout.findOut(axis.out))
      for (int64_t g = 1; g < axis.extent && vector > 1; ++g) {
        Index image(layout.outs().size(), 0);
        image[*out] = g * axis.outStride;
        breaks(image);
      }
  return vector;
}

/// Passes over the banks beyond the least, for one access of a warp. Of lanes
/// that hold the same element, one writes; words that are read twice count
/// once. Accesses of 8 and 16 bytes are done by half warps and quarters.
static int64_t extraPasses(const std::vector<Index> &lanes, int64_t start,
                           const Board &board, int64_t elementBytes,
                           int64_t vector) {
  int64_t steps[5] = {}, extra = 0;
  for (size_t b = 0; b < lanes.size() && b < 5; ++b)
    steps[b] = board.placeOf(lanes[b]);
  int64_t bytes = vector * elementBytes,
          words = std::max<int64_t>(1, bytes / 4), together = 32 / words;
  for (int64_t first = 0; first < 32; first += together) {
    int64_t last[32][8], counts[32] = {}, most = 1;
    for (int64_t l = first; l < first + together; ++l) {
      int64_t place = start;
      for (int b = 0; b < 5; ++b)
        place += l >> b & 1 ? steps[b] : 0;
      for (int64_t w = 0; w < words; ++w) {
        int64_t word = place * elementBytes / 4 + w, bank = word % 32;
        int64_t known = std::min<int64_t>(counts[bank], 8);
        if (std::find(last[bank], last[bank] + known, word) !=
            last[bank] + known)
          continue;
        last[bank][counts[bank]++ % 8] = word;
        most = std::max(most, counts[bank]);
      }
    }
    extra += most - 1;
  }
  return extra;
}

Board chooseBoard(const std::vector<int64_t> &shape,
                  const std::vector<Layout> &writers,
                  const std::vector<Layout> &readers, int64_t elementBytes) {
  bool planes = elementBytes > 4;
  elementBytes = std::min<int64_t>(elementBytes, 4);
  struct User {
    const Layout *layout;
    std::vector<Index> lanes;
    std::vector<Index> registers;
    int64_t count;
  };
  std::vector<User> users;
  for (const auto *some : {&writers, &readers})
    for (const Layout &layout : *some) {
      User user{&layout, imagesOf(layout, "lane"), registersOf(layout), 0};
      user.count = int64_t(user.registers.size());
      // Registers move all lanes by the same distance, which changes nothing
      // for whole words; for parts of words the first few show all there is.
      user.registers.resize(
          std::min<size_t>(user.registers.size(), elementBytes < 4 ? 4 : 1));
      users.push_back(std::move(user));
    }
  std::vector<size_t> order(shape.size()); // innermost first
  std::iota(order.begin(), order.end(), size_t(0));
  std::reverse(order.begin(), order.end());
  std::vector<std::vector<size_t>> orders = {order};
  if (order.size() == 2)
    orders.push_back({order[1], order[0]});
  int64_t step = 4 / elementBytes;
  Board best;
  int64_t bestCost = -1, accessesAtLeast = -1;
  auto consider = [&](const std::vector<size_t> &inner, int64_t afterRow,
                      int64_t after2, int64_t after4) {
    Board board;
    board.weights.resize(shape.size());
    int64_t size = 1;
    for (size_t i = 0; i < inner.size(); ++i) {
      int64_t weight = i == 0 ? 1 : size, extent = shape[inner[i]];
      for (int b = 0; int64_t(1) << b < std::max<int64_t>(extent, 2); ++b) {
        board.weights[inner[i]].push_back(weight);
        weight = 2 * weight + (i == 1 && b == 0   ? after2
                               : i == 1 && b == 1 ? after4
                                                  : 0);
      }
      Index end(shape.size(), 0);
      end[inner[i]] = extent - 1;
      size += board.placeOf(end);
      if (i == 0)
        size = (size + step - 1) / step * step + afterRow;
    }
    board.elements = size;
    int64_t cost = 0, plain = 0;
    for (const User &user : users) {
      int64_t vector =
          planes ? 1 : boardVector(*user.layout, board, shape, elementBytes);
      int64_t extra = 0;
      for (const Index &offset : user.registers)
        extra = std::max(extra, extraPasses(user.lanes, board.placeOf(offset),
                                            board, elementBytes, vector));
      board.conflicts = std::max(board.conflicts, extra);
      cost += user.count / vector * (1 + extra);
      plain += user.count / vector;
    }
    accessesAtLeast =
        accessesAtLeast < 0 ? plain : std::min(accessesAtLeast, plain);
    auto rank = [](const Board &one, int64_t cost) {
      return std::pair(one.conflicts, cost);
    };
    if (bestCost < 0 || rank(board, cost) < rank(best, bestCost)) {
      best = board;
      bestCost = cost;
    }
  };
  // Without gaps groups are as large as they can be.
  for (const auto &inner : orders)
    consider(inner, 0, 0, 0);
  int64_t gaps = shape.size() < 2 ? 0 : 31, least = accessesAtLeast;
  auto found = [&] { return best.conflicts == 0 && bestCost <= least; };
  // Gaps of 16 bytes first: they keep groups together.
  for (int64_t each : {4 * step, step}) {
    int64_t most = gaps * step / each * each;
    for (int64_t after4 = 0; after4 <= most && !found(); after4 += each)
      for (int64_t after2 = 0; after2 <= most && !found(); after2 += each)
        for (int64_t afterRow = 0; afterRow <= most && !found();
             afterRow += each)
          for (const auto &inner : orders)
            consider(inner, afterRow, after2, after4);
    if (best.conflicts == 0)
      break;
    least = std::numeric_limits<int64_t>::max();
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Within a warp
//===----------------------------------------------------------------------===//

/// Fills the sources and lanes; false if an element must change warps.
static bool planWithinWarp(const Layout &from, const Layout &to,
                           Exchange &plan) {
  std::vector<Index> lanes = imagesOf(from, "lane"),
                     warps = imagesOf(from, "warp"),
                     toLanes = imagesOf(to, "lane"),
                     toWarps = imagesOf(to, "warp");
  for (size_t b = 0; b < warps.size(); ++b)
    if (!isZero(warps[b]) && (b >= toWarps.size() || toWarps[b] != warps[b]))
      return false;
  // A bit of the reader's thread becomes bits of the giver's lane; what is
  // left over is in the giver's register.
  auto laneOf = [&](const Index &at) {
    int64_t lane = 0;
    for (size_t b = 0; b < lanes.size(); ++b)
      if (!isZero(lanes[b])) {
        size_t axis = axisOf(lanes[b]);
        lane |= at[axis] & lanes[b][axis] ? int64_t(1) << b : 0;
      }
    return lane;
  };
  auto leftOver = [&](Index at) {
    for (const std::vector<Index> *images : {&lanes, &warps})
      for (const Index &image : *images)
        if (!isZero(image))
          at[axisOf(image)] &= ~image[axisOf(image)];
    return at;
  };
  std::vector<Index> chosen;
  for (size_t b = 0; b < toLanes.size(); ++b) {
    int64_t lane = laneOf(toLanes[b]);
    // Lanes that hold the same: everybody asks within his own group.
    if (b < lanes.size() && isZero(lanes[b]))
      lane |= int64_t(1) << b;
    plan.laneOfLane.push_back(lane);
    if (Index rest = leftOver(toLanes[b]); !isZero(rest)) {
      plan.choices.push_back({false, int(b)});
      chosen.push_back(rest);
    }
  }
  for (size_t b = 0; b < toWarps.size(); ++b) {
    plan.laneOfWarp.push_back(laneOf(toWarps[b]));
    if (Index rest = leftOver(toWarps[b]); !isZero(rest)) {
      plan.choices.push_back({true, int(b)});
      chosen.push_back(rest);
    }
  }
  std::map<Index, int64_t> registerAt;
  std::vector<Index> offsets = registersOf(from);
  for (size_t r = 0; r < offsets.size(); ++r)
    registerAt.insert({offsets[r], int64_t(r)});
  if (chosen.size() > 5)
    return false;
  for (const Index &offset : registersOf(to)) {
    plan.laneOfRegister.push_back(laneOf(offset));
    // Bits of the register that are the giver's warp cannot be asked for.
    for (const Index &image : warps)
      if (!isZero(image) && (offset[axisOf(image)] & image[axisOf(image)]))
        return false;
    std::vector<int64_t> sources;
    for (size_t choice = 0; choice < size_t(1) << chosen.size(); ++choice) {
      Index at = leftOver(offset);
      for (size_t b = 0; b < chosen.size(); ++b)
        if (choice >> b & 1)
          for (size_t a = 0; a < at.size(); ++a)
            at[a] += chosen[b][a];
      auto there = registerAt.find(at);
      sources.push_back(there == registerAt.end() ? -1 : there->second);
    }
    plan.sources.push_back(sources);
  }
  return true;
}

static bool asksItself(const Exchange &plan) {
  for (size_t b = 0; b < plan.laneOfLane.size(); ++b)
    if (plan.laneOfLane[b] != int64_t(1) << b)
      return false;
  auto zero = [](int64_t v) { return v == 0; };
  return std::all_of(plan.laneOfRegister.begin(), plan.laneOfRegister.end(),
                     zero) &&
         std::all_of(plan.laneOfWarp.begin(), plan.laneOfWarp.end(), zero);
}

Exchange planExchange(const Layout &from, const Layout &to,
                      const std::vector<int64_t> &shape, int64_t elementBytes) {
  Exchange plan;
  int64_t registers = int64_t(registersOf(to).size());
  if (planWithinWarp(from, to, plan)) {
    int64_t asked = registers * (int64_t(1) << plan.choices.size());
    int64_t selects = asked - registers;
    if (asksItself(plan))
      plan.registerCost = selects;
    plan.shuffleCost = asked * std::max<int64_t>(1, elementBytes / 4) + selects;
  }
  int64_t words = std::max<int64_t>(1, elementBytes / 4);
  int64_t given = int64_t(registersOf(from).size());
  // The search for a board is skipped where even a perfect one would lose.
  int64_t most = std::max<int64_t>(1, 16 / elementBytes);
  plan.sharedCost = (given + registers) * words / most + 2 * barrierCost;
  if (plan.shuffleCost < 0 || plan.shuffleCost > plan.sharedCost) {
    plan.board = chooseBoard(shape, {from}, {to}, elementBytes);
    auto accesses = [&](const Layout &layout, int64_t count) {
      return count * words /
             boardVector(layout, plan.board, shape, elementBytes);
    };
    plan.sharedCost = (accesses(from, given) + accesses(to, registers)) *
                          (1 + plan.board.conflicts) +
                      2 * barrierCost;
  }
  int64_t best = plan.sharedCost;
  if (plan.shuffleCost >= 0 && plan.shuffleCost <= best) {
    plan.way = Exchange::Way::Shuffles;
    best = plan.shuffleCost;
  }
  if (plan.registerCost >= 0 && plan.registerCost <= best)
    plan.way = Exchange::Way::Registers;
  return plan;
}

} // namespace tessera::layout
