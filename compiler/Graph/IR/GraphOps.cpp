//===- GraphOps.cpp - Graph IR: verifiers and shape folders ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Graph/IR/Extents.h"
#include "compiler/Graph/IR/Graph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/MathExtras.h"
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

static bool isNumber(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.isSignless() &&
           llvm::is_contained({1, 8, 16, 32, 64}, integer.getWidth());
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() <= 64;
}

static LogicalResult verifyAxis(Operation *op, int64_t axis, int64_t rank) {
  if (axis >= 0 && axis < rank)
    return success();
  return op->emitOpError() << "axis " << axis << " of a tensor of rank "
                           << rank;
}

/// What a computation is done in.
static LogicalResult verifyAccumulate(Operation *op, std::optional<Type> type,
                                      bool floats) {
  if (!type ||
      (floats ? isa<FloatType>(*type) && isNumber(*type) : isNumber(*type)))
    return success();
  return op->emitOpError() << "accumulates in " << *type;
}

/// Whether extents may be equal: where both are known, they are.
static bool agree(int64_t a, int64_t b) {
  return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b;
}

/// Elements of a static shape; nothing if it is not, or does not fit.
static std::optional<int64_t> countElements(RankedTensorType type) {
  int64_t count = 1;
  for (int64_t size : type.getShape())
    if (ShapedType::isDynamic(size) || llvm::MulOverflow(count, size, count))
      return std::nullopt;
  return count;
}

LogicalResult SelectOp::verify() {
  // (C1)
  if (failed(verifyCompatibleShape(getCondition().getType(),
                                   getResult().getType())))
    return emitOpError() << "condition has type " << getCondition().getType()
                         << ", result " << getResult().getType();
  return success();
}

LogicalResult ConstantOp::verify() {
  // (C1)
  if (!isa<DenseElementsAttr>(getValue()))
    return emitOpError() << "holds its elements as dense<...>";
  return success();
}

LogicalResult ArangeOp::verify() {
  // (C1)
  if (tensorType(getResult()).getRank() != 1)
    return emitOpError() << "gives one axis, not " << getType();
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
  // (C4)
  if (input.getElementType() != result.getElementType())
    return emitOpError() << "makes " << result << " of " << input;
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
  // (C2)
  RankedTensorType input = tensorType(getInput()), result = getType();
  good = result.getRank() == rank &&
         result.getElementType() == input.getElementType();
  for (auto [i, axis] : llvm::enumerate(getPermutation()))
    good = good && agree(result.getDimSize(i), input.getDimSize(axis));
  if (!good)
    return emitOpError() << "[" << getPermutation() << "] does not make "
                         << result << " of " << input;
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  for (auto [i, axis] : llvm::enumerate(getPermutation()))
    if (int64_t(i) != axis)
      return {};
  return getInput();
}

LogicalResult ReshapeOp::verify() {
  // (C2)
  RankedTensorType input = tensorType(getInput()), result = getType();
  std::optional<int64_t> from = countElements(input),
                         to = countElements(result);
  if (input.getElementType() != result.getElementType() ||
      (from && to && *from != *to))
    return emitOpError() << "makes " << result << " of " << input;
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
  for (int64_t step : getSteps())
    if (step < -maxStep || step > maxStep)
      return emitOpError() << "a step of " << step;
  // (C3)
  if (getType().getRank() != rank ||
      getType().getElementType() != tensorType(getInput()).getElementType())
    return emitOpError() << "makes " << getType() << " of "
                         << getInput().getType();
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
  // (C2)
  if (getInputs().empty())
    return emitOpError() << "joins nothing";
  return verifyAxis(*this, getAxis(), getType().getRank());
}

LogicalResult TakeOp::verify() {
  // (C1)
  RankedTensorType input = tensorType(getInput());
  if (failed(verifyAxis(*this, getAxis(), input.getRank())))
    return failure();
  // (C2)
  int64_t rank = input.getRank() + tensorType(getIndices()).getRank() - 1;
  if (getType().getRank() != rank ||
      getType().getElementType() != input.getElementType())
    return emitOpError() << "takes " << getType() << " of " << input << " by "
                         << getIndices().getType();
  return success();
}

