//===- Constants.h - Values known at compile time ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Python's numbers, strings, tuples and our dtypes as compile-time values, and
// Python's arithmetic on them: floor division and modulo, true division to a
// float, chained truth values, `math.*`. Integers are 64-bit; a result that
// does not fit is refused, never wrapped.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_FRONTEND_CONSTANTS_H
#define TESSERA_COMPILER_FRONTEND_CONSTANTS_H

#include "compiler/Frontend/AST.h"
#include "compiler/Frontend/Promotion.h"

#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace tessera::frontend {

/// `tsr.lowest`: the lowest finite number of whatever dtype it meets; as a
/// Python number that of fp32.
struct Lowest {
  bool operator==(const Lowest &) const = default;
};

struct ConstantData;
using ConstantTuple = std::shared_ptr<const std::vector<ConstantData>>;

/// None, bool, int, float, str, dtype, tuple.
struct ConstantData {
  std::variant<std::monostate, bool, int64_t, double, std::string, DType,
               ConstantTuple, Lowest>
      data;

  ConstantData() = default;
  template <typename T>
    requires(!std::is_same_v<std::remove_cvref_t<T>, ConstantData>)
  /*implicit*/ ConstantData(T value) : data(std::move(value)) {}
  static ConstantData tuple(std::vector<ConstantData> elements) {
    return ConstantTuple(
        std::make_shared<const std::vector<ConstantData>>(std::move(elements)));
  }

  bool isNone() const { return std::holds_alternative<std::monostate>(data); }
  bool isBool() const { return std::holds_alternative<bool>(data); }
  bool isInt() const { return std::holds_alternative<int64_t>(data); }
  bool isFloat() const {
    return std::holds_alternative<double>(data) || isLowest();
  }
  bool isLowest() const { return std::holds_alternative<Lowest>(data); }
  bool isString() const { return std::holds_alternative<std::string>(data); }
  bool isDType() const { return std::holds_alternative<DType>(data); }
  bool isTuple() const { return std::holds_alternative<ConstantTuple>(data); }
  bool isNumber() const { return isBool() || isInt() || isFloat(); }

  /// The integer, a bool as 0 or 1. Must be one of them.
  int64_t asInt() const;
  /// Any number as a double.
  double asFloat() const;
  const std::string &asString() const { return std::get<std::string>(data); }
  DType asDType() const { return std::get<DType>(data); }
  const std::vector<ConstantData> &asTuple() const {
    return *std::get<ConstantTuple>(data);
  }

  /// Python's truth value.
  bool isTrue() const;
  /// As Python's repr(): "128", "0.5", "'text'", "fp16".
  std::string str() const;
  /// "int", "float", "str", "dtype", ...: for messages.
  const char *getTypeName() const;

  bool operator==(const ConstantData &other) const;
};

/// A folded value, or what is wrong with the operation (a phrase for the user).
struct FoldResult {
  ConstantData value;
  std::string error;

  explicit operator bool() const { return error.empty(); }
};

FoldResult foldBinary(BinaryOperator op, const ConstantData &left,
                      const ConstantData &right);
FoldResult foldUnary(UnaryOperator op, const ConstantData &operand);
FoldResult foldCompare(CompareOperator op, const ConstantData &left,
                       const ConstantData &right);

/// "3000000000 does not fit in i32", "1000000.0 does not fit in fp16"; empty if
/// the number keeps its value, but for its last digits.
std::string findMisfit(const ConstantData &number, DType dtype);

/// math.<name>(arguments); `known` tells whether there is such a function.
bool isMathFunction(std::string_view name);
FoldResult foldMath(std::string_view name, std::span<const ConstantData> args);
/// math.pi, math.e, math.inf, math.nan, math.tau.
std::optional<double> getMathConstant(std::string_view name);

} // namespace tessera::frontend

#endif // TESSERA_COMPILER_FRONTEND_CONSTANTS_H
