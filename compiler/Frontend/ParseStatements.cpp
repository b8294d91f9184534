//===- ParseStatements.cpp - Statements -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/ParserImpl.h"

#include <algorithm>

using namespace tessera::frontend;

/// Statements that begin with a keyword of their own and are refused.
static std::string_view getRefusedStatement(TokenKind kind) {
  switch (kind) {
  case TokenKind::KwTry:
    return "try";
  case TokenKind::KwRaise:
    return "raise";
  case TokenKind::KwWith:
    return "with";
  case TokenKind::KwClass:
    return "class";
  case TokenKind::KwGlobal:
    return "global";
  case TokenKind::KwNonlocal:
    return "nonlocal";
  case TokenKind::KwDel:
    return "del";
  case TokenKind::KwAsync:
    return "async";
  case TokenKind::KwYield:
    return "yield";
  default:
    return {};
  }
}

bool Parser::checkStatements() {
  if (statements <= options.maxStatements)
    return true;
  return error(peek().range,
               "this function has more than " +
                   std::to_string(options.maxStatements) + " statements",
               "make functions of its parts, or a loop: for i in range(n)");
}

bool Parser::parseStatement(Body &body) {
  Token token = peek();
  if (!checkStatements())
    return false;
  std::string_view refused = getRefusedStatement(token.kind);
  if (refused == "try" || refused == "with")
    return refuseBlock(token.range, refused);
  if (!refused.empty())
    return refuse(token.range, refused);
  Stmt *stmt;
  switch (token.kind) {
  case TokenKind::KwIf:
    stmt = parseIf();
    break;
  case TokenKind::KwWhile:
    stmt = parseWhile();
    break;
  case TokenKind::KwFor:
    stmt = parseFor();
    break;
  case TokenKind::At:
  case TokenKind::KwDef:
    stmt = parseFunctionDef();
    break;
  case TokenKind::Indent:
    return error(token.range,
                 "this line is indented, but no block begins "
                 "above it",
                 "indent it like the line above");
  default:
    return parseSimpleStatements(body);
  }
  if (!stmt)
    return false;
  body.push_back(stmt);
  ++statements;
  return true;
}

/// a; b; c and the end of the line
bool Parser::parseSimpleStatements(Body &body) {
  while (true) {
    Stmt *stmt = checkStatements() ? parseSimpleStatement() : nullptr;
    if (!stmt)
      return false;
    body.push_back(stmt);
    ++statements;
    bool more = consumeIf(TokenKind::Semicolon);
    if (consumeIf(TokenKind::Newline))
      return true;
    if (!more) {
      unexpected("the end of the line");
      return false;
    }
  }
}

Stmt *Parser::parseSimpleStatement() {
  Token token = peek();
  std::string_view refused = getRefusedStatement(token.kind);
  if (!refused.empty())
    return refuse(token.range, refused);
  switch (token.kind) {
  case TokenKind::KwPass:
    consume();
    return create<Pass>(token.range.begin);
  case TokenKind::KwBreak:
    consume();
    return create<Break>(token.range.begin);
  case TokenKind::KwContinue:
    consume();
    return create<Continue>(token.range.begin);
  case TokenKind::KwReturn:
    return parseReturn();
  case TokenKind::KwAssert:
    return parseAssert();
  case TokenKind::KwImport:
    return parseImport();
  case TokenKind::KwFrom:
    return parseImportFrom();
  case TokenKind::KwElif:
  case TokenKind::KwElse:
    return error(token.range, describeToken(token.kind) +
                                  " has no 'if' before it on this level");
  default:
    return parseExpressionStatement();
  }
}

Stmt *Parser::parseReturn() {
  SourceRange keyword = consume().range;
  if (!inFunction)
    return error(keyword, "'return' outside a function");
  Expr *value = nullptr;
  if (!at(TokenKind::Newline) && !at(TokenKind::Semicolon)) {
    value = parseExpressionList();
    if (!value)
      return nullptr;
  }
  Return *result = create<Return>(keyword.begin);
  result->value = value;
  return result;
}

