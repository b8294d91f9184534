//===- ProgramOrder.cpp - Which program of the grid a number is -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/SIMT/Mapping/ProgramOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tessera::simt;
using namespace tessera::tile;

SmallVector<Value> tessera::simt::placesOf(OpBuilder &builder, Location loc,
                                           ProgramOp op, ArrayRef<Value> counts,
                                           Value linear) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  auto divide = [&](Value a, Value b) -> Value {
    return arith::DivUIOp::create(builder, loc, a, b);
  };
  auto remainder = [&](Value a, Value b) -> Value {
    return arith::RemUIOp::create(builder, loc, a, b);
  };
  SmallVector<Value> ids(counts.size());
  Value rest = linear;
  int64_t grouped = op.getGroup() > 1 && counts.size() >= 2 ? 2 : 0;
  for (int64_t axis = int64_t(counts.size()) - 1; axis >= grouped; --axis) {
    if (axis == 0) {
      ids[0] = rest;
      break;
    }
    ids[axis] = remainder(rest, counts[axis]);
    rest = divide(rest, counts[axis]);
  }
  if (!grouped)
    return ids;
  Value group = constant(op.getGroup());
  Value width = arith::MulIOp::create(builder, loc, group, counts[1]);
  Value first = arith::MulIOp::create(builder, loc, divide(rest, width), group);
  Value rows = arith::MinSIOp::create(
      builder, loc, arith::SubIOp::create(builder, loc, counts[0], first),
      group);
  Value inside = remainder(rest, width);
  ids[0] = arith::AddIOp::create(builder, loc, first, remainder(inside, rows));
  ids[1] = divide(inside, rows);
  return ids;
}
