//===- Plan.cpp - Runs the plan of a function -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Interpreter/Plan.h"

#include "compiler/Interpreter/PlanIntegers.h"
#include "compiler/Plan/IR/IntegerBuilder.h"
#include "compiler/ScheduleToTile/PlanExpressions.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::interpreter;

namespace {

/// One run of a plan.
class PlanRun {
public:
  /// `only` is the kernel that each launch is of, if the plan was made for it.
  PlanRun(plan::FuncOp func, Interpreter &in, Operation *only)
      : func(func), in(in), only(only) {}

  /// `tensors` are those of arguments; null ones are made.
  LogicalResult bind(ArrayRef<DatumRef> arguments);
  LogicalResult run() { return run(func.getBody().front()); }
  void collect(Data &results);

private:
  // -- Arguments -------------------------------------------------------------

  LogicalResult bindScalar(plan::ScalarOp scalar, const DatumRef &given);
  LogicalResult bindTensor(plan::ArgOp argument, const DatumRef &given);
  LogicalResult checkAxes(plan::ArgOp argument);
  LogicalResult makeResult(Operation *result, StringRef name, ValueRange axes);
  int64_t unitAxis(Value tensor);

  // -- Steps -----------------------------------------------------------------

  LogicalResult run(Block &block);
  LogicalResult step(Operation *op);
  LogicalResult check(Operation *op, Value condition, StringRef message,
                      ValueRange shown);
  LogicalResult expect(plan::ExpectOp op);
  LogicalResult load(plan::LoadOp op);
  LogicalResult show(plan::ViewOp op);
  LogicalResult allocate(plan::AllocResultOp op);
  LogicalResult launch(plan::LaunchOp op);
  LogicalResult branch(scf::IfOp op);
  LogicalResult loop(scf::WhileOp op);
  /// Computes all before it sets one.
  LogicalResult set(Operation *op, ValueRange targets, ValueRange from);
  LogicalResult make(Operation *op, Value tensor, StringRef name,
                     ArrayRef<int64_t> sizes, StringRef why);

  LogicalResult evaluate(Operation *op, Value value, int64_t &result);
  LogicalResult evaluate(Operation *op, ValueRange range,
                         SmallVectorImpl<int64_t> &result);
  PlanMemory &memory(Value tensor) { return values.tensors[tensor]; }
  /// Errors of a plan that was made for a kernel are the kernel's.
  InFlightDiagnostic fail(Operation *op) {
    return (only ? only : op)->emitError();
  }
  Operation *kernelOf(plan::LaunchOp op) const {
    if (only)
      return only;
    return SymbolTable::lookupSymbolIn(in.getModule(), op.getKernelAttr());
  }

  plan::FuncOp func;
  Interpreter &in;
  Operation *only;
  PlanValues values;
  uintptr_t made = 0; // tensors that have an address
  llvm::DenseMap<Value, plan::ArgOp> boundBy;
};

} // namespace

LogicalResult PlanRun::evaluate(Operation *op, Value value, int64_t &result) {
  plan::Evaluated computed = values.evaluate(value);
  result = computed.value;
  if (!computed.error)
    return success();
  return fail(op) << "in the plan of " << func.getName() << ", "
                  << computed.error;
}

