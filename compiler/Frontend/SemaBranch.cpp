//===- SemaBranch.cpp - while, if and early returns -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both arms of an `if` are evaluated, each into a region, with the variables as
// they were before; what they leave behind is merged. An `if` with a `return`
// in it is the end of its function: each arm then goes on with what follows the
// `if`, and the values that are returned are merged.
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/SemaImpl.h"
#include "compiler/Graph/IR/Graph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace tessera::frontend {

Flow Analyzer::executeWhile(const While &stmt) {
  nameHint = "while";
  Location location = loc(stmt.range);
  Region testRegion, bodyRegion;
  Block &test = testRegion.emplaceBlock();
  auto before = scope().variables;
  FailureOr<std::vector<Carried>> carried = startLoop(stmt.body, {}, test);
  if (failed(carried))
    return Flow::Failed;
  unrollFix.clear();
  // Sizes of carried tensors are asked of the loop that holds them.
  graph::WhileOp holder;
  if (request.kind == ProgramKind::Function) {
    SmallVector<mlir::Value> inits;
    for (const Carried &entry : *carried)
      inits.push_back(entry.init);
    holder = graph::WhileOp::create(builder, location,
                                    ValueRange(inits).getTypes(), inits);
    holder.getTest().takeBody(testRegion);
  }
  OpBuilder::InsertPoint outside = builder.saveInsertionPoint();
  builder.setInsertionPointToStart(&test);
  ++controlDepth;
  ValueResult condition = evaluateCondition(
      stmt.test, "'while'", "while tsr.any(" + quote(stmt.test->range) + "):");
  --controlDepth;
  if (failed(condition))
    return Flow::Failed;
  if (condition->isConstant()) {
    if (condition->constant.isTrue()) {
      for (const Stmt *each : stmt.body)
        if (auto *guard = dynCast<If>(each))
          for (const Stmt *inner : guard->body)
            if (is<Break>(inner))
              return execute(inner);
      error(stmt.test->range,
            "this loop never ends: " + quote(stmt.test->range) + " is constant")
          .setFix("for i in range(n):");
      return Flow::Failed;
    }
    scope().variables = before;
    builder.restoreInsertionPoint(outside);
    if (holder)
      holder.erase();
    return Flow::Normal;
  }
  SmallVector<mlir::Value> passed;
  for (const Carried &entry : *carried)
    passed.push_back(entry.argument);
  library->condition(location, condition->ssa, passed);
  Block &body = bodyRegion.emplaceBlock();
  if (holder)
    holder.getBody().takeBody(bodyRegion);
  for (Carried &entry : *carried) {
    entry.argument =
        body.addArgument(entry.init.getType(), loc(entry.assigned, entry.name));
    scope().variables[entry.name] = withSsa(entry.before, entry.argument);
  }
  builder.setInsertionPointToStart(&body);
  ++controlDepth;
  ++loopDepth;
  Flow flow = execute(stmt.body);
  --controlDepth;
  --loopDepth;
  if (flow != Flow::Normal || failed(finishTurn(*carried, before)))
    return Flow::Failed;
  SmallVector<mlir::Value> yields, inits;
  for (const Carried &entry : *carried) {
    yields.push_back(entry.yielded);
    inits.push_back(entry.init);
  }
  library->yield(location, yields);
  builder.restoreInsertionPoint(outside);
  if (holder) {
    testRegion.takeBody(holder.getTest());
    bodyRegion.takeBody(holder.getBody());
    holder.erase();
  }
  Operation *loop = library->makeWhile(getLoopLocation(*carried, location),
                                       inits, testRegion, bodyRegion);
  finishLoop(*carried, loop->getResults(), before, stmt.range);
  return failed(checkMadeAnew(stmt)) ? Flow::Failed : Flow::Normal;
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

ValueResult Analyzer::toBool(const SemaValue &value, const Expr *expr,
                             const char *what, const std::string &fix) {
  if (auto data = toConstant(value))
    return SemaValue::makeConstant(data->isTrue());
  if (value.isTile()) {
    int64_t count = 1;
    for (Axis *axis : value.axes)
      count *= axis->size;
    Diagnostic &diagnostic =
        error(expr->range, std::string(what) + " on a tile of " +
                               std::to_string(count) + " elements");
    diagnostic.setFix(fix);
    diagnostic.addNote(SourceRange(),
                       quote(expr->range) + " is " + describe(value));
    return failure();
  }
  auto type = value.isTensor() ? cast<RankedTensorType>(value.ssa.getType())
                               : RankedTensorType();
  if (type && type.getRank() == 0)
    return toBool(SemaValue::makeScalar(value.ssa, value.dtype), expr, what,
                  fix);
  if (type && type.hasStaticShape() && type.getNumElements() == 1) {
    CallArguments arguments;
    arguments.arguments.push_back(
        {"", SemaValue::makeTuple({}), expr, expr->range});
    ValueResult one =
        library->method(value, "reshape", arguments,
                        OpSite{expr->range, expr->range, {expr, nullptr}});
    return failed(one) ? one : toBool(*one, expr, what, fix);
  }
  if (value.isTensor()) {
    Diagnostic &diagnostic = error(
        expr->range, std::string(what) + " on " + quote(expr->range) +
                         ", a tensor, " + describe(value) + ", not one bool");
    diagnostic.setFix(
        fix.empty() ? "tsr.where(" + quote(expr->range) + ", a, b)" : fix);
    return failure();
  }
  ValueResult scalar = decay(value, expr->range);
  if (failed(scalar))
    return failure();
  if (!scalar->isScalar()) {
    Diagnostic &diagnostic = error(
        expr->range, std::string(what) + " on " + quote(expr->range) +
                         ", which is " + describe(value) + ", not a bool");
    diagnostic.setFix(
        value.kind == ValueKind::Range  ? quote(expr->range) + ".start == 0"
        : value.kind == ValueKind::View ? quote(expr->range) + ".shape[0] > 0"
                                        : quote(expr->range) + " != 0");
    return failure();
  }
  if (scalar->dtype == DType::Bool)
    return *scalar;
  OpSite site{expr->range, expr->range, {expr, nullptr}};
  return library->compare(CompareOperator::NotEq, *scalar,
                          SemaValue::makeConstant(int64_t(0)), site);
}

ValueResult Analyzer::evaluateCondition(const Expr *expr, const char *what,
                                        const std::string &fix) {
  ValueResult value = evaluate(expr);
  if (failed(value))
    return failure();
  return toBool(*value, expr, what, fix);
}

ValueResult Analyzer::evaluateConditional(const IfExp &conditional) {
  ValueResult test =
      evaluateCondition(conditional.test, "a conditional expression",
                        "tsr.where(" + quote(conditional.test->range) + ", " +
                            quote(conditional.body->range) + ", " +
                            quote(conditional.orelse->range) + ")");
  if (failed(test))
    return failure();
  if (test->isConstant())
    return evaluate(test->constant.isTrue() ? conditional.body
                                            : conditional.orelse);
  ValueResult body = evaluate(conditional.body);
  if (failed(body))
    return failure();
  ValueResult orelse = evaluate(conditional.orelse);
  if (failed(orelse))
    return failure();
  CallArguments arguments;
  arguments.arguments = {
      {"", *test, conditional.test, conditional.test->range},
      {"", *body, conditional.body, conditional.body->range},
      {"", *orelse, conditional.orelse, conditional.orelse->range}};
  OpSite site{conditional.range,
              conditional.range,
              {conditional.test, conditional.body, conditional.orelse}};
  return library->call("where", arguments, site);
}

//===----------------------------------------------------------------------===//
// What two arms leave behind
//===----------------------------------------------------------------------===//

static bool isSame(const SemaValue &a, const SemaValue &b) {
  return a.kind == b.kind && a.ssa == b.ssa && a.constant == b.constant &&
         a.dim == b.dim && a.axis == b.axis && a.text == b.text &&
         a.function == b.function &&
         std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(),
                    b.elements.end(), isSame);
}

