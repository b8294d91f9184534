// Where values of unwritten tensor memory go.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/check/UnwrittenValues.h"

#include "sim/check/Checker.h"
#include "sim/exec/Decode.h"
#include "sim/exec/Warp.h"
#include <bit>

namespace tessera::sim::check {

using ptx::Operand;

namespace {

/// The first operand is a place or a condition, not a register that is set.
bool setsNothing(const ptx::Instruction &i) {
  for (std::string_view base :
       {"st", "red", "bra", "brx", "bar", "barrier", "cp", "prefetch", "fence",
        "stmatrix", "nanosleep", "trap", "exit", "ret", "call", "mbarrier"})
    if (i.base == base)
      return true;
  return i.base == "tcgen05" && !i.has("ld");
}

/// Moves a register of another lane.
bool exchanges(const ptx::Instruction &i) {
  return i.base == "shfl" || i.base == "vote" || i.base == "match" ||
         i.base == "redux" || i.base == "movmatrix";
}

} // namespace

void UnwrittenValues::loaded(const Code &code,
                             const std::vector<unsigned> &registers,
                             Value value) {
  for (unsigned number : registers)
    if (value.lanes)
      values[{&code, number}] = value;
    else
      values.erase({&code, number});
}

void UnwrittenValues::loaded(Warp &w, const Inst &i, uint32_t lanes) {
  std::vector<RegisterTouch> touches;
  if (i.source && !i.source->operands.empty())
    collectTouches(i.source->operands[0], true, touches);
  for (RegisterTouch t : touches) {
    Value &value = values[{w.frame->code, t.number}];
    value = {value.lanes | lanes, &i, 0};
  }
}

void UnwrittenValues::tell(Warp &w, const Inst &i, const Code &code,
                           unsigned number, const Value &value,
                           const char *verb) {
  BlockChecker &checker = *w.block->checker;
  Launch &launch = *w.block->launch;
  if (launch.isReported("uninitialised", i.line, value.load->line))
    return;
  unsigned lane = unsigned(std::countr_zero(value.lanes));
  bool isTensor = value.load->source->base == "tcgen05";
  checker.report(
      "uninitialised", w, i, lane, value.column, value.load,
      threadName(w, lane) + " at " + describePlace(i, launch) + " " + verb +
          " register " + code.function->registers[number].name +
          ", which comes from the " + std::string(value.load->source->base) +
          (isTensor ? ".ld" : "") + " at " +
          describePlace(*value.load, launch) +
          (isTensor ? " of column " + std::to_string(value.column) +
                          " of tensor memory, which nobody has written"
                    : " of a value of tensor memory that nobody has written"));
}

uint32_t UnwrittenValues::step(Warp &w, const Inst &i, const Code &code,
                               uint32_t active) {
  if (values.empty() || !i.source || i.id == ~0u)
    return 0;
  const ptx::Instruction &source = *i.source;
  auto find = [&](unsigned number) {
    auto at = values.find({&code, number});
    return at != values.end() && at->second.lanes & active ? &at->second
                                                           : nullptr;
  };
  bool isSink = setsNothing(source);
  Value from; // of what it computes
  auto take = [&](unsigned number, uint32_t lanes) {
    if (const Value *v = find(number); v && v->lanes & lanes) {
      from.load = v->load;
      from.column = v->column;
      from.lanes |= v->lanes & lanes & active;
    }
  };
  auto refuse = [&](unsigned number, const char *verb) {
    if (const Value *v = find(number))
      tell(w, i, code, number, *v, verb);
  };
  if (source.guard >= 0) {
    if (isSink)
      refuse(unsigned(source.guard), "depends on");
    else
      take(unsigned(source.guard), ~0u);
  }
  bool isShared = source.base == "stmatrix" ||
                  (source.base == "st" && i.space == ptx::Space::Shared) ||
                  (source.base == "tcgen05" && source.has("st"));
  std::vector<RegisterTouch> written, read;
  for (size_t k = 0; k < source.operands.size(); ++k) {
    const Operand &o = source.operands[k];
    read.clear();
    // A second result of shfl and elect is part of a pair.
    bool isResult = k == 0 && !isSink;
    collectTouches(o, isResult, isResult ? written : read);
    uint32_t lanes = ~0u;
    if (source.base == "selp" && (k == 1 || k == 2))
      lanes = k == 1 ? w.pred(i.ops[3]) : ~w.pred(i.ops[3]);
    for (RegisterTouch t : read)
      if (o.kind == Operand::Address)
        refuse(t.number, "uses as an address");
      else if (isSink && !(isShared && k > 0))
        refuse(t.number, source.base == "st" ? "stores" : "uses");
      else
        take(t.number, lanes);
  }
  if (source.base == "atom")
    for (RegisterTouch t : read)
      refuse(t.number, "uses");
  if (isSink) // stmatrix stores what other lanes have
    return from.lanes && source.base == "stmatrix" ? active : from.lanes;
  if (from.lanes && exchanges(source))
    from.lanes = active;
  for (RegisterTouch t : written) {
    auto at = values.find({&code, t.number});
    uint32_t kept = at == values.end() ? 0 : at->second.lanes & ~active;
    if (from.lanes) {
      Value &value = values[{&code, t.number}];
      value = {kept | from.lanes, from.load, from.column};
    } else if (at != values.end()) {
      at->second.lanes = kept;
      if (!kept)
        values.erase(at);
    }
  }
  return 0;
}

} // namespace tessera::sim::check
