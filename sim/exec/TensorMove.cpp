// tcgen05.ld, tcgen05.st and tcgen05.wait.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/check/Checker.h"
#include "sim/check/UnwrittenValues.h"
#include "sim/exec/Cluster.h"
#include "sim/exec/SmallFloat.h"
#include "sim/exec/Tcgen05.h"
#include "sim/report/Recorder.h"
#include <algorithm>

namespace tessera::sim {

using ptx::Operand;
using ptx::Type;

namespace {

const MovePlan &planOf(const Inst &inst) {
  return *static_cast<const MovePlan *>(inst.extra.get());
}

/// What it touches; two regions for 16x32bx2.
std::vector<TensorRegion> regionsOf(const MovePlan &p, uint32_t address) {
  uint32_t lane = address >> 16, column = address & 0xffff;
  bool isWhole = p.shape == MoveShape::Lanes32Bits32;
  auto groups = uint8_t((isWhole ? 3 : 1) << lane / TensorMemory::groupLanes);
  std::vector<TensorRegion> all{{column, p.columns(), groups}};
  if (p.shape == MoveShape::Lanes16Bits32x2)
    all.push_back({column + p.split, p.columns(), groups});
  return all;
}

/// Calls f(word, cell) for what a thread's register holds: one cell, or the
/// low halves of two neighbours.
template <class F>
void forCells(const MovePlan &p, uint32_t address, unsigned thread,
              unsigned reg, F f) {
  uint32_t lane = address >> 16, column = address & 0xffff;
  unsigned each = p.packs ? 2 : 1;
  TensorCell cell = movedCell(p.shape, thread, reg, 0);
  bool isSecond = p.shape == MoveShape::Lanes16Bits32x2 && thread >= 16;
  column += cell.column * each + (isSecond ? p.split : 0);
  for (unsigned h = 0; h < each; ++h)
    f(h, lane + cell.lane, column + h);
}

uint32_t reduce(const MovePlan &p, const uint32_t *words, size_t count) {
  uint32_t best = 0;
  for (size_t k = 0; k < count; ++k) {
    uint32_t word = words[k];
    if (p.type == Type::F32) {
      auto number = [&](uint32_t bits) {
        return std::bit_cast<float>(p.absolute ? bits & 0x7fffffff : bits);
      };
      float x = number(word), y = k ? std::bit_cast<float>(best) : x;
      bool takes = p.isMax ? x > y : x < y;
      // -0 is less than +0.
      if (x == 0 && y == 0)
        takes = std::signbit(y) == p.isMax;
      if (x != x || y != y)
        takes = p.keepsNaN ? x != x : y != y;
      best = std::bit_cast<uint32_t>(takes ? x : y);
    } else if (!k) {
      best = word;
    } else if (p.type == Type::S32) {
      auto x = int32_t(word), y = int32_t(best);
      best = uint32_t(p.isMax ? std::max(x, y) : std::min(x, y));
    } else {
      best = p.isMax ? std::max(word, best) : std::min(word, best);
    }
  }
  if (p.type == Type::F32)
    return std::bit_cast<uint32_t>(canonical(std::bit_cast<float>(best)));
  return best;
}

void store(Block &block, const MovePlan &p, const TensorMove &move) {
  TensorMemory &memory = tensorUnit(block).memory;
  for (unsigned r = 0; r < p.registers.size(); ++r)
    for (unsigned l = 0; l < 32; ++l) {
      uint32_t word = move.values[r * 32 + l];
      forCells(p, move.address, l, r,
               [&](unsigned h, uint32_t lane, uint32_t column) {
                 memory.at(lane, column) =
                     p.packs ? word >> 16 * h & 0xffff : word;
               });
    }
}

void load(Block &block, const MovePlan &p, const TensorMove &move) {
  TensorMemory &memory = tensorUnit(block).memory;
  auto lanesOf = [&](Ref ref) {
    return reinterpret_cast<uint32_t *>(move.base[ref >> 31] +
                                        (ref & ~constantPool));
  };
  std::vector<uint32_t> all(p.registers.size());
  for (unsigned l = 0; l < 32; ++l) {
    for (unsigned r = 0; r < p.registers.size(); ++r) {
      uint32_t word = 0;
      forCells(p, move.address, l, r,
               [&](unsigned h, uint32_t lane, uint32_t column) {
                 uint32_t cell = memory.at(lane, column);
                 word |= p.packs ? (cell & 0xffff) << 16 * h : cell;
               });
      lanesOf(p.registers[r])[l] = all[r] = word;
    }
    if (p.reduced != noRef)
      lanesOf(p.reduced)[l] = reduce(p, all.data(), all.size());
  }
}

void move(Warp &w, const Inst &i, uint32_t mask) {
  requireTensorUnit(w);
  const MovePlan &p = planOf(i);
  TensorMove move;
  move.inst = &i;
  move.code = w.frame->code;
  move.base[0] = w.base[0];
  move.base[1] = w.base[1];
  unsigned first = unsigned(std::countr_zero(mask));
  move.address = p.address.of(w, first);
  check::BlockChecker *checker = w.block->checker.get();
  for (uint32_t m = mask; m && checker; m &= m - 1)
    if (p.address.of(w, unsigned(std::countr_zero(m))) != move.address) {
      checker->note(w, i, "tensor-memory",
                    "the lanes of a warp disagree on the address", 0);
      break;
    }
  if (mask != ~0u)
    throw Fault{Fault::TensorMemory,
                "tcgen05.ld and tcgen05.st need all 32 lanes of a warp"};
  uint32_t lane = move.address >> 16;
  bool isWhole = p.shape == MoveShape::Lanes32Bits32;
  if (lane / 32 != w.index % 4)
    throw Fault{Fault::TensorMemory,
                "warp " + std::to_string(w.index) + " reaches lanes " +
                    std::to_string(w.index % 4 * 32) + " to " +
                    std::to_string(w.index % 4 * 32 + 31) +
                    " of tensor memory, the address is in lane " +
                    std::to_string(lane),
                move.address};
  if (lane % (isWhole ? 32 : 16))
    throw Fault{Fault::TensorMemory,
                "lane " + std::to_string(lane) +
                    " is not the first of the lanes of this shape",
                move.address};
  for (const TensorRegion &region : regionsOf(p, move.address))
    requireAllocated(w, first, *w.block, region,
                     p.isStore ? "tcgen05.st" : "tcgen05.ld");
  if (p.isStore)
    for (Ref ref : p.registers) {
      const uint32_t *values = w.reg<uint32_t>(ref);
      move.values.insert(move.values.end(), values, values + 32);
    }
  if (w.block->recorder)
    w.block->recorder->tensorMove(w, i);
  if (!isLazy(*w.block))
    return (p.isStore ? store : load)(*w.block, p, move);
  if (!w.tensorMoves) {
    w.tensorMoves = std::make_shared<TensorMoves>(w);
    w.tracksRegisters = true;
  }
  w.tensorMoves->issue(std::move(move));
}

void wait(Warp &w, const Inst &i, uint32_t) {
  requireTensorUnit(w);
  if (w.tensorMoves)
    w.tensorMoves->wait(i.imm);
}

} // namespace

/// Lanes whose register number `reg` is of cells that nobody has written.
static uint32_t unwrittenLanes(const check::BlockChecker &checker,
                               const MovePlan &p, uint32_t address,
                               unsigned reg) {
  uint32_t lanes = 0;
  for (unsigned t = 0; t < 32; ++t)
    forCells(p, address, t, reg, [&](unsigned, uint32_t lane, uint32_t column) {
      const check::TensorMark &write =
          checker
              .tensorCells[lane / TensorMemory::groupLanes *
                               TensorMemory::columns +
                           column]
              .write;
      if (!write.inst || write.isUnknown)
        lanes |= 1u << t;
    });
  return lanes;
}

void TensorMoves::issue(TensorMove move) {
  const MovePlan &p = planOf(*move.inst);
  move.number = ++issued[p.isStore];
  if (check::BlockChecker *checker = warp.block->checker.get()) {
    auto column = checker->tensorMoved(warp, *move.inst, p.isStore, move.number,
                                       regionsOf(p, move.address));
    if (column) {
      if (!warp.unwritten)
        warp.unwritten = std::make_shared<check::UnwrittenValues>();
      for (unsigned r = 0; r < p.registers.size(); ++r)
        warp.unwritten->loaded(
            *move.code, {p.numbers[r]},
            {unwrittenLanes(*checker, p, move.address, r), move.inst, *column});
      // The reduction is of all of them.
      if (p.numbers.size() > p.registers.size())
        warp.unwritten->loaded(*move.code, {p.numbers.back()},
                               {~0u, move.inst, *column});
    }
  }
  moves.push_back(std::move(move));
}

void TensorMoves::perform(TensorMove &move) {
  if (move.done)
    return;
  move.done = true;
  const MovePlan &p = planOf(*move.inst);
  (p.isStore ? store : load)(*warp.block, p, move);
}

void TensorMoves::wait(bool stores) {
  for (TensorMove &move : moves)
    if (planOf(*move.inst).isStore == stores)
      perform(move);
  std::erase_if(moves, [&](const TensorMove &move) {
    return planOf(*move.inst).isStore == stores;
  });
  if (warp.block->checker)
    warp.block->checker->tensorWaited(warp, stores, issued[stores]);
}

void TensorMoves::poll() {
  if (moves.empty() || warp.block->worker->random() % 4)
    return;
  // In any order, but a store after what came before it: it may depend on the
  // registers of a load.
  size_t chosen = warp.block->worker->random() % moves.size();
  perform(moves[chosen]);
}

void TensorMoves::exited() {
  for (TensorMove &move : moves)
    perform(move);
  moves.clear();
}

/// Loads whose registers were used have read tensor memory, which is known
/// from then on; but not if one before them is still in flight.
void TensorMoves::forgetLoads() {
  uint32_t upTo = issued[0];
  for (const TensorMove &move : moves)
    if (!planOf(*move.inst).isStore && !move.isUsed)
      upTo = std::min(upTo, move.number - 1);
  if (warp.block->checker)
    warp.block->checker->tensorWaited(warp, false, upTo);
  std::erase_if(moves, [&](const TensorMove &move) {
    return !planOf(*move.inst).isStore && move.number <= upTo;
  });
}

void TensorMoves::touch(const Inst &inst, const Code &code, uint32_t pc,
                        uint32_t active) {
  if (code.loadTouches.empty() || code.loadTouches[pc].empty() || moves.empty())
    return;
  check::BlockChecker *checker = warp.block->checker.get();
  bool any = false;
  // Reads stand before writes: an instruction reads first.
  for (RegisterTouch t : code.loadTouches[pc])
    for (TensorMove &move : moves) {
      const MovePlan &p = planOf(*move.inst);
      if (p.isStore || move.code != &code ||
          std::find(p.numbers.begin(), p.numbers.end(), t.number) ==
              p.numbers.end())
        continue;
      perform(move);
      any = true;
      bool hazard = t.isWritten && !move.isUsed;
      move.isUsed |= !t.isWritten;
      if (!checker || (t.isWritten && !hazard))
        continue;
      Launch &launch = *warp.block->launch;
      const char *kind = t.isWritten ? "async-register" : "remark";
      // A move may be gone after ptxas, and real code leaves the wait out.
      if (t.isWritten ? launch.isReported(kind, inst.line, move.inst->line)
                      : inst.source->base == "mov" ||
                            !checker->owner.isNewRemark(*move.inst, "register"))
        continue;
      unsigned lane = unsigned(std::countr_zero(active));
      std::string name = code.function->registers[t.number].name;
      checker->report(
          kind, warp, inst, lane, 0, move.inst,
          threadName(warp, lane) + " at " + describePlace(inst, launch) +
              (t.isWritten ? " overwrites" : " reads") + " register " + name +
              ", which the tcgen05.ld at " + describePlace(*move.inst, launch) +
              (t.isWritten
                   ? " may still write: no tcgen05.wait::ld came between them"
                   : " loads, without a tcgen05.wait::ld between them (the "
                     "register is there, but nothing else is ordered)"));
    }
  if (any)
    forgetLoads();
}

void findLoadTouches(Code &code) {
  const ptx::Function &f = *code.function;
  auto isLoad = [](const ptx::Instruction &i) {
    return i.base == "tcgen05" && i.has("ld");
  };
  std::vector<uint8_t> isTracked(f.registers.size(), 0);
  std::vector<std::vector<RegisterTouch>> all;
  bool any = false;
  for (const ptx::Instruction &i : f.body) {
    all.emplace_back();
    for (size_t k = 0; k < i.operands.size(); ++k) {
      bool isWritten = k == 0 || (k == 1 && isLoad(i) && i.has("red"));
      size_t before = all.back().size();
      collectTouches(i.operands[k], isWritten, all.back());
      for (size_t n = before; n < all.back().size() && isLoad(i); ++n)
        if (all.back()[n].isWritten)
          any = isTracked[all.back()[n].number] = 1;
    }
  }
  for (std::vector<RegisterTouch> &touches : all)
    std::stable_partition(touches.begin(), touches.end(),
                          [](RegisterTouch t) { return !t.isWritten; });
  if (any)
    placeTouches(code, std::move(all), isTracked, code.loadTouches);
}

void decodeTensorMove(Decoder &d, Inst &inst) {
  inst.flow = Flow::WarpSync;
  if (d.has("wait::ld") || d.has("wait::st")) {
    inst.opClass = OpClass::Barrier;
    inst.imm = d.has("wait::st");
    inst.fn = wait;
    return;
  }
  auto plan = std::make_shared<MovePlan>();
  MovePlan &p = *plan;
  inst.extra = plan;
  p.isStore = d.has("st");
  inst.opClass = p.isStore ? OpClass::Store : OpClass::Load;
  p.packs = d.has("pack::16b") || d.has("unpack::16b");
  constexpr std::pair<const char *, MoveShape> shapes[] = {
      {"32x32b", MoveShape::Lanes32Bits32},
      {"16x64b", MoveShape::Lanes16Bits64},
      {"16x128b", MoveShape::Lanes16Bits128},
      {"16x256b", MoveShape::Lanes16Bits256},
      {"16x32bx2", MoveShape::Lanes16Bits32x2}};
  unsigned found = 0, times = 0;
  for (auto [name, shape] : shapes)
    if (d.has(name)) {
      p.shape = shape;
      ++found;
    }
  for (unsigned n = 1; n <= 128; n *= 2)
    if (d.has("x" + std::to_string(n)))
      times = n;
  if (found != 1 || !times)
    d.fail("needs a shape and a number");
  unsigned count = times * registersOf(p.shape);
  if (count > 128)
    d.fail("has more than 128 registers");
  bool reduces = d.has("red");
  if (reduces && (times < 2 || (p.shape != MoveShape::Lanes32Bits32 &&
                                p.shape != MoveShape::Lanes16Bits32x2)))
    d.fail(".red needs .32x32b or .16x32bx2 and at least .x2");
  size_t next = 0;
  auto more = [&](const char *what) -> const Operand & {
    if (next >= d.operandCount())
      d.fail(std::string("needs ") + what);
    return d.operand(next++);
  };
  auto vector = [&](const Operand &o) {
    if (o.kind != Operand::Vector || o.elements.size() != count)
      d.fail(o, "expected a vector of " + std::to_string(count) +
                    " registers, found " + std::to_string(o.elements.size()));
    for (const Operand &e : o.elements) {
      p.registers.push_back(p.isStore ? d.src(e, Type::B32) : d.dst(e, 32));
      if (e.kind == Operand::Reg)
        p.numbers.push_back(e.reg);
    }
  };
  auto split = [&] {
    if (p.shape == MoveShape::Lanes16Bits32x2)
      p.split = unsigned(d.immediate(more("immHalfSplitoff")));
  };
  if (p.isStore) {
    p.address = decodeTensorAddress(d, more("an address"));
    split();
    vector(more("registers"));
  } else {
    vector(more("registers"));
    if (reduces) {
      const Operand &o = more("a register for the result");
      p.reduced = d.dst(o, 32);
      if (o.kind == Operand::Reg)
        p.numbers.push_back(o.reg);
      p.type = d.type();
      p.isMax = d.has("max");
      p.absolute = d.has("abs");
      p.keepsNaN = d.has("NaN");
      if (p.isMax == d.has("min"))
        d.fail("needs .min or .max");
      if ((p.absolute || p.keepsNaN) && p.type != Type::F32)
        d.fail(".abs and .NaN are for .f32");
    }
    p.address = decodeTensorAddress(d, more("an address"));
    split();
  }
  if (next != d.operandCount())
    d.fail("has too many operands");
  inst.fn = move;
}

} // namespace tessera::sim
