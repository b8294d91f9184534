//===- TileValues.cpp - Ranges and tiles ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Interpreter/TileData.h"
#include "compiler/Tile/IR/CpuBuffer.h"

#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::interpreter;

//===----------------------------------------------------------------------===//
// Ranges and loops
//===----------------------------------------------------------------------===//

static LogicalResult runRangeAt(Operation *op, Interpreter &in) {
  auto at = cast<tile::RangeAtOp>(op);
  for (Value operand : op->getOperands())
    if (const Cell &cell = in.array(operand).cells[0]; !cell.present())
      return in.reject(op, cell, "the range");
  int64_t start = in.scalar(at.getStart()), extent = in.scalar(at.getExtent());
  int64_t size = at.getRange().getType().getSize();
  in.set(op->getResult(0),
         std::make_shared<TileRange>(start, std::min(start + size, extent)));
  return success();
}

static void setIndex(Value result, int64_t value, Interpreter &in) {
  in.set(result, Array({}, Element::I64, in.domain.integer(value)));
}

static LogicalResult runRangeStart(Operation *op, Interpreter &in) {
  setIndex(op->getResult(0), in.get<TileRange>(op->getOperand(0)).start, in);
  return success();
}

static LogicalResult runRangeStop(Operation *op, Interpreter &in) {
  setIndex(op->getResult(0), in.get<TileRange>(op->getOperand(0)).stop, in);
  return success();
}

static LogicalResult runIndex(Operation *op, Interpreter &in) {
  const TileRange &range = in.get<TileRange>(op->getOperand(0));
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op->getResult(0).getType()).getShape();
  int64_t size =
      stateOf(in).wholeTiles ? shape[0] : std::min(shape[0], range.length());
  FailureOr<Array> result = in.allocate(op, {size}, Element::I64);
  if (failed(result))
    return failure();
  for (int64_t i = 0; i < size; ++i)
    result->cells[i] = in.domain.integer(range.start + i);
  in.set(op->getResult(0), std::move(*result));
  return success();
}

static LogicalResult runFor(Operation *op, Interpreter &in) {
  auto loop = cast<tile::ForOp>(op);
  for (Value bound : {loop.getStart(), loop.getStop()})
    if (const Cell &cell = in.array(bound).cells[0]; !cell.present())
      return in.reject(op, cell, "the loop");
  int64_t stop = in.scalar(loop.getStop()), size = loop.getSize();
  Data carried;
  for (Value init : loop.getInits())
    carried.push_back(in.get(init));
  int64_t start = in.scalar(loop.getStart());
  bool empty = loop.getAtLeastOnce() && start >= stop;
  for (int64_t at = start; at < stop || empty; at += size) {
    if (failed(in.spend(op, 1)))
      return failure();
    Data arguments = {std::make_shared<TileRange>(
        at, std::max(at, std::min(at + size, stop)))};
    empty = false;
    llvm::append_range(arguments, carried);
    if (failed(in.run(loop.getBody(), arguments, carried)))
      return failure();
  }
  for (auto [result, datum] : llvm::zip_equal(op->getResults(), carried))
    in.set(result, datum);
  return success();
}

//===----------------------------------------------------------------------===//
// Moving elements
//===----------------------------------------------------------------------===//

static ArrayRef<int64_t> typeShape(Value value) {
  if (auto type = dyn_cast<RankedTensorType>(value.getType()))
    return type.getShape();
  return {};
}

/// Sets the result of `op` to cells made from their index.
template <typename Body>
static LogicalResult build(Operation *op, Interpreter &in,
                           ArrayRef<int64_t> shape, Body body) {
  Value value = op->getResult(0);
  FailureOr<Array> result = in.allocate(op, shape, elementOf(value));
  if (failed(result))
    return failure();
  size_t next = 0;
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    result->cells[next++] = body(index);
  });
  in.set(value, std::move(*result));
  return success();
}

/// How much of an axis over `range` there is; on a GPU all of it is computed.
static int64_t lengthOf(Value range, Interpreter &in) {
  int64_t size = cast<tile::RangeType>(range.getType()).getSize();
  return stateOf(in).wholeTiles
             ? size
             : std::min(size, in.get<TileRange>(range).length());
}

