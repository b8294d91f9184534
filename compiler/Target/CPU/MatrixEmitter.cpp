//===- MatrixEmitter.cpp - Matrix steps by fused multiply-add -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C[M, N] += A[M, K] * B[K, N] with C in scratch, B in panels of `columns`:
//
//   for each panel j:                      B panel: [K][columns], in L1
//     for i in 0 .. M step rows:
//       rows x columns of C in registers
//       for k: load a row of the panel; for each of the rows: broadcast
//              A[i + r, k], multiply, add
//
// A core broadcasts one number a cycle and multiplies two vectors, so with one
// vector of columns, or one and a half, two steps of k are taken at once: a
// pair of numbers of A is broadcast for pairs of B, half a vector of columns
// each. The sums of even and odd k are added in the end.
//
// With rows for one or two register tiles only, k is cut into short pieces and
// the loop over j is inside: B is then read along its rows, as memory likes it.
//
// C is padded to whole register tiles, rows past M read the last row of A, and
// what they compute does not exist. Masked are the columns of B alone, where
// there are few of them or few rows.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/NestEmitter.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

namespace {
/// A matrix in memory: element (i, j) at base + i * row + j * column.
struct Matrix {
  Value base, row, column;
};

class MatrixStep {
public:
  MatrixStep(CpuLowering &lower, tile::NestOp nest);
  void run();

private:
  Matrix readLhs(Value tile, Value &inside);
  void tileLoop(Value i, Value j);
  void panelLoop(Value j, int64_t used, int64_t halfVectors = 0);
  Value takesPairs();
  void runThin();
  void thinTile(Value i, Value j, Value from, Value start);
  SmallVector<Value> columnMasks(Value j);
  void storeDirectly(ArrayRef<Value> sums, Value i, Value j);
  /// Of a register tile: the panel of B, its rows of A, its vectors of C.
  struct Block {
    Value panel;
    SmallVector<Value> rows, sums;
  };
  Block blockAt(Value i, Value j);
  SmallVector<Value> startSums(const Block &block, Value none);
  void steps(SmallVectorImpl<Value> &sums, const Block &block, Value k,
             int64_t count);
  Value loadColumns(Value line, int64_t v);
  Value pairOf(Value even, Value odd, int64_t half);
  void pairSteps(SmallVectorImpl<Value> &sums, const Block &block, Value k,
                 int64_t count);
  void addPairs(SmallVectorImpl<Value> &sums, ArrayRef<Value> pairs);
  Value multiplyAdd(Value a, Value b, Value c);

  CpuLowering &lower;
  OpBuilder &builder;
  tile::MmaOp mma;
  Value m, n, k; // lengths
  Matrix lhs;
  CpuPanels panels;
  Value result; // pointer
  Value first;  // i1: nothing was summed before
  std::optional<CpuDirect> direct;
  SmallVector<Value> masks; // columns of B that exist; empty: all
  Type element;
  int64_t rows, columns, lanes, vectors, resultStride;
  int64_t halves = 0; // of vectors, if k is taken in pairs
  bool packed;
  tile::NestOp nest;
};
} // namespace

MatrixStep::MatrixStep(CpuLowering &lower, tile::NestOp nest)
    : lower(lower), builder(lower.builder), mma(cpu::stepIn(nest)), nest(nest) {
  m = lower.ranges[nest.getAxes()[0]].length;
  n = lower.ranges[nest.getAxes()[1]].length;
  k = lower.ranges[nest.getAxes()[2]].length;
  element = getElementTypeOrSelf(mma.getAcc().getType());
  ArrayRef<int64_t> registers = *nest.getRegisterTile();
  rows = registers[0];
  vectors = registers[1];
  lanes = registers[2];
  columns = vectors * lanes;
  Value inside;
  lhs = readLhs(mma.getLhs(), inside);
  panels = lower.panelsOf(mma.getRhs(), 1, columns, inside);
  // What lies outside of its view is 0: nothing is added.
  if (inside)
    k = arith::SelectOp::create(builder, lower.loc, inside, k,
                                lower.constant(0));
  result = lower.buffers[cpu::sumOf(nest)];
  resultStride = tile::CpuBuffer(cpu::sumOf(nest).getType()).stride(0);
  auto load = mma.getRhs().getDefiningOp<tile::LoadOp>();
  packed = load && tile::CpuPacking::of(load.getView());
  first = lower.startsFromZero(nest);
  direct = lower.directOf(nest);
}

