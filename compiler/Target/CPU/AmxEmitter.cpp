//===- AmxEmitter.cpp - Matrix steps by AMX tiles -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bf16 x bf16 into f32, i8 x i8 into i32: 32 x 32 of C in four tile registers,
// two of A and two of B per 64 bytes of k. Operands lie in tiles of 1 KiB
// (NestPacking.cpp), so every tile load is one contiguous kilobyte; A may be
// read where it lies, row by row. C is row-major, in scratch or where the
// result lies. LLVM writes the tile configuration.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/CpuLowering.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

namespace {
struct AmxTiles {
  CpuLowering &lower;
  OpBuilder &builder;
  bool integer;
  Type tile = LLVM::LLVMX86AMXType::get(builder.getContext());

  Value number(int64_t value) {
    return arith::ConstantOp::create(builder, lower.loc,
                                     builder.getI16IntegerAttr(value));
  }
  Value call(StringRef name, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(builder, lower.loc, tile,
                                         builder.getStringAttr(name), operands)
        .getResult(0);
  }
  Value zero() {
    return call("llvm.x86.tilezero.internal", {number(16), number(64)});
  }
  Value load(Value pointer, Value rowBytes) {
    return call("llvm.x86.tileloadd64.internal",
                {number(16), number(64), pointer, rowBytes});
  }
  void store(Value value, Value pointer, Value rowBytes) {
    LLVM::CallIntrinsicOp::create(
        builder, lower.loc,
        builder.getStringAttr("llvm.x86.tilestored64.internal"),
        ValueRange{number(16), number(64), pointer, rowBytes, value});
  }
  Value multiply(Value sum, Value a, Value b) {
    return call(integer ? "llvm.x86.tdpbssd.internal"
                        : "llvm.x86.tdpbf16ps.internal",
                {number(16), number(64), number(64), sum, a, b});
  }
};
} // namespace

/// The panels of a packed right operand that are read after those at column
/// `j`, of the 64 columns at `pair`: 64 columns on, or the first ones' further
/// down, or those of the next program.
Value CpuLowering::nextPanels(tile::NestOp nest, tile::LoadOp load,
                              const CpuPanels &panels, Value pair, Value j) {
  const CpuView &view = views[load.getView()];
  const auto &columns = ranges[nest.getAxes()[1]],
             &depth = ranges[nest.getAxes()[2]];
  auto count = [&](Value column) {
    return mul(ceilDiv(column, constant(16)), panels.stride);
  };
  Value beside = count(addConstant(pair, 64));
  Value further = mul(depth.length, panels.along);
  Value program = sub(count(columns.length), mul(depth.start, panels.along));
  Value isDeep = less(depth.stop, view.sizes[view.deepAxis()]);
  Value isWide = less(addConstant(pair, 64), columns.length);
  Value next = arith::SelectOp::create(builder, loc, isDeep, further, program);
  next = arith::SelectOp::create(builder, loc, isWide, beside, next);
  return pointerTo(panels.base, add(next, count(sub(j, pair))), view.element);
}

namespace {
class AmxStep {
public:
  AmxStep(CpuLowering &lower, tile::NestOp nest);
  void run();

private:
  /// 32 rows and 16 or 32 columns of C: their places in scratch, and the panels
  /// of A and B that they are sums of.
  struct Block {
    SmallVector<Value> places, a, b, rest;
    int64_t columns; // of tiles: 1 or 2
  };
  void emitBlocks();
  void emitBlock(int64_t columns);
  Value placeAt(Value column);
  Value placeOfPair();
  Block blockAt(int64_t columns);
  Value panelAt(Value base, Value stride, Value at);
  SmallVector<Value> startSums(const Block &block);
  SmallVector<Value> nextPanels();
  SmallVector<Value> multiply(const Block &block, Value at, ValueRange sums);
  void storeSums(ArrayRef<Value> places, ValueRange sums, Value rowBytes);
  SmallVector<Value> placesInResult(int64_t columns);
  int64_t sizeOf(int64_t axis) {
    return cast<tile::RangeType>(nest.getAxes()[axis].getType()).getSize();
  }

  CpuLowering &lower;
  OpBuilder &builder;
  Location loc;
  tile::NestOp nest;
  tile::MmaOp mma;
  Value m, n, k; // lengths
  Value i, j;    // the block's row and column
  Value pair;    // the first of its 64 columns
  CpuPanels lhs, rhs;
  Value out, result; // the buffer of C, and where it is
  int64_t resultStride;
  Value first; // i1: nothing was summed before
  std::optional<CpuDirect> direct;
  tile::NestOp epilogue; // makes results of the sum
  Value last;            // i1: and may do so now
  Type element, sum;
  AmxTiles amx;
};
} // namespace

