//===- Rows.h - Composites of one row -----------------------------*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// softmax, norms, logsumexp, mean, variance and attention, one row at a time.
// Each has a direct reference on reals, for the domains that have them, and
// what it decomposes into (GraphToSchedule/DecomposeComposites.cpp,
// ScheduleToTile/EmitAttention.cpp), for the others.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_INTERPRETER_ROWS_H
#define TESSERA_COMPILER_INTERPRETER_ROWS_H

#include "compiler/Interpreter/Interpreter.h"

namespace tessera::interpreter {

/// Calls `body(row, place)` for every row of `input` along `axes` (in the
/// array's order); `place` is the row's number, in row-major order of the other
/// axes, and `offsets` says where its cells are.
template <typename Body>
void forEachRow(const Array &input, llvm::ArrayRef<int64_t> axes, Body body) {
  llvm::SmallVector<int64_t> kept, keptStrides, rowShape, rowStrides;
  llvm::SmallVector<int64_t> strides = input.strides();
  for (int64_t axis = 0; axis < int64_t(input.rank()); ++axis) {
    bool reduced = llvm::is_contained(axes, axis);
    (reduced ? rowShape : kept).push_back(input.shape[axis]);
    (reduced ? rowStrides : keptStrides).push_back(strides[axis]);
  }
  llvm::SmallVector<int64_t> offsets;
  forEachIndex(rowShape, [&](llvm::ArrayRef<int64_t> index) {
    int64_t offset = 0;
    for (auto [i, stride] : llvm::zip_equal(index, rowStrides))
      offset += i * stride;
    offsets.push_back(offset);
  });
  llvm::SmallVector<Cell, 0> row(offsets.size());
  llvm::SmallVector<int64_t> places(offsets.size());
  int64_t number = 0;
  forEachIndex(kept, [&](llvm::ArrayRef<int64_t> index) {
    int64_t start = 0;
    for (auto [i, stride] : llvm::zip_equal(index, keptStrides))
      start += i * stride;
    for (size_t i = 0; i < offsets.size(); ++i) {
      places[i] = start + offsets[i];
      row[i] = input.cells[places[i]];
    }
    body(llvm::ArrayRef<Cell>(row), llvm::ArrayRef<int64_t>(places), number++);
  });
}

/// Primitive steps in one type, on cells of the domain at hand.
struct Steps {
  Domain &domain;
  Element in;

  Cell number(long double value) const {
    return isFloat(in) ? domain.number(in, value)
                       : domain.integer(int64_t(value));
  }
  Cell one(ScalarOp op, const Cell &a) const {
    return domain.apply(op, {in, in, in}, {a});
  }
  Cell two(ScalarOp op, const Cell &a, const Cell &b) const {
    return domain.apply(op, {in, in, in}, {a, b});
  }
  Cell square(const Cell &a) const { return domain.square({in, in, in}, a); }
  Cell compare(ScalarOp op, const Cell &a, const Cell &b) const {
    return domain.apply(op, {in, in, Element::I1}, {a, b});
  }
  Cell select(const Cell &condition, const Cell &a, const Cell &b) const {
    return domain.apply(ScalarOp::Select, {in, in, in}, {condition, a, b});
  }
  Cell reduce(Reduction kind, llvm::ArrayRef<Cell> row) const {
    return domain.reduce(kind, {in, in, in}, row);
  }
  /// How many, as a float.
  Cell count(int64_t n) const {
    return domain.cast(domain.integer(n), Element::I64, in);
  }
  /// The largest element, or 0 where that is infinite (or, with keepPlusInf,
  /// minus infinity).
  Cell finiteMax(llvm::ArrayRef<Cell> row, bool keepPlusInf) const;
};

using Row = llvm::SmallVector<Cell, 0>;

/// Each takes cells of type types.in and gives cells of that type.
/// `near`: exponentials to 13 bits, for a result of 16.
Row softmaxRow(Domain &domain, Element in, llvm::ArrayRef<Cell> x, bool log,
               bool near);
Cell logsumexpRow(Domain &domain, Element in, llvm::ArrayRef<Cell> x);
Cell meanRow(Domain &domain, Element in, llvm::ArrayRef<Cell> x);
Cell varianceRow(Domain &domain, Element in, llvm::ArrayRef<Cell> x,
                 int64_t correction);
/// Without weight and bias.
Row normRow(Domain &domain, Element in, llvm::ArrayRef<Cell> x, long double eps,
            bool rms);

/// Converts a row to another type.
Row castRow(Domain &domain, llvm::ArrayRef<Cell> row, Element from, Element to);

} // namespace tessera::interpreter

#endif // TESSERA_COMPILER_INTERPRETER_ROWS_H