LogicalResult Analyzer::reportArms(const If &stmt, const std::string &name,
                                   const SemaValue &first,
                                   const SemaValue &second) {
  bool hasElse = !stmt.orelse.empty();
  SourceRange where =
      second.origin.isValid() && hasElse ? second.origin : first.origin;
  error(where, name + " is " + describe(first) + " in one arm of the 'if' (" +
                   describeLine(first.origin) + ") but " + describe(second) +
                   (hasElse ? " in the other (" : " without it (") +
                   describeLine(second.origin) + ")")
      .addNote(where == second.origin ? first.origin : second.origin,
               "the other assignment")
      .setFix(
          (first.isTile() && second.isTile() && first.axes == second.axes) ||
                  (first.isTensor() && second.isTensor() &&
                   first.dtype != second.dtype)
              ? getCastFix(name, first.dtype)
              : std::string());
  return failure();
}

FailureOr<Analyzer::Merged> Analyzer::merge(Arms &arms, const std::string &name,
                                            SemaValue first, SemaValue second) {
  Merged merged;
  if (isSame(first, second)) {
    merged.value = first;
    return merged;
  }
  if (first.kind == ValueKind::Tuple && second.kind == ValueKind::Tuple &&
      first.elements.size() == second.elements.size()) {
    merged.value = first;
    for (auto [a, b] : llvm::zip(first.elements, second.elements)) {
      for (auto [part, whole] : {std::pair(&a, &first), std::pair(&b, &second)})
        if (!part->origin.isValid())
          part->origin = whole->origin;
      FailureOr<Merged> part = merge(arms, name, a, b);
      if (failed(part))
        return failure();
      merged.parts.push_back(std::move(*part));
    }
    return merged;
  }
  bool forward = isCompatible(first, second);
  if (!forward && !isCompatible(second, first))
    return reportArms(arms.stmt, name, first, second);
  Block *const *blocks = arms.blocks;
  merged.result = arms.yields[0].size();
  if (first.isTile() || first.isTensor() || second.isTensor()) {
    SemaValue values[] = {first, second};
    ValueResult after = library->conformArms(values[0], values[1], blocks, name,
                                             loc(arms.stmt.range, name));
    if (failed(after))
      return reportArms(arms.stmt, name, first, second);
    for (int arm = 0; arm < 2; ++arm)
      arms.yields[arm].push_back(values[arm].ssa);
    merged.value = *after;
    merged.value.origin = first.origin;
    return merged;
  }
  merged.value = forward ? first : second;
  DType dtype = merged.value.getPromotionOperand().dtype;
  for (int arm = 0; arm < 2; ++arm) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(blocks[arm]);
    const SemaValue &value = arm == 0 ? first : second;
    arms.yields[arm].push_back(
        library->makeScalar(value, dtype, loc(value.origin, name)));
  }
  return merged;
}

