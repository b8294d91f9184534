//===- AST.cpp - Names of nodes and operators -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/AST.h"

using namespace tessera::frontend;

// Each table is in the order of its enum.

const char *tessera::frontend::getNodeName(NodeKind kind) {
  static constexpr const char *names[] = {
      "Name",    "Constant",  "Attribute",   "Subscript", "Slice",
      "Starred", "Call",      "BinOp",       "UnaryOp",   "BoolOp",
      "Compare", "IfExp",     "Tuple",       "List",      "Dict",
      "Assign",  "AugAssign", "AnnAssign",   "For",       "While",
      "If",      "Assert",    "Return",      "Expr",      "Pass",
      "Break",   "Continue",  "FunctionDef", "Import",    "ImportFrom",
      "Module",
  };
  static_assert(std::size(names) == static_cast<size_t>(NodeKind::Module) + 1);
  return names[static_cast<size_t>(kind)];
}

namespace {
struct OperatorText {
  const char *name;
  const char *spelling;
};
} // namespace

static constexpr OperatorText binaryOperators[] = {
    {"Add", "+"},     {"Sub", "-"},       {"Mult", "*"},  {"MatMult", "@"},
    {"Div", "/"},     {"FloorDiv", "//"}, {"Mod", "%"},   {"Pow", "**"},
    {"LShift", "<<"}, {"RShift", ">>"},   {"BitOr", "|"}, {"BitXor", "^"},
    {"BitAnd", "&"},
};
static constexpr OperatorText unaryOperators[] = {
    {"Invert", "~"}, {"Not", "not"}, {"UAdd", "+"}, {"USub", "-"}};
static constexpr OperatorText boolOperators[] = {{"And", "and"}, {"Or", "or"}};
static constexpr OperatorText compareOperators[] = {
    {"Eq", "=="}, {"NotEq", "!="},     {"Lt", "<"},  {"LtE", "<="},
    {"Gt", ">"},  {"GtE", ">="},       {"Is", "is"}, {"IsNot", "is not"},
    {"In", "in"}, {"NotIn", "not in"},
};

static_assert(std::size(binaryOperators) ==
              static_cast<size_t>(BinaryOperator::BitAnd) + 1);
static_assert(std::size(compareOperators) ==
              static_cast<size_t>(CompareOperator::NotIn) + 1);

const char *tessera::frontend::getOperatorName(BinaryOperator op) {
  return binaryOperators[static_cast<size_t>(op)].name;
}
const char *tessera::frontend::getOperatorName(UnaryOperator op) {
  return unaryOperators[static_cast<size_t>(op)].name;
}
const char *tessera::frontend::getOperatorName(BoolOperator op) {
  return boolOperators[static_cast<size_t>(op)].name;
}
const char *tessera::frontend::getOperatorName(CompareOperator op) {
  return compareOperators[static_cast<size_t>(op)].name;
}
const char *tessera::frontend::getOperatorSpelling(BinaryOperator op) {
  return binaryOperators[static_cast<size_t>(op)].spelling;
}
const char *tessera::frontend::getOperatorSpelling(UnaryOperator op) {
  return unaryOperators[static_cast<size_t>(op)].spelling;
}
const char *tessera::frontend::getOperatorSpelling(BoolOperator op) {
  return boolOperators[static_cast<size_t>(op)].spelling;
}
const char *tessera::frontend::getOperatorSpelling(CompareOperator op) {
  return compareOperators[static_cast<size_t>(op)].spelling;
}
