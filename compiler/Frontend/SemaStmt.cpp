//===- SemaStmt.cpp - Statements but for loops and branches ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/SemaImpl.h"
#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tessera::frontend {

Flow Analyzer::execute(const Body &body, size_t first) {
  for (size_t i = first; i < body.size(); ++i) {
    const Stmt *stmt = body[i];
    scope().rest.emplace_back(&body, i + 1);
    Flow flow = execute(stmt);
    if (flow == Flow::Failed)
      return flow;
    // A constant `if` may return early, what follows is then dead; a run-time
    // one has run what follows.
    if (flow == Flow::Returned && i + 1 < body.size() && !is<If>(stmt)) {
      error(body[i + 1]->range, "nothing is run after 'return'; " +
                                    describeStatement(*body[i + 1]) +
                                    " stands here")
          .addNote(stmt->range, "returns here")
          .setFix("drop the lines after " + quote(stmt->range));
      return Flow::Failed;
    }
    if (flow == Flow::Returned)
      return flow;
    scope().rest.pop_back();
  }
  return Flow::Normal;
}

/// More than this is a mistake, or takes minutes to compile.
static constexpr unsigned maxExecuted = 20000;

Flow Analyzer::execute(const Stmt *stmt) {
  nameHint.clear();
  if (++executed > maxExecuted) {
    error(stmt->range, "this program has more than " +
                           std::to_string(maxExecuted) +
                           " statements, calls and unrolled loops counted")
        .setFix("a loop at run time: for i in range(n), or fewer calls");
    return Flow::Failed;
  }
  // A kernel is its grid: before it only scalars are computed, after it
  // nothing.
  if (grid && !insideGrid && scopes.size() == 1 && !is<Pass>(stmt)) {
    auto *loop = dynCast<For>(stmt);
    auto *call = loop ? dynCast<Call>(loop->iter) : nullptr;
    if (call && resolveBuiltin(call->func, *scope().captured) == "grid") {
      bool isSame = quote(loop->iter->range) == quote(grid->iter->range) &&
                    quote(loop->target->range) == quote(grid->target->range);
      error(loop->iter->range,
            std::string("a second tsr.grid; a kernel has one and nothing after "
                        "it") +
                (isSame ? ": its lines belong at the end of the first one, "
                          "which has the same ranges"
                        : ""))
          .addNote(grid->iter->range, "the first one")
          .setFix(isSame ? "for " + quote(grid->target->range) + " in " +
                               quote(grid->iter->range) + ":" +
                               joinLines(grid->body, loop->body)
                         : "a second @tsr.kernel for it, called after this "
                           "one");
      return Flow::Failed;
    }
    std::string fix = "move it into the loop, or into a kernel of its own";
    if (auto *result = dynCast<Return>(stmt))
      fix = getKernelState(*library).writes()
                ? "delete it: a call returns what the kernel "
                  "writes"
                : getReturnFix(*result, "in the loop");
    error(stmt->range, describeStatement(*stmt) +
                           " after the grid of a kernel; only what is inside "
                           "the loop is run")
        .addNote(grid->iter->range, "the grid")
        .setFix(fix);
    return Flow::Failed;
  }
  switch (stmt->kind) {
  case NodeKind::Assign:
    return executeAssign(*checkedCast<Assign>(stmt));
  case NodeKind::AugAssign:
    return executeAugAssign(*checkedCast<AugAssign>(stmt));
  case NodeKind::AnnAssign:
    return executeAnnAssign(*checkedCast<AnnAssign>(stmt));
  case NodeKind::For:
    return executeFor(*checkedCast<For>(stmt));
  case NodeKind::While:
    return executeWhile(*checkedCast<While>(stmt));
  case NodeKind::If:
    return executeIf(*checkedCast<If>(stmt));
  case NodeKind::Assert:
    return executeAssert(*checkedCast<Assert>(stmt));
  case NodeKind::Return:
    return executeReturn(*checkedCast<Return>(stmt));
  case NodeKind::ExprStmt:
    return executeExpr(*checkedCast<ExprStmt>(stmt));
  case NodeKind::Pass:
    return Flow::Normal;
  case NodeKind::Break:
    error(stmt->range, "'break' is not part of the language")
        .setFix(getWhileFix(*stmt))
        .construct = "break";
    return Flow::Failed;
  case NodeKind::Continue:
    error(stmt->range, "'continue' is not part of the language")
        .setFix(getGuardFix(*stmt))
        .construct = "continue";
    return Flow::Failed;
  case NodeKind::FunctionDef:
    error(stmt->range, "a function inside a program")
        .setFix("define it outside: @tsr.function above def " +
                checkedCast<FunctionDef>(stmt)->name)
        .construct = "def";
    return Flow::Failed;
  case NodeKind::Import:
  case NodeKind::ImportFrom:
    error(stmt->range, "'import' inside a program")
        .setFix("import at the top of the file")
        .construct = "import";
    return Flow::Failed;
  default:
    error(stmt->range, std::string("'") + getNodeName(stmt->kind) +
                           "' is not part of the language");
    return Flow::Failed;
  }
}

