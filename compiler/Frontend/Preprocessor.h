//===- Preprocessor.h - Logical lines, indentation, imports -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between lexer and parser: joins physical lines (backslash, open brackets),
// drops comments and blank lines, turns indentation into Indent and Dedent, and
// says which modules may be imported. There are no macros.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_FRONTEND_PREPROCESSOR_H
#define TESSERA_COMPILER_FRONTEND_PREPROCESSOR_H

#include "compiler/Frontend/Lexer.h"

#include <optional>

namespace tessera::frontend {

struct PreprocessorOptions {
  uint32_t maxBrackets = 200;
  uint32_t maxIndents = 100;
  /// The text is cut out of a larger file: the first line sets the indentation
  /// of the outermost level, and a line left of it ends the text.
  bool segment = false;
  /// The whole text is one logical line.
  bool singleLine = false;
};

class Preprocessor {
public:
  Preprocessor(const SourceFile &file, FileId id, DiagnosticEngine &diags,
               const PreprocessorOptions &options)
      : lexer(file, id, diags), diags(diags), options(options) {}

  /// After EndOfFile or Error, always the same again.
  Token next();

private:
  /// Columns of the first token of a line: tabs stop at multiples of 8, and of
  /// 1. Two lines compare alike in both, or tabs and blanks are mixed.
  struct Indentation {
    uint32_t column = 0;
    uint32_t alternative = 0;

    bool operator==(const Indentation &) const = default;
  };

  Indentation measure(size_t end) const;
  Token startLine(const Token &first);
  Token fail(const Token &token, std::string message, std::string fix = {},
             const Token *other = nullptr);
  bool trackBracket(const Token &token);
  Token hold(Token emitted, const Token &later);

  Lexer lexer;
  DiagnosticEngine &diags;
  PreprocessorOptions options;
  std::vector<Indentation> levels;
  std::vector<Token> brackets;
  size_t lineStart = 0;
  bool atLineStart = true;
  // Emitted before the next token is read.
  uint32_t pendingDedents = 0;
  bool hasHeld = false;
  Token held;
};

/// What `import` finds. Everything else is refused.
enum class KnownModule : uint8_t { Tessera, Math };

/// The module of this name, if it can be imported with `import name`, or, if
/// `from` is set, with `from name import ...`.
std::optional<KnownModule> resolveImport(std::string_view name, bool from);

} // namespace tessera::frontend

#endif // TESSERA_COMPILER_FRONTEND_PREPROCESSOR_H