Stmt *Parser::parseAssert() {
  SourcePosition begin = consume().range.begin;
  Expr *test = parseExpression();
  if (!test)
    return nullptr;
  Expr *msg = nullptr;
  if (consumeIf(TokenKind::Comma)) {
    msg = parseExpression();
    if (!msg)
      return nullptr;
  }
  Assert *result = create<Assert>(begin);
  result->test = test;
  result->msg = msg;
  return result;
}

//===----------------------------------------------------------------------===//
// Assignments and expressions
//===----------------------------------------------------------------------===//

/// `match` is an ordinary name unless something follows it that cannot follow a
/// name. `match (x):` looks like a call up to the colon: see
/// parseExpressionStatement.
bool Parser::isMatchStatement() {
  if (!at(TokenKind::Name) || peek().text != "match")
    return false;
  switch (peek(1).kind) {
  case TokenKind::Name:
  case TokenKind::Int:
  case TokenKind::Float:
  case TokenKind::Complex:
  case TokenKind::String:
  case TokenKind::LeftBrace:
  case TokenKind::Tilde:
  case TokenKind::Ellipsis:
  case TokenKind::KwTrue:
  case TokenKind::KwFalse:
  case TokenKind::KwNone:
  case TokenKind::KwLambda:
  case TokenKind::KwAwait:
    return true;
  case TokenKind::KwNot:
    return !peek(2).is(TokenKind::KwIn);
  default:
    return false;
  }
}

static std::optional<BinaryOperator> getAugmentedOperator(TokenKind kind) {
  switch (kind) {
  case TokenKind::PlusEqual:
    return BinaryOperator::Add;
  case TokenKind::MinusEqual:
    return BinaryOperator::Sub;
  case TokenKind::StarEqual:
    return BinaryOperator::Mult;
  case TokenKind::AtEqual:
    return BinaryOperator::MatMult;
  case TokenKind::SlashEqual:
    return BinaryOperator::Div;
  case TokenKind::DoubleSlashEqual:
    return BinaryOperator::FloorDiv;
  case TokenKind::PercentEqual:
    return BinaryOperator::Mod;
  case TokenKind::DoubleStarEqual:
    return BinaryOperator::Pow;
  case TokenKind::LeftShiftEqual:
    return BinaryOperator::LShift;
  case TokenKind::RightShiftEqual:
    return BinaryOperator::RShift;
  case TokenKind::BarEqual:
    return BinaryOperator::BitOr;
  case TokenKind::CaretEqual:
    return BinaryOperator::BitXor;
  case TokenKind::AmpersandEqual:
    return BinaryOperator::BitAnd;
  default:
    return std::nullopt;
  }
}

Stmt *Parser::parseExpressionStatement() {
  Token first = peek();
  bool startsWithMatch = first.is(TokenKind::Name) && first.text == "match";
  if (isMatchStatement())
    return refuse(first.range, "match");
  if (!atExpressionStart() && !at(TokenKind::Equal))
    return unexpected("a statement");
  Expr *expr = parseExpressionList();
  if (!expr)
    return nullptr;
  if (at(TokenKind::Colon)) {
    if (startsWithMatch && peek(1).is(TokenKind::Newline))
      return refuse(first.range, "match");
    return parseAnnAssign(expr, first);
  }
  SourcePosition begin = first.range.begin;
  if (std::optional<BinaryOperator> op = getAugmentedOperator(peek().kind))
    return parseAugAssign(expr, *op, begin);
  if (at(TokenKind::Equal))
    return parseAssign(expr, begin);
  ExprStmt *result = create<ExprStmt>(begin);
  result->value = expr;
  return result;
}

static bool isSingleTarget(const Expr *expr) {
  return is<Name>(expr) || is<Attribute>(expr) || is<Subscript>(expr);
}