SemaValue Analyzer::getMerged(const Merged &merged, Operation *op) {
  if (!merged.parts.empty()) {
    SemaValue tuple = merged.value;
    tuple.elements.clear();
    for (const Merged &part : merged.parts)
      tuple.elements.push_back(getMerged(part, op));
    return tuple;
  }
  if (merged.result < 0)
    return merged.value;
  return withSsa(merged.value, op->getResult(merged.result));
}

Operation *Analyzer::finishIf(Arms &arms, const SemaValue &condition,
                              const std::string &name) {
  Location location =
      name.empty() ? loc(arms.stmt.range) : loc(arms.stmt.range, name);
  for (int arm = 0; arm < 2; ++arm) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&arms.regions[arm].front());
    library->yield(location, arms.yields[arm]);
  }
  return library->makeIf(location, condition.ssa, arms.regions[0],
                         arms.regions[1]);
}

//===----------------------------------------------------------------------===//
// if
//===----------------------------------------------------------------------===//

namespace {

/// While the arms of a function's `if` are evaluated, an op holds their
/// regions, so that their place in the program is known.
class ArmHolder {
public:
  ArmHolder(OpBuilder &builder, Location location, mlir::Value condition,
            Region *regions, bool isFunction)
      : regions(regions) {
    if (!isFunction)
      return;
    holder = graph::IfOp::create(builder, location, TypeRange(), condition,
                                 ValueRange());
    for (int arm = 0; arm < 2; ++arm)
      holder->getRegion(arm).takeBody(regions[arm]);
  }
  void release() {
    if (!holder)
      return;
    for (int arm = 0; arm < 2; ++arm)
      regions[arm].takeBody(holder->getRegion(arm));
    holder.erase();
    holder = {};
  }

private:
  Region *regions;
  graph::IfOp holder;
};

} // namespace

static bool hasReturn(const Body &body) {
  return llvm::any_of(body, [](const Stmt *stmt) {
    if (auto *branch = dynCast<If>(stmt))
      return hasReturn(branch->body) || hasReturn(branch->orelse);
    if (auto *loop = dynCast<For>(stmt))
      return hasReturn(loop->body);
    if (auto *loop = dynCast<While>(stmt))
      return hasReturn(loop->body);
    return is<Return>(stmt);
  });
}

Flow Analyzer::executeRest(std::vector<std::pair<const Body *, size_t>> rest) {
  while (!rest.empty()) {
    auto [body, first] = rest.back();
    rest.pop_back();
    scope().rest = rest;
    Flow flow = execute(*body, first);
    if (flow != Flow::Normal)
      return flow;
  }
  return Flow::Normal;
}

