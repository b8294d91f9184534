//===- TileOps.cpp - Tiles: conversion, alignment, operators --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/TileOps.h"

#include "compiler/Frontend/NarrowTypes.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;

namespace tessera::frontend {

std::unique_ptr<OpLibrary> createTileOps(SemaContext &context) {
  return std::make_unique<TileOps>(context);
}

KernelState &getKernelState(OpLibrary &library) {
  return static_cast<TileOps &>(library);
}

//===----------------------------------------------------------------------===//
// Types and conversion
//===----------------------------------------------------------------------===//

Type TileOps::getType(DType dtype, llvm::ArrayRef<Axis *> axes) {
  if (axes.empty())
    return dtype == DType::I64 ? Type(builder().getIndexType())
                               : getStorageType(context.getContext(), dtype);
  SmallVector<int64_t> shape;
  for (Axis *axis : axes)
    shape.push_back(axis->size);
  return RankedTensorType::get(shape,
                               getStorageType(context.getContext(), dtype));
}

/// `element` in the shape of `like`.
static Type withElement(Type like, Type element) {
  if (auto tensor = dyn_cast<RankedTensorType>(like))
    return RankedTensorType::get(tensor.getShape(), element);
  return element;
}

/// A splat or scalar constant of a storage type.
static mlir::Value makeSplat(OpBuilder &builder, Type type, TypedAttr element,
                             Location location) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return arith::ConstantOp::create(
        builder, location,
        DenseElementsAttr::get(tensor, mlir::Attribute(element)));
  return arith::ConstantOp::create(builder, location, element);
}

TypedAttr TileOps::makeElement(const ConstantData &data, Type type) {
  OpBuilder &builder = context.builder;
  if (auto floating = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floating.getFloatSemantics();
    if (data.isLowest())
      return builder.getFloatAttr(
          type, llvm::APFloat::getLargest(semantics, /*Negative=*/true));
    llvm::APFloat value(data.isFloat() ? data.asFloat() : double(data.asInt()));
    bool inexact = false;
    value.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &inexact);
    return builder.getFloatAttr(type, value);
  }
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  int64_t value = 0;
  if (data.isLowest())
    value = width == 64 ? std::numeric_limits<int64_t>::min()
                        : -(int64_t(1) << (width - 1));
  else
    value = data.isFloat() ? int64_t(data.asFloat()) : data.asInt();
  if (width == 1)
    return builder.getIntegerAttr(type, data.isTrue());
  return builder.getIntegerAttr(type, value);
}

mlir::Value TileOps::makeConstant(const ConstantData &data, DType dtype,
                                  Type type, Location location) {
  return makeSplat(builder(), type,
                   makeElement(data, getElementTypeOrSelf(type)), location);
}

/// To an int toward zero; out of range saturates, NaN is 0.
mlir::Value TileOps::saturateToInt(mlir::Value value, DType to,
                                   Location location) {
  OpBuilder &b = builder();
  Type source = value.getType();
  Type element = getElementTypeOrSelf(source);
  Type target = withElement(source, getStorageType(b.getContext(), to));
  Type targetElement = getElementTypeOrSelf(target);
  unsigned bits = getDTypeBits(to);
  // fp16 has no 2^31; there everything finite is in range.
  auto limit = [&](bool negative) {
    llvm::APFloat bound(negative ? -std::ldexp(1.0, bits - 1)
                                 : std::ldexp(1.0, bits - 1));
    bool inexact = false;
    bound.convert(cast<FloatType>(element).getFloatSemantics(),
                  llvm::APFloat::rmTowardZero, &inexact);
    if (bound.isInfinity() || inexact)
      bound = llvm::APFloat::getInf(
          cast<FloatType>(element).getFloatSemantics(), negative);
    return makeSplat(b, source, b.getFloatAttr(element, bound), location);
  };
  mlir::Value low = limit(true), high = limit(false);
  mlir::Value tooLow, tooHigh = arith::CmpFOp::create(
                          b, location, arith::CmpFPredicate::OGE, value, high);
  tooLow =
      arith::CmpFOp::create(b, location, arith::CmpFPredicate::OLE, value, low);
  mlir::Value isNan = arith::CmpFOp::create(
      b, location, arith::CmpFPredicate::UNO, value, value);
  mlir::Value outside = arith::OrIOp::create(
      b, location, arith::OrIOp::create(b, location, tooLow, tooHigh), isNan);
  mlir::Value zero =
      makeSplat(b, source, b.getFloatAttr(element, 0.0), location);
  mlir::Value safe = arith::SelectOp::create(b, location, outside, zero, value);
  mlir::Value result = arith::FPToSIOp::create(b, location, target, safe);
  mlir::Value maximum = makeSplat(
      b, target,
      b.getIntegerAttr(targetElement, llvm::APInt::getSignedMaxValue(bits)),
      location);
  mlir::Value minimum = makeSplat(
      b, target,
      b.getIntegerAttr(targetElement, llvm::APInt::getSignedMinValue(bits)),
      location);
  result = arith::SelectOp::create(b, location, tooHigh, maximum, result);
  return arith::SelectOp::create(b, location, tooLow, minimum, result);
}

