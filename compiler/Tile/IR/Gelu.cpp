//===- Gelu.cpp - gelu as arith and math ops ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/IR/Gelu.h"

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
  // Minus infinity times 0 would be NaN, but the limit is 0.
  double lowest = wide ? std::numeric_limits<double>::lowest()
                       : std::numeric_limits<float>::lowest();
  Value bounded =
      arith::MaximumFOp::create(b, loc, x, constant(b, loc, x, lowest));
  Value half = arith::MulFOp::create(b, loc, bounded, constant(b, loc, x, 0.5));
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
