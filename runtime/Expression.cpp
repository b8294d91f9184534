// Integer expressions of a plan: flat postfix code and its evaluator.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/Expression.h"

#include <algorithm>

namespace tessera::runtime {

const char *describe(ExprError error) {
  switch (error) {
  case ExprError::None:
    return "no error";
  case ExprError::Overflow:
    return "an integer overflows 64 bits";
  case ExprError::DivisionByZero:
    return "division by zero";
  }
  return "";
}

/// Division needs care for INT64_MIN / -1, which traps on x86.
static ExprError applyDivision(ExprOp op, int64_t lhs, int64_t rhs,
                               int64_t &result) {
  if (rhs == 0)
    return ExprError::DivisionByZero;
  if (rhs == -1) {
    if (op == ExprOp::Mod) {
      result = 0;
      return ExprError::None;
    }
    return __builtin_sub_overflow(int64_t{0}, lhs, &result)
               ? ExprError::Overflow
               : ExprError::None;
  }
  int64_t quotient = lhs / rhs, remainder = lhs % rhs;
  bool inexact = remainder != 0, negative = (remainder < 0) != (rhs < 0);
  if (op == ExprOp::FloorDiv)
    result = quotient - (inexact && negative);
  else if (op == ExprOp::CeilDiv)
    result = quotient + (inexact && !negative);
  else
    result = inexact && negative ? remainder + rhs : remainder;
  return ExprError::None;
}

ExprError applyBinary(ExprOp op, int64_t lhs, int64_t rhs, int64_t &result) {
  bool overflow = false;
  switch (op) {
  case ExprOp::Add:
    overflow = __builtin_add_overflow(lhs, rhs, &result);
    break;
  case ExprOp::Sub:
    overflow = __builtin_sub_overflow(lhs, rhs, &result);
    break;
  case ExprOp::Mul:
    overflow = __builtin_mul_overflow(lhs, rhs, &result);
    break;
  case ExprOp::FloorDiv:
  case ExprOp::CeilDiv:
  case ExprOp::Mod:
    return applyDivision(op, lhs, rhs, result);
  case ExprOp::Min:
    result = std::min(lhs, rhs);
    break;
  case ExprOp::Max:
    result = std::max(lhs, rhs);
    break;
  case ExprOp::Equal:
    result = lhs == rhs;
    break;
  case ExprOp::NotEqual:
    result = lhs != rhs;
    break;
  case ExprOp::Less:
    result = lhs < rhs;
    break;
  case ExprOp::LessEqual:
    result = lhs <= rhs;
    break;
  case ExprOp::Greater:
    result = lhs > rhs;
    break;
  case ExprOp::GreaterEqual:
    result = lhs >= rhs;
    break;
  default:
    __builtin_unreachable();
  }
  return overflow ? ExprError::Overflow : ExprError::None;
}

ExprError evaluateCode(const ExprInstruction *code, int32_t count,
                       ExprInputs inputs, int64_t &result) {
  int64_t stack[maxExprStack + 1];
  int64_t *top = stack; // the last value; the first place is never used
  for (int32_t pc = 0; pc < count; ++pc) {
    const ExprInstruction &instruction = code[pc];
    switch (instruction.op) {
    case ExprOp::Constant:
      *++top = instruction.value;
      break;
    case ExprOp::Slot:
      *++top = inputs.slots[instruction.index];
      break;
    case ExprOp::Address:
      *++top = static_cast<int64_t>(
          reinterpret_cast<intptr_t>(inputs.pointers[instruction.index]));
      break;
    case ExprOp::IsConstant:
      *++top = inputs.isConstant(inputs.pointers[instruction.index]);
      break;
    case ExprOp::Negate:
      if (__builtin_sub_overflow(int64_t{0}, *top, top))
        return ExprError::Overflow;
      break;
    case ExprOp::Not:
      *top = *top == 0;
      break;
    case ExprOp::IsNonzero:
      *top = *top != 0;
      break;
    case ExprOp::JumpIfZero:
      if (*top-- == 0)
        pc = instruction.index - 1;
      break;
    case ExprOp::Jump:
      pc = instruction.index - 1;
      break;
    default: {
      int64_t rhs = *top--;
      if (ExprError error = applyBinary(instruction.op, *top, rhs, *top);
          error != ExprError::None)
        return error;
      break;
    }
    }
  }
  result = *top;
  return ExprError::None;
}

void ExprEmitter::push() { maxDepth = std::max(maxDepth, ++depth); }

bool ExprEmitter::lastAreConstants(size_t n) const {
  if (code.size() < barrier + n)
    return false;
  return std::all_of(
      code.end() - static_cast<std::ptrdiff_t>(n), code.end(),
      [](const ExprInstruction &i) { return i.op == ExprOp::Constant; });
}

void ExprEmitter::constant(int64_t value) {
  push();
  code.push_back({ExprOp::Constant, 0, value});
}

void ExprEmitter::slot(int32_t slot) {
  push();
  code.push_back({ExprOp::Slot, slot, 0});
}

void ExprEmitter::address(int32_t tensor) {
  push();
  code.push_back({ExprOp::Address, tensor, 0});
}

void ExprEmitter::isConstant(int32_t tensor) {
  push();
  code.push_back({ExprOp::IsConstant, tensor, 0});
}

void ExprEmitter::binary(ExprOp op) {
  --depth;
  int64_t folded;
  // An operation that fails stays, so that it fails when and if it runs.
  if (lastAreConstants(2) &&
      applyBinary(op, code[code.size() - 2].value, code.back().value, folded) ==
          ExprError::None) {
    code.pop_back();
    code.back().value = folded;
    return;
  }
  code.push_back({op, 0, 0});
}

void ExprEmitter::unary(ExprOp op) {
  if (lastAreConstants(1)) {
    int64_t &value = code.back().value;
    if (op == ExprOp::Not) {
      value = value == 0;
      return;
    }
    if (op == ExprOp::IsNonzero) {
      value = value != 0;
      return;
    }
    if (!__builtin_sub_overflow(int64_t{0}, value, &value))
      return;
  }
  code.push_back({op, 0, 0});
}

size_t ExprEmitter::jump(ExprOp op) {
  if (op == ExprOp::JumpIfZero)
    --depth;
  code.push_back({op, 0, 0});
  barrier = code.size();
  return code.size() - 1;
}

void ExprEmitter::land(size_t jump) {
  code[jump].index = static_cast<int32_t>(code.size() - begin);
  barrier = code.size();
}

Expression ExprEmitter::finish() {
  Expression result;
  if (code.size() - begin == 1 && code.back().op == ExprOp::Constant) {
    result.value = code.back().value;
    code.pop_back();
  } else if (code.size() - begin == 1 && code.back().op == ExprOp::Slot) {
    result.kind = Expression::Kind::Slot;
    result.begin = code.back().index;
    code.pop_back();
  } else {
    result.kind = Expression::Kind::Code;
    result.begin = static_cast<int32_t>(begin);
    result.count = static_cast<int32_t>(code.size() - begin);
  }
  return result;
}

} // namespace tessera::runtime
