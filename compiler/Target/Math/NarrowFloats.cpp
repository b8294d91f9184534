//===- NarrowFloats.cpp - fp8 and bf16 by integer arithmetic --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/Math/NarrowFloats.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

#include <bit>
#include <cmath>

using namespace mlir;

namespace {

/// What there is to know of a format.
struct Format {
  int mantissa, bias;
  int32_t infinity; ///< bits from which on it is no number; 0x7f is NaN
  float largest;
};

Format formatOf(Type element) {
  if (isa<Float8E4M3FNType>(element))
    return {3, 7, 0x7f, 448.0f};
  return {2, 15, 0x7c, 57344.0f};
}

/// Scalar or vector arithmetic with constants.
struct Emitter {
  OpBuilder &builder;
  Location loc;
  Type like; // its shape

  Type typed(Type element) const {
    if (auto vector = dyn_cast<VectorType>(like))
      return vector.clone(element);
    return element;
  }
  Value constant(TypedAttr value) const {
    if (auto vector = dyn_cast<VectorType>(like))
      value = DenseElementsAttr::get(vector.clone(value.getType()),
                                     Attribute(value));
    return arith::ConstantOp::create(builder, loc, value);
  }
  Value number(int32_t value) const {
    return constant(builder.getI32IntegerAttr(value));
  }
  Value real(float value) const {
    return constant(builder.getF32FloatAttr(value));
  }
  Value bits(Value value) const {
    return arith::BitcastOp::create(builder, loc, typed(builder.getI32Type()),
                                    value);
  }
  Value asReal(Value value) const {
    return arith::BitcastOp::create(builder, loc, typed(builder.getF32Type()),
                                    value);
  }
  template <typename Op> Value op(Value a, Value b) const {
    return Op::create(builder, loc, a, b);
  }
  Value compare(arith::CmpIPredicate how, Value a, Value b) const {
    return arith::CmpIOp::create(builder, loc, how, a, b);
  }
  Value select(Value c, Value a, Value b) const {
    return arith::SelectOp::create(builder, loc, c, a, b);
  }
};

} // namespace

bool tessera::target::isFp8(Type element) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(element);
}

Value tessera::target::extendFp8(OpBuilder &builder, Location loc,
                                 Value value) {
  Emitter e{builder, loc, value.getType()};
  Format format = formatOf(getElementTypeOrSelf(value));
  Value bytes = arith::BitcastOp::create(builder, loc,
                                         e.typed(builder.getI8Type()), value);
  Value wide = arith::ExtUIOp::create(builder, loc,
                                      e.typed(builder.getI32Type()), bytes);
  Value size = e.op<arith::AndIOp>(wide, e.number(0x7f));
  Value sign = e.op<arith::ShLIOp>(e.op<arith::AndIOp>(wide, e.number(0x80)),
                                   e.number(24));
  Value small =
      e.asReal(e.op<arith::ShLIOp>(size, e.number(23 - format.mantissa)));
  Value real =
      e.op<arith::MulFOp>(small, e.real(std::ldexp(1.0f, 127 - format.bias)));
  // Not a number, or infinite: the exponent of an f32 says the same.
  Value special = e.number(0x7f800000);
  if (format.infinity == 0x7f)
    special = e.number(0x7fc00000);
  else
    special = e.op<arith::OrIOp>(
        special, e.op<arith::ShLIOp>(e.op<arith::AndIOp>(size, e.number(3)),
                                     e.number(21)));
  Value magnitude = e.select(
      e.compare(arith::CmpIPredicate::uge, size, e.number(format.infinity)),
      special, e.bits(real));
  return e.asReal(e.op<arith::OrIOp>(magnitude, sign));
}

