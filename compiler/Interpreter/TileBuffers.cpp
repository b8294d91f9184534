//===- TileBuffers.cpp - The mapped level: buffers, copies, nests ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Interpreter/TileData.h"
#include "compiler/Support/Layout/Layout.h"
#include "compiler/Tile/IR/CpuBuffer.h"

#include "llvm/Support/MathExtras.h"

#include <mutex>

using namespace mlir;
using namespace tessera;
using namespace tessera::interpreter;

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

/// Reads a buffer's layout. Programs have few of them, but run them often.
static std::shared_ptr<const BufferLayout> readLayout(Operation *op,
                                                      tile::BufferType type) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::vector<int64_t>>,
                  std::shared_ptr<const BufferLayout>>
      known;
  ArrayRef<int64_t> shape = type.getShape();
  const layout::Layout *map =
      type.getLayout() ? &type.getLayout().getValue() : nullptr;
  // By text: programs of several contexts are run.
  std::pair<std::string, std::vector<int64_t>> key = {map ? map->print() : "",
                                                      shape.vec()};
  std::lock_guard lock(mutex);
  if (known.size() > 256)
    known.clear();
  std::shared_ptr<const BufferLayout> &entry = known[key];
  if (entry)
    return entry;
  BufferLayout result;
  if (!map) {
    result.box.assign(shape.begin(), shape.end());
    result.elements = elementCount(shape).value_or(0);
    for (int64_t i = 0; i < result.elements; ++i)
      result.places.push_back(i);
    return entry = std::make_shared<const BufferLayout>(std::move(result));
  }
  auto refuse = [&](const Twine &what) {
    op->emitError() << "the buffer's layout " << what;
    return nullptr;
  };
  // A ring: slots one after the other, each with the layout.
  int64_t slots = 1;
  if (shape.size() > 1 &&
      !map->findIn("dim" + std::to_string(shape.size() - 1)) &&
      map->findIn("dim" + std::to_string(shape.size() - 2))) {
    slots = shape.front();
    shape = shape.drop_front();
  }
  SmallVector<int> position;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    std::string name = "dim" + std::to_string(axis);
    std::optional<int> in = map->findIn(name);
    position.push_back(in.value_or(-1));
    result.box.push_back(in ? map->inSize(name) : 1);
    if (result.box[axis] < shape[axis])
      return refuse("holds " + Twine(result.box[axis]) +
                    " positions along axis " + Twine(axis) +
                    ", the buffer has " + Twine(shape[axis]));
  }
  bool holes = false;
  forEachIndex(result.box, [&](ArrayRef<int64_t> index) {
    layout::Index at(map->ins().size(), 0);
    for (auto [i, where] : llvm::zip_equal(index, position))
      if (where >= 0)
        at[size_t(where)] = i;
    std::optional<layout::Index> out = map->apply(at);
    holes |= !out;
    result.places.push_back(out ? (*out)[0] : 0);
    result.elements = std::max(result.elements, result.places.back() + 1);
  });
  if (holes)
    return refuse("has holes");
  std::vector<int64_t> sorted = result.places;
  llvm::sort(sorted);
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return refuse("puts two elements into one place");
  if (key.second.size() > shape.size()) {
    size_t slotPlaces = result.places.size();
    for (int64_t slot = 1; slot < slots; ++slot)
      for (size_t i = 0; i < slotPlaces; ++i)
        result.places.push_back(result.places[i] + slot * result.elements);
    result.elements *= slots;
    result.box.insert(result.box.begin(), slots);
  }
  return entry = std::make_shared<const BufferLayout>(std::move(result));
}

