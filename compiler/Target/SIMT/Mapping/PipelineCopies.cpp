//===- PipelineCopies.cpp - simt-pipeline-copies: rings of buffers --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three stages, two operands (what is copied for turn i is called i):
//
//   for k = 0 to K             copy 0 -> slot 0 {commit}
//     barrier                  copy 1 -> slot 1 {commit}
//     copy k -> x {commit}     for k = 0 to K carry(reading = 0, filling = 2)
//     wait pending = 0           wait pending = 1   // k is here, for me
//     barrier             ->     barrier            // for all; k - 1 was read
//     read x; multiply           copy k + 2 -> slot filling {commit}
//                                read slot reading; multiply
//                                reading, filling = next, around the ring
//                              wait pending = 0
//
// What is copied past the end of the loop is all absent: zeros are written and
// no memory is read, so every turn has the same groups and any number of turns
// is right. One barrier does for both directions: who passes it has its copies
// of turn k, and everybody has finished with the slot that is filled next.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/SIMT/Mapping/BlockLayouts.h"
#include "compiler/Target/SIMT/Mapping/Passes.h"
#include "compiler/Target/SIMT/Mapping/Scratch.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

namespace tessera::simt {
#define GEN_PASS_DEF_PIPELINECOPIESPASS
#include "compiler/Target/SIMT/Mapping/Passes.h.inc"
} // namespace tessera::simt

using namespace mlir;
using namespace tessera;
using namespace tessera::simt;
using namespace tessera::tile;

static constexpr int64_t alignment = 128; // of buffers

static int64_t offsetOf(Operation *alloc) {
  return cast<AllocOp>(alloc).getOffset().value_or(0);
}

static int64_t bytesOf(BufferType type) {
  int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  for (int64_t size : type.getShape())
    bytes *= size;
  return int64_t(llvm::alignTo(uint64_t(bytes), alignment));
}

static Location named(Location loc, StringRef name) {
  if (auto old = dyn_cast<NameLoc>(loc))
    loc = old.getChildLoc();
  return NameLoc::get(StringAttr::get(loc.getContext(), name), loc);
}

namespace {

/// A loop that can be pipelined.
struct Candidate {
  ForOp loop;
  SmallVector<CpAsyncOp> copies;
  SmallVector<Operation *> slice; // what their indices need of the body
  SmallVector<WaitOp> waits;
  int64_t base = 0;      // where its buffers begin
  int64_t slotBytes = 0; // all operands of one turn
};

class CopyPipeliner {
public:
  CopyPipeliner(FuncOp func, int64_t limit, int64_t portable)
      : func(func), limit(limit), portable(portable) {
    func.walk([&](AllocOp alloc) {
      end = std::max(end, offsetOf(alloc) + bytesOf(alloc.getType()));
    });
    scratchBytes = bytesBesideBuffers(func);
  }

  void run() {
    // Copies that run ahead would read what the kernel has yet to write.
    llvm::SmallPtrSet<Value, 4> written;
    func.walk([&](Operation *op) {
      if (auto store = dyn_cast<StoreOp>(op))
        written.insert(store.getView());
      if (auto atomic = dyn_cast<AtomicOp>(op))
        written.insert(atomic.getView());
    });
    SmallVector<ForOp> loops;
    func.walk([&](ForOp loop) { loops.push_back(loop); });
    for (ForOp loop : loops)
      if (std::optional<Candidate> found = match(loop, written))
        rewrite(*found);
    func.setSharedBytes(placeScratch(func, end));
  }

private:
  std::optional<Candidate> match(ForOp loop,
                                 const llvm::SmallPtrSetImpl<Value> &written);
  int64_t stagesOf(const Candidate &candidate);
  void rewrite(Candidate &candidate);
  bool needsBarrier(ForOp loop, int64_t first, int64_t last);

  FuncOp func;
  int64_t limit, portable;
  int64_t end = 0; // of all buffers
  int64_t scratchBytes = 0;
};

} // namespace

