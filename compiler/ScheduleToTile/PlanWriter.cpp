//===- PlanWriter.cpp - A function becomes a plan -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/ScheduleToTile/PlanWriterImpl.h"
#include "compiler/Support/Messages.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;
using graph::Extent;
using plan::IntegerBuilder;
using schedule::rankOf;
using schedule::tensorType;

/// How many the schedule allows, or nothing.
static IntegerAttr threadsOf(FuncOp kernel) {
  DictionaryAttr config = kernel.getConfigAttr();
  return config ? config.getAs<IntegerAttr>("threads") : IntegerAttr();
}

/// A launch of a whole kernel, whose programs the plan counts.
static LogicalResult launchKernel(FuncOp kernel, ArrayRef<Value> operands,
                                  OpBuilder &at, Location loc) {
  SmallVector<Value> views, scalars;
  for (auto [type, operand] : llvm::zip(kernel.getArgumentTypes(), operands))
    (isa<MemRefType>(type) ? views : scalars).push_back(operand);
  FailureOr<Value> grid = gridOf(kernel, operands, at);
  if (failed(grid) || failed(writeAsserts(kernel, operands, at)))
    return failure();
  plan::LaunchOp::create(at, loc, kernel.getName(), views, scalars, *grid,
                         Value(), threadsOf(kernel));
  return success();
}

LogicalResult PlanWriter::run() {
  readArguments();
  makeResults();
  return writeBlock(function.getBody().front());
}

LogicalResult PlanWriter::writeBlock(Block &block) {
  findLastUses(block);
  for (Operation &op : block) {
    LogicalResult done =
        llvm::TypeSwitch<Operation *, LogicalResult>(&op)
            .Case<schedule::FuseOp, schedule::VersionsOp>(
                [&](auto kernels) { return write(kernels); })
            .Case<graph::TransposeOp, graph::BroadcastOp, graph::SliceOp,
                  graph::ReshapeOp>([&](auto view) { return write(view); })
            .Case([&](graph::CallKernelOp call) { return write(call); })
            .Case<graph::CheckEqualOp, graph::CheckOp, graph::ReportIndexOp,
                  graph::PrintOp>(
                [&](auto statement) { return write(statement); })
            .Case<graph::IfOp, graph::ForOp, graph::WhileOp>(
                [&](auto control) { return write(control); })
            .Default([](Operation *) { return success(); });
    if (failed(done))
      return failure();
    for (Value value : lastUses.lookup(&op))
      plan::FreeOp::create(at, op.getLoc(), tensors[value].memory);
  }
  return success();
}

void PlanWriter::readArguments() {
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    if (arguments.isScalar(i))
      continue;
    auto unit = function.getArgAttrOfType<IntegerAttr>(i, "gir.unit_axis");
    tensors[argument] = {arguments.get(i), arguments.nameOf(i).str(),
                         unit ? unit.getInt() : -1};
  }
}

static plan::PlanTensorType planTypeOf(Value value) {
  return plan::PlanTensorType::get(
      value.getContext(), tensorType(value).getElementType(), rankOf(value));
}

void PlanWriter::makeResults() {
  auto done = cast<func::ReturnOp>(function.getBody().front().getTerminator());
  for (auto [i, value] : llvm::enumerate(done.getOperands())) {
    auto named = function.getResultAttrOfType<StringAttr>(i, "gir.name");
    std::string name =
        named ? named.getValue().str() : "result" + std::to_string(i);
    auto unit = function.getResultAttrOfType<IntegerAttr>(i, "gir.unit_axis");
    int64_t rank = rankOf(value);
    int64_t unitAxis = unit ? unit.getInt() : rank - 1;
    Knowledge before = remember();
    isEntry = true;
    isLate = false;
    SmallVector<Value> axes;
    for (int64_t axis = 0; axis < rank; ++axis)
      axes.push_back(sizeOf(value, axis));
    isEntry = false;
    if (isLate) {
      axes.clear();
      lateResults.insert(value);
      forget(std::move(before));
    }
    Value memory = plan::ResultOp::create(at, value.getLoc(), planTypeOf(value),
                                          name, axes, isLate);
    tensors[value] = {memory, name, unitAxis};
    results.insert(value);
    if (unitAxis >= 0 && !isLate)
      checkStride(at, value.getLoc(), memory, name, unitAxis, 1);
  }
}