/// fp64 as fp32 whose last bit says that something was cut off: what is made of
/// it is then rounded once. (Boldo and Melquiond, 2005)
mlir::Value TileOps::roundToOdd(mlir::Value value, Location at) {
  OpBuilder &b = builder();
  Type wide = value.getType();
  Type narrow = withElement(wide, b.getF32Type());
  Type bitsType = withElement(wide, b.getI32Type());
  mlir::Value near = arith::TruncFOp::create(b, at, narrow, value);
  mlir::Value back = arith::ExtFOp::create(b, at, wide, near);
  mlir::Value isCut =
      arith::CmpFOp::create(b, at, arith::CmpFPredicate::UNE, back, value);
  mlir::Value isLarger = arith::CmpFOp::create(
      b, at, arith::CmpFPredicate::OGT, math::AbsFOp::create(b, at, back),
      math::AbsFOp::create(b, at, value));
  mlir::Value bits = arith::BitcastOp::create(b, at, bitsType, near);
  mlir::Value towardsZero = arith::SubIOp::create(
      b, at, bits, arith::ExtUIOp::create(b, at, bitsType, isLarger));
  mlir::Value one =
      makeConstant(ConstantData(int64_t(1)), DType::I32, bitsType, at);
  mlir::Value odd = arith::OrIOp::create(b, at, towardsZero, one);
  bits = arith::SelectOp::create(b, at, isCut, odd, bits);
  return arith::BitcastOp::create(b, at, narrow, bits);
}

