//===- Reductions.cpp - Reductions and scans ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Graph/IR/Graph.h"
#include "compiler/Interpreter/Rows.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::interpreter;

static std::optional<Reduction> primitiveOf(graph::ReduceKind kind) {
  using K = graph::ReduceKind;
  switch (kind) {
  case K::Sum:
    return Reduction::Sum;
  case K::Prod:
    return Reduction::Prod;
  case K::Max:
    return Reduction::Max;
  case K::Min:
    return Reduction::Min;
  case K::Any:
    return Reduction::Any;
  case K::All:
    return Reduction::All;
  case K::Argmax:
    return Reduction::Argmax;
  case K::Argmin:
    return Reduction::Argmin;
  default:
    return std::nullopt;
  }
}

/// What a sum or product of `from` is accumulated in.
static Element accumulateType(std::optional<Type> chosen, Element from) {
  return chosen ? *elementOf(*chosen) : computeType(from);
}

static Cell reduceRow(graph::ReduceOp op, Domain &domain, Types types,
                      ArrayRef<Cell> row) {
  using K = graph::ReduceKind;
  K kind = op.getKind();
  if (std::optional<Reduction> primitive = primitiveOf(kind)) {
    Cell cell = domain.reduce(*primitive, types, row);
    // Of nothing: the first position.
    if (kind == K::Argmax || kind == K::Argmin)
      cell.integer = std::max<int64_t>(cell.integer, 0);
    return cell;
  }
  Row x = castRow(domain, row, types.from, types.in);
  Cell result = kind == K::Mean ? meanRow(domain, types.in, x)
                : kind == K::Var
                    ? varianceRow(domain, types.in, x, op.getCorrection())
                    : logsumexpRow(domain, types.in, x);
  return domain.cast(result, types.in, types.to);
}

static LogicalResult runReduce(Operation *op, Interpreter &in) {
  auto reduce = cast<graph::ReduceOp>(op);
  const Array &input = in.array(reduce.getInput());
  using K = graph::ReduceKind;
  K kind = reduce.getKind();
  Element from = input.element, to = elementOf(op->getResult(0));
  Types types{from, from, to};
  if (kind == K::Sum || kind == K::Prod)
    types.in = accumulateType(reduce.getAccumulate(), from);
  else if (kind >= K::Mean)
    types.in =
        accumulateType(reduce.getAccumulate(), isFloat(from) ? from : to);
  SmallVector<int64_t> shape;
  for (int64_t axis = 0; axis < int64_t(input.rank()); ++axis)
    if (!llvm::is_contained(reduce.getAxes(), axis))
      shape.push_back(input.shape[axis]);
  FailureOr<Array> result = in.allocate(op, shape, to);
  if (failed(result) || failed(in.spend(op, uint64_t(input.size()))))
    return failure();
  forEachRow(input, reduce.getAxes(),
             [&](ArrayRef<Cell> row, ArrayRef<int64_t>, int64_t number) {
               result->cells[number] = reduceRow(reduce, in.domain, types, row);
             });
  in.set(op->getResult(0), std::move(*result));
  return success();
}

static LogicalResult runScan(Operation *op, Interpreter &in) {
  auto scan = cast<graph::ScanOp>(op);
  const Array &input = in.array(scan.getInput());
  Element to = elementOf(op->getResult(0));
  Types types{input.element,
              accumulateType(scan.getAccumulate(), input.element), to};
  FailureOr<Array> result = in.allocate(op, input.shape, to);
  if (failed(result))
    return failure();
  Row out;
  forEachRow(input, {int64_t(scan.getAxis())},
             [&](ArrayRef<Cell> row, ArrayRef<int64_t> places, int64_t) {
               out.resize(row.size());
               in.domain.scan(*primitiveOf(scan.getKind()), types, row, out);
               for (auto [cell, place] : llvm::zip_equal(out, places))
                 result->cells[place] = cell;
             });
  in.set(op->getResult(0), std::move(*result));
  return success();
}

void interpreter::registerReductions(Handlers &handlers) {
  handlers.add("gir.reduce", runReduce);
  handlers.add("gir.scan", runScan);
}
