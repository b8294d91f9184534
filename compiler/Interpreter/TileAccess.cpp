//===- TileAccess.cpp - Views: loads, stores, atomics ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Interpreter/TileData.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::interpreter;

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

std::shared_ptr<View> View::make(ArrayRef<int64_t> shape, Element element,
                                 Cell fill) {
  return of(Array(shape, element, fill), {}, fill);
}

std::shared_ptr<View> View::of(const Array &array, ArrayRef<int64_t> strides,
                               Cell padding) {
  auto view = std::make_shared<View>();
  view->element = array.element;
  view->shape.assign(array.shape.begin(), array.shape.end());
  view->strides =
      strides.empty() ? array.strides() : SmallVector<int64_t>(strides);
  view->memory = std::make_shared<Memory>();
  if (strides.empty()) {
    view->memory->cells = array.cells;
    return view;
  }
  // Strides may be negative, and 0 where an axis is repeated.
  int64_t low = 0, high = 0;
  for (auto [extent, stride] : llvm::zip_equal(array.shape, strides))
    (stride < 0 ? low : high) += std::max<int64_t>(extent - 1, 0) * stride;
  view->offset = -low;
  view->memory->cells.assign(size_t(high - low) + 1, padding);
  size_t next = 0;
  forEachIndex(array.shape, [&](ArrayRef<int64_t> index) {
    int64_t at = view->offset;
    for (auto [i, stride] : llvm::zip_equal(index, strides))
      at += i * stride;
    view->memory->cells[size_t(at)] = array.cells[next++];
  });
  return view;
}

