//===- SemaFixesLoops.cpp - What the variables of loops say of the rest ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A dim, an annotation or a store that is left out follows from the loops: the
// dims they cover, and what their variables index.
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/LoopUses.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tessera::frontend {

/// S[m] of the one Out that a kernel names nowhere, by the ranges and counters
/// of its loops; empty if there is none, or several.
std::string Analyzer::findMissingStore() const {
  std::string body;
  for (const Stmt *stmt : getBody()) {
    auto *line = dynCast<ExprStmt>(stmt);
    if (!line || !is<Constant>(line->value)) // a docstring names nothing
      body += quote(stmt->range) + "\n";
  }
  const ParameterDescription *missing = nullptr;
  for (const ParameterDescription &parameter : signature.parameters) {
    bool isNamed = false;
    changeWords(body, [&](llvm::StringRef word, char, char) {
      isNamed |= word == parameter.name;
      return word.str();
    });
    if (parameter.kind != ParameterDescription::Kind::Out || isNamed)
      continue;
    if (missing)
      return {};
    missing = &parameter;
  }
  if (!missing || missing->dims.empty())
    return {};
  return getElement(*missing);
}

/// S[m, n]: an array by the variables of the loops over its dims.
std::string Analyzer::getElement(const ParameterDescription &array) const {
  std::vector<LoopUse> loops = collectLoopUses(
      *this, [](llvm::StringRef) { return llvm::SmallVector<std::string>(); });
  std::string indices;
  for (const std::string &dim : array.dims) {
    std::string index = ":";
    for (const LoopUse &loop : loops)
      if (quote(loop.extent->range) == dim && index == ":")
        index = loop.name;
    indices += (indices.empty() ? "" : ", ") + index;
  }
  return array.name + "[" + indices + "]";
}

/// Y = tile, where Y is an Out: true, with an error that stores.
bool Analyzer::reportStoreByName(const Assign &stmt, const SemaValue &value) {
  auto *name = dynCast<Name>(stmt.targets.front());
  if (!name || scopes.size() != 1 || !value.isTile() ||
      request.kind != ProgramKind::Kernel)
    return false;
  auto found = scope().variables.find(name->id);
  if (found == scope().variables.end() ||
      found->second.kind != ValueKind::View || found->second.parameter < 0)
    return false;
  const ParameterDescription &array =
      signature.parameters[found->second.parameter];
  if (array.kind != ParameterDescription::Kind::Out)
    return false;
  error(stmt.range, name->id + " is an Out, which is written by its indices; "
                               "this would be a tile of the same name")
      .addNote(array.where, quote(array.where))
      .setFix(getElement(array) + " = " + quote(stmt.value->range));
  return true;
}

/// C[m, n].copy_(x), as torch has it: true, with an error that stores.
bool Analyzer::reportCopyInto(const Attribute &method, const Call &call) {
  auto *element = dynCast<Subscript>(method.value);
  auto *name = element ? dynCast<Name>(element->value) : nullptr;
  // Y.at[i].set(x) of JAX.
  auto *at = element ? dynCast<Attribute>(element->value) : nullptr;
  if (at && at->attr == "at")
    name = dynCast<Name>(at->value);
  if (!name || call.args.size() != 1 ||
      !llvm::is_contained({"copy_", "fill_", "set", "assign", "store"},
                          method.attr))
    return false;
  auto found = scope().variables.find(name->id);
  if (found == scope().variables.end() || found->second.kind != ValueKind::View)
    return false;
  error(call.range, "a store is an assignment, not a call of " + method.attr)
      .setFix(name->id + "[" + quote(element->slice->range) +
              "] = " + quote(call.args[0]->range));
  return true;
}

/// A parameter without an annotation that the body indexes by a range over the
/// dim: true, with an error that gives it the dims of its indices.
bool Analyzer::reportBare(const Dim &dim) {
  if (request.kind != ProgramKind::Kernel)
    return false;
  std::vector<LoopUse> loops = collectLoopUses(
      *this, [](llvm::StringRef) { return llvm::SmallVector<std::string>(); });
  const Parameter *found = nullptr;
  std::string dims;
  walkExpressions(scope().definition->body, [&](const Expr *expr) {
    auto *access = dynCast<Subscript>(expr);
    auto *array = access && !found ? dynCast<Name>(access->value) : nullptr;
    if (!array)
      return true;
    for (const Parameter &parameter : scope().definition->parameters) {
      if (parameter.name != array->id || parameter.annotation)
        continue;
      llvm::ArrayRef<Expr *> indices = access->slice;
      if (auto *tuple = dynCast<Tuple>(access->slice))
        indices = tuple->elts;
      std::string listed;
      bool hasDim = false;
      for (const Expr *index : indices) {
        std::string covered;
        for (const LoopUse &loop : loops)
          if (auto *name = dynCast<Name>(index); name && name->id == loop.name)
            covered = quote(loop.extent->range);
        bool isName = !covered.empty() && llvm::all_of(covered, [](char c) {
          return llvm::isAlnum(c) || c == '_';
        });
        if (!isName)
          return true;
        hasDim |= covered == dim.name;
        listed += (listed.empty() ? "\"" : ", \"") + covered + "\"";
      }
      if (hasDim) {
        found = &parameter;
        dims = listed;
      }
    }
    return true;
  });
  if (!found)
    return false;
  error(found->range, "nothing gives the size of dim " + dim.name + ": " +
                          found->name + ", which is indexed by it, has no dims")
      .addNote(dim.where, "dim " + dim.name)
      .setFix(found->name + ": Tensor[" + dims + "]");
  return true;
}

/// tsr.tile(X.shape, 32): a grid of tiles, one for each dim.
void Analyzer::reportTileOfShape(const CallArguments &arguments,
                                 const OpSite &site) {
  const CallArgument &shape = arguments.arguments.front();
  auto *dims = dynCast<Tuple>(shape.expr);
  auto *sizes = arguments.arguments.size() > 1
                    ? dynCast<Tuple>(arguments.arguments[1].expr)
                    : nullptr;
  std::string text = quote(shape.where), tiles;
  size_t count = shape.value.elements.size();
  for (size_t i = 0; i < count; ++i) {
    std::string dim = dims && dims->elts.size() == count
                          ? quote(dims->elts[i]->range)
                          : text + "[" + std::to_string(i) + "]";
    std::string size = arguments.arguments.size() < 2 ? "64"
                       : sizes && sizes->elts.size() == count
                           ? quote(sizes->elts[i]->range)
                           : quote(arguments.arguments[1].where);
    tiles += (i ? ", tsr.tile(" : "tsr.tile(") + dim + ", " + size + ")";
  }
  Diagnostic &diagnostic =
      error(site.range, "tsr.tile counts ints of one dim, but " + text +
                            " is " + describe(shape.value));
  if (count == 1 || (count > 1 && !grid))
    diagnostic.setFix(count == 1 ? tiles : "tsr.grid(" + tiles + ")");
}

/// tsr.tile(BN): the dim is left out, and what the variable indexes says it.
LogicalResult Analyzer::checkTileDim(const CallArguments &arguments,
                                     const OpSite &site) {
  if (!arguments.arguments.empty() && arguments.arguments[0].keyword.empty() &&
      arguments.arguments[0].value.kind == ValueKind::Tuple) {
    reportTileOfShape(arguments, site);
    return failure();
  }
  if (arguments.arguments.size() != 1)
    return success();
  const CallArgument &only = arguments.arguments.front();
  if (!only.keyword.empty() || !only.value.getConstantInt() || dimOf(only))
    return success();
  std::string dim, size = quote(only.where);
  for (const LoopUse &use : collectLoopUses(
           *this, [&](llvm::StringRef of) { return dimNamesOf(of); }))
    if (use.extent == only.expr && use.dims.size() == 1)
      dim = *use.dims.begin();
  Diagnostic &diagnostic =
      error(site.range, "tsr.tile takes the dim and the size of a tile, but " +
                            size + " is a number, no dim");
  if (!dim.empty())
    diagnostic.setFix("tsr.tile(" + dim + ", " + size + ")");
  return failure();
}

} // namespace tessera::frontend
