//===- SharedCopies.cpp - Copies through shared memory --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   %a = tile.load %A[%m, %k]            tile.barrier
//   %b = tile.load %B[%k, %n]            %s = tile.cp_async %A[%m, %k] -> %x
//   %c = tile.mma %a, %b, %acc    ->     %t = tile.cp_async %B[%k, %n] -> %y
//                                        tile.wait %s, %t pending = 0
//                                        tile.barrier
//                                        %a = tile.local_load %x
//                                        %b = tile.local_load %y
//                                        %c = tile.mma %a, %b, %acc
//
// The first barrier lets everybody finish reading what the copies overwrite; it
// is left out where nothing was read since the last one. A buffer is filled and
// emptied within one block of code, never across a loop, so buffers of
// different blocks share memory.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/SIMT/Mapping/SharedCopies.h"

#include "compiler/Target/SIMT/Mapping/Scratch.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::simt;
using namespace tessera::tile;
using layout::Layout;

namespace {

/// A load that goes through shared memory, and the products that read it.
struct Staged {
  Value buffer, token;
  Operation *wait = nullptr;                  // a barrier follows
  llvm::DenseMap<Attribute, Value> fragments; // by layout
  Layout memory;
};

class SharedCopies {
public:
  SharedCopies(FuncOp func, const BlockLayouts &layouts)
      : func(func), layouts(layouts) {}

  int64_t run() {
    func.walk([&](MmaOp mma) {
      for (Value operand : {mma.getLhs(), mma.getRhs()})
        if (LoadOp load = sharedOperand(operand))
          users[load].push_back(mma);
    });
    func.walk([&](StoreOp store) { written.insert(store.getView()); });
    func.walk([&](AtomicOp atomic) { written.insert(atomic.getView()); });
    func.walk([&](LoadOp load) { read.insert(load.getView()); });
    visit(func.getBody().front(), /*isLoop=*/false);
    for (LoadOp load : finished)
      eraseUnused(load);
    measureScratch(func);
    return placeScratch(func, bytes);
  }

private:
  struct State {
    int64_t offset = 0; // bytes used by buffers of this block
    int64_t kept = 0;   // of these, what inner blocks must leave alone
    bool readElsewhere = false;
    SmallVector<LoadOp> pending; // copied, not yet waited for
  };

  void visit(Block &block, bool isLoop, int64_t base = 0);
  void stage(LoadOp load, State &state);
  void await(Operation *before, State &state);
  Value fragmentOf(Value operand, const Layout &wanted, MmaOp mma);
  void eraseUnused(LoadOp load);

  FuncOp func;
  const BlockLayouts &layouts;
  llvm::DenseMap<Operation *, SmallVector<MmaOp>> users;
  llvm::DenseMap<Operation *, Staged> staged;
  SmallVector<LoadOp> finished;
  llvm::SmallPtrSet<Value, 4> written, read; // views
  int64_t bytes = 0;
};

} // namespace

/// The layout the load must have for `operand` to be held as `wanted`.
static Layout throughTransposes(Value operand, Layout wanted) {
  while (auto transpose = operand.getDefiningOp<TransposeOp>()) {
    wanted = inputLayout(transpose, wanted);
    operand = transpose.getInput();
  }
  return wanted;
}

/// Extra passes over the banks when a warp reads a fragment held as `held`.
static int64_t readConflicts(const Layout &held, const Layout &memory,
                             int64_t elementBytes) {
  if (auto matrix = layout::matrixLoad(held, layout::contiguousAxis(memory),
                                       elementBytes))
    return layout::bankConflicts(matrix->lanes, memory, elementBytes,
                                 16 / elementBytes);
  // Element by element.
  return layout::bankConflicts(held.sublayout({"lane"}, {"dim0", "dim1"}),
                               memory, elementBytes, 1);
}