Value PlanWriter::updatedInput(OpResult result) {
  auto call = cast<graph::CallKernelOp>(result.getOwner());
  FuncOp kernel = kernels.lookup(call.getKernel());
  if (!kernel)
    return {};
  unsigned input = 0, output = 0;
  for (unsigned at : callOrder(kernel)) {
    StringRef mode = modeOf(kernel, at);
    if (mode != "in" && output++ == result.getResultNumber())
      return mode == "out" ? Value() : call.getInputs()[input];
    if (mode != "out")
      ++input;
  }
  return {};
}

SmallVector<unsigned> PlanWriter::callOrder(FuncOp kernel) {
  std::optional<ArrayRef<int64_t>> order = kernel.getOrder();
  SmallVector<unsigned> result;
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
    result.push_back(order ? (*order)[i] : i);
  return result;
}

StringRef PlanWriter::modeOf(FuncOp kernel, unsigned argument) {
  auto mode = kernel.getArgAttrOfType<StringAttr>(argument, "gir.mode");
  return mode ? mode.getValue() : "in";
}

Value PlanWriter::baseOf(Value value) {
  while (true) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Value init = graph::getInit(argument);
      if (!init)
        return value;
      value = init;
      continue;
    }
    auto result = cast<OpResult>(value);
    Operation *op = result.getOwner();
    if (isa<graph::CallKernelOp>(op)) {
      Value input = updatedInput(result);
      if (!input)
        return value;
      value = input;
    } else if (isa<graph::ForOp, graph::WhileOp>(op)) {
      // A loop leaves its results where the values were before it.
      unsigned first = op->getNumOperands() - op->getNumResults();
      value = op->getOperand(first + result.getResultNumber());
    } else if (isa<graph::TransposeOp, graph::BroadcastOp, graph::SliceOp,
                   graph::ReshapeOp>(op)) {
      value = op->getOperand(0);
    } else {
      return value;
    }
  }
}

void PlanWriter::findLastUses(Block &block) {
  llvm::MapVector<Value, Operation *> last;
  auto note = [&](Value value, Operation *op) {
    Value base = baseOf(value);
    Operation *owner = base.getDefiningOp();
    if (owner && owner->getBlock() == &block && !schedule::isScalar(base) &&
        isa<schedule::FuseOp, schedule::VersionsOp, graph::CallKernelOp,
            graph::IfOp>(owner))
      last[base] = op;
  };
  for (Operation &op : block) {
    // A nested block reads what is still alive here.
    op.walk<WalkOrder::PreOrder>([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        note(operand, &op);
      return isa<schedule::FuseOp>(inner) ? WalkResult::skip()
                                          : WalkResult::advance();
    });
    for (Value result : op.getResults())
      note(result, &op);
  }
  for (auto &[value, op] : last)
    if (!op->hasTrait<OpTrait::IsTerminator>() &&
        !llvm::is_contained(block.getTerminator()->getOperands(), value) &&
        !placed.contains(value))
      lastUses[op].push_back(value);
}

Value PlanWriter::sizeOf(Value value, int64_t axis) {
  auto key = std::pair(value.getAsOpaquePointer(), axis);
  if (auto known = sizes.find(key); known != sizes.end())
    return known->second;
  Value size = valueOf(graph::getExtent(value, axis));
  return sizes[key] = size;
}

Value PlanWriter::valueOf(const Extent &extent) {
  IntegerBuilder make = integersAt(function.getLoc());
  switch (extent.kind) {
  case Extent::Kind::Constant:
    return make.number(extent.constant);
  case Extent::Kind::Scalar:
    return integer(extent.value);
  case Extent::Kind::Axis:
    break;
  }
  if (auto argument = dyn_cast<BlockArgument>(extent.value))
    return arguments.sizeOf(argument.getArgNumber(), extent.axis);
  Operation *op = extent.value.getDefiningOp();
  if (auto versions = dyn_cast<schedule::VersionsOp>(op))
    return sizeOf(versions.getGeneral().getResult(0), extent.axis);
  if (auto fuse = dyn_cast<schedule::FuseOp>(op)) {
    Value result = fuse.getBody().front().getTerminator()->getOperand(
        cast<OpResult>(extent.value).getResultNumber());
    return insideSize(fuse, result, extent.axis);
  }
  if (auto call = dyn_cast<graph::CallKernelOp>(op))
    return callSize(call, cast<OpResult>(extent.value), extent.axis);
  return memorySize(extent.value, extent.axis);
}

