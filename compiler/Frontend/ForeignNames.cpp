//===- ForeignNames.cpp - What other libraries' names are here ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/ForeignNames.h"

#include <algorithm>
#include <cctype>

namespace tessera::frontend {

static constexpr ForeignName foreignNames[] = {
#define FOREIGN(kind, level, name, ours, why)                                  \
  {ForeignKind::kind, ForeignLevel::level, name, ours, why},
#define FUNCTION(name, ours, why) FOREIGN(Function, Any, name, ours, why)
#define TILES(name, ours, why) FOREIGN(Function, Tiles, name, ours, why)
#define TENSORS(name, ours, why) FOREIGN(Function, Tensors, name, ours, why)
#define METHOD(name, ours, why) FOREIGN(Method, Any, name, ours, why)
#define ATTRIBUTE(name, ours, why) FOREIGN(Attribute, Any, name, ours, why)
#define KEYWORD(name, ours, why) FOREIGN(Keyword, Any, name, ours, why)
#define DECORATOR(name, ours, why) FOREIGN(Decorator, Any, name, ours, why)
#include "compiler/Frontend/ForeignNames.inc"
#undef FOREIGN
};

static constexpr std::string_view foreignWords[] = {
#include "compiler/Frontend/ForeignWords.inc"
};

const ForeignName *findForeign(ForeignKind kind, std::string_view name,
                               ForeignLevel level) {
  const ForeignName *any = nullptr;
  for (const ForeignName &entry : foreignNames) {
    if (entry.kind != kind || entry.name != name)
      continue;
    if (entry.level == level)
      return &entry;
    if (entry.level == ForeignLevel::Any)
      any = &entry;
  }
  return any;
}

bool isForeignWord(std::string_view name) {
  return std::ranges::binary_search(foreignWords, name);
}

std::vector<std::string> getSpellings(std::string_view name) {
  std::vector<std::string> result = {std::string(name)};
  if (name.starts_with("__") && !name.ends_with("_"))
    name.remove_prefix(2);
  std::string snake;
  for (char c : name) {
    if (std::isupper(uint8_t(c)) && !snake.empty())
      snake += '_';
    snake += char(std::tolower(uint8_t(c)));
  }
  result.push_back(snake);
  if (snake.ends_with('f'))
    result.push_back(snake.substr(0, snake.size() - 1));
  return result;
}

std::vector<std::string_view> splitForeign(std::string_view ours) {
  std::vector<std::string_view> result;
  constexpr std::string_view between = " ;; ";
  while (!ours.empty()) {
    size_t end = std::min(ours.find(between), ours.size());
    result.push_back(ours.substr(0, end));
    ours.remove_prefix(std::min(end + between.size(), ours.size()));
  }
  return result;
}

/// Whether a text binds as tightly as a name, so that it can stand beside an
/// operator: no blank outside brackets.
static bool isTight(const std::string &text) {
  int depth = 0;
  for (char c : text) {
    depth += c == '(' || c == '[' || c == '{';
    depth -= c == ')' || c == ']' || c == '}';
    if (depth == 0 && c == ' ')
      return false;
  }
  return true;
}

std::string fillForeign(std::string_view ours,
                        const std::vector<std::string> &arguments,
                        const std::string &object, const std::string &value,
                        bool *exact) {
  std::string result;
  size_t used = 0; // arguments that have a place
  bool complete = true;
  // Between the brackets of a call an argument needs no parentheses.
  auto add = [&](const std::string &text, size_t next) {
    char before = result.empty() ? ' ' : result.back();
    char after = next < ours.size() ? ours[next] : ' ';
    bool alone = (result.empty() && next >= ours.size()) ||
                 result == "assert " ||
                 ((before == '(' || before == '=' ||
                   (result.size() > 1 && before == ' ' &&
                    result[result.size() - 2] == ',')) &&
                  (after == ')' || after == ','));
    result += alone || isTight(text) ? text : "(" + text + ")";
  };
  auto addFrom = [&](size_t first) {
    std::string all;
    for (size_t i = first; i < arguments.size(); ++i)
      all += (all.empty() ? "" : ", ") + arguments[i];
    // f($x, $*) without arguments is f($x).
    if (all.empty() && result.ends_with(", "))
      result.resize(result.size() - 2);
    result += all;
    used = arguments.size();
  };
  for (size_t i = 0; i < ours.size(); ++i) {
    if (ours[i] != '$' || i + 1 == ours.size()) {
      result += ours[i];
      continue;
    }
    char which = ours[++i];
    if (which == 'x') {
      add(object, i + 1);
    } else if (which == 'v') {
      result += value;
    } else if (which == '!') {
      used = arguments.size();
    } else if (which == '+' && i + 1 < ours.size()) {
      // An accumulator, if it is given: "acc + ".
      size_t number = size_t(ours[++i] - '0');
      used = std::max(used, number + 1);
      if (number < arguments.size())
        result += arguments[number] + " + ";
    } else if (which == '*') {
      addFrom(0);
    } else if (which == 'r') {
      addFrom(1);
    } else if (which == '{' && ours.find('}', i) != std::string_view::npos) {
      // ${1:0.01}: an argument with a default.
      size_t number = size_t(ours[i + 1] - '0'), end = ours.find('}', i);
      used = std::max(used, number + 1);
      std::string otherwise(ours.substr(i + 3, end - i - 3));
      i = end;
      add(number < arguments.size() ? arguments[number] : otherwise, i + 1);
    } else if (size_t number = size_t(which - '0');
               std::isdigit(uint8_t(which)) && number < arguments.size()) {
      used = std::max(used, number + 1);
      add(arguments[number], i + 1);
    } else {
      complete = false;
      result += "...";
    }
  }
  if (exact)
    *exact = complete && used >= arguments.size();
  return result;
}

} // namespace tessera::frontend
