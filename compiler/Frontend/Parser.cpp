//===- Parser.cpp - Tokens, errors and entry points of the parser ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/Parser.h"

#include "compiler/Frontend/ParserImpl.h"

#include <cassert>

using namespace tessera::frontend;

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

namespace {
struct Refusal {
  std::string_view construct; // Diagnostic::construct
  const char *subject;        // "... is not part of the Tessera language"
  const char *fix;
};
} // namespace

static constexpr Refusal refusals[] = {
    // Statements.
    {"try", "'try'",
     "the lines under 'try' alone; what can fail ends the call, so 'try' "
     "belongs "
     "around the call, with except tsr.TesseraError:"},
    {"raise", "'raise'", "assert condition, \"text\""},
    {"with", "'with'",
     "the lines inside it without the 'with'; it belongs around the call"},
    {"class", "'class'", "write functions; keep state in the calling code"},
    {"global", "'global'",
     "without this line; take the value as a parameter and return it"},
    {"nonlocal", "'nonlocal'",
     "without this line; take the value as a parameter and return it"},
    {"del", "'del'",
     "without this line; values end when they are no longer used"},
    {"async", "'async'", "drop 'async'; calls are ordered by their data"},
    {"match", "'match'", "if ... elif ... else"},
    {"import", "an import inside a function",
     "import at the top of the file; 'math' and 'tsr' can be used here"},
    {"nested function", "a function inside a function or block",
     "move it to module level, @tsr.function above it; it is inlined where a "
     "kernel calls it"},
    {"for-else", "'else' after a 'for' loop",
     "set a variable in the loop and test it behind the loop"},
    {"while-else", "'else' after a 'while' loop",
     "set a variable in the loop and test it behind the loop"},
    {"*args", "a '*' parameter", "give every parameter a name"},
    {"**kwargs", "a '**' parameter", "give every parameter a name"},
    // Expressions.
    {"yield", "'yield'",
     "without this line; a function returns all values at once: return a, b"},
    {"await", "'await'", "drop 'await'; calls are ordered by their data"},
    {"lambda", "'lambda'",
     "a named @tsr.function outside this one: def name(x):"},
    {"list comprehension", "a list comprehension",
     "use a 'for' loop, or one operation on the whole tensor"},
    {"set comprehension", "a set comprehension",
     "use a 'for' loop, or one operation on the whole tensor"},
    {"dict comprehension", "a dict comprehension",
     "use a 'for' loop, or write the entries out"},
    {"generator expression", "a generator expression",
     "use a 'for' loop, or one operation on the whole tensor"},
    {":=", "':='", "assign on a line of its own: name = value"},
    {"starred", "'*' in front of a value outside a call",
     "write the elements out: a, b, c"},
    {"set", "a set", "use a tuple: (a, b)"},
    {"dict unpacking", "'**' in a dict", "write the entries out"},
    {"f-string", "an f-string", "print(\"x =\", x)"},
    {"bytes", "a bytes literal", "use a plain string"},
    {"complex", "a complex number",
     "keep the real and the imaginary part apart"},
};

Failure Parser::refuse(SourceRange where, std::string_view construct,
                       std::string fix, std::string name) {
  if (failed)
    return {};
  for (const Refusal &refusal : refusals) {
    if (refusal.construct != construct)
      continue;
    failed = true;
    Diagnostic &error =
        diags.error(where, std::string(refusal.subject) +
                               (name.empty() ? "" : ", " + name + ",") +
                               " is not part of the Tessera language");
    error.setFix(fix.empty() ? std::string(refusal.fix) : std::move(fix));
    error.construct = construct;
    return {};
  }
  assert(false && "construct is not in the table of refusals");
  return error(where, "this is not part of the Tessera language");
}

//===----------------------------------------------------------------------===//
// Tokens and errors
//===----------------------------------------------------------------------===//

static PreprocessorOptions makeOptions(const ParserOptions &options,
                                       TextKind kind) {
  PreprocessorOptions result;
  result.maxBrackets = options.maxBrackets;
  result.maxIndents = options.maxIndents;
  result.segment = kind == TextKind::Function;
  result.singleLine = kind == TextKind::Expression;
  return result;
}

Parser::Parser(ASTContext &context, const SourceFile &file, FileId id,
               DiagnosticEngine &diags, const ParserOptions &options,
               TextKind kind)
    : context(context), id(id), diags(diags), options(options), kind(kind),
      tokenDiags(diags.getSources()),
      preprocessor(file, id, tokenDiags, makeOptions(options, kind)),
      lastEnd{file.getFirstLine(), file.getColumnOffset() + 1} {}

const Token &Parser::peek(size_t ahead) {
  while (lookahead.size() <= ahead) {
    Token token = preprocessor.next();
    lookahead.push_back(token);
  }
  return lookahead[ahead];
}

Token Parser::consume() {
  Token token = peek();
  // The last tokens are there for ever.
  if (!token.is(TokenKind::EndOfFile) && !token.is(TokenKind::Error))
    lookahead.pop_front();
  switch (token.kind) {
  case TokenKind::Newline:
  case TokenKind::Indent:
  case TokenKind::Dedent:
  case TokenKind::EndOfFile:
  case TokenKind::Error:
    break;
  default:
    lastEnd = token.range.end;
  }
  return token;
}