/// The size of what is in memory already.
Value PlanWriter::memorySize(Value value, int64_t axis) {
  isLate = true;
  IntegerBuilder make = integersAt(function.getLoc());
  return isEntry ? make.number(0) : make.size(tensors[value].memory, axis);
}

Value PlanWriter::insideSize(schedule::FuseOp fuse, Value value, int64_t axis) {
  IntegerBuilder make = integersAt(fuse.getLoc());
  Extent extent = graph::getExtent(value, axis);
  if (extent.isConstant())
    return make.number(extent.constant);
  if (auto argument = dyn_cast<BlockArgument>(extent.value)) {
    Value outer = fuse.getInputs()[argument.getArgNumber()];
    return extent.kind == Extent::Kind::Scalar ? integer(outer)
                                               : sizeOf(outer, extent.axis);
  }
  Operation *op = extent.value.getDefiningOp();
  if (auto partial = dyn_cast<schedule::PartialOp>(op))
    if (auto size = dyn_cast<BlockArgument>(partial.getSize()))
      return integer(fuse.getInputs()[size.getArgNumber()]);
  if (auto concat = dyn_cast<graph::ConcatOp>(op)) {
    Value sum;
    for (Value input : concat.getInputs()) {
      Value part = insideSize(fuse, input, axis);
      sum = sum ? make.add(sum, part) : part;
    }
    return sum;
  }
  op->emitOpError() << "has a size the plan cannot compute";
  failedExpression = true;
  return make.number(0);
}

Value PlanWriter::callSize(graph::CallKernelOp call, OpResult result,
                           int64_t axis) {
  // What is updated keeps its size; sizes are given of the others.
  if (Value input = updatedInput(result))
    return sizeOf(input, axis);
  unsigned skip = 0;
  for (OpResult other : call.getResults()) {
    if (other == result)
      break;
    if (!updatedInput(other))
      skip += tensorType(other).getNumDynamicDims();
  }
  skip += tensorType(result).getDynamicDimIndex(axis);
  if (skip < call.getSizes().size())
    return integer(call.getSizes()[skip]);
  return memorySize(result, axis);
}

Value PlanWriter::integer(Value value) {
  if (auto known = integers.find(value); known != integers.end())
    return known->second;
  Value made = makeInteger(value);
  return integers[value] = made;
}

