//===- Text.cpp - Names and strings of a plan's text ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Plan/Text.h"

#include "llvm/ADT/StringExtras.h"

using namespace tessera::plan;
using llvm::StringRef;

std::string tessera::plan::quoted(StringRef text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    if (c == '\n')
      result += "\\n";
    else if (c == '\t')
      result += "\\t";
    else
      result += c;
  }
  return result + "\"";
}

std::string PlanNames::fresh(llvm::StringSet<> &taken, StringRef hint) {
  std::string name;
  for (char c : hint)
    name += llvm::isAlnum(c) || c == '_' || c == '.' || (c & 0x80) ? c : '_';
  if (name.empty())
    name = "t";
  std::string result = name;
  for (unsigned i = 1; !taken.insert(result).second; ++i)
    result = name + "." + std::to_string(i);
  return result;
}
