//===- KernelWork.cpp - How many operations a launch takes ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/Analysis/KernelWork.h"

#include "compiler/Tile/Analysis/IndexValues.h"
#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace {

/// Elements along the axes of a tile that exist, on average over its tiles.
using Lengths = SmallVector<double, 4>;

class Counter {
public:
  Counter(FuncOp func, ArrayRef<std::vector<int64_t>> shapes) {
    size_t next = 0;
    for (BlockArgument argument : func.getBody().getArguments())
      if (isa<MemRefType>(argument.getType()) && next < shapes.size())
        views[argument] = shapes[next++];
    double times = 1;
    count(func.getBody().front(), times);
  }
  KernelWork work;

private:
  void count(Block &block, double &times);
  void count(Operation *op, double &times);
  void program(ProgramOp op, double &times);
  void loop(ForOp op, double times);
  void range(RangeAtOp op);
  void other(Operation *op, double times);
  void product(MmaOp op, double times);

  /// The number of a value that is needed; without one, `unknown` says so.
  std::optional<double> need(Value value) {
    std::optional<double> number = values.find(value);
    if (!number && work.unknown.empty())
      work.unknown = "a loop whose end is computed from data";
    return number;
  }
  Lengths lengthsOf(Value tile) {
    auto found = tiles.find(tile);
    if (found != tiles.end())
      return found->second;
    Lengths all;
    if (auto type = dyn_cast<RankedTensorType>(tile.getType()))
      all.append(type.getShape().begin(), type.getShape().end());
    return all;
  }
  Lengths along(Value tile, ValueRange indices);

  DenseMap<Value, std::vector<int64_t>> views;
  IndexValues values;
  DenseMap<Value, double> ranges; // how many of its elements exist
  DenseMap<Value, Lengths> tiles;
};

} // namespace

static double product(ArrayRef<double> lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), 1.0,
                         std::multiplies<>());
}

void Counter::count(Block &block, double &times) {
  for (Operation &op : block)
    count(&op, times);
}

void Counter::program(ProgramOp op, double &times) {
  for (auto [id, extent, tile] :
       llvm::zip_equal(op.getIds(), op.getExtents(), op.getTiles())) {
    std::optional<double> size = need(extent);
    if (!size)
      return;
    double step = std::max<int64_t>(tile, 1),
           programs = std::ceil(*size / step);
    times *= programs;
    // On average a program stands in the middle.
    values.set(id, std::max(*size - step, 0.0) / 2);
    if (tile)
      ranges[id] = *size / std::max(programs, 1.0);
  }
}

void Counter::loop(ForOp op, double times) {
  Block &body = op.getBody().front();
  for (auto [init, inside, result] : llvm::zip_equal(
           op.getInits(), body.getArguments().drop_front(), op.getResults()))
    if (auto found = tiles.find(init); found != tiles.end()) {
      Lengths same = found->second;
      tiles[inside] = same;
      tiles[result] = same;
    }
  std::optional<double> start = need(op.getStart()), stop = need(op.getStop());
  if (start && stop) {
    double extent = std::max(*stop - *start, 0.0),
           step = std::max<int64_t>(op.getSize(), 1),
           turns = std::ceil(extent / step);
    values.set(op.getRange(), *start + extent / 2);
    if (isa<RangeType>(op.getRange().getType()))
      ranges[op.getRange()] = extent / std::max(turns, 1.0);
    times *= turns;
  }
  count(body, times);
}

void Counter::range(RangeAtOp op) {
  std::optional<double> start = need(op.getStart()),
                        extent = need(op.getExtent());
  if (start && extent)
    ranges[op] =
        std::clamp(*extent - *start, 0.0, double(op.getType().getSize()));
}

/// Of a tile that is loaded or made along these.
Lengths Counter::along(Value tile, ValueRange indices) {
  Lengths found;
  for (Value index : indices)
    if (auto range = ranges.find(index); range != ranges.end())
      found.push_back(range->second);
  int64_t rank = cast<RankedTensorType>(tile.getType()).getRank();
  return int64_t(found.size()) == rank ? found : lengthsOf(tile);
}

void Counter::product(MmaOp op, double times) {
  Lengths a = lengthsOf(op.getLhs()), b = lengthsOf(op.getRhs());
  double flops = 2 * ::product(a) * b.back() * times;
  std::string dtype;
  llvm::raw_string_ostream(dtype) << op.getLhs().getType().getElementType();
  work.flops += flops;
  work.products[dtype] += flops;
  a.back() = b.back();
  tiles[op.getResult()] = a;
}

