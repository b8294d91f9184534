// Statements and operands of a PTX function body.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/ptx/Parser.h"

#include "sim/ptx/SpecialRegisters.h"
#include <utility>

namespace tessera::sim::ptx {

Parser::Parser(Module &module) : module(module), tokens(lex(module.text)) {}

void Parser::run() {
  while (peek().kind != Token::End)
    moduleStatement();
}

const Token &Parser::peek(size_t ahead) const {
  return tokens[std::min(at + ahead, tokens.size() - 1)];
}
const Token &Parser::take() {
  const Token &token = tokens[at];
  if (at + 1 < tokens.size())
    ++at;
  return token;
}
bool Parser::isPunct(char c, size_t ahead) const {
  const Token &token = peek(ahead);
  return token.kind == Token::Punct && token.text[0] == c;
}
bool Parser::acceptPunct(char c) {
  if (!isPunct(c))
    return false;
  take();
  return true;
}
void Parser::expectPunct(char c, const char *where) {
  if (!acceptPunct(c))
    fail(peek(), std::string("expected '") + c + "' " + where);
}
bool Parser::acceptDirective(std::string_view name) {
  if (peek().kind != Token::Directive || peek().text != name)
    return false;
  take();
  return true;
}
std::string_view Parser::expectWord(const char *what) {
  if (peek().kind != Token::Word)
    fail(peek(), std::string("expected ") + what);
  return take().text;
}
uint64_t Parser::expectInteger(const char *what) {
  bool negative = acceptPunct('-');
  if (peek().kind != Token::Integer)
    fail(peek(), std::string("expected ") + what);
  uint64_t value = take().bits;
  return negative ? 0 - value : value;
}
void Parser::fail(const Token &token, const std::string &what) const {
  std::string found = token.kind == Token::End
                          ? std::string("end of file")
                          : "'" + std::string(token.text) + "'";
  throw Error(token.line, token.column, what + ", found " + found);
}

void Parser::openScope() { scopes.emplace_back(); }

void Parser::closeScope() {
  Scope scope = std::move(scopes.back());
  scopes.pop_back();
  for (LabelUse &use : scope.uses) {
    if (!use.inTargetList) {
      // brx.idx names a list, not a label.
      auto list = scope.targetLists.find(use.name);
      if (list != scope.targetLists.end()) {
        Operand &o = function->body[use.instruction].operands[use.operand];
        o.kind = Operand::Label;
        o.reg = list->second;
        continue;
      }
    }
    auto it = scope.labels.find(use.name);
    if (it == scope.labels.end()) {
      if (scopes.empty())
        throw Error(use.line, use.column,
                    "unknown name '" + std::string(use.name) + "'");
      scopes.back().uses.push_back(use);
      continue;
    }
    if (use.inTargetList) {
      function->branchTargets[use.instruction][use.operand] = it->second;
      continue;
    }
    Operand &o = function->body[use.instruction].operands[use.operand];
    o.kind = Operand::Label;
    o.reg = it->second;
  }
}

void Parser::parseBody() {
  openScope();
  size_t depth = scopes.size();
  expectPunct('{', "before the function body");
  while (!(isPunct('}') && scopes.size() == depth)) {
    if (peek().kind == Token::End)
      fail(peek(), "expected '}' after the function body");
    statement();
  }
  take();
  closeScope();
}

void Parser::statement() {
  const Token &token = peek();
  if (token.kind == Token::Punct) {
    switch (token.text[0]) {
    case '{':
      take();
      if (scopes.size() > 200)
        fail(token, "blocks are nested too deeply");
      return openScope();
    case '}':
      take();
      return closeScope();
    case ';':
      take();
      return;
    case '@':
      return instruction();
    }
    fail(token, "expected a statement");
  }
  if (token.kind == Token::Directive) {
    std::string_view text = token.text;
    if (text == ".reg") {
      take();
      return parseRegisters();
    }
    if (text == ".loc")
      return parseLoc();
    if (text == ".pragma")
      return parsePragma();
    if (text == ".file")
      return parseFile();
    if (text == ".section")
      return skipSection();
    bool isExtern = acceptDirective(".extern");
    for (auto [name, space] :
         {std::pair{".param", Space::Param}, std::pair{".local", Space::Local},
          std::pair{".shared", Space::Shared},
          std::pair{".global", Space::Global},
          std::pair{".const", Space::Const}})
      if (acceptDirective(name))
        return parseVariables(space, isExtern, false, false);
    fail(peek(), "directive is not supported here");
  }
  if (token.kind != Token::Word)
    fail(token, "expected a statement");
  if (isPunct(':', 1)) {
    std::string_view name = take().text;
    take();
    if (peek().kind == Token::Directive &&
        (peek().text == ".branchtargets" || peek().text == ".callprototype" ||
         peek().text == ".calltargets"))
      return parseLabelDirective(name);
    unsigned number = function->labels.size();
    if (!scopes.back().labels.emplace(name, number).second)
      throw Error(token.line, token.column,
                  "label '" + std::string(name) + "' is defined twice");
    function->labels.push_back(function->body.size());
    function->labelNames.emplace_back(name);
    return;
  }
  instruction();
}

void Parser::parseLabelDirective(std::string_view label) {
  std::string_view directive = take().text;
  if (directive == ".callprototype") {
    if (isPunct('('))
      parseParameters(*function, Space::Param);
    expectWord("'_' in the prototype");
    std::vector<Variable *> params;
    if (isPunct('('))
      params = parseParameters(*function, Space::Param);
    function->prototypes[std::string(label)] = params;
    while (!isPunct(';') && peek().kind != Token::End)
      take(); // .noreturn, .abi_preserve
    expectPunct(';', "after the prototype");
    return;
  }
  if (directive == ".calltargets") {
    function->prototypes[std::string(label)] = {};
    while (!isPunct(';') && peek().kind != Token::End)
      take();
    expectPunct(';', "after the call targets");
    return;
  }
  unsigned list = function->branchTargets.size();
  function->branchTargets.emplace_back();
  scopes.back().targetLists[label] = list;
  do {
    const Token &token = peek();
    std::string_view name = expectWord("a label");
    scopes.back().uses.push_back({list, function->branchTargets[list].size(),
                                  name, token.line, token.column, true});
    function->branchTargets[list].push_back(0);
  } while (acceptPunct(','));
  expectPunct(';', "after the branch targets");
}

void Parser::parseRegisters() {
  unsigned elements = acceptDirective(".v2")   ? 2
                      : acceptDirective(".v4") ? 4
                                               : 1;
  Type type = expectType();
  do {
    const Token &token = peek();
    std::string_view name = expectWord("a register name");
    if (elements > 1 && isPunct('<'))
      fail(peek(), "ranges of vector registers are not supported");
    if (acceptPunct('<')) {
      uint64_t count = expectInteger("the number of registers");
      expectPunct('>', "after the number of registers");
      scopes.back().ranges[name] = {type, count};
    } else if (scopes.back().registers.count(name) ||
               scopes.back().vectors.count(name)) {
      throw Error(token.line, token.column,
                  "register '" + std::string(name) + "' is declared twice");
    } else if (elements > 1) {
      scopes.back().vectors[name] = {unsigned(function->registers.size()),
                                     elements};
      for (unsigned i = 0; i < elements; ++i)
        function->registers.push_back(
            {std::string(name) + "." + "xyzw"[i], type});
    } else {
      declareRegister(scopes.back(), name, type);
    }
  } while (acceptPunct(','));
  expectPunct(';', "after the register declaration");
}

unsigned Parser::declareRegister(Scope &scope, std::string_view name,
                                 Type type) {
  unsigned index = function->registers.size();
  function->registers.push_back({std::string(name), type});
  scope.registers[name] = index;
  return index;
}

std::optional<unsigned> Parser::findRegister(std::string_view name) {
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
    --digits;
  for (size_t i = scopes.size(); i-- > 0;) {
    Scope &scope = scopes[i];
    if (auto it = scope.registers.find(name); it != scope.registers.end())
      return it->second;
    if (digits == name.size() || name.size() - digits > 9 ||
        (name[digits] == '0' && name.size() - digits > 1))
      continue;
    auto range = scope.ranges.find(name.substr(0, digits));
    if (range == scope.ranges.end())
      continue;
    uint64_t number = 0;
    for (char c : name.substr(digits))
      number = number * 10 + (c - '0');
    if (number < range->second.count)
      return declareRegister(scope, name, range->second.type);
  }
  return std::nullopt;
}

const Parser::VectorRegister *Parser::findVector(std::string_view name) const {
  for (size_t i = scopes.size(); i-- > 0;)
    if (auto it = scopes[i].vectors.find(name); it != scopes[i].vectors.end())
      return &it->second;
  return nullptr;
}

std::optional<unsigned> Parser::findElement(std::string_view name) const {
  size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot + 2 != name.size())
    return std::nullopt;
  const VectorRegister *vector = findVector(name.substr(0, dot));
  size_t element = std::string_view("xyzwrgba").find(name[dot + 1]);
  if (!vector || element == std::string_view::npos ||
      element % 4 >= vector->count)
    return std::nullopt;
  return vector->first + element % 4;
}

