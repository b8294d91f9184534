//===- TilePlan.cpp - Runs the plan of a function -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Interpreter/TilePlan.h"

#include "compiler/Interpreter/TileData.h"
#include "compiler/Schedule/IR/Schedule.h"
#include "compiler/ScheduleToTile/PlanExpressions.h"
#include "runtime/Plan.h"
#include "runtime/Status.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::interpreter;

namespace {

/// A plan's text, and what belongs to a launch of a GPU beside it.
struct PlanText {
  std::string text = "tessera.plan 1\n";
  struct Machine {
    int64_t block = -1, shared = -1;
  };
  std::map<int, Machine> machines; // by line
};

/// One run of a plan.
/// A bit of the made-up addresses: some arguments are constants, when a seed
/// chooses what callers may choose.
constexpr uintptr_t constantAddress = uintptr_t(1) << 39;
bool isConstant(const void *address) {
  return reinterpret_cast<uintptr_t>(address) & constantAddress;
}

class PlanRun {
public:
  PlanRun(Operation *op, const runtime::Plan &plan, const PlanText &text,
          Interpreter &in)
      : op(op), plan(plan), text(text), in(in), slots(size_t(plan.numSlots)),
        cells(slots.size()), views(plan.tensors.size()),
        pointers(plan.tensors.size()) {}

  /// The kernel that is launched if the plan was made for it.
  Operation *only = nullptr;

  LogicalResult bind(ArrayRef<DatumRef> tensors, ArrayRef<DatumRef> scalars);
  LogicalResult run();
  void collect(Data &results) const;

private:
  LogicalResult bindTensor(size_t index, const DatumRef &given);
  LogicalResult checkAxes(size_t index);
  LogicalResult make(size_t index, ArrayRef<int64_t> sizes, StringRef why);
  LogicalResult show(const runtime::Step &step);
  LogicalResult load(const runtime::Step &step);
  LogicalResult launch(const runtime::Step &step);
  LogicalResult evaluate(const runtime::Expression &expr, int line,
                         int64_t &result);
  LogicalResult evaluate(int32_t first, int32_t count, int line,
                         SmallVectorImpl<int64_t> &result);
  void publish(size_t index);
  int64_t unitAxis(size_t index) const;
  InFlightDiagnostic fail(int line) {
    return op->emitError() << plan.function << ", plan line " << line << ": ";
  }
  std::string say(const runtime::Message &message) const {
    return runtime::renderMessage(plan, message, inputs());
  }
  runtime::ExprInputs inputs() const {
    return {slots.data(), pointers.data(), isConstant};
  }
  Operation *kernelAt(int32_t index) const {
    if (only)
      return only;
    return SymbolTable::lookupSymbolIn(in.getModule(),
                                       plan.kernels[size_t(index)]);
  }

  Operation *op;
  const runtime::Plan &plan;
  const PlanText &text;
  Interpreter &in;
  std::vector<int64_t> slots;
  std::vector<std::optional<Cell>> cells; // of slots that hold floats
  std::vector<std::shared_ptr<View>> views;
  std::vector<void *> pointers; // addresses, for expressions only
};

} // namespace

LogicalResult PlanRun::evaluate(const runtime::Expression &expr, int line,
                                int64_t &result) {
  runtime::ExprError error =
      runtime::evaluate(expr, plan.code.data(), inputs(), result);
  if (error == runtime::ExprError::None)
    return success();
  return fail(line) << runtime::describe(error);
}

LogicalResult PlanRun::evaluate(int32_t first, int32_t count, int line,
                                SmallVectorImpl<int64_t> &result) {
  for (int32_t i = 0; i < count; ++i) {
    int64_t value;
    if (failed(evaluate(plan.expressions[size_t(first + i)], line, value)))
      return failure();
    result.push_back(value);
  }
  return success();
}

/// Sizes, strides and an address, where expressions find them.
void PlanRun::publish(size_t index) {
  const runtime::Tensor &tensor = plan.tensors[index];
  const View &view = *views[index];
  for (int32_t axis = 0; axis < tensor.rank; ++axis) {
    slots[size_t(tensor.sizes + axis)] = view.shape[size_t(axis)];
    slots[size_t(tensor.strides() + axis)] = view.strides[size_t(axis)];
  }
}