LogicalResult PlanRun::evaluate(Operation *op, ValueRange range,
                                SmallVectorImpl<int64_t> &result) {
  for (Value value : range)
    if (failed(evaluate(op, value, result.emplace_back())))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

static Element elementOfTensor(Value tensor) {
  return *elementNamed(
      plan::nameOf(cast<plan::PlanTensorType>(tensor.getType()).getElement()));
}

/// The axis that must have stride 1: a check of the plan, or a kernel's type,
/// says so.
int64_t PlanRun::unitAxis(Value tensor) {
  for (auto check : func.getBody().front().getOps<plan::CheckOp>())
    for (Value shown : check.getValues())
      if (auto stride = shown.getDefiningOp<plan::StrideOp>();
          stride && stride.getTensor() == tensor)
        return int64_t(stride.getAxis());
  int64_t found = -1;
  func.walk([&](plan::LaunchOp launch) {
    auto kernel = dyn_cast_or_null<FunctionOpInterface>(kernelOf(launch));
    if (!kernel)
      return WalkResult::advance();
    auto views = llvm::make_filter_range(kernel.getArgumentTypes(),
                                         llvm::IsaPred<MemRefType>);
    for (auto [type, operand] : llvm::zip(views, launch.getTensors())) {
      int64_t axis = unitAxisOf(type);
      Value shown = operand;
      // Through views that only show the axes in another order.
      for (auto view = shown.getDefiningOp<plan::ViewOp>();
           view && axis >= 0 && shown != tensor;
           view = shown.getDefiningOp<plan::ViewOp>()) {
        auto stride =
            view.getStrides()[unsigned(axis)].getDefiningOp<plan::StrideOp>();
        axis = stride && stride.getTensor() == view.getSource()
                   ? int64_t(stride.getAxis())
                   : -1;
        shown = view.getSource();
      }
      if (axis >= 0 && shown == tensor) {
        found = axis;
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return found >= 0
             ? found
             : cast<plan::PlanTensorType>(tensor.getType()).getRank() - 1;
}

LogicalResult PlanRun::bindScalar(plan::ScalarOp scalar,
                                  const DatumRef &given) {
  auto *array = dyn_cast_or_null<Array>(given.get());
  if (!array || array->rank() != 0)
    return fail(scalar) << scalar.getName() << " takes a number";
  Type type = scalar.getType();
  Element wanted = type.isF64()        ? Element::F64
                   : type.isInteger(1) ? Element::I1
                                       : Element::I64;
  if (array->element != wanted)
    return fail(scalar) << scalar.getName() << " is " << nameOf(array->element)
                        << ", expected " << nameOf(wanted);
  const Cell &cell = array->cells[0];
  if (type.isF64())
    values.reals[scalar] = cell;
  else
    values.integers[scalar] = cell.integer;
  return success();
}

LogicalResult PlanRun::bindTensor(plan::ArgOp argument, const DatumRef &given) {
  StringRef name = argument.getName();
  int64_t rank = argument.getType().getRank();
  auto *array = dyn_cast<Array>(given.get());
  if (!array || int64_t(array->rank()) != rank)
    return fail(argument) << name << " has " << (array ? array->rank() : 0)
                          << " axes, expected " << rank;
  Element wanted = elementOfTensor(argument);
  if (array->element != wanted)
    return fail(argument) << name << " is " << nameOf(array->element)
                          << ", expected " << nameOf(wanted);
  // Which axis has stride 1 belongs to a version's key, not to the plan.
  auto known = in.options.strides.find(name.str());
  SmallVector<int64_t> strides =
      known != in.options.strides.end() &&
              known->second.size() == array->rank() && in.options.seed == 0
          ? known->second
          : chooseStrides(array->shape, unitAxis(argument), in);
  PlanMemory &bound = memory(argument);
  bound.view =
      View::of(*array, strides,
               in.poison(func, ("memory between the rows of " + name).str()));
  bound.view->name = name.str();
  bound.address = ++made << 40;
  if (in.options.seed)
    bound.address += uintptr_t(in.random() % 16 * bitsOf(array->element) / 8) +
                     (in.random() % 2 ? constantAddress : 0);
  for (auto [axis, size] :
       llvm::zip_equal(argument.getAxes(), bound.view->shape))
    if (axis.getDefiningOp<plan::DimOp>() &&
        values.integers.insert({axis, size}).second)
      boundBy[axis] = argument;
  return success();
}

LogicalResult PlanRun::checkAxes(plan::ArgOp argument) {
  for (auto [i, axis] : llvm::enumerate(argument.getAxes())) {
    int64_t wanted, have = memory(argument).view->shape[i];
    if (failed(evaluate(argument, axis, wanted)))
      return failure();
    if (wanted == have)
      continue;
    if (auto dim = axis.getDefiningOp<plan::DimOp>()) {
      StringRef first = boundBy[axis].getName();
      return fail(argument)
             << first << " and " << argument.getName() << " disagree on "
             << dim.getName() << ": " << wanted << " from " << first << ", "
             << have << " from " << argument.getName();
    }
    return fail(argument) << argument.getName() << " has " << have
                          << " elements along axis " << i << ", expected "
                          << wanted;
  }
  return success();
}

/// Whether the value is known before a tensor is.
static bool isBound(Value value, const PlanValues &values) {
  SmallVector<Value> left = {value};
  llvm::DenseSet<Value> seen;
  while (!left.empty()) {
    Value next = left.pop_back_val();
    if (!seen.insert(next).second || values.integers.contains(next))
      continue;
    if (next.getDefiningOp<plan::DimOp>())
      return false;
    llvm::append_range(left, next.getDefiningOp()->getOperands());
  }
  return true;
}

LogicalResult PlanRun::makeResult(Operation *result, StringRef name,
                                  ValueRange axes) {
  SmallVector<int64_t> sizes;
  for (Value axis : axes)
    if (!isBound(axis, values))
      return fail(result) << "argument " << name << " is missing";
  if (failed(evaluate(result, axes, sizes)))
    return failure();
  return make(result, result->getResult(0), name, sizes, "no kernel writes");
}

LogicalResult PlanRun::bind(ArrayRef<DatumRef> arguments) {
  Block &block = func.getBody().front();
  auto isArgument = llvm::IsaPred<plan::ScalarOp, plan::ArgOp>;
  auto parameters = llvm::make_filter_range(
      block, [&](Operation &op) { return isArgument(&op); });
  auto isOut = [](Operation &op) {
    auto argument = dyn_cast<plan::ArgOp>(op);
    return argument && argument.getMode() == plan::Mode::Out;
  };
  // Where fewer are given than there are, those that are made were left out.
  size_t count = size_t(std::distance(parameters.begin(), parameters.end()));
  size_t outs = size_t(llvm::count_if(parameters, isOut));
  bool omitted = outs != 0 && arguments.size() + outs == count;
  if (!omitted && arguments.size() != count)
    return fail(func) << "called with " << arguments.size()
                      << " arguments, expected " << count;
  llvm::DenseMap<Operation *, DatumRef> given;
  size_t next = 0;
  for (Operation &op : parameters)
    if (!omitted || !isOut(op))
      given[&op] = arguments[next++];

  for (auto scalar : block.getOps<plan::ScalarOp>())
    if (failed(bindScalar(scalar, given[scalar])))
      return failure();
  for (auto argument : block.getOps<plan::ArgOp>())
    if (given[argument] && failed(bindTensor(argument, given[argument])))
      return failure();
  for (auto argument : block.getOps<plan::ArgOp>())
    if (failed(given[argument] ? checkAxes(argument)
                               : makeResult(argument, argument.getName(),
                                            argument.getAxes())))
      return failure();
  for (auto result : block.getOps<plan::ResultOp>())
    if (!result.getLate() &&
        failed(makeResult(result, result.getName(), result.getAxes())))
      return failure();
  return success();
}

void PlanRun::collect(Data &results) {
  auto add = [&](Value tensor) {
    results.push_back(
        share(values.tensors.find(tensor)->second.view->toArray()));
  };
  for (Operation &op : func.getBody().front()) {
    auto argument = dyn_cast<plan::ArgOp>(op);
    if (isa<plan::ResultOp>(op) ||
        (argument && argument.getMode() != plan::Mode::In))
      add(op.getResult(0));
  }
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

LogicalResult PlanRun::make(Operation *op, Value tensor, StringRef name,
                            ArrayRef<int64_t> sizes, StringRef why) {
  for (int64_t size : sizes)
    if (size < 0)
      return fail(op) << name << " would have the negative size " << size;
  Element element = elementOfTensor(tensor);
  if (failed(in.allocate(func, sizes, element)))
    return failure();
  PlanMemory &fresh = memory(tensor);
  fresh.view = View::make(
      sizes, element,
      in.poison(func, ("an element of " + name + " that " + why).str()));
  fresh.view->name = name.str();
  // Any address that is legal: temporaries are aligned, arguments need not be.
  fresh.address = ++made << 40;
  return success();
}

LogicalResult PlanRun::check(Operation *op, Value condition, StringRef message,
                             ValueRange shown) {
  int64_t holds;
  if (failed(evaluate(op, condition, holds)))
    return failure();
  if (holds)
    return success();
  return fail(func) << values.render(message, shown, in.domain);
}

LogicalResult PlanRun::expect(plan::ExpectOp op) {
  const View &view = *memory(op.getTensor()).view;
  const Cell &cell = view.memory->cells[size_t(view.offset)];
  if (!cell.present())
    return in.reject(op, cell, "the plan");
  Block &block = op.getBody().front();
  values.integers[block.getArgument(0)] = cell.integer;
  auto holds = cast<plan::HoldsOp>(block.getTerminator());
  return check(op, holds.getCondition(), holds.getMessage(), holds.getValues());
}

LogicalResult PlanRun::load(plan::LoadOp op) {
  const View &view = *memory(op.getTensor()).view;
  SmallVector<int64_t> index;
  if (failed(evaluate(op, op.getIndices(), index)))
    return failure();
  int64_t at = view.offset;
  for (auto [i, size, stride] :
       llvm::zip_equal(index, view.shape, view.strides)) {
    if (i < 0 || i >= size)
      return fail(op) << "index " << i << " is outside of " << view.name;
    at += i * stride;
  }
  const Cell &cell = view.memory->cells[size_t(at)];
  if (!cell.present())
    return in.reject(op, cell, "the plan");
  if (isFloat(view.element))
    values.reals[op] = in.domain.cast(cell, view.element, Element::F64);
  else
    values.integers[op] = cell.integer;
  return success();
}

LogicalResult PlanRun::show(plan::ViewOp op) {
  const PlanMemory source = memory(op.getSource());
  auto view = std::make_shared<View>(*source.view);
  int64_t offset;
  view->name = op.getName().str();
  view->shape.clear();
  view->strides.clear();
  if (failed(evaluate(op, op.getOffset(), offset)) ||
      failed(evaluate(op, op.getSizes(), view->shape)) ||
      failed(evaluate(op, op.getStrides(), view->strides)))
    return failure();
  view->offset += offset;
  // The elements lie within the source's memory.
  int64_t low = view->offset, high = view->offset;
  bool empty = false;
  for (auto [size, stride] : llvm::zip_equal(view->shape, view->strides)) {
    if (size < 0)
      return fail(op) << "the view " << op.getName()
                      << " has the negative size " << size;
    empty |= size == 0;
    (stride < 0 ? low : high) += std::max<int64_t>(size - 1, 0) * stride;
  }
  if (!empty && (low < 0 || high >= int64_t(view->memory->cells.size())))
    return fail(op) << "the view " << op.getName() << " leaves the memory of "
                    << source.view->name;
  uintptr_t address =
      source.address + uintptr_t(offset * int64_t(bitsOf(view->element)) / 8);
  memory(op) = {std::move(view), address};
  return success();
}

LogicalResult PlanRun::allocate(plan::AllocResultOp op) {
  Value tensor = op.getTensor();
  SmallVector<int64_t> sizes;
  if (failed(evaluate(op, op.getSizes(), sizes)))
    return failure();
  auto result = tensor.getDefiningOp<plan::ResultOp>();
  return make(op, tensor, result.getName(), sizes, "nobody has written");
}

LogicalResult PlanRun::launch(plan::LaunchOp op) {
  Operation *callee = kernelOf(op);
  auto kernel = dyn_cast_or_null<FunctionOpInterface>(callee);
  if (!kernel)
    return fail(op) << "there is no kernel " << op.getKernel();
  int64_t grid;
  if (failed(evaluate(op, op.getGrid(), grid)))
    return failure();
  if (grid < 0)
    return fail(op) << "a negative grid";
  if (grid > 0)
    in.launched.insert(op.getKernel().str());
  ValueRange tensors = op.getTensors(), scalars = op.getScalars();
  Data arguments;
  for (Type type : kernel.getArgumentTypes()) {
    bool isView = isa<MemRefType>(type);
    ValueRange &left = isView ? tensors : scalars;
    if (left.empty())
      return fail(op) << "too few " << (isView ? "tensors" : "scalars")
                      << " for the kernel";
    Value given = left.front();
    left = left.drop_front();
    if (isView) {
      arguments.push_back(memory(given).view);
      continue;
    }
    Element element = *elementOf(type);
    Cell cell;
    if (auto real = values.reals.find(given); real != values.reals.end()) {
      cell = real->second;
    } else if (auto constant = given.getDefiningOp<arith::ConstantOp>();
               constant && isa<FloatAttr>(constant.getValue())) {
      double number =
          cast<FloatAttr>(constant.getValue()).getValue().convertToDouble();
      cell = in.domain.constant(element, number);
    } else {
      int64_t number;
      if (failed(evaluate(op, given, number)))
        return failure();
      cell = Cell::ofInteger(number);
    }
    arguments.push_back(share(Array({}, element, cell)));
  }
  if (!tensors.empty() || !scalars.empty())
    return fail(op) << "too many operands for the kernel";
  return runKernel(callee, in, arguments, only ? -1 : grid);
}

LogicalResult PlanRun::set(Operation *op, ValueRange targets, ValueRange from) {
  SmallVector<int64_t> computed;
  if (failed(evaluate(op, from, computed)))
    return failure();
  for (auto [target, value] : llvm::zip_equal(targets, computed))
    values.integers[target] = value;
  return success();
}

LogicalResult PlanRun::branch(scf::IfOp op) {
  int64_t holds;
  if (failed(evaluate(op, op.getCondition(), holds)))
    return failure();
  Region &arm = holds ? op.getThenRegion() : op.getElseRegion();
  if (arm.empty())
    return success();
  Block &block = arm.front();
  if (failed(run(block)))
    return failure();
  return set(op, op.getResults(), block.getTerminator()->getOperands());
}

LogicalResult PlanRun::loop(scf::WhileOp op) {
  Block &test = *op.getBeforeBody(), &turn = *op.getAfterBody();
  scf::ConditionOp condition = op.getConditionOp();
  if (failed(set(op, test.getArguments(), op.getInits())))
    return failure();
  while (true) {
    int64_t goes;
    if (failed(run(test)) ||
        failed(evaluate(op, condition.getCondition(), goes)))
      return failure();
    ValueRange next = goes ? ValueRange(turn.getArguments()) : op.getResults();
    if (failed(set(op, next, condition.getArgs())))
      return failure();
    if (!goes)
      return success();
    if (failed(run(turn)) || failed(set(op, test.getArguments(),
                                        turn.getTerminator()->getOperands())))
      return failure();
  }
}

LogicalResult PlanRun::run(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(in.spend(func, 1)) || failed(step(&op)))
      return failure();
  return success();
}

LogicalResult PlanRun::step(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](plan::CheckOp check) {
        return this->check(check, check.getCondition(), check.getMessage(),
                           check.getValues());
      })
      .Case([&](plan::ExpectOp expect) { return this->expect(expect); })
      .Case([&](plan::LoadOp load) { return this->load(load); })
      .Case([&](plan::AllocOp alloc) -> LogicalResult {
        SmallVector<int64_t> sizes;
        if (failed(evaluate(alloc, alloc.getSizes(), sizes)))
          return failure();
        return make(alloc, alloc, alloc.getName(), sizes, "nobody has written");
      })
      .Case([&](plan::AllocResultOp alloc) { return allocate(alloc); })
      .Case([&](plan::ViewOp view) { return show(view); })
      .Case([&](plan::LaunchOp launch) { return this->launch(launch); })
      .Case([&](plan::SwapOp swap) {
        std::swap(memory(swap.getLhs()), memory(swap.getRhs()));
        return success();
      })
      .Case([&](plan::FreeOp free) {
        std::shared_ptr<View> &view = memory(free.getTensor()).view;
        std::string name = view->name;
        view = View::make(view->shape, view->element,
                          in.poison(func, "an element of " + name +
                                              ", which was given back"));
        view->name = name;
        return success();
      })
      .Case([&](scf::IfOp branch) { return this->branch(branch); })
      .Case([&](scf::WhileOp loop) { return this->loop(loop); })
      // Integers are computed where a step needs them.
      .Default(success());
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

static LogicalResult runPlan(plan::FuncOp func, Operation *only,
                             Interpreter &in, ArrayRef<DatumRef> arguments,
                             Data &results) {
  PlanRun run(func, in, only);
  if (failed(run.bind(arguments)) || failed(run.run()))
    return failure();
  results.clear();
  run.collect(results);
  return success();
}

static LogicalResult callPlan(Operation *op, Interpreter &in,
                              ArrayRef<DatumRef> arguments, Data &results) {
  return runPlan(cast<plan::FuncOp>(op), nullptr, in, arguments, results);
}

LogicalResult interpreter::runAsPlan(Operation *kernel, Interpreter &in,
                                     ArrayRef<DatumRef> arguments,
                                     Data &results) {
  auto function = cast<FunctionOpInterface>(kernel);
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel->getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  plan::FuncOp plan =
      tile::createPlan(builder, kernel->getLoc(), function.getName());
  tile::PlanHeader header(function, builder);
  SmallVector<Value> tensors, scalars;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    (header.isScalar(i) ? scalars : tensors).push_back(header.get(i));
  plan::LaunchOp::create(
      builder, kernel->getLoc(), function.getName(), tensors, scalars,
      plan::IntegerBuilder(builder, kernel->getLoc()).number(0), Value(),
      IntegerAttr());
  // Scalars come first in a plan.
  auto isOut = [&](unsigned i) {
    auto mode = function.getArgAttrOfType<StringAttr>(i, "gir.mode");
    return !header.isScalar(i) && mode && mode.getValue() == "out";
  };
  auto all = llvm::seq<unsigned>(0, function.getNumArguments());
  bool omitted =
      arguments.size() + size_t(llvm::count_if(all, isOut)) == all.size();
  Data given, rest;
  size_t next = 0;
  for (unsigned i : all)
    if (next < arguments.size() && !(omitted && isOut(i)))
      (header.isScalar(i) ? given : rest).push_back(arguments[next++]);
  given.append(rest);
  given.append(arguments.begin() + next, arguments.end()); // too many: an error
  return runPlan(plan, kernel, in, given, results);
}

void interpreter::registerPlan(Handlers &handlers) {
  handlers.addCallable("plan.func", callPlan);
}