static LogicalResult runFill(Operation *op, Interpreter &in) {
  auto fill = cast<tile::FillOp>(op);
  const Cell value = in.array(fill.getValue()).cells[0];
  SmallVector<int64_t> shape;
  for (Value range : fill.getRanges())
    shape.push_back(lengthOf(range, in));
  return build(op, in, shape, [&](ArrayRef<int64_t>) { return value; });
}

static LogicalResult runBroadcast(Operation *op, Interpreter &in) {
  auto broadcast = cast<tile::BroadcastOp>(op);
  const Array &input = in.array(broadcast.getInput());
  ArrayRef<int64_t> axes = broadcast.getAxes();
  SmallVector<int64_t> inner(axes.size()), shape;
  size_t next = 0;
  for (int64_t axis = 0; axis < broadcast.getType().getRank(); ++axis) {
    const int64_t *from = llvm::find(axes, axis);
    shape.push_back(from != axes.end()
                        ? input.shape[size_t(from - axes.begin())]
                        : lengthOf(broadcast.getRanges()[next++], in));
  }
  return build(op, in, shape, [&](ArrayRef<int64_t> index) {
    for (auto [i, axis] : llvm::enumerate(axes))
      inner[i] = index[axis];
    return input.at(inner);
  });
}

static LogicalResult runTranspose(Operation *op, Interpreter &in) {
  auto transpose = cast<tile::TransposeOp>(op);
  const Array &input = in.array(transpose.getInput());
  SmallVector<int64_t> inner(input.rank()), shape;
  for (int64_t axis : transpose.getPermutation())
    shape.push_back(input.shape[size_t(axis)]);
  return build(op, in, shape, [&](ArrayRef<int64_t> index) {
    for (auto [i, axis] : llvm::enumerate(transpose.getPermutation()))
      inner[axis] = index[i];
    return input.at(inner);
  });
}

static LogicalResult needWhole(Operation *op, Value value, Interpreter &in) {
  const Array &input = in.array(value);
  bool whole = ArrayRef<int64_t>(input.shape) == typeShape(value);
  for (const Cell &cell : input.cells)
    whole &= cell.state != State::Absent;
  if (whole)
    return success();
  return in.reject(op, Cell::with(State::Absent), op->getName().stripDialect());
}

static LogicalResult runReshape(Operation *op, Interpreter &in) {
  useScratch(op, in);
  const Array &input = in.array(op->getOperand(0));
  if (failed(needWhole(op, op->getOperand(0), in)))
    return failure();
  size_t next = 0;
  return build(op, in, typeShape(op->getResult(0)),
               [&](ArrayRef<int64_t>) { return input.cells[next++]; });
}

static LogicalResult runCat(Operation *op, Interpreter &in) {
  useScratch(op, in);
  auto cat = cast<tile::CatOp>(op);
  int64_t axis = cat.getAxis();
  for (Value input : cat.getInputs())
    if (failed(needWhole(op, input, in)))
      return failure();
  return build(op, in, typeShape(op->getResult(0)),
               [&](ArrayRef<int64_t> index) {
                 SmallVector<int64_t> inner(index);
                 for (Value value : cat.getInputs()) {
                   const Array &input = in.array(value);
                   if (inner[axis] < input.shape[axis])
                     return input.at(inner);
                   inner[axis] -= input.shape[axis];
                 }
                 llvm_unreachable("the verifier checked the sizes");
               });
}

static LogicalResult runSplice(Operation *op, Interpreter &in) {
  auto splice = cast<tile::SpliceOp>(op);
  const Cell &place = in.array(splice.getAt()).cells[0];
  if (!place.present())
    return in.reject(op, place, "the place of a splice");
  const Array &head = in.array(splice.getHead()),
              &tail = in.array(splice.getTail());
  auto cellOf = [](const Array &input, ArrayRef<int64_t> index) {
    for (auto [i, size] : llvm::zip_equal(index, input.shape))
      if (i >= size)
        return Cell::with(State::Absent);
    return input.at(index);
  };
  return build(op, in, typeShape(op->getResult(0)),
               [&](ArrayRef<int64_t> index) {
                 SmallVector<int64_t> inner(index);
                 if (inner.back() < place.integer)
                   return cellOf(head, inner);
                 inner.back() -= place.integer;
                 return cellOf(tail, inner);
               });
}