AmxStep::AmxStep(CpuLowering &lower, tile::NestOp nest)
    : lower(lower), builder(lower.builder), loc(lower.loc), nest(nest),
      mma(cpu::stepIn(nest)),
      element(getElementTypeOrSelf(mma.getLhs().getType())),
      sum(getElementTypeOrSelf(mma.getAcc().getType())),
      amx{lower, builder, element.isInteger()} {
  m = lower.ranges[nest.getAxes()[0]].length;
  n = lower.ranges[nest.getAxes()[1]].length;
  k = lower.ranges[nest.getAxes()[2]].length;
  Value inside;
  lhs = lower.panelsOf(mma.getLhs(), 0, 16, inside);
  rhs = lower.panelsOf(mma.getRhs(), 1, 16, inside);
  // What lies outside of its view is 0: nothing is added.
  if (inside)
    k = arith::SelectOp::create(builder, loc, inside, k, lower.constant(0));
  out = cpu::sumOf(nest);
  result = lower.buffers[out];
  resultStride = tile::CpuBuffer(cpu::sumOf(nest).getType()).stride(0);
  first = lower.startsFromZero(nest);
  direct = lower.directOf(nest);
  if ((epilogue = cpu::epilogueOf(nest)))
    last = lower.values.lookup(cpu::branchOf(nest).getCondition());
}

Value AmxStep::panelAt(Value base, Value stride, Value at) {
  Value number = arith::DivUIOp::create(builder, loc, at, lower.constant(16));
  return lower.pointerTo(base, lower.mul(number, stride), element);
}

Value AmxStep::placeAt(Value column) {
  Value row = lower.mul(i, lower.constant(resultStride));
  return lower.pointerTo(result, lower.add(row, column), sum);
}

/// Where sums of 64 columns are. Those that become results at once need no more
/// place than they take.
Value AmxStep::placeOfPair() {
  Value both = arith::AndIOp::create(builder, loc, first, last);
  return arith::SelectOp::create(builder, loc, both, result, placeAt(pair));
}

AmxStep::Block AmxStep::blockAt(int64_t columns) {
  Block block;
  block.columns = columns;
  Value corner = epilogue
                     ? lower.pointerTo(placeOfPair(), lower.sub(j, pair), sum)
                     : placeAt(j);
  for (int64_t row : {0, 16}) {
    Value at = lower.addConstant(i, row);
    block.a.push_back(panelAt(lhs.base, lhs.stride, at));
    if (lhs.rest)
      block.rest.push_back(panelAt(lhs.restBase, lhs.restStride, at));
    if (row < 16 * columns)
      block.b.push_back(
          panelAt(rhs.base, rhs.stride, lower.addConstant(j, row)));
    for (int64_t column = 0; column < 16 * columns; column += 16)
      block.places.push_back(lower.pointerTo(
          corner, lower.constant(row * resultStride + column), sum));
  }
  // Rows that do not exist are those before, once more.
  block.a[1] = arith::SelectOp::create(builder, loc,
                                       lower.less(lower.addConstant(i, 16), m),
                                       block.a[1], block.a[0]);
  return block;
}

/// The sums so far: zero if there are none.
SmallVector<Value> AmxStep::startSums(const Block &block) {
  Value rowBytes = lower.constant(resultStride * 4);
  auto start = [&](bool zero) {
    SmallVector<Value> tiles;
    for (Value place : block.places)
      tiles.push_back(zero ? amx.zero() : amx.load(place, rowBytes));
    scf::YieldOp::create(builder, loc, tiles);
  };
  auto begin = scf::IfOp::create(
      builder, loc, first, [&](OpBuilder &, Location) { start(true); },
      [&](OpBuilder &, Location) { start(false); });
  return llvm::to_vector_of<Value>(begin.getResults());
}

/// The next columns are this program's, too, or in the second-level cache.
SmallVector<Value> AmxStep::nextPanels() {
  auto load = mma.getRhs().getDefiningOp<tile::LoadOp>();
  if (!load || !nest.getAxes()[1].getDefiningOp<tile::ProgramOp>())
    return {};
  Value next = lower.nextPanels(nest, load, rhs, pair, j);
  return {next, lower.pointerTo(next, rhs.stride, element)};
}

/// `sums` and the products at `at` of k.
SmallVector<Value> AmxStep::multiply(const Block &block, Value at,
                                     ValueRange sums) {
  Value down = lower.mul(at, rhs.along), across = lower.mul(at, lhs.along);
  auto right = [&](int64_t column) {
    return amx.load(lower.pointerTo(block.b[column], down, element), rhs.row);
  };
  auto left = [&](int64_t row, Value whole) {
    Value place = lower.pointerTo(block.a[row], across, element);
    Value bytes = lhs.row;
    if (whole) {
      place =
          arith::SelectOp::create(builder, loc, whole, place, block.rest[row]);
      bytes = arith::SelectOp::create(builder, loc, whole, bytes,
                                      lower.constant(64));
    }
    return amx.load(place, bytes);
  };
  SmallVector<Value> b = {right(0)}, after;
  Value whole = lhs.rest ? lower.less(at, lhs.rest) : Value();
  Value a = left(0, whole);
  after.push_back(amx.multiply(sums[0], a, b[0]));
  if (block.columns == 2) {
    b.push_back(right(1));
    after.push_back(amx.multiply(sums[1], a, b[1]));
  }
  a = left(1, whole);
  for (auto [column, tile] : llvm::enumerate(b))
    after.push_back(amx.multiply(sums[block.columns + column], a, tile));
  return after;
}