/// The ops of the body that the copies' indices need. Fails where they depend
/// on what a turn computes.
static LogicalResult collectSlice(Candidate &candidate,
                                  const llvm::SmallPtrSetImpl<Value> &written) {
  ForOp loop = candidate.loop;
  Block *body = &loop.getBody().front();
  llvm::SmallSetVector<Operation *, 8> needed;
  SmallVector<Value> open;
  for (CpAsyncOp copy : candidate.copies)
    llvm::append_range(open, copy.getIndices());
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() == body && argument != loop.getRange())
        return failure();
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (op->getBlock() != body || !needed.insert(op))
      continue;
    auto load = dyn_cast<LoadOp>(op); // of a table of pages, say
    bool again = load ? !written.contains(load.getView())
                      : isMemoryEffectFree(op) && !op->getNumRegions();
    if (!again)
      return failure();
    llvm::append_range(open, op->getOperands());
  }
  for (Operation &op : *body)
    if (needed.contains(&op))
      candidate.slice.push_back(&op);
  return success();
}

std::optional<Candidate>
CopyPipeliner::match(ForOp loop, const llvm::SmallPtrSetImpl<Value> &written) {
  Candidate found;
  found.loop = loop;
  Block *body = &loop.getBody().front();
  llvm::SmallPtrSet<Value, 4> buffers;
  for (Operation &op : *body) {
    if (auto copy = dyn_cast<CpAsyncOp>(op)) {
      // One copy per buffer and turn; its source is only read.
      if (copy.getSlot() || !buffers.insert(copy.getBuffer()).second ||
          written.contains(copy.getView()) ||
          !copy.getBuffer().getDefiningOp<AllocOp>())
        return std::nullopt;
      found.copies.push_back(copy);
    } else if (auto wait = dyn_cast<WaitOp>(op)) {
      if (wait.getPending() != 0)
        return std::nullopt;
      found.waits.push_back(wait);
    } else if (op.getNumRegions()) {
      // Inner loops with copies are pipelined themselves, or not at all.
      bool copies = false;
      op.walk([&](Operation *inner) {
        copies |= isa<CpAsyncOp, LocalLoadOp, LocalStoreOp>(inner);
      });
      if (copies)
        return std::nullopt;
    }
  }
  if (found.copies.empty() || found.waits.empty() ||
      failed(collectSlice(found, written)))
    return std::nullopt;
  found.base = std::numeric_limits<int64_t>::max();
  for (Value buffer : buffers) {
    for (Operation *user : buffer.getUsers())
      if (user->getBlock() != body || !isa<CpAsyncOp, LocalLoadOp>(user) ||
          (isa<LocalLoadOp>(user) &&
           user->isBeforeInBlock(found.waits.front())))
        return std::nullopt;
    found.base = std::min(found.base, offsetOf(buffer.getDefiningOp()));
    found.slotBytes += bytesOf(cast<BufferType>(buffer.getType()));
  }
  return found;
}

/// What was asked for, as far as there is memory; or, not asked, three stages
/// if two blocks still fit a multiprocessor, else two.
int64_t CopyPipeliner::stagesOf(const Candidate &candidate) {
  ForOp loop = candidate.loop;
  int64_t room = limit - scratchBytes - candidate.base;
  int64_t fit = room / candidate.slotBytes;
  int64_t asked = loop.getStages();
  if (asked > fit && asked > 1)
    loop.emitRemark() << "stages = " << asked << " needs "
                      << asked * candidate.slotBytes + limit - room
                      << " bytes of shared memory, a block has " << limit
                      << "; using " << std::max<int64_t>(1, fit);
  if (asked > 0)
    return std::min(asked, fit);
  // Code for this machine also runs on those that have less.
  int64_t shared = std::min(limit, portable), used = limit - room;
  if (3 * candidate.slotBytes <= limit / 2 - used &&
      3 * candidate.slotBytes <= shared - used)
    return 3;
  return std::clamp<int64_t>((shared - used) / candidate.slotBytes, 1, 2);
}