/// An array of the type's shape; what does not exist is absent.
static Array whole(Value tile, const Array &array) {
  Array result(typeShape(tile), array.element, Cell::with(State::Absent));
  size_t next = 0;
  forEachIndex(array.shape, [&](ArrayRef<int64_t> index) {
    result.at(index) = array.cells[next++];
  });
  return result;
}

static LogicalResult runFilled(Operation *op, Interpreter &in) {
  auto filled = cast<tile::FilledOp>(op);
  Array input = whole(filled.getInput(), in.array(filled.getInput()));
  const Cell value = in.array(filled.getValue()).cells[0];
  size_t next = 0;
  return build(op, in, input.shape, [&](ArrayRef<int64_t>) {
    const Cell &cell = input.cells[next++];
    return cell.state == State::Absent ? value : cell;
  });
}

static LogicalResult runConvertLayout(Operation *op, Interpreter &in) {
  useScratch(op, in);
  in.set(op->getResult(0), in.get(op->getOperand(0)));
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions and products
//===----------------------------------------------------------------------===//

static Reduction reductionOf(tile::ReduceKind kind) {
  switch (kind) {
  case tile::ReduceKind::Sum:
    return Reduction::Sum;
  case tile::ReduceKind::Prod:
    return Reduction::Prod;
  case tile::ReduceKind::Max:
    return Reduction::Max;
  case tile::ReduceKind::Min:
    return Reduction::Min;
  case tile::ReduceKind::And:
    return Reduction::All;
  case tile::ReduceKind::Or:
    return Reduction::Any;
  case tile::ReduceKind::Xor:
    return Reduction::Xor;
  case tile::ReduceKind::Argmax:
    return Reduction::Argmax;
  case tile::ReduceKind::Argmin:
    return Reduction::Argmin;
  }
  llvm_unreachable("all kinds are listed");
}

/// Where the positions of an axis begin within its dim.
static int64_t startOf(Value tile, int64_t axis, Interpreter &in) {
  KernelState &state = stateOf(in);
  if (state.nest)
    return in.get<TileRange>(state.nest.getAxes()[axis]).start;
  if (!state.ranges)
    state.ranges.emplace(state.kernel);
  ArrayRef<Value> ranges = state.ranges->get(tile, axis);
  return ranges.size() == 1 ? in.get<TileRange>(ranges[0]).start : 0;
}

static LogicalResult runReduce(Operation *op, Interpreter &in) {
  auto reduce = cast<tile::ReduceOp>(op);
  Array clipped;
  const Array &input = clipToNest(in.array(reduce.getInput()), clipped, in);
  int64_t axis = reduce.getAxis(), extent = input.shape[axis];
  Reduction kind = reductionOf(reduce.getKind());
  bool find = kind == Reduction::Argmax || kind == Reduction::Argmin;
  int64_t start = find ? startOf(reduce.getInput(), axis, in) : 0;
  Element element = input.element;
  useScratch(op, in);
  if (failed(in.spend(op, uint64_t(input.size()))))
    return failure();
  SmallVector<int64_t> shape(input.shape.begin(), input.shape.end());
  shape.erase(shape.begin() + axis);
  int64_t stride = input.strides()[axis];
  SmallVector<Cell> row(static_cast<size_t>(extent));
  return build(op, in, shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> inner(index);
    inner.insert(inner.begin() + axis, 0);
    int64_t first = extent ? input.offset(inner) : 0;
    for (int64_t i = 0; i < extent; ++i)
      row[size_t(i)] = input.cells[size_t(first + i * stride)];
    Cell cell = in.domain.reduce(kind, {element, element, element}, row);
    if (find && cell.present() && cell.integer >= 0)
      cell.integer += start;
    return cell;
  });
}