mlir::Value TileOps::castElements(mlir::Value value, DType from, DType to,
                                  Location location) {
  OpBuilder &b = builder();
  bool scalar = !isa<RankedTensorType>(value.getType());
  Type i64 = b.getI64Type();
  // i64 scalars may be index; conversions are between storage types.
  if (value.getType().isIndex() && to != DType::I64) {
    value = arith::IndexCastOp::create(b, location, i64, value);
  } else if (value.getType().isIndex()) {
    return value;
  }
  Type target =
      withElement(value.getType(), getStorageType(b.getContext(), to));
  // fp8 is made of fp32: ints that it holds are exact there.
  bool isNarrow = isStorageOnly(to) && isFloat(to);
  if (isNarrow && from == DType::FP64)
    return castElements(roundToOdd(value, location), DType::FP32, to, location);
  if (isNarrow && !isFloat(from))
    return castElements(castElements(value, from, DType::FP32, location),
                        DType::FP32, to, location);
  if (from != to) {
    if (to == DType::Bool) {
      mlir::Value zero = makeConstant(ConstantData(int64_t(0)), from,
                                      value.getType(), location);
      if (isFloat(from))
        return arith::CmpFOp::create(b, location, arith::CmpFPredicate::UNE,
                                     value, zero);
      return arith::CmpIOp::create(b, location, arith::CmpIPredicate::ne, value,
                                   zero);
    }
    if (isFloat(from) && isFloat(to)) {
      unsigned fromBits = getDTypeBits(from), toBits = getDTypeBits(to);
      if (isStorageOnly(to)) { // fp8 saturates
        auto element = cast<FloatType>(getStorageType(b.getContext(), to));
        double most = llvm::APFloat::getLargest(element.getFloatSemantics())
                          .convertToDouble();
        for (double bound : {most, -most}) {
          mlir::Value limit = makeConstant(ConstantData(bound), from,
                                           value.getType(), location);
          value = bound > 0
                      ? mlir::Value(arith::MinimumFOp::create(b, location,
                                                              value, limit))
                      : mlir::Value(arith::MaximumFOp::create(b, location,
                                                              value, limit));
        }
        value = arith::TruncFOp::create(b, location, target, value);
      } else if (fromBits == toBits) { // fp16 and bf16
        Type wide = withElement(value.getType(), b.getF32Type());
        value = arith::ExtFOp::create(b, location, wide, value);
        value = arith::TruncFOp::create(b, location, target, value);
      } else if (fromBits < toBits) {
        value = arith::ExtFOp::create(b, location, target, value);
      } else {
        value = arith::TruncFOp::create(b, location, target, value);
      }
    } else if (isFloat(to)) {
      value =
          from == DType::Bool
              ? mlir::Value(arith::UIToFPOp::create(b, location, target, value))
              : mlir::Value(
                    arith::SIToFPOp::create(b, location, target, value));
    } else if (isFloat(from)) {
      value = saturateToInt(value, to, location);
    } else if (from == DType::Bool) {
      value = arith::ExtUIOp::create(b, location, target, value);
    } else if (getDTypeBits(from) < getDTypeBits(to)) {
      value = arith::ExtSIOp::create(b, location, target, value);
    } else {
      value = arith::TruncIOp::create(b, location, target, value);
    }
  }
  if (scalar && to == DType::I64)
    value = arith::IndexCastOp::create(b, location, b.getIndexType(), value);
  return value;
}

mlir::Value TileOps::makeScalar(const SemaValue &value, DType dtype,
                                Location location) {
  if (value.isConstant())
    return makeConstant(value.constant, dtype, getType(dtype, {}), location);
  if (value.kind == ValueKind::Dim) {
    ValueResult size = context.decay(value, value.origin);
    if (failed(size))
      return nullptr;
    return makeScalar(*size, dtype, location);
  }
  return castElements(value.ssa, value.dtype, dtype, location);
}

mlir::Value TileOps::makeFitting(const SemaValue &value, DType dtype,
                                 Location location) {
  if (isInteger(dtype) && !value.isConstant())
    checkFits(value, makeScalar(value, DType::I64, location), dtype, location);
  return makeScalar(value, dtype, location);
}

mlir::Value TileOps::makeDimSize(Dim &dim, Location location) {
  return tile::DimOp::create(builder(), location, builder().getIndexType(),
                             dim.source, builder().getI64IntegerAttr(dim.axis));
}

ValueResult TileOps::convert(const SemaValue &value, DType dtype,
                             Location location) {
  SemaValue result = value;
  if (value.isTile())
    result.ssa = castElements(value.ssa, value.dtype, dtype, location);
  else
    result = SemaValue::makeScalar(makeScalar(value, dtype, location), dtype);
  result.dtype = dtype;
  result.weak = false;
  result.name.clear();
  return result;
}

//===----------------------------------------------------------------------===//
// Alignment
//===----------------------------------------------------------------------===//

std::string TileOps::nameOf(const SemaValue &value, const Expr *expr) {
  if (expr)
    return describeOperand(context, expr);
  return value.name.empty() ? "it" : value.name;
}

/// Where axis `index` of a tile stands if it was written with `None`s ("x1").
static int getWrittenPosition(const SemaValue &value, size_t index) {
  int position = 0;
  for (char c : value.text) {
    if (c == 'x' && index-- == 0)
      return position;
    ++position;
  }
  return -1;
}

