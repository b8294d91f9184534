//===- Elementwise.cpp - Ops on single elements ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Graph/IR/Graph.h"
#include "compiler/Interpreter/Interpreter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::interpreter;

/// The largest rank's shape: scalars of the tile level go with any tile.
static const Array &shapedOperand(Operation *op, Interpreter &in) {
  const Array *best = &in.array(op->getOperand(0));
  for (Value operand : op->getOperands())
    if (const Array &other = in.array(operand); other.rank() > best->rank())
      best = &other;
  return *best;
}

/// Whether both are one value: also before common subexpressions are one op.
static bool isSame(Value a, Value b) {
  if (a == b)
    return true;
  Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
  return first && second && first->getNumResults() == 1 &&
         first->getNumRegions() == 0 && isMemoryEffectFree(first) &&
         first->getName() == second->getName() &&
         first->getAttrDictionary() == second->getAttrDictionary() &&
         first->getOperands() == second->getOperands();
}

LogicalResult interpreter::runElementwise(Operation *op, Interpreter &in) {
  std::optional<ScalarOp> scalar = scalarOpOf(op);
  if (!scalar)
    return op->emitError() << "'" << op->getName()
                           << "' is no element-wise op the interpreter knows";
  unsigned count = op->getNumOperands();
  Element from = elementOf(op->getOperand(count > 1 ? 1 : 0));
  Element to = elementOf(op->getResult(0));
  // gir computes 16-bit floats in f32; arith and math say what they mean.
  Types types = isPredicate(*scalar) ? Types{from, computeType(from), to}
                                     : Types::of(from, to);
  // Of the tile levels these are steps of a reduction, which chooses elements.
  bool chooses = *scalar == ScalarOp::Maximum || *scalar == ScalarOp::Minimum;
  if (chooses && from == to && op->getName().getDialectNamespace() == "arith")
    types.in = from;
  if (isFloat(from))
    if (std::string why = in.domain.refuse(*scalar); !why.empty())
      return op->emitError() << why;
  std::vector<int64_t> shape = shapedOperand(op, in).shape;
  SmallVector<const Array *, 3> operands;
  bool differ = false;
  for (Value operand : op->getOperands()) {
    const Array &array = in.array(operand);
    operands.push_back(&array);
    if (array.rank() == 0 || array.shape == shape)
      continue;
    differ = true;
    if (array.rank() != shape.size() || !in.kernel)
      return op->emitError() << "the operands' shapes differ at run time";
    // Of tiles: an element exists where it exists in all of them.
    for (auto [size, other] : llvm::zip_equal(shape, array.shape))
      size = std::min(size, other);
  }
  Array crops[3];
  for (unsigned k = 0; differ && k < count; ++k)
    if (operands[k]->rank() != 0)
      operands[k] = &cropped(*operands[k], shape, crops[k]);
  FailureOr<Array> result = in.allocate(op, shape, to);
  if (failed(result))
    return failure();
  bool isSquare = *scalar == ScalarOp::Mul && isFloat(from) &&
                  isSame(op->getOperand(0), op->getOperand(1));
  Cell cells[3];
  for (int64_t i = 0; i < result->size(); ++i) {
    if (isSquare) {
      result->cells[i] = in.domain.square(types, operands[0]->cells[i]);
      continue;
    }
    for (unsigned k = 0; k < count; ++k)
      cells[k] = operands[k]->cells[operands[k]->rank() == 0 ? 0 : i];
    result->cells[i] = in.domain.apply(*scalar, types, {cells, count});
  }
  in.set(op->getResult(0), std::move(*result));
  return success();
}

LogicalResult interpreter::castElements(Operation *op, Interpreter &in,
                                        Rounding rounding) {
  Element from = elementOf(op->getOperand(0)), to = elementOf(op->getResult(0));
  if (std::string why = in.domain.refuseCast(from, to); !why.empty())
    return op->emitError() << why;
  const Array &input = in.array(op->getOperand(0));
  FailureOr<Array> result = in.allocate(op, input.shape, to);
  if (failed(result))
    return failure();
  for (int64_t i = 0; i < result->size(); ++i)
    result->cells[i] = in.domain.cast(input.cells[i], from, to, rounding);
  in.set(op->getResult(0), std::move(*result));
  return success();
}

static LogicalResult runCast(Operation *op, Interpreter &in) {
  StringRef how = cast<graph::CastOp>(op).getRounding();
  if (how != "rn" && how != "rz")
    return op->emitError() << "the interpreter does not round '" << how << "'";
  return castElements(op, in,
                      how == "rz" ? Rounding::TowardZero : Rounding::Nearest);
}

void interpreter::registerElementwise(Handlers &handlers) {
  for (StringRef name :
       {"neg",     "abs",      "exp",      "exp2",    "log",     "log2",
        "log1p",   "sqrt",     "rsqrt",    "sin",     "cos",     "tanh",
        "erf",     "sigmoid",  "floor",    "ceil",    "round",   "gelu",
        "silu",    "relu",     "not",      "add",     "sub",     "mul",
        "div",     "floordiv", "mod",      "pow",     "and",     "or",
        "xor",     "shl",      "shr",      "maximum", "minimum", "fma",
        "compare", "isnan",    "isfinite", "select"})
    handlers.add(("gir." + name).str(), runElementwise);
  handlers.add("gir.cast", runCast);
}
