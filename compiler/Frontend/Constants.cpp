//===- Constants.cpp - Values known at compile time -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/Constants.h"

#include <cfloat>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>

namespace tessera::frontend {

//===----------------------------------------------------------------------===//
// ConstantData
//===----------------------------------------------------------------------===//

int64_t ConstantData::asInt() const {
  if (isBool())
    return std::get<bool>(data);
  return std::get<int64_t>(data);
}

double ConstantData::asFloat() const {
  if (isLowest())
    return -double(FLT_MAX);
  if (std::holds_alternative<double>(data))
    return std::get<double>(data);
  return double(asInt());
}

bool ConstantData::isTrue() const {
  if (isNone())
    return false;
  if (isBool() || isInt())
    return asInt() != 0;
  if (isFloat())
    return asFloat() != 0;
  if (isString())
    return !asString().empty();
  if (isTuple())
    return !asTuple().empty();
  return true;
}

static std::string formatFloat(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char text[40];
  // The shortest text that reads back as the same number, as Python's repr.
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value)
      break;
  }
  std::string result = text;
  if (result.find_first_of(".en") == std::string::npos)
    result += ".0";
  return result;
}

std::string ConstantData::str() const {
  if (isNone())
    return "None";
  if (isBool())
    return asInt() ? "True" : "False";
  if (isInt())
    return std::to_string(asInt());
  if (isLowest())
    return "tsr.lowest";
  if (isFloat())
    return formatFloat(asFloat());
  if (isString())
    return "'" + asString() + "'";
  if (isDType())
    return getDTypeName(asDType());
  std::string result = "(";
  for (const ConstantData &element : asTuple()) {
    if (result.size() > 1)
      result += ", ";
    result += element.str();
  }
  return result + (asTuple().size() == 1 ? ",)" : ")");
}

const char *ConstantData::getTypeName() const {
  constexpr const char *names[] = {"None", "bool",  "int",   "float",
                                   "str",  "dtype", "tuple", "float"};
  return names[data.index()];
}

bool ConstantData::operator==(const ConstantData &other) const {
  if (isTuple() && other.isTuple())
    return asTuple() == other.asTuple();
  return data == other.data;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

namespace {

FoldResult fail(std::string why) { return {{}, std::move(why)}; }

FoldResult tooLarge(BinaryOperator op, int64_t left, int64_t right) {
  return fail(std::to_string(left) + " " + getOperatorSpelling(op) + " " +
              std::to_string(right) + " does not fit in 64 bits");
}

FoldResult foldPower(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0)
      return fail("0 cannot be raised to a negative power");
    return {std::pow(double(base), double(exponent)), {}};
  }
  int64_t result = 1, factor = base, left = exponent;
  while (left) {
    if ((left & 1) && __builtin_mul_overflow(result, factor, &result))
      return tooLarge(BinaryOperator::Pow, base, exponent);
    left >>= 1;
    if (left && __builtin_mul_overflow(factor, factor, &factor))
      return tooLarge(BinaryOperator::Pow, base, exponent);
  }
  return {result, {}};
}

FoldResult foldInt(BinaryOperator op, int64_t left, int64_t right) {
  int64_t result = 0;
  switch (op) {
  case BinaryOperator::Add:
    if (__builtin_add_overflow(left, right, &result))
      return tooLarge(op, left, right);
    return {result, {}};
  case BinaryOperator::Sub:
    if (__builtin_sub_overflow(left, right, &result))
      return tooLarge(op, left, right);
    return {result, {}};
  case BinaryOperator::Mult:
    if (__builtin_mul_overflow(left, right, &result))
      return tooLarge(op, left, right);
    return {result, {}};
  case BinaryOperator::Div:
    if (right == 0)
      return fail("division by zero");
    return {double(left) / double(right), {}};
  case BinaryOperator::FloorDiv:
  case BinaryOperator::Mod: {
    if (right == 0)
      return fail("division by zero");
    if (right == -1) {
      if (op == BinaryOperator::Mod)
        return {int64_t(0), {}};
      if (__builtin_sub_overflow(int64_t(0), left, &result))
        return tooLarge(op, left, right);
      return {result, {}};
    }
    int64_t quotient = left / right, remainder = left % right;
    if (remainder != 0 && (remainder < 0) != (right < 0)) {
      --quotient;
      remainder += right;
    }
    return {op == BinaryOperator::Mod ? remainder : quotient, {}};
  }
  case BinaryOperator::Pow:
    return foldPower(left, right);
  case BinaryOperator::LShift:
    if (right < 0)
      return fail("a shift by a negative number");
    if (left == 0)
      return {int64_t(0), {}};
    if (right > 62 ||
        __builtin_mul_overflow(left, int64_t(1) << right, &result))
      return tooLarge(op, left, right);
    return {result, {}};
  case BinaryOperator::RShift:
    if (right < 0)
      return fail("a shift by a negative number");
    return {left >> std::min<int64_t>(right, 63), {}};
  case BinaryOperator::BitOr:
    return {left | right, {}};
  case BinaryOperator::BitXor:
    return {left ^ right, {}};
  case BinaryOperator::BitAnd:
    return {left & right, {}};
  case BinaryOperator::MatMult:
    break;
  }
  return fail("@ is not defined on numbers");
}

