//===- SemaExpr.cpp - Names, operators, subscripts ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/SemaImpl.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <limits>

using namespace mlir;

namespace tessera::frontend {

/// A value whose parts are all known at compile time, as constant data.
std::optional<ConstantData> toConstant(const SemaValue &value) {
  if (value.isConstant())
    return value.constant;
  if (value.kind == ValueKind::Dim && value.dim->size >= 0)
    return ConstantData(value.dim->size);
  if (value.kind == ValueKind::Tuple) {
    std::vector<ConstantData> elements;
    for (const SemaValue &element : value.elements) {
      auto data = toConstant(element);
      if (!data)
        return std::nullopt;
      elements.push_back(*data);
    }
    return ConstantData::tuple(std::move(elements));
  }
  return std::nullopt;
}

ValueResult Analyzer::evaluate(const Expr *expr) {
  switch (expr->kind) {
  case NodeKind::Name:
    return evaluateName(*checkedCast<Name>(expr));
  case NodeKind::Constant: {
    auto *constant = checkedCast<Constant>(expr);
    if (auto value = tryFold(expr, nullptr))
      return SemaValue::makeConstant(*value);
    if (constant->type == ConstantKind::Int)
      error(expr->range, constant->text + " does not fit in 64 bits")
          .setFix(constant->text + ".0, a float");
    else
      error(expr->range,
            "'...' is not a value here; it stands only in an index")
          .setFix("None, or the value");
    return failure();
  }
  case NodeKind::Attribute:
    return evaluateAttribute(*checkedCast<Attribute>(expr));
  case NodeKind::Subscript:
    return evaluateSubscript(*checkedCast<Subscript>(expr));
  case NodeKind::Call:
    return evaluateCall(*checkedCast<Call>(expr));
  case NodeKind::BinOp:
    return evaluateBinary(*checkedCast<BinOp>(expr));
  case NodeKind::UnaryOp:
    return evaluateUnary(*checkedCast<UnaryOp>(expr));
  case NodeKind::BoolOp:
    return evaluateBoolean(*checkedCast<BoolOp>(expr));
  case NodeKind::Compare:
    return evaluateCompare(*checkedCast<Compare>(expr));
  case NodeKind::IfExp:
    return evaluateConditional(*checkedCast<IfExp>(expr));
  case NodeKind::Tuple:
  case NodeKind::List: {
    const std::vector<Expr *> &parts = is<Tuple>(expr)
                                           ? checkedCast<Tuple>(expr)->elts
                                           : checkedCast<List>(expr)->elts;
    std::vector<SemaValue> elements;
    for (const Expr *part : parts) {
      ValueResult value = evaluate(part);
      if (failed(value))
        return failure();
      elements.push_back(*value);
    }
    return SemaValue::makeTuple(std::move(elements));
  }
  case NodeKind::Slice:
    error(expr->range, "a slice stands only between [ and ]")
        .setFix("x[" + quote(expr->range) + "]");
    return failure();
  case NodeKind::Starred:
    error(expr->range, "* unpacks only arguments of a call")
        .setFix("a tuple: a + b, or the elements written out");
    return failure();
  case NodeKind::Dict: {
    auto *dict = checkedCast<Dict>(expr);
    std::string fix, values;
    for (const Expr *value : dict->values)
      values += (values.empty() ? "" : ", ") + quote(value->range);
    for (size_t i = 0; i < dict->keys.size(); ++i) {
      auto *key = dynCast<Constant>(dict->keys[i]);
      if (!key || key->type != ConstantKind::String)
        continue;
      fix += (fix.empty() ? "" : "\n") + key->text + " = " +
             quote(dict->values[i]->range);
    }
    bool isReturned =
        llvm::StringRef(quoteBefore(expr->range)).rtrim().ends_with("return") &&
        !values.empty();
    error(expr->range, "a dict is not a value of a tessera program")
        .setFix(isReturned    ? "return " + values
                : fix.empty() ? "name the values: a = ..., b = ..."
                              : fix);
    return failure();
  }
  default:
    error(expr->range,
          std::string(getNodeName(expr->kind)) + " is not part of the language")
        .setFix("operations on tiles and tensors: tsr.where(c, a, b), a + b");
    return failure();
  }
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static const char *const exportedNames[] = {"Tensor", "Out", "InOut", "Region",
                                            "const",  "inf", "nan",   "lowest"};

/// The value of tsr.<name> that is not a call.
static std::optional<SemaValue> getTesseraConstant(const std::string &name) {
  // Other libraries' names (float32) are not names of tessera.
  if (auto dtype = parseDType(name); dtype && name == getDTypeName(*dtype))
    return SemaValue::makeConstant(*dtype);
  if (name == "inf")
    return SemaValue::makeConstant(std::numeric_limits<double>::infinity());
  if (name == "nan")
    return SemaValue::makeConstant(std::numeric_limits<double>::quiet_NaN());
  if (name == "lowest")
    return SemaValue::makeConstant(Lowest());
  return std::nullopt;
}

ValueResult Analyzer::getCaptured(const CapturedValue &captured,
                                  const std::string &dotted,
                                  const SourceRange &where) {
  SemaValue value;
  switch (captured.kind) {
  case CapturedValue::Kind::Constant:
    value = SemaValue::makeConstant(captured.constant);
    break;
  case CapturedValue::Kind::Module:
    value.kind = ValueKind::Module;
    value.text = captured.text;
    break;
  case CapturedValue::Kind::Builtin:
    if (auto constant = getTesseraConstant(captured.text))
      value = *constant;
    else
      value = SemaValue::makeBuiltin(captured.text);
    break;
  case CapturedValue::Kind::Function:
    value.kind = ValueKind::Function;
    value.function = captured.function;
    break;
  case CapturedValue::Kind::DimName: {
    Diagnostic &diagnostic =
        error(where, "dim " + captured.text +
                         " is in no annotation of this signature, so it has "
                         "no size here");
    diagnostic.addNote(scope().definition->nameRange,
                       "the signature of " + scope().definition->name);
    if (!scope().definition->parameters.empty())
      diagnostic.setFix(scope().definition->parameters[0].name + ": Tensor[" +
                        captured.text + ", ...]");
    return failure();
  }
  case CapturedValue::Kind::Array: {
    auto hidden = hiddenParameters.find(dotted);
    if (scopes.size() == 1 && hidden != hiddenParameters.end())
      return hiddenValues[hidden->second];
    (void)notYet(where,
                 "the captured array '" + dotted + "' in an inlined function",
                 "pass it as an argument");
    return failure();
  }
  case CapturedValue::Kind::Other:
    reportForeign(captured, dotted, where, nullptr);
    return failure();
  }
  value.name = dotted;
  return value;
}

ValueResult Analyzer::evaluateName(const Name &name) {
  Scope &scope = this->scope();
  if (auto found = scope.variables.find(name.id);
      found != scope.variables.end())
    return found->second;
  if (scope.hasDims)
    if (Dim *dim = findDim(name.id)) {
      SemaValue value;
      value.kind = ValueKind::Dim;
      value.dim = dim;
      value.name = dim->name;
      return value;
    }
  if (scope.constants)
    if (auto found = scope.constants->find(name.id);
        found != scope.constants->end())
      return SemaValue::makeConstant(found->second);
  if (auto found = scope.captured->find(name.id);
      found != scope.captured->end())
    return getCaptured(found->second, name.id, name.range);
  if (scope.gone.count(name.id))
    return unknownName(name.id, name.range);
  SemaValue value;
  if (name.id == "tsr" || name.id == "math") {
    value.kind = ValueKind::Module;
    value.text = name.id == "tsr" ? "tessera" : "math";
    return value;
  }
  for (const char *builtin : getPythonBuiltins())
    if (name.id == builtin)
      return SemaValue::makeBuiltin("python." + name.id);
  if (auto constant = getTesseraConstant(name.id))
    return *constant;
  if (llvm::is_contained(exportedNames, name.id))
    return SemaValue::makeBuiltin(name.id);
  return unknownName(name.id, name.range);
}

ValueResult Analyzer::evaluateModuleAttribute(const SemaValue &module,
                                              const Attribute &attribute) {
  if (module.text == "math") {
    if (auto number = getMathConstant(attribute.attr))
      return SemaValue::makeConstant(*number);
    if (isMathFunction(attribute.attr))
      return SemaValue::makeBuiltin("math." + attribute.attr);
    Diagnostic &diagnostic =
        error(attribute.attrRange,
              "math has no '" + attribute.attr + "' that a program can use");
    OpSite site{attribute.range, attribute.attrRange, {}};
    if (llvm::is_contained(library->getCallNames(), attribute.attr))
      diagnostic.setFix("tsr." + attribute.attr + "(x)");
    else if (!explainForeign(*this, diagnostic, ForeignKind::Function,
                             attribute.attr, {}, site) ||
             diagnostic.fix.empty()) {
      diagnostic.setFix(findNearest(
          *this, "math.", attribute.attr, {},
          {"sqrt", "exp", "log", "log2", "log10", "log1p", "sin", "cos", "tanh",
           "floor", "ceil", "pow", "pi", "e", "inf", "nan", "gcd", "fabs"}));
      if (diagnostic.fix.empty())
        diagnostic.setFix("a number computed before, outside the function: " +
                          attribute.attr + " = math." + attribute.attr +
                          "(...)");
    }
    return failure();
  }
  if (auto constant = getTesseraConstant(attribute.attr))
    return *constant;
  if (auto dtype = parseDType(attribute.attr)) {
    std::string tsr = quote(attribute.value->range);
    error(attribute.range, "no dtype of tessera is called '" + attribute.attr +
                               "'; " + tsr + " names it " +
                               getDTypeName(*dtype))
        .setFix(tsr + "." + getDTypeName(*dtype));
    return failure();
  }
  return SemaValue::makeBuiltin(attribute.attr);
}

ValueResult Analyzer::evaluateAttribute(const Attribute &attribute) {
  // Outside chains such as self.scale are known by their whole name.
  std::string dotted = getDottedName(&attribute);
  if (!dotted.empty()) {
    std::string root = dotted.substr(0, dotted.find('.'));
    bool local =
        scope().variables.count(root) || (scope().hasDims && findDim(root));
    if (!local)
      if (auto found = scope().captured->find(dotted);
          found != scope().captured->end())
        return getCaptured(found->second, dotted, attribute.range);
    // self without self.scale: Python could not resolve the attribute.
    if (!local && root != "tsr" && root != "math" &&
        !scope().captured->count(root) && !scope().gone.count(root)) {
      bool anyPrefix = false;
      for (size_t dot = dotted.find('.'); dot != std::string::npos;
           dot = dotted.find('.', dot + 1))
        anyPrefix |= scope().captured->count(dotted.substr(0, dot)) != 0;
      if (!anyPrefix) {
        std::vector<std::string> known;
        for (const auto &[id, value] : *scope().captured)
          known.push_back(id);
        for (const auto &[id, value] : scope().variables)
          known.push_back(id);
        std::vector<std::string> near = nearestNames(root, known);
        Diagnostic &diagnostic =
            error(attribute.range, "'" + dotted + "' is not defined");
        std::string last = dotted.substr(dotted.rfind('.') + 1);
        if (isForeignModule(root) && getTesseraConstant(last))
          diagnostic.setFix("tsr." + last);
        else if (isForeignModule(root) && getMathConstant(last))
          diagnostic.setFix("math." + last);
        else if (auto dtype =
                     isForeignModule(root) ? parseDType(last) : std::nullopt)
          diagnostic.setFix(getDTypeName(*dtype));
        else if (!near.empty())
          diagnostic.setFix(near.front() + dotted.substr(root.size()));
        return failure();
      }
    }
  }
  if (reportMissingAttribute(attribute, dotted))
    return failure();
  ValueResult base = evaluate(attribute.value);
  if (failed(base))
    return failure();
  if (base->kind == ValueKind::Module)
    return evaluateModuleAttribute(*base, attribute);
  if (base->kind == ValueKind::Builtin && is<Attribute>(attribute.value))
    return reportNamespace(attribute);
  OpSite site{attribute.range, attribute.attrRange, {attribute.value}};
  return library->attribute(*base, attribute.attr, site);
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

ValueResult Analyzer::combine(BinaryOperator op, const SemaValue &left,
                              const SemaValue &right, const OpSite &site) {
  auto leftData = toConstant(left), rightData = toConstant(right);
  if (leftData && rightData) {
    FoldResult folded = foldBinary(op, *leftData, *rightData);
    if (folded)
      return SemaValue::makeConstant(folded.value);
    reportFold(folded.error, site.range, site.operands[0], site.operands[1],
               op);
    return failure();
  }
  if (op == BinaryOperator::Add && left.kind == ValueKind::Tuple &&
      right.kind == ValueKind::Tuple) {
    std::vector<SemaValue> all = left.elements;
    llvm::append_range(all, right.elements);
    return SemaValue::makeTuple(std::move(all));
  }
  ValueResult a = decay(left, site.range), b = decay(right, site.range);
  if (failed(a) || failed(b))
    return failure();
  if (op == BinaryOperator::MatMult)
    return library->matmul(*a, *b, nullptr, site);
  return library->binary(op, *a, *b, site);
}

ValueResult Analyzer::addProduct(const SemaValue &acc, const BinOp &product,
                                 const OpSite &site) {
  ValueResult left = evaluate(product.left);
  if (failed(left))
    return failure();
  ValueResult right = evaluate(product.right);
  if (failed(right))
    return failure();
  OpSite matmul{product.range, product.opRange, {product.left, product.right}};
  matmul.operands.append(site.operands.begin(), site.operands.end());
  return library->matmul(*left, *right, &acc, matmul);
}

/// The product in `x + a @ b`, if the expression is one.
static const BinOp *getProduct(const Expr *expr) {
  auto *binary = dynCast<BinOp>(expr);
  return binary && binary->op == BinaryOperator::MatMult ? binary : nullptr;
}

/// "x = %f" % x and "x = {}".format(x): true, with an error.
bool Analyzer::reportFormat(const Expr *format, llvm::ArrayRef<Expr *> values,
                            const SourceRange &where) {
  auto *text = dynCast<Constant>(format);
  if (!text || text->type != ConstantKind::String)
    return false;
  std::string words = text->text.substr(0, text->text.find_first_of("%{"));
  words.erase(words.find_last_not_of(" =:") + 1);
  std::string fix = words.empty() ? "" : "\"" + words + " =\"";
  for (const Expr *value : values)
    fix += (fix.empty() ? "" : ", ") + quote(value->range);
  error(where, "strings are not formatted in a program; print shows values")
      .setFix("print(" + fix + ")");
  return true;
}

ValueResult Analyzer::evaluateBinary(const BinOp &binary) {
  if (binary.op == BinaryOperator::Mod) {
    llvm::ArrayRef<Expr *> values = binary.right;
    if (auto *tuple = dynCast<Tuple>(binary.right))
      values = tuple->elts;
    if (reportFormat(binary.left, values, binary.range))
      return failure();
  }
  OpSite site{binary.range, binary.opRange, {binary.left, binary.right}};
  const BinOp *leftProduct = getProduct(binary.left);
  const BinOp *rightProduct = getProduct(binary.right);
  bool fuse = binary.op == BinaryOperator::Add && library->fusesAccumulator();
  if (fuse && leftProduct && !rightProduct) {
    ValueResult a = evaluate(leftProduct->left);
    if (failed(a))
      return failure();
    ValueResult b = evaluate(leftProduct->right);
    if (failed(b))
      return failure();
    ValueResult acc = evaluate(binary.right);
    if (failed(acc))
      return failure();
    OpSite product{leftProduct->range,
                   leftProduct->opRange,
                   {leftProduct->left, leftProduct->right, binary.right}};
    return library->matmul(*a, *b, &*acc, product);
  }
  ValueResult left = evaluate(binary.left);
  if (failed(left))
    return failure();
  if (fuse && rightProduct) {
    OpSite acc{binary.range, binary.opRange, {binary.left}};
    return addProduct(*left, *rightProduct, acc);
  }
  ValueResult right = evaluate(binary.right);
  if (failed(right))
    return failure();
  return combine(binary.op, *left, *right, site);
}

ValueResult Analyzer::evaluateUnary(const UnaryOp &unary) {
  // The smallest i64 is written as a literal that does not fit, negated.
  if (unary.op == UnaryOperator::USub)
    if (auto *literal = dynCast<Constant>(unary.operand);
        literal && literal->type == ConstantKind::Int &&
        literal->text == "9223372036854775808")
      return SemaValue::makeConstant(std::numeric_limits<int64_t>::min());
  ValueResult operand = evaluate(unary.operand);
  if (failed(operand))
    return failure();
  OpSite site{unary.range, unary.range, {unary.operand}};
  if (auto data = toConstant(*operand)) {
    FoldResult folded = foldUnary(unary.op, *data);
    if (folded)
      return SemaValue::makeConstant(folded.value);
    error(unary.range, folded.error)
        .setFix("-1, or another number in place of " +
                quote(unary.operand->range));
    return failure();
  }
  ValueResult value = decay(*operand, unary.range);
  if (failed(value))
    return failure();
  if (unary.op == UnaryOperator::Not) {
    bool isNumbers = value->getPromotionOperand().dtype != DType::Bool;
    value = toBool(*value, unary.operand, "'not'",
                   isNumbers ? parenthesize(unary.operand) + " == 0"
                             : "~" + parenthesize(unary.operand));
    if (failed(value))
      return failure();
    return library->unary(UnaryOperator::Not, *value, site);
  }
  return library->unary(unary.op, *value, site);
}

ValueResult Analyzer::evaluateBoolean(const BoolOp &boolean) {
  bool isOr = boolean.op == BoolOperator::Or;
  const char *what = isOr ? "'or'" : "'and'";
  std::string fix;
  for (const Expr *operand : boolean.values) {
    if (!fix.empty())
      fix += isOr ? " | " : " & ";
    auto *negated = dynCast<UnaryOp>(operand);
    if (negated && negated->op == UnaryOperator::Not)
      fix += "~" + parenthesize(negated->operand);
    else
      fix += parenthesize(operand);
  }
  // Python's value is that of an operand: the first that decides, or the last.
  std::optional<SemaValue> result, holds;
  const Expr *resultExpr = nullptr;
  for (const Expr *part : boolean.values) {
    ValueResult value = evaluate(part);
    if (failed(value))
      return failure();
    auto data = toConstant(*value);
    bool decides = data && data->isTrue() == isOr;
    if (data && !result) {
      if (decides || part == boolean.values.back())
        return *value;
      continue;
    }
    // Of numbers there is no | or &: whether any of them is not 0.
    bool isOfNumbers =
        (value->isTensor() || value->isTile()) && value->dtype != DType::Bool;
    ValueResult test = toBool(*value, part, what,
                              isOfNumbers && !tryFix(fix)
                                  ? "tsr.any(" + parenthesize(part) + " != 0)"
                                  : fix);
    if (failed(test))
      return failure();
    if (!result) {
      result = *value;
      holds = *test;
      resultExpr = part;
      continue;
    }
    auto isBool = [](const SemaValue &value) {
      return value.getPromotionOperand().dtype == DType::Bool;
    };
    OpSite site{boolean.range, boolean.range, {resultExpr, part}};
    ValueResult both = failure();
    if (!isBool(*result) || !isBool(*value)) {
      CallArgument before{"", *result, resultExpr, resultExpr->range},
          after{"", *value, part, part->range};
      CallArguments arguments;
      arguments.arguments = {{"", *holds, resultExpr, resultExpr->range},
                             isOr ? before : after,
                             isOr ? after : before};
      both = library->call("where", arguments, site);
    } else if (data) {
      if (decides)
        return *test;
      continue;
    } else {
      both = library->boolean(boolean.op, *holds, *test, site);
    }
    if (failed(both))
      return failure();
    result = *both;
    test = toBool(*both, part, what, fix);
    if (failed(test))
      return failure();
    holds = *test;
    if (decides)
      break;
  }
  return *result;
}

/// x > 0 & y > 0, which is x > (0 & y) > 0: true, with an error.
bool Analyzer::reportBitsInCompare(const Compare &compare) {
  for (auto [i, expr] : llvm::enumerate(compare.comparators)) {
    auto *bits = dynCast<BinOp>(expr);
    if (!bits || (bits->op != BinaryOperator::BitAnd &&
                  bits->op != BinaryOperator::BitOr))
      continue;
    bool isInBrackets =
        llvm::StringRef(quoteBefore(expr->range)).rtrim().ends_with("(");
    bool isChain = i + 1 < compare.comparators.size();
    if (isInBrackets || !(isChain || is<Constant>(bits->left)))
      continue;
    std::string op = getOperatorSpelling(bits->op),
                whole = quote(compare.range);
    auto part = [&](SourcePosition begin, SourcePosition end) {
      return quote({compare.range.file, begin, end});
    };
    std::string last = part(bits->right->range.begin, compare.range.end);
    error(compare.range, op + " binds more than the comparisons: this is of " +
                             quote(expr->range))
        .setFix("(" + part(compare.range.begin, bits->left->range.end) + ") " +
                op + " " + (isChain ? "(" + last + ")" : last));
    return true;
  }
  return false;
}

ValueResult Analyzer::evaluateCompare(const Compare &compare) {
  if (reportBitsInCompare(compare))
    return failure();
  ValueResult left = evaluate(compare.left);
  if (failed(left))
    return failure();
  std::optional<SemaValue> result;
  const Expr *leftExpr = compare.left;
  for (size_t i = 0; i < compare.ops.size(); ++i) {
    CompareOperator op = compare.ops[i];
    const Expr *rightExpr = compare.comparators[i];
    ValueResult right = evaluate(rightExpr);
    if (failed(right))
      return failure();
    OpSite site{compare.range, compare.range, {leftExpr, rightExpr}};
    ValueResult holds = failure();
    auto leftData = toConstant(*left), rightData = toConstant(*right);
    if (leftData && rightData) {
      FoldResult folded = foldCompare(op, *leftData, *rightData);
      if (!folded) {
        error(compare.range, folded.error)
            .setFix(quote(leftExpr->range) + " == " + quote(rightExpr->range));
        return failure();
      }
      holds = SemaValue::makeConstant(folded.value);
    } else if (op == CompareOperator::Is || op == CompareOperator::IsNot) {
      // Only None can be met here: a run-time value is never None.
      if (!left->isNone() && !right->isNone()) {
        error(compare.range, "'is' compares with None only")
            .setFix(quote(leftExpr->range) + " == " + quote(rightExpr->range));
        return failure();
      }
      holds = SemaValue::makeConstant(op == CompareOperator::IsNot);
    } else if (op == CompareOperator::In || op == CompareOperator::NotIn) {
      std::string fix;
      if (right->kind == ValueKind::Tuple)
        for (size_t k = 0; k < right->elements.size(); ++k) {
          auto *tuple = dynCast<Tuple>(rightExpr);
          auto *list = dynCast<List>(rightExpr);
          const Expr *part = tuple  ? tuple->elts[k]
                             : list ? list->elts[k]
                                    : nullptr;
          if (part)
            fix += (fix.empty() ? "(" : " | (") + quote(leftExpr->range) +
                   " == " + quote(part->range) + ")";
        }
      bool leftRuns = !leftData;
      error(compare.range, "'in' needs constants, but " +
                               quote((leftRuns ? leftExpr : rightExpr)->range) +
                               " is " + describe(leftRuns ? *left : *right))
          .setFix(fix.empty() ? "tsr.any(" + quote(rightExpr->range) +
                                    " == " + quote(leftExpr->range) + ")"
                              : fix);
      return failure();
    } else {
      ValueResult a = decay(*left, leftExpr->range);
      ValueResult b = decay(*right, rightExpr->range);
      if (failed(a) || failed(b))
        return failure();
      holds = library->compare(op, *a, *b, site);
    }
    if (failed(holds))
      return failure();
    if (!result) {
      result = *holds;
    } else if (result->isConstant()) {
      if (result->constant.isTrue())
        result = *holds;
    } else if (holds->isConstant()) {
      if (!holds->constant.isTrue())
        result = *holds;
    } else {
      ValueResult both =
          result->isScalar() && holds->isScalar()
              ? library->boolean(BoolOperator::And, *result, *holds, site)
              : library->binary(BinaryOperator::BitAnd, *result, *holds, site);
      if (failed(both))
        return failure();
      result = *both;
    }
    left = right;
    leftExpr = rightExpr;
  }
  return *result;
}

//===----------------------------------------------------------------------===//
// Subscripts
//===----------------------------------------------------------------------===//

FailureOr<std::vector<SemaValue>> Analyzer::evaluateIndices(const Expr *slice) {
  std::vector<const Expr *> parts;
  if (auto *tuple = dynCast<Tuple>(slice))
    parts.assign(tuple->elts.begin(), tuple->elts.end());
  else
    parts.push_back(slice);
  std::vector<SemaValue> indices;
  for (const Expr *part : parts) {
    if (auto *range = dynCast<Slice>(part)) {
      SemaValue value;
      value.kind = ValueKind::Slice;
      if (range->lower || range->upper || range->step)
        for (const Expr *bound : {range->lower, range->upper, range->step}) {
          ValueResult limit = bound ? evaluate(bound)
                                    : ValueResult(SemaValue::makeConstant({}));
          if (failed(limit))
            return failure();
          value.elements.push_back(*limit);
        }
      indices.push_back(value);
      continue;
    }
    // `...` is no value; the library looks at the expression.
    if (auto *constant = dynCast<Constant>(part);
        constant && constant->type == ConstantKind::Ellipsis) {
      indices.push_back(SemaValue::makeConstant({}));
      continue;
    }
    ValueResult value = evaluate(part);
    if (failed(value))
      return failure();
    indices.push_back(*value);
  }
  return indices;
}

/// xs[1:] of a tuple, with bounds that are known and no step.
static std::optional<SemaValue> slice(const SemaValue &tuple,
                                      const SemaValue &index) {
  if (index.kind != ValueKind::Slice || !index.elements[2].isNone())
    return std::nullopt;
  int64_t size = tuple.elements.size(), bounds[] = {0, size};
  for (int i : {0, 1}) {
    const SemaValue &given = index.elements[i];
    std::optional<int64_t> bound = given.getConstantInt();
    if (!bound && !given.isNone())
      return std::nullopt;
    if (bound)
      bounds[i] =
          std::clamp<int64_t>(*bound < 0 ? *bound + size : *bound, 0, size);
  }
  SemaValue part = tuple;
  part.elements.assign(tuple.elements.begin() + bounds[0],
                       tuple.elements.begin() + std::max(bounds[0], bounds[1]));
  return part;
}

ValueResult Analyzer::evaluateSubscript(const Subscript &subscript) {
  if (reportPair(subscript))
    return failure();
  ValueResult base = evaluate(subscript.value);
  if (failed(base))
    return failure();
  if (base->kind == ValueKind::Function) { // kernel[grid](x)
    std::string name = quote(subscript.value->range),
                call = getCallText(quoteBehind(subscript.range));
    SourceRange all = subscript.range;
    all.end.column += call.size();
    error(subscript.range, name + " is called without a launch grid; it "
                                  "follows from tsr.grid")
        .setFix(name + (call.empty() ? "(...)" : call), all);
    return failure();
  }
  FailureOr<std::vector<SemaValue>> indices = evaluateIndices(subscript.slice);
  if (failed(indices))
    return failure();
  if (base->kind == ValueKind::Tuple) {
    if (indices->size() == 1)
      if (std::optional<SemaValue> part = slice(*base, indices->front()))
        return *part;
    std::optional<int64_t> index;
    if (indices->size() == 1)
      index = indices->front().getConstantInt();
    int64_t size = base->elements.size();
    if (!index) {
      std::string got;
      if (indices->size() == 1)
        got = ", but " + quote(subscript.slice->range) + " is " +
              describe(indices->front());
      error(subscript.slice->range,
            "a tuple is indexed by one constant int" + got)
          .setFix(quote(subscript.value->range) + "[0]");
      return failure();
    }
    if (*index < -size || *index >= size) {
      error(subscript.slice->range, "index " + std::to_string(*index) +
                                        " is outside " +
                                        quote(subscript.value->range) +
                                        ", a tuple of " + std::to_string(size))
          .setFix(quote(subscript.value->range) + "[" + (size ? "-1" : "...") +
                  "]");
      return failure();
    }
    return base->elements[*index < 0 ? *index + size : *index];
  }
  OpSite site{subscript.range, subscript.slice->range, {}};
  if (auto *tuple = dynCast<Tuple>(subscript.slice))
    site.operands.append(tuple->elts.begin(), tuple->elts.end());
  else
    site.operands.push_back(subscript.slice);
  return library->subscript(*base, *indices, site);
}

} // namespace tessera::frontend
