//===- TileOpsDivide.cpp - // % ** << >> as Python has them ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The machine's versions trap, round towards zero or depend on the count's low
// bits. These are defined for all operands, as NumPy's are.
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/TileOps.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tessera::frontend {

/// Whether an int is known to be neither 0 nor -1, by which division traps.
static bool isSafeDivisor(mlir::Value value) {
  llvm::APInt number;
  return matchPattern(value, m_ConstantInt(&number)) && !number.isZero() &&
         !number.isAllOnes();
}

/// Whether an int is a size, or a number that could be one.
static bool isSize(mlir::Value value) {
  llvm::APInt number;
  return matchPattern(value, m_ConstantInt(&number))
             ? !number.isNegative()
             : value.getDefiningOp<tile::DimOp>() != nullptr;
}

mlir::Value TileOps::emitFloorDiv(DType dtype, mlir::Value left,
                                  mlir::Value right, Location at) {
  OpBuilder &b = builder();
  if (isFloat(dtype)) {
    // (a - rest) / b is near an integer: that one, or the one below it where
    // the rest has the other sign. As NumPy: a // inf is 0 or -1, and a
    // quotient by 0 is a / b.
    using P = arith::CmpFPredicate;
    auto compare = [&](P how, mlir::Value x, mlir::Value y) -> mlir::Value {
      return arith::CmpFOp::create(b, at, how, x, y);
    };
    auto number = [&](double value) {
      return makeConstant(ConstantData(value), dtype, left.getType(), at);
    };
    mlir::Value zero = number(0);
    mlir::Value rest = arith::RemFOp::create(b, at, left, right);
    mlir::Value whole = arith::SubFOp::create(b, at, left, rest);
    mlir::Value quotient = arith::DivFOp::create(b, at, whole, right);
    mlir::Value differ = arith::XOrIOp::create(
        b, at, compare(P::OLT, rest, zero), compare(P::OLT, right, zero));
    differ = arith::AndIOp::create(b, at, differ, compare(P::UNE, rest, zero));
    mlir::Value below = arith::SubFOp::create(b, at, quotient, number(1));
    quotient = arith::SelectOp::create(b, at, differ, below, quotient);
    quotient = math::RoundEvenOp::create(b, at, quotient);
    // A quotient of 0 has the sign of a / b.
    mlir::Value plain = arith::DivFOp::create(b, at, left, right);
    mlir::Value signedZero = math::CopySignOp::create(b, at, zero, plain);
    quotient = arith::SelectOp::create(b, at, compare(P::OEQ, quotient, zero),
                                       signedZero, quotient);
    return arith::SelectOp::create(b, at, compare(P::OEQ, right, zero), plain,
                                   quotient);
  }
  if (isSafeDivisor(right))
    return arith::FloorDivSIOp::create(b, at, left, right);
  // As NumPy: by 0 gives 0, and nothing traps.
  auto number = [&](int64_t value) {
    return makeConstant(ConstantData(value), dtype, left.getType(), at);
  };
  using P = arith::CmpIPredicate;
  mlir::Value byZero = arith::CmpIOp::create(b, at, P::eq, right, number(0));
  mlir::Value byMinus = arith::CmpIOp::create(b, at, P::eq, right, number(-1));
  mlir::Value special = arith::OrIOp::create(b, at, byZero, byMinus);
  mlir::Value safe = arith::SelectOp::create(b, at, special, number(1), right);
  mlir::Value quotient = arith::FloorDivSIOp::create(b, at, left, safe);
  mlir::Value negated = arith::SubIOp::create(b, at, number(0), left);
  quotient = arith::SelectOp::create(b, at, byMinus, negated, quotient);
  return arith::SelectOp::create(b, at, byZero, number(0), quotient);
}

mlir::Value TileOps::emitMod(DType dtype, mlir::Value left, mlir::Value right,
                             Location location) {
  OpBuilder &b = builder();
  auto number = [&](int64_t value) {
    return makeConstant(ConstantData(value), dtype, left.getType(), location);
  };
  mlir::Value zero = number(0), remainder, isZero, signs, shifted;
  if (isFloat(dtype)) {
    remainder = arith::RemFOp::create(b, location, left, right);
    isZero = arith::CmpFOp::create(b, location, arith::CmpFPredicate::OEQ,
                                   remainder, zero);
    mlir::Value negative = arith::CmpFOp::create(
        b, location, arith::CmpFPredicate::OLT, remainder, zero);
    mlir::Value divisor = arith::CmpFOp::create(
        b, location, arith::CmpFPredicate::OLT, right, zero);
    signs = arith::XOrIOp::create(b, location, negative, divisor);
    shifted = arith::AddFOp::create(b, location, remainder, right);
    // A remainder of 0 has the divisor's sign, too.
    zero = math::CopySignOp::create(b, location, zero, right);
  } else {
    // Before the grid the plan computes it, and has no signs to compare.
    if (!insideGrid && isSize(left) && isSize(right))
      return arith::RemUIOp::create(
          b, location, left,
          arith::MaxUIOp::create(b, location, right, number(1)));
    if (!isSafeDivisor(right)) {
      using P = arith::CmpIPredicate;
      mlir::Value special = arith::OrIOp::create(
          b, location, arith::CmpIOp::create(b, location, P::eq, right, zero),
          arith::CmpIOp::create(b, location, P::eq, right, number(-1)));
      right = arith::SelectOp::create(b, location, special, number(1), right);
    }
    remainder = arith::RemSIOp::create(b, location, left, right);
    isZero = arith::CmpIOp::create(b, location, arith::CmpIPredicate::eq,
                                   remainder, zero);
    mlir::Value mixed = arith::XOrIOp::create(b, location, remainder, right);
    signs = arith::CmpIOp::create(b, location, arith::CmpIPredicate::slt, mixed,
                                  zero);
    shifted = arith::AddIOp::create(b, location, remainder, right);
  }
  // Python's remainder has the divisor's sign.
  mlir::Value kept =
      arith::SelectOp::create(b, location, signs, shifted, remainder);
  return arith::SelectOp::create(b, location, isZero, zero, kept);
}

/// Of ints. What is left over counts as one; by 0 gives 0, as // does.
mlir::Value TileOps::emitCeilDiv(DType dtype, mlir::Value left,
                                 mlir::Value right, Location at) {
  OpBuilder &b = builder();
  if (isSafeDivisor(right))
    return arith::CeilDivSIOp::create(b, at, left, right);
  auto number = [&](int64_t value) {
    return makeConstant(ConstantData(value), dtype, left.getType(), at);
  };
  mlir::Value quotient = emitFloorDiv(dtype, left, right, at);
  mlir::Value rest = emitMod(dtype, left, right, at);
  mlir::Value isWhole =
      arith::CmpIOp::create(b, at, arith::CmpIPredicate::eq, rest, number(0));
  mlir::Value above = arith::AddIOp::create(b, at, quotient, number(1));
  return arith::SelectOp::create(b, at, isWhole, quotient, above);
}

/// By squaring. Where the exponent is negative, 1 / base^-exponent towards
/// zero: 0, unless the base is 1 or -1, for which the turns are right.
mlir::Value TileOps::emitIntPower(mlir::Value base, mlir::Value exponent,
                                  Location at) {
  OpBuilder &b = builder();
  Type element = getElementTypeOrSelf(base);
  DType dtype = element.isInteger(32) ? DType::I32 : DType::I64;
  auto number = [&](int64_t n) {
    return makeConstant(ConstantData(n), dtype, base.getType(), at);
  };
  llvm::APInt known;
  if (matchPattern(exponent, m_ConstantInt(&known)) && !known.isNegative()) {
    mlir::Value result;
    for (uint64_t left = known.getZExtValue(); left; left >>= 1) {
      if (left & 1)
        result = result ? arith::MulIOp::create(b, at, result, base) : base;
      if (left > 1)
        base = arith::MulIOp::create(b, at, base, base);
    }
    return result ? result : number(1);
  }
  // One turn per bit of the exponent but the sign.
  mlir::Value one = number(1), zero = number(0);
  auto loop = scf::ForOp::create(
      b, at, arith::ConstantIndexOp::create(b, at, 0),
      arith::ConstantIndexOp::create(b, at,
                                     element.getIntOrFloatBitWidth() - 1),
      arith::ConstantIndexOp::create(b, at, 1), ValueRange{one, base, exponent},
      [&](OpBuilder &b, Location at, mlir::Value, ValueRange carried) {
        mlir::Value low = arith::AndIOp::create(b, at, carried[2], one);
        mlir::Value odd =
            arith::CmpIOp::create(b, at, arith::CmpIPredicate::ne, low, zero);
        mlir::Value more = arith::MulIOp::create(b, at, carried[0], carried[1]);
        mlir::Value next[] = {
            arith::SelectOp::create(b, at, odd, more, carried[0]),
            arith::MulIOp::create(b, at, carried[1], carried[1]),
            arith::ShRSIOp::create(b, at, carried[2], one)};
        scf::YieldOp::create(b, at, next);
      });
  auto compare = [&](arith::CmpIPredicate how, mlir::Value x,
                     mlir::Value y) -> mlir::Value {
    return arith::CmpIOp::create(b, at, how, x, y);
  };
  mlir::Value far = arith::AndIOp::create(
      b, at, compare(arith::CmpIPredicate::ne, base, one),
      compare(arith::CmpIPredicate::ne, base, number(-1)));
  mlir::Value vanishes = arith::AndIOp::create(
      b, at, far, compare(arith::CmpIPredicate::slt, exponent, zero));
  return arith::SelectOp::create(b, at, vanishes, zero, loop.getResult(0));
}

mlir::Value TileOps::emitShift(bool left, DType dtype, mlir::Value value,
                               mlir::Value count, Location at) {
  OpBuilder &b = builder();
  auto number = [&](int64_t n) {
    return makeConstant(ConstantData(n), dtype, value.getType(), at);
  };
  llvm::APInt known;
  int64_t bits = getDTypeBits(dtype);
  bool safe =
      matchPattern(count, m_ConstantInt(&known)) && known.ult(uint64_t(bits));
  // A count of the width or more shifts everything out; as unsigned, negative
  // counts are such.
  mlir::Value far =
      safe ? mlir::Value()
           : arith::CmpIOp::create(b, at, arith::CmpIPredicate::uge, count,
                                   number(bits));
  if (!safe)
    count =
        arith::SelectOp::create(b, at, far, number(left ? 0 : bits - 1), count);
  if (!left)
    return arith::ShRSIOp::create(b, at, value, count);
  mlir::Value shifted = arith::ShLIOp::create(b, at, value, count);
  return safe ? shifted
              : arith::SelectOp::create(b, at, far, number(0), shifted);
}

} // namespace tessera::frontend
