//===- SemaRunning.cpp - What a kernel keeps and never uses ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Legal programs whose text alone shows that something is forgotten: a running
// maximum that stays at its start, an axis of the grid along which all programs
// add the same, an array that is never read.
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/LoopUses.h"

#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace tessera::frontend {

/// Is a name read or assigned in a body?
static bool isNamed(const Body &body, llvm::StringRef name) {
  bool found = false;
  walkExpressions(body, [&](const Expr *expr) {
    auto *use = dynCast<Name>(expr);
    found |= use && use->id == name;
    return !found;
  });
  return found;
}

namespace {
/// A name and what it is assigned, of tuples one by one; no value where that is
/// not one expression.
struct Assigned {
  const Stmt *stmt;
  std::string name;
  const Expr *value;
};
} // namespace

/// The assignments of a body, and of what is inside it, too, if `deep`.
static void listAssigned(const Body &body, bool deep,
                         std::vector<Assigned> &list) {
  for (const Stmt *stmt : body) {
    if (auto *loop = dynCast<For>(stmt); loop && deep)
      listAssigned(loop->body, deep, list);
    if (auto *loop = dynCast<While>(stmt); loop && deep)
      listAssigned(loop->body, deep, list);
    if (auto *branch = dynCast<If>(stmt); branch && deep) {
      listAssigned(branch->body, deep, list);
      listAssigned(branch->orelse, deep, list);
    }
    if (auto *update = dynCast<AugAssign>(stmt))
      if (auto *target = dynCast<Name>(update->target))
        list.push_back({stmt, target->id, nullptr});
    auto *assign = dynCast<Assign>(stmt);
    auto *values = assign ? dynCast<Tuple>(assign->value) : nullptr;
    for (const Expr *target :
         assign ? assign->targets : std::vector<Expr *>()) {
      if (auto *name = dynCast<Name>(target))
        list.push_back({stmt, name->id, assign->value});
      auto *names = dynCast<Tuple>(target);
      for (size_t i = 0; names && i < names->elts.size(); ++i)
        if (auto *name = dynCast<Name>(names->elts[i]))
          list.push_back(
              {stmt, name->id,
               values && i < values->elts.size() ? values->elts[i] : nullptr});
    }
  }
}

/// How often a body assigns a name, and what, if it does so once.
static std::pair<unsigned, const Expr *> findOnlyValue(const Body &body,
                                                       llvm::StringRef name) {
  std::vector<Assigned> list;
  listAssigned(body, /*deep=*/true, list);
  llvm::erase_if(list, [&](const Assigned &each) { return each.name != name; });
  return {list.size(), list.size() == 1 ? list[0].value : nullptr};
}

/// new = tsr.maximum(top, x) in a loop, where top is -tsr.inf and stays so.
LogicalResult Analyzer::checkRunningMaximum(const For &loop) {
  for (const Stmt *stmt : loop.body) {
    if (auto *inner = dynCast<For>(stmt);
        inner && failed(checkRunningMaximum(*inner)))
      return failure();
    auto *assign = dynCast<Assign>(stmt);
    auto *call = assign && is<Name>(assign->targets.front())
                     ? dynCast<Call>(assign->value)
                     : nullptr;
    if (!call || call->args.size() != 2 || &loop == grid)
      continue;
    bool isMaximum = quote(call->func->range) == "tsr.maximum",
         isMinimum = quote(call->func->range) == "tsr.minimum";
    const std::string &made = checkedCast<Name>(assign->targets.front())->id;
    for (const Expr *operand : call->args) {
      auto *top = dynCast<Name>(operand);
      const Expr *start =
          top ? findOnlyValue(getBody(), top->id).second : nullptr;
      auto *full = dynCast<Call>(start);
      bool isFull = full && !full->args.empty() &&
                    quote(full->func->range) == "tsr.full" &&
                    !isWithin(full->range, loop.range);
      std::string least = isFull ? quote(full->args[0]->range) : "";
      bool isLeast =
          (isMaximum && (least == "-tsr.inf" || least == "-math.inf" ||
                         least == "tsr.lowest")) ||
          (isMinimum && (least == "tsr.inf" || least == "math.inf"));
      if (!isLeast)
        continue;
      error(assign->range, top->id + " is " + least +
                               " in every turn: nothing assigns it, so " +
                               made + " is of this turn alone")
          .addNote(full->range, "the start of " + top->id)
          .setFix("for " + quote(loop.target->range) + " in " +
                  quote(loop.iter->range) + ":" +
                  quoteLines(loop.body, "    ") + "\n    " + top->id + " = " +
                  made);
      return failure();
    }
  }
  return success();
}

