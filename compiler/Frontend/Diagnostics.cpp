//===- Diagnostics.cpp - Messages for the user ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/Diagnostics.h"

#include <algorithm>

using namespace tessera::frontend;

//===----------------------------------------------------------------------===//
// DiagnosticEngine
//===----------------------------------------------------------------------===//

Diagnostic &DiagnosticEngine::add(Diagnostic diagnostic) {
  if (diagnostic.severity == Severity::Error)
    ++errorCount;
  diagnostics.push_back(std::move(diagnostic));
  return diagnostics.back();
}

void DiagnosticEngine::truncate(size_t count) {
  while (diagnostics.size() > count) {
    errorCount -= diagnostics.back().severity == Severity::Error;
    diagnostics.pop_back();
  }
}

static Diagnostic make(Severity severity, SourceRange where,
                       std::string message) {
  Diagnostic diagnostic;
  diagnostic.where = where;
  diagnostic.message = std::move(message);
  diagnostic.severity = severity;
  return diagnostic;
}

Diagnostic &DiagnosticEngine::error(SourceRange where, std::string message) {
  return add(make(Severity::Error, where, std::move(message)));
}

Diagnostic &DiagnosticEngine::warning(SourceRange where, std::string message) {
  return add(make(Severity::Warning, where, std::move(message)));
}

Diagnostic &DiagnosticEngine::remark(SourceRange where, std::string message) {
  return add(make(Severity::Remark, where, std::move(message)));
}

std::string DiagnosticEngine::render(bool colour) const {
  std::string result;
  for (const Diagnostic &diagnostic : diagnostics)
    result += renderDiagnostic(sources, diagnostic, colour);
  return result;
}

//===----------------------------------------------------------------------===//
// Rendering
//===----------------------------------------------------------------------===//

namespace {

constexpr const char *bold = "\033[1m";
constexpr const char *red = "\033[1;31m";
constexpr const char *magenta = "\033[1;35m";
constexpr const char *cyan = "\033[1;36m";
constexpr const char *green = "\033[1;32m";
constexpr const char *reset = "\033[0m";

constexpr unsigned tabWidth = 8;

/// Text as a terminal shows it, with the display column of every character.
struct DisplayedLine {
  std::string text;
  /// starts[i] is the display column, from 0, of character i; one more entry
  /// for the end of the line.
  std::vector<size_t> starts;
};

} // namespace

static bool isControl(uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0);
}

/// Bidirectional controls could show the line in another order than it is read.
static bool isBidirectionalControl(uint32_t c) {
  return c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069);
}

static DisplayedLine displayLine(std::string_view line) {
  DisplayedLine result;
  size_t column = 0;
  for (size_t i = 0; i < line.size();) {
    uint32_t codePoint;
    unsigned length = decodeUtf8(line, i, codePoint);
    result.starts.push_back(column);
    if (codePoint == '\t') {
      size_t blanks = tabWidth - column % tabWidth;
      result.text.append(blanks, ' ');
      column += blanks;
    } else if (codePoint == 0xFFFFFFFF || isControl(codePoint) ||
               isBidirectionalControl(codePoint)) {
      appendUtf8(result.text, 0xFFFD);
      ++column;
    } else {
      result.text += line.substr(i, length);
      column += getDisplayWidth(codePoint);
    }
    i += length;
  }
  result.starts.push_back(column);
  return result;
}

/// Messages quote the user's text, which may hold anything; line ends stay.
static std::string displayText(std::string_view text) {
  std::string result;
  while (true) {
    constexpr size_t maxLength = 2000; // of what a message quotes
    size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    result += displayLine(line.substr(0, maxLength)).text;
    if (line.size() > maxLength)
      result += "...";
    if (end == std::string_view::npos)
      return result;
    result += '\n';
    text.remove_prefix(end + 1);
  }
}

/// Follow-up lines of a text with several lines stand under the first one.
static std::string indentLines(const std::string &text, size_t indent) {
  std::string result;
  for (char c : text) {
    result += c;
    if (c == '\n')
      result.append(indent, ' ');
  }
  return result;
}

static std::string formatLocation(const SourceManager &sources,
                                  const SourceRange &where) {
  const SourceFile *file = sources.get(where.file);
  if (!file)
    return {};
  std::string result = displayText(file->getName());
  if (where.begin.isValid()) {
    result += ":" + std::to_string(where.begin.line);
    if (where.begin.column)
      result += ":" + std::to_string(where.begin.column);
  }
  return result + ": ";
}