/// How an expression is called in "cannot assign to ...".
static std::string describeExpression(const Expr *expr) {
  switch (expr->kind) {
  case NodeKind::Call:
    return "the result of a call";
  case NodeKind::Constant:
    return "a constant";
  case NodeKind::Compare:
    return "a comparison";
  case NodeKind::IfExp:
    return "a conditional expression";
  case NodeKind::Dict:
    return "a dict";
  case NodeKind::Tuple:
    return "a tuple";
  case NodeKind::List:
    return "a list";
  default:
    return "an expression";
  }
}

/// Targets of `=` and `for`.
bool Parser::checkTarget(const Expr *target) {
  if (isSingleTarget(target))
    return true;
  const std::vector<Expr *> *elements = nullptr;
  if (const auto *tuple = dynCast<Tuple>(target))
    elements = &tuple->elts;
  else if (const auto *list = dynCast<List>(target))
    elements = &list->elts;
  if (elements)
    return std::all_of(
        elements->begin(), elements->end(),
        [&](const Expr *element) { return checkTarget(element); });
  error(target->range, "cannot assign to " + describeExpression(target),
        is<Compare>(target) || at(TokenKind::Equal) ? "== compares" : "");
  return false;
}

Stmt *Parser::parseAssign(Expr *target, SourcePosition begin) {
  std::vector<Expr *> targets;
  while (at(TokenKind::Equal)) {
    if (!checkTarget(target))
      return nullptr;
    consume();
    targets.push_back(target);
    target = parseExpressionList();
    if (!target)
      return nullptr;
  }
  Assign *result = create<Assign>(begin);
  result->targets = std::move(targets);
  result->value = target;
  return result;
}

Stmt *Parser::parseAugAssign(Expr *target, BinaryOperator op,
                             SourcePosition begin) {
  Token opToken = consume();
  if (!isSingleTarget(target))
    return error(target->range, describeToken(opToken.kind) +
                                    " cannot assign to " +
                                    describeExpression(target));
  Expr *value = parseExpressionList();
  if (!value)
    return nullptr;
  AugAssign *result = create<AugAssign>(begin);
  result->target = target;
  result->op = op;
  result->value = value;
  result->opRange = opToken.range;
  return result;
}

/// target: annotation [= value], from the colon on
Stmt *Parser::parseAnnAssign(Expr *target, const Token &first) {
  if (!isSingleTarget(target))
    return error(target->range, "only a name, an attribute or an element can "
                                "have an annotation");
  consume();
  Expr *annotation = parseExpression();
  if (!annotation)
    return nullptr;
  Expr *value = nullptr;
  if (consumeIf(TokenKind::Equal)) {
    value = parseExpressionList();
    if (!value)
      return nullptr;
  }
  AnnAssign *result = create<AnnAssign>(first.range.begin);
  result->target = target;
  result->annotation = annotation;
  result->value = value;
  result->simple = is<Name>(target) && !first.is(TokenKind::LeftParen);
  return result;
}

//===----------------------------------------------------------------------===//
// Imports
//===----------------------------------------------------------------------===//

static constexpr const char *importFix =
    "import tessera as tsr, import math, or from tessera import ...";

std::string Parser::getImportFix() {
  return getTextToClose() + " at the top of the file, not here; 'math' and "
                            "'tsr' are there anyway";
}

Stmt *Parser::parseImport() {
  SourceRange keyword = peek().range;
  if (blockDepth || kind != TextKind::Module)
    return refuse(keyword, "import", getImportFix());
  consume();
  std::vector<ImportedName> names;
  do {
    ImportedName name;
    if (!parseImportedName(name))
      return nullptr;
    if (!resolveImport(name.name, /*from=*/false)) {
      error(name.range, "module '" + name.name + "' cannot be imported here",
            importFix);
      return nullptr;
    }
    names.push_back(std::move(name));
  } while (consumeIf(TokenKind::Comma));
  Import *result = create<Import>(keyword.begin);
  result->names = std::move(names);
  return result;
}