void AmxStep::storeSums(ArrayRef<Value> places, ValueRange sums,
                        Value rowBytes) {
  for (auto [place, tile] : llvm::reverse(llvm::zip_equal(places, sums)))
    amx.store(tile, place, rowBytes);
}

/// A tile that does not exist goes where the one before it goes later.
SmallVector<Value> AmxStep::placesInResult(int64_t columns) {
  auto lastOf = [&](Value at, int64_t further, Value length) {
    return lower.minimum(lower.addConstant(at, further),
                         lower.sub(length, lower.constant(16)));
  };
  SmallVector<Value> places;
  for (int64_t row : {0, 16})
    for (int64_t column = 0; column < 16 * columns; column += 16)
      places.push_back(
          lower.pointerTo(direct->base,
                          lower.add(lower.mul(lastOf(i, row, m), direct->row),
                                    lastOf(j, column, n)),
                          sum));
  return places;
}

void AmxStep::emitBlock(int64_t columns) {
  Block block = blockAt(columns);
  SmallVector<Value> sums = startSums(block), next = nextPanels();
  int64_t step = tile::amxStep(element);
  CpuLowering::Ahead ahead =
      lower.fetchAhead(nest, 32, i, 16, lower.ceilDiv(k, lower.constant(step)));
  auto steps = scf::ForOp::create(
      builder, loc, lower.constant(0), k, lower.constant(step), sums,
      [](OpBuilder &, Location, Value, ValueRange) {});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(steps.getBody());
  Value at = steps.getInductionVar();
  int64_t bytes = ahead.lines * tile::scratchBytesOf(element);
  for (Value panel : next)
    for (int64_t line = 0; line < ahead.lines; ++line)
      lower.prefetch(panel, lower.add(ahead.offset,
                                      lower.addConstant(
                                          lower.mul(at, lower.constant(bytes)),
                                          line * 64)));
  scf::YieldOp::create(builder, loc,
                       multiply(block, at, steps.getRegionIterArgs()));
  builder.setInsertionPointAfter(steps);
  Value rowBytes = lower.constant(resultStride * 4);
  if (!direct)
    return storeSums(block.places, steps.getResults(), rowBytes);
  auto where = scf::IfOp::create(builder, loc, direct->last, true);
  builder.setInsertionPointToStart(where.elseBlock());
  storeSums(block.places, steps.getResults(), rowBytes);
  builder.setInsertionPointToStart(where.thenBlock());
  storeSums(placesInResult(columns), steps.getResults(),
            lower.mul(direct->row, lower.constant(4)));
}

void AmxStep::emitBlocks() {
  // Of 80 columns, the last 16 take half of the products.
  int64_t last = sizeOf(1) % 32;
  if (last == 0 || last > 16)
    return emitBlock(2);
  auto both = scf::IfOp::create(builder, loc,
                                lower.less(lower.addConstant(j, 16), n), true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(both.thenBlock());
  emitBlock(2);
  builder.setInsertionPointToStart(both.elseBlock());
  emitBlock(1);
}

void AmxStep::run() {
  OpBuilder::InsertionGuard guard(builder);
  auto open = [&](Value begin, Value end, int64_t step) -> Value {
    auto loop =
        scf::ForOp::create(builder, loc, begin, end, lower.constant(step));
    builder.setInsertionPoint(loop.getBody()->getTerminator());
    return loop.getInductionVar();
  };
  // What the inner loop reads again and again stays near: panels of B, or,
  // where B is narrow and deep, the rows of A.
  Value zero = lower.constant(0);
  if (sizeOf(1) < sizeOf(2) &&
      !nest.getAxes()[1].getDefiningOp<tile::ProgramOp>()) {
    i = open(zero, m, 32);
    j = open(zero, n, 32);
    return emitBlocks();
  }
  // Results of 64 columns are whole pairs of lines: half of them is slow.
  pair = open(zero, n, 64);
  i = open(zero, m, 32);
  j = open(pair, lower.minimum(lower.addConstant(pair, 64), n), 32);
  emitBlocks();
  if (!epilogue)
    return;
  builder.setInsertionPointAfter(j.getParentBlock()->getParentOp());
  auto now = scf::IfOp::create(builder, loc, last, false);
  builder.setInsertionPointToStart(now.thenBlock());
  llvm::SaveAndRestore place(lower.buffers[out], placeOfPair());
  lower.emitPart(epilogue, {i, pair}, {32, 64});
}

void CpuLowering::emitAmxStep(tile::NestOp nest) { AmxStep(*this, nest).run(); }
