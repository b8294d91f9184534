//===- SemaFixesFlow.cpp - break, continue and return, without them -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/LoopUses.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tessera::frontend {

static const Body *getLoopBody(const Stmt *stmt) {
  if (auto *loop = dynCast<For>(stmt))
    return &loop->body;
  auto *loop = dynCast<While>(stmt);
  return loop ? &loop->body : nullptr;
}

/// Whether it is an `if` that has nothing but `inner`.
static bool isGuardOf(const Stmt *stmt, const Stmt *inner) {
  auto *branch = dynCast<If>(stmt);
  return branch && branch->body.size() == 1 && branch->body[0] == inner &&
         branch->orelse.empty();
}

/// The `if` that has nothing but this statement, and what stands behind it.
static std::pair<const If *, llvm::ArrayRef<Stmt *>>
findGuard(const Body &body, const Stmt *stmt) {
  for (auto [i, each] : llvm::enumerate(body)) {
    std::vector<const Body *> inside;
    if (isGuardOf(each, stmt))
      return {checkedCast<If>(each), llvm::ArrayRef(body).drop_front(i + 1)};
    if (auto *branch = dynCast<If>(each))
      inside = {&branch->body, &branch->orelse};
    else if (const Body *turns = getLoopBody(each))
      inside = {turns};
    for (const Body *one : inside)
      if (auto found = findGuard(*one, stmt); found.first)
        return found;
  }
  return {nullptr, {}};
}

/// "x >= 0" for "x < 0", "not (c)" for others.
std::string Analyzer::negate(const Expr &test) const {
  auto *compare = dynCast<Compare>(&test);
  if (compare && compare->ops.size() == 1) {
    using Op = CompareOperator;
    static constexpr std::pair<Op, Op> opposites[] = {
        {Op::Lt, Op::GtE}, {Op::LtE, Op::Gt}, {Op::Eq, Op::NotEq}};
    for (auto [one, other] : opposites)
      if (compare->ops[0] == one || compare->ops[0] == other)
        return quote(compare->left->range) + " " +
               getOperatorSpelling(compare->ops[0] == one ? other : one) + " " +
               quote(compare->comparators[0]->range);
  }
  return "not (" + quote(test.range) + ")";
}

/// The innermost loop around a statement.
static const Stmt *findLoop(const Body &body, const Stmt &stmt) {
  auto isInside = [&](const Stmt *outer) {
    return outer->range.begin.line <= stmt.range.begin.line &&
           stmt.range.end.line <= outer->range.end.line;
  };
  for (const Stmt *each : body) {
    if (!isInside(each))
      continue;
    std::vector<const Body *> inside;
    const Stmt *result = nullptr;
    if (auto *branch = dynCast<If>(each)) {
      inside = {&branch->body, &branch->orelse};
    } else if (const Body *turns = getLoopBody(each)) {
      result = each;
      inside = {turns};
    }
    for (const Body *one : inside)
      if (const Stmt *inner = findLoop(*one, stmt))
        result = inner;
    if (result)
      return result;
  }
  return nullptr;
}

/// Whether a text has the name as a word.
static bool mentions(llvm::StringRef text, llvm::StringRef name) {
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  while (!text.empty()) {
    llvm::StringRef word = text.take_while(isWord);
    if (word == name)
      return true;
    text = text.drop_front(std::max<size_t>(word.size(), 1));
  }
  return false;
}

/// The statements, each with `indent` in front of its lines.
std::string Analyzer::quoteLines(llvm::ArrayRef<Stmt *> stmts,
                                 const std::string &indent) const {
  std::string result;
  for (const Stmt *stmt : stmts) {
    llvm::SmallVector<llvm::StringRef> lines;
    std::string text = quote(stmt->range);
    llvm::StringRef(text).split(lines, '\n');
    for (auto [i, line] : llvm::enumerate(lines)) {
      if (i)
        line = line.drop_front(std::min<size_t>(
            stmt->range.begin.column - 1, line.size() - line.ltrim().size()));
      result += "\n" + indent + line.str();
    }
  }
  return result;
}