//===----------------------------------------------------------------------===//
// Assignment
//===----------------------------------------------------------------------===//

void Analyzer::setVariable(const std::string &name, SemaValue value,
                           const SourceRange &where) {
  // The op that made the value is known by the variable's name from here on,
  // unless it has one already (y = x).
  // A load is called after the parameter until it is assigned.
  if (Operation *op = value.ssa ? value.ssa.getDefiningOp() : nullptr) {
    auto named = dyn_cast<NameLoc>(op->getLoc());
    auto load = dyn_cast<tile::LoadOp>(op);
    auto view = load ? dyn_cast<NameLoc>(load.getView().getLoc()) : NameLoc();
    if (!named)
      op->setLoc(NameLoc::get(builder.getStringAttr(name), op->getLoc()));
    else if (view && named.getName() == view.getName())
      op->setLoc(
          NameLoc::get(builder.getStringAttr(name), named.getChildLoc()));
  }
  if (value.kind == ValueKind::Range && !value.axis->isNamed())
    value.axis->name = name;
  value.name = name;
  value.origin = where;
  scope().variables[name] = std::move(value);
  scope().gone.erase(name);
}

LogicalResult Analyzer::storeTo(const Subscript &target, const SemaValue &value,
                                const Expr *valueExpr) {
  ValueResult base = evaluate(target.value);
  if (failed(base))
    return failure();
  FailureOr<std::vector<SemaValue>> indices = evaluateIndices(target.slice);
  if (failed(indices))
    return failure();
  OpSite site{target.range, target.slice->range, {}};
  if (auto *tuple = dynCast<Tuple>(target.slice))
    site.operands.append(tuple->elts.begin(), tuple->elts.end());
  else
    site.operands.push_back(target.slice);
  site.operands.push_back(valueExpr);
  ValueResult stored = decay(value, valueExpr ? valueExpr->range : site.range);
  if (failed(stored))
    return failure();
  return library->store(*base, *indices, *stored, site);
}

LogicalResult Analyzer::assign(const Expr *target, SemaValue value,
                               const Expr *valueExpr) {
  if (auto *name = dynCast<Name>(target)) {
    if (value.kind == ValueKind::Iterable) {
      error(valueExpr ? valueExpr->range : target->range,
            describe(value) + " stands only after 'in' of a for")
          .setFix("for " + name->id + " in " +
                  (valueExpr ? quote(valueExpr->range) : std::string("...")) +
                  ":");
      return failure();
    }
    if (value.isNone() && valueExpr && is<Call>(valueExpr)) {
      error(valueExpr->range, quote(valueExpr->range) +
                                  " returns nothing, so " + name->id +
                                  " would have no value")
          .setFix(quote(valueExpr->range));
      return failure();
    }
    scope().sources[name->id] = {valueExpr, {}};
    setVariable(name->id, std::move(value), name->range);
    return success();
  }
  if (auto *subscript = dynCast<Subscript>(target))
    return storeTo(*subscript, value, valueExpr);
  if (auto *attribute = dynCast<Attribute>(target)) {
    reportAttributeTarget(*attribute, valueExpr);
    return failure();
  }
  const std::vector<Expr *> *targets = nullptr;
  if (auto *tuple = dynCast<Tuple>(target))
    targets = &tuple->elts;
  else if (auto *list = dynCast<List>(target))
    targets = &list->elts;
  if (!targets) {
    error(target->range, quote(target->range) + " cannot be assigned to")
        .setFix("name = " +
                (valueExpr ? quote(valueExpr->range) : std::string("...")));
    return failure();
  }
  if (value.kind != ValueKind::Tuple) {
    reportUnpack(target, *targets, value, valueExpr);
    return failure();
  }
  if (value.elements.size() != targets->size()) {
    reportUnpack(target, *targets, value, valueExpr);
    return failure();
  }
  const std::vector<Expr *> *parts = nullptr;
  if (auto *tuple = dynCast<Tuple>(valueExpr))
    if (tuple->elts.size() == targets->size())
      parts = &tuple->elts;
  for (size_t i = 0; i < targets->size(); ++i)
    if (failed(assign((*targets)[i], value.elements[i],
                      parts ? (*parts)[i] : valueExpr)))
      return failure();
  return success();
}

