//===- SemaNames.cpp - Names of a tree: outside, assigned, nearest --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/SemaImpl.h"

#include <algorithm>

namespace tessera::frontend {

std::string getDottedName(const Expr *expr) {
  if (auto *name = dynCast<Name>(expr))
    return name->id;
  if (auto *attribute = dynCast<Attribute>(expr)) {
    std::string base = getDottedName(attribute->value);
    return base.empty() ? base : base + "." + attribute->attr;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Walking
//===----------------------------------------------------------------------===//

namespace {

using ExprVisitor = std::function<bool(const Expr *)>;

/// Calls `visit` on each expression, parents first; children are skipped when
/// it returns false.
void walk(const Expr *expr, const ExprVisitor &visit) {
  if (!expr || !visit(expr))
    return;
  switch (expr->kind) {
  case NodeKind::Attribute:
    return walk(checkedCast<Attribute>(expr)->value, visit);
  case NodeKind::Subscript: {
    auto *node = checkedCast<Subscript>(expr);
    walk(node->value, visit);
    return walk(node->slice, visit);
  }
  case NodeKind::Slice: {
    auto *node = checkedCast<Slice>(expr);
    walk(node->lower, visit);
    walk(node->upper, visit);
    return walk(node->step, visit);
  }
  case NodeKind::Starred:
    return walk(checkedCast<Starred>(expr)->value, visit);
  case NodeKind::Call: {
    auto *node = checkedCast<Call>(expr);
    walk(node->func, visit);
    for (const Expr *arg : node->args)
      walk(arg, visit);
    for (const Keyword &keyword : node->keywords)
      walk(keyword.value, visit);
    return;
  }
  case NodeKind::BinOp: {
    auto *node = checkedCast<BinOp>(expr);
    walk(node->left, visit);
    return walk(node->right, visit);
  }
  case NodeKind::UnaryOp:
    return walk(checkedCast<UnaryOp>(expr)->operand, visit);
  case NodeKind::BoolOp:
    for (const Expr *value : checkedCast<BoolOp>(expr)->values)
      walk(value, visit);
    return;
  case NodeKind::Compare: {
    auto *node = checkedCast<Compare>(expr);
    walk(node->left, visit);
    for (const Expr *comparator : node->comparators)
      walk(comparator, visit);
    return;
  }
  case NodeKind::IfExp: {
    auto *node = checkedCast<IfExp>(expr);
    walk(node->test, visit);
    walk(node->body, visit);
    return walk(node->orelse, visit);
  }
  case NodeKind::Tuple:
    for (const Expr *element : checkedCast<Tuple>(expr)->elts)
      walk(element, visit);
    return;
  case NodeKind::List:
    for (const Expr *element : checkedCast<List>(expr)->elts)
      walk(element, visit);
    return;
  case NodeKind::Dict: {
    auto *node = checkedCast<Dict>(expr);
    for (const Expr *key : node->keys)
      walk(key, visit);
    for (const Expr *value : node->values)
      walk(value, visit);
    return;
  }
  default:
    return;
  }
}

void walk(const Body &body, const ExprVisitor &visit) {
  for (const Stmt *stmt : body) {
    switch (stmt->kind) {
    case NodeKind::Assign: {
      auto *node = checkedCast<Assign>(stmt);
      walk(node->value, visit);
      for (const Expr *target : node->targets)
        walk(target, visit);
      break;
    }
    case NodeKind::AugAssign: {
      auto *node = checkedCast<AugAssign>(stmt);
      walk(node->target, visit);
      walk(node->value, visit);
      break;
    }
    case NodeKind::AnnAssign: {
      auto *node = checkedCast<AnnAssign>(stmt);
      walk(node->annotation, visit);
      walk(node->value, visit);
      walk(node->target, visit);
      break;
    }
    case NodeKind::For: {
      auto *node = checkedCast<For>(stmt);
      walk(node->iter, visit);
      walk(node->target, visit);
      walk(node->body, visit);
      break;
    }
    case NodeKind::While: {
      auto *node = checkedCast<While>(stmt);
      walk(node->test, visit);
      walk(node->body, visit);
      break;
    }
    case NodeKind::If: {
      auto *node = checkedCast<If>(stmt);
      walk(node->test, visit);
      walk(node->body, visit);
      walk(node->orelse, visit);
      break;
    }
    case NodeKind::Assert: {
      auto *node = checkedCast<Assert>(stmt);
      walk(node->test, visit);
      walk(node->msg, visit);
      break;
    }
    case NodeKind::Return:
      walk(checkedCast<Return>(stmt)->value, visit);
      break;
    case NodeKind::ExprStmt:
      walk(checkedCast<ExprStmt>(stmt)->value, visit);
      break;
    default:
      break;
    }
  }
}

void collectTarget(const Expr *target,
                   std::vector<std::pair<std::string, SourceRange>> &names) {
  if (auto *name = dynCast<Name>(target)) {
    for (const auto &known : names)
      if (known.first == name->id)
        return;
    names.emplace_back(name->id, name->range);
  } else if (auto *tuple = dynCast<Tuple>(target)) {
    for (const Expr *element : tuple->elts)
      collectTarget(element, names);
  } else if (auto *list = dynCast<List>(target)) {
    for (const Expr *element : list->elts)
      collectTarget(element, names);
  }
}

} // namespace

void walkExpressions(const Body &body, const ExprVisitor &visit) {
  walk(body, visit);
}

void collectAssigned(const Body &body,
                     std::vector<std::pair<std::string, SourceRange>> &names,
                     const std::function<int(const If &)> &deadArm) {
  for (const Stmt *stmt : body) {
    switch (stmt->kind) {
    case NodeKind::Assign:
      for (const Expr *target : checkedCast<Assign>(stmt)->targets)
        collectTarget(target, names);
      break;
    case NodeKind::AugAssign:
      collectTarget(checkedCast<AugAssign>(stmt)->target, names);
      break;
    case NodeKind::AnnAssign:
      if (checkedCast<AnnAssign>(stmt)->value)
        collectTarget(checkedCast<AnnAssign>(stmt)->target, names);
      break;
    case NodeKind::For:
      collectTarget(checkedCast<For>(stmt)->target, names);
      collectAssigned(checkedCast<For>(stmt)->body, names, deadArm);
      break;
    case NodeKind::While:
      collectAssigned(checkedCast<While>(stmt)->body, names, deadArm);
      break;
    case NodeKind::If: {
      auto *node = checkedCast<If>(stmt);
      int dead = deadArm ? deadArm(*node) : -1;
      if (dead != 0)
        collectAssigned(node->body, names, deadArm);
      if (dead != 1)
        collectAssigned(node->orelse, names, deadArm);
      break;
    }
    default:
      break;
    }
  }
}

SourceRange findReadBeforeAssigned(const Body &body, const std::string &name) {
  SourceRange found;
  auto read = [&](const Expr *expr) {
    walk(expr, [&](const Expr *part) {
      auto *use = dynCast<Name>(part);
      if (use && use->id == name && !found.isValid())
        found = use->range;
      return !found.isValid();
    });
  };
  auto isTarget = [&](const Expr *target) {
    std::vector<std::pair<std::string, SourceRange>> names;
    collectTarget(target, names);
    return std::any_of(names.begin(), names.end(),
                       [&](const auto &entry) { return entry.first == name; });
  };
  for (const Stmt *stmt : body) {
    bool assigned = false;
    if (auto *assign = dynCast<Assign>(stmt)) {
      read(assign->value);
      for (const Expr *target : assign->targets) {
        assigned |= isTarget(target);
        if (is<Subscript>(target))
          read(target);
      }
    } else if (auto *loop = dynCast<For>(stmt)) {
      read(loop->iter);
      if (!found.isValid() && !isTarget(loop->target))
        found = findReadBeforeAssigned(loop->body, name);
    } else if (auto *loop = dynCast<While>(stmt)) {
      read(loop->test);
      if (!found.isValid())
        found = findReadBeforeAssigned(loop->body, name);
    } else if (auto *branch = dynCast<If>(stmt)) {
      read(branch->test);
      for (const Body *arm : {&branch->body, &branch->orelse})
        if (!found.isValid())
          found = findReadBeforeAssigned(*arm, name);
      // Both arms assign it: so does the `if`.
      assigned = true;
      for (const Body *arm : {&branch->body, &branch->orelse})
        assigned &= std::any_of(arm->begin(), arm->end(), [&](const Stmt *s) {
          auto *assign = dynCast<Assign>(s);
          return assign && std::any_of(assign->targets.begin(),
                                       assign->targets.end(), isTarget);
        });
    } else {
      walk(Body{const_cast<Stmt *>(stmt)}, [&](const Expr *part) {
        read(part);
        return false;
      });
    }
    if (found.isValid() || assigned)
      return found;
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Outside names
//===----------------------------------------------------------------------===//

/// Whether a text is a Python identifier (an ASCII check is enough: it only
/// tells names from expressions such as "H*D").
static bool isIdentifier(std::string_view text) {
  if (text.empty() || std::isdigit(uint8_t(text[0])))
    return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(uint8_t(c)) || c == '_' || uint8_t(c) >= 0x80;
  });
}

/// The identifiers in a dim text: H and D of "H*D".
static void addDimNames(std::string_view text, std::set<std::string> &names) {
  std::string word;
  for (size_t i = 0; i <= text.size(); ++i) {
    char c = i < text.size() ? text[i] : ' ';
    if (std::isalnum(uint8_t(c)) || c == '_' || uint8_t(c) >= 0x80) {
      word += c;
      continue;
    }
    if (isIdentifier(word))
      names.insert(word);
    word.clear();
  }
}

std::vector<FreeName> collectFreeNames(const FunctionDef &definition) {
  std::set<std::string> bound;
  for (const Parameter &parameter : definition.parameters) {
    bound.insert(parameter.name);
    walk(parameter.annotation, [&](const Expr *expr) {
      if (auto *constant = dynCast<Constant>(expr);
          constant && constant->type == ConstantKind::String)
        addDimNames(constant->text, bound);
      return true;
    });
  }
  std::vector<std::pair<std::string, SourceRange>> assigned;
  collectAssigned(definition.body, assigned);
  for (const auto &[name, where] : assigned)
    bound.insert(name);

  std::vector<FreeName> result;
  std::set<std::string> seen;
  std::set<std::string> *hidden = nullptr;
  auto visit = [&](const Expr *expr) {
    std::string dotted = getDottedName(expr);
    if (dotted.empty())
      return true;
    std::string root = dotted.substr(0, dotted.find('.'));
    if ((!hidden || !hidden->count(root)) && seen.insert(dotted).second)
      result.push_back({dotted, expr->range});
    return false;
  };
  // Annotations and defaults are evaluated outside the function.
  for (const Parameter &parameter : definition.parameters) {
    walk(parameter.annotation, visit);
    walk(parameter.defaultValue, visit);
  }
  walk(definition.returns, visit);
  hidden = &bound;
  walk(definition.body, visit);
  return result;
}

std::string resolveBuiltin(const Expr *expr, const CapturedNames &captured) {
  std::string dotted = getDottedName(expr);
  if (dotted.empty())
    return {};
  if (auto found = captured.find(dotted); found != captured.end()) {
    const CapturedValue &value = found->second;
    if (value.kind == CapturedValue::Kind::Builtin)
      return value.text;
    if (value.kind == CapturedValue::Kind::Constant && value.constant.isDType())
      return getDTypeName(value.constant.asDType());
    return {};
  }
  size_t dot = dotted.find('.');
  if (dot == std::string::npos)
    return dotted;
  std::string root = dotted.substr(0, dot), rest = dotted.substr(dot + 1);
  if (rest.find('.') != std::string::npos)
    return {};
  if (auto found = captured.find(root); found != captured.end())
    return found->second.kind == CapturedValue::Kind::Module &&
                   found->second.text == "tessera"
               ? rest
               : std::string();
  return root == "tsr" || root == "tessera" ? rest : std::string();
}

//===----------------------------------------------------------------------===//
// Folding without messages
//===----------------------------------------------------------------------===//

std::optional<ConstantData>
tryFold(const Expr *expr,
        const std::function<std::optional<ConstantData>(const std::string &)>
            &lookup) {
  if (!expr)
    return std::nullopt;
  std::string dotted = getDottedName(expr);
  if (!dotted.empty())
    return lookup(dotted);
  auto take = [](FoldResult result) -> std::optional<ConstantData> {
    if (!result)
      return std::nullopt;
    return result.value;
  };
  switch (expr->kind) {
  case NodeKind::Constant: {
    auto *constant = checkedCast<Constant>(expr);
    switch (constant->type) {
    case ConstantKind::Int:
      if (!constant->intValue)
        return std::nullopt;
      return ConstantData(*constant->intValue);
    case ConstantKind::Float:
      return ConstantData(constant->floatValue);
    case ConstantKind::String:
      return ConstantData(constant->text);
    case ConstantKind::Bool:
      return ConstantData(constant->boolValue);
    case ConstantKind::None:
      return ConstantData();
    case ConstantKind::Ellipsis:
      return std::nullopt;
    }
    return std::nullopt;
  }
  case NodeKind::UnaryOp: {
    auto *unary = checkedCast<UnaryOp>(expr);
    auto operand = tryFold(unary->operand, lookup);
    return operand ? take(foldUnary(unary->op, *operand)) : std::nullopt;
  }
  case NodeKind::BinOp: {
    auto *binary = checkedCast<BinOp>(expr);
    auto left = tryFold(binary->left, lookup);
    auto right = tryFold(binary->right, lookup);
    if (!left || !right)
      return std::nullopt;
    return take(foldBinary(binary->op, *left, *right));
  }
  case NodeKind::Compare: {
    auto *compare = checkedCast<Compare>(expr);
    auto left = tryFold(compare->left, lookup);
    if (!left)
      return std::nullopt;
    for (size_t i = 0; i < compare->ops.size(); ++i) {
      auto right = tryFold(compare->comparators[i], lookup);
      if (!right)
        return std::nullopt;
      auto holds = take(foldCompare(compare->ops[i], *left, *right));
      if (!holds || !holds->isTrue())
        return holds;
      left = right;
    }
    return ConstantData(true);
  }
  case NodeKind::BoolOp: {
    auto *boolean = checkedCast<BoolOp>(expr);
    std::optional<ConstantData> last;
    for (const Expr *value : boolean->values) {
      last = tryFold(value, lookup);
      if (!last || last->isTrue() == (boolean->op == BoolOperator::Or))
        return last;
    }
    return last;
  }
  case NodeKind::Tuple: {
    std::vector<ConstantData> elements;
    for (const Expr *element : checkedCast<Tuple>(expr)->elts) {
      auto value = tryFold(element, lookup);
      if (!value)
        return std::nullopt;
      elements.push_back(*value);
    }
    return ConstantData::tuple(std::move(elements));
  }
  default:
    return std::nullopt;
  }
}

//===----------------------------------------------------------------------===//
// Dims
//===----------------------------------------------------------------------===//

static void collectTerms(const Expr *expr, BinaryOperator op,
                         std::vector<std::string> &terms) {
  auto *binary = dynCast<BinOp>(expr);
  if (binary && binary->op == op) {
    collectTerms(binary->left, op, terms);
    collectTerms(binary->right, op, terms);
    return;
  }
  std::string text = getCanonicalDim(expr);
  if (binary)
    text = "(" + text + ")";
  terms.push_back(text);
}

std::string getCanonicalDim(const Expr *expr) {
  if (auto *constant = dynCast<Constant>(expr))
    return constant->text;
  auto *binary = dynCast<BinOp>(expr);
  if (!binary)
    return getDottedName(expr);
  std::vector<std::string> terms;
  if (binary->op == BinaryOperator::Add || binary->op == BinaryOperator::Mult) {
    collectTerms(expr, binary->op, terms);
    std::sort(terms.begin(), terms.end());
  } else {
    for (const Expr *side : {binary->left, binary->right}) {
      std::string text = getCanonicalDim(side);
      terms.push_back(is<BinOp>(side) ? "(" + text + ")" : text);
    }
  }
  std::string result;
  for (const std::string &term : terms) {
    if (term.empty() || term == "()")
      return {};
    if (!result.empty())
      result += getOperatorSpelling(binary->op);
    result += term;
  }
  return result;
}

/// The name under the subscripts of a target, `X` of `X[m, n]`; empty if none.
static std::string subscripted(const Expr *target) {
  const Expr *base = target;
  while (auto *subscript = dynCast<Subscript>(base))
    base = subscript->value;
  auto *name = dynCast<Name>(base);
  return name && base != target ? name->id : std::string();
}

static void collectWritten(const Body &body, std::set<std::string> &names) {
  auto addTarget = [&](const Expr *target) {
    if (auto *tuple = dynCast<Tuple>(target))
      for (const Expr *element : tuple->elts)
        names.insert(subscripted(element));
    names.insert(subscripted(target));
  };
  for (const Stmt *stmt : body) {
    if (auto *assign = dynCast<Assign>(stmt)) {
      for (const Expr *target : assign->targets)
        addTarget(target);
    } else if (auto *augmented = dynCast<AugAssign>(stmt)) {
      addTarget(augmented->target);
    } else if (auto *loop = dynCast<For>(stmt)) {
      collectWritten(loop->body, names);
    } else if (auto *repeat = dynCast<While>(stmt)) {
      collectWritten(repeat->body, names);
    } else if (auto *branch = dynCast<If>(stmt)) {
      collectWritten(branch->body, names);
      collectWritten(branch->orelse, names);
    }
  }
  // tsr.store(C, ...), tsr.atomic_add(C, ...)
  walk(body, [&](const Expr *expr) {
    auto *call = dynCast<Call>(expr);
    auto *called = call ? dynCast<Attribute>(call->func) : nullptr;
    bool stores = called && (called->attr == "store" ||
                             called->attr.compare(0, 7, "atomic_") == 0);
    if (stores && !call->args.empty())
      if (auto *name = dynCast<Name>(call->args[0]))
        names.insert(name->id);
    return true;
  });
}

std::set<std::string> writtenNames(const FunctionDef &definition) {
  std::set<std::string> names;
  collectWritten(definition.body, names);
  return names;
}

/// Calls of tsr whose size arguments are axes or constants.
static bool takesWholeDims(const std::string &name) {
  static const std::set<std::string> names = {
      "zeros", "full", "ones", "arange", "unroll", "expand", "reshape"};
  return names.count(name) != 0;
}

std::vector<WholeDim> wholeDims(const FunctionDef &definition,
                                const Signature &signature) {
  std::set<WholeDim> result;
  std::set<std::string> names;
  auto findParameter = [&](const Expr *expr) -> int {
    auto *name = dynCast<Name>(expr);
    for (size_t i = 0; name && i < signature.parameters.size(); ++i)
      if (signature.parameters[i].name == name->id)
        return int(i);
    return -1;
  };
  std::set<std::string> dimNames;
  for (const Signature::DimSource &dim : signature.dims)
    dimNames.insert(dim.name);
  for (const ParameterDescription &parameter : signature.parameters)
    dimNames.erase(parameter.name);
  // Local copies of a dim: n = N.
  std::map<std::string, std::string> copies;
  auto addSize = [&](const Expr *expr) {
    walk(expr, [&](const Expr *part) {
      if (auto *name = dynCast<Name>(part)) {
        auto copy = copies.find(name->id);
        const std::string &id = copy == copies.end() ? name->id : copy->second;
        if (dimNames.count(id))
          names.insert(id);
      }
      // X.shape[i]
      if (auto *subscript = dynCast<Subscript>(part))
        if (auto *shape = dynCast<Attribute>(subscript->value);
            shape && shape->attr == "shape") {
          int parameter = findParameter(shape->value);
          auto index =
              tryFold(subscript->slice,
                      [](const std::string &) -> std::optional<ConstantData> {
                        return std::nullopt;
                      });
          if (parameter >= 0 && index && index->isInt() && index->asInt() >= 0)
            result.insert({parameter, int(index->asInt())});
          return false;
        }
      return true;
    });
  };
  std::function<void(const Body &)> findCopies = [&](const Body &body) {
    for (const Stmt *stmt : body) {
      auto *assign = dynCast<Assign>(stmt);
      if (!assign || assign->targets.size() != 1)
        continue;
      auto *target = dynCast<Name>(assign->targets[0]);
      auto *source = dynCast<Name>(assign->value);
      if (target && source && dimNames.count(source->id))
        copies[target->id] = source->id;
    }
  };
  findCopies(definition.body);

  walk(definition.body, [&](const Expr *expr) {
    if (auto *subscript = dynCast<Subscript>(expr)) {
      int parameter = findParameter(subscript->value);
      if (parameter < 0)
        return true;
      std::vector<const Expr *> indices;
      if (auto *tuple = dynCast<Tuple>(subscript->slice))
        indices.assign(tuple->elts.begin(), tuple->elts.end());
      else
        indices.push_back(subscript->slice);
      for (size_t axis = 0; axis < indices.size(); ++axis)
        if (is<Slice>(indices[axis]))
          result.insert({parameter, int(axis)});
      return true;
    }
    auto *call = dynCast<Call>(expr);
    if (!call)
      return true;
    auto *attribute = dynCast<Attribute>(call->func);
    std::string callee =
        attribute ? attribute->attr : getDottedName(call->func);
    if (attribute && getDottedName(attribute->value) == "math") {
      for (const Expr *arg : call->args)
        addSize(arg);
    } else if (takesWholeDims(callee)) {
      for (const Expr *arg : call->args)
        addSize(arg);
    } else if ((callee == "load" || callee == "store" ||
                callee.starts_with("atomic_")) &&
               call->args.size() > 1) {
      // The full forms name a whole axis by its dim.
      if (auto *tuple = dynCast<Tuple>(call->args[1])) {
        for (const Expr *index : tuple->elts)
          if (is<Name>(index))
            addSize(index);
      }
    } else if (callee == "tile" && call->args.size() > 1) {
      addSize(call->args[1]);
    } else if (callee == "range_at" && call->args.size() > 2) {
      addSize(call->args[2]);
    }
    return true;
  });

  auto getDim = [&](const WholeDim &whole) -> std::string {
    const ParameterDescription &parameter =
        signature.parameters[whole.parameter];
    return size_t(whole.axis) < parameter.dims.size()
               ? parameter.dims[whole.axis]
               : std::string();
  };
  for (const WholeDim &whole : result) {
    std::set<std::string> parts;
    addDimNames(getDim(whole), parts);
    names.insert(parts.begin(), parts.end());
  }
  for (size_t p = 0; p < signature.parameters.size(); ++p)
    for (size_t axis = 0; axis < signature.parameters[p].dims.size(); ++axis) {
      std::set<std::string> parts;
      addDimNames(signature.parameters[p].dims[axis], parts);
      bool all = !parts.empty();
      for (const std::string &part : parts)
        all &= names.count(part) != 0;
      if (all)
        result.insert({int(p), int(axis)});
    }
  return {result.begin(), result.end()};
}

//===----------------------------------------------------------------------===//
// Suggestions
//===----------------------------------------------------------------------===//

/// Edit distance in which swapping two neighbours counts as one.
static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before = last;
    last = row;
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min(
          {last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

/// "idx" of "index": the letters in order, from the same first one.
static bool isAbbreviation(std::string_view name, std::string_view whole) {
  if (name.size() < 3 || whole.size() <= name.size() || name[0] != whole[0])
    return false;
  size_t next = 0;
  for (char c : whole)
    next += next < name.size() && c == name[next];
  return next == name.size();
}

std::vector<std::string> nearestNames(std::string_view name,
                                      const std::vector<std::string> &known) {
  auto lower = [](std::string_view text) {
    std::string result(text);
    for (char &c : result)
      c = char(std::tolower(uint8_t(c)));
    return result;
  };
  std::vector<std::pair<size_t, std::string>> near;
  for (const std::string &candidate : known) {
    if (candidate == name)
      continue;
    // A difference in case only is the nearest of all, then an abbreviation.
    size_t distance = 2 * editDistance(name, candidate);
    size_t limit =
        2 *
        std::max<size_t>(1, (std::max(name.size(), candidate.size()) + 1) / 4);
    if (lower(candidate) == lower(name))
      distance = 0;
    else if (isAbbreviation(name, candidate))
      distance = 1;
    if (distance <= limit && distance < 2 * name.size())
      near.emplace_back(distance, candidate);
  }
  std::sort(near.begin(), near.end());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  std::vector<std::string> result;
  for (size_t i = 0; i < near.size() && i < 3; ++i)
    result.push_back(near[i].second);
  return result;
}

} // namespace tessera::frontend
