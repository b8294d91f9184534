//===- SemaControl.cpp - Loops and branches -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop carries the variables that its body assigns and that exist before it;
// a body is evaluated once, with block arguments in their place, into a region
// that then becomes the loop's. What turns out not to change is not carried.
// Variables born in the body do not leave it: it may run zero times.
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/LoopUses.h"
#include "compiler/Graph/IR/Graph.h"
#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace tessera::frontend {

/// Constant ranges up to this many turns are unrolled.
static constexpr int64_t maxImplicitUnroll = 16;
/// tsr.unroll may ask for more, up to here.
static constexpr int64_t maxUnroll = 4096;

//===----------------------------------------------------------------------===//
// for
//===----------------------------------------------------------------------===//

Flow Analyzer::executeFor(const For &stmt) {
  nameHint = is<Name>(stmt.target) ? checkedCast<Name>(stmt.target)->id : "";
  ValueResult iterable = evaluate(stmt.iter);
  if (failed(iterable))
    return Flow::Failed;
  if (iterable->kind == ValueKind::Tuple &&
      (request.kind == ProgramKind::Function || insideGrid))
    return executeTurns(stmt, iterable->elements);
  if (iterable->kind != ValueKind::Iterable) {
    reportNotIterable(stmt, *iterable);
    return Flow::Failed;
  }
  if (failed(checkHasGrid(stmt, *iterable)))
    return Flow::Failed;
  if (iterable->text == "grid")
    return executeGrid(stmt, *iterable);
  if (!is<Name>(stmt.target)) {
    std::string call =
        iterable->text == "range" ? "range" : "tsr." + iterable->text;
    auto *names = dynCast<Tuple>(stmt.target);
    error(stmt.target->range, call + " gives one value a turn, but " +
                                  quote(stmt.target->range) + " are " +
                                  (names ? std::to_string(names->elts.size())
                                         : std::string("several")) +
                                  " names")
        .setFix("for " +
                (names && is<Name>(names->elts[0])
                     ? quote(names->elts[0]->range)
                     : std::string("i")) +
                " in " + quote(stmt.iter->range) + ":");
    return Flow::Failed;
  }
  if (iterable->text == "tile")
    return executeTileLoop(stmt, *iterable);
  return executeRange(stmt, *iterable);
}

Flow Analyzer::executeUnrolled(const For &stmt, int64_t start, int64_t step,
                               int64_t count) {
  std::vector<SemaValue> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(SemaValue::makeConstant(start + i * step));
  return executeTurns(stmt, values);
}

Flow Analyzer::executeTurns(const For &stmt, llvm::ArrayRef<SemaValue> values) {
  // A run-time `if` that returns would need the turns that follow.
  auto rest = std::exchange(scope().rest, {{nullptr, 0}});
  llvm::scope_exit restore([&] { scope().rest = std::move(rest); });
  for (const SemaValue &value : values) {
    if (failed(assign(stmt.target, value, stmt.iter)))
      return Flow::Failed;
    Flow flow = execute(stmt.body);
    if (flow != Flow::Normal)
      return flow;
  }
  bool isOneTurn = values.size() < 2;
  bool isRight = isOneTurn || (succeeded(checkLastTurn(stmt)) &&
                               succeeded(checkMadeAnew(stmt)));
  return isRight ? Flow::Normal : Flow::Failed;
}

