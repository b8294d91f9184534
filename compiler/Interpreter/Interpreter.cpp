//===- Interpreter.cpp - Executes any stage on plain arrays ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Interpreter/Interpreter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::interpreter;

std::vector<std::string> Handlers::names() const {
  std::vector<std::string> result;
  for (const auto &entry : ops)
    result.push_back(entry.getKey().str());
  llvm::sort(result);
  return result;
}

const Handlers &interpreter::allHandlers() {
  static const Handlers all = [] {
    Handlers handlers;
    registerElementwise(handlers);
    registerMovement(handlers);
    registerReductions(handlers);
    registerContractions(handlers);
    registerComposites(handlers);
    registerControl(handlers);
    registerSchedule(handlers);
    registerArith(handlers);
    registerTileAccess(handlers);
    registerTileBuffers(handlers);
    registerTileKernels(handlers);
    registerPlan(handlers);
    registerTileValues(handlers);
    return handlers;
  }();
  return all;
}

Element interpreter::elementOf(Value value) {
  return *elementOf(value.getType());
}

Interpreter::Interpreter(ModuleOp module, Domain &domain, RunOptions options)
    : domain(domain), options(std::move(options)), random(this->options.seed),
      module(module), handlers(allHandlers()) {}

const DatumRef &Interpreter::get(Value value) const {
  auto found = frames.back().find(value);
  assert(found != frames.back().end() && "a value was used before it was set");
  return found->second;
}

void Interpreter::set(Value value, DatumRef datum) {
  frames.back()[value] = std::move(datum);
}

Cell Interpreter::poison(Operation *op, StringRef why) {
  // One reason per op is all a reader needs; the last one is the likeliest.
  auto [entry, isNew] = lastReason.try_emplace(op, 0);
  if (isNew || reasons[size_t(entry->second) - 1].second != why) {
    reasons.emplace_back(op->getLoc(), why.str());
    entry->second = int64_t(reasons.size());
  }
  Cell cell = Cell::with(State::Poison);
  cell.integer = entry->second;
  return cell;
}

void Interpreter::remark(Operation *op, StringRef kind, StringRef text) {
  auto [entry, isNew] = remarked.try_emplace({op, kind}, remarks.size());
  if (isNew)
    remarks.push_back({op->getLoc(), kind, text.str(), 0});
  ++remarks[entry->second].count;
}

LogicalResult Interpreter::reject(Operation *op, const Cell &cell,
                                  const Twine &what) {
  auto error = op->emitError() << what;
  if (cell.state == State::Absent)
    return error << " needs an element outside its dim";
  bool known = cell.integer > 0 && size_t(cell.integer) <= reasons.size();
  if (!known)
    return error << " depends on an undefined result (a division by zero, a "
                    "shift too far), or on memory that was never written";
  const auto &[where, why] = reasons[size_t(cell.integer) - 1];
  error << " depends on " << why;
  error.attachNote(where) << "here";
  return error;
}

LogicalResult Interpreter::spend(Operation *op, uint64_t amount) {
  work += amount;
  if (work <= options.maxWork)
    return success();
  return op->emitError() << "interpreting this takes more than "
                         << options.maxWork << " steps";
}

FailureOr<Array> Interpreter::allocate(Operation *op, ArrayRef<int64_t> shape,
                                       Element element) {
  std::optional<int64_t> count = elementCount(shape);
  if (!count || uint64_t(*count) > options.maxCells) {
    auto error = op->emitError() << "an array of ";
    llvm::interleave(
        shape, [&](int64_t extent) { error << extent; },
        [&] { error << " x "; });
    error << (count ? " elements is too large to interpret"
                    : " elements cannot be: an extent is negative or huge");
    return failure();
  }
  if (failed(spend(op, uint64_t(*count) + 1)))
    return failure();
  return Array(shape, element);
}

SmallVector<int64_t> Interpreter::shapeOf(Type type, ValueRange sizes) const {
  auto shaped = cast<ShapedType>(type);
  SmallVector<int64_t> shape(shaped.getShape());
  size_t next = 0;
  for (int64_t &extent : shape)
    if (ShapedType::isDynamic(extent))
      extent = scalar(sizes[next++]);
  return shape;
}

LogicalResult Interpreter::run(Operation *op) {
  Handler handler = handlers.find(op);
  if (!handler)
    return op->emitError() << "the interpreter has no reference for '"
                           << op->getName() << "'";
  if (failed(handler(op, *this)))
    return failure();
  if (options.observer)
    options.observer(op, *this);
  return success();
}

LogicalResult Interpreter::run(Region &region, ArrayRef<DatumRef> arguments,
                               Data &yielded) {
  Block &block = region.front();
  for (auto [argument, datum] :
       llvm::zip_equal(block.getArguments(), arguments))
    set(argument, datum);
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      yielded.clear();
      for (Value operand : op.getOperands())
        yielded.push_back(get(operand));
      return success();
    }
    if (failed(run(&op)))
      return failure();
  }
  yielded.clear();
  return success();
}

LogicalResult Interpreter::call(Operation *callee, ArrayRef<DatumRef> arguments,
                                Data &results) {
  Callable callable = handlers.findCallable(callee);
  if (!callable)
    return callee->emitError()
           << "the interpreter cannot call '" << callee->getName() << "'";
  if (frames.size() > 1000)
    return callee->emitError() << "calls are nested more than 1000 deep";
  frames.emplace_back();
  LogicalResult result = callable(callee, *this, arguments, results);
  frames.pop_back();
  return result;
}

LogicalResult Interpreter::call(StringRef name, ArrayRef<DatumRef> arguments,
                                Data &results) {
  Operation *callee = SymbolTable::lookupSymbolIn(module, name);
  if (!callee)
    return module.emitError() << "there is no function called '" << name << "'";
  return call(callee, arguments, results);
}

std::string Interpreter::findEntry() {
  llvm::StringSet<> called;
  module->walk([&](Operation *op) {
    for (NamedAttribute attribute : op->getAttrs())
      if (auto symbol = dyn_cast<FlatSymbolRefAttr>(attribute.getValue()))
        called.insert(symbol.getValue());
  });
  SmallVector<StringRef> entries, plans;
  for (Operation &op : *module.getBody()) {
    if (!handlers.findCallable(&op))
      continue;
    StringRef name = SymbolTable::getSymbolName(&op).getValue();
    if (op.getName().getStringRef() == "plan.func")
      plans.push_back(name);
    else if (!called.contains(name))
      entries.push_back(name);
  }
  if (!plans.empty())
    entries = plans;
  return entries.size() == 1 ? entries[0].str() : "";
}
