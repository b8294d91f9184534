//===- CpuLoopTree.cpp - A mapped kernel of the CPU as loops over nests ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/CPU.h"
#include "compiler/Target/CPU/Mapping/MatrixSteps.h"
#include "compiler/Tile/Analysis/IndexValues.h"
#include "compiler/Tile/Analysis/LoopTree.h"
#include "compiler/Tile/IR/CpuBuffer.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace {

/// A length, and the share of tiles that have it.
using Piece = std::pair<double, double>;
using Names = std::set<std::string>;

class Reader {
public:
  Reader(FuncOp func, const LaunchArguments &given);
  LaunchLoops made;

private:
  // Bodies.
  void read(Block &block);
  void read(Operation *op);
  void readProgram(ProgramOp op);
  void readChunk(ChunkOp op);
  void readFor(ForOp op);
  void readScfFor(scf::ForOp op);
  void readIf(scf::IfOp op);
  void readOther(Operation *op);
  // Nests.
  void readNest(NestOp nest);
  void readVectors(NestOp nest);
  void readStep(NestOp nest);
  void readCopied(Block &block);
  std::optional<Touch> touchOf(Operation *op, NestOp nest);
  Touch touchOfBuffer(Operation *op, Value buffer, NestOp nest);
  Value sourceOf(Value operand);

  void giveUp(StringRef why) {
    if (made.unknown.empty())
      made.unknown = why.str();
  }
  std::optional<double> need(Value value) {
    std::optional<double> number = values.find(value);
    if (!number)
      giveUp("a loop whose end is computed from data");
    return number;
  }
  LoopTree &open(double trips, std::string name) {
    auto loop = std::make_unique<LoopTree>();
    loop->trips = trips;
    loop->name = std::move(name);
    body.back()->body.push_back(std::move(loop));
    return *body.back()->body.back();
  }
  void add(NestRun run, LoopTree &into) {
    into.body.push_back(std::make_unique<LoopTree>());
    into.body.back()->run = std::move(run);
  }
  std::string name(StringRef what) {
    return (what + "." + Twine(++loops)).str();
  }
  std::string nameOf(Value buffer) {
    auto [at, _] = buffers.insert({buffer, buffers.size()});
    return "buffer " + std::to_string(at->second);
  }
  Names alongOf(ValueRange values) {
    Names all;
    for (Value value : values)
      if (auto found = along.find(value); found != along.end())
        all.insert(found->second.begin(), found->second.end());
    return all;
  }
  template <typename Of> double mean(Value range, Of of) {
    double total = 0;
    for (auto [length, share] : ranges[range])
      total += share * of(length);
    return total;
  }
  double lengthOf(Value range) {
    return mean(range, [](double length) { return length; });
  }

  IndexValues values; // of the range, where it begins
  DenseMap<Value, SmallVector<Piece, 2>> ranges;
  DenseMap<Value, Names> along; // the loops that a value changes with
  DenseMap<Value, std::vector<int64_t>> shapes;
  DenseMap<Value, std::string> arrays;
  DenseMap<Value, size_t> buffers;
  SmallVector<LoopTree *> body;
  int64_t loops = 0;
};

} // namespace

static double bytesOf(Type element) {
  return element.isIndex() || element.isIntOrFloat()
             ? double(scratchBytesOf(element))
             : 4;
}

/// Of a tile, or of a scalar, which counts as one of 32 bits.
static double bytesOfElement(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? bytesOf(tile.getElementType()) : 4;
}

static int64_t sizeOf(Value range) {
  return cast<RangeType>(range.getType()).getSize();
}

Reader::Reader(FuncOp func, const LaunchArguments &given) {
  size_t view = 0, scalar = 0;
  for (BlockArgument argument : func.getBody().getArguments()) {
    if (isa<MemRefType>(argument.getType())) {
      if (view < given.shapes.size()) {
        shapes[argument] = given.shapes[view];
        arrays[argument] = given.arrays[view];
      }
      ++view;
    } else {
      if (scalar < given.scalars.size() && given.scalars[scalar])
        values.set(argument, double(*given.scalars[scalar]));
      ++scalar;
    }
  }
  body.push_back(&made.tree);
  read(func.getBody().front());
}