bool Parser::consumeIf(TokenKind kind) {
  if (!at(kind))
    return false;
  consume();
  return true;
}

bool Parser::expect(TokenKind kind, const char *after) {
  if (consumeIf(kind))
    return true;
  unexpected(describeToken(kind) + " after " + after);
  return false;
}

Failure Parser::error(SourceRange where, std::string message, std::string fix) {
  if (!failed)
    diags.error(where, std::move(message)).setFix(std::move(fix));
  failed = true;
  return {};
}

Failure Parser::unexpected(const std::string &expected) {
  const Token &token = peek();
  if (token.is(TokenKind::Error))
    return passOnTokenError();
  std::string found = describeToken(token.kind);
  if (token.is(TokenKind::Name) || token.is(TokenKind::Int) ||
      token.is(TokenKind::Float))
    if (token.text.size() <= 40)
      found = "'" + std::string(token.text) + "'";
  return error(token.range, "expected " + expected + ", found " + found);
}

Failure Parser::passOnTokenError() {
  if (!failed)
    diags.add(tokenDiags.getDiagnostics().front());
  failed = true;
  return {};
}

bool Parser::checkDepth(uint32_t depth) {
  if (depth <= options.maxDepth)
    return true;
  error(peek().range,
        "this is nested more than " + std::to_string(options.maxDepth) +
            " levels deep",
        "give a part of it a name, on a line of its own");
  return false;
}

bool Parser::checkCount(size_t count) {
  if (count <= options.maxElements)
    return true;
  error(peek().range, "more than " + std::to_string(options.maxElements) +
                          " elements or arguments");
  return false;
}

std::string tessera::frontend::findLongName(std::string_view name) {
  // Plans and symbols hold names of 255 bytes, with endings of ours.
  constexpr size_t longest = 200;
  if (name.size() <= longest)
    return "";
  return "the name " + std::string(name.substr(0, 20)) + "... has " +
         std::to_string(name.size()) + " characters; one has at most " +
         std::to_string(longest);
}

bool Parser::checkNameLength(const Token &name) {
  std::string message = findLongName(name.text);
  if (message.empty())
    return true;
  error({name.range.file,
         name.range.begin,
         {name.range.begin.line, name.range.begin.column + 20}},
        message, std::string(name.text.substr(0, 20)));
  return false;
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

Module *Parser::parseModule() {
  Module *module = create<Module>(lastEnd);
  uint32_t functions = 0;
  while (!at(TokenKind::EndOfFile)) {
    functions += at(TokenKind::At) || at(TokenKind::KwDef);
    if (functions > options.maxFunctions)
      return error(peek().range,
                   "this file has more than " +
                       std::to_string(options.maxFunctions) + " functions",
                   "divide it into files");
    if (!parseStatement(module->body))
      return nullptr;
  }
  module->range.end = lastEnd;
  return module;
}

FunctionDef *Parser::parseOnlyFunction() {
  switch (peek().kind) {
  case TokenKind::At:
  case TokenKind::KwDef:
    return parseFunctionDef();
  case TokenKind::KwAsync:
    return refuse(peek().range, "async");
  case TokenKind::KwClass:
    return refuse(peek().range, "class");
  default:
    return unexpected("a function ('def' or a decorator)");
  }
}

Expr *Parser::parseOnlyExpression() {
  Expr *expr = parseExpressionList();
  if (!expr)
    return nullptr;
  consumeIf(TokenKind::Newline);
  if (!at(TokenKind::EndOfFile))
    return unexpected("the end of the expression");
  return expr;
}

/// Says so if the text is longer than a program can be.
static bool checkLength(const SourceFile &source, FileId file,
                        DiagnosticEngine &diags, const ParserOptions &options) {
  if (source.getText().size() <= options.maxText)
    return true;
  SourcePosition begin{source.getFirstLine(), 1};
  diags.error({file, begin, {begin.line, 2}},
              "this text has " + std::to_string(source.getText().size() >> 20) +
                  " megabytes; a program has at most " +
                  std::to_string(options.maxText >> 20));
  return false;
}

Module *tessera::frontend::parseModule(ASTContext &context,
                                       const SourceManager &sources,
                                       FileId file, DiagnosticEngine &diags,
                                       const ParserOptions &options) {
  const SourceFile *source = sources.get(file);
  assert(source && "no such file");
  if (!checkLength(*source, file, diags, options))
    return nullptr;
  return Parser(context, *source, file, diags, options, TextKind::Module)
      .parseModule();
}

FunctionDef *tessera::frontend::parseFunction(ASTContext &context,
                                              const SourceManager &sources,
                                              FileId file,
                                              DiagnosticEngine &diags,
                                              const ParserOptions &options) {
  const SourceFile *source = sources.get(file);
  assert(source && "no such file");
  if (!checkLength(*source, file, diags, options))
    return nullptr;
  return Parser(context, *source, file, diags, options, TextKind::Function)
      .parseOnlyFunction();
}

Expr *tessera::frontend::parseExpression(ASTContext &context,
                                         const SourceManager &sources,
                                         FileId file, DiagnosticEngine &diags,
                                         const ParserOptions &options) {
  const SourceFile *source = sources.get(file);
  assert(source && "no such file");
  if (!checkLength(*source, file, diags, options))
    return nullptr;
  return Parser(context, *source, file, diags, options, TextKind::Expression)
      .parseOnlyExpression();
}