static LogicalResult runScan(Operation *op, Interpreter &in) {
  useScratch(op, in);
  auto scan = cast<tile::ScanOp>(op);
  Array clipped;
  const Array &input = clipToNest(in.array(scan.getInput()), clipped, in);
  int64_t axis = scan.getAxis(), extent = input.shape[axis];
  FailureOr<Array> result = in.allocate(op, input.shape, input.element);
  if (failed(result))
    return failure();
  Element element = input.element;
  SmallVector<int64_t> outer(input.shape.begin(), input.shape.end());
  outer[axis] = std::min<int64_t>(extent, 1);
  int64_t stride = input.strides()[axis];
  SmallVector<Cell> row(static_cast<size_t>(extent)),
      sums(static_cast<size_t>(extent));
  forEachIndex(outer, [&](ArrayRef<int64_t> index) {
    int64_t first = input.offset(index);
    for (int64_t i = 0; i < extent; ++i)
      row[size_t(i)] = input.cells[size_t(first + i * stride)];
    in.domain.scan(reductionOf(scan.getKind()), {element, element, element},
                   row, sums);
    for (int64_t i = 0; i < extent; ++i)
      result->cells[size_t(first + i * stride)] = sums[size_t(i)];
  });
  in.set(op->getResult(0), std::move(*result));
  return success();
}

/// Positions of k past the range that an AMX step multiplies all the same: the
/// packed operands hold zeros there, or else the sum is garbage.
static int64_t paddingOfStep(tile::MmaOp mma, int64_t length, Interpreter &in) {
  tile::NestOp nest = stateOf(in).nest;
  if (!nest || nest.getUnit() != tile::MatrixUnit::Amx || length == 0)
    return 0;
  Type element = getElementTypeOrSelf(mma.getLhs().getType());
  return llvm::alignTo(length, tile::amxStep(element)) - length;
}

/// Bits that a tensor core keeps of a sum of products (docs/simulator.md, as
/// measured by others): products are aligned with the largest one and cut after
/// 13 bits of fraction for fp8 on Ada, 24 or 25 else. Each of k terms costs
/// less than one unit of these.
static int precisionOf(tile::MmaOp mma) {
  tile::InstructionAttr instruction = mma.getInstructionAttr();
  if (!instruction || instruction.getForm() == tile::MmaForm::Fma ||
      !getElementTypeOrSelf(mma.getResult()).isF32())
    return 0;
  return mma.getLhs().getType().getElementTypeBitWidth() == 8 ? 12 : 23;
}

/// Row m of a sparse operand, with absent cells for what it does not have.
static SmallVector<Cell, 0> spreadRow(const Array &stored, const Array &meta,
                                      int64_t m, int64_t depth,
                                      Interpreter &in) {
  SmallVector<Cell, 0> row(size_t(depth), Cell::with(State::Absent));
  for (int64_t j = 0; j < stored.shape.back(); ++j) {
    const Cell &word = meta.cells[size_t(m * meta.shape.back() + j / 16)];
    const Cell &cell = stored.cells[size_t(m * stored.shape.back() + j)];
    int64_t at = j / 2 * 4 + (word.integer >> (j % 16 * 2) & 3);
    if (at < depth && word.present())
      row[size_t(at)] = cell;
    else if (at < depth)
      row[size_t(at)] = word;
  }
  return row;
}

/// Each element in f32, times its factor: exact, but for the smallest.
static Array scaledOperand(const Array &x, const Array &scale, int64_t axis,
                           Interpreter &in) {
  Array result = x;
  result.element = Element::F32;
  for (int64_t i = 0; i < x.shape[0]; ++i)
    for (int64_t j = 0; j < x.shape[1]; ++j) {
      Cell &cell = result.cells[size_t(i * x.shape[1] + j)];
      const Cell &byte =
          scale.cells[size_t(axis == 1 ? i * scale.shape[1] + j / 32
                                       : i / 32 * scale.shape[1] + j)];
      int64_t e = byte.integer & 255;
      Cell factor =
          !byte.present()
              ? byte
              : in.domain.constant(
                    Element::F32,
                    e == 255 ? std::numeric_limits<long double>::quiet_NaN()
                             : std::ldexp(1.0L, int(e) - 127));
      cell = in.domain.apply(
          ScalarOp::Mul, Types::of(Element::F32, Element::F32),
          {in.domain.cast(cell, x.element, Element::F32), factor});
    }
  return result;
}

