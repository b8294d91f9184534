//===- Payload.cpp - What stands inside a sched.fuse ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedule/IR/Payload.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;

/// gelu(x) by erf stays whole: its tail needs more than its parts give.
static bool isWholeGelu(Operation *op) {
  auto gelu = dyn_cast<GeluOp>(op);
  return gelu && !gelu.getTanh();
}

bool schedule::isElementwise(Operation *op) {
  return isWholeGelu(op) ||
         isa<NegOp, AbsOp, ExpOp, Exp2Op, LogOp, Log2Op, Log1pOp, SqrtOp,
             RsqrtOp, SinOp, CosOp, TanhOp, ErfOp, FloorOp, CeilOp, RoundOp,
             ReluOp, SigmoidOp, SiluOp, NotOp, AddOp, SubOp, MulOp, DivOp,
             FloorDivOp, ModOp, PowOp, AndOp, OrOp, XorOp, ShlOp, ShrOp,
             MaximumOp, MinimumOp, FmaOp, CompareOp, IsNanOp, IsFiniteOp,
             SelectOp, CastOp>(op);
}

bool schedule::isComposite(Operation *op) {
  return isa<GeluOp, SoftmaxOp, LayerNormOp, CrossEntropyOp>(op) &&
         !isWholeGelu(op);
}

bool schedule::hasOpenHead(AttentionOp op) {
  int64_t last = rankOf(op) - 1;
  return tensorType(op.getQ()).isDynamicDim(last) ||
         tensorType(op.getV()).isDynamicDim(last);
}

bool schedule::canSpecialize(Operation *op, VariantForm form) {
  auto gemm = dyn_cast<GemmOp>(op);
  if (!gemm || form == VariantForm::Head)
    return !gemm && form == VariantForm::Head;
  if (form == VariantForm::Product)
    return true;
  if (!isa<BlockArgument>(gemm.getRhs()))
    return false;
  if (form == VariantForm::Turned)
    return true;
  RankedTensorType type = gemm.getType();
  Type element = type.getElementType();
  return type.getRank() == 2 &&
         (type.isDynamicDim(0) || type.getDimSize(0) == 1) &&
         isa<BlockArgument>(gemm.getLhs()) && element.isF32() &&
         tensorType(gemm.getLhs()).getElementType() == element &&
         gemm.getAccumulate().value_or(element) == element &&
         gemm.getPrecision() == "ieee";
}

schedule::ReshapeParts schedule::getReshapeParts(ReshapeOp op) {
  Value input = op.getInput(), result = op.getResult();
  int64_t from = rankOf(input), to = rankOf(result);
  ReshapeParts parts;
  auto same = [&](int64_t i, int64_t j) {
    return getExtent(input, i) == getExtent(result, j);
  };
  while (parts.front < std::min(from, to) && same(parts.front, parts.front))
    ++parts.front;
  while (parts.front + parts.back < std::min(from, to) &&
         same(from - 1 - parts.back, to - 1 - parts.back))
    ++parts.back;
  parts.mergedAxes = from - parts.front - parts.back;
  return parts;
}

std::optional<SmallVector<int64_t>> schedule::getUnitReshape(ReshapeOp op) {
  RankedTensorType from = tensorType(op.getInput()), to = op.getType();
  SmallVector<int64_t> axes;
  int64_t next = 0;
  // Inside a kernel nothing else is legal, and names that would prove sizes to
  // be equal are out of sight.
  bool inKernel = isa_and_present<FuseOp>(op->getParentOp());
  auto same = [&](int64_t i, int64_t j) {
    if (inKernel && from.isDynamicDim(i) && to.isDynamicDim(j))
      return true;
    return getExtent(op.getInput(), i) == getExtent(op.getResult(), j);
  };
  for (int64_t axis = 0; axis < to.getRank(); ++axis) {
    while (next < from.getRank() && from.getDimSize(next) == 1 &&
           to.getDimSize(axis) != 1)
      ++next;
    if (next < from.getRank() && same(next, axis)) {
      axes.push_back(next++);
      continue;
    }
    if (to.getDimSize(axis) != 1)
      return std::nullopt;
    axes.push_back(-1);
  }
  for (; next < from.getRank(); ++next)
    if (from.getDimSize(next) != 1)
      return std::nullopt;
  return axes;
}

bool schedule::isPlanInteger(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 0 &&
         (tensor.getElementType().isInteger(64) ||
          tensor.getElementType().isInteger(1));
}

/// Whether a value and all it is computed from pass: each is asked once.
static bool isMadeOf(Value root,
                     llvm::function_ref<std::optional<bool>(Value)> decide) {
  SmallVector<Value> worklist = {root};
  llvm::SmallPtrSet<void *, 16> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value.getAsOpaquePointer()).second)
      continue;
    std::optional<bool> decided = decide(value);
    if (decided && !*decided)
      return false;
    if (!decided)
      llvm::append_range(worklist, value.getDefiningOp()->getOperands());
  }
  return true;
}

/// Of one value; nothing where its operands decide.
static std::optional<bool> isScalarItself(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() != 0)
    return false;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (isControlFlow(parent))
      return schedule::isPlanInteger(type);
    auto function = dyn_cast<FunctionOpInterface>(parent);
    return function &&
           function.getArgAttr(argument.getArgNumber(), "gir.scalar");
  }
  Operation *op = value.getDefiningOp();
  if (isControlFlow(op))
    return schedule::isPlanInteger(type);
  if (isa<DimOp, ConstantOp>(op))
    return true;
  if (!schedule::isElementwise(op))
    return false;
  return std::nullopt;
}

bool schedule::isScalar(Value value) { return isMadeOf(value, isScalarItself); }

bool schedule::isPlanExpression(Value value) {
  return isMadeOf(value, [](Value part) -> std::optional<bool> {
    std::optional<bool> scalar = isScalarItself(part);
    if ((scalar && !*scalar) || !isPlanInteger(part.getType()))
      return false;
    if (scalar)
      return true;
    bool boolean = tensorType(part).getElementType().isInteger(1);
    Operation *op = part.getDefiningOp();
    if (!(boolean ? isa<AndOp, OrOp, NotOp, CompareOp, SelectOp>(op)
                  : isa<AddOp, SubOp, MulOp, NegOp, FloorDivOp, ModOp,
                        MaximumOp, MinimumOp, SelectOp>(op)))
      return false;
    return std::nullopt;
  });
}
