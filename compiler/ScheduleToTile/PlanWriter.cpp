//===- PlanWriter.cpp - A function becomes a plan -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Graph/IR/Messages.h"
#include "compiler/ScheduleToTile/PlanWriterImpl.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;
using graph::Extent;
using schedule::rankOf;
using schedule::tensorType;

/// Padded head sizes of the variants when the head size is not known.
static constexpr int64_t openWidths[] = {64, 128, 256, 512};

/// " threads 2" if the schedule limits them.
static std::string threadsOf(FuncOp kernel) {
  auto config = kernel->getAttrOfType<DictionaryAttr>("tile.config");
  auto threads = config ? config.getAs<IntegerAttr>("threads") : IntegerAttr();
  return threads ? " threads " + std::to_string(threads.getInt()) : "";
}

static void finishPlan(OpBuilder &builder, Location loc, StringRef name,
                       ArrayRef<std::string> header,
                       ArrayRef<std::string> body) {
  SmallVector<std::string> lines{"function " + name.str(), "target cpu 1"};
  llvm::append_range(lines, header);
  lines.push_back("body");
  for (const std::string &line : body)
    lines.push_back("  " + line);
  lines.push_back("end");
  SmallVector<StringRef> texts(lines.begin(), lines.end());
  PlanOp::create(builder, loc, builder.getStringAttr(name),
                 builder.getStrArrayAttr(texts));
}

LogicalResult PlanWriter::run() {
  readArguments();
  nameCarried();
  nameResults();
  if (failed(writeBlock(function.getBody().front())))
    return failure();
  finishPlan(builder, function.getLoc(), function.getName(), header, body);
  return success();
}

LogicalResult PlanWriter::writeBlock(Block &block) {
  findLastUses(block);
  for (Operation &op : block) {
    LogicalResult done =
        llvm::TypeSwitch<Operation *, LogicalResult>(&op)
            .Case([&](schedule::FuseOp fuse) { return write(fuse); })
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
      body.push_back("free " + tensors[value].name);
  }
  return success();
}

void PlanWriter::readArguments() {
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    if (arguments.isScalar(i))
      continue;
    auto unit = function.getArgAttrOfType<IntegerAttr>(i, "gir.unit_axis");
    tensors[argument] = {arguments.nameOf(i).str(), unit ? unit.getInt() : -1,
                         false};
  }
}

void PlanWriter::nameResults() {
  auto done = cast<func::ReturnOp>(function.getBody().front().getTerminator());
  for (auto [i, value] : llvm::enumerate(done.getOperands())) {
    auto name = function.getResultAttrOfType<StringAttr>(i, "gir.name");
    std::string text = "%" + names.tensor(name ? name.getValue().str()
                                               : "result" + std::to_string(i));
    auto unit = function.getResultAttrOfType<IntegerAttr>(i, "gir.unit_axis");
    int64_t rank = rankOf(value);
    int64_t unitAxis = unit ? unit.getInt() : rank - 1;
    tensors[value] = {text, unitAxis, false};
    results[value] = text;
    SmallVector<std::string> sizes;
    for (int64_t axis = 0; axis < rank; ++axis) {
      std::string size = sizeOf(value, axis);
      bool late = llvm::any_of(lateNames, [&](const std::string &late) {
        return StringRef(size).contains(late);
      });
      sizes.push_back(late ? "?" : size);
      if (late)
        lateResults.insert(value);
    }
    header.push_back("result " + text + " " +
                     planType(tensorType(value).getElementType()).str() + " [" +
                     llvm::join(sizes, ", ") + "]");
    if (unitAxis >= 0 && !lateResults.contains(value))
      body.push_back(strideCheck(text, unitAxis, rank, 1));
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
  auto order = kernel->getAttrOfType<DenseI64ArrayAttr>("tile.order");
  SmallVector<unsigned> result;
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
    result.push_back(order ? order[i] : i);
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
        isa<schedule::FuseOp, graph::CallKernelOp, graph::IfOp>(owner))
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

std::string PlanWriter::sizeOf(Value value, int64_t axis) {
  auto key = std::pair(value.getAsOpaquePointer(), axis);
  if (auto known = sizes.find(key); known != sizes.end())
    return known->second;
  std::string text = textOf(graph::getExtent(value, axis));
  return sizes[key] = text;
}

std::string PlanWriter::textOf(const Extent &extent) {
  switch (extent.kind) {
  case Extent::Kind::Constant:
    return std::to_string(extent.constant);
  case Extent::Kind::Scalar:
    return integer(extent.value);
  case Extent::Kind::Axis:
    break;
  }
  if (auto argument = dyn_cast<BlockArgument>(extent.value))
    return arguments.sizeOf(argument.getArgNumber(), extent.axis);
  Operation *op = extent.value.getDefiningOp();
  if (auto fuse = dyn_cast<schedule::FuseOp>(op)) {
    Value result = fuse.getBody().front().getTerminator()->getOperand(
        cast<OpResult>(extent.value).getResultNumber());
    return insideSize(fuse, result, extent.axis);
  }
  if (auto call = dyn_cast<graph::CallKernelOp>(op))
    return callSize(call, cast<OpResult>(extent.value), extent.axis);
  return "size(" + tensors[extent.value].name + ", " +
         std::to_string(extent.axis) + ")";
}

std::string PlanWriter::insideSize(schedule::FuseOp fuse, Value value,
                                   int64_t axis) {
  Extent extent = graph::getExtent(value, axis);
  if (extent.isConstant())
    return std::to_string(extent.constant);
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
    std::string sum;
    for (Value input : concat.getInputs()) {
      std::string part = insideSize(fuse, input, axis);
      sum = sum.empty() ? part : infix(sum, "+", part);
    }
    return sum;
  }
  op->emitOpError() << "has a size the plan cannot compute";
  failedExpression = true;
  return "0";
}