Flow Analyzer::executeRange(const For &stmt, const SemaValue &iterable) {
  const std::string name = checkedCast<Name>(stmt.target)->id;
  std::vector<SemaValue> bounds = iterable.elements;
  if (bounds.size() == 1)
    bounds.insert(bounds.begin(), SemaValue::makeConstant(int64_t(0)));
  if (bounds.size() == 2)
    bounds.push_back(SemaValue::makeConstant(int64_t(1)));
  std::optional<int64_t> start = bounds[0].getConstantInt(),
                         stop = bounds[1].getConstantInt(),
                         step = bounds[2].getConstantInt();
  tileLoops.erase(name);
  std::string tiles;
  if (auto *call = dynCast<Call>(stmt.iter);
      call && call->args.size() == 3 && start == 0 && step.value_or(1) > 1)
    tiles = quote(call->args[1]->range) + ", " + quote(call->args[2]->range);
  // range(first, last, BK): tiles of the dim that the variable indexes.
  if (auto *call = dynCast<Call>(stmt.iter);
      call && call->args.size() == 3 && start != 0 && step.value_or(1) > 1)
    if (std::string dim = findIndexedDim(
            *this, name, [&](llvm::StringRef of) { return dimNamesOf(of); });
        !dim.empty())
      tiles = dim + ", " + quote(call->args[2]->range) +
              ", start=" + quote(call->args[0]->range) +
              ", stop=" + quote(call->args[1]->range);
  // range(tsr.cdiv(K, BK)): as many turns as there are tiles.
  if (auto *call = dynCast<Call>(stmt.iter);
      call &&
      (call->args.size() == 1 || (call->args.size() == 2 && start == 0))) {
    auto [dim, size] = getBlocks(quote(call->args.back()->range));
    if (!size.empty() && findDim(dim))
      tiles = dim + ", " + size;
  }
  if (!tiles.empty())
    tileLoops[name] = {"for " + name + " in tsr.tile(" + tiles + "):",
                       stmt.target->range};
  if (step && (*step < -graph::maxStep || *step > graph::maxStep) &&
      !(start && stop)) {
    error(stmt.iter->range,
          "the step of a range is at most 2**40, not " + std::to_string(*step))
        .setFix("a step of at most 2**40");
    return Flow::Failed;
  }
  if (step && *step == 0) {
    error(stmt.iter->range, "the step of a range is not 0")
        .setFix("range(start, stop, 1)");
    return Flow::Failed;
  }
  if (start && stop && step) {
    int64_t distance = *step > 0 ? *stop - *start : *start - *stop;
    int64_t stride = std::abs(*step);
    int64_t count = distance > 0 ? (distance - 1) / stride + 1 : int64_t(0);
    bool asked = iterable.text == "unroll";
    if (asked && count > maxUnroll) {
      error(stmt.iter->range, "tsr.unroll of " + std::to_string(count) +
                                  " turns; at most " +
                                  std::to_string(maxUnroll))
          .setFix("range(...)");
      return Flow::Failed;
    }
    if (asked || count <= maxImplicitUnroll)
      return executeUnrolled(stmt, *start, *step, count);
    unrollFix =
        "for " + name + " in tsr.unroll(" + std::to_string(*stop) + "):";
    if (*start != 0 || *step != 1)
      unrollFix.clear();
  } else if (iterable.text == "unroll") {
    error(stmt.iter->range, "tsr.unroll needs a constant number of turns")
        .setFix("range(...)");
    return Flow::Failed;
  } else {
    unrollFix.clear();
    // A number that the call gives is a constant if it is said to be one.
    if (auto *call = dynCast<Call>(stmt.iter); call && call->args.size() == 1)
      if (auto *turns = dynCast<Name>(call->args.front());
          turns && bounds[1].parameter >= 0)
        unrollFix = turns->id + ": const";
  }
  Location location = loc(stmt.range, name);
  for (SemaValue &bound : bounds) {
    ValueResult number = decay(bound, stmt.iter->range);
    if (failed(number))
      return Flow::Failed;
    bound = *number;
  }
  // Down, or by a step that is not known: the turns are counted up, and the
  // variable is computed from the number of the turn.
  bool counted = !step || *step < 0;
  SemaValue first = SemaValue::makeConstant(int64_t(0)), last = bounds[1];
  if (counted) {
    ValueResult turns = countTurns(stmt, bounds);
    if (failed(turns))
      return Flow::Failed;
    last = *turns;
  } else {
    first = bounds[0];
  }
  mlir::Value limits[] = {library->makeScalar(first, DType::I64, location),
                          library->makeScalar(last, DType::I64, location)};
  Region region;
  Block &block = region.emplaceBlock();
  mlir::Value counter = block.addArgument(library->getCounterType(),
                                          loc(stmt.target->range, name));
  auto before = scope().variables;
  FailureOr<std::vector<Carried>> carried = startLoop(stmt.body, {name}, block);
  if (failed(carried))
    return Flow::Failed;
  // Sizes of carried tensors are asked of the loop that holds them.
  graph::ForOp holder;
  if (request.kind == ProgramKind::Function) {
    SmallVector<mlir::Value> inits;
    for (const Carried &entry : *carried)
      inits.push_back(entry.init);
    holder =
        graph::ForOp::create(builder, location, ValueRange(inits).getTypes(),
                             limits[0], limits[1], 1, inits);
    holder.getBody().takeBody(region);
  }
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&block);
    ValueResult variable = SemaValue::makeScalar(counter, DType::I64, true);
    OpSite site{stmt.iter->range, stmt.iter->range, {}};
    if (counted) {
      variable = combine(BinaryOperator::Mult, *variable, bounds[2], site);
      if (succeeded(variable))
        variable = combine(BinaryOperator::Add, bounds[0], *variable, site);
      if (failed(variable))
        return Flow::Failed;
    }
    setVariable(name, *variable, stmt.target->range);
    ++controlDepth;
    ++loopDepth;
    Flow flow = execute(stmt.body);
    --controlDepth;
    --loopDepth;
    if (flow != Flow::Normal || failed(finishTurn(*carried, before)))
      return Flow::Failed;
    dropUnchanged(*carried, block);
    SmallVector<mlir::Value> yields;
    for (const Carried &entry : *carried)
      if (entry.argument)
        yields.push_back(entry.yielded);
    library->yield(location, yields);
  }
  if (holder) {
    region.takeBody(holder.getBody());
    holder.erase();
  }
  SmallVector<mlir::Value> inits;
  for (const Carried &entry : *carried)
    if (entry.argument)
      inits.push_back(entry.init);
  Operation *loop =
      library->makeFor(getLoopLocation(*carried, location), limits[0],
                       limits[1], counted ? 1 : *step, inits, region);
  finishLoop(*carried, loop->getResults(), before, stmt.range);
  return failed(checkMadeAnew(stmt)) ? Flow::Failed : Flow::Normal;
}