Matrix MatrixStep::readLhs(Value tile, Value &inside) {
  if (auto transpose = tile.getDefiningOp<tile::TransposeOp>()) {
    Matrix matrix = readLhs(transpose.getInput(), inside);
    if (transpose.getPermutation()[0] == 1)
      std::swap(matrix.row, matrix.column);
    return matrix;
  }
  if (auto load = tile.getDefiningOp<tile::LocalLoadOp>()) {
    tile::CpuBuffer layout(load.getBuffer().getType());
    return {lower.buffers[load.getBuffer()], lower.constant(layout.stride(0)),
            lower.constant(1)};
  }
  auto load = tile.getDefiningOp<tile::LoadOp>();
  const CpuView &view = lower.views[load.getView()];
  SmallVector<Value> strides;
  for (auto [axis, index] : llvm::enumerate(load.getIndices()))
    if (isa<tile::RangeType>(index.getType()))
      strides.push_back(view.strides[axis]);
  return {lower.tileStart(load.getView(), load.getIndices(), inside),
          strides[0], strides[1]};
}

Value MatrixStep::multiplyAdd(Value a, Value b, Value c) {
  if (isa<FloatType>(element))
    // vector.fma may be split in two roundings; this one may not.
    return math::FmaOp::create(builder, lower.loc, a, b, c);
  return arith::AddIOp::create(builder, lower.loc, c,
                               arith::MulIOp::create(builder, lower.loc, a, b));
}

/// Vector `v` of a line of B.
Value MatrixStep::loadColumns(Value line, int64_t v) {
  return lower.maskedLoad(
      lower.pointerTo(line, lower.constant(v * lanes), element), element, lanes,
      masks.empty() ? Value() : masks[v]);
}

void MatrixStep::steps(SmallVectorImpl<Value> &sums, const Block &block,
                       Value at, int64_t count) {
  Value line =
      lower.pointerTo(block.panel, lower.mul(at, panels.along), element);
  for (int64_t step = 0; step < count; ++step) {
    SmallVector<Value> b;
    for (int64_t v = 0; v < vectors; ++v)
      b.push_back(loadColumns(line, v));
    line = lower.pointerTo(line, panels.along, element);
    Value offset = lower.mul(lower.addConstant(at, step), lhs.column);
    for (int64_t r = 0; r < rows; ++r) {
      Value a = lower.splat(
          lower.load(lower.pointerTo(block.rows[r], offset, element), element,
                     0),
          lanes);
      for (int64_t v = 0; v < vectors; ++v) {
        Value &sum = sums[r * vectors + v];
        sum = multiplyAdd(a, b[v], sum);
      }
    }
  }
}

/// Whether (i1) two neighbours along k are one broadcast; null: never.
Value MatrixStep::takesPairs() {
  if (!nest.getPairsOfK())
    return {};
  auto program = nest.getAxes()[1].getDefiningOp<tile::ProgramOp>();
  int64_t axis = cast<OpResult>(nest.getAxes()[1]).getResultNumber();
  return lower.less(lower.values.lookup(program.getExtents()[axis]),
                    lower.constant(lanes + lanes / 2 + 1));
}

