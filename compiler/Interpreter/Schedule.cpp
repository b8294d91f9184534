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

static std::optional<Reduction> reductionNamed(StringRef name) {
  static constexpr std::pair<llvm::StringLiteral, Reduction> all[] = {
      {"sum", Reduction::Sum}, {"prod", Reduction::Prod},
      {"max", Reduction::Max}, {"min", Reduction::Min},
      {"any", Reduction::Any}, {"all", Reduction::All}};
  for (auto [text, kind] : all)
    if (text == name)
      return kind;
  return std::nullopt;
}

static LogicalResult runPartial(Operation *op, Interpreter &in) {
  auto partial = cast<schedule::PartialOp>(op);
  const Array &input = in.array(partial.getInput());
  std::optional<Reduction> kind = reductionNamed(partial.getKind());
  if (!kind)
    return op->emitError() << "no reduction is called '" << partial.getKind()
                           << "'";
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
        *kind, types, ArrayRef<Cell>(input.cells).slice(begin, end - begin));
  }
  in.set(op->getResult(0), std::move(*result));
  return success();
}

static LogicalResult ignore(Operation *, Interpreter &) { return success(); }

void interpreter::registerSchedule(Handlers &handlers) {
  handlers.add("sched.fuse", runFuse);
  handlers.add("sched.partial", runPartial);
  for (StringRef decision :
       {"tile", "pipeline", "place", "autotune", "overlap"})
    handlers.add(("sched." + decision).str(), ignore);
}
