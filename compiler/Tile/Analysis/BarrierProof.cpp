//===- BarrierProof.cpp - No race and no deadlock, for any trip count -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/Analysis/BarrierProof.h"

#include "compiler/Tile/Analysis/ProtocolState.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <set>

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace {

/// A protocol with more states than this is not one of ours.
constexpr size_t mostStates = 4096;

using States = std::vector<ProtocolState>;

class Explorer {
public:
  explicit Explorer(FuncOp kernel) : kernel(kernel), memory(kernel) {}

  BarrierVerdict run() {
    if (failed(checkUniform()))
      return verdict;
    ProtocolState start(memory);
    States states = {start};
    if (failed(runBlock(kernel.getBody().front(), states)))
      return verdict;
    for (ProtocolState &state : states) {
      ++seen;
      for (size_t i = 0; i < memory.objects.size(); ++i)
        if (state.cells[i].content == Content::Flying) {
          state.note(kernel.getBody().front().getTerminator(),
                     "the kernel ends", int(i));
          (void)refute(state, kernel.getBody().front().getTerminator(), int(i),
                       state.cells[i].writer, "began here",
                       "the kernel ends while a copy into " + memory.name(i) +
                           " is still under way: no wait covers it");
          return verdict;
        }
    }
    verdict.states = int64_t(seen);
    return verdict;
  }

private:
  LogicalResult outside(Operation *op, std::string what) {
    verdict.kind = BarrierVerdict::Kind::OutsideModel;
    verdict.problem = std::move(what);
    verdict.at = op;
    return failure();
  }
  LogicalResult refute(const ProtocolState &state, Operation *at, int object,
                       Operation *other, std::string role,
                       std::string problem) {
    verdict.kind = BarrierVerdict::Kind::Refuted;
    verdict.problem = std::move(problem);
    verdict.at = at;
    verdict.other = other;
    verdict.otherRole = std::move(role);
    verdict.schedule = state.schedule(memory, object, other);
    return failure();
  }

  LogicalResult checkUniform();
  LogicalResult runBlock(Block &block, States &states);
  LogicalResult runOp(Operation *op, States &states);
  LogicalResult runLoop(Operation *op, ValueRange inits, Block &body,
                        ValueRange carried, States &states);
  LogicalResult runWhile(scf::WhileOp op, States &states);
  LogicalResult runIf(scf::IfOp op, States &states);

  // Events of one op in one state.
  LogicalResult step(Operation *op, ProtocolState &state);
  LogicalResult read(Operation *op, ProtocolState &state, int object);
  LogicalResult write(Operation *op, ProtocolState &state, int object,
                      Content becomes);
  FailureOr<int> objectOf(Operation *op, Value buffer, Value slot,
                          const ProtocolState &state);
  void barrier(Operation *op, ProtocolState &state);

  void bind(ProtocolState &state, ValueRange targets, ValueRange sources);
  LogicalResult reduce(Operation *op, States &states);

  FuncOp kernel;
  ProtocolMemory memory;
  BarrierVerdict verdict;
  size_t seen = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Deadlock: what all threads decide alike
//===----------------------------------------------------------------------===//

/// Does every thread of the block compute the same?
static bool isUniform(Value value, llvm::SmallPtrSetImpl<Value> &seen) {
  if (isa<RankedTensorType>(value.getType()))
    return false; // threads hold different elements
  if (!seen.insert(value).second)
    return true;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *owner = argument.getOwner()->getParentOp();
    if (isa<FuncOp>(owner))
      return true;
    for (Value init : owner->getOperands())
      if (!isa<RankedTensorType>(init.getType()) && !isUniform(init, seen))
        return false;
    for (Value next : argument.getOwner()->getTerminator()->getOperands())
      if (!isa<RankedTensorType>(next.getType()) && !isUniform(next, seen))
        return false;
    return true;
  }
  Operation *op = value.getDefiningOp();
  // A load of one element is of the same one for all; a reduction leaves its
  // result with everybody.
  if (isa<LoadOp, ReduceOp>(op))
    return true;
  if (!isa<ForOp, scf::ForOp, scf::IfOp, scf::WhileOp>(op) &&
      (op->getNumRegions() || !isMemoryEffectFree(op)))
    return false;
  for (Value operand : op->getOperands())
    if (!isa<MemRefType>(operand.getType()) &&
        !(op->getNumRegions() && isa<RankedTensorType>(operand.getType())) &&
        !isUniform(operand, seen))
      return false;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Value result : block.getTerminator()->getOperands())
        if (!isa<RankedTensorType>(result.getType()) &&
            !isUniform(result, seen))
          return false;
  return true;
}

