//===- Contractions.cpp - Matrix products ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Graph/IR/Graph.h"
#include "compiler/Interpreter/Interpreter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::interpreter;

/// f32 for floats up to f32, i32 for i8, else the element type.
static Element accumulatorOf(Element element) {
  if (isFloat(element))
    return computeType(element);
  return element == Element::I8 ? Element::I32 : element;
}

static LogicalResult runGemm(Operation *op, Interpreter &in) {
  auto gemm = cast<graph::GemmOp>(op);
  const Array &lhs = in.array(gemm.getLhs()), &rhs = in.array(gemm.getRhs());
  size_t rank = lhs.rank();
  auto extent = [&](const Array &x, bool turned, bool row) {
    return x.shape[rank - (row != turned ? 2 : 1)];
  };
  bool tl = gemm.getTransposeLhs(), tr = gemm.getTransposeRhs();
  int64_t m = extent(lhs, tl, true), k = extent(lhs, tl, false);
  int64_t n = extent(rhs, tr, false), k2 = extent(rhs, tr, true);
  if (k != k2)
    return op->emitError() << "reduction sizes differ: lhs has " << k
                           << ", rhs has " << k2;
  SmallVector<int64_t> shape(ArrayRef<int64_t>(lhs.shape));
  int64_t batches = 1;
  for (size_t axis = 0; axis + 2 < rank; ++axis) {
    if (rhs.shape[axis] != shape[axis])
      return op->emitError()
             << "batch axis " << axis << " has " << shape[axis]
             << " elements in lhs, " << rhs.shape[axis] << " in rhs";
    batches *= shape[axis];
  }
  shape[rank - 2] = m;
  shape[rank - 1] = n;
  Element to = elementOf(op->getResult(0));
  Types types{lhs.element, accumulatorOf(lhs.element), to};
  if (gemm.getAccumulate())
    types.in = *elementOf(*gemm.getAccumulate());
  FailureOr<Array> result = in.allocate(op, shape, to);
  if (failed(result) ||
      failed(in.spend(op, uint64_t(result->size()) * uint64_t(k))))
    return failure();
  int bits = keptBits(gemm.getPrecision());
  auto taken = [&](const Cell &x) {
    return bits ? in.domain.keepBits(x, bits) : x;
  };
  std::vector<Cell> rows(m * k), columns(k * n);
  for (int64_t b = 0; b < batches; ++b) {
    const Cell *left = lhs.cells.data() + b * m * k;
    const Cell *right = rhs.cells.data() + b * k * n;
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < k; ++i)
        columns[j * k + i] = taken(right[tr ? j * k + i : i * n + j]);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < k; ++j)
        rows[i * k + j] = taken(left[tl ? j * m + i : i * k + j]);
    in.domain.multiply(
        types, m, n, k, rows, columns,
        MutableArrayRef<Cell>(result->cells).slice(b * m * n, m * n));
  }
  in.set(op->getResult(0), std::move(*result));
  return success();
}

void interpreter::registerContractions(Handlers &handlers) {
  handlers.add("gir.gemm", runGemm);
}
