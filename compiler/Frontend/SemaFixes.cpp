//===- SemaFixes.cpp - What to write instead, in the user's words ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/SemaImpl.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tessera::frontend {

std::string Analyzer::findRange(const Dim &dim) const {
  std::string found;
  for (const auto &[name, value] : scopes.back()->variables) {
    if (value.kind != ValueKind::Range || value.axis->dim != &dim)
      continue;
    if (!found.empty())
      return {};
    found = name;
  }
  return found;
}

std::vector<Note> Analyzer::findOrigins(const SourceRange &where) const {
  std::vector<Note> notes;
  if (scopes.empty() || !where.isValid())
    return notes;
  std::string text = quote(where);
  auto isWord = [](char c) { return std::isalnum(uint8_t(c)) || c == '_'; };
  for (size_t i = 0; i < text.size();) {
    size_t begin = i;
    while (i < text.size() && isWord(text[i]))
      ++i;
    if (i == begin) {
      ++i;
      continue;
    }
    bool attribute = begin > 0 && text[begin - 1] == '.';
    auto found = scopes.back()->variables.find(text.substr(begin, i - begin));
    if (attribute || found == scopes.back()->variables.end() ||
        !found->second.origin.isValid())
      continue;
    const SemaValue &value = found->second;
    bool declared = value.kind == ValueKind::View ||
                    (value.parameter >= 0 && !value.isTensor());
    if (declared)
      notes.push_back({value.origin, quote(value.origin)});
    else if (value.kind != ValueKind::Range)
      notes.push_back({value.origin, found->first + " is " + describe(value)});
  }
  return notes;
}

std::string Analyzer::describeStatement(const Stmt &stmt) {
  const Expr *target = nullptr;
  if (auto *assign = dynCast<Assign>(&stmt))
    target = assign->targets.front();
  else if (auto *assign = dynCast<AugAssign>(&stmt))
    target = assign->target;
  if (auto *subscript = dynCast<Subscript>(target))
    return "a store to " + quote(subscript->value->range);
  if (target)
    return "an assignment to " + quote(target->range);
  switch (stmt.kind) {
  case NodeKind::For:
  case NodeKind::While:
    return "a loop";
  case NodeKind::If:
    return "an 'if'";
  case NodeKind::Return:
    return "a 'return'";
  case NodeKind::ExprStmt:
    if (auto *call = dynCast<Call>(checkedCast<ExprStmt>(&stmt)->value))
      return "a call of " + quote(call->func->range);
    [[fallthrough]];
  default:
    return "a statement";
  }
}

/// The one statement of a body; null if there is another number of them.
static const Stmt *getOnly(const Body &body) {
  return body.size() == 1 ? body.front() : nullptr;
}

/// `if c: x = a else: x = b` as one line.
std::string Analyzer::getWhereFix(const If &stmt) {
  std::string test = quote(stmt.test->range);
  std::string generic = "tsr.where(" + test + ", a, b)";
  const Stmt *then = getOnly(stmt.body);
  if (!then)
    return generic;
  auto read = [&](const Stmt *from, std::string &target, std::string &value) {
    if (auto *assign = dynCast<Assign>(from)) {
      if (assign->targets.size() != 1 || is<Tuple>(assign->targets[0]))
        return false;
      target = quote(assign->targets[0]->range);
      value = quote(assign->value->range);
      return true;
    }
    if (auto *assign = dynCast<AugAssign>(from)) {
      target = quote(assign->target->range);
      value = target + " " + getOperatorSpelling(assign->op) + " " +
              parenthesize(assign->value);
      return true;
    }
    return false;
  };
  std::string target, value;
  if (!read(then, target, value))
    return generic;
  if (stmt.orelse.empty()) {
    auto *assign = dynCast<Assign>(then);
    auto *element = assign ? dynCast<Subscript>(assign->targets[0]) : nullptr;
    if (!element)
      return target + " = tsr.where(" + test + ", " + value + ", " + target +
             ")";
    // A store under a condition has a mask of its own.
    std::string indices = quote(element->slice->range);
    return "tsr.store(" + quote(element->value->range) + ", (" + indices +
           (is<Tuple>(element->slice) ? "" : ",") + "), " + value +
           ", mask=" + test + ")";
  }
  std::string otherTarget, otherValue;
  const Stmt *orelse = getOnly(stmt.orelse);
  if (!orelse || !read(orelse, otherTarget, otherValue) ||
      otherTarget != target)
    return generic;
  return target + " = tsr.where(" + test + ", " + value + ", " + otherValue +
         ")";
}

/// One name per axis: those that are there, then the dim's in lower case.
std::string Analyzer::getGridFix(const For &stmt, const SemaValue &iterable) {
  std::vector<const Expr *> targets = {stmt.target};
  if (auto *tuple = dynCast<Tuple>(stmt.target))
    targets.assign(tuple->elts.begin(), tuple->elts.end());
  std::string names;
  for (auto [i, axis] : llvm::enumerate(iterable.elements)) {
    std::string name = "i" + std::to_string(i);
    if (i < targets.size())
      name = quote(targets[i]->range);
    else if (axis.dim && std::isalpha(uint8_t(axis.dim->name[0])))
      name = llvm::StringRef(axis.dim->name).lower();
    names += (names.empty() ? "" : ", ") + name;
  }
  return "for " + names + " in " + quote(stmt.iter->range) + ":";
}

