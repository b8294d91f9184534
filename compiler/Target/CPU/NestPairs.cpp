//===- NestPairs.cpp - bf16 as pairs in words of 32 bits ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A line has 32 bf16. Those at even places are f32 after a shift, those at odd
// places after clearing the other: one instruction each, and none that moves
// lanes. So f32 lanes are those of even, then of odd places; `cpu-pair-bf16`
// says for which nests.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/NestEmitter.h"
#include "compiler/Target/Math/FloatEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

/// Two bf16 lie in 32 bits: each is the upper half of its f32.
Value CpuLowering::extendPairs(Value value) {
  auto words = VectorType::get({16}, builder.getI32Type());
  auto number = [&](int32_t n) {
    return splatConstant(builder.getI32IntegerAttr(n), 16);
  };
  Value both = vector::BitCastOp::create(builder, loc, words, toMemory(value));
  Value even = arith::ShLIOp::create(builder, loc, both, number(16));
  Value odd = arith::AndIOp::create(builder, loc, both, number(~0xffff));
  return arith::BitcastOp::create(builder, loc,
                                  typeOf(builder.getF32Type(), 32),
                                  joined(builder, loc, {even, odd}));
}

/// To nearest even, in place. A NaN here has its lower half clear, as bf16 and
/// the machine's own do: it stays one.
Value CpuLowering::truncatePairs(Value value) {
  auto number = [&](int32_t n) {
    return splatConstant(builder.getI32IntegerAttr(n), 16);
  };
  auto rounded = [&](int64_t lane) -> Value {
    Value bits = arith::BitcastOp::create(
        builder, loc, VectorType::get({16}, builder.getI32Type()),
        register16(builder, loc, value, lane));
    Value upper = arith::ShRUIOp::create(builder, loc, bits, number(16));
    Value bias = arith::AddIOp::create(
        builder, loc, arith::AndIOp::create(builder, loc, upper, number(1)),
        number(0x7fff));
    return arith::AddIOp::create(builder, loc, bits, bias);
  };
  Value even = arith::ShRUIOp::create(builder, loc, rounded(0), number(16));
  Value odd = arith::AndIOp::create(builder, loc, rounded(16), number(~0xffff));
  Value both = vector::BitCastOp::create(
      builder, loc, VectorType::get({32}, builder.getI16Type()),
      arith::OrIOp::create(builder, loc, even, odd));
  return arith::BitcastOp::create(builder, loc,
                                  typeOf(builder.getBF16Type(), 32), both);
}
