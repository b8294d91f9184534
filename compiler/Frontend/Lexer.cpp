//===- Lexer.cpp - From text to tokens ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/Lexer.h"

#include "compiler/Frontend/Unicode.h"

#include <algorithm>

using namespace tessera::frontend;

namespace {
struct Spelling {
  TokenKind kind;
  std::string_view text;
};
} // namespace

static constexpr Spelling keywords[] = {
#define TESSERA_KEYWORD(id, text) {TokenKind::id, text},
#include "compiler/Frontend/TokenKinds.inc"
};

static constexpr Spelling operators[] = {
#define TESSERA_OPERATOR(id, text) {TokenKind::id, text},
#include "compiler/Frontend/TokenKinds.inc"
};

std::string tessera::frontend::describeToken(TokenKind kind) {
  switch (kind) {
  case TokenKind::EndOfFile:
    return "the end of the text";
  case TokenKind::Newline:
    return "the end of the line";
  case TokenKind::Indent:
    return "an indented line";
  case TokenKind::Dedent:
    return "the end of the block";
  case TokenKind::Name:
    return "a name";
  case TokenKind::Int:
  case TokenKind::Float:
  case TokenKind::Complex:
    return "a number";
  case TokenKind::String:
    return "a string";
  default:
    break;
  }
  for (const Spelling &spelling : keywords)
    if (spelling.kind == kind)
      return "'" + std::string(spelling.text) + "'";
  for (const Spelling &spelling : operators)
    if (spelling.kind == kind)
      return "'" + std::string(spelling.text) + "'";
  return "a token";
}

bool Token::isKeyword() const {
  return kind >= std::begin(keywords)->kind &&
         kind <= std::prev(std::end(keywords))->kind;
}

//===----------------------------------------------------------------------===//
// Moving through the text
//===----------------------------------------------------------------------===//

bool Lexer::bump() {
  unsigned char c = text[offset];
  if (c < 0x80) {
    ++offset;
    if (c == '\n') {
      ++position.line;
      position.column = firstColumn;
    } else {
      ++position.column;
    }
    return true;
  }
  uint32_t codePoint;
  unsigned length = decodeUtf8(text, offset, codePoint);
  if (codePoint == 0xFFFFFFFF) {
    failAt(here(), "the text is not UTF-8 here", "save the file as UTF-8");
    return false;
  }
  offset += length;
  ++position.column;
  return true;
}

void Lexer::bump(size_t asciiCount) {
  offset += asciiCount;
  position.column += asciiCount;
}

SourceRange Lexer::here() const {
  return {id, position, {position.line, position.column + 1}};
}

Token Lexer::finish(TokenKind kind) const {
  Token token;
  token.kind = kind;
  token.range = {id, start, position};
  token.offset = startOffset;
  token.text = text.substr(startOffset, offset - startOffset);
  return token;
}

Token Lexer::fail(std::string message, std::string fix) {
  return failAt({id, start, position}, std::move(message), std::move(fix));
}

