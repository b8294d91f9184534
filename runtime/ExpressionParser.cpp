// Parses the expressions of a plan and the values inserted into messages.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/ExpressionParser.h"

#include <utility>

namespace tessera::runtime {

static constexpr int maxNesting = 100;
// Keeps offsets into the code in 31 bits with room to spare.
static constexpr size_t maxCode = size_t{1} << 26;

bool ExpressionParser::expect(LineLexer &lexer, std::string_view symbol) {
  if (lexer.accept(symbol))
    return true;
  return fail("expected '" + std::string(symbol) + "', found " +
              describe(lexer.peek()));
}

bool ExpressionParser::enter() {
  if (++nesting > maxNesting)
    return fail("an expression is nested more than 100 deep");
  return true;
}

bool ExpressionParser::findTensor(const Token &token, int32_t &tensor) {
  if (token.kind != Token::Kind::Tensor)
    return fail("expected a tensor, found " + describe(token));
  auto it = names.tensors.find(token.text);
  if (it == names.tensors.end())
    return fail(describe(token) + " is not defined here");
  tensor = it->second;
  return true;
}

bool ExpressionParser::parse(LineLexer &lexer, Expression &result) {
  if (plan.code.size() > maxCode)
    return fail("the plan is too large");
  nesting = 0;
  ExprEmitter emit(plan.code);
  if (!parseOr(lexer, emit))
    return false;
  if (emit.tooDeep())
    return fail("an expression is too deep");
  result = emit.finish();
  return true;
}

bool ExpressionParser::parseOperand(LineLexer &lexer, Expression &result) {
  if (lexer.peek().kind == Token::Kind::Integer) {
    auto it = names.integers.find(lexer.peek().text);
    if (it != names.integers.end() && it->second.type == ScalarType::Float) {
      lexer.take();
      result = Expression();
      result.kind = Expression::Kind::Slot;
      result.begin = it->second.slot;
      return true;
    }
  }
  return parse(lexer, result);
}

/// a or b: a, jumpIfZero L1, 1, jump L2, L1: b, isNonzero, L2:
bool ExpressionParser::parseOr(LineLexer &lexer, ExprEmitter &emit) {
  if (!enter() || !parseAnd(lexer, emit))
    return false;
  while (lexer.accept("or")) {
    size_t toRhs = emit.jump(ExprOp::JumpIfZero);
    emit.constant(1);
    size_t toEnd = emit.jump(ExprOp::Jump);
    emit.otherPath();
    emit.land(toRhs);
    if (!parseAnd(lexer, emit))
      return false;
    emit.unary(ExprOp::IsNonzero);
    emit.land(toEnd);
  }
  --nesting;
  return true;
}

/// a and b: a, jumpIfZero L1, b, isNonzero, jump L2, L1: 0, L2:
bool ExpressionParser::parseAnd(LineLexer &lexer, ExprEmitter &emit) {
  if (!parseNot(lexer, emit))
    return false;
  while (lexer.accept("and")) {
    size_t toZero = emit.jump(ExprOp::JumpIfZero);
    if (!parseNot(lexer, emit))
      return false;
    emit.unary(ExprOp::IsNonzero);
    size_t toEnd = emit.jump(ExprOp::Jump);
    emit.otherPath();
    emit.land(toZero);
    emit.constant(0);
    emit.land(toEnd);
  }
  return true;
}

bool ExpressionParser::parseNot(LineLexer &lexer, ExprEmitter &emit) {
  if (!lexer.accept("not"))
    return parseCompare(lexer, emit);
  if (!enter() || !parseNot(lexer, emit))
    return false;
  --nesting;
  emit.unary(ExprOp::Not);
  return true;
}

using Operator = std::pair<std::string_view, ExprOp>;

/// Takes one of the operators if it comes next.
template <size_t n>
static const Operator *acceptAny(LineLexer &lexer, const Operator (&all)[n]) {
  for (const Operator &candidate : all)
    if (lexer.accept(candidate.first))
      return &candidate;
  return nullptr;
}

bool ExpressionParser::parseCompare(LineLexer &lexer, ExprEmitter &emit) {
  static constexpr Operator operators[] = {
      {"==", ExprOp::Equal},  {"!=", ExprOp::NotEqual},
      {"<", ExprOp::Less},    {"<=", ExprOp::LessEqual},
      {">", ExprOp::Greater}, {">=", ExprOp::GreaterEqual},
  };
  if (!parseSum(lexer, emit))
    return false;
  if (const Operator *op = acceptAny(lexer, operators)) {
    if (!parseSum(lexer, emit))
      return false;
    emit.binary(op->second);
  }
  return true;
}

bool ExpressionParser::parseSum(LineLexer &lexer, ExprEmitter &emit) {
  static constexpr Operator operators[] = {{"+", ExprOp::Add},
                                           {"-", ExprOp::Sub}};
  if (!parseProduct(lexer, emit))
    return false;
  while (const Operator *op = acceptAny(lexer, operators)) {
    if (!parseProduct(lexer, emit))
      return false;
    emit.binary(op->second);
  }
  return true;
}

bool ExpressionParser::parseProduct(LineLexer &lexer, ExprEmitter &emit) {
  static constexpr Operator operators[] = {{"*", ExprOp::Mul},
                                           {"floordiv", ExprOp::FloorDiv},
                                           {"ceildiv", ExprOp::CeilDiv},
                                           {"mod", ExprOp::Mod}};
  if (!parseUnary(lexer, emit))
    return false;
  while (const Operator *op = acceptAny(lexer, operators)) {
    if (!parseUnary(lexer, emit))
      return false;
    emit.binary(op->second);
  }
  return true;
}

bool ExpressionParser::parseUnary(LineLexer &lexer, ExprEmitter &emit) {
  if (!lexer.accept("-"))
    return parsePrimary(lexer, emit);
  if (!enter() || !parseUnary(lexer, emit))
    return false;
  --nesting;
  emit.unary(ExprOp::Negate);
  return true;
}

bool ExpressionParser::parsePrimary(LineLexer &lexer, ExprEmitter &emit) {
  Token token = lexer.take();
  if (token.kind == Token::Kind::Number) {
    emit.constant(token.number);
    return true;
  }
  if (token.kind == Token::Kind::Integer) {
    auto it = names.integers.find(token.text);
    if (it == names.integers.end())
      return fail(describe(token) + " is not defined here");
    if (it->second.type == ScalarType::Float)
      return fail(describe(token) +
                  " is an f64, which can't be used in an integer expression");
    emit.slot(it->second.slot);
    return true;
  }
  if (token.is("("))
    return parseOr(lexer, emit) && expect(lexer, ")");
  if (token.kind == Token::Kind::Word && lexer.accept("("))
    return parseCall(lexer, emit, token.text) && expect(lexer, ")");
  return fail("expected an expression, found " + describe(token));
}

bool ExpressionParser::parseCall(LineLexer &lexer, ExprEmitter &emit,
                                 std::string_view name) {
  if (name == "min" || name == "max") {
    ExprOp op = name == "min" ? ExprOp::Min : ExprOp::Max;
    if (!parseOr(lexer, emit) || !expect(lexer, ","))
      return false;
    do {
      if (!parseOr(lexer, emit))
        return false;
      emit.binary(op);
    } while (lexer.accept(","));
    return true;
  }
  if (name == "select")
    return parseSelect(lexer, emit);
  return parseTensorField(lexer, emit, name);
}

bool ExpressionParser::parseSelect(LineLexer &lexer, ExprEmitter &emit) {
  if (!parseOr(lexer, emit) || !expect(lexer, ","))
    return false;
  size_t toFalse = emit.jump(ExprOp::JumpIfZero);
  if (!parseOr(lexer, emit) || !expect(lexer, ","))
    return false;
  size_t toEnd = emit.jump(ExprOp::Jump);
  emit.otherPath();
  emit.land(toFalse);
  if (!parseOr(lexer, emit))
    return false;
  emit.land(toEnd);
  return true;
}

bool ExpressionParser::parseTensorField(LineLexer &lexer, ExprEmitter &emit,
                                        std::string_view name) {
  if (name != "size" && name != "stride" && name != "address" &&
      name != "constant" && name != "fresh")
    return fail("there is no function '" + std::string(name.substr(0, 40)) +
                "'");
  int32_t index;
  if (!findTensor(lexer.take(), index))
    return false;
  if (name == "address") {
    emit.address(index);
    return true;
  }
  if (name == "constant") {
    emit.isConstant(index);
    return true;
  }
  const Tensor &tensor = plan.tensors[static_cast<size_t>(index)];
  if (name == "fresh") {
    if (tensor.fresh < 0)
      return fail("'%" + tensor.name + "' was not made by an alloc with 'of'");
    emit.slot(tensor.fresh);
    return true;
  }
  if (!expect(lexer, ","))
    return false;
  Token axis = lexer.take();
  if (axis.kind != Token::Kind::Number)
    return fail("expected an axis number, found " + describe(axis));
  if (axis.number < 0 || axis.number >= tensor.rank)
    return fail("'%" + tensor.name + "' has rank " +
                std::to_string(tensor.rank) + ", there is no axis " +
                std::to_string(axis.number));
  int32_t base = name == "size" ? tensor.sizes : tensor.strides();
  emit.slot(base + static_cast<int32_t>(axis.number));
  return true;
}

bool ExpressionParser::parseInsertion(std::string_view text, Message &message) {
  LineLexer lexer(text);
  MessagePart part;
  if (lexer.peek().kind == Token::Kind::Tensor) {
    part.kind = MessagePart::Kind::Sizes;
    if (!findTensor(lexer.take(), part.tensor))
      return false;
  } else {
    part.kind = MessagePart::Kind::Integer;
    Token first = lexer.peek();
    if (!parseOperand(lexer, part.expr))
      return false;
    // Only a name that stands alone is shown by its own type.
    if (part.expr.kind == Expression::Kind::Slot &&
        first.kind == Token::Kind::Integer) {
      ScalarType type = names.integers.at(first.text).type;
      if (type == ScalarType::Float)
        part.kind = MessagePart::Kind::Float;
      else if (type == ScalarType::Bool)
        part.kind = MessagePart::Kind::Bool;
    }
  }
  if (lexer.peek().kind != Token::Kind::EndOfLine)
    return fail("expected '}' in a message, found " + describe(lexer.peek()));
  message.push_back(std::move(part));
  return true;
}

bool ExpressionParser::parseMessage(std::string_view raw, Message &message) {
  std::string text;
  auto flush = [&] {
    if (text.empty())
      return;
    MessagePart part;
    part.text = std::exchange(text, {});
    message.push_back(std::move(part));
  };
  for (size_t i = 0; i < raw.size(); ++i) {
    char c = raw[i];
    char next = i + 1 < raw.size() ? raw[i + 1] : '\0';
    if (c == '\\') {
      // The lexer has let only these through.
      text += next == 'n' ? '\n' : next == 't' ? '\t' : next;
      ++i;
    } else if ((c == '{' || c == '}') && next == c) {
      text += c;
      ++i;
    } else if (c == '}') {
      return fail("a single '}' in a message; write '}}'");
    } else if (c == '{') {
      size_t close = raw.find('}', i);
      if (close == std::string_view::npos)
        return fail("a '{' in a message is not closed; write '{{' for a brace");
      flush();
      if (!parseInsertion(raw.substr(i + 1, close - i - 1), message))
        return false;
      i = close;
    } else {
      text += c;
    }
  }
  flush();
  return true;
}

} // namespace tessera::runtime