/// The axis that must have stride 1: a check of the plan, or a kernel's type,
/// says so.
int64_t PlanRun::unitAxis(size_t index) const {
  std::string check = "check stride(%" + plan.tensors[index].name + ", ";
  if (size_t at = text.text.find(check); at != std::string::npos)
    return std::strtoll(text.text.c_str() + at + check.size(), nullptr, 10);
  for (const runtime::Launch &launch : plan.launches) {
    auto kernel =
        dyn_cast_or_null<FunctionOpInterface>(kernelAt(launch.kernel));
    int32_t next = 0;
    for (unsigned a = 0; kernel && a < kernel.getNumArguments(); ++a) {
      Type type = kernel.getArgumentTypes()[a];
      if (!isa<MemRefType>(type) || next == launch.numOperands)
        continue;
      int32_t tensor = plan.operands[size_t(launch.firstOperand + next++)];
      int64_t axis = unitAxisOf(type);
      // Through views that only show the axes in another order.
      for (size_t turn = 0; turn < plan.steps.size(); ++turn) {
        if (axis < 0 || tensor == int32_t(index))
          break;
        auto view = llvm::find_if(plan.steps, [&](const runtime::Step &step) {
          return step.kind == runtime::Step::Kind::View && step.a == tensor;
        });
        if (view == plan.steps.end())
          break;
        const runtime::Expression &stride = plan.expressions[size_t(
            view->c + 1 + plan.tensors[size_t(tensor)].rank + axis)];
        const runtime::Tensor &source = plan.tensors[size_t(view->b)];
        axis = stride.kind == runtime::Expression::Kind::Slot
                   ? stride.begin - source.strides()
                   : -1;
        if (axis >= source.rank)
          axis = -1;
        tensor = view->b;
      }
      if (axis >= 0 && tensor == int32_t(index))
        return axis;
    }
  }
  return plan.tensors[index].rank - 1;
}

LogicalResult PlanRun::make(size_t index, ArrayRef<int64_t> sizes,
                            StringRef why) {
  const runtime::Tensor &tensor = plan.tensors[index];
  std::optional<Element> element =
      elementNamed(runtime::dtypeInfo(tensor.dtype).name);
  if (!element)
    return op->emitError() << "the interpreter does not know "
                           << runtime::dtypeInfo(tensor.dtype).name;
  for (int64_t size : sizes)
    if (size < 0)
      return op->emitError()
             << tensor.name << " would have the negative size " << size;
  FailureOr<Array> fresh = in.allocate(op, sizes, *element);
  if (failed(fresh))
    return failure();
  views[index] = View::make(
      sizes, *element,
      in.poison(op, "an element of " + tensor.name + " that " + why.str()));
  views[index]->name = tensor.name;
  // Any address that is legal: temporaries are aligned, arguments need not be.
  pointers[index] = reinterpret_cast<void *>((uintptr_t(index) + 1) << 40);
  publish(index);
  return success();
}

LogicalResult PlanRun::bindTensor(size_t index, const DatumRef &given) {
  const runtime::Tensor &tensor = plan.tensors[index];
  auto *array = dyn_cast<Array>(given.get());
  StringRef wanted = runtime::dtypeInfo(tensor.dtype).name;
  if (!array || int64_t(array->rank()) != tensor.rank)
    return op->emitError() << tensor.name << " has "
                           << (array ? array->rank() : 0) << " axes, expected "
                           << tensor.rank;
  if (elementNamed(wanted) != array->element)
    return op->emitError() << tensor.name << " is " << nameOf(array->element)
                           << ", expected " << wanted;
  // Which axis has stride 1 belongs to a version's key, not to the plan.
  auto known = in.options.strides.find(tensor.name);
  SmallVector<int64_t> strides =
      known != in.options.strides.end() &&
              known->second.size() == array->rank() && in.options.seed == 0
          ? known->second
          : chooseStrides(array->shape, unitAxis(index), in);
  views[index] =
      View::of(*array, strides,
               in.poison(op, "memory between the rows of " + tensor.name));
  views[index]->name = tensor.name;
  uintptr_t shift = 0;
  if (in.options.seed)
    shift = uintptr_t(in.random() % 16 * bitsOf(array->element) / 8) +
            (in.random() % 2 ? constantAddress : 0);
  pointers[index] =
      reinterpret_cast<void *>(((uintptr_t(index) + 1) << 40) + shift);
  publish(index);
  return success();
}