/// Half of the columns of two vectors, each column's numbers side by side. The
/// first half is the lower half of each 128 bits, as `vunpcklps` takes it; of
/// a vector that is needed by half, it is the lower half of all.
Value MatrixStep::pairOf(Value even, Value odd, int64_t half) {
  SmallVector<int64_t> order;
  bool alone = halves % 2 && half == halves - 1;
  for (int64_t lane = 0; lane < lanes / 2; ++lane) {
    int64_t column = alone ? lane : lane / 2 * 4 + half % 2 * 2 + lane % 2;
    order.append({column, lanes + column});
  }
  return vector::ShuffleOp::create(builder, lower.loc, even, odd, order);
}

/// As `steps`, two at a time.
void MatrixStep::pairSteps(SmallVectorImpl<Value> &sums, const Block &block,
                           Value at, int64_t count) {
  Type pair = builder.getF64Type();
  Value line =
      lower.pointerTo(block.panel, lower.mul(at, panels.along), element);
  for (int64_t step = 0; step < count; step += 2) {
    SmallVector<Value> b[2], pairs;
    for (SmallVector<Value> &of : b) {
      for (int64_t v = 0; v < vectors; ++v)
        of.push_back(loadColumns(line, v));
      line = lower.pointerTo(line, panels.along, element);
    }
    for (int64_t half = 0; half < halves; ++half)
      pairs.push_back(pairOf(b[0][half / 2], b[1][half / 2], half));
    Value offset = lower.addConstant(at, step);
    for (int64_t r = 0; r < rows; ++r) {
      Value a = LLVM::LoadOp::create(
          builder, lower.loc, pair,
          lower.pointerTo(block.rows[r], offset, element), /*alignment=*/4);
      a = vector::BitCastOp::create(builder, lower.loc,
                                    VectorType::get({lanes}, element),
                                    lower.splat(a, lanes / 2));
      for (int64_t half = 0; half < halves; ++half) {
        Value &sum = sums[r * halves + half];
        sum = multiplyAdd(a, pairs[half], sum);
      }
    }
  }
}

/// Adds the sums of even and odd k to those of all.
void MatrixStep::addPairs(SmallVectorImpl<Value> &sums, ArrayRef<Value> pairs) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vectors; ++v) {
      bool alone = 2 * v + 1 == halves;
      Value low = pairs[r * halves + 2 * v];
      Value high = alone ? low : pairs[r * halves + 2 * v + 1];
      SmallVector<int64_t> even, odd;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        int64_t at =
            alone ? lane * 2 % lanes
                  : lane / 4 * 4 + lane % 2 * 2 + (lane % 4 < 2 ? 0 : lanes);
        even.push_back(at);
        odd.push_back(at + 1);
      }
      Value both = arith::AddFOp::create(
          builder, lower.loc,
          vector::ShuffleOp::create(builder, lower.loc, low, high, even),
          vector::ShuffleOp::create(builder, lower.loc, low, high, odd));
      Value &sum = sums[r * vectors + v];
      sum = arith::AddFOp::create(builder, lower.loc, sum, both);
    }
}

/// Where the rows x columns of C from row `i` and column `j` on come from and
/// go to.
MatrixStep::Block MatrixStep::blockAt(Value i, Value j) {
  Block block;
  Value number =
      arith::DivUIOp::create(builder, lower.loc, j, lower.constant(columns));
  block.panel =
      lower.pointerTo(panels.base, lower.mul(number, panels.stride), element);
  Value last = lower.sub(m, lower.constant(1));
  for (int64_t r = 0; r < rows; ++r) {
    Value row = lower.addConstant(i, r);
    block.rows.push_back(lower.pointerTo(
        lhs.base, lower.mul(lower.minimum(row, last), lhs.row), element));
    Value line = lower.pointerTo(
        result, lower.add(lower.mul(row, lower.constant(resultStride)), j),
        element);
    for (int64_t v = 0; v < vectors; ++v)
      block.sums.push_back(
          lower.pointerTo(line, lower.constant(v * lanes), element));
  }
  return block;
}