Array View::toArray() const {
  Array result(shape, element);
  size_t next = 0;
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    int64_t at = offset;
    for (auto [i, stride] : llvm::zip_equal(index, strides))
      at += i * stride;
    result.cells[next++] = memory->cells[size_t(at)];
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

Access::Access(Operation *op, Value view, OperandRange indices,
               std::optional<ArrayAttr> indexAxes, Interpreter &in)
    : op(op), in(in), shown(std::static_pointer_cast<View>(in.get(view))) {
  auto spans = tile::axesOfIndices(indices, indexAxes);
  for (auto [index, span] : llvm::zip_equal(indices, spans)) {
    Along one;
    const DatumRef &datum = in.get(index);
    if (auto *range = dyn_cast<TileRange>(datum.get())) {
      one.range = range;
    } else if (isa<RankedTensorType>(index.getType())) {
      one.tile = cast<Array>(datum.get());
    } else {
      const Cell &cell = cast<Array>(*datum).cells[0];
      one.scalar = cell.integer;
      one.isProgram = bool(index.getDefiningOp<tile::ProgramOp>());
      if (!cell.present())
        one.tile = cast<Array>(datum.get());
    }
    one.axes.assign(span.begin(), span.end());
    scatters |= one.tile && !one.axes.empty();
    along.push_back(one);
  }
}

Place Access::at(ArrayRef<int64_t> index) const {
  Place place{Place::Kind::There, shown->offset, Cell()};
  auto leaves = [&](size_t axis, int64_t position) {
    std::string why = "position " + std::to_string(position) + " of axis " +
                      std::to_string(axis) + " of " + shown->name +
                      ", which has " + std::to_string(shown->shape[axis]);
    return Place{Place::Kind::Poison, 0, in.poison(op, why)};
  };
  // Absence first: nothing else matters where there is no element.
  for (auto [axis, one] : llvm::enumerate(along))
    if (one.range && index[one.axes[0]] >= one.range->length())
      return {Place::Kind::Absent, 0, Cell()};
  for (auto [axis, one] : llvm::enumerate(along)) {
    int64_t position = one.scalar;
    if (one.range) {
      position = one.range->start + index[one.axes[0]];
      if (position < 0 || position >= shown->shape[axis])
        return leaves(axis, position);
    } else if (one.tile) {
      SmallVector<int64_t> inner;
      for (int64_t at : one.axes)
        inner.push_back(index[at]);
      const Cell &cell = one.tile->at(inner);
      if (cell.state == State::Absent)
        return {Place::Kind::Absent, 0, Cell()};
      if (!cell.present())
        return {Place::Kind::Poison, 0, cell};
      position = cell.integer;
    } else if (one.isProgram &&
               (position < 0 || position >= shown->shape[axis])) {
      return leaves(axis, position);
    }
    if (position < 0 || position >= shown->shape[axis]) {
      place.kind = Place::Kind::OutOfBounds;
      place.cell = Cell::ofInteger(position);
      place.axis = axis;
    } else
      place.offset += position * shown->strides[axis];
  }
  return place;
}

void Access::limit(MutableArrayRef<int64_t> shape) const {
  for (const Along &one : along) {
    if (one.range)
      shape[size_t(one.axes[0])] =
          std::min(shape[size_t(one.axes[0])], one.range->length());
    else if (one.tile)
      for (auto [axis, size] : llvm::zip(one.axes, one.tile->shape))
        shape[size_t(axis)] = std::min(shape[size_t(axis)], size);
  }
}

static uint64_t mark(const KernelState &state) {
  return state.launch << 32 | uint64_t(uint32_t(state.program));
}

void Access::remarkOutside(const Place &place) const {
  in.remark(op, "outside",
            "index " + std::to_string(place.cell.integer) + " of axis " +
                std::to_string(place.axis) + " of " + shown->name +
                ", which has " + std::to_string(shown->shape[place.axis]));
}

Cell Access::read(const Place &place) const {
  KernelState &state = stateOf(in);
  switch (place.kind) {
  case Place::Kind::Poison:
    return place.cell;
  case Place::Kind::Absent:
    if (!state.wholeTiles)
      return Cell::with(State::Absent);
    return in.domain.constant(shown->element, 0);
  case Place::Kind::OutOfBounds:
    remarkOutside(place);
    return in.domain.constant(shown->element, 0);
  case Place::Kind::There:
    break;
  }
  Memory &memory = *shown->memory;
  if (size_t(place.offset) >= memory.cells.size())
    return in.poison(op, "memory outside of " + shown->name);
  if (!memory.writers.empty()) {
    uint64_t writer = memory.writers[size_t(place.offset)];
    if (writer >> 32 == state.launch && writer != mark(state)) {
      std::string why = "an element of " + shown->name +
                        " that another program of the grid writes";
      in.remark(op, "race", why);
      return in.poison(op, why);
    }
  }
  if (memory.readers.empty())
    memory.readers.resize(memory.cells.size());
  uint64_t &reader = memory.readers[size_t(place.offset)];
  reader = reader >> 32 == state.launch && reader != mark(state)
               ? state.launch << 32 | Memory::several
               : mark(state);
  return memory.cells[size_t(place.offset)];
}

LogicalResult Access::write(const Place &place, const Cell &cell) const {
  if (place.kind == Place::Kind::Poison)
    return in.reject(op, place.cell, "the store");
  if (place.kind == Place::Kind::OutOfBounds && cell.present())
    remarkOutside(place);
  if (place.kind != Place::Kind::There || cell.state == State::Absent)
    return success();
  if (!cell.present())
    return in.reject(op, cell, "what is stored into " + shown->name);
  KernelState &state = stateOf(in);
  Memory &memory = *shown->memory;
  if (size_t(place.offset) >= memory.cells.size())
    return op->emitError() << "writes outside of " << shown->name;
  Cell &target = memory.cells[size_t(place.offset)];
  if (memory.writers.empty())
    memory.writers.resize(memory.cells.size());
  uint64_t &writer = memory.writers[size_t(place.offset)];
  // Two programs may write the same; otherwise their order would show.
  auto isOther = [&](uint64_t program) {
    return program >> 32 == state.launch && program != mark(state);
  };
  bool isRead =
      !memory.readers.empty() && isOther(memory.readers[size_t(place.offset)]);
  if ((isOther(writer) || isRead) &&
      (!target.present() || in.domain.toBits(shown->element, target) !=
                                in.domain.toBits(shown->element, cell))) {
    std::string why =
        "an element of " + shown->name +
        (isOther(writer) ? " that two programs of the grid write"
                         : " that another program of the grid reads");
    in.remark(op, "race", why);
    target = in.poison(op, why);
  } else {
    target = cell;
  }
  writer = mark(state);
  return success();
}

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

SmallVector<int64_t> interpreter::nestLengths(ArrayRef<int64_t> axes,
                                              Interpreter &in) {
  tile::NestOp nest = stateOf(in).nest;
  SmallVector<int64_t> lengths;
  for (int64_t axis : axes)
    lengths.push_back(in.get<TileRange>(nest.getAxes()[axis]).length());
  return lengths;
}

const Array &interpreter::clipToNest(const Array &array, ArrayRef<int64_t> axes,
                                     Array &storage, Interpreter &in) {
  if (!stateOf(in).nest)
    return array;
  SmallVector<int64_t> shape = nestLengths(axes, in);
  for (auto [length, size] : llvm::zip_equal(shape, array.shape))
    length = std::min(length, size);
  return cropped(array, shape, storage);
}

const Array &interpreter::clipToNest(const Array &array, Array &storage,
                                     Interpreter &in) {
  SmallVector<int64_t> axes =
      llvm::to_vector(llvm::seq<int64_t>(0, int64_t(array.rank())));
  return clipToNest(array, axes, storage, in);
}

//===----------------------------------------------------------------------===//
// Handlers
//===----------------------------------------------------------------------===//

static LogicalResult runDim(Operation *op, Interpreter &in) {
  auto dim = cast<tile::DimOp>(op);
  int64_t size = in.get<View>(dim.getView()).shape[dim.getAxis()];
  in.set(op->getResult(0), Array({}, Element::I64, in.domain.integer(size)));
  return success();
}

static LogicalResult runStride(Operation *op, Interpreter &in) {
  auto stride = cast<tile::StrideOp>(op);
  int64_t step = in.get<View>(stride.getView()).strides[stride.getAxis()];
  in.set(op->getResult(0), Array({}, Element::I64, in.domain.integer(step)));
  return success();
}

/// No program can tell.
static LogicalResult runPrefetch(Operation *, Interpreter &) {
  return success();
}

static LogicalResult runLoad(Operation *op, Interpreter &in) {
  auto load = cast<tile::LoadOp>(op);
  KernelState &state = stateOf(in);
  Access access(op, load.getView(), load.getIndices(), load.getIndexAxes(), in);
  const Array *mask = load.getMask() ? &in.array(load.getMask()) : nullptr;
  SmallVector<int64_t> shape;
  if (auto type = dyn_cast<RankedTensorType>(load.getResult().getType())) {
    shape.assign(type.getShape().begin(), type.getShape().end());
    if (!state.wholeTiles)
      access.limit(shape);
    if (mask && !state.wholeTiles)
      for (auto [size, other] : llvm::zip_equal(shape, mask->shape))
        size = std::min(size, other);
  }
  Element element = elementOf(load.getResult());
  FailureOr<Array> result = in.allocate(op, shape, element);
  if (failed(result))
    return failure();
  Cell pad = in.domain.constant(element, 0);
  if (load.getPad()) {
    FailureOr<Array> constant = readConstant(op, *load.getPad(), in);
    if (failed(constant))
      return failure();
    pad = constant->cells[0];
  }
  size_t next = 0;
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    Cell &cell = result->cells[next++];
    Place place = access.at(index);
    if (mask && (place.kind != Place::Kind::Absent || state.wholeTiles)) {
      const Cell &wanted = mask->at(index);
      if (!wanted.present()) {
        cell = wanted;
        return;
      }
      if (!wanted.integer) {
        cell = pad;
        return;
      }
    }
    cell = access.read(place);
    if (place.kind == Place::Kind::There &&
        state.tornPlaces.lookup(op).contains(place.offset))
      cell = in.poison(op, "an element of " + access.view().name +
                               " that this loop nest writes for another one");
  });
  in.set(op->getResult(0), std::move(*result));
  return success();
}