Value PlanWriter::makeInteger(Value value) {
  Location loc = value.getLoc();
  IntegerBuilder make = integersAt(loc);
  Operation *op = value.getDefiningOp();
  bool isCarried =
      op ? graph::isControlFlow(op)
         : cast<BlockArgument>(value).getOwner()->getParentOp() != function;
  if (!schedule::isScalar(value) || isCarried) {
    // Computed by a kernel: read when the plan gets there.
    isLate = true;
    Type element = tensorType(value).getElementType();
    bool isCondition = element.isInteger(1);
    if (isEntry || isCarried)
      return isCondition ? Value(arith::ConstantIntOp::create(at, loc, 0, 1))
                         : make.number(0);
    Type read = isa<FloatType>(element) ? Type(at.getF64Type())
                                        : Type(at.getIndexType());
    Value loaded = plan::LoadOp::create(at, loc, read, tensors[value].memory,
                                        ValueRange());
    return isCondition ? make.ne(loaded, 0) : loaded;
  }
  if (auto argument = dyn_cast<BlockArgument>(value))
    return arguments.get(argument.getArgNumber());
  auto lhs = [&] { return integer(op->getOperand(0)); };
  auto rhs = [&] { return integer(op->getOperand(1)); };
  auto logical = [&](auto kind) {
    Value a = lhs(), b = rhs();
    return at.createOrFold<decltype(kind)>(loc, a, b);
  };
  using Predicate = arith::CmpIPredicate;
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](graph::ConstantOp constant) -> Value {
        auto elements = cast<DenseElementsAttr>(constant.getValue());
        if (isa<FloatType>(elements.getElementType())) {
          APFloat number = elements.getSplatValue<APFloat>();
          bool lossy;
          number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                         &lossy);
          return arith::ConstantFloatOp::create(at, loc, at.getF64Type(),
                                                number);
        }
        APInt number = elements.getSplatValue<APInt>();
        if (number.getBitWidth() == 1)
          return arith::ConstantIntOp::create(at, loc, number.getZExtValue(),
                                              1);
        return make.number(number.getSExtValue());
      })
      .Case([&](graph::DimOp dim) {
        return sizeOf(dim.getInput(), dim.getAxis());
      })
      .Case([&](graph::AddOp) { return make.add(lhs(), rhs()); })
      .Case([&](graph::SubOp) { return make.sub(lhs(), rhs()); })
      .Case([&](graph::MulOp) { return make.mul(lhs(), rhs()); })
      .Case([&](graph::FloorDivOp) { return make.floordiv(lhs(), rhs()); })
      .Case([&](graph::ModOp) { return make.mod(lhs(), rhs()); })
      .Case([&](graph::AndOp) { return logical(arith::AndIOp()); })
      .Case([&](graph::OrOp) { return logical(arith::OrIOp()); })
      .Case([&](graph::NegOp) { return make.sub(0, lhs()); })
      .Case([&](graph::NotOp) -> Value {
        Value one = arith::ConstantIntOp::create(at, loc, 1, 1);
        return arith::XOrIOp::create(at, loc, lhs(), one);
      })
      .Case([&](graph::MaximumOp) { return make.max(lhs(), rhs()); })
      .Case([&](graph::MinimumOp) { return make.min(lhs(), rhs()); })
      .Case([&](graph::SelectOp) -> Value {
        Value condition = lhs(), yes = rhs(), no = integer(op->getOperand(2));
        return arith::SelectOp::create(at, loc, condition, yes, no);
      })
      .Case([&](graph::CompareOp compare) {
        static constexpr Predicate signs[] = {Predicate::eq,  Predicate::ne,
                                              Predicate::slt, Predicate::sle,
                                              Predicate::sgt, Predicate::sge};
        return make.compare(signs[unsigned(compare.getKind())], lhs(), rhs());
      })
      .Default([&](Operation *other) -> Value {
        other->emitOpError() << "cannot be computed by a plan";
        failedExpression = true;
        return make.number(0);
      });
}

void PlanWriter::allocate(Value value) {
  if (placed.contains(value) ||
      (results.contains(value) && !lateResults.contains(value)))
    return;
  SmallVector<Value> extents;
  for (int64_t axis = 0; axis < rankOf(value); ++axis)
    extents.push_back(sizeOf(value, axis));
  Tensor &tensor = tensors[value];
  if (tensor.memory) {
    plan::AllocResultOp::create(at, value.getLoc(), tensor.memory, extents);
    return;
  }
  StringRef hint = hintOf(value);
  tensor.name = hint.empty() ? "t" : hint.str();
  tensor.unitAxis = rankOf(value) - 1;
  tensor.memory = plan::AllocOp::create(at, value.getLoc(), planTypeOf(value),
                                        tensor.name, extents, Value());
}

MemRefType PlanWriter::memoryType(Value value) {
  RankedTensorType type = tensorType(value);
  int64_t rank = type.getRank();
  if (rank == 0)
    return MemRefType::get({}, type.getElementType());
  SmallVector<int64_t> strides(rank, ShapedType::kDynamic);
  int64_t unit = tensors[value].unitAxis;
  if (unit >= 0 && unit < rank)
    strides[unit] = 1;
  return MemRefType::get(
      type.getShape(), type.getElementType(),
      StridedLayoutAttr::get(builder.getContext(), 0, strides));
}