/// The sums so far: zero if there are none.
SmallVector<Value> MatrixStep::startSums(const Block &block, Value none) {
  auto begin = scf::IfOp::create(
      builder, lower.loc, none,
      [&](OpBuilder &, Location) {
        Value zero = lower.splatConstant(builder.getZeroAttr(element), lanes);
        scf::YieldOp::create(builder, lower.loc,
                             SmallVector<Value>(block.sums.size(), zero));
      },
      [&](OpBuilder &, Location) {
        SmallVector<Value> values;
        for (Value place : block.sums)
          values.push_back(lower.load(place, element, lanes));
        scf::YieldOp::create(builder, lower.loc, values);
      });
  return llvm::to_vector_of<Value>(begin.getResults());
}

void MatrixStep::tileLoop(Value i, Value j) {
  Block block = blockAt(i, j);
  SmallVector<Value> sums = startSums(block, first);
  int64_t unroll = halves || columns == vectors * lanes ? 8 : 4;
  Value more = lower.less(lower.addConstant(j, columns), n);
  Value next = arith::SelectOp::create(
      builder, lower.loc, more,
      lower.pointerTo(block.panel, panels.stride, element),
      lower.pointerTo(panels.base, lower.mul(k, lower.constant(columns)),
                      element));
  int64_t bytes = columns * tile::scratchBytesOf(element);
  CpuLowering::Ahead ahead = lower.fetchAhead(
      nest, rows, i, bytes * unroll / 64,
      arith::DivUIOp::create(builder, lower.loc, k, lower.constant(unroll)));
  Value rest =
      arith::RemUIOp::create(builder, lower.loc, k, lower.constant(unroll));
  Value whole = lower.sub(k, rest);
  auto loop = [&](Value from, Value to, int64_t count,
                  SmallVectorImpl<Value> &carried, bool pairs = false) {
    auto made = scf::ForOp::create(
        builder, lower.loc, from, to, lower.constant(count), carried,
        [](OpBuilder &, Location, Value, ValueRange) {});
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(made.getBody());
    SmallVector<Value> inner(made.getRegionIterArgs());
    if (count > 1 && packed)
      for (int64_t line = 0; line < ahead.lines; ++line)
        lower.prefetch(
            next,
            lower.add(ahead.offset,
                      lower.addConstant(
                          lower.mul(made.getInductionVar(),
                                    lower.constant(ahead.lines * 64 / unroll)),
                          line * 64)));
    if (pairs)
      pairSteps(inner, block, made.getInductionVar(), count);
    else
      steps(inner, block, made.getInductionVar(), count);
    scf::YieldOp::create(builder, lower.loc, inner);
    carried.assign(made.getResults().begin(), made.getResults().end());
  };
  if (halves) {
    SmallVector<Value> pairs(
        rows * halves,
        lower.splatConstant(builder.getZeroAttr(element), lanes));
    loop(lower.constant(0), whole, unroll, pairs, /*pairs=*/true);
    addPairs(sums, pairs);
  } else {
    loop(lower.constant(0), whole, unroll, sums);
  }
  loop(whole, k, 1, sums);
  scf::IfOp where;
  OpBuilder::InsertionGuard guard(builder);
  if (direct) {
    where = scf::IfOp::create(builder, lower.loc, direct->last, true);
    builder.setInsertionPointToStart(where.thenBlock());
    storeDirectly(sums, i, j);
    builder.setInsertionPointToStart(where.elseBlock());
  }
  for (auto [sum, place] : llvm::zip(sums, block.sums))
    lower.store(sum, place);
}

/// Which columns from `j` on exist, by vectors.
SmallVector<Value> MatrixStep::columnMasks(Value j) {
  SmallVector<Value> masks;
  for (int64_t v = 0; v < vectors; ++v) {
    Value left = lower.sub(n, lower.addConstant(j, v * lanes));
    left = arith::MaxSIOp::create(builder, lower.loc, left, lower.constant(0));
    masks.push_back(lower.firstLanes(left, lanes));
  }
  return masks;
}

