//===- AmxEmitter.cpp - Matrix steps by AMX tiles -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bf16 x bf16 into f32: 32 x 32 of C in four tile registers, two of A and two
// of B per 32 steps of k. Operands lie in tiles of 1 KiB (NestPacking.cpp), so
// every tile load is one contiguous kilobyte; C is row-major in scratch. LLVM
// writes the tile configuration.
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
  Value load(Value pointer, int64_t rowBytes) {
    return call("llvm.x86.tileloadd64.internal",
                {number(16), number(64), pointer, lower.constant(rowBytes)});
  }
  void store(Value value, Value pointer, int64_t rowBytes) {
    LLVM::CallIntrinsicOp::create(
        builder, lower.loc,
        builder.getStringAttr("llvm.x86.tilestored64.internal"),
        ValueRange{number(16), number(64), pointer, lower.constant(rowBytes),
                   value});
  }
  Value multiply(Value sum, Value a, Value b) {
    return call("llvm.x86.tdpbf16ps.internal",
                {number(16), number(64), number(64), sum, a, b});
  }
};
} // namespace

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
  bool fromZero = !mma.getAcc().getDefiningOp<tile::LocalLoadOp>();
  Type bf16 = builder.getBF16Type(), f32 = builder.getF32Type();
  AmxTiles amx{*this, builder};

  auto columns = scf::ForOp::create(builder, loc, constant(0), n, constant(32));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(columns.getBody()->getTerminator());
  auto rows = scf::ForOp::create(builder, loc, constant(0), m, constant(32));
  builder.setInsertionPoint(rows.getBody()->getTerminator());
  Value i = rows.getInductionVar(), j = columns.getInductionVar();
  SmallVector<Value> places, sums, a, b;
  for (int64_t row : {0, 16}) {
    auto panel = [&](const CpuPanels &panels, Value at) {
      Value number = arith::DivUIOp::create(builder, loc, addConstant(at, row),
                                            constant(16));
      return pointerTo(panels.base, mul(number, panels.stride), bf16);
    };
    a.push_back(panel(lhs, i));
    b.push_back(panel(rhs, j));
    for (int64_t column : {0, 16})
      places.push_back(pointerTo(buffers[out],
                                 add(mul(addConstant(i, row), constant(stride)),
                                     addConstant(j, column)),
                                 f32));
  }
  for (Value place : places)
    sums.push_back(fromZero ? amx.zero() : amx.load(place, stride * 4));
  bool packed = isa<tile::LoadOp>(mma.getRhs().getDefiningOp());
  Value next = pointerTo(b[0], mul(rhs.stride, constant(2)), bf16);
  Ahead ahead = fetchAhead(nest, 32, i, 32, ceilDiv(k, constant(32)));
  auto steps =
      scf::ForOp::create(builder, loc, constant(0), k, constant(32), sums,
                         [](OpBuilder &, Location, Value, ValueRange) {});
  {
    OpBuilder::InsertionGuard inside(builder);
    builder.setInsertionPointToEnd(steps.getBody());
    Value at = steps.getInductionVar();
    Value along = mul(at, constant(16)); // a tile per 32 of k
    if (packed)
      for (int64_t line = 0; line < ahead.lines; ++line)
        prefetch(next, add(ahead.offset,
                           addConstant(mul(at, constant(ahead.lines * 2)),
                                       line * 64)));
    Value b0 = amx.load(pointerTo(b[0], along, bf16), 64);
    Value a0 = amx.load(pointerTo(a[0], along, bf16), 64);
    ValueRange before = steps.getRegionIterArgs();
    Value y00 = amx.multiply(before[0], a0, b0);
    Value b1 = amx.load(pointerTo(b[1], along, bf16), 64);
    Value y01 = amx.multiply(before[1], a0, b1);
    Value a1 = amx.load(pointerTo(a[1], along, bf16), 64);
    Value y10 = amx.multiply(before[2], a1, b0);
    Value y11 = amx.multiply(before[3], a1, b1);
    scf::YieldOp::create(builder, loc, ValueRange{y00, y01, y10, y11});
  }
  for (auto [place, sum] : llvm::zip(places, steps.getResults()))
    amx.store(sum, place, stride * 4);
}