/// Calls `body(place, cell)` for each element that a store or atomic touches.
template <typename Op, typename Body>
static LogicalResult forEachStored(Op op, Interpreter &in, Body body) {
  Access access(op, op.getView(), op.getIndices(), op.getIndexAxes(), in);
  Array clipped, common;
  const Array &given = clipToNest(in.array(op.getValue()), clipped, in);
  const Array *mask = op.getMask() ? &in.array(op.getMask()) : nullptr;
  SmallVector<int64_t> shape(given.shape.begin(), given.shape.end());
  if (!stateOf(in).wholeTiles)
    access.limit(shape);
  if (mask)
    for (auto [size, other] : llvm::zip_equal(shape, mask->shape))
      size = std::min(size, other);
  const Array &value = cropped(given, shape, common);
  if (failed(in.spend(op, uint64_t(value.size()))))
    return failure();
  LogicalResult result = success();
  size_t next = 0;
  forEachIndex(value.shape, [&](ArrayRef<int64_t> index) {
    const Cell &cell = value.cells[next++];
    if (failed(result) || cell.state == State::Absent)
      return;
    if (mask) {
      const Cell &wanted = mask->at(index);
      if (wanted.state == State::Poison)
        result = in.reject(op, wanted, "the mask");
      if (!wanted.present() || !wanted.integer)
        return;
    }
    if (succeeded(result))
      result = body(access, access.at(index), cell);
  });
  return result;
}