FoldResult foldFloat(BinaryOperator op, double left, double right) {
  switch (op) {
  case BinaryOperator::Add:
    return {left + right, {}};
  case BinaryOperator::Sub:
    return {left - right, {}};
  case BinaryOperator::Mult:
    return {left * right, {}};
  case BinaryOperator::Div:
    if (right == 0)
      return fail("division by zero");
    return {left / right, {}};
  case BinaryOperator::FloorDiv:
  case BinaryOperator::Mod: {
    if (right == 0)
      return fail("division by zero");
    double remainder = std::fmod(left, right);
    if (remainder != 0 && (remainder < 0) != (right < 0))
      remainder += right;
    else if (remainder == 0)
      remainder = std::copysign(0.0, right);
    if (op == BinaryOperator::Mod)
      return {remainder, {}};
    double quotient = (left - remainder) / right;
    double floored = std::floor(quotient);
    if (quotient - floored > 0.5)
      floored += 1.0;
    return {quotient == 0 ? std::copysign(0.0, left / right) : floored, {}};
  }
  case BinaryOperator::Pow: {
    if (left == 0 && right < 0)
      return fail("0 cannot be raised to a negative power");
    if (left < 0 && right != std::floor(right) && std::isfinite(left) &&
        std::isfinite(right))
      return fail("a negative number to a fractional power is complex");
    return {std::pow(left, right), {}};
  }
  default:
    return fail(std::string(getOperatorSpelling(op)) +
                " is not defined on floats");
  }
}

} // namespace

FoldResult foldBinary(BinaryOperator op, const ConstantData &left,
                      const ConstantData &right) {
  if (left.isNumber() && right.isNumber()) {
    if (left.isFloat() || right.isFloat())
      return foldFloat(op, left.asFloat(), right.asFloat());
    if (left.isBool() && right.isBool() &&
        (op == BinaryOperator::BitAnd || op == BinaryOperator::BitOr ||
         op == BinaryOperator::BitXor))
      return {foldInt(op, left.asInt(), right.asInt()).value.asInt() != 0, {}};
    return foldInt(op, left.asInt(), right.asInt());
  }
  if (op == BinaryOperator::Add && left.isString() && right.isString())
    return {left.asString() + right.asString(), {}};
  if (op == BinaryOperator::Add && left.isTuple() && right.isTuple()) {
    std::vector<ConstantData> all = left.asTuple();
    all.insert(all.end(), right.asTuple().begin(), right.asTuple().end());
    return {ConstantData::tuple(std::move(all)), {}};
  }
  return fail(std::string(getOperatorSpelling(op)) + " is not defined on " +
              left.getTypeName() + " and " + right.getTypeName());
}