LogicalResult PlanRun::checkAxes(size_t index) {
  const runtime::Tensor &tensor = plan.tensors[index];
  for (int32_t axis = 0; axis < tensor.rank; ++axis) {
    const runtime::Axis &expected = plan.axes[size_t(tensor.firstAxis + axis)];
    if (expected.kind == runtime::Axis::Kind::Any ||
        expected.kind == runtime::Axis::Kind::Binds)
      continue;
    int64_t size, have = slots[size_t(tensor.sizes + axis)];
    if (failed(evaluate(expected.expr, 0, size)))
      return failure();
    if (size == have)
      continue;
    if (expected.kind == runtime::Axis::Kind::SameDim)
      return op->emitError()
             << plan.tensors[size_t(expected.originTensor)].name << " and "
             << tensor.name << " disagree on " << expected.text << ": " << size
             << " from " << plan.tensors[size_t(expected.originTensor)].name
             << ", " << have << " from " << tensor.name;
    return op->emitError() << tensor.name << " has " << have
                           << " elements along axis " << axis << ", expected "
                           << expected.text << " = " << size;
  }
  return success();
}

LogicalResult PlanRun::bind(ArrayRef<DatumRef> tensors,
                            ArrayRef<DatumRef> scalars) {
  for (auto [i, scalar] : llvm::enumerate(scalars)) {
    const runtime::Scalar &expected = plan.scalars[i];
    auto *array = dyn_cast_or_null<Array>(scalar.get());
    if (!array || array->rank() != 0)
      return op->emitError() << expected.name << " takes a number";
    bool isReal = expected.type == runtime::ScalarType::Float;
    Element wanted = isReal ? Element::F64
                     : expected.type == runtime::ScalarType::Bool
                         ? Element::I1
                         : Element::I64;
    if (array->element != wanted)
      return op->emitError()
             << expected.name << " is " << nameOf(array->element)
             << ", expected " << nameOf(wanted);
    const Cell &cell = array->cells[0];
    slots[i] =
        isReal ? int64_t(in.domain.toBits(Element::F64, cell)) : cell.integer;
    if (isReal)
      cells[i] = cell;
  }
  for (auto [i, tensor] : llvm::enumerate(tensors))
    if (tensor && failed(bindTensor(i, tensor)))
      return failure();
  for (auto [i, tensor] : llvm::enumerate(tensors)) {
    if (tensor) {
      if (failed(checkAxes(i)))
        return failure();
      continue;
    }
    const runtime::Tensor &result = plan.tensors[i];
    if (result.sizedInBody)
      continue;
    if (!result.mayBeAbsent)
      return op->emitError() << "argument " << result.name << " is missing";
    SmallVector<int64_t> sizes;
    for (int32_t axis = 0; axis < result.rank; ++axis) {
      int64_t size;
      if (failed(evaluate(plan.axes[size_t(result.firstAxis + axis)].expr, 0,
                          size)))
        return failure();
      sizes.push_back(size);
    }
    if (failed(make(i, sizes, "no kernel writes")))
      return failure();
  }
  return success();
}

