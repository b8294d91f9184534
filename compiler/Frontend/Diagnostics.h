//===- Diagnostics.h - Messages for the user --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What went wrong, where, the other places involved, and what to write instead;
// and the one renderer that turns it into text:
//
//   gemm.py:6:22: error: k covers dim K, but axis 0 of A is M
//       6 |             acc += A[k, m] @ B[k, n]
//         |                      ^
//    note: gemm.py:2:10: A: Tensor["M", "K"]
//    fix:  A[m, k]
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_FRONTEND_DIAGNOSTICS_H
#define TESSERA_COMPILER_FRONTEND_DIAGNOSTICS_H

#include "compiler/Frontend/SourceFile.h"

#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace tessera::frontend {

enum class Severity : uint8_t { Error, Warning, Remark };

/// Another place involved. An invalid range leaves the location out.
struct Note {
  SourceRange where;
  std::string text;
};

struct Diagnostic {
  SourceRange where;
  /// Starts in lower case, no full stop.
  std::string message;
  std::vector<Note> notes;
  /// Where the names under the caret come from. Shown behind the notes unless
  /// the error or a note stands on that line already.
  std::vector<Note> origins;
  /// Code to paste or a phrase that says what to write; may be empty, may have
  /// several lines.
  std::string fix;
  /// What the fix replaces, if that is not what the caret stands under. Of a
  /// part of it all is shown, with the fix in its place; of another line, its
  /// number.
  SourceRange fixRange;
  /// Set when a construct of Python is refused by name: "try", "lambda", ...
  /// Tools and tests use it; the message says it in words.
  std::string construct;
  Severity severity = Severity::Error;

  Diagnostic &addNote(SourceRange where, std::string text) & {
    notes.push_back({where, std::move(text)});
    return *this;
  }
  Diagnostic &setFix(std::string code) & {
    fix = std::move(code);
    return *this;
  }
  Diagnostic &setFix(std::string code, SourceRange replaces) & {
    fixRange = replaces;
    return setFix(std::move(code));
  }
};

/// Collects diagnostics in the order in which they are found.
class DiagnosticEngine {
public:
  explicit DiagnosticEngine(const SourceManager &sources) : sources(sources) {}

  /// Adds an error. Returned by reference so that notes and a fix can be
  /// chained:
  ///   diags.error(range, "...").addNote(other, "...").setFix("...");
  Diagnostic &error(SourceRange where, std::string message);
  Diagnostic &warning(SourceRange where, std::string message);
  Diagnostic &remark(SourceRange where, std::string message);
  Diagnostic &add(Diagnostic diagnostic);

  /// Forgets all but the first `count` diagnostics: of what was only tried.
  void truncate(size_t count);

  bool hasErrors() const { return errorCount != 0; }
  size_t getErrorCount() const { return errorCount; }
  const std::deque<Diagnostic> &getDiagnostics() const { return diagnostics; }
  const SourceManager &getSources() const { return sources; }

  /// All diagnostics as the user reads them, one after the other.
  std::string render(bool colour = false) const;

private:
  const SourceManager &sources;
  std::deque<Diagnostic> diagnostics; // references stay valid
  size_t errorCount = 0;
};

/// One diagnostic as text, ending in a line end. Colour is the caller's choice
/// (a terminal, and NO_COLOR unset). Tabs are shown as blanks up to the next
/// multiple of 8 and wide characters take two columns, so that the caret stands
/// under the right character; control characters never reach the terminal.
std::string renderDiagnostic(const SourceManager &sources,
                             const Diagnostic &diagnostic, bool colour = false);

/// Columns a terminal uses for a code point: 0, 1 or 2.
unsigned getDisplayWidth(uint32_t codePoint);

} // namespace tessera::frontend

#endif // TESSERA_COMPILER_FRONTEND_DIAGNOSTICS_H
