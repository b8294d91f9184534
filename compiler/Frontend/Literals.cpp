//===- Literals.cpp - The values of numbers and strings -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/Literals.h"

#include "compiler/Frontend/SourceFile.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

using namespace tessera::frontend;

static unsigned digitValue(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  return (c | 0x20) - 'a' + 10;
}

static bool isHexDigit(char c) {
  return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static std::string withoutUnderscores(std::string_view literal) {
  std::string digits(literal);
  std::erase(digits, '_');
  return digits;
}

std::optional<std::string>
tessera::frontend::decodeInt(std::string_view literal) {
  std::string digits = withoutUnderscores(literal);
  unsigned base = 10;
  if (digits.size() > 1 && digits[0] == '0') {
    char letter = digits[1] | 0x20;
    base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
    if (base != 10)
      digits.erase(0, 2);
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty())
    return "0";
  if (digits.size() > maxIntDigits)
    return std::nullopt;
  if (base == 10)
    return digits;

  // Base 10^9, least significant part first.
  constexpr uint64_t unit = 1000000000;
  std::vector<uint32_t> parts;
  for (char digit : digits) {
    uint64_t carry = digitValue(digit);
    for (uint32_t &part : parts) {
      carry += uint64_t(part) * base;
      part = carry % unit;
      carry /= unit;
    }
    if (carry)
      parts.push_back(carry);
  }
  std::string decimal = std::to_string(parts.back());
  for (auto it = parts.rbegin() + 1; it != parts.rend(); ++it) {
    std::string part = std::to_string(*it);
    decimal += std::string(9 - part.size(), '0') + part;
  }
  return decimal;
}

std::optional<int64_t> tessera::frontend::toInt64(std::string_view decimal) {
  int64_t value = 0;
  const char *end = decimal.data() + decimal.size();
  auto [rest, error] = std::from_chars(decimal.data(), end, value);
  if (error != std::errc() || rest != end)
    return std::nullopt;
  return value;
}

/// from_chars does not say whether a number is too large or too small. The
/// exponent of its first digit that is not zero does.
static double outOfRange(std::string_view digits) {
  size_t exponentAt = std::min(digits.find_first_of("eE"), digits.size());
  std::string_view mantissa = digits.substr(0, exponentAt);
  long exponent = 0;
  if (exponentAt < digits.size()) {
    std::string_view text = digits.substr(exponentAt + 1);
    bool negative = text.starts_with('-');
    if (negative || text.starts_with('+'))
      text.remove_prefix(1);
    auto [rest, error] =
        std::from_chars(text.data(), text.data() + text.size(), exponent);
    if (error == std::errc::result_out_of_range)
      exponent = std::numeric_limits<int32_t>::max();
    exponent = negative ? -exponent : exponent;
  }
  size_t point = std::min(mantissa.find('.'), mantissa.size());
  size_t first = mantissa.find_first_not_of("0.");
  if (first == std::string_view::npos)
    return 0;
  exponent += static_cast<long>(point) - static_cast<long>(first);
  return exponent > 0 ? std::numeric_limits<double>::infinity() : 0;
}

double tessera::frontend::decodeFloat(std::string_view literal) {
  std::string digits = withoutUnderscores(literal);
  double value = 0;
  auto [rest, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc::result_out_of_range ? outOfRange(digits) : value;
}

//===----------------------------------------------------------------------===//
// Strings
//===----------------------------------------------------------------------===//

StringPrefix tessera::frontend::getStringPrefix(std::string_view literal) {
  StringPrefix prefix;
  for (char c : literal) {
    if (c == '"' || c == '\'')
      break;
    prefix.raw |= (c | 0x20) == 'r';
    prefix.bytes |= (c | 0x20) == 'b';
    prefix.formatted |= (c | 0x20) == 'f';
    ++prefix.length;
  }
  return prefix;
}

/// Reads `count` hexadecimal digits at body[i].
static std::optional<uint32_t> readHex(std::string_view body, size_t i,
                                       size_t count) {
  if (body.size() - i < count)
    return std::nullopt;
  uint32_t value = 0;
  for (size_t n = 0; n < count; ++n) {
    if (!isHexDigit(body[i + n]))
      return std::nullopt;
    value = value << 4 | digitValue(body[i + n]);
  }
  return value;
}

/// One escape; `i` stands behind the backslash and moves behind the escape.
static std::optional<StringError> decodeEscape(std::string_view body, size_t &i,
                                               std::string &value) {
  char c = body[i++];
  switch (c) {
  case '\n':
    return std::nullopt;
  case '\\':
  case '\'':
  case '"':
    value += c;
    return std::nullopt;
  case 'a':
    value += '\a';
    return std::nullopt;
  case 'b':
    value += '\b';
    return std::nullopt;
  case 'f':
    value += '\f';
    return std::nullopt;
  case 'n':
    value += '\n';
    return std::nullopt;
  case 'r':
    value += '\r';
    return std::nullopt;
  case 't':
    value += '\t';
    return std::nullopt;
  case 'v':
    value += '\v';
    return std::nullopt;
  case 'N':
    return StringError{"an escape by name (\\N{...}) is not part of the "
                       "Tessera language",
                       "\\N escape"};
  case 'x':
  case 'u':
  case 'U': {
    size_t count = c == 'x' ? 2 : c == 'u' ? 4 : 8;
    std::optional<uint32_t> codePoint = readHex(body, i, count);
    if (!codePoint)
      return StringError{std::string("\\") + c + " needs " +
                             std::to_string(count) + " hexadecimal digits",
                         ""};
    if (*codePoint > 0x10FFFF)
      return StringError{"\\U stops at \\U0010ffff", ""};
    if (*codePoint >= 0xD800 && *codePoint < 0xE000)
      return StringError{"half a surrogate pair is not part of the Tessera "
                         "language",
                         "surrogate escape"};
    i += count;
    appendUtf8(value, *codePoint);
    return std::nullopt;
  }
  default:
    break;
  }
  if (c >= '0' && c <= '7') {
    uint32_t codePoint = c - '0';
    for (int n = 0;
         n < 2 && i < body.size() && body[i] >= '0' && body[i] <= '7'; ++n)
      codePoint = codePoint << 3 | (body[i++] - '0');
    appendUtf8(value, codePoint);
    return std::nullopt;
  }
  // Not an escape: the backslash stays.
  value += '\\';
  value += c;
  return std::nullopt;
}

std::optional<StringError>
tessera::frontend::decodeString(std::string_view literal, std::string &value) {
  StringPrefix prefix = getStringPrefix(literal);
  std::string_view body = literal.substr(prefix.length);
  size_t quotes =
      body.size() >= 6 && body[1] == body[0] && body[2] == body[0] ? 3 : 1;
  body = body.substr(quotes, body.size() - 2 * quotes);
  if (prefix.raw) {
    value += body;
    return std::nullopt;
  }
  for (size_t i = 0; i < body.size();) {
    if (body[i] != '\\') {
      value += body[i++];
      continue;
    }
    ++i;
    if (std::optional<StringError> error = decodeEscape(body, i, value))
      return error;
  }
  return std::nullopt;
}

std::string tessera::frontend::writeOutFString(std::string_view text) {
  size_t open = text.find_first_of("'\""), close = text.size();
  if (open == std::string_view::npos || close < open + 2)
    return "";
  std::string result, plain;
  auto add = [&](const std::string &part) {
    result += (result.empty() ? "" : ", ") + part;
  };
  auto addPlain = [&] {
    if (!plain.empty())
      add("\"" + plain + "\"");
    plain.clear();
  };
  std::string_view body = text.substr(open + 1, close - open - 2);
  for (size_t i = 0; i < body.size(); ++i) {
    bool isDouble = i + 1 < body.size() && body[i] == body[i + 1];
    if (body[i] != '{' || isDouble) {
      plain += body[i];
      i += isDouble && (body[i] == '{' || body[i] == '}');
      continue;
    }
    // Up to the format or the end, outside of brackets.
    int depth = 0;
    std::string expression;
    bool hasEnded = false;
    for (++i; i < body.size() && !(body[i] == '}' && depth == 0); ++i) {
      depth += body[i] == '(' || body[i] == '[';
      depth -= body[i] == ')' || body[i] == ']';
      hasEnded |= depth == 0 && (body[i] == ':' || body[i] == '!');
      if (!hasEnded)
        expression += body[i];
    }
    addPlain();
    add(expression);
  }
  addPlain();
  return result;
}
