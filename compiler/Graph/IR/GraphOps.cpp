//===- GraphOps.cpp - Graph IR: verifiers and shape folders ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Graph/IR/Graph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace tessera::graph;

#include "compiler/Graph/IR/GraphEnums.cpp.inc"

#define GET_OP_CLASSES
#include "compiler/Graph/IR/GraphOps.cpp.inc"

/// There is one size operand per dynamic extent of the result.
static LogicalResult verifySizes(Operation *op, OperandRange sizes,
                                 RankedTensorType result) {
  if (int64_t(sizes.size()) != int64_t(result.getNumDynamicDims()))
    return op->emitOpError()
           << "result has " << result.getNumDynamicDims()
           << " dynamic extents, but there are " << sizes.size() << " sizes";
  return success();
}

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

LogicalResult SelectOp::verify() {
  // (C1)
  if (failed(verifyCompatibleShape(getCondition().getType(),
                                   getResult().getType())))
    return emitOpError() << "condition has type " << getCondition().getType()
                         << ", result " << getResult().getType();
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

Type DimOp::sizeType(MLIRContext *context) {
  return RankedTensorType::get({}, IntegerType::get(context, 64));
}

LogicalResult DimOp::verify() {
  // (C1)
  int64_t rank = tensorType(getInput()).getRank();
  if (int64_t(getAxis()) < 0 || int64_t(getAxis()) >= rank)
    return emitOpError() << "axis " << getAxis() << " of a tensor of rank "
                         << rank;
  return success();
}

OpFoldResult DimOp::fold(FoldAdaptor) {
  RankedTensorType type = tensorType(getInput());
  if (type.isDynamicDim(getAxis()))
    return {};
  return DenseElementsAttr::get(cast<ShapedType>(getType()),
                                type.getDimSize(getAxis()));
}

LogicalResult BindDimsOp::verify() {
  // (C1)
  int64_t rank = tensorType(getInput()).getRank();
  if (int64_t(getNames().size()) != rank)
    return emitOpError() << getNames().size() << " names for a tensor of rank "
                         << rank;
  return success();
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType input = tensorType(getInput()), result = getType();
  // (C1)
  int64_t last = -1;
  if (int64_t(getAxes().size()) != input.getRank())
    return emitOpError() << getAxes().size() << " axes for an input of rank "
                         << input.getRank();
  for (auto [i, axis] : llvm::enumerate(getAxes())) {
    if (axis <= last || axis >= result.getRank())
      return emitOpError()
             << "axes must increase strictly within the result's rank "
             << result.getRank();
    last = axis;
    // (C3)
    int64_t from = input.getDimSize(i), to = result.getDimSize(axis);
    if (from != 1 && !ShapedType::isDynamic(from) &&
        !ShapedType::isDynamic(to) && from != to)
      return emitOpError() << "axis " << i << " has extent " << from
                           << ", the result's axis " << axis << " has " << to;
  }
  // (C2)
  return verifySizes(*this, getSizes(), result);
}

LogicalResult TransposeOp::verify() {
  // (C1)
  int64_t rank = tensorType(getInput()).getRank();
  llvm::SmallBitVector seen(rank);
  bool good = int64_t(getPermutation().size()) == rank;
  for (int64_t axis : getPermutation()) {
    good = good && axis >= 0 && axis < rank && !seen[axis];
    if (good)
      seen.set(axis);
  }
  if (!good)
    return emitOpError() << "[" << getPermutation() << "] is no permutation of "
                         << rank << " axes";
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  for (auto [i, axis] : llvm::enumerate(getPermutation()))
    if (int64_t(i) != axis)
      return {};
  return getInput();
}

LogicalResult ReshapeOp::verify() {
  // (C1)
  return verifySizes(*this, getSizes(), getType());
}

LogicalResult SliceOp::verify() {
  int64_t rank = tensorType(getInput()).getRank();
  // (C1)
  if (int64_t(getStarts().size()) != rank || int64_t(getSteps().size()) != rank)
    return emitOpError() << "needs a start and a step for each of " << rank
                         << " axes, has " << getStarts().size() << " and "
                         << getSteps().size();
  if (llvm::is_contained(getSteps(), 0))
    return emitOpError() << "a step of 0";
  // (C2)
  return verifySizes(*this, getSizes(), getType());
}

LogicalResult ConcatOp::verify() {
  // (C1)
  for (Value input : getInputs())
    if (tensorType(input).getRank() != getType().getRank() ||
        tensorType(input).getElementType() != getType().getElementType())
      return emitOpError() << "joins " << input.getType() << " into "
                           << getType();
  return success();
}

LogicalResult GatherOp::verify() {
  // (C1)
  int64_t rank = tensorType(getInput()).getRank();
  if (tensorType(getIndices()).getRank() != rank || getType().getRank() != rank)
    return emitOpError() << "input has rank " << rank << ", indices "
                         << tensorType(getIndices()).getRank() << ", result "
                         << getType().getRank();
  return success();
}

LogicalResult ReduceOp::verify() {
  int64_t rank = tensorType(getInput()).getRank();
  // (C1)
  llvm::SmallBitVector seen(rank);
  for (int64_t axis : getAxes()) {
    if (axis < 0 || axis >= rank || seen[axis])
      return emitOpError() << "axes [" << getAxes() << "] of a tensor of rank "
                           << rank;
    seen.set(axis);
  }
  // (C2)
  if (getType().getRank() != rank - int64_t(getAxes().size()))
    return emitOpError() << "reduces " << getAxes().size() << " of " << rank
                         << " axes, but the result has rank "
                         << getType().getRank();
  return success();
}

LogicalResult ScanOp::verify() {
  // (C1)
  if (getKind() > ReduceKind::Min)
    return emitOpError() << "cannot scan with "
                         << stringifyReduceKind(getKind());
  return success();
}

LogicalResult GemmOp::verify() {
  RankedTensorType lhs = tensorType(getLhs()), rhs = tensorType(getRhs());
  // (C1)
  int64_t rank = getType().getRank();
  for (auto [name, type] : {std::pair("lhs", lhs), std::pair("rhs", rhs),
                            std::pair("result", getType())})
    if (type.getRank() != rank || rank < 2)
      return emitOpError() << name << " must have rank "
                           << std::max<int64_t>(rank, 2) << ", but has type "
                           << type;
  // (C2)
  int64_t lhsK = lhs.getDimSize(rank - (getTransposeLhs() ? 2 : 1));
  int64_t rhsK = rhs.getDimSize(rank - (getTransposeRhs() ? 1 : 2));
  if (!ShapedType::isDynamic(lhsK) && !ShapedType::isDynamic(rhsK) &&
      lhsK != rhsK)
    return emitOpError() << "reduction sizes differ: lhs has " << lhsK
                         << ", rhs has " << rhsK;
  return success();
}

LogicalResult AttentionOp::verify() {
  // (C1)
  int64_t rank = getType().getRank();
  for (Value value : {getQ(), getK(), getV()})
    if (tensorType(value).getRank() != rank || rank < 2)
      return emitOpError() << "q, k, v and the result need one rank of at "
                              "least 2, but there is "
                           << value.getType() << " and " << getType();
  return success();
}

Value tessera::graph::getInit(BlockArgument argument) {
  Operation *op = argument.getOwner()->getParentOp();
  unsigned number = argument.getArgNumber();
  if (auto loop = dyn_cast_or_null<ForOp>(op))
    return number == 0 ? Value() : loop.getInits()[number - 1];
  if (auto loop = dyn_cast_or_null<WhileOp>(op))
    return loop.getInits()[number];
  return {};
}

/// Whether a region ends with a yield of these types.
static LogicalResult checkYield(Operation *op, Region &region,
                                TypeRange types) {
  auto yield = dyn_cast<YieldOp>(region.front().back());
  if (!yield)
    return op->emitOpError() << "needs regions that end with gir.yield";
  if (TypeRange(yield.getValues()) != types)
    return op->emitOpError() << "yields " << TypeRange(yield.getValues())
                             << ", but has results " << types;
  return success();
}

/// Whether a region's arguments, from the one with this number, have these
/// types.
static LogicalResult checkArguments(Operation *op, Region &region,
                                    unsigned first, TypeRange types) {
  if (types != TypeRange(op->getResultTypes()))
    return op->emitOpError() << "carries " << types << ", but has results "
                             << op->getResultTypes();
  TypeRange have(region.front().getArgumentTypes());
  if (have.size() == first + types.size() && have.drop_front(first) == types)
    return success();
  return op->emitOpError() << "has a region with arguments " << have
                           << ", but carries " << types;
}

LogicalResult IfOp::verify() {
  // (C1)
  for (Region *region : getRegions())
    if (failed(checkYield(*this, *region, getResultTypes())))
      return failure();
  // (C2)
  size_t dynamic = 0;
  for (Value result : getResults())
    dynamic += tensorType(result).getNumDynamicDims();
  if (dynamic != getSizes().size())
    return emitOpError() << "has " << getSizes().size() << " sizes for "
                         << dynamic << " dynamic extents";
  return success();
}

LogicalResult ForOp::verify() {
  // (C1)
  TypeRange have(getBody().front().getArgumentTypes());
  if (have.empty() || have.front() != DimOp::sizeType(getContext()))
    return emitOpError() << "needs a counter as the first argument";
  if (failed(checkArguments(*this, getBody(), 1, getInits().getTypes())) ||
      failed(checkYield(*this, getBody(), getResultTypes())))
    return failure();
  // (C2)
  if (getStep() == 0)
    return emitOpError() << "has step 0";
  return success();
}

LogicalResult WhileOp::verify() {
  // (C1)
  for (Region *region : getRegions())
    if (failed(checkArguments(*this, *region, 0, getInits().getTypes())))
      return failure();
  if (!isa<ConditionOp>(getTest().front().back()))
    return emitOpError() << "needs a test that ends with gir.condition";
  return checkYield(*this, getBody(), getResultTypes());
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto build = [](Builder &builder, ArrayRef<Type> inputs,
                  ArrayRef<Type> results, function_interface_impl::VariadicFlag,
                  std::string &) {
    return builder.getFunctionType(inputs, results);
  };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false,
      getFunctionTypeAttrName(result.name), build,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void KernelOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(
      printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
      getArgAttrsAttrName(), getResAttrsAttrName());
}
