// Lookup in the instruction table, and the texts made from it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/ptx/Spec.h"

#include <unordered_map>

namespace tessera::sim::ptx {

namespace {

/// `m64nNk16` in a list stands for every N.
bool contains(std::string_view list, std::string_view word) {
  std::string shape;
  if (word.substr(0, 4) == "m64n" && word.find('k') != std::string_view::npos) {
    shape = "m64nN" + std::string(word.substr(word.find('k')));
    word = shape;
  }
  while (!list.empty()) {
    size_t blank = list.find(' ');
    if (list.substr(0, blank) == word)
      return true;
    if (blank == std::string_view::npos)
      return false;
    list.remove_prefix(blank + 1);
  }
  return false;
}

bool hasAll(const Instruction &instruction, std::string_view list) {
  while (!list.empty()) {
    size_t blank = list.find(' ');
    if (!instruction.has(list.substr(0, blank)))
      return false;
    if (blank == std::string_view::npos)
      return true;
    list.remove_prefix(blank + 1);
  }
  return true;
}

std::string quoted(const Instruction &instruction) {
  return "'" + std::string(instruction.spelling) + "'";
}

} // namespace

const Spec &findSpec(const Instruction &instruction) {
  static const auto table = [] {
    std::unordered_map<std::string_view, std::vector<const Spec *>> map;
    for (const Spec &spec : allSpecs())
      map[spec.base].push_back(&spec);
    return map;
  }();
  auto fail = [&](const std::string &what) {
    throw Error(instruction.line, instruction.column, what);
  };
  auto it = table.find(instruction.base);
  if (it == table.end())
    fail("unknown instruction " + quoted(instruction));
  const Spec *found = nullptr;
  for (const Spec *spec : it->second)
    if (hasAll(instruction, spec->required)) {
      found = spec;
      break;
    }
  if (!found) {
    std::string forms;
    for (const Spec *spec : it->second)
      forms += (forms.empty() ? "" : " | ") + std::string(spec->required);
    fail("instruction " + quoted(instruction) +
         " needs one of these forms: " + forms);
  }
  for (std::string_view m : instruction.modifiers)
    if (!contains(found->required, m) && !contains(found->allowed, m))
      fail("modifier '." + std::string(m) + "' is not known for " +
           quoted(instruction) + "; known: " + std::string(found->required) +
           (found->required.empty() ? "" : " ") + std::string(found->allowed));
  for (Type type : instruction.types)
    if (!contains(found->types, typeName(type)))
      fail("type '." + std::string(typeName(type)) + "' is not known for " +
           quoted(instruction) + "; known: " + std::string(found->types));
  size_t n = instruction.operands.size();
  if (n < found->minOperands || n > found->maxOperands)
    fail("instruction " + quoted(instruction) + " has " + std::to_string(n) +
         " operands, expected " + std::to_string(found->minOperands) +
         (found->minOperands == found->maxOperands
              ? ""
              : " to " + std::to_string(found->maxOperands)));
  return *found;
}

std::string supportTable() {
  std::string out;
  std::string_view family;
  auto dotted = [](std::string_view list) {
    std::string text;
    while (!list.empty()) {
      size_t blank = list.find(' ');
      text += (text.empty() ? "." : " .") + std::string(list.substr(0, blank));
      if (blank == std::string_view::npos)
        break;
      list.remove_prefix(blank + 1);
    }
    return text;
  };
  for (const Spec &spec : allSpecs()) {
    if (spec.family != family) {
      family = spec.family;
      out += "\n### " + std::string(family) +
             "\n\n| instruction | further modifiers | types | from | status "
             "|\n|---|---|---|---|---|\n";
    }
    std::string name(spec.base);
    if (!spec.required.empty()) {
      std::string extra = dotted(spec.required);
      std::erase(extra, ' ');
      name += extra;
    }
    const char *status = spec.status == Status::Executed ? "executed"
                         : spec.status == Status::Hint   ? "hint"
                                                         : "refused";
    out += "| `" + name + "` | " + dotted(spec.allowed) + " | " +
           dotted(spec.types) + " | sm_" + std::to_string(spec.minArch) +
           " | " + status +
           (spec.note.empty() ? "" : ": " + std::string(spec.note)) + " |\n";
  }
  return out;
}

} // namespace tessera::sim::ptx
