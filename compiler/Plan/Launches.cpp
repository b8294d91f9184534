//===- Launches.cpp - What a call of known sizes launches -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Plan/Launches.h"

#include "compiler/Plan/Evaluate.h"
#include "compiler/Plan/Text.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera::plan;

namespace {

class Walk {
public:
  Walk(FuncOp func, const CallSizes &call) : func(func), call(call) {}

  Launches run() {
    Block &block = func.getBody().front();
    for (Operation &op : block)
      if (auto argument = dyn_cast<ArgOp>(op))
        bind(argument);
    walk(block);
    return std::move(found);
  }

private:
  void bind(ArgOp argument);
  /// False if something is not known.
  bool walk(Block &block);
  bool step(Operation *op);
  bool branch(scf::IfOp op);
  bool declare(Value tensor, StringRef name, ValueRange sizes, Value source);
  bool launch(LaunchOp op);

  std::optional<int64_t> get(Value value);
  bool stop(const Evaluated &why);
  std::optional<int64_t> known(Value value) const;

  FuncOp func;
  const CallSizes &call;
  PlanNames names;
  llvm::DenseMap<Value, int64_t> integers;
  llvm::DenseMap<Value, LaunchedTensor> tensors;
  Launches found;
};

} // namespace

std::optional<int64_t> Walk::known(Value value) const {
  if (auto at = integers.find(value); at != integers.end())
    return at->second;
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  auto shapeOf = [&](Value tensor) -> ArrayRef<int64_t> {
    auto at = tensors.find(tensor);
    return at == tensors.end() ? ArrayRef<int64_t>()
                               : ArrayRef<int64_t>(at->second.shape);
  };
  using Found = std::optional<int64_t>;
  return llvm::TypeSwitch<Operation *, Found>(op)
      .Case([&](SizeOp size) -> Found {
        ArrayRef<int64_t> shape = shapeOf(size.getTensor());
        return shape.empty() ? Found() : shape[size.getAxis()];
      })
      .Case([&](StrideOp stride) -> Found {
        ArrayRef<int64_t> shape = shapeOf(stride.getTensor());
        if (shape.empty())
          return Found();
        int64_t product = 1;
        for (int64_t size : shape.drop_front(stride.getAxis() + 1))
          product = int64_t(uint64_t(product) * uint64_t(size));
        return product;
      })
      .Case([](AddressOp) -> Found { return 0; })
      .Case([](IsConstantOp) -> Found { return 0; })
      .Case([](FreshOp) -> Found { return 1; })
      .Default(Found());
}

bool Walk::stop(const Evaluated &why) {
  if (!found.unknown.empty())
    return false;
  Operation *op = why.unknown ? why.unknown.getDefiningOp() : nullptr;
  if (auto dim = dyn_cast_or_null<DimOp>(op))
    found.unknown = "the size " + dim.getName().str();
  else if (auto scalar = dyn_cast_or_null<ScalarOp>(op))
    found.unknown = "the argument " + scalar.getName().str();
  else if (isa_and_nonnull<LoadOp>(op))
    found.unknown = "a size that a kernel computes";
  else
    found.unknown = why.error;
  return false;
}

std::optional<int64_t> Walk::get(Value value) {
  Evaluated made = evaluate(value, [&](Value one) { return known(one); });
  if (!made.error)
    return made.value;
  if (!call.everyArm)
    stop(made);
  return std::nullopt;
}

void Walk::bind(ArgOp argument) {
  constexpr int64_t assumedSize = 1024, assumedBatch = 4;
  auto given = call.shapes.find(argument.getName().str());
  size_t rank = argument.getAxes().size();
  for (auto [i, axis] : llvm::enumerate(argument.getAxes())) {
    auto dim = axis.getDefiningOp<DimOp>();
    if (!dim)
      continue;
    auto named = call.dims.find(dim.getName().str());
    if (given != call.shapes.end() && given->second.size() == rank) {
      integers[axis] = given->second[i];
    } else if (integers.contains(axis)) {
    } else if (named != call.dims.end()) {
      integers[axis] = named->second;
    } else if (call.assume) {
      integers[axis] = i + 2 >= rank ? assumedSize : assumedBatch;
      found.assumed.push_back({dim.getName().str(), integers[axis]});
    }
  }
}

