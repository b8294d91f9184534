//===- Control.cpp - Functions, branches, loops, checks, prints -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Graph/IR/Graph.h"
#include "compiler/Interpreter/Interpreter.h"

#include "llvm/ADT/StringExtras.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::interpreter;

static void setAll(ResultRange results, ArrayRef<DatumRef> data,
                   Interpreter &in) {
  for (auto [result, datum] : llvm::zip_equal(results, data))
    in.set(result, datum);
}

/// Checks an argument's type and static extents against the signature.
static LogicalResult fits(Operation *op, Type type, const Array &array,
                          unsigned number) {
  auto shaped = dyn_cast<ShapedType>(type);
  auto complain = [&] {
    return op->emitError() << "argument " << number << " is ";
  };
  if (elementOf(type) != array.element)
    return complain() << nameOf(array.element) << ", expected " << type;
  if (!shaped)
    return success();
  bool same = shaped.getRank() == int64_t(array.rank());
  for (auto [expected, extent] : llvm::zip(shaped.getShape(), array.shape))
    same &= ShapedType::isDynamic(expected) || expected == extent;
  if (same)
    return success();
  auto error = complain() << "of shape (";
  llvm::interleaveComma(array.shape, error);
  return error << "), expected " << type;
}

/// Axes of one name have one extent.
static LogicalResult checkDims(Operation *op, ArrayRef<DatumRef> arguments) {
  auto function = cast<FunctionOpInterface>(op);
  llvm::StringMap<std::pair<int64_t, unsigned>> extents;
  auto nameOfArgument = [&](unsigned i) -> std::string {
    auto name = function.getArgAttrOfType<StringAttr>(i, "gir.name");
    return name ? name.str() : "argument " + std::to_string(i);
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto dims = function.getArgAttrOfType<ArrayAttr>(i, "gir.dims");
    auto *array = dyn_cast<Array>(arguments[i].get());
    if (!dims || !array)
      continue;
    for (auto [attribute, extent] : llvm::zip(dims, array->shape)) {
      auto name = dyn_cast<StringAttr>(attribute);
      // Expressions such as H*D are checked where they are computed.
      if (!name || name.empty() ||
          !llvm::all_of(name.getValue(),
                        [](char c) { return llvm::isAlnum(c) || c == '_'; }) ||
          llvm::isDigit(name.getValue()[0]))
        continue;
      auto [entry, isNew] =
          extents.try_emplace(name.getValue(), std::pair(extent, i));
      if (!isNew && entry->second.first != extent)
        return op->emitError()
               << nameOfArgument(entry->second.second) << " and "
               << nameOfArgument(i) << " disagree on " << name.getValue()
               << ": " << entry->second.first << " from "
               << nameOfArgument(entry->second.second) << ", " << extent
               << " from " << nameOfArgument(i);
    }
  }
  return success();
}

static LogicalResult callFunc(Operation *op, Interpreter &in,
                              ArrayRef<DatumRef> arguments, Data &results) {
  auto function = cast<func::FuncOp>(op);
  if (function.isExternal())
    return op->emitError() << "a function without a body";
  if (arguments.size() != function.getNumArguments())
    return op->emitError() << "called with " << arguments.size()
                           << " arguments, expected "
                           << function.getNumArguments();
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto *array = dyn_cast<Array>(arguments[i].get());
    if (!array)
      return op->emitError() << "argument " << i << " is no array";
    if (failed(fits(op, type, *array, i)))
      return failure();
  }
  if (failed(checkDims(op, arguments)))
    return failure();
  return in.run(function.getBody(), arguments, results);
}

static LogicalResult runCall(Operation *op, Interpreter &in) {
  auto call = cast<func::CallOp>(op);
  Operation *callee =
      in.getSymbols().lookupNearestSymbolFrom(op, call.getCalleeAttr());
  if (!callee)
    return op->emitError() << "there is no function '" << call.getCallee()
                           << "'";
  Data arguments, results;
  for (Value operand : op->getOperands())
    arguments.push_back(in.get(operand));
  if (failed(in.call(callee, arguments, results)))
    return failure();
  setAll(op->getResults(), results, in);
  return success();
}

static LogicalResult runIf(Operation *op, Interpreter &in) {
  auto branch = cast<graph::IfOp>(op);
  const Cell &condition = in.array(branch.getCondition()).cells[0];
  Data yielded;
  Region &region = in.domain.isTrue(condition) ? branch.getThenRegion()
                                               : branch.getElseRegion();
  if (failed(in.run(region, {}, yielded)))
    return failure();
  // The extents of the results are known before.
  size_t next = 0;
  for (auto [result, datum] : llvm::zip_equal(op->getResults(), yielded)) {
    auto type = cast<RankedTensorType>(result.getType());
    const auto &array = cast<Array>(*datum);
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      if (type.isDynamicDim(axis))
        if (int64_t size = in.scalar(branch.getSizes()[next++]);
            size != array.shape[axis])
          return op->emitError()
                 << "axis " << axis << " of a result has " << array.shape[axis]
                 << " elements, announced were " << size;
  }
  setAll(op->getResults(), yielded, in);
  return success();
}

/// A carried value keeps its extents.
static LogicalResult keepsShapes(Operation *op, ArrayRef<DatumRef> before,
                                 ArrayRef<DatumRef> after) {
  for (auto [a, b] : llvm::zip_equal(before, after))
    if (cast<Array>(*a).shape != cast<Array>(*b).shape)
      return op->emitError() << "a carried value changes its shape";
  return success();
}