Value tessera::target::truncateToFp8(OpBuilder &builder, Location loc,
                                     Value value, Type element) {
  Emitter e{builder, loc, value.getType()};
  Format format = formatOf(element);
  Value all = e.bits(value);
  Value size = e.op<arith::AndIOp>(all, e.number(0x7fffffff));
  Value sign = e.op<arith::ShRUIOp>(
      e.op<arith::AndIOp>(all, e.number(int32_t(0x80000000u))), e.number(24));
  Value isNaN =
      e.compare(arith::CmpIPredicate::ugt, size, e.number(0x7f800000));
  // Positive floats are ordered as their bits are.
  Value largest = e.number(std::bit_cast<int32_t>(format.largest));
  Value held = e.select(e.compare(arith::CmpIPredicate::ugt, size, largest),
                        largest, size);
  // Normal: half of the last place is added, a little less if that one is even.
  int drop = 23 - format.mantissa;
  Value odd = e.op<arith::AndIOp>(e.op<arith::ShRUIOp>(held, e.number(drop)),
                                  e.number(1));
  Value rounded = e.op<arith::ShRUIOp>(
      e.op<arith::AddIOp>(
          e.op<arith::AddIOp>(held, e.number((1 << (drop - 1)) - 1)), odd),
      e.number(drop));
  Value normal = e.op<arith::SubIOp>(
      rounded, e.number((127 - format.bias) << format.mantissa));
  // Subnormal: next to a number whose last place is the smallest fp8, the
  // addition rounds.
  float smallestNormal = std::ldexp(1.0f, 1 - format.bias);
  float magic = std::ldexp(1.0f, 24 - format.bias - format.mantissa);
  Value subnormal = e.op<arith::SubIOp>(
      e.bits(e.op<arith::AddFOp>(e.asReal(held), e.real(magic))),
      e.number(std::bit_cast<int32_t>(magic)));
  Value isSmall = e.compare(arith::CmpIPredicate::ult, held,
                            e.number(std::bit_cast<int32_t>(smallestNormal)));
  Value magnitude = e.select(isSmall, subnormal, normal);
  magnitude = e.select(isNaN, e.number(0x7f), magnitude);
  Value byte =
      arith::TruncIOp::create(builder, loc, e.typed(builder.getI8Type()),
                              e.op<arith::OrIOp>(magnitude, sign));
  return arith::BitcastOp::create(builder, loc, e.typed(element), byte);
}

Value tessera::target::roundToOdd(OpBuilder &builder, Location loc,
                                  Value value) {
  Emitter e{builder, loc, value.getType()};
  Value near = arith::TruncFOp::create(builder, loc,
                                       e.typed(builder.getF32Type()), value);
  Value back = arith::ExtFOp::create(builder, loc, value.getType(), near);
  auto compare = [&](arith::CmpFPredicate how, Value a, Value b) -> Value {
    return arith::CmpFOp::create(builder, loc, how, a, b);
  };
  Value isExact = compare(arith::CmpFPredicate::UEQ, back, value);
  Value isLarger = compare(arith::CmpFPredicate::OGT,
                           math::AbsFOp::create(builder, loc, back),
                           math::AbsFOp::create(builder, loc, value));
  Value all = e.bits(near);
  Value towardsZero =
      e.select(isLarger, e.op<arith::SubIOp>(all, e.number(1)), all);
  Value odd = e.op<arith::OrIOp>(towardsZero, e.number(1));
  return e.asReal(e.select(isExact, all, odd));
}

Value tessera::target::convertForBf16(OpBuilder &builder, Location loc,
                                      Value integer) {
  Emitter e{builder, loc, integer.getType()};
  Type type = getElementTypeOrSelf(integer);
  unsigned width = type.getIntOrFloatBitWidth();
  bool isLong = width > 32;
  Type real = isLong ? builder.getF64Type() : builder.getF32Type();
  if (width >= 32) {
    // Bits that the float lacks are cut off, and the last one kept says so
    // (round to odd): far below bf16's, it decides between its neighbours.
    int digits = isLong ? 53 : 24, drop = int(width) - digits;
    auto number = [&](int64_t value) {
      return e.constant(builder.getIntegerAttr(type, value));
    };
    int64_t exact = int64_t(1) << digits, last = int64_t(1) << drop;
    Value isExact = e.compare(arith::CmpIPredicate::ult,
                              e.op<arith::AddIOp>(integer, number(exact)),
                              number(2 * exact));
    Value rest = e.op<arith::AndIOp>(integer, number(last - 1));
    Value isCut = e.compare(arith::CmpIPredicate::ne, rest, number(0));
    Value sticky = e.select(isCut, number(last), number(0));
    Value odd = e.op<arith::OrIOp>(e.op<arith::SubIOp>(integer, rest), sticky);
    integer = e.select(isExact, integer, odd);
  }
  Value result = arith::SIToFPOp::create(builder, loc, e.typed(real), integer);
  return isLong ? roundToOdd(builder, loc, result) : result;
}