static LogicalResult runMma(Operation *op, Interpreter &in) {
  useScratch(op, in);
  auto mma = cast<tile::MmaOp>(op);
  in.domain.setProductPrecision(precisionOf(mma));
  auto restore =
      llvm::make_scope_exit([&] { in.domain.setProductPrecision(0); });
  Array clips[3];
  const Array *lhs = &in.array(mma.getLhs()), *rhs = &in.array(mma.getRhs()),
              *acc = &in.array(mma.getAcc());
  KernelState &state = stateOf(in);
  int64_t padding = 0, length = 0;
  if (state.nest) { // axes M, N, K
    lhs = &clipToNest(*lhs, {0, 2}, clips[0], in);
    rhs = &clipToNest(*rhs, {2, 1}, clips[1], in);
    acc = &clipToNest(*acc, {0, 1}, clips[2], in);
    length = in.get<TileRange>(state.nest.getAxes()[2]).length();
    padding = paddingOfStep(mma, length, in);
  }
  Element from = lhs->element, to = acc->element;
  Array scaled[2];
  if (mma.getLhsScale()) {
    scaled[0] = scaledOperand(*lhs, in.array(mma.getLhsScale()), 1, in);
    scaled[1] = scaledOperand(*rhs, in.array(mma.getRhsScale()), 0, in);
    lhs = &scaled[0];
    rhs = &scaled[1];
  }
  int64_t depth = mma.getMeta()
                      ? rhs->shape.front()
                      : std::min(lhs->shape.back(), rhs->shape.front());
  bool rows = lhs->rank() == 2, columns = rhs->rank() == 2;
  SmallVector<int64_t> shape(acc->shape.begin(), acc->shape.end());
  if (rows)
    shape.front() = std::min(shape.front(), lhs->shape[0]);
  if (columns)
    shape.back() = std::min(shape.back(), rhs->shape[1]);
  uint64_t results = uint64_t(elementCount(shape).value_or(0));
  if (failed(in.spend(op, results * uint64_t(depth + 1))))
    return failure();
  // What a matrix step reads beyond the end: of a buffer, what lies there; of
  // a packed view, the zeros that whoever packs it has to write.
  auto beyond = [&](Value operand, SmallVector<int64_t> at) -> Cell {
    if (auto splice = operand.getDefiningOp<tile::SpliceOp>()) {
      at.back() -= in.scalar(splice.getAt());
      operand = splice.getTail();
    }
    if (auto load = operand.getDefiningOp<tile::LocalLoadOp>())
      return readBuffer(op, in.get<Buffer>(load.getBuffer()), at, in);
    return in.domain.constant(from, 0);
  };
  int bits = keptBits(mma.getPrecision());
  auto taken = [&](const Cell &x) {
    return bits ? in.domain.keepBits(x, bits) : x;
  };
  // Columns of the right side, once.
  int64_t width = columns ? rhs->shape[1] : 1;
  std::vector<SmallVector<Cell, 0>> turned(static_cast<size_t>(width));
  for (int64_t n = 0; n < width; ++n) {
    for (int64_t k = 0; k < depth; ++k)
      turned[size_t(n)].push_back(taken(rhs->cells[size_t(k * width + n)]));
    for (int64_t k = length; k < length + padding; ++k)
      turned[size_t(n)].push_back(beyond(mma.getRhs(), {k, n}));
  }
  SmallVector<Cell, 0> row;
  int64_t last = -1;
  return build(op, in, shape, [&](ArrayRef<int64_t> index) {
    const Cell &start = acc->at(index);
    if (start.state == State::Absent)
      return start;
    int64_t m = rows ? index[0] : 0, n = columns ? index.back() : 0;
    if (m != last) {
      row.clear();
      if (mma.getMeta())
        row = spreadRow(*lhs, in.array(mma.getMeta()), m, depth, in);
      for (int64_t k = 0; k < depth && !mma.getMeta(); ++k)
        row.push_back(taken(lhs->cells[size_t(m * lhs->shape.back() + k)]));
      for (int64_t k = length; k < length + padding; ++k)
        row.push_back(beyond(mma.getLhs(), {m, k}));
      last = m;
    }
    return in.domain.dot({from, to, to}, row, turned[size_t(n)], &start);
  });
}

//===----------------------------------------------------------------------===//
// Random numbers, checks, prints
//===----------------------------------------------------------------------===//

