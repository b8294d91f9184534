//===- Arith.cpp - arith, math and scf ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalars and tiles of the tile levels. Arithmetic is that of ScalarOps.def.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "compiler/Interpreter/Interpreter.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::interpreter;

/// A tile of one number that only meets other tiles is as good as the number.
static bool onlyMeetsTiles(Operation *constant) {
  return llvm::all_of(constant->getUsers(), [](Operation *user) {
    return OpTrait::hasElementwiseMappableTraits(user) &&
           llvm::any_of(user->getOperands(), [](Value operand) {
             return isa<RankedTensorType>(operand.getType()) &&
                    !operand.getDefiningOp<arith::ConstantOp>();
           });
  });
}

static LogicalResult runConstant(Operation *op, Interpreter &in) {
  Attribute value = cast<arith::ConstantOp>(op).getValue();
  if (auto dense = dyn_cast<DenseElementsAttr>(value);
      dense && dense.isSplat() && in.kernel && onlyMeetsTiles(op))
    value = dense.getSplatValue<Attribute>();
  FailureOr<Array> result = readConstant(op, value, in);
  if (failed(result))
    return failure();
  in.set(op->getResult(0), std::move(*result));
  return success();
}

static LogicalResult runCast(Operation *op, Interpreter &in) {
  return castElements(op, in);
}

/// Casts of integers that are no conversions of numbers.
static LogicalResult runBits(Operation *op, Interpreter &in) {
  const Array &input = in.array(op->getOperand(0));
  Element from = input.element, to = elementOf(op->getResult(0));
  FailureOr<Array> result = in.allocate(op, input.shape, to);
  if (failed(result))
    return failure();
  auto zeroExtended = [&](int64_t value) {
    unsigned bits = bitsOf(from);
    return bits == 64 ? value
                      : int64_t(uint64_t(value) & ((uint64_t(1) << bits) - 1));
  };
  StringRef name = op->getName().getStringRef();
  for (int64_t i = 0; i < result->size(); ++i) {
    const Cell &cell = input.cells[i];
    Cell &out = result->cells[i];
    if (!cell.present())
      out = cell;
    else if (name == "arith.bitcast")
      out = in.domain.fromBits(to, in.domain.toBits(from, cell));
    else if (name == "arith.uitofp")
      out = in.domain.cast(in.domain.integer(zeroExtended(cell.integer)),
                           Element::I64, to);
    else if (name == "arith.extui" || name == "arith.index_castui")
      out = in.domain.integer(wrapTo(to, zeroExtended(cell.integer)));
    else if (name == "arith.trunci" && to == Element::I1)
      out = in.domain.integer(cell.integer & 1);
    else // extsi: i1 is 0 or 1, but 1 means -1
      out = in.domain.integer(
          wrapTo(to, from == Element::I1 ? -cell.integer : cell.integer));
  }
  in.set(op->getResult(0), std::move(*result));
  return success();
}

/// The one cell of a scalar that decides something.
static LogicalResult decide(Operation *op, Value value, Interpreter &in,
                            const char *what, bool &result) {
  const Cell &cell = in.array(value).cells[0];
  if (!cell.present())
    return in.reject(op, cell, what);
  result = in.domain.isTrue(cell);
  return success();
}

static void setAll(ResultRange results, ArrayRef<DatumRef> data,
                   Interpreter &in) {
  for (auto [result, datum] : llvm::zip_equal(results, data))
    in.set(result, datum);
}

static LogicalResult runIf(Operation *op, Interpreter &in) {
  auto branch = cast<scf::IfOp>(op);
  bool taken = false;
  if (failed(decide(op, branch.getCondition(), in, "the branch", taken)))
    return failure();
  Region &region = taken ? branch.getThenRegion() : branch.getElseRegion();
  Data yielded;
  if (!region.empty() && failed(in.run(region, {}, yielded)))
    return failure();
  setAll(op->getResults(), yielded, in);
  return success();
}

static LogicalResult runFor(Operation *op, Interpreter &in) {
  auto loop = cast<scf::ForOp>(op);
  for (Value bound :
       {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
    if (const Cell &cell = in.array(bound).cells[0]; !cell.present())
      return in.reject(op, cell, "the loop");
  int64_t from = in.scalar(loop.getLowerBound());
  int64_t to = in.scalar(loop.getUpperBound());
  int64_t step = in.scalar(loop.getStep());
  if (step <= 0)
    return op->emitError() << "a loop with steps of " << step;
  Data carried;
  for (Value init : loop.getInitArgs())
    carried.push_back(in.get(init));
  Element counter = elementOf(loop.getInductionVar());
  for (int64_t i = from; i < to; i += step) {
    if (failed(in.spend(op, 1)))
      return failure();
    Data arguments = {share(Array({}, counter, in.domain.integer(i)))};
    llvm::append_range(arguments, carried);
    if (failed(in.run(loop.getRegion(), arguments, carried)))
      return failure();
  }
  setAll(op->getResults(), carried, in);
  return success();
}

static LogicalResult runWhile(Operation *op, Interpreter &in) {
  auto loop = cast<scf::WhileOp>(op);
  Data carried;
  for (Value init : loop.getInits())
    carried.push_back(in.get(init));
  for (;;) {
    Data forwarded;
    if (failed(in.spend(op, 1)) ||
        failed(in.run(loop.getBefore(), carried, forwarded)))
      return failure();
    const Cell &flag = cast<Array>(*forwarded.front()).cells[0];
    if (!flag.present())
      return in.reject(op, flag, "the loop's condition");
    bool again = in.domain.isTrue(flag);
    forwarded.erase(forwarded.begin());
    if (!again) {
      setAll(op->getResults(), forwarded, in);
      return success();
    }
    if (failed(in.run(loop.getAfter(), forwarded, carried)))
      return failure();
  }
}

void interpreter::registerArith(Handlers &handlers) {
  for (StringRef name :
       {"negf",    "addf",       "addi",      "subf",     "subi",     "mulf",
        "muli",    "divf",       "remf",      "divsi",    "remsi",    "divui",
        "remui",   "floordivsi", "ceildivsi", "andi",     "ori",      "xori",
        "shli",    "shrsi",      "shrui",     "maximumf", "minimumf", "maxnumf",
        "minnumf", "maxsi",      "minsi",     "maxui",    "minui",    "select",
        "cmpf",    "cmpi"})
    handlers.add(("arith." + name).str(), runElementwise);
  for (StringRef name :
       {"absf",  "absi",     "exp",   "exp2",  "log",       "log2",
        "log1p", "sqrt",     "rsqrt", "sin",   "cos",       "tanh",
        "erf",   "erfc",     "floor", "ceil",  "roundeven", "trunc",
        "powf",  "copysign", "fma",   "isnan", "isfinite"})
    handlers.add(("math." + name).str(), runElementwise);
  for (StringRef name : {"extf", "truncf", "sitofp", "fptosi"})
    handlers.add(("arith." + name).str(), runCast);
  for (StringRef name : {"bitcast", "uitofp", "extui", "extsi", "trunci",
                         "index_cast", "index_castui"})
    handlers.add(("arith." + name).str(), runBits);
  handlers.add("arith.constant", runConstant);
  handlers.add("scf.if", runIf);
  handlers.add("scf.for", runFor);
  handlers.add("scf.while", runWhile);
}
