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

#include "compiler/Frontend/SemaImpl.h"
#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/STLExtras.h"

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
  const std::string &name = checkedCast<Name>(stmt.target)->id;
  for (int64_t i = 0; i < count; ++i) {
    setVariable(name, SemaValue::makeConstant(start + i * step),
                stmt.target->range);
    Flow flow = execute(stmt.body);
    if (flow != Flow::Normal)
      return flow;
  }
  return Flow::Normal;
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
    if (asked || count <= maxImplicitUnroll || !library->hasControlFlow())
      return executeUnrolled(stmt, *start, *step, count);
  }
  if (!library->hasControlFlow()) {
    (void)notYet(stmt.iter->range, "a run-time loop in a function");
    return Flow::Failed;
  }
  if (!step || *step < 0) {
    (void)notYet(stmt.iter->range,
                 step ? "a range that counts down at run time"
                      : "a range with a run-time step",
                 "for i in range(n): j = n - 1 - i");
    return Flow::Failed;
  }
  Location location = loc(stmt.range, name);
  mlir::Value limits[3];
  for (int i = 0; i < 3; ++i) {
    ValueResult bound = decay(bounds[i], stmt.iter->range);
    if (failed(bound))
      return Flow::Failed;
    limits[i] = library->makeScalar(*bound, DType::I64, location);
  }
  Region region;
  Block &block = region.emplaceBlock();
  mlir::Value counter =
      block.addArgument(builder.getIndexType(), loc(stmt.target->range, name));
  auto before = scope().variables;
  FailureOr<std::vector<Carried>> carried = startLoop(stmt.body, {name}, block);
  if (failed(carried))
    return Flow::Failed;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&block);
    setVariable(name, SemaValue::makeScalar(counter, DType::I64, true),
                stmt.target->range);
    ++controlDepth;
    Flow flow = execute(stmt.body);
    --controlDepth;
    if (flow != Flow::Normal || failed(finishTurn(*carried, before)))
      return Flow::Failed;
    dropUnchanged(*carried, block);
    SmallVector<mlir::Value> yields;
    for (const Carried &entry : *carried)
      if (entry.argument)
        yields.push_back(entry.yielded);
    scf::YieldOp::create(builder, location, yields);
  }
  SmallVector<mlir::Value> inits;
  for (const Carried &entry : *carried)
    if (entry.argument)
      inits.push_back(entry.init);
  auto loop = scf::ForOp::create(builder, getLoopLocation(*carried, location),
                                 limits[0], limits[1], limits[2], inits);
  loop.getRegion().takeBody(region);
  finishLoop(*carried, loop.getResults(), before, stmt.range);
  return Flow::Normal;
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
    Flow flow = execute(stmt.body);
    --controlDepth;
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
  return Flow::Normal;
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
                    : "one grid with all axes: for ... in " +
                          quote(grid->iter->range)
                              .substr(0, quote(grid->iter->range).size() - 1) +
                          ", ...):");
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
  if (failed(checkGridCarries(stmt)))
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
    axisOfGrid.extent = extents[i];
    axisOfGrid.size = tiles[i];
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
  return flow;
}

//===----------------------------------------------------------------------===//
// while and if
//===----------------------------------------------------------------------===//

Flow Analyzer::executeWhile(const While &stmt) {
  if (!library->hasControlFlow()) {
    (void)notYet(stmt.range, "'while' in a function");
    return Flow::Failed;
  }
  nameHint = "while";
  Location location = loc(stmt.range);
  Region testRegion, bodyRegion;
  Block &test = testRegion.emplaceBlock();
  auto before = scope().variables;
  FailureOr<std::vector<Carried>> carried = startLoop(stmt.body, {}, test);
  if (failed(carried))
    return Flow::Failed;
  OpBuilder::InsertPoint outside = builder.saveInsertionPoint();
  builder.setInsertionPointToStart(&test);
  ++controlDepth;
  ValueResult condition = evaluateCondition(
      stmt.test, "'while'", "while tsr.any(" + quote(stmt.test->range) + "):");
  --controlDepth;
  if (failed(condition))
    return Flow::Failed;
  if (condition->isConstant()) {
    if (condition->constant.isTrue()) {
      error(stmt.test->range,
            "this loop never ends: " + quote(stmt.test->range) + " is constant")
          .setFix("for i in range(n):");
      return Flow::Failed;
    }
    scope().variables = before;
    builder.restoreInsertionPoint(outside);
    return Flow::Normal;
  }
  SmallVector<mlir::Value> passed;
  SmallVector<Type> types;
  for (const Carried &entry : *carried) {
    passed.push_back(entry.argument);
    types.push_back(entry.argument.getType());
  }
  scf::ConditionOp::create(builder, location, condition->ssa, passed);
  Block &body = bodyRegion.emplaceBlock();
  for (Carried &entry : *carried) {
    entry.argument =
        body.addArgument(entry.init.getType(), loc(entry.assigned, entry.name));
    scope().variables[entry.name] = withSsa(entry.before, entry.argument);
  }
  builder.setInsertionPointToStart(&body);
  ++controlDepth;
  Flow flow = execute(stmt.body);
  --controlDepth;
  if (flow != Flow::Normal || failed(finishTurn(*carried, before)))
    return Flow::Failed;
  SmallVector<mlir::Value> yields, inits;
  for (const Carried &entry : *carried) {
    yields.push_back(entry.yielded);
    inits.push_back(entry.init);
  }
  scf::YieldOp::create(builder, location, yields);
  builder.restoreInsertionPoint(outside);
  auto loop = scf::WhileOp::create(builder, getLoopLocation(*carried, location),
                                   types, inits);
  loop.getBefore().takeBody(testRegion);
  loop.getAfter().takeBody(bodyRegion);
  finishLoop(*carried, loop.getResults(), before, stmt.range);
  return Flow::Normal;
}