LogicalResult GatherOp::verify() {
  // (C1)
  int64_t rank = tensorType(getInput()).getRank();
  if (tensorType(getIndices()).getRank() != rank || getType().getRank() != rank)
    return emitOpError() << "input has rank " << rank << ", indices "
                         << tensorType(getIndices()).getRank() << ", result "
                         << getType().getRank();
  // (C2)
  if (getType().getElementType() != tensorType(getInput()).getElementType())
    return emitOpError() << "takes " << getType() << " of "
                         << getInput().getType();
  return verifyAxis(*this, getAxis(), rank);
}

/// Removes a check that cannot fail, or that stands there already.
LogicalResult CheckIndicesOp::canonicalize(CheckIndicesOp op,
                                           PatternRewriter &rewriter) {
  Value indices = op.getIndices();
  while (auto view = indices.getDefiningOp()) {
    auto cast = dyn_cast<CastOp>(view);
    bool widens =
        cast && tensorType(indices).getElementTypeBitWidth() >=
                    tensorType(cast.getInput()).getElementTypeBitWidth();
    if (!widens && !isa<ReshapeOp, TransposeOp, BroadcastOp, SliceOp>(view))
      break;
    indices = view->getOperand(0);
  }
  bool within = false;
  if (auto arange = indices.getDefiningOp<ArangeOp>())
    within = getExtent(arange.getSize()) == getExtent(op.getSize());
  else if (auto reduce = indices.getDefiningOp<ReduceOp>())
    // Of an empty axis there is no largest element.
    within =
        (reduce.getKind() == ReduceKind::Argmax ||
         reduce.getKind() == ReduceKind::Argmin) &&
        reduce.getAxes().size() == 1 &&
        getExtent(reduce.getInput(), reduce.getAxes().front()) ==
            getExtent(op.getSize()) &&
        !tensorType(reduce.getInput()).isDynamicDim(reduce.getAxes().front());
  if (!within)
    within = llvm::any_of(op.getIndices().getUsers(), [&](Operation *user) {
      auto other = dyn_cast<CheckIndicesOp>(user);
      return other && other != op && other->getBlock() == op->getBlock() &&
             other->isBeforeInBlock(op) &&
             getExtent(other.getSize()) == getExtent(op.getSize()) &&
             other.getWraps() == op.getWraps() &&
             other.getIgnoredAttr() == op.getIgnoredAttr();
    });
  if (!within)
    return failure();
  rewriter.eraseOp(op);
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
  // (C3)
  constexpr int64_t most = int64_t(1) << 31;
  if (int64_t(getCorrection()) < -most || int64_t(getCorrection()) > most)
    return emitOpError() << "corrects by " << int64_t(getCorrection());
  return verifyAccumulate(*this, getAccumulate(), /*floats=*/false);
}

LogicalResult ScanOp::verify() {
  // (C1)
  if (getKind() > ReduceKind::Min)
    return emitOpError() << "cannot scan with "
                         << stringifyReduceKind(getKind());
  // (C2)
  if (failed(verifyAxis(*this, getAxis(), getType().getRank())))
    return failure();
  return verifyAccumulate(*this, getAccumulate(), /*floats=*/false);
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
  // (C3)
  int64_t m = lhs.getDimSize(rank - (getTransposeLhs() ? 1 : 2));
  int64_t n = rhs.getDimSize(rank - (getTransposeRhs() ? 2 : 1));
  bool good = agree(getType().getDimSize(rank - 2), m) &&
              agree(getType().getDimSize(rank - 1), n);
  for (int64_t axis = 0; axis < rank - 2; ++axis)
    good = good && agree(getType().getDimSize(axis), lhs.getDimSize(axis)) &&
           agree(getType().getDimSize(axis), rhs.getDimSize(axis));
  if (!good)
    return emitOpError() << "makes no " << getType() << " of " << lhs << " and "
                         << rhs;
  // (C4)
  if (lhs.getElementType() != rhs.getElementType())
    return emitOpError() << "multiplies " << lhs.getElementType() << " by "
                         << rhs.getElementType();
  return verifyAccumulate(*this, getAccumulate(), /*floats=*/false);
}

