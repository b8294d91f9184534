//===- ParseExpressions.cpp - Expressions ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/Literals.h"
#include "compiler/Frontend/ParserImpl.h"

#include <algorithm>
#include <cctype>

using namespace tessera::frontend;

bool Parser::atComprehension() {
  return at(TokenKind::KwFor) ||
         (at(TokenKind::KwAsync) && peek(1).is(TokenKind::KwFor));
}

/// Says whether a trailing comma ends a list or an expression goes on.
bool Parser::atExpressionStart() {
  switch (peek().kind) {
  case TokenKind::Name:
  case TokenKind::Int:
  case TokenKind::Float:
  case TokenKind::Complex:
  case TokenKind::String:
  case TokenKind::LeftParen:
  case TokenKind::LeftBracket:
  case TokenKind::LeftBrace:
  case TokenKind::Plus:
  case TokenKind::Minus:
  case TokenKind::Tilde:
  case TokenKind::Star:
  case TokenKind::Ellipsis:
  case TokenKind::KwNot:
  case TokenKind::KwTrue:
  case TokenKind::KwFalse:
  case TokenKind::KwNone:
  case TokenKind::KwLambda:
  case TokenKind::KwAwait:
  case TokenKind::KwYield:
    return true;
  default:
    return false;
  }
}

Expr *Parser::parseExpressionList() {
  SourcePosition begin = peek().range.begin;
  Expr *first = parseElement();
  if (!first || !at(TokenKind::Comma))
    return first;
  std::vector<Expr *> elements = {first};
  while (consumeIf(TokenKind::Comma)) {
    if (!atExpressionStart())
      break;
    Expr *element = parseElement();
    if (!element)
      return nullptr;
    elements.push_back(element);
    if (!checkCount(elements.size()))
      return nullptr;
  }
  Tuple *tuple = create<Tuple>(begin);
  tuple->elts = std::move(elements);
  return nest(tuple, tuple->elts);
}

Expr *Parser::parseElement() {
  if (at(TokenKind::Star))
    return refuse(peek().range, "starred");
  Expr *expr = parseExpression();
  if (expr && at(TokenKind::ColonEqual)) {
    return refuseWalrus(*expr);
  }
  return expr;
}

/// body if test else orelse
Expr *Parser::parseExpression() {
  Level nesting(*this);
  if (!nesting.check())
    return nullptr;
  if (at(TokenKind::KwLambda))
    return refuseLambda();
  SourcePosition begin = peek().range.begin;
  Expr *body = parseBoolOp(BoolOperator::Or);
  if (!body || !consumeIf(TokenKind::KwIf))
    return body;
  Expr *test = parseBoolOp(BoolOperator::Or);
  if (!test || !expect(TokenKind::KwElse, "the condition of 'x if c else y'"))
    return nullptr;
  Expr *orelse = parseExpression();
  if (!orelse)
    return nullptr;
  IfExp *result = create<IfExp>(begin);
  result->test = test;
  result->body = body;
  result->orelse = orelse;
  return nest(result, {test, body, orelse});
}

Expr *Parser::parseBoolOp(BoolOperator op) {
  bool isOr = op == BoolOperator::Or;
  TokenKind keyword = isOr ? TokenKind::KwOr : TokenKind::KwAnd;
  auto parseOperand = [&] {
    return isOr ? parseBoolOp(BoolOperator::And) : parseInversion();
  };
  SourcePosition begin = peek().range.begin;
  Expr *first = parseOperand();
  if (!first || !at(keyword))
    return first;
  std::vector<Expr *> values = {first};
  while (consumeIf(keyword)) {
    Expr *value = parseOperand();
    if (!value)
      return nullptr;
    values.push_back(value);
    if (!checkCount(values.size()))
      return nullptr;
  }
  BoolOp *result = create<BoolOp>(begin);
  result->op = op;
  result->values = std::move(values);
  return nest(result, result->values);
}

Expr *Parser::parseInversion() {
  if (!at(TokenKind::KwNot))
    return parseComparison();
  Level nesting(*this);
  if (!nesting.check())
    return nullptr;
  SourcePosition begin = consume().range.begin;
  Expr *operand = parseInversion();
  if (!operand)
    return nullptr;
  UnaryOp *result = create<UnaryOp>(begin);
  result->op = UnaryOperator::Not;
  result->operand = operand;
  return nest(result, {operand});
}