static LogicalResult runAlloc(Operation *op, Interpreter &in) {
  KernelState &state = stateOf(in);
  auto buffer = std::make_shared<Buffer>();
  buffer->id = ++state.buffers;
  buffer->type = cast<tile::AllocOp>(op).getBuffer().getType();
  buffer->element = elementOf(op->getResult(0));
  buffer->elementBytes = tile::scratchBytesOf(buffer->type.getElementType());
  buffer->shared = buffer->type.getSpace() == tile::Space::Shared;
  buffer->shape.assign(buffer->type.getShape().begin(),
                       buffer->type.getShape().end());
  buffer->layout = readLayout(op, buffer->type);
  if (!buffer->layout)
    return failure();
  buffer->written.assign(buffer->shape.size(), 0);
  int64_t bytes = buffer->layout->elements * buffer->elementBytes;
  std::optional<int64_t> limit;
  if (auto kernel = dyn_cast<tile::FuncOp>(state.kernel))
    limit = buffer->shared ? kernel.getSharedBytes() : kernel.getScratchBytes();
  if (std::optional<int64_t> offset = cast<tile::AllocOp>(op).getOffset()) {
    buffer->offset = *offset;
    if (limit && buffer->offset + bytes > *limit)
      return op->emitError()
             << "the buffer ends at byte " << buffer->offset + bytes
             << ", but the kernel has "
             << (buffer->shared ? "shared_bytes" : "scratch_bytes") << " = "
             << *limit;
  } else { // not placed yet
    int64_t first = std::max(state.unplaced, limit.value_or(0));
    buffer->offset = int64_t(llvm::alignTo(uint64_t(first), 128));
    state.unplaced = buffer->offset + bytes;
  }
  in.set(op->getResult(0), buffer);
  return success();
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Cell interpreter::readBuffer(Operation *op, const Buffer &buffer,
                             ArrayRef<int64_t> index, Interpreter &in) {
  Arena &arena = stateOf(in).arena;
  int64_t first = buffer.byteOf(index);
  bool written = true, copying = false, hidden = false;
  for (int64_t at = first; at < first + buffer.elementBytes; ++at) {
    Arena::Slot &slot = arena[at];
    written &= slot.buffer == buffer.id && slot.start == first;
    copying |= slot.token != 0;
    hidden |= slot.visible > arena.barriers;
    if (buffer.shared) {
      slot.reader = op;
      slot.readAt = arena.barriers;
    }
  }
  if (!written)
    return in.poison(op, "an element of a buffer that was not written since "
                         "it was allocated, or was overwritten by another "
                         "buffer");
  if (copying)
    return in.poison(op, "an element of a buffer that a copy is still writing: "
                         "there was no wait for it");
  if (hidden)
    return in.poison(op, "an element of a buffer that other threads have "
                         "written: there was no barrier since");
  return arena[first].cell;
}

/// Nobody else may be at work on these bytes.
static LogicalResult claim(Operation *op, const Buffer &buffer,
                           ArrayRef<int64_t> index, Interpreter &in) {
  Arena &arena = stateOf(in).arena;
  int64_t first = buffer.byteOf(index);
  for (int64_t at = first; at < first + buffer.elementBytes; ++at) {
    const Arena::Slot &slot = arena[at];
    if (slot.token != 0)
      return op->emitError()
             << "writes shared memory into which a copy is still under way";
    if (slot.visible > arena.barriers)
      return op->emitError() << "writes shared memory that was written since "
                                "the last barrier: the order is open";
    if (slot.reader && slot.readAt == arena.barriers) {
      auto error = op->emitError()
                   << "writes shared memory that other threads may still be "
                      "reading: there was no barrier since";
      error.attachNote(slot.reader->getLoc()) << "read here";
      return error;
    }
  }
  return success();
}

static void writeBuffer(Buffer &buffer, ArrayRef<int64_t> index,
                        const Cell &cell, int64_t token, Interpreter &in) {
  Arena &arena = stateOf(in).arena;
  for (auto [high, i] : llvm::zip_equal(buffer.written, index))
    high = std::max(high, i + 1);
  int64_t first = buffer.byteOf(index);
  for (int64_t at = first; at < first + buffer.elementBytes; ++at) {
    Arena::Slot &slot = arena[at];
    slot.buffer = buffer.id;
    slot.start = first;
    slot.token = token;
    slot.visible = buffer.shared ? arena.barriers + 1 : 0;
  }
  arena[first].cell = cell;
}

/// The index of a buffer that has a leading slot axis.
static FailureOr<SmallVector<int64_t>>
slotOf(Operation *op, Value slot, const Buffer &buffer, Interpreter &in) {
  SmallVector<int64_t> prefix;
  if (!slot)
    return prefix;
  const Cell &cell = in.array(slot).cells[0];
  if (!cell.present())
    return in.reject(op, cell, "the slot");
  if (cell.integer < 0 || cell.integer >= buffer.shape[0])
    return op->emitError() << "slot " << cell.integer << " of a buffer with "
                           << buffer.shape[0];
  prefix.push_back(cell.integer);
  return prefix;
}

static LogicalResult checkShape(Operation *op, const Buffer &buffer,
                                ArrayRef<int64_t> prefix,
                                ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> held =
      ArrayRef<int64_t>(buffer.shape).drop_front(prefix.size());
  bool fits = held.size() == shape.size();
  for (auto [size, wanted] : llvm::zip(held, shape))
    fits &= wanted <= size;
  if (!fits)
    return op->emitError() << "the tile is not of the buffer's shape";
  return success();
}

static LogicalResult runLocalLoad(Operation *op, Interpreter &in) {
  auto load = cast<tile::LocalLoadOp>(op);
  KernelState &state = stateOf(in);
  const Buffer &buffer = in.get<Buffer>(load.getBuffer());
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(load.getResult().getType()).getShape();
  FailureOr<SmallVector<int64_t>> prefix =
      slotOf(op, load.getSlot(), buffer, in);
  if (failed(prefix) || failed(checkShape(op, buffer, *prefix, shape)))
    return failure();
  // A nest computes no more than its axes have.
  SmallVector<int64_t> limits(shape);
  if (auto axes = state.loadAxes.find(op); axes != state.loadAxes.end())
    for (auto [limit, length] :
         llvm::zip_equal(limits, nestLengths(axes->second, in)))
      limit = std::min(limit, length);
  FailureOr<Array> result = in.allocate(op, limits, buffer.element);
  if (failed(result))
    return failure();
  size_t next = 0;
  forEachIndex(limits, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> place(*prefix);
    llvm::append_range(place, index);
    Cell cell = readBuffer(op, buffer, place, in);
    if (state.torn.contains(op))
      cell = in.poison(op, "an element of a buffer that the same loop nest "
                           "writes for another element");
    result->cells[next++] = cell;
  });
  in.set(op->getResult(0), std::move(*result));
  return success();
}