std::string Analyzer::getReturnFix(const Return &stmt) {
  const SemaValue *tile = nullptr;
  if (auto *name = dynCast<Name>(stmt.value))
    if (auto found = scope().variables.find(name->id);
        found != scope().variables.end() && found->second.isTile())
      tile = &found->second;
  bool named = tile && llvm::all_of(tile->axes, [](Axis *axis) {
                 return axis->dim && axis->kind == Axis::Kind::Range;
               });
  if (!named)
    return "a parameter C: Out[...], and here C[m, n] = x; or @tsr.function, "
           "which returns";
  std::string dims, indices;
  for (Axis *axis : tile->axes) {
    dims += (dims.empty() ? "\"" : ", \"") + axis->dim->name + "\"";
    indices += (indices.empty() ? "" : ", ") + axis->name;
  }
  std::string out = scope().variables.count("Y") ? "result" : "Y";
  return "a parameter " + out + ": Out[" + dims + "], and here " + out + "[" +
         indices + "] = " + quote(stmt.value->range);
}

std::string Analyzer::getCastFix(const std::string &name, DType dtype) {
  std::string to = std::string(".to(") + getDTypeName(dtype) + ")";
  auto found = scope().sources.find(name);
  if (found == scope().sources.end() || !found->second.value ||
      is<Tuple>(found->second.value))
    return name + " = (...)" + to;
  // x.to(fp16): another dtype, not another call.
  const Expr *source = found->second.value;
  if (auto *call = dynCast<Call>(source))
    if (auto *method = dynCast<Attribute>(call->func);
        method && method->attr == "to")
      source = method->value;
  std::string value = parenthesize(source);
  return name + " " + found->second.op + "= " + value + to;
}

//===----------------------------------------------------------------------===//
// Things of Python's
//===----------------------------------------------------------------------===//

void Analyzer::reportForeign(const CapturedValue &captured,
                             const std::string &dotted,
                             const SourceRange &where, const Call *call) {
  std::string last = dotted.substr(dotted.rfind('.') + 1);
  bool known = llvm::is_contained(library->getCallNames(), last);
  bool plain = captured.text == "function";
  if (!call && !plain && !known) {
    llvm::StringRef type = captured.text;
    bool vowel = llvm::StringRef("aeiou").contains(type.take_front().lower());
    Diagnostic &diagnostic = error(
        where, "'" + dotted + "' is " + (vowel ? "an " : "a ") + type.str() +
                   "; from outside a program can use int, float, bool, "
                   "str, dtype, tuple, array and tessera functions");
    if (type == "list" || type == "set")
      diagnostic.setFix(dotted + " = (...), a tuple");
    else if (type == "dict")
      diagnostic.setFix("a name of its own for each value that is used");
    return;
  }
  Diagnostic &diagnostic = error(
      where, "'" + dotted + "' is " +
                 (plain                     ? "a plain Python function"
                  : captured.text == "type" ? std::string("a Python class")
                                            : "Python's, a " + captured.text) +
                 "; a program calls operations of tessera and tessera "
                 "functions");
  if (known) {
    std::string arguments = "...";
    if (call) {
      arguments.clear();
      for (const Expr *argument : call->args)
        arguments += (arguments.empty() ? "" : ", ") + quote(argument->range);
      for (const Keyword &keyword : call->keywords)
        arguments += (arguments.empty() ? "" : ", ") + quote(keyword.range);
    }
    diagnostic.setFix("tsr." + last + "(" + arguments + ")");
  } else if (plain) {
    diagnostic.setFix("@tsr.function above def " + last);
  }
}

//===----------------------------------------------------------------------===//
// The grid
//===----------------------------------------------------------------------===//

/// Python would carry a variable from one iteration to the next; programs of a
/// grid run in any order, so there is no next.
LogicalResult Analyzer::checkGridCarries(const For &stmt) {
  std::vector<std::pair<std::string, SourceRange>> assigned;
  collectAssigned(stmt.body, assigned);
  for (const auto &[name, where] : assigned) {
    auto before = scope().variables.find(name);
    if (before == scope().variables.end())
      continue;
    SourceRange read = findReadBeforeAssigned(stmt.body, name);
    if (!read.isValid())
      continue;
    Diagnostic &diagnostic =
        error(where, name + " is assigned before the grid (" +
                         describeLine(before->second.origin) +
                         ") and changed inside it; each iteration is a "
                         "program of its own, in any order, so nothing "
                         "passes from one to the next");
    diagnostic.addNote(before->second.origin, name + " before the grid");
    diagnostic.addNote(stmt.iter->range, "the grid");
    auto source = scope().sources.find(name);
    if (source != scope().sources.end() && source->second.value)
      diagnostic.setFix(name + " = " + quote(source->second.value->range) +
                        " inside the grid; to add up over programs, "
                        "Region[reduce_sum] and tsr.atomic_add");
    else
      diagnostic.setFix("another name inside the grid");
    return failure();
  }
  return success();
}

} // namespace tessera::frontend
