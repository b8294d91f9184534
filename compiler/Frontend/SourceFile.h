//===- SourceFile.h - Source text and positions in it -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Owns the text the front end reads and says where in it something stands.
//
// A text is a whole file, or one function cut out of a larger Python file. In
// both cases every position is that of the original file: `firstLine` is the
// number of the first line of the text, and `columnOffset` is the number of
// blanks a caller removed from the front of every line (what `textwrap.dedent`
// does). A text that was not dedented has `columnOffset` 0.
//
// Lines count from 1 and columns count characters (code points, a tab is one)
// from 1, as editors do; Python's `col_offset` counts UTF-8 bytes from 0.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_FRONTEND_SOURCEFILE_H
#define TESSERA_COMPILER_FRONTEND_SOURCEFILE_H

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::frontend {

/// Index of a file in a SourceManager. The default refers to no file.
struct FileId {
  int32_t index = -1;

  bool isValid() const { return index >= 0; }
  bool operator==(const FileId &) const = default;
};

/// A place between two characters; line 0 means "nowhere".
struct SourcePosition {
  uint32_t line = 0;
  uint32_t column = 0;

  bool isValid() const { return line != 0; }
  auto operator<=>(const SourcePosition &) const = default;
};

/// The characters from `begin` up to, but without, `end`.
struct SourceRange {
  FileId file;
  SourcePosition begin;
  SourcePosition end;

  bool isValid() const { return file.isValid() && begin.isValid(); }
  bool operator==(const SourceRange &) const = default;
};

/// One text with the place it has in its original file.
class SourceFile {
public:
  /// Line ends are normalised to '\n' ("\r\n" and "\r" are accepted) and a
  /// leading byte order mark is dropped, as Python does.
  SourceFile(std::string name, std::string_view text, uint32_t firstLine = 1,
             uint32_t columnOffset = 0);

  const std::string &getName() const { return name; }
  std::string_view getText() const { return text; }
  uint32_t getFirstLine() const { return firstLine; }
  uint32_t getColumnOffset() const { return columnOffset; }

  /// The line with this number in the original file, without its line end and
  /// with the removed blanks put back; nothing if the text does not hold it.
  std::string getLine(uint32_t line) const;
  bool hasLine(uint32_t line) const;

  /// The characters of `range`, for messages that quote the user's code.
  std::string getSnippet(const SourceRange &range) const;

private:
  std::string_view getLineView(uint32_t line) const;

  std::string name;
  std::string text;
  uint32_t firstLine;
  uint32_t columnOffset;
  std::vector<size_t> lineStarts;
};

/// Owns the files of one compilation.
class SourceManager {
public:
  FileId add(std::string name, std::string_view text, uint32_t firstLine = 1,
             uint32_t columnOffset = 0);

  /// Null if `id` is not valid.
  const SourceFile *get(FileId id) const;

  /// Quotes the user's code; empty if the range is not in a file.
  std::string getSnippet(const SourceRange &range) const;

private:
  std::vector<std::unique_ptr<SourceFile>> files;
};

/// Decodes the UTF-8 character at `text[offset]`. Returns its length in bytes;
/// a malformed byte has length 1 and `codePoint` 0xFFFFFFFF.
unsigned decodeUtf8(std::string_view text, size_t offset, uint32_t &codePoint);

/// Appends the UTF-8 form of a code point below 0x110000.
void appendUtf8(std::string &out, uint32_t codePoint);

} // namespace tessera::frontend

#endif // TESSERA_COMPILER_FRONTEND_SOURCEFILE_H
