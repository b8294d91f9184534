// Module-level PTX: variables, functions, files, debug sections.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/ptx/Parser.h"
#include <bit>
#include <cstring>

namespace tessera::sim::ptx {

void Parser::moduleStatement() {
  const Token &token = peek();
  if (token.kind == Token::Punct && token.text[0] == ';') {
    take();
    return;
  }
  if (token.kind == Token::Word && isPunct(':', 1)) {
    // A label between debug sections.
    take();
    take();
    return;
  }
  if (token.kind != Token::Directive)
    fail(token, "expected a directive at module level");
  if (acceptDirective(".version")) {
    const Token &version = take();
    if (std::sscanf(std::string(version.text).c_str(), "%u.%u",
                    &module.versionMajor, &module.versionMinor) != 2)
      fail(version, "expected a version such as 8.8");
    if (module.versionMajor * 100 + module.versionMinor > 904)
      module.remarks.push_back("PTX version " + std::string(version.text) +
                               " is newer than 9.4; unknown instructions are "
                               "refused one by one");
    return;
  }
  if (acceptDirective(".target"))
    return parseTarget();
  if (acceptDirective(".address_size")) {
    const Token &size = peek();
    if (expectInteger("the address size") != 64)
      fail(size, "only 64-bit addresses are supported");
    return;
  }
  if (token.text == ".file")
    return parseFile();
  if (token.text == ".section")
    return skipSection();
  if (token.text == ".pragma")
    return parsePragma();
  if (acceptDirective(".alias")) {
    std::string name(expectWord("a function name"));
    expectPunct(',', "after the alias");
    module.aliases[name] = expectWord("a function name");
    expectPunct(';', "after .alias");
    return;
  }
  bool isExtern = false, isVisible = false, isWeak = false;
  while (true) {
    if (acceptDirective(".extern"))
      isExtern = true;
    else if (acceptDirective(".visible"))
      isVisible = true;
    else if (acceptDirective(".weak") || acceptDirective(".common"))
      isWeak = true;
    else
      break;
  }
  if (acceptDirective(".entry"))
    return parseFunction(true, isExtern, isVisible, isWeak);
  if (acceptDirective(".func"))
    return parseFunction(false, isExtern, isVisible, isWeak);
  for (auto [name, space] :
       {std::pair{".global", Space::Global},
        std::pair{".shared", Space::Shared}, std::pair{".const", Space::Const},
        std::pair{".local", Space::Local}})
    if (acceptDirective(name))
      return parseVariables(space, isExtern, isVisible, isWeak);
  fail(peek(), "directive is not supported at module level");
}

void Parser::parseTarget() {
  do {
    const Token &token = peek();
    std::string_view name = expectWord("a target");
    if (name.substr(0, 3) == "sm_") {
      module.target = name;
      module.arch = 0;
      size_t i = 3;
      for (; i < name.size() && name[i] >= '0' && name[i] <= '9' && i < 7; ++i)
        module.arch = module.arch * 10 + (name[i] - '0');
      module.archSuffix = i < name.size() ? name[i] : 0;
    } else if (name == "debug") {
      module.debug = true;
    } else if (name != "texmode_independent" && name != "texmode_unified") {
      fail(token, "unknown target");
    }
  } while (acceptPunct(','));
}

void Parser::parseFile() {
  take();
  unsigned number = expectInteger("a file number");
  if (peek().kind != Token::String)
    fail(peek(), "expected a file name");
  module.files[number] = take().text;
  while (acceptPunct(','))
    expectInteger("a number");
}

void Parser::skipSection() {
  take();
  const Token &name = take();
  if (name.kind != Token::Directive && name.kind != Token::Word)
    fail(name, "expected a section name");
  expectPunct('{', "after the section name");
  unsigned depth = 1;
  while (depth) {
    if (peek().kind == Token::End)
      fail(peek(), "expected '}' after the section");
    if (isPunct('{'))
      ++depth;
    if (isPunct('}'))
      --depth;
    take();
  }
}

Type Parser::expectType() {
  const Token &token = peek();
  if (token.kind == Token::Directive)
    if (auto type = parseType(token.text.substr(1))) {
      take();
      return *type;
    }
  fail(token, "expected a type");
}

unsigned Parser::parseAlign() {
  const Token &token = peek();
  uint64_t align = expectInteger("an alignment");
  if (!std::has_single_bit(align) || align > (1u << 20))
    fail(token, "alignment is not a power of two");
  return align;
}

void Parser::skipAttribute(Variable *variable) {
  expectPunct('(', "after .attribute");
  unsigned depth = 1;
  while (depth && peek().kind != Token::End) {
    if (variable && peek().text == ".managed")
      variable->isManaged = true;
    if (isPunct('('))
      ++depth;
    if (isPunct(')'))
      --depth;
    take();
  }
}

void Parser::parseDimensions(Variable &variable) {
  variable.count = 1;
  while (acceptPunct('[')) {
    const Token &token = peek();
    if (acceptPunct(']')) {
      variable.count = 0;
      continue;
    }
    uint64_t n = expectInteger("an array size");
    expectPunct(']', "after the array size");
    if (n > (1ull << 40) || (n && variable.count > (1ull << 40) / n))
      fail(token, "array is too large");
    variable.count *= n;
  }
  variable.bytes = variable.count * typeBytes(variable.type);
}

void Parser::parseVariables(Space space, bool isExtern, bool isVisible,
                            bool isWeak) {
  Variable proto;
  proto.space = space;
  proto.isExtern = isExtern;
  proto.isVisible = isVisible;
  proto.isWeak = isWeak;
  unsigned align = 0, lanes = 1;
  while (true) {
    if (acceptDirective(".align"))
      align = parseAlign();
    else if (acceptDirective(".attribute"))
      skipAttribute(&proto);
    else if (acceptDirective(".v2"))
      lanes = 2;
    else if (acceptDirective(".v4"))
      lanes = 4;
    else if (acceptDirective(".ptr"))
      continue;
    else
      break;
  }
  proto.type = expectType();
  do {
    Variable v = proto;
    v.line = peek().line;
    const Token &nameToken = peek();
    v.name = expectWord("a variable name");
    v.align = align ? align : std::max(1u, typeBytes(v.type) * lanes);
    parseDimensions(v);
    v.count *= lanes;
    v.bytes *= lanes;
    if (acceptPunct('='))
      parseInitialiser(v);
    if (function) {
      if (space == Space::Global || space == Space::Const) {
        // A static of a function: module lifetime, function-wide name.
        module.variables.push_back(std::move(v));
        scopes.back().variables[nameToken.text] = &module.variables.back();
      } else {
        function->variables.push_back(std::move(v));
        scopes.back().variables[nameToken.text] = &function->variables.back();
      }
      continue;
    }
    auto known = module.variableByName.find(v.name);
    if (known != module.variableByName.end()) {
      if (!known->second->isExtern && !v.isExtern)
        throw Error(v.line, nameToken.column,
                    "variable '" + v.name + "' is defined twice");
      if (!v.isExtern)
        *known->second = std::move(v);
      continue;
    }
    module.variables.push_back(std::move(v));
    module.variableByName[module.variables.back().name] =
        &module.variables.back();
  } while (acceptPunct(','));
  expectPunct(';', "after the variable");
}

void Parser::parseInitialiser(Variable &variable) {
  uint64_t at = 0;
  if (!isPunct('{')) {
    parseInitialiserValue(variable, at);
  } else {
    unsigned depth = 0;
    do {
      while (acceptPunct('{'))
        ++depth;
      if (!isPunct('}'))
        parseInitialiserValue(variable, at);
      while (depth && acceptPunct('}'))
        --depth;
    } while (acceptPunct(','));
    if (depth)
      fail(peek(), "expected '}' after the initialiser");
  }
  if (variable.count == 0) {
    variable.bytes = variable.init.size();
    variable.count = variable.bytes / std::max(1u, typeBytes(variable.type));
  }
}

void Parser::parseInitialiserValue(Variable &variable, uint64_t &at) {
  unsigned width = std::max(1u, typeBytes(variable.type));
  const Token &token = peek();
  uint64_t bits = 0, mask = ~0ull;
  bool isSymbol = false, generic = false;
  std::string symbol;
  int64_t addend = 0;
  if (token.kind == Token::Integer && isPunct('(', 1)) {
    mask = take().bits;
    take();
    isSymbol = true;
  }
  if (peek().kind == Token::Word) {
    isSymbol = true;
    symbol = take().text;
    if (symbol == "generic") {
      generic = true;
      expectPunct('(', "after 'generic'");
      symbol = expectWord("a variable");
      while (acceptPunct('+'))
        addend += int64_t(expectInteger("an offset"));
      expectPunct(')', "after the variable");
    }
    while (isPunct('+') || isPunct('-')) {
      bool minus = take().text[0] == '-';
      int64_t n = int64_t(expectInteger("an offset"));
      addend += minus ? -n : n;
    }
    if (mask != ~0ull)
      expectPunct(')', "after the masked symbol");
  } else {
    Operand value = primary();
    bits = value.bits;
    if (value.kind == Operand::F64 && variable.type == Type::F32)
      bits = std::bit_cast<uint32_t>(float(std::bit_cast<double>(bits)));
    else if (value.kind == Operand::F32 && variable.type == Type::F64)
      bits =
          std::bit_cast<uint64_t>(double(std::bit_cast<float>(uint32_t(bits))));
    else if (value.kind != Operand::Int && value.kind != Operand::F32 &&
             value.kind != Operand::F64)
      throw Error(value.line, value.column, "expected a number");
  }
  if (variable.count && at + width > variable.bytes)
    fail(token, "initialiser is longer than the variable");
  if (at + width > (1ull << 32))
    fail(token, "initialiser is too long");
  if (variable.init.size() < at + width)
    variable.init.resize(at + width);
  if (isSymbol)
    variable.relocations.push_back(
        {at, symbol, addend, generic, mask == ~0ull ? width : 1, mask});
  else
    std::memcpy(variable.init.data() + at, &bits, std::min(width, 8u));
  at += width;
}

std::vector<Variable *> Parser::parseParameters(Function &owner, Space space) {
  std::vector<Variable *> list;
  expectPunct('(', "before the parameters");
  if (acceptPunct(')'))
    return list;
  do {
    Variable v;
    v.space = space;
    v.line = peek().line;
    if (peek().kind == Token::Directive && peek().text == ".reg")
      fail(peek(), "parameters in registers are not supported");
    if (!acceptDirective(".param"))
      fail(peek(), "expected .param");
    unsigned align = 0;
    while (acceptDirective(".align"))
      align = parseAlign();
    v.type = expectType();
    v.align = align ? align : std::max(1u, typeBytes(v.type));
    if (acceptDirective(".ptr"))
      while (peek().kind == Token::Directive) {
        if (acceptDirective(".align"))
          parseAlign();
        else
          take(); // .global, .shared, .const, .local
      }
    v.name = expectWord("a parameter name");
    parseDimensions(v);
    owner.variables.push_back(std::move(v));
    list.push_back(&owner.variables.back());
  } while (acceptPunct(','));
  expectPunct(')', "after the parameters");
  return list;
}

void Parser::parseLaunchDirectives(Function &f) {
  auto three = [&](unsigned *out) {
    out[0] = expectInteger("a count");
    out[1] = out[2] = 1;
    for (int i = 1; i < 3 && acceptPunct(','); ++i)
      out[i] = expectInteger("a count");
  };
  while (peek().kind == Token::Directive) {
    if (acceptDirective(".maxntid"))
      three(f.maxThreads);
    else if (acceptDirective(".reqntid"))
      three(f.requiredThreads);
    else if (acceptDirective(".reqnctapercluster"))
      three(f.requiredCluster);
    else if (acceptDirective(".maxclusterrank"))
      f.maxClusterRank = expectInteger("a count");
    else if (acceptDirective(".minnctapersm") ||
             acceptDirective(".maxnctapersm"))
      f.minBlocksPerSm = expectInteger("a count");
    else if (acceptDirective(".maxnreg"))
      f.maxRegisters = expectInteger("a count");
    else if (acceptDirective(".explicitcluster"))
      f.explicitCluster = true;
    else if (acceptDirective(".blocksareclusters"))
      f.blocksAreClusters = true;
    else if (acceptDirective(".noreturn"))
      f.noReturn = true;
    else if (acceptDirective(".attribute"))
      skipAttribute(nullptr);
    else if (acceptDirective(".abi_preserve") ||
             acceptDirective(".abi_preserve_control"))
      expectInteger("a count");
    else if (peek().text == ".pragma")
      parsePragma();
    else
      fail(peek(), "unknown launch directive");
  }
  if (f.requiredCluster[0] && f.maxClusterRank)
    throw Error(f.line, 1,
                ".reqnctapercluster and .maxclusterrank cannot both be given");
  if (f.blocksAreClusters && !(f.requiredThreads[0] && f.requiredCluster[0]))
    throw Error(f.line, 1,
                ".blocksareclusters needs .reqntid and .reqnctapercluster");
}

void Parser::parseFunction(bool isEntry, bool isExtern, bool isVisible,
                           bool isWeak) {
  if (acceptDirective(".attribute"))
    skipAttribute(nullptr);
  module.functions.emplace_back();
  Function *f = &module.functions.back();
  f->line = peek().line;
  f->isEntry = isEntry;
  f->isExtern = isExtern;
  f->isVisible = isVisible;
  f->isWeak = isWeak;
  if (isPunct('('))
    f->returns = parseParameters(*f, Space::Param);
  const Token &nameToken = peek();
  f->name = expectWord("a function name");
  if (isPunct('('))
    f->params = parseParameters(*f, Space::Param);
  parseLaunchDirectives(*f);
  auto known = module.functionByName.find(f->name);
  if (known != module.functionByName.end()) {
    Function *old = known->second;
    if (isPunct(';')) { // a repeated declaration
      take();
      module.functions.pop_back();
      return;
    }
    if (old->hasBody)
      throw Error(nameToken.line, nameToken.column,
                  "function '" + f->name + "' is defined twice");
    // Calls already parsed point at the declaration: define that one.
    Function definition = std::move(*f);
    module.functions.pop_back();
    *old = std::move(definition);
    f = old;
  } else {
    module.functionByName[f->name] = f;
  }
  if (acceptPunct(';'))
    return;
  f->hasBody = true;
  function = f;
  location = -1;
  parseBody();
  function = nullptr;
}

} // namespace tessera::sim::ptx