Variable *Parser::findVariable(std::string_view name) {
  for (size_t i = scopes.size(); i-- > 0;)
    if (auto it = scopes[i].variables.find(name);
        it != scopes[i].variables.end())
      return it->second;
  if (function)
    for (auto *list : {&function->params, &function->returns})
      for (Variable *v : *list)
        if (v->name == name)
          return v;
  auto it = module.variableByName.find(name);
  return it == module.variableByName.end() ? nullptr : it->second;
}

void Parser::parseLoc() {
  // LLVM counts source lines up inside inline assembly; only the first
  // place is the user's.
  unsigned assembly = take().assembly;
  bool again = assembly && assembly == locatedAssembly;
  locatedAssembly = assembly;
  Location loc;
  loc.file = expectInteger("a file number");
  loc.line = expectInteger("a line number");
  loc.column = expectInteger("a column");
  while (acceptPunct(',')) {
    std::string_view key = expectWord("'function_name' or 'inlined_at'");
    if (key == "function_name") {
      if (peek().kind == Token::Word || peek().kind == Token::Directive)
        loc.function = take().text;
      if (acceptPunct('+'))
        expectInteger("an offset");
    } else if (key == "inlined_at") {
      Location outer;
      outer.file = expectInteger("a file number");
      outer.line = expectInteger("a line number");
      outer.column = expectInteger("a column");
      loc.inlinedAt = function->locations.size();
      function->locations.push_back(outer);
    } else {
      fail(tokens[at - 1], "expected 'function_name' or 'inlined_at'");
    }
  }
  if (again)
    return;
  location = function->locations.size();
  function->locations.push_back(loc);
}