/// Philox 4x32-10 of counter (index, 0) and key seed; its first word.
static uint32_t philox(uint64_t seed, uint64_t index) {
  uint32_t key[] = {uint32_t(seed), uint32_t(seed >> 32)};
  uint32_t x[] = {uint32_t(index), uint32_t(index >> 32), 0, 0};
  for (int round = 0; round < 10; ++round) {
    uint64_t first = uint64_t(x[0]) * 0xD2511F53u;
    uint64_t second = uint64_t(x[2]) * 0xCD9E8D57u;
    uint32_t next[] = {uint32_t(second >> 32) ^ x[1] ^ key[0], uint32_t(second),
                       uint32_t(first >> 32) ^ x[3] ^ key[1], uint32_t(first)};
    std::copy(std::begin(next), std::end(next), std::begin(x));
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return x[0];
}

static LogicalResult runRand(Operation *op, Interpreter &in) {
  auto rand = cast<tile::RandOp>(op);
  const Cell &seed = in.array(rand.getSeed()).cells[0];
  const Array &indices = in.array(rand.getIndex());
  size_t next = 0;
  return build(op, in, indices.shape, [&](ArrayRef<int64_t>) {
    const Cell &index = indices.cells[next++];
    if (!index.present() || !seed.present())
      return index.present() ? seed : index;
    uint32_t bits =
        philox(uint64_t(seed.integer), uint64_t(index.integer)) >> 8;
    return in.domain.constant(elementOf(op->getResult(0)),
                              std::ldexp((long double)bits, -24));
  });
}

static LogicalResult runAssert(Operation *op, Interpreter &in) {
  auto check = cast<tile::AssertOp>(op);
  const Array &given = in.array(check.getCondition());
  Array clipped;
  const Array &condition =
      given.rank() == 0 ? given : clipToNest(given, clipped, in);
  for (const Cell &cell : condition.cells) {
    if (cell.state == State::Poison)
      return in.reject(op, cell, "the assertion");
    if (cell.present() && !in.domain.isTrue(cell))
      return op->emitError() << check.getMessage();
  }
  return success();
}

static DatumRef printable(Value value, Interpreter &in) {
  if (auto *view = dyn_cast<View>(in.get(value).get()))
    return share(view->toArray());
  return share(whole(value, in.array(value)));
}

/// A whole line or, on the CPU's mapped level, its pieces.
static LogicalResult runPrint(Operation *op, Interpreter &in) {
  auto print = cast<tile::PrintOp>(op);
  KernelState &state = stateOf(in);
  auto finish = [&](StringRef text, ArrayRef<DatumRef> values) {
    state.lines[state.program].push_back(formatPrint(text, values, in.domain));
  };
  using tile::PrintPart;
  std::optional<PrintPart> piece = print.getPart();
  if (!piece) {
    Data values;
    for (Value value : print.getValues())
      values.push_back(printable(value, in));
    finish(print.getText(), values);
  } else if (piece == PrintPart::Begin) {
    state.text = print.getText().str();
    state.pieces.clear();
  } else if (piece == PrintPart::End) {
    finish(state.text, state.pieces);
  } else if (piece == PrintPart::Value) {
    for (Value value : print.getValues())
      state.pieces.push_back(printable(value, in));
  } else if (piece == PrintPart::Element) {
    Value tile = print.getValues()[0];
    Array clipped;
    state.pieces.push_back(
        share(whole(tile, clipToNest(in.array(tile), clipped, in))));
  } // the element says all of the axes
  return success();
}

void interpreter::registerTileValues(Handlers &handlers) {
  handlers.add("tile.range_at", runRangeAt);
  handlers.add("tile.range_start", runRangeStart);
  handlers.add("tile.range_stop", runRangeStop);
  handlers.add("tile.index", runIndex);
  handlers.add("tile.for", runFor);
  handlers.add("tile.fill", runFill);
  handlers.add("tile.broadcast", runBroadcast);
  handlers.add("tile.transpose", runTranspose);
  handlers.add("tile.reshape", runReshape);
  handlers.add("tile.cat", runCat);
  handlers.add("tile.splice", runSplice);
  handlers.add("tile.filled", runFilled);
  handlers.add("tile.convert_layout", runConvertLayout);
  handlers.add("tile.reduce", runReduce);
  handlers.add("tile.scan", runScan);
  handlers.add("tile.mma", runMma);
  handlers.add("tile.rand", runRand);
  handlers.add("tile.assert", runAssert);
  handlers.add("tile.print", runPrint);
}