static LogicalResult runStore(Operation *op, Interpreter &in) {
  // Indices that are data may name one element twice.
  llvm::DenseMap<int64_t, uint64_t> stored;
  return forEachStored(
      cast<tile::StoreOp>(op), in,
      [&](const Access &access, const Place &place,
          const Cell &cell) -> LogicalResult {
        if (failed(access.write(place, cell)))
          return failure();
        if (!access.isScatter() || place.kind != Place::Kind::There ||
            !cell.present())
          return success();
        const View &view = access.view();
        uint64_t bits = in.domain.toBits(view.element, cell);
        auto [first, isNew] = stored.insert({place.offset, bits});
        if (isNew || first->second == bits)
          return success();
        std::string why = "an element of " + view.name +
                          " that two elements of one tile are stored to";
        in.remark(op, "race", why);
        view.memory->cells[size_t(place.offset)] = in.poison(op, why);
        return success();
      });
}

static std::optional<ScalarOp> combinerOf(tile::ReduceKind kind) {
  switch (kind) {
  case tile::ReduceKind::Sum:
    return ScalarOp::Add;
  case tile::ReduceKind::Prod:
    return ScalarOp::Mul;
  case tile::ReduceKind::Max:
    return ScalarOp::Maximum;
  case tile::ReduceKind::Min:
    return ScalarOp::Minimum;
  case tile::ReduceKind::And:
    return ScalarOp::And;
  case tile::ReduceKind::Or:
    return ScalarOp::Or;
  case tile::ReduceKind::Xor:
    return ScalarOp::Xor;
  default:
    return std::nullopt;
  }
}

static LogicalResult runAtomic(Operation *op, Interpreter &in) {
  auto atomic = cast<tile::AtomicOp>(op);
  std::optional<ScalarOp> combine = combinerOf(atomic.getKind());
  if (!combine)
    return op->emitError() << "no atomic is called "
                           << tile::stringifyReduceKind(atomic.getKind());
  return forEachStored(atomic, in,
                       [&](const Access &access, const Place &place,
                           const Cell &cell) -> LogicalResult {
                         if (place.kind == Place::Kind::Poison)
                           return in.reject(op, place.cell, "the atomic");
                         if (place.kind != Place::Kind::There)
                           return success();
                         if (!cell.present())
                           return in.reject(op, cell, "what is combined");
                         Memory &memory = *access.view().memory;
                         Element element = access.view().element;
                         Cell &target = memory.cells[size_t(place.offset)];
                         Cell pair[] = {target, cell};
                         target = in.domain.apply(
                             *combine, Types::of(element, element), pair);
                         return success();
                       });
}

void interpreter::registerTileAccess(Handlers &handlers) {
  handlers.add("tile.dim", runDim);
  handlers.add("tile.stride", runStride);
  handlers.add("tile.prefetch", runPrefetch);
  handlers.add("tile.load", runLoad);
  handlers.add("tile.store", runStore);
  handlers.add("tile.atomic", runAtomic);
}