void Parser::parsePragma() {
  take();
  do {
    if (peek().kind != Token::String)
      fail(peek(), "expected a string after .pragma");
    std::string text(take().text);
    constexpr std::string_view used = "used_bytes_mask ";
    if (text.substr(0, used.size()) == used)
      usedBytes = std::strtoull(text.c_str() + used.size(), nullptr, 0);
  } while (acceptPunct(','));
  expectPunct(';', "after .pragma");
}

void Parser::instruction() {
  Instruction inst;
  inst.location = location;
  if (acceptPunct('@')) {
    inst.guardNegated = acceptPunct('!');
    const Token &token = peek();
    std::string_view name = expectWord("a predicate register");
    auto reg = findRegister(name);
    if (!reg)
      throw Error(token.line, token.column,
                  "unknown predicate '" + std::string(name) + "'");
    if (function->registers[*reg].type != Type::Pred)
      throw Error(token.line, token.column,
                  "guard '" + std::string(name) + "' is not a predicate");
    inst.guard = *reg;
  }
  const Token &token = peek();
  inst.line = token.line;
  inst.column = token.column;
  inst.spelling = expectWord("an instruction");
  inst.usedBytes = std::exchange(usedBytes, 0);
  std::string_view rest = inst.spelling;
  size_t dot = rest.find('.');
  inst.base = rest.substr(0, dot);
  while (dot != std::string_view::npos) {
    rest.remove_prefix(dot + 1);
    dot = rest.find('.');
    std::string_view part = rest.substr(0, dot);
    if (auto type = parseType(part))
      inst.types.push_back(*type);
    else
      inst.modifiers.push_back(part);
  }
  if (!isPunct(';')) {
    do {
      if (inst.operands.size() > 16)
        fail(peek(), "instruction has too many operands");
      inst.operands.push_back(operand());
    } while (acceptPunct(','));
  }
  expectPunct(';', ("after '" + std::string(inst.spelling) + "'").c_str());
  useLabels(inst);
  function->body.push_back(std::move(inst));
}