/// What values made for this target are called: the variable, the parameter
/// that is written.
static std::string getHint(const Expr *target) {
  if (auto *name = dynCast<Name>(target))
    return name->id;
  if (auto *subscript = dynCast<Subscript>(target))
    return getHint(subscript->value);
  return {};
}

Flow Analyzer::executeAssign(const Assign &stmt) {
  const Expr *first = stmt.targets.front();
  auto *targetTuple = dynCast<Tuple>(first);
  auto *valueTuple = dynCast<Tuple>(stmt.value);
  ValueResult value = failure();
  if (targetTuple && valueTuple &&
      targetTuple->elts.size() == valueTuple->elts.size()) {
    // Each part is named after its own target; all are evaluated first.
    std::vector<SemaValue> elements;
    for (auto [part, target] : llvm::zip(valueTuple->elts, targetTuple->elts)) {
      nameHint = getHint(target);
      ValueResult element = evaluate(part);
      if (failed(element))
        return Flow::Failed;
      elements.push_back(*element);
    }
    value = SemaValue::makeTuple(std::move(elements));
  } else {
    nameHint = getHint(first);
    value = evaluate(stmt.value);
  }
  if (failed(value) || reportStoreByName(stmt, *value))
    return Flow::Failed;
  for (const Expr *target : stmt.targets) {
    if (!is<Tuple>(target))
      nameHint = getHint(target);
    if (failed(assign(target, *value, stmt.value)))
      return Flow::Failed;
  }
  return Flow::Normal;
}

Flow Analyzer::executeAugAssign(const AugAssign &stmt) {
  nameHint = getHint(stmt.target);
  SourceRange whole = stmt.target->range;
  whole.end = stmt.value->range.end;
  OpSite site{whole, stmt.opRange, {stmt.target, stmt.value}};
  if (auto *attribute = dynCast<Attribute>(stmt.target)) {
    reportAttributeTarget(*attribute, stmt.value);
    return Flow::Failed;
  }
  if (auto *name = dynCast<Name>(stmt.target); name && !isKnown(name->id)) {
    reportUndefinedSum(*name, stmt);
    return Flow::Failed;
  }
  ValueResult before = evaluate(stmt.target);
  if (failed(before))
    return Flow::Failed;
  if (auto *target = dynCast<Subscript>(stmt.target);
      target && request.kind == ProgramKind::Kernel &&
      failed(getKernelState(*library).checkUpdate(*before, *target, whole)))
    return Flow::Failed;
  auto *product = dynCast<BinOp>(stmt.value);
  ValueResult after = failure();
  if (stmt.op == BinaryOperator::Add && product &&
      product->op == BinaryOperator::MatMult && library->fusesAccumulator()) {
    OpSite acc{whole, stmt.opRange, {stmt.target}};
    after = addProduct(*before, *product, acc);
  } else {
    ValueResult value = evaluate(stmt.value);
    if (failed(value))
      return Flow::Failed;
    after = combine(stmt.op, *before, *value, site);
  }
  if (failed(after))
    return Flow::Failed;
  if (failed(assign(stmt.target, *after, stmt.value)))
    return Flow::Failed;
  if (auto *name = dynCast<Name>(stmt.target))
    scope().sources[name->id].op = getOperatorSpelling(stmt.op);
  return Flow::Normal;
}

