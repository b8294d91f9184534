//===- SemaUnknown.cpp - Names that are not there, pairs that are none ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/ForeignNames.h"
#include "compiler/Frontend/LoopUses.h"
#include "compiler/Frontend/SemaImpl.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tessera::frontend {

llvm::ArrayRef<const char *> getPythonBuiltins() {
  static constexpr const char *names[] = {"range", "print", "len", "min",
                                          "max",   "abs",   "int", "float",
                                          "bool",  "round"};
  return names;
}

bool isForeignModule(llvm::StringRef name) {
  return llvm::is_contained({"np", "numpy", "torch", "tl", "triton", "F", "jnp",
                             "jax", "lax", "nn", "pl", "cp", "cuda"},
                            name);
}

std::string getCallText(const std::string &text) {
  int depth = 0;
  for (size_t i = 0; i < text.size() && text[0] == '('; ++i) {
    depth += (text[i] == '(') - (text[i] == ')');
    if (depth == 0)
      return text.substr(0, i + 1);
  }
  return {};
}

/// "0:3" of "(0, 3)", the arguments of Python's slice.
static std::string getSliceText(llvm::StringRef call) {
  SmallVector<llvm::StringRef> parts;
  call.drop_front().drop_back().split(parts, ',');
  for (llvm::StringRef &part : parts)
    part = part.trim() == "None" ? "" : part.trim();
  if (parts.size() == 1)
    return ":" + parts[0].str();
  return llvm::join(parts, ":");
}

/// "for m in tsr.tile(N, BN)" in a loop over m, where n is used: true, with an
/// error.
bool Analyzer::reportHiddenRange(const std::string &name,
                                 const SourceRange &where) {
  std::vector<LoopUse> uses = collectLoopUses(
      *this, [](llvm::StringRef) { return llvm::SmallVector<std::string>(); });
  for (const LoopUse &outer : uses)
    for (const LoopUse &inner : uses) {
      if (inner.name != outer.name || inner.loop == outer.loop ||
          !isWithin(inner.loop->range, outer.loop->range) ||
          !isWithin(where, inner.loop->range) || !is<Name>(inner.loop->target))
        continue;
      error(where, "'" + name + "' is not defined, and the loop of " +
                       describeLine(inner.target->range) + " hides the range " +
                       outer.name + " of " + describeLine(outer.target->range))
          .addNote(inner.target->range, inner.name + " is assigned again here")
          .setFix("for " + name + " in " + quote(inner.loop->iter->range) + ":",
                  inner.target->range);
      return true;
    }
  return false;
}