static LogicalResult runFor(Operation *op, Interpreter &in) {
  auto loop = cast<graph::ForOp>(op);
  Data carried, next;
  for (Value init : loop.getInits())
    carried.push_back(in.get(init));
  int64_t step = loop.getStep(), stop = in.scalar(loop.getStop());
  for (int64_t i = in.scalar(loop.getStart()); step > 0 ? i < stop : i > stop;
       i += step) {
    Array counter({}, Element::I64, in.domain.integer(i));
    Data arguments{share(std::move(counter))};
    arguments.append(carried);
    if (failed(in.spend(op, 1)) ||
        failed(in.run(loop.getBody(), arguments, next)) ||
        failed(keepsShapes(op, carried, next)))
      return failure();
    carried = next;
  }
  setAll(op->getResults(), carried, in);
  return success();
}

static LogicalResult runWhile(Operation *op, Interpreter &in) {
  auto loop = cast<graph::WhileOp>(op);
  Data carried, next;
  for (Value init : loop.getInits())
    carried.push_back(in.get(init));
  for (;;) {
    if (failed(in.spend(op, 1)) ||
        failed(in.run(loop.getTest(), carried, next)))
      return failure();
    if (!in.domain.isTrue(cast<Array>(*next[0]).cells[0]))
      break;
    if (failed(in.run(loop.getBody(), carried, next)) ||
        failed(keepsShapes(op, carried, next)))
      return failure();
    carried = next;
  }
  setAll(op->getResults(), carried, in);
  return success();
}

//===----------------------------------------------------------------------===//
// Checks and prints
//===----------------------------------------------------------------------===//

/// An error with the message of a check: {name} stands for a number, {{ and }}
/// for braces. It begins with the place, which the error has already.
static LogicalResult refuse(Operation *op, StringRef message,
                            ArrayRef<std::pair<StringRef, int64_t>> numbers) {
  std::string text;
  for (StringRef rest = message; !rest.empty();) {
    const auto *number = llvm::find_if(numbers, [&](const auto &each) {
      return rest.starts_with(each.first);
    });
    if (number != numbers.end()) {
      text += std::to_string(number->second);
      rest = rest.drop_front(number->first.size());
      continue;
    }
    if (rest.starts_with("{{") || rest.starts_with("}}"))
      rest = rest.drop_front();
    text += rest.front();
    rest = rest.drop_front();
  }
  StringRef said = text;
  if (auto place = op->getLoc()->findInstanceOf<FileLineColLoc>())
    said.consume_front((place.getFilename().getValue() + ":" +
                        Twine(place.getLine()) + ":" +
                        Twine(place.getColumn()) + ": ")
                           .str());
  return op->emitError() << said;
}

static LogicalResult runCheckEqual(Operation *op, Interpreter &in) {
  auto check = cast<graph::CheckEqualOp>(op);
  int64_t lhs = in.scalar(check.getLhs()), rhs = in.scalar(check.getRhs());
  if (lhs == rhs)
    return success();
  return refuse(op, check.getMessage(), {{"{lhs}", lhs}, {"{rhs}", rhs}});
}

static LogicalResult runCheck(Operation *op, Interpreter &in) {
  auto check = cast<graph::CheckOp>(op);
  if (in.domain.isTrue(in.array(check.getCondition()).cells[0]))
    return success();
  return op->emitError() << check.getMessage();
}

static LogicalResult runCheckIndices(Operation *op, Interpreter &in) {
  auto check = cast<graph::CheckIndicesOp>(op);
  const Array &indices = in.array(check.getIndices());
  int64_t size = in.scalar(check.getSize());
  constexpr int64_t none = std::numeric_limits<int64_t>::min();
  int64_t worst = none;
  for (const Cell &cell : indices.cells) {
    int64_t index = cell.integer;
    bool within = index >= (check.getWraps() ? -size : 0) && index < size;
    if (!within && index != check.getIgnored())
      worst = std::max(worst, std::max(index, none + 1));
  }
  if (worst == none)
    return success();
  return refuse(op, check.getMessage(), {{"{index}", worst}, {"{size}", size}});
}

static LogicalResult runReportIndex(Operation *op, Interpreter &in) {
  auto report = cast<graph::ReportIndexOp>(op);
  int64_t worst = in.scalar(report.getWorst());
  if (worst == std::numeric_limits<int64_t>::min())
    return success();
  return refuse(op, report.getMessage(),
                {{"{index}", worst}, {"{size}", in.scalar(report.getSize())}});
}

static LogicalResult runPrint(Operation *op, Interpreter &in) {
  auto print = cast<graph::PrintOp>(op);
  Data values;
  for (Value value : print.getValues())
    values.push_back(in.get(value));
  in.print(formatPrint(print.getText(), values, in.domain));
  return success();
}

/// Names were checked where the values entered.
static LogicalResult runBindDims(Operation *, Interpreter &) {
  return success();
}

void interpreter::registerControl(Handlers &handlers) {
  handlers.addCallable("func.func", callFunc);
  handlers.add("func.call", runCall);
  handlers.add("gir.if", runIf);
  handlers.add("gir.for", runFor);
  handlers.add("gir.while", runWhile);
  handlers.add("gir.check_equal", runCheckEqual);
  handlers.add("gir.check", runCheck);
  handlers.add("gir.check_indices", runCheckIndices);
  handlers.add("gir.report_index", runReportIndex);
  handlers.add("gir.print", runPrint);
  handlers.add("gir.bind_dims", runBindDims);
}
