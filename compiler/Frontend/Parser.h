//===- Parser.h - From text to a syntax tree --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The grammar is a subset of Python 3.11's. A text is either parsed to the tree
// that Python's `ast` makes of it, or refused; what is Python but not Tessera
// is refused by name (`Diagnostic::construct`). The parser stops at the first
// error.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_FRONTEND_PARSER_H
#define TESSERA_COMPILER_FRONTEND_PARSER_H

#include "compiler/Frontend/AST.h"
#include "compiler/Frontend/Diagnostics.h"

namespace tessera::frontend {

struct ParserOptions {
  /// Bound on the depth of the tree, and so on the stack of every later walk.
  uint32_t maxDepth = 1000;
  /// Bounds on open brackets and on indentation levels; those of Python.
  uint32_t maxBrackets = 200;
  uint32_t maxIndents = 100;
  /// Bounds on what one function may have: it is compiled as one.
  uint32_t maxStatements = 20000;
  uint32_t maxParameters = 1000;
  uint32_t maxComparisons = 100; // in one chain: a < b < c
  uint32_t maxElements = 4096;   // of a list, a call, a subscript
  uint32_t maxFunctions = 1000;  // of a file
  /// Bound on the text, in bytes.
  uint32_t maxText = 16 << 20;
};

/// Parses a whole file (a `.tessera` file). Returns null after an error, which
/// is then in `diags`.
Module *parseModule(ASTContext &context, const SourceManager &sources,
                    FileId file, DiagnosticEngine &diags,
                    const ParserOptions &options = {});

/// Parses the one function, with its decorators, at the start of the text; what
/// follows it is not looked at. The text may be indented or dedented: see
/// SourceFile. Returns null after an error, which is then in `diags`.
FunctionDef *parseFunction(ASTContext &context, const SourceManager &sources,
                           FileId file, DiagnosticEngine &diags,
                           const ParserOptions &options = {});

/// Parses one expression that may span lines without brackets around it (the
/// text of an option such as `where="BLOCK_M * BLOCK_N <= 32768"`).
Expr *parseExpression(ASTContext &context, const SourceManager &sources,
                      FileId file, DiagnosticEngine &diags,
                      const ParserOptions &options = {});

/// What is wrong with a name that plans and symbols cannot hold; else empty.
std::string findLongName(std::string_view name);

} // namespace tessera::frontend

#endif // TESSERA_COMPILER_FRONTEND_PARSER_H
