//===- MutateText.cpp - Damages the text of a stage -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fuzz/MutateText.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <random>
#include <string_view>
#include <vector>

using namespace tessera::fuzz;

namespace {

enum class Kind { Space, Number, Value, Symbol, Type, Word, Mark };

struct Token {
  Kind kind;
  std::string text;
};

bool isWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ||
         c == '$';
}
bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// f32, i64, bf16, index ...
bool isElementType(std::string_view word) {
  if (word == "index" || word == "bf16")
    return true;
  return word.size() >= 2 && (word[0] == 'f' || word[0] == 'i') &&
         isDigit(word[1]);
}

/// Strings are not kept whole: a plan or a layout is changed inside.
std::vector<Token> split(const std::string &text) {
  std::vector<Token> tokens;
  size_t i = 0;
  auto take = [&](Kind kind, size_t end) {
    tokens.push_back({kind, text.substr(i, end - i)});
    i = end;
  };
  auto wordEnd = [&](size_t from) {
    while (from < text.size() && isWord(text[from]))
      ++from;
    return from;
  };
  while (i < text.size()) {
    char c = text[i];
    size_t end = i + 1;
    if (std::isspace(static_cast<unsigned char>(c))) {
      // A line's end is a token of its own.
      while (c != '\n' && end < text.size() && text[end] != '\n' &&
             std::isspace(static_cast<unsigned char>(text[end])))
        ++end;
      take(Kind::Space, end);
    } else if (isDigit(c) ||
               (c == '-' && end < text.size() && isDigit(text[end]))) {
      while (end < text.size() && isDigit(text[end]))
        ++end;
      take(Kind::Number, end);
      // 64x32xf32: the x stands alone.
      if (i < text.size() && text[i] == 'x')
        take(Kind::Mark, i + 1);
    } else if (c == '?' && end < text.size() && text[end] == 'x') {
      take(Kind::Number, end);
      take(Kind::Mark, i + 1);
    } else if (c == '%' || c == '@' || c == '!' || c == '#' || c == '$') {
      take(c == '%'   ? Kind::Value
           : c == '!' ? Kind::Type
                      : Kind::Symbol,
           wordEnd(end));
    } else if (isWord(c)) {
      size_t last = wordEnd(i);
      take(isElementType(std::string_view(text).substr(i, last - i))
               ? Kind::Type
               : Kind::Word,
           last);
    } else {
      take(Kind::Mark,
           c == '-' && end < text.size() && text[end] == '>' ? end + 1 : end);
    }
  }
  return tokens;
}

class Mutator {
public:
  Mutator(const std::string &text, uint64_t seed)
      : tokens(split(text)), random(seed) {}

  std::string run() {
    for (uint64_t left = 1 + below(4) / 2 + below(8) / 7; left > 0; --left)
      if (!tokens.empty())
        change();
    std::string result;
    for (const Token &token : tokens)
      result += token.text;
    return result;
  }

private:
  std::vector<Token> tokens;
  std::mt19937_64 random;

  uint64_t below(uint64_t end) { return random() % end; }

  /// A token of that kind; tokens.size() if there is none.
  size_t pick(Kind kind) {
    std::vector<size_t> all;
    for (size_t i = 0; i < tokens.size(); ++i)
      if (tokens[i].kind == kind)
        all.push_back(i);
    return all.empty() ? tokens.size() : all[below(all.size())];
  }

  void change() {
    switch (below(20)) {
    default:
      return changeNumber();
    case 8:
    case 9:
    case 10:
    case 11:
      return replaceByOther();
    case 12:
    case 13:
      return changeType();
    case 14:
      return changeToken();
    case 15:
    case 16:
      return changeLine();
    case 17:
      return dropAttribute();
    case 18:
      return changeAttribute();
    case 19:
      return copyAttribute();
    }
  }

  void changeNumber() {
    static constexpr std::string_view values[] = {
        "0",
        "1",
        "-1",
        "2",
        "3",
        "7",
        "8",
        "16",
        "63",
        "65",
        "100",
        "1024",
        "4096",
        "65535",
        "65536",
        "1048576",
        "1073741824",
        "2147483647",
        "2147483648",
        "4294967295",
        "4294967296",
        "?",
        "-2",
        "1099511627776",
        "-64",
        "-9223372036854775808",
        "4611686018427387904",
        "9223372036854775807",
        "18446744073709551615",
        "340282366920938463463374607431768211456"};
    size_t at = pick(Kind::Number);
    if (at == tokens.size())
      return;
    std::string &text = tokens[at].text;
    bool small = text.size() < 10 && text != "?";
    long long number = small ? std::stoll(text) : 0;
    switch (small ? below(10) : 0) {
    default:
      text = values[below(std::size(values))];
      break;
    case 5:
      text = std::to_string(number + 1);
      break;
    case 6:
      text = std::to_string(number - 1);
      break;
    case 7:
      text = std::to_string(number * 2);
      break;
    case 8:
      text = std::to_string(number * 1000);
      break;
    case 9:
      text = std::to_string(number / 2);
      break;
    }
  }

  void replaceByOther() {
    static constexpr Kind kinds[] = {Kind::Value,  Kind::Value, Kind::Word,
                                     Kind::Symbol, Kind::Type,  Kind::Number};
    Kind kind = kinds[below(std::size(kinds))];
    size_t at = pick(kind), from = pick(kind);
    if (at < tokens.size())
      tokens[at].text = std::string(tokens[from].text);
  }

