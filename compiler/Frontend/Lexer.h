//===- Lexer.h - From text to tokens ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts the text into tokens, one physical line at a time: line ends, comments
// and backslash joins are tokens of their own. The preprocessor turns that into
// logical lines and indentation.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_FRONTEND_LEXER_H
#define TESSERA_COMPILER_FRONTEND_LEXER_H

#include "compiler/Frontend/Diagnostics.h"
#include "compiler/Frontend/SourceFile.h"

namespace tessera::frontend {

enum class TokenKind : uint8_t {
  EndOfFile,
  Error, // already reported
  Newline,
  Comment,  // lexer only
  LineJoin, // lexer only: a backslash at the end of a line
  Indent,   // preprocessor only
  Dedent,   // preprocessor only
  Name,
  Int,
  Float,
  Complex,
  String,
#define TESSERA_KEYWORD(id, text) id,
#define TESSERA_OPERATOR(id, text) id,
#include "compiler/Frontend/TokenKinds.inc"
};

/// How a token is named in a message: "'if'", "'('", "a name", "end of line".
std::string describeToken(TokenKind kind);

struct Token {
  TokenKind kind = TokenKind::EndOfFile;
  SourceRange range;
  /// Where the text of the token begins in the SourceFile.
  size_t offset = 0;
  std::string_view text;

  bool is(TokenKind other) const { return kind == other; }
  bool isKeyword() const;
};

class Lexer {
public:
  Lexer(const SourceFile &file, FileId id, DiagnosticEngine &diags)
      : text(file.getText()), id(id), diags(diags),
        firstColumn(file.getColumnOffset() + 1),
        position{file.getFirstLine(), firstColumn} {}

  /// After EndOfFile or Error, always the same again.
  Token next();

  std::string_view getText() const { return text; }

private:
  char peek(size_t ahead = 0) const {
    return offset + ahead < text.size() ? text[offset + ahead] : '\0';
  }
  bool atEnd() const { return offset >= text.size(); }

  /// Moves over one character; false (and an error) if it is not UTF-8.
  bool bump();
  void bump(size_t asciiCount);

  Token finish(TokenKind kind) const;
  Token fail(std::string message, std::string fix = {});
  Token failAt(SourceRange where, std::string message, std::string fix = {});
  SourceRange here() const;

  Token lexLineJoin();
  Token lexName();
  Token lexNumber();
  Token lexString();
  Token lexOperator();
  bool lexDigits(bool (*isDigit)(char));
  Token finishNumber(TokenKind kind, const char *what);

  std::string_view text;
  FileId id;
  DiagnosticEngine &diags;
  uint32_t firstColumn;
  size_t offset = 0;
  SourcePosition position;
  // Of the token being read.
  size_t startOffset = 0;
  SourcePosition start;
  bool failed = false;
};

} // namespace tessera::frontend

#endif // TESSERA_COMPILER_FRONTEND_LEXER_H
