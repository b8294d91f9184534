//===- SemaFixes.cpp - What to write instead, in the user's words ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/Parser.h"
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

std::string Analyzer::findRangeOfSize(int64_t size) const {
  for (const auto &[name, value] : scopes.back()->variables)
    if (value.kind == ValueKind::Range && value.axis->size == size)
      return name;
  return {};
}

const Expr *Analyzer::findAssigned(const std::string &name) const {
  auto found = scopes.back()->sources.find(name);
  bool isPlain =
      found != scopes.back()->sources.end() && found->second.op.empty();
  return isPlain ? found->second.value : nullptr;
}

bool Analyzer::isRange(llvm::StringRef name) const {
  auto found = scopes.back()->variables.find(name.str());
  return found != scopes.back()->variables.end() &&
         found->second.kind == ValueKind::Range;
}

std::optional<SemaValue> Analyzer::tryFix(const std::string &text) {
  if (trying)
    return std::nullopt;
  // `x = value`: the value; `assert c, "text"`: the tuple.
  std::string_view expression = text;
  if (expression.starts_with("assert "))
    expression.remove_prefix(7);
  else if (size_t equals = expression.find(" = ");
           equals < expression.find('('))
    expression.remove_prefix(equals + 3);
  DiagnosticEngine quiet(fixSources);
  FileId file = fixSources.add("fix", expression);
  const Expr *tree = parseExpression(fixTrees, fixSources, file, quiet);
  if (!tree)
    return std::nullopt;
  size_t before = diags.getDiagnostics().size();
  OpBuilder::InsertionGuard guard(builder);
  std::string hint = nameHint;
  trying = true;
  ValueResult value = evaluate(tree);
  trying = false;
  nameHint = hint;
  diags.truncate(before);
  if (failed(value))
    return std::nullopt;
  return *value;
}

