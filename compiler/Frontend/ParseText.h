//===- ParseText.h - The user's text, in parts ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For fixes of what is refused, which has no tree.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_FRONTEND_PARSETEXT_H
#define TESSERA_COMPILER_FRONTEND_PARSETEXT_H

#include <string>
#include <string_view>
#include <vector>

namespace tessera::frontend {

bool isWord(char c);

/// The text with the word `from` replaced where no dot stands before it.
std::string replaceWord(std::string_view text, std::string_view from,
                        std::string_view to);

/// "a", "f(b, c)" of "a, f(b, c),"; what stands behind a bracket that the text
/// does not open is left out.
std::vector<std::string> splitAtCommas(std::string_view text);

} // namespace tessera::frontend

#endif // TESSERA_COMPILER_FRONTEND_PARSETEXT_H