/// Which axis of the nest each axis of a tile in it is; for what is stored.
static SmallVector<int64_t> nestAxes(Value tile, int64_t rank) {
  Operation *source = tile.getDefiningOp();
  if (isa_and_present<tile::MmaOp>(source))
    return {0, 1};
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank + 1));
  if (auto reduce = dyn_cast_or_null<tile::ReduceOp>(source))
    axes.erase(axes.begin() + int64_t(reduce.getAxis()));
  else
    axes.pop_back();
  return axes;
}

/// What a nest of the CPU leaves in a buffer besides its elements. Vectors and
/// register tiles run over the end of a range: garbage there, unless the store
/// says `keep_rest`; zeros up to a whole step of AMX where it says so.
static void spill(tile::LocalStoreOp store, Buffer &buffer,
                  ArrayRef<int64_t> slot, ArrayRef<int64_t> axes,
                  Interpreter &in) {
  tile::NestOp nest = stateOf(in).nest;
  SmallVector<int64_t> lengths = nestLengths(axes, in);
  if (llvm::is_contained(lengths, 0))
    return;
  // Garbage only matters where there was something.
  SmallVector<int64_t> reach(llvm::drop_begin(buffer.written, slot.size()));
  std::optional<uint64_t> zeros = store.getZeroPadding();
  if (zeros) {
    for (auto [d, length] : llvm::enumerate(lengths))
      reach[d] = std::max(reach[d], length);
    size_t axis = size_t(*zeros);
    int64_t end = int64_t(llvm::alignTo(uint64_t(lengths[axis]), 32));
    reach[axis] = std::max(
        reach[axis], std::min(end, buffer.layout->box[slot.size() + axis]));
  }
  bool matrix = isa_and_present<tile::MmaOp>(store.getValue().getDefiningOp());
  bool keep = store.getKeepRest();
  int64_t vector = nest.getVectorAxis();
  Cell garbage = in.poison(store, "an element of a buffer past the end of its "
                                  "range, where vectors leave garbage");
  Cell zero = in.domain.constant(buffer.element, 0);
  if (llvm::equal(reach, lengths))
    return;
  forEachIndex(reach, [&](ArrayRef<int64_t> index) {
    bool outside = false, alongVector = true, alongZeros = bool(zeros);
    for (auto [d, i] : llvm::enumerate(index)) {
      if (i < lengths[d])
        continue;
      outside = true;
      alongVector &= axes[d] == vector;
      alongZeros &= zeros && d == *zeros &&
                    i < int64_t(llvm::alignTo(uint64_t(lengths[d]), 32));
    }
    if (!outside)
      return;
    SmallVector<int64_t> place(slot);
    llvm::append_range(place, index);
    if (alongZeros)
      writeBuffer(buffer, place, zero, 0, in);
    else if (!keep && (matrix || (vector >= 0 && alongVector)))
      writeBuffer(buffer, place, garbage, 0, in);
  });
}