Flow Analyzer::executeAnnAssign(const AnnAssign &stmt) {
  if (!stmt.value)
    return Flow::Normal;
  // x: const = 3 and x: fp32 = ... are Python's; the annotation is a check.
  nameHint = getHint(stmt.target);
  ValueResult value = evaluate(stmt.value);
  if (failed(value))
    return Flow::Failed;
  std::string name = resolveBuiltin(stmt.annotation, *scope().captured);
  if (name == "const") {
    if (!value->isConstant() && value->kind != ValueKind::Tuple) {
      error(stmt.value->range, quote(stmt.target->range) + " is const, but " +
                                   quote(stmt.value->range) + " is " +
                                   describe(*value) + ", not a constant")
          .setFix(quote(stmt.target->range) + " = " + quote(stmt.value->range));
      return Flow::Failed;
    }
  } else if (auto dtype = parseDType(name)) {
    PromotionOperand operand = value->getPromotionOperand();
    if (!value->isNumber() && !value->isTile() && !value->isTensor()) {
      error(stmt.value->range, quote(stmt.value->range) + " is " +
                                   describe(*value) + ", not a number of " +
                                   name)
          .setFix(quote(stmt.target->range) + " = " + quote(stmt.value->range));
      return Flow::Failed;
    }
    if (!operand.weak && operand.dtype != *dtype) {
      error(stmt.value->range, quote(stmt.value->range) + " is " +
                                   describe(*value) + ", not " + name)
          .setFix(parenthesize(stmt.value) + ".to(" + name + ")");
      return Flow::Failed;
    }
    if (operand.weak && (!isFloat(operand.dtype) || isFloat(*dtype))) {
      ValueResult number = decay(*value, stmt.value->range);
      if (failed(number))
        return Flow::Failed;
      *value = SemaValue::makeScalar(
          library->makeScalar(*number, *dtype, loc(stmt.value->range)), *dtype);
    }
  } else {
    error(stmt.annotation->range,
          "a variable is annotated with const or a dtype, if at all, not " +
              quote(stmt.annotation->range))
        .setFix(quote(stmt.target->range) + " = " + quote(stmt.value->range));
    return Flow::Failed;
  }
  return failed(assign(stmt.target, *value, stmt.value)) ? Flow::Failed
                                                         : Flow::Normal;
}

//===----------------------------------------------------------------------===//
// assert, print, return
//===----------------------------------------------------------------------===//

Flow Analyzer::executeAssert(const Assert &stmt) {
  nameHint = "assert";
  std::string message = quote(stmt.test->range);
  if (stmt.msg) {
    ValueResult text = evaluate(stmt.msg);
    if (failed(text))
      return Flow::Failed;
    if (!text->isConstant() || !text->constant.isString()) {
      error(stmt.msg->range, "the text of an assert is a string, but " +
                                 quote(stmt.msg->range) + " is " +
                                 describe(*text))
          .setFix("assert " + quote(stmt.test->range) + ", \"text\"");
      return Flow::Failed;
    }
    message = text->constant.asString();
  }
  ValueResult test = evaluate(stmt.test);
  if (failed(test))
    return Flow::Failed;
  bool runTime = test->isTile() || test->isScalar() || test->isTensor() ||
                 (test->kind == ValueKind::Dim && test->dim->size < 0);
  if (!runTime) {
    ValueResult holds = toBool(*test, stmt.test, "'assert'");
    if (failed(holds))
      return Flow::Failed;
    if (holds->constant.isTrue())
      return Flow::Normal;
    error(stmt.test->range, "assert: " + message);
    return Flow::Failed;
  }
  if (!test->isTile() && !test->isTensor()) {
    test = toBool(*test, stmt.test, "'assert'");
    if (failed(test))
      return Flow::Failed;
  }
  if (test->dtype != DType::Bool) {
    error(stmt.test->range, "assert needs a bool, not " + describe(*test))
        .setFix(quote(stmt.test->range) + " != 0");
    return Flow::Failed;
  }
  OpSite site{stmt.range, stmt.test->range, {stmt.test}};
  return failed(library->assertTrue(*test, message, site)) ? Flow::Failed
                                                           : Flow::Normal;
}

