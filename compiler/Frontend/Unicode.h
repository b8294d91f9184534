//===- Unicode.h - Classes of characters ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Python 3.11 (Unicode 14) says about characters outside ASCII.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_FRONTEND_UNICODE_H
#define TESSERA_COMPILER_FRONTEND_UNICODE_H

#include <cstdint>

namespace tessera::frontend {

bool isIdentifierStart(uint32_t codePoint);
bool isIdentifierContinue(uint32_t codePoint);

/// Python compares identifiers in their NFKC form. True if the character, in an
/// identifier, may differ from that form.
bool mayChangeUnderNormalisation(uint32_t codePoint);

} // namespace tessera::frontend

#endif // TESSERA_COMPILER_FRONTEND_UNICODE_H