static std::optional<CompareOperator> getCompareOperator(TokenKind kind) {
  switch (kind) {
  case TokenKind::EqualEqual:
    return CompareOperator::Eq;
  case TokenKind::NotEqual:
    return CompareOperator::NotEq;
  case TokenKind::Less:
    return CompareOperator::Lt;
  case TokenKind::LessEqual:
    return CompareOperator::LtE;
  case TokenKind::Greater:
    return CompareOperator::Gt;
  case TokenKind::GreaterEqual:
    return CompareOperator::GtE;
  case TokenKind::KwIs:
    return CompareOperator::Is;
  case TokenKind::KwIn:
    return CompareOperator::In;
  case TokenKind::KwNot:
    return CompareOperator::NotIn;
  default:
    return std::nullopt;
  }
}

Expr *Parser::parseComparison() {
  SourcePosition begin = peek().range.begin;
  Expr *left = parseBinary(0);
  if (!left)
    return nullptr;
  std::vector<CompareOperator> ops;
  std::vector<Expr *> comparators;
  while (std::optional<CompareOperator> op = getCompareOperator(peek().kind)) {
    // `a not` without `in` is no comparison; the caller finds the error.
    if (*op == CompareOperator::NotIn && !peek(1).is(TokenKind::KwIn))
      break;
    consume();
    if (*op == CompareOperator::NotIn)
      consume();
    if (*op == CompareOperator::Is && consumeIf(TokenKind::KwNot))
      op = CompareOperator::IsNot;
    Expr *right = parseBinary(0);
    if (!right)
      return nullptr;
    ops.push_back(*op);
    comparators.push_back(right);
    if (ops.size() > options.maxComparisons)
      return error(right->range, "more than " +
                                     std::to_string(options.maxComparisons) +
                                     " comparisons in one chain");
  }
  if (ops.empty())
    return left;
  Compare *result = create<Compare>(begin);
  result->left = left;
  result->ops = std::move(ops);
  result->comparators = std::move(comparators);
  if (!nest(result, {left}))
    return nullptr;
  return nest(result, result->comparators);
}

namespace {
struct BinaryLevel {
  BinaryOperator op;
  unsigned precedence; // higher binds tighter
};
} // namespace

static std::optional<BinaryLevel> getBinaryLevel(TokenKind kind) {
  switch (kind) {
  case TokenKind::Bar:
    return BinaryLevel{BinaryOperator::BitOr, 0};
  case TokenKind::Caret:
    return BinaryLevel{BinaryOperator::BitXor, 1};
  case TokenKind::Ampersand:
    return BinaryLevel{BinaryOperator::BitAnd, 2};
  case TokenKind::LeftShift:
    return BinaryLevel{BinaryOperator::LShift, 3};
  case TokenKind::RightShift:
    return BinaryLevel{BinaryOperator::RShift, 3};
  case TokenKind::Plus:
    return BinaryLevel{BinaryOperator::Add, 4};
  case TokenKind::Minus:
    return BinaryLevel{BinaryOperator::Sub, 4};
  case TokenKind::Star:
    return BinaryLevel{BinaryOperator::Mult, 5};
  case TokenKind::At:
    return BinaryLevel{BinaryOperator::MatMult, 5};
  case TokenKind::Slash:
    return BinaryLevel{BinaryOperator::Div, 5};
  case TokenKind::DoubleSlash:
    return BinaryLevel{BinaryOperator::FloorDiv, 5};
  case TokenKind::Percent:
    return BinaryLevel{BinaryOperator::Mod, 5};
  default:
    return std::nullopt;
  }
}

/// All left-associative operators, by precedence climbing.
Expr *Parser::parseBinary(unsigned minPrecedence) {
  SourcePosition begin = peek().range.begin;
  Expr *left = parseUnary();
  while (left) {
    std::optional<BinaryLevel> binary = getBinaryLevel(peek().kind);
    if (!binary || binary->precedence < minPrecedence)
      return left;
    SourceRange opRange = consume().range;
    Expr *right = parseBinary(binary->precedence + 1);
    if (!right)
      return nullptr;
    BinOp *result = create<BinOp>(begin);
    result->op = binary->op;
    result->left = left;
    result->right = right;
    result->opRange = opRange;
    left = nest(result, {left, right});
  }
  return nullptr;
}

