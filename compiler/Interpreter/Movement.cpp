//===- Movement.cpp - Ops that place elements and compute none ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Graph/IR/Graph.h"
#include "compiler/Interpreter/Interpreter.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::interpreter;

FailureOr<Array> interpreter::readConstant(Operation *op, Attribute value,
                                           Interpreter &in) {
  auto bitsOf = [](Attribute one) -> uint64_t {
    if (auto real = dyn_cast<FloatAttr>(one))
      return real.getValue().bitcastToAPInt().getZExtValue();
    return uint64_t(cast<IntegerAttr>(one).getValue().getSExtValue());
  };
  // A number of the program stands for a ring element by its value.
  auto cellOf = [&](Element element, uint64_t bits) {
    return isFloat(element) ? in.domain.literal(element, decode(element, bits))
                            : in.domain.fromBits(element, bits);
  };
  if (auto elements = dyn_cast<DenseElementsAttr>(value)) {
    std::optional<Element> element = elementOf(elements.getType());
    if (!element)
      return op->emitError() << "the interpreter does not know elements of "
                             << elements.getElementType();
    FailureOr<Array> result =
        in.allocate(op, elements.getType().getShape(), *element);
    if (failed(result))
      return failure();
    if (elements.isSplat()) {
      Cell cell = cellOf(*element, bitsOf(elements.getSplatValue<Attribute>()));
      std::fill(result->cells.begin(), result->cells.end(), cell);
    } else {
      for (auto [cell, one] :
           llvm::zip(result->cells, elements.getValues<Attribute>()))
        cell = cellOf(*element, bitsOf(one));
    }
    return result;
  }
  if (!isa<FloatAttr, IntegerAttr>(value))
    return op->emitError() << "a constant the interpreter does not know";
  std::optional<Element> element = elementOf(cast<TypedAttr>(value).getType());
  if (!element)
    return op->emitError() << "the interpreter does not know this type";
  return Array({}, *element, cellOf(*element, bitsOf(value)));
}

static LogicalResult runConstant(Operation *op, Interpreter &in) {
  FailureOr<Array> result =
      readConstant(op, cast<graph::ConstantOp>(op).getValue(), in);
  if (failed(result))
    return failure();
  in.set(op->getResult(0), std::move(*result));
  return success();
}

static LogicalResult runDim(Operation *op, Interpreter &in) {
  auto dim = cast<graph::DimOp>(op);
  int64_t extent = in.array(dim.getInput()).shape[dim.getAxis()];
  in.set(op->getResult(0), Array({}, Element::I64, in.domain.integer(extent)));
  return success();
}

static LogicalResult runArange(Operation *op, Interpreter &in) {
  auto arange = cast<graph::ArangeOp>(op);
  Element element = elementOf(op->getResult(0));
  FailureOr<Array> result =
      in.allocate(op, {in.scalar(arange.getSize())}, element);
  if (failed(result))
    return failure();
  for (int64_t i = 0; i < result->size(); ++i)
    result->cells[i] = in.domain.integer(wrapTo(element, i));
  in.set(op->getResult(0), std::move(*result));
  return success();
}

/// result[index] = input[start + sum of index[i] * strides[i]]
static LogicalResult gatherStrided(Operation *op, Interpreter &in,
                                   const Array &input, ArrayRef<int64_t> shape,
                                   int64_t start, ArrayRef<int64_t> strides) {
  FailureOr<Array> result = in.allocate(op, shape, input.element);
  if (failed(result))
    return failure();
  int64_t next = 0;
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    int64_t offset = start;
    for (auto [i, stride] : llvm::zip_equal(index, strides))
      offset += i * stride;
    result->cells[next++] = input.cells[offset];
  });
  in.set(op->getResult(0), std::move(*result));
  return success();
}

static LogicalResult runBroadcast(Operation *op, Interpreter &in) {
  auto broadcast = cast<graph::BroadcastOp>(op);
  const Array &input = in.array(broadcast.getInput());
  SmallVector<int64_t> shape =
      in.shapeOf(op->getResult(0).getType(), broadcast.getSizes());
  SmallVector<int64_t> strides(shape.size(), 0), from = input.strides();
  auto type = cast<RankedTensorType>(broadcast.getInput().getType());
  for (auto [i, axis] : llvm::enumerate(broadcast.getAxes())) {
    if (input.shape[i] == shape[axis])
      strides[axis] = from[i];
    else if (type.getDimSize(i) != 1)
      return op->emitError()
             << "axis " << i << " of the input has " << input.shape[i]
             << " elements, axis " << axis << " of the result " << shape[axis];
  }
  return gatherStrided(op, in, input, shape, 0, strides);
}

static LogicalResult runTranspose(Operation *op, Interpreter &in) {
  auto transpose = cast<graph::TransposeOp>(op);
  const Array &input = in.array(transpose.getInput());
  SmallVector<int64_t> shape, strides, from = input.strides();
  for (int64_t axis : transpose.getPermutation()) {
    shape.push_back(input.shape[axis]);
    strides.push_back(from[axis]);
  }
  return gatherStrided(op, in, input, shape, 0, strides);
}

static LogicalResult runReshape(Operation *op, Interpreter &in) {
  auto reshape = cast<graph::ReshapeOp>(op);
  Array result = in.array(reshape.getInput());
  SmallVector<int64_t> shape =
      in.shapeOf(op->getResult(0).getType(), reshape.getSizes());
  if (elementCount(shape) != result.size())
    return op->emitError() << "a reshape of " << result.size()
                           << " elements to another number of them";
  result.shape.assign(shape.begin(), shape.end());
  in.set(op->getResult(0), std::move(result));
  return in.spend(op, 1);
}