ValueResult Analyzer::unknownName(const std::string &name,
                                  const SourceRange &where) {
  Scope &scope = this->scope();
  if (auto gone = scope.gone.find(name); gone != scope.gone.end()) {
    std::string inside = getLineInLoop(name, where);
    error(where, "'" + name + "' has no value here: it is assigned only " +
                     gone->second.why)
        .addNote(gone->second.where, "assigned here")
        .setFix(inside.empty() ? getFirstValueFix(name, gone->second.fix, where)
                               : inside);
    return failure();
  }
  for (const std::unique_ptr<Scope> &outer : scopes)
    if (outer->definition->name == name) {
      error(where, "'" + name +
                       "' calls itself; recursion is not part of the language")
          .addNote(outer->definition->nameRange, "defined here")
          .setFix("a loop: for i in range(n)");
      return failure();
    }
  if (reportHiddenRange(name, where) || reportNoStart(name, where))
    return failure();
  std::vector<std::string> known = {"tsr", "math"};
  for (const auto &[id, value] : scope.variables)
    known.push_back(id);
  if (scope.hasDims)
    for (const std::unique_ptr<Dim> &dim : getDims())
      known.push_back(dim->name);
  for (const auto &[id, value] : *scope.captured)
    if (id.find('.') == std::string::npos)
      known.push_back(id);
  if (scope.constants)
    for (const auto &[id, value] : *scope.constants)
      known.push_back(id);
  llvm::append_range(known, getPythonBuiltins());
  std::vector<std::string> near = nearestNames(name, known);
  // What the body assigns is not misspelt: it has no first value.
  std::vector<std::pair<std::string, SourceRange>> assigned;
  collectAssigned(getBody(), assigned);
  bool isAssigned = llvm::any_of(
      assigned, [&](const auto &entry) { return entry.first == name; });
  if (isAssigned)
    near.clear();
  Diagnostic &diagnostic = error(where, "'" + name + "' is not defined");
  std::vector<std::string> calls = library->getCallNames();
  llvm::append_range(
      calls, std::initializer_list<const char *>{"tile", "grid", "unroll"});
  auto dtype = parseDType(name);
  // f32 of Rust and MLIR, torch's half.
  static const llvm::StringMap<const char *> shortened = {
      {"f16", "float16"}, {"half", "float16"},   {"f32", "float32"},
      {"f64", "float64"}, {"double", "float64"}, {"long", "int64"}};
  if (auto found = shortened.find(name); !dtype && found != shortened.end())
    dtype = parseDType(found->second);
  if (dtype && !isAssigned)
    diagnostic.setFix(getDTypeName(*dtype));
  else if (std::string call = getCallText(quoteBehind(where));
           name == "slice" && call.size() > 2)
    diagnostic.setFix(getSliceText(call));
  else if (llvm::is_contained(calls, name))
    diagnostic.setFix("tsr." + name + getCallText(quoteBehind(where)));
  else if (!near.empty())
    diagnostic.setFix(near.front());
  else if (name == "np" || name == "numpy" || name == "torch" || name == "tl" ||
           name == "triton" || name == "F")
    diagnostic.setFix("tsr, whose operations are tsr.exp, tsr.sum, ...");
  else if (!explainForeign(*this, diagnostic, ForeignKind::Function, name, {},
                           OpSite{where, where, {}}) ||
           diagnostic.fix.empty())
    diagnostic.setFix(scope.hasDims && std::isupper(uint8_t(name[0]))
                          ? suggestForCapital(name, where)
                          : suggestStart(name, where));
  // A capital looks like a dim: say which there are.
  if (scope.hasDims && std::isupper(uint8_t(name[0]))) {
    std::string list;
    for (const std::unique_ptr<Dim> &dim : getDims())
      if (std::isalpha(uint8_t(dim->name[0])) &&
          dim->name.find('.') == std::string::npos)
        list += (list.empty() ? "" : ", ") + dim->name;
    diagnostic.addNote(scope.definition->nameRange,
                       list.empty()
                           ? "no dim of the signature of " +
                                 scope.definition->name + " has a name"
                           : "the dims in the signature of " +
                                 scope.definition->name + " are " + list);
  }
  return failure();
}

/// torch's x.max(dim=-1) is a pair, and [0] its values: true, with an error.
bool Analyzer::reportPair(const Subscript &subscript) {
  auto *call = dynCast<Call>(subscript.value);
  auto *which = dynCast<Constant>(subscript.slice);
  auto *callee = call ? dynCast<Attribute>(call->func) : nullptr;
  if (!callee || !which || !which->intValue)
    return false;
  int64_t number = *which->intValue;
  llvm::StringRef name = callee->attr;
  bool hasDim = llvm::any_of(call->keywords, [](const Keyword &keyword) {
    return keyword.name == "dim" || keyword.name == "axis";
  });
  if ((name != "max" && name != "min") || !hasDim ||
      (number != 0 && number != 1))
    return false;
  std::string text = quote(call->range), place = quote(callee->range);
  std::string fix = text;
  if (number == 1)
    fix = place.substr(0, place.size() - name.size()) + "arg" + name.str() +
          text.substr(place.size());
  error(subscript.range, name.str() +
                             " along an axis is the values alone, not "
                             "a pair of values and positions: [" +
                             std::to_string(number) +
                             "] would be one row of them")
      .setFix(fix);
  return true;
}

} // namespace tessera::frontend