/// May somebody still be reading the bytes that the first copies write?
bool CopyPipeliner::needsBarrier(ForOp loop, int64_t first, int64_t last) {
  for (Operation *op = loop->getPrevNode(); op; op = op->getPrevNode()) {
    if (isa<BarrierOp>(op))
      return false;
    bool reads = false;
    auto note = [&](LocalLoadOp load) {
      Operation *alloc = load.getBuffer().getDefiningOp();
      int64_t begin = alloc ? offsetOf(alloc) : 0;
      reads |=
          begin < last && first < begin + bytesOf(load.getBuffer().getType());
    };
    op->walk([&](LocalLoadOp load) { note(load); });
    // Without tensor cores operands are read where they are multiplied.
    op->walk([&](MmaOp mma) {
      for (Value operand : {mma.getLhs(), mma.getRhs()}) {
        while (auto transpose = operand.getDefiningOp<TransposeOp>())
          operand = transpose.getInput();
        if (auto load = operand.getDefiningOp<LocalLoadOp>();
            load && usesFma(mma))
          note(load);
      }
    });
    if (reads)
      return true;
    // What has scratch memory begins with a barrier of its own, and ends by
    // reading it. A barrier too many is dropped later.
    if (ExchangeAttr exchange = getExchange(op))
      return exchange.getOffset().value_or(0) < last;
  }
  return !isa<FuncOp>(loop->getParentOp());
}

