//===- VersionStrides.cpp - cpu-version-strides ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/Mapping/MatrixSteps.h"
#include "compiler/Target/CPU/Mapping/NestVectors.h"
#include "compiler/Target/CPU/Mapping/Passes.h"

#include "llvm/ADT/SetVector.h"

namespace tessera::cpu {
#define GEN_PASS_DEF_VERSIONSTRIDESPASS
#include "compiler/Target/CPU/Mapping/Passes.h.inc"
} // namespace tessera::cpu

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

/// Is it done vector by vector, and whole? A step does its epilogue in parts.
static bool mayVersion(tile::NestOp nest, int64_t vectorBytes) {
  if (nest.getNumResults() != 0 || nest.getUnit() || nest.getTransposes() ||
      nest->getParentOfType<tile::NestOp>())
    return false;
  std::optional<PackedStore> packed =
      nest.getAxes().size() == 2 ? packedBy(nest) : std::nullopt;
  return !packed || packed->group == 1 ||
         !vectorsOf(nest, vectorBytes).zeroPadding;
}

/// Whether (i1) these strides are 2; null: all are, by their views' types.
static Value isTwo(IndexBuilder &at, ArrayRef<LanesApart> apart) {
  llvm::SetVector<std::pair<Value, int64_t>> axes;
  for (const LanesApart &one : apart)
    if (ShapedType::isDynamic(one.stride))
      axes.insert({one.view, one.axis});
  Value all;
  for (auto [view, axis] : axes) {
    Value stride =
        tile::StrideOp::create(at.builder, at.loc, at.builder.getIndexType(),
                               view, at.builder.getI64IntegerAttr(axis));
    Value two = at.compare(arith::CmpIPredicate::eq, stride, at.constant(2));
    all =
        all ? Value(arith::AndIOp::create(at.builder, at.loc, all, two)) : two;
  }
  return all;
}

static void version(tile::NestOp nest, ArrayRef<LanesApart> apart) {
  OpBuilder builder(nest);
  IndexBuilder at{builder, nest.getLoc()};
  Value condition = isTwo(at, apart);
  if (!condition) {
    nest.setTwoApart(true);
    return;
  }
  auto branch =
      scf::IfOp::create(builder, nest.getLoc(), condition, /*withElse=*/true);
  builder.setInsertionPointToStart(branch.thenBlock());
  cast<tile::NestOp>(builder.clone(*nest)).setTwoApart(true);
  nest->moveBefore(branch.elseBlock(), branch.elseBlock()->begin());
}

namespace {
struct VersionStridesPass
    : tessera::cpu::impl::VersionStridesPassBase<VersionStridesPass> {
  using VersionStridesPassBase::VersionStridesPassBase;

  void runOnOperation() override {
    SmallVector<tile::NestOp> nests;
    getOperation().walk([&](tile::NestOp nest) {
      if (mayVersion(nest, vectorBytes))
        nests.push_back(nest);
    });
    for (tile::NestOp nest : nests) {
      SmallVector<LanesApart> apart = lanesApart(nest, vectorBytes);
      if (!apart.empty() && llvm::all_of(apart, [](const LanesApart &one) {
            return one.stride == 2 || ShapedType::isDynamic(one.stride);
          }))
        version(nest, apart);
    }
  }
};
} // namespace