static LogicalResult runSlice(Operation *op, Interpreter &in) {
  auto slice = cast<graph::SliceOp>(op);
  const Array &input = in.array(slice.getInput());
  SmallVector<int64_t> shape =
      in.shapeOf(op->getResult(0).getType(), slice.getSizes());
  SmallVector<int64_t> strides = input.strides();
  int64_t start = 0;
  bool empty = llvm::is_contained(shape, 0);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    int64_t first = in.scalar(slice.getStarts()[axis]);
    int64_t step = slice.getSteps()[axis];
    int64_t last = first + (shape[axis] - 1) * step;
    if (shape[axis] < 0 ||
        (!empty && (std::min(first, last) < 0 ||
                    std::max(first, last) >= input.shape[axis])))
      return op->emitError()
             << "elements " << first << " to " << last << " of axis " << axis
             << ", which has " << input.shape[axis];
    start += first * strides[axis];
    strides[axis] *= step;
  }
  return gatherStrided(op, in, input, shape, start, strides);
}

static LogicalResult runConcat(Operation *op, Interpreter &in) {
  auto concat = cast<graph::ConcatOp>(op);
  size_t axis = concat.getAxis();
  std::vector<int64_t> shape = in.array(concat.getInputs()[0]).shape;
  shape[axis] = 0;
  for (Value value : concat.getInputs()) {
    const Array &input = in.array(value);
    for (size_t i = 0; i < shape.size(); ++i)
      if (i != axis && input.shape[i] != shape[i])
        return op->emitError() << "the inputs differ on axis " << i << ": "
                               << shape[i] << " and " << input.shape[i];
    shape[axis] += input.shape[axis];
  }
  FailureOr<Array> result = in.allocate(op, shape, elementOf(op->getResult(0)));
  if (failed(result))
    return failure();
  int64_t before = 0;
  for (Value value : concat.getInputs()) {
    const Array &input = in.array(value);
    int64_t next = 0;
    forEachIndex(input.shape, [&](ArrayRef<int64_t> index) {
      SmallVector<int64_t> to(index);
      to[axis] += before;
      result->at(to) = input.cells[next++];
    });
    before += input.shape[axis];
  }
  in.set(op->getResult(0), std::move(*result));
  return success();
}

/// The element at `position` of an axis, or 0 outside of it.
static Cell pick(Interpreter &in, const Array &input,
                 SmallVectorImpl<int64_t> &index, size_t axis,
                 const Cell &position) {
  if (!position.present())
    return Cell::with(position.state);
  bool outside = position.integer < 0 || position.integer >= input.shape[axis];
  if (!outside)
    index[axis] = position.integer;
  Cell cell = outside ? in.domain.constant(input.element, 0) : input.at(index);
  // Of an uncertain position nothing is known (domain Bound).
  if (position.error != 0) {
    cell.error = std::max(cell.error, position.error);
    cell.shared = cell.source = 0;
    cell.least = -std::numeric_limits<double>::infinity();
  }
  return cell;
}

static LogicalResult runTake(Operation *op, Interpreter &in) {
  auto take = cast<graph::TakeOp>(op);
  const Array &input = in.array(take.getInput());
  const Array &indices = in.array(take.getIndices());
  size_t axis = take.getAxis(), added = indices.rank();
  SmallVector<int64_t> shape(input.shape.begin(), input.shape.begin() + axis);
  shape.append(indices.shape.begin(), indices.shape.end());
  shape.append(input.shape.begin() + axis + 1, input.shape.end());
  FailureOr<Array> result = in.allocate(op, shape, input.element);
  if (failed(result))
    return failure();
  int64_t next = 0;
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> from(index.take_front(axis));
    from.push_back(0);
    llvm::append_range(from, index.drop_front(axis + added));
    result->cells[next++] =
        pick(in, input, from, axis, indices.at(index.slice(axis, added)));
  });
  in.set(op->getResult(0), std::move(*result));
  return success();
}

static LogicalResult runGather(Operation *op, Interpreter &in) {
  auto gather = cast<graph::GatherOp>(op);
  const Array &input = in.array(gather.getInput());
  const Array &indices = in.array(gather.getIndices());
  size_t axis = gather.getAxis();
  for (size_t i = 0; i < input.rank(); ++i)
    if (i != axis && indices.shape[i] > input.shape[i])
      return op->emitError()
             << "axis " << i << " of the indices has " << indices.shape[i]
             << " elements, the input " << input.shape[i];
  FailureOr<Array> result = in.allocate(op, indices.shape, input.element);
  if (failed(result))
    return failure();
  int64_t next = 0;
  forEachIndex(indices.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> from(index);
    result->cells[next] = pick(in, input, from, axis, indices.cells[next]);
    ++next;
  });
  in.set(op->getResult(0), std::move(*result));
  return success();
}

void interpreter::registerMovement(Handlers &handlers) {
  handlers.add("gir.constant", runConstant);
  handlers.add("gir.dim", runDim);
  handlers.add("gir.arange", runArange);
  handlers.add("gir.broadcast", runBroadcast);
  handlers.add("gir.transpose", runTranspose);
  handlers.add("gir.reshape", runReshape);
  handlers.add("gir.slice", runSlice);
  handlers.add("gir.concat", runConcat);
  handlers.add("gir.take", runTake);
  handlers.add("gir.gather", runGather);
}