/// The finished sums to the result, as far as it goes.
void MatrixStep::storeDirectly(ArrayRef<Value> sums, Value i, Value j) {
  SmallVector<Value> lines;
  for (int64_t r = 0; r < rows; ++r)
    lines.push_back(lower.pointerTo(
        direct->base,
        lower.add(lower.mul(lower.addConstant(i, r), direct->row), j),
        element));
  auto place = [&](int64_t r, int64_t v) {
    return lower.pointerTo(lines[r], lower.constant(v * lanes), element);
  };
  Value whole = arith::AndIOp::create(
      builder, lower.loc, lower.less(lower.addConstant(i, rows - 1), m),
      lower.less(lower.addConstant(j, vectors * lanes - 1), n));
  auto choice = scf::IfOp::create(builder, lower.loc, whole, true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(choice.thenBlock());
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      if (direct->streams)
        lower.streamingStore(sums[r * vectors + v], place(r, v));
      else
        lower.store(sums[r * vectors + v], place(r, v));
  builder.setInsertionPointToStart(choice.elseBlock());
  SmallVector<Value> masks = columnMasks(j);
  for (int64_t r = 0; r < rows; ++r) {
    auto exists = scf::IfOp::create(
        builder, lower.loc, lower.less(lower.addConstant(i, r), m), false);
    OpBuilder::InsertionGuard inside(builder);
    builder.setInsertionPointToStart(exists.thenBlock());
    for (int64_t v = 0; v < vectors; ++v)
      lower.maskedStore(sums[r * vectors + v], place(r, v), masks[v]);
  }
}

/// All rows of one panel, of which `used` vectors are needed. One alone takes
/// eight rows of memory: sums enough to keep the multipliers busy, and no more
/// than a set of the first-level cache holds where they are pages apart. Pairs
/// of k, of so many `halfVectors`, do so too, or take what divides a register
/// tile.
void MatrixStep::panelLoop(Value j, int64_t used, int64_t halfVectors) {
  MatrixStep narrow = *this;
  narrow.vectors = used;
  narrow.halves = halfVectors;
  int64_t size = cast<tile::RangeType>(nest.getAxes()[0].getType()).getSize();
  bool near = vectors == 1 && mma.getLhs().getDefiningOp<tile::LocalLoadOp>();
  if ((halfVectors || (used == 1 && !near)) && size % 8 == 0)
    narrow.rows = 8;
  else if (halfVectors)
    while (narrow.rows > 8 || rows % narrow.rows != 0)
      --narrow.rows;
  auto inner = scf::ForOp::create(builder, lower.loc, lower.constant(0), m,
                                  lower.constant(narrow.rows));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(inner.getBody()->getTerminator());
  narrow.tileLoop(inner.getInductionVar(), j);
}

/// Steps `from` to `from` + 8, or to the end, of row `i` and column `j`;
/// `start`: nothing was summed before.
void MatrixStep::thinTile(Value i, Value j, Value from, Value start) {
  constexpr int64_t piece = 8;
  Block block = blockAt(i, j);
  SmallVector<Value> begin = startSums(block, start);
  auto sum = [&](Value at, int64_t count, ValueRange before) {
    SmallVector<Value> sums(before);
    steps(sums, block, at, count);
    scf::YieldOp::create(builder, lower.loc, sums);
  };
  Value whole = arith::AndIOp::create(
      builder, lower.loc, lower.less(lower.addConstant(from, piece - 1), k),
      lower.less(lower.addConstant(j, columns - 1), n));
  auto made = scf::IfOp::create(
      builder, lower.loc, whole,
      [&](OpBuilder &, Location) { sum(from, piece, begin); },
      [&](OpBuilder &, Location) {
        Value end = lower.minimum(k, lower.addConstant(from, piece));
        masks = columnMasks(j);
        auto rest = scf::ForOp::create(
            builder, lower.loc, from, end, lower.constant(1), begin,
            [](OpBuilder &, Location, Value, ValueRange) {});
        {
          OpBuilder::InsertionGuard guard(builder);
          builder.setInsertionPointToEnd(rest.getBody());
          sum(rest.getInductionVar(), 1, rest.getRegionIterArgs());
        }
        scf::YieldOp::create(builder, lower.loc, rest.getResults());
        masks.clear();
      });
  for (auto [value, place] : llvm::zip(made.getResults(), block.sums))
    lower.store(value, place);
}

void MatrixStep::runThin() {
  // At least one turn, in which the sum starts.
  Value turns =
      arith::MaxSIOp::create(builder, lower.loc, k, lower.constant(1));
  auto outer = scf::ForOp::create(builder, lower.loc, lower.constant(0), turns,
                                  lower.constant(8));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(outer.getBody()->getTerminator());
  Value from = outer.getInductionVar();
  Value start = arith::CmpIOp::create(
      builder, lower.loc, arith::CmpIPredicate::eq, from, lower.constant(0));
  start = arith::AndIOp::create(builder, lower.loc, start, first);
  auto inner = scf::ForOp::create(builder, lower.loc, lower.constant(0), n,
                                  lower.constant(columns));
  builder.setInsertionPoint(inner.getBody()->getTerminator());
  Value i = lower.constant(0);
  if (cast<tile::RangeType>(nest.getAxes()[0].getType()).getSize() > rows) {
    auto blocks =
        scf::ForOp::create(builder, lower.loc, i, m, lower.constant(rows));
    builder.setInsertionPoint(blocks.getBody()->getTerminator());
    i = blocks.getInductionVar();
  }
  thinTile(i, inner.getInductionVar(), from, start);
}

void MatrixStep::run() {
  if (cpu::isThin(nest)) {
    MatrixStep one = *this;
    one.rows = 1;
    Value single = arith::CmpIOp::create(
        builder, lower.loc, arith::CmpIPredicate::eq, m, lower.constant(1));
    scf::IfOp::create(
        builder, lower.loc, single,
        [&](OpBuilder &, Location) {
          one.runThin();
          scf::YieldOp::create(builder, lower.loc);
        },
        [&](OpBuilder &, Location) {
          runThin();
          scf::YieldOp::create(builder, lower.loc);
        });
    return;
  }
  auto outer = scf::ForOp::create(builder, lower.loc, lower.constant(0), n,
                                  lower.constant(columns));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(outer.getBody()->getTerminator());
  Value j = outer.getInductionVar();
  // A result of few columns, or the last ones of many, is not worth a whole
  // panel of multiplications.
  Value left = lower.sub(n, j);
  auto upTo = [&](int64_t few, int64_t used, int64_t halfVectors) {
    Value enough =
        arith::CmpIOp::create(builder, lower.loc, arith::CmpIPredicate::sle,
                              left, lower.constant(few));
    auto choice = scf::IfOp::create(builder, lower.loc, enough, true);
    builder.setInsertionPointToStart(choice.thenBlock());
    masks = columnMasks(j);
    panelLoop(j, used, halfVectors);
    masks.clear();
    builder.setInsertionPointToStart(choice.elseBlock());
  };
  if (Value pairs = takesPairs()) {
    auto choice = scf::IfOp::create(builder, lower.loc, pairs, true);
    builder.setInsertionPointToStart(choice.thenBlock());
    upTo(lanes / 2, 1, 1);
    upTo(lanes, 1, 2);
    if (vectors > 1)
      upTo(lanes + lanes / 2, 2, 3);
    builder.setInsertionPointToStart(choice.elseBlock());
  }
  for (int64_t few = 1; few <= int64_t(nest.getNarrowVectors()); ++few)
    upTo(few * lanes, few, 0);
  panelLoop(j, vectors);
}

void CpuLowering::emitMatrixStep(tile::NestOp nest) {
  if (nest.getUnit() == tile::MatrixUnit::Amx)
    emitAmxStep(nest);
  else
    MatrixStep(*this, nest).run();
}