/// -x ** y is -(x ** y), and x ** -y needs no parentheses.
Expr *Parser::parseUnary() {
  UnaryOperator op;
  switch (peek().kind) {
  case TokenKind::Plus:
    op = UnaryOperator::UAdd;
    break;
  case TokenKind::Minus:
    op = UnaryOperator::USub;
    break;
  case TokenKind::Tilde:
    op = UnaryOperator::Invert;
    break;
  default:
    return parsePower();
  }
  Level nesting(*this);
  if (!nesting.check())
    return nullptr;
  SourcePosition begin = consume().range.begin;
  Expr *operand = parseUnary();
  if (!operand)
    return nullptr;
  UnaryOp *result = create<UnaryOp>(begin);
  result->op = op;
  result->operand = operand;
  return nest(result, {operand});
}

Expr *Parser::parsePower() {
  SourcePosition begin = peek().range.begin;
  Expr *base = parsePrimary();
  if (!base || !at(TokenKind::DoubleStar))
    return base;
  Level nesting(*this);
  if (!nesting.check())
    return nullptr;
  SourceRange opRange = consume().range;
  Expr *exponent = parseUnary();
  if (!exponent)
    return nullptr;
  BinOp *result = create<BinOp>(begin);
  result->op = BinaryOperator::Pow;
  result->left = base;
  result->right = exponent;
  result->opRange = opRange;
  return nest(result, {base, exponent});
}

//===----------------------------------------------------------------------===//
// Primaries: attributes, calls, subscripts
//===----------------------------------------------------------------------===//

Expr *Parser::parsePrimary() {
  SourcePosition begin = peek().range.begin;
  Expr *value = parseAtom();
  while (value) {
    if (at(TokenKind::LeftParen)) {
      value = parseCall(value, begin);
    } else if (at(TokenKind::LeftBracket)) {
      value = parseSubscript(value, begin);
    } else if (consumeIf(TokenKind::Dot)) {
      if (!at(TokenKind::Name))
        return unexpected("a name after '.'");
      Token attr = consume();
      Attribute *result = create<Attribute>(begin);
      result->value = value;
      result->attr = attr.text;
      result->attrRange = attr.range;
      value = nest(result, {value});
    } else {
      return value;
    }
  }
  return nullptr;
}

Expr *Parser::parseCall(Expr *func, SourcePosition begin) {
  consume();
  Call *call = context.create<Call>({});
  bool unpacked = false;
  while (!at(TokenKind::RightParen)) {
    if (!parseArgument(call, unpacked))
      return nullptr;
    if (!consumeIf(TokenKind::Comma))
      break;
  }
  if (!at(TokenKind::RightParen))
    return unexpected("',' or ')' in the arguments");
  consume();
  call->func = func;
  call->range = rangeFrom(begin);
  if (!nest(call, {func}) || !nest(call, call->args))
    return nullptr;
  for (const Keyword &keyword : call->keywords)
    if (!nest(call, {keyword.value}))
      return nullptr;
  return call;
}

/// One argument. `unpacked` is set once a `**` was seen.
bool Parser::parseArgument(Call *call, bool &unpacked) {
  SourcePosition begin = peek().range.begin;
  if (at(TokenKind::Name) && peek(1).is(TokenKind::Equal)) {
    Keyword keyword;
    keyword.name = consume().text;
    consume();
    keyword.value = parseExpression();
    if (!keyword.value)
      return false;
    if (atComprehension()) {
      error(keyword.value->range, "a generator expression as the value of a "
                                  "keyword needs parentheses");
      return false;
    }
    keyword.range = rangeFrom(begin);
    call->keywords.push_back(std::move(keyword));
    if (!checkCount(call->keywords.size()))
      return false;
    return true;
  }
  if (consumeIf(TokenKind::DoubleStar)) {
    unpacked = true;
    Keyword keyword;
    keyword.value = parseExpression();
    keyword.range = rangeFrom(begin);
    call->keywords.push_back(keyword);
    if (!checkCount(call->keywords.size()))
      return false;
    return keyword.value;
  }
  if (at(TokenKind::Star)) {
    SourceRange star = consume().range;
    Expr *value = parseExpression();
    if (!value)
      return false;
    if (unpacked) {
      error(star, "'*' cannot follow '**' in the arguments");
      return false;
    }
    Starred *starred = create<Starred>(begin);
    starred->value = value;
    call->args.push_back(starred);
    if (!checkCount(call->args.size()))
      return false;
    return nest(starred, {value});
  }
  Expr *value = parseElement();
  if (!value)
    return false;
  if (atComprehension()) {
    refuseComprehension(value->range, value->range, "generator expression");
    return false;
  }
  if (at(TokenKind::Equal)) {
    error(peek().range, "only a name can stand before '=' in the arguments",
          "== compares");
    return false;
  }
  if (!call->keywords.empty()) {
    error(value->range,
          unpacked ? "a positional argument cannot follow '**'"
                   : "a positional argument cannot follow a keyword argument",
          "move it in front of the keyword arguments, or name it");
    return false;
  }
  call->args.push_back(value);
  if (!checkCount(call->args.size()))
    return false;
  return true;
}

