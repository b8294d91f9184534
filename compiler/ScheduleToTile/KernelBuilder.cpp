//===- KernelBuilder.cpp - A sched.fuse becomes a tile.func ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/ScheduleToTile/KernelBuilder.h"

#include "compiler/ScheduleToTile/Emitter.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;
using schedule::rankOf;
using schedule::tensorType;

Decisions::Decisions(Block &body) {
  SmallVector<NamedAttribute> entries;
  Builder builder(body.getParentOp()->getContext());
  for (Operation &op : body) {
    if (auto tile = dyn_cast<schedule::TileOp>(op)) {
      loops[tile.getLoop()] = {tile.getSize().getValue(), tile.getKind()};
    } else if (auto place = dyn_cast<schedule::PlaceOp>(op)) {
      int64_t value = place.getValue().getValue();
      using schedule::Placement;
      Placement what = place.getWhat();
      // What is not said is the machine's choice. Fusion is behind us.
      bool chosen = what == Placement::Pack || what == Placement::Stream
                        ? value != 1
                        : value != 0;
      if (chosen && what != Placement::Fuse)
        entries.push_back(
            builder.getNamedAttr(schedule::stringifyPlacement(what),
                                 builder.getI64IntegerAttr(value)));
    } else if (auto pipeline = dyn_cast<schedule::PipelineOp>(op)) {
      stages = pipeline.getStages().getValue();
      entries.push_back(
          builder.getNamedAttr("stages", builder.getI64IntegerAttr(stages)));
    }
  }
  config = builder.getDictionaryAttr(entries);
}

void Decisions::applyGroup(FuncOp function) const {
  if (auto group = config.getAs<IntegerAttr>("group"))
    function->walk([&](ProgramOp program) {
      if (program.getTiles().size() > 1)
        program.setGroup(std::max<int64_t>(1, group.getInt()));
    });
}

namespace {

class KernelBuilder {
public:
  KernelBuilder(schedule::FuseOp fuse, Emitter &emitter, Value output,
                Kernel &kernel)
      : emitter(emitter), decisions(fuse.getBody().front()), output(output),
        kernel(kernel) {
    root = fuse.getBody().front().getTerminator()->getOperand(0);
  }

  void run() {
    emitter.stages = decisions.stages;
    Operation *op = root.getDefiningOp();
    if (auto attention = dyn_cast_or_null<graph::AttentionOp>(op))
      return runAttention(attention);
    if (auto scan = dyn_cast_or_null<graph::ScanOp>(op))
      return runScan(scan);
    if (auto concat = dyn_cast_or_null<graph::ConcatOp>(op))
      return runConcat(concat);
    if (auto partial = dyn_cast_or_null<schedule::PartialOp>(op))
      return runPartial(partial);
    chooseReductionTile();
    Indices indices = grid();
    loops(0, indices, [&](ArrayRef<Value> all) {
      emitter.store(emitter.emit(root, all), output, all);
    });
  }

private:
  Decisions::Loop loopOf(int64_t axis) const {
    auto found = decisions.loops.find(axis);
    return found == decisions.loops.end() ? Decisions::Loop() : found->second;
  }
  int64_t tileOf(int64_t axis) const {
    int64_t size = loopOf(axis).size;
    return size > 1 ? size : 0;
  }
  bool isGrid(int64_t axis) const {
    return loopOf(axis).kind == schedule::LoopKind::Grid;
  }

  /// A reduction takes the tile of the sequential loop, whichever has its
  /// number.
  void chooseReductionTile() {
    int64_t size = 1;
    for (auto &[axis, loop] : decisions.loops)
      if (loop.kind == schedule::LoopKind::Loop)
        size = std::max(size, loop.size);
    if (size > 1)
      emitter.reductionTile = size;
  }

  /// The program: a position or range for every grid axis of the result, and
  /// nothing yet for its loops.
  Indices grid() {
    int64_t rank = rankOf(root);
    SmallVector<Value> extents;
    SmallVector<int64_t> tiles;
    for (int64_t axis = 0; axis < rank; ++axis)
      if (isGrid(axis)) {
        extents.push_back(
            DimOp::create(emitter.at(), emitter.getLoc(), output, axis));
        tiles.push_back(tileOf(axis));
        kernel.grid.push_back({axis, tiles.back()});
      }
    if (extents.empty()) {
      // One program does everything.
      extents.push_back(emitter.position(1));
      tiles.push_back(0);
    }
    Indices ids = emitter.makeProgram(extents, tiles);
    Indices result(rank);
    size_t next = 0;
    for (int64_t axis = 0; axis < rank; ++axis)
      if (isGrid(axis))
        result[axis] = ids[next++];
    return result;
  }