static LogicalResult runLocalStore(Operation *op, Interpreter &in) {
  auto store = cast<tile::LocalStoreOp>(op);
  KernelState &state = stateOf(in);
  Buffer &buffer = in.get<Buffer>(store.getBuffer());
  const Array &value = in.array(store.getValue());
  FailureOr<SmallVector<int64_t>> prefix =
      slotOf(op, store.getSlot(), buffer, in);
  if (failed(prefix) || failed(checkShape(op, buffer, *prefix, value.shape)) ||
      failed(in.spend(op, uint64_t(value.size()))))
    return failure();
  SmallVector<int64_t> shape(value.shape.begin(), value.shape.end());
  if (state.nest) {
    SmallVector<int64_t> axes =
        nestAxes(store.getValue(), int64_t(value.rank()));
    for (int64_t axis : axes)
      if (axis >= int64_t(state.nest.getAxes().size()))
        return op->emitError() << "the tile has more axes than its nest";
    shape = nestLengths(axes, in);
    if (failed(checkShape(op, buffer, *prefix, shape)))
      return failure();
    spill(store, buffer, *prefix, axes, in);
  }
  LogicalResult result = success();
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    if (failed(result))
      return;
    // Computed by the nest, though its operands may end before.
    bool there = true;
    for (auto [i, size] : llvm::zip_equal(index, value.shape))
      there &= i < size;
    Cell cell = there ? value.at(index) : Cell::with(State::Absent);
    if (cell.state == State::Absent)
      cell = in.poison(op, "an element outside its dim");
    SmallVector<int64_t> place(*prefix);
    llvm::append_range(place, index);
    if (buffer.shared)
      result = claim(op, buffer, place, in);
    if (succeeded(result))
      writeBuffer(buffer, place, cell, 0, in);
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Copies and barriers
//===----------------------------------------------------------------------===//

/// Reads what is copied from memory.
static void take(Copy &copy, Interpreter &in) {
  size_t next = 0;
  forEachIndex(copy.cells.shape, [&](ArrayRef<int64_t> index) {
    Place place = copy.from->at(index);
    copy.cells.cells[next++] = place.kind == Place::Kind::Absent
                                   ? in.domain.constant(copy.cells.element, 0)
                                   : copy.from->read(place);
  });
  copy.taken = true;
}

/// A copy happens at some moment between its start and the wait for it. Here:
/// its source is read at the start or at the wait, as the seed says, and its
/// target is unreadable in between.
static LogicalResult runCpAsync(Operation *op, Interpreter &in) {
  auto started = cast<tile::CpAsyncOp>(op);
  KernelState &state = stateOf(in);
  auto buffer = std::static_pointer_cast<Buffer>(in.get(started.getBuffer()));
  FailureOr<SmallVector<int64_t>> prefix =
      slotOf(op, started.getSlot(), *buffer, in);
  if (failed(prefix))
    return failure();
  ArrayRef<int64_t> shape =
      ArrayRef<int64_t>(buffer->shape).drop_front(prefix->size());
  FailureOr<Array> cells = in.allocate(op, shape, buffer->element);
  if (failed(cells))
    return failure();
  SmallVector<DatumRef> indices; // kept: the loop that copies goes on
  for (Value index : started.getIndices())
    indices.push_back(in.get(index));
  auto from = std::make_shared<const Access>(
      op, started.getView(), started.getIndices(), std::nullopt, in);
  Copy copy{started,           ++state.tokens, buffer,
            std::move(*cells), *prefix,        /*taken=*/false,
            state.groups,      from,           indices};
  Cell nothing = Cell::with(State::Poison);
  LogicalResult result = success();
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> place(*prefix);
    llvm::append_range(place, index);
    if (buffer->shared && succeeded(result))
      result = claim(op, *buffer, place, in);
    if (succeeded(result))
      writeBuffer(*buffer, place, nothing, copy.token, in);
  });
  if (failed(result))
    return failure();
  if (in.random() & 1)
    take(copy, in);
  in.set(op->getResult(0), std::make_shared<Token>(copy.token));
  state.copies.push_back(std::move(copy));
  if (cast<tile::CpAsyncOp>(op).getCommit()) // the last of its group
    ++state.groups;
  return success();
}