void Parser::useLabels(Instruction &inst) {
  for (size_t i = 0; i < inst.operands.size(); ++i) {
    Operand &o = inst.operands[i];
    if (o.kind != Operand::Label)
      continue;
    if (inst.base == "call") {
      if (!function->prototypes.count(o.name))
        throw Error(o.line, o.column, "unknown name '" + o.name + "'");
      o.kind = Operand::Symbol;
      continue;
    }
    if (inst.base != "bra" && inst.base != "brx")
      throw Error(o.line, o.column, "unknown name '" + o.name + "'");
    // The name must outlive this call: it is a view into the module's text.
    for (size_t t = at; t-- > 0;)
      if (tokens[t].line == o.line && tokens[t].column == o.column) {
        scopes.back().uses.push_back({function->body.size(), i, tokens[t].text,
                                      o.line, o.column, false});
        break;
      }
  }
}

Operand Parser::operand() {
  Operand first = primary();
  if (!isPunct('|'))
    return first;
  take();
  Operand pair;
  pair.kind = Operand::Pair;
  pair.line = first.line;
  pair.column = first.column;
  pair.elements.push_back(std::move(first));
  pair.elements.push_back(primary());
  return pair;
}

Operand Parser::primary() {
  const Token &token = peek();
  Operand o;
  o.line = token.line;
  o.column = token.column;
  if (token.kind == Token::Punct) {
    char c = token.text[0];
    if (c == '{' || c == '(') {
      take();
      o.kind = Operand::Vector;
      char close = c == '{' ? '}' : ')';
      if (!isPunct(close)) {
        do {
          if (o.elements.size() > 256)
            fail(peek(), "vector operand is too long");
          if (isPunct('{') || isPunct('('))
            fail(peek(), "vector operands do not nest");
          o.elements.push_back(primary());
        } while (acceptPunct(','));
      }
      if (!acceptPunct(close))
        fail(peek(), std::string("expected '") + close + "'");
      return o;
    }
    if (c == '[')
      return address();
    if (c == '!') {
      take();
      o = word(take());
      if (o.kind != Operand::Reg && o.kind != Operand::Special)
        throw Error(o.line, o.column, "'!' needs a predicate");
      o.negated = true;
      return o;
    }
    if (c == '-' || c == '+' || c == '~') {
      take();
      const Token &number = peek();
      o.bits = number.bits;
      if (number.kind == Token::Integer) {
        o.kind = Operand::Int;
        o.bits = c == '-' ? 0 - o.bits : c == '~' ? ~o.bits : o.bits;
      } else if (number.kind == Token::Float32 && c != '~') {
        o.kind = Operand::F32;
        o.bits ^= c == '-' ? 1ull << 31 : 0;
      } else if (number.kind == Token::Float64 && c != '~') {
        o.kind = Operand::F64;
        o.bits ^= c == '-' ? 1ull << 63 : 0;
      } else {
        fail(number, "expected a number");
      }
      take();
      return o;
    }
    fail(token, "expected an operand");
  }
  take();
  switch (token.kind) {
  case Token::Integer:
    o.kind = Operand::Int;
    o.bits = token.bits;
    return o;
  case Token::Float32:
    o.kind = Operand::F32;
    o.bits = token.bits;
    return o;
  case Token::Float64:
    o.kind = Operand::F64;
    o.bits = token.bits;
    return o;
  case Token::Word:
    return word(token);
  default:
    fail(token, "expected an operand");
  }
}

