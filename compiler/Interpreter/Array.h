//===- Array.h - What values are while a program is interpreted -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Datum is the value of one SSA value: an Array of cells, or something of the
// tile level (a range, a view, a buffer, a token). Data are shared and, once
// they are the value of an SSA value, not changed (buffers and views excepted).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_INTERPRETER_ARRAY_H
#define TESSERA_COMPILER_INTERPRETER_ARRAY_H

#include "compiler/Interpreter/Element.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <limits>
#include <memory>
#include <vector>

namespace tessera::interpreter {

/// Whether there is an element at a position.
enum class State : uint8_t {
  Present,
  /// Outside its dim: does not exist; sums, products and stores skip it.
  Absent,
  /// Was never written, or is still being copied: nobody may depend on it.
  Poison,
};

/// One element. What `real`, `integer` and `error` mean is the domain's
/// business (Domain.h); integers and booleans are in `integer` in each of them.
struct Cell {
  union {
    long double real = 0; // floats, but in ring mode
    int64_t integer;      // integers, booleans; in ring mode floats too
  };
  double error = 0; // Bound: |computed - real| is at most this; Ring.cpp
  // Bound (Bound.cpp): of `error`, what is an unknown of -1 to 1 times this,
  // the same unknown in all cells of one `source`; the least computed value.
  double shared = 0;
  double least = -std::numeric_limits<double>::infinity();
  uint32_t source = 0;
  State state = State::Present;

  static Cell ofReal(long double value) {
    Cell cell;
    cell.real = value;
    return cell;
  }
  static Cell ofInteger(int64_t value) {
    Cell cell;
    cell.integer = value;
    return cell;
  }
  static Cell with(State state) {
    Cell cell;
    cell.state = state;
    return cell;
  }
  bool present() const { return state == State::Present; }
};

class Datum {
public:
  enum class Kind { Array, Range, View, Buffer, Token, Other };
  explicit Datum(Kind kind) : kind(kind) {}
  virtual ~Datum();
  Kind getKind() const { return kind; }

private:
  Kind kind;
};
using DatumRef = std::shared_ptr<Datum>;

/// Calls `body` with each index of a shape, in row-major order.
template <typename Body>
void forEachIndex(llvm::ArrayRef<int64_t> shape, Body body) {
  for (int64_t extent : shape)
    if (extent == 0)
      return;
  llvm::SmallVector<int64_t> index(shape.size(), 0);
  for (;;) {
    body(llvm::ArrayRef<int64_t>(index));
    size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1])
      index[--axis] = 0;
    if (axis == 0)
      return;
  }
}

/// Cells in row-major order. A scalar has rank 0.
class Array : public Datum {
public:
  Array() : Datum(Kind::Array) {}
  Array(llvm::ArrayRef<int64_t> shape, Element element, Cell fill = Cell());
  static bool classof(const Datum *datum) {
    return datum->getKind() == Kind::Array;
  }

  std::vector<int64_t> shape;
  Element element = Element::F32;
  std::vector<Cell> cells;

  size_t rank() const { return shape.size(); }
  int64_t size() const { return int64_t(cells.size()); }
  /// Row-major strides, in cells.
  llvm::SmallVector<int64_t> strides() const;
  int64_t offset(llvm::ArrayRef<int64_t> index) const;
  Cell &at(llvm::ArrayRef<int64_t> index) { return cells[offset(index)]; }
  const Cell &at(llvm::ArrayRef<int64_t> index) const {
    return cells[offset(index)];
  }
  /// The integer of a rank-0 array.
  int64_t scalar() const { return cells.front().integer; }
};

inline DatumRef share(Array &&array) {
  return std::make_shared<Array>(std::move(array));
}

/// The first elements along each axis: `array` itself if that is all of them,
/// else `storage`. Tiles are kept without the elements that do not exist.
const Array &cropped(const Array &array, llvm::ArrayRef<int64_t> shape,
                     Array &storage);

/// The product, or nothing if it does not fit into memory.
std::optional<int64_t> elementCount(llvm::ArrayRef<int64_t> shape);

} // namespace tessera::interpreter

#endif // TESSERA_COMPILER_INTERPRETER_ARRAY_H
