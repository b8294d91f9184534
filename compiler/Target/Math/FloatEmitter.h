// Writes arith ops as C++ expressions, for scalars and vectors alike.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An expansion reads like the float code it stands for:
//
//     F k = e.fma(x, e.f(1.4427f), e.f(magic)) - e.f(magic);
//     F r = e.fma(k, e.f(-0.6931f), x);
//
// F is a 32-bit float, I a 32-bit and L a 64-bit integer, B a truth value; each
// is a scalar, a vector or a tensor of the shape of the op under expansion. Ops
// carry no fast-math flags: the expansions rely on every rounding happening as
// written.

#ifndef TESSERA_TARGET_MATH_FLOATEMITTER_H
#define TESSERA_TARGET_MATH_FLOATEMITTER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"

namespace tessera::target {

class FloatEmitter;

/// A value of the IR and the emitter that operators on it use. `Kind` keeps
/// floats, integers and truth values apart at compile time.
template <char Kind> struct Emitted {
  mlir::Value value;
  FloatEmitter *emitter;
};
using F = Emitted<'f'>;
using I = Emitted<'i'>;
using L = Emitted<'l'>;
using B = Emitted<'b'>;

class FloatEmitter {
public:
  /// Emits at the builder's insertion point; `shape` is f32, or a vector or a
  /// tensor of f32 of fixed shape.
  FloatEmitter(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type shape)
      : builder(builder), loc(loc), shape(shape) {}

  F wrap(mlir::Value value) { return {value, this}; }

  // Constants.
  F f(float value) {
    mlir::Type type = as(builder.getF32Type());
    return {constant(type, builder.getF32FloatAttr(value)), this};
  }
  I i(int32_t value) {
    mlir::Type type = as(builder.getI32Type());
    return {constant(type, builder.getI32IntegerAttr(value)), this};
  }
  L l(int64_t value) {
    mlir::Type type = as(builder.getI64Type());
    return {constant(type, builder.getI64IntegerAttr(value)), this};
  }

  // Arithmetic without an operator of its own.
  F fma(F a, F b, F c) { return make<'f', mlir::math::FmaOp>(a, b, c); }
  F sqrt(F a) { return make<'f', mlir::math::SqrtOp>(a); }
  F floor(F a) { return make<'f', mlir::math::FloorOp>(a); }
  template <char Kind>
  Emitted<Kind> select(B condition, Emitted<Kind> a, Emitted<Kind> b) {
    return make<Kind, mlir::arith::SelectOp>(condition, a, b);
  }

  /// Coefficients with the lowest power first, by Horner's rule.
  template <size_t N> F poly(const float (&c)[N], F x) {
    F sum = f(c[N - 1]);
    for (size_t j = N - 1; j-- > 0;)
      sum = fma(sum, x, f(c[j]));
    return sum;
  }

  /// Set where the shape is a vector of 16, 32, ... lanes of AVX-512.
  bool avx512 = false;
  /// x less the nearest integer, exactly, or less the greatest one `below`,
  /// rounded; 0 for infinities. AVX-512 only.
  F distanceToInteger(F x, bool below = false);
  /// x limited to [-1, 1]; some number in there if x is NaN. AVX-512 only.
  F withinOne(F x);
  /// value * 2^floor(k), infinities included. AVX-512 only.
  F scaled(F value, F k);

  // Bits and conversions. No conversion is given a value that is out of range,
  // which would be poison: NaN and infinity included.
  I bits(F a) { return convert<'i', mlir::arith::BitcastOp>(a); }
  F fromBits(I a) { return convert<'f', mlir::arith::BitcastOp>(a); }
  F toFloat(I a) { return convert<'f', mlir::arith::SIToFPOp>(a); }
  F toFloat(L a) { return convert<'f', mlir::arith::SIToFPOp>(a); }
  L toLong(F a) { return convert<'l', mlir::arith::FPToSIOp>(a); }
  L extendUnsigned(I a) { return convert<'l', mlir::arith::ExtUIOp>(a); }
  I truncate(L a) { return convert<'i', mlir::arith::TruncIOp>(a); }

  /// |a|, by clearing the sign bit.
  F abs(F a);
  /// `magnitude` (sign bit clear) with the sign bit of `sign`.
  F withSignOf(F magnitude, F sign);

  B compare(mlir::arith::CmpFPredicate predicate, F a, F b) {
    return {
        mlir::arith::CmpFOp::create(builder, loc, predicate, a.value, b.value),
        this};
  }
  B compare(mlir::arith::CmpIPredicate predicate, I a, I b) {
    return {
        mlir::arith::CmpIOp::create(builder, loc, predicate, a.value, b.value),
        this};
  }

