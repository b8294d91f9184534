//===- Literals.h - The values of numbers and strings -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The values of literals as the lexer cut them out; their form is known to be
// right, except for what stands inside a string.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_FRONTEND_LITERALS_H
#define TESSERA_COMPILER_FRONTEND_LITERALS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::frontend {

/// Python's own limit on the digits of a number in decimal.
inline constexpr size_t maxIntDigits = 4300;

/// The decimal form of `0x_ff`, `0o17`, `0b1`, `1_000`; nothing if the literal
/// has more than maxIntDigits digits.
std::optional<std::string> decodeInt(std::string_view literal);

/// The value of a decimal text if it fits.
std::optional<int64_t> toInt64(std::string_view decimal);

/// Correctly rounded, whatever the locale; too large is infinity.
double decodeFloat(std::string_view literal);

struct StringPrefix {
  bool raw = false;
  bool bytes = false;
  bool formatted = false;
  size_t length = 0;
};
StringPrefix getStringPrefix(std::string_view literal);

/// What is wrong inside a string. `construct` is set if it is Python, but not
/// Tessera.
struct StringError {
  std::string message;
  std::string construct;
};

/// Appends the value of one literal (prefix and quotes included) in UTF-8.
std::optional<StringError> decodeString(std::string_view literal,
                                        std::string &value);

/// What print takes instead: "mean = ", x.mean() of f"mean = {x.mean():.3f}".
std::string writeOutFString(std::string_view text);

} // namespace tessera::frontend

#endif // TESSERA_COMPILER_FRONTEND_LITERALS_H