/// The variable that a statement adds the sum over a counter to.
static const Name *getSumOver(const Analyzer &analyzer, const Stmt *stmt,
                              const Name *counter) {
  auto *update = dynCast<AugAssign>(stmt);
  auto *sum = update && update->op == BinaryOperator::Add
                  ? dynCast<Call>(update->value)
                  : nullptr;
  bool isSum = sum && counter && sum->args.size() == 2 &&
               analyzer.quote(sum->func->range) == "tsr.sum" &&
               analyzer.quote(sum->args[1]->range) == counter->id;
  return isSum ? dynCast<Name>(update->target) : nullptr;
}

/// total / BN behind a loop over the N elements in tiles of BN that adds them
/// up.
void Analyzer::remarkMeansOfTiles(const For &kernel) {
  walkExpressions(kernel.body, [&](const Expr *expr) {
    auto *division = dynCast<BinOp>(expr);
    auto *total = division && division->op == BinaryOperator::Div
                      ? dynCast<Name>(division->left)
                      : nullptr;
    if (!total)
      return true;
    std::string divisor = quote(division->right->range);
    for (const LoopUse &use : collectLoopUses(
             *this, [&](llvm::StringRef of) { return dimNamesOf(of); })) {
      if (!use.size || use.loop == &kernel ||
          quote(use.size->range) != divisor ||
          !(use.loop->range.end < division->range.begin))
        continue;
      auto *counter = dynCast<Name>(use.loop->target);
      for (const Stmt *stmt : use.loop->body)
        if (const Name *sum = getSumOver(*this, stmt, counter);
            sum && sum->id == total->id) {
          InFlightDiagnostic remark = emitRemark(loc(division->range));
          remark << total->id << " is of all along " << quote(use.extent->range)
                 << ", but is divided by the size of a tile";
          remark.attachNote()
              << "fix: " << total->id << " / " << quote(use.extent->range);
        }
    }
    return true;
  });
}

/// Y[m, n] = tsr.cumsum(x, n) + carry in a loop over n, where carry is zero and
/// stays so, or has what this turn adds already.
LogicalResult Analyzer::checkRunningTotal(const For &loop) {
  auto *counter = dynCast<Name>(loop.target);
  const Stmt *update = nullptr;
  for (const Stmt *stmt : loop.body) {
    const Call *scan = nullptr;
    const Name *total = nullptr;
    const Expr *start = nullptr;
    bool isUpdated = false;
    const Name *sum = update ? getSumOver(*this, update, counter) : nullptr;
    if (getSumOver(*this, stmt, counter))
      update = stmt;
    if (auto *inner = dynCast<For>(stmt);
        inner && failed(checkRunningTotal(*inner)))
      return failure();
    if (!counter || &loop == grid || is<For>(stmt) || is<If>(stmt) ||
        is<While>(stmt))
      continue;
    walkExpressions({const_cast<Stmt *>(stmt)}, [&](const Expr *expr) {
      auto *call = dynCast<Call>(expr);
      if (call && call->args.size() == 2 &&
          quote(call->func->range) == "tsr.cumsum" &&
          quote(call->args[1]->range) == counter->id)
        scan = call;
      auto *name = dynCast<Name>(expr);
      isUpdated |= name && sum && name->id == sum->id;
      auto *value = dynCast<Call>(
          name ? findOnlyValue(getBody(), name->id).second : nullptr);
      if (value && quote(value->func->range) == "tsr.zeros" &&
          !isWithin(value->range, loop.range)) {
        total = name;
        start = value;
      }
      return true;
    });
    std::string line = quote(stmt->range);
    if (scan && isUpdated && line.find(" - ") == std::string::npos) {
      SourceRange both = update->range;
      both.end = stmt->range.end;
      error(both, sum->id + " has what this tile of " + counter->id +
                      " adds, and so has the scan: it is counted twice")
          .addNote(scan->range, "the scan of this tile")
          .setFix(line + "\n" + quote(update->range));
      return failure();
    }
    if (!scan || !total)
      continue;
    error(stmt->range, total->id +
                           " is zero in every turn: nothing adds what "
                           "a tile of " +
                           counter->id + " comes to")
        .addNote(start->range, "the start of " + total->id)
        .setFix(line + "\n" + total->id + " += tsr.sum(" +
                quote(scan->args[0]->range) + ", " + counter->id + ")");
    return failure();
  }
  return success();
}