/// What one element of an op counts.
static int64_t operationsOf(Operation *op) {
  if (isa<math::FmaOp>(op))
    return 2;
  if (isa<math::AbsFOp, math::CopySignOp>(op))
    return 0;
  auto type = op->getNumResults() ? op->getResult(0).getType() : Type();
  bool counts = isa_and_present<RankedTensorType>(type) ||
                isa_and_present<FloatType>(type);
  bool isOne =
      isa<math::MathDialect>(op->getDialect()) ||
      isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
          arith::RemFOp, arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
          arith::MinNumFOp, arith::AddIOp, arith::SubIOp, arith::MulIOp>(op);
  return counts && isOne;
}

void Counter::other(Operation *op, double times) {
  Lengths lengths;
  Value made = op->getNumResults() ? op->getResult(0) : Value();
  auto type =
      made ? dyn_cast<RankedTensorType>(made.getType()) : RankedTensorType();
  if (type)
    lengths = lengthsOf(made);
  for (Value operand : op->getOperands())
    if (auto found = tiles.find(operand);
        type && found != tiles.end() &&
        cast<RankedTensorType>(operand.getType()).getShape() ==
            type.getShape()) {
      lengths = found->second;
      break;
    }
  work.flops += operationsOf(op) * ::product(lengths) * times;
  if (type)
    tiles[made] = lengths;
}

void Counter::count(Operation *op, double &times) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ProgramOp program) { this->program(program, times); })
      .Case([&](ForOp loop) { this->loop(loop, times); })
      .Case([&](RangeAtOp range) { this->range(range); })
      .Case([&](DimOp dim) {
        auto &shape = views[dim.getView()];
        if (dim.getAxis() < shape.size())
          values.set(dim, double(shape[dim.getAxis()]));
      })
      .Case([&](RangeStartOp start) {
        if (auto at = values.find(start.getRange()))
          values.set(start, *at);
      })
      .Case([&](RangeStopOp stop) {
        if (auto at = values.find(stop.getRange()))
          values.set(stop, *at + ranges.lookup(stop.getRange()));
      })
      .Case([&](LoadOp load) {
        if (isTile(load.getResult()))
          tiles[load.getResult()] = along(load.getResult(), load.getIndices());
      })
      .Case([&](FillOp fill) {
        tiles[fill.getResult()] = along(fill.getResult(), fill.getRanges());
      })
      .Case([&](MmaOp mma) { product(mma, times); })
      .Case([&](TransposeOp transpose) {
        Lengths before = lengthsOf(transpose.getInput()), after;
        for (int64_t axis : transpose.getPermutation())
          after.push_back(before[axis]);
        tiles[transpose.getResult()] = after;
      })
      .Case([&](ReduceOp reduce) {
        Lengths lengths = lengthsOf(reduce.getInput());
        work.flops += ::product(lengths) * times;
        lengths.erase(lengths.begin() + reduce.getAxis());
        if (isTile(reduce.getResult()))
          tiles[reduce.getResult()] = lengths;
      })
      .Case([&](ScanOp scan) {
        Lengths lengths = lengthsOf(scan.getInput());
        work.flops += ::product(lengths) * times;
        tiles[scan.getResult()] = lengths;
      })
      .Case([&](BroadcastOp broadcast) {
        Lengths lengths = lengthsOf(broadcast.getInput()), all;
        auto type = cast<RankedTensorType>(broadcast.getResult().getType());
        auto kept = lengths.begin();
        auto added = broadcast.getRanges().begin();
        for (auto [axis, size] : llvm::enumerate(type.getShape())) {
          if (llvm::is_contained(broadcast.getAxes(), int64_t(axis))) {
            all.push_back(kept == lengths.end() ? double(size) : *kept++);
            continue;
          }
          double length = added == broadcast.getRanges().end()
                              ? 0
                              : ranges.lookup(*added++);
          all.push_back(length ? length : double(size));
        }
        tiles[broadcast.getResult()] = all;
      })
      .Default([&](Operation *) {
        values.compute(op);
        other(op, times);
        for (Region &region : op->getRegions())
          for (Block &block : region) {
            double inside = times;
            count(block, inside);
          }
      });
}

KernelWork tessera::tile::workOf(FuncOp func,
                                 ArrayRef<std::vector<int64_t>> shapes) {
  return Counter(func, shapes).work;
}
