//===- SemaAccumulators.cpp - What a loop adds up, and loses --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   for n in tsr.tile(N, BN):
//       carry = tsr.zeros(m)          # belongs before the loop
//       Y[m, n] = X[m, n] + carry
//       carry += tsr.sum(X[m, n], n)  # nobody reads this
//
// The program is legal, and what it adds up is lost without a word. So it is
// where a turn assigns what it should add (`acc = x`), where a product begins
// at zero, and where a sum over an axis of the grid has no start at all.
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/LoopUses.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tessera::frontend {

void walkStatements(const Body &body,
                    llvm::function_ref<void(const Stmt *)> visit) {
  for (const Stmt *stmt : body) {
    visit(stmt);
    if (auto *loop = dynCast<For>(stmt))
      walkStatements(loop->body, visit);
    else if (auto *loop = dynCast<While>(stmt))
      walkStatements(loop->body, visit);
    else if (auto *branch = dynCast<If>(stmt)) {
      walkStatements(branch->body, visit);
      walkStatements(branch->orelse, visit);
    }
  }
}

/// The name that a statement alone assigns; null if it is none, or several.
static const Name *getTarget(const Stmt *stmt) {
  if (auto *update = dynCast<AugAssign>(stmt))
    return dynCast<Name>(update->target);
  auto *assign = dynCast<Assign>(stmt);
  return assign && assign->targets.size() == 1
             ? dynCast<Name>(assign->targets.front())
             : nullptr;
}

const Assign *Analyzer::findPlainAssign(const std::string &name,
                                        SourcePosition end) const {
  const Assign *found = nullptr;
  walkStatements(getBody(), [&](const Stmt *stmt) {
    const Name *target = getTarget(stmt);
    if (target && target->id == name && is<Assign>(stmt) &&
        stmt->range.end < end)
      found = checkedCast<Assign>(stmt);
  });
  return found;
}

bool mentionsAny(const Analyzer &analyzer, const Expr *value,
                 const std::set<std::string> &names) {
  bool found = false;
  changeWords(analyzer.quote(value->range),
              [&](llvm::StringRef word, char before, char) {
                found |= before != '.' && names.count(word.str());
                return word.str();
              });
  return found;
}

/// The last statement that makes a variable out of itself, where nothing in the
/// loop reads what it leaves; null if there is none.
const Stmt *Analyzer::findLostUpdate(const Stmt &loop, const Body &body,
                                     const Assign &start,
                                     const std::string &name) const {
  const Stmt *last = nullptr;
  std::vector<SourceRange> updates;
  llvm::SmallVector<const Stmt *> inner;
  walkStatements(body, [&](const Stmt *stmt) {
    if (is<For>(stmt) || is<While>(stmt))
      inner.push_back(stmt);
    const Name *target = getTarget(stmt);
    if (!target || target->id != name || stmt == &start)
      return;
    auto *assign = dynCast<Assign>(stmt);
    if (assign && !mentionsAny(*this, assign->value, {name}))
      return;
    updates.push_back(stmt->range);
    last = stmt;
  });
  if (!last || last->range.begin < start.range.end)
    return nullptr;
  // An inner loop carries the value from turn to turn.
  SourceRange carries = last->range;
  for (const Stmt *one : inner)
    if (isWithin(last->range, one->range) && carries == last->range)
      carries = one->range;
  bool isRead = false;
  auto visit = [&](const Expr *expr) {
    auto *use = dynCast<Name>(expr);
    if (!use || use->id != name || isWithin(use->range, start.range) ||
        llvm::any_of(updates, [&](const SourceRange &update) {
          return isWithin(use->range, update);
        }))
      return true;
    isRead |= use->range.begin < start.range.begin ||
              last->range.end < use->range.begin ||
              (carries != last->range && isWithin(use->range, carries));
    return true;
  };
  walkExpressions(body, visit);
  if (auto *until = dynCast<While>(&loop))
    isRead |= mentionsAny(*this, until->test, {name});
  // Where the variable is of before the loop, or the loop is unrolled, what the
  // last turn makes may be meant; not if it began alike before the loop.
  const Assign *earlier = findPlainAssign(name, loop.range.begin);
  bool isSame = earlier && quote(earlier->range) == quote(start.range);
  // A tile of zeros that every turn assigns anew is an error in a kernel.
  isSame |= llvm::any_of(replaced, [&](const Replaced &one) {
    return one.name == name && isWithin(one.assigned, loop.range);
  });
  if (scopes.back()->variables.count(name) && !isSame)
    walkExpressions(getBody(), [&](const Expr *expr) {
      auto *use = dynCast<Name>(expr);
      isRead |= use && use->id == name && !isWithin(use->range, loop.range) &&
                !(earlier && isWithin(use->range, earlier->range));
      return true;
    });
  // Another start of it is no update, and what it means is not known.
  walkStatements(body, [&](const Stmt *stmt) {
    const Name *target = getTarget(stmt);
    isRead |= target && target->id == name && stmt != &start &&
              !llvm::is_contained(updates, stmt->range);
  });
  return isRead ? nullptr : last;
}

/// `0.0` or `tsr.zeros(m)`. Another value that nobody reads after it was
/// changed may be meant, and is legal.
static bool startsSum(const Analyzer &analyzer, const Expr *value) {
  auto *call = dynCast<Call>(value);
  if (!call)
    return is<Constant>(value) || is<UnaryOp>(value);
  std::string callee = analyzer.quote(call->func->range);
  llvm::StringRef name = llvm::StringRef(callee).rsplit('.').second;
  name = name.empty() ? llvm::StringRef(callee) : name;
  return llvm::StringSwitch<bool>(name)
      .Cases({"zeros", "ones", "full"}, true)
      .Cases({"zeros_like", "ones_like", "full_like"}, true)
      .Default(false);
}

/// A grid over m and n whose programs add up along n: a grid over m, with a
/// loop over n behind the start. Empty for what adds up nothing along one axis
/// of the grid that its start lacks, and is read before: a value that nobody
/// needs.
std::string Analyzer::getLoopInGrid(const For &loop, const Assign &start,
                                    const Stmt &update) const {
  auto *names = dynCast<Tuple>(loop.target);
  auto *call = dynCast<Call>(loop.iter);
  if (!names || !call || names->elts.size() != call->args.size() ||
      !llvm::is_contained(loop.body, &update))
    return {};
  std::string inner, outer, outerNames;
  std::set<std::string> along;
  for (auto [name, range] : llvm::zip(names->elts, call->args)) {
    std::string axis = quote(name->range);
    if (!mentionsAny(*this, start.value, {axis})) {
      inner = "\n    for " + axis + " in " + quote(range->range) + ":";
      along.insert(axis);
      continue;
    }
    outerNames += (outer.empty() ? "" : ", ") + axis;
    outer += (outer.empty() ? "" : ", ") + quote(range->range);
  }
  auto *assign = dynCast<Assign>(&update);
  const Expr *added =
      assign ? assign->value : checkedCast<AugAssign>(&update)->value;
  bool isRead = false;
  walkExpressions(loop.body, [&](const Expr *expr) {
    auto *use = dynCast<Name>(expr);
    isRead |= use && use->id == getTarget(&start)->id &&
              start.range.end < use->range.begin &&
              use->range.begin < update.range.begin;
    return true;
  });
  if (outer.empty() || along.size() != 1 || !isRead ||
      !mentionsAny(*this, added, along))
    return {};
  llvm::SmallVector<Stmt *> rest;
  llvm::copy_if(loop.body, std::back_inserter(rest),
                [&](const Stmt *one) { return one != &start; });
  return "for " + outerNames + " in " + quote(call->func->range) + "(" + outer +
         "):\n    " + quote(start.range) + inner + quoteLines(rest, "        ");
}

std::string Analyzer::getLoopWithout(const SourceRange &line) const {
  const For *loop = nullptr;
  walkStatements(getBody(), [&](const Stmt *stmt) {
    auto *each = dynCast<For>(stmt);
    if (each && isWithin(line, each->range))
      loop = each;
  });
  if (!loop)
    return {};
  llvm::SmallVector<Stmt *> rest;
  llvm::copy_if(loop->body, std::back_inserter(rest),
                [&](const Stmt *stmt) { return !isWithin(line, stmt->range); });
  return "for " + quote(loop->target->range) + " in " +
         quote(loop->iter->range) + ":" + quoteLines(rest, "    ");
}

/// A name that a line below adds to, and nothing begins: true, with an error.
bool Analyzer::reportNoStart(const std::string &name,
                             const SourceRange &where) {
  const AugAssign *update = nullptr;
  const For *loop = nullptr;
  walkStatements(getBody(), [&](const Stmt *stmt) {
    auto *each = dynCast<AugAssign>(stmt);
    auto *target = each ? dynCast<Name>(each->target) : nullptr;
    if (target && target->id == name && where.end < each->range.begin)
      update = each;
    auto *around = dynCast<For>(stmt);
    if (around && isWithin(where, around->range))
      loop = around;
  });
  std::optional<SemaValue> value =
      update && loop && isWithin(update->range, loop->range)
          ? tryFix(quote(update->value->range))
          : std::nullopt;
  if (!value)
    return false;
  error(where, "'" + name + "' is not defined: " + describeLine(update->range) +
                   " changes it, and nothing begins it")
      .addNote(update->range, "changed here")
      .setFix(getNeutralStart(name, *value, update->op, "before the loop",
                              loop->range));
  return true;
}

/// "    carry += tsr.sum(x, n)" for such a line behind the loop over n: of what
/// a turn has, or a store of what it carries at a place of the turn.
std::string Analyzer::getLineInLoop(const std::string &name,
                                    const SourceRange &where) const {
  const Stmt *line = nullptr;
  const For *loop = nullptr;
  walkStatements(getBody(), [&](const Stmt *stmt) {
    if (isWithin(where, stmt->range) && !is<For>(stmt) && !is<If>(stmt))
      line = stmt;
    auto *each = dynCast<For>(stmt);
    if (each && each->range.end < where.begin && is<Name>(each->target))
      loop = each;
  });
  if (!line || !loop || loop->range.begin.column != line->range.begin.column)
    return {};
  std::vector<std::pair<std::string, SourceRange>> names;
  collectAssigned(loop->body, names);
  std::set<std::string> inner, carried, counter;
  counter.insert(checkedCast<Name>(loop->target)->id);
  for (const auto &[each, at] : names)
    (scopes.back()->gone.count(each) ? inner : carried).insert(each);
  auto *update = dynCast<AugAssign>(line);
  auto *assign = dynCast<Assign>(line);
  bool isUpdate = update && (mentionsAny(*this, update->value, counter) ||
                             mentionsAny(*this, update->value, inner));
  bool isStore = assign && is<Subscript>(assign->targets.front()) &&
                 mentionsAny(*this, assign->targets.front(), counter) &&
                 is<Name>(assign->value) &&
                 mentionsAny(*this, assign->value, carried);
  if (!isUpdate && !isStore)
    return {};
  return "    " + quote(line->range) + "  # in the loop of " +
         describeLine(loop->range);
}

std::string Analyzer::findRescale(const SourceRange &line) const {
  std::string factor;
  const Body *body = nullptr;
  walkStatements(getBody(), [&](const Stmt *stmt) {
    auto *loop = dynCast<For>(stmt);
    if (loop && isWithin(line, loop->range))
      body = &loop->body;
  });
  for (const Stmt *stmt : body ? *body : Body()) {
    const Name *target = getTarget(stmt);
    auto *update = dynCast<AugAssign>(stmt);
    auto *assign = dynCast<Assign>(stmt);
    auto *sum = target && assign ? dynCast<BinOp>(assign->value) : nullptr;
    auto *product = sum ? dynCast<BinOp>(sum->left) : nullptr;
    auto *scaled = product ? dynCast<Name>(product->left) : nullptr;
    if (target && update && update->op == BinaryOperator::Mult)
      factor = quote(update->value->range);
    else if (scaled && scaled->id == target->id &&
             sum->op == BinaryOperator::Add &&
             product->op == BinaryOperator::Mult)
      factor = quote(product->right->range);
  }
  return factor;
}

/// acc = x where acc += x is meant: nothing reads the start of acc, and every
/// turn forgets what the one before made.
LogicalResult Analyzer::checkLastTurn(const For &loop) {
  std::vector<std::pair<std::string, SourceRange>> names;
  std::set<std::string> counters;
  collectAssigned({const_cast<For *>(&loop)}, names);
  for (const auto &[name, where] : names)
    if (isWithin(where, loop.target->range))
      counters.insert(name);
  bool hasBreak = false;
  walkStatements(loop.body,
                 [&](const Stmt *stmt) { hasBreak |= is<Break>(stmt); });
  for (const Stmt *stmt : loop.body) {
    auto *assign = dynCast<Assign>(stmt);
    const Name *target = assign ? getTarget(stmt) : nullptr;
    const Assign *start =
        target ? findPlainAssign(target->id, loop.range.begin) : nullptr;
    if (!start || hasBreak || !startsSum(*this, start->value) ||
        !mentionsAny(*this, assign->value, counters))
      continue;
    unsigned assignments = 0;
    walkStatements(getBody(), [&](const Stmt *other) {
      const Name *name = getTarget(other);
      assignments += name && name->id == target->id;
    });
    bool isRead = false, isReadAfter = false;
    walkExpressions(getBody(), [&](const Expr *expr) {
      auto *use = dynCast<Name>(expr);
      if (!use || use->id != target->id || use->range == target->range ||
          isWithin(use->range, start->range))
        return true;
      (loop.range.end < use->range.begin ? isReadAfter : isRead) = true;
      return true;
    });
    if (assignments != 2 || isRead || !isReadAfter)
      continue;
    error(stmt->range, target->id + " is what the last turn of the loop makes "
                                    "it: no turn uses what the one before made")
        .addNote(start->range, target->id + " before the loop")
        .setFix(target->id + " += " + quote(assign->value->range));
    return failure();
  }
  return success();
}

/// The line right behind `h = tsr.zeros(d)` that multiplies h, as in
/// `h = a * h + x`.
const Stmt *Analyzer::findZeroProduct(const Body &body, const Assign &start,
                                      const std::string &name) const {
  auto *zeros = dynCast<Call>(start.value);
  if (!zeros || !llvm::StringRef(quote(zeros->func->range)).ends_with("zeros"))
    return nullptr;
  auto at = llvm::find(body, static_cast<const Stmt *>(&start));
  for (const Stmt *stmt : llvm::make_range(std::next(at), body.end())) {
    std::set<std::string> names = {name};
    auto *assign = dynCast<Assign>(stmt);
    bool isOther = assign && !mentionsAny(*this, assign->value, names) &&
                   getTarget(stmt) && getTarget(stmt)->id != name;
    if (isOther)
      continue;
    if (!assign || !getTarget(stmt) || getTarget(stmt)->id != name)
      return nullptr;
    bool isMultiplied = false;
    walkExpressions({const_cast<Stmt *>(stmt)}, [&](const Expr *expr) {
      auto *product = dynCast<BinOp>(expr);
      for (const Expr *side : {product ? product->left : nullptr,
                               product ? product->right : nullptr})
        if (auto *used = dynCast<Name>(side))
          isMultiplied |=
              product->op == BinaryOperator::Mult && used->id == name;
      return true;
    });
    return isMultiplied ? stmt : nullptr;
  }
  return nullptr;
}

LogicalResult Analyzer::checkMadeAnew(const Stmt &loop) {
  auto *counted = dynCast<For>(&loop);
  const Body &body = counted ? counted->body : checkedCast<While>(&loop)->body;
  // A start may have the axes of the grid.
  bool isGrid = counted && grid == counted;
  std::vector<std::pair<std::string, SourceRange>> names;
  collectAssigned(isGrid ? body : Body{const_cast<Stmt *>(&loop)}, names);
  std::set<std::string> assigned;
  for (const auto &[name, where] : names)
    assigned.insert(name);
  for (const Stmt *stmt : body) {
    auto *start = dynCast<Assign>(stmt);
    const Name *target = start ? getTarget(stmt) : nullptr;
    if (!target || !startsSum(*this, start->value) ||
        mentionsAny(*this, start->value, assigned))
      continue;
    const Stmt *update = findLostUpdate(loop, body, *start, target->id);
    bool isZero = !update && !isGrid;
    if (isZero)
      update = findZeroProduct(body, *start, target->id);
    if (!update)
      continue;
    if (isGrid) {
      std::string fix = getLoopInGrid(*counted, *start, *update);
      if (fix.empty())
        continue;
      error(start->range, target->id + " is made anew by each program of the "
                                       "grid, so what is added here is lost")
          .addNote(update->range, "nobody reads what this leaves")
          .setFix(fix);
      return failure();
    }
    // The loop without the line, which goes before it if it is not there yet.
    const Assign *earlier = findPlainAssign(target->id, loop.range.begin);
    std::string line = quote(start->range), fix;
    if (!earlier || quote(earlier->range) != line)
      fix = line + "\n";
    fix += counted
               ? "for " + quote(counted->target->range) + " in " +
                     quote(counted->iter->range) + ":"
               : "while " + quote(checkedCast<While>(&loop)->test->range) + ":";
    llvm::SmallVector<Stmt *> rest;
    llvm::copy_if(body, std::back_inserter(rest),
                  [&](const Stmt *one) { return one != stmt; });
    error(start->range, target->id + " is made anew in each turn of the loop, "
                                     "so what the turn before left is lost")
        .addNote(update->range, isZero ? "here it is multiplied, and is zero"
                                       : "nobody reads what this leaves")
        .setFix(fix + quoteLines(rest, "    "));
    return failure();
  }
  return success();
}

} // namespace tessera::frontend
