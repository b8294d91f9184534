// The recursive-descent parser behind ptx::parse; split over two files:
// Parser.cpp (statements, operands) and Declarations.cpp (variables,
// functions). SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/ptx/Module.h"
#include <unordered_map>

namespace tessera::sim::ptx {

class Parser {
public:
  explicit Parser(Module &module);
  void run();

private:
  struct RegisterRange {
    Type type;
    uint64_t count;
  };
  struct LabelUse {
    size_t instruction; // or the number of a branch-target list
    size_t operand;
    std::string_view name;
    unsigned line, column;
    bool inTargetList;
  };
  /// `.reg .v4 .b32 r`: r.x, r.y, r.z and r.w are registers, r is all of them.
  struct VectorRegister {
    unsigned first, count;
  };
  /// What one pair of braces declares.
  struct Scope {
    std::unordered_map<std::string_view, unsigned> registers;
    std::unordered_map<std::string_view, RegisterRange> ranges;
    std::unordered_map<std::string_view, VectorRegister> vectors;
    std::unordered_map<std::string_view, Variable *> variables;
    std::unordered_map<std::string_view, unsigned> labels;
    std::unordered_map<std::string_view, unsigned> targetLists;
    std::vector<LabelUse> uses;
  };

  Module &module;
  std::vector<Token> tokens;
  size_t at = 0;
  Function *function = nullptr;
  std::vector<Scope> scopes;
  int location = -1;
  unsigned locatedAssembly = 0; // the one whose place was taken last
  uint64_t usedBytes = 0;

  // Tokens.
  const Token &peek(size_t ahead = 0) const;
  const Token &take();
  bool isPunct(char c, size_t ahead = 0) const;
  bool acceptPunct(char c);
  void expectPunct(char c, const char *where);
  bool acceptDirective(std::string_view name);
  std::string_view expectWord(const char *what);
  uint64_t expectInteger(const char *what);
  [[noreturn]] void fail(const Token &token, const std::string &what) const;

  // Declarations.cpp
  void moduleStatement();
  void parseTarget();
  void parseFile();
  void skipSection();
  void parseFunction(bool isEntry, bool isExtern, bool isVisible, bool isWeak);
  std::vector<Variable *> parseParameters(Function &owner, Space space);
  void parseLaunchDirectives(Function &f);
  /// Declares variables after their space directive was read.
  void parseVariables(Space space, bool isExtern, bool isVisible, bool isWeak);
  void parseInitialiser(Variable &variable);
  void parseInitialiserValue(Variable &variable, uint64_t &at);
  void parseDimensions(Variable &variable);
  Type expectType();
  unsigned parseAlign();
  void skipAttribute(Variable *variable);

  // Parser.cpp
  void parseBody();
  void statement();
  void parseRegisters();
  void parseLoc();
  void parsePragma();
  void parseLabelDirective(std::string_view label);
  void instruction();
  Operand operand();
  Operand primary();
  Operand address();
  Operand word(const Token &token);
  std::optional<unsigned> findRegister(std::string_view name);
  const VectorRegister *findVector(std::string_view name) const;
  /// The register of `r.x`.
  std::optional<unsigned> findElement(std::string_view name) const;
  unsigned declareRegister(Scope &scope, std::string_view name, Type type);
  Variable *findVariable(std::string_view name);
  void openScope();
  void closeScope();
  void useLabels(Instruction &instruction);
};

} // namespace tessera::sim::ptx