LogicalResult PlanRun::show(const runtime::Step &step) {
  const runtime::Tensor &tensor = plan.tensors[size_t(step.a)];
  SmallVector<int64_t> numbers;
  if (failed(evaluate(step.c, 1 + 2 * tensor.rank, step.line, numbers)))
    return failure();
  const View &source = *views[size_t(step.b)];
  auto view = std::make_shared<View>(source);
  view->name = tensor.name;
  view->offset += numbers[0];
  view->shape.assign(numbers.begin() + 1, numbers.begin() + 1 + tensor.rank);
  view->strides.assign(numbers.begin() + 1 + tensor.rank, numbers.end());
  // The elements lie within the source's memory.
  int64_t low = view->offset, high = view->offset;
  bool empty = false;
  for (auto [size, stride] : llvm::zip_equal(view->shape, view->strides)) {
    if (size < 0)
      return fail(step.line)
             << "the view " << tensor.name << " has the negative size " << size;
    empty |= size == 0;
    (stride < 0 ? low : high) += std::max<int64_t>(size - 1, 0) * stride;
  }
  if (!empty && (low < 0 || high >= int64_t(source.memory->cells.size())))
    return fail(step.line) << "the view " << tensor.name
                           << " leaves the memory of " << source.name;
  pointers[size_t(step.a)] =
      static_cast<char *>(pointers[size_t(step.b)]) +
      numbers[0] * runtime::dtypeInfo(tensor.dtype).bits / 8;
  views[size_t(step.a)] = std::move(view);
  publish(size_t(step.a));
  return success();
}

LogicalResult PlanRun::load(const runtime::Step &step) {
  const View &view = *views[size_t(step.b)];
  SmallVector<int64_t> index;
  if (failed(evaluate(step.c, int32_t(view.shape.size()), step.line, index)))
    return failure();
  int64_t at = view.offset;
  for (auto [i, size, stride] :
       llvm::zip_equal(index, view.shape, view.strides)) {
    if (i < 0 || i >= size)
      return fail(step.line) << "index " << i << " is outside of " << view.name;
    at += i * stride;
  }
  const Cell &cell = view.memory->cells[size_t(at)];
  if (!cell.present())
    return in.reject(op, cell, "the plan");
  if (isFloat(view.element)) {
    Cell wide = in.domain.cast(cell, view.element, Element::F64);
    cells[size_t(step.a)] = wide;
    slots[size_t(step.a)] = int64_t(in.domain.toBits(Element::F64, wide));
  } else {
    slots[size_t(step.a)] = cell.integer;
  }
  return success();
}

LogicalResult PlanRun::launch(const runtime::Step &step) {
  const runtime::Launch &launch = plan.launches[size_t(step.a)];
  Operation *callee = kernelAt(launch.kernel);
  auto kernel = dyn_cast_or_null<FunctionOpInterface>(callee);
  if (!kernel)
    return fail(step.line) << "there is no kernel "
                           << plan.kernels[size_t(launch.kernel)];
  int64_t grid, scratch;
  if (failed(evaluate(launch.grid, step.line, grid)) ||
      failed(evaluate(launch.scratch, step.line, scratch)))
    return failure();
  if (grid < 0 || scratch < 0)
    return fail(step.line) << "a negative grid or scratch size";
  auto asks = [&](StringRef what, int64_t given) -> LogicalResult {
    auto wanted = callee->getAttrOfType<IntegerAttr>(what);
    if (!wanted || wanted.getInt() <= given)
      return success();
    return fail(step.line) << "the launch gives " << given << " for " << what
                           << ", but the kernel needs " << wanted.getInt();
  };
  if (failed(asks("tile.scratch", scratch)))
    return failure();
  if (auto machine = text.machines.find(step.line);
      machine != text.machines.end()) {
    if (failed(asks("tile.shared", machine->second.shared)) ||
        failed(asks("tile.block", machine->second.block)))
      return failure();
  } else if (!only && callee->hasAttr("tile.block")) {
    return fail(step.line) << "a launch on a GPU without block and shared";
  }
  int32_t operand = 0, scalar = 0;
  Data arguments;
  for (Type type : kernel.getArgumentTypes()) {
    if (isa<MemRefType>(type)) {
      if (operand == launch.numOperands)
        return fail(step.line) << "too few tensors for the kernel";
      arguments.push_back(views[size_t(
          plan.operands[size_t(launch.firstOperand + operand++)])]);
      continue;
    }
    if (scalar == launch.numScalars)
      return fail(step.line) << "too few scalars for the kernel";
    const runtime::Expression &expr =
        plan.expressions[size_t(launch.firstScalar + scalar++)];
    int64_t value;
    if (failed(evaluate(expr, step.line, value)))
      return failure();
    Element element = *elementOf(type);
    Cell cell = Cell::ofInteger(value);
    if (isFloat(element)) {
      bool isSlot = expr.kind == runtime::Expression::Kind::Slot;
      cell =
          isSlot && cells[size_t(expr.begin)]
              ? *cells[size_t(expr.begin)]
              : in.domain.constant(element, decode(element, uint64_t(value)));
    }
    arguments.push_back(share(Array({}, element, cell)));
  }
  if (operand != launch.numOperands || scalar != launch.numScalars)
    return fail(step.line) << "too many operands for the kernel";
  return runKernel(callee, in, arguments, only ? -1 : grid);
}

