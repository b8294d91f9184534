//===- NontemporalStores.cpp - Large results past the caches
//-------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plain store first reads the line it writes. A result that no cache could
// keep is written around them: @f_stream is @f with `nontemporal` stores, and
// the plan takes it where the result is large and every line begins where a
// vector does.
//
//===----------------------------------------------------------------------===//

#include "compiler/Plan/IR/IntegerBuilder.h"
#include "compiler/Target/CPU/Mapping/Passes.h"
#include "compiler/Tile/IR/CpuBuffer.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace tessera::cpu {
#define GEN_PASS_DEF_NONTEMPORALSTORESPASS
#include "compiler/Target/CPU/Mapping/Passes.h.inc"
} // namespace tessera::cpu

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;
using namespace tessera::tile;

namespace {

/// May every store to this view go past the caches? It is only written, tile
/// after tile along its contiguous axis.
bool isStreamable(BlockArgument view) {
  auto type = cast<MemRefType>(view.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (type.getRank() == 0 ||
      failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1)
    return false;
  bool stored = false;
  for (Operation *user : view.getUsers()) {
    if (isa<DimOp>(user))
      continue;
    auto store = dyn_cast<StoreOp>(user);
    if (!store || store.getMask() || store.getIndexAxes() || store.getHints())
      return false;
    auto range = dyn_cast<RangeType>(store.getIndices().back().getType());
    Value last = store.getIndices().back();
    // A range that begins at a multiple of its size, or is the whole axis.
    auto loop = dyn_cast<BlockArgument>(last);
    auto whole = last.getDefiningOp<RangeAtOp>();
    bool tiled = last.getDefiningOp<ProgramOp>() ||
                 (whole && matchPattern(whole.getStart(), m_Zero())) ||
                 (loop && isa<ForOp>(loop.getOwner()->getParentOp()));
    if (!range || range.getSize() % 64 != 0 || !tiled)
      return false;
    stored = true;
  }
  return stored;
}

/// A product of a product (attention) computes for so long that how its result
/// is written does not matter: no second kernel is compiled for that.
bool isLong(FuncOp func) {
  int64_t products = 0;
  func.walk([&](MmaOp) { ++products; });
  return products > 1;
}

struct NontemporalStoresPass
    : tessera::cpu::impl::NontemporalStoresPassBase<NontemporalStoresPass> {
  using NontemporalStoresPassBase::NontemporalStoresPassBase;

  /// Large, and lines of memory are lines of the result.
  Value condition(plan::LaunchOp launch, ArrayRef<BlockArgument> views,
                  bool always) {
    OpBuilder builder(launch);
    plan::IntegerBuilder make(builder, launch.getLoc());
    SmallVector<Value> all;
    for (BlockArgument view : views) {
      auto type = cast<MemRefType>(view.getType());
      int64_t bytes = scratchBytesOf(type.getElementType());
      Value tensor = launch.getTensors()[view.getArgNumber()];
      SmallVector<Value> sizes;
      for (int64_t axis = 0; !always && axis < type.getRank(); ++axis)
        sizes.push_back(make.size(tensor, axis));
      if (!always)
        all.push_back(make.ge(make.product(sizes), threshold / bytes));
      all.push_back(make.eq(make.mod(make.address(tensor), 64), 0));
      for (int64_t axis = 0; axis + 1 < type.getRank(); ++axis)
        all.push_back(
            make.eq(make.mod(make.stride(tensor, axis), 64 / bytes), 0));
    }
    return make.all(all);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (FuncOp func : llvm::to_vector(module.getOps<FuncOp>())) {
      // The schedule may say never (0) or always (2).
      std::optional<int64_t> said = func.getDecision("stream");
      if (func.getAsIs() || (said && *said == 0) || (!said && isLong(func)))
        continue;
      SmallVector<BlockArgument> views;
      for (BlockArgument argument : func.getArguments())
        if (func.getArgMode(argument.getArgNumber()) == "out" &&
            !CpuPacking::of(argument) && isStreamable(argument))
          views.push_back(argument);
      if (views.empty())
        continue;
      OpBuilder builder(func);
      auto stream = cast<FuncOp>(builder.clone(*func));
      stream.setName((func.getName() + "_stream").str());
      auto hints = builder.getDictionaryAttr(
          builder.getNamedAttr("nontemporal", builder.getUnitAttr()));
      for (BlockArgument view : views)
        for (Operation *user :
             stream.getArgument(view.getArgNumber()).getUsers())
          if (auto store = dyn_cast<StoreOp>(user))
            store.setHintsAttr(hints);
      plan::forEachLaunch(module, func.getName(), [&](plan::LaunchOp launch) {
        launch.chooseIf(condition(launch, views, bool(said)), stream.getName());
      });
    }
  }
};

} // namespace