void SharedCopies::stage(LoadOp load, State &state) {
  // The buffer covers the fragments of all its readers.
  auto tile = cast<RankedTensorType>(load.getResult().getType());
  int64_t sizes[2] = {tile.getDimSize(0), tile.getDimSize(1)};
  SmallVector<Layout> readers;
  for (MmaOp mma : users[load])
    for (bool left : {true, false}) {
      Value operand = left ? mma.getLhs() : mma.getRhs();
      if (sharedOperand(operand) != load)
        continue;
      Layout held = throughTransposes(operand, left ? layouts.lhsOf(mma)
                                                    : layouts.rhsOf(mma));
      sizes[0] = std::max(sizes[0], held.outSize("dim0"));
      sizes[1] = std::max(sizes[1], held.outSize("dim1"));
      readers.push_back(std::move(held));
    }
  int64_t found =
      unitAxis(load.getView(), load.getIndices(), load.getIndexAxes());
  int unit = found == 0 ? 0 : 1;
  for (int64_t &size : sizes)
    size = llvm::alignTo(size, 16);
  int64_t elementBytes = tile.getElementTypeBitWidth() / 8;
  Staged stage;
  // Of the ways to lay it out the first that nobody waits at, or the best.
  int64_t vector = 16 / elementBytes, fewest = -1;
  for (Layout &memory :
       layout::sharedTiles(sizes[0], sizes[1], unit, elementBytes)) {
    int64_t conflicts =
        layout::bankConflicts(layout::copyLanes(memory, unit, elementBytes),
                              memory, elementBytes, vector);
    for (const Layout &held : readers)
      conflicts += readConflicts(held, memory, elementBytes);
    if (fewest >= 0 && conflicts >= fewest)
      continue;
    fewest = conflicts;
    stage.memory = std::move(memory);
    if (!fewest)
      break;
  }

  OpBuilder builder(load);
  Location loc = load.getLoc();
  // Buffers of this block lie apart; what other blocks, or an earlier turn of
  // this one, read may be in the way.
  if (state.readElsewhere)
    BarrierOp::create(builder, loc);
  state.readElsewhere = false;
  MLIRContext *context = func.getContext();
  auto type =
      BufferType::get(context, {sizes[0], sizes[1]}, tile.getElementType(),
                      LayoutAttr::get(context, stage.memory), Space::Shared);
  auto alloc = [&] {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&func.getBody().front());
    return AllocOp::create(builder, loc, type);
  }();
  alloc.setOffset(state.offset);
  state.offset += llvm::alignTo(sizes[0] * sizes[1] * elementBytes, 128);
  bytes = std::max(bytes, state.offset);
  // What is no fragment of tensor cores stays here until it is multiplied.
  if (llvm::any_of(users[load], [&](MmaOp mma) {
        return usesFma(mma) && mma->getBlock() != load->getBlock();
      }))
    state.kept = state.offset;
  stage.buffer = alloc;
  auto copy = CpAsyncOp::create(
      builder, loc, TokenType::get(context), load.getView(), load.getIndices(),
      alloc, Value(), /*vector=*/16 / elementBytes, /*commit=*/false,
      builder.getI64IntegerAttr(layout::bankConflicts(
          layout::copyLanes(stage.memory, unit, elementBytes), stage.memory,
          elementBytes, 16 / elementBytes)));
  stage.token = copy.getToken();
  staged[load] = std::move(stage);
  state.pending.push_back(load);
  finished.push_back(load);
}

/// All copies under way have arrived, for everybody.
void SharedCopies::await(Operation *before, State &state) {
  if (state.pending.empty())
    return;
  OpBuilder builder(before);
  Location loc = state.pending.back().getLoc();
  SmallVector<Value> tokens;
  for (LoadOp load : state.pending)
    tokens.push_back(staged[load].token);
  // The last one closes the group.
  tokens.back().getDefiningOp<CpAsyncOp>().setCommit(true);
  auto wait =
      WaitOp::create(builder, loc, tokens, builder.getI64IntegerAttr(0));
  for (LoadOp load : state.pending)
    staged[load].wait = wait;
  BarrierOp::create(builder, loc);
  state.readElsewhere = false;
  // A loop below may use the memory for its own copies: all fragments are
  // taken now. Else they are taken at the product, one after the other.
  for (LoadOp load : state.pending) {
    for (MmaOp mma : users[load]) {
      if (mma->getBlock() == before->getBlock() && !before->getNumRegions())
        continue;
      for (bool left : {true, false}) {
        Value operand = left ? mma.getLhs() : mma.getRhs();
        if (sharedOperand(operand) == load)
          (void)fragmentOf(
              operand, left ? layouts.lhsOf(mma) : layouts.rhsOf(mma), MmaOp());
      }
    }
  }
  state.pending.clear();
}