LogicalResult PlanRun::run() {
  using Kind = runtime::Step::Kind;
  for (int32_t at = 0;; ++at) {
    const runtime::Step &step = plan.steps[size_t(at)];
    if (failed(in.spend(op, 1)))
      return failure();
    LogicalResult result = success();
    size_t a = size_t(step.a), b = size_t(step.b);
    switch (step.kind) {
    case Kind::Set:
    case Kind::Check:
    case Kind::JumpIfZero:
    case Kind::JumpIfNonzero: {
      int64_t value;
      if (failed(evaluate(step.expr, step.line, value)))
        return failure();
      if (step.kind == Kind::Set)
        slots[a] = value;
      else if (step.kind == Kind::Check && !value)
        return op->emitError() << say(plan.checks[a]);
      else if (step.kind != Kind::Check &&
               (value == 0) == (step.kind == Kind::JumpIfZero))
        at = step.a - 1;
      break;
    }
    case Kind::Load:
      result = load(step);
      break;
    case Kind::Expect: {
      const View &view = *views[size_t(step.b)];
      const Cell &cell = view.memory->cells[size_t(view.offset)];
      if (!cell.present())
        return in.reject(op, cell, "the plan");
      slots[size_t(step.c)] = cell.integer;
      int64_t holds;
      if (failed(evaluate(step.expr, step.line, holds)))
        return failure();
      if (!holds)
        return op->emitError() << say(plan.checks[a]);
      break;
    }
    case Kind::Alloc:
    case Kind::AllocResult: {
      SmallVector<int64_t> sizes;
      if (failed(evaluate(step.b, plan.tensors[a].rank, step.line, sizes)))
        return failure();
      // A result that the caller gave has its sizes already.
      if (step.kind == Kind::Alloc || !views[a]) {
        result = make(a, sizes, "nobody has written");
        if (plan.tensors[a].source >= 0) // nothing is kept between runs
          slots[size_t(plan.tensors[a].fresh)] = 1;
      } else if (ArrayRef<int64_t>(views[a]->shape) != ArrayRef<int64_t>(sizes))
        result = fail(step.line) << views[a]->name << " has other sizes";
      break;
    }
    case Kind::View:
      result = show(step);
      break;
    case Kind::Launch:
      result = launch(step);
      break;
    case Kind::Swap:
      std::swap(views[a], views[b]);
      std::swap(pointers[a], pointers[b]);
      publish(a);
      publish(b);
      break;
    case Kind::Free:
      views[a] = nullptr;
      break;
    case Kind::Jump:
      at = step.a - 1;
      break;
    case Kind::Return:
      return success();
    }
    if (failed(result))
      return failure();
  }
}

