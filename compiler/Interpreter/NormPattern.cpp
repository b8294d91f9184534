//===- NormPattern.cpp - A norm that the user wrote out -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Interpreter/NormPattern.h"

#include "compiler/Graph/IR/Graph.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::interpreter;

/// The value before it was repeated, or had axes of size 1 added.
static Value withoutSpreading(Value value) {
  while (auto *op = value.getDefiningOp()) {
    if (!isa<graph::BroadcastOp, graph::ReshapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

static std::optional<double> constantOf(Value value) {
  auto constant = withoutSpreading(value).getDefiningOp<graph::ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                        : DenseElementsAttr();
  if (!dense || !dense.isSplat() || !isa<FloatType>(dense.getElementType()))
    return std::nullopt;
  return dense.getSplatValue<APFloat>().convertToDouble();
}

/// Is it `d * d` or `d ** 2`?
static bool isSquare(Value value, Value d) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumOperands() != 2 || op->getOperand(0) != d)
    return false;
  if (isa<graph::MulOp>(op))
    return op->getOperand(1) == d;
  return isa<graph::PowOp>(op) && constantOf(op->getOperand(1)) == 2.0;
}

/// mean(d * d), or var(x) if d is x - mean(x).
static std::optional<WrittenNorm> matchMean(Value value, Value d) {
  auto reduce = withoutSpreading(value).getDefiningOp<graph::ReduceOp>();
  if (!reduce)
    return std::nullopt;
  WrittenNorm norm{reduce.getInput(), llvm::to_vector(reduce.getAxes()), 0};
  if (reduce.getKind() == graph::ReduceKind::Mean &&
      isSquare(reduce.getInput(), d))
    return norm;
  auto centred = d.getDefiningOp<graph::SubOp>();
  if (reduce.getKind() != graph::ReduceKind::Var || reduce.getCorrection() ||
      !centred || centred.getLhs() != reduce.getInput())
    return std::nullopt;
  auto mean =
      withoutSpreading(centred.getRhs()).getDefiningOp<graph::ReduceOp>();
  if (!mean || mean.getKind() != graph::ReduceKind::Mean ||
      mean.getInput() != reduce.getInput() ||
      mean.getAxes() != reduce.getAxes())
    return std::nullopt;
  return norm;
}

static std::optional<WrittenNorm> matchRoot(Value value, Value d) {
  auto sum = value.getDefiningOp<graph::AddOp>();
  if (!sum)
    return std::nullopt;
  for (auto [mean, eps] : {std::pair(sum.getLhs(), sum.getRhs()),
                           std::pair(sum.getRhs(), sum.getLhs())})
    if (std::optional<double> number = constantOf(eps); number && *number > 0)
      if (std::optional<WrittenNorm> norm = matchMean(mean, d)) {
        norm->eps = *number;
        return norm;
      }
  return std::nullopt;
}

std::optional<WrittenNorm> interpreter::matchWrittenNorm(Operation *op,
                                                         Value &normed) {
  if (auto product = dyn_cast<graph::MulOp>(op)) {
    for (auto [d, factor] : {std::pair(product.getLhs(), product.getRhs()),
                             std::pair(product.getRhs(), product.getLhs())}) {
      auto root = withoutSpreading(factor).getDefiningOp<graph::RsqrtOp>();
      normed = d;
      if (root)
        if (auto norm = matchRoot(withoutSpreading(root.getOperand()), d))
          return norm;
    }
    return std::nullopt;
  }
  auto quotient = dyn_cast<graph::DivOp>(op);
  if (!quotient)
    return std::nullopt;
  normed = quotient.getLhs();
  auto root =
      withoutSpreading(quotient.getRhs()).getDefiningOp<graph::SqrtOp>();
  return root ? matchRoot(withoutSpreading(root.getOperand()), normed)
              : std::nullopt;
}
