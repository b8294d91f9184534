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
/// `j` of the step: the next columns', or the first ones' further down, or
/// those of the next program.
Value CpuLowering::nextPanels(tile::NestOp nest, tile::LoadOp load,
                              const CpuPanels &panels, Value j) {
  const CpuView &view = views[load.getView()];
  const auto &columns = ranges[nest.getAxes()[1]],
             &depth = ranges[nest.getAxes()[2]];
  auto count = [&](Value column) {
    return mul(ceilDiv(column, constant(16)), panels.stride);
  };
  Value beside = count(addConstant(j, 32));
  Value further = mul(depth.length, panels.along);
  Value program = sub(count(columns.length), mul(depth.start, panels.along));
  Value isDeep = less(depth.stop, view.sizes[view.deepAxis()]);
  Value isWide = less(addConstant(j, 32), columns.length);
  Value next = arith::SelectOp::create(builder, loc, isDeep, further, program);
  next = arith::SelectOp::create(builder, loc, isWide, beside, next);
  return pointerTo(panels.base, next, view.element);
}

void CpuLowering::emitAmxStep(tile::NestOp nest) {
  tile::MmaOp mma;
  for (Operation &op : nest.getBody().front())
    if (auto found = dyn_cast<tile::MmaOp>(op))
      mma = found;
  Value m = ranges[nest.getAxes()[0]].length;
  Value n = ranges[nest.getAxes()[1]].length;
  Value k = ranges[nest.getAxes()[2]].length;
  Value inside;
  CpuPanels lhs = panelsOf(mma.getLhs(), 0, 16, inside);
  CpuPanels rhs = panelsOf(mma.getRhs(), 1, 16, inside);
  // What lies outside of its view is 0: nothing is added.
  if (inside)
    k = arith::SelectOp::create(builder, loc, inside, k, constant(0));
  auto out =
      cast<tile::LocalStoreOp>(*mma.getResult().user_begin()).getBuffer();
  int64_t stride = tile::CpuBuffer(out.getType()).stride(0);
  Value first = isFirst(nest);
  std::optional<CpuDirect> direct = resultOf(nest);
  Type element = getElementTypeOrSelf(mma.getLhs().getType());
  Type sum = getElementTypeOrSelf(mma.getAcc().getType());
  Value step = constant(tile::amxStep(element));
  Value rowBytes = constant(stride * 4);
  AmxTiles amx{*this, builder, element.isInteger()};

  // What the inner loop reads again and again stays near: a panel of B, or,
  // where B is narrow and deep, the rows of A.
  auto size = [&](int64_t axis) {
    return cast<tile::RangeType>(nest.getAxes()[axis].getType()).getSize();
  };
  bool rowsFirst =
      size(1) < size(2) && !nest.getAxes()[1].getDefiningOp<tile::ProgramOp>();
  OpBuilder::InsertionGuard guard(builder);
  auto open = [&](Value end) -> Value {
    auto loop =
        scf::ForOp::create(builder, loc, constant(0), end, constant(32));
    builder.setInsertionPoint(loop.getBody()->getTerminator());
    return loop.getInductionVar();
  };
  Value outer = open(rowsFirst ? m : n), inner = open(rowsFirst ? n : m);
  Value i = rowsFirst ? outer : inner, j = rowsFirst ? inner : outer;
  auto block = [&](int64_t columns) {
    SmallVector<Value> places, sums, a, b, rest;
    for (int64_t row : {0, 16}) {
      auto panel = [&](const CpuPanels &panels, Value at) {
        Value number = arith::DivUIOp::create(
            builder, loc, addConstant(at, row), constant(16));
        return pointerTo(panels.base, mul(number, panels.stride), element);
      };
      a.push_back(panel(lhs, i));
      if (lhs.rest)
        rest.push_back(panel({lhs.restBase, lhs.restStride}, i));
      if (row < 16 * columns)
        b.push_back(panel(rhs, j));
      for (int64_t column = 0; column < 16 * columns; column += 16)
        places.push_back(
            pointerTo(buffers[out],
                      add(mul(addConstant(i, row), constant(stride)),
                          addConstant(j, column)),
                      sum));
    }
    // Rows that do not exist are those before, once more.
    a[1] = arith::SelectOp::create(builder, loc, less(addConstant(i, 16), m),
                                   a[1], a[0]);
    auto start = [&](bool zero) {
      SmallVector<Value> tiles;
      for (Value place : places)
        tiles.push_back(zero ? amx.zero() : amx.load(place, rowBytes));
      return tiles;
    };
    auto begin = scf::IfOp::create(
        builder, loc, first,
        [&](OpBuilder &, Location) {
          scf::YieldOp::create(builder, loc, start(true));
        },
        [&](OpBuilder &, Location) {
          scf::YieldOp::create(builder, loc, start(false));
        });
    sums.assign(begin.result_begin(), begin.result_end());
    // The next columns are this program's, too, or in the second-level cache.
    SmallVector<Value> next;
    if (auto load = mma.getRhs().getDefiningOp<tile::LoadOp>();
        load && nest.getAxes()[1].getDefiningOp<tile::ProgramOp>()) {
      next.push_back(nextPanels(nest, load, rhs, j));
      next.push_back(pointerTo(next[0], rhs.stride, element));
    }
    Ahead ahead = fetchAhead(nest, 32, i, 16, ceilDiv(k, step));
    auto steps =
        scf::ForOp::create(builder, loc, constant(0), k, step, sums,
                           [](OpBuilder &, Location, Value, ValueRange) {});
    {
      OpBuilder::InsertionGuard inside(builder);
      builder.setInsertionPointToEnd(steps.getBody());
      Value at = steps.getInductionVar();
      Value down = mul(at, rhs.along), across = mul(at, lhs.along);
      int64_t bytes = tile::scratchBytesOf(element);
      for (Value panel : next)
        for (int64_t line = 0; line < ahead.lines; ++line)
          prefetch(panel,
                   add(ahead.offset,
                       addConstant(mul(at, constant(ahead.lines * bytes)),
                                   line * 64)));
      Value b0 = amx.load(pointerTo(b[0], down, element), rhs.row);
      Value whole = lhs.rest ? less(at, lhs.rest) : Value();
      auto left = [&](int64_t row) {
        Value place = pointerTo(a[row], across, element), bytes = lhs.row;
        if (whole) {
          place =
              arith::SelectOp::create(builder, loc, whole, place, rest[row]);
          bytes =
              arith::SelectOp::create(builder, loc, whole, bytes, constant(64));
        }
        return amx.load(place, bytes);
      };
      Value a0 = left(0);
      ValueRange before = steps.getRegionIterArgs();
      SmallVector<Value> after = {amx.multiply(before[0], a0, b0)},
                         right = {b0};
      if (columns == 2) {
        right.push_back(amx.load(pointerTo(b[1], down, element), rhs.row));
        after.push_back(amx.multiply(before[1], a0, right[1]));
      }
      Value a1 = left(1);
      for (auto [column, tile] : llvm::enumerate(right))
        after.push_back(amx.multiply(before[columns + column], a1, tile));
      scf::YieldOp::create(builder, loc, after);
    }
    auto storeTiles = [&](Value rowBytes) {
      for (auto [place, result] :
           llvm::reverse(llvm::zip_equal(places, steps.getResults())))
        amx.store(result, place, rowBytes);
    };
    if (!direct)
      return storeTiles(rowBytes);
    auto where = scf::IfOp::create(builder, loc, direct->last, true);
    OpBuilder::InsertionGuard inside(builder);
    builder.setInsertionPointToStart(where.elseBlock());
    storeTiles(rowBytes);
    builder.setInsertionPointToStart(where.thenBlock());
    // A tile that does not exist goes where the one before it goes later.
    auto lastOf = [&](Value at, int64_t further, Value length) {
      return minimum(addConstant(at, further), sub(length, constant(16)));
    };
    places.clear();
    for (int64_t row : {0, 16})
      for (int64_t column = 0; column < 16 * columns; column += 16)
        places.push_back(pointerTo(
            direct->base,
            add(mul(lastOf(i, row, m), direct->row), lastOf(j, column, n)),
            sum));
    storeTiles(mul(direct->row, constant(4)));
  };
  // Of 80 columns, the last 16 take half of the products.
  int64_t last = size(1) % 32;
  if (last == 0 || last > 16)
    return block(2);
  auto both =
      scf::IfOp::create(builder, loc, less(addConstant(j, 16), n), true);
  builder.setInsertionPointToStart(both.thenBlock());
  block(2);
  builder.setInsertionPointToStart(both.elseBlock());
  block(1);
}
