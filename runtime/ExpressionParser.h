// Parses the expressions of a plan and the values inserted into messages.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_RUNTIME_EXPRESSIONPARSER_H
#define TESSERA_RUNTIME_EXPRESSIONPARSER_H

#include "runtime/Plan.h"
#include "runtime/PlanLexer.h"

#include <unordered_map>

namespace tessera::runtime {

struct IntegerName {
  int32_t slot;
  ScalarType type;
  bool isLocal; // may be `set`
};

/// The names visible at some point of the plan. Keys point into the text.
struct Names {
  std::unordered_map<std::string_view, IntegerName> integers;
  std::unordered_map<std::string_view, int32_t> tensors;
};

/// All functions return false after they have set `error`.
class ExpressionParser {
public:
  ExpressionParser(Plan &plan, const Names &names, std::string &error)
      : plan(plan), names(names), error(error) {}

  bool parse(LineLexer &lexer, Expression &result);

  /// Also accepts a single name of type f64.
  bool parseOperand(LineLexer &lexer, Expression &result);

  /// The string token of a check or message.
  bool parseMessage(std::string_view raw, Message &message);

  bool fail(std::string message) {
    error = std::move(message);
    return false;
  }

  /// The tensor a token names.
  bool findTensor(const Token &token, int32_t &tensor);

private:
  bool parseOr(LineLexer &lexer, ExprEmitter &emit);
  bool parseAnd(LineLexer &lexer, ExprEmitter &emit);
  bool parseNot(LineLexer &lexer, ExprEmitter &emit);
  bool parseCompare(LineLexer &lexer, ExprEmitter &emit);
  bool parseSum(LineLexer &lexer, ExprEmitter &emit);
  bool parseProduct(LineLexer &lexer, ExprEmitter &emit);
  bool parseUnary(LineLexer &lexer, ExprEmitter &emit);
  bool parsePrimary(LineLexer &lexer, ExprEmitter &emit);
  bool parseCall(LineLexer &lexer, ExprEmitter &emit, std::string_view name);
  bool parseSelect(LineLexer &lexer, ExprEmitter &emit);
  bool parseTensorField(LineLexer &lexer, ExprEmitter &emit,
                        std::string_view name);
  bool expect(LineLexer &lexer, std::string_view symbol);
  bool enter();
  bool parseInsertion(std::string_view text, Message &message);

  Plan &plan;
  const Names &names;
  std::string &error;
  int nesting = 0;
};

} // namespace tessera::runtime

#endif