/// Of a line that no program has, only what is around the place is shown.
static std::string clipLine(std::string line, SourceRange &where) {
  constexpr size_t maxLength = 1000;
  constexpr uint32_t before = 100, after = 200;
  if (line.size() <= maxLength || !where.begin.column)
    return line.substr(0, maxLength);
  uint32_t first =
      where.begin.column > before ? where.begin.column - before : 1;
  uint32_t column = 1;
  size_t begin = 0, end = 0;
  for (; end < line.size() && column < where.begin.column + after; ++column) {
    if (column == first)
      begin = end;
    uint32_t codePoint;
    end += decodeUtf8(line, end, codePoint);
  }
  std::string head = first > 1 ? "..." : "";
  auto moved = [&](uint32_t old) {
    return uint32_t(std::min(old, column) - first + 1 + head.size());
  };
  where.begin.column = moved(where.begin.column);
  if (where.end.column && where.end.line == where.begin.line)
    where.end.column = moved(where.end.column);
  return head + line.substr(begin, end - begin) +
         (end < line.size() ? "..." : "");
}

/// The source line behind its number, and the carets under it.
static std::string renderSource(const SourceFile &file, SourceRange where,
                                bool colour) {
  std::string source = clipLine(file.getLine(where.begin.line), where);
  DisplayedLine line = displayLine(source);
  std::string number = std::to_string(where.begin.line);
  size_t width = std::max<size_t>(5, number.size());
  std::string result(width - number.size(), ' ');
  result += number + " | " + line.text;
  result.erase(result.find_last_not_of(' ') + 1);
  result += '\n';
  if (!where.begin.column)
    return result;

  size_t length = line.starts.size() - 1;
  size_t first = std::min<size_t>(where.begin.column - 1, length);
  // A range over several lines is marked to the end of its first line.
  size_t last = first + 1;
  if (where.end.line > where.begin.line)
    last = std::max(last, length);
  else if (where.end.line == where.begin.line && where.end.column)
    last = std::max<size_t>(last, where.end.column - 1);
  size_t begin = line.starts[first];
  size_t end = line.starts[std::min(last, length)];
  // At the end of the line there is no character to stand under.
  end = std::max(end, begin + 1);

  result += std::string(width, ' ') + " | " + std::string(begin, ' ');
  result += colour ? green : "";
  result += "^" + std::string(end - begin - 1, '~');
  result += colour ? reset : "";
  return result + '\n';
}

/// The fix as it is pasted under the caret.
static std::string completeFix(const SourceManager &sources,
                               const Diagnostic &diagnostic) {
  const SourceRange &where = diagnostic.where, &part = diagnostic.fixRange;
  std::string fix = diagnostic.fix;
  if (fix.empty() || !part.isValid() || part.file != where.file)
    return fix;
  if (part.begin.line != where.begin.line)
    return fix + "  # line " + std::to_string(part.begin.line);
  if (part.begin < where.begin || where.end < part.end ||
      where.end.line != where.begin.line)
    return fix;
  return sources.getSnippet({where.file, where.begin, part.begin}) + fix +
         sources.getSnippet({where.file, part.end, where.end});
}

std::string tessera::frontend::renderDiagnostic(const SourceManager &sources,
                                                const Diagnostic &diagnostic,
                                                bool colour) {
  auto paint = [&](const char *code, const std::string &text) {
    return colour ? code + text + reset : text;
  };
  std::string label = "error: ";
  const char *labelColour = red;
  if (diagnostic.severity == Severity::Warning) {
    label = "warning: ";
    labelColour = magenta;
  } else if (diagnostic.severity == Severity::Remark) {
    label = "remark: ";
    labelColour = cyan;
  }

  std::string result;
  std::string location = formatLocation(sources, diagnostic.where);
  if (!location.empty())
    result += paint(bold, location);
  result += paint(labelColour, label) +
            paint(bold, displayText(diagnostic.message)) + '\n';
  const SourceFile *file = sources.get(diagnostic.where.file);
  if (file && diagnostic.where.begin.isValid() &&
      file->hasLine(diagnostic.where.begin.line))
    result += renderSource(*file, diagnostic.where, colour);
  std::vector<Note> notes = diagnostic.notes;
  for (const Note &origin : diagnostic.origins) {
    auto isThere = [&](const SourceRange &where) {
      return where.file == origin.where.file &&
             where.begin.line == origin.where.begin.line;
    };
    bool told = isThere(diagnostic.where);
    for (const Note &note : notes)
      told |= isThere(note.where);
    if (!told)
      notes.push_back(origin);
  }
  for (const Note &note : notes)
    result += ' ' + paint(cyan, "note: ") +
              formatLocation(sources, note.where) +
              indentLines(displayText(note.text), 7) + '\n';
  if (!diagnostic.fix.empty())
    result += ' ' + paint(green, "fix:  ") +
              indentLines(displayText(completeFix(sources, diagnostic)), 7) +
              '\n';
  return result;
}