/// All but the last `pending` groups have arrived. What is in no group yet has
/// not, nor has what a wait does not cover.
static LogicalResult runWait(Operation *op, Interpreter &in) {
  KernelState &state = stateOf(in);
  int64_t done = state.groups - cast<tile::WaitOp>(op).getPending();
  auto arrived = [&](const Copy &copy) { return copy.group < done; };
  for (Copy &copy : state.copies) {
    if (!arrived(copy))
      continue;
    if (!copy.taken)
      take(copy, in);
    size_t next = 0;
    forEachIndex(copy.cells.shape, [&](ArrayRef<int64_t> index) {
      SmallVector<int64_t> place(copy.prefix);
      llvm::append_range(place, index);
      writeBuffer(*copy.buffer, place, copy.cells.cells[next++], 0, in);
    });
  }
  llvm::erase_if(state.copies, arrived);
  return success();
}

static LogicalResult runBarrier(Operation *, Interpreter &in) {
  ++stateOf(in).arena.barriers;
  return success();
}

void interpreter::useScratch(Operation *op, Interpreter &in) {
  tile::ExchangeAttr exchange = tile::getExchange(op);
  if (!exchange)
    return;
  Arena &arena = stateOf(in).arena;
  arena.barriers += exchange.getUnguarded() ? 1 : 2;
  arena.forEach(exchange.getOffset().value_or(0),
                [](Arena::Slot &slot) { slot = {}; });
}

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

namespace {
/// Finds loads of a nest that may see what the nest itself writes at another
/// element: the nest runs element by element, so their result would depend on
/// its loops.
class TornLoads {
public:
  TornLoads(tile::NestOp nest, Interpreter &in) : nest(nest), in(in) {}

  /// Also notes which of the nest's axes the loads have.
  void run() {
    for (Operation &op : nest.getBody().front()) {
      if (auto store = dyn_cast<tile::LocalStoreOp>(op)) {
        auto type = cast<RankedTensorType>(store.getValue().getType());
        stores.push_back({store, nestAxes(store.getValue(), type.getRank())});
      } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
        viewStores.push_back(store);
      }
    }
    for (Operation &op : nest.getBody().front())
      visitRoot(&op);
    for (Operation *load : several)
      stateOf(in).loadAxes.erase(load);
  }

private:
  using Axes = SmallVector<int64_t>;
  static Axes identity(Value tile) {
    return llvm::to_vector(llvm::seq<int64_t>(
        0, cast<RankedTensorType>(tile.getType()).getRank()));
  }

  void visitRoot(Operation *op) {
    if (auto mma = dyn_cast<tile::MmaOp>(op)) {
      visit(mma.getLhs(), {0, 2});
      visit(mma.getRhs(), {2, 1});
      visit(mma.getAcc(), {0, 1});
    } else if (isa<tile::ReduceOp, tile::ScanOp, tile::StoreOp, tile::AtomicOp,
                   tile::AssertOp, tile::PrintOp>(op)) {
      for (Value operand : op->getOperands())
        if (isa<RankedTensorType>(operand.getType()))
          visit(operand, identity(operand));
    } else if (auto store = dyn_cast<tile::LocalStoreOp>(op)) {
      if (!isa_and_present<tile::MmaOp, tile::ReduceOp>(
              store.getValue().getDefiningOp()))
        visit(store.getValue(), identity(store.getValue()));
    }
  }

