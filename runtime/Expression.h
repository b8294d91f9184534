// Integer expressions of a plan: flat postfix code and its evaluator.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `$M + 2 * size(%A, 0)` becomes  slot M, constant 2, slot A.size0, mul, add.
// Everything with an integer value at run time (dims, scalars, locals, sizes,
// strides) lives in one array of slots, so one opcode reads them all. Lazy
// operators become jumps: `select(c, a, b)` is
//   c, jumpIfZero L1, a, jump L2, L1: b, L2:
#ifndef TESSERA_RUNTIME_EXPRESSION_H
#define TESSERA_RUNTIME_EXPRESSION_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::runtime {

enum class ExprOp : uint8_t {
  Constant,
  Slot,
  Address,
  IsConstant,
  Add,
  Sub,
  Mul,
  FloorDiv,
  CeilDiv,
  Mod,
  Min,
  Max,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Negate,
  Not,
  IsNonzero,
  JumpIfZero,
  Jump,
};

struct ExprInstruction {
  ExprOp op;
  int32_t index; // slot, tensor, or jump target relative to the expression
  int64_t value; // of Constant
};

enum class ExprError : uint8_t { None, Overflow, DivisionByZero };

/// "overflow" and so on, for messages.
const char *describe(ExprError error);

/// What an expression needs from a run.
struct ExprInputs {
  const int64_t *slots;
  void *const *pointers;
  bool (*isConstant)(const void *address);
};

/// The deepest stack any accepted expression needs.
constexpr int maxExprStack = 512;

struct Expression {
  enum class Kind : uint8_t { Constant, Slot, Code };
  Kind kind = Kind::Constant;
  int32_t begin = 0; // slot, or first instruction
  int32_t count = 0;
  int64_t value = 0; // of Constant
};

/// Applies a binary arithmetic or comparison opcode.
ExprError applyBinary(ExprOp op, int64_t lhs, int64_t rhs, int64_t &result);

ExprError evaluateCode(const ExprInstruction *code, int32_t count,
                       ExprInputs inputs, int64_t &result);

inline ExprError evaluate(const Expression &expr, const ExprInstruction *code,
                          ExprInputs inputs, int64_t &result) {
  switch (expr.kind) {
  case Expression::Kind::Constant:
    result = expr.value;
    return ExprError::None;
  case Expression::Kind::Slot:
    result = inputs.slots[expr.begin];
    return ExprError::None;
  case Expression::Kind::Code:
    break;
  }
  return evaluateCode(code + expr.begin, expr.count, inputs, result);
}

/// Appends one expression to the code of a plan; folds constants.
class ExprEmitter {
public:
  explicit ExprEmitter(std::vector<ExprInstruction> &code)
      : code(code), begin(code.size()), barrier(code.size()) {}

  void constant(int64_t value);
  void slot(int32_t slot);
  void address(int32_t tensor);
  void isConstant(int32_t tensor);
  void binary(ExprOp op);
  void unary(ExprOp op);

  /// Emits a jump, returns what to pass to `land`.
  size_t jump(ExprOp op);
  /// The jump lands on the next instruction.
  void land(size_t jump);
  /// After an unconditional jump the stack is one lower on the other path.
  void otherPath() { --depth; }

  bool tooDeep() const { return maxDepth > maxExprStack; }
  Expression finish();

private:
  void push();
  bool lastAreConstants(size_t n) const;

  std::vector<ExprInstruction> &code;
  size_t begin;
  size_t barrier; // nothing before this instruction may be folded away
  int depth = 0;
  int maxDepth = 0;
};

} // namespace tessera::runtime

#endif