FoldResult foldUnary(UnaryOperator op, const ConstantData &operand) {
  if (op == UnaryOperator::Not)
    return {!operand.isTrue(), {}};
  if (!operand.isNumber() || (op == UnaryOperator::Invert && operand.isFloat()))
    return fail(std::string(getOperatorSpelling(op)) + " is not defined on " +
                operand.getTypeName());
  switch (op) {
  case UnaryOperator::UAdd:
    if (operand.isBool())
      return {operand.asInt(), {}};
    return {operand, {}};
  case UnaryOperator::USub: {
    if (operand.isFloat())
      return {-operand.asFloat(), {}};
    int64_t result = 0;
    if (__builtin_sub_overflow(int64_t(0), operand.asInt(), &result))
      return fail("-(" + operand.str() + ") does not fit in 64 bits");
    return {result, {}};
  }
  case UnaryOperator::Invert:
    return {~operand.asInt(), {}};
  case UnaryOperator::Not:
    break;
  }
  return fail("not a number");
}

FoldResult foldCompare(CompareOperator op, const ConstantData &left,
                       const ConstantData &right) {
  switch (op) {
  case CompareOperator::Is:
  case CompareOperator::IsNot: {
    // Identity means something only for None, True and False.
    bool same = left.data.index() == right.data.index() && left == right;
    return {same == (op == CompareOperator::Is), {}};
  }
  case CompareOperator::In:
  case CompareOperator::NotIn: {
    bool found = false;
    if (right.isTuple()) {
      for (const ConstantData &element : right.asTuple())
        found |= foldCompare(CompareOperator::Eq, left, element).value.isTrue();
    } else if (right.isString() && left.isString()) {
      found = right.asString().find(left.asString()) != std::string::npos;
    } else {
      return fail(std::string("'in' is not defined on ") + right.getTypeName());
    }
    return {found == (op == CompareOperator::In), {}};
  }
  default:
    break;
  }
  int order = 0;
  bool unordered = false;
  if (left.isNumber() && right.isNumber()) {
    if (left.isFloat() || right.isFloat()) {
      double a = left.asFloat(), b = right.asFloat();
      unordered = std::isnan(a) || std::isnan(b);
      order = a < b ? -1 : a > b;
    } else {
      int64_t a = left.asInt(), b = right.asInt();
      order = a < b ? -1 : a > b;
    }
  } else if (left.isString() && right.isString()) {
    order = left.asString().compare(right.asString());
  } else if (op == CompareOperator::Eq || op == CompareOperator::NotEq) {
    order = left == right ? 0 : 1;
  } else {
    return fail(std::string(getOperatorSpelling(op)) + " is not defined on " +
                left.getTypeName() + " and " + right.getTypeName());
  }
  switch (op) {
  case CompareOperator::Eq:
    return {!unordered && order == 0, {}};
  case CompareOperator::NotEq:
    return {unordered || order != 0, {}};
  case CompareOperator::Lt:
    return {!unordered && order < 0, {}};
  case CompareOperator::LtE:
    return {!unordered && order <= 0, {}};
  case CompareOperator::Gt:
    return {!unordered && order > 0, {}};
  default:
    return {!unordered && order >= 0, {}};
  }
}

//===----------------------------------------------------------------------===//
// math.*
//===----------------------------------------------------------------------===//

namespace {

struct MathFunction {
  const char *name;
  double (*function)(double);
  /// Whether the argument is in the domain.
  bool (*domain)(double);
};

bool anyReal(double) { return true; }
bool positive(double x) { return !(x <= 0); }
bool notNegative(double x) { return !(x < 0); }

const MathFunction mathFunctions[] = {
    {"sqrt", [](double x) { return std::sqrt(x); }, notNegative},
    {"exp", [](double x) { return std::exp(x); }, anyReal},
    {"exp2", [](double x) { return std::exp2(x); }, anyReal},
    {"expm1", [](double x) { return std::expm1(x); }, anyReal},
    {"log2", [](double x) { return std::log2(x); }, positive},
    {"log10", [](double x) { return std::log10(x); }, positive},
    {"log1p", [](double x) { return std::log1p(x); },
     [](double x) { return !(x <= -1); }},
    {"sin", [](double x) { return std::sin(x); }, anyReal},
    {"cos", [](double x) { return std::cos(x); }, anyReal},
    {"tan", [](double x) { return std::tan(x); }, anyReal},
    {"tanh", [](double x) { return std::tanh(x); }, anyReal},
    {"erf", [](double x) { return std::erf(x); }, anyReal},
    {"atan", [](double x) { return std::atan(x); }, anyReal},
    {"fabs", [](double x) { return std::fabs(x); }, anyReal},
};

} // namespace