LogicalResult
PlanWriter::writeVariant(Value condition, Location loc,
                         llvm::function_ref<LogicalResult()> variant) {
  auto choice = scf::IfOp::create(at, loc, condition, /*withElseRegion=*/true);
  Knowledge before = remember();
  at.setInsertionPointToStart(choice.thenBlock());
  LogicalResult done = variant();
  forget(std::move(before));
  at.setInsertionPointToStart(choice.elseBlock());
  return done;
}

LogicalResult PlanWriter::write(schedule::FuseOp fuse) {
  Value result = fuse.getResult(0);
  Interface interface;
  for (Value input : fuse.getInputs()) {
    bool scalar = schedule::isScalar(input);
    interface.inputs.push_back(scalar ? tensorType(input).getElementType()
                                      : Type(memoryType(input)));
    std::string name;
    if (auto argument = dyn_cast<BlockArgument>(input);
        argument && argument.getOwner()->getParentOp() == function)
      name = arguments.nameOf(argument.getArgNumber()).str();
    else if (!scalar)
      name = tensors[input].name;
    interface.names.push_back(name);
  }
  allocate(result);
  interface.output = memoryType(result);
  interface.outputName = tensors[result].name;

  // One of several versions is for heads that it holds.
  if (!isa<schedule::VersionsOp>(fuse->getParentOp()))
    checkHead(fuse);
  return launch(fuse, interface);
}

void PlanWriter::checkHead(schedule::FuseOp fuse) {
  auto attentions = fuse.getBody().getOps<graph::AttentionOp>();
  if (attentions.empty())
    return;
  graph::AttentionOp attention = *attentions.begin();
  if (!schedule::hasOpenHead(attention))
    return;
  int64_t most = 0;
  for (auto tile : fuse.getBody().getOps<schedule::TileOp>())
    if (tile.getKind() == schedule::LoopKind::Whole)
      most = tile.getSize().getValue();
  Location loc = fuse.getLoc();
  Value size = depthOf(fuse);
  plan::CheckOp::create(at, loc, integersAt(loc).le(size, most),
                        "the head size of attention is {}, but at most " +
                            std::to_string(most) + " is supported",
                        size);
}

LogicalResult PlanWriter::launch(schedule::FuseOp fuse,
                                 const Interface &interface) {
  FailureOr<Kernel> kernel = buildKernel(builder, fuse, interface);
  if (failed(kernel))
    return failure();
  if (fuse.getAsIs())
    kernel->function.setAsIs(true);
  IntegerAttr threads = threadsOf(kernel->function);
  std::string name = shared(kernel->function);
  SmallVector<Value> views, scalars, grid;
  for (unsigned i : kernel->views)
    views.push_back(tensors[fuse.getInputs()[i]].memory);
  views.push_back(tensors[fuse.getResult(0)].memory);
  for (unsigned i : kernel->scalars)
    scalars.push_back(integer(fuse.getInputs()[i]));
  IntegerBuilder make = integersAt(fuse.getLoc());
  for (auto [axis, tile] : kernel->grid) {
    Value factor = sizeOf(fuse.getResult(0), axis);
    grid.push_back(tile > 0 ? make.ceildiv(factor, tile) : factor);
  }
  Value work = workOf(fuse);
  plan::LaunchOp::create(at, fuse.getLoc(), name, views, scalars,
                         make.product(grid), work, threads);
  return failure(failedExpression);
}

std::string PlanWriter::shared(FuncOp kernel) {
  std::string symbol = kernel.getName().str(), text;
  ArrayAttr attributes = kernel.getAllArgAttrs();
  kernel.setName("kernel");
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
    kernel.removeArgAttr(i, "gir.name");
  llvm::raw_string_ostream stream(text);
  // Without verifying, which every pass does, and without locations.
  kernel->print(stream, OpPrintingFlags().useLocalScope().assumeVerified());
  auto [known, isNew] = texts.try_emplace(text, symbol);
  if (!isNew) {
    kernel.erase();
    return known->second;
  }
  kernel.setName(symbol);
  kernel.setAllArgAttrs(attributes);
  return symbol;
}

