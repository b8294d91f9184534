//===- TileKernels.cpp - Kernels: programs of a grid, calls ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Graph/IR/Graph.h"
#include "compiler/Interpreter/Plan.h"
#include "compiler/Interpreter/TileData.h"
#include "compiler/Schedule/IR/Schedule.h"

#include <algorithm>

using namespace mlir;
using namespace tessera;
using namespace tessera::interpreter;

Operation *interpreter::innerKernel(Operation *op) {
  if (auto wrapper = dyn_cast<schedule::KernelOp>(op))
    for (auto kernel : wrapper.getBody().getOps<graph::KernelOp>())
      return kernel;
  return op;
}

//===----------------------------------------------------------------------===//
// Memory of arguments
//===----------------------------------------------------------------------===//

int64_t interpreter::unitAxisOf(Type view) {
  auto type = dyn_cast<MemRefType>(view);
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!type || failed(type.getStridesAndOffset(strides, offset)))
    return -1;
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis)
    if (strides[axis] == 1)
      return axis;
  return -1;
}

SmallVector<int64_t> interpreter::chooseStrides(ArrayRef<int64_t> shape,
                                                int64_t unitAxis,
                                                Interpreter &in) {
  SmallVector<int64_t> strides(shape.size());
  SmallVector<size_t> order; // innermost first
  if (unitAxis >= 0)
    order.push_back(size_t(unitAxis));
  for (size_t axis = shape.size(); axis-- > 0;)
    if (int64_t(axis) != unitAxis)
      order.push_back(axis);
  int64_t stride = 1;
  for (auto [depth, axis] : llvm::enumerate(order)) {
    if (depth == 0 && unitAxis < 0 && in.options.seed != 0)
      stride += int64_t(in.random() % 3);
    strides[axis] = stride;
    stride *= std::max<int64_t>(shape[axis], 1);
    if (in.options.seed != 0)
      stride += int64_t(in.random() % 4);
  }
  return strides;
}