  void changeType() {
    static constexpr std::string_view types[] = {"f32",
                                                 "f64",
                                                 "f16",
                                                 "bf16",
                                                 "i1",
                                                 "i8",
                                                 "i16",
                                                 "i32",
                                                 "i64",
                                                 "i128",
                                                 "i4",
                                                 "index",
                                                 "none",
                                                 "f8E4M3FN",
                                                 "i2",
                                                 "f80",
                                                 "f128",
                                                 "f8E5M2",
                                                 "tf32",
                                                 "f4E2M1FN",
                                                 "ui8",
                                                 "si8",
                                                 "i7",
                                                 "i999",
                                                 "!llvm.ptr",
                                                 "memref<4xf32>",
                                                 "tensor<f32>",
                                                 "tensor<0xf32>",
                                                 "vector<4xf32>",
                                                 "complex<f32>",
                                                 "tuple<>",
                                                 "!tile.range<64>",
                                                 "!tile.token",
                                                 "tensor<?xf32>",
                                                 "()"};
    size_t at = pick(Kind::Type);
    if (at < tokens.size())
      tokens[at].text = types[below(std::size(types))];
  }

  void changeToken() {
    size_t at = below(tokens.size()), other = below(tokens.size());
    switch (below(4)) {
    case 0:
      tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1:
      tokens.insert(tokens.begin() + static_cast<std::ptrdiff_t>(at),
                    tokens[at]);
      break;
    case 2:
      std::swap(tokens[at], tokens[std::min(at + 1, tokens.size() - 1)]);
      break;
    case 3:
      std::swap(tokens[at], tokens[other]);
      break;
    }
  }

  /// The tokens of the line that holds `at`, with its end.
  std::pair<size_t, size_t> lineAt(size_t at) {
    size_t begin = at, end = at;
    while (begin > 0 && tokens[begin - 1].text != "\n")
      --begin;
    while (end < tokens.size() && tokens[end].text != "\n")
      ++end;
    return {begin, std::min(end + 1, tokens.size())};
  }

  void changeLine() {
    auto position = [&](size_t i) {
      return tokens.begin() + static_cast<std::ptrdiff_t>(i);
    };
    auto [begin, end] = lineAt(below(tokens.size()));
    std::vector<Token> line(position(begin), position(end));
    switch (below(3)) {
    case 0: // gone
      tokens.erase(position(begin), position(end));
      break;
    case 1: // twice
      tokens.insert(position(end), line.begin(), line.end());
      break;
    case 2: { // elsewhere
      tokens.erase(position(begin), position(end));
      size_t to = tokens.empty() ? 0 : lineAt(below(tokens.size())).first;
      tokens.insert(position(to), line.begin(), line.end());
      break;
    }
    }
  }

  /// An attribute `name = value`, as tokens, without the comma; empty if there
  /// is none.
  std::pair<size_t, size_t> pickAttribute() {
    std::vector<size_t> all;
    for (size_t i = 2; i + 2 < tokens.size(); ++i)
      if (tokens[i].text == "=" && tokens[i - 2].kind == Kind::Word)
        all.push_back(i);
    if (all.empty())
      return {0, 0};
    size_t at = all[below(all.size())], end = at + 1;
    int depth = 0;
    for (; end < tokens.size(); ++end) {
      const std::string &text = tokens[end].text;
      if (text == "{" || text == "[" || text == "<" || text == "(")
        ++depth;
      if (text == "}" || text == "]" || text == ">" || text == ")")
        if (--depth < 0)
          break;
      if ((depth == 0 && text == ",") || text == "\n")
        break;
    }
    return {at - 2, end};
  }

  void dropAttribute() {
    auto [begin, end] = pickAttribute();
    if (begin == end)
      return;
    if (end < tokens.size() && tokens[end].text == ",")
      ++end;
    else if (begin >= 2 && tokens[begin - 2].text == ",")
      begin -= 2;
    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(begin),
                 tokens.begin() + static_cast<std::ptrdiff_t>(end));
  }

  /// Another value, often of another type.
  void changeAttribute() {
    static constexpr std::string_view values[] = {
        " true",     " \"x\"", " \"\"",          " []",
        " {}",       " unit",  " 1.0 : f32",     " [1, 2, 3]",
        " -1 : i64", " f32",   " array<i64>",    " dense<1> : tensor<2xi64>",
        " @x",       " 0",     " array<i64: 1>", " 9223372036854775807 : i64"};
    auto [begin, end] = pickAttribute();
    if (begin == end)
      return;
    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(begin + 3),
                 tokens.begin() + static_cast<std::ptrdiff_t>(end));
    tokens.insert(tokens.begin() + static_cast<std::ptrdiff_t>(begin + 3),
                  {Kind::Word, std::string(values[below(std::size(values))])});
  }

  /// One op's attribute, before another's.
  void copyAttribute() {
    auto [begin, end] = pickAttribute();
    auto [to, unused] = pickAttribute();
    if (begin == end)
      return;
    std::vector<Token> copy(tokens.begin() + static_cast<std::ptrdiff_t>(begin),
                            tokens.begin() + static_cast<std::ptrdiff_t>(end));
    copy.push_back({Kind::Mark, ", "});
    tokens.insert(tokens.begin() + static_cast<std::ptrdiff_t>(to),
                  copy.begin(), copy.end());
  }
};

} // namespace

std::string tessera::fuzz::mutateText(const std::string &text, uint64_t seed) {
  return Mutator(text, seed).run();
}