/// a.b.c as d
bool Parser::parseImportedName(ImportedName &name) {
  SourcePosition begin = peek().range.begin;
  do {
    if (!at(TokenKind::Name)) {
      unexpected("a name to import");
      return false;
    }
    name.name += name.name.empty() ? "" : ".";
    name.name += consume().text;
  } while (consumeIf(TokenKind::Dot));
  if (consumeIf(TokenKind::KwAs)) {
    if (!at(TokenKind::Name)) {
      unexpected("a name after 'as'");
      return false;
    }
    name.asname = consume().text;
  }
  name.range = rangeFrom(begin);
  return true;
}

Stmt *Parser::parseImportFrom() {
  SourceRange keyword = peek().range;
  if (blockDepth || kind != TextKind::Module)
    return refuse(keyword, "import", getImportFix());
  consume();
  if (at(TokenKind::Dot) || at(TokenKind::Ellipsis))
    return error(peek().range, "a relative import finds nothing here",
                 importFix);
  ImportedName module;
  if (!parseImportedName(module))
    return nullptr;
  if (!module.asname.empty())
    return error(module.range, "expected 'import' after the module");
  if (!resolveImport(module.name, /*from=*/true))
    return error(module.range,
                 "names of module '" + module.name +
                     "' cannot be imported here",
                 importFix);
  if (!expect(TokenKind::KwImport, "the module"))
    return nullptr;
  if (at(TokenKind::Star))
    return error(peek().range, "'*' hides which names are imported",
                 "name them: from tessera import Tensor, Out");
  bool brackets = consumeIf(TokenKind::LeftParen);
  std::vector<ImportedName> names;
  do {
    // A comma may follow the last name only inside brackets.
    if (brackets && !names.empty() && at(TokenKind::RightParen))
      break;
    ImportedName name;
    if (!parseImportedName(name))
      return nullptr;
    if (name.name.find('.') != std::string::npos)
      return error(name.range, "a name of a module cannot hold '.'");
    names.push_back(std::move(name));
  } while (consumeIf(TokenKind::Comma));
  if (brackets && !expect(TokenKind::RightParen, "the imported names"))
    return nullptr;
  ImportFrom *result = create<ImportFrom>(keyword.begin);
  result->module = module.name;
  result->names = std::move(names);
  return result;
}

//===----------------------------------------------------------------------===//
// Compound statements
//===----------------------------------------------------------------------===//

/// `: block`, where the block is the rest of the line or the indented lines
/// below. `header` is the keyword it belongs to.
bool Parser::parseBlock(Body &body, const Token &header) {
  std::string what = describeToken(header.kind);
  if (!at(TokenKind::Colon)) {
    if (at(TokenKind::Equal)) {
      error(peek().range, "'=' assigns and cannot stand in a condition",
            "== compares");
      return false;
    }
    unexpected("':' at the end of the " + what + " line");
    return false;
  }
  consume();
  if (!consumeIf(TokenKind::Newline))
    return parseSimpleStatements(body);
  if (!at(TokenKind::Indent)) {
    if (at(TokenKind::Error))
      return passOnTokenError();
    error(peek().range,
          "expected an indented block after " + what + " on line " +
              std::to_string(header.range.begin.line),
          "pass");
    return false;
  }
  consume();
  ++blockDepth;
  while (!at(TokenKind::Dedent)) {
    if (at(TokenKind::EndOfFile))
      break;
    if (!parseStatement(body))
      return false;
  }
  --blockDepth;
  consumeIf(TokenKind::Dedent);
  return true;
}