/// The view is what the kernel was compiled for.
static LogicalResult checkView(Operation *kernel, MemRefType type,
                               const View &view) {
  auto complain = [&] {
    return kernel->emitError() << "the kernel's argument " << view.name << " ";
  };
  if (elementOf(type) != view.element)
    return complain() << "is " << nameOf(view.element) << ", expected "
                      << type.getElementType();
  if (type.getRank() != int64_t(view.shape.size()))
    return complain() << "has " << view.shape.size() << " axes, expected "
                      << type.getRank();
  SmallVector<int64_t> strides;
  int64_t offset;
  bool known = succeeded(type.getStridesAndOffset(strides, offset));
  bool empty = llvm::is_contained(view.shape, 0);
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    if (!type.isDynamicDim(axis) && type.getDimSize(axis) != view.shape[axis])
      return complain() << "has " << view.shape[axis] << " elements along axis "
                        << axis << ", expected " << type.getDimSize(axis);
    if (known && !empty && view.shape[axis] != 1 &&
        ShapedType::isStatic(strides[axis]) &&
        strides[axis] != view.strides[axis])
      return complain() << "has stride " << view.strides[axis] << " along axis "
                        << axis << ", expected " << strides[axis];
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// How many programs there are along each axis, and, in the state, in all.
static LogicalResult readGrid(Operation *op, OperandRange extents,
                              ArrayRef<int64_t> tiles, Interpreter &in,
                              SmallVector<int64_t> &counts) {
  KernelState &state = stateOf(in);
  for (auto [extent, tile] : llvm::zip_equal(extents, tiles)) {
    const Cell &cell = in.array(extent).cells[0];
    if (!cell.present())
      return in.reject(op, cell, "the grid");
    counts.push_back(tile ? llvm::divideCeilSigned(cell.integer, tile)
                          : cell.integer);
  }
  state.programs = 1;
  for (int64_t count : counts)
    if (__builtin_mul_overflow(state.programs, std::max<int64_t>(count, 0),
                               &state.programs))
      return op->emitError() << "the grid is too large";
  return success();
}

static LogicalResult runChunk(Operation *op, Interpreter &in) {
  auto chunk = cast<tile::ChunkOp>(op);
  SmallVector<int64_t> counts;
  if (failed(readGrid(op, chunk.getExtents(), chunk.getTiles(), in, counts)))
    return failure();
  auto set = [&](Value value, int64_t number) {
    in.set(value, Array({}, Element::I64, in.domain.integer(number)));
  };
  set(chunk.getBegin(), stateOf(in).program);
  set(chunk.getEnd(), stateOf(in).chunkEnd);
  return success();
}

static LogicalResult runProgram(Operation *op, Interpreter &in) {
  auto program = cast<tile::ProgramOp>(op);
  KernelState &state = stateOf(in);
  SmallVector<int64_t> counts, ids(program.getIds().size());
  if (failed(
          readGrid(op, program.getExtents(), program.getTiles(), in, counts)))
    return failure();
  if (state.programs == 0)
    return success();
  int64_t rest =
      program.getNumber() ? in.scalar(program.getNumber()) : state.program;
  int64_t group = program.getGroup();
  size_t grouped = group > 1 && counts.size() >= 2 ? 2 : 0;
  for (size_t axis = counts.size(); axis-- > grouped;) {
    ids[axis] = rest % counts[axis];
    rest /= counts[axis];
  }
  if (grouped) {
    int64_t width = group * counts[1], first = rest / width * group;
    int64_t rows = std::min(counts[0] - first, group), inside = rest % width;
    ids[0] = first + inside % rows;
    ids[1] = inside / rows;
  }
  for (auto [id, result, extent, tile] : llvm::zip_equal(
           ids, program.getIds(), program.getExtents(), program.getTiles())) {
    if (tile)
      in.set(result,
             std::make_shared<TileRange>(
                 id * tile, std::min((id + 1) * tile, in.scalar(extent))));
    else
      in.set(result, Array({}, Element::I64, in.domain.integer(id)));
  }
  return success();
}

/// Runs the ops up to tile.program or tile.chunk to learn how many programs
/// there are.
static LogicalResult countPrograms(Operation *kernel, Interpreter &in,
                                   ArrayRef<DatumRef> arguments) {
  KernelState &state = stateOf(in);
  Block &body = kernel->getRegion(0).front();
  if (body.getOps<tile::ProgramOp>().empty() &&
      body.getOps<tile::ChunkOp>().empty()) {
    // It only prints, and is one program.
    state.programs = 1;
    return success();
  }
  for (auto [argument, datum] : llvm::zip_equal(body.getArguments(), arguments))
    in.set(argument, datum);
  auto observer = std::exchange(in.options.observer, nullptr);
  LogicalResult result = success();
  for (Operation &op : body.without_terminator()) {
    result = in.run(&op);
    if (failed(result) || state.programs >= 0)
      break;
  }
  in.options.observer = std::move(observer);
  return result;
}

/// Which programs run one after the other, as one thread's: each alone, or in
/// chunks that are cut anywhere.
static std::vector<std::pair<int64_t, int64_t>> chunksOf(Operation *kernel,
                                                         Interpreter &in) {
  int64_t programs = stateOf(in).programs, begin = 0;
  bool inChunks = !kernel->getRegion(0).front().getOps<tile::ChunkOp>().empty();
  std::vector<std::pair<int64_t, int64_t>> chunks;
  while (begin < programs) {
    int64_t left = programs - begin, length = 1;
    if (inChunks)
      length = in.options.seed == 0 ? (begin == 0 ? (left * 5 + 7) / 8 : left)
                                    : 1 + int64_t(in.random() % uint64_t(left));
    chunks.emplace_back(begin, begin + length);
    begin += length;
  }
  if (in.options.seed != 0)
    std::shuffle(chunks.begin(), chunks.end(), in.random);
  return chunks;
}

static LogicalResult runPrograms(Operation *kernel, Interpreter &in,
                                 ArrayRef<DatumRef> arguments) {
  KernelState &state = stateOf(in);
  state.running = true;
  if (arguments.size() != kernel->getRegion(0).front().getNumArguments())
    return kernel->emitError() << "the kernel takes "
                               << kernel->getRegion(0).front().getNumArguments()
                               << " arguments, not " << arguments.size();
  for (auto [argument, datum] :
       llvm::zip_equal(kernel->getRegion(0).front().getArguments(), arguments))
    if (auto type = dyn_cast<MemRefType>(argument.getType()))
      if (failed(checkView(kernel, type, *cast<View>(datum.get()))))
        return failure();
  // All of it was known to do nothing, its grid included.
  if (llvm::hasSingleElement(kernel->getRegion(0).front()))
    return success();
  if (failed(countPrograms(kernel, in, arguments)))
    return failure();
  if (state.grid >= 0 && state.grid != state.programs)
    return kernel->emitError()
           << "the plan launches " << state.grid
           << " programs, but the kernel's grid has " << state.programs;
  if (failed(in.spend(kernel, uint64_t(state.programs))))
    return failure();
  for (auto [begin, end] : chunksOf(kernel, in)) {
    state.program = begin;
    state.chunkEnd = end;
    // A new block: nobody is under way in its shared memory.
    state.copies.clear();
    ++state.arena.barriers;
    if (state.wholeTiles)
      state.arena.forEach(0, [](Arena::Slot &slot) { slot.token = 0; });
    Data yielded;
    if (failed(in.run(kernel->getRegion(0), arguments, yielded)))
      return failure();
    if (!state.copies.empty())
      return state.copies.front().op.emitError()
             << "the kernel ends while this copy is still under way: there was "
                "no wait for it";
  }
  for (auto &[program, lines] : state.lines)
    for (const std::string &line : lines)
      in.print(line);
  return success();
}

LogicalResult interpreter::runKernel(Operation *kernel, Interpreter &in,
                                     ArrayRef<DatumRef> arguments,
                                     int64_t grid) {
  auto state = std::make_shared<KernelState>(kernel, ++in.launches);
  state->grid = grid;
  DatumRef outer = std::exchange(in.kernel, state);
  Data nothing;
  LogicalResult result = in.call(kernel, arguments, nothing);
  in.kernel = outer;
  return result;
}

/// A launch, or a call from outside: then with arrays, in the manner of a plan.
static LogicalResult callKernel(Operation *op, Interpreter &in,
                                ArrayRef<DatumRef> arguments, Data &results) {
  op = innerKernel(op);
  if (in.kernel && stateOf(in).kernel == op && !stateOf(in).running)
    return runPrograms(op, in, arguments);
  return runAsPlan(op, in, arguments, results);
}

//===----------------------------------------------------------------------===//
// Calls from functions
//===----------------------------------------------------------------------===//

static LogicalResult runCallKernel(Operation *op, Interpreter &in) {
  auto call = cast<graph::CallKernelOp>(op);
  Operation *callee =
      in.getSymbols().lookupNearestSymbolFrom(op, call.getKernelAttr());
  if (!callee)
    return op->emitError() << "there is no kernel '" << call.getKernel() << "'";
  // From Schedule IR on a value is memory, and what was there is gone.
  bool inPlace = isa<schedule::KernelOp>(callee);
  SmallVector<std::pair<Value, Array>> updated;
  callee = innerKernel(callee);
  auto kernel = dyn_cast<FunctionOpInterface>(callee);
  if (!kernel)
    return op->emitError() << "'" << call.getKernel() << "' is no kernel";
  size_t input = 0, output = 0, size = 0;
  Data arguments;
  SmallVector<std::shared_ptr<View>> written;
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i) {
    Type type = kernel.getArgumentTypes()[i];
    auto mode = kernel.getArgAttrOfType<StringAttr>(i, "gir.mode");
    auto name = kernel.getArgAttrOfType<StringAttr>(i, "gir.name");
    bool isOut = mode && mode == "out";
    if (!isa<MemRefType>(type)) {
      arguments.push_back(in.get(call.getInputs()[input++]));
      continue;
    }
    std::shared_ptr<View> view;
    if (isOut) {
      auto made = cast<RankedTensorType>(call.getResults()[output].getType());
      size_t dynamic = size_t(made.getNumDynamicDims());
      SmallVector<int64_t> shape = in.shapeOf(
          made, call.getSizes().slice(unsigned(size), unsigned(dynamic)));
      size += dynamic;
      FailureOr<Array> fresh = in.allocate(op, shape, *elementOf(made));
      if (failed(fresh))
        return failure();
      std::fill(fresh->cells.begin(), fresh->cells.end(),
                in.poison(op, "an element that the kernel does not write"));
      view = View::of(*fresh, chooseStrides(shape, unitAxisOf(type), in),
                      fresh->cells.empty() ? Cell() : fresh->cells[0]);
    } else {
      Value source = call.getInputs()[input++];
      const Array &given = in.array(source);
      if (inPlace && mode && mode != "in")
        updated.emplace_back(source, given);
      view = View::of(given, chooseStrides(given.shape, unitAxisOf(type), in),
                      in.poison(op, "memory between the rows of an array"));
    }
    view->name = name ? name.str() : "argument " + std::to_string(i);
    if (mode && mode != "in") {
      written.push_back(view);
      ++output;
    }
    arguments.push_back(view);
  }
  if (written.size() != call.getNumResults())
    return op->emitError() << "the kernel writes " << written.size()
                           << " arguments, the call has "
                           << call.getNumResults() << " results";
  if (failed(runKernel(callee, in, arguments, -1)))
    return failure();
  for (auto [result, view] : llvm::zip_equal(op->getResults(), written))
    in.set(result, view->toArray());
  for (auto &[source, array] : updated) {
    std::fill(array.cells.begin(), array.cells.end(),
              in.poison(op, "memory that a kernel has updated since"));
    in.set(source, std::move(array));
  }
  return success();
}

void interpreter::registerTileKernels(Handlers &handlers) {
  handlers.addCallable("tile.func", callKernel);
  handlers.addCallable("gir.kernel", callKernel);
  handlers.addCallable("sched.kernel", callKernel);
  handlers.add("tile.program", runProgram);
  handlers.add("tile.chunk", runChunk);
  handlers.add("gir.call_kernel", runCallKernel);
}