  template <char Kind, typename Op, typename... Operands>
  Emitted<Kind> make(Operands... operands) {
    return {Op::create(builder, loc, operands.value...).getResult(), this};
  }

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() const { return loc; }

private:
  mlir::Type as(mlir::Type element) const {
    if (auto shaped = mlir::dyn_cast<mlir::ShapedType>(shape))
      return shaped.clone(element);
    return element;
  }

  mlir::Value constant(mlir::Type type, mlir::TypedAttr scalar) {
    mlir::TypedAttr attr = scalar;
    if (auto shaped = mlir::dyn_cast<mlir::ShapedType>(type))
      attr = mlir::DenseElementsAttr::get(shaped, mlir::Attribute(scalar));
    return mlir::arith::ConstantOp::create(builder, loc, attr);
  }

  template <char Kind, typename Op, char From>
  Emitted<Kind> convert(Emitted<From> a) {
    mlir::Type element = Kind == 'f'   ? mlir::Type(builder.getF32Type())
                         : Kind == 'i' ? mlir::Type(builder.getI32Type())
                                       : mlir::Type(builder.getI64Type());
    return {Op::create(builder, loc, as(element), a.value), this};
  }

  /// An instruction on 16 lanes, with nothing masked.
  mlir::Value
  onRegisters(mlir::StringRef name,
              llvm::function_ref<llvm::SmallVector<mlir::Value>(int64_t lane)>
                  operands);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type shape;
};

#define TESSERA_BINARY(KIND, SYMBOL, OP)                                       \
  inline KIND operator SYMBOL(KIND a, KIND b) {                                \
    return a.emitter                                                           \
        ->make<std::string_view(#KIND)[0] - 'A' + 'a', mlir::arith::OP>(a, b); \
  }
TESSERA_BINARY(F, +, AddFOp)
TESSERA_BINARY(F, -, SubFOp)
TESSERA_BINARY(F, *, MulFOp)
TESSERA_BINARY(F, /, DivFOp)
TESSERA_BINARY(I, +, AddIOp)
TESSERA_BINARY(I, -, SubIOp)
TESSERA_BINARY(I, &, AndIOp)
TESSERA_BINARY(I, |, OrIOp)
TESSERA_BINARY(I, ^, XOrIOp)
TESSERA_BINARY(I, <<, ShLIOp)
TESSERA_BINARY(L, +, AddIOp)
TESSERA_BINARY(L, -, SubIOp)
TESSERA_BINARY(L, *, MulIOp)
TESSERA_BINARY(L, <<, ShLIOp)
TESSERA_BINARY(B, &, AndIOp)
TESSERA_BINARY(B, |, OrIOp)
#undef TESSERA_BINARY

/// The 16 lanes of a vector from `lane` on.
mlir::Value register16(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value vector, int64_t lane);
/// Vectors of equal size, one after the other; their number is a power of two.
mlir::Value joined(mlir::OpBuilder &builder, mlir::Location loc,
                   llvm::SmallVector<mlir::Value> parts);

inline F operator-(F a) { return a.emitter->make<'f', mlir::arith::NegFOp>(a); }

inline I shiftArithmetic(I a, I b) {
  return a.emitter->make<'i', mlir::arith::ShRSIOp>(a, b);
}
inline I shiftLogical(I a, I b) {
  return a.emitter->make<'i', mlir::arith::ShRUIOp>(a, b);
}
inline L shiftLogical(L a, L b) {
  return a.emitter->make<'l', mlir::arith::ShRUIOp>(a, b);
}

// Comparisons are ordered: false when an operand is NaN.
inline B operator<(F a, F b) {
  return a.emitter->compare(mlir::arith::CmpFPredicate::OLT, a, b);
}
inline B operator>(F a, F b) { return b < a; }
inline B operator==(F a, F b) {
  return a.emitter->compare(mlir::arith::CmpFPredicate::OEQ, a, b);
}
/// True if the operands differ or one is NaN.
inline B operator!=(F a, F b) {
  return a.emitter->compare(mlir::arith::CmpFPredicate::UNE, a, b);
}
inline B operator==(I a, I b) {
  return a.emitter->compare(mlir::arith::CmpIPredicate::eq, a, b);
}
inline B operator!=(I a, I b) {
  return a.emitter->compare(mlir::arith::CmpIPredicate::ne, a, b);
}

inline F FloatEmitter::abs(F a) { return fromBits(bits(a) & i(0x7fffffff)); }
inline F FloatEmitter::withSignOf(F magnitude, F sign) {
  return fromBits(bits(magnitude) | (bits(sign) & i(INT32_MIN)));
}

} // namespace tessera::target

#endif // TESSERA_TARGET_MATH_FLOATEMITTER_H
