//===- Evaluate.cpp - Integers of a plan, as numbers ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Plan/Evaluate.h"

#include "runtime/Expression.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::plan;
using runtime::ExprError;
using runtime::ExprOp;

static std::optional<ExprOp> binaryOf(Operation *op) {
  using Found = std::optional<ExprOp>;
  return llvm::TypeSwitch<Operation *, Found>(op)
      .Case([](arith::AddIOp) { return ExprOp::Add; })
      .Case([](arith::SubIOp) { return ExprOp::Sub; })
      .Case([](arith::MulIOp) { return ExprOp::Mul; })
      .Case([](arith::FloorDivSIOp) { return ExprOp::FloorDiv; })
      .Case([](arith::CeilDivSIOp) { return ExprOp::CeilDiv; })
      .Case([](ModOp) { return ExprOp::Mod; })
      .Case([](arith::MinSIOp) { return ExprOp::Min; })
      .Case([](arith::MaxSIOp) { return ExprOp::Max; })
      .Case([](arith::XOrIOp) { return ExprOp::NotEqual; })
      .Case([](arith::CmpIOp compare) {
        static constexpr ExprOp signs[] = {
            ExprOp::Equal,     ExprOp::NotEqual, ExprOp::Less,
            ExprOp::LessEqual, ExprOp::Greater,  ExprOp::GreaterEqual};
        return signs[unsigned(compare.getPredicate())];
      })
      .Default(std::nullopt);
}

static Evaluated compute(Operation *op, ArrayRef<Evaluated> in) {
  return llvm::TypeSwitch<Operation *, Evaluated>(op)
      .Case<arith::IndexCastOp, arith::IndexCastUIOp>(
          [&](auto) { return in[0]; })
      .Case([&](arith::SelectOp) {
        return in[0].error ? in[0] : in[in[0].value ? 1 : 2];
      })
      // The second is not computed where the first decides.
      .Case([&](arith::AndIOp) {
        return in[0].error || !in[0].value ? in[0] : in[1];
      })
      .Case([&](arith::OrIOp) {
        return in[0].error || in[0].value ? in[0] : in[1];
      })
      .Default([&](Operation *) -> Evaluated {
        for (const Evaluated &operand : in)
          if (operand.error)
            return operand;
        std::optional<ExprOp> binary = binaryOf(op);
        if (!binary)
          return {0, "an integer is not known", op->getResult(0)};
        int64_t value = 0;
        ExprError error =
            runtime::applyBinary(*binary, in[0].value, in[1].value, value);
        return {value,
                error == ExprError::None ? nullptr : runtime::describe(error),
                {}};
      });
}

Evaluated
plan::evaluate(Value value,
               llvm::function_ref<std::optional<int64_t>(Value)> known) {
  llvm::DenseMap<Value, Evaluated> made;
  // Null if it has to be computed first.
  auto find = [&](Value one) -> const Evaluated * {
    if (auto at = made.find(one); at != made.end())
      return &at->second;
    std::optional<int64_t> number = known(one);
    if (auto constant = one.getDefiningOp<arith::ConstantOp>())
      if (auto integer = dyn_cast<IntegerAttr>(constant.getValue()))
        number = one.getType().isInteger(1)
                     ? int64_t(integer.getValue().getZExtValue())
                     : integer.getValue().getSExtValue();
    if (number)
      return &made.insert({one, {*number, nullptr, {}}}).first->second;
    if (!one.getDefiningOp())
      return &made.insert({one, {0, "an integer is not known", one}})
                  .first->second;
    return nullptr;
  };
  // Operands first, without recursion: chains may be long.
  SmallVector<Value> stack = {value};
  while (!stack.empty()) {
    Value next = stack.back();
    if (find(next)) {
      stack.pop_back();
      continue;
    }
    Operation *op = next.getDefiningOp();
    size_t before = stack.size();
    SmallVector<Evaluated> in;
    if (isa<arith::ArithDialect>(op->getDialect()) || isa<ModOp>(op))
      for (Value operand : op->getOperands()) {
        if (const Evaluated *one = find(operand))
          in.push_back(*one);
        else
          stack.push_back(operand);
      }
    if (stack.size() > before)
      continue;
    made[next] = compute(op, in);
    stack.pop_back();
  }
  return made[value];
}