Flow Analyzer::executeExpr(const ExprStmt &stmt) {
  // Docstrings and other constants do nothing.
  if (auto *constant = dynCast<Constant>(stmt.value)) {
    if (constant->type == ConstantKind::String ||
        constant->type == ConstantKind::Ellipsis)
      return Flow::Normal;
  }
  if (auto *compare = dynCast<Compare>(stmt.value);
      compare && compare->ops.size() == 1 &&
      compare->ops[0] == CompareOperator::Eq &&
      (is<Subscript>(compare->left) || is<Name>(compare->left))) {
    error(stmt.range, "a comparison that nobody uses; one = assigns")
        .setFix(quote(compare->left->range) + " = " +
                quote(compare->comparators[0]->range));
    return Flow::Failed;
  }
  auto *call = dynCast<Call>(stmt.value);
  auto *name = call ? dynCast<Name>(call->func) : nullptr;
  if (name && name->id == "print" && !scope().variables.count("print")) {
    nameHint = "print";
    std::string text;
    std::vector<SemaValue> values;
    OpSite site{call->range, call->func->range, {}};
    FailureOr<CallArguments> arguments = evaluateArguments(*call);
    if (failed(arguments))
      return Flow::Failed;
    for (const CallArgument &argument : arguments->arguments) {
      if (!argument.keyword.empty()) {
        std::vector<std::string> texts;
        for (const CallArgument &other : arguments->arguments)
          if (other.keyword.empty())
            texts.push_back(quote(other.where));
        error(argument.where, "print takes no keywords here, but '" +
                                  argument.keyword + "' is given")
            .setFix(rewriteCall(*this, site, texts));
        return Flow::Failed;
      }
      ValueResult value = decay(argument.value, argument.where);
      if (failed(value))
        return Flow::Failed;
      if (value->isScalar() || value->isTile() || value->isTensor()) {
        if (!text.empty() && text.back() != ' ')
          text += ' ';
        text += "{}";
        values.push_back(*value);
        site.operands.push_back(argument.expr);
        continue;
      }
      if (!value->isConstant()) {
        std::string text = quote(argument.where);
        error(argument.where,
              "print cannot show " + text + ", which is " + describe(*value))
            .setFix("print(" +
                    (value->kind == ValueKind::Range  ? text + ".start"
                     : value->kind == ValueKind::View ? text + ".shape[0]"
                                                      : "\"" + text + "\"") +
                    ")");
        return Flow::Failed;
      }
      if (!text.empty())
        text += ' ';
      text += value->constant.isString() ? value->constant.asString()
                                         : value->constant.str();
    }
    return failed(library->print(text, values, site)) ? Flow::Failed
                                                      : Flow::Normal;
  }
  nameHint = call ? getHint(call->args.empty() ? nullptr : call->args[0])
                  : std::string();
  ValueResult value = evaluate(stmt.value);
  if (failed(value))
    return Flow::Failed;
  if (!call) {
    bool compares = is<Compare>(stmt.value);
    auto *comparison = dynCast<Compare>(stmt.value);
    error(stmt.value->range,
          "the value of this line, " + describe(*value) + ", is not used")
        .setFix(compares && comparison->ops.size() == 1 &&
                        comparison->ops[0] == CompareOperator::Eq
                    ? quote(comparison->left->range) + " = " +
                          quote(comparison->comparators[0]->range)
                    : "y = " + quote(stmt.value->range));
    return Flow::Failed;
  }
  // In a function nothing is written: what a call makes is its value.
  auto isMade = [](const SemaValue &value) { return value.isTensor(); };
  if (request.kind == ProgramKind::Function &&
      (isMade(*value) || (value->kind == ValueKind::Tuple &&
                          llvm::any_of(value->elements, isMade)))) {
    error(stmt.value->range,
          "the value of this line is not used; in a function a call writes "
          "into none of its arguments")
        .setFix(suggestUpdate(*call));
    return Flow::Failed;
  }
  return Flow::Normal;
}

Flow Analyzer::executeReturn(const Return &stmt) {
  if (scopes.size() == 1 && request.kind == ProgramKind::Kernel) {
    error(stmt.range,
          stmt.value ? "'return' in a kernel; its results are stored into Out "
                       "parameters"
                     : "'return' in a kernel; a program of the grid runs to "
                       "its end")
        .addNote(scope().definition->nameRange,
                 scope().definition->name + " is a kernel")
        .setFix(getReturnFix(stmt))
        .construct = "return";
    return Flow::Failed;
  }
  if (loopDepth) {
    (void)notYet(stmt.range, "'return' inside a run-time loop",
                 "assign to a variable and return it at the end");
    return Flow::Failed;
  }
  nameHint = "result";
  SemaValue value;
  if (stmt.value) {
    ValueResult result = evaluate(stmt.value);
    if (failed(result))
      return Flow::Failed;
    value = *result;
  }
  scope().returned = value;
  scope().returnRange = stmt.range;
  return Flow::Returned;
}

} // namespace tessera::frontend
