//===- EmitAttention.cpp - Attention with an online softmax ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One program computes the rows `m` of one head and walks over the keys once:
//
//   top[m]     the largest score so far (base 2: scores carry log2(e))
//   den[m]     sum of exp2(score - top)
//   acc[m, d]  sum of exp2(score - top) * v
//
// When a block of keys raises the maximum, den and acc are scaled by
// exp2(old - new). `top` starts at the lowest finite number, so that no
// difference is inf - inf: a masked score (-inf) then weighs exactly 0.
//
//===----------------------------------------------------------------------===//

#include "compiler/ScheduleToTile/Emitter.h"

#include <limits>
#include <numbers>

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;
using schedule::rankOf;
using schedule::tensorType;

namespace {

struct AttentionEmitter {
  Emitter &e;
  graph::AttentionOp op;
  Value rows;
  int64_t rank;
  Type inner; ///< what scores are computed in

  OpBuilder &at() { return e.at(); }
  Location loc() const { return e.getLoc(); }
  template <typename Op, typename... Values> Value make(Values... operands) {
    return Op::create(at(), loc(), operands...);
  }
  Type tileType(ArrayRef<int64_t> shape, Type element) {
    return RankedTensorType::get(shape, element);
  }
  static int64_t sizeOf(Value range) {
    return cast<RangeType>(range.getType()).getSize();
  }

  /// A value per row, over [rows, other].
  Value across(Value perRow, Value other) {
    Type type =
        tileType({sizeOf(rows), sizeOf(other)}, getElementTypeOrSelf(perRow));
    return BroadcastOp::create(at(), loc(), type, perRow, ArrayRef<int64_t>{0},
                               other);
  }
  Value reduce(ReduceKind kind, Value tile) {
    return ReduceOp::create(at(), loc(), tileType({sizeOf(rows)}, inner), kind,
                            tile, 1);
  }
  /// Positions of a range, over [rows, keys].
  Value positions(Value range, Value keys, int64_t axis) {
    Type i64 = at().getI64Type();
    Value line =
        IndexOp::create(at(), loc(), tileType({sizeOf(range)}, i64), range);
    return BroadcastOp::create(
        at(), loc(), tileType({sizeOf(rows), sizeOf(keys)}, i64), line,
        ArrayRef<int64_t>{axis}, axis == 0 ? keys : rows);
  }

  /// log2(e) / sqrt(D), or log2(e) times the given scale.
  Value scale() {
    Value log2e = e.number(inner, std::numbers::log2e);
    if (op.getScale())
      return make<arith::MulFOp>(e.convert(e.emit(op.getScale(), {}), inner),
                                 log2e);
    Value size = e.extent(op.getQ(), rank - 1);
    size = arith::IndexCastOp::create(at(), loc(), at().getI64Type(), size);
    Value root = math::SqrtOp::create(at(), loc(), e.convert(size, inner));
    return make<arith::DivFOp>(log2e, root);
  }

  /// Grouped heads share a key/value head: h / (H / HK).
  Indices keyHeads(ArrayRef<Value> heads) {
    Indices result(heads);
    if (heads.empty())
      return result;
    int64_t axis = rank - 3;
    graph::Extent all = graph::getExtent(op.getQ(), axis);
    if (all == graph::getExtent(op.getK(), axis))
      return result;
    // Without key heads nothing is loaded, but nothing may divide by 0 either.
    Value shared =
        make<arith::MaxUIOp>(e.extent(op.getK(), axis), e.position(1));
    Value group = make<arith::DivUIOp>(e.extent(op.getQ(), axis), shared);
    group = make<arith::MaxUIOp>(group, e.position(1));
    result.back() = make<arith::DivUIOp>(heads.back(), group);
    return result;
  }