  /// Loops over the axes that `indices` leaves open, then `body`.
  void loops(int64_t axis, Indices indices,
             function_ref<void(ArrayRef<Value>)> body) {
    if (axis == rankOf(root))
      return body(indices);
    if (indices[axis])
      return loops(axis + 1, indices, body);
    Value extent = dimOfOutput(axis);
    emitter.loop(emitter.position(0), extent, tileOf(axis), {},
                 [&](Value index, ValueRange) -> SmallVector<Value> {
                   indices[axis] = index;
                   loops(axis + 1, indices, body);
                   return {};
                 });
  }
  Value dimOfOutput(int64_t axis) {
    return DimOp::create(emitter.at(), emitter.getLoc(), output, axis);
  }

  void runAttention(graph::AttentionOp op) {
    int64_t rank = rankOf(root);
    SmallVector<Value> extents;
    SmallVector<int64_t> tiles;
    for (int64_t axis = 0; axis + 1 < rank; ++axis) {
      extents.push_back(dimOfOutput(axis));
      tiles.push_back(axis == rank - 2 ? std::max<int64_t>(tileOf(axis), 1)
                                       : 0);
      kernel.grid.push_back({axis, tiles.back()});
    }
    Indices ids = emitter.makeProgram(extents, tiles);
    Value rows = ids.pop_back_val();
    emitAttention(emitter, op, ids, rows, loopOf(rank - 1).size,
                  std::max<int64_t>(tileOf(rank), 1), output);
  }

  void runScan(graph::ScanOp op) {
    int64_t axis = op.getAxis();
    Type element = tensorType(root).getElementType(), inner = element;
    if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32)
      inner = Float32Type::get(element.getContext());
    static constexpr ReduceKind kinds[] = {ReduceKind::Sum, ReduceKind::Prod,
                                           ReduceKind::Max, ReduceKind::Min};
    ReduceKind kind = kinds[unsigned(op.getKind())];
    Indices indices = grid();
    Indices others(indices);
    others.erase(others.begin() + axis);
    Value start = emitter.splat(emitter.neutral(kind, inner), others);
    emitter.loop(
        emitter.position(0), dimOfOutput(axis), tileOf(axis), start,
        [&](Value index, ValueRange carried) -> SmallVector<Value> {
          indices[axis] = index;
          Value tile =
              emitter.convert(emitter.emit(op.getInput(), indices), inner);
          Location loc = emitter.getLoc();
          Value next;
          if (isa<RangeType>(index.getType())) {
            int64_t at = llvm::count_if(
                ArrayRef<Value>(indices).take_front(axis),
                [](Value i) { return isa<RangeType>(i.getType()); });
            Value part = ReduceOp::create(emitter.at(), loc,
                                          carried[0].getType(), kind, tile, at);
            Value run = ScanOp::create(emitter.at(), loc, tile.getType(), kind,
                                       tile, at);
            Value before = carried[0];
            auto type = cast<RankedTensorType>(tile.getType());
            if (!isa<RankedTensorType>(before.getType())) {
              before = emitter.splat(before, indices);
            } else {
              SmallVector<int64_t> axes;
              for (int64_t i = 0; i < type.getRank(); ++i)
                if (i != at)
                  axes.push_back(i);
              before = BroadcastOp::create(emitter.at(), loc, type, before,
                                           axes, index);
            }
            tile = emitter.combine(kind, before, run);
            next = emitter.combine(kind, carried[0], part);
          } else {
            next = tile = emitter.combine(kind, carried[0], tile);
          }
          emitter.store(emitter.convert(tile, element), output, indices);
          return {next};
        });
  }

  void runConcat(graph::ConcatOp op) {
    int64_t axis = op.getAxis();
    Indices indices = grid();
    Value offset = emitter.position(0);
    for (Value input : op.getInputs()) {
      Value extent = emitter.extent(input, axis);
      Location loc = emitter.getLoc();
      Value end = arith::AddIOp::create(emitter.at(), loc, offset, extent);
      emitter.loop(
          emitter.position(0), extent, tileOf(axis), {},
          [&](Value index, ValueRange) -> SmallVector<Value> {
            Indices from(indices), to(indices);
            from[axis] = index;
            Value tile = emitter.emit(input, from);
            auto range = dyn_cast<RangeType>(index.getType());
            Value start =
                range ? Value(RangeStartOp::create(emitter.at(), loc, index))
                      : index;
            start = arith::AddIOp::create(emitter.at(), loc, start, offset);
            to[axis] = range ? Value(RangeAtOp::create(emitter.at(), loc, range,
                                                       start, end))
                             : start;
            emitter.store(tile, output, to);
            return {};
          });
      offset = end;
    }
  }

