//===- PlanThin.cpp - Products of few rows or few columns -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which product it is the sizes of a call say, so the plan asks:
//
//   if $M <= 4 ...      @f_thin4      B is read once, along its rows
//   if $N == 16 ...     @f_narrow16   A is read once, along its rows
//   else                @f
//
// A right operand whose columns lie in memory one after the other, as the
// weights of `x @ w.T` do, has one for few rows (`@f_turned16`): the product is
// turned, (w @ x.T).T, and reads them along these columns. x is small and
// packed. One row of fp32 is a sum for each column (`@f_row`).
//
//===----------------------------------------------------------------------===//

#include "compiler/ScheduleToTile/PlanWriterImpl.h"
#include "compiler/Support/Architectures/X86.h"
#include "compiler/Tile/IR/CpuBuffer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;
using plan::IntegerBuilder;
using schedule::tensorType;

/// The right operand of the fused product if it lies in memory.
static BlockArgument rightOperand(schedule::FuseOp fuse) {
  auto gemms = fuse.getBody().getOps<graph::GemmOp>();
  return gemms.empty() ? BlockArgument()
                       : dyn_cast<BlockArgument>((*gemms.begin()).getRhs());
}

/// May a product of one row be a sum along each row of its turned weights?
static bool mayBeRow(graph::GemmOp gemm) {
  RankedTensorType type = gemm.getType();
  Type element = type.getElementType();
  return type.getRank() == 2 &&
         (type.isDynamicDim(0) || type.getDimSize(0) == 1) &&
         isa<BlockArgument>(gemm.getLhs()) && element.isF32() &&
         tensorType(gemm.getLhs()).getElementType() == element &&
         gemm.getAccumulate().value_or(element) == element &&
         gemm.getPrecision() == "ieee";
}

LogicalResult PlanWriter::writeThin(schedule::FuseOp fuse,
                                    ArrayRef<int64_t> thin,
                                    const Interface &interface,
                                    const Decisions &decisions) {
  Location loc = fuse.getLoc();
  int64_t rows = 0; // of the turned product
  BlockArgument rhs = rightOperand(fuse);
  int64_t rank = tensorType(fuse.getResult(0)).getRank();
  if (rhs &&
      tensors[fuse.getInputs()[rhs.getArgNumber()]].unitAxis == rank - 2) {
    IntegerBuilder make = integersAt(loc);
    graph::GemmOp gemm = *fuse.getBody().getOps<graph::GemmOp>().begin();
    rows = tensorType(rhs).getElementType().isBF16() ? 32 : 16;
    int64_t m = tensorType(gemm).getDimSize(rank - 2);
    int64_t k = tensorType(rhs).getDimSize(rank - 2);
    Value size = sizeOf(fuse.getResult(0), rank - 2);
    if (mayBeRow(gemm) && failed(writeVariant(make.eq(size, 1), loc, [&] {
          return launchTurned(fuse, {1, 1, 1024}, interface);
        })))
      return failure();
    // Short sums are not worth packing x again for every 64 columns.
    if ((ShapedType::isDynamic(m) || m <= rows) &&
        (ShapedType::isDynamic(k) || k >= 256)) {
      Value deep = insideSize(fuse, rhs, rank - 2);
      Value pays = make.all({make.le(size, rows), make.ge(deep, 256)});
      if (failed(writeVariant(pays, loc, [&] {
            return launchTurned(fuse, {rows, 64, 4096}, interface);
          })))
        return failure();
    }
  }
  for (size_t first = 0; first + 6 < thin.size(); first += 7) {
    ArrayRef<int64_t> tiles = thin.slice(first, 7);
    if (tiles[4] && tiles[4] < rows)
      continue;
    Value condition = thinCondition(fuse, tiles);
    if (!condition)
      continue;
    std::string symbol = tiles[6] ? "_narrow" + std::to_string(tiles[1])
                                  : "_thin" + std::to_string(tiles[0]);
    if (tiles[5] && !tiles[6])
      symbol += "x" + std::to_string(tiles[1]);
    if (failed(writeVariant(condition, loc, [&] {
          return launchThin(fuse, symbol, tiles, interface);
        })))
      return failure();
  }
  return launch(fuse, fuse.getSymName(), interface, decisions, 0);
}

/// The sizes that `tiles` are for. Those for few columns read B where it lies,
/// which must be near; null if it does not.
Value PlanWriter::thinCondition(schedule::FuseOp fuse,
                                ArrayRef<int64_t> tiles) {
  IntegerBuilder make = integersAt(fuse.getLoc());
  SmallVector<Value> all;
  for (int64_t axis : {0, 1}) {
    Value result = fuse.getResult(0);
    Value size = sizeOf(result, tensorType(result).getRank() - 2 + axis);
    int64_t least = tiles[3 + 2 * axis], most = tiles[4 + 2 * axis];
    if (least)
      all.push_back(least == most ? make.eq(size, least)
                                  : make.ge(size, least));
    if (most && least != most)
      all.push_back(make.le(size, most));
  }
  if (tiles[6]) {
    BlockArgument rhs = rightOperand(fuse);
    if (!rhs)
      return {};
    const Tensor &right = tensors[fuse.getInputs()[rhs.getArgNumber()]];
    if (right.unitAxis == 0)
      return {};
    all.push_back(make.eq(make.stride(right.memory, 1), 1));
    all.push_back(make.le(
        make.mul(make.size(right.memory, 0), make.stride(right.memory, 0)),
        x86::nearOperand / 4));
  }
  return make.all(all);
}

