//===- Domain.h - In which numbers a program is executed --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interpreter knows which element goes where; a Domain knows what an
// element is and how one computes with it:
//
//   exact      storage semantics: an op computes in its compute type and rounds
//              once to the result's
//   reference  no float is ever rounded (80-bit reals); integers as they are
//   ring       floats are elements of an integer ring, see Ring.h
//   bound      the reference's value, and how far a computed one may be from it
//
// Absence and poison are treated here, once for all domains: a derived class
// only sees cells that are present.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_INTERPRETER_DOMAIN_H
#define TESSERA_COMPILER_INTERPRETER_DOMAIN_H

#include "compiler/Interpreter/Array.h"
#include "compiler/Interpreter/ScalarOps.h"

#include <string>

namespace tessera::interpreter {

/// `from`: of the operands; `in`: computed in; `to`: of the result.
struct Types {
  Element from, in, to;
  /// As gir has it: f16 and smaller in f32, everything else in its own type.
  static Types of(Element from, Element to) {
    return {from, computeType(from), to};
  }
};

/// Significant bits that a product of this precision keeps of its operands; 0:
/// all.
inline int keptBits(llvm::StringRef precision) {
  return precision == "tf32" ? 11 : 0;
}

enum class Reduction : uint8_t {
  Sum,
  Prod,
  Max,
  Min,
  Any,
  All,
  Xor,
  Argmax,
  Argmin,
};

enum class Rounding : uint8_t { Nearest, TowardZero };

class Domain {
public:
  virtual ~Domain();
  virtual llvm::StringRef name() const = 0;

  /// A number of the program, or of an input (already a value of the type).
  virtual Cell constant(Element type, long double value) = 0;
  /// A number of the program's text, rounded to its type when it was read.
  virtual Cell literal(Element type, long double rounded) {
    return constant(type, rounded);
  }
  /// The element with these bits, in the type's low bits, and back. Reference
  /// and bound: rounded to the type.
  virtual Cell fromBits(Element type, uint64_t bits) = 0;
  virtual uint64_t toBits(Element type, const Cell &cell) = 0;
  Cell integer(int64_t value) { return Cell::ofInteger(value); }
  /// A number that composites have inside, rounded to the type they compute in
  /// (bound: as it is, with that rounding's error).
  virtual Cell number(Element type, long double value) {
    return constant(type, roundTo(type, value));
  }
  /// Bound: the cell with so much more relative error; others: the cell.
  virtual Cell relax(const Cell &x, long double relative) { return x; }
  /// Bound: the cell as a machine may take it that keeps so many significant
  /// bits; others: the cell.
  virtual Cell keepBits(const Cell &x, int bits) { return x; }
  /// Bound: the unit roundoff of a float type; others: 0.
  virtual long double unitOf(Element type) { return 0; }
  /// Bound: sums of products keep so many bits, as tensor cores do; 0: those of
  /// the accumulate type.
  virtual void setProductPrecision(int bits) {}
  /// Bound: whether a branch was taken on a condition that roundings may tip,
  /// so that nothing is known of what was computed.
  virtual bool isLost() const { return false; }

  /// One scalar op. Poison if an operand is, else absent if one is; a select
  /// only looks at what it chooses.
  Cell apply(ScalarOp op, Types types, llvm::ArrayRef<Cell> x);
  /// x * x of one and the same value; bound: not negative.
  virtual Cell square(Types types, const Cell &x) {
    return apply(ScalarOp::Mul, types, {x, x});
  }
  Cell cast(const Cell &x, Element from, Element to,
            Rounding rounding = Rounding::Nearest);

  /// A reduction of a row in the accumulate type `types.in`, skipping absent
  /// cells. Argmax and argmin give a position in `row` (I64), of the first
  /// NaN if there is one; -1 if the row is empty.
  Cell reduce(Reduction kind, Types types, llvm::ArrayRef<Cell> row);
  /// Running reductions of a row, left to right.
  void scan(Reduction kind, Types types, llvm::ArrayRef<Cell> row,
            llvm::MutableArrayRef<Cell> out);
  /// start + sum of a[i] * b[i] in `types.in`, rounded once to `types.to`.
  /// `start` is of type `types.in`; null for 0. Pairs with an absent cell are
  /// skipped.
  Cell dot(Types types, llvm::ArrayRef<Cell> a, llvm::ArrayRef<Cell> b,
           const Cell *start = nullptr);
  /// out[i, j] = dot of row i of `a` (m x k) and row j of `b` (n x k).
  void multiply(Types types, size_t m, size_t n, size_t k,
                llvm::ArrayRef<Cell> a, llvm::ArrayRef<Cell> b,
                llvm::MutableArrayRef<Cell> out);
  /// The neutral element of a reduction.
  Cell neutral(Reduction kind, Element type);

  /// What a branch does with a condition (I1).
  virtual bool isTrue(const Cell &condition) { return condition.integer != 0; }
  /// Whether `compute` knows sigmoid, silu and gelu; otherwise they are
  /// computed as what they decompose into.
  virtual bool knowsComposedScalars() const { return true; }
  /// Whether softmax, norms, attention ... have a direct reference on reals
  /// (Composites.cpp); otherwise as what they decompose into.
  virtual bool knowsComposedRows() const { return true; }
  /// Why `op` on floats can't be computed; empty if it can.
  virtual std::string refuse(ScalarOp op) { return {}; }
  virtual std::string refuseCast(Element from, Element to) { return {}; }

protected:
  /// On floats, all present; predicates give I1. Never Select.
  virtual Cell compute(ScalarOp op, Types types, llvm::ArrayRef<Cell> x) = 0;
  /// The condition is present.
  virtual Cell select(const Cell &condition, const Cell &a, const Cell &b,
                      Element type) {
    return isTrue(condition) ? a : b;
  }
  /// A float to a float or an integer (not I1), or an integer to a float.
  virtual Cell convert(const Cell &x, Element from, Element to,
                       Rounding rounding) = 0;
  /// Sum, Prod, Max, Min of floats; at least one cell, all present.
  virtual Cell reduceFloats(Reduction kind, Types types,
                            llvm::ArrayRef<Cell> row) = 0;
  /// Argmax or argmin of floats: the position in `row`.
  virtual int64_t findFloat(bool max, Element type, llvm::ArrayRef<Cell> row);
  virtual void scanFloats(Reduction kind, Types types, llvm::ArrayRef<Cell> row,
                          llvm::MutableArrayRef<Cell> out) = 0;
  virtual Cell dotFloats(Types types, llvm::ArrayRef<Cell> a,
                         llvm::ArrayRef<Cell> b, const Cell *start) = 0;
  /// `multiply` on floats that are all present; a chance to prepare each
  /// element once.
  virtual void multiplyFloats(Types types, size_t m, size_t n, size_t k,
                              llvm::ArrayRef<Cell> a, llvm::ArrayRef<Cell> b,
                              llvm::MutableArrayRef<Cell> out);

private:
  Cell compose(ScalarOp op, Types types, const Cell &x);
};

std::unique_ptr<Domain> createExactDomain();
std::unique_ptr<Domain> createReferenceDomain();
std::unique_ptr<Domain> createRingDomain();
std::unique_ptr<Domain> createBoundDomain();
/// "exact", "reference", "ring", "bound"; null for another name.
std::unique_ptr<Domain> createDomain(llvm::StringRef name);

} // namespace tessera::interpreter

#endif // TESSERA_COMPILER_INTERPRETER_DOMAIN_H
