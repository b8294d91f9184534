//===- IntegerBuilder.h - Integers of a plan --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions over sizes and strides, written as they read:
//
//   IntegerBuilder make(builder, loc);
//   make.le(make.mul(make.size(x, 0), make.stride(x, 0)), 4096)
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_PLAN_IR_INTEGERBUILDER_H
#define TESSERA_COMPILER_PLAN_IR_INTEGERBUILDER_H

#include "compiler/Plan/IR/Plan.h"

#include "mlir/IR/Builders.h"

namespace tessera::plan {

class IntegerBuilder {
public:
  /// A value, or a number that becomes a constant.
  struct Operand {
    Operand(mlir::Value value) : value(value) {}
    Operand(int64_t number) : number(number) {}
    mlir::Value value;
    int64_t number = 0;
  };

  IntegerBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  mlir::Value number(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(builder, loc, value);
  }
  mlir::Value get(Operand operand) {
    return operand.value ? operand.value : number(operand.number);
  }

  mlir::Value add(Operand a, Operand b) {
    return of<mlir::arith::AddIOp>(a, b);
  }
  mlir::Value sub(Operand a, Operand b) {
    return of<mlir::arith::SubIOp>(a, b);
  }
  mlir::Value mul(Operand a, Operand b) {
    return of<mlir::arith::MulIOp>(a, b);
  }
  mlir::Value min(Operand a, Operand b) {
    return of<mlir::arith::MinSIOp>(a, b);
  }
  mlir::Value max(Operand a, Operand b) {
    return of<mlir::arith::MaxSIOp>(a, b);
  }
  mlir::Value floordiv(Operand a, Operand b) {
    return of<mlir::arith::FloorDivSIOp>(a, b);
  }
  mlir::Value ceildiv(Operand a, Operand b) {
    return of<mlir::arith::CeilDivSIOp>(a, b);
  }
  mlir::Value mod(Operand a, Operand b) { return of<ModOp>(a, b); }
  /// The next multiple of `unit`.
  mlir::Value roundUp(Operand a, int64_t unit) {
    return unit == 1 ? get(a) : mul(ceildiv(a, unit), unit);
  }
  mlir::Value product(mlir::ValueRange values);

  mlir::Value compare(mlir::arith::CmpIPredicate predicate, Operand a,
                      Operand b) {
    return builder.createOrFold<mlir::arith::CmpIOp>(loc, predicate, get(a),
                                                     get(b));
  }
  using Predicate = mlir::arith::CmpIPredicate;
  mlir::Value eq(Operand a, Operand b) { return compare(Predicate::eq, a, b); }
  mlir::Value ne(Operand a, Operand b) { return compare(Predicate::ne, a, b); }
  mlir::Value lt(Operand a, Operand b) { return compare(Predicate::slt, a, b); }
  mlir::Value le(Operand a, Operand b) { return compare(Predicate::sle, a, b); }
  mlir::Value gt(Operand a, Operand b) { return compare(Predicate::sgt, a, b); }
  mlir::Value ge(Operand a, Operand b) { return compare(Predicate::sge, a, b); }

  /// Whether all, or any, hold; there is at least one.
  mlir::Value all(mlir::ValueRange conditions);
  mlir::Value any(mlir::ValueRange conditions);

  mlir::Value size(mlir::Value tensor, int64_t axis) {
    return SizeOp::create(builder, loc, builder.getIndexType(), tensor,
                          builder.getI64IntegerAttr(axis));
  }
  mlir::Value stride(mlir::Value tensor, int64_t axis) {
    return StrideOp::create(builder, loc, builder.getIndexType(), tensor,
                            builder.getI64IntegerAttr(axis));
  }
  mlir::Value address(mlir::Value tensor) {
    return AddressOp::create(builder, loc, builder.getIndexType(), tensor);
  }

private:
  template <typename Op> mlir::Value of(Operand a, Operand b) {
    mlir::Value lhs = get(a), rhs = get(b);
    return builder.createOrFold<Op>(loc, lhs, rhs);
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace tessera::plan

#endif // TESSERA_COMPILER_PLAN_IR_INTEGERBUILDER_H
