// Exchange between lanes: shfl, vote, match, redux, elect, activemask.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/check/Checker.h"
#include "sim/exec/Block.h"
#include "sim/exec/Decode.h"
#include "sim/exec/SmallFloat.h"

namespace tessera::sim {

using ptx::Operand;
using ptx::Type;

namespace {

enum Shuffle : uint8_t { Up, Down, Butterfly, Index };

void shuffle(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<uint32_t>(i.ops[0]);
  const auto *a = w.reg<uint32_t>(i.ops[2]);
  const auto *b = w.reg<uint32_t>(i.ops[3]);
  const auto *c = w.reg<uint32_t>(i.ops[4]);
  uint32_t out[32], inRange = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    unsigned bound = c[l] & 31, segment = c[l] >> 8 & 31;
    int delta = int(b[l] & 31);
    int low = int(l & segment);
    int high = int((l & segment) | (bound & ~segment));
    int from = 0;
    bool ok = false;
    switch (i.flags) {
    case Up:
      from = int(l) - delta;
      ok = from >= high;
      break;
    case Down:
      from = int(l) + delta;
      ok = from <= high;
      break;
    case Butterfly:
      from = int(l) ^ delta;
      ok = from <= high;
      break;
    case Index:
      from = low | (delta & int(~segment));
      ok = from <= high;
      break;
    }
    if (!ok)
      from = int(l);
    else
      inRange |= m & -m;
    if (!(mask >> (from & 31) & 1) && w.block->checker)
      w.block->checker->note(w, i, "barrier-misuse",
                             "shfl reads lane " + std::to_string(from & 31) +
                                 ", which does not take part",
                             0);
    out[l] = a[from & 31];
  }
  forLanes(mask, [&](unsigned l) { d[l] = out[l]; });
  if (i.ops[1] != noRef)
    w.setPred(i.ops[1], mask, inRange);
}

enum Vote : uint8_t { All, Any, Uni, Ballot };

void vote(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t members = mask;
  if (i.ops[8] != noRef)
    members &= w.reg<uint32_t>(i.ops[8])[std::countr_zero(mask)];
  uint32_t p = w.pred(i.ops[1]) & members;
  if (i.flags == Ballot) {
    auto *d = w.reg<uint32_t>(i.ops[0]);
    forLanes(mask, [&](unsigned l) { d[l] = p; });
    return;
  }
  bool r = i.flags == All   ? p == members
           : i.flags == Any ? p != 0
                            : p == 0 || p == members;
  w.setPred(i.ops[0], mask, r ? ~0u : 0);
}

template <class T> void match(Warp &w, const Inst &i, uint32_t mask) {
  const auto *a = w.reg<T>(i.ops[2]);
  auto *d = w.reg<uint32_t>(i.ops[0]);
  uint32_t members = mask & w.reg<uint32_t>(i.ops[8])[std::countr_zero(mask)];
  uint32_t out[32];
  bool all = true;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    uint32_t same = 0;
    for (uint32_t k = members; k; k &= k - 1)
      if (a[std::countr_zero(k)] == a[l])
        same |= k & -k;
    out[l] = same;
    all &= same == members;
  }
  if (i.flags) { // match.all
    forLanes(mask, [&](unsigned l) { d[l] = all ? members : 0; });
    if (i.ops[1] != noRef)
      w.setPred(i.ops[1], mask, all ? ~0u : 0);
  } else {
    forLanes(mask, [&](unsigned l) { d[l] = out[l]; });
  }
}

enum Redux : uint8_t { RAdd, RMin, RMax, RAnd, ROr, RXor };

void redux(Warp &w, const Inst &i, uint32_t mask) {
  const auto *a = w.reg<uint32_t>(i.ops[1]);
  auto *d = w.reg<uint32_t>(i.ops[0]);
  uint32_t members = mask & w.reg<uint32_t>(i.ops[8])[std::countr_zero(mask)];
  uint32_t r = 0;
  bool first = true;
  for (uint32_t m = members; m; m &= m - 1) {
    uint32_t v = a[std::countr_zero(m)];
    if (i.regWidth == 1 && (i.aux & 1))
      v &= 0x7fffffff; // .abs
    if (first) {
      r = v;
      first = false;
      continue;
    }
    switch (i.flags) {
    case RAdd:
      r += v;
      break;
    case RMin:
    case RMax: {
      bool max = i.flags == RMax;
      if (i.regWidth == 1) { // f32
        float x = std::bit_cast<float>(r), y = std::bit_cast<float>(v);
        if (x != x || y != y)
          r = (i.aux & 2) || (x != x && y != y) ? 0x7fffffff : x != x ? v : r;
        else if (x == y)
          r = max ? r & v : r | v;
        else
          r = (x < y) != max ? r : v;
      } else if (i.regWidth == 2) { // s32
        r = (int32_t(r) < int32_t(v)) != max ? r : v;
      } else {
        r = (r < v) != max ? r : v;
      }
      break;
    }
    case RAnd:
      r &= v;
      break;
    case ROr:
      r |= v;
      break;
    case RXor:
      r ^= v;
      break;
    }
  }
  if (i.regWidth == 1 && (r & 0x7fffffff) > 0x7f800000)
    r = 0x7fffffff;
  forLanes(mask, [&](unsigned l) { d[l] = r; });
}