FailureOr<TileOps::Alignment>
TileOps::align(llvm::ArrayRef<const SemaValue *> operands, const OpSite &site) {
  Alignment result;
  const SemaValue *widest = nullptr;
  for (const SemaValue *operand : operands)
    if (operand->isTile() &&
        (!widest || operand->axes.size() > widest->axes.size()))
      widest = operand;
  if (!widest)
    return result;
  auto add = [&](const SemaValue &operand) {
    for (auto [axis, complete] : llvm::zip(operand.axes, operand.complete)) {
      auto *found = llvm::find(result.axes, axis);
      if (found == result.axes.end()) {
        result.axes.push_back(axis);
        result.complete.push_back(complete);
      } else {
        result.complete[found - result.axes.begin()] &= complete;
      }
    }
  };
  add(*widest);
  for (const SemaValue *operand : operands)
    if (operand != widest && operand->isTile())
      add(*operand);
  // x[:, None] - x[None, :] is an outer difference in NumPy; here both sides
  // have the one axis, so it would silently be element-wise.
  for (size_t i = 0; i + 1 < operands.size(); ++i) {
    const SemaValue &a = *operands[i], &b = *operands[i + 1];
    if (!a.isTile() || !b.isTile() || a.text.empty() || b.text.empty())
      continue;
    for (auto [p, axis] : llvm::enumerate(a.axes)) {
      auto *found = llvm::find(b.axes, axis);
      if (found == b.axes.end() ||
          getWrittenPosition(a, p) ==
              getWrittenPosition(b, found - b.axes.begin()))
        continue;
      context
          .error(site.range, "both sides have the axis " + axis->name +
                                 ", so this is element by element, not every "
                                 "one with every other")
          .addNote(axis->where, "the axis " + axis->name)
          .setFix(axis->name + "2 = " + axis->name +
                  ".copy(), and load one side with " + axis->name + "2");
      return failure();
    }
  }
  return result;
}

mlir::Value TileOps::getRange(Axis *axis, bool complete, Location location) {
  if (axis->complete || !complete)
    return axis->range;
  OpBuilder &b = builder();
  mlir::Value start = arith::ConstantIndexOp::create(b, location, 0);
  mlir::Value extent = arith::ConstantIndexOp::create(b, location, axis->size);
  return tile::RangeAtOp::create(
      b, location, tile::RangeType::get(b.getContext(), axis->size), start,
      extent);
}