void PlanRun::collect(Data &results) const {
  for (int32_t i = 0; i < plan.numArguments; ++i)
    if (plan.tensors[size_t(i)].mode != TSR_IN ||
        plan.tensors[size_t(i)].kind == runtime::Tensor::Kind::Result)
      results.push_back(share(views[size_t(i)]->toArray()));
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

namespace {
/// What an argument is; in the order in which they are given.
struct Parameter {
  bool scalar = false, isOut = false;
};
} // namespace

static std::vector<Parameter> parametersOf(StringRef text) {
  std::vector<Parameter> result;
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef line : lines) {
    line = line.trim();
    if (!line.consume_front("arg "))
      continue;
    auto [name, rest] = line.ltrim().split(' ');
    result.push_back({name.starts_with("$"), rest.ltrim().starts_with("out ")});
  }
  return result;
}

/// Reads the text and runs it.
static LogicalResult runText(Operation *op, const PlanText &text,
                             Operation *only, Interpreter &in,
                             ArrayRef<DatumRef> arguments, Data &results) {
  runtime::Plan plan;
  if (tsr_status status = runtime::parsePlan(text.text, plan)) {
    op->emitError() << "the plan cannot be read: "
                    << tsr_status_message(status);
    tsr_status_free(status);
    return failure();
  }
  std::vector<Parameter> parameters = parametersOf(text.text);
  // Where fewer are given than there are, those that are made were left out.
  size_t outs = size_t(llvm::count_if(
      parameters, [](const Parameter &one) { return one.isOut; }));
  bool omitted = outs != 0 && arguments.size() + outs == parameters.size();
  if (!omitted && arguments.size() != parameters.size())
    return op->emitError() << "called with " << arguments.size()
                           << " arguments, expected " << parameters.size();
  Data tensors, scalars;
  size_t next = 0;
  for (const Parameter &one : parameters) {
    if (omitted && one.isOut)
      tensors.push_back(nullptr);
    else
      (one.scalar ? scalars : tensors).push_back(arguments[next++]);
  }
  tensors.resize(size_t(plan.numArguments)); // results are made
  PlanRun run(op, plan, text, in);
  run.only = only;
  if (failed(run.bind(tensors, scalars)) || failed(run.run()))
    return failure();
  results.clear();
  run.collect(results);
  return success();
}

static LogicalResult callPlan(Operation *op, Interpreter &in,
                              ArrayRef<DatumRef> arguments, Data &results) {
  PlanText text;
  int line = 1;
  for (auto attribute :
       cast<tile::PlanOp>(op).getLines().getAsRange<StringAttr>()) {
    ++line;
    StringRef words = attribute.getValue();
    if (words.starts_with("target "))
      words = "target cpu 1"; // what runs it here is neither
    // A launch on a GPU ends with " block 256 shared 32768".
    if (words.ltrim().starts_with("launch "))
      if (size_t at = words.rfind(" block "); at != StringRef::npos) {
        StringRef rest = words.substr(at + 7);
        PlanText::Machine &machine = text.machines[line];
        rest.consumeInteger(10, machine.block);
        if (rest.consume_front(" shared "))
          rest.consumeInteger(10, machine.shared);
        words = words.take_front(at);
      }
    text.text += words.str() + "\n";
  }
  return runText(op, text, nullptr, in, arguments, results);
}

LogicalResult interpreter::runAsPlan(Operation *kernel, Interpreter &in,
                                     ArrayRef<DatumRef> arguments,
                                     Data &results) {
  auto function = cast<FunctionOpInterface>(kernel);
  tile::PlanNames names;
  std::vector<std::string> header, body;
  tile::PlanHeader lines(function, names, header, body);
  SmallVector<std::string> tensors, scalars;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    (lines.isScalar(i) ? scalars : tensors).push_back(lines.nameOf(i).str());
  PlanText text;
  text.text += "function " + function.getName().str() + "\ntarget cpu 1\n" +
               llvm::join(header, "\n") + "\nbody\n" + llvm::join(body, "\n") +
               "\nlaunch @kernel(" + llvm::join(tensors, ", ") +
               (scalars.empty() ? "" : "; ") + llvm::join(scalars, ", ") +
               ") grid 0 scratch 0x7fffffffffffffff\nend\n";
  return runText(kernel, text, kernel, in, arguments, results);
}

void interpreter::registerTilePlan(Handlers &handlers) {
  handlers.addCallable("tile.plan", callPlan);
}