LogicalResult SoftmaxOp::verify() {
  // (C1)
  if (failed(verifyAxis(*this, getAxis(), tensorType(getInput()).getRank())))
    return failure();
  return verifyAccumulate(*this, getAccumulate(), /*floats=*/true);
}

LogicalResult LayerNormOp::verify() {
  // (C1)
  RankedTensorType input = tensorType(getInput());
  int64_t axes = getAxes();
  if (axes < 1 || axes > input.getRank())
    return emitOpError() << "normalises " << axes << " of " << input.getRank()
                         << " axes";
  if (tensorType(getResult()).getRank() != input.getRank() ||
      failed(verifyCompatibleShape(input, getResult().getType())))
    return emitOpError() << "makes " << getResult().getType() << " of "
                         << input;
  // (C2)
  if (getParameters().size() > 2)
    return emitOpError() << "has a weight and a bias, not "
                         << getParameters().size() << " parameters";
  for (Value parameter : getParameters())
    if (tensorType(parameter).getRank() != axes)
      return emitOpError() << "has a parameter of " << parameter.getType()
                           << " for " << axes << " axes";
  return verifyAccumulate(*this, getAccumulate(), /*floats=*/true);
}

LogicalResult CrossEntropyOp::verify() {
  // (C1)
  int64_t rank = tensorType(getLogits()).getRank();
  if (rank < 1 || tensorType(getTargets()).getRank() != rank - 1 ||
      tensorType(getResult()).getRank() != rank - 1)
    return emitOpError() << "of " << getLogits().getType() << " and "
                         << getTargets().getType() << " is no "
                         << getResult().getType();
  return verifyAccumulate(*this, getAccumulate(), /*floats=*/true);
}

LogicalResult AttentionOp::verify() {
  // (C1)
  int64_t rank = getType().getRank();
  for (Value value : {getQ(), getK(), getV()})
    if (tensorType(value).getRank() != rank || rank < 2)
      return emitOpError() << "q, k, v and the result need one rank of at "
                              "least 2, but there is "
                           << value.getType() << " and " << getType();
  // (C2)
  for (Value value : {getQ(), getK(), getV()})
    if (tensorType(value).getElementType() != getType().getElementType())
      return emitOpError() << "of " << value.getType() << " gives "
                           << getType();
  if (getScale() && tensorType(getScale()).getRank() != 0)
    return emitOpError() << "has a scale of " << getScale().getType();
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
  int64_t step = getStep();
  if (step == 0 || step < -maxStep || step > maxStep)
    return emitOpError() << "has step " << step;
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

LogicalResult KernelOp::verify() {
  // (C1)
  if (!llvm::hasSingleElement(getBody()) || !getResultTypes().empty())
    return emitOpError() << "is one block without results";
  Block &body = getBody().front();
  if (body.empty() || body.back().getName().getStringRef() != "tile.return")
    return emitOpError() << "ends with tile.return";
  // (C2)
  constexpr int64_t maxRank = 8;
  for (auto [number, type] : llvm::enumerate(getArgumentTypes())) {
    auto view = dyn_cast<MemRefType>(type);
    SmallVector<int64_t> strides;
    int64_t offset;
    if (view ? view.getRank() > maxRank || !isNumber(view.getElementType()) ||
                   view.getMemorySpace() ||
                   failed(view.getStridesAndOffset(strides, offset))
             : !isNumber(type))
      return emitOpError() << "argument " << number
                           << ": a kernel takes views with strides, of up to "
                           << maxRank << " axes, and numbers, not " << type;
  }
  return success();
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