/// new = tsr.maximum(top, x); p = tsr.exp(x - new); total += p; top = new:
/// what total has is of the maxima before, and has to be rescaled.
LogicalResult Analyzer::checkRescaledSums(const For &loop) {
  for (const Stmt *stmt : loop.body)
    if (auto *inner = dynCast<For>(stmt);
        inner && failed(checkRescaledSums(*inner)))
      return failure();
  std::vector<Assigned> list;
  listAssigned(loop.body, /*deep=*/false, list);
  llvm::erase_if(list, [](const Assigned &each) { return !each.value; });
  for (const Assigned &maximum : list) {
    auto *call = dynCast<Call>(maximum.value);
    auto *first = call && call->args.size() == 2 &&
                          quote(call->func->range) == "tsr.maximum"
                      ? dynCast<Name>(call->args[0])
                      : nullptr;
    bool isRunning =
        first && llvm::any_of(list, [&](const Assigned &each) {
          auto *kept = dynCast<Name>(each.value);
          return each.name == first->id && kept && kept->id == maximum.name;
        });
    if (!isRunning)
      continue;
    const std::string &top = first->id, &now = maximum.name;
    // exp(x - new), and exp(top - new), which rescales.
    std::string exponential = "tsr.exp", factor;
    auto isTerm = [&](const Expr *value) {
      bool found = false;
      walkExpressions(loop.body, [&](const Expr *expr) {
        auto *power = dynCast<Call>(expr);
        auto *shifted = power && power->args.size() == 1
                            ? dynCast<BinOp>(power->args[0])
                            : nullptr;
        std::string callee = power ? quote(power->func->range) : "";
        bool isOfNow = shifted && isWithin(expr->range, value->range) &&
                       (callee == "tsr.exp" || callee == "tsr.exp2") &&
                       shifted->op == BinaryOperator::Sub &&
                       quote(shifted->right->range) == now &&
                       quote(shifted->left->range) != top;
        if (isOfNow) {
          found = true;
          exponential = callee;
        }
        return true;
      });
      return found;
    };
    std::set<std::string> terms;
    for (const Assigned &each : list) {
      std::string text = quote(each.value->range);
      if (text == "tsr.exp(" + top + " - " + now + ")" ||
          text == "tsr.exp2(" + top + " - " + now + ")")
        factor = each.name;
      else if (each.name != top && each.name != now &&
               !mentionsAny(*this, each.value, {each.name}) &&
               (isTerm(each.value) || mentionsAny(*this, each.value, terms)))
        terms.insert(each.name);
    }
    for (const Stmt *stmt : loop.body) {
      auto *update = dynCast<AugAssign>(stmt);
      auto *assign = dynCast<Assign>(stmt);
      auto *sum = assign ? dynCast<BinOp>(assign->value) : nullptr;
      const Name *target = update && update->op == BinaryOperator::Add
                               ? dynCast<Name>(update->target)
                           : sum && sum->op == BinaryOperator::Add
                               ? dynCast<Name>(assign->targets.front())
                               : nullptr;
      const Expr *added = update ? update->value : sum ? sum->right : nullptr;
      if (!target || terms.count(target->id) ||
          (sum && quote(sum->left->range) != target->id) ||
          !(isTerm(added) || mentionsAny(*this, added, terms)))
        continue;
      if (findOnlyValue(loop.body, target->id).first != 1)
        continue;
      std::string scale =
          factor.empty() ? exponential + "(" + top + " - " + now + ")" : factor;
      error(stmt->range, "what is added is relative to " + now +
                             ", which grows from turn to turn, and " +
                             target->id + " is not rescaled")
          .addNote(maximum.stmt->range, "the running maximum")
          .setFix(target->id + " = " + target->id + " * " + scale + " + " +
                  quote(added->range));
      return failure();
    }
  }
  return success();
}