/// A chain of `elif` is a list of Ifs, each alone in the `orelse` of the one
/// before; all end where the last one ends. Built in a loop, since a chain may
/// be long.
Stmt *Parser::parseIf() {
  std::vector<If *> chain;
  while (true) {
    Token keyword = consume(); // if, elif
    Expr *test = parseElement();
    if (!test)
      return nullptr;
    If *stmt = create<If>(keyword.range.begin);
    stmt->test = test;
    if (!chain.empty())
      chain.back()->orelse.push_back(stmt);
    chain.push_back(stmt);
    if (!checkDepth(chain.size()) || !parseBlock(stmt->body, keyword))
      return nullptr;
    if (!at(TokenKind::KwElif))
      break;
  }
  if (at(TokenKind::KwElse)) {
    Token keyword = consume();
    if (!parseBlock(chain.back()->orelse, keyword))
      return nullptr;
  }
  for (If *stmt : chain)
    stmt->range.end = lastEnd;
  return chain.front();
}

Stmt *Parser::parseWhile() {
  Token keyword = consume();
  Expr *test = parseElement();
  if (!test)
    return nullptr;
  Body body;
  if (!parseBlock(body, keyword))
    return nullptr;
  if (at(TokenKind::KwElse))
    return refuse(peek().range, "while-else");
  While *result = create<While>(keyword.range.begin);
  result->test = test;
  result->body = std::move(body);
  return result;
}

Stmt *Parser::parseFor() {
  Token keyword = consume();
  Expr *target = parseTargetList();
  if (!target || !expect(TokenKind::KwIn, "the target of 'for'"))
    return nullptr;
  Expr *iter = parseExpressionList();
  if (!iter)
    return nullptr;
  Body body;
  if (!parseBlock(body, keyword))
    return nullptr;
  if (at(TokenKind::KwElse))
    return refuse(peek().range, "for-else");
  For *result = create<For>(keyword.range.begin);
  result->target = target;
  result->iter = iter;
  result->body = std::move(body);
  return result;
}

