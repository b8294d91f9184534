//===- Activations.cpp - gelu, sigmoid, silu as ops of arith --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/IR/Activations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

#include <limits>
#include <numbers>

using namespace mlir;

/// A constant in the type of `like`, everywhere.
static Value constant(OpBuilder &builder, Location loc, Value like,
                      double number) {
  TypedAttr attribute =
      builder.getFloatAttr(getElementTypeOrSelf(like), number);
  if (auto tile = dyn_cast<RankedTensorType>(like.getType()))
    attribute = DenseElementsAttr::get(tile, Attribute(attribute));
  return arith::ConstantOp::create(builder, loc, attribute);
}

/// x, but not minus infinity: that times 0 would be NaN where the limit is 0.
static Value bounded(OpBuilder &b, Location loc, Value x) {
  double lowest = getElementTypeOrSelf(x).isF64()
                      ? std::numeric_limits<double>::lowest()
                      : std::numeric_limits<float>::lowest();
  return arith::MaximumFOp::create(b, loc, x, constant(b, loc, x, lowest));
}

/// x erfc(t) / 2 with t = -x / sqrt 2. What rounding t dropped, `low`, changes
/// erfc by about -2 t low erfc where t is large.
Value tessera::tile::createGelu(OpBuilder &b, Location loc, Value x,
                                bool isNear) {
  bool wide = getElementTypeOrSelf(x).isF64();
  double root =
      wide ? std::numbers::sqrt2 / 2 : double(float(std::numbers::sqrt2 / 2));
  // sqrt(1/2) less its first 53 bits.
  double rest = wide ? -4.833646656726457e-17
                     : std::numbers::sqrt2 / 2 - double(float(root));
  Value scale = constant(b, loc, x, -root);
  Value t = arith::MulFOp::create(b, loc, x, scale);
  Value half = arith::MulFOp::create(b, loc, bounded(b, loc, x),
                                     constant(b, loc, x, 0.5));
  if (isNear) {
    Value erfc = math::ErfcOp::create(b, loc, t, arith::FastMathFlags::afn);
    return arith::MulFOp::create(b, loc, half, erfc);
  }
  Value low =
      math::FmaOp::create(b, loc, x, scale, arith::NegFOp::create(b, loc, t));
  low = math::FmaOp::create(b, loc, x, constant(b, loc, x, -rest), low);
  Value slope = arith::MaximumFOp::create(b, loc, t, constant(b, loc, x, 0));
  // Infinity times 0 where erfc is 0 anyway.
  slope = arith::MinimumFOp::create(b, loc, slope, constant(b, loc, x, 64));
  slope = arith::MulFOp::create(b, loc, slope, constant(b, loc, x, -2));
  Value erfc = math::ErfcOp::create(b, loc, t);
  Value finite = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT,
                                       math::AbsFOp::create(b, loc, low),
                                       constant(b, loc, x, 1));
  low = arith::SelectOp::create(b, loc, finite, low, constant(b, loc, x, 0));
  Value factor =
      math::FmaOp::create(b, loc, slope, low, constant(b, loc, x, 1));
  return arith::MulFOp::create(b, loc, half,
                               arith::MulFOp::create(b, loc, erfc, factor));
}

/// 1 / (1 + e) for e from 0 to 1, to 18 bits: d = -(1 + e), a polynomial in d
/// for the reciprocal (1 + d p(d) is T4(-2 d - 3) / T4(3), at most 1 / 577) and
/// one step of Newton's.
static Value nearReciprocal(OpBuilder &b, Location loc, Value e) {
  auto number = [&](double value) { return constant(b, loc, e, value); };
  auto fma = [&](Value x, Value y, Value z) {
    return math::FmaOp::create(b, loc, x, y, z);
  };
  Value d = arith::SubFOp::create(b, loc, number(-1), e);
  Value p = fma(d, number(128.0 / 577), number(768.0 / 577));
  p = fma(d, p, number(1696.0 / 577));
  p = fma(d, p, number(1632.0 / 577));
  return arith::MulFOp::create(b, loc, p, fma(d, p, number(2)));
}

/// e = exp(-|x|); x >= 0: 1 / (1 + e), else e / (1 + e). Nothing overflows.
Value tessera::tile::createSigmoid(OpBuilder &b, Location loc, Value x,
                                   bool isNear) {
  Value size = math::AbsFOp::create(b, loc, x), e;
  Value one = constant(b, loc, x, 1);
  if (isNear) {
    Value scale = constant(b, loc, x, -std::numbers::log2e);
    e = math::Exp2Op::create(b, loc, arith::MulFOp::create(b, loc, size, scale),
                             arith::FastMathFlags::afn);
  } else {
    e = math::ExpOp::create(b, loc, arith::NegFOp::create(b, loc, size));
  }
  Value positive = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGE, x,
                                         constant(b, loc, x, 0));
  // NaN compares false and stays NaN through e.
  Value top = arith::SelectOp::create(b, loc, positive, one, e);
  if (isNear)
    return arith::MulFOp::create(b, loc, top, nearReciprocal(b, loc, e));
  return arith::DivFOp::create(b, loc, top,
                               arith::AddFOp::create(b, loc, one, e));
}

Value tessera::tile::createSilu(OpBuilder &b, Location loc, Value x,
                                bool isNear) {
  return arith::MulFOp::create(b, loc, bounded(b, loc, x),
                               createSigmoid(b, loc, x, isNear));
}
