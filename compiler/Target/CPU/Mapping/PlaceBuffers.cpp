//===- PlaceBuffers.cpp - cpu-place-buffers: offsets in scratch ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/Mapping/BufferLifetimes.h"
#include "compiler/Target/CPU/Mapping/Passes.h"
#include "compiler/Tile/IR/CpuBuffer.h"

#include "llvm/Support/MathExtras.h"

namespace tessera::cpu {
#define GEN_PASS_DEF_PLACEBUFFERSPASS
#include "compiler/Target/CPU/Mapping/Passes.h.inc"
} // namespace tessera::cpu

using namespace mlir;
using namespace tessera::cpu;
using namespace tessera::tile;

SmallVector<BufferLifetime> tessera::cpu::lifetimesOf(FuncOp func) {
  DenseMap<Operation *, std::pair<int64_t, int64_t>> spans; // op and its body
  int64_t next = 0;
  std::function<void(Operation *)> number = [&](Operation *op) {
    int64_t first = next++;
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Operation &inner : block)
          number(&inner);
    spans[op] = {first, next++};
  };
  number(func);

  SmallVector<BufferLifetime> lives;
  func.walk<WalkOrder::PreOrder>([&](AllocOp alloc) {
    BufferLifetime life{alloc, spans[alloc].first, spans[alloc].first, 0};
    for (Operation *user : alloc->getUsers()) {
      // A use inside a loop counts for the whole loop; what is allocated
      // inside one is written anew in each turn.
      Operation *outer = alloc->getBlock()->findAncestorOpInBlock(*user);
      life.first = std::min(life.first, spans[outer].first);
      life.last = std::max(life.last, spans[outer].second);
    }
    CpuBuffer buffer(alloc.getBuffer().getType());
    life.bytes = llvm::alignTo(buffer.bytes(), 64);
    lives.push_back(life);
  });
  return lives;
}

/// A nest that took in the readers of a tile no longer needs it in memory.
static void dropUnread(FuncOp func) {
  SmallVector<AllocOp> unread;
  func.walk([&](AllocOp alloc) {
    if (llvm::all_of(alloc->getUsers(),
                     [](Operation *user) { return isa<LocalStoreOp>(user); }))
      unread.push_back(alloc);
  });
  for (AllocOp alloc : unread) {
    for (Operation *store : llvm::make_early_inc_range(alloc->getUsers()))
      store->erase();
    alloc.erase();
  }
}

/// The largest buffers first; each takes the lowest gap between those that are
/// alive with it.
static int64_t place(FuncOp func) {
  SmallVector<BufferLifetime> lives = lifetimesOf(func);
  llvm::stable_sort(lives,
                    [](const BufferLifetime &a, const BufferLifetime &b) {
                      return a.bytes > b.bytes;
                    });
  int64_t total = 0;
  SmallVector<std::pair<BufferLifetime, int64_t>> placed;
  for (BufferLifetime &life : lives) {
    SmallVector<std::pair<int64_t, int64_t>> taken;
    for (auto &[other, at] : placed)
      if (life.overlaps(other))
        taken.push_back({at, at + other.bytes});
    llvm::sort(taken);
    int64_t offset = 0;
    for (auto [begin, end] : taken) {
      if (offset + life.bytes <= begin)
        break;
      offset = std::max(offset, end);
    }
    total = std::max(total, offset + life.bytes);
    placed.push_back({life, offset});
    life.alloc.setOffset(offset);
  }
  return total;
}

namespace {
struct PlaceBuffersPass
    : tessera::cpu::impl::PlaceBuffersPassBase<PlaceBuffersPass> {
  void runOnOperation() override {
    FuncOp func = getOperation();
    dropUnread(func);
    func.setScratchBytes(place(func));
  }
};
} // namespace