Value PlanWriter::workOf(schedule::FuseOp fuse) {
  IntegerBuilder make = integersAt(fuse.getLoc());
  auto elements = [&](Value value) {
    SmallVector<Value> all;
    for (int64_t axis = 0; axis < rankOf(value); ++axis)
      all.push_back(insideSize(fuse, value, axis));
    return make.product(all);
  };
  int64_t ops = 0;
  Value largest = fuse.getBody().front().getTerminator()->getOperand(0);
  for (Operation &op : fuse.getBody().front()) {
    if (auto gemm = dyn_cast<graph::GemmOp>(op)) {
      int64_t rank = rankOf(gemm.getResult());
      Value deep = insideSize(fuse, gemm.getLhs(), rank - 1);
      return make.floordiv(make.mul(elements(gemm.getResult()), deep), 32);
    }
    if (auto attention = dyn_cast<graph::AttentionOp>(op)) {
      int64_t rank = rankOf(attention.getResult());
      Value keys = insideSize(fuse, attention.getK(), rank - 2);
      return make.floordiv(make.mul(elements(attention.getResult()), keys), 16);
    }
    if (auto reduce = dyn_cast<graph::ReduceOp>(op))
      // A result that keeps its axis has as many axes as what it sums.
      if (rankOf(reduce.getInput()) >= rankOf(largest))
        largest = reduce.getInput();
    if (auto partial = dyn_cast<schedule::PartialOp>(op))
      largest = partial.getInput();
    if (schedule::isElementwise(&op) || isa<graph::ReduceOp>(op))
      ++ops;
  }
  return make.floordiv(make.mul(elements(largest), ops + 2), 16);
}

/// The text as a message of the plan: `first` and `second`, which are shown,
/// in the order in which it has them.
static std::string messageWith(StringRef text,
                               std::pair<StringRef, Value> first,
                               std::pair<StringRef, Value> second,
                               SmallVectorImpl<Value> &shown) {
  std::string message;
  while (!text.empty()) {
    if (text.consume_front(first.first)) {
      message += "{}";
      shown.push_back(first.second);
    } else if (text.consume_front(second.first)) {
      message += "{}";
      shown.push_back(second.second);
    } else {
      message += text.front();
      text = text.drop_front();
    }
  }
  return message;
}

LogicalResult PlanWriter::write(graph::CheckEqualOp op) {
  Value lhs = integer(op.getLhs()), rhs = integer(op.getRhs());
  SmallVector<Value> shown;
  std::string message =
      messageWith(op.getMessage(), {"{lhs}", lhs}, {"{rhs}", rhs}, shown);
  Value holds = integersAt(op.getLoc()).eq(lhs, rhs);
  plan::CheckOp::create(at, op.getLoc(), holds, message, shown);
  return failure(failedExpression);
}

LogicalResult PlanWriter::write(graph::ReportIndexOp op) {
  // No index at all is the smallest integer, which a plan cannot write.
  int64_t none = -std::numeric_limits<int64_t>::max();
  Location loc = op.getLoc();
  Value size = integer(op.getSize());
  SmallVector<Value> shown;
  if (schedule::isScalar(op.getWorst())) {
    Value worst = integer(op.getWorst());
    std::string message = messageWith(op.getMessage(), {"{index}", worst},
                                      {"{size}", size}, shown);
    Value holds = integersAt(loc).lt(worst, none);
    plan::CheckOp::create(at, loc, holds, message, shown);
    return failure(failedExpression);
  }
  auto expect = plan::ExpectOp::create(at, loc, tensors[op.getWorst()].memory);
  OpBuilder::InsertionGuard guard(at);
  Block &body = expect.getBody().emplaceBlock();
  Value worst = body.addArgument(at.getIndexType(), loc);
  at.setInsertionPointToStart(&body);
  std::string message =
      messageWith(op.getMessage(), {"{index}", worst}, {"{size}", size}, shown);
  Value holds = integersAt(loc).lt(worst, none);
  plan::HoldsOp::create(at, loc, holds, message, shown);
  return failure(failedExpression);
}

LogicalResult PlanWriter::write(graph::CheckOp op) {
  plan::CheckOp::create(at, op.getLoc(), integer(op.getCondition()),
                        escapeBraces(op.getMessage()), ValueRange());
  return failure(failedExpression);
}