void CopyPipeliner::rewrite(Candidate &candidate) {
  int64_t stages = stagesOf(candidate);
  if (stages < 2)
    return;
  ForOp loop = candidate.loop;
  Location loc = loop.getLoc();
  OpBuilder builder(func.getContext());

  // Rings, where the buffers were.
  llvm::sort(candidate.copies, [](CpAsyncOp a, CpAsyncOp b) {
    return offsetOf(a.getBuffer().getDefiningOp()) <
           offsetOf(b.getBuffer().getDefiningOp());
  });
  llvm::DenseMap<Value, Value> rings;
  int64_t at = candidate.base;
  for (CpAsyncOp copy : candidate.copies) {
    BufferType type = copy.getBuffer().getType();
    SmallVector<int64_t> shape = {stages};
    llvm::append_range(shape, type.getShape());
    auto ring = BufferType::get(func.getContext(), shape, type.getElementType(),
                                type.getLayout(), type.getSpace());
    builder.setInsertionPoint(copy.getBuffer().getDefiningOp());
    auto alloc = AllocOp::create(builder, copy.getBuffer().getLoc(), ring);
    alloc.setOffset(at);
    at += bytesOf(ring);
    rings[copy.getBuffer()] = alloc;
  }
  end = std::max(end, at);
  llvm::sort(candidate.copies,
             [](CpAsyncOp a, CpAsyncOp b) { return a->isBeforeInBlock(b); });

  auto index = [&](int64_t value, StringRef name) -> Value {
    return arith::ConstantIndexOp::create(builder, named(loc, name), value);
  };
  auto copyInto = [&](Value slot, Value range) {
    IRMapping map;
    map.map(loop.getRange(), range);
    for (Operation *op : candidate.slice)
      builder.clone(*op, map);
    CpAsyncOp made;
    for (CpAsyncOp copy : candidate.copies) {
      SmallVector<Value> indices;
      for (Value one : copy.getIndices())
        indices.push_back(map.lookupOrDefault(one));
      made = CpAsyncOp::create(
          builder, copy.getLoc(), copy.getToken().getType(), copy.getView(),
          indices, rings[copy.getBuffer()], slot, copy.getVectorAttr(),
          UnitAttr(), copy.getConflictsAttr());
    }
    made.setCommit(true);
  };
  Type rangeType = loop.getRange().getType();
  auto rangeAt = [&](Value start) -> Value {
    return RangeAtOp::create(builder, named(loop.getRange().getLoc(), "ahead"),
                             rangeType, start, loop.getStop());
  };

  // Before the loop.
  builder.setInsertionPoint(loop);
  if (needsBarrier(loop, candidate.base, at))
    BarrierOp::create(builder, candidate.copies.front().getLoc());
  Value first = index(0, "reading"), last = index(stages - 1, "filling");
  for (int64_t turn = 0; turn < stages - 1; ++turn) {
    Value start = loop.getStart();
    if (turn)
      start = arith::AddIOp::create(builder, loc, start,
                                    index(turn * loop.getSize(), "step"));
    copyInto(turn ? index(turn, "slot") : first, rangeAt(start));
  }

  // The loop, with its two places in the ring.
  SmallVector<Value> inits(loop.getInits());
  inits.append({first, last});
  auto piped = ForOp::create(builder, loc, loop.getStart(), loop.getStop(),
                             loop.getSize(), inits);
  piped->setAttrs(loop->getAttrDictionary());
  piped.setStages(stages);
  Block *body = &piped.getBody().front(), *old = &loop.getBody().front();
  for (auto [from, to] : llvm::zip(old->getArguments(), body->getArguments())) {
    to.setLoc(from.getLoc());
    from.replaceAllUsesWith(to);
  }
  body->getOperations().splice(body->end(), old->getOperations());
  auto slots = body->getArguments().take_back(2);
  Value reading = slots[0], filling = slots[1];
  slots[0].setLoc(named(loc, "reading"));
  slots[1].setLoc(named(loc, "filling"));
  auto yield = cast<YieldOp>(body->getTerminator());
  builder.setInsertionPoint(yield);
  auto next = [&](Value slot, StringRef name) -> Value {
    Value more =
        arith::AddIOp::create(builder, named(loc, name), slot, index(1, "one"));
    Value over = arith::CmpIOp::create(builder, named(loc, name),
                                       arith::CmpIPredicate::eq, slot, last);
    return arith::SelectOp::create(builder, named(loc, name), over, first,
                                   more);
  };
  SmallVector<Value> yielded(yield.getValues());
  yielded.push_back(next(reading, "reading"));
  yielded.push_back(next(filling, "filling"));
  yield.getValuesMutable().assign(yielded);

  // Its copies run ahead.
  builder.setInsertionPoint(candidate.waits.front());
  Location waitLoc = candidate.waits.front().getLoc();
  WaitOp::create(builder, waitLoc, ValueRange(),
                 builder.getI64IntegerAttr(stages - 2));
  BarrierOp::create(builder, waitLoc);
  Value start = RangeStartOp::create(builder, loc, builder.getIndexType(),
                                     piped.getRange());
  Value ahead =
      arith::AddIOp::create(builder, named(loc, "ahead"), start,
                            index((stages - 1) * piped.getSize(), "step"));
  loop = piped;
  copyInto(filling, rangeAt(ahead));

  // The barriers and waits of copies that were done at once.
  for (WaitOp old : candidate.waits) {
    if (auto barrier = dyn_cast_or_null<BarrierOp>(old->getNextNode()))
      barrier.erase();
    old.erase();
  }
  for (CpAsyncOp copy : candidate.copies) {
    if (auto barrier = dyn_cast_or_null<BarrierOp>(copy->getPrevNode()))
      barrier.erase();
    Value buffer = copy.getBuffer();
    for (Operation *user : llvm::make_early_inc_range(buffer.getUsers()))
      if (auto load = dyn_cast<LocalLoadOp>(user)) {
        load.getBufferMutable().assign(rings[buffer]);
        load.getSlotMutable().assign(reading);
      }
    copy.erase();
    buffer.getDefiningOp()->erase();
  }
  for (Operation *op : llvm::reverse(candidate.slice))
    if (op->use_empty())
      op->erase();

  // Nothing is under way when the kernel ends, or uses the memory again.
  builder.setInsertionPointAfter(piped);
  WaitOp::create(builder, waitLoc, ValueRange(), builder.getI64IntegerAttr(0));
  candidate.loop.replaceAllUsesWith(piped.getResults().drop_back(2));
  candidate.loop.erase();
}

namespace {
struct PipelineCopiesPass
    : tessera::simt::impl::PipelineCopiesPassBase<PipelineCopiesPass> {
  using PipelineCopiesPassBase::PipelineCopiesPassBase;

  void runOnOperation() override {
    if (getOperation().hasThreads())
      CopyPipeliner(getOperation(), sharedLimit, sharedPortable).run();
  }
};
} // namespace
