// Tokens of one line of a plan.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/PlanLexer.h"

#include <limits>

namespace tessera::runtime {

static constexpr size_t maxNameLength = 255;

static bool isDigit(char c) { return c >= '0' && c <= '9'; }

static bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '.' || static_cast<unsigned char>(c) >= 0x80;
}

static int hexDigit(char c) {
  if (isDigit(c))
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

std::string describe(const Token &token) {
  std::string text(token.text.substr(0, 40));
  switch (token.kind) {
  case Token::Kind::EndOfLine:
    return "the end of the line";
  case Token::Kind::Bad:
    return text;
  case Token::Kind::Tensor:
    return "'%" + text + "'";
  case Token::Kind::Integer:
    return "'$" + text + "'";
  case Token::Kind::Kernel:
    return "'@" + text + "'";
  case Token::Kind::String:
    return "a string";
  default:
    return "'" + text + "'";
  }
}

void LineLexer::bad(std::string_view what) {
  current.kind = Token::Kind::Bad;
  current.text = what;
  rest = {}; // one error per line is enough
}

void LineLexer::lexName(Token::Kind kind) {
  if (kind != Token::Kind::Word)
    rest.remove_prefix(1); // the sigil
  size_t length = 0;
  while (length < rest.size() &&
         (isLetter(rest[length]) || isDigit(rest[length]) ||
          (rest[length] == '$' && kind == Token::Kind::Kernel)))
    ++length;
  if (length == 0)
    return bad("a sigil without a name");
  if (length > maxNameLength)
    return bad("a name of more than 255 bytes");
  current.kind = kind;
  current.text = rest.substr(0, length);
  rest.remove_prefix(length);
}

void LineLexer::lexNumber() {
  bool isHex = rest.size() > 1 && rest[0] == '0' && rest[1] == 'x';
  uint64_t value = 0, base = isHex ? 16 : 10;
  uint64_t limit = isHex ? std::numeric_limits<uint64_t>::max()
                         : std::numeric_limits<int64_t>::max();
  size_t length = isHex ? 2 : 0, first = length;
  for (; length < rest.size(); ++length) {
    int digit = isHex ? hexDigit(rest[length])
                      : (isDigit(rest[length]) ? rest[length] - '0' : -1);
    if (digit < 0)
      break;
    auto add = static_cast<uint64_t>(digit);
    if (value > (limit - add) / base)
      return bad("a number that doesn't fit 64 bits");
    value = value * base + add;
  }
  if (length == first || (length < rest.size() &&
                          (isLetter(rest[length]) || isDigit(rest[length]))))
    return bad("a malformed number");
  current.kind = Token::Kind::Number;
  current.text = rest.substr(0, length);
  current.number = static_cast<int64_t>(value);
  rest.remove_prefix(length);
}

void LineLexer::lexString() {
  for (size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '\\') {
      ++i;
      if (i >= rest.size() ||
          std::string_view("\"\\nt").find(rest[i]) == std::string_view::npos)
        return bad("an unknown escape in a string");
    } else if (rest[i] == '"') {
      current.kind = Token::Kind::String;
      current.text = rest.substr(1, i - 1);
      rest.remove_prefix(i + 1);
      return;
    }
  }
  bad("a string without its closing quote");
}

void LineLexer::advance() {
  current = Token();
  size_t blank = rest.find_first_not_of(" \t");
  rest.remove_prefix(blank == std::string_view::npos ? rest.size() : blank);
  start = rest.data();
  if (rest.empty() || rest[0] == '#')
    return;
  char c = rest[0];
  switch (c) {
  case '%':
    return lexName(Token::Kind::Tensor);
  case '$':
    return lexName(Token::Kind::Integer);
  case '@':
    return lexName(Token::Kind::Kernel);
  case '"':
    return lexString();
  default:
    break;
  }
  if (isDigit(c))
    return lexNumber();
  if (isLetter(c))
    return lexName(Token::Kind::Word);
  current.kind = Token::Kind::Symbol;
  std::string_view two = rest.substr(0, 2);
  size_t length =
      two == "==" || two == "!=" || two == "<=" || two == ">=" ? 2 : 1;
  if (length == 1 &&
      std::string_view("[](),;:?+-*=<>").find(c) == std::string_view::npos)
    return bad("a character that has no meaning here");
  current.text = rest.substr(0, length);
  rest.remove_prefix(length);
}

} // namespace tessera::runtime