LogicalResult PlanWriter::write(graph::PrintOp op) {
  SmallVector<Type> types;
  SmallVector<Value> views, scalars;
  SmallVector<unsigned> order; // views come first
  for (bool memory : {true, false})
    for (auto [i, value] : llvm::enumerate(op.getValues())) {
      if (schedule::isScalar(value) == memory)
        continue;
      order.push_back(i);
      types.push_back(memory ? Type(memoryType(value))
                             : tensorType(value).getElementType());
      (memory ? views : scalars)
          .push_back(memory ? tensors[value].memory : integer(value));
    }
  std::string symbol = (function.getName() + "_print_" + Twine(prints++)).str();
  auto kernel = FuncOp::create(builder, op.getLoc(), symbol,
                               builder.getFunctionType(types, {}));
  OpBuilder::InsertionGuard guard(builder);
  Block &entry = kernel.getBody().emplaceBlock();
  SmallVector<Value> shown(types.size());
  for (auto [type, i] : llvm::zip(types, order))
    shown[i] = entry.addArgument(type, op.getValues()[i].getLoc());
  builder.setInsertionPointToStart(&entry);
  tile::PrintOp::create(builder, op.getLoc(), op.getText(), shown);
  ReturnOp::create(builder, op.getLoc());
  plan::LaunchOp::create(at, op.getLoc(), symbol, views, scalars,
                         integersAt(op.getLoc()).number(1), Value(),
                         IntegerAttr());
  return failure(failedExpression);
}

LogicalResult PlanWriter::write(graph::CallKernelOp op) {
  FuncOp kernel = kernels.lookup(op.getKernel());
  if (!kernel)
    return op.emitOpError() << "calls @" << op.getKernel()
                            << ", which is no kernel of this module";
  size_t nextInput = 0, nextResult = 0;
  SmallVector<Value> operands(kernel.getNumArguments());
  for (unsigned number : callOrder(kernel)) {
    auto view = dyn_cast<MemRefType>(kernel.getArgumentTypes()[number]);
    if (!view) {
      operands[number] = integer(op.getInputs()[nextInput++]);
      continue;
    }
    StringRef mode = modeOf(kernel, number);
    Value value;
    if (mode == "out") {
      value = op.getResults()[nextResult++];
      allocate(value);
    } else {
      value = op.getInputs()[nextInput++];
      if (mode != "in") { // Updated in place: the input is a fresh copy.
        Tensor place = tensors.lookup(value);
        tensors[op.getResults()[nextResult++]] = place;
      }
    }
    operands[number] = tensors[value].memory;
    checkStrides(view, value);
  }
  return launchKernel(kernel, operands, at, op.getLoc());
}

void PlanWriter::checkStrides(MemRefType view, Value value) {
  auto layout = dyn_cast<StridedLayoutAttr>(view.getLayout());
  if (!layout)
    return;
  Location loc = value.getLoc();
  for (auto [axis, stride] : llvm::enumerate(layout.getStrides())) {
    if (ShapedType::isDynamic(stride) ||
        int64_t(axis) == tensors[value].unitAxis)
      continue;
    IntegerBuilder make = integersAt(loc);
    Value given = strideOf(value, axis);
    Value holds =
        make.any({make.eq(given, stride), make.le(sizeOf(value, axis), 1)});
    plan::CheckOp::create(at, loc, holds,
                          (escapeBraces(tensors[value].name) +
                           " has stride {} along axis " + Twine(axis) +
                           ", but the kernel needs " + Twine(stride))
                              .str(),
                          given);
  }
}

LogicalResult tessera::tile::writePlan(OpBuilder &builder,
                                       func::FuncOp function,
                                       const KernelTable &kernels,
                                       KernelTexts &texts) {
  return PlanWriter(builder, function, kernels, texts).run();
}

LogicalResult tessera::tile::writeKernelPlan(OpBuilder &builder, FuncOp kernel,
                                             StringRef name) {
  OpBuilder at(builder);
  createPlan(at, kernel.getLoc(), name);
  PlanHeader arguments(kernel, at);
  return launchKernel(kernel, arguments.getValues(), at, kernel.getLoc());
}
