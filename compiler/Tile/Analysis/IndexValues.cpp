//===- IndexValues.cpp - Index arithmetic of a call, as numbers -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/Analysis/IndexValues.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace tessera::tile;

std::optional<double> IndexValues::find(Value value) const {
  auto found = known.find(value);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

static bool holds(arith::CmpIPredicate predicate, double a, double b) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return a == b;
  case P::ne:
    return a != b;
  case P::slt:
  case P::ult:
    return a < b;
  case P::sle:
  case P::ule:
    return a <= b;
  case P::sgt:
  case P::ugt:
    return a > b;
  case P::sge:
  case P::uge:
    return a >= b;
  }
  llvm_unreachable("a predicate of integers");
}

static std::optional<double> combine(Operation *op, double a, double b) {
  using Found = std::optional<double>;
  auto integers = [&](auto of) -> Found {
    return double(of(int64_t(a), int64_t(b)));
  };
  return llvm::TypeSwitch<Operation *, Found>(op)
      .Case([&](arith::AddIOp) -> Found { return a + b; })
      .Case([&](arith::SubIOp) -> Found { return a - b; })
      .Case([&](arith::MulIOp) -> Found { return a * b; })
      .Case<arith::MinSIOp, arith::MinUIOp>(
          [&](auto) -> Found { return std::min(a, b); })
      .Case<arith::MaxSIOp, arith::MaxUIOp>(
          [&](auto) -> Found { return std::max(a, b); })
      .Case<arith::FloorDivSIOp, arith::DivSIOp, arith::DivUIOp>(
          [&](auto) { return b == 0 ? Found() : std::floor(a / b); })
      .Case([&](arith::CeilDivSIOp) {
        return b == 0 ? Found() : std::ceil(a / b);
      })
      .Case<arith::RemSIOp, arith::RemUIOp>(
          [&](auto) { return b == 0 ? Found() : std::fmod(a, b); })
      .Case([&](arith::OrIOp) { return integers(std::bit_or<>()); })
      .Case([&](arith::AndIOp) { return integers(std::bit_and<>()); })
      .Case([&](arith::XOrIOp) { return integers(std::bit_xor<>()); })
      .Default([](Operation *) { return Found(); });
}

void IndexValues::compute(Operation *op) {
  if (op->getNumResults() != 1)
    return;
  Value result = op->getResult(0);
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (auto number = dyn_cast<IntegerAttr>(constant.getValue()))
      set(result, number.getType().isInteger(1)
                      ? double(number.getValue().getBoolValue())
                      : double(number.getInt()));
    return;
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    if (auto condition = find(select.getCondition()))
      if (auto chosen = find(*condition != 0 ? select.getTrueValue()
                                             : select.getFalseValue()))
        set(result, *chosen);
    return;
  }
  if (auto cast = dyn_cast<arith::IndexCastOp>(op)) {
    if (auto number = find(cast.getIn()))
      set(result, *number);
    return;
  }
  if (op->getNumOperands() != 2)
    return;
  std::optional<double> a = find(op->getOperand(0)),
                        b = find(op->getOperand(1));
  if (!a || !b)
    return;
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    set(result, holds(compare.getPredicate(), *a, *b));
  else if (std::optional<double> made = combine(op, *a, *b))
    set(result, *made);
}