/// An axis of the grid that the body does not name: each program along it does
/// the same, and what it adds up is added as often as there are programs.
LogicalResult Analyzer::checkGridAxes(const For &loop) {
  auto *call = dynCast<Call>(loop.iter);
  std::vector<const Expr *> targets = {loop.target};
  if (auto *tuple = dynCast<Tuple>(loop.target))
    targets.assign(tuple->elts.begin(), tuple->elts.end());
  for (auto [target, extent] : llvm::zip(targets, call->args)) {
    auto *axis = dynCast<Name>(target);
    if (!axis || axis->id[0] == '_' || is<Constant>(extent) ||
        isNamed(loop.body, axis->id))
      continue;
    bool adds = false;
    walkExpressions(loop.body, [&](const Expr *expr) {
      auto *atomic = dynCast<Call>(expr);
      adds |=
          atomic &&
          llvm::StringRef(quote(atomic->func->range)).contains("atomic_add");
      return true;
    });
    if (!adds)
      continue;
    Diagnostic &diagnostic =
        error(target->range, "nothing uses " + axis->id +
                                 ": each program along it "
                                 "adds the same once more");
    diagnostic.addNote(extent->range, "the axis " + axis->id);
    // A loop over the whole dim, where a part of it was meant.
    auto *tile = dynCast<Call>(extent);
    for (const LoopUse &use : collectLoopUses(
             *this, [](llvm::StringRef) { return SmallVector<std::string>(); }))
      if (tile && !tile->args.empty() && use.loop != &loop && use.size &&
          quote(use.extent->range) == quote(tile->args[0]->range) &&
          checkedCast<Call>(use.loop->iter)->keywords.empty())
        diagnostic.setFix("for " + use.name + " in tsr.tile(" +
                              quote(use.extent->range) + ", " +
                              quote(use.size->range) + ", start=" + axis->id +
                              ".start, stop=" + axis->id + ".stop):",
                          use.loop->range);
    return failure();
  }
  return success();
}

/// tsr.grid(tsr.cdiv(M, BM)) whose counter indexes M: its tiles are meant, and
/// most elements would be left out.
LogicalResult Analyzer::checkGridCounts(const For &loop) {
  std::string fix = quote(loop.iter->range);
  const LoopUse *wrong = nullptr;
  std::vector<LoopUse> uses = collectLoopUses(
      *this, [&](llvm::StringRef of) { return dimNamesOf(of); });
  auto *call = checkedCast<Call>(loop.iter);
  for (const Expr *extent : llvm::reverse(call->args)) {
    auto [whole, size] = getBlocks(quote(extent->range));
    if (size.empty() || size == "1" ||
        extent->range.begin.line != loop.iter->range.begin.line)
      continue;
    for (const LoopUse &use : uses)
      if (use.loop == &loop && isWithin(use.extent->range, extent->range) &&
          use.dims.count(whole))
        wrong = &use;
    fix.replace(extent->range.begin.column - loop.iter->range.begin.column,
                quote(extent->range).size(),
                "tsr.tile(" + whole + ", " + size + ")");
  }
  if (!wrong)
    return success();
  error(loop.iter->range, wrong->name + " counts blocks, but it indexes single "
                                        "elements: most would be left out")
      .setFix(fix);
  return failure();
}

/// An array whose elements and sizes nothing needs.
void Analyzer::remarkUnread() {
  for (const ParameterDescription &parameter : signature.parameters) {
    if (parameter.kind != ParameterDescription::Kind::Tensor ||
        parameter.dims.empty() || isNamed(getBody(), parameter.name))
      continue;
    bool givesSize = llvm::any_of(parameter.dims, [&](const std::string &dim) {
      return llvm::none_of(
          signature.parameters, [&](const ParameterDescription &other) {
            return &other != &parameter && llvm::is_contained(other.dims, dim);
          });
    });
    if (!givesSize)
      emitRemark(loc(parameter.where))
          << "the kernel " << request.definition->name << " never reads "
          << parameter.name;
  }
}

LogicalResult Analyzer::checkRunningValues(const For &loop) {
  if (failed(checkRunningMaximum(loop)) || failed(checkRunningTotal(loop)) ||
      failed(checkRescaledSums(loop)) || failed(checkGridAxes(loop)))
    return failure();
  remarkMeansOfTiles(loop);
  remarkUnread();
  return success();
}

} // namespace tessera::frontend