std::string PlanWriter::callSize(graph::CallKernelOp call, OpResult result,
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
  return "size(" + tensors[result].name + ", " + std::to_string(axis) + ")";
}

std::string PlanWriter::integer(Value value) {
  auto known = integers.find(value);
  if (known != integers.end())
    return known->second;
  std::string text = makeInteger(value);
  if (text.size() > 200) {
    std::string name = "$" + names.integer("s");
    body.push_back("let " + name + " = " + text);
    lateNames.push_back(name);
    text = name;
  }
  return integers[value] = text;
}

std::string PlanWriter::makeInteger(Value value) {
  if (!schedule::isScalar(value)) {
    // Computed by a kernel: read when the plan gets there.
    std::string name = "$" + names.integer("v");
    body.push_back("load " + name + " = " + tensors[value].name + " []");
    lateNames.push_back(name);
    return name;
  }
  if (auto argument = dyn_cast<BlockArgument>(value))
    return arguments.nameOf(argument.getArgNumber()).str();
  Operation *op = value.getDefiningOp();
  auto lhs = [&] { return integer(op->getOperand(0)); };
  auto rhs = [&] { return integer(op->getOperand(1)); };
  auto between = [&](StringRef sign) { return infix(lhs(), sign, rhs()); };
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case([&](graph::ConstantOp constant) {
        auto elements = cast<DenseElementsAttr>(constant.getValue());
        if (isa<FloatType>(elements.getElementType())) {
          // The bits of an fp64.
          APFloat number = elements.getSplatValue<APFloat>();
          bool lossy;
          number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                         &lossy);
          return "0x" + llvm::utohexstr(number.bitcastToAPInt().getZExtValue(),
                                        /*LowerCase=*/true, /*Width=*/16);
        }
        APInt number = elements.getSplatValue<APInt>();
        return std::to_string(number.getBitWidth() == 1
                                  ? int64_t(number.getZExtValue())
                                  : number.getSExtValue());
      })
      .Case([&](graph::DimOp dim) {
        return sizeOf(dim.getInput(), dim.getAxis());
      })
      .Case([&](graph::AddOp) { return between("+"); })
      .Case([&](graph::SubOp) { return between("-"); })
      .Case([&](graph::MulOp) { return between("*"); })
      .Case([&](graph::FloorDivOp) { return between("floordiv"); })
      .Case([&](graph::ModOp) { return between("mod"); })
      .Case([&](graph::AndOp) { return between("and"); })
      .Case([&](graph::OrOp) { return between("or"); })
      .Case([&](graph::NegOp) { return infix("0", "-", lhs()); })
      .Case([&](graph::NotOp) { return "not (" + lhs() + ")"; })
      .Case(
          [&](graph::MaximumOp) { return "max(" + lhs() + ", " + rhs() + ")"; })
      .Case(
          [&](graph::MinimumOp) { return "min(" + lhs() + ", " + rhs() + ")"; })
      .Case([&](graph::SelectOp) {
        return "select(" + lhs() + ", " + rhs() + ", " +
               integer(op->getOperand(2)) + ")";
      })
      .Case([&](graph::CompareOp compare) {
        static constexpr StringLiteral signs[] = {"==", "!=", "<",
                                                  "<=", ">",  ">="};
        return between(signs[unsigned(compare.getKind())]);
      })
      .Default([&](Operation *other) -> std::string {
        other->emitOpError() << "cannot be computed by a plan";
        failedExpression = true;
        return "0";
      });
}