std::string Analyzer::joinLines(const Body &first, const Body &second) const {
  // A line that the first one has, too, stands there once.
  llvm::SmallVector<Stmt *> others;
  llvm::copy_if(second, std::back_inserter(others), [&](const Stmt *stmt) {
    return llvm::none_of(first, [&](const Stmt *each) {
      return quote(each->range) == quote(stmt->range);
    });
  });
  std::string made, rest = quoteLines(others, "    ");
  for (Stmt *stmt : first) {
    auto *assign = dynCast<Assign>(stmt);
    auto *store =
        assign ? dynCast<Subscript>(assign->targets.front()) : nullptr;
    std::string place = store ? quote(store->range) : "";
    std::string name =
        store ? llvm::StringRef(quote(store->value->range)).lower() : "";
    // MU[m] = x, and MU[m] read: mu = x first, which both use.
    size_t at = store ? rest.find(place) : std::string::npos;
    bool isRead = at != std::string::npos &&
                  rest.find(place + " = ") == std::string::npos &&
                  name != quote(store->value->range);
    if (!isRead) {
      made += quoteLines({stmt}, "    ");
      continue;
    }
    made += "\n    " + name + " = " + quote(assign->value->range) + "\n    " +
            place + " = " + name;
    for (; at != std::string::npos; at = rest.find(place, at + name.size()))
      rest.replace(at, place.size(), name);
  }
  return made + rest;
}

/// `while i < n and x > 0:` for a loop with `if x <= 0: break`; with a name for
/// "not yet", where the condition is of what the turn computes.
std::string Analyzer::getWhileFix(const Stmt &stmt) {
  const Stmt *loop = findLoop(scope().definition->body, stmt);
  const Body *body = loop ? getLoopBody(loop) : nullptr;
  auto isGuard = [&](const Stmt *one) { return isGuardOf(one, &stmt); };
  auto *counted = loop ? dynCast<For>(loop) : nullptr;
  auto *call = counted ? dynCast<Call>(counted->iter) : nullptr;
  bool isCounted = call && !call->args.empty() && call->keywords.empty() &&
                   is<Name>(counted->target);
  size_t at = body ? llvm::find_if(*body, isGuard) - body->begin() : 0;
  if (!body || at == body->size() || (counted && !isCounted))
    return "stop= of tsr.tile, or a 'while' with the condition in its test";
  llvm::ArrayRef<Stmt *> all = *body;
  std::string test = negate(*checkedCast<If>(all[at])->test);
  // How the loop counts, and what it asks for. What the turn computes cannot be
  // asked for before it.
  bool isComputed = at > 0;
  // for n in tsr.tile(N, BN): if n.start >= stop: break
  if (auto *compare = dynCast<Compare>(checkedCast<If>(all[at])->test);
      counted && compare && compare->ops.size() == 1 && at == 0 &&
      call->args.size() == 2 &&
      llvm::StringRef(quote(call->func->range)).ends_with("tile") &&
      quote(compare->left->range) == quote(counted->target->range) + ".start" &&
      compare->ops[0] == CompareOperator::GtE)
    return "for " + quote(counted->target->range) + " in " +
           quote(call->func->range) + "(" + quote(call->args[0]->range) + ", " +
           quote(call->args[1]->range) +
           ", stop=" + quote(compare->comparators[0]->range) +
           "):" + quoteLines(all.drop_front(at + 1), "    ");
  // Of turns that are unrolled, those behind the break do nothing.
  if (counted && llvm::StringRef(quote(call->func->range)).ends_with("unroll"))
    return "for " + quote(counted->target->range) + " in " +
           quote(counted->iter->range) + ":" +
           quoteLines(all.take_front(at), "    ") + "\n    if " + test + ":" +
           quoteLines(all.drop_front(at + 1), "        ");
  std::string start, ask, first, step;
  if (counted) {
    std::string name = quote(counted->target->range),
                callee = quote(call->func->range),
                end = quote(call->args[0]->range);
    if (llvm::StringRef(callee).ends_with("tile") && call->args.size() == 2) {
      std::string size = quote(call->args[1]->range);
      for (size_t place;
           (place = test.find(name + ".start")) != std::string::npos;)
        test.replace(place, name.size() + 6, "start");
      isComputed |= mentions(test, name);
      start = "start = 0\n";
      ask = "start < " + end;
      first =
          "\n    " + name + " = tsr.range_at(" + end + ", start, " + size + ")";
      step = "\n    start += " + size;
    } else if (callee == "range" && call->args.size() == 1) {
      start = name + " = 0\n";
      ask = name + " < " + end;
      step = "\n    " + name + " += 1";
    } else {
      return "a 'while' with the condition in its test: while " + test + ":";
    }
  } else {
    ask = quote(checkedCast<While>(loop)->test->range);
    if (ask == "True" || ask == "1")
      ask.clear();
  }
  llvm::ArrayRef<Stmt *> rest = all.drop_front(at + 1);
  if (!isComputed)
    return start + "while " + (ask.empty() ? "" : ask + " and ") + test + ":" +
           first + quoteLines(rest, "    ") + step;
  std::string more = quoteLines(rest, "        ");
  return start + "going = True\nwhile going" +
         (ask.empty() ? "" : " and " + ask) + ":" + first +
         quoteLines(all.take_front(at), "    ") + "\n    going = " + test +
         (more.empty() ? "" : "\n    if going:" + more) + step;
}

