//===- SemaFixesFlow.cpp - break, continue and return, without them -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/SemaImpl.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tessera::frontend {

/// The `if` that has nothing but this statement, and what stands behind it.
static std::pair<const If *, llvm::ArrayRef<Stmt *>>
findGuard(const Body &body, const Stmt *stmt) {
  for (auto [i, each] : llvm::enumerate(body)) {
    std::vector<const Body *> inside;
    if (auto *branch = dynCast<If>(each)) {
      if (branch->body.size() == 1 && branch->body[0] == stmt &&
          branch->orelse.empty())
        return {branch, llvm::ArrayRef(body).drop_front(i + 1)};
      inside = {&branch->body, &branch->orelse};
    } else if (auto *loop = dynCast<For>(each)) {
      inside = {&loop->body};
    } else if (auto *loop = dynCast<While>(each)) {
      inside = {&loop->body};
    }
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

/// The innermost `for` around a statement.
static const For *findLoop(const Body &body, const Stmt &stmt) {
  const For *result = nullptr;
  auto isInside = [&](const Stmt *outer) {
    return outer->range.begin.line <= stmt.range.begin.line &&
           stmt.range.end.line <= outer->range.end.line;
  };
  for (const Stmt *each : body) {
    if (!isInside(each))
      continue;
    std::vector<const Body *> inside;
    if (auto *branch = dynCast<If>(each)) {
      inside = {&branch->body, &branch->orelse};
    } else if (auto *loop = dynCast<For>(each)) {
      result = loop;
      inside = {&loop->body};
    } else if (auto *loop = dynCast<While>(each)) {
      inside = {&loop->body};
    }
    for (const Body *one : inside)
      if (const For *inner = findLoop(*one, stmt))
        result = inner;
  }
  return result;
}

/// `while i < n and x > 0:` for a loop with `if x <= 0: break`.
std::string Analyzer::getWhileFix(const Stmt &stmt) {
  const If *guard = findGuard(scope().definition->body, &stmt).first;
  const For *loop = findLoop(scope().definition->body, stmt);
  auto *call = loop ? dynCast<Call>(loop->iter) : nullptr;
  std::string callee = call ? quote(call->func->range) : std::string();
  if (!guard || !call || call->args.empty() || !call->keywords.empty() ||
      !is<Name>(loop->target))
    return "stop= of tsr.tile, or a 'while' with the condition in its test";
  std::string name = quote(loop->target->range), test = negate(*guard->test),
              first = quote(call->args[0]->range);
  // What the body computes first cannot be asked before it.
  for (size_t at; (at = test.find(name + ".start")) != std::string::npos;)
    test.replace(at, name.size() + 6, "start");
  if (llvm::StringRef(callee).ends_with("tile") && call->args.size() == 2) {
    std::string size = quote(call->args[1]->range);
    return "start = 0\nwhile start < " + first + " and " + test + ":\n    " +
           name + " = tsr.range_at(" + first + ", start, " + size +
           ")\n    ...  # the body, without the break\n    start += " + size;
  }
  if (callee == "range" && call->args.size() == 1)
    return name + " = 0\nwhile " + name + " < " + first + " and " + test +
           ":\n    ...  # the body, without the break\n    " + name + " += 1";
  return "a 'while' with the condition in its test: while " + test + ":";
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
  if (!isShort || rest.empty())
    return text + "  # and what follows inside it";
  for (const Stmt *one : rest)
    text += "\n    " + quote(one->range);
  return text;
}

} // namespace tessera::frontend