  void run(ArrayRef<Value> heads, int64_t width, int64_t keyTile,
           Value output) {
    Value zero = e.position(0);
    auto whole = [&](Value of) -> Value {
      return RangeAtOp::create(at(), loc(),
                               RangeType::get(at().getContext(), width), zero,
                               e.extent(of, rank - 1));
    };
    Value d = whole(op.getQ());
    bool same = graph::getExtent(op.getQ(), rank - 1) ==
                graph::getExtent(op.getV(), rank - 1);
    Value dv = same ? d : whole(op.getV());
    Value factor = scale();
    Indices keyHead = keyHeads(heads);

    Indices qIndex(heads);
    qIndex.append({rows, d});
    Value q = e.emit(op.getQ(), qIndex);
    Value T = e.extent(op.getK(), rank - 2), S = e.extent(op.getQ(), rank - 2);
    Value shift, stop = T;
    if (op.getCausal()) {
      shift = make<arith::SubIOp>(T, S);
      Value end = RangeStopOp::create(at(), loc(), rows);
      stop = make<arith::AddIOp>(end, shift);
      stop = make<arith::MaxSIOp>(make<arith::MinSIOp>(stop, T), zero);
    }
    double lowest = inner.isF64() ? -std::numeric_limits<double>::max()
                                  : -double(std::numeric_limits<float>::max());
    Value top = e.splat(e.number(inner, lowest), {rows});
    Value den = e.splat(e.number(inner, 0), {rows});
    Value acc = e.splat(e.number(inner, 0), {rows, dv});

    bool masks = op.getCausal();
    auto turn = [&](Value n, ValueRange carried) -> SmallVector<Value> {
      Value top = carried[0], den = carried[1], acc = carried[2];
      Indices kIndex(keyHead), vIndex(keyHead);
      kIndex.append({n, d});
      vIndex.append({n, dv});
      Value k = e.emit(op.getK(), kIndex);
      Type turned = tileType({width, sizeOf(n)}, getElementTypeOrSelf(k));
      Value kt =
          TransposeOp::create(at(), loc(), turned, k, ArrayRef<int64_t>{1, 0});
      Value none = e.splat(e.number(inner, 0), {rows, n});
      Value s = MmaOp::create(at(), loc(), none.getType(), q, kt, none, "ieee");
      // Of a positive scale the product may be fused with the subtraction:
      // hidden keys stay at minus infinity.
      bool fused = !op.getScale();
      Value factors = e.splat(factor, {rows, n});
      if (!fused)
        s = make<arith::MulFOp>(s, factors);
      if (masks) {
        Value shift64 =
            arith::IndexCastOp::create(at(), loc(), at().getI64Type(), shift);
        Value row = make<arith::AddIOp>(positions(rows, n, 0),
                                        e.splat(shift64, {rows, n}));
        Value seen = arith::CmpIOp::create(
            at(), loc(), arith::CmpIPredicate::sge, row, positions(n, n, 1));
        Value hidden =
            e.splat(e.number(inner, -std::numeric_limits<double>::infinity()),
                    {rows, n});
        s = arith::SelectOp::create(at(), loc(), seen, s, hidden);
      }
      Value scaled = fused ? make<arith::MulFOp>(s, factors) : s;
      Value next =
          make<arith::MaximumFOp>(top, reduce(ReduceKind::Max, scaled));
      Value fix =
          math::Exp2Op::create(at(), loc(), make<arith::SubFOp>(top, next));
      // Weights that are rounded for the product need not be nearer.
      Value v = e.emit(op.getV(), vIndex);
      bool rounds = getElementTypeOrSelf(v).getIntOrFloatBitWidth() == 16;
      Value below =
          fused ? make<math::FmaOp>(s, factors,
                                    across(make<arith::NegFOp>(next), n))
                : make<arith::SubFOp>(s, across(next, n));
      Value p = math::Exp2Op::create(at(), loc(), below,
                                     rounds ? arith::FastMathFlags::afn
                                            : arith::FastMathFlags::none);
      den = make<arith::AddFOp>(make<arith::MulFOp>(den, fix),
                                reduce(ReduceKind::Sum, p));
      acc = make<arith::MulFOp>(acc, across(fix, dv));
      Value weight = e.convert(p, getElementTypeOrSelf(v));
      acc = MmaOp::create(at(), loc(), acc.getType(), weight, v, acc, "ieee");
      return {next, den, acc};
    };
    // Keys that all rows see need no mask: large blocks up to the diagonal.
    SmallVector<Value> done = {top, den, acc};
    Value first = zero;
    if (masks && keyTile > sizeOf(rows)) {
      Value size = e.position(sizeOf(rows));
      Value start = RangeStartOp::create(at(), loc(), rows);
      first = make<arith::MaxSIOp>(make<arith::AddIOp>(start, shift), zero);
      first = make<arith::MulIOp>(make<arith::DivUIOp>(first, size), size);
      masks = false;
      done = e.loop(zero, first, keyTile, done, turn);
      masks = true;
      keyTile = sizeOf(rows);
    }
    done = e.loop(first, stop, keyTile, done, turn);
    den = done[1];
    Value empty =
        arith::CmpFOp::create(at(), loc(), arith::CmpFPredicate::OEQ, den,
                              e.splat(e.number(inner, 0), {rows}));
    Value inverse =
        make<arith::DivFOp>(e.splat(e.number(inner, 1), {rows}), den);
    inverse = arith::SelectOp::create(
        at(), loc(), empty, e.splat(e.number(inner, 0), {rows}), inverse);
    Value result = make<arith::MulFOp>(done[2], across(inverse, dv));
    result = e.convert(result, tensorType(op.getResult()).getElementType());
    Indices index(heads);
    index.append({rows, dv});
    e.store(result, output, index);
  }
};

} // namespace

void tessera::tile::emitAttention(Emitter &emitter, graph::AttentionOp op,
                                  ArrayRef<Value> heads, Value rows,
                                  int64_t width, int64_t keys, Value output) {
  Type element = tensorType(op.getQ()).getElementType();
  Type inner =
      element.isF64() ? element : Type(Float32Type::get(element.getContext()));
  AttentionEmitter{emitter, op, rows, rankOf(op.getQ()), inner}.run(
      heads, width, keys, output);
}