LogicalResult Explorer::checkUniform() {
  WalkResult result = kernel.walk([&](Operation *op) -> WalkResult {
    if (op == kernel.getOperation() || !op->getNumRegions())
      return WalkResult::advance();
    bool barriers = false;
    op->walk([&](Operation *inner) {
      barriers |= isa<BarrierOp>(inner) || getExchange(inner);
    });
    if (!barriers)
      return WalkResult::advance();
    SmallVector<Value> decides;
    if (auto loop = dyn_cast<ForOp>(op))
      decides = {loop.getStart(), loop.getStop()};
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      decides = {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      decides = {branch.getCondition()};
    else if (auto loop = dyn_cast<scf::WhileOp>(op))
      decides = {loop.getConditionOp().getCondition()};
    else
      return outside(op, "'" + op->getName().getStringRef().str() +
                             "' around a barrier");
    llvm::SmallPtrSet<Value, 16> visited;
    for (Value value : decides)
      if (!isUniform(value, visited))
        return outside(op, "a barrier in code that not all threads may reach: "
                           "its condition differs between threads");
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

LogicalResult Explorer::read(Operation *op, ProtocolState &state, int object) {
  Cell &cell = state.cells[size_t(object)];
  std::string name = memory.name(size_t(object));
  switch (cell.content) {
  case Content::Empty:
    return refute(state, op, object, cell.writer,
                  cell.writer ? "overwritten here" : "",
                  cell.writer ? "this reads " + name +
                                    ", which was overwritten since it was "
                                    "filled"
                              : "this reads " + name +
                                    ", which nothing was copied into yet");
  case Content::Flying:
    return refute(state, op, object, cell.writer, "the copy began here",
                  "this reads " + name +
                      " while a copy into it is still "
                      "under way: no wait covers it");
  case Content::Landed:
    return refute(state, op, object, cell.writer, "written here",
                  "this reads " + name +
                      ", which other threads have written: there was no "
                      "barrier since");
  case Content::Ready:
    break;
  }
  cell.read = true;
  cell.reader = op;
  return success();
}

LogicalResult Explorer::write(Operation *op, ProtocolState &state, int object,
                              Content becomes) {
  for (int other : memory.overlaps[size_t(object)]) {
    Cell &cell = state.cells[size_t(other)];
    std::string name = memory.name(size_t(other));
    std::string self =
        other == object
            ? "this writes " + name
            : "this writes " + memory.name(size_t(object)) + " over " + name;
    if (cell.content == Content::Flying)
      return refute(state, op, other, cell.writer, "the copy began here",
                    self + " into which a copy is still under way");
    if (cell.read || cell.readAge > -2)
      return refute(state, op, other, cell.reader, "read here",
                    self + ", which other threads may still be reading: there "
                           "was no barrier since");
    if (cell.content == Content::Landed)
      return refute(state, op, other, cell.writer, "written here",
                    self + ", which was written since the last barrier: the "
                           "order is open");
  }
  for (int other : memory.overlaps[size_t(object)]) {
    Cell &cell = state.cells[size_t(other)];
    if (other == object || cell.content != Content::Empty)
      cell = {other == object ? becomes : Content::Empty,
              -1,
              false,
              -2,
              op,
              nullptr};
  }
  return success();
}

void Explorer::barrier(Operation *op, ProtocolState &state) {
  for (Cell &cell : state.cells) {
    if (cell.content == Content::Landed)
      cell.content = Content::Ready;
    cell.read = false;
  }
  state.note(op, "barrier", -1);
}

FailureOr<int> Explorer::objectOf(Operation *op, Value buffer, Value slot,
                                  const ProtocolState &state) {
  auto found = memory.ofBuffer.find(buffer);
  if (found == memory.ofBuffer.end())
    return outside(op, "a buffer that is not a tile.alloc of this kernel");
  auto [first, count] = found->second;
  if (!slot) {
    if (count > 1)
      return outside(op, "an access to a ring that names no slot");
    return first;
  }
  std::optional<int64_t> number = state.evaluate(slot);
  if (!number)
    return outside(op, "a slot that does not follow from constants and from "
                       "what loops carry");
  if (*number < 0 || *number >= count)
    return outside(op, "slot " + std::to_string(*number) + " of a ring of " +
                           std::to_string(count));
  return first + int(*number);
}

/// Fragments of tensor cores are read by their tile.local_load, other operands
/// where they are multiplied: the product's instruction says which.
static LocalLoadOp readLate(MmaOp mma, Value operand) {
  while (auto transpose = operand.getDefiningOp<TransposeOp>())
    operand = transpose.getInput();
  InstructionAttr instruction = mma.getInstructionAttr();
  Type element = getElementTypeOrSelf(operand.getType());
  if (instruction ? instruction.getForm() != MmaForm::Fma
                  : element.isF16() || element.isBF16())
    return LocalLoadOp();
  return operand.getDefiningOp<LocalLoadOp>();
}

LogicalResult Explorer::step(Operation *op, ProtocolState &state) {
  if (auto found = memory.ofScratch.find(op); found != memory.ofScratch.end()) {
    if (!getExchange(op).getUnguarded())
      barrier(op, state);
    state.note(op, "writes its scratch", found->second);
    if (failed(write(op, state, found->second, Content::Landed)))
      return failure();
    barrier(op, state);
    state.note(op, "reads its scratch", found->second);
    if (failed(read(op, state, found->second)))
      return failure();
  }
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](CpAsyncOp copy) -> LogicalResult {
        FailureOr<int> object =
            objectOf(op, copy.getBuffer(), copy.getSlot(), state);
        if (failed(object))
          return failure();
        state.note(op, "copy begins", *object);
        // It reads until it is waited for.
        if (auto array = memory.ofView.find(copy.getView());
            array != memory.ofView.end()) {
          if (failed(read(op, state, array->second)))
            return failure();
          state.cells[size_t(array->second)].readAge = -1;
        }
        if (failed(write(op, state, *object, Content::Flying)))
          return failure();
        if (!copy.getCommit())
          return success();
        state.note(op, "group closed", -1);
        for (Cell &cell : state.cells) {
          if (cell.content == Content::Flying)
            cell.age = std::min<int64_t>(cell.age + 1, memory.mostPending);
          if (cell.readAge > -2)
            cell.readAge =
                std::min<int64_t>(cell.readAge + 1, memory.mostPending);
        }
        return success();
      })
      .Case([&](WaitOp wait) -> LogicalResult {
        state.note(
            op, "wait, " + std::to_string(wait.getPending()) + " pending", -1);
        for (Cell &cell : state.cells) {
          int64_t pending = wait.getPending();
          if (cell.content == Content::Flying && cell.age >= pending)
            cell.content = Content::Landed;
          // The others' copies may go on reading until they wait, too.
          if (cell.readAge >= pending) {
            cell.readAge = -2;
            cell.read = true;
          }
        }
        return success();
      })
      .Case([&](BarrierOp) -> LogicalResult {
        barrier(op, state);
        return success();
      })
      .Case([&](LocalLoadOp load) -> LogicalResult {
        FailureOr<int> object =
            objectOf(op, load.getBuffer(), load.getSlot(), state);
        if (failed(object))
          return failure();
        state.note(op, "read", *object);
        return read(op, state, *object);
      })
      .Case([&](LocalStoreOp store) -> LogicalResult {
        FailureOr<int> object =
            objectOf(op, store.getBuffer(), store.getSlot(), state);
        if (failed(object))
          return failure();
        state.note(op, "write", *object);
        return write(op, state, *object, Content::Landed);
      })
      .Case([&](MmaOp mma) -> LogicalResult {
        for (Value operand : {mma.getLhs(), mma.getRhs()})
          if (LocalLoadOp load = readLate(mma, operand)) {
            FailureOr<int> object =
                objectOf(op, load.getBuffer(), load.getSlot(), state);
            if (failed(object))
              return failure();
            state.note(op, "read, multiplied", *object);
            if (failed(read(op, state, *object)))
              return failure();
          }
        return success();
      })
      .Case<LoadOp, StoreOp, AtomicOp>([&](auto access) -> LogicalResult {
        auto array = memory.ofView.find(access.getView());
        if (array == memory.ofView.end())
          return success();
        bool stores = !isa<LoadOp>(op);
        state.note(op, stores ? "write" : "read", array->second);
        return stores ? write(op, state, array->second, Content::Landed)
                      : read(op, state, array->second);
      })
      .Default([](Operation *) { return success(); });
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

/// The values that `targets` have now are those of `sources`.
void Explorer::bind(ProtocolState &state, ValueRange targets,
                    ValueRange sources) {
  SmallVector<std::optional<int64_t>> values;
  for (auto [target, source] : llvm::zip(targets, sources))
    values.push_back(memory.tracked.contains(target) ? state.evaluate(source)
                                                     : std::nullopt);
  for (auto [target, value] : llvm::zip(targets, values))
    state.set(target, value);
}

/// Equal states need not be followed twice.
LogicalResult Explorer::reduce(Operation *op, States &states) {
  std::set<std::string> known;
  States kept;
  for (ProtocolState &state : states)
    if (known.insert(state.key()).second)
      kept.push_back(std::move(state));
  states = std::move(kept);
  if (states.size() > mostStates)
    return outside(op, "a protocol with more than " +
                           std::to_string(mostStates) + " states");
  return success();
}

LogicalResult Explorer::runLoop(Operation *op, ValueRange inits, Block &body,
                                ValueRange carried, States &states) {
  std::set<std::string> known;
  States open, exits;
  for (ProtocolState &state : states) {
    bind(state, carried, inits);
    state.turns.push_back(0);
    open.push_back(std::move(state));
  }
  for (size_t next = 0; next < open.size(); ++next) {
    ProtocolState head = std::move(open[next]);
    if (!known.insert(head.key()).second)
      continue;
    ++seen;
    if (known.size() > mostStates)
      return outside(op, "a loop whose slots do not return to where they were "
                         "within " +
                             std::to_string(mostStates) + " turns");
    ProtocolState exit = head;
    bind(exit, op->getResults(), carried);
    for (Value value : carried)
      exit.set(value, std::nullopt);
    exit.turns.pop_back();
    exits.push_back(std::move(exit));
    States after = {std::move(head)};
    if (failed(runBlock(body, after)))
      return failure();
    for (ProtocolState &state : after) {
      bind(state, carried, body.getTerminator()->getOperands());
      ++state.turns.back();
      open.push_back(std::move(state));
    }
  }
  states = std::move(exits);
  return reduce(op, states);
}

LogicalResult Explorer::runWhile(scf::WhileOp op, States &states) {
  std::set<std::string> known;
  States open, exits;
  ValueRange before(op.getBeforeArguments()), after(op.getAfterArguments());
  scf::ConditionOp condition = op.getConditionOp();
  for (ProtocolState &state : states) {
    bind(state, before, op.getInits());
    state.turns.push_back(0);
    open.push_back(std::move(state));
  }
  for (size_t next = 0; next < open.size(); ++next) {
    ProtocolState head = std::move(open[next]);
    if (!known.insert(head.key()).second)
      continue;
    ++seen;
    if (known.size() > mostStates)
      return outside(op, "a loop with too many states");
    States tested = {std::move(head)};
    if (failed(runBlock(op.getBefore().front(), tested)))
      return failure();
    for (const ProtocolState &state : tested) {
      ProtocolState exit = state;
      bind(exit, op.getResults(), condition.getArgs());
      exit.turns.pop_back();
      exits.push_back(std::move(exit));
    }
    for (ProtocolState &state : tested)
      bind(state, after, condition.getArgs());
    if (failed(runBlock(op.getAfter().front(), tested)))
      return failure();
    for (ProtocolState &state : tested) {
      bind(state, before, op.getAfter().front().getTerminator()->getOperands());
      ++state.turns.back();
      open.push_back(std::move(state));
    }
  }
  states = std::move(exits);
  return reduce(op, states);
}

LogicalResult Explorer::runIf(scf::IfOp op, States &states) {
  States joined;
  for (Region *region : {&op.getThenRegion(), &op.getElseRegion()}) {
    States arm;
    for (const ProtocolState &state : states) {
      std::optional<int64_t> holds = state.evaluate(op.getCondition());
      if (!holds || bool(*holds) == (region == &op.getThenRegion()))
        arm.push_back(state);
    }
    if (!region->empty()) {
      if (failed(runBlock(region->front(), arm)))
        return failure();
      for (ProtocolState &state : arm)
        bind(state, op.getResults(),
             region->front().getTerminator()->getOperands());
    }
    llvm::append_range(joined, arm);
  }
  states = std::move(joined);
  return reduce(op, states);
}

LogicalResult Explorer::runOp(Operation *op, States &states) {
  if (auto loop = dyn_cast<ForOp>(op))
    return runLoop(op, loop.getInits(), loop.getBody().front(),
                   ValueRange(loop.getCarried()), states);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return runLoop(op, loop.getInitArgs(), *loop.getBody(),
                   ValueRange(loop.getRegionIterArgs()), states);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return runWhile(loop, states);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return runIf(branch, states);
  if (op->getNumRegions())
    return outside(op, "'" + op->getName().getStringRef().str() +
                           "', which has code inside");
  for (ProtocolState &state : states)
    if (failed(step(op, state)))
      return failure();
  return success();
}

LogicalResult Explorer::runBlock(Block &block, States &states) {
  for (Operation &op : block.without_terminator())
    if (failed(runOp(&op, states)))
      return failure();
  return success();
}

BarrierVerdict tessera::tile::proveBarriers(FuncOp kernel) {
  return Explorer(kernel).run();
}
