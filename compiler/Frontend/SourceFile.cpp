//===- SourceFile.cpp - Source text and positions in it -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/SourceFile.h"

#include <algorithm>

using namespace tessera::frontend;

static constexpr uint32_t malformed = 0xFFFFFFFF;

unsigned tessera::frontend::decodeUtf8(std::string_view text, size_t offset,
                                       uint32_t &codePoint) {
  auto byte = [&](size_t i) -> uint32_t {
    return offset + i < text.size() ? static_cast<uint8_t>(text[offset + i])
                                    : 0;
  };
  uint32_t first = byte(0);
  if (first < 0x80) {
    codePoint = first;
    return 1;
  }
  unsigned length = 0;
  uint32_t value = 0;
  uint32_t smallest = 0; // below it the form is overlong
  if (first >= 0xC2 && first < 0xE0) {
    length = 2;
    value = first & 0x1F;
    smallest = 0x80;
  } else if (first >= 0xE0 && first < 0xF0) {
    length = 3;
    value = first & 0x0F;
    smallest = 0x800;
  } else if (first >= 0xF0 && first < 0xF5) {
    length = 4;
    value = first & 0x07;
    smallest = 0x10000;
  }
  for (unsigned i = 1; i < length; ++i) {
    uint32_t next = byte(i);
    if ((next & 0xC0) != 0x80) {
      codePoint = malformed;
      return 1;
    }
    value = value << 6 | (next & 0x3F);
  }
  bool surrogate = value >= 0xD800 && value < 0xE000;
  if (length == 0 || value < smallest || value > 0x10FFFF || surrogate) {
    codePoint = malformed;
    return 1;
  }
  codePoint = value;
  return length;
}

void tessera::frontend::appendUtf8(std::string &out, uint32_t codePoint) {
  if (codePoint < 0x80) {
    out += static_cast<char>(codePoint);
  } else if (codePoint < 0x800) {
    out += static_cast<char>(0xC0 | codePoint >> 6);
    out += static_cast<char>(0x80 | (codePoint & 0x3F));
  } else if (codePoint < 0x10000) {
    out += static_cast<char>(0xE0 | codePoint >> 12);
    out += static_cast<char>(0x80 | (codePoint >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (codePoint & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | codePoint >> 18);
    out += static_cast<char>(0x80 | (codePoint >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (codePoint >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (codePoint & 0x3F));
  }
}

//===----------------------------------------------------------------------===//
// SourceFile
//===----------------------------------------------------------------------===//

SourceFile::SourceFile(std::string name, std::string_view source,
                       uint32_t firstLine, uint32_t columnOffset)
    : name(std::move(name)), firstLine(firstLine), columnOffset(columnOffset) {
  if (source.starts_with("\xEF\xBB\xBF"))
    source.remove_prefix(3);
  text.reserve(source.size());
  lineStarts.push_back(0);
  for (size_t i = 0; i < source.size(); ++i) {
    char c = source[i];
    if (c == '\r') {
      if (i + 1 < source.size() && source[i + 1] == '\n')
        ++i;
      c = '\n';
    }
    text += c;
    if (c == '\n')
      lineStarts.push_back(text.size());
  }
}

bool SourceFile::hasLine(uint32_t line) const {
  return line >= firstLine && line - firstLine < lineStarts.size();
}

std::string_view SourceFile::getLineView(uint32_t line) const {
  if (!hasLine(line))
    return {};
  size_t index = line - firstLine;
  size_t begin = lineStarts[index];
  size_t end =
      index + 1 < lineStarts.size() ? lineStarts[index + 1] - 1 : text.size();
  return std::string_view(text).substr(begin, end - begin);
}

std::string SourceFile::getLine(uint32_t line) const {
  if (!hasLine(line))
    return {};
  std::string_view view = getLineView(line);
  // A blank line had no indentation to remove.
  return std::string(view.empty() ? 0 : columnOffset, ' ') + std::string(view);
}

std::string SourceFile::getSnippet(const SourceRange &range) const {
  std::string result;
  uint32_t line = range.begin.line;
  for (; line <= range.end.line && hasLine(line); ++line) {
    std::string_view view = getLineView(line);
    bool first = line == range.begin.line;
    bool last = line == range.end.line;
    uint32_t column = 1 + columnOffset;
    for (size_t i = 0; i < view.size(); ++column) {
      uint32_t codePoint;
      unsigned length = decodeUtf8(view, i, codePoint);
      if ((!first || column >= range.begin.column) &&
          (!last || column < range.end.column))
        result += view.substr(i, length);
      i += length;
    }
    if (!last)
      result += '\n';
  }
  return result;
}

//===----------------------------------------------------------------------===//
// SourceManager
//===----------------------------------------------------------------------===//

FileId SourceManager::add(std::string name, std::string_view text,
                          uint32_t firstLine, uint32_t columnOffset) {
  files.push_back(std::make_unique<SourceFile>(std::move(name), text, firstLine,
                                               columnOffset));
  return {static_cast<int32_t>(files.size()) - 1};
}

const SourceFile *SourceManager::get(FileId id) const {
  if (!id.isValid() || static_cast<size_t>(id.index) >= files.size())
    return nullptr;
  return files[id.index].get();
}

std::string SourceManager::getSnippet(const SourceRange &range) const {
  const SourceFile *file = get(range.file);
  return file ? file->getSnippet(range) : std::string();
}
