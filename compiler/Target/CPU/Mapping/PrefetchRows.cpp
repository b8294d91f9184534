//===- PrefetchRows.cpp - cpu-prefetch-rows: the next program's row -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/Mapping/Passes.h"
#include "compiler/Target/CPU/Mapping/RowStores.h"
#include "compiler/Tile/IR/CpuBuffer.h"

#include "mlir/IR/Matchers.h"

namespace tessera::cpu {
#define GEN_PASS_DEF_PREFETCHROWSPASS
#include "compiler/Target/CPU/Mapping/Passes.h.inc"
} // namespace tessera::cpu

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;

/// Does the next program load the next row, or the next block of rows?
static bool hasNextRow(tile::LoadOp load, tile::NestOp nest) {
  return llvm::any_of(load.getIndices(), [&](Value index) {
    auto program = index.getDefiningOp<tile::ProgramOp>();
    int64_t axis = nest.getVectorAxis();
    return program && (!isa<tile::RangeType>(index.getType()) ||
                       (index == program->getResults().back() &&
                        (axis < 0 || index != nest.getAxes()[axis])));
  });
}

/// The next program has the next row, unless memory is a program's own; and if
/// this one loops over other axes, too, it is not known when that is wanted.
static bool isRowOfProgram(tile::LoadOp load) {
  bool rows = false;
  if (llvm::any_of(load.getView().getUsers(), llvm::IsaPred<tile::StoreOp>))
    return false;
  for (Value index : load.getIndices()) {
    auto program = index.getDefiningOp<tile::ProgramOp>();
    bool isRange = isa<tile::RangeType>(index.getType());
    if (!program && !isRange && !matchPattern(index, m_Constant()))
      return false;
    rows |= program && index == program->getResults().back() && !isRange;
  }
  return rows;
}

static bool isInRest(tile::NestOp nest) {
  return isRest(nest->getParentOfType<tile::ForOp>());
}

namespace {
struct PrefetchRowsPass
    : tessera::cpu::impl::PrefetchRowsPassBase<PrefetchRowsPass> {
  void runOnOperation() override {
    SmallVector<tile::NestOp> nests;
    getOperation().walk([&](tile::NestOp nest) { nests.push_back(nest); });
    streams = hasStreamingStores(getOperation());
    for (tile::NestOp nest : nests)
      for (auto load : nest.getBody().getOps<tile::LoadOp>())
        if (hasNextRow(load, nest) && mayPrefetch(load) &&
            nest == lastReader(load.getView(), isInRest(nest), nests))
          load.setPrefetch(1);
  }

  bool mayPrefetch(tile::LoadOp load) {
    return streams || isRowOfProgram(load);
  }

  /// The pass over a row that writes past the caches, so that memory reads and
  /// writes at a time; without one, the last. Turns past what is kept of a row
  /// are rare.
  tile::NestOp lastReader(Value view, bool isRest,
                          ArrayRef<tile::NestOp> nests) {
    tile::NestOp last;
    for (tile::NestOp nest : nests) {
      if (!isRest && isInRest(nest))
        continue;
      if (llvm::none_of(
              nest.getBody().getOps<tile::LoadOp>(),
              [&](tile::LoadOp load) { return load.getView() == view; }))
        continue;
      last = nest;
      if (llvm::any_of(nest.getBody().getOps<tile::StoreOp>(),
                       tile::isStreaming))
        break;
    }
    return last;
  }

  bool streams = false;
};
} // namespace