//===----------------------------------------------------------------------===//
// Loops and branches
//===----------------------------------------------------------------------===//

void Reader::read(Block &block) {
  for (Operation &op : block.without_terminator())
    read(&op);
}

void Reader::read(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ProgramOp program) { readProgram(program); })
      .Case([&](ForOp loop) { readFor(loop); })
      .Case([&](ChunkOp chunk) { readChunk(chunk); })
      .Case([&](scf::ForOp loop) { readScfFor(loop); })
      .Case([&](scf::IfOp branch) { readIf(branch); })
      .Case([&](NestOp nest) { readNest(nest); })
      .Case([&](DimOp dim) {
        auto &shape = shapes[dim.getView()];
        if (dim.getAxis() < shape.size())
          values.set(dim, double(shape[dim.getAxis()]));
      })
      .Case([&](StrideOp stride) { // of arrays without gaps
        ArrayRef<int64_t> shape = shapes[stride.getView()];
        if (stride.getAxis() < shape.size())
          values.set(stride,
                     std::accumulate(shape.begin() + stride.getAxis() + 1,
                                     shape.end(), 1.0, std::multiplies<>()));
      })
      .Case([&](RangeAtOp range) {
        along[range] = alongOf(range.getStart());
        if (auto extent = need(range.getExtent()))
          ranges[range] = {
              {std::clamp(*extent - values.find(range.getStart()).value_or(0),
                          0.0, double(range.getType().getSize())),
               1.0}};
      })
      .Case<RangeStartOp, RangeStopOp>([&](auto end) {
        Value range = end.getRange();
        along[end] = alongOf(range);
        if (auto start = values.find(range))
          values.set(end, *start + (isa<RangeStopOp>(end.getOperation())
                                        ? lengthOf(range)
                                        : 0));
      })
      .Default([&](Operation *op) { readOther(op); });
}

/// Whether a value is the stop, or the start, of which range.
template <typename End> static Value rangeOf(Value value) {
  auto end = value.getDefiningOp<End>();
  return end ? end.getRange() : Value();
}

void Reader::readOther(Operation *op) {
  Names changes = alongOf(op->getOperands());
  for (Value result : op->getResults())
    along[result] = changes;
  if (auto difference = dyn_cast<arith::SubIOp>(op)) {
    Value range = rangeOf<RangeStopOp>(difference.getLhs());
    if (range && range == rangeOf<RangeStartOp>(difference.getRhs()) &&
        !ranges[range].empty()) {
      // The length of most tiles, not the mean: whether that is whole is asked.
      auto isRarer = [](const Piece &a, const Piece &b) {
        return a.second < b.second;
      };
      values.set(difference, llvm::max_element(ranges[range], isRarer)->first);
      return;
    }
  }
  if (auto select = dyn_cast<arith::SelectOp>(op))
    if (auto condition = values.find(select.getCondition())) {
      Value chosen =
          *condition != 0 ? select.getTrueValue() : select.getFalseValue();
      if (auto pieces = ranges.find(chosen); pieces != ranges.end()) {
        SmallVector<Piece, 2> same = pieces->second;
        ranges[select] = same;
      }
    }
  values.compute(op);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      read(block);
}

static SmallVector<Piece, 2> piecesOf(double whole, double size, double left) {
  double turns = whole + (left > 0);
  SmallVector<Piece, 2> pieces;
  if (whole > 0)
    pieces.push_back({size, whole / turns});
  if (left > 0)
    pieces.push_back({left, 1 / turns});
  if (pieces.empty())
    pieces.push_back({0.0, 1.0});
  return pieces;
}

