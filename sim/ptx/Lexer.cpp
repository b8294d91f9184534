// The PTX tokeniser.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/ptx/Lexer.h"

#include <bit>
#include <cstdlib>

namespace tessera::sim::ptx {

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isHex(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '$' || c == '%';
}
bool isWord(char c) { return isLetter(c) || isDigit(c); }

class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    tokens.reserve(text.size() / 5);
    while (true) {
      skipBlank();
      Token token = next();
      token.assembly = inAssembly;
      tokens.push_back(token);
      if (token.kind == Token::End)
        return tokens;
    }
  }

private:
  std::string_view text;
  size_t at = 0, lineStart = 0;
  unsigned line = 1, inAssembly = 0, assemblies = 0;

  char peek(size_t ahead = 0) const {
    return at + ahead < text.size() ? text[at + ahead] : '\0';
  }
  unsigned column() const { return unsigned(at - lineStart) + 1; }
  void newline() {
    ++line;
    lineStart = at;
  }

  void skipBlank() {
    while (at < text.size()) {
      char c = text[at];
      if (c == '\n') {
        ++at;
        newline();
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' ||
                 c == '\0') {
        ++at;
      } else if (c == '/' && peek(1) == '/') {
        std::string_view comment = text.substr(at, 19);
        if (comment.starts_with("// begin inline asm"))
          inAssembly = ++assemblies;
        else if (comment.starts_with("// end inline asm"))
          inAssembly = 0;
        while (at < text.size() && text[at] != '\n')
          ++at;
      } else if (c == '/' && peek(1) == '*') {
        unsigned startLine = line, startColumn = column();
        at += 2;
        while (at < text.size() && !(text[at] == '*' && peek(1) == '/')) {
          bool isNewline = text[at] == '\n';
          ++at;
          if (isNewline)
            newline();
        }
        if (at >= text.size())
          throw Error(startLine, startColumn, "comment is not closed");
        at += 2;
      } else {
        return;
      }
    }
  }

  Token make(Token::Kind kind, size_t begin, uint64_t bits = 0) {
    return {kind, line, unsigned(begin - lineStart) + 1,
            text.substr(begin, at - begin), bits};
  }

  Token next() {
    size_t begin = at;
    if (at >= text.size())
      return make(Token::End, begin);
    char c = text[at];
    if (isDigit(c))
      return number();
    if (isLetter(c) || (c == '.' && isLetter(peek(1)))) {
      ++at;
      wordTail(/*dots=*/c != '.');
      return make(c == '.' ? Token::Directive : Token::Word, begin);
    }
    if (c == '"')
      return string();
    if (std::string_view("{}[](),;:@!|+-*/<>=~&^?").find(c) !=
        std::string_view::npos) {
      ++at;
      return make(Token::Punct, begin);
    }
    throw Error(line, column(),
                std::string("unexpected character '") + c + "'");
  }

  /// Letters, digits, and dots or `::` that continue a modifier.
  void wordTail(bool dots) {
    while (at < text.size()) {
      if (isWord(text[at])) {
        ++at;
      } else if (dots && text[at] == '.' && isWord(peek(1))) {
        ++at;
      } else if (text[at] == ':' && peek(1) == ':' && isWord(peek(2))) {
        at += 2;
      } else {
        return;
      }
    }
  }

  Token string() {
    size_t begin = at++;
    while (at < text.size() && text[at] != '"' && text[at] != '\n')
      at += text[at] == '\\' && at + 1 < text.size() ? 2 : 1;
    if (at >= text.size() || text[at] != '"')
      throw Error(line, unsigned(begin - lineStart) + 1,
                  "string is not closed");
    ++at;
    Token token = make(Token::String, begin);
    token.text = token.text.substr(1, token.text.size() - 2);
    return token;
  }

  Token number() {
    size_t begin = at;
    char c1 = peek(1);
    if (text[at] == '0' && (c1 == 'f' || c1 == 'F' || c1 == 'd' || c1 == 'D')) {
      unsigned digits = (c1 == 'f' || c1 == 'F') ? 8 : 16;
      at += 2;
      uint64_t bits = 0;
      for (unsigned i = 0; i < digits; ++i, ++at) {
        if (!isHex(peek()))
          throw Error(line, column(),
                      "floating-point literal needs " + std::to_string(digits) +
                          " hexadecimal digits");
        char d = peek();
        bits =
            bits * 16 + unsigned(isDigit(d) ? d - '0' : (d | 0x20) - 'a' + 10);
      }
      return make(digits == 8 ? Token::Float32 : Token::Float64, begin, bits);
    }
    unsigned base = 10;
    if (text[at] == '0' && (c1 == 'x' || c1 == 'X')) {
      base = 16;
      at += 2;
    } else if (text[at] == '0' && (c1 == 'b' || c1 == 'B') &&
               (peek(2) == '0' || peek(2) == '1')) {
      base = 2;
      at += 2;
    }
    size_t digitsBegin = at;
    while (base == 16 ? isHex(peek()) : isDigit(peek()))
      ++at;
    if (base == 10 && (peek() == '.' || peek() == 'e' || peek() == 'E') &&
        (peek() != '.' || !isLetter(peek(1)))) {
      if (peek() == '.')
        ++at;
      while (isDigit(peek()))
        ++at;
      if (peek() == 'e' || peek() == 'E') {
        ++at;
        if (peek() == '+' || peek() == '-')
          ++at;
        while (isDigit(peek()))
          ++at;
      }
      std::string copy(text.substr(begin, at - begin));
      return make(Token::Float64, begin,
                  std::bit_cast<uint64_t>(std::strtod(copy.c_str(), nullptr)));
    }
    if (at == digitsBegin)
      throw Error(line, column(), "number has no digits");
    if (base == 10 && text[begin] == '0' && at - begin > 1)
      base = 8;
    uint64_t value = 0;
    for (size_t i = digitsBegin; i < at; ++i) {
      char d = text[i];
      unsigned digit = isDigit(d) ? d - '0' : (d | 0x20) - 'a' + 10;
      if (digit >= base)
        throw Error(line, unsigned(i - lineStart) + 1,
                    "digit does not belong to the base of the number");
      value = value * base + digit;
    }
    if (peek() == 'U' || peek() == 'u')
      ++at;
    return make(Token::Integer, begin, value);
  }
};

} // namespace

std::vector<Token> lex(std::string_view text) { return Lexer(text).run(); }

} // namespace tessera::sim::ptx