Operand Parser::word(const Token &token) {
  Operand o;
  o.line = token.line;
  o.column = token.column;
  std::string_view name = token.text;
  if (token.kind != Token::Word)
    fail(token, "expected a name");
  o.name = name;
  if (name == "_") {
    o.kind = Operand::Sink;
  } else if (auto reg = findRegister(name)) {
    o.kind = Operand::Reg;
    o.reg = *reg;
  } else if (auto element = findElement(name)) {
    o.kind = Operand::Reg;
    o.reg = *element;
  } else if (const VectorRegister *vector = findVector(name)) {
    o.kind = Operand::Vector;
    o.elements.resize(vector->count);
    for (unsigned i = 0; i < vector->count; ++i) {
      Operand &e = o.elements[i];
      e.kind = Operand::Reg;
      e.line = o.line;
      e.column = o.column;
      e.reg = vector->first + i;
      e.name = function->registers[e.reg].name;
    }
  } else if (name == "WARP_SZ") {
    o.kind = Operand::Int;
    o.bits = 32;
  } else if (Variable *variable = findVariable(name)) {
    o.kind = Operand::Symbol;
    o.variable = variable;
  } else if (auto it = module.functionByName.find(name);
             it != module.functionByName.end()) {
    o.kind = Operand::Symbol;
    o.function = it->second;
  } else if (auto special = findSpecialRegister(name)) {
    o.kind = Operand::Special;
    o.reg = *special;
  } else if (name[0] == '%') {
    throw Error(o.line, o.column,
                "unknown register '" + std::string(name) + "'");
  } else {
    o.kind = Operand::Label;
  }
  if (o.kind == Operand::Symbol && (isPunct('+') || isPunct('-'))) {
    bool minus = take().text[0] == '-';
    int64_t offset = int64_t(expectInteger("an offset"));
    o.offset = minus ? -offset : offset;
  }
  return o;
}

Operand Parser::address() {
  Operand o;
  o.kind = Operand::Address;
  o.line = peek().line;
  o.column = peek().column;
  take();
  o.elements.push_back(primary());
  Operand &base = o.elements[0];
  if (base.kind != Operand::Reg && base.kind != Operand::Symbol &&
      base.kind != Operand::Int)
    throw Error(base.line, base.column,
                "an address starts with a register, a variable or a number");
  o.offset = std::exchange(base.offset, 0);
  while (isPunct('+') || isPunct('-')) {
    bool minus = take().text[0] == '-';
    int64_t offset = int64_t(expectInteger("an offset"));
    o.offset += minus ? -offset : offset;
  }
  if (acceptPunct(','))
    o.elements.push_back(primary());
  // im2col and gather forms end with one more vector or mask.
  while (acceptPunct(','))
    o.elements.push_back(primary());
  expectPunct(']', "after the address");
  return o;
}

std::unique_ptr<Module> parse(std::string text) {
  auto module = std::make_unique<Module>();
  module->text = std::move(text);
  Parser(*module).run();
  return module;
}

} // namespace tessera::sim::ptx