bool Walk::declare(Value tensor, StringRef name, ValueRange sizes,
                   Value source) {
  LaunchedTensor made;
  made.name = names.tensor(name);
  for (Value size : sizes) {
    std::optional<int64_t> number = get(size);
    if (!number && !call.everyArm)
      return false;
    if (!number) {
      made.shape.clear();
      break;
    }
    made.shape.push_back(*number);
  }
  Type element = cast<PlanTensorType>(tensor.getType()).getElement();
  made.bytes = std::max<int64_t>(element.getIntOrFloatBitWidth() / 8, 1);
  for (int64_t size : made.shape)
    made.bytes = int64_t(uint64_t(made.bytes) * uint64_t(size));
  if (source)
    made.bytes = tensors[source].bytes;
  tensors[tensor] = std::move(made);
  return true;
}

bool Walk::launch(LaunchOp op) {
  Launched made;
  made.kernel = op.getKernel().str();
  std::optional<int64_t> grid = get(op.getGrid());
  if (!grid && !call.everyArm)
    return false;
  made.programs = grid.value_or(0);
  if (op.getWork())
    made.work = get(op.getWork());
  if (op.getThreads())
    made.threads = int64_t(*op.getThreads());
  for (Value tensor : op.getTensors())
    made.tensors.push_back(tensors[tensor]);
  for (Value scalar : op.getScalars()) {
    Evaluated number = evaluate(scalar, [&](Value one) { return known(one); });
    made.scalars.push_back(number.error ? std::nullopt
                                        : std::optional(number.value));
  }
  found.all.push_back(std::move(made));
  return found.unknown.empty();
}

bool Walk::branch(scf::IfOp op) {
  std::optional<int64_t> holds;
  if (!call.everyArm && !(holds = get(op.getCondition())))
    return false;
  for (Region *arm : {&op.getThenRegion(), &op.getElseRegion()}) {
    if (arm->empty() || (holds && bool(*holds) != (arm == &op.getThenRegion())))
      continue;
    if (!walk(arm->front()))
      return false;
    for (auto [result, value] : llvm::zip(
             op.getResults(), arm->front().getTerminator()->getOperands()))
      if (std::optional<int64_t> number = holds ? get(value) : std::nullopt)
        integers[result] = *number;
  }
  return found.unknown.empty();
}

bool Walk::walk(Block &block) {
  for (Operation &op : block.without_terminator())
    if (!step(&op))
      return false;
  return true;
}

bool Walk::step(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](ArgOp argument) {
        auto given = call.shapes.find(argument.getName().str());
        if (!declare(argument, argument.getName(), argument.getAxes(), Value()))
          return false;
        if (given != call.shapes.end())
          tensors[argument].shape = given->second;
        return true;
      })
      .Case([&](ResultOp result) {
        return declare(result, result.getName(), result.getAxes(), Value());
      })
      .Case([&](AllocOp alloc) {
        return declare(alloc, alloc.getName(), alloc.getSizes(), Value());
      })
      .Case([&](AllocResultOp alloc) {
        std::string name = tensors[alloc.getTensor()].name;
        if (!declare(alloc.getTensor(), name, alloc.getSizes(), Value()))
          return false;
        tensors[alloc.getTensor()].name = name;
        return true;
      })
      .Case([&](ViewOp view) {
        return declare(view, view.getName(), view.getSizes(), view.getSource());
      })
      .Case([&](LaunchOp launch) { return this->launch(launch); })
      .Case([&](scf::IfOp branch) { return this->branch(branch); })
      .Case([&](scf::WhileOp loop) {
        if (call.everyArm)
          return walk(*loop.getBeforeBody()) && walk(*loop.getAfterBody());
        found.unknown = "a loop of the plan";
        return false;
      })
      .Default(true);
}

Launches tessera::plan::launchesOf(FuncOp func, const CallSizes &call) {
  return Walk(func, call).run();
}