/// The operand in registers, loaded before `mma`, or after the barrier if null.
Value SharedCopies::fragmentOf(Value operand, const Layout &wanted, MmaOp mma) {
  LoadOp load = sharedOperand(operand);
  Staged &stage = staged[load];
  Layout held = layouts.canonical(throughTransposes(operand, wanted));
  auto encoding = LayoutAttr::get(func.getContext(), held);
  Value &fragment = stage.fragments[encoding];
  auto tile = cast<RankedTensorType>(load.getResult().getType());
  if (!fragment) {
    OpBuilder builder(func.getContext());
    if (mma) {
      builder.setInsertionPoint(mma);
    } else {
      // Directly after the barrier that follows the wait.
      builder.setInsertionPointAfter(stage.wait->getNextNode());
    }
    auto local = LocalLoadOp::create(
        builder, load.getLoc(),
        RankedTensorType::get(tile.getShape(), tile.getElementType(), encoding),
        stage.buffer, Value());
    int64_t elementBytes = tile.getElementTypeBitWidth() / 8;
    local.setConflicts(readConflicts(held, stage.memory, elementBytes));
    fragment = local;
  }
  // Transposes only rename axes now.
  SmallVector<TransposeOp> chain;
  for (Value at = operand; auto op = at.getDefiningOp<TransposeOp>();
       at = op.getInput())
    chain.push_back(op);
  Value result = fragment;
  Layout layout = held;
  for (TransposeOp op : llvm::reverse(chain)) {
    OpBuilder builder(func.getContext());
    builder.setInsertionPointAfterValue(result);
    if (mma)
      builder.setInsertionPoint(mma);
    std::vector<int> order(op.getPermutation().begin(),
                           op.getPermutation().end());
    layout = layouts.canonical(layout.transposed(order));
    auto old = cast<RankedTensorType>(op.getResult().getType());
    result = TransposeOp::create(
        builder, op.getLoc(),
        RankedTensorType::get(old.getShape(), old.getElementType(),
                              LayoutAttr::get(func.getContext(), layout)),
        result, op.getPermutation());
  }
  return result;
}

void SharedCopies::visit(Block &block, bool isLoop, int64_t base) {
  State state;
  state.offset = state.kept = base;
  state.readElsewhere = isLoop;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    // Another thread may have written, or still have to read, the element.
    Value view = isa<LoadOp>(op)     ? cast<LoadOp>(op).getView()
                 : isa<StoreOp>(op)  ? cast<StoreOp>(op).getView()
                 : isa<AtomicOp>(op) ? cast<AtomicOp>(op).getView()
                                     : Value();
    if (view && written.contains(view) && read.contains(view)) {
      OpBuilder builder(&op);
      BarrierOp::create(builder, op.getLoc());
    }
    if (auto load = dyn_cast<LoadOp>(op); load && users.contains(load)) {
      stage(load, state);
    } else if (op.getNumRegions()) {
      await(&op, state);
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          visit(inner, /*isLoop=*/true, state.kept);
      state.readElsewhere = true;
    } else if (auto mma = dyn_cast<MmaOp>(op)) {
      LoadOp lhs = sharedOperand(mma.getLhs()),
             rhs = sharedOperand(mma.getRhs());
      if (llvm::any_of(state.pending,
                       [&](LoadOp load) { return load == lhs || load == rhs; }))
        await(mma, state);
      if (lhs)
        mma.getLhsMutable().assign(
            fragmentOf(mma.getLhs(), layouts.lhsOf(mma), mma));
      if (rhs)
        mma.getRhsMutable().assign(
            fragmentOf(mma.getRhs(), layouts.rhsOf(mma), mma));
    }
  }
}

void SharedCopies::eraseUnused(LoadOp load) {
  SmallVector<Operation *> users(load->getUsers());
  for (Operation *user : users)
    if (isa<TransposeOp>(user) && user->use_empty())
      user->erase();
  if (load->use_empty())
    load.erase();
}

int64_t tessera::simt::copyThroughShared(FuncOp func,
                                         const BlockLayouts &layouts) {
  return SharedCopies(func, layouts).run();
}