void PlanWriter::allocate(Value value) {
  if (placed.contains(value) ||
      (results.count(value) && !lateResults.contains(value)))
    return;
  Tensor &tensor = tensors[value];
  if (tensor.name.empty()) {
    StringRef hint = hintOf(value);
    tensor = {"%" + names.tensor(hint.empty() ? "t" : hint), rankOf(value) - 1,
              true};
  }
  SmallVector<std::string> extents;
  for (int64_t axis = 0; axis < rankOf(value); ++axis)
    extents.push_back(sizeOf(value, axis));
  body.push_back("alloc " + tensor.name + " " +
                 planType(tensorType(value).getElementType()).str() + " [" +
                 llvm::join(extents, ", ") + "]");
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

LogicalResult PlanWriter::write(schedule::FuseOp fuse) {
  Value result = fuse.getResult(0);
  Interface interface;
  for (Value input : fuse.getInputs()) {
    bool scalar = schedule::isScalar(input);
    interface.inputs.push_back(scalar ? tensorType(input).getElementType()
                                      : Type(memoryType(input)));
    StringRef name;
    std::string made;
    if (auto argument = dyn_cast<BlockArgument>(input);
        argument && argument.getOwner()->getParentOp() == function)
      name = arguments.nameOf(argument.getArgNumber()).drop_front();
    else if (!scalar)
      name = StringRef(tensors[input].name).drop_front();
    interface.names.push_back(name.str());
  }
  allocate(result);
  interface.output = memoryType(result);
  interface.outputName = tensors[result].name.substr(1);

  Operation *root =
      fuse.getBody().front().getTerminator()->getOperand(0).getDefiningOp();
  Decisions decisions(fuse.getBody().front());
  auto attention = dyn_cast_or_null<graph::AttentionOp>(root);
  bool open = attention && decisions.loops.lookup(rankOf(result) - 1).size == 0;
  auto thin = fuse->getAttrOfType<DenseI64ArrayAttr>("thin");
  if (thin || open) {
    // What all variants ask for is computed before the first of them.
    for (Value input : fuse.getInputs())
      if (schedule::isScalar(input))
        (void)integer(input);
    (void)workOf(fuse);
  }
  if (thin)
    return writeThin(fuse, thin.asArrayRef(), interface, decisions);
  if (!open)
    return launch(fuse, fuse.getSymName(), interface, decisions, 0);

  // The head size is known at the call only: one variant per padded size.
  int64_t last = rankOf(result) - 1;
  std::string q = insideSize(fuse, attention.getQ(), last);
  std::string v = insideSize(fuse, attention.getV(), last);
  std::string size = q == v ? q : "max(" + q + ", " + v + ")";
  body.push_back("check " + size + " <= 512 : " +
                 quoted("the head size of attention is {" + size +
                        "}, but at most 512 is supported"));
  for (int64_t width : openWidths) {
    body.push_back("if " + size + " <= " + std::to_string(width));
    std::string symbol = (fuse.getSymName() + "_d" + Twine(width)).str();
    if (failed(launch(fuse, symbol, interface, decisions, width)))
      return failure();
    body.push_back("else");
  }
  body.pop_back();
  for (size_t i = 0; i < std::size(openWidths); ++i)
    body.push_back("end");
  return success();
}

LogicalResult PlanWriter::launch(schedule::FuseOp fuse, StringRef symbol,
                                 const Interface &interface,
                                 const Decisions &decisions, int64_t width,
                                 bool asIs) {
  FailureOr<Kernel> kernel =
      buildKernel(builder, fuse, symbol, interface, width);
  if (failed(kernel))
    return failure();
  if (asIs)
    kernel->function->setAttr("tile.as_is", builder.getUnitAttr());
  std::string name = shared(kernel->function);
  SmallVector<std::string> views, scalars;
  for (unsigned i : kernel->views)
    views.push_back(tensors[fuse.getInputs()[i]].name);
  views.push_back(tensors[fuse.getResult(0)].name);
  for (unsigned i : kernel->scalars)
    scalars.push_back(integer(fuse.getInputs()[i]));
  std::string grid;
  for (auto [axis, tile] : kernel->grid) {
    std::string factor = sizeOf(fuse.getResult(0), axis);
    if (tile > 0)
      factor = infix(factor, "ceildiv", std::to_string(tile));
    grid = grid.empty() ? factor : infix(grid, "*", factor);
  }
  std::string line = "launch @" + name + "(" + llvm::join(views, ", ") +
                     (scalars.empty() ? "" : "; ") + llvm::join(scalars, ", ") +
                     ") grid " + (grid.empty() ? "1" : grid);
  if (decisions.threads > 0)
    line += " threads " + std::to_string(decisions.threads);
  body.push_back(line + " work " + workOf(fuse));
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

std::string PlanWriter::workOf(schedule::FuseOp fuse) {
  std::string work;
  auto elements = [&](Value value) {
    std::string text;
    for (int64_t axis = 0; axis < rankOf(value); ++axis) {
      std::string size = insideSize(fuse, value, axis);
      text =
          text.empty()
              ? size
              : text + " * " +
                    (StringRef(size).contains(' ') ? "(" + size + ")" : size);
    }
    return text.empty() ? std::string("1") : text;
  };
  auto wrap = [](std::string size) {
    return StringRef(size).contains(' ') ? "(" + size + ")" : size;
  };
  int64_t ops = 0;
  Value largest = fuse.getBody().front().getTerminator()->getOperand(0);
  for (Operation &op : fuse.getBody().front()) {
    if (auto gemm = dyn_cast<graph::GemmOp>(op)) {
      int64_t rank = rankOf(gemm.getResult());
      return elements(gemm.getResult()) + " * " +
             wrap(insideSize(fuse, gemm.getLhs(), rank - 1)) + " floordiv 32";
    }
    if (auto attention = dyn_cast<graph::AttentionOp>(op)) {
      int64_t rank = rankOf(attention.getResult());
      return elements(attention.getResult()) + " * " +
             wrap(insideSize(fuse, attention.getK(), rank - 2)) +
             " floordiv 16";
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
  return elements(largest) + " * " + std::to_string(ops + 2) + " floordiv 16";
}

/// The text with the plan's expressions for two names in braces.
static std::string withValues(StringRef text, StringRef first,
                              StringRef firstValue, StringRef second,
                              StringRef secondValue) {
  std::string message;
  while (!text.empty()) {
    if (text.consume_front(first))
      message += ("{" + firstValue + "}").str();
    else if (text.consume_front(second))
      message += ("{" + secondValue + "}").str();
    else {
      message += text.front();
      text = text.drop_front();
    }
  }
  return message;
}

LogicalResult PlanWriter::write(graph::CheckEqualOp op) {
  std::string lhs = integer(op.getLhs()), rhs = integer(op.getRhs());
  body.push_back(
      "check " + infix(lhs, "==", rhs) + " : " +
      quoted(withValues(op.getMessage(), "{lhs}", lhs, "{rhs}", rhs)));
  return failure(failedExpression);
}

LogicalResult PlanWriter::write(graph::ReportIndexOp op) {
  // No index at all is the smallest integer, which a plan cannot write.
  std::string none = std::to_string(-std::numeric_limits<int64_t>::max());
  bool computed = schedule::isScalar(op.getWorst());
  std::string worst =
                  computed ? integer(op.getWorst()) : "$" + names.integer("v"),
              size = integer(op.getSize());
  std::string holds =
      infix(worst, "<", none) + " : " +
      quoted(withValues(op.getMessage(), "{index}", worst, "{size}", size));
  if (!computed)
    lateNames.push_back(worst);
  body.push_back(computed ? "check " + holds
                          : "expect " + worst + " = " +
                                tensors[op.getWorst()].name + " : " + holds);
  return failure(failedExpression);
}

LogicalResult PlanWriter::write(graph::CheckOp op) {
  body.push_back("check " + integer(op.getCondition()) + " : " +
                 quoted(graph::escapeBraces(op.getMessage())));
  return failure(failedExpression);
}

LogicalResult PlanWriter::write(graph::PrintOp op) {
  SmallVector<Type> types;
  SmallVector<std::string> views, scalars;
  SmallVector<unsigned> order; // views come first
  for (bool memory : {true, false})
    for (auto [i, value] : llvm::enumerate(op.getValues())) {
      if (schedule::isScalar(value) == memory)
        continue;
      order.push_back(i);
      types.push_back(memory ? Type(memoryType(value))
                             : tensorType(value).getElementType());
      (memory ? views : scalars)
          .push_back(memory ? tensors[value].name : integer(value));
    }
  std::string symbol = (function.getName() + "_print_" + Twine(prints++)).str();
  auto kernel =
      FuncOp::create(builder, op.getLoc(), symbol,
                     builder.getFunctionType(types, {}), nullptr, nullptr);
  OpBuilder::InsertionGuard guard(builder);
  Block &entry = kernel.getBody().emplaceBlock();
  SmallVector<Value> shown(types.size());
  for (auto [type, i] : llvm::zip(types, order))
    shown[i] = entry.addArgument(type, op.getValues()[i].getLoc());
  builder.setInsertionPointToStart(&entry);
  tile::PrintOp::create(builder, op.getLoc(), op.getText(), shown);
  ReturnOp::create(builder, op.getLoc());
  body.push_back("launch @" + symbol + "(" + llvm::join(views, ", ") +
                 (scalars.empty() ? "" : "; ") + llvm::join(scalars, ", ") +
                 ") grid 1");
  return failure(failedExpression);
}

LogicalResult PlanWriter::write(graph::CallKernelOp op) {
  FuncOp kernel = kernels.lookup(op.getKernel());
  if (!kernel)
    return op.emitOpError() << "calls @" << op.getKernel()
                            << ", which is no kernel of this module";
  SmallVector<std::string> scalars;
  size_t nextInput = 0, nextResult = 0;
  SmallVector<std::string> texts(kernel.getNumArguments());
  for (unsigned at : callOrder(kernel)) {
    auto view = dyn_cast<MemRefType>(kernel.getArgumentTypes()[at]);
    if (!view) {
      Value input = op.getInputs()[nextInput++];
      texts[at] = integer(input);
      continue;
    }
    StringRef mode = modeOf(kernel, at);
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
    texts[at] = tensors[value].name;
    checkStrides(view, value);
  }
  SmallVector<std::string> views;
  for (auto [i, text] : llvm::enumerate(texts))
    (isa<MemRefType>(kernel.getArgumentTypes()[i]) ? views : scalars)
        .push_back(text);
  FailureOr<std::string> grid = gridOf(kernel, texts);
  if (failed(grid) || failed(writeAsserts(kernel, texts, names, body)))
    return failure();
  body.push_back("launch @" + kernel.getName().str() + "(" +
                 llvm::join(views, ", ") + (scalars.empty() ? "" : "; ") +
                 llvm::join(scalars, ", ") + ") grid " + *grid +
                 threadsOf(kernel));
  return failure(failedExpression);
}

void PlanWriter::checkStrides(MemRefType view, Value value) {
  auto layout = dyn_cast<StridedLayoutAttr>(view.getLayout());
  if (!layout)
    return;
  for (auto [axis, stride] : llvm::enumerate(layout.getStrides())) {
    if (ShapedType::isDynamic(stride) ||
        int64_t(axis) == tensors[value].unitAxis)
      continue;
    std::string text = strideOf(value, axis);
    body.push_back("check " + text + " == " + std::to_string(stride) + " or " +
                   sizeOf(value, axis) + " <= 1 : " +
                   quoted(tensors[value].name.substr(1) + " has stride {" +
                          text + "} along axis " + std::to_string(axis) +
                          ", but the kernel needs " + std::to_string(stride)));
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
  PlanNames names;
  std::vector<std::string> header, body;
  PlanHeader arguments(kernel, names, header, body);
  SmallVector<std::string> operands, views, scalars;
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i) {
    operands.push_back(arguments.nameOf(i).str());
    (arguments.isScalar(i) ? scalars : views).push_back(operands.back());
  }
  FailureOr<std::string> grid = gridOf(kernel, operands);
  if (failed(grid) || failed(writeAsserts(kernel, operands, names, body)))
    return failure();
  std::string line = "launch @" + kernel.getName().str() + "(" +
                     llvm::join(views, ", ") + (scalars.empty() ? "" : "; ") +
                     llvm::join(scalars, ", ") + ") grid " + *grid;
  body.push_back(line + threadsOf(kernel));
  finishPlan(builder, kernel.getLoc(), name, header, body);
  return success();
}