  void visit(Value tile, const Axes &axes) {
    Operation *op = tile.getDefiningOp();
    if (!op || !isa<RankedTensorType>(tile.getType()) ||
        !seen.insert({tile.getAsOpaquePointer(), axes}).second)
      return;
    if (auto load = dyn_cast<tile::LocalLoadOp>(op)) {
      note(load, axes);
    } else if (auto load = dyn_cast<tile::LoadOp>(op)) {
      note(load, axes);
    } else if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) {
      Axes inner;
      for (int64_t axis : broadcast.getAxes())
        inner.push_back(axes[axis]);
      visit(broadcast.getInput(), inner);
    } else if (auto transpose = dyn_cast<tile::TransposeOp>(op)) {
      Axes inner(axes.size());
      for (auto [i, axis] : llvm::enumerate(transpose.getPermutation()))
        inner[axis] = axes[i];
      visit(transpose.getInput(), inner);
    } else if (isa<tile::CatOp, tile::ReshapeOp>(op)) {
      for (Value operand : op->getOperands())
        visit(operand,
              Axes(cast<RankedTensorType>(operand.getType()).getRank(), -1));
    } else if (!isa<tile::ReduceOp, tile::MmaOp>(op)) {
      for (Value operand : op->getOperands())
        if (isa<RankedTensorType>(operand.getType()))
          visit(operand, axes);
    }
  }

  void note(tile::LocalLoadOp load, const Axes &axes) {
    auto [entry, isNew] = stateOf(in).loadAxes.try_emplace(load, axes);
    if ((!isNew && entry->second != axes) || llvm::is_contained(axes, -1))
      several.push_back(load);
    for (auto &[store, written] : stores)
      if (in.get(store.getBuffer()) == in.get(load.getBuffer()) &&
          axes != written)
        stateOf(in).torn.insert(load);
  }

  void note(tile::LoadOp load, const Axes &axes) {
    for (tile::StoreOp store : viewStores) {
      if (in.get<View>(store.getView()).memory !=
          in.get<View>(load.getView()).memory)
        continue;
      if (llvm::equal(store.getIndices(), load.getIndices()) &&
          axes == identity(load.getResult()))
        continue;
      // Gathers are not followed: their indices are computed in the nest.
      if (llvm::any_of(store.getIndices(), [](Value index) {
            return isa<RankedTensorType>(index.getType());
          }))
        continue;
      Access access(store, store.getView(), store.getIndices(),
                    store.getIndexAxes(), in);
      auto &places = stateOf(in).tornPlaces[load];
      if (auto type = dyn_cast<RankedTensorType>(store.getValue().getType()))
        forEachIndex(type.getShape(), [&](ArrayRef<int64_t> index) {
          Place place = access.at(index);
          if (place.kind == Place::Kind::There)
            places.insert(place.offset);
        });
    }
  }

  tile::NestOp nest;
  Interpreter &in;
  SmallVector<std::pair<tile::LocalStoreOp, Axes>> stores;
  SmallVector<tile::StoreOp> viewStores;
  SmallVector<Operation *> several; // loads that are used in several ways
  std::set<std::pair<void *, Axes>> seen;
};
} // namespace

/// What `two_apart` says of a load.
static LogicalResult checkTwoApart(tile::NestOp nest, tile::LoadOp load,
                                   Interpreter &in) {
  auto tile = dyn_cast<RankedTensorType>(load.getType());
  MemRefType type = load.getView().getType();
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!tile || tile.getRank() != int64_t(nest.getAxes().size()) ||
      load.getIndexAxes() || tile::CpuPacking::of(load.getView()) ||
      !(type.getElementType().isF32() || type.getElementType().isF64()) ||
      failed(type.getStridesAndOffset(strides, offset)))
    return success();
  const View &view = in.get<View>(load.getView());
  int64_t next = 0;
  for (auto [axis, index] : llvm::enumerate(load.getIndices())) {
    if (isa<RankedTensorType>(index.getType()))
      break;
    if (isa<tile::RangeType>(index.getType()) &&
        next++ == int64_t(nest.getVectorAxis()) && strides[axis] != 1 &&
        view.strides[axis] != 2)
      return load.emitError()
             << "elements of " << view.name << " are " << view.strides[axis]
             << " apart, but the nest says two_apart";
  }
  return success();
}

static LogicalResult runNest(Operation *op, Interpreter &in) {
  KernelState &state = stateOf(in);
  auto nest = cast<tile::NestOp>(op);
  if (nest.getTwoApart())
    for (auto load : nest.getBody().getOps<tile::LoadOp>())
      if (failed(checkTwoApart(nest, load, in)))
        return failure();
  tile::NestOp outer = std::exchange(state.nest, nest);
  auto forget = [&] {
    state.loadAxes.clear();
    state.torn.clear();
    state.tornPlaces.clear();
  };
  forget();
  TornLoads(nest, in).run();
  Data yielded;
  LogicalResult result = in.run(nest.getBody(), {}, yielded);
  state.nest = outer;
  forget();
  if (failed(result))
    return failure();
  for (auto [value, datum] : llvm::zip_equal(op->getResults(), yielded))
    in.set(value, datum);
  return success();
}

void interpreter::registerTileBuffers(Handlers &handlers) {
  handlers.add("tile.alloc", runAlloc);
  handlers.add("tile.local_load", runLocalLoad);
  handlers.add("tile.local_store", runLocalStore);
  handlers.add("tile.cp_async", runCpAsync);
  handlers.add("tile.wait", runWait);
  handlers.add("tile.barrier", runBarrier);
  handlers.add("tile.nest", runNest);
}
