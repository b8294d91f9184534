//===- TensorOpsElementwise.cpp - Operators, math functions, casts --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/TensorOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using tessera::graph::Extent;

namespace tessera::frontend {

//===----------------------------------------------------------------------===//
// One dtype, one shape
//===----------------------------------------------------------------------===//

/// "x * 1.0" for x * True, which is operand `which`.
static std::string getNumberForBool(ArrayRef<SemaValue> operands,
                                    ArrayRef<std::string> names,
                                    llvm::StringRef what, size_t which) {
  SmallVector<std::string> texts(names);
  bool isDecimal = isFloat(operands[which ? 0 : 1].dtype);
  texts[which] = operands[which].constant.isTrue() ? "1" : "0";
  if (isDecimal)
    texts[which] += ".0";
  bool isOperator = texts.size() == 2 && !llvm::isAlpha(what.front());
  return isOperator ? texts[0] + " " + what.str() + " " + texts[1]
                    : texts[which];
}

FailureOr<Promotion> TensorOps::promoteAll(ArrayRef<SemaValue> operands,
                                           ArrayRef<std::string> names,
                                           llvm::StringRef what,
                                           const OpSite &site) {
  Promotion result;
  PromotionOperand first = operands.front().getPromotionOperand();
  result.dtype = first.dtype;
  result.weak = first.weak;
  size_t from = 0;
  for (size_t i = 1; i < operands.size(); ++i) {
    Promotion next =
        promote({result.dtype, result.weak}, operands[i].getPromotionOperand());
    if (!next) {
      size_t side = next.convertSide == 0 ? from : i;
      Diagnostic &diagnostic = context.error(
          site.range, what.str() + " mixes " + next.conflict + ": " +
                          names[from] + " is " + describeShape(operands[from]) +
                          ", " + names[i] + " is " +
                          describeShape(operands[i]));
      for (size_t k : {from, i})
        if (operands[k].origin.isValid())
          noteOrigin(diagnostic, operands[k], names[k]);
      std::string fix =
          asObject(names[side]) + ".to(" + getDTypeName(next.convertTo) + ")";
      // True and False are written as numbers.
      for (size_t k : {from, i})
        if (operands[k].isConstant() && operands[k].constant.isBool())
          fix = getNumberForBool(operands, names, what, k);
      bool isWhole = site.operands.size() != operands.size() ||
                     !site.operands[side] ||
                     fix.find(".to(") == std::string::npos;
      diagnostic.setFix(fix,
                        isWhole ? SourceRange() : site.operands[side]->range);
      return failure();
    }
    if (result.weak && !next.weak)
      from = i;
    result = next;
  }
  for (const SemaValue &operand : operands)
    if (operand.isConstant() && !result.weak)
      if (std::string misfit = findMisfit(operand.constant, result.dtype);
          !misfit.empty()) {
        // A large number that is chosen stands for infinity.
        size_t place = &operand - operands.data();
        const Expr *number =
            place < site.operands.size() ? site.operands[place] : nullptr;
        if (what == "where" && number && isFloat(result.dtype) &&
            operand.constant.isNumber())
          return fail(number->range,
                      what.str() + ": " + misfit + ", and " + names[from] +
                          " is " + describeShape(operands[from]),
                      operand.constant.asFloat() < 0 ? "-tsr.inf" : "tsr.inf");
        return fail(site.range,
                    what.str() + ": " + misfit + ", and " + names[from] +
                        " is " + describeShape(operands[from]),
                    asObject(names[from]) + ".to(" +
                        getDTypeName(getWiderDType(result.dtype)) + ")");
      }
  return result;
}

FailureOr<SmallVector<mlir::Value>>
TensorOps::unify(ArrayRef<SemaValue> operands, ArrayRef<std::string> names,
                 ArrayRef<DType> dtypes, llvm::StringRef what,
                 const OpSite &site, TensorShape &shape) {
  SmallVector<TensorShape> shapes;
  for (const SemaValue &operand : operands)
    shapes.push_back(shapeOf(operand));
  FailureOr<TensorShape> common =
      broadcastShape(shapes, operands, names, what, site);
  if (failed(common))
    return failure();
  shape = *common;
  Location location = loc(site);
  SmallVector<mlir::Value> values;
  for (auto [operand, name, dtype] : llvm::zip(operands, names, dtypes)) {
    checkFits(operand, name, dtype, location);
    // Converted before it is repeated: the smaller of the two.
    mlir::Value value = convert(operand, dtype, location);
    values.push_back(broadcastTo(value, shape, location));
  }
  return values;
}

static bool isAnyTensor(ArrayRef<SemaValue> operands) {
  return llvm::any_of(operands,
                      [](const SemaValue &value) { return value.isTensor(); });
}

ValueResult TensorOps::elementwise(llvm::StringRef op, llvm::StringRef what,
                                   ArrayRef<SemaValue> operands,
                                   ArrayRef<std::string> names,
                                   const OpSite &site) {
  FailureOr<Promotion> common = promoteAll(operands, names, what, site);
  if (failed(common))
    return failure();
  DType dtype = common->dtype;
  bool isBits = op == "gir.and" || op == "gir.or" || op == "gir.xor";
  bool isInt = isBits || op == "gir.shl" || op == "gir.shr";
  if (dtype == DType::Bool && !isBits && common->weak)
    dtype = DType::I64; // Python: True + True is 2
  if (dtype == DType::Bool && !isBits)
    return fail(site.range,
                what.str() + " of bool: " + names[0] + " is " +
                    describeShape(operands[0]),
                asObject(names[0]) + ".to(i32)");
  if (isInt && isFloat(dtype))
    return fail(site.range,
                what.str() + " needs ints or bools: " + names[0] + " is " +
                    describeShape(operands[0]),
                what == "^" && names.size() > 1
                    ? names[0] + " ** " + names[1]
                    : asObject(names[0]) + ".to(i32)");
  if ((op == "gir.shl" || op == "gir.shr") && dtype == DType::Bool)
    return fail(site.range,
                what.str() + " needs ints: " + names[0] + " is " +
                    describeShape(operands[0]),
                asObject(names[0]) + ".to(i32)");
  TensorShape shape;
  SmallVector<DType> dtypes(operands.size(), dtype);
  FailureOr<SmallVector<mlir::Value>> values =
      unify(operands, names, dtypes, what, site, shape);
  if (failed(values))
    return failure();
  mlir::Value result = contract(op, dtype, *values, loc(site));
  if (!result)
    result = emit(op, loc(site), typeOf(shape, dtype), *values);
  return makeResult(result, dtype, shape, isAnyTensor(operands), common->weak);
}

/// Under the policy "fast", a * b + c, a * b - c and c - a * b are one
/// rounding.
mlir::Value TensorOps::contract(llvm::StringRef op, DType dtype,
                                ArrayRef<mlir::Value> values,
                                Location location) {
  bool subtracts = op == "gir.sub";
  if (context.request.policy != "fast" || !isFloat(dtype) ||
      (op != "gir.add" && !subtracts))
    return {};
  for (int side = 0; side < 2; ++side) {
    auto product = values[side].getDefiningOp<graph::MulOp>();
    if (!product)
      continue;
    Type type = product.getType();
    mlir::Value factor = product.getLhs(), other = values[1 - side];
    if (subtracts && side == 0)
      other = emit("gir.neg", location, type, other);
    else if (subtracts)
      factor = emit("gir.neg", location, type, factor);
    return emit("gir.fma", location, type, {factor, product.getRhs(), other});
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// What could stand where an operand is no tensor and no number.
static std::string getOperandFix(const SemaValue &value,
                                 const std::string &name) {
  if (value.isConstant() && value.constant.isString()) {
    double number;
    llvm::StringRef text = value.constant.asString();
    return text.getAsDouble(number) ? "a number, without quotes" : text.str();
  }
  if (value.isConstant() && value.constant.isDType())
    return "x.to(" + name + ")";
  if (value.isNone())
    return "0.0, or an 'if' that leaves it out";
  if (value.kind == ValueKind::Tuple)
    return value.elements.empty() ? "0.0" : name + "[0]";
  if (value.kind == ValueKind::Function || value.kind == ValueKind::Builtin ||
      value.kind == ValueKind::Method)
    return name + "(x)";
  return "a tensor or a number";
}

FailureOr<TensorOps::Prepared>
TensorOps::prepare(std::initializer_list<const SemaValue *> values,
                   const OpSite &site) {
  Prepared result;
  for (auto [i, value] : llvm::enumerate(values)) {
    const Expr *expr = i < site.operands.size() ? site.operands[i] : nullptr;
    SourceRange where = expr ? expr->range : site.range;
    if (!value->isTensor() && !value->isNumber())
      return fail(where,
                  "an operator needs tensors or numbers, but " +
                      nameOf(*value, expr) + " is " + describe(*value),
                  getOperandFix(*value, nameOf(*value, expr)));
    ValueResult decayed = context.decay(*value, where);
    if (failed(decayed))
      return failure();
    result.operands.push_back(*decayed);
    result.names.push_back(nameOf(*value, expr));
  }
  return result;
}

ValueResult TensorOps::binary(BinaryOperator op, const SemaValue &left,
                              const SemaValue &right, const OpSite &site) {
  if (op == BinaryOperator::MatMult)
    return matmul(left, right, nullptr, site);
  FailureOr<Prepared> prepared = prepare({&left, &right}, site);
  if (failed(prepared))
    return failure();
  auto &[operands, names] = *prepared;
  const char *name = nullptr;
  switch (op) {
  case BinaryOperator::Add:
    name = "gir.add";
    break;
  case BinaryOperator::Sub:
    name = "gir.sub";
    break;
  case BinaryOperator::Mult:
    name = "gir.mul";
    break;
  case BinaryOperator::Div: {
    FailureOr<Promotion> common = promoteAll(operands, names, "/", site);
    if (failed(common))
      return failure();
    if (!isFloat(common->dtype)) {
      if (!common->weak)
        return fail(
            site.range,
            "/ of ints: " + names[0] + " is " + describeShape(operands[0]) +
                ", " + names[1] + " is " + describeShape(operands[1]),
            asObject(names[0]) + ".to(fp32) / " +
                (operands[1].isTensor() ? asObject(names[1]) + ".to(fp32)"
                                        : names[1]) +
                ", or " + asObject(names[0]) + " // " + asObject(names[1]) +
                " to round down");
      if (failed(checkDivisor(operands, names[1], site)))
        return failure();
      // Python: a true division of ints is a float.
      for (SemaValue &operand : operands)
        operand = SemaValue::makeScalar(
            convert(operand, DType::FP64, loc(site)), DType::FP64, true);
    }
    name = "gir.div";
    break;
  }
  case BinaryOperator::FloorDiv:
  case BinaryOperator::Mod:
    name = op == BinaryOperator::Mod ? "gir.mod" : "gir.floordiv";
    if (failed(checkDivisor(operands, names[1], site)))
      return failure();
    break;
  case BinaryOperator::Pow:
    return power(operands[0], operands[1], site);
  case BinaryOperator::LShift:
    if (areInts(operands)) {
      ValueResult factor = powerOfInts(SemaValue::makeConstant(int64_t(2)),
                                       operands[1], names[1], site);
      if (failed(factor))
        return failure();
      return elementwise("gir.mul", "<<", {operands[0], *factor},
                         {names[0], names[1]}, site);
    }
    name = "gir.shl";
    break;
  case BinaryOperator::RShift:
    name = "gir.shr";
    break;
  case BinaryOperator::BitOr:
    name = "gir.or";
    break;
  case BinaryOperator::BitXor:
    name = "gir.xor";
    break;
  case BinaryOperator::BitAnd:
    name = "gir.and";
    break;
  case BinaryOperator::MatMult:
    break;
  }
  return elementwise(name, getOperatorSpelling(op), operands, names, site);
}

ValueResult TensorOps::power(const SemaValue &base, const SemaValue &exponent,
                             const OpSite &site) {
  FailureOr<Prepared> prepared = prepare({&base, &exponent}, site);
  if (failed(prepared))
    return failure();
  auto &[operands, names] = *prepared;
  // Squares and roots are one correctly rounded operation.
  std::optional<double> number;
  if (exponent.isConstant() && exponent.constant.isNumber())
    number = exponent.constant.asFloat();
  bool isFloatBase = isFloat(base.getPromotionOperand().dtype);
  if (number == 1.0 && isFloatBase)
    return base;
  bool areScalars = areInts(operands);
  if (areScalars && number && *number < 0)
    return fail(site.range,
                "** of an int by a negative number: " + names[0] + " is " +
                    describeShape(base),
                "1.0 / " + names[0] + " ** " +
                    std::to_string(int64_t(-*number)));
  if (areScalars)
    return powerOfInts(operands[0], operands[1], names[1], site);
  if (number == 2.0)
    return elementwise("gir.mul", "**", {base, base}, {names[0], names[0]},
                       site);
  if (number == 0.5 && isFloatBase)
    return elementwise("gir.sqrt", "**", base, names[0], site);
  if (number == -1.0 && isFloatBase)
    return elementwise("gir.div", "**", {SemaValue::makeConstant(1.0), base},
                       {"1", names[0]}, site);
  if (number && *number < 0 && !isFloatBase && !base.weak)
    return fail(site.range,
                "** of an int by a negative number: " + names[0] + " is " +
                    describeShape(base),
                asObject(names[0]) + ".to(fp32) ** " + names[1]);
  return elementwise("gir.pow", "**", operands, names, site);
}

ValueResult TensorOps::unary(UnaryOperator op, const SemaValue &operand,
                             const OpSite &site) {
  FailureOr<Prepared> prepared = prepare({&operand}, site);
  if (failed(prepared))
    return failure();
  auto &[operands, names] = *prepared;
  const SemaValue &value = operands[0];
  DType dtype = value.getPromotionOperand().dtype;
  switch (op) {
  case UnaryOperator::UAdd:
    return value;
  case UnaryOperator::USub:
    return elementwise("gir.neg", "-", value, names[0], site);
  case UnaryOperator::Invert:
    if (isFloat(dtype))
      return fail(site.range,
                  "~ needs ints or bools: " + names[0] + " is " +
                      describeShape(value),
                  names[0] + " == 0");
    break;
  case UnaryOperator::Not:
    if (value.isTensor() && rankOf(value) > 0)
      return fail(site.range,
                  "'not' of " + describeShape(value) +
                      ", which is no single "
                      "truth value",
                  dtype == DType::Bool ? "~(" + names[0] + ")"
                                       : names[0] + " == 0");
    if (dtype != DType::Bool)
      return compare(CompareOperator::Eq, value,
                     SemaValue::makeConstant(int64_t(0)), site);
    break;
  }
  TensorShape shape = shapeOf(value);
  mlir::Value result = emit("gir.not", loc(site), typeOf(shape, dtype),
                            convert(value, dtype, loc(site)));
  return makeResult(result, dtype, shape, value.isTensor(), value.weak);
}

ValueResult TensorOps::compare(CompareOperator op, const SemaValue &left,
                               const SemaValue &right, const OpSite &site) {
  FailureOr<Prepared> prepared = prepare({&left, &right}, site);
  if (failed(prepared))
    return failure();
  auto &[operands, names] = *prepared;
  graph::CompareKind kind;
  switch (op) {
  case CompareOperator::Eq:
    kind = graph::CompareKind::Eq;
    break;
  case CompareOperator::NotEq:
    kind = graph::CompareKind::Ne;
    break;
  case CompareOperator::Lt:
    kind = graph::CompareKind::Lt;
    break;
  case CompareOperator::LtE:
    kind = graph::CompareKind::Le;
    break;
  case CompareOperator::Gt:
    kind = graph::CompareKind::Gt;
    break;
  case CompareOperator::GtE:
    kind = graph::CompareKind::Ge;
    break;
  default:
    return fail(site.range,
                std::string("'") + getOperatorSpelling(op) +
                    "' does not compare tensors",
                names[0] + " == " + names[1]);
  }
  std::string what = getOperatorSpelling(op);
  FailureOr<Promotion> common = promoteAll(operands, names, what, site);
  if (failed(common))
    return failure();
  TensorShape shape;
  FailureOr<SmallVector<mlir::Value>> values =
      unify(operands, names, {common->dtype, common->dtype}, what, site, shape);
  if (failed(values))
    return failure();
  mlir::Value result = emit(
      "gir.compare", loc(site), typeOf(shape, DType::Bool), *values,
      attr("kind", graph::CompareKindAttr::get(context.getContext(), kind)));
  return makeResult(result, DType::Bool, shape, isAnyTensor(operands),
                    common->weak);
}

ValueResult TensorOps::boolean(BoolOperator op, const SemaValue &left,
                               const SemaValue &right, const OpSite &site) {
  for (const SemaValue *value : {&left, &right})
    if (value->isTensor() && rankOf(*value) > 0)
      return fail(site.range,
                  std::string("'") + getOperatorSpelling(op) + "' of " +
                      describeShape(*value) +
                      ", which is no single truth value",
                  op == BoolOperator::And ? "(a) & (b)" : "(a) | (b)");
  return binary(op == BoolOperator::And ? BinaryOperator::BitAnd
                                        : BinaryOperator::BitOr,
                left, right, site);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

ValueResult TensorOps::requireFloat(const SemaValue &value,
                                    const std::string &name,
                                    llvm::StringRef callee,
                                    const OpSite &site) {
  PromotionOperand operand = value.getPromotionOperand();
  if (isFloat(operand.dtype)) {
    if (value.ssa)
      return value;
    return SemaValue::makeScalar(convert(value, DType::FP64, loc(site)),
                                 DType::FP64, true);
  }
  if (operand.weak)
    return SemaValue::makeScalar(convert(value, DType::FP64, loc(site)),
                                 DType::FP64, true);
  Diagnostic &diagnostic =
      context.error(site.range, callee.str() + " needs a float, but " + name +
                                    " is " + describeShape(value));
  if (value.origin.isValid())
    noteOrigin(diagnostic, value, name);
  // (a == b).mean(): the parentheses belong to what is converted.
  for (const Expr *expr : site.operands)
    if (expr && context.quote(expr->range) == name) {
      diagnostic.where = expr->range;
      diagnostic.setFix(context.parenthesize(expr) + ".to(fp32)");
      return failure();
    }
  diagnostic.setFix(asObject(name) + ".to(fp32)");
  return failure();
}

ValueResult TensorOps::callUnary(const NamedCall &call) {
  FailureOr<BoundArguments> args = bind(call, {"input"}, 1);
  if (failed(args))
    return failure();
  ValueResult input = operand(*(*args)[0], call.name);
  if (failed(input))
    return failure();
  std::string name = nameOf(*input, (*args)[0]->expr);
  input = requireFloat(*input, name, call.name, call.site);
  if (failed(input))
    return failure();
  return elementwise("gir." + call.name, call.name, *input, name, call.site);
}

ValueResult TensorOps::callRounding(const NamedCall &call) {
  FailureOr<BoundArguments> args = bind(call, {"input"}, 1);
  if (failed(args))
    return failure();
  ValueResult input = operand(*(*args)[0], call.name);
  if (failed(input))
    return failure();
  std::string name = nameOf(*input, (*args)[0]->expr);
  bool rounds =
      call.name == "floor" || call.name == "ceil" || call.name == "round";
  // An int is whole already.
  if (rounds && isInteger(input->getPromotionOperand().dtype))
    return input;
  if (rounds)
    input = requireFloat(*input, name, call.name, call.site);
  if (failed(input))
    return failure();
  return elementwise("gir." + call.name, call.name, *input, name, call.site);
}

ValueResult TensorOps::callPredicate(const NamedCall &call) {
  FailureOr<BoundArguments> args = bind(call, {"input"}, 1);
  if (failed(args))
    return failure();
  ValueResult input = operand(*(*args)[0], call.name);
  if (failed(input))
    return failure();
  input = requireFloat(*input, nameOf(*input, (*args)[0]->expr), call.name,
                       call.site);
  if (failed(input))
    return failure();
  TensorShape shape = shapeOf(*input);
  mlir::Value result = emit("gir." + call.name, loc(call.site),
                            typeOf(shape, DType::Bool), input->ssa);
  return makeResult(result, DType::Bool, shape, input->isTensor(), input->weak);
}

ValueResult TensorOps::callBinary(const NamedCall &call) {
  FailureOr<BoundArguments> args = bind(call, {"input", "other"}, 2);
  if (failed(args))
    return failure();
  ValueResult a = operand(*(*args)[0], call.name);
  ValueResult b = operand(*(*args)[1], call.name);
  if (failed(a) || failed(b))
    return failure();
  auto op = llvm::StringSwitch<std::optional<BinaryOperator>>(call.name)
                .Case("add", BinaryOperator::Add)
                .Case("sub", BinaryOperator::Sub)
                .Case("mul", BinaryOperator::Mult)
                .Case("div", BinaryOperator::Div)
                .Case("pow", BinaryOperator::Pow)
                .Default(std::nullopt);
  OpSite site{call.site.range,
              call.site.nameRange,
              {(*args)[0]->expr, (*args)[1]->expr}};
  if (op)
    return binary(*op, *a, *b, site);
  return elementwise(
      "gir." + call.name, call.name, {*a, *b},
      {nameOf(*a, (*args)[0]->expr), nameOf(*b, (*args)[1]->expr)}, site);
}

ValueResult TensorOps::callWhere(const NamedCall &call) {
  FailureOr<BoundArguments> args =
      bind(call, {"condition", "input", "other"}, 3);
  if (failed(args))
    return failure();
  std::vector<SemaValue> operands;
  SmallVector<std::string> names;
  for (const CallArgument *argument : *args) {
    ValueResult value = operand(*argument, "where");
    if (failed(value))
      return failure();
    operands.push_back(*value);
    names.push_back(nameOf(*value, argument->expr));
  }
  bool isCondition = operands[0].getPromotionOperand().dtype == DType::Bool;
  bool isSwapped = operands[1].isTensor() && operands[1].dtype == DType::Bool &&
                   (*args)[0]->keyword.empty() && (*args)[2]->keyword.empty();
  if (!isCondition && isSwapped)
    return fail(call.site.range,
                "where takes the condition first, but " + names[0] + " is " +
                    describeShape(operands[0]),
                "tsr.where(" + context.quote((*args)[1]->where) + ", " +
                    context.quote((*args)[0]->where) + ", " +
                    context.quote((*args)[2]->where) + ")");
  if (!isCondition)
    return fail((*args)[0]->where,
                "the condition of where is bool, but " + names[0] + " is " +
                    describeShape(operands[0]),
                names[0] + " != 0");
  FailureOr<Promotion> common = promoteAll(
      {operands[1], operands[2]}, {names[1], names[2]}, "where", call.site);
  if (failed(common))
    return failure();
  // Two numbers alone: as Python's would be, in fp32 or i64.
  DType dtype = common->dtype;
  bool weak = common->weak;
  if (weak && isAnyTensor(operands)) {
    weak = false;
    if (dtype == DType::FP64)
      dtype = DType::FP32;
  }
  TensorShape shape;
  FailureOr<SmallVector<mlir::Value>> values = unify(
      operands, names, {DType::Bool, dtype, dtype}, "where", call.site, shape);
  if (failed(values))
    return failure();
  mlir::Value result =
      emit("gir.select", loc(call.site), typeOf(shape, dtype), *values);
  return makeResult(result, dtype, shape, isAnyTensor(operands), weak);
}

ValueResult TensorOps::callClamp(const NamedCall &call) {
  FailureOr<BoundArguments> args = bind(call, {"input", "min", "max"}, 1);
  if (failed(args))
    return failure();
  ValueResult result = operand(*(*args)[0], call.name);
  if (failed(result))
    return failure();
  std::string name = nameOf(*result, (*args)[0]->expr);
  bool given = false;
  for (size_t i : {1, 2}) {
    const CallArgument *bound = (*args)[i];
    if (!bound || bound->value.isNone())
      continue;
    given = true;
    ValueResult limit = operand(*bound, call.name);
    if (failed(limit))
      return failure();
    result = elementwise(i == 1 ? "gir.maximum" : "gir.minimum", call.name,
                         {*result, *limit}, {name, nameOf(*limit, bound->expr)},
                         call.site);
    if (failed(result))
      return failure();
  }
  if (!given)
    return fail(call.site.range, call.name + " needs min=, max= or both",
                "tsr." + call.name + "(" + name + ", 0.0, 1.0)");
  return result;
}

ValueResult TensorOps::callFma(const NamedCall &call) {
  FailureOr<BoundArguments> args = bind(call, {"a", "b", "c"}, 3);
  if (failed(args))
    return failure();
  std::vector<SemaValue> operands;
  SmallVector<std::string> names;
  for (const CallArgument *argument : *args) {
    ValueResult value = operand(*argument, "fma");
    if (failed(value))
      return failure();
    operands.push_back(*value);
    names.push_back(nameOf(*value, argument->expr));
  }
  FailureOr<Promotion> common = promoteAll(operands, names, "fma", call.site);
  if (failed(common))
    return failure();
  if (!isFloat(common->dtype))
    return fail(call.site.range,
                "fma needs floats, but " + names[0] + " is " +
                    describeShape(operands[0]),
                asObject(names[0]) + ".to(fp32)");
  return elementwise("gir.fma", "fma", operands, names, call.site);
}

ValueResult TensorOps::callGelu(const NamedCall &call) {
  FailureOr<BoundArguments> args = bind(call, {"input", "approximate"}, 1);
  if (failed(args))
    return failure();
  bool tanh = false;
  if ((*args)[1]) {
    FailureOr<std::string> how =
        getChoice(context, *(*args)[1], "approximate", {"none", "tanh"});
    if (failed(how))
      return failure();
    tanh = *how == "tanh";
  }
  ValueResult input = operand(*(*args)[0], "gelu");
  if (failed(input))
    return failure();
  input =
      requireFloat(*input, nameOf(*input, (*args)[0]->expr), "gelu", call.site);
  if (failed(input))
    return failure();
  SmallVector<NamedAttribute> attributes;
  if (tanh)
    attributes.push_back(unit("tanh"));
  TensorShape shape = shapeOf(*input);
  mlir::Value result = emit("gir.gelu", loc(call.site), input->ssa.getType(),
                            input->ssa, attributes);
  return makeResult(result, input->dtype, shape, input->isTensor(),
                    input->weak);
}

ValueResult TensorOps::callCdiv(const NamedCall &call) {
  FailureOr<BoundArguments> args = bind(call, {"a", "b"}, 2);
  if (failed(args))
    return failure();
  ValueResult a = operand(*(*args)[0], "cdiv");
  ValueResult b = operand(*(*args)[1], "cdiv");
  if (failed(a) || failed(b))
    return failure();
  if (a->isTensor() || b->isTensor()) {
    // What is left over counts as one; -(-a // b) is wrong for the least a.
    ValueResult quotient = binary(BinaryOperator::FloorDiv, *a, *b, call.site);
    ValueResult rest = binary(BinaryOperator::Mod, *a, *b, call.site);
    if (failed(quotient) || failed(rest))
      return failure();
    ValueResult more = compare(CompareOperator::NotEq, *rest,
                               SemaValue::makeConstant(int64_t(0)), call.site);
    if (failed(more))
      return failure();
    ValueResult one = cast(*more, quotient->dtype, "rn", call.site);
    return failed(one)
               ? one
               : binary(BinaryOperator::Add, *quotient, *one, call.site);
  }
  // -(-a // b)
  ValueResult negated = unary(UnaryOperator::USub, *a, call.site);
  if (failed(negated))
    return failure();
  ValueResult quotient =
      binary(BinaryOperator::FloorDiv, *negated, *b, call.site);
  if (failed(quotient))
    return failure();
  return unary(UnaryOperator::USub, *quotient, call.site);
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

ValueResult TensorOps::cast(const SemaValue &value, DType dtype,
                            llvm::StringRef rounding, const OpSite &site) {
  TensorShape shape = shapeOf(value);
  mlir::Value ssa;
  if (!value.ssa || rounding == "rn") {
    ssa = convert(value, dtype, loc(site));
  } else {
    ssa = emit("gir.cast", loc(site), typeOf(shape, dtype), value.ssa,
               attr("rounding", context.builder.getStringAttr(rounding)));
  }
  return makeResult(ssa, dtype, shape, value.isTensor());
}

ValueResult TensorOps::callTo(const NamedCall &call) {
  FailureOr<BoundArguments> args =
      bind(call, {"input", "dtype", "*rounding"}, 2);
  if (failed(args))
    return failure();
  FailureOr<DType> dtype = getDTypeArgument(context, *(*args)[1]);
  ValueResult input = operand(*(*args)[0], "to");
  if (failed(dtype) || failed(input))
    return failure();
  std::string rounding = "rn";
  if ((*args)[2]) {
    FailureOr<std::string> mode = getChoice(context, *(*args)[2], "rounding",
                                            {"rn"}, {"rz", "stochastic"});
    if (failed(mode))
      return failure();
    rounding = *mode;
  }
  return cast(*input, *dtype, rounding, call.site);
}

ValueResult TensorOps::callNamedCast(const NamedCall &call) {
  FailureOr<BoundArguments> args = bind(call, {"input"}, 1);
  if (failed(args))
    return failure();
  ValueResult input = operand(*(*args)[0], call.name);
  if (failed(input))
    return failure();
  DType dtype = llvm::StringSwitch<DType>(call.name)
                    .Case("float", DType::FP32)
                    .Case("half", DType::FP16)
                    .Case("double", DType::FP64)
                    .Case("bfloat16", DType::BF16)
                    .Case("int", DType::I32)
                    .Case("long", DType::I64)
                    .Default(DType::Bool);
  return cast(*input, dtype, "rn", call.site);
}

} // namespace tessera::frontend