Expr *Parser::parseSubscript(Expr *value, SourcePosition begin) {
  consume();
  SourcePosition sliceBegin = peek().range.begin;
  if (at(TokenKind::RightBracket))
    return unexpected("an index");
  Expr *slice = parseSlice();
  if (!slice)
    return nullptr;
  if (at(TokenKind::Comma)) {
    std::vector<Expr *> elements = {slice};
    while (consumeIf(TokenKind::Comma)) {
      if (at(TokenKind::RightBracket))
        break;
      Expr *element = parseSlice();
      if (!element)
        return nullptr;
      elements.push_back(element);
      if (!checkCount(elements.size()))
        return nullptr;
    }
    Tuple *tuple = create<Tuple>(sliceBegin);
    tuple->elts = std::move(elements);
    slice = nest(tuple, tuple->elts);
    if (!slice)
      return nullptr;
  }
  if (!at(TokenKind::RightBracket))
    return unexpected("',' or ']' in the index");
  consume();
  Subscript *result = create<Subscript>(begin);
  result->value = value;
  result->slice = slice;
  return nest(result, {value, slice});
}

/// An index, or lower:upper:step with any part left out.
Expr *Parser::parseSlice() {
  SourcePosition begin = peek().range.begin;
  Expr *lower = nullptr;
  if (!at(TokenKind::Colon)) {
    lower = parseElement();
    if (!lower || !at(TokenKind::Colon))
      return lower;
  }
  consume();
  auto parsePart = [&](Expr *&part) {
    if (at(TokenKind::Colon) || at(TokenKind::Comma) ||
        at(TokenKind::RightBracket))
      return true;
    part = parseExpression();
    return part != nullptr;
  };
  Expr *upper = nullptr;
  Expr *step = nullptr;
  if (!parsePart(upper))
    return nullptr;
  if (consumeIf(TokenKind::Colon) && !parsePart(step))
    return nullptr;
  Slice *slice = create<Slice>(begin);
  slice->lower = lower;
  slice->upper = upper;
  slice->step = step;
  return nest(slice, {lower, upper, step});
}

//===----------------------------------------------------------------------===//
// Atoms
//===----------------------------------------------------------------------===//

Expr *Parser::parseAtom() {
  const Token &token = peek();
  auto makeConstant = [&](ConstantKind type, bool value = false) {
    SourcePosition begin = consume().range.begin;
    Constant *constant = create<Constant>(begin);
    constant->type = type;
    constant->boolValue = value;
    return constant;
  };
  switch (token.kind) {
  case TokenKind::Name: {
    Token name = consume();
    if (!checkNameLength(name))
      return nullptr;
    Name *result = create<Name>(name.range.begin);
    result->id = name.text;
    return result;
  }
  case TokenKind::Int:
  case TokenKind::Float:
  case TokenKind::Complex:
    return parseNumber();
  case TokenKind::String:
    return parseStrings();
  case TokenKind::KwTrue:
    return makeConstant(ConstantKind::Bool, true);
  case TokenKind::KwFalse:
    return makeConstant(ConstantKind::Bool, false);
  case TokenKind::KwNone:
    return makeConstant(ConstantKind::None);
  case TokenKind::Ellipsis:
    return makeConstant(ConstantKind::Ellipsis);
  case TokenKind::LeftParen:
    return parseParenthesised();
  case TokenKind::LeftBracket:
    return parseListDisplay();
  case TokenKind::LeftBrace:
    return parseBraces();
  case TokenKind::KwYield:
    return refuse(token.range, "yield");
  case TokenKind::KwAwait:
    return refuse(token.range, "await");
  case TokenKind::Equal:
    return error(token.range, "'=' assigns and cannot stand in an expression",
                 "== compares");
  default:
    return unexpected("an expression");
  }
}

