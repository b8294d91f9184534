//===- TileValues.cpp - Tile IR: verifiers of ops on tiles ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tessera::tile;

static ArrayRef<int64_t> shapeOf(Type value) {
  auto tile = dyn_cast<RankedTensorType>(value);
  return tile ? tile.getShape() : ArrayRef<int64_t>();
}

LogicalResult IndexOp::verify() {
  // (C1)
  RankedTensorType result = getType();
  if (result.getShape() != ArrayRef<int64_t>{getRange().getType().getSize()} ||
      !result.getElementType().isInteger(64))
    return emitOpError() << "the positions of " << getRange().getType()
                         << " are no " << result;
  return success();
}

LogicalResult FillOp::verify() {
  // (C1)
  SmallVector<int64_t> shape;
  for (Value range : getRanges())
    shape.push_back(cast<RangeType>(range.getType()).getSize());
  if (getType().getShape() != ArrayRef(shape) ||
      getType().getElementType() != getValue().getType())
    return emitOpError() << "a tile of " << getValue().getType() << " over ["
                         << shape << "] is no " << getType();
  return success();
}

LogicalResult TransposeOp::verify() {
  RankedTensorType input = getInput().getType(), result = getType();
  // (C1)
  int64_t rank = input.getRank();
  llvm::SmallBitVector seen(rank);
  bool good = int64_t(getPermutation().size()) == rank &&
              result.getRank() == rank &&
              result.getElementType() == input.getElementType();
  for (auto [i, axis] : llvm::enumerate(getPermutation())) {
    good = good && axis >= 0 && axis < rank && !seen[axis] &&
           result.getDimSize(i) == input.getDimSize(axis);
    if (!good)
      break;
    seen.set(axis);
  }
  if (!good)
    return emitOpError() << "[" << getPermutation() << "] does not make "
                         << result << " of " << input;
  return success();
}

LogicalResult ReshapeOp::verify() {
  // (C1)
  RankedTensorType input = getInput().getType(), result = getType();
  if (input.getNumElements() != result.getNumElements() ||
      input.getElementType() != result.getElementType())
    return emitOpError() << "does not make " << result << " of " << input;
  return success();
}

LogicalResult CatOp::verify() {
  // (C1)
  RankedTensorType result = getType();
  int64_t axis = getAxis(), sum = 0;
  if (axis < 0 || axis >= result.getRank() || getInputs().empty())
    return emitOpError() << "joins " << getInputs().size()
                         << " tiles along axis " << axis << " into " << result;
  for (Value value : getInputs()) {
    auto input = cast<RankedTensorType>(value.getType());
    bool good = input.getRank() == result.getRank() &&
                input.getElementType() == result.getElementType();
    for (int64_t other = 0; good && other < result.getRank(); ++other)
      good =
          other == axis || input.getDimSize(other) == result.getDimSize(other);
    if (!good)
      return emitOpError() << "joins " << input << " into " << result;
    sum += input.getDimSize(axis);
  }
  if (sum != result.getDimSize(axis))
    return emitOpError() << "joins " << sum << " positions into " << result;
  return success();
}

LogicalResult FilledOp::verify() {
  // (C1)
  if (getType().getElementType() != getValue().getType())
    return emitOpError() << "fills " << getType() << " with "
                         << getValue().getType();
  return success();
}

LogicalResult ScanOp::verify() {
  // (C1)
  int64_t rank = getType().getRank();
  if (int64_t(getAxis()) < 0 || int64_t(getAxis()) >= rank)
    return emitOpError() << "axis " << int64_t(getAxis())
                         << " of a tile of rank " << rank;
  if (getKind() == ReduceKind::Argmax || getKind() == ReduceKind::Argmin)
    return emitOpError() << "cannot scan with "
                         << stringifyReduceKind(getKind());
  return success();
}

LogicalResult RandOp::verify() {
  // (C1)
  auto counts = [](Type type) { return type.isIndex() || type.isInteger(64); };
  if (!counts(getSeed().getType()) ||
      !counts(getElementTypeOrSelf(getIndex().getType())) ||
      !getElementTypeOrSelf(getType()).isF32() ||
      shapeOf(getIndex().getType()) != shapeOf(getType()))
    return emitOpError() << "makes f32 of an i64 seed and i64 indices, not "
                         << getType() << " of " << getSeed().getType()
                         << " and " << getIndex().getType();
  return success();
}

