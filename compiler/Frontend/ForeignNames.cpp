//===- ForeignNames.cpp - What other libraries' names are here ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/ForeignNames.h"

#include <cctype>

namespace tessera::frontend {

static constexpr ForeignName foreignNames[] = {
#define FUNCTION(name, ours, why) {ForeignKind::Function, name, ours, why},
#define METHOD(name, ours, why) {ForeignKind::Method, name, ours, why},
#define ATTRIBUTE(name, ours, why) {ForeignKind::Attribute, name, ours, why},
#define KEYWORD(name, ours, why) {ForeignKind::Keyword, name, ours, why},
#define DECORATOR(name, ours, why) {ForeignKind::Decorator, name, ours, why},
#include "compiler/Frontend/ForeignNames.inc"
};

const ForeignName *findForeign(ForeignKind kind, std::string_view name) {
  for (const ForeignName &entry : foreignNames)
    if (entry.kind == kind && entry.name == name)
      return &entry;
  return nullptr;
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
                        const std::string &object, const std::string &value) {
  std::string result;
  // Between the brackets of a call an argument needs no parentheses.
  auto add = [&](const std::string &text, size_t next) {
    char before = result.empty() ? ' ' : result.back();
    char after = next < ours.size() ? ours[next] : ' ';
    bool alone = ours.size() == 2 || result == "assert " ||
                 ((before == '(' || before == '=' ||
                   (result.size() > 1 && before == ' ' &&
                    result[result.size() - 2] == ',')) &&
                  (after == ')' || after == ','));
    result += alone || isTight(text) ? text : "(" + text + ")";
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
    } else if (which == '+' && i + 1 < ours.size()) {
      // An accumulator, if it is given: "acc + ".
      if (size_t number = size_t(ours[++i] - '0'); number < arguments.size())
        result += arguments[number] + " + ";
    } else if (which == '*') {
      std::string all;
      for (const std::string &argument : arguments)
        all += (all.empty() ? "" : ", ") + argument;
      // f($x, $*) without arguments is f($x).
      if (all.empty() && result.ends_with(", "))
        result.resize(result.size() - 2);
      result += all;
    } else if (size_t number = size_t(which - '0');
               std::isdigit(uint8_t(which)) && number < arguments.size()) {
      add(arguments[number], i + 1);
    } else {
      result += "...";
    }
  }
  return result;
}

} // namespace tessera::frontend
