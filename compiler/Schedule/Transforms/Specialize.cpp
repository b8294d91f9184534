//===- Specialize.cpp - Variants become kernels of their own --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedule/Transforms/Passes.h"

#include "llvm/ADT/STLExtras.h"

namespace tessera::schedule {
#define GEN_PASS_DEF_SPECIALIZEPASS
#include "compiler/Schedule/Transforms/Passes.h.inc"
} // namespace tessera::schedule

using namespace mlir;
using namespace tessera;
using namespace tessera::schedule;

static graph::GemmOp productOf(FuseOp fuse) {
  return *fuse.getBody().getOps<graph::GemmOp>().begin();
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

/// One more input of the kernel, and the argument that it is inside.
static Value addInput(FuseOp fuse, Value value) {
  fuse.getInputsMutable().append(value);
  return fuse.getBody().front().addArgument(value.getType(),
                                            productOf(fuse).getLoc());
}

/// The sizes that the type of `value` leaves open.
static SmallVector<Value> openSizes(OpBuilder &builder, Location loc,
                                    Value value) {
  SmallVector<Value> sizes;
  for (int64_t axis = 0; axis < rankOf(value); ++axis)
    if (tensorType(value).isDynamicDim(axis))
      sizes.push_back(
          graph::materialize(builder, loc, graph::getExtent(value, axis)));
  return sizes;
}

/// Row 0 of a matrix that has one row, which its type may not say.
static Value firstRow(OpBuilder &builder, Location loc, Value matrix) {
  RankedTensorType type = tensorType(matrix);
  if (type.getDimSize(0) == 1)
    return matrix;
  auto row =
      RankedTensorType::get({1, type.getDimSize(1)}, type.getElementType());
  Value zero = graph::materialize(builder, loc, graph::Extent::get(0));
  SmallVector<Value> sizes;
  if (type.isDynamicDim(1))
    sizes.push_back(
        graph::materialize(builder, loc, graph::getExtent(matrix, 1)));
  return graph::SliceOp::create(builder, loc, row, matrix,
                                ValueRange{zero, zero}, ArrayRef<int64_t>{1, 1},
                                sizes);
}

/// (B^T A^T)^T. A has few rows, and is packed.
static Value turnedProduct(OpBuilder &builder, graph::GemmOp gemm,
                           Value columns) {
  Location loc = gemm.getLoc();
  auto product = graph::GemmOp::create(
      builder, loc, turned(gemm.getType()), columns,
      turned(builder, loc, gemm.getLhs()), UnitAttr(), UnitAttr(),
      gemm.getAccumulateAttr(), gemm.getPrecisionAttr());
  return turned(builder, loc, product);
}

/// The one row: a sum along each column of B, which is a row of `columns`.
static Value rowProduct(OpBuilder &builder, FuseOp fuse, Value columns) {
  graph::GemmOp gemm = productOf(fuse);
  Location loc = gemm.getLoc();
  RankedTensorType type = tensorType(columns);
  Type element = type.getElementType();
  auto left = cast<BlockArgument>(gemm.getLhs());
  OpBuilder before(fuse);
  Value row = addInput(
      fuse, firstRow(before, loc, fuse.getInputs()[left.getArgNumber()]));
  Value rows = graph::BroadcastOp::create(builder, loc, type, row,
                                          ArrayRef<int64_t>{0, 1},
                                          openSizes(builder, loc, columns));
  Value products = graph::MulOp::create(builder, loc, type, columns, rows);
  Value sums = graph::ReduceOp::create(
      builder, loc, RankedTensorType::get({type.getDimSize(0)}, element),
      graph::ReduceKind::Sum, products, ArrayRef<int64_t>{1}, TypeAttr(), 1);
  return graph::BroadcastOp::create(builder, loc, gemm.getType(), sums,
                                    ArrayRef<int64_t>{1},
                                    openSizes(builder, loc, gemm));
}

/// Replaces the product by one that reads the columns of its right operand.
static void readColumns(FuseOp fuse, VariantForm form) {
  graph::GemmOp gemm = productOf(fuse);
  auto rhs = cast<BlockArgument>(gemm.getRhs());
  OpBuilder builder(fuse);
  Value columns =
      turned(builder, gemm.getLoc(), fuse.getInputs()[rhs.getArgNumber()]);
  Value inside = addInput(fuse, columns);
  builder.setInsertionPoint(gemm);
  Value result = form == VariantForm::Row
                     ? rowProduct(builder, fuse, inside)
                     : turnedProduct(builder, gemm, inside);
  gemm.getResult().replaceAllUsesWith(result);
  gemm.erase();
}

/// The size to which the heads of attention are padded.
static void setHead(FuseOp fuse, int64_t width) {
  for (auto tile : fuse.getBody().getOps<TileOp>())
    if (tile.getKind() == LoopKind::Whole)
      tile.setSizeAttr(ParamAttr::get(fuse.getContext(), width,
                                      tile.getSize().getRange(),
                                      tile.getSize().getBy()));
}

/// Tiles of rows and columns, and the depth of a step.
static void setTiles(FuseOp fuse, VariantAttr variant) {
  Builder builder(fuse.getContext());
  int64_t batches = rankOf(fuse.getResult(0)) - 2;
  for (auto tile : fuse.getBody().getOps<TileOp>()) {
    int64_t loop = int64_t(tile.getLoop()) - batches;
    ParamAttr size = tile.getSize();
    if (loop >= 0 && loop < 3)
      tile.setSizeAttr(ParamAttr::get(builder.getContext(),
                                      variant.getTiles()[loop], size.getRange(),
                                      size.getBy()));
  }
  auto kind = variant.getForm() == VariantForm::Row ? tile::NumericsKind::Rows
                                                    : tile::NumericsKind::Gemm;
  fuse.setNumericsAttr(tile::NumericsAttr::get(builder.getContext(), kind,
                                               variant.getTiles()[2], 1));
}

/// The product of another form or other tiles.
static void makeProduct(FuseOp fuse, VariantAttr variant) {
  fuse.setAsIs(true);
  if (variant.getForm() != VariantForm::Product)
    readColumns(fuse, variant.getForm());
  setTiles(fuse, variant);
}

/// One version: `fuse`, which stands alone in `region`, and what it reads.
static void finishVersion(Region &region, FuseOp fuse) {
  auto builder = OpBuilder::atBlockEnd(&region.front());
  YieldOp::create(builder, fuse.getLoc(), fuse.getResults());
}

namespace {

struct SpecializePass : schedule::impl::SpecializePassBase<SpecializePass> {
  void runOnOperation() override {
    SmallVector<FuseOp> fuses;
    getOperation()->walk([&](FuseOp fuse) {
      if (fuse.getVariantsAttr())
        fuses.push_back(fuse);
    });
    for (FuseOp fuse : fuses)
      specialize(fuse);
  }

  void specialize(FuseOp fuse) {
    auto variants =
        llvm::to_vector(fuse.getVariantsAttr().getAsRange<VariantAttr>());
    fuse.removeVariantsAttr();
    if (variants.empty())
      return;
    OpBuilder builder(fuse);
    SmallVector<Attribute> when;
    for (VariantAttr variant : variants)
      when.push_back(variant.getWhen());
    auto versions =
        VersionsOp::create(builder, fuse.getLoc(), fuse.getResult(0).getType(),
                           builder.getArrayAttr(when), variants.size() + 1);
    fuse.getResult(0).replaceAllUsesWith(versions.getResult());
    for (auto [variant, region] :
         llvm::zip_first(variants, versions.getVersions())) {
      builder.setInsertionPointToStart(&region.emplaceBlock());
      auto version = cast<FuseOp>(builder.clone(*fuse));
      version.setSymName((fuse.getSymName() + "_" + variant.getName()).str());
      if (variant.getForm() == VariantForm::Head)
        setHead(version, variant.getTiles()[0]);
      else
        makeProduct(version, variant);
      finishVersion(region, version);
    }
    Region &general = versions.getVersions().back();
    fuse->moveBefore(&general.emplaceBlock(), general.front().end());
    finishVersion(general, fuse);
  }
};

} // namespace