mlir::Value TileOps::spread(const SemaValue &value, DType dtype,
                            const Alignment &alignment, Location location) {
  OpBuilder &b = builder();
  Type type = getType(dtype, alignment.axes);
  if (value.isConstant())
    return makeConstant(value.constant, dtype, type, location);
  if (!value.isTile()) {
    mlir::Value scalar = makeFitting(value, dtype, location);
    if (alignment.axes.empty())
      return scalar;
    if (scalar.getType().isIndex())
      scalar = arith::IndexCastOp::create(b, location, b.getI64Type(), scalar);
    SmallVector<mlir::Value> ranges;
    for (auto [axis, complete] : llvm::zip(alignment.axes, alignment.complete))
      ranges.push_back(getRange(axis, complete, location));
    return tile::FillOp::create(b, location, type, scalar, ranges);
  }
  // Converted before it is repeated: fewer elements.
  mlir::Value result = castElements(value.ssa, value.dtype, dtype, location);
  // The axes it has, in the order of the result.
  SmallVector<int64_t> permutation, positions;
  SmallVector<Axis *> ordered;
  for (auto [position, axis] : llvm::enumerate(alignment.axes)) {
    auto *found = llvm::find(value.axes, axis);
    if (found == value.axes.end())
      continue;
    permutation.push_back(found - value.axes.begin());
    positions.push_back(position);
    ordered.push_back(axis);
  }
  if (!llvm::is_sorted(permutation))
    result = tile::TransposeOp::create(b, location, getType(dtype, ordered),
                                       result, permutation);
  if (ordered.size() == alignment.axes.size())
    return result;
  SmallVector<mlir::Value> ranges;
  for (auto [axis, complete] : llvm::zip(alignment.axes, alignment.complete))
    if (!llvm::is_contained(ordered, axis))
      ranges.push_back(getRange(axis, complete, location));
  return tile::BroadcastOp::create(b, location, type, result, positions,
                                   ranges);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

FailureOr<Promotion>
TileOps::promoteAll(llvm::StringRef what,
                    llvm::ArrayRef<const SemaValue *> values,
                    const OpSite &site) {
  for (auto [i, value] : llvm::enumerate(values)) {
    const Expr *expr = i < site.operands.size() ? site.operands[i] : nullptr;
    // The other side is named, too.
    std::string other;
    for (auto [k, beside] : llvm::enumerate(values))
      if (k != i && (beside->isTile() || beside->isScalar()))
        other = nameOf(*beside,
                       k < site.operands.size() ? site.operands[k] : nullptr) +
                " is " + describe(*beside);
    if (failed(checkOperand(*value, expr, site.range, what, other)))
      return failure();
  }
  Promotion result;
  PromotionOperand first = values[0]->getPromotionOperand();
  result.dtype = first.dtype;
  result.weak = first.weak;
  size_t carrier = 0;
  for (size_t i = 1; i < values.size(); ++i) {
    Promotion next =
        promote({result.dtype, result.weak}, values[i]->getPromotionOperand());
    if (next) {
      if (next.dtype != result.dtype)
        carrier = i;
      result = next;
      continue;
    }
    const SemaValue *sides[] = {values[carrier], values[i]};
    const Expr *exprs[] = {
        carrier < site.operands.size() ? site.operands[carrier] : nullptr,
        i < site.operands.size() ? site.operands[i] : nullptr};
    auto show = [&](int side) {
      std::string text =
          nameOf(*sides[side], exprs[side]) + " is " + describe(*sides[side]);
      if (!sides[side]->name.empty() && sides[side]->origin.isValid() &&
          exprs[side] && is<Name>(exprs[side]))
        text +=
            " (line " + std::to_string(sides[side]->origin.begin.line) + ")";
      return text;
    };
    const Expr *converted = exprs[next.convertSide];
    std::string source = converted ? context.quote(converted->range)
                                   : nameOf(*sides[next.convertSide], nullptr);
    if (converted && (is<BinOp>(converted) || is<UnaryOp>(converted) ||
                      is<Compare>(converted) || is<IfExp>(converted)))
      source = "(" + source + ")";
    Diagnostic &diagnostic =
        context.error(site.range, what.str() + " mixes " + next.conflict +
                                      ": " + show(0) + ", " + show(1));
    int other = 1 - next.convertSide;
    std::string start =
        getZeros(*sides[other], exprs[other], sides[next.convertSide]->dtype);
    std::string typed = isInteger(sides[next.convertSide]->dtype)
                            ? getTypedStart(*sides[other], exprs[other],
                                            sides[next.convertSide]->dtype)
                            : "";
    if (!typed.empty()) // positions stay positions
      diagnostic.setFix(typed, sides[other]->origin);
    else if (converted)
      diagnostic.setFix(source + ".to(" + getDTypeName(next.convertTo) + ")",
                        converted->range);
    else if (!start.empty()) // acc += a @ b: acc is begun with another dtype
      diagnostic.setFix(start, sides[other]->origin);
    else
      diagnostic.setFix(source + ".to(" + getDTypeName(next.convertTo) + ")");
    return failure();
  }
  for (const SemaValue *value : values)
    if (value->isConstant() && !result.weak)
      if (std::string misfit = findMisfit(value->constant, result.dtype);
          !misfit.empty()) {
        const Expr *expr =
            carrier < site.operands.size() ? site.operands[carrier] : nullptr;
        std::string source = nameOf(*values[carrier], expr);
        Diagnostic &diagnostic = context.error(
            site.range, what.str() + ": " + misfit + ", and " + source +
                            " is " + describe(*values[carrier]));
        // A large number that is chosen stands for infinity.
        size_t place = llvm::find(values, value) - values.begin();
        const Expr *number =
            place < site.operands.size() ? site.operands[place] : nullptr;
        bool isChosen = what == "tsr.where" && number &&
                        isFloat(result.dtype) && value->constant.isNumber();
        if (isChosen) {
          diagnostic.where = number->range;
          diagnostic.setFix(value->constant.asFloat() < 0 ? "-tsr.inf"
                                                          : "tsr.inf");
          return failure();
        }
        diagnostic.setFix((expr ? context.parenthesize(expr) : source) +
                              ".to(" +
                              getDTypeName(getWiderDType(result.dtype)) + ")",
                          expr ? expr->range : SourceRange());
        return failure();
      }
  return result;
}

ValueResult TileOps::elementwise(llvm::ArrayRef<const SemaValue *> operands,
                                 DType dtype, bool weak, DType resultDType,
                                 const OpSite &site, Emit emit) {
  FailureOr<Alignment> alignment = align(operands, site);
  if (failed(alignment) || failed(checkTileSize(alignment->axes, site.range)))
    return failure();
  Location location = context.loc(site.range);
  SmallVector<mlir::Value> values;
  for (const SemaValue *operand : operands) {
    values.push_back(spread(*operand, dtype, *alignment, location));
  }
  mlir::Value result = emit(values, location);
  if (alignment->axes.empty())
    return SemaValue::makeScalar(result, resultDType, weak);
  return SemaValue::makeTile(result, resultDType, alignment->axes,
                             alignment->complete);
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

mlir::Value TileOps::emitBinary(BinaryOperator op, DType dtype,
                                mlir::Value left, mlir::Value right,
                                Location location) {
  OpBuilder &b = builder();
  bool floating = isFloat(dtype);
  bool steps = op == BinaryOperator::FloorDiv || op == BinaryOperator::Mod ||
               op == BinaryOperator::Pow;
  if (steps && floating && getDTypeBits(dtype) < 32) {
    // Several roundings inside, one outside.
    left = castElements(left, dtype, DType::FP32, location);
    right = castElements(right, dtype, DType::FP32, location);
    return castElements(emitBinary(op, DType::FP32, left, right, location),
                        DType::FP32, dtype, location);
  }
  // The policy "fast" drops the rounding of a product that is added.
  bool sum = op == BinaryOperator::Add || op == BinaryOperator::Sub;
  if (sum && context.request.policy == "fast" && floating &&
      getDTypeBits(dtype) >= 32)
    for (int side = 0; side < 2; ++side) {
      auto product = (side ? right : left).getDefiningOp<arith::MulFOp>();
      if (!product)
        continue;
      mlir::Value factor = product.getLhs(), other = side ? left : right;
      if (op == BinaryOperator::Sub && side == 0)
        other = arith::NegFOp::create(b, location, other);
      else if (op == BinaryOperator::Sub)
        factor = arith::NegFOp::create(b, location, factor);
      return math::FmaOp::create(b, location, factor, product.getRhs(), other);
    }
  switch (op) {
  case BinaryOperator::Add:
    if (floating)
      return arith::AddFOp::create(b, location, left, right);
    return arith::AddIOp::create(b, location, left, right);
  case BinaryOperator::Sub:
    if (floating)
      return arith::SubFOp::create(b, location, left, right);
    return arith::SubIOp::create(b, location, left, right);
  case BinaryOperator::Mult:
    if (floating)
      return arith::MulFOp::create(b, location, left, right);
    return arith::MulIOp::create(b, location, left, right);
  case BinaryOperator::Div:
    return arith::DivFOp::create(b, location, left, right);
  case BinaryOperator::FloorDiv:
    return emitFloorDiv(dtype, left, right, location);
  case BinaryOperator::Mod:
    return emitMod(dtype, left, right, location);
  case BinaryOperator::Pow: {
    if (floating)
      return math::PowFOp::create(b, location, left, right);
    bool index = left.getType().isIndex();
    if (index) {
      left = arith::IndexCastOp::create(b, location, b.getI64Type(), left);
      right = arith::IndexCastOp::create(b, location, b.getI64Type(), right);
    }
    mlir::Value result = emitIntPower(left, right, location);
    if (index)
      result =
          arith::IndexCastOp::create(b, location, b.getIndexType(), result);
    return result;
  }
  case BinaryOperator::LShift:
    return emitShift(true, dtype, left, right, location);
  case BinaryOperator::RShift:
    return emitShift(false, dtype, left, right, location);
  case BinaryOperator::BitOr:
    return arith::OrIOp::create(b, location, left, right);
  case BinaryOperator::BitXor:
    return arith::XOrIOp::create(b, location, left, right);
  case BinaryOperator::BitAnd:
    return arith::AndIOp::create(b, location, left, right);
  case BinaryOperator::MatMult:
    break;
  }
  return nullptr;
}

ValueResult TileOps::binary(BinaryOperator op, const SemaValue &left,
                            const SemaValue &right, const OpSite &site) {
  if (op == BinaryOperator::Add && reportStartedPosition(site))
    return failure();
  const char *spelling = getOperatorSpelling(op);
  FailureOr<Promotion> promotion = promoteAll(spelling, {&left, &right}, site);
  if (failed(promotion))
    return failure();
  DType dtype = promotion->dtype;
  bool bitwise = op == BinaryOperator::BitAnd || op == BinaryOperator::BitOr ||
                 op == BinaryOperator::BitXor;
  bool shift = op == BinaryOperator::LShift || op == BinaryOperator::RShift;
  auto side = [&](int i) {
    const Expr *expr =
        size_t(i) < site.operands.size() ? site.operands[i] : nullptr;
    return nameOf(i ? right : left, expr);
  };
  if ((bitwise || shift) && isFloat(dtype)) {
    context
        .error(site.range, std::string(spelling) +
                               " is not defined on floats: " + side(0) +
                               " is " + describe(left) + ", " + side(1) +
                               " is " + describe(right))
        .setFix(op == BinaryOperator::BitXor && site.operands.size() == 2
                    ? context.quote(site.operands[0]->range) + " ** " +
                          context.quote(site.operands[1]->range)
                    : asObject(side(0)) + ".to(i32) " + spelling + " " +
                          side(1) +
                          (isFloat(right.getPromotionOperand().dtype) &&
                                   !right.isConstant()
                               ? ".to(i32)"
                               : ""));
    return failure();
  }
  if (dtype == DType::Bool && !bitwise) {
    // Python counts with bools; a tile of bools has to say so.
    const SemaValue &strong = left.isConstant() ? right : left;
    context
        .error(site.range,
               std::string(spelling) + " is not defined on bools: " +
                   side(left.isConstant() ? 1 : 0) + " is " + describe(strong))
        .setFix(side(left.isConstant() ? 1 : 0) + ".to(i32)");
    return failure();
  }
  if (op == BinaryOperator::Div && !isFloat(dtype)) {
    if (!promotion->weak) {
      context
          .error(site.range, "/ of ints: " + side(0) + " is " + describe(left) +
                                 ", " + side(1) + " is " + describe(right))
          .setFix(
              asObject(side(0)) + " // " + asObject(side(1)) + ", or " +
              (left.isConstant() ? side(0) : asObject(side(0)) + ".to(fp32)") +
              " / " +
              (right.isConstant() ? side(1) : asObject(side(1)) + ".to(fp32)"));
      return failure();
    }
    dtype = DType::FP64;
  }
  if (std::optional<int64_t> exponent = right.getConstantInt();
      op == BinaryOperator::Pow && !isFloat(dtype) && exponent &&
      *exponent < 0) {
    context
        .error(site.range, "** of an int by a negative number: " + side(0) +
                               " is " + describe(left))
        .setFix((site.operands.empty() || !site.operands[0]
                     ? side(0)
                     : context.parenthesize(site.operands[0])) +
                ".to(fp32) ** " + side(1));
    return failure();
  }
  return elementwise({&left, &right}, dtype, promotion->weak, dtype, site,
                     [&](llvm::ArrayRef<mlir::Value> values, Location at) {
                       return emitBinary(op, dtype, values[0], values[1], at);
                     });
}

mlir::Value TileOps::emitCompare(CompareOperator op, DType dtype,
                                 mlir::Value left, mlir::Value right,
                                 Location location) {
  OpBuilder &b = builder();
  if (isFloat(dtype)) {
    arith::CmpFPredicate predicate = arith::CmpFPredicate::OEQ;
    switch (op) {
    case CompareOperator::NotEq:
      predicate = arith::CmpFPredicate::UNE;
      break;
    case CompareOperator::Lt:
      predicate = arith::CmpFPredicate::OLT;
      break;
    case CompareOperator::LtE:
      predicate = arith::CmpFPredicate::OLE;
      break;
    case CompareOperator::Gt:
      predicate = arith::CmpFPredicate::OGT;
      break;
    case CompareOperator::GtE:
      predicate = arith::CmpFPredicate::OGE;
      break;
    default:
      break;
    }
    return arith::CmpFOp::create(b, location, predicate, left, right);
  }
  // True is 1 and False 0, so bools compare as unsigned.
  bool boolean = dtype == DType::Bool;
  using P = arith::CmpIPredicate;
  P predicate = P::eq;
  switch (op) {
  case CompareOperator::NotEq:
    predicate = P::ne;
    break;
  case CompareOperator::Lt:
    predicate = boolean ? P::ult : P::slt;
    break;
  case CompareOperator::LtE:
    predicate = boolean ? P::ule : P::sle;
    break;
  case CompareOperator::Gt:
    predicate = boolean ? P::ugt : P::sgt;
    break;
  case CompareOperator::GtE:
    predicate = boolean ? P::uge : P::sge;
    break;
  default:
    break;
  }
  return arith::CmpIOp::create(b, location, predicate, left, right);
}

ValueResult TileOps::compare(CompareOperator op, const SemaValue &left,
                             const SemaValue &right, const OpSite &site) {
  FailureOr<Promotion> promotion =
      promoteAll(getOperatorSpelling(op), {&left, &right}, site);
  if (failed(promotion))
    return failure();
  return elementwise(
      {&left, &right}, promotion->dtype, promotion->weak, DType::Bool, site,
      [&](llvm::ArrayRef<mlir::Value> values, Location at) {
        return emitCompare(op, promotion->dtype, values[0], values[1], at);
      });
}

ValueResult TileOps::unary(UnaryOperator op, const SemaValue &operand,
                           const OpSite &site) {
  const char *spelling = getOperatorSpelling(op);
  if (failed(checkOperand(operand, site.operands[0], site.range, spelling)))
    return failure();
  DType dtype = operand.dtype;
  if (op == UnaryOperator::UAdd)
    return operand;
  bool invert = op == UnaryOperator::Invert || op == UnaryOperator::Not;
  if (invert ? isFloat(dtype) : dtype == DType::Bool) {
    std::string name =
        nameOf(operand, site.operands.empty() ? nullptr : site.operands[0]);
    context
        .error(site.range, std::string(spelling) + " is not defined on " +
                               name + ", which is " + describe(operand))
        .setFix(invert ? (op == UnaryOperator::Not
                              ? name + " == 0"
                              : "~" + asObject(name) + ".to(i32)")
                       : "~" + name);
    return failure();
  }
  return elementwise(
      {&operand}, dtype, operand.weak, dtype, site,
      [&](llvm::ArrayRef<mlir::Value> values, Location at) -> mlir::Value {
        OpBuilder &b = builder();
        Type type = values[0].getType();
        if (invert)
          return arith::XOrIOp::create(
              b, at, values[0],
              makeConstant(ConstantData(int64_t(-1)), dtype, type, at));
        if (isFloat(dtype))
          return arith::NegFOp::create(b, at, values[0]);
        return arith::SubIOp::create(
            b, at, makeConstant(ConstantData(int64_t(0)), dtype, type, at),
            values[0]);
      });
}

ValueResult TileOps::boolean(BoolOperator op, const SemaValue &left,
                             const SemaValue &right, const OpSite &site) {
  return binary(op == BoolOperator::And ? BinaryOperator::BitAnd
                                        : BinaryOperator::BitOr,
                left, right, site);
}

} // namespace tessera::frontend