Flow Analyzer::executeReturningIf(const If &stmt, const SemaValue &condition) {
  auto rest = scope().rest;
  bool inLoop = loopDepth > 0 || llvm::any_of(rest, [](const auto &entry) {
                  return !entry.first;
                });
  if (inLoop) {
    (void)notYet(stmt.test->range,
                 "a 'return' under a run-time 'if' inside a loop",
                 "assign to a variable and return it at the end");
    return Flow::Failed;
  }
  Arms arms{stmt, {}, {}, {}};
  auto before = scope().variables;
  SemaValue returned[2];
  for (int arm = 0; arm < 2; ++arm)
    arms.blocks[arm] = &arms.regions[arm].emplaceBlock();
  ArmHolder holder(builder, loc(stmt.range), condition.ssa, arms.regions,
                   request.kind == ProgramKind::Function);
  for (int arm = 0; arm < 2; ++arm) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(arms.blocks[arm]);
    scope().variables = before;
    scope().rest = rest;
    scope().returned.reset();
    ++controlDepth;
    Flow flow = execute(arm == 0 ? stmt.body : stmt.orelse);
    if (flow == Flow::Normal)
      flow = executeRest(rest);
    --controlDepth;
    if (flow == Flow::Failed)
      return flow;
    if (flow == Flow::Normal) {
      error(stmt.test->range, scope().definition->name +
                                  " returns a value only if this is " +
                                  (arm == 0 ? "false" : "true"))
          .setFix(getOtherReturn(returned[1 - arm], before));
      return Flow::Failed;
    }
    returned[arm] = *scope().returned;
    if (!returned[arm].origin.isValid() || returned[arm].name.empty())
      returned[arm].origin = scope().returnRange;
  }
  FailureOr<Merged> merged =
      merge(arms, "the result", returned[0], returned[1]);
  if (failed(merged))
    return Flow::Failed;
  holder.release();
  Operation *op = finishIf(arms, condition, "result");
  scope().returned = getMerged(*merged, op);
  scope().returned->name =
      returned[0].name == returned[1].name ? returned[0].name : std::string();
  return Flow::Returned;
}

Flow Analyzer::executeIf(const If &stmt) {
  nameHint = "if";
  ValueResult condition =
      evaluateCondition(stmt.test, "'if'", getWhereFix(stmt));
  if (failed(condition))
    return Flow::Failed;
  if (condition->isConstant())
    return execute(condition->constant.isTrue() ? stmt.body : stmt.orelse);
  if (hasReturn(stmt.body) || hasReturn(stmt.orelse))
    return executeReturningIf(stmt, *condition);
  Arms arms{stmt, {}, {}, {}};
  auto before = scope().variables;
  std::map<std::string, SemaValue, std::less<>> after[2];
  for (int arm = 0; arm < 2; ++arm)
    arms.blocks[arm] = &arms.regions[arm].emplaceBlock();
  ArmHolder holder(builder, loc(stmt.range), condition->ssa, arms.regions,
                   request.kind == ProgramKind::Function);
  for (int arm = 0; arm < 2; ++arm) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(arms.blocks[arm]);
    scope().variables = before;
    ++controlDepth;
    Flow flow = execute(arm == 0 ? stmt.body : stmt.orelse);
    --controlDepth;
    if (flow != Flow::Normal)
      return Flow::Failed;
    after[arm] = scope().variables;
  }
  auto variables = before;
  std::vector<std::pair<std::string, Merged>> changed;
  std::set<std::string> names;
  for (int arm = 0; arm < 2; ++arm)
    for (const auto &[name, value] : after[arm])
      names.insert(name);
  for (const std::string &name : names) {
    auto inThen = after[0].find(name), inElse = after[1].find(name);
    if (inThen == after[0].end() || inElse == after[1].end()) {
      const SemaValue &only =
          inThen == after[0].end() ? inElse->second : inThen->second;
      scope().gone[name] = {
          only.origin, "in one arm of the 'if' of " + describeLine(stmt.range),
          getNeutralStart(name, only, BinaryOperator::Add, "before it")};
      continue;
    }
    auto old = before.find(name);
    if (old != before.end() && isSame(inThen->second, old->second) &&
        isSame(inElse->second, old->second))
      continue;
    FailureOr<Merged> merged =
        merge(arms, name, inThen->second, inElse->second);
    if (failed(merged))
      return Flow::Failed;
    changed.emplace_back(name, std::move(*merged));
  }
  std::string first;
  for (const auto &[name, merged] : changed)
    if (first.empty() && merged.result == 0)
      first = name;
  holder.release();
  Operation *op = finishIf(arms, *condition, first);
  scope().variables = std::move(variables);
  for (const auto &[name, merged] : changed) {
    SemaValue value = getMerged(merged, op);
    value.name = name;
    scope().variables[name] = std::move(value);
  }
  return Flow::Normal;
}

} // namespace tessera::frontend