Expr *Parser::parseNumber() {
  Token token = consume();
  if (token.is(TokenKind::Complex))
    return refuse(token.range, "complex");
  Constant *constant = create<Constant>(token.range.begin);
  if (token.is(TokenKind::Float)) {
    constant->type = ConstantKind::Float;
    constant->floatValue = decodeFloat(token.text);
    return constant;
  }
  constant->type = ConstantKind::Int;
  std::optional<std::string> decimal = decodeInt(token.text);
  if (!decimal)
    return error(token.range, "this number has more than " +
                                  std::to_string(maxIntDigits) + " digits");
  constant->text = *decimal;
  constant->intValue = toInt64(*decimal);
  return constant;
}

/// Strings that stand next to each other are one string.
Expr *Parser::parseStrings() {
  SourcePosition begin = peek().range.begin;
  std::string value;
  while (at(TokenKind::String)) {
    Token token = consume();
    StringPrefix prefix = getStringPrefix(token.text);
    if (prefix.formatted)
      return refuse(token.range, "f-string",
                    "print(" + writeOutFString(token.text) + ")");
    if (prefix.bytes)
      return refuse(token.range, "bytes");
    if (std::optional<StringError> wrong = decodeString(token.text, value)) {
      if (failed)
        return nullptr;
      failed = true;
      diags.error(token.range, wrong->message).construct = wrong->construct;
      return nullptr;
    }
  }
  Constant *constant = create<Constant>(begin);
  constant->type = ConstantKind::String;
  constant->text = std::move(value);
  return constant;
}

/// (), (a), (a,), (a, b)
Expr *Parser::parseParenthesised() {
  SourcePosition begin = consume().range.begin;
  std::vector<Expr *> elements;
  bool isTuple = at(TokenKind::RightParen);
  while (!at(TokenKind::RightParen)) {
    Expr *element = parseElement();
    if (!element)
      return nullptr;
    if (atComprehension())
      return refuseComprehension({id, begin, element->range.end},
                                 element->range, "generator expression");
    elements.push_back(element);
    if (!checkCount(elements.size()))
      return nullptr;
    if (!consumeIf(TokenKind::Comma))
      break;
    isTuple = true;
  }
  if (!at(TokenKind::RightParen))
    return unexpected("',' or ')'");
  consume();
  // Parentheses alone are not a node; the range is that of what they hold.
  if (!isTuple)
    return elements.front();
  Tuple *tuple = create<Tuple>(begin);
  tuple->elts = std::move(elements);
  return nest(tuple, tuple->elts);
}

Expr *Parser::parseListDisplay() {
  SourcePosition begin = consume().range.begin;
  std::vector<Expr *> elements;
  while (!at(TokenKind::RightBracket)) {
    Expr *element = parseElement();
    if (!element)
      return nullptr;
    if (atComprehension())
      return refuseComprehension({id, begin, element->range.end},
                                 element->range, "list comprehension");
    elements.push_back(element);
    if (!checkCount(elements.size()))
      return nullptr;
    if (!consumeIf(TokenKind::Comma))
      break;
  }
  if (!at(TokenKind::RightBracket))
    return unexpected("',' or ']'");
  consume();
  List *list = create<List>(begin);
  list->elts = std::move(elements);
  return nest(list, list->elts);
}

/// A dict; sets are refused.
Expr *Parser::parseBraces() {
  SourcePosition begin = consume().range.begin;
  std::vector<Expr *> keys;
  std::vector<Expr *> values;
  while (!at(TokenKind::RightBrace)) {
    if (at(TokenKind::DoubleStar))
      return refuse(peek().range, "dict unpacking");
    Expr *key = parseElement();
    if (!key)
      return nullptr;
    if (keys.empty() && atComprehension())
      return refuse({id, begin, key->range.end}, "set comprehension");
    if (keys.empty() && (at(TokenKind::Comma) || at(TokenKind::RightBrace)))
      return refuse({id, begin, key->range.end}, "set");
    if (!expect(TokenKind::Colon, "a key of the dict"))
      return nullptr;
    Expr *value = parseExpression();
    if (!value)
      return nullptr;
    if (atComprehension())
      return refuse({id, begin, value->range.end}, "dict comprehension");
    keys.push_back(key);
    values.push_back(value);
    if (!checkCount(values.size()))
      return nullptr;
    if (!consumeIf(TokenKind::Comma))
      break;
  }
  if (!at(TokenKind::RightBrace))
    return unexpected("',' or '}'");
  consume();
  Dict *dict = create<Dict>(begin);
  dict->keys = std::move(keys);
  dict->values = std::move(values);
  if (!nest(dict, dict->keys))
    return nullptr;
  return nest(dict, dict->values);
}