/// a | a, b | a, ; without comparisons, since `in` ends the list.
Expr *Parser::parseTargetList() {
  SourcePosition begin = peek().range.begin;
  std::vector<Expr *> elements;
  bool isTuple = false;
  do {
    if (isTuple && at(TokenKind::KwIn))
      break;
    if (at(TokenKind::Star))
      return refuse(peek().range, "starred");
    Expr *element = parseBinary(0);
    if (!element || !checkTarget(element))
      return nullptr;
    elements.push_back(element);
    isTuple |= at(TokenKind::Comma);
  } while (consumeIf(TokenKind::Comma));
  if (!isTuple)
    return elements.front();
  Tuple *tuple = create<Tuple>(begin);
  tuple->elts = std::move(elements);
  return nest(tuple, tuple->elts);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

bool Parser::parseDecorators(std::vector<Expr *> &decorators) {
  while (consumeIf(TokenKind::At)) {
    Expr *decorator = parseElement();
    if (!decorator)
      return false;
    decorators.push_back(decorator);
    if (!expect(TokenKind::Newline, "a decorator"))
      return false;
  }
  return true;
}

FunctionDef *Parser::parseFunctionDef() {
  std::vector<Expr *> decorators;
  if (!parseDecorators(decorators))
    return nullptr;
  if (!at(TokenKind::KwDef)) {
    std::string_view refused = getRefusedStatement(peek().kind);
    if (refused == "class" || refused == "async")
      return refuse(peek().range, refused);
    return unexpected("'def' after the decorators");
  }
  if (blockDepth)
    return refuse(peek().range, "nested function", getOuterFix(),
                  std::string(peek(1).text));
  Token keyword = consume();
  FunctionDef *function = create<FunctionDef>(keyword.range.begin);
  function->decorators = std::move(decorators);
  if (!at(TokenKind::Name))
    return unexpected("the name of the function");
  function->nameRange = peek().range;
  function->name = consume().text;
  if (!expect(TokenKind::LeftParen, "the name of the function") ||
      !parseParameters(function))
    return nullptr;
  if (consumeIf(TokenKind::Arrow)) {
    function->returns = parseExpression();
    if (!function->returns)
      return nullptr;
  }
  if (!inFunction)
    statements = 0;
  inFunction = true;
  bool parsed = parseBlock(function->body, keyword);
  inFunction = false;
  if (!parsed)
    return nullptr;
  if (const auto *stmt = dynCast<ExprStmt>(function->body.front()))
    if (const auto *constant = dynCast<Constant>(stmt->value))
      if (constant->type == ConstantKind::String)
        function->docstring = constant->text;
  function->range.end = lastEnd;
  return function;
}

/// From behind '(' to behind ')'.
bool Parser::parseParameters(FunctionDef *function) {
  ParameterKind kind = ParameterKind::Regular;
  bool seenSlash = false;
  SourceRange star;
  while (!at(TokenKind::RightParen)) {
    if (at(TokenKind::DoubleStar))
      return refuse(peek().range, "**kwargs",
                    "the keywords it takes, each by name: scale=1.0",
                    "**" + std::string(peek(1).text));
    if (at(TokenKind::Star)) {
      std::string name(peek(1).text), both = name + "0, " + name + "1";
      if (!peek(1).is(TokenKind::Comma))
        return peek(1).is(TokenKind::RightParen)
                   ? error(peek().range, "a parameter must follow '*'")
                   : refuse(peek().range, "*args",
                            both + ", and " + name + " = (" + both +
                                ") as the first line",
                            "*" + name);
      if (kind == ParameterKind::KeywordOnly)
        return error(peek().range, "'*' can stand only once");
      star = consume().range;
      kind = ParameterKind::KeywordOnly;
    } else if (at(TokenKind::Slash)) {
      if (seenSlash || kind == ParameterKind::KeywordOnly ||
          function->parameters.empty())
        return error(peek().range,
                     "'/' can stand only once, behind a parameter and before "
                     "'*'");
      consume();
      seenSlash = true;
      for (Parameter &parameter : function->parameters)
        parameter.kind = ParameterKind::PositionalOnly;
    } else if (!parseParameter(function, kind)) {
      return false;
    }
    if (!consumeIf(TokenKind::Comma))
      break;
  }
  if (!at(TokenKind::RightParen))
    return unexpected("',' or ')' in the parameters");
  if (kind == ParameterKind::KeywordOnly &&
      (function->parameters.empty() ||
       function->parameters.back().kind != kind))
    return error(star, "a parameter must follow '*'");
  consume();
  return true;
}

bool Parser::parseParameter(FunctionDef *function, ParameterKind kind) {
  if (!at(TokenKind::Name))
    return unexpected("the name of a parameter");
  if (function->parameters.size() >= options.maxParameters)
    return error(peek().range,
                 "this function has more than " +
                     std::to_string(options.maxParameters) + " parameters",
                 "put arrays of one shape into one, with an axis more");
  Token name = consume();
  Parameter parameter;
  parameter.name = name.text;
  parameter.nameRange = name.range;
  parameter.kind = kind;
  if (consumeIf(TokenKind::Colon)) {
    parameter.annotation = parseExpression();
    if (!parameter.annotation)
      return false;
  }
  parameter.range = rangeFrom(name.range.begin);
  if (consumeIf(TokenKind::Equal)) {
    parameter.defaultValue = parseExpression();
    if (!parameter.defaultValue)
      return false;
  }
  for (const Parameter &other : function->parameters) {
    if (other.name == parameter.name) {
      if (!failed)
        diags
            .error(name.range,
                   "two parameters are called '" + parameter.name + "'")
            .addNote(other.nameRange, "the other one");
      failed = true;
      return false;
    }
  }
  if (kind != ParameterKind::KeywordOnly && !parameter.defaultValue &&
      !function->parameters.empty() && function->parameters.back().defaultValue)
    return error(name.range,
                 "'" + parameter.name +
                     "' needs a default, since the parameter before it has one",
                 "move it in front of the parameters with defaults");
  function->parameters.push_back(std::move(parameter));
  return true;
}