  void runPartial(schedule::PartialOp op) {
    static constexpr ReduceKind kinds[] = {ReduceKind::Sum, ReduceKind::Prod,
                                           ReduceKind::Max, ReduceKind::Min,
                                           ReduceKind::Or,  ReduceKind::And};
    ReduceKind combine = kinds[unsigned(op.getKind())];
    Indices id = grid();
    Location loc = emitter.getLoc();
    Value chunk = emitter.position(op.getChunk());
    Value start = arith::MulIOp::create(emitter.at(), loc, id[0], chunk);
    Value stop = arith::AddIOp::create(emitter.at(), loc, start, chunk);
    stop = arith::MinSIOp::create(emitter.at(), loc, stop,
                                  emitter.extent(op.getInput(), 0));
    Type element = tensorType(root).getElementType();
    Value total = emitter.loop(
        start, stop, std::max<int64_t>(tileOf(1), 1),
        emitter.neutral(combine, element),
        [&](Value index, ValueRange carried) -> SmallVector<Value> {
          Value tile = emitter.emit(op.getInput(), index);
          Value part =
              ReduceOp::create(emitter.at(), loc, element, combine, tile, 0);
          return {emitter.combine(combine, carried[0], part)};
        })[0];
    emitter.store(total, output, id);
  }

  Emitter &emitter;
  Decisions decisions;
  Value root, output;
  Kernel &kernel;
};

} // namespace

FailureOr<Kernel> tessera::tile::buildKernel(OpBuilder &builder,
                                             schedule::FuseOp fuse,
                                             const Interface &interface) {
  Location loc = fuse.getLoc();
  Block &payload = fuse.getBody().front();
  // Arguments: views, the output, scalars.
  SmallVector<unsigned> order;
  SmallVector<Type> types;
  SmallVector<std::string> names;
  auto take = [&](bool memory) {
    for (auto [i, type] : llvm::enumerate(interface.inputs))
      if (isa<MemRefType>(type) == memory) {
        order.push_back(i);
        types.push_back(type);
        names.push_back(interface.names[i]);
      }
  };
  take(true);
  unsigned outputNumber = types.size();
  order.push_back(~0u);
  types.push_back(interface.output);
  names.push_back(interface.outputName);
  take(false);

  Kernel kernel;
  kernel.function = FuncOp::create(builder, loc, fuse.getSymName(),
                                   builder.getFunctionType(types, {}));
  Block &body = kernel.function.getBody().emplaceBlock();
  DenseMap<Value, Value> arguments;
  for (auto [i, type] : llvm::enumerate(types)) {
    unsigned input = order[i];
    Location where =
        i == outputNumber ? loc : payload.getArgument(input).getLoc();
    Value argument = body.addArgument(type, where);
    if (i != outputNumber)
      arguments[payload.getArgument(input)] = argument;
  }
  Emitter emitter(&body, loc, arguments);
  KernelBuilder(fuse, emitter, body.getArgument(outputNumber), kernel).run();
  ReturnOp::create(emitter.at(), loc);
  if (emitter.failed) {
    kernel.function.erase();
    return failure();
  }

  // What the program did not read is no argument of the launch.
  llvm::BitVector unused(types.size());
  for (auto [i, argument] : llvm::enumerate(body.getArguments()))
    if (i != outputNumber && argument.use_empty())
      unused.set(i);
  for (unsigned i = 0; i < types.size(); ++i)
    if (!unused[i] && i != outputNumber)
      (i < outputNumber ? kernel.views : kernel.scalars).push_back(order[i]);
  for (unsigned i = 0; i < types.size(); ++i) {
    if (!names[i].empty())
      kernel.function.setArgAttr(i, "gir.name",
                                 builder.getStringAttr(names[i]));
    if (isa<MemRefType>(types[i]))
      kernel.function.setArgAttr(
          i, "gir.mode",
          builder.getStringAttr(i == outputNumber ? "out" : "in"));
  }
  if (failed(kernel.function.eraseArguments(unused)))
    return failure();
  Decisions decisions(payload);
  decisions.applyGroup(kernel.function);
  kernel.function.setConfigAttr(decisions.config);
  kernel.function.setNumericsAttr(fuse.getNumericsAttr());
  return kernel;
}