/// "if n.start < N:" and the rest of the body inside it, for
/// `if n.start >= N: return`.
std::string Analyzer::getGuardFix(const Stmt &stmt) {
  auto [guard, rest] = findGuard(scope().definition->body, &stmt);
  if (!guard)
    return "put the rest of the body into an 'if'";
  std::string test = negate(*guard->test);
  std::string text = "if " + test + ":";
  bool isShort = rest.size() <= 4 && llvm::all_of(rest, [](const Stmt *one) {
                   return one->range.begin.line == one->range.end.line;
                 });
  if (rest.empty())
    return "without these lines; nothing follows that they would skip";
  if (!isShort)
    return text + "  # and what follows inside it";
  return text + quoteLines(rest, "    ");
}

/// A grid inside another one as loops, one in the other.
std::string Analyzer::getNestedLoops(const For &grid) const {
  auto *call = dynCast<Call>(grid.iter);
  auto *names = dynCast<Tuple>(grid.target);
  if (!call || !names || names->elts.size() != call->args.size())
    return "one grid with all axes";
  std::string text, indent;
  for (auto [name, extent] : llvm::zip(names->elts, call->args)) {
    std::string range = quote(extent->range);
    text += (indent.empty() ? "" : "\n" + indent) + "for " +
            quote(name->range) + " in " +
            (is<Call>(extent) ? range : "range(" + range + ")") + ":";
    indent += "    ";
  }
  return text + quoteLines(grid.body, indent);
}

/// "p, m" of the parameters that a function assigns and does not return, or
/// what its last line assigns.
std::string Analyzer::getUnreturned() const {
  const FunctionDef &definition = *request.definition;
  std::vector<std::pair<std::string, SourceRange>> names;
  collectAssigned(definition.body, names);
  std::string listed;
  for (const Parameter &parameter : definition.parameters)
    if (llvm::any_of(names, [&](const auto &each) {
          return each.first == parameter.name;
        }))
      listed += (listed.empty() ? "" : ", ") + parameter.name;
  if (listed.empty() && !definition.body.empty())
    for (const auto &[name, where] : names)
      if (isWithin(where, definition.body.back()->range))
        listed = name;
  return listed;
}

/// "return g" for the arm that returns nothing: what the other one is made of,
/// if one tensor has its shape.
std::string Analyzer::getOtherReturn(
    const SemaValue &returned,
    const std::map<std::string, SemaValue, std::less<>> &before) {
  std::string found;
  for (const Parameter &parameter : scope().definition->parameters) {
    auto value = before.find(parameter.name);
    if (value == before.end() || !value->second.isTensor() ||
        !returned.isTensor() || value->second.dtype != returned.dtype ||
        value->second.ssa.getType() != returned.ssa.getType())
      continue;
    if (!found.empty())
      found = "..."; // which of them is not known
    else
      found = parameter.name;
  }
  return found.empty() || found == "..."
             ? "a 'return' at the end of " + scope().definition->name
             : "return " + found + "  # at the end of " +
                   scope().definition->name;
}

} // namespace tessera::frontend