/// How often range(start, stop, step) turns: (stop - start + step -+ 1) //
/// step, which is not positive if it does not.
ValueResult Analyzer::countTurns(const For &stmt,
                                 const std::vector<SemaValue> &bounds) {
  OpSite site{stmt.iter->range, stmt.iter->range, {}};
  SemaValue one = SemaValue::makeConstant(int64_t(1));
  SemaValue towards = SemaValue::makeConstant(int64_t(-1));
  if (!bounds[2].isConstant()) {
    OpSite compared{stmt.iter->range, stmt.iter->range, {nullptr, nullptr}};
    ValueResult up =
        library->compare(CompareOperator::Gt, bounds[2],
                         SemaValue::makeConstant(int64_t(0)), compared);
    if (failed(up))
      return failure();
    CallArguments arguments;
    for (const SemaValue &value : {*up, towards, one})
      arguments.arguments.push_back({"", value, nullptr, stmt.iter->range});
    ValueResult sign = library->call("where", arguments, site);
    if (failed(sign))
      return failure();
    towards = *sign;
  } else if (bounds[2].constant.asInt() < 0) {
    towards = one;
  }
  ValueResult turns = combine(BinaryOperator::Sub, bounds[1], bounds[0], site);
  if (succeeded(turns))
    turns = combine(BinaryOperator::Add, *turns, bounds[2], site);
  if (succeeded(turns))
    turns = combine(BinaryOperator::Add, *turns, towards, site);
  if (succeeded(turns))
    turns = combine(BinaryOperator::FloorDiv, *turns, bounds[2], site);
  return turns;
}