std::string findMisfit(const ConstantData &number, DType dtype) {
  bool fits = true;
  if (isFloat(dtype)) {
    double value = number.isNumber() ? std::fabs(number.asFloat()) : 0;
    fits = std::isinf(value) || !(value >= getOverflow(dtype));
  } else if (isInteger(dtype) && number.isInt() && getDTypeBits(dtype) < 64) {
    int64_t limit = int64_t(1) << (getDTypeBits(dtype) - 1);
    fits = number.asInt() >= -limit && number.asInt() < limit;
  }
  return fits ? std::string()
              : number.str() + " does not fit in " + getDTypeName(dtype);
}

bool isMathFunction(std::string_view name) {
  for (const MathFunction &function : mathFunctions)
    if (name == function.name)
      return true;
  return name == "floor" || name == "ceil" || name == "trunc" ||
         name == "log" || name == "pow" || name == "isnan" || name == "isinf" ||
         name == "isfinite" || name == "gcd" || name == "prod";
}

std::optional<double> getMathConstant(std::string_view name) {
  if (name == "pi")
    return std::numbers::pi;
  if (name == "e")
    return std::numbers::e;
  if (name == "tau")
    return 2 * std::numbers::pi;
  if (name == "inf")
    return std::numeric_limits<double>::infinity();
  if (name == "nan")
    return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

FoldResult foldMath(std::string_view name, std::span<const ConstantData> args) {
  std::string callee = "math." + std::string(name);
  if (name == "prod" && args.size() == 1 && args[0].isTuple()) {
    ConstantData result = int64_t(1);
    for (const ConstantData &element : args[0].asTuple()) {
      FoldResult next = foldBinary(BinaryOperator::Mult, result, element);
      if (!next)
        return next;
      result = next.value;
    }
    return {result, {}};
  }
  for (const ConstantData &arg : args)
    if (!arg.isNumber())
      return fail(callee + " needs numbers, not " + arg.getTypeName());
  auto need = [&](size_t count) { return args.size() == count; };
  auto wrongCount = [&] {
    return fail(callee + " does not take " + std::to_string(args.size()) +
                (args.size() == 1 ? " argument" : " arguments"));
  };
  if (name == "gcd") {
    if (!need(2))
      return wrongCount();
    if (args[0].isFloat() || args[1].isFloat())
      return fail("math.gcd needs ints");
    int64_t a = std::abs(args[0].asInt()), b = std::abs(args[1].asInt());
    while (b) {
      int64_t r = a % b;
      a = b;
      b = r;
    }
    return {a, {}};
  }
  if (name == "pow") {
    if (!need(2))
      return wrongCount();
    return foldFloat(BinaryOperator::Pow, args[0].asFloat(), args[1].asFloat());
  }
  if (name == "log" && need(2)) {
    double x = args[0].asFloat(), base = args[1].asFloat();
    if (x <= 0 || base <= 0 || base == 1)
      return fail("math.log is not defined there");
    return {std::log(x) / std::log(base), {}};
  }
  if (!need(1))
    return wrongCount();
  double x = args[0].asFloat();
  if (name == "log") {
    if (x <= 0)
      return fail("math.log(" + args[0].str() + ") is not defined");
    return {std::log(x), {}};
  }
  if (name == "isnan")
    return {std::isnan(x), {}};
  if (name == "isinf")
    return {std::isinf(x), {}};
  if (name == "isfinite")
    return {std::isfinite(x), {}};
  if (name == "floor" || name == "ceil" || name == "trunc") {
    if (!args[0].isFloat())
      return {args[0].asInt(), {}};
    double rounded = name == "floor"  ? std::floor(x)
                     : name == "ceil" ? std::ceil(x)
                                      : std::trunc(x);
    if (!(std::fabs(rounded) < 9.2e18))
      return fail(callee + "(" + args[0].str() + ") does not fit in 64 bits");
    return {int64_t(rounded), {}};
  }
  for (const MathFunction &function : mathFunctions) {
    if (name != function.name)
      continue;
    if (!function.domain(x))
      return fail(callee + "(" + args[0].str() + ") is not defined");
    return {function.function(x), {}};
  }
  return fail("math has no '" + std::string(name) + "'");
}

} // namespace tessera::frontend