Token Lexer::failAt(SourceRange where, std::string message, std::string fix) {
  if (!failed)
    diags.error(where, std::move(message)).setFix(std::move(fix));
  failed = true;
  return finish(TokenKind::Error);
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

static bool isDecimalDigit(char c) { return c >= '0' && c <= '9'; }
static bool isOctalDigit(char c) { return c >= '0' && c <= '7'; }
static bool isBinaryDigit(char c) { return c == '0' || c == '1'; }
static bool isHexDigit(char c) {
  return isDecimalDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
static bool isNameByte(char c) {
  return static_cast<unsigned char>(c) >= 0x80 || isIdentifierContinue(c);
}

Token Lexer::next() {
  while (!failed && (peek() == ' ' || peek() == '\t' || peek() == '\f') &&
         !atEnd())
    bump(1);
  startOffset = offset;
  start = position;
  if (failed)
    return finish(TokenKind::Error);
  if (atEnd())
    return finish(TokenKind::EndOfFile);

  char c = peek();
  if (c == '\n') {
    // The range ends on the line it closes, not on the next one.
    Token token = finish(TokenKind::Newline);
    bump();
    token.text = text.substr(startOffset, 1);
    token.range.end = {start.line, start.column + 1};
    return token;
  }
  if (c == '#') {
    while (!atEnd() && peek() != '\n') {
      if (peek() == '\0')
        return failAt(here(), "the text holds a null byte");
      if (!bump())
        return finish(TokenKind::Error);
    }
    return finish(TokenKind::Comment);
  }
  if (c == '\\')
    return lexLineJoin();
  if (isDecimalDigit(c) || (c == '.' && isDecimalDigit(peek(1))))
    return lexNumber();
  if (c == '"' || c == '\'')
    return lexString();
  if (!isDecimalDigit(c) && isNameByte(c))
    return lexName();
  return lexOperator();
}

Token Lexer::lexLineJoin() {
  bump(1);
  if (atEnd())
    return fail("the text ends after a line continuation");
  if (peek() != '\n')
    return failAt(here(), "unexpected character after the line continuation",
                  "end the line right after the backslash");
  bump();
  if (atEnd())
    return fail("the text ends after a line continuation");
  return finish(TokenKind::LineJoin);
}

static bool isStringPrefix(std::string_view name) {
  std::string lower(name);
  for (char &c : lower)
    c = c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
  for (std::string_view prefix : {"r", "u", "b", "f", "br", "rb", "fr", "rf"})
    if (lower == prefix)
      return true;
  return false;
}

Token Lexer::lexName() {
  bool ascii = true;
  while (!atEnd() && isNameByte(peek())) {
    uint32_t codePoint;
    decodeUtf8(text, offset, codePoint);
    bool valid = offset == startOffset ? isIdentifierStart(codePoint)
                                       : isIdentifierContinue(codePoint);
    if (!valid && codePoint != 0xFFFFFFFF)
      return failAt(here(), "this character cannot stand in a name");
    if (codePoint < 0x80) {
      bump(1);
      continue;
    }
    ascii = false;
    bool changes = mayChangeUnderNormalisation(codePoint);
    SourceRange where = here();
    if (!bump())
      return finish(TokenKind::Error);
    if (changes) {
      failed = true;
      Diagnostic &error =
          diags.error(where, "Python reads this character of a name as another "
                             "one; it is not part of the Tessera language");
      error.setFix("use a plain letter");
      error.construct = "identifier";
      return finish(TokenKind::Error);
    }
  }
  std::string_view name = text.substr(startOffset, offset - startOffset);
  if ((peek() == '"' || peek() == '\'') && name.size() <= 2 &&
      isStringPrefix(name))
    return lexString();
  if (ascii)
    for (const Spelling &keyword : keywords)
      if (keyword.text == name)
        return finish(keyword.kind);
  return finish(TokenKind::Name);
}

Token Lexer::lexOperator() {
  for (const Spelling &spelling : operators) {
    if (text.substr(offset).starts_with(spelling.text)) {
      bump(spelling.text.size());
      return finish(spelling.kind);
    }
  }
  char c = peek();
  if (c == '\0')
    return failAt(here(), "the text holds a null byte");
  if (c == '!')
    return failAt(here(), "'!' is not an operator", "not");
  if (c > ' ' && c < 0x7F)
    return failAt(here(), "'" + std::string(1, c) + "' has no meaning here");
  return failAt(here(), "this character cannot stand here");
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Digits with single underscores between them; the first is known to be there.
bool Lexer::lexDigits(bool (*isDigit)(char)) {
  while (true) {
    while (isDigit(peek()))
      bump(1);
    if (peek() != '_')
      return true;
    bump(1);
    if (!isDigit(peek()))
      return false;
  }
}

/// Python lets a keyword follow a number without a blank (`1if x else 2`), and
/// nothing else that could belong to a name.
Token Lexer::finishNumber(TokenKind kind, const char *what) {
  std::string_view rest = text.substr(offset);
  for (std::string_view keyword :
       {"and", "else", "for", "if", "in", "is", "or", "not"})
    if (rest.starts_with(keyword))
      return finish(kind);
  if (!atEnd() && isNameByte(peek()))
    return failAt(here(), std::string("invalid ") + what);
  return finish(kind);
}

Token Lexer::lexNumber() {
  static constexpr struct {
    char letter;
    bool (*isDigit)(char);
    const char *what;
  } bases[] = {{'x', isHexDigit, "hexadecimal number"},
               {'o', isOctalDigit, "octal number"},
               {'b', isBinaryDigit, "binary number"}};
  if (peek() == '0') {
    for (const auto &base : bases) {
      if ((peek(1) | 0x20) != base.letter)
        continue;
      bump(2);
      if (peek() == '_')
        bump(1);
      if (!base.isDigit(peek()) || !lexDigits(base.isDigit))
        return failAt(here(), std::string("invalid ") + base.what);
      if (isDecimalDigit(peek()))
        return failAt(here(),
                      std::string("invalid digit in this ") + base.what);
      return finishNumber(TokenKind::Int, base.what);
    }
  }

  const char *what = "decimal number";
  TokenKind kind = TokenKind::Int;
  if (peek() != '.' && !lexDigits(isDecimalDigit))
    return failAt(here(), std::string("invalid ") + what);
  std::string_view whole = text.substr(startOffset, offset - startOffset);
  if (peek() == '.') {
    kind = TokenKind::Float;
    bump(1);
    if (isDecimalDigit(peek()) && !lexDigits(isDecimalDigit))
      return failAt(here(), std::string("invalid ") + what);
  }
  if (peek() == 'e' || peek() == 'E') {
    size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
    if (isDecimalDigit(peek(1 + sign))) {
      kind = TokenKind::Float;
      bump(1 + sign);
      if (!lexDigits(isDecimalDigit))
        return failAt(here(), std::string("invalid ") + what);
    } else if (sign) {
      bump(1);
      return failAt(here(), std::string("invalid ") + what);
    }
  }
  if (peek() == 'j' || peek() == 'J') {
    bump(1);
    return finishNumber(TokenKind::Complex, "complex number");
  }
  if (kind == TokenKind::Int && whole[0] == '0' &&
      whole.find_first_not_of("0_") != std::string_view::npos)
    return fail("a decimal number cannot begin with 0",
                "0o for octal digits, or drop the leading zeros");
  return finishNumber(kind, what);
}

//===----------------------------------------------------------------------===//
// Strings
//===----------------------------------------------------------------------===//

/// From the opening quote on; a prefix has been read. What the string means is
/// decided in Literals.cpp: here only its end matters.
Token Lexer::lexString() {
  char quote = peek();
  bool triple = peek(1) == quote && peek(2) == quote;
  bump(triple ? 3 : 1);
  SourceRange opening = {id, start, position};
  while (!atEnd()) {
    char c = peek();
    if (c == '\0')
      return failAt(here(), "the text holds a null byte");
    if (c == '\n' && !triple)
      break;
    if (c == quote && (!triple || (peek(1) == quote && peek(2) == quote))) {
      bump(triple ? 3 : 1);
      return finish(TokenKind::String);
    }
    // A backslash keeps the next character from ending the string, in raw
    // strings too.
    if (c == '\\') {
      bump(1);
      if (atEnd())
        break;
      if (peek() == '\0')
        continue;
    }
    if (!bump())
      return finish(TokenKind::Error);
  }
  return failAt(opening,
                triple ? "this string has no closing quotes"
                       : "this string has no closing quote on its line",
                "add " + std::string(triple ? 3 : 1, quote));
}