Flow Analyzer::executeTileLoop(const For &stmt, const SemaValue &iterable) {
  const std::string name = checkedCast<Name>(stmt.target)->id;
  if (request.kind != ProgramKind::Kernel) {
    error(stmt.iter->range, "tsr.tile is for kernels; a function is scheduled "
                            "by the compiler")
        .addNote(scope().definition->nameRange,
                 scope().definition->name + " is a function")
        .setFix("operations on whole tensors: tsr.sum(x, dim=-1); or "
                "@tsr.kernel above def " +
                scope().definition->name);
    return Flow::Failed;
  }
  Location location = loc(stmt.range, name);
  int64_t size = iterable.elements[1].constant.asInt();
  SemaValue extentValue = iterable.elements[0];
  if (iterable.dim) {
    extentValue = SemaValue();
    extentValue.kind = ValueKind::Dim;
    extentValue.dim = iterable.dim;
  }
  auto getOption = [&](const char *option) -> const SemaValue * {
    auto found = iterable.options.find(option);
    return found == iterable.options.end() ? nullptr : &found->second;
  };
  ValueResult extent = decay(extentValue, stmt.iter->range);
  if (failed(extent))
    return Flow::Failed;
  mlir::Value limit = library->makeScalar(*extent, DType::I64, location);
  mlir::Value stop = limit, start;
  if (const SemaValue *option = getOption("stop");
      option &&
      !(option->kind == ValueKind::Dim && option->dim == iterable.dim)) {
    ValueResult value = decay(*option, stmt.iter->range);
    if (failed(value))
      return Flow::Failed;
    stop = arith::MinSIOp::create(
        builder, location, limit,
        library->makeScalar(*value, DType::I64, location));
  }
  if (const SemaValue *option = getOption("start")) {
    ValueResult value = decay(*option, stmt.iter->range);
    if (failed(value))
      return Flow::Failed;
    start = library->makeScalar(*value, DType::I64, location);
    // Positions before the dim do not exist, as those behind it.
    std::optional<int64_t> number = value->getConstantInt();
    if (!(number && *number >= 0) &&
        !start.getDefiningOp<tile::RangeStartOp>() &&
        !start.getDefiningOp<tile::RangeStopOp>())
      start = arith::MaxSIOp::create(
          builder, location, start,
          arith::ConstantIndexOp::create(builder, location, 0));
  } else {
    start = arith::ConstantIndexOp::create(builder, location, 0);
  }
  int64_t stages = 0;
  if (const SemaValue *option = getOption("stages"))
    stages = *option->getConstantInt();

  Region region;
  Block &block = region.emplaceBlock();
  Axis axis;
  axis.name = name;
  axis.size = size;
  axis.dim = iterable.dim;
  axis.where = stmt.range;
  axis.where.end = stmt.iter->range.end;
  axis.range = block.addArgument(tile::RangeType::get(getContext(), size),
                                 loc(stmt.target->range, name));
  axis.extent = stop;
  axis.loopStart = getOption("start") ? start : mlir::Value();
  axis.complete = !getOption("start") && !getOption("stop") &&
                  extent->getConstantInt() &&
                  *extent->getConstantInt() % size == 0;
  SemaValue range;
  range.kind = ValueKind::Range;
  range.axis = addAxis(std::move(axis));

  auto before = scope().variables;
  FailureOr<std::vector<Carried>> carried = startLoop(stmt.body, {name}, block);
  if (failed(carried))
    return Flow::Failed;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&block);
    setVariable(name, range, stmt.target->range);
    ++controlDepth;
    ++loopDepth;
    Flow flow = execute(stmt.body);
    --controlDepth;
    --loopDepth;
    if (flow != Flow::Normal || failed(finishTurn(*carried, before)))
      return Flow::Failed;
    dropUnchanged(*carried, block);
    SmallVector<mlir::Value> yields;
    for (const Carried &entry : *carried)
      if (entry.argument)
        yields.push_back(entry.yielded);
    tile::YieldOp::create(builder, location, yields);
  }
  SmallVector<mlir::Value> inits;
  for (const Carried &entry : *carried)
    if (entry.argument)
      inits.push_back(entry.init);
  auto loop = tile::ForOp::create(builder, getLoopLocation(*carried, location),
                                  start, stop, size, inits);
  if (stages)
    loop.setStages(stages);
  loop.getBody().takeBody(region);
  finishLoop(*carried, loop.getResults(), before, stmt.range);
  return failed(checkMadeAnew(stmt)) ? Flow::Failed : Flow::Normal;
}