/// The product with tiles for few rows or columns. No other variants are made
/// of it.
LogicalResult PlanWriter::launchThin(schedule::FuseOp fuse, StringRef suffix,
                                     ArrayRef<int64_t> tiles,
                                     const Interface &interface,
                                     NumericsKind numerics) {
  NumericsAttr ofAll = fuse.getNumericsAttr();
  SmallVector<std::pair<schedule::TileOp, schedule::ParamAttr>> before;
  int64_t batches = tensorType(fuse.getResult(0)).getRank() - 2;
  for (auto tile : fuse.getBody().getOps<schedule::TileOp>()) {
    int64_t loop = int64_t(tile.getLoop()) - batches;
    if (loop < 0)
      continue;
    schedule::ParamAttr size = tile.getSize();
    before.push_back({tile, size});
    tile.setSizeAttr(schedule::ParamAttr::get(builder.getContext(), tiles[loop],
                                              size.getRange(), size.getBy()));
  }
  fuse.setNumericsAttr(
      NumericsAttr::get(builder.getContext(), numerics, tiles[2], 1));
  Decisions decisions(fuse.getBody().front());
  LogicalResult done = launch(fuse, (fuse.getSymName() + suffix).str(),
                              interface, decisions, 0, true);
  for (auto [tile, size] : before)
    tile.setSizeAttr(size);
  fuse.setNumericsAttr(ofAll);
  return done;
}

/// `type` with its last two axes swapped.
static RankedTensorType turned(RankedTensorType type) {
  SmallVector<int64_t> shape(type.getShape());
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return RankedTensorType::get(shape, type.getElementType());
}

static Value turned(OpBuilder &builder, Location loc, Value value) {
  RankedTensorType type = tensorType(value);
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return graph::TransposeOp::create(builder, loc, turned(type), value, axes);
}

/// The same of the turned product, or of one row: a sum along each row of the
/// weights. The fusion has it only for as long as its kernel is made.
LogicalResult PlanWriter::launchTurned(schedule::FuseOp fuse,
                                       ArrayRef<int64_t> tiles,
                                       Interface interface) {
  bool row = tiles[0] == 1;
  Block &inside = fuse.getBody().front();
  graph::GemmOp gemm = *inside.getOps<graph::GemmOp>().begin();
  Location loc = gemm.getLoc();
  unsigned inputs = inside.getNumArguments();
  auto addInput = [&](Value value, Type type) {
    fuse.getInputsMutable().append(value);
    interface.inputs.push_back(memoryType(value));
    interface.names.push_back(tensors[value].name);
    return inside.addArgument(type, loc);
  };
  // Kernels go where `builder` is. The view stays in the function: `tensors`
  // knows it by its address.
  OpBuilder before(fuse);
  Value right = fuse.getInputs()[rightOperand(fuse).getArgNumber()];
  Value columns = turned(before, loc, right);
  if (failed(write(cast<graph::TransposeOp>(columns.getDefiningOp()))))
    return failure();
  Value weights = addInput(columns, columns.getType());
  Operation *last = gemm->getPrevNode();
  before.setInsertionPoint(gemm);
  Value result;
  if (row) {
    auto left = cast<BlockArgument>(gemm.getLhs());
    RankedTensorType type = tensorType(weights);
    auto sizes = [&](Value value) {
      SmallVector<Value> all;
      for (int64_t axis : {0, 1})
        if (tensorType(value).isDynamicDim(axis))
          all.push_back(
              graph::materialize(before, loc, graph::getExtent(value, axis)));
      return all;
    };
    Value x = addInput(
        fuse.getInputs()[left.getArgNumber()],
        RankedTensorType::get({1, type.getDimSize(1)}, type.getElementType()));
    Value rows = graph::BroadcastOp::create(
        before, loc, type, x, ArrayRef<int64_t>{0, 1}, sizes(weights));
    Value products = graph::MulOp::create(before, loc, type, weights, rows);
    Value sums = graph::ReduceOp::create(
        before, loc,
        RankedTensorType::get({type.getDimSize(0)}, type.getElementType()),
        graph::ReduceKind::Sum, products, ArrayRef<int64_t>{1}, TypeAttr(), 1);
    result = graph::BroadcastOp::create(before, loc, gemm.getType(), sums,
                                        ArrayRef<int64_t>{1}, sizes(gemm));
  } else {
    auto product = graph::GemmOp::create(
        before, loc, turned(gemm.getType()), weights,
        turned(before, loc, gemm.getLhs()), UnitAttr(), UnitAttr(),
        gemm.getAccumulateAttr(), gemm.getPrecisionAttr());
    result = turned(before, loc, product);
  }
  gemm.getResult().replaceAllUsesWith(result);
  LogicalResult done =
      row ? launchThin(fuse, "_row", tiles, interface, NumericsKind::Rows)
          : launchThin(fuse, "_turned" + std::to_string(tiles[0]), tiles,
                       interface);
  result.replaceAllUsesWith(gemm.getResult());
  while (gemm->getPrevNode() != last)
    gemm->getPrevNode()->erase();
  inside.eraseArguments(inputs, inside.getNumArguments() - inputs);
  fuse.getInputsMutable().erase(inputs, fuse.getInputs().size() - inputs);
  return done;
}