void activeMask(Warp &w, const Inst &i, uint32_t mask) {
  auto *d = w.reg<uint32_t>(i.ops[0]);
  forLanes(mask, [&](unsigned l) { d[l] = mask; });
}

void elect(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t members = mask & w.reg<uint32_t>(i.ops[8])[std::countr_zero(mask)];
  if (!members)
    members = mask;
  unsigned leader = std::countr_zero(members);
  // The ISA leaves open which lane it is, but the same mask elects the same one
  // every time. CUTLASS counts on the lowest one.
  const LaunchOptions &o = w.block->launch->options;
  if (o.electBySeed) {
    uint64_t hash = (o.seed + 1) * 0x9e3779b97f4a7c15ull ^ members;
    hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9ull;
    for (unsigned n = unsigned(hash >> 33) % unsigned(std::popcount(members));
         n; --n)
      members &= members - 1;
    leader = std::countr_zero(members);
  }
  auto *d = w.reg<uint32_t>(i.ops[0]);
  forLanes(mask, [&](unsigned l) { d[l] = leader; });
  w.setPred(i.ops[1], mask, 1u << leader);
}

} // namespace

void decodeWarp(Decoder &d, Inst &inst) {
  std::string_view base = d.source->base;
  inst.opClass = OpClass::Warp;
  auto members = [&](size_t k) {
    inst.flow = Flow::WarpSync;
    inst.target = 1;
    inst.ops[8] = d.src(d.operand(k), Type::U32);
  };
  /// Destination with an optional predicate.
  auto result = [&](const Operand &o, unsigned bits) {
    if (o.kind == Operand::Pair) {
      inst.ops[0] = d.dst(o.elements[0], bits);
      inst.ops[1] = d.predDst(o.elements[1]);
    } else {
      inst.ops[0] = d.dst(o, bits);
    }
  };
  if (base == "activemask") {
    inst.ops[0] = d.dst(d.operand(0), 32);
    inst.fn = activeMask;
  } else if (base == "shfl") {
    if (!d.has("sync") || d.operandCount() != 5)
      d.fail("only the .sync form exists since sm_70");
    result(d.operand(0), 32);
    for (int k = 1; k < 4; ++k)
      inst.ops[k + 1] = d.src(d.operand(k), Type::B32);
    members(4);
    inst.flags = d.has("up")     ? Up
                 : d.has("down") ? Down
                 : d.has("bfly") ? Butterfly
                                 : Index;
    inst.fn = shuffle;
  } else if (base == "vote") {
    if (!d.has("sync") || d.operandCount() != 3)
      d.fail("only the .sync form exists since sm_70");
    inst.flags = d.has("all")   ? All
                 : d.has("any") ? Any
                 : d.has("uni") ? Uni
                                : Ballot;
    inst.ops[0] = inst.flags == Ballot ? d.dst(d.operand(0), 32)
                                       : d.predDst(d.operand(0));
    inst.ops[1] = d.pred(d.operand(1));
    members(2);
    inst.fn = vote;
  } else if (base == "match") {
    result(d.operand(0), 32);
    inst.ops[2] = d.src(d.operand(1), d.type());
    members(2);
    inst.flags = d.has("all");
    inst.fn = ptx::typeBits(d.type()) == 64 ? match<uint64_t> : match<uint32_t>;
  } else if (base == "redux") {
    inst.ops[0] = d.dst(d.operand(0), 32);
    inst.ops[1] = d.src(d.operand(1), Type::B32);
    members(2);
    inst.flags = d.has("add")   ? RAdd
                 : d.has("min") ? RMin
                 : d.has("max") ? RMax
                 : d.has("and") ? RAnd
                 : d.has("or")  ? ROr
                                : RXor;
    inst.regWidth = d.type() == Type::F32 ? 1 : d.type() == Type::S32 ? 2 : 3;
    inst.aux = (d.has("abs") ? 1 : 0) | (d.has("NaN") ? 2 : 0);
    inst.fn = redux;
  } else if (base == "elect") {
    result(d.operand(0), 32);
    if (inst.ops[1] == noRef)
      d.fail("needs a predicate destination");
    members(1);
    inst.fn = elect;
  }
}

} // namespace tessera::sim
