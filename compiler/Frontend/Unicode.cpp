//===- Unicode.cpp - Classes of characters --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/Unicode.h"

#include "compiler/Frontend/Diagnostics.h"

#include <algorithm>
#include <iterator>

using namespace tessera::frontend;

namespace {
struct CodePointRange {
  uint32_t first;
  uint32_t last;
};
} // namespace

#include "compiler/Frontend/UnicodeTables.inc"

template <size_t n>
static bool contains(const CodePointRange (&table)[n], uint32_t codePoint) {
  const CodePointRange *it = std::upper_bound(
      std::begin(table), std::end(table), codePoint,
      [](uint32_t c, const CodePointRange &range) { return c < range.first; });
  return it != std::begin(table) && codePoint <= std::prev(it)->last;
}

static bool isAsciiLetter(uint32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool tessera::frontend::isIdentifierStart(uint32_t codePoint) {
  return codePoint < 0x80 ? isAsciiLetter(codePoint)
                          : contains(identifierStart, codePoint);
}

bool tessera::frontend::isIdentifierContinue(uint32_t codePoint) {
  if (codePoint < 0x80)
    return isAsciiLetter(codePoint) || (codePoint >= '0' && codePoint <= '9');
  return contains(identifierContinue, codePoint);
}

bool tessera::frontend::mayChangeUnderNormalisation(uint32_t codePoint) {
  return codePoint >= 0x80 && contains(notNormalised, codePoint);
}

unsigned tessera::frontend::getDisplayWidth(uint32_t codePoint) {
  if (codePoint < 0x80)
    return 1;
  if (contains(zeroWidthCharacters, codePoint))
    return 0;
  return contains(wideCharacters, codePoint) ? 2 : 1;
}