void Reader::readProgram(ProgramOp op) {
  SmallVector<double> counts;
  auto nameOf = [](size_t axis) { return "program " + std::to_string(axis); };
  for (auto [axis, id, extent, tile] :
       llvm::enumerate(op.getIds(), op.getExtents(), op.getTiles())) {
    std::optional<double> size = need(extent);
    if (!size)
      return;
    double step = std::max<int64_t>(tile, 1), count = std::ceil(*size / step);
    counts.push_back(count);
    // On average a program stands in the middle.
    values.set(id, std::max(*size - step, 0.0) / 2);
    along[id] = op.getNumber() ? alongOf(op.getNumber()) : Names{nameOf(axis)};
    if (tile)
      ranges[id] = piecesOf(std::max(count - 1, 0.0), step,
                            *size - std::max(count - 1, 0.0) * step);
  }
  if (op.getNumber())
    return; // a loop over a chunk says which
  SmallVector<std::pair<std::string, double>> order;
  for (auto [axis, count] : llvm::enumerate(counts))
    order.push_back({nameOf(axis), count});
  if (op.getGroup() > 1 && counts.size() > 1) {
    // So many along the first axis before the second moves on.
    double rows = std::max(std::min(double(op.getGroup()), counts[0]), 1.0);
    std::string inside = nameOf(0) + " in a group";
    along[op.getIds()[0]].insert(inside);
    order[0].second = counts[0] / rows;
    order.insert(order.begin() + 2, {inside, rows});
  }
  for (auto &[name, count] : order)
    body.push_back(&open(count, name));
}

/// All programs are one chunk.
void Reader::readChunk(ChunkOp op) {
  double programs = 1;
  for (auto [extent, tile] : llvm::zip_equal(op.getExtents(), op.getTiles())) {
    std::optional<double> size = need(extent);
    if (!size)
      return;
    programs *= std::ceil(*size / double(std::max<int64_t>(tile, 1)));
  }
  values.set(op.getBegin(), 0);
  values.set(op.getEnd(), programs);
}

void Reader::readFor(ForOp op) {
  std::optional<double> start = need(op.getStart()), stop = need(op.getStop());
  if (!start || !stop)
    return;
  double step = std::max<int64_t>(op.getSize(), 1),
         extent = std::max(*stop - *start, 0.0),
         whole = std::floor(extent / step), left = extent - whole * step;
  LoopTree &loop = open(whole + (left > 0), name("loop"));
  values.set(op.getRange(), *start + extent / 2);
  along[op.getRange()] = {loop.name};
  if (isa<RangeType>(op.getRange().getType()))
    ranges[op.getRange()] = piecesOf(whole, step, left);
  body.push_back(&loop);
  read(op.getBody().front());
  body.pop_back();
}

/// One whose end is data is taken once.
void Reader::readScfFor(scf::ForOp op) {
  std::optional<double> start = values.find(op.getLowerBound()),
                        stop = values.find(op.getUpperBound()),
                        step = values.find(op.getStep());
  if (!start || !stop || !step || *step <= 0)
    return readOther(op);
  double extent = std::max(*stop - *start, 0.0);
  LoopTree &loop = open(std::ceil(extent / *step), name("loop"));
  values.set(op.getInductionVar(), *start + std::floor(extent / 2));
  Names changes = alongOf(ValueRange{op.getLowerBound(), op.getUpperBound()});
  changes.insert(loop.name);
  along[op.getInductionVar()] = changes;
  body.push_back(&loop);
  read(*op.getBody());
  body.pop_back();
}

/// Of a branch that is not known both sides are counted: a mask that most tiles
/// do not need.
void Reader::readIf(scf::IfOp op) {
  std::optional<double> taken = values.find(op.getCondition());
  if (taken && *taken == 0)
    readCopied(*op.thenBlock());
  else
    read(*op.thenBlock());
  if (op.elseBlock() && !(taken && *taken != 0))
    read(*op.elseBlock());
}

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

/// The axes of a buffer are axes of the nest, in their order.
Touch Reader::touchOfBuffer(Operation *op, Value buffer, NestOp nest) {
  bool isStore = isa<LocalStoreOp>(op);
  auto tile = cast<RankedTensorType>(isStore ? op->getOperand(0).getType()
                                             : op->getResult(0).getType());
  Touch touch{nameOf(buffer), bytesOfElement(tile), {}, isStore, false, true};
  ValueRange left = nest.getAxes();
  for (int64_t extent : tile.getShape()) {
    auto axis = llvm::find_if(
        left, [&](Value range) { return sizeOf(range) == extent; });
    if (axis == left.end()) {
      touch.bytes *= double(extent);
      continue;
    }
    touch.bytes *= lengthOf(*axis);
    left = left.drop_front(axis - left.begin() + 1);
  }
  return touch;
}

