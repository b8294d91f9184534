//===- TensorOpsScalars.cpp - Numbers of a function, which never wrap -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plan computes the ints that a call gives, and ends the call where one
// overflows. What it has no operation for is made of those it has.
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/TensorOps.h"

using namespace mlir;

namespace tessera::frontend {

/// An int that the call gives must fit where one that is written must.
void TensorOps::checkFits(const SemaValue &number, const std::string &name,
                          DType dtype, Location location) {
  if (!number.isScalar() || !number.weak || number.dtype != DType::I64 ||
      !isInteger(dtype) || dtype == DType::I64)
    return;
  int64_t limit = int64_t(1) << (getDTypeBits(dtype) - 1);
  Type type = number.ssa.getType();
  mlir::Value nearest = emit("gir.maximum", location, type,
                             {number.ssa, constant(location, -limit)});
  nearest = emit("gir.minimum", location, type,
                 {nearest, constant(location, limit - 1)});
  checkEqual(number.ssa, nearest,
             escapeBraces(name) + " is {lhs}, which does not fit in " +
                 getDTypeName(dtype),
             location);
}

/// The plan divides scalars: by 0 is an error there, which is to name the line.
LogicalResult TensorOps::checkDivisor(llvm::ArrayRef<SemaValue> operands,
                                      const std::string &divisor,
                                      const OpSite &site) {
  if (operands[0].isTensor() || operands[1].isTensor() ||
      operands[1].isConstant() ||
      isFloat(operands[1].getPromotionOperand().dtype))
    return success();
  ValueResult holds = compare(CompareOperator::NotEq, operands[1],
                              SemaValue::makeConstant(int64_t(0)), site);
  if (failed(holds))
    return failure();
  graph::CheckOp::create(context.builder, loc(site), holds->ssa,
                         placeText(loc(site)) + "division by zero: " + divisor +
                             " is 0");
  return success();
}

bool TensorOps::areInts(llvm::ArrayRef<SemaValue> numbers) {
  return llvm::all_of(numbers, [](const SemaValue &number) {
    return !number.isTensor() && number.isNumber() &&
           isInteger(number.getPromotionOperand().dtype);
  });
}

/// By squaring. No factor is computed that the exponent does not ask for, so
/// that only a result that is too large overflows.
ValueResult TensorOps::powerOfInts(const SemaValue &base,
                                   const SemaValue &exponent,
                                   const std::string &name,
                                   const OpSite &site) {
  constexpr int64_t mostBits = 6;
  Location location = loc(site);
  Type type = graph::DimOp::sizeType(context.getContext());
  auto number = [&](int64_t value) { return constant(location, value); };
  auto apply = [&](const char *op, mlir::Value a, mlir::Value b) {
    return emit(op, location, type, {a, b});
  };
  mlir::Value power = convert(base, DType::I64, location),
              rest = convert(exponent, DType::I64, location);
  mlir::Value nearest = apply("gir.minimum", rest, number((1 << mostBits) - 1));
  nearest = apply("gir.maximum", nearest, number(0));
  if (std::optional<int64_t> known = exponent.getConstantInt();
      !known || *known < 0 || *known >> mostBits)
    checkEqual(rest, nearest,
               escapeBraces(name) +
                   " is {lhs}, but an exponent or a count of bits is 0 to 63",
               location);
  mlir::Value result = number(1), one = number(1), two = number(2);
  mlir::Type boolean = RankedTensorType::get({}, context.builder.getI1Type());
  auto choose = [&](graph::CompareKind how, mlir::Value a, mlir::Value b,
                    mlir::Value yes, mlir::Value no) -> mlir::Value {
    mlir::Value holds =
        graph::CompareOp::create(context.builder, location, boolean, how, a, b);
    return graph::SelectOp::create(context.builder, location, type, holds, yes,
                                   no);
  };
  std::optional<int64_t> known = exponent.getConstantInt();
  for (int64_t bit = 0; bit < mostBits; ++bit) {
    if (known && *known >> bit == 0)
      break;
    if (bit) {
      // Its square, unless nothing asks for it.
      mlir::Value used = known ? power
                               : choose(graph::CompareKind::Ge, rest,
                                        number(1 << bit), power, one);
      power = apply("gir.mul", used, used);
    }
    if (known) {
      if (*known >> bit & 1)
        result = apply("gir.mul", result, power);
      continue;
    }
    mlir::Value digit =
        apply("gir.mod", apply("gir.floordiv", rest, number(1 << bit)), two);
    result = apply("gir.mul", result,
                   choose(graph::CompareKind::Eq, digit, one, power, one));
  }
  return SemaValue::makeScalar(result, DType::I64, true);
}

} // namespace tessera::frontend
