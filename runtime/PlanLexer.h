// Tokens of one line of a plan.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_RUNTIME_PLANLEXER_H
#define TESSERA_RUNTIME_PLANLEXER_H

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::runtime {

struct Token {
  enum class Kind : uint8_t {
    EndOfLine,
    Word,    // keyword or dtype
    Tensor,  // %name; text is the name
    Integer, // $name
    Kernel,  // @name
    Number,
    String, // text is what stands between the quotes, escapes not replaced
    Symbol, // [ ] ( ) , ; : ? + - * = == != < <= > >=
    Bad,    // text says what is wrong
  };
  Kind kind = Kind::EndOfLine;
  std::string_view text;
  int64_t number = 0;

  bool is(std::string_view word) const {
    return (kind == Kind::Word || kind == Kind::Symbol) && text == word;
  }
};

/// "'%x'", "end of line": how a message names a token.
std::string describe(const Token &token);

/// Reads the tokens of a line with one token of lookahead.
class LineLexer {
public:
  explicit LineLexer(std::string_view line) : rest(line) { advance(); }

  const Token &peek() const { return current; }
  Token take() {
    Token token = current;
    advance();
    return token;
  }
  /// Takes the token if it is this word or symbol.
  bool accept(std::string_view word) {
    if (!current.is(word))
      return false;
    advance();
    return true;
  }
  /// Where the lookahead token begins.
  const char *position() const { return start; }

private:
  void advance();
  void lexName(Token::Kind kind);
  void lexNumber();
  void lexString();
  void bad(std::string_view what);

  std::string_view rest; // behind the lookahead token
  const char *start = nullptr;
  Token current;
};

} // namespace tessera::runtime

#endif