LogicalResult ConvertLayoutOp::verify() {
  // (C1)
  auto input = cast<RankedTensorType>(getInput().getType());
  auto result = cast<RankedTensorType>(getType());
  if (input.getShape() != result.getShape() ||
      input.getElementType() != result.getElementType())
    return emitOpError() << "makes " << result << " of " << input;
  return success();
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType input = getInput().getType(), result = getType();
  // (C1)
  int64_t last = -1;
  if (int64_t(getAxes().size()) != input.getRank())
    return emitOpError() << getAxes().size() << " axes for a tile of rank "
                         << input.getRank();
  for (auto [i, axis] : llvm::enumerate(getAxes())) {
    if (axis <= last || axis >= result.getRank() ||
        result.getDimSize(axis) != input.getDimSize(i))
      return emitOpError() << "axes [" << getAxes() << "] do not map " << input
                           << " into " << result;
    last = axis;
  }
  // (C2)
  size_t next = 0;
  for (int64_t axis = 0; axis < result.getRank(); ++axis) {
    if (llvm::is_contained(getAxes(), axis))
      continue;
    if (next == getRanges().size() ||
        cast<RangeType>(getRanges()[next++].getType()).getSize() !=
            result.getDimSize(axis))
      return emitOpError() << "new axis " << axis << " needs a range of "
                           << result.getDimSize(axis);
  }
  if (next != getRanges().size())
    return emitOpError() << getRanges().size() << " ranges for " << next
                         << " new axes";
  return success();
}

LogicalResult ReduceOp::verify() {
  // (C1)
  if (int64_t(getAxis()) < 0 ||
      int64_t(getAxis()) >= getInput().getType().getRank())
    return emitOpError() << "axis " << int64_t(getAxis())
                         << " of a tile of rank "
                         << getInput().getType().getRank();
  // (C2)
  RankedTensorType input = getInput().getType();
  SmallVector<int64_t> shape(input.getShape());
  shape.erase(shape.begin() + getAxis());
  bool position =
      getKind() == ReduceKind::Argmax || getKind() == ReduceKind::Argmin;
  Type element = getElementTypeOrSelf(getResult().getType());
  if (shapeOf(getResult().getType()) != ArrayRef(shape) ||
      isa<RankedTensorType>(getResult().getType()) == shape.empty() ||
      (position ? !element.isSignlessInteger()
                : element != input.getElementType()))
    return emitOpError() << "makes no " << getResult().getType() << " of "
                         << input;
  return success();
}

LogicalResult MmaOp::verify() {
  RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  // (C4)
  bool isInteger = lhs.getElementType().isInteger();
  Type sum = getElementTypeOrSelf(getAcc().getType());
  for (RankedTensorType operand : {lhs, rhs})
    if (operand.getRank() < 1 || operand.getRank() > 2)
      return emitOpError() << "multiplies matrices and vectors, not "
                           << operand;
  if (!isNumber(sum) || sum.isIndex() || lhs.getElementType().isIndex() ||
      sum.isInteger() != isInteger)
    return emitOpError() << "adds products of " << lhs.getElementType()
                         << " to " << sum;
  // (C1)
  SmallVector<int64_t> shape(lhs.getShape().drop_back());
  llvm::append_range(shape, rhs.getShape().drop_front());
  auto acc = dyn_cast<RankedTensorType>(getAcc().getType());
  ArrayRef<int64_t> have = acc ? acc.getShape() : ArrayRef<int64_t>();
  int64_t k = rhs.getShape().front(), kept = getMeta() ? k / 2 : k;
  if (lhs.getShape().back() != kept || (getMeta() && k % 2) ||
      have != ArrayRef(shape))
    return emitOpError() << "does not chain: " << lhs << " times " << rhs
                         << " into " << getAcc().getType();
  // (C2)
  if (lhs.getElementType() != rhs.getElementType())
    return emitOpError() << "multiplies " << lhs.getElementType() << " by "
                         << rhs.getElementType();
  // (C3)
  if (!getMeta() && !getLhsScale())
    return success();
  if (lhs.getRank() != 2 || rhs.getRank() != 2)
    return emitOpError() << "of vectors is neither sparse nor scaled";
  auto needs = [&](Value value, StringRef name, ArrayRef<int64_t> shape,
                   unsigned bits) -> LogicalResult {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getShape() == shape && type.getElementType().isInteger(bits))
      return success();
    return emitOpError() << name << " of this product is "
                         << RankedTensorType::get(
                                shape, IntegerType::get(getContext(), bits))
                         << ", not " << type;
  };
  int64_t m = lhs.getDimSize(0), n = rhs.getDimSize(1);
  if (getMeta() && getLhsScale())
    return emitOpError() << "is sparse or scaled, not both";
  if (getMeta())
    return k % 32 ? emitOpError() << "is sparse in steps of 32, not " << k
                  : needs(getMeta(), "sparse", {m, k / 32}, 32);
  if (!getRhsScale() || k % 32)
    return emitOpError() << "is scaled in steps of 32 on both sides, not " << k;
  if (failed(needs(getLhsScale(), "scaled, left", {m, k / 32}, 8)))
    return failure();
  return needs(getRhsScale(), "scaled, right", {k / 32, n}, 8);
}