/// What a load or a store of a nest touches.
std::optional<Touch> Reader::touchOf(Operation *op, NestOp nest) {
  if (auto load = dyn_cast<LocalLoadOp>(op))
    return touchOfBuffer(op, load.getBuffer(), nest);
  if (auto store = dyn_cast<LocalStoreOp>(op))
    return touchOfBuffer(op, store.getBuffer(), nest);
  auto load = dyn_cast<LoadOp>(op);
  auto store = dyn_cast<StoreOp>(op);
  if (!load && !store)
    return std::nullopt;
  Value view = load ? load.getView() : store.getView();
  auto array = arrays.find(view);
  if (array == arrays.end())
    return std::nullopt;
  OperandRange indices = load ? load.getIndices() : store.getIndices();
  Touch touch{array->second,
              bytesOfElement(load ? load.getResult().getType()
                                  : store.getValue().getType()),
              alongOf(indices),
              bool(store),
              store && isStreaming(store),
              false};
  for (Value index : indices)
    if (ranges.contains(index))
      touch.bytes *= lengthOf(index);
  return touch;
}

/// A sum that need not be copied to the result: the last step stores it there.
void Reader::readCopied(Block &block) {
  auto nest = dyn_cast<NestOp>(block.front());
  if (!nest)
    return;
  auto ops = nest.getBody().front().without_terminator();
  if (std::distance(ops.begin(), ops.end()) < 2 ||
      !isa<LocalLoadOp>(*ops.begin()) || !isa<StoreOp>(*std::next(ops.begin())))
    return;
  NestRun run;
  if (auto touch = touchOf(&*std::next(ops.begin()), nest))
    run.touches.push_back(*touch);
  add(std::move(run), *body.back());
}

void Reader::readNest(NestOp nest) {
  if (llvm::any_of(nest.getAxes(),
                   [&](Value axis) { return !ranges.contains(axis); }))
    return giveUp("a range computed from data");
  if (!cpu::stepIn(nest))
    return readVectors(nest);
  readStep(nest);
  // An epilogue in a step runs once, behind the loop.
  if (NestOp epilogue = cpu::epilogueOf(nest)) {
    LoopTree *inner = body.pop_back_val();
    readNest(epilogue);
    body.push_back(inner);
  }
}

/// The types of all tiles that an op reads or makes.
static SmallVector<RankedTensorType> tilesOf(Operation &op) {
  SmallVector<RankedTensorType> tiles;
  auto take = [&](TypeRange types) {
    for (Type type : types)
      if (auto tile = dyn_cast<RankedTensorType>(type))
        tiles.push_back(tile);
  };
  take(op.getOperandTypes());
  take(op.getResultTypes());
  return tiles;
}

void Reader::readVectors(NestOp nest) {
  int64_t axis = nest.getVectorAxis();
  double unroll = std::max<int64_t>(nest.getUnroll(), 1),
         lanes = nest.getLanes() ? nest.getLanes() : 16, widest = 0;
  auto ops = nest.getBody().front().without_terminator();
  for (Operation &op : ops)
    for (RankedTensorType type : tilesOf(op))
      if (!type.getElementType().isInteger(1))
        widest = std::max(widest, bytesOf(type.getElementType()));
  widest = widest ? widest : 4;

  NestRun run;
  run.rows = 1;
  for (auto [number, range] : llvm::enumerate(nest.getAxes()))
    if (int64_t(number) != axis)
      run.rows *= lengthOf(range);
  if (axis < 0) {
    run.vectors = run.turns = run.rows;
    unroll = 1;
  } else {
    Value range = nest.getAxes()[axis];
    run.vectors = run.rows * mean(range, [&](double length) {
                    return std::ceil(length / lanes);
                  });
    run.turns = run.rows * mean(range, [&](double length) {
                  double turn = lanes * unroll;
                  return std::floor(length / turn) +
                         std::ceil(std::fmod(length, turn) / lanes);
                });
    run.wide = std::max(lanes * std::min(widest, 8.0) / 64, 1.0);
  }
  int64_t full = nest.getAxes().size();
  for (Operation &op : ops) {
    if (auto touch = touchOf(&op, nest))
      run.touches.push_back(*touch);
    int64_t rank = 0;
    for (RankedTensorType type : tilesOf(op))
      rank = std::max(rank, type.getRank());
    if (rank < full && !isa<LoadOp>(op)) // once per row, or less
      continue;
    if (auto reduce = dyn_cast<ReduceOp>(op);
        reduce && int64_t(reduce.getAxis()) == axis) {
      run.chained = std::max(run.chained, run.vectors / unroll);
      run.sums += run.rows * unroll;
    }
    ++run.ops[op.getName().getStringRef().str()];
  }
  add(std::move(run), *body.back());
}