std::string Analyzer::suggestGrid() const {
  // The axes of what is written are those of the grid.
  std::string names, tiles, size = "64";
  // A constant that is there, and only one.
  auto isConst = [](const ParameterDescription &parameter) {
    return parameter.kind == ParameterDescription::Kind::Const;
  };
  if (llvm::count_if(signature.parameters, isConst) == 1)
    size = llvm::find_if(signature.parameters, isConst)->name;
  for (const ParameterDescription &parameter : signature.parameters) {
    if (parameter.kind != ParameterDescription::Kind::Out || !tiles.empty())
      continue;
    for (const std::string &dim : parameter.dims) {
      if (!std::isalpha(uint8_t(dim[0])) ||
          dim.find_first_of("+-*/()% .") != std::string::npos)
        continue;
      names += (names.empty() ? "" : ", ") + llvm::StringRef(dim).lower();
      tiles +=
          (tiles.empty() ? "" : ", ") + ("tsr.tile(" + dim + ", " + size + ")");
    }
  }
  if (tiles.empty())
    return "for m in tsr.grid(tsr.tile(M, " + size + ")):";
  return "for " + names + " in tsr.grid(" + tiles + "):";
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

/// What a name in capitals that is not defined could be: a tensor where it is
/// indexed, a dim where a parameter has none, a constant else.
std::string Analyzer::suggestForCapital(const std::string &name,
                                        const SourceRange &where) {
  SourceRange next = where;
  next.begin = where.end;
  next.end.column = where.end.column + 1;
  if (quote(next) == "[") {
    std::string views;
    for (const auto &[other, value] : scope().variables)
      if (value.kind == ValueKind::View)
        views += (views.empty() ? "" : " or ") + other;
    return (views.empty() ? "" : views + ", or ") + "a parameter " + name +
           ": Tensor[\"M\"]";
  }
  for (const Parameter &parameter : scope().definition->parameters)
    if (is<Name>(parameter.annotation) || is<Attribute>(parameter.annotation))
      if (std::string kind =
              resolveBuiltin(parameter.annotation, *scope().captured);
          kind == "Tensor" || kind == "Out" || kind == "InOut")
        return parameter.name + ": " + kind + "[\"" + name + "\"]";
  if (name.size() > 2)
    return "a parameter " + name + ": const = 64, or " + name +
           " = 64 at the top of the file";
  return "a parameter " + name + ": const = 64, or a dim \"" + name +
         "\" in the signature";
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
  // for m in tsr.grid(M, BM): a dim and the size of its tiles.
  auto *call = dynCast<Call>(stmt.iter);
  if (call && targets.size() == 1 && call->args.size() == 2 &&
      iterable.elements.size() == 2 && call->keywords.empty() &&
      iterable.elements[0].kind == ValueKind::Dim &&
      iterable.elements[1].isConstant())
    return "for " + quote(targets[0]->range) + " in " +
           quote(call->func->range) + "(tsr.tile(" +
           quote(call->args[0]->range) + ", " + quote(call->args[1]->range) +
           ")):";
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

std::string Analyzer::getReturnFix(const Return &stmt,
                                   const std::string &place) {
  if (!stmt.value)
    return getGuardFix(stmt);
  if (std::string target = findMissingStore(); !target.empty()) {
    std::string store = target + " = " + quote(stmt.value->range);
    return place == "here" ? store : store + " " + place;
  }
  std::optional<SemaValue> value = tryFix(quote(stmt.value->range));
  const SemaValue *tile = value && value->isTile() ? &*value : nullptr;
  bool named = tile && llvm::all_of(tile->axes, [](Axis *axis) {
                 return axis->dim && axis->kind == Axis::Kind::Range;
               });
  if (!named)
    return "a parameter C: Out[...], and " + place +
           " C[m, n] = x; or @tsr.function, which returns";
  std::string dims, indices;
  for (Axis *axis : tile->axes) {
    dims += (dims.empty() ? "\"" : ", \"") + axis->dim->name + "\"";
    indices += (indices.empty() ? "" : ", ") + axis->name;
  }
  std::string out = scope().variables.count("Y") ? "result" : "Y";
  return "a parameter " + out + ": Out[" + dims + "], and " + place + " " +
         out + "[" + indices + "] = " + quote(stmt.value->range);
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

bool Analyzer::reportMissingAttribute(const Attribute &attribute,
                                      const std::string &dotted) {
  std::string root = dotted.substr(0, dotted.find('.'));
  if (dotted.empty() || scope().variables.count(root) ||
      (scope().hasDims && findDim(root)))
    return false;
  for (size_t dot = dotted.find('.'); dot != std::string::npos;
       dot = dotted.find('.', dot + 1)) {
    std::string prefix = dotted.substr(0, dot);
    auto found = scope().captured->find(prefix);
    if (found == scope().captured->end() ||
        found->second.kind != CapturedValue::Kind::Other)
      continue;
    std::string missing = dotted.substr(dot + 1);
    missing = missing.substr(0, missing.find('.'));
    Diagnostic &diagnostic = error(
        attribute.range, "'" + dotted + "' is not there: " + prefix + ", a " +
                             found->second.text + ", has no '" + missing + "'");
    bool isModule = found->second.text == "module";
    if (llvm::is_contained(library->getCallNames(), missing))
      diagnostic.setFix("tsr." + missing);
    else if (isModule && llvm::StringRef(missing).lower().starts_with("inf"))
      diagnostic.setFix("tsr.inf"); // np.infty, np.Inf
    else if (isModule && llvm::StringRef(missing).lower() == "nan")
      diagnostic.setFix("tsr.nan");
    else
      diagnostic.setFix(prefix + "." + missing + " = 1.0 before the call");
    return true;
  }
  return false;
}

/// tsr.nn.functional.relu: no name of tessera has names of its own.
ValueResult Analyzer::reportNamespace(const Attribute &attribute) {
  std::string dotted = getDottedName(&attribute);
  std::string last = attribute.attr;
  const auto *outer = checkedCast<Attribute>(attribute.value);
  Diagnostic &diagnostic =
      error(outer->attrRange, "tessera has no '" + outer->attr +
                                  "'; its operations are tsr.exp, "
                                  "tsr.softmax, ... themselves");
  if (llvm::is_contained(library->getCallNames(), last))
    diagnostic.setFix("tsr." + last + "(...)");
  else
    diagnostic.setFix("tsr.relu(x), tsr.softmax(x, dim=-1)");
  return failure();
}

//===----------------------------------------------------------------------===//
// Values in the wrong place
//===----------------------------------------------------------------------===//

void Analyzer::reportNotCallable(const Call &call, const SemaValue &callee) {
  std::string name = quote(call.func->range);
  Diagnostic &diagnostic =
      error(call.func->range,
            name + " is " + describe(callee) + ", which cannot be called");
  std::string arguments;
  for (const Expr *argument : call.args)
    arguments += (arguments.empty() ? "" : ", ") + quote(argument->range);
  if (callee.kind == ValueKind::View || callee.isTensor() ||
      callee.kind == ValueKind::Tuple)
    diagnostic.setFix(name + "[" + arguments + "]");
  else if (callee.isNumber() || callee.isTile())
    diagnostic.setFix(name +
                      (arguments.empty() ? "" : " * (" + arguments + ")"));
  else
    diagnostic.setFix(name);
}

bool Analyzer::reportElementArgument(const Call &call, llvm::StringRef callee) {
  bool writes = callee == "store" || callee.starts_with("atomic_");
  auto *element =
      call.args.empty() ? nullptr : dynCast<Subscript>(call.args[0]);
  auto *base = element ? dynCast<Name>(element->value) : nullptr;
  // X + offs: Triton's pointers.
  auto *pointer = call.args.empty() ? nullptr : dynCast<BinOp>(call.args[0]);
  if (pointer && pointer->op == BinaryOperator::Add)
    base = dynCast<Name>(pointer->left);
  if (!base || !(writes || callee == "load"))
    return false;
  auto found = scope().variables.find(base->id);
  if (found == scope().variables.end() || found->second.kind != ValueKind::View)
    return false;
  const Expr *index = element ? element->slice : pointer->right;
  std::string text = quote(call.func->range) + "(" + base->id + ", (" +
                     quote(index->range) + (is<Tuple>(index) ? ")" : ",)");
  for (size_t i = 1; i < call.args.size(); ++i)
    text += ", " + quote(call.args[i]->range);
  for (const Keyword &keyword : call.keywords)
    text += ", " + quote(keyword.range);
  const SourceRange &where = call.args[0]->range;
  error(where, "tsr." + callee.str() + " takes the tensor " + base->id +
                   " and the index apart, but " + quote(where) +
                   (element ? " is a tile of it" : " is a pointer into it"))
      .setFix(text + ")");
  return true;
}

void Analyzer::reportAttributeTarget(const Attribute &target,
                                     const Expr *value) {
  std::string object = quote(target.value->range);
  std::string given = value ? quote(value->range) : std::string("...");
  Diagnostic &diagnostic =
      error(target.range,
            "attributes cannot be assigned: values of a program, like " +
                object + ", never change");
  auto found = scope().variables.find(object);
  if (found != scope().variables.end() &&
      found->second.kind == ValueKind::Range) {
    Axis *axis = found->second.axis;
    diagnostic.addNote(axis->where, "the range " + object);
    diagnostic.setFix(object + "2 = tsr.range_at(" +
                      (axis->dim ? axis->dim->name : std::string("N")) + ", " +
                      given + ", " + std::to_string(axis->size) + ")");
    return;
  }
  diagnostic.setFix(target.attr + " = " + given);
}

void Analyzer::reportUnpack(const Expr *target,
                            const std::vector<Expr *> &targets,
                            const SemaValue &value, const Expr *valueExpr) {
  std::vector<std::string> names;
  std::string listed;
  for (const Expr *one : targets) {
    names.push_back(quote(one->range));
    listed += (listed.empty() ? "" : ", ") + names.back();
  }
  std::string text = valueExpr ? quote(valueExpr->range) : std::string("it");
  std::string count = std::to_string(targets.size()) +
                      (targets.size() == 1 ? " name (" : " names (") + listed +
                      ")";
  if (value.kind == ValueKind::Tuple) {
    size_t size = value.elements.size();
    std::string parts;
    for (const SemaValue &element : value.elements)
      parts += (parts.empty() ? "" : ", ") +
               (element.name.empty() ? describe(element) : element.name);
    Diagnostic &diagnostic =
        error(target->range, count + " for " + std::to_string(size) +
                                 (size == 1 ? " value: " : " values: ") + text +
                                 " is (" + parts + ")");
    // The last names are those of the last axes.
    std::vector<std::string> kept = names;
    while (kept.size() > size)
      kept.erase(kept.begin());
    while (kept.size() < size)
      kept.insert(kept.begin(), "_" + std::to_string(size - kept.size()));
    std::string fix;
    for (const std::string &name : kept)
      fix += (fix.empty() ? "" : ", ") + name;
    diagnostic.setFix(fix + " = " + text);
    return;
  }
  Diagnostic &diagnostic =
      error(target->range,
            count + " for one value: " + text + " is " + describe(value));
  // torch's max and min give the positions, too.
  if (auto *call = dynCast<Call>(valueExpr); call && targets.size() == 2) {
    std::string callee = quote(call->func->range);
    llvm::StringRef last = llvm::StringRef(callee).rsplit('.').second;
    if (last == "max" || last == "min") {
      std::string rest = text.substr(callee.size());
      diagnostic.message += "; the positions are tsr.arg" + last.str();
      diagnostic.setFix(names[0] + ", " + names[1] + " = " + text + ", " +
                        callee.substr(0, callee.size() - last.size()) + "arg" +
                        last.str() + rest);
      return;
    }
    if (last == "var_mean" || last == "std_mean" || last == "var") {
      diagnostic.setFix(listed + " = " + text + ", tsr.mean" +
                        text.substr(callee.size()));
      return;
    }
  }
  if (value.kind == ValueKind::View || value.isTensor())
    diagnostic.setFix(listed + " = " + text + ".shape");
  else
    diagnostic.setFix(names[0] + " = " + text);
}

void Analyzer::reportFold(const std::string &message, const SourceRange &where,
                          const Expr *left, const Expr *right,
                          BinaryOperator op) {
  std::string a = left ? quote(left->range) : std::string("a");
  std::string b = right ? quote(right->range) : std::string("b");
  Diagnostic &diagnostic = error(where, message + ": " + a + " " +
                                            getOperatorSpelling(op) + " " + b);
  if (op == BinaryOperator::MatMult)
    diagnostic.setFix(a + " * " + b);
  else if (op == BinaryOperator::Div || op == BinaryOperator::FloorDiv ||
           op == BinaryOperator::Mod)
    diagnostic.setFix(a + " " + getOperatorSpelling(op) + " max(" + b + ", 1)");
  else if (message.find("64 bits") != std::string::npos)
    diagnostic.setFix("float(" + a + ") " + getOperatorSpelling(op) + " " + b);
  else if (message.find("shift") != std::string::npos)
    diagnostic.setFix(a + (op == BinaryOperator::LShift ? " >> -(" : " << -(") +
                      b + ")");
  else if (message.find("power") != std::string::npos)
    diagnostic.setFix("float(" + a + ") ** abs(" + b + ")");
  else if (message.find("str") != std::string::npos)
    diagnostic.setFix("print(" + a + ", " + b + ")");
  else
    diagnostic.setFix("int(" + a + ") " + getOperatorSpelling(op) + " int(" +
                      b + ")");
}

void Analyzer::reportNotIterable(const For &stmt, const SemaValue &value) {
  std::string text = quote(stmt.iter->range);
  std::string target = quote(stmt.target->range);
  Diagnostic &diagnostic =
      error(stmt.iter->range,
            "'for' runs over range, tsr.tile, tsr.grid or tsr.unroll, but " +
                text + " is " + describe(value));
  auto isNamed = [](Dim *dim) {
    return dim && std::isalpha(uint8_t(dim->name[0])) &&
           dim->name.find('.') == std::string::npos;
  };
  if (value.kind == ValueKind::Tuple) {
    std::string fix = "for i in tsr.unroll(" +
                      std::to_string(value.elements.size()) + "):\n    " +
                      target + " = " + text + "[i]";
    diagnostic.setFix(fix);
  } else if (value.kind == ValueKind::View && !value.dims.empty()) {
    std::string dim =
        isNamed(value.dims[0]) ? value.dims[0]->name : text + ".shape[0]";
    diagnostic.setFix("for k in tsr.tile(" + dim + ", 64): " + target + " = " +
                      text + "[k]");
  } else if (auto *counts = dynCast<Call>(stmt.iter);
             counts &&
             llvm::StringRef(quote(counts->func->range)).ends_with("arange")) {
    std::string given;
    for (const Expr *argument : counts->args)
      given += (given.empty() ? "" : ", ") + quote(argument->range);
    diagnostic.setFix("range(" + given + ")");
  } else if (value.isTensor() || value.isTile()) {
    diagnostic.setFix("one operation on all of " + text + ": tsr.sum(" + text +
                      ")");
  } else if (value.kind == ValueKind::Range) {
    diagnostic.setFix("for " + target + " in range(" + text + ".start, " +
                      text + ".stop):");
  } else if (value.isNumber()) {
    diagnostic.setFix("for " + target + " in range(" + text + "):");
  } else {
    diagnostic.setFix("for " + target + " in range(n):");
  }
}

//===----------------------------------------------------------------------===//
// The grid
//===----------------------------------------------------------------------===//

/// Whether a body has a `for` over tsr.grid.
static bool hasGrid(const Body &body, const CapturedNames &captured) {
  return llvm::any_of(body, [&](const Stmt *stmt) {
    if (auto *loop = dynCast<For>(stmt)) {
      auto *call = dynCast<Call>(loop->iter);
      if (call && (resolveBuiltin(call->func, captured) == "grid" ||
                   llvm::StringRef(getDottedName(call->func)) == "tsr.grid"))
        return true;
      return hasGrid(loop->body, captured);
    }
    if (auto *branch = dynCast<If>(stmt))
      return hasGrid(branch->body, captured) ||
             hasGrid(branch->orelse, captured);
    return false;
  });
}

LogicalResult Analyzer::checkHasGrid(const For &stmt,
                                     const SemaValue &iterable) {
  if (request.kind != ProgramKind::Kernel || scopes.size() != 1 || grid ||
      iterable.text == "grid" ||
      hasGrid(scope().definition->body, *scope().captured))
    return success();
  std::string text = quote(stmt.iter->range), axes;
  if (iterable.text == "tile") {
    axes = text;
  } else {
    auto *call = dynCast<Call>(stmt.iter);
    axes = call && !call->args.empty() ? quote(call->args.back()->range)
                                       : std::string("N");
    auto [whole, size] = getBlocks(axes);
    if (call && call->args.size() == 3 && iterable.text == "range") {
      whole = quote(call->args[1]->range);
      size = quote(call->args[2]->range);
    }
    axes = size.empty() ? "tsr.tile(" + axes + ", 64)"
                        : "tsr.tile(" + whole + ", " + size + ")";
  }
  error(stmt.iter->range,
        "the outermost loop of a kernel runs over tsr.grid, not " +
            (iterable.text == "range" ? "range" : "tsr." + iterable.text) +
            "; each turn of the grid is one program")
      .addNote(scope().definition->nameRange,
               scope().definition->name + " is a kernel without a grid")
      .setFix("for " + quote(stmt.target->range) + " in tsr.grid(" + axes +
              "):");
  return failure();
}

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
    // C = C.at[m, n].set(acc) is a store.
    const Assign *first = findPlainAssign(name, {where.end.line + 1, 1});
    auto *call = first ? dynCast<Call>(first->value) : nullptr;
    if (auto *method = call ? dynCast<Attribute>(call->func) : nullptr;
        method && reportCopyInto(*method, *call))
      return failure();
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