Flow Analyzer::executeGrid(const For &stmt, const SemaValue &iterable) {
  if (request.kind != ProgramKind::Kernel || scopes.size() != 1) {
    error(stmt.iter->range,
          "tsr.grid is for kernels; a function is scheduled by the compiler")
        .addNote(scope().definition->nameRange,
                 scope().definition->name + " is a function")
        .setFix("@tsr.kernel above def " + scope().definition->name +
                ", or operations on whole tensors without a loop");
    return Flow::Failed;
  }
  if (grid) {
    // Inside the first one it can be a loop of the program.
    std::string inside = quote(stmt.iter->range);
    if (iterable.elements.size() == 1)
      inside = quote(iterable.elements[0].origin);
    error(stmt.iter->range, "a kernel has one tsr.grid")
        .addNote(grid->iter->range, "the first one")
        .setFix(!insideGrid ? "a second kernel for the second grid"
                : iterable.elements.size() == 1
                    ? "for " + quote(stmt.target->range) + " in " + inside + ":"
                    : getNestedLoops(stmt));
    return Flow::Failed;
  }
  if (controlDepth) {
    error(stmt.iter->range, "tsr.grid is the outermost loop of a kernel")
        .setFix("move the 'for' over tsr.grid outside, the other loop or 'if' "
                "into it");
    return Flow::Failed;
  }
  std::vector<const Expr *> targets;
  if (auto *tuple = dynCast<Tuple>(stmt.target))
    targets.assign(tuple->elts.begin(), tuple->elts.end());
  else
    targets.push_back(stmt.target);
  if (targets.size() != iterable.elements.size()) {
    error(stmt.target->range,
          std::to_string(targets.size()) +
              (targets.size() == 1 ? " name" : " names") + " for " +
              std::to_string(iterable.elements.size()) +
              (iterable.elements.size() == 1 ? " axis" : " axes") +
              " of the grid")
        .addNote(stmt.iter->range, "the grid")
        .setFix(getGridFix(stmt, iterable));
    return Flow::Failed;
  }
  for (const Expr *target : targets)
    if (!is<Name>(target)) {
      error(target->range,
            "an axis of the grid gets one name, not " + quote(target->range))
          .setFix(getGridFix(stmt, iterable));
      return Flow::Failed;
    }
  if (failed(checkGridCarries(stmt)) || failed(checkGridCounts(stmt)))
    return Flow::Failed;
  grid = &stmt;
  KernelState &state = getKernelState(*library);
  SmallVector<mlir::Value> extents;
  SmallVector<int64_t> tiles;
  SmallVector<Type> types;
  std::vector<std::optional<int64_t>> known;
  for (const SemaValue &element : iterable.elements) {
    bool tiled = element.kind == ValueKind::Iterable;
    SemaValue extentValue = tiled ? element.elements[0] : element;
    if (tiled && element.dim) {
      extentValue = SemaValue();
      extentValue.kind = ValueKind::Dim;
      extentValue.dim = element.dim;
    }
    ValueResult extent = decay(extentValue, element.origin);
    if (failed(extent))
      return Flow::Failed;
    nameHint = extentValue.kind == ValueKind::Dim ? extentValue.dim->name
                                                  : std::string("extent");
    extents.push_back(
        library->makeScalar(*extent, DType::I64, loc(element.origin)));
    known.push_back(extent->getConstantInt());
    int64_t size = tiled ? element.elements[1].constant.asInt() : 0;
    tiles.push_back(size);
    types.push_back(tiled ? Type(tile::RangeType::get(getContext(), size))
                          : Type(builder.getIndexType()));
  }
  int64_t group = 1;
  if (auto found = iterable.options.find("group");
      found != iterable.options.end())
    group = *found->second.getConstantInt();
  auto persistent = iterable.options.find("persistent");
  bool isPersistent = persistent != iterable.options.end() &&
                      persistent->second.constant.isTrue();
  if (auto key = request.schedule.find("persistent");
      key != request.schedule.end() && persistent == iterable.options.end())
    isPersistent = key->second.isTrue();
  // Each result carries its own name: a FusedLoc of NameLocs is not printed,
  // so the op has the name of the first axis.
  auto program = tile::ProgramOp::create(
      builder, loc(stmt.target->range, checkedCast<Name>(targets[0])->id),
      types, extents, builder.getDenseI64ArrayAttr(tiles),
      builder.getI64IntegerAttr(group),
      isPersistent ? builder.getUnitAttr() : UnitAttr());
  for (auto [i, target] : llvm::enumerate(targets)) {
    const std::string &name = checkedCast<Name>(target)->id;
    mlir::Value id = program.getIds()[i];
    SemaValue value;
    KernelState::GridAxis axisOfGrid;
    axisOfGrid.name = name;
    axisOfGrid.extent = extents[i];
    axisOfGrid.size = tiles[i];
    axisOfGrid.where = iterable.elements[i].origin;
    if (tiles[i]) {
      Axis axis;
      axis.name = name;
      axis.size = tiles[i];
      axis.dim = iterable.elements[i].dim;
      axis.where = iterable.elements[i].origin;
      axis.range = id;
      axis.extent = extents[i];
      axis.complete = known[i] && *known[i] % tiles[i] == 0;
      value.kind = ValueKind::Range;
      value.axis = addAxis(std::move(axis));
      axisOfGrid.axis = value.axis;
    } else {
      value = SemaValue::makeScalar(id, DType::I64, /*weak=*/true);
      axisOfGrid.index = id;
    }
    state.gridAxes.push_back(axisOfGrid);
    setVariable(name, value, target->range);
  }
  insideGrid = state.insideGrid = true;
  Flow flow = execute(stmt.body);
  insideGrid = state.insideGrid = false;
  if (flow != Flow::Failed &&
      (failed(state.checkRaces(program->getParentOp())) ||
       failed(checkReplaced(state)) || failed(checkMadeAnew(stmt)) ||
       failed(checkRunningValues(stmt))))
    return Flow::Failed;
  return flow;
}

} // namespace tessera::frontend