/// The load behind an operand of a matrix step, of one that it reads in one of
/// two places.
Value Reader::sourceOf(Value operand) {
  while (Operation *op = operand.getDefiningOp()) {
    if (auto select = dyn_cast<arith::SelectOp>(op))
      operand = values.find(select.getCondition()).value_or(0) != 0
                    ? select.getTrueValue()
                    : select.getFalseValue();
    else if (auto splice = dyn_cast<SpliceOp>(op))
      operand = values.find(splice.getAt()).value_or(0) != 0 ? splice.getHead()
                                                             : splice.getTail();
    else if (isa<TransposeOp, arith::ExtFOp, arith::ExtSIOp>(op))
      operand = op->getOperand(0);
    else
      break;
  }
  return operand;
}

void Reader::readStep(NestOp nest) {
  MmaOp mma = cpu::stepIn(nest);
  MatrixBlock block;
  double rows = 32, columns = 32;
  if (std::optional<ArrayRef<int64_t>> registers = nest.getRegisterTile()) {
    rows = double((*registers)[0]);
    block.vectors = (*registers)[1];
    block.lanes = (*registers)[2];
    columns = double(block.vectors * block.lanes);
  }
  ValueRange axes = ValueRange(nest.getAxes()).take_back(3);
  double depth = lengthOf(axes[2]), lanes = double(block.lanes);
  auto blocks = [&](Value range, double size) {
    return mean(range, [&](double length) { return std::ceil(length / size); });
  };
  double rowBlocks = blocks(axes[0], rows),
         columnBlocks = blocks(axes[1], columns);
  // The last columns of many take fewer vectors.
  double used = (lanes ? lanes * blocks(axes[1], lanes) : lengthOf(axes[1])) /
                std::max(columnBlocks, 1e-9);
  block.unit = cpu::isAmx(nest) ? "amx" : "fma";
  block.rows = rows;
  block.columns = lanes ? used : columns;
  block.depth = depth;
  block.step = int64_t(64 / bytesOf(mma.getLhs().getType().getElementType()));
  block.vectors =
      lanes ? std::max<int64_t>(std::nearbyint(used / lanes), 1) : 0;
  block.thin = cpu::isThin(nest);
  block.reloads = isa_and_present<LoadOp, LocalLoadOp>(
      sourceOf(mma.getAcc()).getDefiningOp());

  LoopTree &outer = open(columnBlocks, name("columns"));
  body.push_back(&outer);
  LoopTree &inner = open(rowBlocks, name("rows"));
  body.pop_back();
  NestRun run;
  double padded = lanes ? depth : std::ceil(depth / block.step) * block.step;
  auto operand = [&](Value tile, double width, const LoopTree &loop) {
    Value source = sourceOf(tile);
    Operation *load = source.getDefiningOp();
    std::optional<Touch> touch = isa_and_present<LoadOp, LocalLoadOp>(load)
                                     ? touchOf(load, nest)
                                     : std::nullopt;
    if (!touch)
      return;
    touch->bytes = width * padded * bytesOfElement(source.getType());
    touch->along.insert(loop.name);
    run.touches.push_back(*touch);
  };
  operand(mma.getLhs(), rows, inner);
  operand(mma.getRhs(), columns, outer);
  nest.walk([&](LocalStoreOp store) {
    run.touches.push_back({nameOf(store.getBuffer()),
                           rows * block.columns * 4,
                           {inner.name, outer.name},
                           true,
                           false,
                           true});
  });
  run.matrix = block;
  add(std::move(run), inner);
}

LaunchLoops tessera::target::cpuLoopTree(FuncOp func,
                                         const LaunchArguments &given) {
  return Reader(func, given).made;
}
