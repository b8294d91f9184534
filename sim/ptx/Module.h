// A parsed PTX module: names are resolved, instructions are still spelled.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/ptx/Lexer.h"
#include "sim/ptx/Types.h"
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tessera::sim::ptx {

struct Function;

/// A variable of any state space, or a parameter.
struct Variable {
  std::string name;
  Space space = Space::Global;
  Type type = Type::B8;
  unsigned align = 1;
  uint64_t count = 1; // elements; 0 for an open array
  uint64_t bytes = 0;
  bool isExtern = false, isWeak = false, isVisible = false, isManaged = false;
  unsigned line = 0;
  std::vector<uint8_t> init; // empty: zero
  struct Relocation {
    uint64_t at;
    std::string symbol;
    int64_t addend;
    bool generic;
    unsigned width;        // bytes written
    uint64_t mask = ~0ull; // from `mask(symbol)` initialisers
  };
  std::vector<Relocation> relocations;
  unsigned id = 0; // index among the function's variables of its space
};

struct Register {
  std::string name;
  Type type;
};

struct Operand {
  enum Kind : uint8_t {
    Reg,
    Special, // special register, by name
    Int,
    F32,
    F64,
    Symbol,  // variable or function, plus offset
    Address, // elements[0] base (+offset), elements[1] coordinates if any
    Vector,
    Label,
    Sink, // `_`
    Pair  // d|p
  };
  Kind kind = Int;
  bool negated = false; // `!p`
  unsigned line = 0, column = 0;
  unsigned reg = 0;
  uint64_t bits = 0;
  int64_t offset = 0;
  std::string name;
  const Variable *variable = nullptr;
  const Function *function = nullptr;
  std::vector<Operand> elements;
};

struct Location {
  unsigned file = 0, line = 0, column = 0;
  int inlinedAt = -1; // index into Function::locations
  std::string function;
};

struct Instruction {
  std::string_view spelling; // the opcode as written
  std::string_view base;
  std::vector<std::string_view> modifiers; // in order, types excluded
  std::vector<Type> types;
  std::vector<Operand> operands;
  int guard = -1; // register, or -1
  bool guardNegated = false;
  unsigned line = 0, column = 0;
  int location = -1;      // index into Function::locations
  uint64_t usedBytes = 0; // from pragma used_bytes_mask; 0: all

  bool has(std::string_view modifier) const {
    for (auto m : modifiers)
      if (m == modifier)
        return true;
    return false;
  }
  /// What follows `prefix` in the modifier that starts with it.
  std::string_view after(std::string_view prefix) const {
    for (auto m : modifiers)
      if (m.size() > prefix.size() && m.substr(0, prefix.size()) == prefix)
        return m.substr(prefix.size());
    return {};
  }
};

struct Function {
  std::string name;
  bool isEntry = false, hasBody = false, isExtern = false, isWeak = false;
  bool isVisible = false, noReturn = false;
  unsigned line = 0;
  std::vector<Variable *> params, returns;
  std::vector<Register> registers;
  std::vector<Instruction> body;
  std::vector<unsigned> labels; // label number to instruction index
  std::vector<std::string> labelNames;
  std::vector<std::vector<unsigned>> branchTargets; // lists of label numbers
  std::vector<Location> locations;
  std::deque<Variable> variables; // owns locals, params and scoped shared
  unsigned maxThreads[3] = {0, 0, 0}, requiredThreads[3] = {0, 0, 0};
  unsigned requiredCluster[3] = {0, 0, 0}, maxClusterRank = 0;
  unsigned minBlocksPerSm = 0, maxRegisters = 0;
  bool explicitCluster = false, blocksAreClusters = false;
  std::map<std::string, std::vector<Variable *>> prototypes;
};

struct Module {
  std::string text; // all string_views point in here
  unsigned versionMajor = 0, versionMinor = 0;
  std::string target;  // sm_90a
  unsigned arch = 0;   // 90
  char archSuffix = 0; // 'a', 'f' or 0
  bool debug = false;
  std::deque<Variable> variables;
  std::deque<Function> functions;
  std::map<std::string, Function *, std::less<>> functionByName;
  std::map<std::string, Variable *, std::less<>> variableByName;
  std::map<std::string, std::string> aliases;
  std::map<unsigned, std::string> files;
  std::vector<std::string> remarks;
};

/// Parses a module, or throws Error.
std::unique_ptr<Module> parse(std::string text);

} // namespace tessera::sim::ptx
