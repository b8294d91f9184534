//===- Schedule.cpp - Schedule IR -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel is its payload; decisions change no result.
//
//===----------------------------------------------------------------------===//

#include "compiler/Schedule/IR/Schedule.h"

#include "compiler/Interpreter/Interpreter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::interpreter;

static LogicalResult runFuse(Operation *op, Interpreter &in) {
  auto fuse = cast<schedule::FuseOp>(op);
  Data inputs, results;
  for (Value input : fuse.getInputs())
    inputs.push_back(in.get(input));
  if (failed(in.run(fuse.getBody(), inputs, results)))
    return failure();
  for (auto [result, datum] : llvm::zip_equal(op->getResults(), results))
    in.set(result, datum);
  return success();
}

/// The first version that is for calls of this size. How operands lie changes
/// no result, and is not known before there is memory.
static LogicalResult runVersions(Operation *op, Interpreter &in) {
  auto versions = cast<schedule::VersionsOp>(op);
  Data results;
  if (failed(in.run(versions.getVersions().back(), {}, results)))
    return failure();
  DatumRef general = results[0];
  ArrayRef<int64_t> shape = cast<Array>(general.get())->shape;
  auto isWithin = [](int64_t size, ArrayRef<int64_t> bounds) {
    return size >= bounds[0] && (!bounds[1] || size <= bounds[1]);
  };
  for (auto [when, region] :
       llvm::zip_first(versions.getWhen().getAsRange<schedule::WhenAttr>(),
                       versions.getVersions()))
    if (isWithin(shape[shape.size() - 2], when.getRows()) &&
        isWithin(shape.back(), when.getColumns())) {
      results.clear();
      if (failed(in.run(region, {}, results)))
        return failure();
      break;
    }
  in.set(op->getResult(0), results[0]);
  return success();
}

static Reduction reductionOf(schedule::PartialKind kind) {
  switch (kind) {
  case schedule::PartialKind::Sum:
    return Reduction::Sum;
  case schedule::PartialKind::Prod:
    return Reduction::Prod;
  case schedule::PartialKind::Max:
    return Reduction::Max;
  case schedule::PartialKind::Min:
    return Reduction::Min;
  case schedule::PartialKind::Any:
    return Reduction::Any;
  case schedule::PartialKind::All:
    return Reduction::All;
  }
  llvm_unreachable("a kind of reduction");
}

static LogicalResult runPartial(Operation *op, Interpreter &in) {
  auto partial = cast<schedule::PartialOp>(op);
  const Array &input = in.array(partial.getInput());
  Reduction kind = reductionOf(partial.getKind());
  int64_t chunk = partial.getChunk(), n = input.size();
  FailureOr<Array> result =
      in.allocate(op, {in.scalar(partial.getSize())}, input.element);
  if (failed(result) || failed(in.spend(op, uint64_t(n))))
    return failure();
  if (result->size() * chunk < n)
    return op->emitError() << result->size() << " chunks of " << chunk
                           << " do not hold " << n << " elements";
  Types types{input.element, input.element, input.element};
  for (int64_t p = 0; p < result->size(); ++p) {
    int64_t begin = std::min(p * chunk, n), end = std::min(begin + chunk, n);
    result->cells[p] = in.domain.reduce(
        kind, types, ArrayRef<Cell>(input.cells).slice(begin, end - begin));
  }
  in.set(op->getResult(0), std::move(*result));
  return success();
}

static LogicalResult ignore(Operation *, Interpreter &) { return success(); }

void interpreter::registerSchedule(Handlers &handlers) {
  handlers.add("sched.fuse", runFuse);
  handlers.add("sched.versions", runVersions);
  handlers.add("sched.partial", runPartial);
  for (StringRef decision :
       {"tile", "pipeline", "place", "autotune", "overlap"})
    handlers.add(("sched." + decision).str(), ignore);
}