Flow Analyzer::executeIf(const If &stmt) {
  nameHint = "if";
  ValueResult condition =
      evaluateCondition(stmt.test, "'if'", getWhereFix(stmt));
  if (failed(condition))
    return Flow::Failed;
  if (condition->isConstant())
    return execute(condition->constant.isTrue() ? stmt.body : stmt.orelse);
  if (!library->hasControlFlow()) {
    (void)notYet(stmt.test->range, "a run-time 'if' in a function",
                 getWhereFix(stmt));
    return Flow::Failed;
  }
  Location location = loc(stmt.range);
  auto before = scope().variables;
  Region regions[2];
  std::map<std::string, SemaValue, std::less<>> after[2];
  for (int arm = 0; arm < 2; ++arm) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&regions[arm].emplaceBlock());
    scope().variables = before;
    ++controlDepth;
    Flow flow = execute(arm == 0 ? stmt.body : stmt.orelse);
    --controlDepth;
    if (flow != Flow::Normal)
      return Flow::Failed;
    after[arm] = scope().variables;
  }
  // Merge what an arm assigned.
  auto merged = before;
  SmallVector<mlir::Value> yields[2];
  std::vector<std::pair<std::string, SemaValue>> results;
  auto isSame = [](const SemaValue &a, const SemaValue &b) {
    return a.kind == b.kind && a.ssa == b.ssa && a.constant == b.constant &&
           a.dim == b.dim && a.axis == b.axis &&
           a.elements.size() == b.elements.size() && a.text == b.text &&
           a.function == b.function && a.elements.empty();
  };
  std::set<std::string> names;
  for (int arm = 0; arm < 2; ++arm)
    for (const auto &[name, value] : after[arm])
      names.insert(name);
  for (const std::string &name : names) {
    auto inThen = after[0].find(name), inElse = after[1].find(name);
    if (inThen == after[0].end() || inElse == after[1].end()) {
      const SemaValue &only =
          inThen == after[0].end() ? inElse->second : inThen->second;
      scope().gone[name] = {only.origin, "in one arm of the 'if' of " +
                                             describeLine(stmt.range)};
      continue;
    }
    SemaValue first = inThen->second, second = inElse->second;
    if (isSame(first, second)) {
      merged[name] = first;
      continue;
    }
    auto old = before.find(name);
    if (old != before.end() && isSame(first, old->second) &&
        isSame(second, old->second))
      continue;
    bool forward = isCompatible(first, second);
    bool backward = isCompatible(second, first);
    if (!forward && !backward) {
      bool hasElse = !stmt.orelse.empty();
      SourceRange where =
          second.origin.isValid() && hasElse ? second.origin : first.origin;
      error(where,
            name + " is " + describe(first) + " in one arm of the 'if' (" +
                describeLine(first.origin) + ") but " + describe(second) +
                (hasElse ? " in the other (" : " without it (") +
                describeLine(second.origin) + ")")
          .addNote(where == second.origin ? first.origin : second.origin,
                   "the other assignment")
          .setFix(first.isTile() && second.isTile() && first.axes == second.axes
                      ? getCastFix(name, first.dtype)
                      : std::string());
      return Flow::Failed;
    }
    const SemaValue &like = forward ? first : second;
    DType dtype = like.getPromotionOperand().dtype;
    for (int arm = 0; arm < 2; ++arm) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(&regions[arm].front());
      const SemaValue &value = arm == 0 ? first : second;
      yields[arm].push_back(
          value.isTile() || value.isTensor()
              ? value.ssa
              : library->makeScalar(value, dtype, loc(value.origin, name)));
    }
    results.emplace_back(name, like);
  }
  SmallVector<Type> types;
  for (mlir::Value value : yields[0])
    types.push_back(value.getType());
  if (!results.empty())
    location = loc(stmt.range, results[0].first);
  auto op = scf::IfOp::create(builder, location, types, condition->ssa,
                              /*withElseRegion=*/true);
  for (int arm = 0; arm < 2; ++arm) {
    Region &region = arm == 0 ? op.getThenRegion() : op.getElseRegion();
    region.takeBody(regions[arm]);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&region.front());
    scf::YieldOp::create(builder, location, yields[arm]);
  }
  scope().variables = std::move(merged);
  for (auto [i, result] : llvm::enumerate(results)) {
    SemaValue value = withSsa(result.second, op.getResult(i));
    value.name = result.first;
    scope().variables[result.first] = value;
  }
  if (op.getNumResults() == 0 &&
      op.getElseRegion().front().getOperations().size() == 1)
    op.getElseRegion().getBlocks().clear();
  return Flow::Normal;
}

} // namespace tessera::frontend
