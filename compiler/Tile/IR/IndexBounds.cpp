//===- IndexBounds.cpp - What is known of a scalar index ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/IR/IndexBounds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera::tile;

namespace {
/// Indices are 64 bits: sums beyond this are not looked at.
constexpr int64_t kMost = int64_t(1) << 40;

std::optional<int64_t> numberOf(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)) &&
      number.getSignificantBits() <= 40)
    return number.getSExtValue();
  return std::nullopt;
}

/// Of `budget` operations; what comes after them stands for itself. The paths
/// to a value may double with every operation.
void collect(Value value, int64_t times, IndexSum &sum, int &budget) {
  if (auto number = numberOf(value)) {
    sum.constant += times * *number;
    return;
  }
  Operation *op = --budget > 0 ? value.getDefiningOp() : nullptr;
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op)) {
    collect(op->getOperand(0), times, sum, budget);
    collect(op->getOperand(1), isa<arith::SubIOp>(op) ? -times : times, sum,
            budget);
  } else if (isa_and_nonnull<arith::IndexCastOp>(op)) {
    collect(op->getOperand(0), times, sum, budget);
  } else if (isa_and_nonnull<arith::MulIOp>(op)) {
    for (auto [a, b] : {std::pair(0, 1), std::pair(1, 0)})
      if (auto number = numberOf(op->getOperand(b));
          number && std::abs(*number) < kMost / std::abs(times))
        return *number
                   ? collect(op->getOperand(a), times * *number, sum, budget)
                   : void();
    sum.add(value, times);
  } else {
    sum.add(value, times);
  }
}

/// The counter of a loop between two numbers, whatever its step.
std::optional<std::pair<int64_t, int64_t>> boundsOf(Value value) {
  Value from, to;
  if (auto start = value.getDefiningOp<RangeStartOp>()) {
    auto range = dyn_cast<BlockArgument>(start.getRange());
    auto loop =
        range ? dyn_cast<ForOp>(range.getOwner()->getParentOp()) : ForOp();
    if (!loop)
      return std::nullopt;
    from = loop.getStart(), to = loop.getStop();
  } else if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument != loop.getInductionVar())
      return std::nullopt;
    from = loop.getLowerBound(), to = loop.getUpperBound();
  } else {
    return std::nullopt;
  }
  auto least = numberOf(from), past = numberOf(to);
  if (!least || !past || *least >= *past)
    return std::nullopt;
  return std::pair(*least, *past - 1);
}
} // namespace

IndexSum::IndexSum(Value index) {
  int budget = 256;
  collect(index, 1, *this, budget);
}

void IndexSum::add(Value value, int64_t times) {
  auto *known =
      llvm::find_if(terms, [&](auto &term) { return term.first == value; });
  if (known == terms.end())
    terms.push_back({value, times});
  else if ((known->second += times) == 0)
    terms.erase(known);
}

bool tessera::tile::alwaysDiffer(Value a, Value b) {
  if (isa<RangeType, RankedTensorType>(a.getType()) ||
      isa<RangeType, RankedTensorType>(b.getType()))
    return false;
  IndexSum difference(a), other(b);
  for (auto [value, times] : other.terms)
    difference.add(value, -times);
  return difference.terms.empty() && difference.constant != other.constant;
}

/// The user's name of an axis of a view; "" where it has none, or where the
/// view is not the user's.
static StringRef dimNameOf(Value view, int64_t axis) {
  auto argument = dyn_cast<BlockArgument>(view);
  auto kernel = argument ? dyn_cast<FuncOp>(argument.getOwner()->getParentOp())
                         : FuncOp();
  auto dims = kernel ? kernel.getArgAttrOfType<ArrayAttr>(
                           argument.getArgNumber(), "gir.dims")
                     : ArrayAttr();
  if (!dims || axis >= int64_t(dims.size()))
    return "";
  auto name = dyn_cast<StringAttr>(dims[axis]);
  return name ? name.getValue() : "";
}

/// Is there a position for each program? Axes without names were compared when
/// the program was read.
static bool hasAllPrograms(Value extent, Value view, int64_t axis) {
  StringRef wanted = dimNameOf(view, axis);
  if (wanted.empty())
    return true;
  if (auto dim = extent.getDefiningOp<DimOp>()) {
    StringRef known = dimNameOf(dim.getView(), dim.getAxis());
    return known.empty() || known == wanted;
  }
  auto count = numberOf(extent);
  int64_t size = cast<MemRefType>(view.getType()).getDimSize(axis);
  return count && !ShapedType::isDynamic(size) && *count <= size;
}

bool tessera::tile::isInside(Value index, Value view, int64_t axis) {
  if (auto program = index.getDefiningOp<ProgramOp>())
    return hasAllPrograms(
        program.getExtents()[cast<OpResult>(index).getResultNumber()], view,
        axis);
  int64_t size = cast<MemRefType>(view.getType()).getDimSize(axis);
  if (ShapedType::isDynamic(size))
    return false;
  IndexSum sum(index);
  int64_t least = sum.constant, most = sum.constant;
  for (auto [value, times] : sum.terms) {
    auto bounds = boundsOf(value);
    if (!bounds)
      return false;
    least += times * (times > 0 ? bounds->first : bounds->second);
    most += times * (times > 0 ? bounds->second : bounds->first);
    if (std::abs(least) > kMost || std::abs(most) > kMost)
      return false;
  }
  return least >= 0 && most < size;
}
